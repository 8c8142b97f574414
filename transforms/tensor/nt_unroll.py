"""nt-unroll: write the iterations of a loop on tensors with constant bounds one after the other, so that they can be fused.

    %r = scf.for %t = %c0 to %c2 step %c1 iter_args(%h = %x) -> (tensor<4xf32>) {
      %h1 = nt.multiply %h, %y : tensor<4xf32>
      scf.yield %h1 : tensor<4xf32>
    }
  becomes
    %h1 = nt.multiply %x, %y : tensor<4xf32>
    %r = nt.multiply %h1, %y : tensor<4xf32>

Loops of at most `limit` iterations and `size` operations in all are unrolled in full. With `factor=F`, an iteration of
the other loops with constant bounds does the work of F, and what is left over follows the loop. Loops whose bounds are
known at run time only stay as they are, inner loops are unrolled first. So do loops whose iterations read the extent of a
tensor from an array (analysis/tensor/own_extents.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...analysis.tensor.own_extents import reads_extents
from ...dialects.affine import constant_of
from ...dialects.diagnostic import fail
from ...dialects.ext.arith import NO_OVERFLOW

INDEX = IndexType()


@dataclass(frozen=True, eq=False)
class NtUnrollPass(ModulePass):
    """Write the iterations of loops on tensors with constant bounds one after the other."""

    name = "nt-unroll"

    limit: int = 8
    size: int = 256
    factor: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.factor < 1:
            raise fail(op, f"cannot unroll by a factor of {self.factor}", hint="a factor is 1 or more")
        for loop in reversed([inner for inner in op.walk() if isinstance(inner, scf.ForOp)]):
            turns = turns_of(loop)
            if turns is None or reads_extents(loop.body.block.ops):
                continue
            if len(turns) <= self.limit and len(turns) * _operations(loop) <= self.size:
                unroll(loop, turns, len(turns))
            elif 1 < self.factor < len(turns):
                unroll(loop, turns, self.factor)


def turns_of(loop: scf.ForOp) -> range | None:
    """The values of the loop variable, when the bounds and the step are constants."""
    bounds = [constant_of(v) for v in (loop.lb, loop.ub, loop.step)]
    if any(b is None for b in bounds) or bounds[2] < 1:  # pyright: ignore
        return None
    return range(*bounds)  # pyright: ignore


def _operations(loop: scf.ForOp) -> int:
    return sum(1 for _ in loop.body.walk())


def unroll(loop: scf.ForOp, turns: range, factor: int) -> None:
    """Do `factor` iterations in one; those left over come after the loop, all of them where it has one iteration."""
    whole = len(turns) // factor * factor if factor < len(turns) else 0
    carried: list[SSAValue] = list(loop.iter_args)
    before = _Before(loop)
    if whole:
        inner = _widened(loop, turns, whole, factor, before)
        carried = list(inner.results)
    body = loop.body.block
    for turn in turns[whole:]:
        carried = _copied(body, [before.constant(turn), *carried], before.add)
    for old, new in zip(loop.results, carried, strict=True):
        new.name_hint = new.name_hint or old.name_hint
        old.replace_all_uses_with(new)
    assert loop.parent is not None
    loop.parent.erase_op(loop)


class _Before:
    """Adds operations before a loop."""

    def __init__(self, loop: scf.ForOp):
        self._loop = loop

    def add(self, op: Operation) -> None:
        assert self._loop.parent is not None
        self._loop.parent.insert_op_before(op, self._loop)

    def constant(self, value: int) -> SSAValue:
        op = arith.ConstantOp(IntegerAttr(value, INDEX))
        op.location = self._loop.location
        self.add(op)
        return op.results[0]


def _widened(loop: scf.ForOp, turns: range, whole: int, factor: int, before: _Before) -> scf.ForOp:
    """The loop over `factor` iterations at a time."""
    end = before.constant(turns.start + whole * turns.step)
    step = before.constant(turns.step * factor)
    body = loop.body.block
    target = Block(arg_types=[a.type for a in body.args])
    for new, old in zip(target.args, body.args, strict=True):
        new.name_hint = old.name_hint

    def add(op: Operation) -> None:
        target.add_op(op)

    variable, carried = target.args[0], list(target.args[1:])
    carried = _copied(body, [variable, *carried], add)
    for k in range(1, factor):
        offset = arith.ConstantOp(IntegerAttr(k * turns.step, INDEX))
        moved = arith.AddiOp.create(
            operands=[variable, offset.results[0]],
            result_types=[INDEX],
            properties=dict(NO_OVERFLOW),
        )
        for op in (offset, moved):
            op.location = loop.location
            add(op)
        carried = _copied(body, [moved.results[0], *carried], add)
    last = scf.YieldOp(*carried)
    last.location = loop.location
    add(last)
    inner = scf.ForOp(loop.lb, end, step, list(loop.iter_args), Region(target))
    inner.location = loop.location
    before.add(inner)
    return inner


def _copied(body: Block, args: Sequence[SSAValue], add) -> list[SSAValue]:
    """Add a copy of the body that starts from `args`; what it yields."""
    mapping: dict[SSAValue, SSAValue] = dict(zip(body.args, args, strict=True))
    *ops, end = body.ops
    for op in ops:
        add(op.clone(mapping))
    return [mapping.get(v, v) for v in end.operands]
