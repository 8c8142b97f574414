"""Device functions that CUDA C lacks, printed in front of the kernels that use them and only then.

They use no header, so that NVRTC needs no include path. Inline PTX appears here and in cuda_c/tensor_cores.py only.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...dialects.special import PHILOX_MULTIPLIERS, PHILOX_ROUNDS, PHILOX_WEYL
from .pairs import DEPENDS
from .pairs import HELPERS as PAIRS
from .tensor_cores import PTX_HELPERS, guarded

_MINMAX = """\
static __device__ {type} nt_{name}({type} a, {type} b) {{  // NumPy's: NaN if either is NaN
  return a {relation} b || a != a ? a : b;
}}"""

_FLOAT_MINMAX = """\
static __device__ float nt_{name}(float a, float b) {{  // NumPy's: NaN if either is NaN
#if __CUDA_ARCH__ >= 800  // one instruction; of two zeros {of_zeros}
  float one;
  asm("{short}.NaN.f32 %0, %1, %2;" : "=f"(one) : "f"(a), "f"(b));
  return one;
#else
  return a {relation} b || a != a ? a : b;
#endif
}}"""

_PHILOX = f"""\
static __device__ unsigned long long nt_philox(unsigned long long counter,
    unsigned long long stream, unsigned long long key) {{  // two words of Philox 4x32-{PHILOX_ROUNDS}
  unsigned a = (unsigned)counter, b = (unsigned)(counter >> 32);
  unsigned c = (unsigned)stream, d = (unsigned)(stream >> 32);
  unsigned low = (unsigned)key, high = (unsigned)(key >> 32);
  for (int round = 0; round < {PHILOX_ROUNDS}; round += 1) {{
    const unsigned long long x = a * {PHILOX_MULTIPLIERS[0]}ull;
    const unsigned long long y = c * {PHILOX_MULTIPLIERS[1]}ull;
    a = (unsigned)(y >> 32) ^ b ^ low;
    b = (unsigned)y;
    c = (unsigned)(x >> 32) ^ d ^ high;
    d = (unsigned)x;
    low += {PHILOX_WEYL[0]}u;
    high += {PHILOX_WEYL[1]}u;
  }}
  return (unsigned long long)b << 32 | a;
}}"""

_FLOOR_DIV = """\
static __device__ {type} nt_floor_div({type} a, {type} b) {{
  const {type} q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}}"""

_CEIL_DIV = """\
static __device__ {type} nt_ceil_div({type} a, {type} b) {{
  const {type} q = a / b;
  return a % b != 0 && (a < 0) == (b < 0) ? q + 1 : q;
}}"""

_INT_POW = """\
static __device__ {type} nt_int_pow({type} base, {type} exponent) {{  // wraps around; 0 for a fraction
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  {unsigned} power = 1, square = ({unsigned})base;
  for (; exponent; exponent >>= 1, square *= square)
    if (exponent & 1) power *= square;
  return ({type})power;
}}"""

_FLOAT_INT_POW = """\
static __device__ {type} nt_powi({type} base, long long exponent) {{  // the multiplications of llvm.powi
  const bool invert = exponent < 0;
  {type} power = 1, square = base;
  for (;; square *= square) {{
    if (exponent & 1) power *= square;
    exponent /= 2;
    if (exponent == 0) return invert ? 1 / power : power;
  }}
}}"""

_EXP_SHORT = """\
static __device__ float nt_exp_{name}(float exponent) {{  // within 2^-17 of itself; 0.51 ULP when rounded to 16 bits
#ifdef __CUDACC__
  float power;
  asm("{instruction} %0, %1;" : "=f"(power) : "f"(exponent * 1.44269504f));
  return power;
#else
  return expf(exponent);
#endif
}}"""

HELPERS: dict[str, str] = {
    "nt_vector": """\
template <class T, int N>
struct __align__(N * sizeof(T) < 16 ? N * sizeof(T) : 16) nt_vector {  // N neighbours in memory
  T at[N];
  __device__ T &operator[](int k) { return at[k]; }
  __device__ const T &operator[](int k) const { return at[k]; }
};""",
    "nt_load": """\
template <int N, class T>
static __device__ nt_vector<T, N> nt_load(const T *first) {  // at a multiple of its size
  return *reinterpret_cast<const nt_vector<T, N> *>(first);
}""",
    "nt_store": """\
template <class T, int N>
static __device__ void nt_store(T *first, nt_vector<T, N> elements) {
  *reinterpret_cast<nt_vector<T, N> *>(first) = elements;
}""",
    "nt_raise": """\
static __device__ void nt_raise(long long *err, long long code, long long site, long long value,
                                long long extent) {  // the first failure wins
  if (atomicCAS((unsigned long long *)err, 0ull, (unsigned long long)code) != 0ull) return;
  err[1] = site;
  err[2] = value;
  err[3] = extent;
}""",
    "nt_fails_first": """\
