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

// softmax (programs.py:16): ceil(x_0 / 8) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256, 4) softmax_kernel(
    const float *__restrict__ x, float *__restrict__ result, bool aligned, int x_0) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int i = blockIdx.x * 8 + warp;
  if (i >= x_0) return;
  nt_vector<float, 4> x_row[8];
  if (aligned) {
    #pragma unroll
    for (int k = 0; k < 8; k++) {
      const int column = k * 128 + lane * 4;
      // programs.py:17: e = np.exp(x - np.max(x, axis=-1, keepdims=True))
      x_row[k] = nt_load<4>(&x[i * 1024 + column]);
    }
  } else {
    #pragma unroll
    for (int k = 0; k < 8; k++) {
      const int column = k * 128 + lane * 4;
      #pragma unroll
      for (int v = 0; v < 4; v++) {
        x_row[k][v] = x[i * 1024 + column + v];
      }
    }
  }
  float maximum_lane = __int_as_float(0xff800000);
  #pragma unroll
  for (int j = 0; j < 8; j++) {
    #pragma unroll
    for (int v = 0; v < 4; v++) {
      maximum_lane = nt_maximum(maximum_lane, x_row[j][v]);
    }
  }
  float maximum = maximum_lane;
  #pragma unroll
  for (int step = 0; step < 5; step++) {
    const float other = __shfl_xor_sync(0xffffffffu, maximum, 16 >> step);
    maximum = nt_maximum(maximum, other);
  }
  float sum_lane = 0.0f;
  nt_vector<float, 4> result_row[8];
  #pragma unroll
  for (int j = 0; j < 8; j++) {
    #pragma unroll
    for (int v = 0; v < 4; v++) {
      const float e = expf(x_row[j][v] - maximum);
      result_row[j][v] = e;
      // programs.py:18: return e / np.sum(e, axis=-1, keepdims=True)
      sum_lane += e;
    }
  }
  float sum = sum_lane;
  #pragma unroll
  for (int step = 0; step < 5; step++) {
    const float other = __shfl_xor_sync(0xffffffffu, sum, 16 >> step);
    sum += other;
  }
  #pragma unroll
  for (int j = 0; j < 8; j++) {
    #pragma unroll
    for (int v = 0; v < 4; v++) {
      result_row[j][v] /= sum;
    }
  }
  if (aligned) {
    #pragma unroll
    for (int k = 0; k < 8; k++) {
      const int column = k * 128 + lane * 4;
      nt_store(&result[i * 1024 + column], result_row[k]);
    }
  } else {
    #pragma unroll
    for (int k = 0; k < 8; k++) {
      const int column = k * 128 + lane * 4;
      #pragma unroll
      for (int v = 0; v < 4; v++) {
        result[i * 1024 + column + v] = result_row[k][v];
      }
    }
  }
}
