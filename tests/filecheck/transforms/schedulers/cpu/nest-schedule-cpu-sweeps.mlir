// Big arrays that several nests go through: every second sweep turns back, in stretches of 128 KiB.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s

// Rows of 256 bytes: 512 rows are a stretch; what the second loop ends with, the third one begins with.
// CHECK-LABEL: func.func @thrice
// CHECK: nest.for "i" {{.*}} parallel attributes {nestor.grain = {{[0-9]+}} : i64} {
// CHECK: nest.for "j" {{.*}} parallel attributes {nestor.grain = {{[0-9]+}} : i64, nestor.descending = 512 : i64} {
// CHECK: nest.for "k" {{.*}} parallel attributes {nestor.grain = {{[0-9]+}} : i64} {
func.func @thrice(%x: memref<100000x64xf32>, %y: memref<100000xf32>, %z: memref<100000xf32>, %u: memref<100000xf32>) {
  nest.for "i" %i = 0 to 100000 {
    nest.for "i1" %l = 0 to 64 {
      %0 = nest.load %x[%i, %l] : memref<100000x64xf32>
      nest.accumulate "y" add %0, %y[%i] : memref<100000xf32>
    }
  }
  nest.for "j" %j = 0 to 100000 {
    nest.for "j1" %l = 0 to 64 {
      %0 = nest.load %x[%j, %l] : memref<100000x64xf32>
      nest.accumulate "z" maximum %0, %z[%j] : memref<100000xf32>
    }
  }
  nest.for "k" %k = 0 to 100000 {
    nest.for "k1" %l = 0 to 64 {
      %0 = nest.load %x[%k, %l] : memref<100000x64xf32>
      nest.accumulate "u" minimum %0, %u[%k] : memref<100000xf32>
    }
  }
  func.return
}

// A buffer that the caches hold, and one that each iteration reads whole.
// CHECK-LABEL: func.func @in_no_order
// CHECK-NOT: nestor.descending
func.func @in_no_order(%x: memref<10000x64xf32>, %w: memref<10000x128xf32>, %y: memref<10000x64xf32>, %z: memref<128xf32>) {
  nest.for "i" %i = 0 to 10000 {
    nest.for "i1" %l = 0 to 64 {
      %0 = nest.load %x[%i, %l] : memref<10000x64xf32>
      nest.store "y" %0, %y[%i, %l] : memref<10000x64xf32>
    }
  }
  nest.for "j" %j = 0 to 10000 {
    nest.for "j1" %l = 0 to 64 {
      %0 = nest.load %x[%j, %l] : memref<10000x64xf32>
      nest.store "y" %0, %y[%j, %l] : memref<10000x64xf32>
    }
  }
  nest.for "k" %k = 0 to 128 {
    nest.for "k1" %l = 0 to 10000 {
      %0 = nest.load %w[%l, %k] : memref<10000x128xf32>
      nest.accumulate "z" add %0, %z[%k] : memref<128xf32>
    }
  }
  func.return
}
