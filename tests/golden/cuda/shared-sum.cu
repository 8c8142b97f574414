extern "C" __global__ void __launch_bounds__(128) block_sum(
    const float *__restrict__ x, float *__restrict__ out) {
  const int t = threadIdx.x;
  __shared__ float tile[128];
  tile[t] = x[blockIdx.x * 128 + t];
  __syncthreads();
  int step = 64;
  while (step > 0) {
    if (t < step) {
      tile[t] = tile[t] + tile[t + step];
    }
    __syncthreads();
    step = step / 2;
  }
  if (t != 0) return;
  out[blockIdx.x] = tile[0];
}
