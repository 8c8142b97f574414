// A failed check records what failed and ends its thread; the record is the kernel's last parameter.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: static __device__ void nt_raise(long long *err,
// CHECK: take(
// CHECK-NEXT: const float *table, const long long *index, float *out, int n, long long *err) {
// CHECK: const long long k = index[i];
// CHECK-NEXT: if (k < 0 || k >= 16) {  // IndexError
// CHECK-NEXT:   nt_raise(err, 1, 3, k, 16);
// CHECK-NEXT:   return;
// CHECK-NEXT: }
// CHECK-NEXT: out[i] = table[(int)k];

module attributes {gpu.container_module} {
  func.func @take(%table: memref<16xf32>, %index: memref<?xi64>, %out: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %index, %c0 : memref<?xi64>
    %blocks = arith.ceildivsi %n, %c32 : index
    gpu.launch_func @k::@take blocks in (%blocks, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%table : memref<16xf32>, %index : memref<?xi64>, %out : memref<?xf32>)
    func.return
  }
  gpu.module @k attributes {nestor.index_bits = 32 : i64} {
    gpu.func @take(%table: memref<16xf32>, %index: memref<?xi64> {nest.dims = ["n"]},
                   %out: memref<?xf32> {nest.dims = ["n"]}) kernel {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %zero = arith.constant 0 : i64
      %size = arith.constant 16 : i64
      %0 = memref.dim %index, %c0 : memref<?xi64>
      %1 = gpu.block_id x
      %2 = gpu.thread_id x
      %3 = arith.muli %1, %c32 : index
      %i = arith.addi %3, %2 : index
      %4 = arith.cmpi slt, %i, %0 : index
      scf.if %4 {
        %k = memref.load %index[%i] : memref<?xi64>
        %5 = arith.cmpi sge, %k, %zero : i64
        %6 = arith.cmpi slt, %k, %size : i64
        %7 = arith.andi %5, %6 : i1
        cf.assert %7, "IndexError: index out of bounds" {nestor.kind = "IndexError", nestor.site = 3 : i64}
        %8 = arith.index_cast %k : i64 to index
        %9 = memref.load %table[%8] : memref<16xf32>
        memref.store %9, %out[%i] : memref<?xf32>
      }
      gpu.return
    }
  }
}
