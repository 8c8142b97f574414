"""nest-stage-factors: the two factors of a sum's terms are copied first, with zeros where there are no terms.

    nest.for "k.o" %o = 0 to 9 {
      nest.for "i" %i = 0 to 64 {
        nest.for "j" %j = 0 to 64 {
          nest.for "k.i" %k = 0 to 16 {
            %a = nest.load %x[%i, 16 * %o + %k] : memref<64x129xf32>
            %b = nest.load %y[16 * %o + %k, %j] : memref<129x64xf32>
            %p = arith.mulf %a, %b : f32
            nest.accumulate "c" add %p, %c[%i, %j] where (16 * %o + %k < 129) : memref<64x64xf32>
          }
        }
      }
    }

with loop=k.o becomes

    nest.for "k.o" %o = 0 to 9 {
      %x_tile = nest.alloc "x_tile" : memref<16x64xf32>
      nest.for "x_tile.k.i" %k = 0 to 16 {
        nest.for "x_tile.i" %i = 0 to 64 {
          %e = nest.alloc "x_element" : memref<f32>
          nest.store "x_element" %zero, %e[] : memref<f32>
          %a = nest.load %x[%i, 16 * %o + %k] : memref<64x129xf32>
          nest.store "x_element" %a, %e[] where (16 * %o + %k < 129) : memref<f32>
          %f = nest.load %e[] : memref<f32>
          nest.store "x_tile" %f, %x_tile[%k, %i] : memref<16x64xf32>
        }
      }
      ... %y_tile in the same way
      nest.for "i" ... { nest.for "j" ... { nest.for "k.i" ... {
        %a = nest.load %x_tile[%k, %i] : memref<16x64xf32>
        %b = nest.load %y_tile[%k, %j] : memref<16x64xf32>
        %p = arith.mulf %a, %b : f32
        nest.accumulate "c" add %p, %c[%i, %j] : memref<64x64xf32>

The combiner may be any that has a name, and a term any expression of two factors (analysis/nest/kernels/sum_factors.py):
`max_k min(a_ik, b_kj)`, or `sum_k |x_ik - y_jk|`. A factor is all that is computed of elements before the other factor
comes in (a cast, a scale), once per element that is copied; with narrow=true a last cast to a wider type is done where
the copy is read, and the copy has the narrow elements. A copy has an axis for each loop that its factor changes with,
those of the terms first. Of the sum's domain, each constraint goes to the copies whose loops it speaks of. One that both
have is not needed any more in the sum where a term of zeros is neutral: 0 * 0 is added instead, or (0 - 0)^2 (a sum that
is -0.0 may become 0.0). Elsewhere (the largest of what is negative) it stays, as do those of which other elements in the
term must know, and those that one copy has.

Refused unless the loop holds one perfect nest of loops of constant length and in it nothing but a reduction in any order;
unless its terms are computed of two factors that change with some of the loops each, whose elements are proved to be in
their buffers; and where the reduction may write what the factors are loaded from. In TVM `pad_einsum`, after which
`cache_read` copies what was padded; without a name in Halide, Exo and NNC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.kernels.sum_factors import (
    CASTS,
    NoFactors,
    SumFactors,
    loads_of,
    sum_factors,
    zeros_are_neutral,
)
from ....analysis.nest.loop_structure import enclosing_loops, perfect_band, sole_inner_loop
from ....analysis.nest.sets.accesses import may_alias, root_of
from ....analysis.nest.sets.domains import DIVISIONS, is_computation, may_be_undefined
from ....analysis.nest.sets.integer_sets import is_in_buffer, is_never_negative
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..rewrite.buffers import fresh_buffer_name, space_attribute, why_not_space
from ..rewrite.loops import fresh_names
from ..rewrite.padded_reads import or_zero

Uses = list[tuple[Operation, int]]
"""Operations, and which of their operands it is."""


@dataclass(frozen=True, eq=False)
class Factor:
    """What is copied: its value, the operations that compute it, the loops that it changes with, and its domain."""

    value: SSAValue
    ops: list[Operation]
    loops: list[ForOp]
    where: AffineList = field(default_factory=lambda: AffineList((), ()))

    @property
    def loads(self) -> list[LoadOp]:
        return [op for op in self.ops if isinstance(op, LoadOp)]

    @property
    def shape(self) -> list[int]:
        return [loop.constant_trip_count() or 0 for loop in self.loops]


@dataclass(frozen=True, eq=False)
class _Plan:
    sums: AccumulateOp
    factors: tuple[Factor, Factor]
    uses: list[Uses]
    """What reads the copy of each instead."""
    where: AffineList
    """What remains of the sum's domain."""


def why_not_stage_factors(loop: ForOp, space: str = "global", narrow: bool = False) -> NestorError | None:
    """The diagnostic that refuses to copy the factors of the reduction in `loop`, None when it is legal."""
    plan = _plan(loop, space, narrow)
    return plan if isinstance(plan, NestorError) else None


