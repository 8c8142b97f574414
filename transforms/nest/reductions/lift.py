"""nest-lift: a reduction of tuples is done base by base: first the bases, then the sums that are relative to them.

    nest.store "m" %lowest, %m[]
    nest.store "s" %zero, %s[]
    nest.for "i" %i = 0 to 100 {
      %x = ...
      nest.accumulate custom (%x, %one), (%m, %s)[] identity [-3.4e38 : f32, 0.0 : f32] {
      ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
        ... %m is the larger of %m1 and %m2, %e1 is exp(%m1 - %m), %e2 is exp(%m2 - %m)
        ... %s is %s1 * %e1 + %s2 * %e2
        nest.yield %m, %s : f32, f32
      }
    }

becomes

    nest.store "m" %lowest, %m[]
    nest.store "s" %zero, %s[]
    nest.for "i" %i = 0 to 100 {
      %x = ...
      nest.accumulate "m" maximum %x, %m[]
    }
    %base = nest.load %m[]
    nest.for "i.relative" %i = 0 to 100 {
      %x = ...
      %d = arith.subf %x, %base
      %e = math.exp %d
      nest.accumulate "s" add %e, %s[]
    }

with one exponential for each term instead of two, and sums that vectors, threads and blocks have forms of their own for. Of
a part of the terms (`nest-privatise`) it is the part's summary that is computed so, and summaries are combined by the
combiner. Where no result is relative to another (a smallest and a largest number), there is one loop.

Refused unless the loop does nothing but one reduction in any order, by a combiner whose results are named combiners of
their own two numbers, or sums of terms that are linear in their own numbers and the same of both sides
(`analysis/nest/kernels/relative_parts.py`: then it follows from what the combiner is declared to be that the sums are those
of the program, up to rounding); and unless what it accumulates into holds the identity when the loop starts. One base of
softmax is done so by hand in FlashAttention; such a rewrite has no name in TVM, Halide, Exo and NNC.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Block, Operation, SSAValue

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.kernels.combiners import combiner_op
from ....analysis.nest.kernels.loop_marks import refuse_in_vector, refuse_marked
from ....analysis.nest.kernels.relative_parts import NoParts, Part, parts_of
from ....analysis.nest.loop_structure import loops_in, may_fail
from ....analysis.nest.sets.accesses import accesses_of, is_defined_outside, may_alias, root_of
from ....analysis.nest.sets.domains import is_computation
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from ..rewrite.loops import fresh_names
from ..rewrite.private_accumulators import sets_all

# ---- legality ---------------------------------------------------------------------------------------


def why_not_lift(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to lift the reduction of `loop`, None when it is legal."""
    if (refusal := refuse_marked(loop, "lift") or refuse_in_vector(loop, "lift")) is not None:
        return refusal
    try:
        update = _sole_update(loop)
        parts_of(update)
        _check_reads(loop, update)
        _check_start(loop, update)
    except NoParts as reason:
        message = f'cannot lift the reduction of the loop "{loop.label}": {reason}'
        return fail(loop, message, notes=[] if reason.at is loop else [(reason.at, "here")])
    return None


def _sole_update(loop: ForOp) -> AccumulateOp:
    """The reduction that the loop does, and beside which it computes only."""
    if (check := may_fail(loop)) is not None:
        raise NoParts("an error in it would come at another time", check)
    updates: list[AccumulateOp] = []
    for op in loop.body.walk():
        if isinstance(op, AccumulateOp):
            updates.append(op)
        elif op.parent_op() in updates:
            continue
        elif isinstance(op, ForOp) and op.kind != "serial":
            raise NoParts(f'the loop "{op.label}" in it is marked {op.kind}', op)
        elif not isinstance(op, ForOp | LoadOp) and not is_computation(op):
            raise NoParts("it does more than one reduction", op)
    if len(updates) != 1 or updates[0].combiner.data != "custom":
        raise NoParts(
            "it does more than one reduction by a combiner of its own" if updates else "it reduces nothing",
            loop,
        )
    return updates[0]


def _check_reads(loop: ForOp, update: AccumulateOp) -> None:
    """What the loop reads is the same in each of the loops that it becomes."""
    targets = [root_of(memref) for memref in update.memrefs]
    if len(set(targets)) != len(targets):
        raise NoParts("two of its results are one buffer", update)
    for k, target in enumerate(targets):
        for other in targets[:k]:
            if may_alias(target, other):
                raise NoParts("two of its results may share memory", update)
    for op in loop.body.walk():
        if isinstance(op, LoadOp) and any(may_alias(root_of(op.memref), target) for target in targets):
            raise NoParts("it reads what it accumulates into, or what may share memory with it", op)


def _check_start(loop: ForOp, update: AccumulateOp) -> None:
    """Every element that is accumulated into holds the identity when the loop starts."""
    assert update.identity is not None
    for k, buffer in enumerate(update.memrefs):
        start = _last_writer(loop, buffer)
        if start is None or not _sets(start, buffer, update, update.identity.data[k], loop):
            reason = f'nothing in front of it sets "{buffer_name(buffer)}" to the identity'
            raise NoParts(reason, start or update)


def _last_writer(loop: ForOp, buffer: SSAValue) -> Operation | None:
    """What wrote to a buffer last before the loop, in its block; None where that is not known."""
    op = loop.prev_op
    while op is not None:
        for inner in op.walk():
            for access in accesses_of(inner):
                if access.writes and (access.root is None or may_alias(access.root, root_of(buffer))):
                    return op
        op = op.prev_op
    return None


