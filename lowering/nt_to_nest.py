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
`nest.alloc`. A copy that remains has the label "copy" (`count_copies`) and a remark. Siblings of this file: `_access`
(which element a view reads), `_shapes` (extents), `_scalars` (element types), `_elements` (one element at a time), `_plan`
and `_fusion` (a fusion as nests), `_signature` (arguments and results as buffers).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ..dialects.diagnostic import LoweringError, fail
from ..dialects.nest import AllocOp, ForOp, StoreOp
from ..dialects.nt import (
    ELEMENTWISE_OPS,
    BroadcastOp,
    CastOp,
    ConstantOp,
    DimOp,
    FromScalarOp,
    FusionOp,
    LoopsOp,
    ReduceOp,
    ReshapeOp,
    SliceOp,
    ToScalarOp,
    TransposeOp,
)
from ..dialects.nt.ops import element_of
from ..dialects.nt.types import storage_type
from ..dialects.remarks import remark
from .nt_to_nest_access import Index
from .nt_to_nest_elements import Elements, LoopNames, Place
from .nt_to_nest_fusion import FusionEmitter
from .nt_to_nest_plan import Output
from .nt_to_nest_shapes import Prologue, Shapes, as_value, constant
from .nt_to_nest_signature import Signature

COPY = "copy"
"""The label of a statement that only moves data."""

LARGEST_CONSTANT = 1024
"""Constants of more elements, not all equal, are refused: they would be written element by element."""

_VIEWS = (BroadcastOp, TransposeOp, SliceOp, ReshapeOp)
_LAZY = (*_VIEWS, FromScalarOp)
"""Computed where they are used; nothing is emitted for the operation itself."""


@dataclass(frozen=True, eq=False)
class ConvertNtToNestPass(ModulePass):
    """Turn functions on tensors into loop nests over buffers."""

    name = "convert-nt-to-nest"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.walk()):
            if isinstance(function, FuncOp) and function.body.blocks and _has_tensors(function):
                _Conversion(function).run()


def count_copies(function: Operation) -> int:
    """The statements of `function` that only copy an array."""
    return sum(isinstance(op, StoreOp) and op.statement == COPY for op in function.walk())


def _has_tensors(function: FuncOp) -> bool:
    types = [*function.function_type.inputs, *function.function_type.outputs]
    types += [r.type for op in function.body.block.ops for r in op.results]
    return any(isinstance(t, TensorType) for t in types)


