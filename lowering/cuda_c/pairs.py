"""Pairs of 16-bit floats in CUDA C: two elements of a thread in one register, and the operations on both at a time.

%p = vector.load %w[%m, %c0] : memref<4x2xf16>, vector<2xf16>         w[m]                     an `unsigned`
%q = arith.mulf %p, %s : vector<2xf16>                                nt_mul_half2(w[m], s)
%a = vector.extract %q[0] : f16 from vector<2xf16>                    nt_low_half2(q)          a float, as all f16 are
%r = vector.from_elements %a, %b : vector<2xf16>                      nt_pack_half2(a, b)      rounded, where they are not
%t = arith.select %c, %q, %r                                          nt_select2(c0, c1, q, r) of two conditions
vector.store %r, %w[%m, %c0]                                          w[m] = ...

Such an array has pairs in all of its accesses. An operation on a pair is that on its elements, rounded as these are:
tensor cores take four pairs as a fragment (`vector.insert`, cuda_c/matrices.py). What the instructions need, sm_53 for
f16, sm_80 for the rest, other architectures and the simulator do one element after the other.
"""

from __future__ import annotations

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import Float16Type, MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.attributes import PAIRS
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext.vector import FromElementsOp
from .expressions import Printer, call
from .scope import Buffer, KernelScope
from .types import CExpr, is_short_float

_ARITHMETIC: dict[type[Operation], str] = {
    arith.AddfOp: "add",
    arith.SubfOp: "sub",
    arith.MulfOp: "mul",
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
}
"""What is done to both elements at a time."""


def is_pair(value: SSAValue) -> bool:
    """Whether a value is two 16-bit floats in a register: not a vector of them that is moved through memory."""
    type, owner = value.type, value.owner
    if isinstance(owner, vector.LoadOp) and not is_array_of_pairs(owner.base):
        return False
    return isinstance(type, VectorType) and type.get_shape() == (2,) and is_short_float(type.element_type)


def is_array_of_pairs(buffer: SSAValue) -> bool:
    """Whether a thread has a local array of pairs: nothing else is loaded from it or stored to it."""
    return isinstance(buffer.owner, memref.AllocaOp) and PAIRS in buffer.owner.attributes


class PairPrinter(KernelScope):
    """The statements on pairs, and their arrays."""

    def declare_pairs(self, op: memref.AllocaOp) -> None:
        """`unsigned w[4];`"""
        type = op.memref.type
        assert isinstance(type, MemRefType)
        name = self._names.fresh(op.memref.name_hint or "pairs")
        self._buffers[op.memref] = Buffer(name, type, None, as_float=False, no_alias=True)
        extents = "".join(f"[{extent}]" for extent in type.get_shape()[:-1])
        self._line(f"unsigned {name}{extents};")

    def _pair_at(self, buffer: SSAValue, indices: list[SSAValue]) -> CExpr:
        return self.place(buffer, indices[:-1])

    def load_pair(self, op: vector.LoadOp) -> None:
        self._define(op.result, self._pair_at(op.base, list(op.indices)))

    def store_pair(self, op: vector.StoreOp) -> None:
        value, place = self.value(op.vector), self._pair_at(op.base, list(op.indices))
        self._flush([op.base])
        self._comment(op)
        self._line(f"{place.text} = {value.text};")

    def store_inserted(self, op: memref.StoreOp) -> None:
        """A fragment of pairs: each goes to its register."""
        parts: dict[int, SSAValue] = {}
        value = op.value
        while isinstance(value.owner, vector.InsertOp):
            parts.setdefault(value.owner.static_position.get_values()[0], value.owner.source)
            value = value.owner.dest
        place = self.place(op.memref, list(op.indices))
        for register in sorted(parts):
            self._line(f"{place.text}[{register}] = {self.value(parts[register]).text};")

    def insert_part(self, op: vector.InsertOp) -> None:
        """It is written where the fragment is stored."""
        if not all(isinstance(use.operation, vector.InsertOp | memref.StoreOp) for use in op.result.uses):
            raise fail(op, "pairs are inserted in fragments that are stored", error=LoweringError)


def pair_of(p: Printer, op: Operation) -> CExpr:
    """The expression of an operation whose result is a pair."""
    pair = op.results[0].type
    assert isinstance(pair, VectorType)
    element = pair.element_type
    if isinstance(op, FromElementsOp):
        return call(p.helper(_name("pack", element)), *(_unrounded(p.value(v)) for v in op.operands))
    if isinstance(op, vector.BroadcastOp):
        value = p.value(op.source)
        return call(p.helper(_name("pack", element)), value, value)
    if isinstance(op, arith.SelectOp) and isinstance(op.cond.owner, FromElementsOp):
        conditions = [p.value(v) for v in op.cond.owner.operands]
        return call(p.helper("nt_select2"), *conditions, p.value(op.lhs), p.value(op.rhs))
    name = _ARITHMETIC.get(type(op))
    if name is None:
        raise fail(op, f"{op.name} of pairs has no CUDA C", error=LoweringError)
    return call(p.helper(_name(name, element)), *(p.value(v) for v in op.operands))


def element_of_pair(p: Printer, op: vector.ExtractOp) -> CExpr:
    """One of the two, as a float."""
    assert isinstance(op.vector.type, VectorType)
    (lane,) = op.static_position.get_values()
    return call(p.helper(_name(("low", "high")[lane], op.vector.type.element_type)), p.value(op.vector))


