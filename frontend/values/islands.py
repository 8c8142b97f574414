"""Islands: code that mutates arrays or loops over elements becomes `nt.loops`, whose body is nest operations.

    for i in range(1, n):        %a1 = nt.loops ins() outs(%a : tensor<?xf64>) {
        a[i] += a[i - 1]         ^bb0(%am: memref<?xf64>):
                                   nest.for "i" %i = 1 to %n {
                                     %k = nest.index %i of %n axis 0 of "a"
                                     ...
                                     nest.store "a" %2, %am[%k] : memref<?xf64>

Numbers inside are SSA scalars; array expressions are emitted element by element where they are assigned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects import cf, func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.affine import AffineList
from ...dialects.diagnostic import SourceLocation
from ...dialects.nest import AccumulateOp, AllocOp, ForOp, IndexOp, LoadOp, StoreOp
from ...dialects.nt import ELEMENTWISE, REDUCTIONS, Elementwise, LoopsOp
from ...dialects.nt.types import scalar_type, storage_type
from ...lowering.nt_to_nest.scalars import convert as convert_scalar
from ...lowering.nt_to_nest.scalars import from_storage, stored_combiner, stored_identity, to_storage
from ..interface.errors import DTypeError, ShapeError, UnsupportedError
from .equal_extents import own_index, require_assignable
from .extents import Affine, Atom, affine_list
from .graph import INDEX, Graph, dynamic, element_type, static_shape
from .integer_ranges import require_fit
from .names import ir_name
from .numbers import number_kind
from .overflow import affine_integer
from .promotion import WEAK_DTYPES, as_dtype
from .tensors import Combine, combiner_region, result_dtype, to_scalar
from .values import (
    Array,
    Axis,
    Buffer,
    Extents,
    Index,
    Lazy,
    Masked,
    Scalar,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    is_number,
    memory_of,
    operand_of,
    shape_text,
    whole,
)
from .writes import check_fresh, check_writable

_AXIS_NAMES = "ijklmn"


class Island:
    """One `nt.loops` being built. Use `open_island`."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.body = Block()
        self.depth = 0
        self.runs: list[Affine | None] = []
        """The iterations of the loops around that may have none; None of what may be skipped for another reason."""
        self._kept = False
        self._stand_ins = Block()
        self._memrefs: dict[Buffer, SSAValue] = {}
        self._written: dict[Buffer, None] = {}
        self._shapes: dict[Buffer, dict[Buffer, None]] = {}
        """The arrays that are used, by the one whose memory they show."""
        self._stores: list[Buffer] = []
        self._ages: dict[SSAValue, int] = {}
        """Of loads: how many stores were compiled before them."""
        self._reads: list[tuple[Buffer, SourceLocation]] = []
        """Of copies that NumPy would share, and where in the source they are."""
        self._scalars: dict[SSAValue, SSAValue] = {}

    # ---- memory -------------------------------------------------------------------------------------

    def memref(self, buffer: Buffer, write: bool = False) -> SSAValue:
        """The memory of `buffer` in here."""
        if write:
            self.graph.has_acted |= buffer.local is None
            check_writable(self.graph, buffer)
        check_fresh(self.graph, buffer, self._written)
        self._check_shapes(buffer, write)
        if write:
            self._written[buffer] = None
            self._stores.append(buffer)
        elif buffer.origin is not None or buffer.lenders:
            self._reads.append((buffer, self.graph.place))
        if buffer.local is not None:
            return buffer.local
        memref = self._memrefs.get(buffer)
        if memref is None:
            kind = _memref_type(buffer.dtype, buffer.extents)
            memref = self._stand_ins.insert_arg(kind, len(self._stand_ins.args))
            memref.name_hint = ir_name(buffer.name) or None
            self._memrefs[buffer] = memref
        return memref

    def _check_shapes(self, buffer: Buffer, write: bool) -> None:
        """Refuse to write memory that is used in two shapes: each has a memref of its own."""
        used = self._shapes.setdefault(memory_of(buffer), {})
        used[buffer] = None
        if len(used) > 1 and (write or any(other in self._written for other in used)):
            raise self.graph.error(
                UnsupportedError,
                f"'{buffer.name or 'an array'}' is written in one shape and used in another in the same loop or statement",
                "use one of the two, or copy what is read before: y = x.copy()",
            )

    def allocate(self, name: str, dtype: np.dtype, extents: Extents) -> Buffer:
        """A buffer that lives until the end of the block."""
        sizes = [self.graph.index(extent) for extent in dynamic(extents)]
        op = AllocOp(ir_name(name), _memref_type(dtype, extents), sizes)
        self.graph.insert(op)
        return Buffer(None, dtype, extents, name, local=op.memref)

    def load(self, array: Array, indices: Sequence[Affine]) -> SSAValue:
        """The element of a view at `indices` (in bounds), as an SSA scalar."""
        buffer = array.buffer
        op = LoadOp(self.memref(buffer), affine_list(_root_indices(array, indices)))
        self.graph.insert(op)
        self._ages[op.result] = len(self._stores)
        op.result.name_hint = ir_name(buffer.name) or None
        value = from_storage(self.graph.emitter(), op.result, element_type(buffer.dtype))
        return (
            value if not array.part else ELEMENTWISE[array.part].expansions["c"](self.graph.emitter(), value)
        )

    def store(
        self, array: Array, indices: Sequence[Affine], value: SSAValue, where: Sequence[Affine] = ()
    ) -> None:
        """Write the SSA scalar `value`, of the view's element type, at `indices` (in bounds).

        Where `where` is given, only where none of it is negative.
        """
        buffer = array.buffer
        memref = self.memref(buffer, write=True)
        assert isinstance(memref.type, MemRefType)
        if array.part:
            value = self._with_part(array, indices, value, where)
        stored = to_storage(self.graph.emitter(), value, memref.type.element_type)
        domain = affine_list(where) if where else None
        at = affine_list(_root_indices(array, indices))
        self.graph.insert(StoreOp(stored, memref, at, label=ir_name(buffer.name), where=domain))

    def add(self, array: Array, indices: Sequence[Affine], value: SSAValue) -> None:
        """Add the SSA scalar `value`, of the view's element type, to the element at `indices` (in bounds), in any order."""
        buffer = array.buffer
        memref = self.memref(buffer, write=True)
        assert isinstance(memref.type, MemRefType) and not array.part
        stored = to_storage(self.graph.emitter(), value, memref.type.element_type)
        at = affine_list(_root_indices(array, indices))
        self.graph.insert(AccumulateOp("add", [stored], [memref], at, label=ir_name(buffer.name)))

    def _with_part(
        self, array: Array, indices: Sequence[Affine], value: SSAValue, where: Sequence[Affine]
    ) -> SSAValue:
        """An element as it is once one part of it is `value`."""
        if where:
            raise self.graph.error(
                UnsupportedError,
                f"writing the {array.part} parts of what may lie outside is not supported",
                "compute the parts first, and then assign the array: x[...] = real + 1j * imag",
            )
        old, emitter = self.load(replace(array, part=""), indices), self.graph.emitter()
        parts = {name: ELEMENTWISE[name].expansions["c"](emitter, old) for name in ("real", "imag")}
        parts[array.part] = value
        return ELEMENTWISE["complex"].expansions["f"](emitter, parts["real"], parts["imag"])

    def checked_index(self, index: Affine, extent: Affine, name: str, axis: int) -> Affine:
        """A Python index of an axis: wrapped when negative, checked at run time where it is not a constant."""
        if index.known is not None and extent.known is not None:
            inside = -extent.known <= index.known < extent.known
            if inside or self.graph.is_certain:
                return wrap_index(self.graph, index.known, extent.known, axis)
        if not self.graph.boundscheck:
            return self.graph.unchecked_index(index, extent)
        op = IndexOp(index.to_list(), extent.to_list(), name or "array", axis)
        self.graph.has_acted = True
        value = self.graph.insert(op)
        assert value is not None
        return Affine.of(Atom(value, low=0, high=extent - 1))

    def age_of(self, loaded: SSAValue) -> int | None:
        """How many stores were compiled before a load: two of one block with the same age find the same memory."""
        return self._ages.get(loaded)

    # ---- numbers ------------------------------------------------------------------------------------

    def scalar(self, value: Value, dtype: np.dtype) -> SSAValue:
        """A number as an SSA scalar of `dtype`."""
        emitter = self.graph.emitter()
        require_fit(self.graph, value, dtype)
        if isinstance(value, Static):
            return emitter.const(as_dtype(value.value, dtype).item(), scalar_type(element_type(dtype)))
        if isinstance(value, Index):
            return self._converted(affine_integer(self.graph, value.affine), WEAK_DTYPES[int], dtype)
        if isinstance(value, Scalar):
            return self._converted(value.ssa, value.dtype, dtype)
        if isinstance(value, Tensor) and not value.extents:
            return self._converted(self._outer_scalar(value), value.dtype, dtype)
        if isinstance(value, Array) and not value.axes:
            return self._converted(self.load(value, ()), value.dtype, dtype)
        raise self.graph.error(UnsupportedError, f"a number is needed here, not {describe(value)}")

    def _converted(self, value: SSAValue, source: np.dtype, target: np.dtype) -> SSAValue:
        if source == target:
            return value
        return convert_scalar(self.graph.emitter(), value, element_type(source), element_type(target))

    def _outer_scalar(self, tensor: Tensor) -> SSAValue:
        known = self._scalars.get(tensor.ssa)
        if known is None:
            with self.graph.at_function_level():
                known = self._scalars[tensor.ssa] = to_scalar(self.graph, tensor)
        return known

    def number(self, value: Value) -> Scalar:
        """A number as a `Scalar` of its own type."""
        kind = number_kind(self.graph, value)
        dtype = WEAK_DTYPES[kind] if isinstance(kind, type) else kind
        return Scalar(self.scalar(value, dtype), dtype, kind if isinstance(kind, type) else None)

    def elementwise(
        self, row: Elementwise, operands: Sequence[Value], dtypes: Sequence[np.dtype], extents: Extents
    ) -> Value:
        """An operation of the table: a number on numbers, an array expression otherwise."""
        expansion = row.expansions["f" if dtypes[-1].name == "bfloat16" else dtypes[-1].kind]
        result = result_dtype(row, dtypes[-1])
        if not any(map(_has_elements, operands)):
            scalars = [self.scalar(o, d) for o, d in zip(operands, dtypes, strict=True)]
            return Scalar(expansion(self.graph.emitter(), *scalars), result)

        # Numbers are computed once, before the loops over the elements.
        parts = [
            o if _has_elements(o) else Scalar(self.scalar(o, d), d)
            for o, d in zip(operands, dtypes, strict=True)
        ]

        def at(indices: Sequence[Affine]) -> SSAValue:
            scalars = [self._element(p, d, indices, extents) for p, d in zip(parts, dtypes, strict=True)]
            return expansion(self.graph.emitter(), *scalars)

        return self.lazy(result, extents, at, reads_of(operands))

    def converted(self, value: Value, dtype: np.dtype) -> Value:
        """A number or array expression in another element type."""
        if not _has_elements(value):
            return Scalar(self.scalar(value, dtype), dtype)
        return self.lazy(
            dtype, extents_of(value), lambda ix: self._element(value, dtype, ix), reads_of([value])
        )

    def lazy(
        self,
        dtype: np.dtype,
        extents: Extents,
        at: Callable[[Sequence[Affine]], SSAValue],
        reads: tuple[Array, ...],
    ) -> Lazy:
        """An array expression, which is refused where it is computed after a write to what it reads."""
        since = len(self._stores)

        def checked(indices: Sequence[Affine]) -> SSAValue:
            if len(self._stores) > since:
                self._refuse_written(reads, self._stores[since:])
            return at(indices)

        return Lazy(dtype, extents, checked, reads)

    def _refuse_written(self, reads: Sequence[Array], stores: Sequence[Buffer]) -> None:
        memory = {memory_of(buffer) for buffer in stores}
        shared = {buffer.shared for buffer in memory if buffer.shared is not None}
        for read in reads:
            buffer = memory_of(read.buffer)
            if buffer in memory or buffer.shared in shared:
                raise self.graph.error(
                    UnsupportedError,
                    f"'{read.buffer.name or 'an array'}' is written by what is evaluated after an expression of it, "
                    "and before that is used",
                    "give the expression a name first: t = ...",
                )

    def _element(
        self, value: Value, dtype: np.dtype, indices: Sequence[Affine], shape: Extents | None = None
    ) -> SSAValue:
        """The element of a number or array, broadcast, at `indices` (into `shape`, else into one like its own)."""
        if not _has_elements(value):
            return self.scalar(value, dtype)
        assert isinstance(value, Array | Lazy)
        rank = len(value.extents)
        own = indices[len(indices) - rank :]
        shape = value.extents if shape is None else shape[len(shape) - rank :]
        mapped = own_index(self.graph, value.extents, shape, own)
        ssa = self.load(value, mapped) if isinstance(value, Array) else value.at(mapped)
        return self._converted(ssa, value.dtype, dtype)

    def element(self, value: Value, dtype: np.dtype, indices: Sequence[Affine]) -> SSAValue:
        """The element of a number or array, broadcast, at `indices`, as an SSA scalar of `dtype`."""
        return self._element(value, dtype, indices)

    def keeps(self) -> None:
        """The island stays though it may write nothing: it checks something."""
        self._kept = True

    # ---- loops over elements ------------------------------------------------------------------------

    @contextmanager
    def loop(self, name: str, lower: Affine, upper: Affine, step: int = 1) -> Iterator[Affine]:
        """A nest.for around what is inserted; gives its variable."""
        body = Block(arg_types=[INDEX])
        name = ir_name(name)
        hint = name if name.isidentifier() and name != "_" else None
        body.args[0].name_hint = hint
        op = ForOp(name, lower.to_list(), upper.to_list(), body, step=step)
        self.graph.insert(op)
        self.depth += 1
        try:
            with self.graph.inside(body), self.perhaps(upper - lower):
                yield Affine.of(Atom(body.args[0], low=lower.lower_bound(), high=upper - 1))
        finally:
            self.depth -= 1

    @contextmanager
    def perhaps(self, turns: Affine | None = None) -> Iterator[None]:
        """Around what runs where a number of iterations is positive, or on some paths only."""
        if turns is not None and (turns.lower_bound() or 0) > 0:
            yield
            return
        of_arguments = turns is not None and all(
            atom.argument is not None or atom.dim is not None for atom in turns.atoms()
        )
        self.runs.append(turns if of_arguments else None)
        try:
            yield
        finally:
            self.runs.pop()

    @contextmanager
    def turns(self) -> Iterator[None]:
        """Around a loop of the source, whose next iteration reads what this one has written."""
        stores, reads, place = len(self._stores), len(self._reads), self.graph.place
        yield
        for buffer, read in self._reads[reads:]:
            self.graph.locate(read)
            check_fresh(self.graph, buffer, self._stores[stores:])
        self.graph.locate(place)

    def for_each(
        self, extents: Extents, body: Callable[[list[Affine]], None], at: tuple[Affine, ...] = ()
    ) -> None:
        """Emit `body` in loops over every index of a shape."""
        if len(at) == len(extents):
            return body(list(at))
        extent = extents[len(at)]
        if extent.known == 1:
            return self.for_each(extents, body, (*at, Affine(0)))
        with self.loop(_AXIS_NAMES[len(at) % 6], Affine(0), extent) as index:
            self.for_each(extents, body, (*at, index))

    def assign(self, target: Array, value: Value) -> None:
        """`target[...] = value`; the value is evaluated first where it reads what is written."""
        check_writable(self.graph, target.buffer)
        require_real(self.graph, target.dtype, value)
        check_assignable(self.graph, target.extents, extents_of(value))
        if _needs_staging(target, value):
            value = self.materialise(value, target.buffer.name + "_copy")
        if not _has_elements(value):
            number = Scalar(self.scalar(value, target.dtype), target.dtype)
            return self.for_each(target.extents, lambda ix: self.store(target, ix, number.ssa))
        value = strip_leading(value, len(target.extents))
        shape = target.extents
        self.for_each(shape, lambda ix: self.store(target, ix, self._element(value, target.dtype, ix, shape)))

    def materialise(self, value: Value, name: str) -> Array:
        """An array expression evaluated into a buffer of its own."""
        assert isinstance(value, Array | Lazy)
        array = whole(self.allocate(name, value.dtype, value.extents))
        dtype = value.dtype
        self.for_each(value.extents, lambda ix: self.store(array, ix, self._element(value, dtype, ix)))
        return array

    def reduce(self, combiner: str, value: Value, dtype: np.dtype) -> Scalar:
        """A named reduction over all elements."""
        assert isinstance(value, Array | Lazy)
        compute = np.dtype(np.float32) if dtype.name in ("float16", "bfloat16") else dtype
        element = element_type(compute)
        cell = whole(self.allocate(combiner, compute, ()))
        row = REDUCTIONS[combiner]
        self.store(cell, (), self.graph.emitter().const(row.identity(element), scalar_type(element)))
        memref = self.memref(cell.buffer)
        assert isinstance(memref.type, MemRefType)

        def accumulate(indices: list[Affine]) -> None:
            stored = to_storage(
                self.graph.emitter(),
                self._element(value, compute, indices),
                memref.type.element_type,  # pyright: ignore
            )
            self.graph.insert(
                AccumulateOp(row.combiner(element), [stored], [memref], AffineList(()), label=combiner)
            )

        self.for_each(value.extents, accumulate)
        return Scalar(self._converted(self.load(cell, ()), compute, dtype), dtype)

    def reduce_together(
        self,
        combine: Combine,
        identities: Sequence[complex],
        values: Sequence[tuple[Value, np.dtype]],
        extents: Extents,
        order: str,
    ) -> list[Scalar]:
        """Arrays (with dtypes), broadcast to a shape, reduced together over all its elements by what `combine` emits."""
        dtypes = [dtype for _, dtype in values]
        body, numbers = combiner_region(combine, identities, dtypes)
        cells = [whole(self.allocate("reduced", dtype, ())) for dtype in dtypes]
        for cell, number, dtype in zip(cells, identities, dtypes, strict=True):
            start = self.graph.emitter().const(number, scalar_type(element_type(dtype)))
            self.store(cell, (), start)
        memrefs = [self.memref(cell.buffer) for cell in cells]
        storages: list[Attribute] = [memref.type.element_type for memref in memrefs]  # pyright: ignore
        region = stored_combiner(body, [element_type(dtype) for dtype in dtypes], storages)

        def accumulate(indices: list[Affine]) -> None:
            scalars = [self._element(v, dtype, indices, extents) for v, dtype in values]
            stored = [to_storage(self.graph.emitter(), v, t) for v, t in zip(scalars, storages, strict=True)]
            op = AccumulateOp(
                "custom",
                stored,
                memrefs,
                AffineList(()),
                label="reduced",
                order=order,
                identity=stored_identity(numbers, storages),
                combine=region,
            )
            self.graph.insert(op)

        self.for_each(extents, accumulate)
        return [Scalar(self.load(cell, ()), dtype) for cell, dtype in zip(cells, dtypes, strict=True)]

    # ---- the end ------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Insert the nt.loops before the present place of the function; written buffers get their new contents."""
        used = [b for b, memref in self._memrefs.items() if memref.first_use is not None]
        outs = [b for b in used if b in self._written]
        ins = [b for b in used if b not in self._written]
        if not outs and not self._kept and not any(map(_may_stop, self.body.walk())):
            self.body.drop_all_references()
            return
        for buffer in (*ins, *outs):
            memref = self._memrefs[buffer]
            argument = self.body.insert_arg(memref.type, len(self.body.args))
            argument.name_hint = memref.name_hint
            memref.replace_all_uses_with(argument)
        for buffer in (*ins, *outs):
            self.graph.language.refresh(self.graph, buffer)
        op = LoopsOp([b.value for b in ins], [b.value for b in outs], Region(self.body))  # pyright: ignore
        self.graph.insert(op)
        for buffer, result in zip(outs, op.results_, strict=True):
            result.name_hint = ir_name(buffer.name) or None
            self.graph.update(buffer, result)


