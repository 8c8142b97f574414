// No index of a product is divided: axes that it reads as one are joined in memory, or in a copy.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s

// An argument stays as it is: the product reads a copy of its heads, side by side.
// CHECK-LABEL: func.func @argument
// CHECK:       %[[J:.*]] = nest.alloc "joined" : memref<4x64x256xf32>
// CHECK:       nest.load %x[
// CHECK-NEXT:  nest.store "joined" %{{.*}}, %[[J]][%{{.*}}, %{{.*}}, 64 * %{{.*}} + %{{.*}}]
// CHECK:       memref.collapse_shape %[[J]] {{.*}} into memref<256x256xf32>
// CHECK:       nest.for "product"
// CHECK-NOT:   {{floordiv|mod}}
// CHECK:       func.return
func.func @argument(%x: memref<4x4x64x64xf32>, %w: memref<256x256xf32>, %y: memref<4x64x256xf32>) {
  nest.for "i" %i = 0 to 4 {
    nest.for "j" %j = 0 to 64 {
      nest.for "k" %k = 0 to 256 {
        nest.for "l" %l = 0 to 256 {
          %a = nest.load %x[%i, %l floordiv 64, %j, %l mod 64] : memref<4x4x64x64xf32>
          %b = nest.load %w[%l, %k] : memref<256x256xf32>
          %p = arith.mulf %a, %b : f32
          nest.accumulate "y" add %p, %y[%i, %j, %k] : memref<4x64x256xf32>
        }
      }
    }
  }
  func.return
}

// Few columns use an element: copying it would cost more than dividing.
// CHECK-LABEL: func.func @few_columns
// CHECK-NOT:   "joined"
// CHECK:       nest.load %x[{{.*}} floordiv 64, {{.*}} mod 64]
// CHECK:       func.return
func.func @few_columns(%x: memref<4x4x64x64xf32>, %w: memref<256x16xf32>, %y: memref<4x64x16xf32>) {
  nest.for "i" %i = 0 to 4 {
    nest.for "j" %j = 0 to 64 {
      nest.for "k" %k = 0 to 16 {
        nest.for "l" %l = 0 to 256 {
          %a = nest.load %x[%i, %l floordiv 64, %j, %l mod 64] : memref<4x4x64x64xf32>
          %b = nest.load %w[%l, %k] : memref<256x16xf32>
          %p = arith.mulf %a, %b : f32
          nest.accumulate "y" add %p, %y[%i, %j, %k] : memref<4x64x16xf32>
        }
      }
    }
  }
  func.return
}

// Another divisor than the extent of the axis: these two axes are not one.
// CHECK-LABEL: func.func @other_divisor
// CHECK-NOT:   "joined"
// CHECK:       func.return
func.func @other_divisor(%x: memref<4x8x64x64xf32>, %w: memref<256x256xf32>, %y: memref<4x64x256xf32>) {
  nest.for "i" %i = 0 to 4 {
    nest.for "j" %j = 0 to 64 {
      nest.for "k" %k = 0 to 256 {
        nest.for "l" %l = 0 to 256 {
          %a = nest.load %x[%i, %l floordiv 32, %j, %l mod 32] : memref<4x8x64x64xf32>
          %b = nest.load %w[%l, %k] : memref<256x256xf32>
          %p = arith.mulf %a, %b : f32
          nest.accumulate "y" add %p, %y[%i, %j, %k] : memref<4x64x256xf32>
        }
      }
    }
  }
  func.return
}
