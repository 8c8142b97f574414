"""Who does which iterations of a parallel loop: the function that each thread runs (part of convert-to-llvm).

The iterations are cut into pieces, about sixteen a thread, and each thread has a range of neighbouring pieces: the same
one in every call, so that what it touched before is still in its caches. It takes them one after the other, and when
none is left it takes those that other threads have not begun, from the far end of their ranges:

    thread 0   0 1 2 3 4 5 6 7        thread 1   8 9 10 11 12 13 14 15
               > > > >   < <                     >  >  >  >  >  >  >  >
               by its owner; by thread 1, which was faster

A processor that is slower, or that the system gives to another process for a while, so costs its part of the time and not
all of it. Iterations are independent, so that results do not depend on who did them.

How much of a range is taken is one number for each thread: pieces taken by the owner in its lower half, by others in its
upper half. Whoever adds to it owns the piece that the number says, or learns that there is none left; no thread waits.
Owner and others take turns at opposite ends in a loop that goes backwards (`nestor.descending`). This is the
"static stealing" of OpenMP runtimes, with one atomic addition a piece.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import llvm, scf
from xdsl.dialects.builtin import IntegerAttr, VectorType, i32, i64
from xdsl.ir import Attribute, SSAValue

from ...dialects.attributes import DESCENDING, GRAIN
from ...dialects.ext import llvm as ext
from ...dialects.ext import llvm_intrinsics as intr
from .builder import FunctionBuilder
from .types import INBOUNDS, NSW, PTR, UNIT, VOID, byte_size, index_list, make_function

THREAD_LIBRARY = {
    "nestor_max_threads": ([], i32),
    "nestor_parallel": ([PTR, PTR, i64], VOID),
}
"""What `runtime/cpu/threads.py` has: how many threads a region may have, and what runs a function on them."""

PIECES, PIECES_OF_GRAIN = 16, 4
"""Pieces of the range of a thread, at most, and of what is just worth a thread: with fewer the last one lasts, with more the
additions and the starts of loops cost."""

MOST_THREADS = 256
"""Threads of one loop at most, since the numbers below are on the stack of the caller."""

COUNTER = llvm.LLVMArrayType(8, i64)
"""How much of a range is taken, on a cache line of its own."""

HALF = 32
"""Bits of the number for pieces that the owner took; the other half is for those that others took."""


def is_descending(op: scf.ParallelOp) -> int | None:
    """The length of the stretches of a loop that goes backwards."""
    length = op.attributes.get(DESCENDING)
    return length.value.data if isinstance(length, IntegerAttr) else None


def grain_of(op: scf.ParallelOp) -> int:
    """Iterations below which a thread does not pay."""
    grain = op.attributes.get(GRAIN)
    return grain.value.data if isinstance(grain, IntegerAttr) else 1


def outline_share(b: FunctionBuilder, op: scf.ParallelOp, name: str, record: llvm.LLVMStructType) -> None:
    """`@name(ctx, thread, threads)`: what one thread does."""
    share = FunctionBuilder(b.module, b.name, b.handler_of)
    context, thread, threads = (share.entry.insert_arg(type_, k) for k, type_ in enumerate((PTR, i64, i64)))
    for arg, hint in ((context, "ctx"), (thread, "thread"), (threads, "threads")):
        arg.name_hint = hint
    share.location = op.location
    lower, upper, step, *captured, counters = (
        share.load(field(share, context, record, k), type_, field_alignment(type_))
        for k, type_ in enumerate(record.types)
    )
    count = trip_count(share, lower, upper, step)
    length = share.binary(llvm.SDivOp, count, share.size(share.multiply(threads, PIECES)))
    length = share.binary(intr.SMaxOp, length, share.integer(max(1, grain_of(op) // PIECES_OF_GRAIN)))
    width = share.size(share.multiply(length, step))
    pieces = ceiling_divide(share, count, length)
    pieces.name_hint = "pieces"

    others, take, run, following, done = (share.new_block(types) for types in ((i64,), (), (), (), ()))
    share.branch(others, [share.integer(0)])
    share.start(others)
    away = others.args[0]
    away.name_hint = "away"
    range_ = _range(share, share.size(share.add(thread, away)), threads, pieces)
    is_own = share.compare("eq", away, share.integer(0))
    one = share.select(is_own, share.integer(1), share.integer(1 << HALF))
    counter = share.gep(counters, range_.owner, COUNTER)
    share.branch(take)

    share.start(take)
    update = ext.AtomicRMWOp.of("add", counter, one)
    share.block.add_op(update)
    by_owner = share.binary(llvm.AndOp, update.res, share.integer((1 << HALF) - 1))
    by_others = share.binary(llvm.LShrOp, update.res, share.integer(HALF))
    taken = share.size(share.add(by_owner, by_others))
    share.branch_if(
        share.compare("slt", taken, _less(share, range_.end, range_.start)), run, (), following, ()
    )

    share.start(run)
    if is_descending(op) is None:
        from_start, from_end, is_at_start = by_owner, by_others, is_own
    else:
        from_start, from_end = by_others, by_owner
        is_at_start = share.compare("ne", away, share.integer(0))
    piece = share.select(
        is_at_start,
        share.size(share.add(range_.start, from_start)),
        share.size(share.add(_less(share, range_.end, from_end), -1)),
    )
    piece.name_hint = "piece"
    low = share.size(share.add(lower, share.multiply(piece, width)))
    low.name_hint = "lo"
    high = share.binary(intr.SMinOp, share.size(share.add(low, width)), upper)
    high.name_hint = "hi"
    share.call(f"{name}.body", [low, high, step, *captured], None)
    share.branch(take)

    share.start(following)
    further = share.size(share.add(away, 1))
    share.branch_if(share.compare("slt", further, threads), others, [further], done, ())
    share.start(done)
    share.emit(llvm.ReturnOp, ())
    share.finish()
    b.module.functions.append(
        make_function(name, [PTR, i64, i64], VOID, share.region, linkage="internal", location=op.location)
    )


@dataclass(frozen=True, eq=False)
class _Range:
    """The pieces of one thread."""

    owner: SSAValue
    start: SSAValue
    end: SSAValue


def _range(b: FunctionBuilder, number: SSAValue, threads: SSAValue, pieces: SSAValue) -> _Range:
    """The pieces of thread `number`, which goes round."""
    is_behind = b.compare("sge", number, threads)
    owner = _less(b, number, b.select(is_behind, threads, b.integer(0)))
    start = b.binary(llvm.SDivOp, b.size(b.multiply(owner, pieces)), threads)
    end = b.binary(llvm.SDivOp, b.size(b.multiply(b.size(b.add(owner, 1)), pieces)), threads)
    for value, hint in ((owner, "owner"), (start, "start"), (end, "end")):
        value.name_hint = hint
    return _Range(owner, start, end)


# ---- what both sides of a parallel region use ---------------------------------------------------------


def field(b: FunctionBuilder, pointer: SSAValue, record: llvm.LLVMStructType, k: int) -> SSAValue:
    """The address of a field of the record of captured values."""
    properties: dict[str, Attribute] = {
        "elem_type": record,
        "noWrapFlags": INBOUNDS,
        "inbounds": UNIT,
        "rawConstantIndices": index_list(0, k),
    }
    return b.emit(ext.GEPOp, (pointer,), PTR, properties)


def field_alignment(type_: Attribute) -> int:
    """Bytes."""
    if isinstance(type_, llvm.LLVMPointerType):
        return 8
    return byte_size(type_.element_type if isinstance(type_, VectorType) else type_)


def ask(b: FunctionBuilder, name: str) -> SSAValue:
    """What a function of the thread library without parameters answers."""
    inputs, output = THREAD_LIBRARY[name]
    return b.call(b.module.declare(name, inputs, output), (), output)


def trip_count(b: FunctionBuilder, lower: SSAValue, upper: SSAValue, step: SSAValue) -> SSAValue:
    """Iterations of a loop."""
    distance = _less(b, upper, lower)
    if isinstance(step.owner, llvm.ConstantOp) and step.owner.value.value.data == 1:  # type: ignore[union-attr]
        return distance
    return ceiling_divide(b, distance, step)


def ceiling_divide(b: FunctionBuilder, value: SSAValue, divisor: SSAValue) -> SSAValue:
    """`value / divisor`, rounded up; both positive."""
    less_one = b.size(
        b.add(divisor, -1) if not isinstance(divisor.owner, llvm.ConstantOp) else _less_one(b, divisor)
    )
    return b.binary(llvm.SDivOp, b.size(b.add(value, less_one)), divisor)


def _less_one(b: FunctionBuilder, constant: SSAValue) -> SSAValue:
    return b.integer(constant.owner.value.value.data - 1)  # type: ignore[union-attr]


def _less(b: FunctionBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    return b.emit(llvm.SubOp, (lhs, rhs), i64, {"overflowFlags": NSW})
