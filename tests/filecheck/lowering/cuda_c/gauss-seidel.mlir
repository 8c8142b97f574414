// One thread sweeps a grid in place: a loop that no schedule may run in parallel, as written.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: __launch_bounds__(1) gauss_seidel(double *a, long long n, long long m) {
// CHECK-NEXT: for (long long i = 1; i < n - 1; i++) {
// CHECK-NEXT:   for (long long j = 1; j < m - 1; j++) {
// CHECK-NEXT:     a[i * m + j] = (a[(i - 1) * m + j] + a[(i + 1) * m + j]) * 0.5;

module attributes {gpu.container_module} {
  func.func @gauss_seidel(%a: memref<?x?xf64>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @k::@gauss_seidel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%a : memref<?x?xf64>)
    func.return
  }
  gpu.module @k attributes {nestor.index_bits = 64 : i64} {
    gpu.func @gauss_seidel(%a: memref<?x?xf64> {nest.dims = ["n", "m"]}) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %half = arith.constant 0.5 : f64
      %n = memref.dim %a, %c0 : memref<?x?xf64>
      %m = memref.dim %a, %c1 : memref<?x?xf64>
      %0 = arith.subi %n, %c1 : index
      %1 = arith.subi %m, %c1 : index
      scf.for %i = %c1 to %0 step %c1 {
        scf.for %j = %c1 to %1 step %c1 {
          %2 = arith.subi %i, %c1 : index
          %3 = memref.load %a[%2, %j] : memref<?x?xf64>
          %4 = arith.addi %i, %c1 : index
          %5 = memref.load %a[%4, %j] : memref<?x?xf64>
          %6 = arith.addf %3, %5 : f64
          %7 = arith.mulf %6, %half : f64
          memref.store %7, %a[%i, %j] : memref<?x?xf64>
        }
      }
      gpu.return
    }
  }
}
