// A convolution of 16-bit floats is a product by tensor cores: pixels of all images by channels, copied through quotients and remainders.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' 2>/dev/null | filecheck %s

// Steps of 32 channels of one element of the window; the border is a domain of the copy, and no buffer.
// CHECK-LABEL: func.func @channels_last
// CHECK-NOT: nest.alloc "p"
// CHECK: [[W:%\S+]] = memref.collapse_shape %w
// CHECK: nest.for {{.*}} bind "block.y" {
// CHECK-NEXT: nest.for {{.*}} bind "block.x" {
// CHECK-NEXT: nest.alloc "t" : memref<{{.*}}xf32, 5 : i64>
// CHECK: nest.alloc "p_tile" : memref<{{.*}}xf16, 3 : i64>
// CHECK: nest.for {{.*}} bind "lane" {
// CHECK: nest.for {{.*}} vectorized(8) attributes {nestor.async} {
// CHECK: nest.load %x[{{.*}} floordiv 64, {{.*}} mod 64 floordiv 8 + {{.*}} floordiv 3 - 1, {{.*}} - 1, {{.*}}] : memref<2x8x8x32xf16>
// CHECK: nest.store "p_element" {{.*}} where ({{.*}} >= 1, {{.*}} < 9, {{.*}} >= 1, {{.*}} < 9)
// CHECK: nest.load [[W]]
// CHECK: attributes {nestor.matrix} {
// CHECK: nest.accumulate "t" add
// CHECK: arith.truncf
// CHECK: nest.store "y"
// CHECK-NOT: nest.load %t
func.func @channels_last(%x: memref<2x8x8x32xf16>, %w: memref<3x3x32x32xf16>, %y: memref<2x8x8x32xf16> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f16
  %none = arith.constant 0.0 : f32
  %p = nest.alloc "p" : memref<2x10x10x32xf16>
  nest.for "b" %b = 0 to 2 {
    nest.for "i" %i = 0 to 10 {
      nest.for "j" %j = 0 to 10 {
        nest.for "c" %c = 0 to 32 {
          nest.store "p" %zero, %p[%b, %i, %j, %c] : memref<2x10x10x32xf16>
          %a = nest.load %x[%b, %i - 1, %j - 1, %c] : memref<2x8x8x32xf16>
          nest.store "p" %a, %p[%b, %i, %j, %c] where (%i >= 1, %i < 9, %j >= 1, %j < 9) : memref<2x10x10x32xf16>
        }
      }
    }
  }
  %t = nest.alloc "t" : memref<2x8x8x32xf32>
  nest.for "b.1" %b = 0 to 2 {
    nest.for "i.1" %i = 0 to 8 {
      nest.for "j.1" %j = 0 to 8 {
        nest.for "k.1" %k = 0 to 32 {
          nest.store "t" %none, %t[%b, %i, %j, %k] : memref<2x8x8x32xf32>
        }
      }
    }
  }
  nest.for "b.2" %b = 0 to 2 {
    nest.for "i.2" %i = 0 to 8 {
      nest.for "j.2" %j = 0 to 8 {
        nest.for "k.2" %k = 0 to 32 {
          nest.for "u" %u = 0 to 3 {
            nest.for "v" %v = 0 to 3 {
              nest.for "c.2" %c = 0 to 32 {
                %a = nest.load %p[%b, %i + %u, %j + %v, %c] : memref<2x10x10x32xf16>
                %e = arith.extf %a : f16 to f32
                %d = nest.load %w[%u, %v, %c, %k] : memref<3x3x32x32xf16>
                %f = arith.extf %d : f16 to f32
                %m = arith.mulf %e, %f : f32
                nest.accumulate "t" add %m, %t[%b, %i, %j, %k] : memref<2x8x8x32xf32>
              }
            }
          }
        }
      }
    }
  }
  nest.for "b.3" %b = 0 to 2 {
    nest.for "i.3" %i = 0 to 8 {
      nest.for "j.3" %j = 0 to 8 {
        nest.for "k.3" %k = 0 to 32 {
          %s = nest.load %t[%b, %i, %j, %k] : memref<2x8x8x32xf32>
          %r = arith.truncf %s : f32 to f16
          nest.store "y" %r, %y[%b, %i, %j, %k] : memref<2x8x8x32xf16>
        }
      }
    }
  }
  func.return
}