class _Conversion:
    """The conversion of one function, in program order, in place."""

    def __init__(self, function: FuncOp):
        self._function = function
        self._block = function.body.block
        self._refuse_control_flow()
        self._prologue = Prologue(self._block)
        # Extents are named by the tensor signature, so before the buffers join it.
        self._shapes = Shapes(function, lambda argument: self._signature.buffer_of(argument), self._prologue)
        self._signature = Signature(function)
        self._current: Operation = self._block.last_op  # pyright: ignore
        self._names = LoopNames()
        self._places: dict[SSAValue, Place] = {
            arg: Place(self._signature.buffer_of(arg)) for arg in self._signature.tensors
        }
        self._elements = Elements(self._insert, self._places, self._shapes.of, self._names, function.location)
        self._fusions = FusionEmitter(
            self._elements, self._shapes.of, self._signature.memory_order, self._alloc
        )
        self._position = {op: k for k, op in enumerate(self._block.ops)}
        self._destination = self._destinations()

    def run(self) -> None:
        """Convert every operation, then the signature."""
        for op in list(self._block.ops):
            if isinstance(op, DimOp):
                self._dim(op)
        for op in [op for op in self._block.ops if op in self._position]:
            self._current = op
            handler = _HANDLERS.get(type(op))
            if handler is not None:
                handler(self, op)
            elif not isinstance(op, _LAZY):
                _refuse_tensors(op)
        self._erase_tensors()
        self._signature.install()
        _set_fastmath(self._function)

    def _refuse_control_flow(self) -> None:
        if len(self._function.body.blocks) != 1:
            raise fail(self._function, "convert-nt-to-nest takes functions of one block", error=LoweringError)

    def _insert(self, op: Operation) -> None:
        self._block.insert_op_before(op, self._current)

    # ---- extents ------------------------------------------------------------------------------------

    def _dim(self, op: DimOp) -> None:
        self._current = op
        extent = self._shapes.of(op.tensor)[op.axis.value.data]
        value = as_value(extent, self._insert, self._prologue.index_constant)
        if value.name_hint is None:
            value.name_hint = op.result.name_hint
        op.result.replace_all_uses_with(value)
        del self._position[op]
        self._block.erase_op(op)

    # ---- buffers ------------------------------------------------------------------------------------

    def _alloc(self, label: str, element: Attribute, extents: Index) -> SSAValue:
        """A buffer for this function, before the current operation."""
        shape: list[int] = []
        sizes: list[SSAValue] = []
        for extent in extents:
            known = extent.constants()
            shape.append(DYNAMIC_INDEX if known is None else known[0])
            if known is None:
                sizes.append(as_value(extent, self._insert, self._prologue.index_constant))
        op = AllocOp(label, MemRefType(element, shape), sizes)
        op.location = self._current.location
        self._insert(op)
        return op.memref

    def _destinations(self) -> dict[SSAValue, SSAValue]:
        """Values that are computed straight into a result's buffer, or into the one an island goes on with."""
        found: dict[SSAValue, SSAValue] = {}
        for value, memref in self._signature.results(self._return()):
            # An argument's old contents may be read until the end: it is written by islands on it, and last of all.
            if not self._signature.is_argument(memref):
                found.setdefault(value, memref)
        for op in reversed(list(self._block.ops)):
            if not isinstance(op, LoopsOp):
                continue
            for before, after in zip(op.outputs, op.results, strict=True):
                if after in found and not self._used_after(before, op):
                    found.setdefault(before, found[after])
        return {v: m for v, m in found.items() if not isinstance(v, BlockArgument)}

    def _return(self) -> ReturnOp:
        last = self._block.last_op
        if not isinstance(last, ReturnOp):
            raise fail(self._function, "a function ends with func.return", error=LoweringError)
        return last

    def _buffer_for(self, value: SSAValue) -> SSAValue:
        """The buffer that `value` is about to be computed into."""
        memref = self._destination.get(value)
        if memref is None:
            memref = self._alloc(
                value.name_hint or "t", storage_type(element_of(value)), self._shapes.of(value)
            )
        return memref

    def _copy(self, value: SSAValue, memref: SSAValue, label: str = COPY) -> None:
        """Write `value` to `memref`, element by element."""
        self._elements.location = self._current.location
        self._fusions.emit([], [Output(value, memref, label)])

    def _materialise(self, value: SSAValue) -> SSAValue:
        """The buffer that holds `value`, filled now when it is a view or a constant."""
        place = self._places.get(value)
        if place is not None:
            return place.memref
        memref = self._buffer_for(value)
        self._copy(value, memref, self._label_of_fill(value))
        self._places[value] = Place(memref)
        return memref

    @staticmethod
    def _label_of_fill(value: SSAValue) -> str:
        """`copy` for what reads an array; a fill by constants is not a copy."""
        source = value
        while isinstance(source.owner, _VIEWS):
            source = source.owner.operands[0]
        fill = isinstance(source.owner, ConstantOp | FromScalarOp)
        return (value.name_hint or "fill") if fill else COPY

    # ---- pure operations ----------------------------------------------------------------------------

    def _fusion(self, op: FusionOp) -> None:
        body = op.body.block
        outputs = [
            Output(inner, self._buffer_for(outer), outer.name_hint or op.label.data)
            for inner, outer in zip(body.last_op.operands, op.results, strict=True)  # pyright: ignore
        ]
        self._compute([o for o in body.ops if isinstance(o, ReduceOp)], outputs)
        for outer, output in zip(op.results, outputs, strict=True):
            self._places[outer] = Place(output.memref)

    def _single(self, op: Operation) -> None:
        """An operation outside any fusion is a fusion of one."""
        outputs = [
            Output(r, self._buffer_for(r), r.name_hint or op.name.partition(".")[2]) for r in op.results
        ]
        self._compute([op] if isinstance(op, ReduceOp) else [], outputs)
        for output in outputs:
            self._places[output.value] = Place(output.memref)

    def _compute(self, reductions: Sequence[ReduceOp], outputs: Sequence[Output]) -> None:
        self._elements.location = self._current.location
        self._fusions.emit(reductions, outputs)

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
        memref = self._buffer_for(op.result)
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
        outputs = self._output_buffers(op)
        body = op.body.block
        for arg, memref in zip(body.args, [*inputs, *outputs], strict=True):
            arg.replace_all_uses_with(memref)
        for inner in list(body.ops):
            inner.detach()
            self._rename_loops(inner)
            self._insert(inner)
        for after, memref in zip(op.results, outputs, strict=True):
            self._places[after] = Place(memref)

    def _rename_loops(self, op: Operation) -> None:
        for loop in op.walk():
            if isinstance(loop, ForOp):
                loop.properties["loop_name"] = StringAttr(self._names.take(loop.label))

    def _input_buffer(self, op: LoopsOp, value: SSAValue) -> SSAValue:
        """What the island reads must not change under it: a view or the old contents of an out is copied first."""
        memref = self._materialise(value)
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

    def _output_buffers(self, op: LoopsOp) -> list[SSAValue]:
        """A buffer for each out, no two the same; those that must end in a certain buffer choose first."""
        chosen: dict[int, SSAValue] = {}
        for k in sorted(range(len(op.outputs)), key=lambda k: op.results[k] not in self._destination):
            chosen[k] = self._output_buffer(op, op.outputs[k], op.results[k], list(chosen.values()))
        return [chosen[k] for k in range(len(op.outputs))]

    def _output_buffer(
        self, op: LoopsOp, value: SSAValue, after: SSAValue, taken: list[SSAValue]
    ) -> SSAValue:
        """Where the island works: the value's own buffer if it may be overwritten, else a copy of it."""
        memref = self._materialise(value)
        goal = self._destination.get(after)
        self._save_old_contents(op, value, memref)
        if memref not in taken and self._may_overwrite(value, memref) and goal in (None, memref):
            return memref
        fresh = (
            goal
            if goal is not None
            else self._alloc(after.name_hint or "t", storage_type(element_of(after)), self._shapes.of(after))
        )
        why = "the loops start from it twice" if memref in taken else "it is not the function's own to write"
        self._note_copy(op, value, why)
        self._copy(value, fresh)
        return fresh

    def _may_overwrite(self, value: SSAValue, memref: SSAValue) -> bool:
        """Buffers of this function, its results, and arguments that the caller lets it write."""
        return not isinstance(memref, BlockArgument) or self._signature.is_writable(memref)

    def _save_old_contents(self, op: LoopsOp, value: SSAValue, memref: SSAValue) -> None:
        """What was in the buffer and is still needed after the island moves to a copy."""
        needed = [
            v for v, place in self._places.items() if place.memref is memref and self._used_after(v, op)
        ]
        for old in needed:
            fresh = self._alloc(old.name_hint or "t", storage_type(element_of(old)), self._shapes.of(old))
            self._note_copy(op, old, "its old contents are used after these loops")
            self._copy(old, fresh)
            self._places[old] = Place(fresh)

    def _used_after(self, value: SSAValue, op: Operation) -> bool:
        """Whether `value`, or a view of it, is used by an operation after `op`."""
        limit = self._position[op]
        pending = [value]
        while pending:
            for use in pending.pop().uses:
                user = self._top_level(use.operation)
                if isinstance(use.operation, _VIEWS):
                    pending.append(use.operation.results[0])
                elif self._position.get(user, -1) > limit:
                    return True
        return False

    def _top_level(self, op: Operation) -> Operation:
        while op.parent_block() is not self._block:
            parent = op.parent_op()
            assert parent is not None
            op = parent
        return op

    def _note_copy(self, op: Operation, value: SSAValue, why: str) -> None:
        name = f"'{value.name_hint}'" if value.name_hint else "an array"
        remark(op, f"a copy of {name} remains: {why}")

    # ---- results ------------------------------------------------------------------------------------

    def _results(self, op: ReturnOp) -> None:
        moves = [(v, m) for v, m in self._signature.results(op) if not self._is_at(v, m)]
        written = {memref for _, memref in moves}
        for value, _ in moves:
            if self._root_buffer(value) in written:
                self._stage(op, value)
        for value, memref in moves:
            self._copy(value, memref, COPY if value in self._places else self._label_of_fill(value))
        new = ReturnOp()
        new.location = op.location
        self._insert(new)

    def _is_at(self, value: SSAValue, memref: SSAValue) -> bool:
        place = self._places.get(value)
        return place is not None and place.memref is memref

    def _root_buffer(self, value: SSAValue) -> SSAValue | None:
        """The buffer that reading `value` reads, through views."""
        while value not in self._places and isinstance(value.owner, _VIEWS):
            value = value.owner.operands[0]
        place = self._places.get(value)
        return None if place is None else place.memref

    def _stage(self, op: ReturnOp, value: SSAValue) -> None:
        """Copy what a result reads from a buffer that another result is about to overwrite, or itself in another order."""
        fresh = self._alloc(value.name_hint or "t", storage_type(element_of(value)), self._shapes.of(value))
        self._note_copy(op, value, "a result overwrites what it is read from")
        self._copy(value, fresh)
        self._places[value] = Place(fresh)

    def _erase_tensors(self) -> None:
        for op in reversed([op for op in self._block.ops if op in self._position]):
            mine = isinstance(op, ReturnOp | ToScalarOp) or any(
                isinstance(r.type, TensorType) for r in op.results
            )
            if mine or isinstance(op, LoopsOp):
                self._block.erase_op(op)


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
    FusionOp: _Conversion._fusion,
    LoopsOp: _Conversion._loops,
    ConstantOp: _Conversion._constant,
    ToScalarOp: _Conversion._to_scalar,
    ReturnOp: _Conversion._results,
    **{op_type: _Conversion._single for op_type in (CastOp, ReduceOp, *ELEMENTWISE_OPS.values())},
}
