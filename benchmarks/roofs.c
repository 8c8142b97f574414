/* What the machine can do at best: streams of reads and writes, and multiply-adds in registers. */
#include <omp.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
typedef float vec __attribute__((vector_size(64), aligned(4), may_alias));
#define STREAM(p, v) _mm512_stream_ps((void *)(p), (__m512)(v))
#elif defined(__AVX__)
typedef float vec __attribute__((vector_size(32), aligned(4), may_alias));
#define STREAM(p, v) _mm256_stream_ps((float *)(p), (__m256)(v))
#else
typedef float vec __attribute__((vector_size(16), aligned(4), may_alias));
#define STREAM(p, v) (*(vec *)(p) = (v))
#endif
#define LANES (sizeof(vec) / sizeof(float))
/* Floats; a line that is going to be written is fetched for that, which the machine does not foresee. */
#define READ_AHEAD 1024
#define WRITE_AHEAD 512

static volatile float sink;  /* volatile: what is computed for it alone is not left out */

static vec read_part(const float *p, size_t n) {
  vec a = {0}, b = {0}, c = {0}, d = {0};
  size_t i = 0;
  for (; i + 4 * LANES <= n; i += 4 * LANES) {
    for (size_t line = 0; line < 4 * LANES; line += 16) __builtin_prefetch(p + i + line + READ_AHEAD, 0, 3);
    a += *(const vec *)(p + i);
    b += *(const vec *)(p + i + LANES);
    c += *(const vec *)(p + i + 2 * LANES);
    d += *(const vec *)(p + i + 3 * LANES);
  }
  for (; i + LANES <= n; i += LANES) a += *(const vec *)(p + i);
  return (a + b) + (c + d);
}

static void write_part(float *p, size_t n, vec value, int past_cache) {
  size_t i = 0;
  if (past_cache)
    for (; i + LANES <= n; i += LANES) STREAM(p + i, value);
  else
    for (; i + LANES <= n; i += LANES) {
      if (i % 16 == 0) __builtin_prefetch(p + i + WRITE_AHEAD, 1, 3);
      *(vec *)(p + i) = value;
    }
}

/* Every byte of `reads` is read once and every byte of `writes` written once, in proportion, in blocks of at most 16 KiB.
   Lengths are in floats, multiples of 16; arrays are aligned to 64 bytes. */
void roof_stream(const float **reads, const size_t *read_lengths, int n_reads, float **writes,
                 const size_t *write_lengths, int n_writes, int past_cache, int threads) {
  size_t longest = 1;
  for (int k = 0; k < n_reads; k++) longest = read_lengths[k] > longest ? read_lengths[k] : longest;
  for (int k = 0; k < n_writes; k++) longest = write_lengths[k] > longest ? write_lengths[k] : longest;
  size_t blocks = (longest + 4096 - 1) / 4096;
#pragma omp parallel num_threads(threads)
  {
    size_t team = omp_get_num_threads(), me = omp_get_thread_num();
    vec sum = {0};
    for (size_t b = blocks * me / team; b < blocks * (me + 1) / team; b++) {
      for (int k = 0; k < n_reads; k++) {
        size_t lo = read_lengths[k] / 16 * b / blocks * 16, hi = read_lengths[k] / 16 * (b + 1) / blocks * 16;
        sum += read_part(reads[k] + lo, hi - lo);
      }
      for (int k = 0; k < n_writes; k++) {
        size_t lo = write_lengths[k] / 16 * b / blocks * 16, hi = write_lengths[k] / 16 * (b + 1) / blocks * 16;
        write_part(writes[k] + lo, hi - lo, sum, past_cache);
      }
    }
#if defined(__AVX__)
    if (past_cache) _mm_sfence();
#endif
    float total = 0;
    for (size_t i = 0; i < LANES; i++) total += sum[i];
    if (total == 1.25f) sink = total;
  }
}

/* `count` multiply-adds of floats (two operations each), in 16 independent chains a thread. */
void roof_fma(double count, int threads) {
#pragma omp parallel num_threads(threads)
  {
    long rounds = (long)(count / omp_get_num_threads() / (16 * LANES)) + 1;
    vec x[16], scale, step;
    for (size_t i = 0; i < LANES; i++) scale[i] = 0.999f, step[i] = 0.001f;
    for (int k = 0; k < 16; k++) x[k] = step * (float)k;
    for (long r = 0; r < rounds; r++)
#pragma GCC unroll 16
      for (int k = 0; k < 16; k++) x[k] = x[k] * scale + step;
    float total = 0;
    for (int k = 0; k < 16; k++)
      for (size_t i = 0; i < LANES; i++) total += x[k][i];
    if (total == 1.25f) sink = total;
  }
}
