"""The rule for operations on scalars that differ from slice to slice: an island does them for one after the other.

    %1 = arith.addi %i, %c1 : index
    %k = nest.index %1 of 4 axis 0 of "x"
  becomes
    %k = nt.loops ins(%i : tensor<8xi64>) outs(%e : tensor<8xi64>) {
    ^bb0(%im: memref<8xi64>, %em: memref<8xi64>):
      nest.for "slice" %s = 0 to 8 {
        ...                                  // the index of this slice, checked

Those that follow each other are in one island, which keeps what others use.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator, Pure

from ...dialects.nt.ops import EmptyOp
from .batcher import Batcher
from .islands import island, load_scalar, store_scalar


def is_scalar_operation(op: Operation) -> bool:
    """Whether an operation takes and gives scalars only, and is no call or branch."""
    return (
        not op.regions
        and not op.successors
        and not isinstance(op, func.CallOp)
        and not op.has_trait(IsTerminator)
        and not any(isinstance(v.type, TensorType | MemRefType) for v in (*op.operands, *op.results))
    )


def scalar_operations(b: Batcher, op: Operation) -> bool:
    """The operation, and those that follow it, in a loop over the slices."""
    group = _together(b, op)
    made = {result for one in group for result in one.results}
    read = dict.fromkeys(v for one in group for v in one.operands if v not in made)
    stacked = [v for v in read if b.is_stacked(v)]
    kept = [v for one in group for v in one.results if any(use.operation not in group for use in v.uses)]

    def body(inputs: list[SSAValue], outputs: list[SSAValue]) -> None:
        with b.loop("slice", b.count) as number:
            here = dict(b.values)
            for value, memref in zip(stacked, inputs, strict=True):
                here[value] = load_scalar(b, memref, value.type, number)
            for one in group:
                b.add_copy(one, here)
            for value, memref in zip(kept, outputs, strict=True):
                store_scalar(b, here[value], memref, number)

    empties = [b.value(EmptyOp(b.stack_type(v.type), b.sizes)) for v in kept]
    results = island(b, [b.values[v] for v in stacked], empties, body)
    for old, new in zip(kept, results, strict=True):
        b.put(old, new)
    b.done.update(group)
    return True


def _together(b: Batcher, op: Operation) -> list[Operation]:
    """The operation and those on scalars right after it that differ from slice to slice too; the others are copied."""
    group, made = [op], set(op.results)
    following = op.next_op
    while following is not None and is_scalar_operation(following):
        if b.touches(following) or made.intersection(following.operands):
            group.append(following)
            made.update(following.results)
        elif following.has_trait(Pure):
            b.copy(following)
            b.done.add(following)
        else:
            break
        following = following.next_op
    return group
