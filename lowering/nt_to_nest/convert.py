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
`_buffers` (where values are in memory), `handed_over` (results whose extents the run finds out), `_control` (`scf.for`,
`scf.while`, `scf.if`), `fills` (whole arrays that are written), `_dot` (products), `_scan` (running results), `_access`
(which element a view reads), `_shapes` (extents), `_scalars` (element types), `_elements` (one element at a time), `_plan`
and `_fusion` (a fusion as nests), `_signature` (arguments and results as buffers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.attributes import NT_FASTMATH, TF32
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.nest import ForOp, StoreOp
from ...dialects.nt import (
    ELEMENTWISE_OPS,
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
    ScanOp,
    ToScalarOp,
)
from ...dialects.nt.work import Viewing
from ..nest_common.custom_calls import convert_call, note_calls
from .buffers import COPY, Buffers, Moves, Scope
from .control import CONTROL
from .elements import Place
from .fills import is_fill
from .handed_over import hand_over, in_memory
from .plan import Output
from .shapes import as_value, constant

LARGEST_CONSTANT = 1024
"""Constants of more elements, not all equal, are refused: they would be written element by element."""

_LAZY = (Viewing, EmptyOp, FromScalarOp, IotaOp)
"""Computed where they are used; nothing is emitted for the operation itself."""


@dataclass(frozen=True, eq=False)
class ConvertNtToNestPass(ModulePass):
    """Turn functions on tensors into loop nests over buffers."""

    name = "convert-nt-to-nest"

    scans_as_updates: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.walk()):
            if not isinstance(function, FuncOp) or not function.body.blocks or not _has_tensors(function):
                continue
            if len(function.body.blocks) > 1:
                message = "a function of tensors has one block: branches are scf.if"
                raise fail(function, message, error=LoweringError)
            conversion = Conversion(function)
            conversion.scans_as_updates = self.scans_as_updates
            conversion.run()


def count_copies(function: Operation) -> int:
    """The statements of `function` that only copy an array."""
    return sum(isinstance(op, StoreOp) and op.statement == COPY for op in function.walk())


def _has_tensors(function: FuncOp) -> bool:
    types = [*function.function_type.inputs, *function.function_type.outputs]
    ops = [op for block in function.body.blocks for op in block.ops]
    types += [r.type for op in ops for r in op.results]
    return any(isinstance(t, TensorType) for t in types) or any(isinstance(op, LoopsOp) for op in ops)


