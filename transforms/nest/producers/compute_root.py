"""nest-compute-root: compute a buffer as a whole before the loops that compute it in parts.

    nest.for "o" %o = 0 to %n {
      %t = nest.alloc "t" : memref<3xf32>
      nest.for "i" %i = %o to %o + 3 {
        ... nest.store "t" %b, %t[%i - %o]
      }
      ... nest.load %t[0] ... nest.load %t[2] ...
    }

becomes with loop=i

    nest.for "o.any" %s = 0 to min(%n, 1) {
      nest.for "i" %i = 0 to %n + 2 {
        ... nest.store "t" %b, %t[%i]
      }
    }
    nest.for "o" %o = 0 to %n {
      ... nest.load %t[%o] ... nest.load %t[%o + 2] ...
    }

where %t is made before, for all parts. The loop is the nest that computes a part (with it moves what initialises the
buffer in the same body); "o.any" is there where "o" may run no iteration, for which nothing is computed. An element that
several iterations compute is computed once. Refused unless each of them computes the same from the same things, all
iterations together compute every element of a box, and the computation cannot fail. It undoes nest-compute-at.
`compute_root` in Halide; TVM and Exo have no name for it, in NNC it is what `computeAt` starts from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import enclosing_loops, is_inside, loops_in, may_fail
from ....analysis.nest.sets.accesses import accesses_of, is_private
from ....analysis.nest.sets.domains import is_computation
from ....analysis.nest.sets.loop_bounds import largest
from ....analysis.nest.sets.producers import Uses, top_in, uses_of
from ....analysis.nest.sets.regions import NoWindow, window_of
from ....analysis.nest.sets.rolling_window import runs_always
from ....dialects.affine import AffineList, linear_terms
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..rewrite.buffers import replace_extents
from ..rewrite.loops import fresh_names, simplify_bounds
from ..rewrite.sizes import reallocate, replace
from ..rewrite.trials import trial
from .compute_root_checks import (
    Move,
    check_complete,
    check_covered,
    check_inputs,
    check_starts_anew,
    refusal_of,
)


def why_not_compute_root(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to compute what the nest `loop` computes before all loops, None when it is legal."""
    try:
        trial(_carry_out, loop)
    except NestorError as refusal:
        return refusal
    return None


def compute_root(loop: ForOp) -> ForOp:
    """Compute the whole buffer of which the nest `loop` computes parts, before the loops around it.

    Returns the nest that does; `loop` is consumed. Raises the diagnostic of `why_not_compute_root`.
    """
    if (refusal := why_not_compute_root(loop)) is not None:
        raise refusal
    return _carry_out(loop)


def _carry_out(loop: ForOp) -> ForOp:
    """Do it; raises the refusal half way where it is not legal."""
    chain = _chain(loop)
    uses = uses_of(_buffer(loop), "move")
    producers = _producers(loop, uses)
    replace_extents(uses)
    is_made_inside = is_inside(uses.alloc, chain[0])
    if is_made_inside:
        _number_by_elements(loop, uses, chain)
    needed = _needed(loop, uses, producers, chain)
    unit, move = _copy(loop, uses, producers, chain, needed)
    check_covered(move)
    check_complete(move)
    check_starts_anew(move)
    check_inputs(move)
    if is_made_inside:
        _make_whole(move, unit)
    for op in producers:
        op.detach()
        op.erase()
    moved = move.copy_of[loop]
    assert isinstance(moved, ForOp) and unit.parent is not None
    for op in list(unit.body.block.ops):
        op.detach()
        unit.parent.insert_op_before(op, unit)
    unit.detach()
    unit.erase()
    return moved


# ---- what is moved ----------------------------------------------------------------------------------


def _chain(loop: ForOp) -> list[ForOp]:
    chain = enclosing_loops(loop)
    if not chain:
        raise refusal_of(loop, "there is no loop around it")
    around = loop.parent_op()
    while isinstance(around, ForOp):
        around = around.parent_op()
    if around is not chain[0].parent_op():
        assert around is not None
        raise refusal_of(loop, "it does not run in every iteration", [(around, "it is inside of this")])
    for outer in chain:
        if outer.kind not in ("serial", "unrolled", "parallel"):
            raise refusal_of(
                loop,
                f'the loop "{outer.label}" is {outer.kind} already',
                [(outer, "the loop is marked here")],
                hint="move it before marking the loop",
            )
    return chain