def _unrounded(expr: CExpr) -> CExpr:
    """What is rounded where it is packed."""
    function, argument = expr.called or ("", expr)
    return argument if function in ("nt_round_half", "nt_round_bf16") else expr


def _name(action: str, element: Attribute) -> str:
    return f"nt_{action}_{'half' if isinstance(element, Float16Type) else 'bf16'}2"


# ---- the functions ----------------------------------------------------------------------------------

_PACK = """\
static __device__ unsigned nt_pack_{name}2(float low, float high) {{  // to nearest, ties to even
#if __CUDA_ARCH__ >= 800
  unsigned pair;
  asm("cvt.rn.{type}x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return (unsigned)nt_float_to_{name}(high) << 16 | nt_float_to_{name}(low);
#endif
}}"""

_PART = """\
static __device__ float nt_{which}_half2(unsigned pair) {{
#ifdef __CUDACC__
  float value;
  asm("{{.reg .b16 low, high; mov.b32 {{low, high}}, %1; cvt.f32.f16 %0, {which};}}"
      : "=f"(value)
      : "r"(pair));
  return value;
#else
  return nt_half_to_float((unsigned short)(pair >> {shift}));
#endif
}}"""

_BOTH = """\
static __device__ unsigned nt_{action}_{name}2(unsigned a, unsigned b) {{
#if __CUDA_ARCH__ >= {arch}
  unsigned result;
  asm("{instruction};" : "=r"(result) : "r"(a), "r"(b){constant});
  return result;
#else
  return nt_pack_{name}2({low}, {high});
#endif
}}"""

_INFIX = {"add": "+", "sub": "-", "mul": "*"}


def _both(action: str, name: str, instruction: str, arch: int, constant: str = "") -> str:
    def of(which: str) -> str:
        a, b = (f"nt_{which}_{name}2({operand})" for operand in "ab")
        return f"{a} {_INFIX[action]} {b}" if action in _INFIX else f"nt_{action}({a}, {b})"

    return _BOTH.format(
        action=action,
        name=name,
        arch=arch,
        instruction=instruction,
        constant=f', "r"({constant})' if constant else "",
        low=of("low"),
        high=of("high"),
    )


HELPERS: dict[str, str] = {
    "nt_select2": """\
static __device__ unsigned nt_select2(bool low, bool high, unsigned a, unsigned b) {  // one of two, each half by itself
  const unsigned first = low ? a : (a & 0xffff0000u) | (b & 0xffffu);
  return high ? first : (first & 0xffffu) | (b & 0xffff0000u);
}""",
    "nt_pack_half2": _PACK.format(name="half", type="f16"),
    "nt_low_half2": _PART.format(which="low", shift=0),
    "nt_high_half2": _PART.format(which="high", shift=16),
    "nt_add_half2": _both("add", "half", "add.rn.f16x2 %0, %1, %2", 530),
    "nt_sub_half2": _both("sub", "half", "sub.rn.f16x2 %0, %1, %2", 530),
    "nt_mul_half2": _both("mul", "half", "mul.rn.f16x2 %0, %1, %2", 530),
    "nt_maximum_half2": _both("maximum", "half", "max.NaN.f16x2 %0, %1, %2", 800),
    "nt_minimum_half2": _both("minimum", "half", "min.NaN.f16x2 %0, %1, %2", 800),
    "nt_pack_bf162": _PACK.format(name="bf16", type="bf16"),
    "nt_low_bf162": """\
static __device__ float nt_low_bf162(unsigned pair) { return __int_as_float((int)(pair << 16)); }""",
    "nt_high_bf162": """\
static __device__ float nt_high_bf162(unsigned pair) { return __int_as_float((int)(pair & 0xffff0000u)); }""",
    # sm_80 has one operation on pairs of bf16, a fused multiply-add: a * 1 + b, b * -1 + a, a * b + -0
    "nt_add_bf162": _both("add", "bf16", "fma.rn.bf16x2 %0, %1, %3, %2", 800, "0x3f803f80u"),
    "nt_sub_bf162": _both("sub", "bf16", "fma.rn.bf16x2 %0, %2, %3, %1", 800, "0xbf80bf80u"),
    "nt_mul_bf162": _both("mul", "bf16", "fma.rn.bf16x2 %0, %1, %2, %3", 800, "0x80008000u"),
    "nt_maximum_bf162": _both("maximum", "bf16", "max.NaN.bf16x2 %0, %1, %2", 800),
    "nt_minimum_bf162": _both("minimum", "bf16", "min.NaN.bf16x2 %0, %1, %2", 800),
}
"""The functions by name; those that one calls are before it."""


def _needs(name: str) -> tuple[str, ...]:
    action, element = name.removeprefix("nt_").removesuffix("2").rsplit("_", 1)
    if action == "pack":
        return (f"nt_float_to_{element}",)
    if action in ("low", "high"):
        return ("nt_half_to_float",) if element == "half" else ()
    own = [f"nt_{part}_{element}2" for part in ("pack", "low", "high")]
    others = [f"nt_{action} float"] if action in ("maximum", "minimum") else []
    return (*own, *others, *(needed for part in own for needed in _needs(part)))


DEPENDS: dict[str, tuple[str, ...]] = {name: _needs(name) for name in HELPERS if name != "nt_select2"}
"""What the functions call, and what that calls."""
