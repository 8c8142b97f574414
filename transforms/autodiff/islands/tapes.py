"""Tapes: what a derivative needs and what its loop overwrites is kept, a place for each iteration.

    nest.for "i" %i = 0 to %n {                       nest.for "i" %i = 0 to %n {
      %s = nest.load %sum[]                     ->      %s = nest.load %sum[] ; nest.store %s, %s_tape[%i]
      %a = math.sin %s                                  %a = math.sin %s
      ...                                               ...

The primal fills tapes, the adjoint reads them. Which values are kept a cut chooses (`kept.py`), where in a tape they are
`places.py` says. What runs in some iterations only (in a branch, for a statement with a mask) leaves the other places as
they are: nobody reads them. The island says by `nt.tapes` why they are there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....analysis.nest.sets.accesses import buffer_name
from ....analysis.nest.sets.domains import Domain, LoadGuards
from ....dialects.affine import AffineList
from ....dialects.attributes import NT_TAPES
from ....dialects.nest import LoadOp, StoreOp
from ....dialects.nt.ops import EmptyOp, LoopsOp
from ...nest.rewrite.loops import materialise
from ..reverse import Reverse
from .decisions import Decisions
from .places import Places
from .primal import Primal
from .stored_kinds import Put, stored_kind, to_memory


@dataclass(frozen=True)
class _Tape:
    tensor: SSAValue
    places: AffineList
    """Where a value is, by values of the copy of the island."""
    guard: tuple[Domain, ...] | None
    """Where the island makes the value at all, by values of its own."""
    firsts: AffineList
    """What is not negative in the iterations that store it, by values of the copy."""


class Tapes:
    """The tapes of one island."""

    def __init__(self, primal: Primal, places: Places, to: Reverse):
        self._primal, self._places, self._to = primal, places, to
        self._made: dict[SSAValue, _Tape] = {}

    def keep(self, values: Iterable[SSAValue]) -> None:
        """Make tapes for values of the primal, in the order in which they are computed. Raises UnknownCount."""
        chosen = set(values)
        ordered = [r for op in self._primal.copy.function.walk() for r in op.results if r in chosen]
        same = {v: self._places.unchanging(v) for v in ordered}
        known = {v: self._places.of(v.owner, loops) for v, loops in same.items()}  # pyright: ignore
        guards = LoadGuards()
        for value, (extents, places) in known.items():
            original = self._primal.original[value.owner]  # pyright: ignore
            firsts = AffineList.of(*(loop.lower.minus(AffineList.of(loop.iv)) for loop in same[value]))
            tensor = self._tensor(value, extents)
            self._made[value] = _Tape(tensor, places, guards.of(original), firsts)

    def of(self, value: SSAValue) -> tuple[SSAValue, AffineList] | None:
        """The tensor that will hold a value, and where; None for what is not kept."""
        made = self._made.get(value)
        return None if made is None else (made.tensor, made.places)

    def _tensor(self, value: SSAValue, extents: AffineList) -> SSAValue:
        op = self._primal.op
        result = empty_of(op, stored_kind(value.type), extents)
        result.name_hint = f"{_name_of(value)}_tape"
        return result

    def fill(self) -> dict[SSAValue, SSAValue]:
        """Let the primal fill the tapes; gives the filled ones by the empty ones."""
        if not self._made:
            return {}
        primal, op = self._primal, self._primal.op
        assert op.parent is not None
        body = op.body.block
        for value, tape in self._made.items():
            kind = MemRefType(tape.tensor.type.get_element_type(), tape.tensor.type.get_shape())  # pyright: ignore
            buffer = body.insert_arg(kind, len(body.args))
            buffer.name_hint = tape.tensor.name_hint
            self._store(value, tape, buffer)
        tapes = [tape.tensor for tape in self._made.values()]
        new = LoopsOp(list(op.inputs), [*op.outputs, *tapes], op.detach_region(op.body))
        new.location = op.location
        new.attributes.update(op.attributes)
        before = new.attributes.get(NT_TAPES)
        reasons = [StringAttr("") for _ in op.results] if before is None else list(before)  # pyright: ignore
        new.attributes[NT_TAPES] = ArrayAttr([*reasons, *(StringAttr(self._reason(v)) for v in self._made)])
        op.parent.insert_op_before(new, op)
        count = len(op.results)
        self._to.replace(op, new)
        primal.op = new
        for tape, result in zip(tapes, new.results[count:], strict=True):
            result.name_hint = tape.name_hint
        return dict(zip(tapes, new.results[count:], strict=True))

    def _reason(self, value: SSAValue) -> str:
        """Why a value is kept."""
        owner = value.owner
        if isinstance(owner, LoadOp):
            if Decisions(self._primal).may_differ(owner):
                return f"{buffer_name(owner.memref)} is made of what sums decide"
            return f"{buffer_name(owner.memref)} is overwritten"
        assert isinstance(owner, Operation)
        if Decisions(self._primal).may_differ(owner):
            return f"'{owner.name}' of a sum, which may be rounded otherwise there"
        gone = self._primal.gone_below(value)
        names = ", ".join(dict.fromkeys(buffer_name(load.memref) for load in gone))
        return f"'{owner.name}' of {names}, which is overwritten" if names else f"'{owner.name}'"

    def _store(self, value: SSAValue, tape: _Tape, buffer: SSAValue) -> None:
        original = self._primal.original[value.owner]  # pyright: ignore
        result = original.results[value.index]  # pyright: ignore
        last = original

        def put(op: Operation) -> SSAValue:
            nonlocal last
            op.location = original.location
            assert original.parent is not None
            original.parent.insert_op_after(op, last)
            last = op
            return op.results[0] if op.results else None  # pyright: ignore

        where, mask = None, None
        if tape.firsts:
            where = self._places.of_island(tape.firsts)
        elif tape.guard is not None and len(tape.guard) == 1:
            (only,) = tape.guard
            where = AffineList.of(*only.constraints) if only.constraints else None
            mask = only.mask
        elif tape.guard is not None:
            mask = _any_of(tape.guard, put)
        stored = to_memory(result, put)
        put(StoreOp(stored, buffer, self._places.of_island(tape.places), where=where, mask=mask))


def empty_of(op: Operation, element: Attribute | None, extents: AffineList) -> SSAValue:
    """A tensor for an island to fill, made before it. An extent that is negative is 0."""
    assert op.parent is not None and element is not None

    def put(new: Operation) -> SSAValue:
        assert op.parent is not None
        new.location = op.location
        op.parent.insert_op_before(new, op)
        return new.results[0]

    shape: list[int] = []
    sizes = AffineList.of()
    for extent in extents:
        number = extent.constants()
        if number is not None:
            shape.append(max(0, number[0]))
            continue
        shape.append(DYNAMIC_INDEX)
        size = materialise(extent, op.parent, op)
        zero = put(arith.ConstantOp(IntegerAttr(0, IndexType())))
        sizes = sizes.concat(AffineList.of(put(arith.MaxSIOp(size, zero))))
    return put(EmptyOp(TensorType(element, shape), sizes))


def _any_of(domains: Iterable[Domain], put: Put) -> SSAValue:
    """Whether one of some domains holds, as a bit."""
    total: SSAValue | None = None
    for domain in domains:
        holds = domain.mask
        for constraint in domain.constraints:
            number = _number(constraint, put)
            zero = put(arith.ConstantOp(IntegerAttr(0, IndexType())))
            one = put(arith.CmpiOp(number, zero, "sge"))
            holds = one if holds is None else put(arith.AndIOp(holds, one))
        assert holds is not None
        total = holds if total is None else put(arith.OrIOp(total, holds))
    assert total is not None
    return total


def _number(expression: AffineList, put: Put) -> SSAValue:
    scratch = Block()
    result = materialise(expression, scratch, None)
    for op in list(scratch.ops):
        op.detach()
        put(op)
    return result


def _name_of(value: SSAValue) -> str:
    owner = value.owner
    buffer = owner.memref.name_hint if isinstance(owner, LoadOp) else None
    return buffer or value.name_hint or "value"
