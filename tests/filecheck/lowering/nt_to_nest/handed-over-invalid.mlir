// What cannot be handed over.
// RUN: not opt-tool %s -p convert-nt-to-nest 2>&1 | filecheck %s

// CHECK: error: a result that the function allocates is row-major
func.func @ordered(%x: tensor<?x?xf64>) -> (tensor<?x?xf64> {nt.callee_allocated, nt.order = array<i64: 1, 0>}) {
  %z = nt.add %x, %x : tensor<?x?xf64>
  func.return %z : tensor<?x?xf64>
}
