"""What kinds of nests a strategy of the user's can take, and what the loops and buffers of such a nest are called.

    schedule.sequence @mine takes "product" {
      %row = schedule.match loops role "row"
      ...

A kind is a row of `KINDS`: its recogniser gives the loops and buffers by role, None for a nest of another kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...analysis.nest.loop_structure import enclosing_loops, is_inside, loops_in, perfect_band
from ...analysis.nest.sets.access_patterns import INVARIANT
from ...analysis.nest.sets.accesses import is_defined_outside
from ...analysis.nest.sets.dependence import Dependences
from ...dialects.nest import AccumulateOp, AllocOp, ForOp, StoreOp
from ..nest.mapping.parallel import why_not_parallel
from ..schedulers.cpu.reductions import column_sums_in
from ..schedulers.patterns.products import sum_of_products_in
from ..schedulers.patterns.tiles import pattern_in

Roles = dict[str, list[Any]]
"""Loops and buffers of a nest, by what they are in it."""


class Kind(NamedTuple):
    """A kind of nests."""

    name: str
    what: str
    roles: tuple[str, ...]
    recognise: Callable[[ForOp], Roles | None]


def _loops(nest: ForOp) -> Roles:
    band = perfect_band(nest)
    return {"loops": list(band), "outer": [band[0]], "inner": [band[-1]]}


def _elementwise(nest: ForOp) -> Roles | None:
    band = perfect_band(nest)
    if len(list(loops_in(nest))) != len(band) or any(
        isinstance(op, AccumulateOp | AllocOp) for op in nest.walk()
    ):
        return None
    dependences = Dependences(nest)
    if any(why_not_parallel(loop, dependences) is not None for loop in band):
        return None
    stores = [op for op in nest.walk() if isinstance(op, StoreOp)]
    return {**_loops(nest), "results": list(dict.fromkeys(op.memref for op in stores))}


def _reduction(nest: ForOp) -> Roles | None:
    sums = [op for op in nest.walk() if isinstance(op, AccumulateOp)]
    if len(sums) != 1 or len(sums[0].memrefs) != 1:
        return None
    around = [loop for loop in enclosing_loops(sums[0]) if loop is nest or is_inside(loop, nest)]
    if set(around) != set(loops_in(nest)):
        return None
    around.sort(key=lambda loop: len(list(enclosing_loops(loop))))
    result = sums[0].memrefs[0]
    kept = [
        loop
        for loop in around
        if not is_defined_outside(result, loop) or pattern_in(sums[0], result, loop) != INVARIANT
    ]
    reduced = [loop for loop in around if loop not in kept]
    return {**_loops(nest), "kept": kept, "reduced": reduced, "result": [result]} if reduced else None


def _column_sums(nest: ForOp) -> Roles | None:
    band = perfect_band(nest)
    found = column_sums_in(band)
    if found is None:
        return None
    row, column = found
    results = [op.memrefs[0] for op in column.body.block.ops if isinstance(op, AccumulateOp)]
    return {**_loops(nest), "row": [row], "column": [column], "result": list(dict.fromkeys(results))}


def _product(nest: ForOp) -> Roles | None:
    found = sum_of_products_in(perfect_band(nest))
    if found is None:
        return None
    return {
        **_loops(nest),
        "batch": found.batch,
        "row": [found.row],
        "column": [found.column],
        "term": [found.term],
        "result": [found.result],
        "left": found.row_panels,
        "right": found.panels,
    }


BAND = ("loops", "outer", "inner")
"""Roles in every nest: the loops that are perfectly nested, the outermost one, the innermost one of these."""

KINDS = {
    kind.name: kind
    for kind in (
        Kind("loops", "any nest", BAND, _loops),
        Kind(
            "elementwise",
            "perfectly nested independent loops that store, and reduce nothing",
            (*BAND, "results"),
            _elementwise,
        ),
        Kind(
            "reduction",
            "loops in each other around one reduction, which some of them carry",
            (*BAND, "kept", "reduced", "result"),
            _reduction,
        ),
        Kind(
            "column sums",
            "reductions down the rows of what has its columns side by side",
            (*BAND, "row", "column", "result"),
            _column_sums,
        ),
        Kind(
            "product",
            "sums over one loop of what moves with rows and what moves with columns",
            (*BAND, "batch", "row", "column", "term", "result", "left", "right"),
            _product,
        ),
    )
}
"""The kinds by name."""
