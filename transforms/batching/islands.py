"""Islands that batching makes: loops over slices, in which one slice's scalars and elements are at hand.

%r = nt.loops ins(%x : tensor<8xf64>) outs(%e : tensor<8xf64>) {
^bb0(%xm: memref<8xf64>, %em: memref<8xf64>):
  nest.for "slice" %s = 0 to 8 {
    %0 = nest.load %xm[%s] : memref<8xf64>
    ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...dialects.affine import AffineList
from ...dialects.nest import LoadOp, StoreOp
from ...dialects.nt import LoopsOp
from ...lowering.nt_to_nest.scalars import from_storage, to_storage
from .batcher import INDEX, Batcher, memory_type


def island(
    b: Batcher,
    inputs: Sequence[SSAValue],
    outputs: Sequence[SSAValue],
    body: Callable[[list[SSAValue], list[SSAValue]], None],
) -> Sequence[SSAValue]:
    """An `nt.loops` whose region `body` makes from the buffers of inputs and outputs; its results."""
    block = Block(arg_types=[memory_type(v.type) for v in (*inputs, *outputs)])
    for argument, value in zip(block.args, (*inputs, *outputs), strict=True):
        argument.name_hint = value.name_hint
    with b.inside(block):
        body(list(block.args[: len(inputs)]), list(block.args[len(inputs) :]))
    return b.add(LoopsOp(inputs, outputs, Region(block))).results


def for_each(
    b: Batcher,
    extents: Sequence[AffineList],
    element: Callable[[list[SSAValue]], None],
    at: Sequence[SSAValue] = (),
) -> None:
    """What `element` makes, in loops over all indices of a shape."""
    if len(at) == len(extents):
        return element(list(at))
    with b.loop("ijklmn"[len(at) % 6], extents[len(at)]) as index:
        for_each(b, extents, element, [*at, index])


def load_scalar(b: Batcher, memref: SSAValue, kind: Attribute, number: SSAValue) -> SSAValue:
    """The scalar of type `kind` that slice `number` has, from the buffer of what stands for it."""
    loaded = b.value(LoadOp(memref, AffineList.of(number)))
    if isinstance(kind, IndexType):
        return b.value(arith.IndexCastOp(loaded, INDEX))
    return from_storage(b.emitter(), loaded, kind)


def store_scalar(b: Batcher, scalar: SSAValue, memref: SSAValue, number: SSAValue) -> None:
    """Make `scalar` what slice `number` has."""
    if isinstance(scalar.type, IndexType):
        scalar = b.value(arith.IndexCastOp(scalar, i64))
    stored = to_storage(b.emitter(), scalar, memref.type.element_type)  # pyright: ignore
    b.add(StoreOp(stored, memref, AffineList.of(number), label=scalar.name_hint or "slice"))
