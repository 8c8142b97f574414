"""nt-unroll-swaps: a loop in which arrays change places runs two iterations at a time.

    %x, %y = scf.for %t = %c0 to %n step %c1 iter_args(%a = %a0, %b = %b0) -> (...) {
      %b1 = nt.loops ins(%a) outs(%b) { ... }         // b[1:-1] = ... a ...
      scf.yield %b1, %a                               // a, b = b, a
    }
  becomes
    %p, %q = scf.for %t = %c0 to %even step %c2 iter_args(%a = %a0, %b = %b0) -> (...) {
      %b1 = nt.loops ins(%a) outs(%b) { ... }
      %t1 = arith.addi %t, %c1
      %a1 = nt.loops ins(%b1) outs(%a) { ... }        // the second iteration: a and b have changed places
      scf.yield %a1, %b1                              // and are where they were
    }
    %is_even = arith.cmpi sge, %even, %n
    %x, %y = scf.if %is_even -> (...) { scf.yield %p, %q } else { the body, once; yields what has changed places }

Two arrays that change places in each iteration (ping-pong) would be copied each time, because a carried array has one
buffer (`convert-nt-to-nest`); after two iterations each is in its own again. Loops that carry anything that the body
cannot update in place through such a swap stay as they are. The branch gives what is read after the loop.

A `scf.while` asks between the two, and ends where it is told so:

    %b1 = nt.loops ins(%a) outs(%b) { ... }
    %go = ... the condition of %b1, %a ...
    %x, %y = scf.if %go -> (...) { the body, once more } else { scf.yield %b1, %a }
    scf.yield %x, %y

Its condition is then asked again, of the same values; so it is one that does nothing but answer. What nobody reads after the
loop stays where it is on that path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...analysis.tensor.effects import acts
from ...dialects.affine import constant_of
from ...dialects.ext.arith import NO_OVERFLOW
from ...dialects.nt import LoopsOp

INDEX = IndexType()


@dataclass(frozen=True, eq=False)
class NtUnrollSwapsPass(ModulePass):
    """Run loops in which arrays change places two iterations at a time, so that no iteration copies them."""

    name = "nt-unroll-swaps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in reversed([op for op in op.walk() if isinstance(op, scf.ForOp | scf.WhileOp)]):
            if isinstance(loop, scf.ForOp) and _step(loop) is not None and swaps(loop.body.block, 1):
                unroll_swaps(loop)
            elif isinstance(loop, scf.WhileOp) and _only_answers(loop) and swaps(loop.after_region.block, 0):
                unroll_while(loop)


def swaps(body: Block, first: int) -> bool:
    """Whether arrays change places pairwise in each iteration, and at least two do; the carried ones begin at `first`."""
    assert body.last_op is not None
    sources = [_place(value, body, first) for value in body.last_op.operands]
    moved = {k: j for k, j in enumerate(sources) if j is not None and j != k}
    return bool(moved) and all(moved.get(j) == k for k, j in moved.items())


def _step(loop: scf.ForOp) -> int | None:
    """The loop's step, when it is a positive constant."""
    step = constant_of(loop.step)
    return step if step is not None and step > 0 else None


def _only_answers(loop: scf.WhileOp) -> bool:
    """Whether the condition of a loop does nothing else, and passes on what it was given."""
    *ops, condition = loop.before_region.block.ops
    return list(condition.operands[1:]) == list(loop.before_region.block.args) and not any(map(acts, ops))


def _place(value: SSAValue, body: Block, first: int) -> int | None:
    """Which carried array `value` is, or is an update in place of; None for a new one."""
    while not isinstance(value.owner, Block):
        if not isinstance(value.owner, LoopsOp):
            return None
        value = value.owner.outputs[value.index]  # pyright: ignore
    is_carried = value.owner is body and isinstance(value, BlockArgument) and value.index >= first
    return value.index - first if is_carried else None  # pyright: ignore


