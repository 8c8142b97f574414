"""Extents that must be equal, or that broadcast: proved, guarded, or compared when the program runs.

    a[::2] + c[::2]        where n and m are unknown: a guard of the program, (n + 1) // 2 == (m + 1) // 2
    a[i:i + 3] + c[:k]     in a loop: %ok = min(...) == min(...), cf.assert %ok {nestor.kind = "ValueError"}

Extents that the arguments decide are never 1 here, unless they are known to be: a program is compiled for that. One that
only the run knows may be 1, and then goes with any other: elements are read by `own_index`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import StringAttr, f64
from xdsl.ir import SSAValue

from ...dialects.attributes import KIND
from ..interface.errors import Respecialise, UnsupportedError
from .extents import Affine, Atom, greatest, is_never_negative
from .graph import Graph
from .values import Extents

BROADCASTING = "operands could not be broadcast together"


def require_equal(graph: Graph, a: Affine, b: Affine, why: str, kind: str = "ValueError") -> bool:
    """Whether two extents are equal; where only the run knows, a check that raises `kind`. `why`: whose rule it is."""
    if graph.assumptions.equal(a, b, why):
        return True
    if graph.assumptions.differ(a, b) or not is_open(graph, a - b):
        return False
    _check(graph, _is_same(graph, a, b), f"{why}: extents differ", kind)
    return True


def run_extent(graph: Graph, size: Affine) -> Affine:
    """An integer that only the run knows as an extent: a negative one is ValueError there."""
    if is_never_negative(size):
        return size
    emitter = graph.emitter()
    holds = emitter.cmp("sge", graph.index(size), graph.constant_index(0))
    _check(graph, holds, "negative dimensions are not allowed")
    return graph.larger(size, Affine(0))


def require_size(graph: Graph, extents: Extents, itemsize: int) -> None:
    """A check of the run that an array of a shape that only it knows can be addressed."""
    unknown = [e for e in extents if not graph.assumptions.normal(e).is_of_extents()]
    if not unknown or (len(extents) == 1 and greatest(unknown[0]).is_of_extents()):
        return
    emitter = graph.emitter()
    size = emitter.op(arith.MulfOp, (emitter.const(float(itemsize), f64), _size(graph, extents)))
    holds = emitter.cmp("olt", size, emitter.const(float(1 << 62), f64))
    text = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."
    _check(graph, holds, text)


def _size(graph: Graph, extents: Extents) -> SSAValue:
    """How many elements a shape has, as a float, which has no largest number."""
    emitter = graph.emitter()
    size = emitter.const(1.0, f64)
    for extent in extents:
        number = emitter.op(arith.SIToFPOp, (graph.integer(extent),), f64)
        size = emitter.op(arith.MulfOp, (size, number))
    return size


def require_same_size(graph: Graph, one: Extents, other: Extents, text: str) -> None:
    """A check of the run that two shapes have as many elements: ValueError with this text.

    Sizes are compared as floats: a product of extents that exceeds 64 bits is not the size of an array in memory,
    and arrays that there are have fewer than 2**53 elements, which floats hold exactly.
    """
    emitter = graph.emitter()
    _check(graph, emitter.cmp("oeq", _size(graph, one), _size(graph, other)), text)


def require(graph: Graph, holds: SSAValue, text: str) -> None:
    """A check of the run: ValueError with this text."""
    _check(graph, holds, text)


def require_positive(graph: Graph, extent: Affine, text: str) -> None:
    """A check of the run that there is an element: ValueError with this text."""
    emitter = graph.emitter()
    _check(graph, emitter.cmp("sgt", graph.index(extent), graph.constant_index(0)), text)


def is_open(graph: Graph, difference: Affine) -> bool:
    """Whether only the run knows an integer: loop variables or bounds that are clipped decide it."""
    return not graph.assumptions.normal(difference).is_of_extents()


def joined(graph: Graph, a: Affine, b: Affine, has_ones: bool) -> Affine | None:
    """The extent of two operands broadcast together along an axis, None where they do not fit.

    `has_ones`: one that turns out to be 1 goes with any other; else such are refused.
    """
    if graph.assumptions.equal(a, b, "broadcasting"):
        return b if b.known is not None else a
    a_may, b_may = may_be_one(graph, a), may_be_one(graph, b)
    if not is_open(graph, a - b) or (graph.assumptions.differ(a, b) and not a_may and not b_may):
        return None
    if not has_ones and (a_may or b_may):
        raise graph.error(
            UnsupportedError,
            "extents that broadcast here may be 1, which is known at run time only",
            "write the loops over the elements, or slice so that the extents are the same",
        )
    fits = _is_same(graph, a, b)
    for extent, may in ((a, a_may), (b, b_may)):
        if may:
            fits = graph.emitter().op(arith.OrIOp, (fits, _is_same(graph, extent, Affine(1))))
    _check(graph, fits, BROADCASTING)
    if not a_may:
        return a
    if not b_may:
        return b
    other = graph.emitter().select(_is_same(graph, a, Affine(1)), graph.index(b), graph.index(a))
    lows = [low for low in (a.least().lower_bound(), b.least().lower_bound()) if low is not None]
    return Affine.of(Atom(other, low=min(lows) if len(lows) == 2 else 0))


def require_assignable(graph: Graph, wanted: Affine, given: Affine, why: str, text: str) -> bool:
    """Whether an axis of a value fits that of its target: the same, or 1."""
    if given.known == 1 or graph.assumptions.equal(wanted, given, why):
        return True
    may = may_be_one(graph, given)
    if not is_open(graph, wanted - given) or (graph.assumptions.differ(wanted, given) and not may):
        return False
    fits = _is_same(graph, wanted, given)
    if may:
        fits = graph.emitter().op(arith.OrIOp, (fits, _is_same(graph, given, Affine(1))))
    _check(graph, fits, text)
    return True


def may_be_one(graph: Graph, extent: Affine) -> bool:
    """Whether an extent may be 1 in a run of the program."""
    normal = graph.assumptions.normal(extent)
    if normal.known is not None:
        return normal.known == 1
    if normal.is_of_extents():
        if graph.assumptions.nonnegative(extent + -2, "extents 0 and 1 are compiled for"):
            return False
        raise Respecialise(shapes=True, why="an extent of 0 or 1 that is computed from others")
    low = extent.least().lower_bound()
    return low is None or low < 2


def may_repeat(graph: Graph, own: Extents, shape: Extents) -> bool:
    """Whether an operand of extents `own` is repeated along an axis of `shape`, which only the run knows."""
    pairs = zip(reversed(own), reversed(shape), strict=False)
    return any(e.known is None and not e.equals(s) and _may_become_one(graph, e, s) for e, s in pairs)


def _may_become_one(graph: Graph, own: Affine, extent: Affine) -> bool:
    normal = graph.assumptions.normal
    return not normal(own).is_of_extents() and normal(own - extent).known != 0 and may_be_one(graph, own)


def own_index(graph: Graph, own: Extents, shape: Extents, indices: Sequence[Affine]) -> list[Affine]:
    """The index into an operand of extents `own`, which was broadcast to `shape`, for an index into that."""
    return [_own(graph, e, s, i) for e, s, i in zip(own, shape, indices, strict=True)]


def _own(graph: Graph, own: Affine, extent: Affine, index: Affine) -> Affine:
    if own.known == 1:
        return Affine(0)
    if graph.assumptions.normal(own - extent).known == 0 or not may_be_one(graph, own):
        return index
    one = _is_same(graph, own, Affine(1))
    value = graph.emitter().select(one, graph.constant_index(0), graph.index(index))
    return Affine.of(Atom(value, low=0, high=own + -1))


def _is_same(graph: Graph, a: Affine, b: Affine) -> SSAValue:
    return graph.emitter().cmp("eq", graph.index(a), graph.index(b))


def _check(graph: Graph, holds: SSAValue, text: str, kind: str = "ValueError") -> None:
    graph.insert(
        cf.AssertOp.create(
            operands=(holds,),
            properties={"msg": StringAttr(text)},
            attributes={KIND: StringAttr(kind)},
        )
    )
    graph.may_stop = True
    if graph.island is not None:
        graph.island.keeps()
