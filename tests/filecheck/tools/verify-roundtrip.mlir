// `--verify-roundtrip` parses what is printed, in both forms, before and after the passes.
// RUN: opt-tool %s --verify-roundtrip -p canonicalize | filecheck %s

// CHECK-LABEL: func.func @f
func.func @f(%x: memref<?x4xf32>, %c: i1) -> f32 {
  %zero = arith.constant 0 : index
  %r = scf.if %c -> (f32) {
    %v = memref.load %x[%zero, %zero] {nestor.mark = [1, "a\22b"]} : memref<?x4xf32>
    scf.yield %v : f32
  } else {
    %v = arith.constant 1.5 : f32
    scf.yield %v : f32
  }
  cf.br ^bb1(%r : f32)
^bb1(%s: f32):
  func.return %s : f32
}
