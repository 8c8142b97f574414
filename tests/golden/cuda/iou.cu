static __device__ float nt_maximum(float a, float b) {  // NumPy's: NaN if either is NaN
  return a > b || a != a ? a : b;
}

static __device__ float nt_minimum(float a, float b) {  // NumPy's: NaN if either is NaN
  return a < b || a != a ? a : b;
}

// iou (programs.py:6): 39063 blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) iou_kernel(
    const float *__restrict__ x1, const float *__restrict__ y1, const float *__restrict__ w1,
    const float *__restrict__ h1, const float *__restrict__ x2, const float *__restrict__ y2,
    const float *__restrict__ w2, const float *__restrict__ h2, float *__restrict__ result) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= 10000000) return;
  // programs.py:9: wi = np.maximum(np.minimum(x1 + w1, x2 + w2) - xi, 0)
  const float x1_i = x1[i];
  const float w1_i = w1[i];
  const float x2_i = x2[i];
  const float w2_i = w2[i];
  // programs.py:7: xi = np.maximum(x1, x2)
  const float xi = nt_maximum(x1_i, x2_i);
  const float wi = nt_maximum(nt_minimum(x1_i + w1_i, x2_i + w2_i) - xi, 0.0f);
  // programs.py:10: hi = np.maximum(np.minimum(y1 + h1, y2 + h2) - yi, 0)
  const float y1_i = y1[i];
  const float h1_i = h1[i];
  const float y2_i = y2[i];
  const float h2_i = h2[i];
  // programs.py:8: yi = np.maximum(y1, y2)
  const float yi = nt_maximum(y1_i, y2_i);
  const float hi = nt_maximum(nt_minimum(y1_i + h1_i, y2_i + h2_i) - yi, 0.0f);
  // programs.py:11: area_i = wi * hi
  const float area_i = wi * hi;
  // programs.py:12: area_u = w1 * h1 + w2 * h2 - area_i
  const float area_u = w1_i * h1_i + w2_i * h2_i - area_i;
  // programs.py:13: return area_i / (area_u + 1e-5)
  result[i] = area_i / (area_u + 1e-5f);
}