@contextmanager
def open_island(graph: Graph) -> Iterator[Island]:
    """Build an island from what is inserted; on an error nothing of it remains."""
    island = Island(graph)
    outer, place = graph.block, graph.place
    graph.island = island
    try:
        with graph.inside(island.body):
            yield island
    except BaseException:
        island.body.drop_all_references()
        raise
    finally:
        graph.island = None
        graph.block = outer
    graph.locate(place)
    island.finish()


def _may_stop(op: Operation) -> bool:
    """Whether the operation checks something."""
    return isinstance(op, IndexOp | cf.AssertOp | func.CallOp)


def in_island(graph: Graph, run: Callable[[Island], None]) -> None:
    """Run in the open island, or in one made for it."""
    if graph.island is not None:
        return run(graph.island)
    with open_island(graph) as island:
        run(island)


def _memref_type(dtype: np.dtype, extents: Extents) -> MemRefType:
    return MemRefType(storage_type(element_type(dtype)), static_shape(extents))


def _root_indices(array: Array, indices: Sequence[Affine]) -> list[Affine]:
    result: list[Any] = [None] * len(array.buffer.extents)
    for axis, offset in array.fixed:
        result[axis] = offset
    for axis, index in zip(array.axes, indices, strict=True):
        if axis.root is not None:
            result[axis.root] = axis.offset + index * axis.stride
    return result


