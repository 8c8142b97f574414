// A barrier has no operands; attributes are kept, and nothing takes it away.
// RUN: opt-tool %s | opt-tool | filecheck %s
// RUN: opt-tool %s -p canonicalize,cse,dce | filecheck %s

// CHECK-LABEL: func.func @f(
// CHECK:         nest.barrier
// CHECK-NEXT:    nest.barrier {nestor.note = "again"}
func.func @f(%y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "o" %o = 0 to 1 bind "block.x" {
    nest.for "t" %t = 0 to 8 bind "thread.x" {
      nest.store "y" %zero, %y[%t] : memref<8xf32>
    }
    nest.barrier
    nest.barrier {nestor.note = "again"}
    nest.for "u" %u = 0 to 8 bind "thread.x" {
      nest.store "y" %zero, %y[7 - %u] : memref<8xf32>
    }
  }
  func.return
}
