"""`scf.for`, `scf.if`, `scf.while`, `cf.assert` and `func.call` to llvm: the CFG is built as the walk goes.

A counted loop is emitted rotated (guard, then a body that tests at its end), the form LLVM's loop passes
want, so that explicit-vector code needs no loop rotation:

    scf.for %i = %lb to %ub step %s iter_args(%a = %a0) -> (f32) { ... scf.yield %a1 }
    ->
      llvm.cond_br (%lb < %ub), ^body(%lb, %a0), ^exit(%a0)
    ^body(%i, %a):
      ...
      llvm.cond_br (%i + %s < %ub), ^body(%i + %s, %a1), ^exit(%a1)
    ^exit(%r):
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import cf, func, llvm, memref, scf
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, MemRefType, StringAttr, VectorType, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...analysis.nest.check_sites import checked_index, raises
from ...dialects.attributes import (
    AS_WRITTEN,
    BRANCH_COUNTS,
    BRANCH_WEIGHTS,
    CUSTOM_CALL,
    KIND,
    MATH_FUNCTION,
    NO_SLP,
    SITE,
)
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext.llvm import LoopAnnotationAttr
from ...dialects.walk import walk
from ..abi.error_codes import ERROR_CODES, FACTS, POLL, RAISE, RAISED
from ..abi.handed_over import HAND_OVER
from .builder import FunctionBuilder, Handler
from .memref import layout_strides
from .types import NSW, PTR, TILE, VOID, lower_type, make_function

NO_LOOP_TRANSFORMS = LoopAnnotationAttr(BoolAttr.from_bool(True), BoolAttr.from_bool(True))
"""A loop over explicit vectors is what the schedule asked for: LLVM must not vectorize or unroll it again."""


def _carried_types(op: Operation, values: Sequence[SSAValue]) -> list[Attribute]:
    for value in values:
        if isinstance(value.type, MemRefType):
            raise fail(
                op, f"{op.name} cannot pass on a memref", hint="write into one buffer", error=LoweringError
            )
    return [lower_type(op, value.type) for value in values]


def _block_like(b: FunctionBuilder, op: Operation, values: Sequence[SSAValue]) -> Block:
    """A block whose arguments are the llvm forms of `values`, bound to them."""
    block = b.new_block(_carried_types(op, values))
    for source, arg in zip(values, block.args, strict=True):
        arg.name_hint = source.name_hint
        b.bind(source, arg)
    return block


def loop_annotation(b: FunctionBuilder, op: Operation) -> Attribute | None:
    """Off-switches for a loop that holds explicit vectors, or is to stay as written; others are noted as scalar."""
    nested, explicit = False, AS_WRITTEN in op.attributes
    for inner in walk(op)[1:]:
        nested = nested or isinstance(inner, scf.ForOp | scf.WhileOp | scf.ParallelOp)
        explicit = explicit or any(
            isinstance(v.type, VectorType) or v.type.name == TILE for v in (*inner.results, *inner.operands)
        )
        if nested and explicit:
            return None
    if explicit:
        return None if nested else NO_LOOP_TRANSFORMS
    if not nested:
        b.has_scalar_loop = True
        b.may_use_slp = b.may_use_slp and NO_SLP not in op.attributes
    return None


def _for(b: FunctionBuilder, op: scf.ForOp) -> None:
    _carried_types(op, op.iter_args)
    lower, upper, step = b.value(op.lb), b.value(op.ub), b.value(op.step)
    unsigned = "unsignedCmp" in op.properties or "unsignedCmp" in op.attributes
    initial = [b.value(v) for v in op.iter_args]
    counted_loop(b, op, lower, upper, step, initial, op.res, "ult" if unsigned else "slt")


def counted_loop(
    b: FunctionBuilder,
    op: scf.ForOp | scf.ParallelOp,
    lower: SSAValue,
    upper: SSAValue,
    step: SSAValue,
    initial: Sequence[SSAValue],
    results: Sequence[SSAValue],
    predicate: str = "slt",
) -> None:
    source = op.body.block
    body = _block_like(b, op, source.args)
    exit_block = _block_like(b, op, results)
    if _runs_at_least_once(lower, upper):
        b.branch(body, [lower, *initial])
    else:
        b.branch_if(b.compare(predicate, lower, upper), body, [lower, *initial], exit_block, initial)
    annotation = loop_annotation(b, op)
    b.start(body)
    terminator = b.lower_block(source)
    yielded = [b.value(v) for v in terminator.operands] if terminator is not None else []
    b.location = op.location
    following = b.emit(llvm.AddOp, (body.args[0], step), step.type, {"overflowFlags": NSW})
    more = b.compare(predicate, following, upper)
    b.branch_if(more, body, [following, *yielded], exit_block, yielded, annotation)
    b.start(exit_block)


def _runs_at_least_once(lower: SSAValue, upper: SSAValue) -> bool:
    owners = (lower.owner, upper.owner)
    if not all(isinstance(owner, llvm.ConstantOp) for owner in owners):
        return False
    low, high = (owner.value.value.data for owner in owners)  # type: ignore[union-attr]
    return 0 <= low < high


def _if(b: FunctionBuilder, op: scf.IfOp) -> None:
    condition = b.value(op.cond)
    merge = _block_like(b, op, op.results)
    then = b.new_block()
    has_else = bool(op.false_region.blocks)
    otherwise = b.new_block() if has_else else merge
    profile = {name: op.attributes[name] for name in (BRANCH_COUNTS, BRANCH_WEIGHTS) if name in op.attributes}
    b.branch_if(condition, then, (), otherwise, (), profile=profile)
    _branch_region(b, then, op.true_region.block, merge)
    if has_else:
        _branch_region(b, otherwise, op.false_region.block, merge)
    b.start(merge)


def _branch_region(b: FunctionBuilder, block: Block, source: Block, merge: Block) -> None:
    b.start(block)
    terminator = b.lower_block(source)
    b.branch(merge, [b.value(v) for v in terminator.operands] if terminator is not None else ())


def _while(b: FunctionBuilder, op: scf.WhileOp) -> None:
    before_source, after_source = op.before_region.block, op.after_region.block
    before = _block_like(b, op, before_source.args)
    after = _block_like(b, op, after_source.args)
    exit_block = _block_like(b, op, op.results)
    annotation = loop_annotation(b, op)
    b.branch(before, [b.value(v) for v in op.operands])
    b.start(before)
    condition = b.lower_block(before_source)
    assert isinstance(condition, scf.ConditionOp)
    flag, *values = condition.operands
    passed = [b.value(v) for v in values]
    b.branch_if(b.value(flag), after, passed, exit_block, passed)
    b.start(after)
    terminator = b.lower_block(after_source)
    assert terminator is not None
    b.branch(before, [b.value(v) for v in terminator.operands], annotation)
    b.start(exit_block)


def _execute_region(b: FunctionBuilder, op: scf.ExecuteRegionOp) -> None:
    if len(op.region.blocks) != 1:
        raise fail(op, "scf.execute_region with several blocks has no translation", error=LoweringError)
    terminator = b.lower_block(op.region.block)
    for result, value in zip(op.results, terminator.operands if terminator else (), strict=True):
        b.bind(result, b.value(value))


def _assert(b: FunctionBuilder, op: cf.AssertOp) -> None:
    if b.parent is not None:
        raise fail(
            op,
            "a run-time check inside scf.parallel has no translation",
            hint="hoist the check out of the parallel loop, or make the loop serial",
            error=LoweringError,
        )
    kind = op.attributes.get(KIND)
    site = op.attributes.get(SITE)
    name = kind.data if isinstance(kind, StringAttr) else "AssertionError"
    if name not in ERROR_CODES:
        raise fail(
            op,
            f"unknown kind of error {name!r}",
            hint=f"one of {', '.join(ERROR_CODES)}",
            error=LoweringError,
        )
    number = site.value.data if isinstance(site, IntegerAttr) else 0
    index, extent = checked_index(op.arg) if name in ("IndexError", "OverflowError") else (None, None)
    words = [0 if v is None else b.value(v) for v in (index, extent)]
    b.fail_unless(b.value(op.arg), ERROR_CODES[name], number, *words)


def _call(b: FunctionBuilder, op: func.CallOp) -> None:
    """A call of a function of the module, of one that the runtime answers, or of an external function of scalars."""
    if raises(op):
        return _raise(b, op)
    if (declared := b.module.answered.get(op.callee.string_value())) is not None:
        from .calls import call_runtime

        return call_runtime(b, op, declared)
    if op.callee.string_value().startswith(HAND_OVER):
        from .handed_over import hand_over

        return hand_over(b, op)
    if op.callee.string_value() == POLL:
        return _poll(b, op)
    if (callee := b.module.sources.get(op.callee.string_value())) is not None:
        return _call_kernel(b, op, callee)
    if len(op.results) > 1:
        raise fail(op, "a call with several results has no translation", error=LoweringError)
    operands = [b.value(v) for v in op.arguments]
    result = lower_type(op, op.results[0].type) if op.results else None
    name = op.callee.string_value()
    if name not in b.module.externals:
        raise fail(
            op,
            f"calls @{name}, which is not a function of this module",
            hint="declare it: func.func private @f(f64) -> f64",
            error=LoweringError,
        )
    value = b.call(name, operands, result)
    if value is not None:
        b.bind(op.results[0], value)


def _raise(b: FunctionBuilder, op: func.CallOp) -> None:
    """A `raise` with numbers: they go into the error record behind what every check tells."""
    if b.parent is not None:
        raise fail(
            op,
            "a raise inside scf.parallel has no translation",
            hint="make the loop serial",
            error=LoweringError,
        )
    site = op.attributes.get(SITE)
    for k, word in enumerate(op.arguments):
        b.store(b.value(word), b.gep(b.error(), FACTS + k, i64))
    number = site.value.data if isinstance(site, IntegerAttr) else 0
    b.fail_unless(b.integer(0, i1), RAISED, number)


def _poll(b: FunctionBuilder, op: func.CallOp) -> None:
    """Let Python handle signals where that is due: the error record says when it was asked last."""
    name = b.module.declare(POLL, [PTR, i1], i1)
    b.bind(op.results[0], b.call(name, [b.error(), b.value(op.arguments[0])], i1))


def _call_kernel(b: FunctionBuilder, op: func.CallOp, callee: func.FuncOp) -> None:
    """Call the kernel of a function of the module; where that fails, this one does."""
    if MATH_FUNCTION in callee.attributes:
        result = lower_type(op, op.results[0].type)
        b.bind(op.results[0], b.call(callee.sym_name.data, [b.value(v) for v in op.arguments], result))
        return
    if op.results:
        raise fail(op, "calls a function with results", error=LoweringError)
    name = callee.sym_name.data
    reached = _reachable(b, callee)
    if b.parent is not None and any(isinstance(o, cf.AssertOp) for f in reached for o in f.walk()):
        raise fail(
            op,
            f"@{name} has run-time checks, and a check inside scf.parallel has no translation",
            hint="make the loop serial",
            error=LoweringError,
        )
    arguments: list[SSAValue] = []
    for value in op.arguments:
        if not isinstance(value.type, MemRefType):
            arguments.append(b.value(value))
            continue
        ref = b.memref(value)
        b.read.add(ref.base)
        b.written.add(ref.base)
        arguments.append(b.gep(ref.base, ref.offset, ref.element))
        unknown = [n for n, known in zip(ref.sizes, value.type.get_shape(), strict=True) if known < 0]
        stated = layout_strides(op, value.type)
        if stated is not None:
            unknown += [s for s, known in zip(ref.strides, stated, strict=True) if known is None]
        arguments += [b.size(size) for size in unknown]
    status = b.call(f"{name}.kernel", [*arguments, b.error()], i32)
    if any(isinstance(o, _FAILING) for f in reached for o in f.walk()):
        words = [b.load(b.gep(b.error(), k, i64), i64) for k in range(4)]
        b.fail_unless(b.compare("eq", status, b.integer(0, i32)), *words)


_FAILING = (cf.AssertOp, memref.AllocOp, memref.AllocaOp)
"""What can end a function early: a check, or memory that there is not."""


def _reachable(b: FunctionBuilder, callee: func.FuncOp) -> list[func.FuncOp]:
    """The functions of the module that a call of `callee` may run."""
    found = [callee]
    for function in found:
        for op in function.walk():
            if isinstance(op, func.CallOp):
                other = b.module.sources.get(op.callee.string_value())
                if other is not None and other not in found:
                    found.append(other)
    return found


def declare_external(b_module: object, op: func.FuncOp) -> None:
    """Note a `func.func private @f(f64) -> f64` without a body."""
    if op.sym_name.data.startswith((RAISE, HAND_OVER, POLL)):
        return
    if CUSTOM_CALL in op.attributes:
        from .calls import declare_answered

        return declare_answered(b_module, op)  # pyright: ignore
    types = [lower_type(op, t) for t in op.function_type.inputs]
    outputs = [lower_type(op, t) for t in op.function_type.outputs]
    if len(outputs) > 1:
        raise fail(op, "an external function has at most one result", error=LoweringError)
    name = op.sym_name.data
    passthrough = op.attributes.get("passthrough")
    b_module.externals[name] = make_function(  # type: ignore[attr-defined]
        name,
        types,
        outputs[0] if outputs else VOID,
        type(op.body)(),
        linkage="external",
        passthrough=passthrough.data if passthrough is not None else (),  # type: ignore[attr-defined]
        location=op.location,
    )


SCF: dict[str, Handler] = {
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "scf.execute_region": _execute_region,
    "cf.assert": _assert,
    "func.call": _call,
}