def _sets(start: Operation, buffer: SSAValue, update: AccumulateOp, identity: object, loop: ForOp) -> bool:
    """Whether `start` does nothing to a buffer but set each element that the loop accumulates into to the identity."""
    writers = [
        op
        for op in start.walk()
        for access in accesses_of(op)
        if access.writes and (access.root is None or may_alias(access.root, root_of(buffer)))
    ]
    if len(writers) != 1 or not isinstance(store := writers[0], StoreOp):
        return False
    constant = store.value.owner
    if store.memref is not buffer or not isinstance(constant, arith.ConstantOp) or constant.value != identity:
        return False
    if store is not start:
        return sets_all(store, buffer, start)
    is_one = all(is_defined_outside(value, loop) for value in update.indices.operands)
    is_whole = store.where is None and store.mask is None
    return is_one and is_whole and store.indices.canonical() == update.indices.canonical()


# ---- rewriting --------------------------------------------------------------------------------------


def lift(loop: ForOp) -> ForOp | None:
    """Reduce base by base: the loop of what is relative to the bases, behind `loop`; None where nothing is.

    Raises the diagnostic of `why_not_lift`.
    """
    if (refusal := why_not_lift(loop)) is not None:
        raise refusal
    update = _sole_update(loop)
    parts = parts_of(update)
    if all(part.is_base for part in parts):
        _write_bases(update, parts)
        return None
    second = loop.clone()
    assert isinstance(second, ForOp) and loop.parent is not None
    copied = next(b for a, b in zip(loop.walk(), second.walk(), strict=True) if a is update)
    for op, copy in zip(loop.walk(), second.walk(), strict=True):
        copy.location = op.location  # pyright: ignore
    loop.parent.insert_op_after(second, loop)
    for one in loops_in(second):
        one.set_label(fresh_names(loop, f"{one.label}.relative")[0])
    assert isinstance(copied, AccumulateOp)
    _write_relative(copied, parts_of(copied), second)
    _write_bases(update, parts)
    for one in (loop, second):
        _drop_unused(one)
    return second


def _write_bases(update: AccumulateOp, parts: list[Part]) -> None:
    """A named reduction for each base."""
    for k, part in enumerate(parts):
        if part.is_base:
            _accumulate(update, part.combiner, update.values[k], k)
    _erase(update)


def _write_relative(update: AccumulateOp, parts: list[Part], loop: ForOp) -> None:
    """A sum for each part that is relative to bases, which are read in front of the loop, or where they are used."""
    assert update.combine is not None
    body = update.combine.block
    results = body.last_op.operands  # pyright: ignore
    count = len(parts)
    mapping: dict[SSAValue, SSAValue] = dict(zip(body.args[count:], update.values, strict=True))
    is_one = all(is_defined_outside(value, loop) for value in update.indices.operands)
    for k, part in enumerate(parts):
        if part.is_base:
            load = LoadOp(update.memrefs[k], update.indices)
            load.result.name_hint = "base"
            _insert(loop if is_one else update, load, update)
            mapping[results[k]] = load.result
    for k, part in enumerate(parts):
        if part.is_base:
            continue
        total: SSAValue | None = None
        for term in part.terms:
            value = _written(term, mapping, update)
            if total is not None:
                kind, properties = combiner_op("add", value.type)
                added = kind.create(operands=[total, value], result_types=[value.type], properties=properties)
                _insert(update, added, update)
                value = added.results[0]
            total = value
        assert total is not None
        _accumulate(update, part.combiner, total, k)
    _erase(update)


def _written(value: SSAValue, mapping: dict[SSAValue, SSAValue], update: AccumulateOp) -> SSAValue:
    """A value of the combiner in front of the update; a product with 1 is the other factor."""
    if value in mapping:
        return mapping[value]
    op = value.owner
    assert isinstance(op, Operation)
    operands = [_written(operand, mapping, update) for operand in op.operands]
    if (
        isinstance(op, arith.MulfOp)
        and (others := [v for v in operands if not _is_one(v)])
        and len(others) == 1
    ):
        mapping[value] = others[0]
        return others[0]
    copy = op.clone(dict(zip(op.operands, operands, strict=True)))
    _insert(update, copy, update)
    for old, new in zip(op.results, copy.results, strict=True):
        mapping[old] = new
    return mapping[value]


def _is_one(value: SSAValue) -> bool:
    op = value.owner
    return isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr) and op.value.value.data == 1.0


def _accumulate(update: AccumulateOp, combiner: str, value: SSAValue, k: int) -> None:
    buffer = update.memrefs[k]
    made = AccumulateOp(
        combiner,
        [value],
        [buffer],
        update.indices,
        label=buffer_name(buffer),
        where=update.where,
        mask=update.mask,
    )
    _insert(update, made, update)


def _insert(before: Operation, op: Operation, of: Operation) -> None:
    op.location = of.location
    assert before.parent is not None
    before.parent.insert_op_before(op, before)


def _drop_unused(loop: ForOp) -> None:
    for op in reversed(list(loop.walk())):
        if (isinstance(op, LoadOp) or is_computation(op)) and not any(r.first_use for r in op.results):
            _erase(op)


def _erase(op: Operation) -> None:
    assert isinstance(op.parent, Block)
    op.parent.erase_op(op)
