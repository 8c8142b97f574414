"""Emission of the nests of one fusion, as planned by `plan.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Attribute, Region, SSAValue

from ...dialects.affine import AffineList
from ...dialects.nest import AccumulateOp, AllocOp
from ...dialects.nest.common import segments
from ...dialects.nt import REDUCTIONS, ReduceOp
from ...dialects.nt.ops import element_of
from ...dialects.nt.types import storage_type
from .access import Index
from .elements import Elements, Place
from .plan import Nest, Output, Pass, Planner, accumulator_of
from .scalars import stored_combiner, stored_identity, to_storage

Alloc = Callable[[str, Attribute, Index], SSAValue]
"""Makes a buffer in the function: label, element type in memory, extents."""


class FusionEmitter:
    """Emits the nests that compute `outputs` from values in memory, by way of `reductions` (in program order)."""

    def __init__(
        self,
        elements: Elements,
        extents: Callable[[SSAValue], Index],
        memory_order: Callable[[SSAValue], tuple[int, ...]],
        alloc: Alloc,
    ):
        self._elements = elements
        self._places = elements.places
        self._extents = extents
        self._memory_order = memory_order
        self._alloc = alloc
        self._shared: list[SSAValue] = []

    def emit(self, reductions: Sequence[ReduceOp], outputs: Sequence[Output]) -> None:
        """Plan and emit all nests."""
        planner = Planner(self._extents, self._elements.trace, self._memory_order, self._buffer_of)
        nests = planner.plan(reductions, outputs)
        self._shared = planner.shared_values()
        inner_places: list[SSAValue] = []
        for nest in nests:
            emit = self._emit_columns if nest.by_columns else self._emit_rows
            emit(nest)
            inner_places += [r for op in nest.reductions() for r in op.results]
        inner_places += planner.row_values
        for value in [*inner_places, *self._shared]:
            self._places.pop(value, None)

    def _buffer_of(self, value: SSAValue) -> SSAValue | None:
        place = self._places.get(value)
        return None if place is None else place.memref

    # ---- row by row ---------------------------------------------------------------------------------

    def _emit_rows(self, nest: Nest) -> None:
        outputs = nest.row_outputs + self._export_outputs(nest)
        point: list[AffineList] = list(nest.point)
        rows = [axis for axis in nest.order if axis not in nest.reduced]
        self._open(nest, rows, point)
        row_point = tuple([point[axis] for axis in nest.rows])
        for one in nest.passes:
            for op in one.reductions:
                self._initialise(op, [self._local_accumulator(op, k) for k in range(len(op.results))], ())
            self._emit_pass(nest, one, point)
        for output in outputs:
            self._store(output, row_point)
        self._close(rows)
        self._leave_rows(nest, outputs)

    def _local_accumulator(self, op: ReduceOp, k: int) -> SSAValue:
        buffer_type = MemRefType(accumulator_of(op, k), [])
        alloc = _alloc_op(_accumulator_label(op, k), buffer_type, op)
        self._elements.append(alloc)
        self._places[op.results[k]] = Place(alloc.memref, self._elements.depth)
        return alloc.memref

    def _emit_pass(self, nest: Nest, one: Pass, point: list[AffineList]) -> None:
        reduced = [axis for axis in nest.order if axis in nest.reduced]
        inner = list(point)
        self._open(nest, reduced, inner)
        index = tuple(inner)
        saved = self._save_shared(nest, one, index)
        for op in one.reductions:
            buffers = [self._places[r].memref for r in op.results]
            self._accumulate(op, index, buffers, ())
        for output in one.outputs:
            self._store(output, index)
        self._close(reduced)
        for value, memref in saved:
            self._places[value] = Place(memref)

    def _save_shared(self, nest: Nest, one: Pass, index: Index) -> list[tuple[SSAValue, SSAValue]]:
        """Store the values that a later pass needs as well; an output that holds such a value serves as its buffer."""
        roots = [(v, index) for op in one.reductions for v in op.inputs]
        roots += [(o.value, index) for o in one.outputs]
        needed = set(self._elements.trace(roots, stop=[v for v in self._shared if v in self._places]))
        saved: list[tuple[SSAValue, SSAValue]] = []
        for value in self._shared:
            if value in self._places or (value, index) not in needed:
                continue
            storage = storage_type(element_of(value))
            memref = self._output_buffer(one.outputs, value)
            if memref is None:
                label = _label(value, "t")
                memref = self._alloc(label, storage, nest.space)
                self._elements.store(label, self._elements.get(value, index), memref, index)
            saved.append((value, memref))
        return saved

    @staticmethod
    def _output_buffer(outputs: Sequence[Output], value: SSAValue) -> SSAValue | None:
        return next((o.memref for o in outputs if o.value is value and o.window is None), None)

    def _export_outputs(self, nest: Nest) -> list[Output]:
        """Buffers over the rows for the results that later nests need; without rows the accumulator serves."""
        if not nest.rows:
            return []
        extents = tuple([nest.space[axis] for axis in nest.rows])
        exports: list[Output] = []
        for value in nest.exports:
            if self._output_buffer(nest.row_outputs, value) is None:
                label = _label(value, "t")
                memref = self._alloc(label, storage_type(element_of(value)), extents)
                exports.append(Output(value, memref, label))
        return exports

    def _leave_rows(self, nest: Nest, outputs: Sequence[Output]) -> None:
        """The accumulators are out of scope now: results live where they were stored, and so do values of rows."""
        if not nest.rows:
            return
        stored = [value for value in nest.exports if not isinstance(value.owner, ReduceOp)]
        for value in stored:
            memref = self._output_buffer(outputs, value)
            assert memref is not None
            self._places[value] = Place(memref)
        for op in nest.reductions():
            for result in op.results:
                del self._places[result]
                memref = self._output_buffer(outputs, result)
                if memref is not None:
                    self._places[result] = Place(memref)

    # ---- by columns ---------------------------------------------------------------------------------

    def _emit_columns(self, nest: Nest) -> None:
        """A nest that fills buffers over the rows with identities, then one in memory order that accumulates."""
        extents = tuple([nest.space[axis] for axis in nest.rows])
        rows = [axis for axis in nest.order if axis not in nest.reduced]
        buffers: dict[SSAValue, SSAValue] = {}
        for op in nest.reductions():
            for k, result in enumerate(op.results):
                label = _accumulator_label(op, k)
                buffer = self._output_buffer(nest.row_outputs, result)
                buffers[result] = buffer or self._alloc(label, accumulator_of(op, k), extents)
        point: list[AffineList] = list(nest.point)
        self._open(nest, rows, point)
        row_point = tuple([point[axis] for axis in nest.rows])
        for op in nest.reductions():
            self._initialise(op, [buffers[r] for r in op.results], row_point)
        self._close(rows)

        point = list(nest.point)
        self._open(nest, nest.order, point)
        index = tuple(point)
        row_point = tuple([point[axis] for axis in nest.rows])
        saved: list[tuple[SSAValue, SSAValue]] = []
        for one in nest.passes:
            saved += self._save_shared(nest, one, index)
            for op in one.reductions:
                self._accumulate(op, index, [buffers[r] for r in op.results], row_point)
        self._close(nest.order)
        self._places.update({r: Place(memref) for r, memref in [*buffers.items(), *saved]})

    # ---- parts --------------------------------------------------------------------------------------

    def _open(self, nest: Nest, axes: Sequence[int], point: list[AffineList]) -> None:
        for axis in axes:
            point[axis] = self._elements.open_loop(axis, nest.space[axis])

    def _close(self, axes: Sequence[int]) -> None:
        for _ in axes:
            self._elements.close_loop()

    def _store(self, output: Output, index: Index) -> None:
        value = self._elements.get(output.value, index)
        at = index if output.window is None else output.window(index)
        self._elements.store(output.label, value, output.memref, at)

    def _initialise(self, op: ReduceOp, buffers: Sequence[SSAValue], index: Index) -> None:
        for k, memref in enumerate(buffers):
            label = _label(op.results[k], op.combiner.data)
            accumulator = memref.type.element_type  # pyright: ignore
            identity = self._elements.constant(op.identity_of(k), accumulator)
            self._elements.store(label, identity, memref, index)

    def _accumulate(self, op: ReduceOp, index: Index, buffers: Sequence[SSAValue], at: Index) -> None:
        types: list[Attribute] = [memref.type.element_type for memref in buffers]  # pyright: ignore
        values = [self._elements.get(v, index) for v in op.inputs]
        emitter = self._elements.emitter(op.location)
        values = [to_storage(emitter, v, t) for v, t in zip(values, types, strict=True)]
        name = op.combiner.data
        custom = name == "custom"
        place = AffineList.of(*at)
        properties: dict[str, Attribute] = {
            "label": StringAttr(_label(op.results[0], name)),
            "combiner": StringAttr(name if custom else REDUCTIONS[name].combiner(element_of(op.inputs[0]))),
            "map": place.map_attr,
            "operandSegmentSizes": segments(len(values), len(buffers), len(place.operands), 0, 0),
        }
        if op.order is not None:
            properties["order"] = op.order
        if custom:
            assert op.identity is not None
            properties["identity"] = stored_identity(op.identity, types)
        self._elements.append(
            AccumulateOp.create(
                operands=[*values, *buffers, *place.operands],
                properties=properties,
                regions=[_combiner_region(op, types)] if custom else [],
                location=op.location,
            )
        )


def _combiner_region(op: ReduceOp, types: Sequence[Attribute]) -> Region:
    assert op.combine is not None
    return stored_combiner(op.combine.block, [element_of(v) for v in op.inputs], types, op.location)


def _alloc_op(label: str, memref_type: MemRefType, op: ReduceOp) -> AllocOp:
    alloc = AllocOp.create(
        properties={"label": StringAttr(label)}, result_types=[memref_type], location=op.location
    )
    alloc.memref.name_hint = label if label.isidentifier() else None
    return alloc


def _accumulator_label(op: ReduceOp, k: int) -> str:
    """What the buffer of a reduction is called where the program has no name for the result."""
    combiner = op.combiner.data
    return _label(op.results[k], {"add": "sum", "mul": "product"}.get(combiner, combiner))


def _label(value: SSAValue, default: str) -> str:
    return value.name_hint or default
