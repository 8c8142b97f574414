"""Python integers that become elements: NumPy refuses one that the element type cannot hold.

    a[i] = n          %ok = ... -128 <= %n and %n < 128
    (a of int8)       cf.assert %ok, "Python integer {value} out of bounds for int8" {nestor.kind = "OverflowError"}

An integer known at compile time is judged there and then, one whose bounds are known needs no check, and what must
hold of extents is a guard. A check of arguments alone is before the loops and the operations without effects
around it, which keeps them free of checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.attributes import KIND
from ...dialects.nt.expand import Emitter
from ...lowering.abi.error_codes import VALUE
from ..interface.errors import RangeError, Respecialise
from .extents import Affine
from .graph import Graph
from .promotion import WEAK_DTYPES, fits
from .tensors import to_scalar
from .values import Index, Scalar, Static, Tensor, Value


def check_fits(graph: Graph, value: object, dtype: np.dtype) -> None:
    """Raise the OverflowError of NumPy for a Python integer that `dtype` cannot hold."""
    if not fits(value, dtype):
        raise graph.error(
            RangeError,
            f"Python integer {value} out of bounds for {dtype}",
            "a Python integer takes the type of the array: x.astype(np.int64), or np.int64(...) of the integer",
        )


def require_fit(graph: Graph, value: Value, dtype: np.dtype) -> None:
    """The same for any number: where it is a Python integer known at run time only, by a check."""
    if isinstance(value, Static):
        return check_fits(graph, value.value, dtype)
    if dtype.kind not in "iu" or dtype == WEAK_DTYPES[int]:
        return
    if isinstance(value, Index):
        return _require_affine(graph, value.affine, dtype)
    if not isinstance(value, Tensor | Scalar) or value.weak is not int:
        return
    if isinstance(value, Scalar):
        ssa = value.ssa
    else:
        if graph.island is not None:
            ssa = graph.island.scalar(value, WEAK_DTYPES[int])
        else:
            ssa = to_scalar(graph, value)
    low, high = bounds(ssa)
    info = np.iinfo(dtype)
    if low < info.min or high > info.max:
        _check_here(graph, ssa, dtype)


def _check_here(graph: Graph, value: SSAValue, dtype: np.dtype) -> None:
    graph.insert(_check(_within(graph.emitter(), value, dtype), dtype))


def is_within(graph: Graph, affine: Affine, dtype: np.dtype) -> bool:
    """Whether an integer is known to be one of `dtype`: by its bounds, or by a guard."""
    if dtype.kind not in "iu" or dtype == WEAK_DTYPES[int]:
        return True
    info, nonnegative, why = np.iinfo(dtype), graph.assumptions.nonnegative, "an integer fits"
    if not nonnegative(affine - int(info.min), why):
        return False
    return info.max >= np.iinfo(np.int64).max or nonnegative(-affine + int(info.max), why)


def _require_affine(graph: Graph, affine: Affine, dtype: np.dtype) -> None:
    if is_within(graph, affine, dtype):
        return
    if affine.is_of_extents():
        raise Respecialise(shapes=True, why=f"an extent must fit in {dtype}")
    if not all(atom.argument is not None or atom.dim is not None for atom in affine.atoms()):
        return _check_here(graph, graph.integer(affine), dtype)
    if graph.may_stop and graph.island is not None:
        return _check_here(graph, graph.integer(affine), dtype)  # what may stop before it comes first
    if graph.island is None:
        return _check_early(graph, affine, dtype)
    runs = graph.island.runs
    if any(turns is None for turns in runs):
        return _check_here(graph, graph.integer(affine), dtype)
    with graph.at_function_level():
        _check_early(graph, affine, dtype, [turns for turns in runs if turns is not None])


def _check_early(graph: Graph, affine: Affine, dtype: np.dtype, turns: Sequence[Affine] = ()) -> None:
    """A check before the operations without effects at the block's end; it holds where a loop has no iterations."""
    key = (affine, dtype, tuple(turns))
    if (graph.block, key) in graph.checked or (graph.entry, key) in graph.checked:
        return
    graph.checked.add((graph.block, key))
    block = Block()
    with graph.inside(block):
        emitter = graph.emitter()
        holds = _within(emitter, graph.integer(affine), dtype)
        for count in turns:
            none = emitter.cmp("sle", graph.integer(count), emitter.const(0, i64))
            holds = emitter.op(arith.OrIOp, (none, holds))
        graph.insert(_check(holds, dtype))
    graph.insert_early(block)


