"""nt-drop-carried: what a loop carries for nobody is not computed.

    %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) {
      %a1 = nt.sin %a : tensor<4xf32>
      %b1 = nt.add %b, %a : tensor<4xf32>
      scf.yield %a1, %b1 : tensor<4xf32>, tensor<4xf32>
    }                                                                   // nobody reads %r#1
  becomes
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
      %a1 = nt.sin %a : tensor<4xf32>
      scf.yield %a1 : tensor<4xf32>
    }

A value that only feeds itself, or others that nobody reads, is one of them, and so is what branches give nobody. What
checks, prints or calls stays, with what it reads; of `scf.while` the condition, with what it reads of what is carried,
and loops in islands that may never end. Derivatives leave such values: those of an operand that was not asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...analysis.tensor.effects import CONTROL, acts

Control = scf.ForOp | scf.WhileOp | scf.IfOp
_ENDS = (scf.YieldOp, scf.ConditionOp)


@dataclass(frozen=True, eq=False)
class NtDropCarriedPass(ModulePass):
    """Drop the values that loops on tensors carry, and branches give, and nobody reads."""

    name = "nt-drop-carried"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp) and len(function.body.blocks) == 1:
                drop_carried(function)


def drop_carried(function: FuncOp) -> None:
    """Put loops and branches without what nobody reads in place of those that have such values."""
    if any(isinstance(op, CONTROL) for op in function.body.block.ops):
        _drop_in(function.body.block, live_values(function))


def _drop_in(block: Block, live: set[SSAValue]) -> None:
    """The same for what is in a block: from its end on, so that what goes has no uses any more."""
    changed: dict[Operation, tuple[list[int], list[int]]] = {}
    for op in block.ops:
        if isinstance(op, CONTROL) and not _is_dead(op, live):
            starts = [k for k, argument in enumerate(_carried(op)) if argument in live]
            results = starts if _passes_on(op) else _given(op, live)
            if len(results) < len(op.results) or len(starts) < len(_carried(op)):
                changed[op] = starts, results
                _keep_ends(op, starts, results)
            for inner in _blocks_of(op):
                _drop_in(inner, live)
    for op in reversed(list(block.ops)[:-1]):
        if _is_dead(op, live):
            block.erase_op(op)
        elif op in changed:
            assert isinstance(op, CONTROL)
            live.update(_rebuilt(op, *changed[op]).results)


def _passes_on(op: Control) -> bool:
    """Whether a loop gives what it carries, in order: a value that only its condition reads is then a result, too."""
    if isinstance(op, scf.WhileOp):
        return tuple(_end_of(op.before_region.block).operands[1:]) == tuple(op.before_region.block.args)
    return isinstance(op, scf.ForOp)


def _given(op: scf.WhileOp | scf.IfOp, live: set[SSAValue]) -> list[int]:
    """The results that somebody reads; of `scf.while` they are what its body is given, too."""
    inside = op.after_region.block.args if isinstance(op, scf.WhileOp) else op.results
    pairs = zip(op.results, inside, strict=True)
    return [k for k, pair in enumerate(pairs) if not live.isdisjoint(pair)]


def _is_dead(op: Operation, live: set[SSAValue]) -> bool:
    return live.isdisjoint(op.results) and not acts(op)


def _keep_ends(op: Control, starts: Sequence[int], results: Sequence[int]) -> None:
    """Let the blocks end with what is still carried or given."""
    for block in _blocks_of(op):
        end = _end_of(block)
        which = starts if isinstance(op, scf.WhileOp) and isinstance(end, scf.YieldOp) else results
        fixed = 1 if isinstance(end, scf.ConditionOp) else 0
        end.operands = [*end.operands[:fixed], *(end.operands[fixed + k] for k in which)]


def _rebuilt(op: Control, starts: Sequence[int], results: Sequence[int]) -> Control:
    """The same with these carried values and results, in place of `op`."""
    blocks = _blocks_of(op)
    if isinstance(op, scf.ForOp):
        _keep_arguments(blocks[0], [0, *(1 + k for k in starts)])
    elif isinstance(op, scf.WhileOp):
        _keep_arguments(blocks[0], starts)
        _keep_arguments(blocks[1], results)
    regions = [op.detach_region(region) for region in list(op.regions)]
    types = [op.results[k].type for k in results]
    if isinstance(op, scf.ForOp):
        new = scf.ForOp(op.lb, op.ub, op.step, [op.iter_args[k] for k in starts], *regions)
    elif isinstance(op, scf.WhileOp):
        new = scf.WhileOp([op.arguments[k] for k in starts], types, *regions)
    else:
        new = scf.IfOp(op.cond, types, *regions)
    new.attributes.update(op.attributes)
    new.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(new, op)
    for k, result in zip(results, new.results, strict=True):
        result.name_hint = op.results[k].name_hint
        op.results[k].replace_all_uses_with(result)
    op.parent.erase_op(op)
    return new


def _keep_arguments(block: Block, which: Sequence[int]) -> None:
    for k in reversed(range(len(block.args))):
        if k not in which:
            block.erase_arg(block.args[k])


def live_values(function: FuncOp) -> set[SSAValue]:
    """The values of a function that its results, or what acts, are made of, after any number of iterations."""
    pending: list[SSAValue] = []
    for op in _ops_of(function.body.block):
        if not isinstance(op, (*CONTROL, *_ENDS)) and (
            (op.parent_op() is function and op.next_op is None) or acts(op)
        ):
            pending += _reads(op)
            while (op := op.parent_op()) is not None and op is not function:
                pending += _decides(op)
    live: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        if value not in live:
            live.add(value)
            pending += _made_of(value)
    return live


def _made_of(value: SSAValue) -> list[SSAValue]:
    """What a value needs."""
    owner, k = value.owner, value.index  # pyright: ignore
    if isinstance(owner, Block):
        op = owner.parent_op()
        if isinstance(op, scf.ForOp):
            return [op.iter_args[k - 1], _end_of(owner).operands[k - 1]] if k else []
        if isinstance(op, scf.WhileOp) and owner is op.before_region.block:
            return [op.arguments[k], _end_of(op.after_region.block).operands[k]]
        return [_end_of(op.before_region.block).operands[k + 1]] if isinstance(op, scf.WhileOp) else []
    if isinstance(owner, scf.ForOp):
        return [*_decides(owner), owner.body.block.args[k + 1]]
    if isinstance(owner, scf.WhileOp):
        return [*_decides(owner), _end_of(owner.before_region.block).operands[k + 1]]
    if isinstance(owner, scf.IfOp):
        return [*_decides(owner), *(_end_of(block).operands[k] for block in _blocks_of(owner))]
    return _reads(owner)


def _decides(op: Operation) -> list[SSAValue]:
    """What says how often a loop runs, or which branch does."""
    if isinstance(op, scf.ForOp):
        return [op.lb, op.ub, op.step]
    if isinstance(op, scf.WhileOp):
        return [_end_of(op.before_region.block).operands[0]]
    return [op.cond] if isinstance(op, scf.IfOp) else list(op.operands)


def _ops_of(block: Block) -> list[Operation]:
    """The operations of a block and of the loops and branches in it, before what is inside of them."""
    found: list[Operation] = []
    for op in block.ops:
        found.append(op)
        if isinstance(op, CONTROL):
            found += (one for inner in _blocks_of(op) for one in _ops_of(inner))
    return found


def _reads(op: Operation) -> list[SSAValue]:
    """The values that an operation reads, in its regions too."""
    return [value for inner in op.walk() for value in inner.operands]


def _carried(op: Control) -> Sequence[SSAValue]:
    if isinstance(op, scf.IfOp):
        return ()
    return op.body.block.args[1:] if isinstance(op, scf.ForOp) else op.before_region.block.args


def _blocks_of(op: Operation) -> list[Block]:
    return [region.block for region in op.regions if region.blocks]


def _end_of(block: Block) -> Operation:
    assert block.last_op is not None
    return block.last_op
