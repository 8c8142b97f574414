// An operand that lanes have in registers, as they have sums, is the fragment of a product as it is: nothing is loaded.
// RUN: opt-tool %s -p 'nest-annotate{loop=m mark="nestor.matrix"},nest-set-memory{buffer=p space=local}' | filecheck %s
// RUN: opt-tool %s -p 'nest-annotate{loop=m mark="nestor.matrix"},nest-set-memory{buffer=p space=local},nest-insert-barriers,convert-nest-to-gpu{explicit-barriers=true}' | filecheck %s --check-prefix=GPU
// RUN: opt-tool %s -p 'nest-annotate{loop=m mark="nestor.matrix"},nest-set-memory{buffer=p space=local},nest-insert-barriers,convert-nest-to-gpu{explicit-barriers=true index-bits=32}' -t cuda | filecheck %s --check-prefix=CUDA
// RUN: not opt-tool %s -p 'nest-set-memory{buffer=p space=local}' 2>&1 | filecheck %s --check-prefix=FEW

// CHECK: nest.alloc "p" : memref<8x4x2x2x2xf16, 5 : i64>
// CHECK: nest.for "m" %{{.*}} = 0 to 2 attributes {nestor.matrix} {

// Pairs of elements, arithmetic on both at a time, and four of them are a fragment.
// GPU:      memref.alloca() {nestor.pairs} : memref<2x2x2xf16, 5 : i64>
// GPU:      [[X:%.*]] = vector.from_elements {{%.*}}, {{%.*}} : f16, f16 to vector<2xf16>
// GPU:      [[S:%.*]] = arith.mulf [[X]], {{%.*}} : vector<2xf16>
// GPU:      vector.store [[S]]
// GPU-COUNT-4: vector.insert
// GPU:      nvgpu.mma.sync

// CUDA:      unsigned p[2][2];
// CUDA:      nt_mul_half2(
// CUDA:      unsigned p_frag[1][4];
// CUDA-NEXT: p_frag[0][0] = p[0][0];
// CUDA-NEXT: p_frag[0][1] = p[0][1];
// CUDA-NEXT: p_frag[0][2] = p[1][0];
// CUDA-NEXT: p_frag[0][3] = p[1][1];
// CUDA:      nt_mma_m16n8k16_f16(sums, p_frag[0], q_frag[0]);

// Without the tensor core a lane would read elements of others.
// FEW: cannot move the buffer "p" to local memory: local memory is that of a thread, and threads would use it together

func.func @f(%x: memref<16x16xf16>, %y: memref<16x8xf16>, %z: memref<16x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %third = arith.constant 0.333 : f16
  nest.for "o" %o = 0 to 1 bind "block.x" {
    %sums = nest.alloc "sums" : memref<8x4x2x2xf32, 5>
    %p = nest.alloc "p" : memref<8x4x2x2x2xf16>
    %q = nest.alloc "q" : memref<16x8xf16, 3>
    %w = nest.alloc "w" : memref<8x4x2x2x2xf16, 5>
    nest.for "a" %l = 0 to 32 bind "lane" {
      nest.for "v" %v = 0 to 4 {
        %a = nest.load %y[%l floordiv 2, 4 * (%l mod 2) + %v] : memref<16x8xf16>
        nest.store "q" %a, %q[%l floordiv 2, 4 * (%l mod 2) + %v] : memref<16x8xf16, 3>
      }
    }
    nest.for "y" %i = 0 to 8 bind "lane.y" {
      nest.for "x" %j = 0 to 4 bind "lane.x" {
        nest.for "t" %t = 0 to 2 unrolled {
          nest.for "r0" %r = 0 to 2 unrolled {
            nest.for "c0" %c = 0 to 2 vectorized(2) {
              nest.store "sums" %zero, %sums[%i, %j, %r, %c] : memref<8x4x2x2xf32, 5>
            }
            nest.for "c1" %c = 0 to 2 {
              %a = nest.load %x[8 * %r + %i, 8 * %t + 2 * %j + %c] : memref<16x16xf16>
              nest.store "w" %a, %w[%i, %j, %t, %r, %c] : memref<8x4x2x2x2xf16, 5>
            }
          }
        }
      }
    }
    nest.for "y.1" %i = 0 to 8 bind "lane.y" {
      nest.for "x.1" %j = 0 to 4 bind "lane.x" {
        nest.for "t.1" %t = 0 to 2 unrolled {
          nest.for "r1" %r = 0 to 2 unrolled {
            nest.for "c2" %c = 0 to 2 vectorized(2) {
              %a = nest.load %w[%i, %j, %t, %r, %c] : memref<8x4x2x2x2xf16, 5>
              %b = arith.mulf %a, %third : f16
              nest.store "p" %b, %p[%i, %j, %t, %r, %c] : memref<8x4x2x2x2xf16>
            }
          }
        }
      }
    }
    nest.for "y.2" %i = 0 to 8 bind "lane.y" {
      nest.for "x.2" %j = 0 to 4 bind "lane.x" {
        nest.for "m" %r = 0 to 2 {
          nest.for "c" %c = 0 to 2 {
            nest.for "h" %h = 0 to 2 {
              nest.for "e" %e = 0 to 8 {
                %a = nest.load %p[%i, %e floordiv 2, %h, %r, %e mod 2] : memref<8x4x2x2x2xf16>
                %b = nest.load %q[8 * %h + %e, 2 * %j + %c] : memref<16x8xf16, 3>
                %a1 = arith.extf %a : f16 to f32
                %b1 = arith.extf %b : f16 to f32
                %ab = arith.mulf %a1, %b1 : f32
                nest.accumulate "sums" add %ab, %sums[%i, %j, %r, %c] : memref<8x4x2x2xf32, 5>
              }
            }
          }
        }
      }
    }
    nest.for "y.3" %i = 0 to 8 bind "lane.y" {
      nest.for "x.3" %j = 0 to 4 bind "lane.x" {
        nest.for "r3" %r = 0 to 2 unrolled {
          nest.for "c3" %c = 0 to 2 unrolled {
            %s = nest.load %sums[%i, %j, %r, %c] : memref<8x4x2x2xf32, 5>
            nest.store "z" %s, %z[8 * %r + %i, 2 * %j + %c] : memref<16x8xf32>
          }
        }
      }
    }
  }
  func.return
}
