"""How the accesses of a loop move through memory from one iteration to the next.

nest.for "j" %j = 0 to %m {
  %a = nest.load %x[%i, %j]     unit       neighbouring lanes, neighbouring elements
  %b = nest.load %y[%j, %i]     scattered  one axis, other steps: a gather
  %c = nest.load %s[%i]         invariant  all lanes, one element
  %d = nest.load %z[%j, %j]     several    moves along several axes: no vector form under a mask
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....dialects.affine import AffineList, dims_of, linear_terms
from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from ..buffers import strides_of

UNIT, SCATTERED, INVARIANT, SEVERAL = "unit", "scattered", "invariant", "several"


def access_patterns(loop: ForOp) -> Counter[tuple[str, bool]]:
    """How often the accesses in `loop` are `(pattern, writes)` as its variable grows."""
    varying = varying_values(loop)
    found: Counter[tuple[str, bool]] = Counter()
    for op, buffer in buffer_accesses(loop):
        pattern = pattern_of(op.indices, buffer, loop, varying)
        found[pattern, not isinstance(op, LoadOp)] += 1
    return found


def pairs_read(loop: ForOp) -> int:
    """How many loads take one element of each row as `loop` goes on, of rows of two that lie side by side.

    Whole vectors of such rows can be loaded: the parts of complex numbers.
    """
    varying = varying_values(loop)
    found = 0
    for op, buffer in buffer_accesses(loop):
        if not isinstance(op, LoadOp) or not isinstance(buffer.type, MemRefType):
            continue
        moving = [k for k in range(len(op.indices)) if set(op.indices[k].operands) & varying]
        if len(moving) != 1 or moving[0] == len(op.indices) - 1:
            continue
        growth, strides = growth_of(op.indices[moving[0]], loop.iv, varying), strides_of(buffer.type)
        step = strides[moving[0]]
        if growth is not None and step is not None and strides[-1] == 1:
            found += growth * loop.step_value * step == 2
    return found


def buffer_accesses(op: Operation) -> Iterator[tuple[LoadOp | StoreOp | AccumulateOp, SSAValue]]:
    """Every access at or below `op`, and the buffer."""
    for inner in op.walk():
        if isinstance(inner, (LoadOp, StoreOp)):
            yield inner, inner.memref
        elif isinstance(inner, AccumulateOp):
            for buffer in inner.memrefs:
                yield inner, buffer


def pattern_of(indices: AffineList, buffer: SSAValue, loop: ForOp, varying: set[SSAValue]) -> str:
    """How an access moves through `buffer` from one iteration to the next; `varying` are all values that change."""
    moving = [k for k in range(len(indices)) if any(value in varying for value in indices[k].operands)]
    if not moving:
        return INVARIANT
    if len(moving) > 1:
        return SEVERAL
    axis = moving[0]
    growth = growth_of(indices[axis], loop.iv, varying)
    is_unit = growth is not None and growth * loop.step_value == 1 and _stride(buffer, axis) == 1
    return UNIT if is_unit else SCATTERED


def growth_of(index: AffineList, iv: SSAValue, varying: set[SSAValue]) -> int | None:
    """By how much `index` grows with `iv`, None when that is not a constant."""
    terms, _ = linear_terms(index.exprs[0])
    step = 0
    for atom, factor in terms.items():
        values = {index.operands[k] for k in dims_of(atom)}
        if not values & varying:
            continue
        if not isinstance(atom, AffineDimExpr) or iv not in values:
            return None
        step = factor
    return step


def _stride(buffer: SSAValue, axis: int) -> int | None:
    """Elements from one index of `axis` to the next, None when only the run time knows."""
    assert isinstance(buffer.type, MemRefType)
    layout, shape = buffer.type.layout, buffer.type.get_shape()
    if isinstance(layout, NoneAttr):
        return 1 if all(extent == 1 for extent in shape[axis + 1 :]) else None
    if isinstance(layout, StridedLayoutAttr):
        stride = layout.strides.data[axis]
        return None if isinstance(stride, NoneAttr) else stride.data
    return None


def varying_values(loop: ForOp) -> set[SSAValue]:
    """The loop's variable and what is computed from it in the loop."""
    varying: set[SSAValue] = {loop.iv}
    for op in loop.body.walk():
        if any(operand in varying for operand in op.operands):
            varying.update(op.results)
    return varying