static __device__ bool nt_fails_first(long long *err, long long code, long long site) {
  if (atomicCAS((unsigned long long *)err, 0ull, (unsigned long long)code) != 0ull) return false;
  err[1] = site;
  return true;
}""",
    "nt_unordered": """\
template <class T> static __device__ bool nt_unordered(T a, T b) { return a != a || b != b; }""",
    "nt_half_to_float": """\
static __device__ float nt_half_to_float(unsigned short bits) {
#ifdef __CUDACC__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#else
  union { unsigned short bits; _Float16 half; } pun = {bits};
  return (float)pun.half;
#endif
}""",
    "nt_float_to_half": """\
static __device__ unsigned short nt_float_to_half(float value) {  // to nearest, ties to even
#ifdef __CUDACC__
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  union { _Float16 half; unsigned short bits; } pun = {(_Float16)value};
  return pun.bits;
#endif
}""",
    "nt_double_to_half": """\
static __device__ unsigned short nt_double_to_half(double value) {  // to nearest, ties to even
#ifdef __CUDACC__
  unsigned short bits;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));
  return bits;
#else
  union { _Float16 half; unsigned short bits; } pun = {(_Float16)value};
  return pun.bits;
#endif
}""",
    "nt_round_half": """\
static __device__ float nt_round_half(float value) {
  return nt_half_to_float(nt_float_to_half(value));
}""",
    "nt_bf16_to_float": """\
static __device__ float nt_bf16_to_float(unsigned short bits) { return __int_as_float(bits << 16); }""",
    "nt_float_to_bf16": """\
static __device__ unsigned short nt_float_to_bf16(float value) {  // to nearest, ties to even
#if __CUDA_ARCH__ >= 800
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  const unsigned bits = (unsigned)__float_as_int(value);
  if (value != value) return (unsigned short)(bits >> 16 | 0x40u);
  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}""",
    "nt_double_to_bf16": """\
static __device__ unsigned short nt_double_to_bf16(double value) {  // odd rounding first
  const float near = (float)value;
  unsigned bits = (unsigned)__float_as_int(near);
  const double back = (double)near;
  if (back != value && value == value && (bits & 1u) == 0u)
    bits += (back < value) == (value > 0.0) ? 1u : -1u;
  return nt_float_to_bf16(__int_as_float((int)bits));
}""",
    "nt_round_bf16": """\
static __device__ float nt_round_bf16(float value) {
  return nt_bf16_to_float(nt_float_to_bf16(value));
}""",
    "nt_exp_half": _EXP_SHORT.format(name="half", instruction="ex2.approx.ftz.f32"),
    "nt_exp_approx": _EXP_SHORT.format(name="approx", instruction="ex2.approx.ftz.f32"),
    "nt_exp_bf16": _EXP_SHORT.format(name="bf16", instruction="ex2.approx.f32"),
    "nt_philox": _PHILOX,
}

_DEPENDS = {
    "nt_load": ("nt_vector",),
    "nt_store": ("nt_vector",),
    "nt_round_half": ("nt_half_to_float", "nt_float_to_half"),
    "nt_round_bf16": ("nt_bf16_to_float", "nt_float_to_bf16"),
    "nt_double_to_bf16": ("nt_float_to_bf16",),
    **DEPENDS,
}

for _name, _short, _relation, _of_zeros in (
    ("maximum", "max", ">", "the positive one"),
    ("minimum", "min", "<", "the negative one"),
):
    HELPERS[f"nt_{_name} float"] = _FLOAT_MINMAX.format(
        name=_name, short=_short, relation=_relation, of_zeros=_of_zeros
    )
    HELPERS[f"nt_{_name} double"] = _MINMAX.format(type="double", name=_name, relation=_relation)
for _type in ("float", "double"):
    HELPERS[f"nt_powi {_type}"] = _FLOAT_INT_POW.format(type=_type)
for _type, _unsigned in (("int", "unsigned"), ("long long", "unsigned long long")):
    HELPERS[f"nt_floor_div {_type}"] = _FLOOR_DIV.format(type=_type)
    HELPERS[f"nt_ceil_div {_type}"] = _CEIL_DIV.format(type=_type)
    HELPERS[f"nt_int_pow {_type}"] = _INT_POW.format(type=_type, unsigned=_unsigned)
HELPERS |= PAIRS


def prelude(used: Iterable[str]) -> list[str]:
    """The definitions of the helpers in `used` (keys of both tables) and of what these call, in a fixed order."""
    needed = set(used)
    for name in list(needed):
        needed.update(_DEPENDS.get(name, ()))
    own = [text for name, text in HELPERS.items() if name in needed]
    return [*own, *guarded([text for name, text in PTX_HELPERS.items() if name in needed])]
