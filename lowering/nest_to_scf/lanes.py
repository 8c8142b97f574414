"""The lanes of a vectorized loop: index vectors, masks, and values repeated in every lane.

Lane k of the loop `"i" %i = L to U step s vectorized(W)` has %i = L + s * k. An affine index a * %i + b is
a * L + b in lane 0 and grows by a * s a lane; a constraint on it holds in the first few lanes when it
falls, so that most masks are `vector.create_mask` of a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, VectorType, i1
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ...analysis.nest.kernels.combiners import splat, zero
from ...analysis.nest.sets.domains import Domain, within_bound
from ...analysis.nest.values.linear_forms import Division, Linear, linear, terms_of
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext.arith import NO_OVERFLOW, vector_form
from ...dialects.nest import ForOp
from ...dialects.nest.common import INDEX
from ..nest_common.index_arithmetic import PREDICATES

if TYPE_CHECKING:
    from ..nest_common.body import NestBody


@dataclass(eq=False)
class LaneMask:
    """Which lanes are on: below every count, on in every vector, and none unless every scalar holds."""

    lanes: Lanes
    counts: list[SSAValue] = field(default_factory=list)
    vectors: list[SSAValue] = field(default_factory=list)
    scalars: list[SSAValue] = field(default_factory=list)
    beyond_extent: int = 0
    """How many of `counts` are not the extent of the loop itself."""
    may_be_empty: bool = False
    """Whether one of these may be that of no lane."""

    @property
    def differs(self) -> bool:
        """Whether the domain can hold in some lanes of the loop and not in others."""
        return bool(self.vectors or self.beyond_extent)

    def vector(self) -> SSAValue | None:
        """The mask as a vector, None when all lanes are on."""
        builder, width = self.lanes.builder, self.lanes.width
        parts = []
        if self.counts:
            count = self._count()
            mask_type = self.lanes.type(i1)
            parts.append(
                builder.once(
                    ("mask", count, width), lambda: builder.value(vector.CreateMaskOp, (count,), mask_type)
                )
            )
        parts += self.vectors
        parts += [self.lanes.repeat(s) for s in self.scalars]
        if not parts:
            return None
        return self._all(parts)

    def any_lane(self) -> SSAValue | None:
        """Whether any lane is on, as an i1; None when that is known."""
        builder = self.lanes.builder
        if self.vectors:
            mask = self.vector()
            assert mask is not None
            kind = vector.CombiningKindAttr(vector.CombiningKindFlag.OR)
            none = arith.FastMathFlagsAttr("none")
            return builder.value(vector.ReductionOp, (mask,), i1, {"kind": kind, "fastmath": none})
        parts = list(self.scalars)
        if self.counts and (self.may_be_empty or not self.lanes.is_known_nonempty):
            parts.append(builder.compare("sgt", self._count(), builder.constant(0)))
        return self._all(parts) if parts else None

    def _count(self) -> SSAValue:
        builder = self.lanes.builder
        total = self.counts[0]
        for other in self.counts[1:]:
            left = total
            total = builder.once(
                ("min", left, other), lambda a=left, b=other: builder.value(arith.MinSIOp, (a, b))
            )
        return total

    def _all(self, parts: Sequence[SSAValue]) -> SSAValue:
        builder = self.lanes.builder
        total = parts[0]
        for other in parts[1:]:
            left = total
            total = builder.once(
                ("and", left, other), lambda a=left, b=other: builder.value(arith.AndIOp, (a, b))
            )
        return total


class Lanes:
    """The lanes of `loop`, whose body is being lowered by `body`."""

    def __init__(self, body: NestBody, loop: ForOp, width: int):
        self.body = body
        self.builder = body.builder
        self.loop = loop
        self.width = width
        self.iv: SSAValue = Block(arg_types=(INDEX,)).args[0]
        """Stands for the loop's variable in `Linear` forms; it is never an operand."""
        self.first = linear((), 0)
        self.extent: int | SSAValue = width
        self.is_known_nonempty = False

    def enter(self) -> None:
        """Work out the first value of the variable and the number of lanes that are on."""
        body, loop = self.body, self.loop
        lowers, uppers = body.forms(loop.lower), body.forms(loop.upper)
        if body.assumed:
            # A constant bound says which lanes are on even where a domain that reads the same is known to hold in these.
            uppers = [
                u for k, u in enumerate(uppers) if not u.terms or within_bound(loop, k) not in body.assumed
            ]
        self.first = lowers[0]
        if len(lowers) > 1:
            self.first = linear(((body.one_of(loop.lower, arith.MaxSIOp), 1),), 0)
        body.values[loop.iv] = self.iv
        if any(self.builder.is_nonnegative(form) for form in lowers):
            self.builder.nonnegative.add(self.iv)
        spans = [upper.added(self.first.scaled(-1)) for upper in uppers]
        constants = [-(-span.constant // loop.step_value) for span in spans if not span.terms]
        known = min(constants, default=None)
        if known is not None and known > self.width and len(spans) == 1:
            raise fail(
                loop,
                f'the loop "{loop.label}" has {known} iterations, more than its {self.width} lanes',
                hint=f"split it by {self.width} and vectorize the inner loop",
                error=LoweringError,
            )
        unknown = [span for span in spans if span.terms]
        if known is not None and known < self.width:
            self.extent = max(known, 0)
            if unknown:
                self.extent = self._dynamic_extent([*unknown, linear((), known * loop.step_value)])
        elif unknown:
            self.extent = self._dynamic_extent(unknown)
        self.is_known_nonempty = isinstance(self.extent, int)

    def _dynamic_extent(self, spans: Sequence[Linear]) -> SSAValue:
        counts = [self.builder.affine(_iterations(span, self.loop.step_value)) for span in spans]
        total = counts[0]
        for count in counts[1:]:
            total = self.builder.value(arith.MinSIOp, (total, count))
        return total

    @property
    def is_empty(self) -> bool:
        return self.extent == 0

    @property
    def may_be_empty(self) -> bool:
        return not isinstance(self.extent, int)

    def nonempty(self) -> SSAValue:
        """Whether the loop has an iteration, as an i1."""
        assert isinstance(self.extent, SSAValue)
        return self.builder.compare("sgt", self.extent, self.builder.constant(0))

    # ---- types and repeated values ----

    def type(self, element: Attribute) -> VectorType:
        """The vector of one element per lane."""
        return _vector_type(element, self.width)

    def constant(self, attribute: Attribute, element: Attribute) -> SSAValue:
        """A constant in every lane."""
        vector_type = self.type(element)
        return self.builder.attribute_constant(splat(attribute, vector_type), vector_type)

    def zeros(self, element: Attribute) -> SSAValue:
        return self.constant(zero(element), element)

    def all_on(self) -> SSAValue:
        return self.constant(IntegerAttr(1, i1), i1)

    def repeat(self, scalar: SSAValue) -> SSAValue:
        """A scalar in every lane."""
        if isinstance(scalar.owner, arith.ConstantOp):
            return self.constant(scalar.owner.value, scalar.type)
        return self.builder.once(
            ("repeat", scalar, self.width),
            lambda: self.builder.value(vector.BroadcastOp, (scalar,), self.type(scalar.type)),
        )

    def vector(self, old: SSAValue) -> SSAValue:
        """The lanes of a value of the nest function."""
        new = self.body.values[old]
        if new is self.iv:
            return self.index_vector(linear(((self.iv, 1),), 0))
        if isinstance(new, int):
            return self.constant(IntegerAttr(new, INDEX), INDEX)
        return new if isinstance(new.type, VectorType) else self.repeat(new)

    # ---- affine expressions ----

    def split(self, form: Linear) -> tuple[Linear, int] | None:
        """The value in lane 0 and the growth a lane; None when the form is not affine in the lane."""
        rest = form.without(self.iv)
        if any(self._varies(atom) for atom in rest.order):
            return None
        coefficient = form.coefficient(self.iv)
        return rest.added(self.first.scaled(coefficient)), coefficient * self.loop.step_value

    def _varies(self, atom: SSAValue | Division) -> bool:
        if isinstance(atom, Division):
            return any(self._varies(inner) for inner in atom.numerator.order)
        return atom is self.iv or isinstance(atom.type, VectorType)

    def index_vector(self, form: Linear) -> SSAValue:
        """The value of an index form in every lane."""
        return self.builder.once(("lanes", form, self.iv), lambda: self._index_vector(form))

    def _index_vector(self, form: Linear) -> SSAValue:
        split = self.split(form)
        if split is not None:
            first, growth = split
            if not growth:
                return self.repeat(self.builder.affine(first))
            if not first.terms:
                return self.iota(growth, first.constant)
            return self._add(self.repeat(self.builder.affine(first)), self.iota(growth))
        uniform = [(a, c) for a, c in terms_of(form) if not self._varies(a)]
        base = linear(uniform, form.constant)
        total = None if base == linear((), 0) else self.repeat(self.builder.affine(base))
        for atom, coefficient in terms_of(form):
            if not self._varies(atom):
                continue
            term = self._scaled(self._atom(atom), coefficient)
            total = term if total is None else self._add(total, term)
        assert total is not None
        return total

    def iota(self, growth: int, first: int = 0) -> SSAValue:
        """`first + growth * lane` as a constant."""
        vector_type = VectorType(INDEX, [self.width])
        values = [first + growth * lane for lane in range(self.width)]
        return self.builder.attribute_constant(
            DenseIntOrFPElementsAttr.from_list(vector_type, values), vector_type
        )

    def _add(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.builder.value(arith.AddiOp, (lhs, rhs), None, NO_OVERFLOW)

    def _scaled(self, lanes: SSAValue, factor: int) -> SSAValue:
        if factor == 1:
            return lanes
        return self.builder.value(
            arith.MuliOp, (lanes, self.constant(IntegerAttr(factor, INDEX), INDEX)), None, NO_OVERFLOW
        )

    def _atom(self, atom: SSAValue | Division) -> SSAValue:
        if atom is self.iv:
            return self.index_vector(linear(((self.iv, 1),), 0))
        if not isinstance(atom, Division):
            return atom
        numerator = self.index_vector(atom.numerator)
        divisor = self.constant(IntegerAttr(atom.divisor, INDEX), INDEX)
        if atom.kind is AffineBinaryOpKind.CeilDiv:
            return self.builder.value(arith.CeilDivSIOp, (numerator, divisor))
        is_mod = atom.kind is AffineBinaryOpKind.Mod
        if self.builder.is_nonnegative(atom.numerator):
            return self.builder.value(arith.RemUIOp if is_mod else arith.DivUIOp, (numerator, divisor))
        quotient = self.builder.value(arith.FloorDivSIOp, (numerator, divisor))
        if not is_mod:
            return quotient
        product = self.builder.value(arith.MuliOp, (quotient, divisor), None, NO_OVERFLOW)
        return self.builder.value(arith.SubiOp, (numerator, product), None, NO_OVERFLOW)

    # ---- masks ----

    def mask(self, domain: Domain) -> LaneMask:
        """The lanes where the loop runs and `domain` holds."""
        mask = LaneMask(self)
        if self.extent != self.width:
            extent = self.extent
            mask.counts.append(self.builder.constant(extent) if isinstance(extent, int) else extent)
        for constraint in domain.constraints:
            if constraint not in self.body.assumed:
                self._constrain(mask, self.body.forms(constraint)[0])
        if domain.mask is not None:
            value = self.body.value(domain.mask)
            (mask.vectors if isinstance(value.type, VectorType) else mask.scalars).append(value)
        return mask

    def _constrain(self, mask: LaneMask, form: Linear) -> None:
        builder = self.builder
        split = self.split(form)
        if split is None or split[1] > 0:
            lanes = self.index_vector(form)
            at_least = {"predicate": PREDICATES["sge"]}
            zeros = self.constant(IntegerAttr(0, INDEX), INDEX)
            mask.vectors.append(
                builder.value(vector_form(arith.CmpiOp), (lanes, zeros), self.type(i1), at_least)
            )
            return
        first, growth = split
        if not growth:
            condition = builder.once(("holds", first), lambda: builder.at_least_zero(first))
            mask.scalars.append(condition)
            return
        if growth == -1:
            count = first.plus(1)
        else:
            count = linear(((Division(AffineBinaryOpKind.FloorDiv, first, -growth), 1),), 1)
        if not first.terms:
            on = first.constant // -growth + 1
            if on >= self.width:
                return
            count = linear((), on)
        mask.counts.append(builder.affine(count))
        mask.beyond_extent += 1
        mask.may_be_empty |= not builder.is_nonnegative(first)

    def any_of(self, domains: Sequence[Domain]) -> LaneMask:
        """The lanes where the loop runs and any of the domains holds."""
        if len(domains) == 1:
            return self.mask(domains[0])
        vectors = [self.mask(domain).vector() for domain in domains]
        if None in vectors:
            return self.mask(Domain())
        total = vectors[0]
        assert total is not None
        for other in vectors[1:]:
            assert other is not None
            total = self.builder.value(arith.OrIOp, (total, other))
        return LaneMask(self, vectors=[total])


def _iterations(span: Linear, step: int) -> Linear:
    """`ceil(span / step)`."""
    if not span.terms:
        return linear((), -(-span.constant // step))
    return span if step == 1 else linear(((Division(AffineBinaryOpKind.CeilDiv, span, step), 1),), 0)


_TYPES: dict[tuple[Attribute, int], VectorType] = {}


def _vector_type(element: Attribute, width: int) -> VectorType:
    found = _TYPES.get((element, width))
    if found is None:
        found = _TYPES[element, width] = VectorType(element, [width])
    return found
