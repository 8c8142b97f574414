"""gpu-plan-memory: the temporaries of a GPU program live in one allocation, which they share where their lives are apart.

    %y = memref.alloc() : memref<65x33xf32>
    gpu.launch_func @f_kernels::@f_y ... args(%x : memref<65x33xf32>, %y : memref<65x33xf32>)
    %s = memref.alloc() : memref<33xf32>
    gpu.launch_func @f_kernels::@f_s ... args(%y : memref<65x33xf32>, %s : memref<33xf32>)
    %z = memref.alloc() : memref<65x33xf32>
    gpu.launch_func @f_kernels::@f_z ... args(%s : memref<33xf32>, %z : memref<65x33xf32>)
    gpu.launch_func @f_kernels::@f_out ... args(%z : memref<65x33xf32>, %out : memref<65x33xf32>)

becomes, with sizes in bytes,

    %arena = memref.alloc() {nestor.arena} : memref<8960xi8>
    %y = memref.view %arena[%c0][] : memref<8960xi8> to memref<65x33xf32>
    ...
    %s = memref.view %arena[%c8704][] : memref<8960xi8> to memref<33xf32>
    ...
    %z = memref.view %arena[%c0][] : memref<8960xi8> to memref<65x33xf32>
    ...
    memref.dealloc %arena : memref<8960xi8>

A buffer lives from its allocation to the last operation of the function's block that uses it, or holds one that does.
Buffers of static size are placed by size, the largest first, each at the lowest offset that is free while it lives. Those of
dynamic size take turns in slots behind them, a slot being as large as the largest that it holds; their sizes are
computed before the first allocation. Offsets are multiples of 256 bytes, so that 16-byte accesses stay aligned. A
buffer that is made in a loop or branch, whose size is known too late, or that is the only one, stays an allocation; each
allocation is freed after its last use, and one that nobody uses is removed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, func, gpu, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    UnitAttr,
    i8,
    i32,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from ...dialects.attributes import ARENA

ALIGNMENT = 256
"""Bytes that offsets in an arena are multiples of: what the CUDA runtime guarantees of its own allocations."""


@dataclass(frozen=True)
class GpuPlanMemoryPass(ModulePass):
    """Put the temporaries of GPU programs into one allocation each; see the module's docstring."""

    name = "gpu-plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            launches = any(isinstance(inner, gpu.LaunchFuncOp) for inner in function.walk())
            if isinstance(function, func.FuncOp) and launches:
                plan_memory(function)


def plan_memory(function: func.FuncOp) -> None:
    """Plan the temporaries of one host function, in place."""
    for block in _blocks(function):
        lives = [life for op in list(block.ops) if isinstance(op, memref.AllocOp) and (life := _life(op))]
        if block is function.body.block:
            arena = _Arena(block, lives)
            lives = [life for life in lives if life not in arena.members]
            arena.emit()
        for life in lives:
            _free_after(life)


def _blocks(function: func.FuncOp) -> list[Block]:
    return [block for op in function.walk() for region in op.regions for block in region.blocks]


