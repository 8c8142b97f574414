// Softmax of rows: one thread a row, accumulators in registers, three loops.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: softmax(
// CHECK-NEXT: const float *__restrict__ x, float *__restrict__ out, int n, int m) {
// CHECK: if (i >= n) return;
// CHECK-NEXT: float m_1 = __int_as_float(0xff800000);
// CHECK-NEXT: for (int j = 0; j < m; j++) {
// CHECK-NEXT:   m_1 = nt_maximum(m_1, x[i * m + j]);
// CHECK-NEXT: }
// CHECK: out[i * m + j] = expf(x[i * m + j] - m_1) / s;

module attributes {gpu.container_module} {
  func.func @softmax(%x: memref<?x?xf32>, %out: memref<?x?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %n = memref.dim %x, %c0 : memref<?x?xf32>
    %blocks = arith.ceildivsi %n, %c64 : index
    gpu.launch_func @softmax_kernels::@softmax blocks in (%blocks, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%x : memref<?x?xf32>, %out : memref<?x?xf32>)
    func.return
  }
  gpu.module @softmax_kernels attributes {nestor.index_bits = 32 : i64} {
    gpu.func @softmax(%x: memref<?x?xf32> {nestor.noalias, nest.dims = ["n", "m"]},
                      %out: memref<?x?xf32> {nestor.noalias, nest.dims = ["n", "m"]}) kernel {
      %lowest = arith.constant 0xFF800000 : f32
      %zero = arith.constant 0.0 : f32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %0 = memref.dim %x, %c0 : memref<?x?xf32>
      %1 = memref.dim %x, %c1 : memref<?x?xf32>
      %2 = gpu.block_id x
      %3 = gpu.thread_id x
      %4 = arith.muli %2, %c64 : index
      %i = arith.addi %4, %3 : index
      %5 = arith.cmpi slt, %i, %0 : index
      scf.if %5 {
        %m = memref.alloca() : memref<f32>
        memref.store %lowest, %m[] : memref<f32>
        scf.for %j = %c0 to %1 step %c1 {
          %6 = memref.load %m[] : memref<f32>
          %7 = memref.load %x[%i, %j] : memref<?x?xf32>
          %8 = arith.maximumf %6, %7 : f32
          memref.store %8, %m[] : memref<f32>
        }
        %s = memref.alloca() : memref<f32>
        memref.store %zero, %s[] : memref<f32>
        scf.for %j = %c0 to %1 step %c1 {
          %9 = memref.load %x[%i, %j] : memref<?x?xf32>
          %10 = memref.load %m[] : memref<f32>
          %11 = arith.subf %9, %10 : f32
          %12 = math.exp %11 : f32
          %13 = memref.load %s[] : memref<f32>
          %14 = arith.addf %13, %12 : f32
          memref.store %14, %s[] : memref<f32>
        }
        scf.for %j = %c0 to %1 step %c1 {
          %15 = memref.load %x[%i, %j] : memref<?x?xf32>
          %16 = memref.load %m[] : memref<f32>
          %17 = arith.subf %15, %16 : f32
          %18 = math.exp %17 : f32
          %19 = memref.load %s[] : memref<f32>
          %20 = arith.divf %18, %19 : f32
          memref.store %20, %out[%i, %j] : memref<?x?xf32>
        }
      }
      gpu.return
    }
  }
}