def _within(emitter: Emitter, value: SSAValue, dtype: np.dtype) -> SSAValue:
    """Whether a 64-bit integer has a value of `dtype`. The error record finds it by the last comparison."""
    info = np.iinfo(dtype)
    not_below = emitter.cmp("sge", value, emitter.const(info.min, i64))
    if info.max >= np.iinfo(np.int64).max:
        return not_below
    return emitter.op(arith.AndIOp, (not_below, emitter.cmp("slt", value, emitter.const(info.max + 1, i64))))


def _check(holds: SSAValue, dtype: np.dtype) -> Operation:
    return cf.AssertOp.create(
        operands=(holds,),
        properties={"msg": StringAttr(f"Python integer {VALUE} out of bounds for {dtype}")},
        attributes={KIND: StringAttr("OverflowError")},
    )


# ---- bounds -----------------------------------------------------------------------------------------

_Range = tuple[int, int]
_WIDE: _Range = (-(1 << 63), (1 << 63) - 1)


def bounds(value: SSAValue, depth: int = 8) -> _Range:
    """The least and the greatest value that an SSA integer can have, from how it is computed."""
    op = value.owner
    if not isinstance(op, Operation) or not isinstance(value.type, IntegerType) or depth == 0:
        return _WIDE
    handler = _BOUNDS.get(type(op))
    return _WIDE if handler is None else handler(op, depth - 1)


def _of_constant(op: Operation, depth: int) -> _Range:
    number = op.properties["value"]
    return (number.value.data, number.value.data) if isinstance(number, IntegerAttr) else _WIDE


def _of_sign_extension(op: Operation, depth: int) -> _Range:
    width = op.operands[0].type.width.data  # pyright: ignore
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


def _of_zero_extension(op: Operation, depth: int) -> _Range:
    return 0, (1 << op.operands[0].type.width.data) - 1  # pyright: ignore


def _of_pair(combine: Callable[[_Range, _Range], _Range]) -> Callable[[Operation, int], _Range]:
    def handler(op: Operation, depth: int) -> _Range:
        low, high = combine(*[bounds(operand, depth) for operand in op.operands[-2:]])
        return (low, high) if _WIDE[0] <= low and high <= _WIDE[1] else _WIDE

    return handler


def _of_select(op: Operation, depth: int) -> _Range:
    """One of two; the lesser or the greater of what it compares."""
    (a, b), test = op.operands[1:], op.operands[0].owner
    (low, high), (other_low, other_high) = bounds(a, depth), bounds(b, depth)
    if isinstance(test, arith.CmpiOp) and (order := test.predicate.value.data) in (2, 3, 4, 5):
        is_less = order in (2, 3)
        forward = _are_same(test.lhs, a) and _are_same(test.rhs, b)
        if forward or (_are_same(test.lhs, b) and _are_same(test.rhs, a)):
            least = forward == is_less
            return (
                (min(low, other_low), min(high, other_high))
                if least
                else (max(low, other_low), max(high, other_high))
            )
    return min(low, other_low), max(high, other_high)


def _are_same(a: SSAValue, b: SSAValue) -> bool:
    """Whether two values are one, or one constant."""
    one, other = a.owner, b.owner
    if isinstance(one, arith.ConstantOp) and isinstance(other, arith.ConstantOp):
        return one.value == other.value
    return a is b


def _product(a: _Range, b: _Range) -> _Range:
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def _masked(a: _Range, b: _Range) -> _Range:
    """`a & b`: between 0 and the one that is not negative."""
    highs = [high for low, high in (a, b) if low >= 0]
    return (0, min(highs)) if highs else _WIDE


_BOUNDS: dict[type[Operation], Callable[[Operation, int], _Range]] = {
    arith.ConstantOp: _of_constant,
    arith.ExtSIOp: _of_sign_extension,
    arith.ExtUIOp: _of_zero_extension,
    arith.SelectOp: _of_select,
    arith.AddiOp: _of_pair(lambda a, b: (a[0] + b[0], a[1] + b[1])),
    arith.SubiOp: _of_pair(lambda a, b: (a[0] - b[1], a[1] - b[0])),
    arith.MuliOp: _of_pair(_product),
    arith.AndIOp: _of_pair(_masked),
    arith.MinSIOp: _of_pair(lambda a, b: (min(a[0], b[0]), min(a[1], b[1]))),
    arith.MaxSIOp: _of_pair(lambda a, b: (max(a[0], b[0]), max(a[1], b[1]))),
}