class Conversion(Buffers):
    """The conversion of one function, in program order, in place."""

    scans_as_updates = False

    @property
    def module(self) -> ModuleOp:
        """The module of the function."""
        around = self._function.parent_op()
        assert isinstance(around, ModuleOp)
        return around

    def run(self) -> None:
        """Convert every operation, then the signature."""
        moves = self._signature.results(self._return())
        # An argument's old contents may be read until the end: it is written by islands on it, and last of all.
        straight = [(v, m) for v, m in moves if not self._signature.is_argument(m)]
        self._convert(straight)
        # Before results are written to arguments, which they may be computed from.
        handed = [(v, in_memory(self, v), w) for v, w in self._signature.handed_over(self._return())]
        self._end(self._return(), moves)
        for value, buffer, words in handed:
            hand_over(self, value, buffer, words)
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

        The terminator is dropped; returns its operands that are not tensors.
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

    def _return(self) -> ReturnOp:
        last = self._function.body.block.last_op
        if not isinstance(last, ReturnOp):
            raise fail(self._function, "a function ends with func.return", error=LoweringError)
        return last

    # ---- pure operations ----------------------------------------------------------------------------

    def _fusion(self, op: FusionOp) -> None:
        body = op.body.block
        pairs = list(zip(body.last_op.operands, op.results, strict=True))  # pyright: ignore
        self._emit([o for o in body.ops if isinstance(o, ReduceOp)], pairs, op.label.data)

    def _single(self, op: Operation) -> None:
        """An operation outside any fusion is a fusion of one."""
        reductions = [op] if isinstance(op, ReduceOp) else []
        self._emit(reductions, [(r, r) for r in op.results], op.name.partition(".")[2])

    def _emit(
        self, reductions: Sequence[ReduceOp], results: Sequence[tuple[SSAValue, SSAValue]], label: str
    ) -> None:
        """Compute the results of a fusion, given by their values in it."""
        outputs: list[Output] = []
        for inner, outer in results:
            name = outer.name_hint or label
            if reductions:
                outputs.append(Output(inner, self.buffer_for(outer), name))
            else:
                outputs.append(self.output(inner, outer, name))
        self._compute(reductions, outputs)
        for (_, outer), output in zip(results, outputs, strict=True):
            if output.window is None:
                self._places[outer] = Place(output.memref)

    def _compute(self, reductions: Sequence[ReduceOp], outputs: Sequence[Output]) -> None:
        self._elements.location = self.scope.current.location
        self._fusions.emit(reductions, outputs)

    def _scan(self, op: ScanOp) -> None:
        from .scan import emit_scan

        self._elements.location = op.location
        memref = self.buffer_for(op.result)
        order = self._signature.memory_order(memref)
        label = op.result.name_hint or "scan"
        alloc = self._alloc if self.scans_as_updates else None
        emit_scan(op, self._elements, self._shapes.of(op.source), memref, order, label, alloc)
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
            value = complex(*value) if isinstance(value, tuple) else value
            scalar = self._elements.constant(value, memref.type.element_type)  # pyright: ignore
            label = op.result.name_hint or "constant"
            self._elements.store(label, scalar, memref, tuple([constant(at) for at in index]))
        self._places[op.result] = Place(memref)

    # ---- islands ------------------------------------------------------------------------------------

    def _loops(self, op: LoopsOp) -> None:
        if is_fill(op, self.extents_of) and self._shares_memory(op.inputs[0], op.outputs[0]):
            memref = self.buffer_of(op.inputs[0])
            assert memref is not None
            self._places[op.results[0]] = Place(memref)
            return
        if op in self.filled:
            self._places[op.results[0]] = self._places[op.outputs[0]]
            return
        if (window := self.window_of_a_view(op)) is not None:
            (memref,) = self.carried_buffers(op, op.outputs)
            label = op.results[0].name_hint or COPY
            self._compute([], [Output(op.inputs[0], memref, label, window.at)])
            self._places[op.results[0]] = Place(memref)
            return
        copies = [self._input_copy(op, value) for value in op.inputs]
        outputs = self.carried_buffers(op, op.outputs)
        # The buffer of an output may have been that of an input, which is then elsewhere by now.
        inputs = [
            self.materialise(value) if copy is None else copy
            for value, copy in zip(op.inputs, copies, strict=True)
        ]
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

    def _input_copy(self, op: LoopsOp, value: SSAValue) -> SSAValue | None:
        """A copy of what the island reads as it was before and writes; None for what does not change under it."""
        memref = self.materialise(value)
        if not any(self._shares_memory(value, out) for out in op.outputs) or not self.may_overwrite(memref):
            return None  # what may not be overwritten is copied for the output, and stays there to be read
        fresh = self.new_buffer(value)
        self._note_copy(op, value, "the loops write what they also read as it was before")
        self._copy(value, fresh)
        return fresh

    def _shares_memory(self, value: SSAValue, out: SSAValue) -> bool:
        """Whether both are in one buffer now (an input that overlaps in the caller is not the island's business)."""
        first, second = self._places.get(value), self._places.get(out)
        return first is not None and second is not None and first.memref is second.memref

    # ---- the end ------------------------------------------------------------------------------------

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


def _set_fastmath(function: FuncOp) -> None:
    """Grant the flags of `nt.fastmath` (asked for by the user, by name) to every floating-point operation.

    The flag tf32 is one of products of matrices: the function keeps it.
    """
    flags = function.attributes.pop(NT_FASTMATH, None)
    if flags is None:
        return
    names = [flag.data for flag in flags.data]  # pyright: ignore
    if "tf32" in names:
        names.remove("tf32")
        function.attributes[TF32] = UnitAttr()
    granted = FastMathFlagsAttr([FastMathFlag(name) for name in names])
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
