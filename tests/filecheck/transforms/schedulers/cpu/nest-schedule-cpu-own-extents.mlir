// An iteration that makes buffers of extents of its own, for the rows of one sequence of many, is a program of its own: its nests are
// scheduled as those of a function are. A product is tiled with what uses it, and the nest behind it has vectors and threads.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s

// CHECK-LABEL: @sequences
// CHECK:      nest.for "b" {{%\S+}} = 0 to 4 {
// CHECK:      nest.for "i.o" {{.*}} parallel
// CHECK:      nest.for "k" {{%\S+}} = 0 to 64 {
// CHECK:      nest.for "i.1.i.i" {{%\S+}} = 0 to 14 unrolled {
// CHECK-NEXT: nest.for "j.1.i" {{%\S+}} = 0 to 32 vectorized(32) {
// CHECK:      math.exp
// CHECK:      nest.for "i.3{{.*}} parallel
// CHECK:      vectorized(64) {
func.func @sequences(%x: memref<100x64xf32>, %w: memref<64x96xf32>, %ends: memref<4xi64>, %y: memref<100x96xf32>, %z: memref<200x64xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "b" %b = 0 to 4 {
    %e = nest.load %ends[%b] : memref<4xi64>
    %n = arith.index_cast %e : i64 to index
    %c = nest.alloc "c"(%n) : memref<?x96xf32>
    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to 96 {
        nest.store "c" %zero, %c[%i, %j] : memref<?x96xf32>
      }
    }
    nest.for "i.1" %i = 0 to %n {
      nest.for "j.1" %j = 0 to 96 {
        nest.for "k" %k = 0 to 64 {
          %0 = nest.load %x[%i, %k] : memref<100x64xf32>
          %1 = nest.load %w[%k, %j] : memref<64x96xf32>
          %2 = arith.mulf %0, %1 : f32
          nest.accumulate "c" add %2, %c[%i, %j] : memref<?x96xf32>
        }
      }
    }
    nest.for "i.2" %i = 0 to 96 {
      nest.for "j.2" %j = 0 to %n {
        %0 = nest.load %c[%j, %i] : memref<?x96xf32>
        %1 = math.exp %0 : f32
        nest.store "y" %1, %y[%j, %i] : memref<100x96xf32>
      }
    }
    nest.for "i.3" %i = 0 to %n {
      nest.for "j.3" %j = 0 to 64 {
        %0 = nest.load %x[%i, %j] : memref<100x64xf32>
        %1 = arith.addf %0, %0 : f32
        nest.store "z" %1, %z[%i + %b, %j] : memref<200x64xf32>
      }
    }
  }
  func.return
}
