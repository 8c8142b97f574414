// The gpu dialect in mlir-opt's custom syntax, printed and read back.
// RUN: opt-tool %s | opt-tool | filecheck %s

// CHECK: gpu.launch_func @k::@f blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %n : index)
// CHECK: gpu.launch_func @k::@empty blocks in (%n, %n, %n) threads in (%c1, %c1, %c1)
// CHECK: gpu.module @k attributes {nestor.index_bits = 32 : i64} {
// CHECK-NEXT: gpu.func @f(%x: memref<8xf32> {nestor.noalias}, %n: index) kernel attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
// CHECK-NEXT: %t = gpu.thread_id x
// CHECK-NEXT: %b = gpu.block_id y
// CHECK-NEXT: %d = gpu.block_dim z
// CHECK-NEXT: %g = gpu.grid_dim x
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: gpu.return
// CHECK: gpu.func @empty() kernel {
// CHECK-NEXT: gpu.return

func.func @host(%x: memref<8xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  gpu.launch_func @k::@f blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %n : index)
  gpu.launch_func @k::@empty blocks in (%n, %n, %n) threads in (%c1, %c1, %c1)
  func.return
}
gpu.module @k attributes {nestor.index_bits = 32 : i64} {
  gpu.func @f(%x: memref<8xf32> {nestor.noalias}, %n: index) kernel attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
    %t = gpu.thread_id x
    %b = gpu.block_id y
    %d = gpu.block_dim z
    %g = gpu.grid_dim x
    gpu.barrier
    gpu.return
  }
  gpu.func @empty() kernel {
    gpu.return
  }
}
