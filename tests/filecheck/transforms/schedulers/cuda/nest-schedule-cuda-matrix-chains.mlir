// The same of float16: by tensor cores, factors stay in registers, and the next tile of columns is copied ahead.
// RUN: opt-tool %s -p 'nest-schedule-cuda' 2>/dev/null | filecheck %s

// CHECK-LABEL: func.func @two
// CHECK-NOT: nest.alloc
// CHECK: nest.for {{.*}} = 0 to 64 bind "block.y" {
// CHECK-NEXT: nest.for {{.*}} = 0 to 2 bind "block.x" {
// CHECK-NEXT: nest.alloc "q_shared" : memref<64x16xf16, 3 : i64>
// CHECK: [[W:%\S+]] = nest.alloc "w.1" : memref<4x8x4x8x2x2xf16, 5 : i64>
// CHECK: nest.alloc "k_shared" : memref<2x64x16xf16, 3 : i64>
// CHECK: nest.alloc "v_tile" : memref<2x64x32xf16, 3 : i64>
// CHECK: attributes {nestor.matrix} {
// CHECK: arith.maximumf {{%\S+}}, {{%\S+}} : f16
// CHECK-NEXT: nest.store "w" {{%\S+}}, [[W]]
// CHECK: attributes {nestor.matrix} {
// The other reader has rows where this one has columns: its block has 64 of the 300.
// CHECK: nest.for {{.*}} = 0 to 64 bind "block.y" {
// CHECK-NEXT: nest.for {{.*}} = 0 to 5 bind "block.x" {
// CHECK-NEXT: nest.alloc "k_shared.1" : memref<64x16xf16, 3 : i64>
// CHECK: nest.alloc "q_shared.1" : memref<2x64x16xf16, 3 : i64>
// CHECK: nest.alloc "u_tile" : memref<2x64x32xf16, 3 : i64>
func.func @two(%q: memref<64x70x16xf16>, %k: memref<64x300x16xf16>, %v: memref<64x300x24xf16>, %u: memref<64x70x24xf16>, %result: memref<64x70x24xf16> {nest.role = "out"}, %out: memref<64x300x24xf16> {nest.role = "out"}) {
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
          %q_1 = nest.load %q[%i_1, %j_1, %l] : memref<64x70x16xf16>
          %1 = arith.extf %q_1 : f16 to f32
          %k_3 = nest.load %k[%i_1, %k_2, %l] : memref<64x300x16xf16>
          %2 = arith.extf %k_3 : f16 to f32
          %3 = arith.mulf %1, %2 : f32
          nest.accumulate "add" add %3, %t[%i_1, %j_1, %k_2] : memref<64x70x300xf32>
        }
      }
    }
  }
  %w = nest.alloc "w" : memref<64x70x300xf16>
  %4 = arith.constant 0.000000e+00 : f16
  nest.for "i.2" %i_2 = 0 to 64 {
    nest.for "j.2" %j_2 = 0 to 70 {
      nest.for "k.2" %k_4 = 0 to 300 {
        %5 = nest.load %t[%i_2, %j_2, %k_4] : memref<64x70x300xf32>
        %6 = arith.truncf %5 : f32 to f16
        %w_1 = arith.maximumf %6, %4 : f16
        nest.store "w" %w_1, %w[%i_2, %j_2, %k_4] : memref<64x70x300xf16>
      }
    }
  }
  %t_1 = nest.alloc "t.1" : memref<64x70x24xf32>
  nest.for "i.3" %i_3 = 0 to 64 {
    nest.for "j.3" %j_3 = 0 to 70 {
      nest.for "k.3" %k_5 = 0 to 24 {
        nest.store "add" %0, %t_1[%i_3, %j_3, %k_5] : memref<64x70x24xf32>
      }
    }
  }
  nest.for "i.4" %i_4 = 0 to 64 {
    nest.for "j.4" %j_4 = 0 to 70 {
      nest.for "k.4" %k_6 = 0 to 24 {
        nest.for "l.1" %l_1 = 0 to 300 {
          %w_2 = nest.load %w[%i_4, %j_4, %l_1] : memref<64x70x300xf16>
          %7 = arith.extf %w_2 : f16 to f32
          %v_1 = nest.load %v[%i_4, %l_1, %k_6] : memref<64x300x24xf16>
          %8 = arith.extf %v_1 : f16 to f32
          %9 = arith.mulf %7, %8 : f32
          nest.accumulate "add" add %9, %t_1[%i_4, %j_4, %k_6] : memref<64x70x24xf32>
        }
      }
    }
  }
  nest.for "i.5" %i_5 = 0 to 64 {
    nest.for "j.5" %j_5 = 0 to 70 {
      nest.for "k.5" %k_7 = 0 to 24 {
        %10 = nest.load %t_1[%i_5, %j_5, %k_7] : memref<64x70x24xf32>
        %result_1 = arith.truncf %10 : f32 to f16
        nest.store "result" %result_1, %result[%i_5, %j_5, %k_7] : memref<64x70x24xf16>
      }
    }
  }
  %t_2 = nest.alloc "t.2" : memref<64x300x24xf32>
  nest.for "i.6" %i_6 = 0 to 64 {
    nest.for "j.6" %j_6 = 0 to 300 {
      nest.for "k.6" %k_8 = 0 to 24 {
        nest.store "add" %0, %t_2[%i_6, %j_6, %k_8] : memref<64x300x24xf32>
      }
    }
  }
  nest.for "i.7" %i_7 = 0 to 64 {
    nest.for "j.7" %j_7 = 0 to 300 {
      nest.for "k.7" %k_9 = 0 to 24 {
        nest.for "l.2" %l_2 = 0 to 70 {
          %w_3 = nest.load %w[%i_7, %l_2, %j_7] : memref<64x70x300xf16>
          %11 = arith.extf %w_3 : f16 to f32
          %u_1 = nest.load %u[%i_7, %l_2, %k_9] : memref<64x70x24xf16>
          %12 = arith.extf %u_1 : f16 to f32
          %13 = arith.mulf %11, %12 : f32
          nest.accumulate "add" add %13, %t_2[%i_7, %j_7, %k_9] : memref<64x300x24xf32>
        }
      }
    }
  }
  nest.for "i.8" %i_8 = 0 to 64 {
    nest.for "j.8" %j_8 = 0 to 300 {
      nest.for "k.8" %k_10 = 0 to 24 {
        %14 = nest.load %t_2[%i_8, %j_8, %k_10] : memref<64x300x24xf32>
        %result_2 = arith.truncf %14 : f32 to f16
        nest.store "result" %result_2, %out[%i_8, %j_8, %k_10] : memref<64x300x24xf16>
      }
    }
  }
  func.return
}
