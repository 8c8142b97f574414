"""Programs on whole rows: what they are, for the schedules of cuda/row_programs.py.

nest.for "i" %i = 0 to %n {                              an iteration makes passes over neighbouring elements,
  nest.for "j" %j = 0 to %m { ... %x[%i, %j] ... }       each of independent iterations, or of ones that meet in
  nest.for "j.1" %j = 0 to %m { ... %y[%i, %j] ... }     reductions to one element
}
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ....analysis.nest.loop_structure import loops_in, may_fail, perfect_band
from ....analysis.nest.sets.access_patterns import SCATTERED, SEVERAL, UNIT, access_patterns, buffer_accesses
from ....analysis.nest.sets.accesses import is_defined_outside, root_of
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp

SHORTEST = 16
"""Elements of a row below which one thread computes it."""


@dataclass(frozen=True, eq=False)
class Pass:
    """A pass over the row: the loops of a perfect band, the innermost of which threads share out."""

    band: list[ForOp]

    @property
    def updates(self) -> list[AccumulateOp]:
        return [op for op in self.band[-1].body.block.ops if isinstance(op, AccumulateOp)]


# ---- what a program on rows is ----------------------------------------------------------------------


def is_row_program(row: ForOp) -> bool:
    """Whether an iteration of `row` makes passes over neighbouring elements, one of them a reduction."""
    if may_fail(row) is not None:
        return False
    for op in row.body.block.ops:
        is_plain = isinstance(op, ForOp | LoadOp | StoreOp | AccumulateOp | AllocOp)
        if not is_plain and (op.regions or not is_side_effect_free(op)):
            return False
    bands = bands_in(row)
    dependences = Dependences(row)
    if not all(_is_pass(Pass(band), row, dependences) for band in bands):
        return False
    if not any(Pass(band).updates for band in bands):
        return False
    length = length_of(bands)
    return length is None or length >= SHORTEST


def _is_pass(one: Pass, row: ForOp, dependences: Dependences) -> bool:
    """Whether the iterations of a pass are independent or meet in reductions only, and touch neighbouring elements."""
    inner = one.band[-1]
    if len(loops_in(one.band[0])) != len(one.band):
        return False
    for loop in one.band:
        if loop.kind != "serial" or loop.step_value != 1 or len(loop.lower) != 1 or len(loop.upper) != 1:
            return False
        if not all(is_defined_outside(v, row) for v in (*loop.lower_operands, *loop.upper_operands)):
            return False
        for dependence in dependences.carried_by(loop):
            if dependence.kind != "reduction" or not _is_total(dependence.source, one, row):
                return False
            if not _is_total(dependence.sink, one, row):
                return False
    patterns = access_patterns(inner)
    near = patterns[UNIT, False] + patterns[UNIT, True]
    far = sum(n for (pattern, _), n in patterns.items() if pattern in (SCATTERED, SEVERAL))
    return near > far


def _is_total(op: Operation, one: Pass, row: ForOp) -> bool:
    """Whether `op` is a reduction of the pass to one element."""
    if not isinstance(op, AccumulateOp) or op.parent_op() is not one.band[-1]:
        return False
    if op.order_name != "any" or op.where is not None or op.mask is not None:
        return False
    if op.combiner.data == "custom" and op.identity is None:
        return False
    return all(is_defined_outside(v, one.band[0]) for v in (*op.indices.operands, *op.memrefs))


def bands_in(row: ForOp) -> list[list[ForOp]]:
    return [perfect_band(op) for op in row.body.block.ops if isinstance(op, ForOp)]


def length_of(bands: list[list[ForOp]]) -> int | None:
    """The elements of the longest pass; None where one is not known."""
    lengths = [product_of([extent_of(loop) for loop in band]) for band in bands]
    return None if None in lengths else max(n for n in lengths if n is not None)


def product_of(extents: list[int | None]) -> int | None:
    return None if None in extents else prod(n for n in extents if n is not None)


def is_worth_keeping(buffer: SSAValue, row: ForOp) -> bool:
    """Whether a buffer has a row for each iteration, element %j of which is touched in several passes."""
    if isinstance(root_of(buffer).owner, AllocOp) and not is_defined_outside(buffer, row):
        return False
    found: set[Operation] = set()
    for op, other in buffer_accesses(row):
        if root_of(other) is not root_of(buffer):
            continue
        top = op
        while top.parent_op() is not row:
            parent = top.parent_op()
            assert parent is not None
            top = parent
        if other is not buffer or not isinstance(top, ForOp):
            return False
        band = perfect_band(top)
        variables = [loop.iv for loop in band]
        moving = [op.indices[k].single_value() for k in range(len(op.indices))]
        inside = [value for value in moving if value in variables]
        if inside != variables or any(
            v in variables
            for k, value in enumerate(moving)
            if value not in variables
            for v in op.indices[k].operands
        ):
            return False
        found.add(top)
    return len(found) > 1


def buffers_of(row: ForOp) -> list[SSAValue]:
    return list(dict.fromkeys(buffer for _, buffer in buffer_accesses(row)))
