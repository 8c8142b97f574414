// The smaller of an index of 64 bits and a constant that was an i64: its literal has one suffix.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: const long long n = min(i, 4LL);
// CHECK-NEXT: const long long m = max(n, 2LL);

module attributes {gpu.container_module} {
  func.func @ends(%out: memref<100xi64>) {
    %c1 = arith.constant 1 : index
    %c100 = arith.constant 100 : index
    gpu.launch_func @k::@ends blocks in (%c1, %c1, %c1) threads in (%c100, %c1, %c1) args(%out : memref<100xi64>)
    func.return
  }
  gpu.module @k attributes {nestor.index_bits = 64 : i64} {
    gpu.func @ends(%out: memref<100xi64>) kernel {
      %four = arith.constant 4 : i64
      %c4 = arith.index_cast %four : i64 to index
      %c2 = arith.constant 2 : index
      %i = gpu.thread_id x
      %n = arith.minsi %i, %c4 : index
      %m = arith.maxsi %n, %c2 : index
      %0 = arith.index_cast %n : index to i64
      %1 = arith.index_cast %m : index to i64
      %2 = arith.muli %0, %1 : i64
      memref.store %2, %out[%i] : memref<100xi64>
      gpu.return
    }
  }
}
