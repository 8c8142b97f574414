"""nest-block-scan: a running result is computed in blocks that do not wait for each other.

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
    nest.for "i.carry" %o = 0 to %n floordiv 256 {                // what stands before each block
      %t = nest.load %s[]
      %u = nest.load %s_blocks[%o]
      nest.store "s" %t, %s_blocks[%o]
      nest.accumulate "s" add %u, %s[]
    }
    nest.for "i.o" %o = 0 to %n floordiv 256 {
      %s_block = nest.alloc "s_block" : memref<f32>
      %t = nest.load %s_blocks[%o]
      nest.store "s" %t, %s_block[]
      nest.for "i.i" %i = 0 to 256 {
        %a = nest.load %x[256 * %o + %i]
        nest.accumulate "s" add %a, %s_block[]
        %b = nest.load %s_block[]
        nest.store "y" %b, %y[256 * %o + %i]
      }
    }
    nest.for "i.t" ... the %n mod 256 iterations that are left, as they were

The blocks of the first and of the third loop are independent: they can be parallel. Refused unless the body is
straight-line code with one reduction that may run in any order, into an element that stays the same and that is read only
after it; its value must come from memory that the loop does not write, and nothing may fail. "Reduce then scan" of
Blelloch's work-efficient scans; in Halide an `rfactor` and two updates written by hand, TVM, Exo and NNC have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from ...dialects.affine import AffineList
from ...dialects.diagnostic import NestorError, fail
from ...dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp, YieldOp
from .accesses import is_defined_outside, may_alias, root_of
from .buffers import buffer_name, fresh_buffer_name
from .dependence import Dependence, analyse
from .loops import find_loop, fresh_names, is_check, refuse_in_vector, refuse_marked, rename_copies
from .nest_rfactor import identity_of
from .nest_split import split, why_not_split
from .nest_vectorize import is_kept
from .sizes import size_of

ELEMENT = AffineList((), ())
"""The indices of a buffer of one element."""


BLOCK, LANES = "block the scan of", "scan in lanes"
"""What is refused."""


def why_not_block_scan(loop: ForOp, factor: int) -> NestorError | None:
    """The diagnostic that refuses to compute the running result of `loop` in blocks, None when it is legal."""
    refusal = refuse_marked(loop, BLOCK) or refuse_in_vector(loop, BLOCK)
    if refusal is not None:
        return refusal
    if factor < 1:
        return _refuse(BLOCK, loop, f"blocks of {factor} iterations are none")
    if isinstance(update := _running(loop), NestorError):
        return update
    written = [op.memref for op in loop.body.block.ops if isinstance(op, StoreOp)]
    for op in _slice(update):
        if isinstance(op, LoadOp) and any(may_alias(root_of(op.memref), root_of(b)) for b in written):
            return _refuse(
                BLOCK, loop, "what is accumulated is read from memory that the loop writes", [(op, "here")]
            )
    return why_not_split(loop, factor)


def running_update(loop: ForOp) -> AccumulateOp | None:
    """The reduction whose result so far each iteration of `loop` reads; None where there is not just one, or more to it."""
    update = _running(loop)
    return update if isinstance(update, AccumulateOp) else None


def why_not_scan_in_lanes(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to compute the running result of all iterations in one vector, None when it is legal.

    What is beside the running result must be as it was when the iterations are lanes in lockstep.
    """
    refusal = refuse_marked(loop, LANES) or refuse_in_vector(loop, LANES)
    if refusal is not None:
        return refusal
    width = loop.constant_trip_count()
    if width is None or width < 2 or loop.step_value != 1:
        return _refuse(LANES, loop, "how many lanes there are is not known")
    if isinstance(update := _running(loop, LANES), NestorError):
        return update
    running = root_of(update.memrefs[0])

    def is_harmless(dependence: Dependence) -> bool:
        source = dependence.source
        buffers = source.memrefs if isinstance(source, AccumulateOp) else [source.memref]  # pyright: ignore
        return root_of(buffers[0]) is running or is_kept(dependence, loop, width, dependences)

    dependences = analyse(loop)
    if (first := dependences.first_not(loop, is_harmless)) is not None:
        return _refuse(LANES, loop, first.describe(), first.notes)
    for op in loop.body.block.ops:
        if isinstance(op, StoreOp) and (op.where is not None or op.mask is not None):
            return _refuse(LANES, loop, "a store leaves out iterations", [(op, "here")])
    return None


