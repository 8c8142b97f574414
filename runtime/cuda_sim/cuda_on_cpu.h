// CUDA C as C++: the names that emitted kernels use, so that g++ compiles their text unmodified.
//
// The runtime (scheduler.cpp) runs one thread of a block at a time. Kernels without barriers and warp
// operations are called in a plain loop; others run as fibers that switch at those operations.
//
// With SIM_INSTRUMENTED the text is compiled with -fsanitize=thread, and every access of a kernel calls
// hooks.cpp. What the shim itself does with memory is not instrumented (SIM_QUIET).
#pragma once
// The math.h of C: the one of libstdc++ takes g++ longer than a kernel, for overloads that emitted text does not use.
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <math.h>
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <utility>

#define SIM_CAT_(a, b) a##b
#define SIM_CAT(a, b) SIM_CAT_(a, b)
#define SIM_IN_SHARED __attribute__((section("nestor_shared")))

#define __global__
#define __device__
#define __host__
#define __constant__ static const
// One block runs at a time: its shared memory is static storage, in a section that the runtime can poison.
// Where accesses are seen, a gap that belongs to no array stands in front of each.
#ifdef SIM_INSTRUMENTED
#define __shared__                                                                                   \
  static SIM_IN_SHARED __attribute__((used)) char SIM_CAT(sim_gap_, __COUNTER__)[256]; \
  static SIM_IN_SHARED
#else
#define __shared__ static SIM_IN_SHARED
#endif
#define SIM_DYNAMIC_SHARED(type, name) type *const name = reinterpret_cast<type *>(sim_dynamic_shared)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct SimIndex {
  unsigned x, y, z;
};

struct SimContext {
  SimIndex thread, block, block_dim, grid_dim;
  unsigned launch;  // counts launches
};

struct alignas(16) SimSlot {  // what one lane puts into a warp operation
  unsigned char bytes[16];
};

#define SIM_RUNTIME extern "C" __attribute__((visibility("hidden")))
#ifdef SIM_INSTRUMENTED
#define SIM_QUIET __attribute__((noinline, no_sanitize("thread")))
#define SIM_THREAD_BODY __attribute__((no_sanitize("thread")))
#define SIM_KERNEL_CALL static SIM_QUIET
#else
#define SIM_THREAD_BODY
#define SIM_QUIET inline
#define SIM_KERNEL_CALL static inline __attribute__((always_inline))
#endif

SIM_RUNTIME SimContext sim_context;
SIM_RUNTIME unsigned char sim_dynamic_shared[];
// `site` is the line of the kernels' text that calls: what tells two barriers apart.
SIM_RUNTIME int sim_barrier(int site, int predicate);  // how many threads passed a predicate that is not 0
SIM_RUNTIME void sim_warp_exchange(int site, unsigned mask, const SimSlot *in, SimSlot *out32, unsigned *present);
SIM_RUNTIME void sim_warp_barrier(int site, unsigned mask);
SIM_RUNTIME int sim_lane();
SIM_RUNTIME void sim_absent_lane(int site, int source);
SIM_RUNTIME void sim_fault(const char *what);
SIM_RUNTIME int sim_run_grid(void (*thread)(void **), void **arguments);
SIM_RUNTIME void sim_start_launch(const unsigned *grid, const unsigned *block);
SIM_RUNTIME int sim_end_launch();
SIM_RUNTIME unsigned long long sim_block_count();
SIM_RUNTIME void sim_go_to_block(unsigned long long position);

#ifdef SIM_INSTRUMENTED
// The indices of a running thread never change, so the compiler may keep them in registers.
SIM_RUNTIME SimIndex sim_thread_index() __attribute__((const));
SIM_RUNTIME SimIndex sim_block_index() __attribute__((const));
SIM_RUNTIME SimIndex sim_block_extents() __attribute__((const));
SIM_RUNTIME SimIndex sim_grid_extents() __attribute__((const));
SIM_RUNTIME void sim_on_atomic(const volatile void *address, unsigned size, const void *pc);
#define threadIdx (sim_thread_index())
#define blockIdx (sim_block_index())
#define blockDim (sim_block_extents())
#define gridDim (sim_grid_extents())
#define SIM_ATOMIC_HOOK(address) sim_on_atomic(address, sizeof *(address), __builtin_return_address(0))
#else
#define threadIdx (sim_context.thread)
#define blockIdx (sim_context.block)
#define blockDim (sim_context.block_dim)
#define gridDim (sim_context.grid_dim)
#define SIM_ATOMIC_HOOK(address)
#endif
#define warpSize 32