def unroll_swaps(loop: scf.ForOp) -> None:
    """Replace the loop by one over pairs of iterations, and a branch for an iteration that is left over."""
    block, step = loop.parent, _step(loop)
    assert block is not None and step is not None
    made: list[Operation] = []

    def op(kind: type[Operation], *operands: SSAValue) -> SSAValue:
        properties = dict(NO_OVERFLOW) if kind in _ARITHMETIC else {}
        new = kind.create(operands=operands, result_types=[INDEX], properties=properties)
        made.append(new)
        return new.results[0]

    def constant(value: int) -> SSAValue:
        made.append(arith.ConstantOp(IntegerAttr(value, INDEX)))
        return made[-1].results[0]

    two = constant(2 * step)
    span = op(arith.SubiOp, op(arith.MaxSIOp, loop.ub, loop.lb), loop.lb)
    # ceil(span / step) iterations, of which an even number is done in pairs
    pairs = op(arith.FloorDivSIOp, op(arith.AddiOp, span, constant(step - 1)), two)
    middle = op(arith.AddiOp, loop.lb, op(arith.MuliOp, pairs, two))
    first = _pairs(loop, middle, two)
    is_even = arith.CmpiOp(middle, loop.ub, "sge")
    read = [k for k, result in enumerate(loop.results) if result.uses]
    sides = _nothing(first, read), _last(loop, middle, first, read)
    rest = scf.IfOp(is_even, [first.results[k].type for k in read], *sides)
    for new in (*made, first, is_even, rest):
        new.location = loop.location
        block.insert_op_before(new, loop)
    for k, new in zip(read, rest.results, strict=True):
        new.name_hint = loop.results[k].name_hint
        loop.results[k].replace_all_uses_with(new)
    block.erase_op(loop)


_ARITHMETIC = (arith.AddiOp, arith.SubiOp, arith.MuliOp)


def _pairs(loop: scf.ForOp, middle: SSAValue, two: SSAValue) -> scf.ForOp:
    """The loop over pairs of iterations."""
    body = loop.body.block
    target = Block(arg_types=[a.type for a in body.args])
    for new, old in zip(target.args, body.args, strict=True):
        new.name_hint = old.name_hint
    carried = _copy(body, target, target.args)
    step = arith.AddiOp.create(
        operands=[target.args[0], loop.step],
        result_types=[INDEX],
        properties=dict(NO_OVERFLOW),
    )
    step.location = loop.location
    target.add_op(step)
    carried = _copy(body, target, [step.results[0], *carried])
    end = scf.YieldOp(*carried)
    end.location = loop.location
    target.add_op(end)
    return scf.ForOp(loop.lb, middle, two, list(loop.iter_args), Region(target))


def _last(loop: scf.ForOp, index: SSAValue, first: scf.ForOp, read: Sequence[int]) -> Region:
    """The iteration that is left over, and what is read of it."""
    target = Block()
    values = _copy(loop.body.block, target, [index, *first.results])
    end = scf.YieldOp(*[values[k] for k in read])
    end.location = loop.location
    target.add_op(end)
    return Region(target)


def _nothing(first: scf.ForOp, read: Sequence[int]) -> Region:
    return Region(Block([scf.YieldOp(*[first.results[k] for k in read])]))


def unroll_while(loop: scf.WhileOp) -> None:
    """Let the body run twice, where the condition says so in between."""
    before, body = loop.before_region.block, loop.after_region.block
    end = body.last_op
    assert end is not None
    values = list(end.operands)
    again, stop = Block(), Block()
    second = _copy(body, again, values)
    again.add_op(scf.YieldOp(*second))
    stop.add_op(scf.YieldOp(*_left(loop, values)))
    go, *_ = _copy(before, body, values, end)
    branch = scf.IfOp(go, [value.type for value in values], Region(again), Region(stop))
    body.insert_op_before(branch, end)
    for op in (branch, again.last_op, stop.last_op):
        assert op is not None
        op.location = loop.location
    for result, argument in zip(branch.results, body.args, strict=True):
        result.name_hint = argument.name_hint
    end.operands = list(branch.results)


def _left(loop: scf.WhileOp, values: Sequence[SSAValue]) -> list[SSAValue]:
    """What a loop carries that ends after the first of two iterations: of what nobody reads, what is in its buffer."""
    before, body = loop.before_region.block, loop.after_region.block
    sources = [_place(value, body, 0) for value in values]
    left = list(values)
    for k, source in enumerate(sources):
        is_read = loop.results[k].uses or len(list(before.args[k].uses)) > 1
        if source is not None and source != k and not is_read:
            left[k] = values[source]
    return left


def _copy(
    body: Block, target: Block, args: Sequence[SSAValue], at: Operation | None = None
) -> list[SSAValue]:
    """Add a copy of the body that starts from `args` to `target`, at its end or before `at`; what it yields."""
    mapping: dict[SSAValue, SSAValue] = dict(zip(body.args, args, strict=True))
    *ops, end = body.ops
    for op in ops:
        copy = op.clone(mapping)
        target.insert_op_before(copy, at) if at is not None else target.add_op(copy)
    return [mapping.get(v, v) for v in end.operands]
