"""nest-block-scan: a scan (running results) is computed in blocks that do not wait for each other.

    nest.for "i" %i = 0 to %n {
      %a = nest.load %x[%i]
      nest.accumulate "s" add %a, %s[]
      %b = nest.load %s[]
      nest.store "y" %b, %y[%i]
    }

with loop=i, factor=256 becomes

    %s_blocks = nest.alloc "s_blocks"(%m) : memref<?xf32>         // %m is %n floordiv 256
    nest.for "i.sums.o" %o = 0 to %n floordiv 256 {               // the result of each block
      nest.store "s" %zero, %s_blocks[%o]
      nest.for "i.sums.i" %i = 0 to 256 {
        %a = nest.load %x[256 * %o + %i]
        nest.accumulate "s" add %a, %s_blocks[%o]
      }
    }
    %s_before = nest.alloc "s_before"(%m) : memref<?xf32>
    nest.for "i.carry" %o = 0 to %n floordiv 256 {                // what is before each block
      %t = nest.load %s[]
      nest.store "s" %t, %s_before[%o]
      %u = nest.load %s_blocks[%o]
      nest.accumulate "s" add %u, %s[]
    }
    nest.for "i.o" %o = 0 to %n floordiv 256 {
      %s_block = nest.alloc "s_block" : memref<f32>
      %t = nest.load %s_before[%o]
      nest.store "s" %t, %s_block[]
      nest.for "i.i" %i = 0 to 256 {
        %a = nest.load %x[256 * %o + %i]
        nest.accumulate "s" add %a, %s_block[]
        %b = nest.load %s_block[]
        nest.store "y" %b, %y[256 * %o + %i]
      }
    }
    nest.for "i.t" ... the %n mod 256 iterations that are left, as they were

The blocks of the first and of the third loop are independent: they can be parallel. The second one is a scan, too, of
which an iteration reads what is before it: it can be computed in blocks again. Refused unless the body is straight-line
code with one reduction that may run in any order, into an element that stays the same; its value must come from memory
that the loop does not write, and nothing may fail. "Reduce then scan" of Blelloch's work-efficient scans; in Halide an
`rfactor` and two updates written by hand, TVM, Exo and NNC have none.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.kernels.combiners import identity
from ....analysis.nest.kernels.loop_marks import refuse_in_vector, refuse_marked
from ....analysis.nest.kernels.running_results import refuse, running_result, running_update
from ....analysis.nest.sets.accesses import may_alias, root_of
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp, YieldOp
from ..loops.split import split, why_no_rest
from ..rewrite.buffers import fresh_buffer_name
from ..rewrite.loops import fresh_names, rename_copies
from ..rewrite.sizes import size_of

BLOCK = "block the scan of"

ELEMENT = AffineList((), ())
"""The indices of a buffer of one element."""


def why_not_block_scan(loop: ForOp, factor: int) -> NestorError | None:
    """The diagnostic that refuses to compute the running result of `loop` in blocks, None when it is legal."""
    refusal = refuse_marked(loop, BLOCK) or refuse_in_vector(loop, BLOCK)
    if refusal is not None:
        return refusal
    if factor < 1:
        return refuse(BLOCK, loop, f"blocks of {factor} iterations are none")
    if isinstance(update := running_result(loop, BLOCK, or_before=True), NestorError):
        return update
    written = [op.memref for op in loop.body.block.ops if isinstance(op, StoreOp)]
    for op in _slice(update):
        if isinstance(op, LoadOp) and any(may_alias(root_of(op.memref), root_of(b)) for b in written):
            return refuse(
                BLOCK, loop, "what is accumulated is read from memory that the loop writes", [(op, "here")]
            )
    return why_no_rest(loop, factor)


def _slice(update: AccumulateOp) -> list[Operation]:
    """The operations of the body that compute what is accumulated."""
    needed: set[Operation] = set()
    pending = list(update.values)
    while pending:
        op = pending.pop().owner
        if isinstance(op, Operation) and op.parent is update.parent and op not in needed:
            needed.add(op)
            pending += op.operands
    return [op for op in update.parent.ops if op in needed]  # pyright: ignore[reportOptionalMemberAccess]


def block_scan(loop: ForOp, factor: int) -> tuple[ForOp, ...]:
    """Compute a running result in blocks of `factor` iterations: the loops over blocks that compute their results, what
    is before them, and the running results; then the loop over what is left, where there is one.

    `loop` is consumed. Raises the diagnostic of `why_not_block_scan`.
    """
    if (refusal := why_not_block_scan(loop, factor)) is not None:
        raise refusal
    update = running_update(loop, or_before=True)
    assert update is not None and loop.parent is not None
    block, element, indices = loop.parent, update.memrefs[0], update.indices
    assert isinstance(element.type, MemRefType)
    sums_name, carry_name = fresh_names(loop, f"{loop.label}.sums", f"{loop.label}.carry")
    sums = _only_results(loop, sums_name)
    block.insert_op_before(sums, loop)
    rename_copies(sums)
    outer, inner, *rest = split(sums, factor)
    for op in rest:
        op.detach()
        op.erase()

    count = size_of(outer.upper, outer)
    results, starts = (
        AllocOp(
            fresh_buffer_name(outer, f"{buffer_name(element)}_{suffix}"),
            MemRefType(element.type.element_type, [count if isinstance(count, int) else DYNAMIC_INDEX]),
            [] if isinstance(count, int) else [count],
        )
        for suffix in ("blocks", "before")
    )
    zero = arith.ConstantOp(identity(update.combiner.data, update.values[0].type))
    for op in (results, starts, zero):
        op.location = update.location
        block.insert_op_before(op, outer)
    start = StoreOp(zero.result, results.memref, AffineList.of(outer.iv), label=update.statement)
    start.location = update.location
    outer.body.block.insert_op_before(start, inner)
    total = next(op for op in inner.body.block.ops if isinstance(op, AccumulateOp))
    _redirect(total, element, results.memref, AffineList.of(outer.iv))

    carry = ForOp(carry_name, outer.lower, outer.upper)
    carry.location = loop.location
    block.insert_op_before(carry, loop)
    before = LoadOp(element, indices)
    own = LoadOp(results.memref, AffineList.of(carry.iv))
    body = (
        before,
        StoreOp(before.result, starts.memref, AffineList.of(carry.iv), label=update.statement),
        own,
        AccumulateOp(update.combiner.data, [own.result], [element], indices, label=update.statement),
    )
    _add(carry, body, update)

    blocks, members, *left = split(loop, factor)
    variable = AllocOp(
        fresh_buffer_name(blocks, f"{buffer_name(element)}_block"), MemRefType(element.type.element_type, [])
    )
    first = LoadOp(starts.memref, AffineList.of(blocks.iv))
    for op in (variable, first, StoreOp(first.result, variable.memref, ELEMENT, label=update.statement)):
        op.location = update.location
        blocks.body.block.insert_op_before(op, members)
    for op in list(members.body.block.ops):
        if isinstance(op, (LoadOp, AccumulateOp)) and element in op.operands:
            _redirect(op, element, variable.memref, ELEMENT)
    return outer, carry, blocks, *left


def _only_results(loop: ForOp, name: str) -> ForOp:
    """A copy of `loop` that accumulates and does nothing else."""
    copy = loop.clone()
    copy.set_label(name)
    update = next(op for op in copy.body.block.ops if isinstance(op, AccumulateOp))
    kept = {*_slice(update), update}
    for op in reversed(list(copy.body.block.ops)):
        if op not in kept and not isinstance(op, YieldOp):
            op.detach()
            op.erase()
    return copy


def _add(loop: ForOp, body: tuple[Operation, ...], like: Operation) -> None:
    for op in body:
        op.location = like.location  # pyright: ignore[reportAttributeAccessIssue]
        loop.body.block.add_op(op)


def _redirect(op: LoadOp | AccumulateOp, old: SSAValue, new: SSAValue, indices: AffineList) -> None:
    for k, operand in enumerate(op.operands):
        if operand is old:
            op.operands[k] = new
    if isinstance(op, AccumulateOp):
        op.set_access(indices, op.where)
    else:
        op.set_indices(indices)
