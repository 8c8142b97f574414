// Shuffles in their four modes; the width is written where it is not that of a warp.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: void __launch_bounds__(32) shuffles(
// CHECK: = __shfl_xor_sync(0xffffffffu, {{.*}}, 16);
// CHECK: = __shfl_up_sync(0xffffffffu, {{.*}}, 1, 8);
// CHECK: = __shfl_down_sync(0xffffffffu, {{.*}}, 1);
// CHECK: = __shfl_sync(0xffffffffu, {{.*}}, 16);
gpu.module @kernels {
  gpu.func @shuffles(%x: memref<32xf32>) kernel attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %c16 = arith.constant 16 : i32
    %c32 = arith.constant 32 : i32
    %a = memref.load %x[%t] : memref<32xf32>
    %b, %p0 = gpu.shuffle xor %a, %c16, %c32 : f32
    %c, %p1 = gpu.shuffle up %b, %c1, %c8 : f32
    %d, %p2 = gpu.shuffle down %c, %c1, %c32 : f32
    %e, %p3 = gpu.shuffle idx %d, %c16, %c32 : f32
    memref.store %e, %x[%t] : memref<32xf32>
    gpu.return
  }
}
