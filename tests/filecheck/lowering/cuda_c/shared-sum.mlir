// A block sums its elements in shared memory: barriers, a halving loop, and loads that stay behind stores.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: block_sum(
// CHECK-NEXT: const float *__restrict__ x, float *__restrict__ out) {
// CHECK-NEXT: const int t = threadIdx.x;
// CHECK-NEXT: __shared__ float tile[128];
// CHECK-NEXT: tile[t] = x[blockIdx.x * 128 + t];
// CHECK-NEXT: __syncthreads();
// CHECK-NEXT: int step = 64;
// CHECK-NEXT: while (step > 0) {
// CHECK-NEXT:   if (t < step) {
// CHECK-NEXT:     tile[t] += tile[t + step];
// CHECK-NEXT:   }
// CHECK-NEXT:   __syncthreads();
// CHECK-NEXT:   step = step / 2;
// CHECK-NEXT: }

module attributes {gpu.container_module} {
  func.func @block_sum(%x: memref<1024xf32>, %out: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @k::@block_sum blocks in (%c8, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%x : memref<1024xf32>, %out : memref<8xf32>)
    func.return
  }
  gpu.module @k attributes {nestor.index_bits = 32 : i64} {
    gpu.func @block_sum(%x: memref<1024xf32> {nestor.noalias}, %out: memref<8xf32> {nestor.noalias}) kernel {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %0 = gpu.block_id x
      %t = gpu.thread_id x
      %tile = memref.alloca() : memref<128xf32, 3>
      %1 = arith.muli %0, %c128 : index
      %2 = arith.addi %1, %t : index
      %3 = memref.load %x[%2] : memref<1024xf32>
      memref.store %3, %tile[%t] : memref<128xf32, 3>
      gpu.barrier
      %4 = scf.while (%step = %c64) : (index) -> index {
        %5 = arith.cmpi sgt, %step, %c0 : index
        scf.condition(%5) %step : index
      } do {
      ^bb0(%step: index):
        %6 = arith.cmpi slt, %t, %step : index
        scf.if %6 {
          %7 = memref.load %tile[%t] : memref<128xf32, 3>
          %8 = arith.addi %t, %step : index
          %9 = memref.load %tile[%8] : memref<128xf32, 3>
          %10 = arith.addf %7, %9 : f32
          memref.store %10, %tile[%t] : memref<128xf32, 3>
        }
        gpu.barrier
        %11 = arith.divsi %step, %c2 : index
        scf.yield %11 : index
      }
      %12 = arith.cmpi eq, %t, %c0 : index
      scf.if %12 {
        %13 = memref.load %tile[%c0] : memref<128xf32, 3>
        memref.store %13, %out[%0] : memref<8xf32>
      }
      gpu.return
    }
  }
}
