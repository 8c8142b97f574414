"""Vectorized loops in kernels (part of convert-nest-to-gpu): accesses of up to 16 bytes, lanes one after the other.

    nest.for "i.i" %v = 0 to 4 vectorized(4) {
      %a = nest.load %x[1024 * %b + 4 * %t + %v] : memref<?xf32>
      %c = arith.mulf %a, %s : f32
      nest.store "y" %c, %y[1024 * %b + 4 * %t + %v] where (1024 * %b + 4 * %t + %v < %n) : memref<?xf32>
    }

becomes, with %i = 1024 * %b + 4 * %t and a parameter of the kernel that says whether its buffers are aligned,

    %0 = arith.addi %i, %c3
    %1 = arith.cmpi slt, %0, %n
    %whole = arith.andi %aligned, %1
    scf.if %whole {
      %x_v = vector.load %x[%i] : memref<?xf32>, vector<4xf32>
      %y_v = memref.alloca() : memref<4xf32>
      scf.for %v = %c0 to %c4 step %c1 {
        %a = vector.extract %x_v[%v] : f32 from vector<4xf32>
        %c = arith.mulf %a, %s : f32
        memref.store %c, %y_v[%v]
      } {nestor.unroll}
      %2 = vector.load %y_v[%c0] : memref<4xf32>, vector<4xf32>
      vector.store %2, %y[%i] : memref<?xf32>, vector<4xf32>
    } else {
      scf.for %v = %c0 to min(%c4, %n - %i) { the same with memref.load and memref.store }
    }

One access moves elements that are adjacent in memory and begin at a multiple of the access's size; the others
(broadcast, strided, shifted by one) stay accesses to elements. Loads are before the lanes' computations, stores
behind them; two stores to one buffer too, a known distance apart. Why it is so: docs/decisions/0009-vector-accesses.md.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    VectorType,
    i32,
)
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.machine import ACCESS_BYTES
from ...analysis.nest.buffers import element_bytes, strides_of
from ...analysis.nest.kernels.gpu_accesses import is_part_of_loop, root
from ...analysis.nest.kernels.matrix_tiles import matrix_around
from ...analysis.nest.kernels.vector_forms import varying_in
from ...analysis.nest.sets.domains import domain_of, is_computation
from ...analysis.nest.values.linear_forms import Division, Linear, forms_of, linear, terms_of
from ...dialects.affine import AffineList
from ...dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, PrefetchOp, StoreOp, YieldOp
from ...dialects.nest.common import name_hint_of

if TYPE_CHECKING:
    from .tiles import TileBody

Access: TypeAlias = LoadOp | StoreOp


@dataclass(eq=False)
class Alignment:
    """What the vector accesses of a kernel need of buffers of the host, asked before the launch."""

    pointers: dict[SSAValue, int] = field(default_factory=dict)
    """Buffers whose address is a multiple of this many bytes."""
    extents: dict[tuple[SSAValue, int], int] = field(default_factory=dict)
    """(buffer, axis): extents that are a multiple of this many elements."""
    strides: dict[tuple[SSAValue, int], int] = field(default_factory=dict)
    """(buffer, axis): strides that are."""

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to ask."""
        return bool(self.pointers or self.extents or self.strides)

    def merge(self, other: Alignment) -> None:
        """Need what `other` needs too."""
        for buffer, unit in other.pointers.items():
            self.pointers[buffer] = max(unit, self.pointers.get(buffer, 1))
        for mine, theirs in ((self.extents, other.extents), (self.strides, other.strides)):
            for place, unit in theirs.items():
                mine[place] = max(unit, mine.get(place, 1))


