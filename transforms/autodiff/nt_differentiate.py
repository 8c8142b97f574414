"""nt-differentiate: derivatives of functions become the operations that compute them.

    func.func private @loss(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
      %y = nt.multiply %x, %w : tensor<8xf32>
      func.return %y : tensor<8xf32>
    }
    %y, %g = nt.vjp @loss(%x, %w : tensor<8xf32>, tensor<8xf32>) cotangents(%c : tensor<8xf32>) wrt [0] of [0]
             -> (tensor<8xf32>, tensor<8xf32>)
  becomes
    %y = nt.multiply %x, %w : tensor<8xf32>
    %g = nt.multiply %c, %w : tensor<8xf32>

The module is canonicalized, so that there is less to differentiate. The function is put in place of the operation, and its
derivative behind it: what both compute is computed once. Innermost first: derivatives (and calls, and nt.batch) in the
function have become operations before it is differentiated itself; a nt.batch whose function holds derivatives is put in
place here too. Private functions that nothing refers to any more go, and `nt.stop_gradient` too. What has no rule is
refused where it is. Regions of `nt.checkpoint` are put in their places when nothing is differentiated any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import cf, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable, is_side_effect_free
from xdsl.transforms.canonicalize import CanonicalizePass

from ...dialects.diagnostic import fail
from ...dialects.nt.batch_op import BatchOp
from ...dialects.nt.checkpoint_ops import CheckpointOp
from ...dialects.nt.composite_op import CompositeOp
from ...dialects.nt.derivative_ops import JvpOp, OfFunction, StopGradientOp, VjpOp
from ...dialects.nt.halves import Half, Mark, as_marked
from ...dialects.nt.ops import LoopsOp
from ..batching.expand import batch
from ..tensor.nt_decompose import decompose
from ..tensor.unused_functions import drop_unused
from .activity import active_values, useful_values
from .builder import Builder
from .control.snapshots import Bound, ask_for_snapshots
from .forward import Forward
from .islands.primal import may_stop
from .linearity import not_linear
from .opened import opened
from .replays import drop_calls
from .reverse import Reverse
from .rules.row_statistics import mark
from .rules.table import forward_rule, reverse_rule
from .rules.user_rules import has_rule


@dataclass(frozen=True, eq=False)
class NtDifferentiatePass(ModulePass):
    """Replace nt.vjp and nt.jvp by the operations that compute them.

    `snapshots`: how many states the reverse of a loop keeps, where the loop does not say; 0: what each iteration needs.
    `recompute`: the reverse of attention computes the scores again, row by row, as kernels do (rules/row_statistics.py).
    """

    name = "nt-differentiate"

    snapshots: int = 0
    recompute: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.snapshots:
            ask_for_snapshots(op, Bound(self.snapshots))
        if self.recompute:
            mark(op.walk())
        if any(isinstance(o, VjpOp | JvpOp) for o in op.walk()):
            CanonicalizePass().apply(ctx, op)
        callees = _Expansion(op).run()
        drop_unused(op, callees)
        for checkpoint in [o for o in op.walk() if isinstance(o, CheckpointOp)]:
            decompose(checkpoint)
        for stop in [o for o in op.walk() if isinstance(o, StopGradientOp)]:
            stop.result.replace_all_uses_with(stop.source)
            stop.parent.erase_op(stop)  # pyright: ignore


class _Expansion:
    """Expands the derivatives of a module, those inside of a function before those of the function."""

    def __init__(self, module: ModuleOp):
        self._module = module
        self._used: set[str] = set()
        self._halves = _Halves()
        self._open: list[str] = []
        self._transposed: list[str] = []
        """The rules that are being differentiated with respect to their tangents, within each other."""

    def run(self) -> set[str]:
        """Expand all; gives the names of the functions that were put in place of something."""
        for function in [o for o in self._module.ops if isinstance(o, func.FuncOp)]:
            self._expand_in(function)
        return self._used

    def _expand_in(self, function: func.FuncOp, inline_calls: bool = False) -> None:
        name = function.sym_name.data
        if name in self._open:
            raise fail(function, f"the derivative of '{name}' needs itself: recursion is not differentiated")
        self._open.append(name)
        for op in [o for o in function.walk() if isinstance(o, OfFunction | func.CallOp)]:
            if isinstance(op, func.CallOp) and not inline_calls:
                continue
            callee = SymbolTable.lookup_symbol(self._module, op.callee)
            if not isinstance(callee, func.FuncOp) or not callee.body.blocks:
                continue  # a call of the runtime: it prints
            self._expand_one(op, callee, function)
        self._open.pop()

    def _expand_one(self, op: OfFunction | func.CallOp, callee: func.FuncOp, function: func.FuncOp) -> None:
        """Put the code of `op` in its place in `function`, and that of derivatives which it stands for."""
        self._expand_in(callee, inline_calls=True)
        self._used.add(callee.sym_name.data)
        if isinstance(op, BatchOp):
            return batch(op)
        ruled = any(isinstance(o, CompositeOp) and has_rule(o) for o in callee.walk())
        before = {o for o in function.walk() if isinstance(o, OfFunction | func.CallOp)} if ruled else set()
        block, before_op, after_op = op.parent, op.prev_op, op.next_op
        _expand(op, callee, self._halves)  # pyright: ignore
        for made in [o for o in function.walk() if isinstance(o, OfFunction | func.CallOp)] if ruled else ():
            rule = SymbolTable.lookup_symbol(self._module, made.callee)
            if made not in before and isinstance(rule, func.FuncOp) and rule.body.blocks:
                self._expand_rule(made, rule, function)
        if isinstance(op, VjpOp | JvpOp) and op.is_replay:
            assert block is not None
            drop_calls(block, before_op, after_op)

    def _expand_rule(self, op: OfFunction | func.CallOp, rule: func.FuncOp, function: func.FuncOp) -> None:
        """Put a rule in its place. One that needs its own derivative on the way never ends."""
        name = rule.sym_name.data
        if name in self._transposed:
            raise fail(
                op,
                "a rule of nt.custom_jvp applies its own function to tangents: reverse mode needs the derivative of that, "
                "which is by the same rule again",
                hint="write the tangent without the function, or give the function nt.custom_vjp",
            )
        if not isinstance(op, VjpOp | JvpOp):
            return self._expand_one(op, rule, function)
        if isinstance(op, VjpOp) and (at := not_linear(rule, op.wrt_indices, op.of_indices)) is not None:
            raise fail(
                op,
                "a rule of nt.custom_jvp is not linear in the tangents: reverse mode cannot transpose it",
                hint="write the tangent as a sum of products with the tangents, or give the function nt.custom_vjp",
                notes=[(at, "this is not linear in them")],
            )
        self._transposed.append(name)
        self._expand_one(op, rule, function)
        self._transposed.pop()


class _Halves:
    """The marks of the two halves of each derivative, each with a name of its own."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def of(self, callee: func.FuncOp) -> tuple[Mark, Mark]:
        """The marks of one more derivative of `callee`."""
        name = base = callee.sym_name.data
        number = 1
        while name in self._names:
            number += 1
            name = f"{base}.{number}"
        self._names.add(name)
        return Mark(Half(name, False)), Mark(Half(name, True))


