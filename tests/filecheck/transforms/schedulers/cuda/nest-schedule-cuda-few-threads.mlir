// A kernel of much work with few threads is said to be one.
// RUN: opt-tool %s -p nest-schedule-cuda --split-input-file --verify-diagnostics | filecheck %s

// A recurrence down the rows of few columns: nothing but the columns is independent.
// CHECK: nest.for "j.i" {{.*}} bind "thread.x"
// CHECK: nest.for "i"
func.func @recurrence(%x: memref<20000x32xf32>, %y: memref<20001x32xf32>) {
  nest.for "i" %i = 0 to 20000 {
    // expected-remark @below {{the kernel of "j.o" does 640000 iterations with 32 threads}}
    nest.for "j" %j = 0 to 32 {
      %a = nest.load %y[%i, %j] : memref<20001x32xf32>
      %b = nest.load %x[%i, %j] : memref<20000x32xf32>
      %c = arith.mulf %a, %b : f32
      nest.store "y" %c, %y[%i + 1, %j] : memref<20001x32xf32>
    }
  }
  func.return
}
