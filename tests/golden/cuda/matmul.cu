template <class T, int N>
struct __align__(N * sizeof(T) < 16 ? N * sizeof(T) : 16) nt_vector {  // N neighbours in memory, as one value
  T at[N];
  __device__ T &operator[](int k) { return at[k]; }
  __device__ const T &operator[](int k) const { return at[k]; }
};

template <class T, int N>
static __device__ void nt_store(T *first, nt_vector<T, N> elements) {
  *reinterpret_cast<nt_vector<T, N> *>(first) = elements;
}

// matmul (programs.py:21): 1024 blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) matmul_result(
    float *__restrict__ result, bool aligned) {
  const int i_j = blockIdx.x * 1024 + threadIdx.x * 4;
  if (aligned) {
    nt_vector<float, 4> result_v;
    #pragma unroll
    for (int v = 0; v < 4; v++) {
      // programs.py:22: return a @ b
      result_v[v] = 0.0f;
    }
    nt_store(&result[i_j], result_v);
  } else {
    #pragma unroll
    for (int v = 0; v < 4; v++) {
      result[i_j + v] = 0.0f;
    }
  }
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
