// A convolution is a product in tiles of pixels and channels: a step copies the image once, as far as the window reaches, and the weights by term.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' 2>/dev/null | filecheck %s

// Three channels and all of the window are one step; what follows is in the tile, stored with pixels side by side.
// CHECK-LABEL: func.func @conv
// CHECK: [[W:%\S+]] = memref.collapse_shape %w
// CHECK: nest.for "b" {{%\S+}} = 0 to 2 bind "block.z" {
// CHECK-NEXT: nest.for {{.*}} bind "block.y" {
// CHECK-NEXT: nest.for {{.*}} bind "block.x" {
// CHECK-NEXT: nest.alloc "t" : memref<{{.*}}xf32, 5 : i64>
// Neighbours copy what is side by side in memory: all terms of a channel of the result. Its rows are an odd number of 4s.
// CHECK: nest.alloc "w_tile" : memref<27x20xf32, 3 : i64>
// CHECK: nest.load [[W]]{{.*}} + [[TX:%\S+]]] : memref<5x27xf32>
// CHECK: nest.store "w_tile" {{.*}} + [[TX]],
// Of 3 channels, 4 + 2 rows of pixels: an odd number of 8s.
// CHECK: nest.alloc "x_tile" : memref<18x24xf32, 3 : i64>
// CHECK: nest.barrier
// CHECK: nest.load %x_tile[6 * [[C:%\S+]] + {{.*}} + [[U:%\S+]], {{.*}} + [[V:%\S+]]]
// CHECK: nest.load %w_tile[9 * [[C]] + 3 * [[U]] + [[V]], {{.*}}]
// CHECK: nest.accumulate "t" add
// CHECK: nest.store "y" {{%\S+}}, %y
// CHECK-NOT: nest.load %t
func.func @conv(%x: memref<2x3x11x9xf32>, %w: memref<5x3x3x3xf32>, %y: memref<2x5x9x7xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<2x9x7x5xf32>
  nest.for "b" %b = 0 to 2 {
    nest.for "i" %i = 0 to 9 {
      nest.for "j" %j = 0 to 7 {
        nest.for "k" %k = 0 to 5 {
          nest.store "t" %zero, %t[%b, %i, %j, %k] : memref<2x9x7x5xf32>
        }
      }
    }
  }
  nest.for "b.1" %b = 0 to 2 {
    nest.for "i.1" %i = 0 to 9 {
      nest.for "j.1" %j = 0 to 7 {
        nest.for "k.1" %k = 0 to 5 {
          nest.for "c" %c = 0 to 3 {
            nest.for "u" %u = 0 to 3 {
              nest.for "v" %v = 0 to 3 {
                %a = nest.load %x[%b, %c, %i + %u, %j + %v] : memref<2x3x11x9xf32>
                %f = nest.load %w[%k, %c, %u, %v] : memref<5x3x3x3xf32>
                %p = arith.mulf %a, %f : f32
                nest.accumulate "t" add %p, %t[%b, %i, %j, %k] : memref<2x9x7x5xf32>
              }
            }
          }
        }
      }
    }
  }
  nest.for "b.2" %b = 0 to 2 {
    nest.for "k.2" %k = 0 to 5 {
      nest.for "i.2" %i = 0 to 9 {
        nest.for "j.2" %j = 0 to 7 {
          %s = nest.load %t[%b, %i, %j, %k] : memref<2x9x7x5xf32>
          nest.store "y" %s, %y[%b, %k, %i, %j] : memref<2x5x9x7xf32>
        }
      }
    }
  }
  func.return
}
