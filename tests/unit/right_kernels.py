"""Kernels without a fault: sums, transposes, warp operations, vectors, atomics, asynchronous copies."""

SUM = """extern "C" __global__ void __launch_bounds__(128) block_sum(
    const float *__restrict__ x, float *__restrict__ out, int n) {
  const int t = threadIdx.x;
  const int i = blockIdx.x * 128 + t;
  __shared__ float tile[128];
  // prog.py:3: s = np.sum(x)
  tile[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int step = 64; step > 0; step = step / 2) {
    if (t < step) {
      tile[t] = tile[t] + tile[t + step];
    }
    __syncthreads();
  }
  // prog.py:4: return s
  if (t == 0) {
    out[blockIdx.x] = tile[0];
  }
}"""

TRANSPOSE = """extern "C" __global__ void __launch_bounds__(256) transpose(
    const float *__restrict__ x, float *__restrict__ out, int n, int m) {
  __shared__ float tile[32][33];
  const int j = blockIdx.x * 32 + threadIdx.x;
  for (int k = threadIdx.y; k < 32; k += 8) {
    const int i = blockIdx.y * 32 + k;
    if (i < n && j < m) {
      // prog.py:7: t = x.T
      tile[k][threadIdx.x] = x[i * m + j];
    }
  }
  __syncthreads();
  const int row = blockIdx.y * 32 + threadIdx.x;
  for (int k = threadIdx.y; k < 32; k += 8) {
    const int column = blockIdx.x * 32 + k;
    if (row < n && column < m) {
      out[column * n + row] = tile[threadIdx.x][k];
    }
  }
}"""

WARP = """extern "C" __global__ void __launch_bounds__(64) warp_rows(
    const float *__restrict__ x, float *__restrict__ out) {
  __shared__ __align__(16) float rows[2][32];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  rows[warp][lane] = x[threadIdx.x];
  __syncwarp();
  float other = rows[warp][31 - lane];
  __syncwarp();
  rows[warp][lane] = other;
  __syncwarp();
  float sum = rows[warp][lane ^ 1];
  for (int step = 16; step > 0; step /= 2) {
    sum = sum + __shfl_xor_sync(0xffffffffu, sum, step);
  }
  if (lane == 0) {
    out[warp] = sum;
  }
}"""

VECTORS = """extern "C" __global__ void __launch_bounds__(32) vectors(
    const float *__restrict__ x, float *__restrict__ out, int n, int first) {
  const int i = threadIdx.x * 4;
  if (i + 3 < n) {
    float4 v = *reinterpret_cast<const float4 *>(&x[i + first]);
    v.x = v.x + 1.0f;
    *reinterpret_cast<float4 *>(&out[i]) = v;
  }
}"""

COUNTERS = """extern "C" __global__ void __launch_bounds__(32) last_block(
    const float *__restrict__ x, float *__restrict__ partial, float *__restrict__ out, unsigned *__restrict__ done) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    is_last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    float sum = 0.0f;
    for (int k = 0; k < (int)gridDim.x; k++) {
      sum = sum + partial[k];
    }
    out[0] = sum;
  }
}"""

BINS = """extern "C" __global__ void __launch_bounds__(32) bins(
    const int *__restrict__ x, int *__restrict__ counts, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) {
    atomicAdd(&counts[x[i]], 1);
  }
}"""

COPIES = """extern "C" __global__ void __launch_bounds__(32) copies(
    const float *__restrict__ x, float *__restrict__ out) {
  __shared__ __align__(16) float tile[2][128];
  const int t = threadIdx.x;
  nt_copy_async16(&tile[0][t * 4], &x[t * 4]);
  nt_commit_copies();
  nt_copy_async16(&tile[1][t * 4], &x[128 + t * 4]);
  nt_commit_copies();
  nt_wait_copies<1>();
  __syncthreads();
  float sum = tile[0][127 - t];
  nt_wait_copies<0>();
  __syncthreads();
  out[t] = sum + tile[1][127 - t];
}"""

DYNAMIC = """extern "C" __global__ void __launch_bounds__(32) dynamic_tile(
    const float *__restrict__ x, float *__restrict__ out) {
  extern __shared__ __align__(16) float memory[];
  memory[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = memory[31 - threadIdx.x];
}"""

FLAGS = """extern "C" __global__ void __launch_bounds__(64) flags(
    const float *__restrict__ x, float *__restrict__ out, volatile int *__restrict__ flag) {
  if (threadIdx.x == 20) {
    *flag = 1;
  }
  if (threadIdx.x == 40) {
    while (*flag == 0) {
    }
    *flag = 2;
  }
  if (threadIdx.x == 3) {
    while (atomicAdd((int *)flag, 0) != 2) {
    }
  }
  out[threadIdx.x] = x[threadIdx.x];
}"""

LOOK_BACK = """extern "C" __global__ void __launch_bounds__(32) look_back(
    const float *__restrict__ x, float *__restrict__ sums, volatile int *__restrict__ done, int *__restrict__ ticket) {
  __shared__ int block;
  if (threadIdx.x == 0) {
    block = atomicAdd(ticket, 1);
  }
  __syncthreads();
  if (threadIdx.x == 7) {
    float before = 0.0f;
    if (block > 0) {
      while (done[block - 1] == 0) {
      }
      before = sums[block - 1];
    }
    sums[block] = before + x[block];
    __threadfence();
    done[block] = 1;
  }
}"""
