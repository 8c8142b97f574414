// Products whose factor is computed of a product with few terms: blocks compute it where they use it, for rows and for columns.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' 2>/dev/null | filecheck %s

// CHECK-LABEL: func.func @two
// CHECK-NOT: nest.alloc
// Rows of the result: a block has 64, and passes over all columns, 32 at a time.
// CHECK: nest.for {{.*}} = 0 to 64 bind "block.y" {
// CHECK-NEXT: nest.for {{.*}} = 0 to 2 bind "block.x" {
// CHECK-NEXT: [[Y:%\S+]] = nest.alloc "result_sums" : memref<4x2x16x8x2xf32, 5 : i64>
// CHECK: nest.for {{.*}} = 0 to 10 {
// CHECK: [[T:%\S+]] = nest.alloc "t.1" : memref<1x64x36xf32, 3 : i64>
// CHECK: nest.accumulate "add" add
// CHECK: [[W:%\S+]] = arith.maximumf
// CHECK: nest.store "add" {{%\S+}}, [[T]]
// CHECK: nest.barrier
// CHECK: nest.load [[T]]
// CHECK: nest.accumulate "result" add {{%\S+}}, [[Y]]
// CHECK: nest.store "result" {{%\S+}}, %result
// Columns: it is computed again, rows and columns of a tile the other way round.
// CHECK: nest.for {{.*}} = 0 to 64 bind "block.y" {
// CHECK-NEXT: nest.for {{.*}} = 0 to 5 bind "block.x" {
// CHECK-NEXT: [[Y:%\S+]] = nest.alloc "out_sums"
// CHECK: nest.for {{.*}} = 0 to 3 {
// CHECK: [[T:%\S+]] = nest.alloc "t" : memref<1x32x68xf32, 3 : i64>
// CHECK: arith.maximumf
// CHECK: nest.store "add" {{%\S+}}, [[T]]
// CHECK: nest.accumulate "result" add {{%\S+}}, [[Y]]
// CHECK: nest.store "result" {{%\S+}}, %out
func.func @two(%q: memref<64x70x16xf32>, %k: memref<64x300x16xf32>, %v: memref<64x300x24xf32>, %u: memref<64x70x24xf32>, %result: memref<64x70x24xf32> {nest.role = "out"}, %out: memref<64x300x24xf32> {nest.role = "out"}) {
  %t = nest.alloc "t" : memref<64x70x300xf32>
  %0 = arith.constant 0.000000e+00 : f32
  nest.for "i" %i = 0 to 64 {
    nest.for "j" %j = 0 to 70 {
      nest.for "k" %k_1 = 0 to 300 {
        nest.store "add" %0, %t[%i, %j, %k_1] : memref<64x70x300xf32>
      }
    }
  }
  nest.for "i.1" %i_1 = 0 to 64 {
    nest.for "j.1" %j_1 = 0 to 70 {
      nest.for "k.1" %k_2 = 0 to 300 {
        nest.for "l" %l = 0 to 16 {
          %q_1 = nest.load %q[%i_1, %j_1, %l] : memref<64x70x16xf32>
          %k_3 = nest.load %k[%i_1, %k_2, %l] : memref<64x300x16xf32>
          %1 = arith.mulf %q_1, %k_3 : f32
          nest.accumulate "add" add %1, %t[%i_1, %j_1, %k_2] : memref<64x70x300xf32>
        }
      }
    }
  }
  %2 = arith.constant 0.000000e+00 : f32
  nest.for "i.2" %i_2 = 0 to 64 {
    nest.for "j.2" %j_2 = 0 to 70 {
      nest.for "k.2" %k_4 = 0 to 300 {
        %3 = nest.load %t[%i_2, %j_2, %k_4] : memref<64x70x300xf32>
        %w = arith.maximumf %3, %2 : f32
        nest.store "w" %w, %t[%i_2, %j_2, %k_4] : memref<64x70x300xf32>
      }
    }
  }
  nest.for "i.3" %i_3 = 0 to 64 {
    nest.for "j.3" %j_3 = 0 to 70 {
      nest.for "k.3" %k_5 = 0 to 24 {
        nest.store "result" %0, %result[%i_3, %j_3, %k_5] : memref<64x70x24xf32>
      }
    }
  }
  nest.for "i.4" %i_4 = 0 to 64 {
    nest.for "j.4" %j_4 = 0 to 70 {
      nest.for "k.4" %k_6 = 0 to 24 {
        nest.for "l.1" %l_1 = 0 to 300 {
          %w_1 = nest.load %t[%i_4, %j_4, %l_1] : memref<64x70x300xf32>
          %v_1 = nest.load %v[%i_4, %l_1, %k_6] : memref<64x300x24xf32>
          %4 = arith.mulf %w_1, %v_1 : f32
          nest.accumulate "result" add %4, %result[%i_4, %j_4, %k_6] : memref<64x70x24xf32>
        }
      }
    }
  }
  nest.for "i.5" %i_5 = 0 to 64 {
    nest.for "j.5" %j_5 = 0 to 300 {
      nest.for "k.5" %k_7 = 0 to 24 {
        nest.store "result" %0, %out[%i_5, %j_5, %k_7] : memref<64x300x24xf32>
      }
    }
  }
  nest.for "i.6" %i_6 = 0 to 64 {
    nest.for "j.6" %j_6 = 0 to 300 {
      nest.for "k.6" %k_8 = 0 to 24 {
        nest.for "l.2" %l_2 = 0 to 70 {
          %w_2 = nest.load %t[%i_6, %l_2, %j_6] : memref<64x70x300xf32>
          %u_1 = nest.load %u[%i_6, %l_2, %k_8] : memref<64x70x24xf32>
          %5 = arith.mulf %w_2, %u_1 : f32
          nest.accumulate "result" add %5, %out[%i_6, %j_6, %k_8] : memref<64x300x24xf32>
        }
      }
    }
  }
  func.return
}
