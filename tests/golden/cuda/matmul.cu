// matmul (programs.py:21): 4096 blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) matmul_result(float *__restrict__ result) {
  const int i_j = blockIdx.x * 256 + threadIdx.x;
  // programs.py:22: return a @ b
  result[i_j] = 0.0f;
}

// matmul (programs.py:21): 4 x 1024 blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) matmul_result_1(
    const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ result) {
  const int i = blockIdx.y;
  const int j = blockIdx.x * 256 + threadIdx.x;
  // programs.py:22: return a @ b
  for (int k = 0; k < 1024; k++) {
    result[i * 1024 + j] = fmaf(a[i * 1024 + k], b[k * 1024 + j], result[i * 1024 + j]);
  }
}
