// Random bits are a call of a function of the prelude, which has ten rounds of Philox 4x32 in words of 32 bits.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: static __device__ unsigned long long nt_philox(unsigned long long counter,
// CHECK: for (int round = 0; round < 10; round += 1) {
// CHECK: const unsigned long long x = a * 3528531795ull;
// CHECK: random_bits(long long *x, long long key) {
// CHECK: const long long bits =
// CHECK-NEXT: (long long)nt_philox((unsigned long long)x[i], 0ull, (unsigned long long)key);

gpu.module @k attributes {nestor.index_bits = 32 : i64} {
  gpu.func @random_bits(%x: memref<32xi64>, %key: i64) kernel {
    %zero = arith.constant 0 : i64
    %i = gpu.thread_id x
    %0 = memref.load %x[%i] : memref<32xi64>
    %bits = special.philox %0, %zero, %key : i64
    memref.store %bits, %x[%i] : memref<32xi64>
    gpu.return
  }
}