def _has_elements(value: Value) -> bool:
    return isinstance(value, Array | Lazy) and bool(value.extents)


def reads_of(values: Sequence[Value]) -> tuple[Array, ...]:
    """The arrays that array expressions read."""
    reads: list[Array] = []
    for value in values:
        if isinstance(value, Array):
            reads.append(value)
        elif isinstance(value, Lazy):
            reads.extend(value.reads)
    return tuple(reads)


def may_overlap(a: Array, b: Array) -> bool:
    """Whether two views may be of the same memory."""
    return a.buffer is b.buffer or (a.buffer.shared is not None and a.buffer.shared == b.buffer.shared)


def _needs_staging(target: Array, value: Value) -> bool:
    """Whether the value reads elements that the assignment may have overwritten by then."""
    for read in reads_of([value]):
        if read.buffer is not target.buffer:
            if read.buffer.shared is not None and read.buffer.shared == target.buffer.shared:
                return True
            continue
        if not same_window(read, target):
            return True
    return False


def same_window(a: Array, b: Array) -> bool:
    """Whether two views of one buffer show the same elements."""
    if len(a.axes) != len(b.axes) or len(a.fixed) != len(b.fixed) or a.part != b.part:
        return False
    fixed_a, fixed_b = dict(a.fixed), dict(b.fixed)
    if fixed_a.keys() != fixed_b.keys() or not all(fixed_a[k].equals(fixed_b[k]) for k in fixed_a):
        return False
    return all(_same_axis(x, y) for x, y in zip(a.axes, b.axes, strict=True))


