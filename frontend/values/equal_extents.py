"""Extents that must be equal, or that broadcast: proved, guarded, or compared when the program runs.

    a[::2] + c[::2]        where n and m are unknown: a guard of the program, (n + 1) // 2 == (m + 1) // 2
    a[i:i + 3] + c[:k]     in a loop: %ok = min(...) == min(...), cf.assert %ok {nestor.kind = "ValueError"}

Extents that the arguments decide are never 1 here, unless they are known to be: a program is compiled for that. One that
only the run knows may be 1, and then goes with any other: elements are read by `own_index`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from ...dialects.attributes import KIND
from ..interface.errors import Respecialise, UnsupportedError
from .extents import Affine, Atom
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
    if extent.known is not None:
        return extent.known == 1
    if graph.assumptions.normal(extent).is_of_extents():
        if graph.assumptions.nonnegative(extent + -2, "extents 0 and 1 are compiled for"):
            return False
        raise Respecialise(shapes=True, why="an extent of 0 or 1 that is computed from others")
    low = extent.least().lower_bound()
    return low is None or low < 2


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