def _plan(loop: ForOp, space: str, narrow: bool) -> _Plan | NestorError:
    action = f'stage the factors of the sum in the loop "{loop.label}"'

    def refuse(reason: str, at: Operation | None = None, what: str = "here") -> NestorError:
        notes = [] if at is None else [(at, what)]
        return fail(loop, f"cannot {action}: {reason}", notes=notes)

    if (band := _band(loop)) is None:
        return refuse(
            "it does not hold one perfect nest of unmarked loops from 0 to a constant, and nothing else"
        )
    found = _sum_in(band[-1])
    if isinstance(found, Operation) and not isinstance(found, AccumulateOp):
        return refuse("there is more than one reduction, in any order", found, "this is something else")
    if found is None:
        return refuse("there is no sum in it")
    terms = [inner for inner in band if inner.iv not in found.indices.operands]
    order = [*terms, *(inner for inner in band if inner not in terms)]
    both = sum_factors(found, band)
    if isinstance(both, NoFactors):
        return refuse(both.reason, both.at)
    copied = _copied_values(both, narrow)
    left, right = (_factor(value, order, band[-1]) for value, _ in copied)
    for factor in (left, right):
        if len(factor.loops) == len(band):
            return refuse("a factor changes with all of the loops", both.term[-1])
        for op in factor.ops:
            if isinstance(op, LoadOp) and may_alias(root_of(op.memref), root_of(found.memrefs[0])):
                return refuse("the sum may write what a factor is loaded from", op)
            if type(op) in DIVISIONS and may_be_undefined(op):
                return refuse("a division may be undefined where the sum has no term", op)
    shared = _with_domains(loop, found, both, (left, right), space, action, refuse)
    if isinstance(shared, NestorError):
        return shared
    return _Plan(found, shared[0], [uses for _, uses in copied], shared[1])


def _band(loop: ForOp) -> list[ForOp] | None:
    """The loops inside, when they are all of the body, perfectly nested, and from 0 to a constant."""
    inner = sole_inner_loop(loop)
    if inner is None:
        return None
    band = perfect_band(inner)
    plain = (o.kind == "serial" and o.lower.constants() == (0,) and o.step_value == 1 for o in band)
    return band if all(plain) and all(o.constant_trip_count() for o in band) else None


def _sum_in(innermost: ForOp) -> Operation | None:
    """The reduction that is all that the loop does; an operation that is something else; None where there is nothing."""
    sums: AccumulateOp | None = None
    for op in innermost.body.block.ops:
        if isinstance(op, AccumulateOp) and sums is None:
            sums = op
        elif not (isinstance(op, LoadOp) or is_computation(op)):
            return op
    return sums


def _copied_values(both: SumFactors, narrow: bool) -> list[tuple[SSAValue, Uses]]:
    """What is copied of each factor, and what reads the copy instead: the term, or the cast that makes it wider."""
    found: list[tuple[SSAValue, Uses]] = []
    for value in (both.left, both.right):
        cast = value.owner
        if narrow and isinstance(cast, CASTS) and cast.parent is both.term[-1].parent:
            found.append((cast.operands[0], [(cast, 0)]))
        else:
            found.append((value, both.uses_of(value)))
    return found