def _same_axis(a: Axis, b: Axis) -> bool:
    return (
        (a.root, a.stride) == (b.root, b.stride) and a.offset.equals(b.offset) and a.extent.equals(b.extent)
    )


def strip_leading(value: Value, rank: int) -> Value:
    """An array of a higher rank than its target, whose extra leading axes have extent 1, without them."""
    extents = extents_of(value)
    extra = len(extents) - rank
    if extra <= 0:
        return value
    if isinstance(value, Array):
        fixed = [(a.root, a.offset) for a in value.axes[:extra] if a.root is not None]
        return replace(value, axes=value.axes[extra:], fixed=(*value.fixed, *fixed))
    assert isinstance(value, Lazy)
    at = value.at
    return Lazy(value.dtype, extents[extra:], lambda ix: at([Affine(0)] * extra + list(ix)), value.reads)


def check_assignable(graph: Graph, target: Extents, value: Extents) -> None:
    """Raise ShapeError unless `value` broadcasts to `target`."""
    extra = max(0, len(value) - len(target))
    fits = all(e.known == 1 for e in value[:extra])
    text = "could not broadcast input array to the shape it is assigned to"
    for wanted, got in zip(reversed(target), reversed(value), strict=False):
        fits = fits and require_assignable(graph, wanted, got, "assignment", text)
    if not fits:
        raise graph.error(
            ShapeError,
            f"could not broadcast input array from shape {shape_text(value)} into shape {shape_text(target)}".replace(
                ", ", ","
            ),
            "what is assigned has the shape of the target, or one that broadcasts to it",
        )


def require_real(graph: Graph, dtype: np.dtype, value: Value) -> None:
    """Raise for a complex number of Python that is stored in a real array (of NumPy's numbers the real part is)."""
    if (
        dtype.kind in "cb"
        or isinstance(value, Masked)
        or not is_number(value)
        or operand_of(value) is not complex
    ):
        return
    raise graph.error(
        DTypeError,
        "float() argument must be a string or a real number, not 'complex'",
        "store a part of it: z.real",
    )


def wrap_index(graph: Graph, index: int, extent: int, axis: int) -> Affine:
    """A constant Python index of a constant extent. Raises IndexRangeError."""
    if not -extent <= index < extent:
        raise graph.index_error(index, axis, extent)
    return Affine(index % extent)
