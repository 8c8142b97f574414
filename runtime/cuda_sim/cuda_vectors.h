// Vector types (float4, int2, ...), and loads and stores with a cache hint. Part of cuda_on_cpu.h.
//
// A vector is copied as a whole, so that the hooks see the one access that a GPU makes. Its alignment is CUDA's
// where accesses are checked; elsewhere that of its elements, so that a misaligned one is slow, not a crash.
#pragma once

#ifdef SIM_INSTRUMENTED
#define SIM_ALIGN(bytes, T) alignas(bytes)
#else
#define SIM_ALIGN(bytes, T) alignas(T)
#endif

#define SIM_VECTOR(name, T, n, align, members, parameters, values)                       \
  struct SIM_ALIGN(align, T) name {                                                      \
    typedef T Whole __attribute__((vector_size(sizeof(T) * n), aligned(sizeof(T)), may_alias)); \
    union {                                                                              \
      struct {                                                                           \
        T members;                                                                       \
      };                                                                                 \
      Whole whole;                                                                       \
    };                                                                                   \
    name() = default;                                                                    \
    name parameters : whole(Whole values) {}                                             \
    name(const name &other) : whole(other.whole) {}                                      \
    name &operator=(const name &other) {                                                 \
      whole = other.whole;                                                               \
      return *this;                                                                      \
    }                                                                                    \
  };                                                                                     \
  static inline name make_##name parameters { return name values; }
#define SIM_COMMA ,
#define SIM_VECTOR2(name, T, align) \
  SIM_VECTOR(name, T, 2, align, x SIM_COMMA y, (T x_ SIM_COMMA T y_), {x_ SIM_COMMA y_})
#define SIM_VECTOR3(name, T) \
  struct name {              \
    T x, y, z;               \
  };                         \
  static inline name make_##name(T x, T y, T z) { return {x, y, z}; }
#define SIM_VECTOR4(name, T, align)                             \
  SIM_VECTOR(name, T, 4, align, x SIM_COMMA y SIM_COMMA z SIM_COMMA w, \
             (T x_ SIM_COMMA T y_ SIM_COMMA T z_ SIM_COMMA T w_), {x_ SIM_COMMA y_ SIM_COMMA z_ SIM_COMMA w_})
#define SIM_VECTORS(name, T)                                                           \
  SIM_VECTOR2(name##2, T, 2 * sizeof(T))                                               \
  SIM_VECTOR3(name##3, T)                                                              \
  SIM_VECTOR4(name##4, T, 4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16)
SIM_VECTORS(char, signed char)
SIM_VECTORS(uchar, unsigned char)
SIM_VECTORS(short, short)
SIM_VECTORS(ushort, unsigned short)
SIM_VECTORS(int, int)
SIM_VECTORS(uint, unsigned)
SIM_VECTORS(longlong, long long)
SIM_VECTORS(ulonglong, unsigned long long)
SIM_VECTORS(float, float)
SIM_VECTORS(double, double)
#undef SIM_VECTORS
#undef SIM_VECTOR4
#undef SIM_VECTOR3
#undef SIM_VECTOR2
#undef SIM_COMMA
#undef SIM_VECTOR

#define SIM_LOAD(name)                                               \
  template <class T>                                                 \
  static inline __attribute__((always_inline)) T name(const T *address) { \
    return *address;                                                 \
  }
SIM_LOAD(__ldg)
SIM_LOAD(__ldca)
SIM_LOAD(__ldcg)
SIM_LOAD(__ldcs)
SIM_LOAD(__ldlu)
SIM_LOAD(__ldcv)
#undef SIM_LOAD

#define SIM_STORE(name)                                                       \
  template <class T>                                                          \
  static inline __attribute__((always_inline)) void name(T *address, T value) { \
    *address = value;                                                         \
  }
SIM_STORE(__stwb)
SIM_STORE(__stcg)
SIM_STORE(__stcs)
SIM_STORE(__stwt)
#undef SIM_STORE

