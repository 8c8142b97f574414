// IoU on strided arrays of any extent: shared extents are one parameter each, strides one an array.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: float *__restrict__ out, int n,
// CHECK-NEXT: int m, int x1_s0, int x1_s1, int y1_s0,
// CHECK: const int i = blockIdx.y * 8 + threadIdx.y;
// CHECK-NEXT: const int j = blockIdx.x * 32 + threadIdx.x;
// CHECK-NEXT: if (i >= n || j >= m) return;
// CHECK: x1[i * x1_s0 + j * x1_s1]

module attributes {gpu.container_module} {
  func.func @iou(%x1: memref<?x?xf32, strided<[?, ?]>>, %y1: memref<?x?xf32, strided<[?, ?]>>, %w1: memref<?x?xf32, strided<[?, ?]>>, %h1: memref<?x?xf32, strided<[?, ?]>>, %x2: memref<?x?xf32, strided<[?, ?]>>, %y2: memref<?x?xf32, strided<[?, ?]>>, %w2: memref<?x?xf32, strided<[?, ?]>>, %h2: memref<?x?xf32, strided<[?, ?]>>, %out: memref<?x?xf32, strided<[?, ?]>>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %x1, %c0 : memref<?x?xf32, strided<[?, ?]>>
    %m = memref.dim %x1, %c1 : memref<?x?xf32, strided<[?, ?]>>
    %columns = arith.ceildivsi %m, %c32 : index
    %rows = arith.ceildivsi %n, %c8 : index
    gpu.launch_func @iou_kernels::@iou blocks in (%columns, %rows, %c1) threads in (%c32, %c8, %c1)
        args(%x1 : memref<?x?xf32, strided<[?, ?]>>, %y1 : memref<?x?xf32, strided<[?, ?]>>, %w1 : memref<?x?xf32, strided<[?, ?]>>, %h1 : memref<?x?xf32, strided<[?, ?]>>, %x2 : memref<?x?xf32, strided<[?, ?]>>, %y2 : memref<?x?xf32, strided<[?, ?]>>, %w2 : memref<?x?xf32, strided<[?, ?]>>, %h2 : memref<?x?xf32, strided<[?, ?]>>, %out : memref<?x?xf32, strided<[?, ?]>>)
    func.return
  }
  gpu.module @iou_kernels attributes {nestor.index_bits = 32 : i64} {
    gpu.func @iou(%x1: memref<?x?xf32, strided<[?, ?]>> {nestor.noalias, nest.dims = ["n", "m"]}, %y1: memref<?x?xf32, strided<[?, ?]>> {nestor.noalias, nest.dims = ["n", "m"]}, %w1: memref<?x?xf32, strided<[?, ?]>> {nestor.noalias, nest.dims = ["n", "m"]}, %h1: memref<?x?xf32, strided<[?, ?]>> {nestor.noalias, nest.dims = ["n", "m"]}, %x2: memref<?x?xf32, strided<[?, ?]>> {nestor.noalias, nest.dims = ["n", "m"]}, %y2: memref<?x?xf32, strided<[?, ?]>> {nestor.noalias, nest.dims = ["n", "m"]}, %w2: memref<?x?xf32, strided<[?, ?]>> {nestor.noalias, nest.dims = ["n", "m"]}, %h2: memref<?x?xf32, strided<[?, ?]>> {nestor.noalias, nest.dims = ["n", "m"]}, %out: memref<?x?xf32, strided<[?, ?]>> {nestor.noalias, nest.dims = ["n", "m"]}) kernel {
      %zero = arith.constant 0.0 : f32
      %eps = arith.constant 1.0e-5 : f32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c32 = arith.constant 32 : index
      %n = memref.dim %x1, %c0 : memref<?x?xf32, strided<[?, ?]>>
      %m = memref.dim %x1, %c1 : memref<?x?xf32, strided<[?, ?]>>
      %0 = gpu.block_id y
      %1 = gpu.thread_id y
      %2 = arith.muli %0, %c8 : index
      %i = arith.addi %2, %1 : index
      %3 = gpu.block_id x
      %4 = gpu.thread_id x
      %5 = arith.muli %3, %c32 : index
      %j = arith.addi %5, %4 : index
      %6 = arith.cmpi slt, %i, %n : index
      %7 = arith.cmpi slt, %j, %m : index
      %8 = arith.andi %6, %7 : i1
      scf.if %8 {
        %10 = memref.load %x1[%i, %j] : memref<?x?xf32, strided<[?, ?]>>
        %11 = memref.load %y1[%i, %j] : memref<?x?xf32, strided<[?, ?]>>
        %12 = memref.load %w1[%i, %j] : memref<?x?xf32, strided<[?, ?]>>
        %13 = memref.load %h1[%i, %j] : memref<?x?xf32, strided<[?, ?]>>
        %14 = memref.load %x2[%i, %j] : memref<?x?xf32, strided<[?, ?]>>
        %15 = memref.load %y2[%i, %j] : memref<?x?xf32, strided<[?, ?]>>
        %16 = memref.load %w2[%i, %j] : memref<?x?xf32, strided<[?, ?]>>
        %17 = memref.load %h2[%i, %j] : memref<?x?xf32, strided<[?, ?]>>
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
        memref.store %iou, %out[%i, %j] : memref<?x?xf32, strided<[?, ?]>> loc("iou.py":11:4)
      }
      gpu.return
    }
  }
}