def _refuse(verb: str, loop: ForOp, reason: str, notes: Sequence[tuple[Operation, str]] = ()) -> NestorError:
    return fail(loop, f'cannot {verb} the loop "{loop.label}": {reason}', notes=notes)


def _running(loop: ForOp, verb: str = BLOCK) -> AccumulateOp | NestorError:
    ops = [op for op in loop.body.block.ops if not isinstance(op, YieldOp)]
    updates = [op for op in ops if isinstance(op, AccumulateOp)]
    for op in ops:
        is_known = isinstance(op, (LoadOp, StoreOp, AccumulateOp)) or (
            is_side_effect_free(op) and not op.regions
        )
        if is_check(op) or not is_known:
            return _refuse(verb, loop, "its body is more than loads, stores and computations", [(op, "here")])
    if len(updates) != 1:
        return _refuse(verb, loop, f"it has {len(updates)} reductions, and one is expected")
    (update,) = updates
    here = [(update, "the reduction is here")]
    if update.combiner.data == "custom" or update.order_name != "any":
        return _refuse(verb, loop, "its reduction has no named combiner that may run in any order", here)
    if update.where is not None or update.mask is not None:
        return _refuse(verb, loop, "its reduction leaves out iterations", here)
    fixed = (*update.indices.operands, *update.memrefs)
    if not all(is_defined_outside(value, loop) for value in fixed):
        return _refuse(verb, loop, "the reduction's element is not the same in all iterations", here)
    reads = 0
    for op in ops:
        if op is update or not isinstance(op, (LoadOp, StoreOp)):
            continue
        if not may_alias(root_of(op.memref), root_of(update.memrefs[0])):
            continue
        is_read = isinstance(op, LoadOp) and op.memref is update.memrefs[0] and op.indices == update.indices
        if not is_read or not update.is_before_in_block(op):
            return _refuse(verb, loop, "the reduction's buffer is used in another way", [*here, (op, "here")])
        reads += 1
    return update if reads else _refuse(verb, loop, "no iteration reads the result so far", here)


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
    stands before them, and the running results; then the loop over what is left, where there is one.

    `loop` is consumed. Raises the diagnostic of `why_not_block_scan`.
    """
    if (refusal := why_not_block_scan(loop, factor)) is not None:
        raise refusal
    update = _running(loop)
    assert isinstance(update, AccumulateOp) and loop.parent is not None
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
    results = AllocOp(
        fresh_buffer_name(outer, f"{buffer_name(element)}_blocks"),
        MemRefType(element.type.element_type, [count if isinstance(count, int) else DYNAMIC_INDEX]),
        [] if isinstance(count, int) else [count],
    )
    zero = arith.ConstantOp(identity_of(update.combiner.data, update.values[0].type))
    for op in (results, zero):
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
        own,
        StoreOp(before.result, results.memref, AffineList.of(carry.iv), label=update.statement),
        AccumulateOp(update.combiner.data, [own.result], [element], indices, label=update.statement),
    )
    _add(carry, body, update)

    blocks, members, *left = split(loop, factor)
    variable = AllocOp(
        fresh_buffer_name(blocks, f"{buffer_name(element)}_block"), MemRefType(element.type.element_type, [])
    )
    first = LoadOp(results.memref, AffineList.of(blocks.iv))
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


@dataclass(frozen=True, eq=False)
class NestBlockScanPass(ModulePass):
    """Compute a running result in blocks that do not wait for each other."""

    name = "nest-block-scan"

    loop: str
    factor: int
    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block_scan(find_loop(op, self.loop, self.func), self.factor)
