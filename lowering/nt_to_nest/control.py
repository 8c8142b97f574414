"""Control flow on tensors: `scf.for`, `scf.while` and `scf.if` become loops and branches over buffers.

    %r = scf.for %t = %c0 to %n step %c1 iter_args(%h = %h0) -> (tensor<4xf32>) {
      %x = nt.slice %xs[%t, 0] ...
      %h1 = nt.add %h, %x : tensor<4xf32>
      scf.yield %h1 : tensor<4xf32>
    }
  becomes
    nest.for "t" %t = 0 to %n {                      // %h0, %h, %h1 and %r are in one buffer
      nest.for "i" %i = 0 to 4 {
        %0 = nest.load %h[%i] : memref<4xf32>
        ...
        nest.store "h1" %2, %h[%i] : memref<4xf32>
      }
    }

A carried tensor has one buffer: what the loop starts from is moved into it (no copy where it is computed there), what an
iteration yields is computed straight into it where the old contents are not needed any more, else copied. A `scf.while`
keeps its place, without operands or results. Numbers are carried as tensors of rank 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.affine import AffineList, constant_of
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.nest import ForOp, IfOp
from ...dialects.nest.common import name_hint_of
from ...dialects.nt import LoopsOp
from .shapes import INDEX

if TYPE_CHECKING:
    from .convert import Conversion


def started_from(op: Operation) -> Sequence[SSAValue]:
    """What the results of an island or of control flow start from, one each; nothing for other operations."""
    if isinstance(op, LoopsOp):
        return op.outputs
    if isinstance(op, scf.ForOp):
        return op.iter_args
    return op.arguments if isinstance(op, scf.WhileOp) else ()


def convert_for(c: Conversion, op: scf.ForOp) -> None:
    """`scf.for` with a constant positive step."""
    _require_tensors(op)
    step = constant_of(op.step)
    if step is None or step < 1:
        raise fail(op, "a loop on tensors needs a constant positive step", error=LoweringError)
    body = op.body.block
    name = c.names.take(body.args[0].name_hint or "i")
    buffers = c.carried_buffers(op, op.iter_args)
    target = Block(arg_types=[INDEX])
    target.args[0].name_hint = name_hint_of(name)
    body.args[0].replace_all_uses_with(target.args[0])
    for arg, memref in zip(body.args[1:], buffers, strict=True):
        c.place(arg, memref)
    c.block(body, _yielded(body, buffers), target.args[0])
    _move(body, target)
    if target.first_op is not None:
        loop = ForOp(name, _bound(op.lb), _bound(op.ub), target, step=step)
        loop.location = op.location
        c.insert(loop)
    _place_results(c, op, buffers)


def convert_while(c: Conversion, op: scf.WhileOp) -> None:
    """`scf.while` whose condition passes on what it was given."""
    _require_tensors(op)
    before, after = op.before_region.block, op.after_region.block
    condition = before.last_op
    assert isinstance(condition, scf.ConditionOp)
    if list(condition.operands[1:]) != list(before.args):
        raise fail(
            condition,
            "the condition of a loop on tensors passes on its block's arguments, in order",
            error=LoweringError,
        )
    buffers = c.carried_buffers(op, op.arguments)
    for block in (before, after):
        for arg, memref in zip(block.args, buffers, strict=True):
            c.place(arg, memref)
    holds = c.block(before, ())
    c.block(after, _yielded(after, buffers))
    blocks = [Block(), Block()]
    for source, target in zip((before, after), blocks, strict=True):
        _move(source, target)
    for block, end in zip(blocks, (scf.ConditionOp(holds[0]), scf.YieldOp()), strict=True):
        end.location = op.location
        block.add_op(end)
    loop = scf.WhileOp.create(regions=[Region(block) for block in blocks], location=op.location)
    c.insert(loop)
    _place_results(c, op, buffers)


def convert_if(c: Conversion, op: scf.IfOp) -> None:
    """`scf.if`: both sides leave a result in one buffer, if it can be the one that both start from."""
    _require_tensors(op)
    regions = [region for region in (op.true_region, op.false_region) if region.blocks]
    goals = [c.scope.destination.get(result) for result in op.results]
    buffers: list[SSAValue] = []
    for k, goal in enumerate(goals):
        taken = {memref for memref in goals if memref is not None}.union(buffers)
        buffers.append(_result_buffer(c, op, regions, k, taken) if goal is None else goal)
    blocks: list[Block] = []
    for region in regions:
        c.block(region.block, _yielded(region.block, buffers))
        blocks.append(Block())
        _move(region.block, blocks[-1])
    has_else = len(blocks) > 1 and blocks[1].first_op is not None
    branch = IfOp(op.cond, Region(blocks[0]), Region(blocks[1]) if has_else else None)
    branch.location = op.location
    c.insert(branch)
    _place_results(c, op, buffers)


def sides_start_from(op: scf.IfOp) -> list[SSAValue | None]:
    """For each result the value from outside that a side updates, None where neither does."""
    regions = [region for region in (op.true_region, op.false_region) if region.blocks]
    found: list[SSAValue | None] = []
    for k in range(len(op.results)):
        starts = [_start_outside(region.block.last_op.operands[k], region) for region in regions]  # pyright: ignore
        found.append(next((start for start in starts if start is not None), None))
    return found


def _result_buffer(
    c: Conversion, op: scf.IfOp, regions: Sequence[Region], k: int, taken: Set[SSAValue]
) -> SSAValue:
    """Where result `k` goes: where a side that updates in place finds it, or a new buffer; not where another one goes."""
    result = op.results[k]
    for region in regions:
        start = _start_outside(region.block.last_op.operands[k], region)  # pyright: ignore
        memref = None if start is None else c.buffer_of(start)
        if memref is None or memref in taken or not c.may_overwrite(memref):
            continue
        others = [v for v in c.needed_in(memref, op) if v is not start]
        if not others and not c.is_used_after(start, op):  # pyright: ignore
            return memref
    return c.new_buffer(result)


def _start_outside(value: SSAValue, region: Region) -> SSAValue | None:
    """What the islands, loops and branches of `region` that give `value` start from, when that is a value from outside."""
    while True:
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        if block is not region.block:
            return value
        if isinstance(owner, Block):
            return None
        starts = sides_start_from(owner) if isinstance(owner, scf.IfOp) else started_from(owner)
        start = starts[value.index] if starts else None  # pyright: ignore
        if start is None:
            return None
        value = start


def _place_results(c: Conversion, op: Operation, buffers: Sequence[SSAValue]) -> None:
    for result, memref in zip(op.results, buffers, strict=True):
        c.place(result, memref)


def _yielded(block: Block, buffers: Sequence[SSAValue]) -> list[tuple[SSAValue, SSAValue]]:
    assert block.last_op is not None
    return list(zip(block.last_op.operands, buffers, strict=True))


def _move(source: Block, target: Block) -> None:
    for op in list(source.ops):
        op.detach()
        target.add_op(op)


def _bound(value: SSAValue) -> AffineList:
    known = constant_of(value)
    return AffineList.of(value if known is None else known)


def _require_tensors(op: Operation) -> None:
    """Only tensors have buffers to be carried in."""
    for result in op.results:
        if not isinstance(result.type, TensorType):
            raise fail(
                op,
                f"{op.name} has a result of type {result.type}, and only tensors are carried",
                hint="carry a tensor of rank 0: nt.from_scalar",
                error=LoweringError,
            )


CONTROL: dict[type[Operation], Callable[[Any, Any], None]] = {
    scf.ForOp: convert_for,
    scf.WhileOp: convert_while,
    scf.IfOp: convert_if,
}

__all__ = ["CONTROL", "convert_for", "convert_if", "convert_while", "sides_start_from", "started_from"]
