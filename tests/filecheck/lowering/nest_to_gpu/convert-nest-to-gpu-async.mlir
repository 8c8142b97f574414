// Copies under way at an edge: zeros are written where there is no element, by 16 bytes in aligned buffers and else by elements.
// RUN: opt-tool %s -p 'nest-annotate{loop=v mark="nestor.async"},nest-annotate{loop=e mark="nestor.async"},nest-insert-barriers,convert-nest-to-gpu{explicit-barriers=true index-bits=32}' | filecheck %s
// RUN: opt-tool %s -p 'nest-annotate{loop=v mark="nestor.async"},nest-annotate{loop=e mark="nestor.async"},nest-insert-barriers,convert-nest-to-gpu{explicit-barriers=true index-bits=32},canonicalize' -t cuda | filecheck %s --check-prefix=CUDA

// Sixteen bytes are read or none, for 132 is a multiple of 4; of a window that ends anywhere, as many as there are.
// CHECK:      scf.if %aligned {
// CHECK:        [[BOTH:%.*]] = arith.andi
// CHECK:        [[READ:%.*]] = arith.select [[BOTH]], %c4, %c0 : index
// CHECK:        nvgpu.device_async_copy %x{{.*}}, %p{{.*}}, 4, [[READ]] {bypassL1}
// CHECK:      } else {
// CHECK:        [[ONE:%.*]] = arith.select {{%.*}}, %c1, %c0 : index
// CHECK:        nvgpu.device_async_copy %x{{.*}}, %p{{.*}}, 1, [[ONE]] :
// CHECK:      [[LEFT:%.*]] = arith.minsi {{%.*}}, %c4
// CHECK:      [[SOME:%.*]] = arith.maxsi [[LEFT]], %c0
// CHECK:      nvgpu.device_async_copy %x{{.*}}, %q{{.*}}, 4, [[SOME]] {bypassL1}
// CHECK:      scf.for
// CHECK:        nvgpu.device_async_copy %x{{.*}}, %r{{.*}}, 1, {{%.*}} :

// CUDA: const int t_mod8 = t % 8u;
// CUDA: nt_copy_async16(&p[t_div8][t_mod8 * 4], &x[t_div8 * 132 + v], t_div8 < 30 && v < 132 ? 16 : 0);
// CUDA: t_div8 < 30 && v + v_1 < 132 ? 4 : 0);
// CUDA: &q[{{.*}}], &x[{{.*}}], 4 * max(min(31 - t_mod8 * 4, 4), 0));
// CUDA: nt_copy_async4(&q[{{.*}}], &x[{{.*}}], {{\w+}} < 31 ? 4 : 0);
// CUDA: nt_copy_async4(&r[u][t], &x[(o * 14 + u) * 132 + t], t < 132 ? 4 : 0);
// CUDA: nt_commit_copies();
// CUDA: nt_wait_copies<0>();

func.func @f(%x: memref<70x132xf32>, %y: memref<5x256xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  nest.for "o" %o = 0 to 5 bind "block.x" {
    %p = nest.alloc "p" : memref<32x32xf32, 3>
    %q = nest.alloc "q" : memref<32x32xf32, 3>
    %r = nest.alloc "r" : memref<4x260xf32, 3>
    nest.for "t" %t = 0 to 256 bind "thread.x" {
      nest.for "v" %v = 0 to 4 vectorized(4) {
        %e = nest.alloc "e.0" : memref<f32, 5>
        nest.store "e.0" %zero, %e[] : memref<f32, 5>
        %a = nest.load %x[%t floordiv 8, 32 * %o + 4 * (%t mod 8) + %v] : memref<70x132xf32>
        nest.store "e.0" %a, %e[] where (%t floordiv 8 < 30, 32 * %o + 4 * (%t mod 8) + %v < 132) : memref<f32, 5>
        %f = nest.load %e[] : memref<f32, 5>
        nest.store "p" %f, %p[%t floordiv 8, 4 * (%t mod 8) + %v] : memref<32x32xf32, 3>
      }
    }
    nest.for "t.1" %t = 0 to 256 bind "thread.x" {
      nest.for "v.1" %v = 0 to 4 vectorized(4) attributes {nestor.async} {
        %e = nest.alloc "e.1" : memref<f32, 5>
        nest.store "e.1" %zero, %e[] : memref<f32, 5>
        %a = nest.load %x[%t floordiv 8, 4 * (%t mod 8) + %v] : memref<70x132xf32>
        nest.store "e.1" %a, %e[] where (30 - 4 * (%t mod 8) - %v >= 0) : memref<f32, 5>
        %f = nest.load %e[] : memref<f32, 5>
        nest.store "q" %f, %q[%t floordiv 8, 4 * (%t mod 8) + %v] : memref<32x32xf32, 3>
      }
    }
    nest.for "t.2" %t = 0 to 256 bind "thread.x" {
      nest.for "e" %u = 0 to 4 unrolled {
        %e = nest.alloc "e.2" : memref<f32, 5>
        nest.store "e.2" %zero, %e[] : memref<f32, 5>
        %a = nest.load %x[14 * %o + %u, %t] : memref<70x132xf32>
        nest.store "e.2" %a, %e[] where (%t < 132) : memref<f32, 5>
        %f = nest.load %e[] : memref<f32, 5>
        nest.store "r" %f, %r[%u, %t] : memref<4x260xf32, 3>
      }
    }
    nest.for "t.3" %t = 0 to 256 bind "thread.x" {
      %a = nest.load %p[31 - %t floordiv 8, %t mod 32] : memref<32x32xf32, 3>
      %b = nest.load %q[31 - %t floordiv 8, %t mod 32] : memref<32x32xf32, 3>
      %c = nest.load %r[3, 255 - %t] : memref<4x260xf32, 3>
      %d = arith.addf %a, %b : f32
      %e = arith.addf %c, %d : f32
      nest.store "y" %e, %y[%o, %t] : memref<5x256xf32>
    }
  }
  func.return
}
