"""Contractions as products of matrices (part of nest-schedule-cuda): rows, columns and terms are made one loop each.

    nest.for "b" ... nest.for "i" ... nest.for "j" ... nest.for "k" ...
      nest.for "u" ... nest.for "v" ... nest.for "c" ...
        nest.accumulate "t" add %s, %t[%b, %i, %j, %k]        // of %x[%b, %i + %u, %j + %v, %c] and %w[%u, %v, %c, %k]
  becomes
    nest.for "b_i_j" %p ... nest.for "k" ... nest.for "u_v_c" %t ...
      nest.accumulate "t" add %s, %t[%p, %k]                  // of %x[%p floordiv 196, ...] and %w_flat[%t, %k]

with the nests that set and use the sums. A temporary result is given such axes (nest-transform-layout); of a result that is
an argument there is a view, where rows, and columns, lie side by side in it. Tensor cores have tiles of their own for them
(matrix_convolutions.py). Threads have those of products.py, which may share out the terms among blocks: for convolutions in
groups, say, whose image and weights both move along the groups, and for which convolutions.py has no tile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType

from ....analysis.machine import Gpu
from ....analysis.nest.loop_structure import enclosing_loops
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp
from ....dialects.remarks import listening, remark
from ...nest.loops.flatten import flatten
from ...nest.loops.reorder import reorder
from ...nest.memory.transform_layout import transform_layout
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from ..patterns.contractions import Contraction, contraction_in
from ..patterns.tiles import axes_of
from .products import DEPTH, schedule_product
from .sum_tiles import SumTile, loops_over, make_perfect, neighbours_of, parts


@dataclass(frozen=True, eq=False)
class FlatProduct:
    """A contraction as a product: one loop over rows, or two over the pixels of an image of unknown extents."""

    sums: AccumulateOp
    batch: list[ForOp]
    rows: list[ForOp]
    column: ForOp
    terms: list[ForOp]
    depth: int | None
    """How many of the last loop's terms are a step; None where that loop is one."""


InSteps = Callable[[Contraction, Sequence[ForOp], Steps], tuple[list[ForOp], int | None]]
"""Moves the loops over terms inside of the others given: those loops, and the depth of a step."""


def as_product(nest: ForOp, in_steps: InSteps, steps: Steps, with_uses: bool) -> FlatProduct:
    """Make a product of a contraction, and of the nests around it. Raises what a step refuses."""
    found = contraction_in(nest)
    assert found is not None
    loops = [*found.batch, *found.rows, *found.columns]
    whole = SumTile(found.sums, [], [(loop, parts("x1")) for loop in loops], found.terms, 1)
    start, uses = neighbours_of(whole)
    others = [*([] if start is None else [start]), *(uses if with_uses else [])]
    over = [loops_over(other, whole) or [] for other in others]
    is_flat = _are_known(found.rows[1:])
    groups = [found.rows if is_flat else [], found.columns]
    _flatten_result(found, groups, steps)
    terms, depth = in_steps(found, loops, steps)
    terms = _flattened_terms(terms, depth, steps)
    for own in over:
        _flatten_groups(own, loops, groups, steps)
    *outer, column = _flatten_groups(loops, loops, groups, steps)
    if axes_of(found.sums.indices) is None:
        raise fail(nest_of(found.sums), "rows, or columns, do not lie side by side in the result")
    count = 1 if is_flat else 2
    return FlatProduct(found.sums, outer[:-count], outer[-count:], column, terms, depth)


def nest_of(sums: AccumulateOp) -> ForOp:
    """The outermost loop of the nest of a sum."""
    return enclosing_loops(sums)[0]


def _are_known(loops: Sequence[ForOp]) -> bool:
    return all(extent_of(loop) is not None for loop in loops)


