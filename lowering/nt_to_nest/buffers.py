"""Where the values of a function are in memory (part of convert-nt-to-nest): which buffer, and what may be overwritten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ...dialects.diagnostic import LoweringError, fail
from ...dialects.nest import AllocOp
from ...dialects.nt import (
    ConstantOp,
    CustomCallOp,
    EmptyOp,
    FromScalarOp,
    FusionOp,
    IotaOp,
    LoopsOp,
    ReduceOp,
)
from ...dialects.nt.ops import element_of
from ...dialects.nt.types import storage_type
from ...dialects.nt.work import Viewing
from ...dialects.remarks import remark
from .access import Index
from .control import sides_start_from, started_from
from .dot import expand_dots
from .elements import Elements, LoopNames, Place
from .fills import Window, user_that_fills, window_of
from .fusion import FusionEmitter
from .plan import Output
from .shapes import Prologue, Shapes, as_value
from .signature import Signature

COPY = "copy"
"""The label of a statement that only moves data."""

Moves = Sequence[tuple[SSAValue, SSAValue]]
"""Values, and the buffers in which they must be at the end of a block."""


@dataclass(eq=False)
class Scope:
    """A block during its conversion: the function's, or one of control flow in it.

    `own` are the buffers that it may overwrite: those made for it, and those that carry values into and out of it.
    """

    block: Block
    current: Operation
    position: dict[Operation, int]
    destination: dict[SSAValue, SSAValue] = field(default_factory=dict)
    own: set[SSAValue] = field(default_factory=set)

    @staticmethod
    def of(block: Block) -> Scope:
        assert block.last_op is not None
        return Scope(block, block.last_op, {op: k for k, op in enumerate(block.ops)})

    def insert(self, op: Operation) -> None:
        """Add `op` before the operation that is being converted."""
        self.block.insert_op_before(op, self.current)


class Buffers:
    """Where the values of one function are in memory, block by block."""

    def __init__(self, function: FuncOp):
        self._function = function
        self._refuse_blocks()
        expand_dots(function)
        block = function.body.block
        self._prologue = Prologue(block)
        # Extents are named by the tensor signature, so before the buffers join it.
        self._shapes = Shapes(function, lambda argument: self._signature.buffer_of(argument), self._prologue)
        self._signature = Signature(function)
        self._scopes = [Scope.of(block)]
        self.names = LoopNames()
        self._buffer_names = LoopNames()
        self.filled: set[LoopsOp] = set()
        """Islands whose window is filled already: what they start from is what they give."""
        self._places: dict[SSAValue, Place] = {
            arg: Place(self._signature.buffer_of(arg)) for arg in self._signature.tensors
        }
        self._elements = Elements(
            self.scope.insert, self._places, self._shapes.of, self.names, function.location
        )
        self._fusions = FusionEmitter(
            self._elements, self._shapes.of, self._signature.memory_order, self._alloc
        )

    @property
    def scope(self) -> Scope:
        """The block that is being converted."""
        return self._scopes[-1]

    def _refuse_blocks(self) -> None:
        if len(self._function.body.blocks) != 1:
            raise fail(self._function, "convert-nt-to-nest takes functions of one block", error=LoweringError)

    def insert(self, op: Operation) -> None:
        """Add `op` before the operation that is being converted."""
        self.scope.insert(op)

    # ---- buffers ----------------------------------------------------------------------------------

    def _alloc(self, label: str, element: Attribute, extents: Index) -> SSAValue:
        """A buffer for the present block; it is made before the control flow around it where its extents are known there."""
        sizes = [extent for extent in extents if extent.constants() is None]
        values = [v for size in sizes for v in size.operands]
        scope = self.scope if any(self._is_inside(v) for v in values) else self._scopes[0]
        shape = [DYNAMIC_INDEX if (known := extent.constants()) is None else known[0] for extent in extents]
        counts = [as_value(size, scope.insert, self._prologue.index_constant) for size in sizes]
        op = AllocOp(self._buffer_names.take(label), MemRefType(element, shape), counts)
        op.location = self.scope.current.location
        scope.insert(op)
        self.scope.own.add(op.memref)
        return op.memref

    def _is_inside(self, value: SSAValue) -> bool:
        """Whether `value` is computed in control flow, not at the level of the function."""
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        return block is not self._scopes[0].block

    def _destinations(self, moves: Moves) -> dict[SSAValue, SSAValue]:
        """Values that are computed straight into a buffer they end in, or into the one an island or loop goes on with."""
        found: dict[SSAValue, SSAValue] = {}
        followers = self._followers()
        occupants: dict[SSAValue, list[SSAValue]] = {}
        for _, memref in moves:
            if memref not in occupants:
                occupants[memref] = self._occupants(memref, followers)
        for value, memref in moves:
            if self._is_free_at(value, occupants[memref]):
                found.setdefault(value, memref)
        for op in reversed(list(self.scope.block.ops)):
            is_branch = isinstance(op, scf.IfOp)
            for before, after in zip(_starts(op), op.results, strict=False):
                if before is None or after not in found or self.is_used_after(before, op):
                    continue
                if len(followers[before]) > 1 or (not is_branch and self._used_in(before, op)):
                    continue
                if self._is_free_at(before, occupants[found[after]]):
                    found.setdefault(before, found[after])
        return {v: m for v, m in found.items() if v.owner in self.scope.position}

    def _followers(self) -> dict[SSAValue, list[SSAValue]]:
        """For each value what islands and control flow of the block make of it where it is."""
        found: dict[SSAValue, list[SSAValue]] = {}
        for op in self.scope.block.ops:
            for before, after in zip(_starts(op), op.results, strict=False):
                if before is not None:
                    found.setdefault(before, []).append(after)
        return found

    def _occupants(self, memref: SSAValue, followers: dict[SSAValue, list[SSAValue]]) -> list[SSAValue]:
        """The values that are in `memref`, and those that the operations of the block may leave there."""
        found = [value for value, place in self._places.items() if place.memref is memref]
        for value in found:
            found += followers.get(value, ())
        return found

    def _is_free_at(self, value: SSAValue, occupants: Sequence[SSAValue]) -> bool:
        """Whether none of the `occupants` of a buffer is needed when `value` is computed into it, or later."""
        op = value.owner
        if op not in self.scope.position:
            return False
        assert isinstance(op, Operation)
        others = [v for v in occupants if v is not value]
        return not any(self.is_used_after(v, op) or not self._is_replaced_by(v, value, op) for v in others)

    def _is_replaced_by(self, old: SSAValue, new: SSAValue, op: Operation) -> bool:
        """Whether `op` may compute `new` where `old` is: it reads each element only to compute that one."""
        reads = [(reader, is_view) for reader, user, is_view in self._readers(old) if user is op]
        if not reads:
            return True
        starts = started_from(op)
        if starts:
            return len(reads) == 1 and reads[0] == (op, False) and starts[new.index] is old  # pyright: ignore
        computing = list(op.body.block.ops) if isinstance(op, FusionOp) else [op]
        pointwise = not isinstance(op, CustomCallOp) and not any(
            isinstance(o, ReduceOp) or (isinstance(o, Viewing) and _source(o).owner in computing)
            for o in computing
        )
        return pointwise and len(op.results) == 1 and not any(is_view for _, is_view in reads)

    def buffer_for(self, value: SSAValue) -> SSAValue:
        """The buffer that `value` is about to be computed into."""
        memref = self.scope.destination.get(value)
        if memref is None:
            memref = self._filled_with(value)
        return self.new_buffer(value) if memref is None else memref

    def _filled_with(self, value: SSAValue) -> SSAValue | None:
        """The buffer of an array that an island writes `value` over, where it may be computed there at once."""
        found = self._user_that_fills(value)
        if found is None or not found[1].is_whole(self.extents_of(found[0].outputs[0])):
            return None
        start, op = found[0].outputs[0], value.owner
        assert isinstance(op, Operation)
        memref = self._free_for(found[0], op)
        return memref if memref is not None and self._is_replaced_by(start, value, op) else None

    def _user_that_fills(self, value: SSAValue) -> tuple[LoopsOp, Window] | None:
        """The island of this block that alone uses `value`, and puts it somewhere."""
        found = user_that_fills(value, self.extents_of)
        return found if found is not None and found[0] in self.scope.position else None

    def _free_for(self, island: LoopsOp, op: Operation) -> SSAValue | None:
        """The buffer in which an island works, where nothing else in it is needed from `op` on."""
        start, after = island.outputs[0], island.results[0]
        memref = self.buffer_of(start)
        if memref is None or not self.may_overwrite(memref) or self._signature.is_shared(memref):
            return None
        if self.scope.destination.get(after) not in (None, memref):
            return None
        is_alone = [v for v, place in self._places.items() if place.memref is memref] == [start]
        return memref if is_alone and not self.is_used_after(start, op, but=island) else None

    def output(self, value: SSAValue, outer: SSAValue, label: str) -> Output:
        """Where the result `outer` of an elementwise fusion goes, which computes it as `value`: into the window of an array
        that an island would copy it to, else into a buffer of its own."""
        found = self._user_that_fills(outer)
        if found is not None and (memref := self._window_memref(*found, outer)) is not None:
            self.filled.add(found[0])
            return Output(value, memref, found[0].results[0].name_hint or label, found[1].at)
        return Output(value, self.buffer_for(outer), label)

    def window_of_a_view(self, island: LoopsOp) -> Window | None:
        """The window that an island fills with what is nowhere in memory itself: a view of another array than its output."""
        if len(island.inputs) != 1 or len(island.outputs) != 1 or island.inputs[0] in self._places:
            return None
        value = island.inputs[0]
        if not isinstance(value.owner, Viewing) or (window := window_of(island, self.extents_of)) is None:
            return None
        source, memref = self._root_buffer(value), self.buffer_of(island.outputs[0])
        if source is None or memref is None:
            return None
        if source in (memref, self.scope.destination.get(island.results[0])):
            return None
        is_shared = self._signature.is_shared(source) or self._signature.is_shared(memref)
        return None if is_shared else window

    def _window_memref(self, island: LoopsOp, window: Window, value: SSAValue) -> SSAValue | None:
        """The buffer of whose window `value` may be computed in now, before its island."""
        op, start = value.owner, island.outputs[0]
        assert isinstance(op, Operation)
        if window.is_whole(self.extents_of(start)) or not _is_before(window.indices.operands, op):
            return None
        if self.buffer_of(start) is None:
            return self._started_early(island, op)
        if any(user is op for _, user, _ in self._readers(start)):
            return None
        return self._free_for(island, op)

    def _started_early(self, island: LoopsOp, op: Operation) -> SSAValue | None:
        """The buffer of an array that is nowhere yet, and only the island's, filled now."""
        start, after = island.outputs[0], island.results[0]
        if not start.has_one_use() or not isinstance(start.owner, Operation):
            return None
        if self._label_of_fill(start) == COPY or not _is_before([start], op):
            return None
        goal = self.scope.destination.get(after)
        others = [v for v, m in self.scope.destination.items() if m is goal and v not in (start, after)]
        if goal is not None and (others or self.needed_in(goal, op)):
            return None
        (memref,) = self.carried_buffers(island, [start])
        self._places[start] = Place(memref)
        return memref

    def _copy(self, value: SSAValue, memref: SSAValue, label: str = COPY) -> None:
        """Write `value` to `memref`, element by element; one that holds nothing yet is there already."""
        if isinstance(value.owner, EmptyOp):
            return
        self._elements.location = self.scope.current.location
        self._fusions.emit([], [Output(value, memref, label)])

    def materialise(self, value: SSAValue) -> SSAValue:
        """The buffer that holds `value`, filled now when it is a view or a constant."""
        place = self._places.get(value)
        if place is not None:
            return place.memref
        memref = self.buffer_for(value)
        self._copy(value, memref, self._label_of_fill(value))
        self._places[value] = Place(memref)
        return memref

    @staticmethod
    def _label_of_fill(value: SSAValue) -> str:
        """`copy` for what reads an array; a fill by constants is not a copy."""
        source = value
        while isinstance(source.owner, Viewing):
            source = source.owner.operands[0]
        fill = isinstance(source.owner, ConstantOp | FromScalarOp | IotaOp | EmptyOp)
        return (value.name_hint or "fill") if fill else COPY

    # ---- what islands and loops work on -----------------------------------------------------------

    def carried_buffers(self, op: Operation, starts: Sequence[SSAValue]) -> list[SSAValue]:
        """A buffer for each result of an island or loop that starts from `starts`, no two the same, filled with them.

        Those that must end in a certain buffer choose first.
        """
        chosen: dict[int, SSAValue] = {}
        for k in sorted(range(len(starts)), key=lambda k: op.results[k] not in self.scope.destination):
            chosen[k] = self._carried_buffer(op, starts[k], op.results[k], list(chosen.values()))
        return [chosen[k] for k in range(len(starts))]

    def _carried_buffer(
        self, op: Operation, value: SSAValue, after: SSAValue, taken: list[SSAValue]
    ) -> SSAValue:
        """Where the loops work: the value's own buffer if it may be overwritten, else a copy of it."""
        goal = self.scope.destination.get(after)
        if value not in self._places and (label := self._label_of_fill(value)) != COPY:
            memref = goal if goal is not None and goal not in taken else self.new_buffer(after)
            if isinstance(value.owner, EmptyOp):
                return memref
            self._copy(value, memref, label)
            return memref
        memref = self.materialise(value)
        if memref not in taken and self.may_overwrite(memref) and goal in (None, memref):
            self._save_old_contents(op, memref)
            return memref
        if goal is not None and goal is not memref:
            self._save_old_contents(op, goal, read_by_op=True)
            memref = self.materialise(value)
        fresh = goal if goal is not None and goal not in taken else self.new_buffer(after)
        why = "the loops start from it twice" if memref in taken else "it is not the function's own to write"
        self._note_copy(op, value, why)
        self._copy(value, fresh, self._label_of_fill(value))
        return fresh

    def new_buffer(self, value: SSAValue) -> SSAValue:
        """A buffer of the shape and type of `value`."""
        return self._alloc(value.name_hint or "t", storage_type(element_of(value)), self._shapes.of(value))

    def copied(self, value: SSAValue) -> SSAValue:
        """A buffer of its own that `value` is copied to."""
        fresh = self.new_buffer(value)
        self._copy(value, fresh)
        return fresh

    def extents_of(self, value: SSAValue) -> Index:
        """The extents of `value`, one expression each."""
        return self._shapes.of(value)

    def index_constant(self, value: int) -> SSAValue:
        """A constant of type index, at the top of the function."""
        return self._prologue.index_constant(value)

    def place(self, value: SSAValue, memref: SSAValue) -> None:
        """From here on `value` is in `memref`."""
        self._places[value] = Place(memref)

    def buffer_of(self, value: SSAValue) -> SSAValue | None:
        """Where `value` is in memory; None for what is not in memory."""
        place = self._places.get(value)
        return None if place is None else place.memref

    def may_overwrite(self, memref: SSAValue) -> bool:
        """Buffers of this function, its results, and arguments that it may write; in control flow, what is its own."""
        if len(self._scopes) > 1:
            return memref in self.scope.own
        return not isinstance(memref, BlockArgument) or self._signature.is_writable(memref)

    def _save_old_contents(self, op: Operation, memref: SSAValue, read_by_op: bool = False) -> None:
        """What was in the buffer and is still needed after the loops start, or read by them, moves to a copy."""
        needed = self.needed_in(memref, op)
        if read_by_op:
            inside = [v for v, place in self._places.items() if place.memref is memref]
            needed = [v for v in inside if v in needed or v in op.operands]
        for old in needed:
            fresh = self.new_buffer(old)
            self._note_copy(op, old, "its old contents are used after these loops")
            self._copy(old, fresh)
            self._places[old] = Place(fresh)

    # ---- what is needed later ---------------------------------------------------------------------

    def needed_in(self, memref: SSAValue, op: Operation) -> list[SSAValue]:
        """The values in `memref` that are used inside of `op` or after it."""
        inside = [v for v, place in self._places.items() if place.memref is memref]
        return [v for v in inside if self.is_used_after(v, op) or self._used_in(v, op)]

    def is_used_after(self, value: SSAValue, op: Operation, but: Operation | None = None) -> bool:
        """Whether `value`, or a view of it, is used by an operation after `op`; `but` may use the value itself."""
        limit = self.scope.position[op]
        return any(
            self.scope.position.get(user, -1) > limit and (is_view or user is not but)  # pyright: ignore
            for _, user, is_view in self._readers(value)
        )

    def _used_in(self, value: SSAValue, op: Operation) -> bool:
        """Whether `value` is used by an operation in the regions of `op`."""
        return any(user is op and reader is not op for reader, user, _ in self._readers(value))

    def _readers(self, value: SSAValue) -> Iterator[tuple[Operation, Operation | None, bool]]:
        """What uses `value`: the operation, the one of the present block that has it, and whether it sees a view."""
        pending = [(value, False)]
        while pending:
            one, is_view = pending.pop()
            for use in one.uses:
                if isinstance(use.operation, Viewing):
                    pending.append((use.operation.results[0], True))
                else:
                    yield use.operation, self._in_this_block(use.operation), is_view

    def _in_this_block(self, op: Operation) -> Operation | None:
        around: Operation | None = op
        while around is not None and around.parent is not self.scope.block:
            around = around.parent_op()
        return around

    def _note_copy(self, op: Operation, value: SSAValue, why: str) -> None:
        name = f"'{value.name_hint}'" if value.name_hint else "an array"
        remark(op, f"a copy of {name} remains: {why}")

    # ---- the end of a block -----------------------------------------------------------------------

    def _end(self, op: Operation, moves: Moves) -> None:
        """At the end of a block: what is not where it must be is copied there."""
        moves = [(v, m) for v, m in moves if not self._is_at(v, m)]
        written = {memref for _, memref in moves}
        for value, _ in moves:
            if self._root_buffer(value) in written:
                self._stage(op, value)
        for value, memref in moves:
            self._copy(value, memref, COPY if value in self._places else self._label_of_fill(value))

    def _is_at(self, value: SSAValue, memref: SSAValue) -> bool:
        place = self._places.get(value)
        return place is not None and place.memref is memref

    def _root_buffer(self, value: SSAValue) -> SSAValue | None:
        """The buffer that reading `value` reads, through views."""
        while value not in self._places and isinstance(value.owner, Viewing):
            value = value.owner.operands[0]
        place = self._places.get(value)
        return None if place is None else place.memref

    def _stage(self, op: Operation, value: SSAValue) -> None:
        """Copy what a result reads from a buffer that another result is about to overwrite, or itself in another order."""
        fresh = self.new_buffer(value)
        self._note_copy(op, value, "a result overwrites what it is computed from")
        self._copy(value, fresh)
        self._places[value] = Place(fresh)


def _starts(op: Operation) -> Sequence[SSAValue | None]:
    """What each result of an island or of control flow goes on from; nothing for other operations."""
    return sides_start_from(op) if isinstance(op, scf.IfOp) else started_from(op)


def _is_before(values: Sequence[SSAValue], op: Operation) -> bool:
    """Whether all of the values are there when `op`, of this block or one in it, is computed."""
    later: set[Operation] = set()
    one = op.next_op
    while one is not None:
        later.add(one)
        one = one.next_op
    return not any(value.owner in later for value in values)


def _source(view: Operation) -> SSAValue:
    """What a view is a view of."""
    while isinstance(view, Viewing):
        value = view.operands[0]
        view = value.owner  # pyright: ignore
    return value
