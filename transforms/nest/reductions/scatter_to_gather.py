"""nest-scatter-to-gather: what a loop adds to elements around its iteration is gathered by each element.

    nest.for "i" %i = 1 to %n {
      %g = nest.load %c[%i]
      nest.accumulate "x" add %g, %x[%i - 1]
      nest.accumulate "x" add %g, %x[%i + 1]
    }

becomes with buffer=x, loop=i: the elements to which all is added, and those at each end, where each term has its domain

    nest.for "i" %p = 2 to %n - 1 {
      %a = nest.load %c[%p + 1]
      %b = nest.load %c[%p - 1]
      %s = arith.addf %a, %b
      nest.accumulate "x" add %s, %x[%p]
    }
    nest.for "i.1" %p = 0 to min(2, %n + 1) {
      %a = nest.load %c[%p + 1]
      nest.accumulate "x" add %a, %x[%p] where (%p >= 0, %p < %n - 1)
      %b = nest.load %c[%p - 1]
      nest.accumulate "x" add %b, %x[%p] where (%p >= 2, %p < %n + 1)
    }
    nest.for "i.2" %p = max(2, %n - 1) to %n + 1 {
      ...
    }

so that iterations write elements of their own: the loops can be parallel and vectors. The index of an access is an affine
expression of the loop's variable and of those of the loops in it, of outer values too. Where several iterations add to one
element (`%x[%i + %k]`) those loops that elements do not decide stay inside, and add up its terms. Terms are computed for
each element that they are added to.

All sums move before the loop, or behind it where that is not possible. Refused where neither is: an update may not pass
what reads or stores the element, and what is added may not be overwritten on the way (a sweep in place reads what it has
updated, one from array to array does not). Refused as well: indices that are computed from data, combiners other than
`add` in any order, branches, and what can fail. PerforAD's transformation of adjoint stencils (Hueckelheim et al., 2019);
no primitive of Halide, TVM, Exo or NNC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ....analysis.nest.kernels.loop_marks import refuse_in_vector, refuse_marked
from ....analysis.nest.loop_structure import (
    enclosing_function,
    enclosing_loops,
    is_inside,
    loops_in,
    may_fail,
)
from ....analysis.nest.sets.accesses import Access, accesses_of, buffer_name, is_defined_outside, may_overlap
from ....analysis.nest.sets.dependence import Dependences, analyse
from ....analysis.nest.sets.domains import is_computation
from ....analysis.nest.sets.inverse_accesses import Inverse, Linear, linear, turned_around
from ....analysis.nest.values.extent_keys import extent_key, value_key
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import (
    AccumulateOp,
    AllocOp,
    ForOp,
    IfOp,
    LoadOp,
    LookupOp,
    PrefetchOp,
    StoreOp,
    YieldOp,
)
from ....dialects.nt.expand import Emitter
from ..rewrite.loops import erase_with_inputs, fresh_names, materialise

Side = Literal["before", "behind"]
Notes = list[tuple[Operation, str]]
Put = Callable[[Operation], SSAValue | None]
Range = tuple[Sequence[Linear], Sequence[Linear]]
"""Several lower bounds of a variable, and several upper ones."""


def why_not_scatter_to_gather(
    buffer: SSAValue, loop: ForOp, fill: bool = False, dependences: Dependences | None = None
) -> NestorError | None:
    """The diagnostic that refuses to gather what `loop` adds to `buffer`, None when it is legal."""
    found = _plan(buffer, loop, fill, dependences)
    return found if isinstance(found, NestorError) else None


def scatter_to_gather(
    buffer: SSAValue, loop: ForOp, fill: bool = False, dependences: Dependences | None = None
) -> tuple[list[ForOp], list[ForOp], list[ForOp]]:
    """Gather what `loop` adds to `buffer`: the loops over elements that get all terms, those over others, what is left.

    `fill`: what the buffer held before does not count (the caller knows that it is zeros, and that nothing else adds to
    it): each element is stored. Raises the diagnostic of `why_not_scatter_to_gather`.
    """
    found = _plan(buffer, loop, fill, dependences)
    if isinstance(found, NestorError):
        raise found
    return found.run()


def computes_again(buffer: SSAValue, loop: ForOp) -> bool:
    """Whether several terms that `loop` adds to `buffer` share what is expensive, which gathering them would repeat."""
    seen: set[Operation] = set()
    for op in _sums_in(loop, buffer):
        found = _slice(op, loop)
        if isinstance(found, tuple):
            return True
        expensive = {op for op in found if not isinstance(op, _CHEAP)}
        if expensive & seen:
            return True
        seen |= expensive
    return False


_CHEAP = (
    *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.NegfOp, arith.SelectOp, arith.ConstantOp, LoadOp),
    *(arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ExtFOp, arith.TruncFOp, arith.IndexCastOp),
    *(arith.DivfOp, arith.CmpfOp, arith.MaximumfOp, arith.MinimumfOp, arith.SIToFPOp),
)
"""What is done again for each term: less than what vectors of elements save."""


# ---- what is added, and whether it can be moved -----------------------------------------------------


def _plan(buffer: SSAValue, loop: ForOp, fill: bool, dependences: Dependences | None) -> _Plan | NestorError:
    name = buffer_name(buffer)

    def refuse(reason: str, notes: Notes | None = None, hint: str | None = None) -> NestorError:
        message = f'cannot gather what the loop "{loop.label}" adds to {name}: {reason}'
        return fail(loop, message, hint=hint, notes=notes or [])

    for inner in loops_in(loop):
        if (refusal := refuse_marked(inner, "gather what is added in")) is not None:
            return refusal
    if (refusal := refuse_in_vector(loop, "gather what is added in")) is not None:
        return refusal
    if (check := may_fail(loop)) is not None:
        reason = "an error must be that of the first iteration in program order"
        return refuse(
            reason, [(check, "this check can fail")], "nest-prove-bounds removes the checks that cannot fail"
        )
    if not is_defined_outside(buffer, loop):
        return refuse("the loop makes the buffer itself")
    sums = _sums_in(loop, buffer)
    if not sums:
        return refuse("it adds nothing to it", hint="sums are nest.accumulate add in any order")
    groups: dict[object, _Group] = {}
    reads: list[Operation] = []
    for op in sums:
        band = _band(op, loop)
        if band is None:
            return refuse("something else than loops decides whether it is added", [(op, "it is added here")])
        if any(one.step_value != 1 for one in band):
            return refuse("a loop has a step", hint="nest-normalise runs a loop in steps of 1")
        inverse = turned_around(op.indices, band)
        if isinstance(inverse, str):
            return refuse(inverse, [(op, "it is added here")])
        needed = _slice(op, loop)
        if isinstance(needed, tuple):
            return refuse(needed[1], [(needed[0], "here"), (op, "it is added here")])
        constraints = _constraints(band, inverse)
        if constraints is None:
            return refuse("the bounds of a loop are not affine in the variables of the loops around it")
        reads += [one for one in needed if isinstance(one, LoadOp)]
        term = _Term(op, inverse, constraints, needed)
        group = _Group(buffer, band, [term])
        groups.setdefault(group.key, _Group(buffer, band, [])).terms.append(term)
    plan = _Plan(buffer, loop, list(groups.values()), fill, "before")
    for group in plan.groups:
        here: Notes = [(group.terms[0].op, "it is added here")]
        if not group.solved:
            return refuse(
                "all iterations add to one element",
                here,
                "nest-privatise gives parts of a loop sums of their own",
            )
        if group.bounds(lambda axis: AffineList.of(0)) is None:
            return refuse("which elements it adds to is not known before", here)
    if fill and not plan.can_fill:
        return refuse("it does not go through all elements in a simple way")
    dependences = dependences or analyse(loop)
    why = _why_not_moved("before", plan, sums, reads, dependences)
    if why is not None:
        plan.side = "behind"
        also = _why_not_moved("behind", plan, sums, reads, dependences)
        if also is not None:
            return refuse("it can be moved neither before the loop nor behind it", [*why, *also])
    return plan


def _sums_in(loop: ForOp, buffer: SSAValue) -> list[AccumulateOp]:
    """The sums into a buffer that may be added in any order."""
    return [
        op
        for op in loop.walk()
        if isinstance(op, AccumulateOp)
        and list(op.memrefs) == [buffer]
        and op.combiner.data == "add"
        and op.order_name == "any"
    ]


def _band(op: Operation, outermost: ForOp) -> list[ForOp] | None:
    """The loops around a statement, from `outermost` on; None where a branch is among them."""
    band = [loop for loop in enclosing_loops(op) if is_inside(loop, outermost)]
    inner: Operation = op
    for loop in reversed(band):
        if inner.parent_op() is not loop:
            return None
        inner = loop
    return band


def _slice(op: AccumulateOp, outermost: ForOp) -> set[Operation] | tuple[Operation, str]:
    """What in the loops computes the value of a sum, and decides whether it is added; or what cannot be done again."""
    found: set[Operation] = set()
    where = () if op.where is None else op.where.operands
    pending = [*op.values, *where, *(() if op.mask is None else (op.mask,))]
    while pending:
        value = pending.pop()
        if is_defined_outside(value, outermost):
            continue
        owner = value.owner
        if isinstance(owner, Block) or owner in found:
            continue
        if isinstance(owner, LoadOp):
            if not is_defined_outside(owner.memref, outermost):
                return owner, f"it depends on {buffer_name(owner.memref)}, which the loop makes itself"
            if _overlaps(owner, op):
                return owner, "it depends on what is added to"
        elif isinstance(owner, LookupOp) or not is_computation(owner):
            return owner, f"it depends on the result of '{owner.name}', which cannot be computed again"
        found.add(owner)
        pending += owner.operands
    return found


def _overlaps(load: LoadOp, op: AccumulateOp) -> bool:
    return any(may_overlap(one, other) for one in accesses_of(load) for other in accesses_of(op))


def _why_not_moved(
    side: Side,
    plan: _Plan,
    sums: Sequence[AccumulateOp],
    reads: Sequence[Operation],
    dependences: Dependences,
) -> Notes | None:
    """The two accesses whose order would change if all sums were done before the loop, or behind it; None where none."""
    accesses = dependences.accesses_in(plan.loop)
    words = {
        "before": ("before", "it would come before this"),
        "behind": ("after", "it would come after this"),
    }
    word, note = words[side]
    moved: list[tuple[Operation, Access]] = []
    for other in accesses:
        if other.op not in sums and any(may_overlap(other, a) for op in sums for a in accesses_of(op)):
            moved += [(op, other) for op in sums]
        if other.writes:
            moved += [(op, other) for op in dict.fromkeys(reads)]
    for op, other in moved:
        ends = (other.op, op) if side == "before" else (op, other.op)
        if dependences.distance(*ends, plan.loop):
            what = "it is added here" if op in sums else "what is added is read here"
            return [(op, f"{what}; {word} the loop,"), (other.op, note)]
    return None


# ---- the iterations of elements ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Term:
    """What one statement adds. Of each loop: expressions that are not negative where its iteration exists."""

    op: AccumulateOp
    inverse: Inverse
    constraints: list[tuple[int, Linear]]
    needed: set[Operation]

    @property
    def is_plain(self) -> bool:
        """Whether it is added in each iteration."""
        return self.op.where is None and self.op.mask is None


def _constraints(band: Sequence[ForOp], inverse: Inverse) -> list[tuple[int, Linear]] | None:
    found: list[tuple[int, Linear]] = []
    for k, loop in enumerate(band):
        own = inverse.iterations[k]
        for bound in loop.lower:
            lower = linear(bound, band)
            if lower is None:
                return None
            found.append((k, own.plus(lower.of(dict(enumerate(inverse.iterations))), -1)))
        for bound in loop.upper:
            upper = linear(bound, band)
            if upper is None:
                return None
            found.append((k, upper.of(dict(enumerate(inverse.iterations))).plus(own, -1).add(-1)))
    return found


@dataclass(frozen=True)
class _Bound:
    """A bound of a variable: of the elements that have all terms, and of those that have any."""

    core: Linear
    hull: Linear


@dataclass(eq=False)
class _Bounds:
    """The bounds of each variable that counts elements. `has_core`: they say all that there is to say."""

    lowers: dict[int, list[_Bound]]
    uppers: dict[int, list[_Bound]]
    owner: dict[int, int]
    """By the number of a constraint: the variable that it bounds."""
    has_core: bool

    def core(self, k: int) -> Range:
        """The range of a variable where all terms are added."""
        return [b.core for b in self.lowers[k]], [b.core for b in self.uppers[k]]

    def hull(self, k: int) -> Range:
        """The range of a variable where any term is added."""
        return [b.hull for b in self.lowers[k]], [b.hull for b in self.uppers[k]]


@dataclass(eq=False)
class _Group:
    """Terms that are added to the elements of one nest: they differ by constant shifts."""

    buffer: SSAValue
    loops: Sequence[ForOp]
    terms: list[_Term]

    @property
    def inverse(self) -> Inverse:
        """That of the first term."""
        return self.terms[0].inverse

    @property
    def key(self) -> object:
        """Equal for terms of one group."""
        inverse, term = self.inverse, self.terms[0]
        shapes = tuple(i.shape for i in inverse.iterations)
        fibre = [form for k, form in term.constraints if k not in inverse.solved]
        alone = term if any(k in inverse.solved for form in fibre for k, _ in form.factors) else None
        return self.loops[-1], inverse.solved, inverse.element, shapes, alone

    @cached_property
    def solved(self) -> list[int]:
        """The loops that count elements, outermost first."""
        return sorted(self.inverse.solved)

    @cached_property
    def fibre(self) -> list[int]:
        """The loops that stay for each element."""
        return [k for k in range(len(self.loops)) if k not in self.inverse.solved]

    def bounds(self, extent: Callable[[int], AffineList]) -> _Bounds | None:
        """The bounds of elements; None where some are not known. `extent` gives that of the buffer's axis."""
        result = _Bounds({k: [] for k in self.solved}, {k: [] for k in self.solved}, {}, True)
        for number, (loop, shape) in enumerate(self.terms[0].constraints):
            if loop in self.fibre:
                continue
            constants = [term.constraints[number][1].constant for term in self.terms]
            inner = max((k for k, _ in shape.factors if k in self.inverse.solved), default=None)
            rest = shape.shape if inner is None else shape.shape.without(inner)
            least, most = self._extreme(rest, True), self._extreme(rest, False)
            if inner is None or abs(shape.factor(inner)) != 1 or least is None or most is None:
                result.has_core = False
                continue
            least, most = least.add(min(constants)), most.add(max(constants))
            result.owner[number] = inner
            if shape.factor(inner) == 1:
                result.lowers[inner].append(_Bound(least.times(-1), most.times(-1)))
            else:
                result.uppers[inner].append(_Bound(least.add(1), most.add(1)))
        for k in self.solved:
            if not self._complete(k, result, extent):
                return None
            for bounds in (result.lowers[k], result.uppers[k]):
                # what is between two bounds is a range where each is one expression
                if len(bounds) > 1 and any(b.core != b.hull for b in bounds):
                    result.has_core = False
        return result

    def _complete(self, k: int, bounds: _Bounds, extent: Callable[[int], AffineList]) -> bool:
        """Bound a variable by the buffer's extents where nothing else does."""
        if bounds.lowers[k] and bounds.uppers[k]:
            return True
        axis = next((a for a, e in enumerate(self.inverse.element) if e == Linear.variable(k)), None)
        if axis is None:
            return False
        if not bounds.lowers[k]:
            bounds.lowers[k].append(_Bound(Linear(), Linear()))
        if not bounds.uppers[k]:
            end = Linear((), extent(axis))
            bounds.uppers[k].append(_Bound(end, end))
        return True

    def _extreme(self, form: Linear, is_least: bool) -> Linear | None:
        """The least or the greatest value over the loops of the fibre; None where their bounds are not simple."""
        result = form
        for k, factor in form.factors:
            if k not in self.fibre:
                continue
            loop = self.loops[k]
            bound = loop.lower if (factor > 0) == is_least else loop.upper.add(-1)
            value = linear(bound, self.loops) if len(bound) == 1 else None
            if value is None or value.factors:
                return None
            result = result.without(k).plus(value, factor)
        return result