def _flatten_groups(
    loops: Sequence[ForOp], of_sum: Sequence[ForOp], groups: Sequence[Sequence[ForOp]], steps: Steps
) -> list[ForOp]:
    """The loops of a nest that are those of the sum, in its order, and of each group one loop."""
    if loops is not of_sum:
        steps.do(reorder, loops)
    done: list[ForOp] = []
    at = 0
    while at < len(loops):
        size = next((len(group) for group in groups if group and group[0] is of_sum[at]), 1)
        done += _flattened(loops[at : at + size], steps)
        at += size
    return done


def _flattened_terms(terms: Sequence[ForOp], depth: int | None, steps: Steps) -> list[ForOp]:
    """The loops over terms as one, the one with what a step has inside of it; as they are where extents are not known."""
    outer, inner = (list(terms[:-1]), list(terms[-1:])) if depth is None else (list(terms), [])
    return [*(_flattened(outer, steps) if _are_known(outer[1:]) else outer), *inner]


def _flattened(loops: Sequence[ForOp], steps: Steps) -> list[ForOp]:
    """Loops around each other as one."""
    left = list(loops)
    while len(left) > 1:
        left[-2:] = [steps.do(flatten, left[-2], left[-1])]
    return left


def _flatten_result(found: Contraction, groups: Sequence[Sequence[ForOp]], steps: Steps) -> None:
    """A temporary result has an axis for each group of loops: what uses it then reads it so, too."""
    result = found.sums.memrefs[0]
    axes = axes_of(found.sums.indices)
    if not isinstance(result.owner, AllocOp) or axes is None or all(len(group) < 2 for group in groups):
        return
    assert isinstance(result.type, MemRefType)
    shape = result.type.get_shape()
    entries = [f"d{k}" for k, variable in enumerate(axes) if variable is None]
    grouped = [loop for group in groups for loop in group]
    alone = [[loop] for loop in (*found.batch, *found.rows, *found.columns) if loop not in grouped]
    for group in (*alone, *filter(None, groups)):
        places = [axes.index(loop.iv) for loop in group]
        if DYNAMIC_INDEX in [shape[k] for k in places[1:]]:
            raise fail(nest_of(found.sums), "an extent is not known that indices are divided by")
        entries.append(
            "+".join(f"{prod(shape[j] for j in places[n + 1 :])}*d{k}" for n, k in enumerate(places))
        )
    names = " ".join(f"d{k}" for k in range(len(shape)))
    steps.do(transform_layout, result.owner, layout=f"{names} -> {' '.join(entries)}")


# ---- by threads -------------------------------------------------------------------------------------


def schedule_contraction(nest: ForOp, gpu: Gpu, steps: Steps) -> bool:
    """Tile a contraction as a product; False, and nothing changed, where it is none or a step is refused."""
    if contraction_in(nest) is None:
        return False
    make_perfect(nest, steps)
    refusal: NestorError | None = None
    for with_uses in (True, False):
        try:
            with listening(lambda _: None):
                trial(lambda copy, uses=with_uses: _tile(copy, gpu, UNRECORDED, uses), nest)
        except NestorError as error:
            refusal = refusal or error
            continue
        _tile(nest, gpu, steps, with_uses)
        return True
    assert refusal is not None
    remark(nest, f'the sum "{nest.label}" is not computed in tiles: {refusal.diagnostic.message}')
    return False


def _tile(nest: ForOp, gpu: Gpu, steps: Steps, with_uses: bool) -> None:
    """Make a product of a contraction, and tile that. Raises what is refused."""
    flat = as_product(nest, _in_steps, steps, with_uses)
    if not schedule_product(nest_of(flat.sums), gpu, steps):
        raise fail(nest_of(flat.sums), "as a product of matrices it is not done in tiles")


def _in_steps(found: Contraction, loops: Sequence[ForOp], steps: Steps) -> tuple[list[ForOp], int | None]:
    """All loops over terms are one."""
    steps.do(reorder, [*loops, *found.terms])
    return found.terms, DEPTH