class LaneLoop:
    """One vectorized loop: which of its accesses are vectors, and how it is lowered."""

    def __init__(self, body: TileBody, loop: ForOp, assumed: set[AffineList]):
        assert loop.width is not None
        self.body = body
        self.loop = loop
        self.width = loop.width.value.data
        self.varying = varying_in(loop.body.block, {loop.iv})
        self.members = list(loop.body.block.ops)
        self.own = set[object](self.members)
        self.needs = Alignment()
        self.accesses = self._vector_accesses(assumed)
        """The accesses that are vectors where all constraints in `assumed` hold."""
        self.registers: dict[Operation, SSAValue] = {}
        """The vector that a load has filled, or the local one that a store fills."""
        self.copies = self._copies(assumed)

    # ---- which accesses are vectors ----

    def _vector_accesses(self, assumed: set[AffineList]) -> list[Access]:
        loop, is_power = self.loop, not self.width & (self.width - 1)
        lower, count = loop.lower.constants(), loop.constant_trip_count()
        if not is_power or loop.step_value != 1 or lower != (0,) or count not in (None, self.width):
            return []
        found = []
        for op in self.members:
            if isinstance(op, LoadOp | StoreOp) and self._is_free(op) and self._is_everywhere(op, assumed):
                needs = self._alignment(op)
                if needs is not None:
                    self.needs.merge(needs)
                    found.append(op)
        return found

    def _is_everywhere(self, op: Access, assumed: set[AffineList]) -> bool:
        """Whether every lane does it."""
        if isinstance(op, StoreOp):
            domain = domain_of(op)
            return domain.mask is None and assumed.issuperset(domain.constraints)
        domains = self.body.guards.of(op)
        return domains is None or any(d.mask is None and assumed.issuperset(d.constraints) for d in domains)

    def _is_free(self, op: Access) -> bool:
        """Whether a load may move to the front of the loop, a store to its end."""
        position = self.members.index(op)
        for k, member in enumerate(self.members):
            if member is op or (isinstance(op, LoadOp) and k > position):
                continue
            for inner in member.walk():
                touched = inner.memrefs if isinstance(inner, AccumulateOp) else ()
                touched = (inner.memref,) if isinstance(inner, StoreOp) else touched
                if isinstance(inner, LoadOp) and isinstance(op, StoreOp) and k > position:
                    touched = (inner.memref,)
                overlap = any(self.body.may_overlap(buffer, op.memref) for buffer in touched)
                if overlap and not self._are_apart(op, inner):
                    return False
        return True

    def _are_apart(self, op: Access, other: Operation) -> bool:
        """Whether no lane of `op` touches what any lane of `other` does: a known distance lies between their places."""
        if not isinstance(other, LoadOp | StoreOp) or other.memref is not op.memref:
            return False
        mine, theirs = (forms_of(a.indices, [_known(v) for v in a.indices.operands]) for a in (op, other))
        for form, its in zip(mine, theirs, strict=True):
            distance = form.added(its.scaled(-1))
            rest = form.without(self.loop.iv)
            if distance.terms or any(rest.uses(v) for v in self.varying):
                continue
            lanes = abs(form.coefficient(self.loop.iv)) * (self.width - 1)
            if abs(distance.constant) > lanes:
                return True
        return False

    def _alignment(self, op: Access) -> Alignment | None:
        """What the access needs; None where it is not one of neighbours that begin at a multiple of their size."""
        buffer = op.memref.type
        assert isinstance(buffer, MemRefType)
        if not len(op.indices) or self.body.is_private(op.memref) or strides_of(buffer)[-1] != 1:
            return None
        if any(v in self.varying and v is not self.loop.iv for v in op.indices.operands):
            return None
        values = [_known(v) for v in op.indices.operands]
        forms = self._of_first_lane(forms_of(op.indices, values))
        size = element_bytes(buffer.element_type)
        unit = min(ACCESS_BYTES // size, self.width)
        if forms is None or unit < 2 or multiple_of(forms[-1]) % unit:
            return None
        needs = Alignment()
        for axis, form in enumerate(forms[:-1]):
            if not _moves_by(unit, op.memref, axis, multiple_of(form), needs):
                return None
        if isinstance(root(op.memref).owner, Block):
            needs.pointers[op.memref] = unit * size
        return needs

    def _of_first_lane(self, forms: Sequence[Linear]) -> list[Linear] | None:
        """The indices of lane 0; None unless the lanes are neighbours along the last axis."""
        iv, (*outer, last) = self.loop.iv, forms
        rest = last.without(iv)
        if any(form.uses(iv) for form in outer) or last.coefficient(iv) != 1 or rest.uses(iv):
            return None
        return [*outer, rest]

    def _copies(self, assumed: set[AffineList]) -> list[tuple[LoadOp, StoreOp]]:
        """The members of a loop that only moves vectors, also from and to vectors in local arrays; else nothing."""
        found = []
        for op in self.members:
            if (
                isinstance(op, StoreOp)
                and isinstance(load := op.value.owner, LoadOp)
                and load in self.members
            ):
                found.append((load, op))
        moved = {op for pair in found for op in pair}
        if len(moved) != 2 * len(found) or any(
            op not in moved and any(v in self.varying for v in op.operands) for op in self.members
        ):
            return []
        local = [op for op in moved if op not in self.accesses]
        if len(local) > len(found) or not all(self._is_local_vector(op, assumed) for op in local):
            return []
        return found

    def _is_local_vector(self, op: Access, assumed: set[AffineList]) -> bool:
        """Whether the lanes are all elements along the last axis of a local array."""
        buffer = op.memref.type
        assert isinstance(buffer, MemRefType)
        if (
            not self.body.is_local(op.memref)
            or not buffer.get_num_dims()
            or _is_summed_by_matrices(op.memref)
        ):
            return False
        forms = self._of_first_lane(forms_of(op.indices, [_known(v) for v in op.indices.operands]))
        is_whole = forms is not None and not forms[-1].terms and not forms[-1].constant
        is_row = buffer.get_shape()[-1] == self.width and isinstance(buffer.layout, NoneAttr)
        return is_whole and is_row and self._is_free(op) and self._is_everywhere(op, assumed)

    def name_positions(self, tile: Collection[SSAValue], suffix: str = "") -> None:
        """A value for where vectors begin in a tile over the variables `tile`, named like the loop that was split."""
        stem = self.loop.label.partition(".")[0]
        name = f"{stem}{suffix}"
        around = self.loop.parent_op()
        is_taken = any(op.memref.name_hint == stem for op in self.members if isinstance(op, LoadOp | StoreOp))
        if is_taken or (isinstance(around, ForOp) and around.iv.name_hint == stem):
            name = "column"
        outermost = self.loop
        while isinstance(unrolled := outermost.parent_op(), ForOp) and unrolled.kind == "unrolled":
            outermost = unrolled
        for op in self.accesses:
            index = op.indices[len(op.indices) - 1]
            if any(v not in tile and _is_made_in(v, outermost) for v in index.operands):
                continue
            values = [v if v in tile else self.body.values[v] for v in index.operands]
            (last,) = forms_of(index, values)
            first = linear(((a, c) for a, c in terms_of(last) if a not in tile), 0)
            if len(first.terms) > 1 and not any(first.uses(v) for v in tile):
                self.body.builder.part(first, name_hint_of(name))

    def _name_vectors(self) -> None:
        """A value for where the vectors of this iteration of the loops around begin."""
        around, suffix = self.loop.parent_op(), ""
        if isinstance(around, ForOp) and around.kind == "unrolled":
            suffix = "_u" if is_part_of_loop(around) else f"_{around.iv.name_hint or 'u'}"
        self.name_positions((self.loop.iv,), suffix)

    # ---- all lanes ----

    def whole(self) -> None:
        """All lanes: vector loads, the lanes' computations, vector stores."""
        body = self.body
        self._name_vectors()
        others = [op for op in self.members if not any(op in pair for pair in self.copies)]
        if self.copies and all(map(self._is_shared, others)):
            return self._move(others)
        before = set(body.done)
        for op in self.members:
            body.builder.location = op.location  # pyright: ignore[reportAttributeAccessIssue]
            if op in self.accesses and isinstance(op, LoadOp):
                self.registers[op] = self._load(op)
            elif self._is_shared(op):
                body.operation(op)
                body.done.add(op)
        stores = [op for op in self.accesses if isinstance(op, StoreOp)]
        self.registers.update((op, self._local_vector(op)) for op in stores)
        body.vectors.update(dict.fromkeys(self.registers, self))
        body.lane_loop(self.loop, [linear((), self.width)], is_unrolled=True)
        for op in self.registers:
            del body.vectors[op]
        for op in stores:
            self._store(op)
        body.done = before
        self.registers.clear()

    def _move(self, shared: Sequence[Operation]) -> None:
        """Vectors that are loaded and stored as they are; where they are may be loaded, too, and computed."""
        before = set(self.body.done)
        for op in shared:
            self.body.operation(op)
        self.body.done = before
        values = [self._load(load) for load, _ in self.copies]
        for value, (_, store) in zip(values, self.copies, strict=True):
            self.body.builder.location = store.location
            self.body.builder.emit(vector.StoreOp.create(operands=(value, *self.place(store))))

    def _is_shared(self, op: Operation) -> bool:
        """Whether all lanes need the same from `op`, which is done once before them."""
        if any(v in self.varying for v in op.operands):
            return False
        inside = [owner for v in op.operands if (owner := v.owner) in self.own]
        if not all(isinstance(owner, Operation) and self._is_shared(owner) for owner in inside):
            return False  # it uses what a lane has stored, in a buffer of its own
        if isinstance(op, LoadOp):
            return self._is_free(op) and self._is_everywhere(op, self.body.assumed)
        return is_computation(op)

    def place(self, op: Access) -> tuple[SSAValue, ...]:
        """The buffer and the indices where the vector of an access begins."""
        builder, iv = self.body.builder, self.loop.iv
        values = [v if v is iv else self.body.values[v] for v in op.indices.operands]
        forms = self._of_first_lane(forms_of(op.indices, values))
        assert forms is not None
        buffer = self.body.value(op.memref)
        return (buffer, *self.body.places(buffer, [builder.affine(form) for form in forms]))

    def _load(self, op: LoadOp) -> SSAValue:
        where = self.place(op)
        found = self.body.builder.value(vector.LoadOp, where, self._vector(op.memref))
        found.name_hint = _vector_name(where[0])
        return found

    def _local_vector(self, op: StoreOp) -> SSAValue:
        assert isinstance(op.memref.type, MemRefType)
        local = memref.AllocaOp.create(
            result_types=(MemRefType(op.memref.type.element_type, [self.width]),),
            properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, [0, 0])},
        )
        self.body.builder.location = op.location
        self.body.builder.emit(local)
        local.memref.name_hint = _vector_name(self.body.value(op.memref))
        return local.memref

    def _store(self, op: StoreOp) -> None:
        builder, local = self.body.builder, self.registers[op]
        builder.location = op.location
        value = builder.value(vector.LoadOp, (local, builder.constant(0)), self._vector(local))
        builder.emit(vector.StoreOp.create(operands=(value, *self.place(op))))

    def _vector(self, buffer: SSAValue) -> VectorType:
        assert isinstance(buffer.type, MemRefType)
        return VectorType(buffer.type.element_type, [self.width])

    # ---- one lane ----

    def load_lane(self, op: LoadOp) -> None:
        """The element of this lane in a vector that is loaded."""
        source = self.registers[op]
        assert isinstance(source.type, VectorType)
        lane = self.body.value(self.loop.iv)
        extract = vector.ExtractOp(source, [lane], source.type.element_type)
        self.body.builder.emit(extract)
        self.body.define(op.result, extract.result)

    def store_lane(self, op: StoreOp) -> None:
        """The element of this lane in a vector that will be stored."""
        lane = self.body.value(self.loop.iv)
        store = memref.StoreOp.create(operands=(self.body.value(op.value), self.registers[op], lane))
        self.body.builder.emit(store)

    # ---- the lanes at an edge ----

    def edge(self) -> None:
        """The lanes that there are, one element after the other."""
        body = self.body
        self._name_vectors()
        bounds = self._bounds()
        fresh = {constraint for constraint, _ in bounds} - body.assumed
        body.assumed |= fresh
        ends = [*body.forms(self.loop.upper), *(end for _, end in bounds)]
        body.lane_loop(self.loop, ends, is_unrolled=all(not end.terms for end in ends))
        body.assumed -= fresh

    def _bounds(self) -> list[tuple[AffineList, Linear]]:
        """The constraints of every statement in the loop that bound its variable from above, and these bounds.

        None where a buffer of the thread is indexed by it: registers have numbers that the compiler knows.
        """
        if self.body.keeps_registers(self.loop):
            return []
        shared: list[AffineList] | None = None
        for op in self.loop.body.walk():
            if isinstance(op, StoreOp | AccumulateOp):
                constraints = domain_of(op).constraints
                shared = [c for c in (constraints if shared is None else shared) if c in constraints]
            elif not isinstance(op, ForOp | LoadOp | PrefetchOp | YieldOp | AllocOp) and not is_computation(
                op
            ):
                return []
        iv, found = self.loop.iv, []
        for constraint in shared or ():
            if constraint in self.body.assumed or any(
                v is not iv and _is_made_in(v, self.loop) for v in constraint.operands
            ):
                continue
            values = [v if v is iv else self.body.values[v] for v in constraint.operands]
            (form,) = forms_of(constraint, values)
            rest = form.without(iv)
            if form.coefficient(iv) == -1 and not rest.uses(iv):
                found.append((constraint, rest.plus(1)))
        return found


