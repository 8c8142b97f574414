template <class T, int N>
struct __align__(N * sizeof(T) < 16 ? N * sizeof(T) : 16) nt_vector {  // N neighbours in memory
  T at[N];
  __device__ T &operator[](int k) { return at[k]; }
  __device__ const T &operator[](int k) const { return at[k]; }
};

template <class T, int N>
static __device__ void nt_store(T *first, nt_vector<T, N> elements) {
  *reinterpret_cast<nt_vector<T, N> *>(first) = elements;
}

#ifdef __CUDACC__  // the simulator brings its own

static __device__ void nt_copy_async16(void *shared, const void *global, int bytes = 16) {  // then zeros
#if __CUDA_ARCH__ >= 800
  const unsigned to = (unsigned)__cvta_generic_to_shared(shared);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
#else  // at once
  int4 copied = {};
  if (bytes == 16) copied = *(const int4 *)global;
  else for (int k = 0; k < bytes; k++) ((char *)&copied)[k] = ((const char *)global)[k];
  *(int4 *)shared = copied;
#endif
}

static __device__ void nt_copy_async4(void *shared, const void *global, int bytes = 4) {  // then zeros
#if __CUDA_ARCH__ >= 800
  const unsigned to = (unsigned)__cvta_generic_to_shared(shared);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
#else  // at once
  int copied = {};
  if (bytes == 4) copied = *(const int *)global;
  else for (int k = 0; k < bytes; k++) ((char *)&copied)[k] = ((const char *)global)[k];
  *(int *)shared = copied;
#endif
}

static __device__ void nt_commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int N> static __device__ void nt_wait_copies() {  // until at most N groups are under way
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

#endif

// matmul (programs.py:21): 8 x 16 blocks of 16 x 2 x 4 threads
extern "C" __global__ void __launch_bounds__(128) matmul_kernel(
    const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ result,
    bool aligned) {
  const int tz = threadIdx.z;
  const int ty = threadIdx.y;
  const int tx = threadIdx.x;
  __shared__ __align__(16) float a_tile[2][16][68];
  __shared__ __align__(16) float b_tile[2][16][128];
  nt_vector<float, 4> sums[8][2];
  #pragma unroll
  for (int i_u = 0; i_u < 8; i_u++) {
    #pragma unroll
    for (int j_u = 0; j_u < 2; j_u++) {
      #pragma unroll
      for (int v = 0; v < 4; v++) {
        // programs.py:22: return a @ b
        sums[i_u][j_u][v] = 0.0f;
      }
    }
  }
  const int tx_div8 = tx / 8u;
  const int tx_mod8 = tx % 8u;
  #pragma unroll
  for (int u = 0; u < 2; u++) {
    #pragma unroll
    for (int u_1 = 0; u_1 < 4; u_1++) {
      const int column = u * 8 + tx_mod8;
      nt_copy_async4(
          &a_tile[0][column][u_1 * 16 + tz * 4 + ty * 2 + tx_div8],
          &a[(blockIdx.y * 64 + u_1 * 16 + tz * 4 + ty * 2 + tx_div8) * 1024 + column]);
    }
  }
  const int start = blockIdx.x * 128;
  const int column = ty * 64 + tx * 4;
  if (aligned) {
    #pragma unroll
    for (int u = 0; u < 4; u++) {
      const int row = u * 4 + tz;
      nt_copy_async16(&b_tile[0][row][column], &b[row * 1024 + column + start]);
    }
  } else {
    #pragma unroll
    for (int u = 0; u < 4; u++) {
      #pragma unroll
      for (int v = 0; v < 4; v++) {
        const int row = u * 4 + tz;
        nt_copy_async4(&b_tile[0][row][column + v], &b[row * 1024 + column + start + v]);
      }
    }
  }
  nt_commit_copies();
  nt_wait_copies<0>();
  __syncthreads();
  for (int k_o = 0; k_o < 63; k_o++) {
    const int k_o_1_mod2 = (k_o + 1) % 2u;
    #pragma unroll
    for (int u = 0; u < 2; u++) {
      #pragma unroll
      for (int u_1 = 0; u_1 < 4; u_1++) {
        nt_copy_async4(
            &a_tile[k_o_1_mod2][u * 8 + tx_mod8][u_1 * 16 + tz * 4 + ty * 2 + tx_div8],
            &a[(blockIdx.y * 64 + u_1 * 16 + tz * 4 + ty * 2 + tx_div8) * 1024 + k_o * 16 + u * 8
            + tx_mod8 + 16]);
      }
    }
    const int b_column = column + start;
    if (aligned) {
      #pragma unroll
      for (int u = 0; u < 4; u++) {
        nt_copy_async16(
            &b_tile[k_o_1_mod2][u * 4 + tz][column],
            &b[(k_o * 16 + u * 4 + tz + 16) * 1024 + b_column]);
      }
    } else {
      #pragma unroll
      for (int u = 0; u < 4; u++) {
        #pragma unroll
        for (int v = 0; v < 4; v++) {
          nt_copy_async4(
              &b_tile[k_o_1_mod2][u * 4 + tz][column + v],
              &b[(k_o * 16 + u * 4 + tz + 16) * 1024 + b_column + v]);
        }
      }
    }
    nt_commit_copies();
    const int k_o_mod2 = k_o % 2u;
    #pragma unroll
    for (int k_u = 0; k_u < 16; k_u++) {
      #pragma unroll
      for (int i_u = 0; i_u < 8; i_u++) {
        #pragma unroll
        for (int j_u = 0; j_u < 2; j_u++) {
          #pragma unroll
          for (int j_v = 0; j_v < 4; j_v++) {
            sums[i_u][j_u][j_v] = fmaf(
                a_tile[k_o_mod2][k_u][tz * 16 + ty * 8 + i_u],
                b_tile[k_o_mod2][k_u][j_u * 64 + tx * 4 + j_v], sums[i_u][j_u][j_v]);
          }
        }
      }
    }
    nt_wait_copies<0>();
    __syncthreads();
  }
  #pragma unroll
  for (int u = 0; u < 16; u++) {
    #pragma unroll
    for (int u_1 = 0; u_1 < 8; u_1++) {
      #pragma unroll
      for (int u_2 = 0; u_2 < 2; u_2++) {
        #pragma unroll
        for (int u_3 = 0; u_3 < 4; u_3++) {
          sums[u_1][u_2][u_3] = fmaf(
              a_tile[1][u][tz * 16 + ty * 8 + u_1], b_tile[1][u][u_2 * 64 + tx * 4 + u_3],
              sums[u_1][u_2][u_3]);
        }
      }
    }
  }
  const int result_column = start + tx * 4;
  if (aligned) {
    #pragma unroll
    for (int u = 0; u < 8; u++) {
      #pragma unroll
      for (int u_1 = 0; u_1 < 2; u_1++) {
        nt_store(
            &result[(blockIdx.y * 64 + tz * 16 + ty * 8 + u) * 1024 + result_column + u_1 * 64],
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
          result[(blockIdx.y * 64 + tz * 16 + ty * 8 + u) * 1024 + result_column + u_1 * 64 + v] =
              sums[u][u_1][v];
        }
      }
    }
  }
}
