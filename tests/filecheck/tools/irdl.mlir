// REQUIRES: mlir-opt
// RUN: opt-tool --show-dialects --irdl -o %t.irdl
// RUN: opt-tool %s -t mlir-opt | mlir-opt --irdl-file=%t.irdl | filecheck %s
// RUN: opt-tool %s -t mlir-opt | sed 's/"add"/"ad"/' | not mlir-opt --irdl-file=%t.irdl 2>&1 | filecheck %s --check-prefix=WRONG

// CHECK: func.func @sum
// CHECK: "nest.for"
// CHECK: "nest.accumulate"
// CHECK: combiner = "add"
// CHECK: llvm.unreachable
// WRONG: error: '"ad"' does not satisfy the constraint
func.func @sum(%x: memref<8xf32>, %s: memref<f32> {nest.role = "inout"}) {
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.accumulate "s" add %v, %s[] : memref<f32>
  }
  func.return
}
