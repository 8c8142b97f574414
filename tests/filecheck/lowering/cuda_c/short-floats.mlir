// float16 and bfloat16 are 16 bits in memory and a float that is rounded after every operation elsewhere: once where it is stored.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: static __device__ float nt_half_to_float(unsigned short bits) {
// CHECK: static __device__ float nt_round_half(float value)
// CHECK: #if __CUDA_ARCH__ >= 800
// CHECK: cvt.rn.bf16.f32
// CHECK-NOT: nt_double_to_half
// CHECK: short_floats(unsigned short *x, unsigned short *y, short n) {
// CHECK: const float s = nt_round_half(x_i * x_i);
// CHECK: x[i] = nt_float_to_half(s + 0.099975586f);
// CHECK: y[i] = nt_float_to_bf16(nt_exp_bf16(nt_bf16_to_float(y[i])));
// An integer of 16 bits is a float exactly, which is then rounded once; no double is needed.
// CHECK: x[1] = nt_float_to_half((float)n);

gpu.module @k attributes {nestor.index_bits = 32 : i64} {
  gpu.func @short_floats(%x: memref<32xf16>, %y: memref<32xbf16>, %n: i16) kernel {
    %tenth = arith.constant 1.0e-1 : f16
    %i = gpu.thread_id x
    %0 = memref.load %x[%i] : memref<32xf16>
    %s = arith.mulf %0, %0 : f16
    %1 = arith.addf %s, %tenth : f16
    memref.store %1, %x[%i] : memref<32xf16>
    %2 = memref.load %y[%i] : memref<32xbf16>
    %3 = math.exp %2 : bf16
    memref.store %3, %y[%i] : memref<32xbf16>
    %one = arith.constant 1 : index
    %4 = arith.sitofp %n : i16 to f16
    memref.store %4, %x[%one] : memref<32xf16>
    gpu.return
  }
}
