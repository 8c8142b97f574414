"""Rules for control flow on tensors, and calls.

A branch or a loop that all slices take together stays one; what it gives or carries is a stack where a slice decides
it. Where slices differ:

    %r = scf.if %c ...                both sides, and a select between them, where they are pure
    %r = scf.while ...                until all slices are done; those that are keep what they have

Anything else (sides with effects, or that may only run where the condition holds; a number of iterations that differs)
runs for one slice after the other (`each_slice.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import SymbolTable

from ...dialects.nt import ELEMENTWISE_OPS, BroadcastOp, CheckpointOp, ReduceOp, ToScalarOp, YieldOp
from ...dialects.nt.ops import shape_of
from .batcher import Batcher, Rule
from .speculation import may_always_run


def _if(b: Batcher, op: scf.IfOp) -> bool:
    if b.is_stacked(op.cond):
        return _if_of_each(b, op)
    sides = [region for region in (op.true_region, op.false_region) if region.blocks]
    blocks = [Block() for _ in sides]
    ends: list[Sequence[SSAValue]] = []
    for region, block in zip(sides, blocks, strict=True):
        with b.inside(block):
            *ops, end = region.block.ops
            b.run(ops)
            ends.append(end.operands)
    stacked = [any(b.is_stacked(end[k]) for end in ends) for k in range(len(op.results))]
    _end(b, blocks, ends, stacked, scf.YieldOp)
    types = [b.stack_type(r.type) if s else r.type for r, s in zip(op.results, stacked, strict=True)]
    made = scf.IfOp.create(
        operands=[b.values[op.cond]],
        result_types=types,
        regions=[*map(Region, blocks), *[Region()] * (2 - len(blocks))],
        attributes=dict(op.attributes),
    )
    _put(b, op, b.add(made).results, stacked)
    return True


def _end(
    b: Batcher,
    blocks: Sequence[Block],
    ends: Sequence[Sequence[SSAValue]],
    stacked: Sequence[bool],
    terminator: type[scf.YieldOp | YieldOp],
) -> None:
    for block, end in zip(blocks, ends, strict=True):
        with b.inside(block):
            values = [b.stack(v) if s else b.values[v] for v, s in zip(end, stacked, strict=True)]
            b.add(terminator(*values))


def _checkpoint(b: Batcher, op: CheckpointOp) -> bool:
    block = Block(arg_types=[b.values[v].type for v in op.inputs])
    for value, old, new in zip(op.inputs, op.body.block.args, block.args, strict=True):
        b.put(old, new, stacked=b.is_stacked(value))
    with b.inside(block):
        *ops, end = op.body.block.ops
        b.run(ops)
    stacked = [b.is_stacked(v) for v in end.operands]
    _end(b, [block], [end.operands], stacked, YieldOp)
    types = [b.stack_type(r.type) if s else r.type for r, s in zip(op.results_, stacked, strict=True)]
    made = CheckpointOp(op.policy.data, [b.values[v] for v in op.inputs], Region(block), types)
    _put(b, op, b.add(made).results, stacked)
    return True


def _put(b: Batcher, op: Operation, results: Sequence[SSAValue], stacked: Sequence[bool]) -> None:
    for old, new, is_stack in zip(op.results, results, stacked, strict=True):
        b.put(old, new, stacked=is_stack)


# ---- branches that slices take on their own -------------------------------------------------------------


def _if_of_each(b: Batcher, op: scf.IfOp) -> bool:
    """Both sides for all slices, and a select."""
    sides = [region.block for region in (op.true_region, op.false_region) if region.blocks]
    if len(sides) < 2 or not all(map(may_always_run, sides)):
        return False
    ends: list[Sequence[SSAValue]] = []
    for side in sides:
        *ops, end = side.ops
        b.run(ops)
        ends.append(end.operands)
    b.location = op.location
    for result, one, other in zip(op.results, *ends, strict=True):
        b.put(result, _selected(b, b.values[op.cond], b.stack(one), b.stack(other)))
    return True


def _selected(b: Batcher, condition: SSAValue, one: SSAValue, other: SSAValue) -> SSAValue:
    """Of each slice the one stack or the other, by a tensor of a bool for each slice."""
    shape = shape_of(one)
    if len(shape) > 1:
        condition = b.value(BroadcastOp(condition, (0,), TensorType(i1, shape), b.dims(one)))
    select = ELEMENTWISE_OPS["select"]
    return b.value(select.create(operands=[condition, one, other], result_types=[one.type]))


# ---- loops ----------------------------------------------------------------------------------------------


def _for(b: Batcher, op: scf.ForOp) -> bool:
    if any(b.is_stacked(v) for v in (op.lb, op.ub, op.step)):
        return False
    stacked = [b.is_stacked(v) for v in op.iter_args]
    source = op.body.block
    while True:
        block = Block(arg_types=[source.args[0].type, *_types(b, op.iter_args, stacked)])
        ends = _run_block(b, source, block, [False, *stacked])
        wider = [s or b.is_stacked(v) for s, v in zip(stacked, ends, strict=True)]
        if wider == stacked:
            break
        _discard(block)
        stacked = wider
    _end(b, [block], [ends], stacked, scf.YieldOp)
    starts = _starts(b, op.iter_args, stacked)
    bounds = [b.values[v] for v in (op.lb, op.ub, op.step)]
    made = scf.ForOp(*bounds, starts, Region(block))
    made.attributes.update(op.attributes)
    _put(b, op, b.add(made).results, stacked)
    return True


def _types(b: Batcher, values: Sequence[SSAValue], stacked: Sequence[bool]):
    return [b.stack_type(v.type) if s else v.type for v, s in zip(values, stacked, strict=True)]


def _starts(b: Batcher, values: Sequence[SSAValue], stacked: Sequence[bool]) -> list[SSAValue]:
    return [b.stack(v) if s else b.values[v] for v, s in zip(values, stacked, strict=True)]


def _run_block(b: Batcher, source: Block, block: Block, stacked: Sequence[bool]) -> Sequence[SSAValue]:
    """What the operations of `source` become at the end of `block`, which has arguments for its; what it ends with."""
    for old, new, is_stack in zip(source.args, block.args, stacked, strict=True):
        b.put(old, new, stacked=is_stack)
    with b.inside(block):
        *ops, end = source.ops
        b.run(ops)
    return end.operands


def _discard(block: Block) -> None:
    for op in reversed(list(block.ops)):
        op.detach()
        op.drop_all_references()
        op.erase(safe_erase=False)


def _while(b: Batcher, op: scf.WhileOp) -> bool:
    before, after = op.before_region.block, op.after_region.block
    condition = before.last_op
    assert isinstance(condition, scf.ConditionOp)
    if list(condition.operands[1:]) != list(before.args):
        return False
    stacked = [b.is_stacked(v) for v in op.arguments]
    while True:
        types = _types(b, op.arguments, stacked)
        blocks = Block(arg_types=types), Block(arg_types=types)
        holds = _run_block(b, before, blocks[0], stacked)[0]
        ends = _run_block(b, after, blocks[1], stacked)
        wider = [s or b.is_stacked(v) for s, v in zip(stacked, ends, strict=True)]
        if b.is_stacked(holds):
            wider = [True] * len(wider)
        if wider == stacked:
            break
        for block in blocks:
            _discard(block)
        stacked = wider
    if b.is_stacked(holds):
        for block in blocks:
            _discard(block)
        return _while_of_each(b, op)
    with b.inside(blocks[0]):
        b.add(scf.ConditionOp(b.values[holds], *blocks[0].args))
    _end(b, [blocks[1]], [ends], stacked, scf.YieldOp)
    starts = _starts(b, op.arguments, stacked)
    made = scf.WhileOp.create(
        operands=starts,
        result_types=[v.type for v in starts],
        regions=[Region(block) for block in blocks],
        attributes=dict(op.attributes),
    )
    _put(b, op, b.add(made).results, stacked)
    return True


def _while_of_each(b: Batcher, op: scf.WhileOp) -> bool:
    """Until all slices are done: what is carried, and a bool for each slice that says whether it goes on."""
    before, after = op.before_region.block, op.after_region.block
    if not (may_always_run(before) and may_always_run(after)):
        return False
    starts = [b.stack(v) for v in op.arguments]
    goes_on = _goes_on(b, before, starts)
    types = [v.type for v in (*starts, goes_on)]
    blocks = Block(arg_types=types), Block(arg_types=types)
    with b.inside(blocks[0]):
        some = b.value(ToScalarOp(b.value(ReduceOp("or", [blocks[0].args[-1]], [0]))))
        b.add(scf.ConditionOp(some, *blocks[0].args))
    *old, running = blocks[1].args
    with b.inside(blocks[1]):
        for argument, value in zip(after.args, old, strict=True):
            b.put(argument, value)
        *ops, end = after.ops
        b.run(ops)
        b.location = op.location
        new = [_selected(b, running, b.stack(v), kept) for v, kept in zip(end.operands, old, strict=True)]
        still = _goes_on(b, before, new)
        both = ELEMENTWISE_OPS["logical_and"].create(operands=[running, still], result_types=[running.type])
        b.add(scf.YieldOp(*new, b.value(both)))
    made = scf.WhileOp.create(
        operands=[*starts, goes_on],
        result_types=types,
        regions=[Region(block) for block in blocks],
        attributes=dict(op.attributes),
    )
    for result, stack in zip(op.results, b.add(made).results[:-1], strict=True):
        b.put(result, stack)
    return True


def _goes_on(b: Batcher, before: Block, carried: Sequence[SSAValue]) -> SSAValue:
    """The condition of each slice."""
    for argument, value in zip(before.args, carried, strict=True):
        b.put(argument, value)
    *ops, condition = before.ops
    b.run(ops)
    return b.stack(condition.operands[0])


# ---- calls ----------------------------------------------------------------------------------------------


def _call(b: Batcher, op: func.CallOp) -> bool:
    """The body of the function in place of the call."""
    function = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(function, func.FuncOp) or len(function.body.blocks) != 1:
        return False
    if function in b.inlining:
        raise b.fail(op, f"nt.batch: '{function.sym_name.data}' calls itself: recursion is not batched")
    b.inlining.append(function)
    for argument, value in zip(function.body.block.args, op.arguments, strict=True):
        b.put(argument, b.values[value], stacked=b.is_stacked(value))
    *ops, end = function.body.block.ops
    b.run(ops)
    b.inlining.pop()
    for result, value in zip(op.results, end.operands, strict=True):
        b.put(result, b.values[value], stacked=b.is_stacked(value))
    return True


RULES: dict[type[Operation], Rule] = {
    scf.IfOp: _if,
    scf.ForOp: _for,
    scf.WhileOp: _while,
    CheckpointOp: _checkpoint,
    func.CallOp: _call,
}  # pyright: ignore