def _factor(value: SSAValue, order: Sequence[ForOp], innermost: ForOp) -> Factor:
    """The factor with that value: all operations of the innermost block that it is computed by."""
    block, ops, pending = innermost.body.block, set[Operation](), [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner.parent is block and owner not in ops:
            ops.add(owner)
            pending += owner.operands
    used = {operand for op in ops for operand in op.operands} | {value}
    found = [op for op in block.ops if op in ops]
    return Factor(value, found, [loop for loop in order if loop.iv in used])


def _with_domains(
    loop: ForOp,
    sums: AccumulateOp,
    both: SumFactors,
    pair: tuple[Factor, Factor],
    space: str,
    action: str,
    refuse,
) -> tuple[tuple[Factor, Factor], AffineList] | NestorError:
    """Constraints shared out; every element that is copied is in its buffer, every copy in its memory."""
    inside = {inner.iv for inner in enclosing_loops(sums)[len(enclosing_loops(loop)) + 1 :]}
    domains = {factor: AffineList((), ()) for factor in pair}
    rest = AffineList((), ())
    kept = _variables_of_others(sums, both) if zeros_are_neutral(sums, both) else inside
    for k in range(len(sums.where or ())):
        assert sums.where is not None
        constraint = sums.where[k].canonical()
        speaks_of = inside.intersection(constraint.operands)
        holders = [f for f in domains if speaks_of <= {inner.iv for inner in f.loops}]
        for factor in holders:
            domains[factor] = domains[factor].concat(constraint)
        if len(holders) < 2 or speaks_of & kept:
            rest = rest.concat(constraint)
    factors = tuple(Factor(f.value, f.ops, f.loops, where.canonical()) for f, where in domains.items())
    for factor in factors:
        is_read = _is_read(loop, sums, factor, inside)
        for load in factor.loads:
            if not is_read and not is_in_buffer(load, load.memref, load.indices, factor.where):
                return refuse("an element that would be copied is not proved to be in its buffer", load)
        around = [*enclosing_loops(loop), loop]
        element = factor.value.type
        if (refusal := why_not_space(loop, action, space, factor.shape, element, around, [sums])) is not None:
            return refusal
    return (factors[0], factors[1]), rest.canonical()


def _variables_of_others(sums: AccumulateOp, both: SumFactors) -> set[SSAValue]:
    """The variables that elements are loaded by which a term needs besides its factors."""
    block = both.term[-1].parent
    assert block is not None
    loads = loads_of(both.others, block)
    pending: list[SSAValue] = [value for load in loads for value in load.operands]
    found = set[SSAValue]()
    while pending:
        value = pending.pop()
        if value not in found:
            found.add(value)
            if isinstance(value.owner, Operation) and value.owner.parent is block:
                pending += value.owner.operands
    return found


def _is_read(loop: ForOp, sums: AccumulateOp, factor: Factor, inside: set[SSAValue]) -> bool:
    """Whether the sum needs all that is copied: in the first iteration of the loops that the factor has not."""
    where = AffineList((), ()) if sums.where is None else sums.where
    own = {inner.iv for inner in factor.loops}
    for k in range(len(where)):
        constraint = where[k].canonical()
        if not inside.intersection(constraint.operands) <= own:
            for variable in inside - own:
                constraint = constraint.substitute(variable, 0)
            if not inside.isdisjoint(constraint.operands) or not is_never_negative(
                constraint.canonical(), enclosing_loops(sums)[-1]
            ):
                return False
    return True


# ---- rewriting --------------------------------------------------------------------------------------


def stage_factors(
    loop: ForOp, space: str = "global", narrow: bool = False
) -> tuple[AllocOp, ForOp, AllocOp, ForOp]:
    """Copy the two factors of the reduction in `loop` first: each copy, and the outermost loop that makes it.

    Raises the diagnostic of `why_not_stage_factors`.
    """
    plan = _plan(loop, space, narrow)
    if isinstance(plan, NestorError):
        raise plan
    made: list[AllocOp | ForOp] = []
    copies = [_copy(loop, plan.sums, factor, space) for factor in plan.factors]
    for factor, uses, (alloc, copy) in zip(plan.factors, plan.uses, copies, strict=True):
        load = LoadOp(alloc.memref, AffineList.of(*(inner.iv for inner in factor.loops)))
        first = uses[0][0]
        load.location = first.location
        assert first.parent is not None
        first.parent.insert_op_before(load, first)
        for reader, place in uses:
            reader.operands[place] = load.result
        made += [alloc, copy]
    plan.sums.set_access(plan.sums.indices, plan.where if len(plan.where) else None)
    for factor in plan.factors:
        for op in reversed(factor.ops):
            if op.parent is not None and not any(result.uses for result in op.results):
                op.detach()
                op.erase()
    return tuple(made)  # pyright: ignore[reportReturnType]


def _copy(loop: ForOp, sums: AccumulateOp, factor: Factor, space: str) -> tuple[AllocOp, ForOp]:
    """The buffer of a factor and the nest that fills it, before the loop that is all of the body so far."""
    band = next(op for op in reversed(loop.body.block.ops) if isinstance(op, ForOp))
    stem = buffer_name(factor.loads[0].memref) if factor.loads else "factor"
    name, element = fresh_buffer_name(loop, f"{stem}_tile"), factor.value.type
    alloc = AllocOp(name, MemRefType(element, factor.shape, memory_space=space_attribute(space)))
    names = fresh_names(loop, *(f"{name}.{inner.label}" for inner in factor.loops))
    loops = [ForOp(n, 0, inner.upper) for n, inner in zip(names, factor.loops, strict=True)]
    for outer, inner in pairwise(loops):
        outer.body.block.add_op(inner)
    mapper: dict[SSAValue, SSAValue] = {}
    for new, inner in zip(loops, factor.loops, strict=True):
        new.iv.name_hint = inner.iv.name_hint
        mapper[inner.iv] = new.iv
    computed = [op.clone(value_mapper=mapper) for op in factor.ops]
    where = factor.where.substitute_all(mapper)
    value = mapper.get(factor.value, factor.value)
    statements = [*computed]
    if len(where):
        before, after, value = or_zero(loop, stem, value, where)
        statements = [*before, *computed, *after]
    statements.append(StoreOp(value, alloc.memref, AffineList.of(*(new.iv for new in loops)), label=name))
    for op in statements:
        op.location = op.location if op in computed else sums.location
        loops[-1].body.block.add_op(op)
    for op in (alloc, *loops):
        op.location = loop.location
    loop.body.block.insert_ops_before([alloc, loops[0]], band)
    return alloc, loops[0]