def _expand(op: VjpOp | JvpOp | func.CallOp, callee: func.FuncOp, halves: _Halves) -> None:
    if isinstance(op, func.CallOp):
        _, results = _inline(op, callee, op.arguments, replay=False)
        _replace(op, results)
    elif isinstance(op, VjpOp):
        _expand_vjp(op, callee, *halves.of(callee))
    else:
        _expand_jvp(op, callee)


def _inline(
    op: Operation,
    callee: func.FuncOp,
    arguments: Sequence[SSAValue],
    *,
    replay: bool,
    mark: Mark | None = None,
) -> tuple[list[Operation], list[SSAValue]]:
    """Put the operations of `callee` before `op`; gives them and the values that the function returns."""
    if len(callee.body.blocks) != 1:
        raise fail(
            callee,
            f"'{callee.sym_name.data}' has several blocks: only structured control flow is differentiated",
        )
    block, parent = callee.body.block, op.parent
    assert parent is not None
    mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
    made: list[Operation] = []
    for inner in block.ops:
        if isinstance(inner, func.ReturnOp):
            return made, [mapping.get(v, v) for v in inner.operands]
        if replay and not inner.results and not is_side_effect_free(inner):
            continue
        copy = inner.clone(mapping)
        for one in copy.walk():
            place = one.location if mark is None else mark.on(one.location)
            one.location = as_marked(place, op.location)
        parent.insert_op_before(copy, op)
        if replay:
            _silence(copy)
        made.append(copy)
    raise fail(callee, "a function ends with func.return")