#include "cuda_vectors.h"
#include "cuda_warp.h"

// -- atomics: one thread runs at a time, so a plain read and write is one -------------------------------

#define SIM_ATOMIC(name, update)                 \
  template <class T>                             \
  static SIM_QUIET T name(T *address, T value) { \
    SIM_ATOMIC_HOOK(address);                    \
    const T old = *address;                      \
    *address = update;                           \
    return old;                                  \
  }
SIM_ATOMIC(atomicAdd, old + value)
SIM_ATOMIC(atomicSub, old - value)
SIM_ATOMIC(atomicExch, value)
SIM_ATOMIC(atomicMax, old < value ? value : old)
SIM_ATOMIC(atomicMin, value < old ? value : old)
SIM_ATOMIC(atomicAnd, old & value)
SIM_ATOMIC(atomicOr, old | value)
SIM_ATOMIC(atomicXor, old ^ value)
SIM_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
SIM_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef SIM_ATOMIC

template <class T>
static SIM_QUIET T atomicCAS(T *address, T expected, T value) {
  SIM_ATOMIC_HOOK(address);
  const T old = *address;
  if (old == expected) *address = value;
  return old;
}

#ifdef SIM_INSTRUMENTED
SIM_RUNTIME void sim_on_fence(int scope);  // 0: the block, 1: the device
#define __threadfence() sim_on_fence(1)
#define __threadfence_block() sim_on_fence(0)
#else
static inline void __threadfence() {}
static inline void __threadfence_block() {}
#endif
#define __threadfence_system() __threadfence()

// -- arithmetic -----------------------------------------------------------------------------------------

#define SIM_MIN_MAX(T)                                       \
  static inline T min(T a, T b) { return b < a ? b : a; }    \
  static inline T max(T a, T b) { return a < b ? b : a; }
SIM_MIN_MAX(int)
SIM_MIN_MAX(unsigned)
SIM_MIN_MAX(long long)
SIM_MIN_MAX(unsigned long long)
#undef SIM_MIN_MAX
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }

// Functions of less precision: any that is at least as precise is one of them.
#define __expf(x) expf(x)
#define __logf(x) logf(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __powf(x, y) powf(x, y)
static inline float __fdividef(float x, float y) { return x / y; }

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

// -- how Python calls a kernel --------------------------------------------------------------------------

template <class... A, size_t... I>
SIM_KERNEL_CALL void sim_call(void (*kernel)(A...), void **arguments, std::index_sequence<I...>) {
  kernel(*static_cast<std::remove_reference_t<A> *>(arguments[I])...);
}

template <class... A>
SIM_KERNEL_CALL void sim_call(void (*kernel)(A...), void **arguments) {
  sim_call(kernel, arguments, std::index_sequence_for<A...>{});
}

template <class Body>
static inline __attribute__((always_inline)) void sim_each(SimIndex count, SimIndex &index, Body body) {
  for (index.z = 0; index.z < count.z; index.z++)
    for (index.y = 0; index.y < count.y; index.y++)
      for (index.x = 0; index.x < count.x; index.x++) body();
}

// How threads run: fibers where a text contains barriers. One whose accesses are seen always runs so.
// Names here start with sim_: a kernel may have any other.
#define SIM_RUN_FIBERS(kernel) \
  sim_run_grid([](void **sim_a) SIM_THREAD_BODY { sim_call(kernel, sim_a); }, sim_arguments)
#ifdef SIM_INSTRUMENTED
#define SIM_RUN_LOOPS SIM_RUN_FIBERS
#else
#define SIM_RUN_LOOPS(kernel)                                                                         \
  for (unsigned long long sim_k = 0, sim_blocks = sim_block_count(); sim_k < sim_blocks; sim_k++) {   \
    sim_go_to_block(sim_k);                                                                           \
    sim_each(sim_context.block_dim, sim_context.thread, [&] { sim_call(kernel, sim_arguments); });    \
  }
#endif

// Returns 0, or 1 after a fault.
#define SIM_EXPORT(kernel, run)                                                                \
  extern "C" __attribute__((visibility("default"))) SIM_THREAD_BODY int sim_launch_##kernel(   \
      void **sim_arguments, const unsigned *sim_grid, const unsigned *sim_block) {             \
    sim_start_launch(sim_grid, sim_block);                                                     \
    run(kernel);                                                                               \
    return sim_end_launch();                                                                   \
  }