# ---- lives ------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Life:
    """An allocation, the last operation of its block that needs it, and where it is freed as yet."""

    op: memref.AllocOp
    last: Operation
    frees: list[Operation]
    first_position: int = 0
    last_position: int = 0
    offset: int | SSAValue = 0

    @property
    def type(self) -> MemRefType:
        assert isinstance(self.op.memref.type, MemRefType)
        return self.op.memref.type

    def overlaps(self, other: _Life) -> bool:
        """Whether both live at some time."""
        return self.first_position <= other.last_position and other.first_position <= self.last_position

    @property
    def bytes_known(self) -> int:
        """The size of its static extents, in bytes."""
        element = self.type.element_type
        width = 64 if isinstance(element, IndexType) else element.bitwidth  # pyright: ignore
        return math.prod(n for n in self.type.get_shape() if n != DYNAMIC_INDEX) * max(width // 8, 1)

    @property
    def sizes(self) -> tuple[SSAValue, ...]:
        return tuple(self.op.dynamic_sizes)


def _life(op: memref.AllocOp) -> _Life | None:
    """The life of an allocation; None for one that nobody uses, which is removed with what frees it."""
    block = op.parent_block()
    assert block is not None
    users, frees = [], []
    for user in _users(op.memref):
        (frees if isinstance(user, memref.DeallocOp) else users).append(user)
    if not users:
        for one in (*frees, op):
            one.detach()
            one.erase()
        return None
    around = [found for user in users if (found := block.find_ancestor_op_in_block(user)) is not None]
    positions = {one: k for k, one in enumerate(block.ops)}
    return _Life(
        op, max(around, key=positions.__getitem__), frees, positions[op], max(positions[o] for o in around)
    )


def _users(buffer: SSAValue) -> Iterator[Operation]:
    """The operations that use a buffer, by whatever name: views of it, and what a branch or loop around gives."""
    pending, seen = [buffer], {buffer}
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            yield op
            results = list(op.results)
            parent = op.parent_op()
            if op.has_trait(IsTerminator) and parent is not None and not isinstance(parent, func.FuncOp):
                results += parent.results
                results += [a for region in parent.regions for block in region.blocks for a in block.args]
            for value in results:
                if isinstance(value.type, MemRefType) and value not in seen:
                    seen.add(value)
                    pending.append(value)


def _free_after(life: _Life) -> None:
    """Free an allocation right after its last use."""
    for free in life.frees:
        free.detach()
        free.erase()
    block = life.op.parent_block()
    assert block is not None
    if not life.last.has_trait(IsTerminator):
        block.insert_op_after(memref.DeallocOp.get(life.op.memref), life.last)


# ---- the arena --------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Slot:
    """Memory behind the static part, whose members take turns in it."""

    members: list[_Life] = field(default_factory=list)

    def admits(self, life: _Life) -> bool:
        return not any(life.overlaps(other) for other in self.members)


class _Arena:
    """The memory that the temporaries of a block share."""

    def __init__(self, block: Block, lives: Sequence[_Life]):
        self._block = block
        self.members = [life for life in lives if _is_plain(life.type)]
        if self.members:
            first = self.members[0].op
            self.members = [life for life in self.members if all(_move_before(s, first) for s in life.sizes)]
        if len(self.members) < 2:
            self.members = []

    def emit(self) -> None:
        """Make the arena before the first allocation, and views of it instead of all."""
        if not self.members:
            return
        fixed = [life for life in self.members if not life.sizes]
        slots = _slots([life for life in self.members if life.sizes])
        builder = _Builder(self._block, self.members[0].op)
        end = _pack(fixed)
        size: SSAValue | int = end
        for slot in slots:
            start = builder.value(size)
            for life in slot.members:
                life.offset = start
            size = builder.add(start, builder.size_of(slot.members))
        offsets = [builder.value(life.offset) for life in self.members]
        dynamic = [] if isinstance(size, int) else [size]
        type = MemRefType(i8, [size if isinstance(size, int) else DYNAMIC_INDEX])
        arena = memref.AllocOp.create(
            operands=dynamic,
            result_types=(type,),
            properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, [len(dynamic), 0])},
            attributes={ARENA: UnitAttr()},
        )
        arena.memref.name_hint = "arena"
        builder.insert(arena)
        last = max(self.members, key=lambda life: life.last_position).last
        for life, offset in zip(self.members, offsets, strict=True):
            view = memref.ViewOp(arena.memref, offset, life.sizes, life.type)
            view.result.name_hint = life.op.memref.name_hint
            view.location = life.op.location
            self._block.insert_op_before(view, life.op)
            life.op.memref.replace_all_uses_with(view.result)
            for op in (*life.frees, life.op):
                op.detach()
                op.erase()
        if not last.has_trait(IsTerminator):
            self._block.insert_op_after(memref.DeallocOp.get(arena.memref), last)


def _is_plain(type: MemRefType) -> bool:
    """Whether a buffer is row-major, in the device's memory."""
    return isinstance(type.layout, NoneAttr) and isinstance(type.memory_space, NoneAttr)


