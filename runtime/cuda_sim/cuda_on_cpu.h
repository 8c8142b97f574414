// CUDA C as C++: the names that emitted kernels use, so that g++ compiles their text unmodified.
//
// The runtime (scheduler.cpp) runs one thread of a block at a time. Kernels without barriers and warp
// operations are called in a plain loop; others run as fibers that switch at those operations.
#pragma once
#include <math.h>
#include <stddef.h>
#include <string.h>

#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__ static const
// One block runs at a time: its shared memory is static storage, in a section that the runtime can poison.
#define __shared__ static __attribute__((section("nestor_shared")))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct SimIndex {
  unsigned x, y, z;
};

struct SimContext {
  SimIndex thread, block, block_dim, grid_dim;
};

struct alignas(16) SimSlot {  // what one lane puts into a warp operation
  unsigned char bytes[16];
};

#define SIM_RUNTIME extern "C" __attribute__((visibility("hidden")))

SIM_RUNTIME SimContext sim_context;
SIM_RUNTIME void sim_barrier();
SIM_RUNTIME void sim_warp_exchange(unsigned mask, const SimSlot *in, SimSlot *out32, unsigned *present);
SIM_RUNTIME int sim_lane();
SIM_RUNTIME void sim_fault(const char *what);
SIM_RUNTIME int sim_run_fibers(void (*thread)(void **), void **arguments);

#define threadIdx (sim_context.thread)
#define blockIdx (sim_context.block)
#define blockDim (sim_context.block_dim)
#define gridDim (sim_context.grid_dim)
#define warpSize 32

// -- barriers and warp operations ----------------------------------------------------------------------

static inline void __syncthreads() { sim_barrier(); }

static inline void __syncwarp(unsigned mask = 0xffffffffu) { sim_warp_exchange(mask, nullptr, nullptr, nullptr); }

template <class T>
static T sim_shuffle(unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= sizeof(SimSlot), "a lane exchanges at most 16 bytes");
  SimSlot in = {}, out[32];
  unsigned present = 0;
  memcpy(in.bytes, &value, sizeof value);
  sim_warp_exchange(mask, &in, out, &present);
  if (!(present >> source & 1)) sim_fault("a shuffle reads a lane that does not take part in it");
  memcpy(&value, out[source].bytes, sizeof value);
  return value;
}

template <class T>
static T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int lane = sim_lane();
  return sim_shuffle(mask, value, lane / width * width + (source & (width - 1)));
}

template <class T>
static T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const int lane = sim_lane(), source = lane ^ bits;
  return sim_shuffle(mask, value, source / width > lane / width ? lane : source);
}

template <class T>
static T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = sim_lane();
  return sim_shuffle(mask, value, lane % width + (int)delta >= width ? lane : lane + (int)delta);
}

template <class T>
static T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = sim_lane();
  return sim_shuffle(mask, value, lane % width < (int)delta ? lane : lane - (int)delta);
}

static unsigned __ballot_sync(unsigned mask, int predicate) {
  SimSlot in = {}, out[32];
  unsigned present = 0, votes = 0;
  in.bytes[0] = predicate != 0;
  sim_warp_exchange(mask, &in, out, &present);
  for (int lane = 0; lane < 32; lane++)
    if (present >> lane & 1 && out[lane].bytes[0]) votes |= 1u << lane;
  return votes;
}

static inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
static inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

// -- atomics: one thread runs at a time, so a plain read and write is one -------------------------------

#define SIM_ATOMIC(name, update)              \
  template <class T>                          \
  static inline T name(T *address, T value) { \
    const T old = *address;                   \
    *address = update;                        \
    return old;                               \
  }
SIM_ATOMIC(atomicAdd, old + value)
SIM_ATOMIC(atomicExch, value)
SIM_ATOMIC(atomicMax, old < value ? value : old)
SIM_ATOMIC(atomicMin, value < old ? value : old)
SIM_ATOMIC(atomicAnd, old & value)
SIM_ATOMIC(atomicOr, old | value)
SIM_ATOMIC(atomicXor, old ^ value)
#undef SIM_ATOMIC

template <class T>
static inline T atomicCAS(T *address, T expected, T value) {
  const T old = *address;
  if (old == expected) *address = value;
  return old;
}

static inline void __threadfence() {}
static inline void __threadfence_block() {}

// -- arithmetic -----------------------------------------------------------------------------------------

#define SIM_MIN_MAX(T)                                       \
  static inline T min(T a, T b) { return b < a ? b : a; }    \
  static inline T max(T a, T b) { return a < b ? b : a; }
SIM_MIN_MAX(int)
SIM_MIN_MAX(unsigned)
SIM_MIN_MAX(long long)
SIM_MIN_MAX(unsigned long long)
#undef SIM_MIN_MAX

template <class To, class From>
static inline To sim_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "a reinterpretation keeps the size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

static inline float __int_as_float(int bits) { return sim_bits<float>(bits); }
static inline float __uint_as_float(unsigned bits) { return sim_bits<float>(bits); }
static inline int __float_as_int(float value) { return sim_bits<int>(value); }
static inline unsigned __float_as_uint(float value) { return sim_bits<unsigned>(value); }
static inline double __longlong_as_double(long long bits) { return sim_bits<double>(bits); }
static inline long long __double_as_longlong(double value) { return sim_bits<long long>(value); }

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}

template <class T>
static inline T __ldg(const T *address) {
  return *address;
}

// -- how Python calls a kernel --------------------------------------------------------------------------

template <class... A, size_t... I>
static inline __attribute__((always_inline)) void sim_call(void (*kernel)(A...), void **arguments,
                                                           std::index_sequence<I...>) {
  kernel(*static_cast<std::remove_reference_t<A> *>(arguments[I])...);
}

template <class... A>
static inline __attribute__((always_inline)) void sim_call(void (*kernel)(A...), void **arguments) {
  sim_call(kernel, arguments, std::index_sequence_for<A...>{});
}

template <class Body>
static inline __attribute__((always_inline)) void sim_each(SimIndex count, SimIndex &index, Body body) {
  for (index.z = 0; index.z < count.z; index.z++)
    for (index.y = 0; index.y < count.y; index.y++)
      for (index.x = 0; index.x < count.x; index.x++) body();
}

// Returns 0, or 1 after a fault. `SIM_HAS_BARRIERS` is defined for a text that contains any.
#ifdef SIM_HAS_BARRIERS
#define SIM_RUN(kernel)                                                                             \
  const auto thread = [](void **a) { sim_call(kernel, a); };                                        \
  int fault = 0;                                                                                    \
  sim_each(sim_context.grid_dim, sim_context.block,                                                 \
           [&] { fault = fault || sim_run_fibers(thread, arguments); });                            \
  return fault;
#else
#define SIM_RUN(kernel)                                                                             \
  sim_each(sim_context.grid_dim, sim_context.block, [&] {                                           \
    sim_each(sim_context.block_dim, sim_context.thread, [&] { sim_call(kernel, arguments); });      \
  });                                                                                               \
  return 0;
#endif

#define SIM_EXPORT(kernel)                                                                           \
  extern "C" __attribute__((visibility("default"))) int sim_launch_##kernel(                         \
      void **arguments, const unsigned *grid, const unsigned *block) {                               \
    sim_context.grid_dim = {grid[0], grid[1], grid[2]};                                              \
    sim_context.block_dim = {block[0], block[1], block[2]};                                          \
    SIM_RUN(kernel)                                                                                  \
  }