def _silence(op: Operation) -> None:
    """Erase what an operation does in its regions beside computing: checks, and calls of the runtime that print."""
    for inner in [o for o in op.walk() if isinstance(o, cf.AssertOp | func.CallOp) and not o.results]:
        assert inner.parent is not None
        inner.parent.erase_op(inner)


def _replace(op: Operation, values: Sequence[SSAValue]) -> None:
    for result, value in zip(op.results, values, strict=True):
        if value.name_hint is None and not isinstance(value.owner, func.FuncOp):
            value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
    assert op.parent is not None
    op.parent.erase_op(op)


class _Copies:
    """The arguments of a derivative, those that are differentiated as values of their own, whatever else they are."""

    def __init__(self, op: VjpOp | JvpOp):
        builder = Builder(op.parent, op, op.location)  # pyright: ignore
        self.arguments = list(op.arguments)
        for k in op.wrt_indices:
            self.arguments[k] = builder.value(StopGradientOp(op.arguments[k]))
        self.starts = [self.arguments[k] for k in op.wrt_indices]

    def undo(self) -> None:
        """Use the arguments themselves."""
        for value in self.starts:
            copy = value.owner
            assert isinstance(copy, StopGradientOp) and copy.parent is not None
            value.replace_all_uses_with(copy.source)
            copy.parent.erase_op(copy)


def _expand_vjp(op: VjpOp, callee: func.FuncOp, forward: Mark, backward: Mark) -> None:
    copies = _Copies(op)
    ops, results = _inline(op, callee, copies.arguments, replay=op.is_replay, mark=forward)
    ops = opened(ops, copies.starts, results, reverse=True)
    builder = Builder(op.parent, op, op.location, backward)  # pyright: ignore
    to = Reverse(builder, active_values(ops, copies.starts), reverse_rule)
    for k, cotangent in zip(op.of_indices, op.directions, strict=True):
        to.add(results[k], cotangent)
    to.run(ops)
    builder.location = op.location
    gradients = [_or_zeros(to.take(v), v, builder) for v in copies.starts]
    _replace(op, gradients if op.is_replay else [*map(to.now, results), *gradients])
    _erase_unused(ops, op.is_replay)
    copies.undo()


def _expand_jvp(op: JvpOp, callee: func.FuncOp) -> None:
    copies = _Copies(op)
    ops, results = _inline(op, callee, copies.arguments, replay=op.is_replay)
    ops = opened(ops, copies.starts, results)
    builder = Builder(op.parent, op, op.location)  # pyright: ignore
    by = Forward(builder, useful_values(ops, [results[k] for k in op.of_indices]), forward_rule)
    for value, tangent in zip(copies.starts, op.directions, strict=True):
        by.set(value, tangent)
    by.run(ops)
    builder.location = op.location
    results = [by.now(v) for v in results]
    tangents = [_or_zeros(by.of(results[k]), results[k], builder) for k in op.of_indices]
    _replace(op, tangents if op.is_replay else [*results, *tangents])
    _erase_unused(ops, op.is_replay)
    copies.undo()


def _erase_unused(ops: Sequence[Operation], is_replay: bool) -> None:
    """Erase what only the function needed. Islands that check something stay, but not in a replay: they have checked it."""
    for op in reversed(ops):
        if op.parent is None or not op.results or any(r.first_use for r in op.results):
            continue
        if (is_replay or not may_stop(op)) if isinstance(op, LoopsOp) else is_side_effect_free(op):
            op.parent.erase_op(op)


def _or_zeros(value: SSAValue | None, like: SSAValue, builder: Builder) -> SSAValue:
    return builder.zeros(like) if value is None else value