def _move_before(value: SSAValue, place: Operation) -> bool:
    """Let a size be known before `place`: move what computes it there. Whether that was possible."""
    op = value.owner
    block = place.parent_block()
    if isinstance(op, Block) or op.parent_block() is not block:
        return True
    assert block is not None
    if block.get_operation_index(op) < block.get_operation_index(place):
        return True
    is_pure = op.name.startswith("arith.") or isinstance(op, memref.DimOp)
    if not is_pure or not all(_move_before(operand, place) for operand in op.operands):
        return False
    op.detach()
    block.insert_op_before(op, place)
    return True


def _pack(lives: Sequence[_Life]) -> int:
    """Give buffers of static size their offsets; the bytes that they take together."""
    placed: list[tuple[int, int, _Life]] = []
    for life in sorted(lives, key=lambda one: -one.bytes_known):
        size = -(-life.bytes_known // ALIGNMENT) * ALIGNMENT
        offset = 0
        for start, end, other in sorted(placed, key=lambda one: one[:2]):
            if start < offset + size and offset < end and life.overlaps(other):
                offset = end
        life.offset = offset
        placed.append((offset, offset + size, life))
    return max((end for _, end, _ in placed), default=0)


def _slots(lives: Sequence[_Life]) -> list[_Slot]:
    """Slots for buffers of dynamic size, those of equal sizes first of all in one."""
    slots: list[_Slot] = []
    for life in lives:
        free = [slot for slot in slots if slot.admits(life)]
        alike = [slot for slot in free if _size_key(slot.members[0]) == _size_key(life)]
        slot = next(iter(alike or free), None)
        if slot is None:
            slot = _Slot()
            slots.append(slot)
        slot.members.append(life)
    return slots


def _size_key(life: _Life) -> tuple:
    return life.bytes_known, *sorted(id(size) for size in life.sizes)


class _Builder:
    """Arithmetic on sizes, put before the first allocation."""

    def __init__(self, block: Block, place: Operation):
        self._block, self._place = block, place
        self._constants: dict[int, SSAValue] = {}
        self._sizes: dict[frozenset[tuple], SSAValue] = {}
        for op in block.ops:
            if op is place:
                break
            if isinstance(op, arith.ConstantOp) and isinstance(op.result.type, IndexType):
                assert isinstance(op.value, IntegerAttr)
                self._constants.setdefault(op.value.value.data, op.result)

    def insert(self, op: Operation) -> None:
        op.location = self._place.location
        self._block.insert_op_before(op, self._place)

    def value(self, number: int | SSAValue) -> SSAValue:
        """A number as a value."""
        if isinstance(number, SSAValue):
            return number
        if number not in self._constants:
            constant = arith.ConstantOp.from_int_and_width(number, IndexType())
            constant.result.name_hint = f"c{number}"
            self.insert(constant)
            self._constants[number] = constant.result
        return self._constants[number]

    def _operation(self, kind: type, *operands: SSAValue) -> SSAValue:
        op = kind(*operands)
        self.insert(op)
        return op.results[0]

    def add(self, one: SSAValue, other: SSAValue) -> SSAValue:
        return other if one is self._constants.get(0) else self._operation(arith.AddiOp, one, other)

    def size_of(self, members: Sequence[_Life]) -> SSAValue:
        """The bytes of the largest, rounded up."""
        sizes = {_size_key(life): life for life in members}
        key = frozenset(sizes)
        if key not in self._sizes:
            self._sizes[key] = self._size([self._bytes(life) for life in sizes.values()])
        return self._sizes[key]

    def _size(self, values: Sequence[SSAValue]) -> SSAValue:
        size = values[0]
        for other in values[1:]:
            size = self._operation(arith.MaxSIOp, size, other)
        unit = self.value(ALIGNMENT)
        return self._operation(arith.MuliOp, self._operation(arith.CeilDivSIOp, size, unit), unit)

    def _bytes(self, life: _Life) -> SSAValue:
        size = self.value(life.bytes_known)
        for extent in life.sizes:
            size = self._operation(arith.MuliOp, size, extent)
        return size
