// Local buffers made outside of loops over threads: every lane has its own elements of %row, and the total of a warp.
// RUN: opt-tool %s -p 'nest-insert-barriers,convert-nest-to-gpu{explicit-barriers=true},canonicalize,cse' | filecheck %s

// CHECK:       gpu.func @rows_kernel
// CHECK:         [[ROW:%.*]] = memref.alloca() : memref<4xf32, 5 : i64>
// CHECK-NOT:     memref<f32, 5
// CHECK-NOT:     scf.if
// CHECK:         scf.for [[K:%.*]] =
// CHECK:           memref.store {{%.*}}, [[ROW]][[[K]]]
// CHECK:         [[TOP:%.*]] = scf.for
// CHECK:           gpu.shuffle xor
// CHECK-NOT:     scf.if
// CHECK-NOT:     gpu.barrier
// CHECK:         scf.for [[K:%.*]] =
// CHECK:           [[A:%.*]] = memref.load [[ROW]][[[K]]]
// CHECK:           arith.subf [[A]], [[TOP]]
func.func @rows(%x: memref<8x128xf32>, %y: memref<8x128xf32>) {
  %none = arith.constant 0xff800000 : f32
  nest.for "b" %b = 0 to 2 bind "block.x" {
    nest.for "w" %w = 0 to 4 bind "thread.x" {
      %row = nest.alloc "row" : memref<32x4xf32, 5>
      %top = nest.alloc "top" : memref<f32, 5>
      nest.store "top" %none, %top[] : memref<f32, 5>
      nest.for "l" %l = 0 to 32 bind "lane" {
        %own = nest.alloc "own" : memref<f32>
        nest.store "own" %none, %own[] : memref<f32>
        nest.for "k" %k = 0 to 4 {
          %a = nest.load %x[4 * %b + %w, 32 * %k + %l] : memref<8x128xf32>
          nest.store "row" %a, %row[%l, %k] : memref<32x4xf32, 5>
          nest.accumulate "own" maximum %a, %own[] : memref<f32>
        }
        %o = nest.load %own[] : memref<f32>
        nest.accumulate "top" maximum %o, %top[] : memref<f32, 5>
      }
      nest.for "l.1" %l = 0 to 32 bind "lane" {
        nest.for "k.1" %k = 0 to 4 {
          %a = nest.load %row[%l, %k] : memref<32x4xf32, 5>
          %t = nest.load %top[] : memref<f32, 5>
          %c = arith.subf %a, %t : f32
          nest.store "y" %c, %y[4 * %b + %w, 32 * %k + %l] : memref<8x128xf32>
        }
      }
    }
  }
  func.return
}