def _buffer(loop: ForOp) -> AllocOp:
    """The buffer that the nest writes."""
    written = []
    for access in (a for op in loop.walk() for a in accesses_of(op) if a.writes):
        if is_private(access, loop):
            continue
        owner = access.buffer.owner if access.buffer is not None else None
        if not isinstance(owner, AllocOp):
            raise refusal_of(
                loop, "it writes what is not made by a nest.alloc", [(access.op, "this operation writes it")]
            )
        written.append(owner)
    found = list(dict.fromkeys(written))
    if len(found) != 1:
        notes: list[tuple[Operation, str]] = [(op, "this buffer") for op in found]
        raise refusal_of(loop, f"it writes {len(found)} buffers, not one", notes)
    return found[0]


def _producers(loop: ForOp, uses: Uses) -> list[Operation]:
    home = loop.parent
    assert home is not None
    outer = home.parent_op()
    assert outer is not None
    for op in uses.writes:
        if not is_inside(op, outer):
            raise refusal_of(loop, "its buffer is written elsewhere too", [(op, "this statement writes it")])
    producers = list(dict.fromkeys(top_in(home, op) for op in uses.writes))
    for producer in producers:
        for inner in loops_in(producer):
            if (refusal := refuse_marked(inner, "move")) is not None:
                raise refusal
        for op in producer.walk():
            _check_op(loop, uses, producer, op)
    return producers


def _check_op(loop: ForOp, uses: Uses, producer: Operation, op: Operation) -> None:
    if not op.regions and may_fail(op) is not None:  # pyright: ignore[reportArgumentType]
        raise refusal_of(loop, "its computation can fail", [(op, "this check can fail")])
    for access in accesses_of(op):
        own = isinstance(producer, ForOp) and is_private(access, producer)
        if access.writes and access.buffer is not uses.alloc.memref and not own:
            raise refusal_of(
                loop,
                "what writes its buffer has other effects",
                [(op, "this operation has another effect")],
            )
    if isinstance(op, LoadOp) and op.memref is uses.alloc.memref:
        for write in (w for w in uses.writes if is_inside(w, producer)):
            if write.indices != op.indices:
                raise refusal_of(
                    loop,
                    "its elements are computed from others of them",
                    [(op, "this load reads an element"), (write, "this statement writes another")],
                )


def _number_by_elements(loop: ForOp, uses: Uses, chain: Sequence[ForOp]) -> None:
    """Let indices of a buffer of a part be those of the whole: less what moves with the loops around the buffer."""
    around = [outer for outer in chain if is_inside(uses.alloc, outer)]
    first = uses.writes[0].indices
    offset = AffineList((), ())
    for k in range(len(first)):
        shift = AffineList.of(0)
        for outer in around:
            if outer.iv in first[k].operands:
                dim = AffineDimExpr(first[k].operands.index(outer.iv))
                shift = shift.minus(
                    AffineList.of(outer.iv).times(linear_terms(first[k].exprs[0])[0].get(dim, 0))
                )
        offset = offset.concat(shift)
    offset = offset.canonical()
    for op in (*uses.loads, *uses.writes):
        indices = offset.plus(op.indices)
        op.set_indices(indices)


def _needed(
    loop: ForOp, uses: Uses, producers: Sequence[Operation], chain: Sequence[ForOp]
) -> list[Operation]:
    """What the producers use of the loops around them: the same in each iteration."""
    variables = {outer.iv for outer in chain}
    found: set[Operation] = set()
    wanted = [(op, v) for p in producers for op in p.walk() for v in _fixed_operands(op, uses)]
    while wanted:
        op, value = wanted.pop()
        owner = value.owner
        if value in variables:
            raise refusal_of(
                loop,
                "what it computes depends on the iteration",
                [(op, "this operation uses the loop's variable")],
            )
        if isinstance(owner, Block) or not is_inside(owner, chain[0]) or owner in found:
            continue
        if any(is_inside(owner, producer) for producer in producers):
            continue
        if not is_computation(owner) and not isinstance(owner, memref.DimOp):
            raise refusal_of(
                loop,
                "what it computes uses a value of the iteration",
                [(op, "this operation uses it"), (owner, "the value is made here")],
            )
        found.add(owner)
        wanted += [(owner, operand) for operand in owner.operands]
    return [op for op in chain[0].walk() if op in found]


def _fixed_operands(op: Operation, uses: Uses) -> Iterator[SSAValue]:
    """All operands but the buffer, and the loops' variables in bounds."""
    for value in op.operands:
        is_variable = isinstance(op, ForOp) and isinstance(value.owner, Block)
        if not is_variable and value is not uses.alloc.memref:
            yield value


