"""Pairs of products of bfloat16 that vectors of a CPU add to each lane: which loops they are (`nestor.bf16_pairs`).

    nest.for "i" %i = 0 to 13 unrolled {
      nest.for "j" %j = 0 to 32 vectorized(32) {
        nest.for "k.i" %v = 0 to 2 attributes {nestor.bf16_pairs} {
          %a = nest.load %x[%k, 2 * %i + %v]
          %b = nest.load %y[%k, 2 * %j + %v]
          ... nest.accumulate "s" add %p, %s[%i, %j]              // %p is %a * %b, both made wider

is, for each %i, two vdpbf16ps: a pair of %x in all lanes, times the pairs that 16 columns of %y have side by side. To the
reference interpreter, to all analyses and to other targets it is a loop. Lowering: lowering/nest_to_scf/bf16_pairs.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float32Type, MemRefType
from xdsl.ir import Operation, SSAValue

from ....dialects.attributes import BF16_PAIRS
from ....dialects.ext.x86vector import LANES, TOGETHER
from ....dialects.nest import AccumulateOp, ForOp, LoadOp
from ..buffers import strides_of
from ..loop_structure import parent_loop
from ..sets.domains import domain_of
from ..values.linear_forms import forms_of
from .matrix_tiles import NoTile

__all__ = ["BF16_PAIRS", "Bf16Pairs", "bf16_pairs", "bf16_product"]

WIDTHS = (LANES, 2 * LANES, 4 * LANES)
"""The lanes of a loop: those of one, two or four instructions."""


@dataclass(frozen=True, eq=False)
class Bf16Pairs:
    """A loop over two terms: what is the same in all lanes, what moves with them, and the sums."""

    uniform: LoadOp
    moving: LoadOp
    sums: AccumulateOp


def bf16_product(sums: AccumulateOp) -> tuple[LoadOp, LoadOp] | None:
    """The elements whose product is added up in single precision, in any order; None where it is something else."""
    product = sums.values[0].owner
    if not isinstance(product, arith.MulfOp) or not isinstance(product.result.type, Float32Type):
        return None
    if sums.combiner.data != "add" or sums.order_name != "any" or len(sums.memrefs) != 1:
        return None
    loads = [_widened(value) for value in product.operands]
    first, second = loads
    if first is None or second is None or first is second:
        return None
    return first, second


def _widened(value: SSAValue) -> LoadOp | None:
    """The load of the bfloat16 that a value is."""
    wide = value.owner
    if not isinstance(wide, arith.ExtFOp) or not isinstance(wide.input.type, BFloat16Type):
        return None
    return wide.input.owner if isinstance(wide.input.owner, LoadOp) else None


def bf16_pairs(loop: ForOp) -> Bf16Pairs:
    """What a loop adds up. Raises NoTile."""
    lanes = parent_loop(loop)
    if lanes is None or lanes.kind != "vectorized" or lanes.step_value != 1 or len(lanes.lower) != 1:
        raise NoTile(loop, "it is not right inside a vectorized loop")
    assert lanes.width is not None
    width = lanes.width.value.data
    if width not in WIDTHS:
        raise NoTile(lanes, f"it has {width} lanes, not {', '.join(map(str, WIDTHS[:-1]))} or {WIDTHS[-1]}")
    if lanes.lower.constants() != (0,):
        raise NoTile(lanes, "its lanes do not begin at 0")
    if loop.kind != "serial" or loop.step_value != 1 or loop.lower.constants() != (0,):
        raise NoTile(loop, "it is marked, or does not count from 0")
    if loop.constant_trip_count() != TOGETHER or len(lanes.body.block.ops) != 1:
        raise NoTile(loop, f"it is not all of {TOGETHER} terms, and nothing else")
    sums = loop.body.block.last_op
    factors = bf16_product(sums) if isinstance(sums, AccumulateOp) else None
    if not isinstance(sums, AccumulateOp) or factors is None or len(loop.body.block.ops) != 6:
        at: Operation = loop if sums is None else sums
        raise NoTile(at, "what is added up, in f32 and in any order, is not a product of two bf16 made wider")
    if (
        any(loop.iv in constraint.operands for constraint in domain_of(sums).constraints)
        or sums.mask is not None
    ):
        raise NoTile(sums, "its domain distinguishes terms")
    moving = [load for load in factors if lanes.iv in load.indices.operands]
    uniform = [load for load in factors if load not in moving]
    if len(moving) != 1:
        raise NoTile(sums, "one factor is the same in all lanes, and the other one moves with them")
    _check_sums(sums, lanes, loop)
    _check_uniform(uniform[0], loop)
    _check_moving(moving[0], lanes, loop, width)
    return Bf16Pairs(uniform[0], moving[0], sums)


def _check_sums(sums: AccumulateOp, lanes: ForOp, loop: ForOp) -> None:
    if loop.iv in sums.indices.operands or any(
        sums.memrefs[0] is load.memref for load in bf16_product(sums) or ()
    ):
        raise NoTile(sums, "the sums move with the terms")
    *outer, last = forms_of(sums.indices, sums.indices.operands)
    moves = last.coefficient(lanes.iv) == 1 and not last.without(lanes.iv).uses(lanes.iv)
    if not moves or any(form.uses(lanes.iv) for form in outer) or _stride(sums.memrefs[0]) != 1:
        raise NoTile(sums, "the sums of the lanes do not lie side by side")


def _check_uniform(load: LoadOp, loop: ForOp) -> None:
    *outer, last = forms_of(load.indices, load.indices.operands)
    moves = last.coefficient(loop.iv) == 1 and not last.without(loop.iv).uses(loop.iv)
    if not moves or any(form.uses(loop.iv) for form in outer) or _stride(load.memref) != 1:
        raise NoTile(load, "the terms of a pair do not lie side by side")


def _check_moving(load: LoadOp, lanes: ForOp, loop: ForOp, width: int) -> None:
    """Pairs fill a row of the buffer, so that those of lanes that are off are there, too."""
    *outer, last = forms_of(load.indices, load.indices.operands)
    rest = last.without(lanes.iv).without(loop.iv)
    is_row = last.coefficient(lanes.iv) == TOGETHER and last.coefficient(loop.iv) == 1
    if (
        not is_row
        or rest.terms
        or rest.constant
        or any(f.uses(v) for f in outer for v in (lanes.iv, loop.iv))
    ):
        raise NoTile(load, "the pairs of the lanes do not lie side by side in a row of their buffer")
    assert isinstance(load.memref.type, MemRefType)
    if _stride(load.memref) != 1 or load.memref.type.get_shape()[-1] < TOGETHER * width:
        raise NoTile(
            load, f"a row of the buffer is shorter than the {TOGETHER * width} elements of all lanes"
        )


def _stride(buffer: SSAValue) -> int | None:
    assert isinstance(buffer.type, MemRefType)
    strides = strides_of(buffer.type)
    return strides[-1] if strides else None
