"""The rule for operations on scalars that differ from slice to slice: an island does them for one after the other.

  %k = nest.index %i of 4 axis 0 of "x"
becomes
  %k = nt.loops ins(%i : tensor<8xi64>) outs(%e : tensor<8xi64>) {
  ^bb0(%im: memref<8xi64>, %em: memref<8xi64>):
    nest.for "slice" %s = 0 to 8 {
      ...                                  // the index of this slice, checked
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.ir import Operation, SSAValue

from ...dialects.nt.ops import EmptyOp
from .batcher import Batcher
from .islands import island, load_scalar, store_scalar


def is_scalar_operation(op: Operation) -> bool:
    """Whether an operation takes and gives scalars only, and is no call or branch."""
    return (
        not op.regions
        and not op.successors
        and not isinstance(op, func.CallOp)
        and not any(isinstance(v.type, TensorType | MemRefType) for v in (*op.operands, *op.results))
    )


def scalar_operation(b: Batcher, op: Operation) -> bool:
    """The operation in a loop over the slices."""
    stacked = [v for v in dict.fromkeys(op.operands) if b.is_stacked(v)]

    def body(inputs: list[SSAValue], outputs: list[SSAValue]) -> None:
        with b.loop("slice", b.count) as number:
            here = dict(b.values)
            for value, memref in zip(stacked, inputs, strict=True):
                here[value] = load_scalar(b, memref, value.type, number)
            new = b.add(op.clone(here))
            for result, memref in zip(new.results, outputs, strict=True):
                store_scalar(b, result, memref, number)

    empties = [b.value(EmptyOp(b.stack_type(r.type), b.sizes)) for r in op.results]
    results = island(b, [b.values[v] for v in stacked], empties, body)
    for old, new in zip(op.results, results, strict=True):
        b.put(old, new)
    return True
