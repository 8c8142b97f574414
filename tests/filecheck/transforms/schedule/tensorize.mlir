// A schedule splits a loop and calls an intrinsic for whole tiles; the intrinsic's own body is scheduled by another one.
// RUN: opt-tool %s -p apply-schedule | filecheck %s

// CHECK-LABEL: func.func private @copy8
func.func private @copy8(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  // CHECK: nest.for "l" %{{.*}} = 0 to 8 vectorized(8) {
  nest.for "l" %l = 0 to 8 {
    %v = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %v, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

// CHECK-LABEL: func.func @f
func.func @f(%x: memref<100xf32>, %y: memref<100xf32>) {
  // CHECK: nest.for "i.o" %{{.*}} = 0 to 12 parallel {
  // CHECK: func.call @copy8
  // CHECK: nest.for "i.t"
  nest.for "i" %i = 0 to 100 {
    %v = nest.load %x[%i] : memref<100xf32>
    nest.store "y" %v, %y[%i] : memref<100xf32>
  }
  func.return
}

schedule.sequence @calls for @f {
  %i = schedule.match loops ["i"]
  %o, %v, %rest = schedule.split %i by 8
  schedule.parallel %o
  schedule.tensorize %v to "copy8"
}

schedule.sequence @body for @copy8 {
  %l = schedule.match loops ["l"]
  %w = schedule.vectorize %l
}
