"""Code in the place of one `nt.batch`, whose function holds no other that is to be put in place first."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from ...dialects.affine import AffineList
from ...dialects.diagnostic import fail
from ...dialects.nt import BatchOp, DimOp
from ...dialects.nt.batch_op import WHOLE
from . import calls, control, loops, tensors
from .batcher import Batcher, Rule, SlicesDiffer
from .each_slice import each_slice, slice_by_slice
from .scalars import is_scalar_operation, scalar_operations

RULES: dict[type[Operation], Rule] = {**tensors.RULES, **loops.RULES, **control.RULES, **calls.RULES}


def rule_of(op: Operation) -> Rule:
    """How an operation with stacked operands is made one on stacks."""
    rule = RULES.get(type(op))
    if rule is not None:
        return rule
    return scalar_operations if is_scalar_operation(op) else _none


def _none(b: Batcher, op: Operation) -> bool:
    return False


def _erase_between(first: Operation | None, end: Operation) -> None:
    """Erase what was inserted between two operations of a block."""
    while (last := end.prev_op) is not first:
        assert last is not None and last.parent is not None
        last.parent.erase_op(last)


def batch(op: BatchOp) -> None:
    """Put what `op` stands for in its place. Its function is left as it is; it has no nt.batch, nt.vjp or nt.jvp."""
    function = SymbolTable.lookup_symbol(op, op.callee)
    assert isinstance(function, FuncOp)
    if len(function.body.blocks) != 1:
        raise fail(op, f"nt.batch: {op.callee} has several blocks", hint="branches on tensors are scf.if")
    block = op.parent
    assert block is not None
    b = Batcher(rule_of, each_slice, op.slices, block, op)
    if op.slices == DYNAMIC_INDEX:
        value, axis = next((v, a) for v, a in zip(op.arguments, op.axes, strict=True) if a != WHOLE)
        b.count = AffineList.of(b.value(DimOp(value, axis)))
    body = function.body.block
    for argument, value, axis in zip(body.args, op.arguments, op.axes, strict=True):
        new = value if axis == WHOLE else b.with_slices_first(value, axis)
        b.put(argument, new, stacked=axis != WHOLE)
    *ops, end = body.ops
    first = op.prev_op
    values, stacked = dict(b.values), set(b.stacked)
    try:
        b.run(ops)
    except SlicesDiffer as differ:
        b.give_up()
        _erase_between(first, op)
        b.values, b.stacked, b.done = values, stacked, set()
        slice_by_slice(b, ops, differ)
    b.location = op.location
    for k, (result, value) in enumerate(zip(op.results_, end.operands, strict=True)):
        if k not in op.whole_results:
            new = b.stack(value)
        elif b.is_stacked(value):
            raise fail(
                op,
                f"nt.batch: result {k} differs from slice to slice, and is to be given as it is",
                hint="without whole [...] (out_axes=None) it is stacked",
            )
        else:
            new = b.values[value]
        new.name_hint = new.name_hint or result.name_hint
        result.replace_all_uses_with(new)
    block.erase_op(op)