# ---- the nests --------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Plan:
    buffer: SSAValue
    loop: ForOp
    groups: list[_Group]
    fill: bool
    side: Side

    @property
    def can_fill(self) -> bool:
        """Whether the nests go through all elements, each once."""
        if len(self.groups) != 1:
            return False
        [group] = self.groups
        bounds = group.bounds(lambda axis: AffineList.of(0))
        return (
            not group.fibre
            and all(term.is_plain for term in group.terms)
            and set(group.inverse.element) == {Linear.variable(k) for k in group.solved}
            and len(group.inverse.element) == len(group.solved)
            and bounds is not None
            and bounds.has_core
            and all(len(b) == 1 for b in (*bounds.lowers.values(), *bounds.uppers.values()))
        )

    def run(self) -> tuple[list[ForOp], list[ForOp], list[ForOp]]:
        """Make the nests, and take the sums out of the loop."""
        self._labels: list[tuple[ForOp, str]] = []
        self._next = self.loop if self.side == "before" else self.loop.next_op
        self._made: dict[int, AffineList] = {}
        cores: list[ForOp] = []
        borders: list[ForOp] = []
        for group in self.groups:
            self._gather(group, cores, borders)
        for group in self.groups:
            for term in group.terms:
                erase_with_inputs(term.op)
        for loop in reversed(loops_in(self.loop)):
            if _does_nothing(loop):
                assert loop.parent is not None
                loop.parent.erase_op(loop)
        for loop, label in self._labels:
            loop.set_label(fresh_names(loop, label)[0])
        return cores, borders, [self.loop] if self.loop.parent is not None else []

    def _gather(self, group: _Group, cores: list[ForOp], borders: list[ForOp]) -> None:
        bounds = group.bounds(self._extent)
        assert bounds is not None
        clip = {k: bounds.hull(k) for k in group.solved}
        if self.fill:
            axes = {k: group.inverse.element.index(Linear.variable(k)) for k in group.solved}
            clip = {k: ([Linear()], [Linear((), self._extent(axis))]) for k, axis in axes.items()}
        if not bounds.has_core:
            borders.append(self._nest(group, bounds, clip, set()))
            return
        core = {k: bounds.core(k) for k in group.solved}
        cores.append(self._nest(group, bounds, core, set(group.solved)))
        inside: dict[int, Range] = {}
        for k in group.solved:
            (lowers, uppers), (first, last) = core[k], clip[k]
            rest = {j: clip[j] for j in group.solved if j > k}
            if lowers != first:
                ends = {**inside, k: (first, [*lowers, *last]), **rest}
                borders.append(self._nest(group, bounds, ends, set(inside)))
            if uppers != last:
                start = [*lowers, *uppers, *(first if self.fill else ())]
                ends = {**inside, k: (start, last), **rest}
                borders.append(self._nest(group, bounds, ends, set(inside)))
            # where another loop does not run at all, its bounds may be anything
            inside[k] = ([*lowers, *first], [*uppers, *last]) if self.fill else core[k]

    def _nest(self, group: _Group, bounds: _Bounds, ranges: Mapping[int, Range], held: set[int]) -> ForOp:
        """A nest over some elements; what bounds the variables that are `held` is known there."""
        variables: dict[int, SSAValue] = {}
        outermost: ForOp | None = None
        block: Block | None = None
        is_core = held == set(group.solved) and bounds.has_core
        for k in group.solved:
            lower, upper = ranges[k]
            loop = ForOp(
                "gather",
                _bound(max, [bound.at(variables) for bound in lower]),
                _bound(min, [bound.at(variables) for bound in upper]),
            )
            self._put_loop(loop, group.loops[k], block)
            outermost = outermost or loop
            block, variables[k] = loop.body.block, loop.iv
        home = block
        if self.fill and not is_core:
            assert home is not None
            zero = _emitter(home, self.loop).const(0.0, group.terms[0].op.values[0].type)
            at = AffineList.of(*(e.at(variables) for e in group.inverse.element))
            store = StoreOp(zero, self.buffer, at, label=group.terms[0].op.statement)
            store.location = group.terms[0].op.location
            home.add_op(store)
        for k in group.fibre:
            forms = dict(enumerate(group.inverse.iterations))
            old = group.loops[k]
            lower, upper = (
                AffineList.of(*(_known(linear(b, group.loops)).of(forms).at(variables) for b in bound))
                for bound in (old.lower, old.upper)
            )
            loop = ForOp("gather", lower.canonical(), upper.canonical())
            self._put_loop(loop, old, block)
            outermost = outermost or loop
            block, variables[k] = loop.body.block, loop.iv
        assert block is not None and outermost is not None
        self._add_terms(group, bounds, variables, block, None if is_core else held)
        return outermost

    def _put_loop(self, loop: ForOp, old: ForOp, block: Block | None) -> None:
        loop.location = old.location
        loop.iv.name_hint = old.iv.name_hint
        self._labels.append((loop, old.label))
        if block is not None:
            block.add_op(loop)
            return
        around = self.loop.parent
        assert around is not None
        if self._next is None:
            around.add_op(loop)
        else:
            around.insert_op_before(loop, self._next)

    def _add_terms(
        self,
        group: _Group,
        bounds: _Bounds,
        variables: Mapping[int, SSAValue],
        block: Block,
        held: set[int] | None,
    ) -> None:
        """Add the terms to the element; those that have no condition at once. `held` is None where each is there."""
        at = AffineList.of(*(e.at(variables) for e in group.inverse.element)).canonical()
        total: SSAValue | None = None
        conditional: list[Operation] = []
        for term in group.terms:
            old = term.op
            copy = _Copy(term, self.loop, group.loops, variables, block)
            value = copy.value(old.values[0])
            where = AffineList.of()
            if held is not None:
                for number, (loop, form) in enumerate(term.constraints):
                    if loop not in group.fibre and bounds.owner.get(number) not in held:
                        where = where.concat(form.at(variables))
            if old.where is not None:
                where = where.concat(copy.indices(old.where))
            mask = None if old.mask is None else copy.value(old.mask)
            adder = arith.AddfOp if isinstance(value.type, AnyFloat) else arith.AddiOp
            if not len(where) and mask is None and isinstance(value.type, AnyFloat | IntegerType):
                emitter = _emitter(block, old)
                total = value if total is None else emitter.op(adder, (total, value))
                continue
            new = AccumulateOp(
                "add",
                [value],
                [self.buffer],
                at,
                label=old.statement,
                where=where.canonical() if len(where) else None,
                mask=mask,
            )
            new.location = old.location
            block.add_op(new)
            conditional.append(new)
        if total is None:
            return
        first = group.terms[0].op
        last: Operation
        if self.fill and held is None:
            last = StoreOp(total, self.buffer, at, label=first.statement)
        else:
            last = AccumulateOp("add", [total], [self.buffer], at, label=first.statement)
        last.location = first.location
        block.add_op(last)

    def _extent(self, axis: int) -> AffineList:
        """The extent of the buffer's axis, a value that is known before the loop."""
        known = self._made.get(axis)
        if known is None:
            known = self._made[axis] = self._find_extent(axis)
        return known

    def _find_extent(self, axis: int) -> AffineList:
        key = extent_key(self.buffer, axis)
        if isinstance(key, int):
            return AffineList.of(key)
        if isinstance(key, SSAValue) and isinstance(self.buffer.owner, AllocOp):
            return AffineList.of(key)
        for op in enclosing_function(self.loop).regions[0].block.ops:
            if isinstance(op, memref.DimOp) and value_key(op.result) == key:
                return AffineList.of(op.result)
        number = arith.ConstantOp(IntegerAttr(axis, IndexType()))
        found = memref.DimOp(self.buffer, number.result)
        for op in (number, found):
            op.location = self.loop.location
            assert self.loop.parent is not None
            self.loop.parent.insert_op_before(op, self.loop)
        return AffineList.of(found.result)