def _moves_by(unit: int, buffer: SSAValue, axis: int, multiple: int, needs: Alignment) -> bool:
    """Whether an index along an outer axis that is a multiple of so much moves by `unit` elements, if `needs` holds."""
    assert isinstance(buffer.type, MemRefType)
    stride = strides_of(buffer.type)[axis]
    if multiple * (1 if stride is None else stride) % unit == 0:
        return True
    if stride is not None:
        return False
    if isinstance(buffer.type.layout, StridedLayoutAttr):
        needs.strides[buffer, axis] = unit
        return True
    inner = list(enumerate(buffer.type.get_shape()))[axis + 1 :]
    if not any(n != DYNAMIC_INDEX and n % unit == 0 for _, n in inner):
        needs.extents[buffer, max(k for k, n in inner if n == DYNAMIC_INDEX)] = unit
    return True


def multiple_of(form: Linear) -> int:
    """The largest known number that `form` is a multiple of; 0 for zero."""
    return gcd(form.constant, *(c * _of_atom(atom) for atom, c in form.terms))


def _of_atom(atom: SSAValue | Division) -> int:
    if isinstance(atom, Division) or not isinstance(atom.owner, Block):
        return 1
    loop = atom.owner.parent_op()
    if not isinstance(loop, ForOp) or len(loop.lower) != 1:
        return 1
    (lower,) = forms_of(loop.lower, [_known(v) for v in loop.lower.operands])
    return gcd(loop.step_value, multiple_of(lower))


def _is_summed_by_matrices(buffer: SSAValue) -> bool:
    """Whether tensor cores add to a buffer: its registers are theirs, not those of vectors."""
    users = (use.operation for use in buffer.uses)
    return any(isinstance(op, AccumulateOp) and matrix_around(op) is not None for op in users)


def _known(value: SSAValue) -> SSAValue | int:
    """The number that a constant is, else the value."""
    owner = value.owner
    return owner.value.value.data if isinstance(owner, arith.ConstantOp) else value  # pyright: ignore


def _is_made_in(value: SSAValue, loop: ForOp) -> bool:
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while block is not None and block is not loop.body.block:
        parent = block.parent_op()
        block = None if parent is None else parent.parent
    return block is not None


def _vector_name(buffer: SSAValue) -> str | None:
    return None if buffer.name_hint is None else f"{buffer.name_hint}_v"
