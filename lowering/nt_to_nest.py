"""convert-nt-to-nest: functions on tensors become loop nests over buffers.

    func.func @scale(%x: tensor<?x4xf32> {nt.dims = ["n", 4]}) -> (tensor<?x4xf32> {nt.dims = ["n", 4]}) {
      %y = nt.fusion "y" {
        %0 = nt.multiply %x, %x : tensor<?x4xf32>
        nt.yield %0 : tensor<?x4xf32>
      } : tensor<?x4xf32>
      func.return %y : tensor<?x4xf32>
    }
  becomes
    func.func @scale(%x: memref<?x4xf32> {nest.dims = ["n", 4]},
                     %y: memref<?x4xf32> {nest.dims = ["n", 4], nest.role = "out"}) {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?x4xf32>
      nest.for "i" %i = 0 to %n {
        nest.for "j" %j = 0 to 4 {
          %x_1 = nest.load %x[%i, %j] : memref<?x4xf32>
          %0 = arith.mulf %x_1, %x_1 : f32
          nest.store "y" %0, %y[%i, %j] : memref<?x4xf32>
        }
      }
      func.return
    }

Every value that must be in memory gets one buffer: a result's, an argument's that an island works on in place, or a
`nest.alloc`. A copy that remains has the label "copy" (`count_copies`) and a remark. Siblings of this file:
`_control` (`scf.for`, `scf.while`, `scf.if`), `_dot` (products), `_scan` (running results), `_access` (which element a
view reads), `_shapes` (extents), `_scalars` (element types), `_elements` (one element at a time), `_plan` and `_fusion`
(a fusion as nests), `_signature` (arguments and results as buffers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ..dialects.diagnostic import LoweringError, fail
from ..dialects.nest import AllocOp, ForOp, StoreOp
from ..dialects.nt import (
    ELEMENTWISE_OPS,
    BroadcastOp,
    CastOp,
    ConstantOp,
    CustomCallOp,
    DimOp,
    EmptyOp,
    FromScalarOp,
    FusionOp,
    IotaOp,
    LoopsOp,
    ReduceOp,
    ReshapeOp,
    ScanOp,
    SliceOp,
    ToScalarOp,
    TransposeOp,
    WindowOp,
)
from ..dialects.nt.ops import element_of
from ..dialects.nt.types import storage_type
from ..dialects.remarks import remark
from .custom_calls import convert_call, note_calls
from .nt_to_nest_access import Index
from .nt_to_nest_control import CONTROL, sides_start_from, started_from
from .nt_to_nest_dot import expand_dots
from .nt_to_nest_elements import Elements, LoopNames, Place
from .nt_to_nest_fusion import FusionEmitter
from .nt_to_nest_plan import Output
from .nt_to_nest_scan import emit_scan
from .nt_to_nest_shapes import Prologue, Shapes, as_value, constant
from .nt_to_nest_signature import Signature

COPY = "copy"
"""The label of a statement that only moves data."""

LARGEST_CONSTANT = 1024
"""Constants of more elements, not all equal, are refused: they would be written element by element."""

_VIEWS = (BroadcastOp, TransposeOp, SliceOp, WindowOp, ReshapeOp)
_LAZY = (*_VIEWS, EmptyOp, FromScalarOp, IotaOp)
"""Computed where they are used; nothing is emitted for the operation itself."""


@dataclass(frozen=True, eq=False)
class ConvertNtToNestPass(ModulePass):
    """Turn functions on tensors into loop nests over buffers."""

    name = "convert-nt-to-nest"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.walk()):
            if isinstance(function, FuncOp) and function.body.blocks and _has_tensors(function):
                Conversion(function).run()


def count_copies(function: Operation) -> int:
    """The statements of `function` that only copy an array."""
    return sum(isinstance(op, StoreOp) and op.statement == COPY for op in function.walk())


def _has_tensors(function: FuncOp) -> bool:
    types = [*function.function_type.inputs, *function.function_type.outputs]
    ops = list(function.body.block.ops)
    types += [r.type for op in ops for r in op.results]
    return any(isinstance(t, TensorType) for t in types) or any(isinstance(op, LoopsOp) for op in ops)


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


class Conversion:
    """The conversion of one function, in program order, in place."""

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
    def module(self) -> ModuleOp:
        """The module of the function."""
        around = self._function.parent_op()
        assert isinstance(around, ModuleOp)
        return around

    @property
    def scope(self) -> Scope:
        """The block that is being converted."""
        return self._scopes[-1]

    def run(self) -> None:
        """Convert every operation, then the signature."""
        moves = self._signature.results(self._return())
        # An argument's old contents may be read until the end: it is written by islands on it, and last of all.
        straight = [(v, m) for v, m in moves if not self._signature.is_argument(m)]
        self._convert(straight)
        self._end(self._return(), moves)
        self._erase_tensors()
        self._signature.install()
        _set_fastmath(self._function)

    def _convert(self, straight: Moves) -> None:
        """Convert the operations of the present block but the last; `straight`: where values may be computed at once."""
        scope = self.scope
        scope.destination = self._destinations(straight)
        *ops, last = scope.block.ops
        for op in ops:
            if isinstance(op, DimOp):
                self._dim(op)
        for op in [op for op in ops if op in scope.position]:
            scope.current = op
            handler = _HANDLERS.get(type(op))
            if handler is not None:
                handler(self, op)
            elif not isinstance(op, _LAZY):
                _refuse_tensors(op)
        scope.current = last

    def block(self, block: Block, moves: Moves, variable: SSAValue | None = None) -> list[SSAValue]:
        """Convert a block of control flow, which ends with `moves`; a loop's has a `variable`.

        The terminator is dropped; returns its operands that are no tensors.
        """
        last = block.last_op
        assert last is not None
        with self._inside(block, [memref for _, memref in moves], variable):
            self._convert(moves)
            self._end(last, moves)
            scalars = [v for v in last.operands if not isinstance(v.type, TensorType)]
            self._erase_tensors()
        return scalars

    @contextmanager
    def _inside(self, block: Block, own: Sequence[SSAValue], variable: SSAValue | None) -> Iterator[None]:
        scope = Scope.of(block)
        scope.own.update(own)
        self._scopes.append(scope)
        places = dict(self._places)
        with self._elements.inside(scope.insert, variable):
            yield
        # What moved in the block is where it was before it: the block may not run.
        self._places.clear()
        self._places.update(places)
        self._scopes.pop()

    def _refuse_blocks(self) -> None:
        if len(self._function.body.blocks) != 1:
            raise fail(self._function, "convert-nt-to-nest takes functions of one block", error=LoweringError)

    def insert(self, op: Operation) -> None:
        """Add `op` before the operation that is being converted."""
        self.scope.insert(op)

    # ---- extents ------------------------------------------------------------------------------------

    def _dim(self, op: DimOp) -> None:
        self.scope.current = op
        extent = self._shapes.of(op.tensor)[op.axis.value.data]
        value = as_value(extent, self.insert, self._prologue.index_constant)
        if value.name_hint is None:
            value.name_hint = op.result.name_hint
        op.result.replace_all_uses_with(value)
        del self.scope.position[op]
        self.scope.block.erase_op(op)

    # ---- buffers ------------------------------------------------------------------------------------

    def _alloc(self, label: str, element: Attribute, extents: Index) -> SSAValue:
        """A buffer for the present block; it is made before the control flow around it where its extents are known there."""
        sizes = [extent for extent in extents if extent.constants() is None]
        values = [v for size in sizes for v in size.operands]
        scope = self.scope if any(self._is_inside(v) for v in values) else self._scopes[0]
        shape = [DYNAMIC_INDEX if (known := extent.constants()) is None else known[0] for extent in extents]
        counts = [as_value(size, scope.insert, self._prologue.index_constant) for size in sizes]
        op = AllocOp(label, MemRefType(element, shape), counts)
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
        for value, memref in moves:
            if self._is_free_at(value, memref):
                found.setdefault(value, memref)
        for op in reversed(list(self.scope.block.ops)):
            is_branch = isinstance(op, scf.IfOp)
            starts = sides_start_from(op) if is_branch else started_from(op)
            for before, after in zip(starts, op.results, strict=False):
                if before is None or after not in found or self.is_used_after(before, op):
                    continue
                if not is_branch and self._used_in(before, op):
                    continue
                if self._is_free_at(before, found[after]):
                    found.setdefault(before, found[after])
        return {v: m for v, m in found.items() if v.owner in self.scope.position}

    def _is_free_at(self, value: SSAValue, memref: SSAValue) -> bool:
        """Whether nothing else in `memref` is needed when `value` is computed into it, or later."""
        op = value.owner
        if op not in self.scope.position:
            return False
        assert isinstance(op, Operation)
        others = [v for v, place in self._places.items() if place.memref is memref and v is not value]
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
            isinstance(o, ReduceOp) or (isinstance(o, _VIEWS) and _source(o).owner in computing)
            for o in computing
        )
        return pointwise and len(op.results) == 1 and not any(is_view for _, is_view in reads)

    def _return(self) -> ReturnOp:
        last = self._function.body.block.last_op
        if not isinstance(last, ReturnOp):
            raise fail(self._function, "a function ends with func.return", error=LoweringError)
        return last

    def buffer_for(self, value: SSAValue) -> SSAValue:
        """The buffer that `value` is about to be computed into."""
        memref = self.scope.destination.get(value)
        if memref is None:
            memref = self._alloc(
                value.name_hint or "t", storage_type(element_of(value)), self._shapes.of(value)
            )
        return memref

    def _copy(self, value: SSAValue, memref: SSAValue, label: str = COPY) -> None:
        """Write `value` to `memref`, element by element."""
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
        while isinstance(source.owner, _VIEWS):
            source = source.owner.operands[0]
        fill = isinstance(source.owner, ConstantOp | FromScalarOp | IotaOp | EmptyOp)
        return (value.name_hint or "fill") if fill else COPY

    # ---- pure operations ----------------------------------------------------------------------------

    def _fusion(self, op: FusionOp) -> None:
        body = op.body.block
        outputs = [
            Output(inner, self.buffer_for(outer), outer.name_hint or op.label.data)
            for inner, outer in zip(body.last_op.operands, op.results, strict=True)  # pyright: ignore
        ]
        self._compute([o for o in body.ops if isinstance(o, ReduceOp)], outputs)
        for outer, output in zip(op.results, outputs, strict=True):
            self._places[outer] = Place(output.memref)

    def _single(self, op: Operation) -> None:
        """An operation outside any fusion is a fusion of one."""
        outputs = [
            Output(r, self.buffer_for(r), r.name_hint or op.name.partition(".")[2]) for r in op.results
        ]
        self._compute([op] if isinstance(op, ReduceOp) else [], outputs)
        for output in outputs:
            self._places[output.value] = Place(output.memref)

    def _compute(self, reductions: Sequence[ReduceOp], outputs: Sequence[Output]) -> None:
        self._elements.location = self.scope.current.location
        self._fusions.emit(reductions, outputs)

    def _scan(self, op: ScanOp) -> None:
        self._elements.location = op.location
        memref = self.buffer_for(op.result)
        order = self._signature.memory_order(memref)
        label = op.result.name_hint or "scan"
        emit_scan(op, self._elements, self._shapes.of(op.source), memref, order, label)
        self._places[op.result] = Place(memref)

    def _to_scalar(self, op: ToScalarOp) -> None:
        self._elements.location = op.location
        op.result.replace_all_uses_with(self._elements.get(op.tensor, ()))

    def _constant(self, op: ConstantOp) -> None:
        """A constant of several values is written to a buffer; a splat is computed where it is used."""
        if op.splat is not None or not op.value.get_values():
            return
        values = list(op.value.get_values())
        if len(values) > LARGEST_CONSTANT:
            raise fail(
                op,
                f"a constant of {len(values)} different elements does not fit in code",
                hint="pass the array as an argument",
                error=LoweringError,
            )
        memref = self.buffer_for(op.result)
        shape = op.result.type.get_shape()
        for position, value in enumerate(values):
            index: list[int] = []
            for extent in reversed(shape):
                position, at = divmod(position, extent)
                index.insert(0, at)
            scalar = self._elements.constant(value, memref.type.element_type)  # pyright: ignore
            label = op.result.name_hint or "constant"
            self._elements.store(label, scalar, memref, tuple([constant(at) for at in index]))
        self._places[op.result] = Place(memref)

    # ---- islands ------------------------------------------------------------------------------------

    def _loops(self, op: LoopsOp) -> None:
        inputs = [self._input_buffer(op, value) for value in op.inputs]
        outputs = self.carried_buffers(op, op.outputs)
        body = op.body.block
        for arg, memref in zip(body.args, [*inputs, *outputs], strict=True):
            arg.replace_all_uses_with(memref)
        note_calls(self.module, op)
        for inner in list(body.ops):
            inner.detach()
            self._rename_loops(inner)
            self.insert(inner)
        for after, memref in zip(op.results, outputs, strict=True):
            self._places[after] = Place(memref)

    def _rename_loops(self, op: Operation) -> None:
        for loop in op.walk():
            if isinstance(loop, ForOp):
                loop.properties["loop_name"] = StringAttr(self.names.take(loop.label))

    def _input_buffer(self, op: LoopsOp, value: SSAValue) -> SSAValue:
        """What the island reads must not change under it: a view or the old contents of an out is copied first."""
        memref = self.materialise(value)
        if not any(self._shares_memory(value, out) for out in op.outputs):
            return memref
        fresh = self._alloc(value.name_hint or "t", storage_type(element_of(value)), self._shapes.of(value))
        self._note_copy(op, value, "the loops write what they also read as it was before")
        self._copy(value, fresh)
        return fresh

    def _shares_memory(self, value: SSAValue, out: SSAValue) -> bool:
        """Whether both are in one buffer now (an input that overlaps in the caller is not the island's business)."""
        first, second = self._places.get(value), self._places.get(out)
        return first is not None and second is not None and first.memref is second.memref

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
            self._save_old_contents(op, goal)
        fresh = goal if goal is not None and goal not in taken else self.new_buffer(after)
        why = "the loops start from it twice" if memref in taken else "it is not the function's own to write"
        self._note_copy(op, value, why)
        self._copy(value, fresh, self._label_of_fill(value))
        return fresh

    def new_buffer(self, value: SSAValue) -> SSAValue:
        """A buffer of the shape and type of `value`."""
        return self._alloc(value.name_hint or "t", storage_type(element_of(value)), self._shapes.of(value))

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

    def _save_old_contents(self, op: Operation, memref: SSAValue) -> None:
        """What was in the buffer and is still needed after the loops start moves to a copy."""
        for old in self.needed_in(memref, op):
            fresh = self.new_buffer(old)
            self._note_copy(op, old, "its old contents are used after these loops")
            self._copy(old, fresh)
            self._places[old] = Place(fresh)

    def needed_in(self, memref: SSAValue, op: Operation) -> list[SSAValue]:
        """The values in `memref` that are used inside of `op` or after it."""
        inside = [v for v, place in self._places.items() if place.memref is memref]
        return [v for v in inside if self.is_used_after(v, op) or self._used_in(v, op)]

    def is_used_after(self, value: SSAValue, op: Operation) -> bool:
        """Whether `value`, or a view of it, is used by an operation after `op`."""
        limit = self.scope.position[op]
        return any(self.scope.position.get(user, -1) > limit for _, user, _ in self._readers(value))  # pyright: ignore

    def _used_in(self, value: SSAValue, op: Operation) -> bool:
        """Whether `value` is used by an operation in the regions of `op`."""
        return any(user is op and reader is not op for reader, user, _ in self._readers(value))

    def _readers(self, value: SSAValue) -> Iterator[tuple[Operation, Operation | None, bool]]:
        """What uses `value`: the operation, the one of the present block that has it, and whether it sees a view."""
        pending = [(value, False)]
        while pending:
            one, is_view = pending.pop()
            for use in one.uses:
                if isinstance(use.operation, _VIEWS):
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

    # ---- results ------------------------------------------------------------------------------------

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
        while value not in self._places and isinstance(value.owner, _VIEWS):
            value = value.owner.operands[0]
        place = self._places.get(value)
        return None if place is None else place.memref

    def _stage(self, op: Operation, value: SSAValue) -> None:
        """Copy what a result reads from a buffer that another result is about to overwrite, or itself in another order."""
        fresh = self._alloc(value.name_hint or "t", storage_type(element_of(value)), self._shapes.of(value))
        self._note_copy(op, value, "a result overwrites what it is read from")
        self._copy(value, fresh)
        self._places[value] = Place(fresh)

    def _erase_tensors(self) -> None:
        scope = self.scope
        *ops, last = scope.block.ops
        if isinstance(last, ReturnOp):
            new = ReturnOp()
            new.location = last.location
            scope.block.add_op(new)
        scope.block.erase_op(last)
        for op in reversed([op for op in ops if op in scope.position]):
            is_tensor = any(isinstance(r.type, TensorType) for r in op.results)
            if is_tensor or isinstance(op, (ToScalarOp, LoopsOp, CustomCallOp, *CONTROL)):
                scope.block.erase_op(op)


def _source(view: Operation) -> SSAValue:
    """What a view is a view of."""
    while isinstance(view, _VIEWS):
        value = view.operands[0]
        view = value.owner  # pyright: ignore
    return value


def _set_fastmath(function: FuncOp) -> None:
    """Grant the flags of `nt.fastmath` (asked for by the user, by name) to every floating-point operation."""
    flags = function.attributes.pop("nt.fastmath", None)
    if flags is None:
        return
    granted = FastMathFlagsAttr([FastMathFlag(flag.data) for flag in flags.data])  # pyright: ignore
    for op in function.walk():
        if "fastmath" in op.properties:
            op.properties["fastmath"] = granted


def _refuse_tensors(op: Operation) -> None:
    if any(isinstance(v.type, TensorType) for v in [*op.operands, *op.results]) or op.regions:
        raise fail(
            op,
            f"convert-nt-to-nest has no translation for {op.name} on tensors",
            hint="only nt operations on tensors become loop nests",
            error=LoweringError,
        )


_HANDLERS: dict[type[Operation], Callable[..., None]] = {
    FusionOp: Conversion._fusion,
    LoopsOp: Conversion._loops,
    ConstantOp: Conversion._constant,
    ScanOp: Conversion._scan,
    ToScalarOp: Conversion._to_scalar,
    CustomCallOp: convert_call,
    **CONTROL,
    **{op_type: Conversion._single for op_type in (CastOp, ReduceOp, *ELEMENTWISE_OPS.values())},
}
