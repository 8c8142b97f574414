"""What the forward half of a derivative hands to the backward half, read from the fusions that are compiled.

    %h = nt.fusion "h" {...}              // forward
    %d = nt.fusion "d" {... %h ...}       // backward: %h is kept

An operation's half is what its location says (`dialects/nt/halves.py`), or that of the loop around it. A *unit* is what runs
in loops of its own: a fusion, a product, a scan, an island, a call. A value that a forward operation of one unit computes
crosses where a backward operation of another one reads it. An operation of the forward half is *computed again* where a
fusion holds what an earlier one computes already, of the same operands, in loops of the backward half, and where
`nt.checkpoint` says so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, ComplexType, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ...dialects.diagnostic import SourceLocation, op_location
from ...dialects.nt.halves import Half, half_of, is_again
from ...dialects.nt.ops import (
    ConstantOp,
    CustomCallOp,
    DimOp,
    EmptyOp,
    FromScalarOp,
    FusionOp,
    IotaOp,
    LoopsOp,
    YieldOp,
    element_of,
)
from ...dialects.nt.work import Role, role_of
from .amounts import Amount, Sizes
from .effects import CONTROL

Kind = Literal["forward", "backward", "both"]

_MADE_ANYWHERE = (ConstantOp, FromScalarOp, IotaOp, EmptyOp)


@dataclass(eq=False)
class Unit:
    """What runs in loops of its own."""

    op: Operation
    kind: Kind
    label: str
    computes: list[Operation]
    """Operations on elements that are computed here for the first time."""
    again: list[Operation]
    """Operations of the forward half that are computed here once more."""
    loops: list[Operation]
    """The control flow around it, the outermost first."""


@dataclass(eq=False)
class Kept:
    """A value in memory that crosses."""

    value: SSAValue
    name: str
    """The Python variable; else what computes it."""
    element: Attribute
    shape: tuple[int | str, ...]
    bytes: Amount
    op: Operation
    """What computes it: in a fusion, the operation inside."""
    maker: Unit | None
    """The unit that writes it; None where a loop leaves what it was given."""
    readers: list[Unit]
    is_result: bool
    """The function returns it: it is there anyway."""
    is_replayed: bool
    """The backward half runs the loop again to have it."""


@dataclass(eq=False)
class Derivative:
    """Both halves of one derivative."""

    name: str
    units: list[Unit] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    there_anyway: list[SSAValue] = field(default_factory=list)
    """What is there without being kept: arguments, and what a loop around the derivative carries."""

    @property
    def kernels(self) -> dict[Kind, list[Unit]]:
        """The units of each half, and those of both at once."""
        kinds: tuple[Kind, ...] = ("forward", "both", "backward")
        return {kind: [unit for unit in self.units if unit.kind == kind] for kind in kinds}

    @property
    def total(self) -> Amount:
        """The bytes of what is kept for the backward half alone."""
        return sum((k.bytes for k in self.kept if not k.is_result), Amount())

    def again(self) -> dict[tuple[str, SourceLocation | None], int]:
        """What is computed again: operations and their places, and how often they stand in the program."""
        found: dict[tuple[str, SourceLocation | None], int] = {}
        for unit in self.units:
            for op in unit.again:
                key = short_name(op), op_location(op)
                found[key] = found.get(key, 0) + 1
        return found


def derivatives_in(function: FuncOp) -> list[Derivative]:
    """The derivatives of a function whose operations are in fusions, in the order in which their code begins."""
    names: dict[str, None] = {}
    for op in function.walk():
        half = half_of(op)
        if half is not None:
            names[half.derivative] = None
    found = [_Reader(function, name).derivative() for name in names]
    return [d for d in found if any(u.kind != "forward" for u in d.units)]


def short_name(op: Operation) -> str:
    """The name of an operation without that of its dialect."""
    return op.name.rpartition(".")[2]


class _Reader:
    def __init__(self, function: FuncOp, name: str):
        self._function, self._name = function, name
        self._keys: dict[Operation, Hashable] = {}
        self._first: dict[Hashable, Operation] = {}
        self._units: dict[Operation, Unit] = {}
        self._sizes = Sizes()
        self._kept: dict[SSAValue, Kept] = {}

    def derivative(self) -> Derivative:
        found = Derivative(self._name)
        for op in self._function.walk():
            unit = self._unit(op) if _is_unit(op) else None
            if unit is not None:
                self._units[op] = unit
        found.units = list(self._units.values())
        again: dict[SSAValue, None] = {}
        for reader, unit in self._readers():
            for value in reader.operands:
                if isinstance(value.type, TensorType):
                    again |= dict.fromkeys(self._read(value, unit))
        found.kept, found.there_anyway = list(self._kept.values()), list(again)
        return found

    # ---- halves -------------------------------------------------------------------------------------------

    def _own(self, op: Operation) -> Half | None:
        """The half that the operation itself names."""
        half = half_of(op)
        return half if half is not None and half.derivative == self._name else None

    def _is_backward(self, op: Operation) -> bool:
        half = self._own(op)
        return (half is not None and half.is_backward) or self._is_in_backward_loop(op)

    def _is_in_backward_loop(self, op: Operation) -> bool:
        outer = op.parent_op()
        while outer is not None and outer is not self._function:
            half = self._own(outer) if isinstance(outer, (*CONTROL, LoopsOp)) else None
            if half is not None and half.is_backward:
                return True
            outer = outer.parent_op()
        return False

    def _is_forward_itself(self, op: Operation) -> bool:
        half = self._own(op)
        return half is not None and not half.is_backward

    # ---- units --------------------------------------------------------------------------------------------

    def _unit(self, op: Operation) -> Unit | None:
        inside = list(_computations(op))
        again = [o for o in inside if self._is_again(o, op)]
        halves = {half.is_backward for o in inside if o not in again and (half := self._own(o)) is not None}
        if self._is_in_backward_loop(op) or (self._is_backward(op) and not isinstance(op, FusionOp)):
            halves = {True}
        elif again and not halves:
            halves = {True}  # what only the backward half needs once more
        elif not inside and (own := self._own(op)) is not None:
            halves = {own.is_backward}  # a copy
        if not halves:
            return None
        kind: Kind = "both" if len(halves) == 2 else "backward" if True in halves else "forward"
        return Unit(op, kind, _label(op), [o for o in inside if o not in again], again, _around(op))

    def _is_again(self, op: Operation, unit: Operation) -> bool:
        """Whether an operation does once more what the forward half does."""
        half = self._own(op)
        if half is None or half.is_backward:
            return half is not None and is_again(op)
        if self._is_in_backward_loop(op):
            return True
        if not isinstance(unit, FusionOp):
            return False
        first = self._first.setdefault(self._key(op), op)
        return first.parent is not op.parent

    def _key(self, op: Operation) -> Hashable:
        """Equal for two operations that compute the same."""
        if op not in self._keys:
            properties = tuple(sorted(op.properties.items()))
            operands = tuple([self._key_of(v) for v in op.operands])
            self._keys[op] = (op.name, properties, tuple(r.type for r in op.results), operands)
        return self._keys[op]

    def _key_of(self, value: SSAValue) -> Hashable:
        op = value.owner
        if isinstance(op, FusionOp):
            end = op.body.block.last_op
            assert isinstance(end, YieldOp)
            return self._key_of(end.values[value.index])  # pyright: ignore
        if isinstance(op, Block) or op.regions or role_of(op) is None:
            return value
        return self._key(op), value.index  # pyright: ignore

    # ---- what crosses -------------------------------------------------------------------------------------

    def _readers(self) -> Iterator[tuple[Operation, Unit | None]]:
        """The operations that read for the backward half, and their units."""
        for op in self._function.walk():
            if isinstance(op, DimOp | ReturnOp | scf.YieldOp | YieldOp | FusionOp | scf.ConditionOp):
                continue
            unit = self._units.get(op)
            outer = op.parent_op()
            if unit is None and isinstance(outer, FusionOp):
                unit = self._units.get(outer)
            is_here = unit is not None and (op in unit.again or unit.kind == "backward")
            if self._is_backward(op) or (is_here and self._is_forward_itself(op)):
                yield op, unit

    def _read(self, value: SSAValue, unit: Unit | None) -> Iterator[SSAValue]:
        """Note what is kept; gives what is there anyway."""
        storage, maker = self._origin(value)
        if isinstance(maker, BlockArgument):
            loop = maker.owner.parent_op()
            if loop is None or isinstance(loop, FusionOp | LoopsOp) or self._is_backward(loop):
                return
            yield maker
            return
        if maker is None or (unit is not None and maker.parent_op() is unit.op):
            return
        owner = storage.owner
        source = self._units.get(owner) if isinstance(owner, Operation) else None
        replayed = self._is_replayed(maker)
        if (self._is_backward(maker) and not replayed) or (source is not None and maker in source.again):
            return
        kept = self._kept.get(storage)
        if kept is None:
            kept = self._kept[storage] = self._new(storage, maker, replayed)
        if unit is not None and unit not in kept.readers:
            kept.readers.append(unit)

    def _new(self, storage: SSAValue, maker: Operation, replayed: bool) -> Kept:
        return Kept(
            storage,
            storage.name_hint or maker.results[0].name_hint or short_name(maker),
            element_of(storage),
            self._sizes.shape(storage),
            self._sizes.bytes(storage),
            maker,
            self._maker(storage),
            [],
            any(isinstance(use.operation, ReturnOp) for use in storage.uses),
            replayed,
        )

    def _maker(self, value: SSAValue) -> Unit | None:
        """The unit that writes a value in memory: of what a loop or branch leaves, the one inside."""
        op = value.owner
        while isinstance(op, CONTROL):
            end = op.regions[-1].block.last_op
            assert end is not None
            op = end.operands[value.index].owner  # pyright: ignore
            value = end.operands[value.index]  # pyright: ignore
        return self._units.get(op) if isinstance(op, Operation) else None

    def _origin(self, value: SSAValue) -> tuple[SSAValue, Operation | BlockArgument | None]:
        """The value in memory that a value is (a view of), and what computes it; None: nothing is in memory."""
        while True:
            if isinstance(value, BlockArgument):
                return value, value
            op = value.owner
            assert isinstance(op, Operation)
            if role_of(op) is Role.VIEW:
                value = op.operands[0]
                continue
            maker = op
            if isinstance(op, FusionOp):
                end = op.body.block.last_op
                assert isinstance(end, YieldOp)
                inner = end.values[value.index]  # pyright: ignore
                if not isinstance(inner.owner, Operation) or _is_number(inner):
                    return value, None
                maker = inner.owner
            return value, None if isinstance(maker, _MADE_ANYWHERE) else maker

    def _is_replayed(self, op: Operation) -> bool:
        """Whether a loop of the backward half does what the forward half did, and nothing else."""
        if not isinstance(op, scf.ForOp | scf.WhileOp) or not self._is_backward(op):
            return False
        inside = [
            o for inner in op.walk() if inner is not op and _is_unit(inner) for o in _computations(inner)
        ]
        own = [half for o in inside if (half := self._own(o)) is not None]
        return bool(own) and not any(half.is_backward for half in own)


def _is_unit(op: Operation) -> bool:
    if isinstance(op.parent_op(), FusionOp | LoopsOp):
        return False
    return isinstance(op, FusionOp | LoopsOp | CustomCallOp) or role_of(op) is Role.APART


def _computations(unit: Operation) -> Iterator[Operation]:
    """What a unit computes: operations on elements, or on the numbers that carry derivatives in an island."""
    if isinstance(unit, FusionOp):
        yield from (op for op in unit.body.block.ops if role_of(op) is Role.COMPUTES)
    elif isinstance(unit, LoopsOp):
        for op in unit.body.walk():
            is_number = bool(op.results) and isinstance(op.results[0].type, AnyFloat | ComplexType)
            if is_number and op.name.partition(".")[0] != "nest" and "constant" not in op.name:
                yield op
    else:
        yield unit


def _is_number(value: SSAValue) -> bool:
    """Whether a value repeats a number: it is made anywhere."""
    while role_of(value.owner) is Role.VIEW:
        value = value.owner.operands[0]  # pyright: ignore
    return isinstance(value.owner, _MADE_ANYWHERE)


def _label(op: Operation) -> str:
    label = getattr(op, "label", None)
    if label is not None:
        return label.data
    return next((r.name_hint for r in op.results if r.name_hint), short_name(op))


def _around(op: Operation) -> list[Operation]:
    found: list[Operation] = []
    outer = op.parent_op()
    while outer is not None:
        if isinstance(outer, CONTROL):
            found.insert(0, outer)
        outer = outer.parent_op()
    return found
