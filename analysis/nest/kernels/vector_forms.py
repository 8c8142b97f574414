"""What has no form for the lanes of a vector, and why: asked when a loop is marked, and when marked loops are lowered.

nest.for "i" %i = 0 to 8 vectorized(8) {
  nest.for "j" %j = 0 to %i {                  no_vector_form(i): the loop "j", since its bounds depend on "i"
    nest.store "y" %a, %y[%i, %j]
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.affine import AffineList
from ....dialects.nest import (
    AccumulateOp,
    AllocOp,
    ForOp,
    IndexOp,
    LoadOp,
    PrefetchOp,
    StoreOp,
    YieldOp,
)
from ..sets.domains import is_computation


@dataclass(frozen=True, eq=False)
class Obstacle:
    """An operation that lanes cannot run together."""

    op: Operation
    why: str
    hint: str | None = None


def no_vector_form(loop: ForOp, in_kernel: bool = False) -> Obstacle | None:
    """What keeps the iterations of `loop` from being the lanes of a vector, None when nothing does.

    The threads of a kernel do what has no vector form lane by lane: each lane has buffers of its own there.
    """
    varying = varying_in(loop.body.block, {loop.iv})
    for op in _members(loop.body.block):
        if in_kernel and isinstance(op, AllocOp):
            continue
        if (found := _obstacle(op, loop, varying)) is not None:
            return Obstacle(op, *found)
    return None


def _members(block: Block) -> Iterator[Operation]:
    """The operations that lanes run: those of loops in it, but not of the regions that combine."""
    for op in block.ops:
        yield op
        if isinstance(op, ForOp):
            yield from _members(op.body.block)


def varying_in(block: Block, varying: set[SSAValue]) -> set[SSAValue]:
    """`varying` and what the operations of `block` compute from it."""
    for op in block.ops:
        if any(v in varying for v in op.operands):
            varying.update(op.results)
        if isinstance(op, ForOp):
            varying_in(op.body.block, varying)
    return varying


def varies(expressions: AffineList, varying: set[SSAValue]) -> bool:
    """Whether one of the expressions may differ between the lanes."""
    return any(v in varying for v in expressions.canonical().operands)


def _obstacle(op: Operation, loop: ForOp, varying: set[SSAValue]) -> tuple[str, str | None] | None:
    """Why lanes cannot run `op` together, and what to do."""
    if isinstance(op, ForOp):
        return _of_loop(op, loop, varying)
    if isinstance(op, StoreOp):
        if varies(op.indices, varying) or op.value not in varying:
            return None
        return (
            "all its iterations store to one element, and which one is last is not known",
            "use nest.accumulate for a reduction, or vectorize another loop",
        )
    if isinstance(op, AccumulateOp):
        if op.order_name == "atomic":
            return "an atomic update has no vector form", "run the iterations as threads, one update each"
        if op.order_name != "sequential" or varies(op.indices, varying):
            return None
        return (
            "it reduces in sequential order, which fixes the order of the additions",
            "vectorize another loop, or allow order any",
        )
    if isinstance(op, PrefetchOp):
        if not any(v in varying and v is not loop.iv for v in op.operands):
            return None
        return (
            "a prefetch through indices computed in its iterations has no vector form",
            "prefetch in a loop around it, or leave the prefetch out",
        )
    if isinstance(op, IndexOp):
        if not any(v in varying for v in op.operands):
            return None
        return (
            "a checked index that differs between the lanes has no vector form",
            "nest-prove-bounds removes the checks that cannot fail",
        )
    if isinstance(op, (LoadOp, YieldOp, arith.ConstantOp, memref.DimOp)):
        return None
    if is_computation(op) and not any(isinstance(v.type, TensorType) for v in op.operands):
        return None
    return f"'{op.name}' has no vector form", _HINTS.get(op.name)


def _of_loop(inner: ForOp, loop: ForOp, varying: set[SSAValue]) -> tuple[str, str | None] | None:
    """A loop stays one, if all lanes run it equally often."""
    if inner.kind not in ("serial", "unrolled"):
        return f'the loop "{inner.label}" inside it is marked {inner.kind}', None
    if varies(inner.lower, varying) or varies(inner.upper, varying):
        return (
            f'the bounds of the loop "{inner.label}" inside it depend on "{loop.label}"',
            "pad the bounds and put the condition into the domains of the statements",
        )
    return None


_HINTS = {
    "nest.if": "turn the branch into the mask of its statements",
    "nest.alloc": "allocate the buffer outside the loop, with one element a lane",
}
