"""What tiles of the matrix unit, of vectors of bytes and of pairs share (part of convert-nest-to-scf): the check, 32 bits in
all lanes, and the loop that carries sums.

    scf.for %k = %c0 to %c16 step %c1 iter_args(%s0 = %0, ...) { ... scf.yield %t0, ... }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i32, i64
from xdsl.ir import Block, Region, SSAValue

from ...analysis.nest.kernels.matrix_tiles import NoTile
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext.vnni import LANES
from ...dialects.nest import ForOp
from ...dialects.nest.common import INDEX

if TYPE_CHECKING:
    from ..nest_common.index_arithmetic import IndexBuilder
    from .convert import CpuBody


Found = TypeVar("Found")

WORD, WORDS = VectorType(i32, [1]), VectorType(i32, [LANES])
_FIRST = DenseArrayBase.from_list(i64, [0])


def word_of(builder: IndexBuilder, part: SSAValue) -> SSAValue:
    """The 32 bits of a vector of as many."""
    bits = builder.value(vector.BitcastOp, (part,), WORD)
    return builder.value(vector.ExtractOp, (bits,), i32, {"static_position": _FIRST})


def word_in_lanes(builder: IndexBuilder, word: SSAValue, type_: VectorType) -> SSAValue:
    """32 bits in all lanes, as a vector of a type of 512."""
    return builder.value(vector.BitcastOp, (builder.value(vector.BroadcastOp, (word,), WORDS),), type_)


def annotated_tile(loop: ForOp, find: Callable[[ForOp], Found], what: str) -> Found:
    """The tile of a loop that is annotated as `what`. Raises LoweringError where it is none."""
    try:
        return find(loop)
    except NoTile as why:
        raise fail(
            loop,
            f'the loop "{loop.label}" is annotated as {what}, but is not:  {why.reason}',
            notes=[(why.op, "here")],
            error=LoweringError,
        ) from None


def carried_sums(
    body: CpuBody,
    loop: ForOp,
    start: Sequence[SSAValue],
    step: Callable[[Sequence[SSAValue]], Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    """The sums behind a loop that carries them from `start` on; `step` emits an iteration, and gives the sums behind it."""
    builder = body.builder
    types = [value.type for value in start]
    bounds = body.one_of(loop.lower, arith.MaxSIOp), body.one_of(loop.upper, arith.MinSIOp)
    operands = (*bounds, builder.constant(loop.step_value), *start)
    inside = Block(arg_types=(INDEX, *types))
    body.define(loop.iv, inside.args[0])
    if any(builder.is_nonnegative(form) for form in body.forms(loop.lower)):
        builder.nonnegative.add(inside.args[0])
    with builder.inside(inside):
        builder.emit(scf.YieldOp.create(operands=step(inside.args[1:])))
    builder.location = loop.location
    op = scf.ForOp.create(operands=operands, result_types=types, regions=[Region(inside)])
    return builder.emit(op).results
