static __device__ float nt_maximum(float a, float b) {  // NumPy's: NaN if either is NaN
  return a > b || a != a ? a : b;
}

static __device__ float nt_minimum(float a, float b) {  // NumPy's: NaN if either is NaN
  return a < b || a != a ? a : b;
}

extern "C" __global__ void __launch_bounds__(256) iou(
    const float *__restrict__ x1, const float *__restrict__ y1, const float *__restrict__ w1,
    const float *__restrict__ h1, const float *__restrict__ x2, const float *__restrict__ y2,
    const float *__restrict__ w2, const float *__restrict__ h2, float *__restrict__ out, int n,
    int m, int x1_s0, int x1_s1, int y1_s0, int y1_s1, int w1_s0, int w1_s1, int h1_s0, int h1_s1,
    int x2_s0, int x2_s1, int y2_s0, int y2_s1, int w2_s0, int w2_s1, int h2_s0, int h2_s1,
    int out_s0, int out_s1) {
  const int i = blockIdx.y * 8 + threadIdx.y;
  const int j = blockIdx.x * 32 + threadIdx.x;
  if (i >= n || j >= m) return;
  const float x1_i_j = x1[i * x1_s0 + j * x1_s1];
  const float y1_i_j = y1[i * y1_s0 + j * y1_s1];
  const float w1_i_j = w1[i * w1_s0 + j * w1_s1];
  const float h1_i_j = h1[i * h1_s0 + j * h1_s1];
  const float x2_i_j = x2[i * x2_s0 + j * x2_s1];
  const float y2_i_j = y2[i * y2_s0 + j * y2_s1];
  const float w2_i_j = w2[i * w2_s0 + j * w2_s1];
  const float h2_i_j = h2[i * h2_s0 + j * h2_s1];
  // iou.py:5: xi = np.maximum(x1, x2)
  const float xi = nt_maximum(x1_i_j, x2_i_j);
  // iou.py:6: yi = np.maximum(y1, y2)
  const float yi = nt_maximum(y1_i_j, y2_i_j);
  // iou.py:7: wi = np.maximum(np.minimum(x1 + w1, x2 + w2) - xi, 0)
  const float wi = nt_maximum(nt_minimum(x1_i_j + w1_i_j, x2_i_j + w2_i_j) - xi, 0.0f);
  // iou.py:8: hi = np.maximum(np.minimum(y1 + h1, y2 + h2) - yi, 0)
  const float hi = nt_maximum(nt_minimum(y1_i_j + h1_i_j, y2_i_j + h2_i_j) - yi, 0.0f);
  // iou.py:9: area_i = wi * hi
  const float area_i = wi * hi;
  // iou.py:10: area_u = w1 * h1 + w2 * h2 - area_i
  const float area_u = w1_i_j * h1_i_j + w2_i_j * h2_i_j - area_i;
  // iou.py:11: return area_i / (area_u + 1e-5)
  const float iou = area_i / (area_u + 1e-5f);
  out[i * out_s0 + j * out_s1] = iou;
}
