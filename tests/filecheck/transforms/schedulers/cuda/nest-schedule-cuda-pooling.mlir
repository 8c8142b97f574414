// Windows two elements apart of an image with a border: a tile of the border is in shared memory, every second column a row.
// RUN: opt-tool %s -p "nest-schedule-cuda" | filecheck %s

// CHECK-LABEL: func.func @pool
func.func @pool(%x: memref<16x64x64xf32>, %y: memref<16x32x32xf32> {nest.role = "out"}) {
  %low = arith.constant 0xff800000 : f32
  %p = nest.alloc "p" : memref<16x66x66xf32>
  nest.for "i" %i = 0 to 16 {
    nest.for "j" %j = 0 to 66 {
      nest.for "k" %k = 0 to 66 {
        nest.store "p" %low, %p[%i, %j, %k] : memref<16x66x66xf32>
        %a = nest.load %x[%i, %j - 1, %k - 1] : memref<16x64x64xf32>
        nest.store "p" %a, %p[%i, %j, %k] where (%j >= 1, %j < 65, %k >= 1, %k < 65) : memref<16x66x66xf32>
      }
    }
  }
  nest.for "i.1" %i = 0 to 16 {
    nest.for "j.1" %j = 0 to 32 {
      nest.for "k.1" %k = 0 to 32 {
        %s = nest.alloc "s" : memref<f32>
        nest.store "s" %low, %s[] : memref<f32>
        nest.for "u" %u = 0 to 3 {
          nest.for "v" %v = 0 to 3 {
            %e = nest.load %p[%i, 2 * %j + %u, 2 * %k + %v] : memref<16x66x66xf32>
            nest.accumulate "s" maximum %e, %s[] : memref<f32>
          }
        }
        %t = nest.load %s[] : memref<f32>
        nest.store "y" %t, %y[%i, %j, %k] : memref<16x32x32xf32>
      }
    }
  }
  func.return
}

// CHECK:         nest.for "i.1" %[[I:.*]] = 0 to 16 bind "block.x" {
// CHECK-NEXT:      %[[P:.*]] = nest.alloc "p" : memref<65x2x48xf32, 3 : i64>
// CHECK:           bind "thread.y" {
// CHECK-NEXT:        nest.for {{.*}} %[[X:.*]] = 0 to 32 bind "thread.x" {
// CHECK:               %[[E:.*]] = nest.alloc "element" : memref<f32, 5 : i64>
// CHECK:               nest.load %x[%[[I]],
// CHECK:               nest.store "p" %{{.*}}, %[[P]][{{.*}}, %[[X]] mod 2, 16 * %{{.*}} + %[[X]] floordiv 2]
// CHECK:           nest.for "ty" %[[TY:.*]] = 0 to 8 bind "thread.y" {
// CHECK-NEXT:        nest.for "tx" %[[TX:.*]] = 0 to 32 bind "thread.x" {
// CHECK-NEXT:          nest.for {{.*}} %[[R:.*]] = 0 to 4 unrolled {
// CHECK:                 nest.for "u" %[[U:.*]] = 0 to 3 unrolled {
// CHECK-NEXT:              nest.for "v" %[[V:.*]] = 0 to 3 unrolled {
// CHECK-NEXT:                nest.load %[[P]][8 * %[[TY]] + 2 * %[[R]] + %[[U]], %[[V]] mod 2, %[[TX]] + %[[V]] floordiv 2]
// CHECK:                 nest.store "y" %{{.*}}, %y[%[[I]], 4 * %[[TY]] + %[[R]], %[[TX]]]

// A tile of one row: the loop over rows of the copy goes, and the constant in it is no hindrance.
// CHECK-LABEL: func.func @none
// CHECK:         nest.alloc "t" : memref<6xf64, 3 : i64>
func.func @none(%x: memref<0x4xf64>, %w: memref<3xf64>, %result: memref<0x4xf64> {nest.role = "out"}) {
  %t = nest.alloc "t" : memref<0x6xf64>
  nest.for "slice" %slice = 0 to 0 {
    %0 = arith.constant 0.000000e+00 : f64
    nest.for "i" %i = 0 to 6 {
      nest.store %0, %t[%slice, %i] : memref<0x6xf64>
      %1 = nest.load %x[%slice, %i - 1] : memref<0x4xf64>
      nest.store %1, %t[%slice, %i] where (%i >= 1, %i < 5) : memref<0x6xf64>
    }
  }
  %2 = arith.constant 0.000000e+00 : f64
  nest.for "i.1" %i_1 = 0 to 0 {
    nest.for "j" %j = 0 to 4 {
      %s = nest.alloc "s" : memref<f64>
      nest.store "s" %2, %s[] : memref<f64>
      nest.for "k" %k = 0 to 3 {
        %3 = nest.load %t[%i_1, %j + %k] : memref<0x6xf64>
        %w_1 = nest.load %w[2 - %k] : memref<3xf64>
        %4 = arith.mulf %3, %w_1 : f64
        nest.accumulate "s" add %4, %s[] : memref<f64>
      }
      %5 = nest.load %s[] : memref<f64>
      nest.store "result" %5, %result[%i_1, %j] : memref<0x4xf64>
    }
  }
  func.return
}
