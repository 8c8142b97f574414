"""The rule for islands: a loop over the slices around the loops that there are.

    %r = nt.loops ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%xm: memref<4xf32>, %em: memref<4xf32>):
      nest.for "i" %i = 0 to 4 {
        %0 = nest.load %xm[%i] : memref<4xf32>
        ...
  becomes
    %r = nt.loops ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
    ^bb0(%xm: memref<8x4xf32>, %em: memref<8x4xf32>):
      nest.for "slice" %s = 0 to 8 {
        nest.for "i" %i = 0 to 4 {
          %0 = nest.load %xm[%s, %i] : memref<8x4xf32>
          ...

What an island writes is a stack; what it reads only, where it depends on a slice. Scalars from outside that differ from
slice to slice are loaded at the head of the loop over the slices.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...dialects.affine import AffineList
from ...dialects.nest import AccumulateOp, LoadOp, StoreOp
from ...dialects.nt import LoopsOp
from .batcher import Batcher, Rule, joined, reads_of
from .islands import island, load_scalar


def _loops(b: Batcher, op: LoopsOp) -> bool:
    buffers = list(op.body.block.args)
    in_count = len(op.inputs)
    with_slices = {
        buffer
        for k, (buffer, value) in enumerate(zip(buffers, op.operands, strict=True))
        if k >= in_count or b.is_stacked(value)
    }
    if not _are_indexed(with_slices):
        return False
    operands = set(op.operands)
    moving = [v for v in reads_of(op) if b.is_stacked(v) and v not in operands]
    if any(isinstance(v.type, TensorType) for v in moving):
        return False

    def body(inputs: list[SSAValue], outputs: list[SSAValue]) -> None:
        own, more = inputs[:in_count], inputs[in_count:]
        with b.loop("slice", b.count) as number:
            here = {**b.values, **dict(zip(buffers, (*own, *outputs), strict=True))}
            for value, memref in zip(moving, more, strict=True):
                here[value] = load_scalar(b, memref, value.type, number)
            for inner in op.body.block.ops:
                b.add_copy(inner, here)
            first = AffineList.of(number)
            users = {use.operation: None for buffer in with_slices for use in here[buffer].uses}
            for user in users:
                user.set_indices(joined(first, user.indices))  # pyright: ignore

    inputs = [b.values[v] for v in (*op.inputs, *moving)]
    results = island(b, inputs, [b.stack(v) for v in op.outputs], body)
    for old, new in zip(op.results_, results, strict=True):
        b.put(old, new)
    return True


def _are_indexed(buffers: set[SSAValue]) -> bool:
    """Whether buffers are used element by element only, several at once only where all of them are among these."""
    for buffer in buffers:
        for use in buffer.uses:
            op = use.operation
            if isinstance(op, AccumulateOp):
                if not all(memref in buffers for memref in op.memrefs):
                    return False
            elif not isinstance(op, LoadOp | StoreOp):
                return False
    return True


RULES: dict[type[Operation], Rule] = {LoopsOp: _loops}  # pyright: ignore
