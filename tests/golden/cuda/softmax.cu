static __device__ float nt_maximum(float a, float b) {  // NumPy's: NaN if either is NaN
  return a > b || a != a ? a : b;
}

extern "C" __global__ void __launch_bounds__(64) softmax(
    const float *__restrict__ x, float *__restrict__ out, int n, int m) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  float m_1 = __int_as_float(0xff800000);
  for (int j = 0; j < m; j++) {
    m_1 = nt_maximum(m_1, x[i * m + j]);
  }
  float s = 0.0f;
  for (int j = 0; j < m; j++) {
    s = s + expf(x[i * m + j] - m_1);
  }
  for (int j = 0; j < m; j++) {
    out[i * m + j] = expf(x[i * m + j] - m_1) / s;
  }
}
