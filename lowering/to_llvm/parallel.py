"""`scf.parallel` to llvm: the body becomes a function, which `nestor_parallel` runs on several threads.

    scf.parallel (%i) = (%c0) to (%n) step (%c1) { ... } {nestor.grain = 4096 : i64}
    ->
      %threads = min(nestor_max_threads(), %n / 4096)
      llvm.cond_br (%threads > 1), ^parallel, ^serial
    ^parallel:
      store the captured values to a stack record %ctx
      llvm.call @nestor_parallel(@f.parallel0, %ctx, %threads)
    ^serial:
      llvm.call @f.parallel0.body(0, %n, captured values ...)

`@f.parallel0(ptr ctx, i64 thread, i64 threads)` reads the record, takes the thread's share of the iterations
(iteration_shares.py) and calls `@f.parallel0.body(i64 lo, i64 hi, ...)`, whose pointer parameters are `noalias` again.
With {nestor.descending = 512 : i64} the body does its share in stretches of 512 iterations, the last stretch first: what
the nest before it touched last is then still in the caches.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm, scf
from xdsl.dialects.builtin import SymbolRefAttr, i64
from xdsl.ir import Attribute, SSAValue

from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import llvm_intrinsics as intr
from .builder import FunctionBuilder, Handler
from .iteration_shares import (
    COUNTER,
    MOST_THREADS,
    THREAD_LIBRARY,
    ask,
    ceiling_divide,
    field,
    field_alignment,
    grain_of,
    is_descending,
    outline_share,
    trip_count,
)
from .scf import counted_loop
from .types import PTR, UNIT, VOID, make_function


def _parallel(b: FunctionBuilder, op: scf.ParallelOp) -> None:
    if len(op.lowerBound) != 1 or op.initVals:
        raise fail(op, "scf.parallel has one dimension and no reduction at this level", error=LoweringError)
    lower, upper, step = (b.value(vs[0]) for vs in (op.lowerBound, op.upperBound, op.step))
    if b.parent is not None:
        # Already on a thread of a parallel region: nested ones run serially.
        counted_loop(b, op, lower, upper, step, (), ())
        return
    name = f"{b.name}.parallel{b.parallel_regions}"
    b.parallel_regions += 1
    body = _outline_body(b, op, name)
    captured = [lower, upper, step, *body.captured]
    record = llvm.LLVMStructType.from_type_list([*(value.type for value in captured), PTR])
    outline_share(b, op, name, record)
    if body.may_fail:
        b.store(b.integer(0), b.error())
    _run(b, op, name, record, captured)
    if body.may_fail:
        code = b.load(b.error(), i64)
        site = b.load(b.gep(b.error(), 1, i64), i64)
        b.fail_unless(b.compare("eq", code, b.integer(0)), code, site)


def _outline_body(b: FunctionBuilder, op: scf.ParallelOp, name: str) -> FunctionBuilder:
    """`@name.body(lo, hi, step, captured ...)`: the iterations from lo to hi, as an ordinary loop."""
    body = FunctionBuilder(b.module, b.name, b.handler_of, parent=b)
    bounds = [body.entry.insert_arg(i64, k) for k in range(3)]
    for arg, hint in zip(bounds, ("lo", "hi", "step"), strict=True):
        arg.name_hint = hint
    step = b.value(op.step[0])
    lower, upper, step = (
        *bounds[:2],
        body.capture(step) if isinstance(step.owner, llvm.ConstantOp) else bounds[2],
    )
    if (length := is_descending(op)) is not None:
        _descend(body, op, lower, upper, step, length)
    else:
        counted_loop(body, op, lower, upper, step, (), ())
    body.emit(llvm.ReturnOp, ())
    body.finish()
    for outer, inner in body.captured.items():
        if inner in body.read:
            b.read.add(outer)
        if inner in body.written:
            b.written.add(outer)
    b.module.functions.append(
        make_function(
            f"{name}.body",
            [arg.type for arg in body.entry.args],
            VOID,
            body.region,
            linkage="internal",
            arg_attrs=pointer_attributes(body),
            passthrough=body.function_attributes(),
            location=op.location,
        )
    )
    return body


def _descend(
    b: FunctionBuilder, op: scf.ParallelOp, lower: SSAValue, upper: SSAValue, step: SSAValue, length: int
) -> None:
    """The iterations from `lower` to `upper` in stretches of `length`, each forward, the last of them first."""
    width = b.size(b.multiply(step, length))
    count = ceiling_divide(b, b.size(trip_count(b, lower, upper, step)), b.integer(length))
    stretch, done = b.new_block((i64,)), b.new_block()
    b.branch_if(b.compare("sgt", count, b.integer(0)), stretch, [count], done, ())
    b.start(stretch)
    left = b.size(b.add(stretch.args[0], -1))
    start = b.size(b.add(lower, b.multiply(left, width)))
    end = b.binary(intr.SMinOp, b.size(b.add(start, width)), upper)
    for value, hint in ((left, "left"), (start, "start"), (end, "end")):
        value.name_hint = hint
    counted_loop(b, op, start, end, step, (), ())
    b.branch_if(b.compare("sgt", left, b.integer(0)), stretch, [left], done, ())
    b.start(done)


def pointer_attributes(b: FunctionBuilder) -> list[dict[str, Attribute]]:
    """What is true of each parameter: not aliased, only read, only written."""
    attributes: list[dict[str, Attribute]] = []
    for arg in b.entry.args:
        own: dict[str, Attribute] = {}
        if arg in b.noalias_arguments:
            own["llvm.noalias"] = UNIT
        if arg in b.read and arg not in b.written:
            own["llvm.readonly"] = UNIT
        if arg in b.written and arg not in b.read:
            own["llvm.writeonly"] = UNIT
        attributes.append(own)
    return attributes


def _run(
    b: FunctionBuilder,
    op: scf.ParallelOp,
    name: str,
    record: llvm.LLVMStructType,
    captured: Sequence[SSAValue],
) -> None:
    """Decide how many threads the iterations are worth, and run the body on them or here."""
    lower, upper, step = captured[:3]
    wanted = trip_count(b, lower, upper, step)
    if (grain := grain_of(op)) > 1:
        wanted = b.binary(llvm.SDivOp, wanted, b.integer(grain))
    asking, fork, serial, done = (b.new_block() for _ in range(4))
    b.branch_if(b.compare("sgt", wanted, b.integer(1)), asking, (), serial, ())

    b.start(asking)
    most = b.emit(llvm.SExtOp, (ask(b, "nestor_max_threads"),), i64)
    most = b.binary(intr.SMinOp, most, b.integer(MOST_THREADS))
    threads = b.binary(intr.SMinOp, wanted, most)
    threads.name_hint = "threads"
    b.branch_if(b.compare("sgt", threads, b.integer(1)), fork, (), serial, ())

    b.start(fork)
    context = b.alloca(record, 64, "ctx")
    counters = b.alloca(llvm.LLVMArrayType(MOST_THREADS, COUNTER), 64, "taken")
    for k, value in enumerate((*captured, counters)):
        b.store(value, field(b, context, record, k), field_alignment(value.type))
    _reset(b, counters, threads)
    function = b.emit(llvm.AddressOfOp, (), PTR, {"global_name": SymbolRefAttr(name)})
    inputs, output = THREAD_LIBRARY["nestor_parallel"]
    b.module.declare("nestor_parallel", inputs, output)
    b.call("nestor_parallel", [function, context, threads], None)
    b.branch(done)

    b.start(serial)
    b.call(f"{name}.body", captured, None)
    b.branch(done)
    b.start(done)


def _reset(b: FunctionBuilder, counters: SSAValue, threads: SSAValue) -> None:
    """No piece of any thread's range is taken yet."""
    each, done = b.new_block((i64,)), b.new_block()
    b.branch(each, [b.integer(0)])
    b.start(each)
    thread = each.args[0]
    thread.name_hint = "each"
    b.store(b.integer(0), b.gep(counters, thread, COUNTER))
    following = b.size(b.add(thread, 1))
    b.branch_if(b.compare("slt", following, threads), each, [following], done, ())
    b.start(done)


PARALLEL: dict[str, Handler] = {"scf.parallel": _parallel}
