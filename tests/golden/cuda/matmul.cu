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

// matmul (programs.py:21): 8 x 16 blocks of 16 x 2 x 4 threads
extern "C" __global__ void __launch_bounds__(128) matmul_kernel(
    const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ result,
    bool aligned) {
  nt_vector<float, 4> sums[8][2];
  const int tz = threadIdx.z;
  const int ty = threadIdx.y;
  const int tx = threadIdx.x;
  __shared__ __align__(16) float a_tile[16][68];
  __shared__ __align__(16) float b_tile[16][128];
  #pragma unroll
  for (int u = 0; u < 8; u++) {
    #pragma unroll
    for (int u_1 = 0; u_1 < 2; u_1++) {
      #pragma unroll
      for (int v = 0; v < 4; v++) {
        // programs.py:22: return a @ b
        sums[u][u_1][v] = 0.0f;
      }
    }
  }
  for (int k_o = 0; k_o < 64; k_o++) {
    const int column = k_o * 16 + ty * 4;
    if (aligned) {
      #pragma unroll
      for (int u = 0; u < 2; u++) {
        const nt_vector<float, 4> a_v =
            nt_load<4>(&a[(blockIdx.y * 64 + tz * 16 + tx) * 1024 + column + u * 8]);
        #pragma unroll
        for (int v = 0; v < 4; v++) {
          a_tile[u * 8 + ty * 4 + v][tz * 16 + tx] = a_v[v];
        }
      }
    } else {
      for (int u = 0; u < 2; u++) {
        #pragma unroll
        for (int v = 0; v < 4; v++) {
          a_tile[u * 8 + ty * 4 + v][tz * 16 + tx] =
              a[(blockIdx.y * 64 + tz * 16 + tx) * 1024 + column + u * 8 + v];
        }
      }
    }
    const int start = blockIdx.x * 128;
    const int column_1 = ty * 64 + tx * 4;
    if (aligned) {
      #pragma unroll
      for (int u = 0; u < 4; u++) {
        const int column_2 = column_1 + start;
        const nt_vector<float, 4> b_v = nt_load<4>(&b[(k_o * 16 + u * 4 + tz) * 1024 + column_2]);
        nt_store(&b_tile[u * 4 + tz][column_1], b_v);
      }
    } else {
      for (int u = 0; u < 4; u++) {
        const int column_2 = column_1 + start;
        #pragma unroll
        for (int v = 0; v < 4; v++) {
          b_tile[u * 4 + tz][column_1 + v] = b[(k_o * 16 + u * 4 + tz) * 1024 + column_2 + v];
        }
      }
    }
    __syncthreads();
    #pragma unroll
    for (int u = 0; u < 16; u++) {
      #pragma unroll
      for (int u_1 = 0; u_1 < 8; u_1++) {
        #pragma unroll
        for (int u_2 = 0; u_2 < 2; u_2++) {
          #pragma unroll
          for (int u_3 = 0; u_3 < 4; u_3++) {
            sums[u_1][u_2][u_3] = fmaf(
                a_tile[u][tz * 16 + ty * 8 + u_1], b_tile[u][u_2 * 64 + tx * 4 + u_3],
                sums[u_1][u_2][u_3]);
          }
        }
      }
    }
    __syncthreads();
  }
  const int column = blockIdx.x * 128 + tx * 4;
  if (aligned) {
    #pragma unroll
    for (int u = 0; u < 8; u++) {
      #pragma unroll
      for (int u_1 = 0; u_1 < 2; u_1++) {
        nt_store(
            &result[(blockIdx.y * 64 + tz * 16 + ty * 8 + u) * 1024 + column + u_1 * 64],
            sums[u][u_1]);
      }
    }
  } else {
    #pragma unroll
    for (int u = 0; u < 8; u++) {
      #pragma unroll
      for (int u_1 = 0; u_1 < 2; u_1++) {
        #pragma unroll
        for (int v = 0; v < 4; v++) {
          result[(blockIdx.y * 64 + tz * 16 + ty * 8 + u) * 1024 + column + u_1 * 64 + v] =
              sums[u][u_1][v];
        }
      }
    }
  }
}
