"""nest-unroll-and-jam: unroll an outer loop and put the copies side by side inside the loops within.

    nest.for "i" %i = 0 to %n {
      nest.store "y" %zero, %y[%i]
      nest.for "k" %k = 0 to %m {
        %a = nest.load %x[%i, %k]
        %b = nest.load %w[%k]
        %c = arith.mulf %a, %b
        nest.accumulate "y" add %c, %y[%i]
      }
    }

becomes with factor=2

    nest.for "i.o" %o = 0 to %n floordiv 2 {
      nest.store "y" %zero, %y[2 * %o]
      nest.store "y" %zero, %y[2 * %o + 1]
      nest.for "k" %k = 0 to %m {
        %a = nest.load %x[2 * %o, %k]
        %a_1 = nest.load %x[2 * %o + 1, %k]
        %b = nest.load %w[%k]
        %c = arith.mulf %a, %b
        %c_1 = arith.mulf %a_1, %b
        nest.accumulate "y" add %c, %y[2 * %o]
        nest.accumulate "y" add %c_1, %y[2 * %o + 1]
      }
    }
    nest.for "i.t" ... the %n mod 2 iterations that are left, as they were

What the copies have in common (the load of %w) is done once: register tiling. Every loop under the outer one is
jammed; where there is none, only the statements of the copies stand side by side. Branches are copied whole. Refused
when a dependence would be turned around: some iterations of one block touch an element (one of them writing it), and the
later one would come first, because it does so in an earlier iteration of an inner loop or at an earlier place of the
body. Refused too when the bounds of an inner loop may differ between the iterations of a block.
Halide and TVM reach it by split, reorder and unroll; unroll-and-jam in LLVM and MLIR; Exo and NNC compose it likewise.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind
from xdsl.traits import is_side_effect_free

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import (
    enclosing_loops,
    is_inside,
    loops_in,
    may_fail,
    statements,
)
from ....analysis.nest.sets.accesses import FRESH, is_defined_outside, is_private
from ....analysis.nest.sets.accesses import buffer_name as described
from ....analysis.nest.sets.conflicts import (
    Comparison,
    Relation,
    can_meet,
    ordered_pairs,
    rows,
    turned_around,
    verb_of,
)
from ....analysis.nest.sets.dependence import Dependences, analyse
from ....analysis.nest.sets.integer_sets import Row, System, difference
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp, LoadOp
from ....dialects.nest.common import INDEX
from ..rewrite.loops import fresh_names, replace_index
from .split import split
from .unroll import refuse_copies, settle_domain, why_not_block


def why_not_unroll_and_jam(
    outer: ForOp, factor: int, dependences: Dependences | None = None
) -> NestorError | None:
    """The diagnostic that refuses to unroll and jam, None when it is legal."""
    jammed = jammed_loops(outer)
    for loop in (outer, *jammed):
        if (refusal := refuse_marked(loop, "unroll and jam")) is not None:
            return refusal
    if (refusal := why_not_block(outer, factor, "unroll and jam")) is not None:
        return refusal
    if (refusal := refuse_copies(outer, factor, "unroll and jam", "give a smaller factor")) is not None:
        return refusal
    if (op := may_fail(outer)) is not None:
        reason = "an error must be that of the first iteration in program order"
        return _refusal(outer, reason, notes=[(op, "this check can fail")])
    for loop in jammed:
        if not _has_common_bounds(loop, outer, factor):
            reason = f'the bounds of "{loop.label}" depend on the iteration of "{outer.label}"'
            return _refusal(outer, reason, notes=[(loop, "that loop is here")])
    return _why_not_order(outer, factor, dependences or analyse(outer))


def _has_common_bounds(loop: ForOp, outer: ForOp, factor: int) -> bool:
    """Whether a jammed loop runs through the same values in all the iterations of a block of `outer`."""
    around = [other for other in enclosing_loops(loop) if other is not outer and is_inside(other, outer)]
    known = {other.iv for other in around}
    bounds = loop.lower.concat(loop.upper)
    if all(value in known or is_defined_outside(value, outer) for value in bounds.operands):
        return True
    system = System(outer)
    for instance in ("s", "t"):
        system.require_reached(loop, instance)
    for other in around:
        system.require_zero(difference(system.variable(other.iv, "s"), system.variable(other.iv, "t")))
    differing: list[list[Row]] = []
    for here, there in zip(system.linear(bounds, "s"), system.linear(bounds, "t"), strict=True):
        differing += [[Row(difference(here, there, -1))], [Row(difference(there, here, -1))]]
    return not system.has_solution(rows(_in_one_block(outer, factor), system), differing)


def jammed_loops(outer: ForOp) -> list[ForOp]:
    """The loops inside `outer` that no branch encloses, in program order."""
    found: list[ForOp] = []
    for op in outer.body.block.ops:
        if isinstance(op, ForOp):
            found += [op, *jammed_loops(op)]
    return found


def _refusal(
    outer: ForOp, reason: str, hint: str | None = None, notes: Sequence[tuple[Operation, str]] = ()
) -> NestorError:
    return fail(outer, f'cannot unroll and jam the loop "{outer.label}": {reason}', hint=hint, notes=notes)


# ---- the order of iterations ------------------------------------------------------------------------


def _why_not_order(outer: ForOp, factor: int, dependences: Dependences) -> NestorError | None:
    accesses = [a for a in dependences.accesses_in(outer) if not is_private(a, outer)]
    for source, sink, kind in ordered_pairs(accesses, accesses):
        cases = _sink_first(outer, source.op, sink.op)
        if not cases or not can_meet([outer], source, sink, _in_one_block(outer, factor), cases):
            continue
        name = described(source.buffer or sink.buffer)
        notes = [
            (source.op, f"{verb_of(source)} {name} in an earlier iteration"),
            (sink.op, f"{verb_of(sink)} the same element in a later one, and would run before it"),
        ]
        return _refusal(outer, turned_around(kind), notes=notes)
    return None


def _in_one_block(outer: ForOp, factor: int) -> Relation:
    """Instance `s` is in an earlier iteration of `outer` than `t`, in one and the same whole block of `factor`."""
    variable, span = AffineList.of(outer.iv), factor * outer.step_value
    block = variable.minus(outer.lower).divided(AffineBinaryOpKind.FloorDiv, span)
    last = outer.lower.plus(block.times(span)).add(span - outer.step_value)
    return [
        [
            Comparison(variable, "s", "<", variable, "t"),
            Comparison(block, "s", "=", block, "t"),
            Comparison(last, "t", "<", outer.upper, "t"),
        ]
    ]


def _sink_first(outer: ForOp, source: Operation, sink: Operation) -> Relation:
    """The cases in which the copy of `sink` in a later iteration comes before that of `source` in an earlier one.

    Jammed, the place in the body and the inner loops count before the copy.
    """
    first, second = outer, outer
    common: list[ForOp] = []
    while True:
        first, second = _member(first, source), _member(second, sink)
        if first is not second or not isinstance(first, ForOp) or not isinstance(second, ForOp):
            break
        common.append(first)
    variables = [AffineList.of(loop.iv) for loop in common]
    same = [Comparison(variable, "t", "=", variable, "s") for variable in variables]
    cases = [
        [*same[:k], Comparison(variable, "t", "<", variable, "s")] for k, variable in enumerate(variables)
    ]
    if first is not second and second.is_before_in_block(first):
        cases.append(same)
    return cases


def _member(loop: ForOp, inner: Operation) -> Operation:
    """The operation of the body of `loop` that is, or holds, `inner`."""
    while inner.parent_op() is not loop:
        parent = inner.parent_op()
        assert parent is not None
        inner = parent
    return inner


# ---- copies side by side ----------------------------------------------------------------------------


def unroll_and_jam(outer: ForOp, factor: int, dependences: Dependences | None = None) -> ForOp:
    """Take `factor` iterations of `outer` at a time, side by side in the inner loops; the loop over blocks.

    `outer` is consumed; a remainder is called `i.t`. Raises the diagnostic of `why_not_unroll_and_jam`.
    """
    if (refusal := why_not_unroll_and_jam(outer, factor, dependences)) is not None:
        raise refusal
    blocks, inside, *_ = split(outer, factor)
    numbers = [arith.ConstantOp(IntegerAttr(k, INDEX)) for k in range(factor)]
    for number in numbers:
        number.location = inside.location
    body = inside.body.block
    inside.detach()
    blocks.body.block.add_ops(numbers)
    copies: list[dict[SSAValue, SSAValue]] = [{inside.iv: number.result} for number in numbers]
    repeated = _jam(body, blocks.body.block, copies)
    inside.erase()
    for loop in repeated:
        loop.set_label(fresh_names(loop, loop.label)[0])
    for k, number in enumerate(numbers):
        replace_index(number.result, AffineList.of(k))
        number.detach()
        number.erase()
    for statement in list(statements(blocks)):
        settle_domain(statement)
    return blocks


def _jam(source: Block, target: Block, copies: list[dict[SSAValue, SSAValue]]) -> list[ForOp]:
    """Put the copies of every operation of `source` side by side in `target`; the loops that have a name twice.

    `copies` says for each what the values of the original are in it.
    """
    repeated: list[ForOp] = []
    for op in list(source.ops):
        if isinstance(op, ForOp):
            repeated += _jam_loop(op, target, copies)
            continue
        for renamed in copies:
            if renamed is not copies[0] and _is_common(op, renamed, copies[0]):
                renamed.update({result: copies[0][result] for result in op.results})
                continue
            copy = op.clone(renamed)
            target.add_op(copy)
            if renamed is not copies[0]:
                repeated += loops_in(copy)
    return repeated


def _jam_loop(loop: ForOp, target: Block, copies: list[dict[SSAValue, SSAValue]]) -> list[ForOp]:
    lower, upper = (bound.substitute_all(copies[0]) for bound in (loop.lower, loop.upper))
    jammed = ForOp(loop.label, lower, upper, step=loop.step_value)
    jammed.location = loop.location
    jammed.attributes.update(loop.attributes)
    jammed.iv.name_hint = loop.iv.name_hint
    target.add_op(jammed)
    for renamed in copies:
        renamed[loop.iv] = jammed.iv
    return _jam(loop.body.block, jammed.body.block, copies)


def _is_common(op: Operation, renamed: dict[SSAValue, SSAValue], first: dict[SSAValue, SSAValue]) -> bool:
    """Whether a copy of `op` would give what the first copy, which is right before it, gives."""
    if op.regions or isinstance(op, FRESH) or not (isinstance(op, LoadOp) or is_side_effect_free(op)):
        return False
    return all(renamed.get(value, value) is first.get(value, value) for value in op.operands)
