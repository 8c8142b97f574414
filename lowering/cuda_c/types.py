"""C types, literals and names of the CUDA C emitter.

The value of an SSA scalar and the value of the C expression printed for it are the same mathematical
number: integers are read as signed, `i1` is 0 or 1, and `f16`/`bf16` are held in a `float` that is rounded
after every operation (in memory they are `unsigned short`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute, SSAValue

from ...dialects.diagnostic import LoweringError, fail

# Binding strength of C operators, tightest last.
TERNARY, LOGIC_OR, LOGIC_AND, BIT_OR, BIT_XOR, BIT_AND, EQUALITY = range(7)
RELATION, SHIFT, ADD, MUL, UNARY, ATOM = range(7, 13)

_SIGNED = {1: "bool", 8: "signed char", 16: "short", 32: "int", 64: "long long"}
_UNSIGNED = {1: "bool", 8: "unsigned char", 16: "unsigned short", 32: "unsigned", 64: "unsigned long long"}
_INT_SUFFIX = {32: ("", "u"), 64: ("LL", "ull")}


@dataclass(frozen=True, slots=True)
class CExpr:
    """A C expression: its text, how tightly its outermost operator binds, and what it depends on."""

    text: str
    precedence: int = ATOM
    reads: frozenset[SSAValue] = field(default=frozenset())
    """Buffers it loads from: a store to one of them must come after its evaluation."""
    variables: frozenset[str] = field(default=frozenset())
    """Names of C variables that are assigned again later (loop-carried values)."""
    wrapped: tuple[str, int] | None = None
    """The same bits as an unsigned expression (text and precedence), for arithmetic that wraps around."""
    is_literal: bool = False
    is_builtin: bool = False
    """Its C type is the `unsigned` of threadIdx and its like: cast before anything but + and *."""
    called: tuple[str, CExpr] | None = None
    """The function that it is a call of, and the one argument."""

    def at(self, precedence: int) -> str:
        """The text, in parentheses unless it binds at least as tightly as `precedence`."""
        return self.text if self.precedence >= precedence else f"({self.text})"


@dataclass(frozen=True)
class CTypes:
    """Maps types of the IR to C, for one width of `index`."""

    index_bits: int

    def bits(self, type: Attribute) -> int:
        """Width of an integer or index type."""
        return self.index_bits if isinstance(type, IndexType) else type.width.data  # pyright: ignore

    def scalar(self, type: Attribute, op: object = None) -> str:
        """The C type of an SSA scalar."""
        if isinstance(type, IndexType):
            return _SIGNED[self.index_bits]
        if isinstance(type, IntegerType) and type.width.data in _SIGNED:
            return _SIGNED[type.width.data]
        if isinstance(type, (Float32Type, Float16Type, BFloat16Type)):
            return "float"
        if isinstance(type, Float64Type):
            return "double"
        if isinstance(type, VectorType) and type.get_shape() == (2,) and is_short_float(type.element_type):
            return "unsigned"  # see pairs.py
        raise fail(op, f"CUDA C has no type for {type}", error=LoweringError)

    def unsigned(self, type: Attribute) -> str:
        """The unsigned C type of an integer's width."""
        return _UNSIGNED[self.bits(type)]

    def memory(self, type: Attribute, op: object = None) -> str:
        """The C type of a buffer's elements."""
        return "unsigned short" if is_short_float(type) else self.scalar(type, op)

    def integer(self, value: int, type: Attribute) -> CExpr:
        """An exact integer literal, with its unsigned spelling beside it."""
        bits = self.bits(type)
        if bits == 1:
            return CExpr("true" if value else "false", is_literal=True)
        signed_suffix, unsigned_suffix = _INT_SUFFIX.get(bits, ("", "u"))
        if isinstance(type, IndexType) and -(2**31) < value < 2**31:
            signed_suffix = ""
        wrapped = (f"{value % 2**bits}{unsigned_suffix}", ATOM)
        if value == -(2 ** (bits - 1)) and bits >= 32:  # C has no negative literals: -2147483648 is a long
            return CExpr(f"-{-value - 1}{signed_suffix} - 1", ADD, wrapped=wrapped, is_literal=True)
        text = f"{value}{signed_suffix}"
        return CExpr(text, UNARY if value < 0 else ATOM, wrapped=wrapped, is_literal=True)

    def floating(self, value: float, type: Attribute) -> CExpr:
        """The shortest literal that reads back as exactly this value; infinities and NaN by their bits."""
        double = isinstance(type, Float64Type)
        value = _rounded_to(type, value)
        if not math.isfinite(value):
            return CExpr(_float_from_bits(value, double), is_literal=True)
        text = repr(float(value)) if double else str(np.float32(value))
        text = re.sub(r"e([+-])0*", lambda m: "e" + m[1].replace("+", ""), text)
        if "." not in text and "e" not in text:
            text += ".0"
        text += "" if double else "f"
        return CExpr(text, UNARY if text.startswith("-") else ATOM, is_literal=True)


