template <class T, int N>
struct __align__(N * sizeof(T) < 16 ? N * sizeof(T) : 16) nt_vector {  // N neighbours in memory, as one value
  T at[N];
  __device__ T &operator[](int k) { return at[k]; }
  __device__ const T &operator[](int k) const { return at[k]; }
};

template <int N, class T>
static __device__ nt_vector<T, N> nt_load(const T *first) {  // at a multiple of the vector's size, or of 16 bytes
  return *reinterpret_cast<const nt_vector<T, N> *>(first);
}

template <class T, int N>
static __device__ void nt_store(T *first, nt_vector<T, N> elements) {
  *reinterpret_cast<nt_vector<T, N> *>(first) = elements;
}

static __device__ float nt_maximum(float a, float b) {  // NumPy's: NaN if either is NaN
  return a > b || a != a ? a : b;
}

// softmax (programs.py:16): ceil(x / 8) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) softmax_kernel(
    const float *__restrict__ x, float *__restrict__ result, bool aligned, int x_0) {
  const int k = (int)(threadIdx.x / 32u);
  // programs.py:17: e = np.exp(x - np.max(x, axis=-1, keepdims=True))
  float result_row[8][4];
  float x_row[8][4];
  const int lane = (int)(threadIdx.x % 32u);
  const int k_1 = blockIdx.x * 8 + k;
  if (k >= 8 || k_1 >= x_0) return;
  #pragma unroll
  for (int k_2 = 0; k_2 < 8; k_2++) {
    const int k_3 = k_2 * 128 + lane * 4;
    if (aligned) {
      const nt_vector<float, 4> x_v = nt_load<4>(&x[k_1 * 1024 + k_3]);
      #pragma unroll
      for (int v = 0; v < 4; v++) {
        x_row[k_2][v] = x_v[v];
      }
    } else {
      #pragma unroll
      for (int v = 0; v < 4; v++) {
        x_row[k_2][v] = x[k_1 * 1024 + k_3 + v];
      }
    }
  }
  float maximum = __int_as_float(0xff800000);
  float maximum_lane = __int_as_float(0xff800000);
  #pragma unroll
  for (int j = 0; j < 8; j++) {
    #pragma unroll
    for (int v = 0; v < 4; v++) {
      const float x_1 = x_row[j][v];
      maximum_lane = nt_maximum(maximum_lane, x_1);
    }
  }
  float total = maximum_lane;
  #pragma unroll
  for (int step = 0; step < 5; step++) {
    const float other = __shfl_xor_sync(0xffffffffu, total, 16 >> step);
    total = nt_maximum(total, other);
  }
  maximum = nt_maximum(maximum, total);
  float sum = 0.0f;
  const float maximum_value = maximum;
  float sum_lane = -0.0f;
  #pragma unroll
  for (int j = 0; j < 8; j++) {
    #pragma unroll
    for (int v = 0; v < 4; v++) {
      const float x_1 = x_row[j][v];
      const float e = expf(x_1 - maximum_value);
      result_row[j][v] = e;
      // programs.py:18: return e / np.sum(e, axis=-1, keepdims=True)
      sum_lane += e;
    }
  }
  float total_1 = sum_lane;
  #pragma unroll
  for (int step = 0; step < 5; step++) {
    const float other = __shfl_xor_sync(0xffffffffu, total_1, 16 >> step);
    total_1 = total_1 + other;
  }
  sum += total_1;
  const float sum_value = sum;
  #pragma unroll
  for (int j = 0; j < 8; j++) {
    #pragma unroll
    for (int v = 0; v < 4; v++) {
      const float e = result_row[j][v];
      result_row[j][v] = e / sum_value;
    }
  }
  #pragma unroll
  for (int k_2 = 0; k_2 < 8; k_2++) {
    const int k_3 = k_2 * 128 + lane * 4;
    if (aligned) {
      nt_vector<float, 4> result_v;
      #pragma unroll
      for (int v = 0; v < 4; v++) {
        result_v[v] = result_row[k_2][v];
      }
      nt_store(&result[k_1 * 1024 + k_3], result_v);
    } else {
      #pragma unroll
      for (int v = 0; v < 4; v++) {
        result[k_1 * 1024 + k_3 + v] = result_row[k_2][v];
      }
    }
  }
}