# ---- before the loops -------------------------------------------------------------------------------


def _copy(
    loop: ForOp, uses: Uses, producers: list[Operation], chain: list[ForOp], needed: list[Operation]
) -> tuple[ForOp, Move]:
    """Copies of the producers in front of the loops around them, in a loop of one iteration."""
    block = chain[0].parent
    assert block is not None
    unit = ForOp(fresh_names(loop, "root")[0], 0, 1)
    unit.location = loop.location
    block.insert_op_before(unit, chain[0])
    place = unit.body.block
    variables = {outer.iv for outer in chain}
    for outer in chain:
        low = largest(outer.lower, outer)
        if len(low) != 1 or variables & {*low.operands, *outer.upper.operands} or runs_always(outer):
            continue
        some = ForOp(fresh_names(loop, f"{outer.label}.any")[0], low, outer.upper.concat(low.add(1)))
        some.location, some.iv.name_hint = outer.location, outer.iv.name_hint
        place.add_op(some)
        simplify_bounds(some)
        place = some.body.block
    values: dict[SSAValue, SSAValue] = {}
    copy_of: dict[Operation, Operation] = {}
    bounds = {inner: _over(loop, inner, chain) for p in producers for inner in loops_in(p)}
    for op in (*needed, *producers):
        copy = op.clone(values)
        place.add_op(copy)
        copy_of |= dict(zip(op.walk(), copy.walk(), strict=True))
    for inner, (lower, upper) in bounds.items():
        copy = copy_of[inner]
        assert isinstance(copy, ForOp)
        copy.set_bounds(lower.substitute_all(values), upper.substitute_all(values))
        simplify_bounds(copy)
    return unit, Move(loop, uses, producers, chain, copy_of, values)


def _over(loop: ForOp, inner: ForOp, chain: Sequence[ForOp]) -> tuple[AffineList, AffineList]:
    """The bounds of `inner` for all iterations of the loops around."""
    lower = [b for k in range(len(inner.lower)) for b in _least(inner.lower[k], chain)]
    upper = [b for k in range(len(inner.upper)) for b in _least(inner.upper[k].times(-1), chain)]
    if not lower or not upper:
        raise refusal_of(
            loop, f'there is no affine bound for all parts of "{inner.label}"', [(inner, "the loop is here")]
        )
    if inner.step_value != 1 and any(outer.iv in inner.lower.operands for outer in chain):
        raise refusal_of(loop, f'the loop "{inner.label}" has a step', [(inner, "the loop is here")])
    return AffineList.of(*lower).canonical(), AffineList.of(*upper).times(-1).canonical()


def _least(expression: AffineList, chain: Sequence[ForOp]) -> list[AffineList]:
    """Lower bounds of an expression over all iterations of the loops, none where there is none."""
    for outer in reversed(chain):
        if outer.iv not in expression.operands:
            continue
        dim = AffineDimExpr(expression.operands.index(outer.iv))
        factor = linear_terms(expression.exprs[0])[0].get(dim, 0)
        rest = expression.minus(AffineList.of(outer.iv).times(factor))
        if outer.iv in rest.operands:
            return []
        ends = outer.lower if factor > 0 else outer.upper.add(-1)
        return [b for k in range(len(ends)) for b in _least(expression.substitute(outer.iv, ends[k]), chain)]
    return [expression]


# ---- storage ----------------------------------------------------------------------------------------


def _make_whole(move: Move, unit: ForOp) -> None:
    """Make a buffer for all parts before the loops, and use it instead."""
    uses = move.uses
    old = uses.alloc
    assert isinstance(old.memref.type, MemRefType)
    if not isinstance(old.memref.type.layout, NoneAttr):
        raise refusal_of(move.loop, "the layout of its buffer is fixed", [(old, "the buffer is made here")])
    copies = [move.copy_of[op] for op in uses.writes]
    whole = window_of(unit, [a for op in copies for a in accesses_of(op)])
    if isinstance(whole, NoWindow):
        raise refusal_of(move.loop, whole.reason, [(whole.access.op, "this statement writes it")])
    new = reallocate(old, [whole.extents[k] for k in range(len(whole.extents))], unit)
    every = [*uses.loads, *uses.writes]
    for op in (*every, *(move.copy_of[op] for op in every if op in move.copy_of)):
        assert isinstance(op, (LoadOp, StoreOp, AccumulateOp))
        op.set_indices(op.indices.minus(whole.origin))
    replace(old, new)
