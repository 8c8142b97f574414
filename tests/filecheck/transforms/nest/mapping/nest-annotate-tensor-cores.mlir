// A nest of 16 x 8 x 16 products that lanes share out as mma.sync has them is one instruction; copies of 16 bytes go on by themselves.
// RUN: opt-tool %s -p 'nest-annotate{loop=m mark="nestor.matrix"},nest-annotate{loop=v mark="nestor.async"}' | filecheck %s
// RUN: opt-tool %s -p 'nest-annotate{loop=m mark="nestor.matrix"},nest-annotate{loop=v mark="nestor.async"},nest-insert-barriers,convert-nest-to-gpu{explicit-barriers=true}' | filecheck %s --check-prefix=GPU
// RUN: opt-tool %s -p 'nest-annotate{loop=m mark="nestor.matrix"},nest-annotate{loop=v mark="nestor.async"},nest-insert-barriers,convert-nest-to-gpu{explicit-barriers=true index-bits=32}' -t cuda | filecheck %s --check-prefix=CUDA

// CHECK: nest.for "v" %v = 0 to 8 vectorized(8) attributes {nestor.async} {
// CHECK: nest.for "m" %{{.*}} = 0 to 2 attributes {nestor.matrix} {

// GPU:      nvgpu.device_async_copy {{.*}}, 8 {bypassL1} : memref<32x16xf16> to memref<32x16xf16, 3 : i64>
// GPU:      [[G:%.*]] = nvgpu.device_async_create_group
// GPU:      nvgpu.device_async_wait [[G]] {numGroups = 0 : i32}
// GPU-NEXT: gpu.barrier
// GPU:      nvgpu.ldmatrix %p{{.*}} {numTiles = 4 : i32, transpose = false} : memref<32x16xf16, 3 : i64> -> vector<4x2xf16>
// GPU:      nvgpu.ldmatrix %q{{.*}} {numTiles = 2 : i32, transpose = true} : memref<16x8xf16, 3 : i64> -> vector<2x2xf16>
// GPU:      scf.for
// GPU:        nvgpu.mma.sync({{.*}}) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>

// CUDA:      nt_copy_async16(&p[
// CUDA:      float sums[2][2][2];
// CUDA:      nt_commit_copies();
// CUDA:      nt_wait_copies<0>();
// CUDA-NEXT: __syncthreads();
// CUDA:      unsigned p_frag[2][4];
// CUDA:        nt_load_matrix_x4(p_frag[m], &p[m * 16 + lane_mod16][
// CUDA:      unsigned q_frag[1][2];
// CUDA:      nt_load_matrix_x2_trans(q_frag[0], &q[
// CUDA:      #pragma unroll
// CUDA-NEXT: for (int m = 0; m < 2; m++) {
// CUDA-NEXT:   nt_mma_m16n8k16_f16(sums[m], p_frag[m], q_frag[0]);

func.func @f(%x: memref<32x16xf16>, %y: memref<16x8xf16>, %z: memref<32x8xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "o" %o = 0 to 1 bind "block.x" {
    %sums = nest.alloc "sums" : memref<32x2x2x2xf32, 5>
    %p = nest.alloc "p" : memref<32x16xf16, 3>
    %q = nest.alloc "q" : memref<16x8xf16, 3>
    nest.for "a" %l = 0 to 32 bind "lane" {
      nest.for "h.0" %h = 0 to 2 {
        nest.for "v" %v = 0 to 8 vectorized(8) {
          %a = nest.load %x[%l, 8 * %h + %v] : memref<32x16xf16>
          nest.store "p" %a, %p[%l, 8 * %h + %v] : memref<32x16xf16, 3>
        }
      }
      nest.for "m.0" %m = 0 to 2 {
        nest.for "r.0" %r = 0 to 2 {
          nest.for "c.0" %c = 0 to 2 {
            nest.store "sums" %zero, %sums[%l, %m, %r, %c] : memref<32x2x2x2xf32, 5>
          }
        }
      }
    }
    nest.for "b" %l = 0 to 32 bind "lane" {
      nest.for "b.e" %e = 0 to 4 {
        %a = nest.load %y[%l floordiv 2, 4 * (%l mod 2) + %e] : memref<16x8xf16>
        nest.store "q" %a, %q[%l floordiv 2, 4 * (%l mod 2) + %e] : memref<16x8xf16, 3>
      }
    }
    nest.for "lane" %l = 0 to 32 bind "lane" {
      nest.for "m" %m = 0 to 2 {
        nest.for "r" %r = 0 to 2 {
          nest.for "c" %c = 0 to 2 {
            nest.for "h" %h = 0 to 2 {
              nest.for "e" %e = 0 to 8 {
                %a = nest.load %p[16 * %m + 8 * %r + %l floordiv 4, 8 * %h + %e] : memref<32x16xf16, 3>
                %b = nest.load %q[8 * %h + %e, 2 * (%l mod 4) + %c] : memref<16x8xf16, 3>
                %af = arith.extf %a : f16 to f32
                %bf = arith.extf %b : f16 to f32
                %ab = arith.mulf %af, %bf : f32
                nest.accumulate "sums" add %ab, %sums[%l, %m, %r, %c] : memref<32x2x2x2xf32, 5>
              }
            }
          }
        }
      }
    }
    nest.for "back" %l = 0 to 32 bind "lane" {
      nest.for "m.1" %m = 0 to 2 {
        nest.for "r.1" %r = 0 to 2 {
          nest.for "c.1" %c = 0 to 2 {
            %s = nest.load %sums[%l, %m, %r, %c] : memref<32x2x2x2xf32, 5>
            nest.store "z" %s, %z[16 * %m + 8 * %r + %l floordiv 4, 2 * (%l mod 4) + %c] : memref<32x8xf32>
          }
        }
      }
    }
  }
  func.return
}
