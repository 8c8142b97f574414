template <class T, int N>
struct __align__(N * sizeof(T) < 16 ? N * sizeof(T) : 16) nt_vector {  // N neighbours in memory
  T at[N];
  __device__ T &operator[](int k) { return at[k]; }
  __device__ const T &operator[](int k) const { return at[k]; }
};

template <int N, class T>
static __device__ nt_vector<T, N> nt_load(const T *first) {  // at a multiple of its size
  return *reinterpret_cast<const nt_vector<T, N> *>(first);
}

template <class T, int N>
static __device__ void nt_store(T *first, nt_vector<T, N> elements) {
  *reinterpret_cast<nt_vector<T, N> *>(first) = elements;
}

static __device__ float nt_maximum(float a, float b) {  // NumPy's: NaN if either is NaN
#if __CUDA_ARCH__ >= 800  // one instruction; of two zeros the positive one
  float one;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(one) : "f"(a), "f"(b));
  return one;
#else
  return a > b || a != a ? a : b;
#endif
}

static __device__ float nt_minimum(float a, float b) {  // NumPy's: NaN if either is NaN
#if __CUDA_ARCH__ >= 800  // one instruction; of two zeros the negative one
  float one;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(one) : "f"(a), "f"(b));
  return one;
#else
  return a < b || a != a ? a : b;
#endif
}

// iou (programs.py:6): 9766 blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) iou_kernel(
    const float *__restrict__ x1, const float *__restrict__ y1, const float *__restrict__ w1,
    const float *__restrict__ h1, const float *__restrict__ x2, const float *__restrict__ y2,
    const float *__restrict__ w2, const float *__restrict__ h2, float *__restrict__ result,
    bool aligned) {
  const int i_o = blockIdx.x * 256 + threadIdx.x;
  if (i_o >= 2500000) return;
  const int i = blockIdx.x * 1024 + threadIdx.x * 4;
  if (aligned) {
    const nt_vector<float, 4> x1_v = nt_load<4>(&x1[i]);
    const nt_vector<float, 4> w1_v = nt_load<4>(&w1[i]);
    const nt_vector<float, 4> x2_v = nt_load<4>(&x2[i]);
    const nt_vector<float, 4> w2_v = nt_load<4>(&w2[i]);
    const nt_vector<float, 4> y1_v = nt_load<4>(&y1[i]);
    const nt_vector<float, 4> h1_v = nt_load<4>(&h1[i]);
    const nt_vector<float, 4> y2_v = nt_load<4>(&y2[i]);
    const nt_vector<float, 4> h2_v = nt_load<4>(&h2[i]);
    nt_vector<float, 4> result_v;
    #pragma unroll
    for (int v = 0; v < 4; v++) {
      // programs.py:7: xi = np.maximum(x1, x2)
      const float xi = nt_maximum(x1_v[v], x2_v[v]);
      // programs.py:9: wi = np.maximum(np.minimum(x1 + w1, x2 + w2) - xi, 0)
      const float wi = nt_maximum(nt_minimum(x1_v[v] + w1_v[v], x2_v[v] + w2_v[v]) - xi, 0.0f);
      // programs.py:8: yi = np.maximum(y1, y2)
      const float yi = nt_maximum(y1_v[v], y2_v[v]);
      // programs.py:10: hi = np.maximum(np.minimum(y1 + h1, y2 + h2) - yi, 0)
      const float hi = nt_maximum(nt_minimum(y1_v[v] + h1_v[v], y2_v[v] + h2_v[v]) - yi, 0.0f);
      // programs.py:11: area_i = wi * hi
      const float area_i = wi * hi;
      // programs.py:12: area_u = w1 * h1 + w2 * h2 - area_i
      const float area_u = w1_v[v] * h1_v[v] + w2_v[v] * h2_v[v] - area_i;
      // programs.py:13: return area_i / (area_u + 1e-5)
      result_v[v] = area_i / (area_u + 1e-5f);
    }
    nt_store(&result[i], result_v);
  } else {
    #pragma unroll
    for (int v = 0; v < 4; v++) {
      const float x1_v = x1[i + v];
      const float w1_v = w1[i + v];
      const float x2_v = x2[i + v];
      const float w2_v = w2[i + v];
      const float xi = nt_maximum(x1_v, x2_v);
      const float wi = nt_maximum(nt_minimum(x1_v + w1_v, x2_v + w2_v) - xi, 0.0f);
      const float y1_v = y1[i + v];
      const float h1_v = h1[i + v];
      const float y2_v = y2[i + v];
      const float h2_v = h2[i + v];
      const float yi = nt_maximum(y1_v, y2_v);
      const float hi = nt_maximum(nt_minimum(y1_v + h1_v, y2_v + h2_v) - yi, 0.0f);
      const float area_i = wi * hi;
      const float area_u = w1_v * h1_v + w2_v * h2_v - area_i;
      result[i + v] = area_i / (area_u + 1e-5f);
    }
  }
}
