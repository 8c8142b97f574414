// Attention of float16 is one kernel: two products by tensor cores, what is between them in registers, copies ahead.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' 2>/dev/null | filecheck %s

// CHECK-LABEL: func.func @attention
// CHECK-NOT: nest.alloc
// CHECK: bind "block.y" {
// CHECK-NEXT: nest.for {{.*}} = 0 to 2 bind "block.x" {
// The queries of the block, once; the first tiles of keys and values are on their way before the loop.
// CHECK: [[Q:%\S+]] = nest.alloc "q_shared" : memref<64x64xf16, 3 : i64>
// CHECK: attributes {nestor.async}
// Lanes 8 by 4: a row of sums is in four lanes, which have what is known of the row each.
// CHECK: [[Y:%\S+]] = nest.alloc "t.2_sums" : memref<4x8x4x1x8x2x2xf32, 5 : i64>
// CHECK: [[L:%\S+]] = nest.alloc "running_sum" : memref<4x8x2xf32, 5 : i64>
// CHECK: [[M:%\S+]] = nest.alloc "running_maximum" : memref<4x8x2xf16, 5 : i64>
// CHECK: [[T:%\S+]] = nest.alloc "t" : memref<4x8x4x8x2x2xf32, 5 : i64>
// CHECK: [[W:%\S+]] = nest.alloc "t.1_tile" : memref<4x8x4x8x2x2xf16, 5 : i64>
// CHECK: [[K:%\S+]] = nest.alloc "k_shared" : memref<2x64x64xf16, 3 : i64>
// CHECK: [[V:%\S+]] = nest.alloc "v_tile" : memref<2x64x64xf16, 3 : i64>
// CHECK: nest.barrier {nestor.copies = 0 : i64}
// One barrier for each tile of keys.
// CHECK: nest.for "k.o" [[O:%\S+]] = 0 to 1 {
// CHECK: nest.store "k_shared" {{%\S+}}, [[K]]{{\[}}[[O]] + 1,
// CHECK: nest.store "v_tile" {{%\S+}}, [[V]]{{\[}}[[O]] + 1,
// CHECK: bind "lane.y" {
// CHECK-NEXT: nest.for {{.*}} bind "lane.x" {
// CHECK: attributes {nestor.matrix}
// CHECK: nest.load [[Q]]
// CHECK: nest.load [[K]]{{\[}}[[O]],
// CHECK-NOT: nest.barrier
// Four lanes have a row: two elements at a time, and what they have is combined by shuffles.
// CHECK: nest.store {{.*}} [[T]][
// CHECK: bind "lane.y" {
// CHECK: bind "lane.x" {
// CHECK: vectorized(2) {
// CHECK: nest.load [[T]]
// CHECK: nest.accumulate "maximum" maximum {{.*}} where
// CHECK: nest.accumulate "maximum" maximum {{%\S+}}, [[M]]
// CHECK: bind "lane.x" {
// CHECK: math.exp {{%\S+}} : f16
// CHECK: nest.accumulate "add" add {{%\S+}}, [[L]]
// The weights are the operand of the next product as they lie in the lanes, with zeros where there are no keys.
// CHECK: nest.store "t.1_tile" {{%\S+}}, [[W]][
// CHECK: attributes {nestor.matrix}
// CHECK: nest.load [[W]][{{%\S+}}, {{%\S+}}, [[E:%\S+]] floordiv 2, {{.*}}, [[E]] mod 2]
// CHECK: nest.load [[V]]{{\[}}[[O]],
// CHECK: nest.accumulate "add" add {{%\S+}}, [[Y]]
// What is added up is divided, made narrower and stored once.
// CHECK: arith.divf
// CHECK: arith.truncf
// CHECK: nest.store "result" {{%\S+}}, %result
func.func @attention(%q: memref<2x70x64xf16>, %k: memref<2x100x64xf16>, %v: memref<2x100x64xf16>, %result: memref<2x70x64xf16> {nest.role = "out"}) {
  %t = nest.alloc "t" : memref<2x70x100xf32>
  %0 = arith.constant 0.000000e+00 : f32
  nest.for "i" %i = 0 to 2 {
    nest.for "j" %j = 0 to 70 {
      nest.for "k" %k_1 = 0 to 100 {
        nest.store "add" %0, %t[%i, %j, %k_1] : memref<2x70x100xf32>
      }
    }
  }
  nest.for "i.1" %i_1 = 0 to 2 {
    nest.for "j.1" %j_1 = 0 to 70 {
      nest.for "k.1" %k_2 = 0 to 100 {
        nest.for "l" %l = 0 to 64 {
          %q_1 = nest.load %q[%i_1, %j_1, %l] : memref<2x70x64xf16>
          %1 = arith.extf %q_1 : f16 to f32
          %k_3 = nest.load %k[%i_1, %k_2, %l] : memref<2x100x64xf16>
          %2 = arith.extf %k_3 : f16 to f32
          %3 = arith.mulf %1, %2 : f32
          nest.accumulate "add" add %3, %t[%i_1, %j_1, %k_2] : memref<2x70x100xf32>
        }
      }
    }
  }
  %t_1 = nest.alloc "t.1" : memref<2x70x100xf16>
  %4 = arith.constant 0xfc00 : f16
  %5 = arith.constant 1.250000e-01 : f16
  nest.for "i.2" %i_2 = 0 to 2 {
    nest.for "j.2" %j_2 = 0 to 70 {
      %maximum = nest.alloc "maximum" : memref<f16>
      nest.store "maximum" %4, %maximum[] : memref<f16>
      nest.for "k.2" %k_4 = 0 to 100 {
        %6 = nest.load %t[%i_2, %j_2, %k_4] : memref<2x70x100xf32>
        %7 = arith.truncf %6 : f32 to f16
        %scores = arith.mulf %7, %5 : f16
        nest.accumulate "maximum" maximum %scores, %maximum[] : memref<f16>
      }
      %sum = nest.alloc "sum" : memref<f32>
      nest.store "add" %0, %sum[] : memref<f32>
      %8 = nest.load %maximum[] : memref<f16>
      nest.for "k.3" %k_5 = 0 to 100 {
        %9 = nest.load %t[%i_2, %j_2, %k_5] : memref<2x70x100xf32>
        %10 = arith.truncf %9 : f32 to f16
        %scores_1 = arith.mulf %10, %5 : f16
        %11 = arith.subf %scores_1, %8 : f16
        %e = math.exp %11 : f16
        nest.store "e" %e, %t_1[%i_2, %j_2, %k_5] : memref<2x70x100xf16>
        %12 = arith.extf %e : f16 to f32
        nest.accumulate "add" add %12, %sum[] : memref<f32>
      }
      %13 = nest.load %sum[] : memref<f32>
      %14 = arith.truncf %13 : f32 to f16
      nest.for "k.4" %k_6 = 0 to 100 {
        %e_1 = nest.load %t_1[%i_2, %j_2, %k_6] : memref<2x70x100xf16>
        %15 = arith.divf %e_1, %14 : f16
        nest.store "divide" %15, %t_1[%i_2, %j_2, %k_6] : memref<2x70x100xf16>
      }
    }
  }
  %t_2 = nest.alloc "t.2" : memref<2x70x64xf32>
  nest.for "i.3" %i_3 = 0 to 2 {
    nest.for "j.3" %j_3 = 0 to 70 {
      nest.for "k.5" %k_7 = 0 to 64 {
        nest.store "add" %0, %t_2[%i_3, %j_3, %k_7] : memref<2x70x64xf32>
      }
    }
  }
  nest.for "i.4" %i_4 = 0 to 2 {
    nest.for "j.4" %j_4 = 0 to 70 {
      nest.for "k.6" %k_8 = 0 to 64 {
        nest.for "l.1" %l_1 = 0 to 100 {
          %16 = nest.load %t_1[%i_4, %j_4, %l_1] : memref<2x70x100xf16>
          %17 = arith.extf %16 : f16 to f32
          %v_1 = nest.load %v[%i_4, %l_1, %k_8] : memref<2x100x64xf16>
          %18 = arith.extf %v_1 : f16 to f32
          %19 = arith.mulf %17, %18 : f32
          nest.accumulate "add" add %19, %t_2[%i_4, %j_4, %k_8] : memref<2x70x64xf32>
        }
      }
    }
  }
  nest.for "i.5" %i_5 = 0 to 2 {
    nest.for "j.5" %j_5 = 0 to 70 {
      nest.for "k.7" %k_9 = 0 to 64 {
        %20 = nest.load %t_2[%i_5, %j_5, %k_9] : memref<2x70x64xf32>
        %result_1 = arith.truncf %20 : f32 to f16
        nest.store "result" %result_1, %result[%i_5, %j_5, %k_9] : memref<2x70x64xf16>
      }
    }
  }
  func.return
}
