"""Unification of a nest with the body of an intrinsic: the proof that one computes what the other says.

    nest.for "i.i" %i = 0 to 4 {                                  nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i, %k] : memref<?x?xf32>          %v = nest.load %p[%i] : memref<4xf32, ...>
      ...                                                           ...

Both are walked together: the loops have equal steps and numbers of iterations, the operations are the same in the same
order, and so are their operands. What the intrinsic takes as arguments is bound as it is met: a scalar to the value
in its place, an unknown extent (`memref.dim` of an argument, or an index) to the number of iterations of the loop that it
bounds, a memref to the buffer in its place. The window of the buffer follows from the differences of the indices.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, IfOp, LoadOp, StoreOp
from ..values.extent_keys import value_key
from .accesses import is_defined_outside
from .dependence import constants_of

Accessing = LoadOp | StoreOp | AccumulateOp


class Mismatch(Exception):
    """The nest is not what the intrinsic says: the reason, and the places in both."""

    def __init__(self, reason: str, notes: Sequence[tuple[Operation, str]] = (), hint: str | None = None):
        super().__init__(reason)
        self.reason = reason
        self.notes = list(notes)
        self.hint = hint


def differ(reason: str, here: Operation, there: Operation, hint: str | None = None) -> Mismatch:
    """A mismatch of two operations, one in the nest and one in the intrinsic."""
    return Mismatch(reason, [(here, "in the nest"), (there, "in the intrinsic")], hint)


class Unification:
    """What the arguments and values of an intrinsic are in a nest. Raises `Mismatch` where the two differ."""

    def __init__(self, nest: ForOp, intrinsic: FuncOp, body: ForOp):
        self.nest = nest
        self.intrinsic = intrinsic
        self.scalars: dict[SSAValue, SSAValue] = {}
        """The values of the nest, by those of the intrinsic."""
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.accesses: dict[SSAValue, list[tuple[Accessing, Accessing]]] = {}
        """The accesses through each memref argument: that of the nest and that of the intrinsic."""
        self.indices: dict[Hashable, AffineList] = {}
        """Index values and extents of the intrinsic as expressions over values of the nest, by `value_key`."""
        self._representatives: dict[Hashable, SSAValue] = {}
        self._loop(nest, body)

    # ---- expressions --------------------------------------------------------------------------------

    def canonical(self, expressions: AffineList) -> AffineList:
        """Expressions of the nest in a form in which those that are known to be equal are alike."""
        for value in expressions.operands:
            key = value_key(value)
            if isinstance(key, int):
                expressions = expressions.substitute(value, key)
                continue
            known = self._representatives.setdefault(key, value)
            if known is not value and not self._is_fixed(known) and self._is_fixed(value):
                known = self._representatives[key] = value
            if known is not value:
                expressions = expressions.substitute(value, known)
        return expressions.canonical()

    def translated(self, expressions: AffineList) -> AffineList | None:
        """Expressions of the intrinsic over values of the nest; None where a value is not known yet."""
        for value in expressions.operands:
            by = self._index(value)
            if by is None:
                return None
            expressions = expressions.substitute(value, by)
        return self.canonical(expressions)

    def _index(self, value: SSAValue) -> AffineList | None:
        key = value_key(value)
        if isinstance(key, int):
            return AffineList.of(key)
        if value in self.scalars:
            return AffineList.of(self.scalars[value])
        return self.indices.get(key)

    def is_fixed(self, expressions: AffineList) -> bool:
        """Whether the expressions have one value during each run of the nest, known before it."""
        return all(self._is_fixed(value) for value in expressions.operands)

    def _is_fixed(self, value: SSAValue) -> bool:
        return is_defined_outside(value, self.nest)

    # ---- loops and operations -----------------------------------------------------------------------

    def _loop(self, here: ForOp, there: ForOp) -> None:
        loops = f'the loop "{here.label}" and the loop "{there.label}" of the intrinsic'
        if here.kind != "serial":
            raise differ(f'the loop "{here.label}" is marked {here.kind} already', here, there)
        if len(here.lower) != 1 or len(here.upper) != 1 or len(there.lower) != 1 or len(there.upper) != 1:
            raise differ(
                f"{loops}: a bound is a min or max of several expressions",
                here,
                there,
                "make the extent one number first: split with tail=remainder, or cut",
            )
        if here.step_value != there.step_value:
            raise differ(f"{loops} have steps {here.step_value} and {there.step_value}", here, there)
        start = self.translated(there.lower)
        if start is None:
            raise differ(f'nothing says what the lower bound of "{there.label}" is', here, there)
        extent = self.canonical(here.upper.minus(here.lower))
        self._bind_extent(there, extent.plus(start), here)
        end = self.translated(there.upper)
        if end is None:
            raise differ(f'nothing says what the upper bound of "{there.label}" is', here, there)
        if self.canonical(end.minus(start)) != extent:
            raise differ(f"{loops} have different extents", here, there)
        self.indices[there.iv] = self.canonical(AffineList.of(here.iv).plus(start).minus(here.lower))
        self._block(here.body.block, there.body.block, here, there)

    def _bind_extent(self, there: ForOp, end: AffineList, here: ForOp) -> None:
        """An unknown extent of the intrinsic is that of the loop in the place of the first that it bounds."""
        value = there.upper.single_value()
        if value is None or self._index(value) is not None or not self._is_argument(value):
            return
        end = self.canonical(end)
        if not self.is_fixed(end):
            raise differ(f'the extent of the loop "{here.label}" varies in the nest', here, there)
        self.indices[value_key(value)] = end

    def _is_argument(self, value: SSAValue) -> bool:
        """Whether the caller of the intrinsic says what an index is: an argument, or an extent of one."""
        if isinstance(value.owner, memref.DimOp):
            value = value.owner.source
        return value.owner is self.intrinsic.body.block

    def _block(self, here: Block, there: Block, around: Operation, around_there: Operation) -> None:
        ours, theirs = _operations(here), _operations(there)
        for mine, other in zip(ours, theirs, strict=False):
            self._operation(mine, other)
        if len(ours) > len(theirs):
            extra = ours[len(theirs)]
            notes = [(extra, "in the nest"), (around_there, "in the intrinsic")]
            raise Mismatch(f"the nest has one operation more, '{extra.name}'", notes)
        if len(theirs) > len(ours):
            extra = theirs[len(ours)]
            notes = [(around, "in the nest"), (extra, "in the intrinsic")]
            raise Mismatch(f"the intrinsic has one operation more, '{extra.name}'", notes)

    def _operation(self, here: Operation, there: Operation) -> None:
        if type(here) is not type(there):
            raise differ(f"the nest has '{here.name}' where the intrinsic has '{there.name}'", here, there)
        handler = _HANDLERS.get(type(here))
        if handler is not None:
            return handler(self, here, there)
        buffers = any(isinstance(v.type, MemRefType) for v in (*here.operands, *here.results))
        if here.regions or buffers or not is_side_effect_free(here):
            raise differ(f"'{here.name}' cannot be part of an intrinsic", here, there)
        self._same(here, there, _form(here) == _form(there))
        for mine, other in zip(here.operands, there.operands, strict=True):
            self._scalar(mine, other, here, there)
        self.scalars.update(zip(there.results, here.results, strict=True))

    def _same(self, here: Operation, there: Operation, same: bool) -> None:
        if not same:
            raise differ(f"the two '{here.name}' are not of one form", here, there)

    def _branch(self, here: IfOp, there: IfOp) -> None:
        self._scalar(here.condition, there.condition, here, there)
        self._block(here.then_region.block, there.then_region.block, here, there)
        mine, other = here.else_region, there.else_region
        self._same(here, there, (mine is None) == (other is None))
        if mine is not None and other is not None:
            self._block(mine.block, other.block, here, there)

    def _alloc(self, here: AllocOp, there: AllocOp) -> None:
        self._same(here, there, here.memref.type == there.memref.type)
        for mine, other in zip(here.sizes, there.sizes, strict=True):
            self._scalar(mine, other, here, there)
        self.buffers[there.memref] = here.memref

    def _load(self, here: LoadOp, there: LoadOp) -> None:
        self._access(here, here.memref, there, there.memref)
        self.scalars[there.result] = here.result

    def _store(self, here: StoreOp, there: StoreOp) -> None:
        _refuse_domain(here, there)
        self._scalar(here.value, there.value, here, there)
        self._access(here, here.memref, there, there.memref)

    def _accumulate(self, here: AccumulateOp, there: AccumulateOp) -> None:
        _refuse_domain(here, there)
        self._same(here, there, _reduction(here) == _reduction(there))
        if here.combine is not None and there.combine is not None:
            known: Any = dict(self.scalars)
            same = there.combine.is_structurally_equivalent(here.combine, known)
            self._same(here, there, same and constants_of(here.combine) == constants_of(there.combine))
        for mine, other in zip(here.values, there.values, strict=True):
            self._scalar(mine, other, here, there)
        for mine, other in zip(here.memrefs, there.memrefs, strict=True):
            self._access(here, mine, there, other)

    # ---- operands -----------------------------------------------------------------------------------

    def _scalar(self, mine: SSAValue, other: SSAValue, here: Operation, there: Operation) -> None:
        """The operand of the intrinsic is the one of the nest; an argument that is not known yet becomes it."""
        if mine.type != other.type:
            raise differ(f"an operand is {mine.type} in the nest, {other.type} there", here, there)
        if isinstance(other.type, IndexType):
            return self._index_operand(mine, other, here, there)
        if other in self.scalars:
            same = self.scalars[other] is mine or _is_same_constant(self.scalars[other], mine)
        elif other.owner is self.intrinsic.body.block:
            same = self._is_fixed(mine) or isinstance(mine.owner, arith.ConstantOp)
            self.scalars[other] = mine
        else:
            same = _is_same_constant(mine, other)
        if not same:
            raise differ(f"'{here.name}' has another operand in the intrinsic", here, there)

    def _index_operand(self, mine: SSAValue, other: SSAValue, here: Operation, there: Operation) -> None:
        given = self.canonical(AffineList.of(mine))
        if self._index(other) is None and self._is_argument(other) and self.is_fixed(given):
            self.indices[value_key(other)] = given
        if self.translated(AffineList.of(other)) != given:
            raise differ(f"'{here.name}' has another operand in the intrinsic", here, there)

    def _access(self, here: Accessing, mine: SSAValue, there: Accessing, other: SSAValue) -> None:
        known = self.buffers.setdefault(other, mine)
        if known is not mine:
            raise differ("one buffer of the intrinsic would be two buffers of the nest", here, there)
        if other.owner is self.intrinsic.body.block:
            if not self._is_fixed(mine):
                raise differ("the buffer is made inside the nest", here, there)
            self.accesses.setdefault(other, []).append((here, there))
        elif self.translated(there.indices) != self.canonical(here.indices):
            raise differ("the two access different elements", here, there)


def _operations(block: Block) -> list[Operation]:
    """The operations that are compared: constants and extents are, where they are used."""
    return [op for op in block.ops if not isinstance(op, arith.ConstantOp | memref.DimOp)]


def _form(op: Operation) -> tuple:
    return op.properties, op.attributes, len(op.operands), [result.type for result in op.results]


def _reduction(op: AccumulateOp) -> tuple:
    return op.combiner, op.order_name, str(op.identity), len(op.values), op.combine is None


def _text(op: arith.ConstantOp) -> str:
    """A constant as text, which tells 0.0 from -0.0."""
    return str(op.value)


def _is_same_constant(one: SSAValue, other: SSAValue) -> bool:
    first, second = one.owner, other.owner
    if not isinstance(first, arith.ConstantOp) or not isinstance(second, arith.ConstantOp):
        return False
    return first.value == second.value and _text(first) == _text(second)


def _refuse_domain(here: StoreOp | AccumulateOp, there: StoreOp | AccumulateOp) -> None:
    for op, name in ((here, "nest"), (there, "intrinsic")):
        if op.where is not None or op.mask is not None:
            raise Mismatch(
                f"a statement of the {name} has a domain",
                [(op, "it runs under a condition")],
                "tensorize whole tiles: split with tail=remainder" if op is here else None,
            )


_HANDLERS: dict[type[Operation], Any] = {
    ForOp: Unification._loop,
    IfOp: Unification._branch,
    AllocOp: Unification._alloc,
    LoadOp: Unification._load,
    StoreOp: Unification._store,
    AccumulateOp: Unification._accumulate,
}