def _known(form: Linear | None) -> Linear:
    assert form is not None, "the plan has asked"
    return form


def _bound(chosen: Callable[..., int], bounds: Sequence[AffineList]) -> AffineList:
    """Several bounds of a loop, of which `chosen` counts; one number for all that are numbers."""
    merged = AffineList.of(*dict.fromkeys(b.canonical() for b in bounds)).canonical()
    numbers = [n for b in merged if (n := b.constants()) is not None]
    if len(numbers) < 2:
        return merged
    others = [b for b in merged if b.constants() is None]
    return AffineList.of(*others, chosen(n for [n] in numbers)).canonical()


def _emitter(block: Block, like: Operation) -> Emitter:
    return Emitter(block.add_op, like.location)


def _does_nothing(loop: ForOp) -> bool:
    """Whether nothing in a loop has an effect."""
    known = ForOp | IfOp | LoadOp | AllocOp | PrefetchOp | YieldOp
    return all(isinstance(op, known) or (not op.regions and is_side_effect_free(op)) for op in loop.walk())


class _Copy:
    """Values of one iteration of the old loops, computed for an element."""

    def __init__(
        self,
        term: _Term,
        outermost: ForOp,
        loops: Sequence[ForOp],
        variables: Mapping[int, SSAValue],
        block: Block,
    ):
        self._outermost, self._block, self._location = outermost, block, term.op.location
        self._moved = {
            loop.iv: form.at(variables) for loop, form in zip(loops, term.inverse.iterations, strict=True)
        }
        self._known: dict[SSAValue, SSAValue] = {}

    def value(self, value: SSAValue) -> SSAValue:
        """The value, computed again."""
        if value in self._known:
            return self._known[value]
        if is_defined_outside(value, self._outermost):
            return value
        if value in self._moved:
            found = materialise(self._moved[value], self._block, None)
        else:
            op = value.owner
            assert isinstance(op, Operation)
            copy = (
                LoadOp(op.memref, self.indices(op.indices))
                if isinstance(op, LoadOp)
                else op.clone({v: self.value(v) for v in op.operands})
            )
            copy.location = op.location
            self._block.add_op(copy)
            found = copy.results[list(op.results).index(value)]
        if found.name_hint is None:
            found.name_hint = value.name_hint
        self._known[value] = found
        return found

    def indices(self, expressions: AffineList) -> AffineList:
        """Affine expressions of values that are computed again."""
        own = {
            v: self.value(v)
            for v in expressions.operands
            if v not in self._moved and not is_defined_outside(v, self._outermost)
        }
        result = expressions.substitute_all(own)
        for variable, by in self._moved.items():
            result = result.substitute(variable, by)
        return result.canonical()
