// The IoU of 10M box pairs, flattened to one axis: one kernel, eight loads, one store.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: extern "C" __global__ void __launch_bounds__(256) iou(
// CHECK: const int i = blockIdx.x * 256 + threadIdx.x;
// CHECK-NEXT: if (i >= 10000000) return;

module attributes {gpu.container_module} {
  func.func @iou(%x1: memref<10000000xf32>, %y1: memref<10000000xf32>, %w1: memref<10000000xf32>, %h1: memref<10000000xf32>, %x2: memref<10000000xf32>, %y2: memref<10000000xf32>, %w2: memref<10000000xf32>, %h2: memref<10000000xf32>, %out: memref<10000000xf32>) {
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %blocks = arith.constant 39063 : index
    gpu.launch_func @iou_kernels::@iou blocks in (%blocks, %c1, %c1) threads in (%c256, %c1, %c1)
        args(%x1 : memref<10000000xf32>, %y1 : memref<10000000xf32>, %w1 : memref<10000000xf32>, %h1 : memref<10000000xf32>, %x2 : memref<10000000xf32>, %y2 : memref<10000000xf32>, %w2 : memref<10000000xf32>, %h2 : memref<10000000xf32>, %out : memref<10000000xf32>)
    func.return
  }
  gpu.module @iou_kernels attributes {nestor.index_bits = 32 : i64} {
    gpu.func @iou(%x1: memref<10000000xf32> {nestor.noalias}, %y1: memref<10000000xf32> {nestor.noalias}, %w1: memref<10000000xf32> {nestor.noalias}, %h1: memref<10000000xf32> {nestor.noalias}, %x2: memref<10000000xf32> {nestor.noalias}, %y2: memref<10000000xf32> {nestor.noalias}, %w2: memref<10000000xf32> {nestor.noalias}, %h2: memref<10000000xf32> {nestor.noalias}, %out: memref<10000000xf32> {nestor.noalias}) kernel attributes {gpu.known_block_size = array<i32: 256, 1, 1>} {
      %zero = arith.constant 0.0 : f32
      %eps = arith.constant 1.0e-5 : f32
      %c256 = arith.constant 256 : index
      %c10000000 = arith.constant 10000000 : index
      %0 = gpu.block_id x
      %1 = gpu.thread_id x
      %2 = arith.muli %0, %c256 : index
      %i = arith.addi %2, %1 : index
      %3 = arith.cmpi slt, %i, %c10000000 : index
      scf.if %3 {
        %10 = memref.load %x1[%i] : memref<10000000xf32>
        %11 = memref.load %y1[%i] : memref<10000000xf32>
        %12 = memref.load %w1[%i] : memref<10000000xf32>
        %13 = memref.load %h1[%i] : memref<10000000xf32>
        %14 = memref.load %x2[%i] : memref<10000000xf32>
        %15 = memref.load %y2[%i] : memref<10000000xf32>
        %16 = memref.load %w2[%i] : memref<10000000xf32>
        %17 = memref.load %h2[%i] : memref<10000000xf32>
        %xi = arith.maximumf %10, %14 : f32 loc("iou.py":5:4)
        %yi = arith.maximumf %11, %15 : f32 loc("iou.py":6:4)
        %20 = arith.addf %10, %12 : f32
        %21 = arith.addf %14, %16 : f32
        %22 = arith.minimumf %20, %21 : f32
        %23 = arith.subf %22, %xi : f32
        %wi = arith.maximumf %23, %zero : f32 loc("iou.py":7:4)
        %24 = arith.addf %11, %13 : f32
        %25 = arith.addf %15, %17 : f32
        %26 = arith.minimumf %24, %25 : f32
        %27 = arith.subf %26, %yi : f32
        %hi = arith.maximumf %27, %zero : f32 loc("iou.py":8:4)
        %area_i = arith.mulf %wi, %hi : f32 loc("iou.py":9:4)
        %28 = arith.mulf %12, %13 : f32
        %29 = arith.mulf %16, %17 : f32
        %30 = arith.addf %28, %29 : f32
        %area_u = arith.subf %30, %area_i : f32 loc("iou.py":10:4)
        %31 = arith.addf %area_u, %eps : f32
        %iou = arith.divf %area_i, %31 : f32 loc("iou.py":11:4)
        memref.store %iou, %out[%i] : memref<10000000xf32> loc("iou.py":11:4)
      }
      gpu.return
    }
  }
}