def _rounded_to(type: Attribute, value: float) -> float:
    """The nearest value of a 16-bit float type (ties to even); the value itself for the others."""
    if isinstance(type, Float16Type):
        with np.errstate(over="ignore"):
            return float(np.float16(value))
    if not isinstance(type, BFloat16Type) or not math.isfinite(value):
        return value
    bits = int(np.float32(value).view(np.uint32))
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return float(np.uint32(bits).view(np.float32))


def _float_from_bits(value: float, double: bool) -> str:
    if double:
        return f"__longlong_as_double(0x{int(np.float64(value).view(np.uint64)):016x}LL)"
    return f"__int_as_float(0x{int(np.float32(value).view(np.uint32)):08x})"


def is_short_float(type: Attribute) -> bool:
    """Whether values of this type are computed in `float` and stored in 16 bits."""
    return isinstance(type, (Float16Type, BFloat16Type))


def short_float_bits(type: Attribute, value: float) -> int:
    """The bits of a number in a 16-bit float type, rounded to nearest even.

    >>> [hex(short_float_bits(t, 1.5)) for t in (Float16Type(), BFloat16Type())]
    ['0x3e00', '0x3fc0']
    """
    with np.errstate(over="ignore"):
        if isinstance(type, Float16Type):
            return int(np.float16(value).view(np.uint16))
        bits = int(np.float32(value).view(np.uint32))
    if math.isnan(value):
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr
const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern false
float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq
private protected public register reinterpret_cast return short signed sizeof static static_assert
static_cast struct switch template this thread_local throw true try typedef typeid typename typeof union
unsigned using virtual void volatile wchar_t while xor xor_eq
threadIdx blockIdx blockDim gridDim warpSize dim3 uint3 err linux unix NULL NAN INFINITY M_PI M_E
abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf exp exp2 expm1 fabs floor fma fmax
fmin fmod isnan log log10 log1p log2 max min pow rint round sin sinh sqrt tan tanh trunc
"""
RESERVED = frozenset(_WORDS.split())
"""Words that may not become names: C++ keywords, CUDA's built-in names, and the functions kernels call."""

_FUNCTIONS = """
gamma lgamma tgamma hypot norm norm3d norm4d rnorm rhypot rsqrt rcbrt erfc erfinv erfcinv normcdf sinpi cospi
sincos sincospi isinf isfinite signbit remainder remquo ldexp frexp modf scalbn logb ilogb fdim nearbyint
lrint llrint lround llround nan nextafter j0 j1 jn y0 y1 yn exp10 atof malloc free memcpy memset printf assert
clock main exit abort time index labs llabs div ldiv mul24
"""
LIBRARY_NAMES = frozenset(_FUNCTIONS.split())
"""Functions that CUDA or the C library declares: a kernel (not a variable) of that name would clash."""


class Names:
    """Unique C identifiers in nested scopes: a name may be used again once its scope is closed."""

    def __init__(self) -> None:
        self._scopes: list[set[str]] = [set()]

    def open(self) -> None:
        """Enter a `{ ... }` block."""
        self._scopes.append(set())

    def close(self) -> None:
        """Leave it: its names are free again."""
        self._scopes.pop()

    def fresh(self, hint: str, outermost: bool = False) -> str:
        """An identifier like `hint` that no open scope uses (`outermost`: declared with the parameters)."""
        base = re.sub(r"\W", "_", hint, flags=re.ASCII)
        if base[0].isdigit():
            base = f"v{base}"
        if base in RESERVED or base.startswith(("nt_", "__")):
            base = f"{base.lstrip('_')}_"
        name, number = base, 0
        while not self.is_free(name):
            number += 1
            name = f"{base}_{number}"
        self._scopes[0 if outermost else -1].add(name)
        return name

    def is_free(self, name: str) -> bool:
        """Whether no open scope uses a name."""
        return not any(name in scope for scope in self._scopes)
