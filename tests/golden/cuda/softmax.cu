static __device__ float nt_maximum(float a, float b) {  // NumPy's: NaN if either is NaN
  return a > b || a != a ? a : b;
}

// softmax (programs.py:16): ceil(x / 256) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) softmax_kernel(
    const float *__restrict__ x, float *__restrict__ result, int x_0) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= x_0) return;
  // programs.py:17: e = np.exp(x - np.max(x, axis=-1, keepdims=True))
  float maximum = __int_as_float(0xff800000);
  for (int j = 0; j < 1024; j++) {
    maximum = nt_maximum(maximum, x[i * 1024 + j]);
  }
  float sum = 0.0f;
  for (int j = 0; j < 1024; j++) {
    const float e = expf(x[i * 1024 + j] - maximum);
    result[i * 1024 + j] = e;
    // programs.py:18: return e / np.sum(e, axis=-1, keepdims=True)
    sum += e;
  }
  for (int j = 0; j < 1024; j++) {
    const float e = result[i * 1024 + j];
    result[i * 1024 + j] = e / sum;
  }
}
