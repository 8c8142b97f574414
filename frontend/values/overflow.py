"""Python integers computed at run time that 64 bits do not hold: OverflowError, where Python would go on with a longer one.

    n * n          %r = arith.muli %n, %n        wraps around
                   %f = arith.mulf of both as floats: at most 2**-51 of it away from the true product
                   cf.assert |float(%r) - %f| < 2**63 {nestor.kind = "OverflowError"}
    n * 3          %r = arith.muli, cf.assert -2**63 / 3 <= n < 2**63 / 3, as one unsigned comparison
    n << s         %r = arith.shli, cf.assert %r >> s == n

A result that wrapped is a multiple of 2**64 away from the true one, which rounding is not. Checked is what may not fit by
the bounds of its operands, and is in no loop and no branch, or multiplies a variable that its loop carries. Other
arithmetic of loops, that of indices above all, stays free of checks; so do products of extents of one argument, which
NumPy makes no array of if they do not fit: a check would keep the sums on both sides of a mean apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import arith, cf
from xdsl.dialects import math as xdsl_math
from xdsl.dialects.builtin import StringAttr, f64, i64
from xdsl.ir import BlockArgument, SSAValue

from ...dialects.attributes import KIND
from ...dialects.nest import LoadOp
from ...dialects.nt import ELEMENTWISE
from ...dialects.nt.expand import Emitter
from ..interface.errors import RangeError
from .extents import Affine, Atom, Factors
from .graph import Graph
from .integer_ranges import bounds
from .tensors import to_scalar
from .values import Extents, Index, Scalar, Static, Tensor, Value

LARGEST_EXTENT = 1 << 48
"""Maximum extent: no memory holds more elements."""

_END = 1 << 63
_TEXT = "a Python integer does not fit in 64 bits, which compiled ones have"


def affine_integer(graph: Graph, affine: Affine) -> SSAValue:
    """An integer that is affine in extents and arguments as an i64, checked."""
    if _has_long_numbers(affine):
        raise graph.error(RangeError, "Python integers beyond 64 bits are not computed with in compiled code")
    value = graph.integer(affine)
    key = ("fits", affine)
    if not graph.is_straight or _fits(affine) or (graph.block, key) in graph.checked:
        return value
    graph.checked.add((graph.block, key))
    emitter = graph.emitter()
    exact = emitter.const(float(affine.constant), f64)
    for atom, coefficient in affine.terms:
        term = emitter.op(arith.SIToFPOp, (graph.integer(Affine.of(atom.root())),), f64)
        exact = emitter.op(
            arith.AddfOp, (exact, emitter.op(arith.MulfOp, (term, emitter.const(float(coefficient), f64))))
        )
    _check(graph, emitter, value, exact)
    return value


def check_arithmetic(graph: Graph, name: str, operands: Sequence[Value], result: Value) -> None:
    """Raise OverflowError at run time where the result of an operator on Python integers wrapped around."""
    exact = _EXACT.get(name)
    if exact is None or not isinstance(result, Tensor | Scalar):
        return
    if not graph.is_straight and (name not in _GROWING or not any(map(_is_carried, operands))):
        return
    if name == "multiply" and _counts_elements(graph, operands, result):
        return
    values = [_integer(graph, o) for o in operands]
    combine = _RANGES.get(name)
    if combine is not None:
        low, high = combine(*[bounds(v) for v in values])
        if low >= -_END and high < _END:
            return
    emitter = graph.emitter()
    if name == "left_shift":
        return _require(graph, _shifts_back(emitter, _integer(graph, result), *values))
    if name == "multiply":
        for factor, value in zip(operands, reversed(values), strict=True):
            if isinstance(factor, Static):
                return _require(graph, _is_multiplied(emitter, value, int(factor.value)))
    floats = [emitter.op(arith.SIToFPOp, (v,), f64) for v in values]
    _check(graph, emitter, _integer(graph, result), exact(emitter, *floats))


def _counts_elements(graph: Graph, operands: Sequence[Value], result: Tensor | Scalar) -> bool:
    """Whether a product is of axes of one argument, each at most once."""
    number, atoms = 1, Counter[Atom]()
    for operand in operands:
        factors = _factors(graph, operand)
        if factors is None:
            return False
        number *= factors.number
        atoms.update(factors.atoms)
    graph.products[result.ssa] = Factors(number, tuple(atoms.elements()))
    return any(_is_part(number, atoms, extents) for extents in graph.shapes)


def _factors(graph: Graph, value: Value) -> Factors | None:
    """The number and the extents that a value is the product of."""
    if isinstance(value, Tensor | Scalar):
        known = graph.products.get(value.ssa)
        return known and Factors(known.number, tuple([atom.root() for atom in known.atoms]))
    affine = value.affine if isinstance(value, Index) else None
    if affine is None or affine.constant or len(affine.terms) != 1:
        return None
    ((atom, number),) = affine.terms
    return Factors(number, (atom.root(),)) if number > 0 and atom.root().dim is not None else None


def _is_part(number: int, atoms: Counter[Atom], extents: Extents) -> bool:
    """Whether a product is at most that of the extents that are not 0."""
    single = [extent.terms[0][0].root() for extent in extents if extent.terms]
    known = prod(extent.constant for extent in extents if not extent.terms and extent.constant)
    return number <= known and atoms <= Counter(single)


def _is_carried(value: Value) -> bool:
    """Whether it is a variable that a loop carries from one iteration to the next."""
    if isinstance(value, Scalar):
        owner = value.ssa.owner
        return isinstance(owner, LoadOp) and not len(owner.indices)
    return isinstance(value, Tensor) and isinstance(value.ssa, BlockArgument)


def _integer(graph: Graph, value: Value) -> SSAValue:
    if isinstance(value, Static):
        return graph.emitter().const(int(value.value), i64)
    if isinstance(value, Index):
        return affine_integer(graph, value.affine)
    if isinstance(value, Scalar):
        return value.ssa
    assert isinstance(value, Tensor)
    return to_scalar(graph, value)


def _check(graph: Graph, emitter: Emitter, value: SSAValue, exact: SSAValue) -> None:
    off = emitter.op(arith.SubfOp, (emitter.op(arith.SIToFPOp, (value,), f64), exact))
    _require(graph, emitter.cmp("olt", emitter.op(xdsl_math.AbsFOp, (off,)), emitter.const(float(_END), f64)))


def _require(graph: Graph, holds: SSAValue) -> None:
    check = cf.AssertOp.create(
        operands=(holds,),
        properties={"msg": StringAttr(_TEXT)},
        attributes={KIND: StringAttr("OverflowError")},
    )
    graph.insert(check)
    graph.may_stop = True
    if graph.island is not None:
        graph.island.keeps()


# ---- what is known without a check ------------------------------------------------------------------


def _has_long_numbers(affine: Affine) -> bool:
    numbers = [affine.constant, *[c for _, c in affine.terms]]
    inner = [atom.root().key for atom, _ in affine.terms]
    return any(not -_END <= n < _END for n in numbers) or any(
        key is not None and (_has_long_numbers(key[1]) or key[2] >= _END) for key in inner
    )


def _fits(affine: Affine) -> bool:
    if not affine.constant and len(affine.terms) == 1 and affine.terms[0][1] == 1:
        key = affine.terms[0][0].root().key
        return key is None or _fits(key[1])
    return _magnitude(affine) < _END


def _magnitude(affine: Affine) -> int:
    """A number that its absolute value never exceeds."""
    total = abs(affine.constant)
    for atom, coefficient in affine.terms:
        atom = atom.root()
        most = LARGEST_EXTENT if atom.argument is None else _END
        if atom.key is not None:
            most = _magnitude(atom.key[1])
        total += abs(coefficient) * most
    return total


def _product(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


_RANGES: dict[str, Callable[..., tuple[int, int]]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "multiply": _product,
    "negative": lambda a: (-a[1], -a[0]),
    "absolute": lambda a: (0, max(-a[0], a[1])),
    "floor_divide": lambda a, b: (0, 0) if a[0] > -_END or b[0] >= 0 else (0, _END),
}


def _shifts_back(e: Emitter, shifted: SSAValue, a: SSAValue, by: SSAValue) -> SSAValue:
    """Whether no bit is lost: a shift by 64 and more gives 0, which is right for 0 alone."""
    most = e.const(63, i64)
    by = e.select(e.cmp("ult", by, most), by, most)
    return e.cmp("eq", e.op(arith.ShRSIOp, (shifted, by)), a)


def _is_multiplied(e: Emitter, value: SSAValue, factor: int) -> SSAValue:
    """Whether the product by a constant, which is not 0, fits: one comparison of unsigned numbers."""
    ends = (-_END, _END - 1) if factor > 0 else (_END - 1, -_END)
    low, high = max(-_END, -(-ends[0] // factor)), min(_END - 1, ends[1] // factor)
    span = high - low
    from_low = e.op(arith.SubiOp, (value, e.const(low, i64)))
    return e.cmp("ule", from_low, e.const(span if span < _END else span - 2 * _END, i64))


def _power(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return ELEMENTWISE["power"].expansions["f"](e, a, b)


_GROWING = frozenset({"multiply", "left_shift", "power"})
"""What soon leaves 64 bits where a loop repeats it."""

_EXACT: dict[str, Callable[..., SSAValue]] = {
    "add": lambda e, a, b: e.op(arith.AddfOp, (a, b)),
    "subtract": lambda e, a, b: e.op(arith.SubfOp, (a, b)),
    "multiply": lambda e, a, b: e.op(arith.MulfOp, (a, b)),
    "negative": lambda e, a: e.op(arith.NegfOp, (a,)),
    "absolute": lambda e, a: e.op(xdsl_math.AbsFOp, (a,)),
    "floor_divide": lambda e, a, b: e.op(arith.DivfOp, (a, b)),
    "left_shift": lambda e, a, b: a,
    "power": _power,
}
"""The result as a float, of floats, by the name of the ufunc; a shift is shifted back instead."""
