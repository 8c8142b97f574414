"""Carrying out a plan of `staging.py`: the copy, the loops that fill it and store it back, the accesses moved to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.kernels.combiners import identities
from ....analysis.nest.sets.integer_sets import is_never_negative
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..rewrite.buffers import erase_unused, extent_before, fresh_buffer_name, space_attribute
from ..rewrite.loops import fresh_names
from ..rewrite.padded_reads import or_zero
from ..rewrite.sizes import size_of
from .staging import Plan


def carry_out(
    plan: Plan, space: str, name: str | None, tail: str = "clamp"
) -> tuple[AllocOp, ForOp | None, ForOp | None]:
    """Make the copy and the loops that fill it and store it back; loops that are not needed are None.

    A copy of one element needs no loop either. Buffers that are reduced together are copied together: it is the copy of the
    first that is returned, and its loops. Where the window extends beyond the buffer the loops end at its edge,
    or, with tail "mask", what they do has a domain; with tail "zero" the copy is filled with zeros there.
    """
    stagings = [_Staging(one, space, name, tail) for one in (plan, *plan.partners)]
    copies = [staging.allocate() for staging in stagings]
    _redirect(stagings, copies)
    before = [staging.begin() for staging in stagings]
    if plan.reduction is None:
        after = [staging.end() for staging in stagings]
    else:
        after = [stagings[0].add_up(plan.reduction, stagings)]
    for staging in stagings:
        erase_unused(staging.made)
    return copies[0], before[0], after[0]


def _redirect(stagings: Sequence[_Staging], copies: Sequence[AllocOp]) -> None:
    """Let the accesses go to the copies: an update of several buffers to all of them at once."""
    places = {access.op: staging.place(access.op) for staging in stagings for access in staging.plan.accesses}
    for op, place in places.items():
        assert isinstance(op, LoadOp | StoreOp | AccumulateOp)
        for staging, copy in zip(stagings, copies, strict=True):
            for k, operand in enumerate(op.operands):
                if operand is staging.plan.buffer:
                    op.operands[k] = copy.memref
        op.set_indices(place)
    if stagings[0].plan.conversion is not None:
        for op in places:
            _read_converted(op, copies[0].memref)


class _Staging:
    def __init__(self, plan: Plan, space: str, name: str | None, tail: str):
        self.plan = plan
        self.tail = tail
        self.loop = plan.loop
        # what is reduced together goes back at once, where it is in all of these buffers
        together = plan.partners if plan.reduction is not None else ()
        self.buffers = [one.buffer for one in (plan, *together)]
        self.block = plan.loop.body.block
        first = self.block.first_op
        assert first is not None
        self.first: Operation = first
        suffix = "shared" if space == "shared" else "local"
        self.name = fresh_buffer_name(plan.loop, name or f"{buffer_name(plan.buffer)}_{suffix}")
        self.space = space
        self.made: list[Operation] = []
        self.alloc: AllocOp

    def begin(self) -> ForOp | None:
        """Fill the copy before the iteration, where that is needed; the loop that does it."""
        if self.plan.reduction is not None:
            return self._fill(self.alloc.memref, self.plan.reduction)
        if not self.plan.loads:
            return None
        return self._transfer("load", self._insert_first, self._load)

    def end(self) -> ForOp | None:
        """Store the copy back after the iteration, where that is needed; the loop that does it."""
        return self._transfer("back", self._append, self._store) if self.plan.goes_back else None

    def add_up(self, update: AccumulateOp, stagings: Sequence[_Staging]) -> ForOp | None:
        """Combine what the copies hold with what the buffers hold; the loop that does it."""

        def statement(there: AffineList, here: AffineList) -> list[Operation]:
            copies = {staging.plan.buffer: staging.alloc for staging in stagings}
            loads = [LoadOp(copies[buffer].memref, here) for buffer in self._buffers_of(update, copies)]
            total = AccumulateOp(
                update.combiner.data,
                [load.result for load in loads],
                self._buffers_of(update, copies),
                there,
                label=update.statement,
                identity=update.identity,
                combine=None if update.combine is None else update.combine.clone(),
            )
            return [*loads, total]

        return self._transfer("back", self._append, statement)

    @staticmethod
    def _buffers_of(update: AccumulateOp, copies: Mapping[SSAValue, AllocOp]) -> list[SSAValue]:
        """The buffers that a reduction updated before its accesses went to the copies."""
        original = {alloc.memref: buffer for buffer, alloc in copies.items()}
        return [original[memref] for memref in update.memrefs]

    def _insert_first(self, op: Operation) -> None:
        self.block.insert_op_before(op, self.first)

    def _append(self, op: Operation) -> None:
        self.block.add_op(op)

    def allocate(self) -> AllocOp:
        source = self.plan.buffer.type
        assert isinstance(source, MemRefType)
        sizes = [size_of(self.plan.window.extents[axis], self.first) for axis in self.plan.kept]
        space = space_attribute(self.space)
        conversion = self.plan.conversion
        element = source.element_type if conversion is None else conversion.results[0].type
        alloc = AllocOp(
            self.name,
            MemRefType(element, self.plan.shape, memory_space=space),
            [n for n in sizes if not isinstance(n, int)],
        )
        alloc.location = self.loop.location
        self._insert_first(alloc)
        self.alloc = alloc
        return alloc

    def place(self, op: Operation) -> AffineList:
        """The indices of an access in the copy."""
        assert isinstance(op, LoadOp | StoreOp | AccumulateOp)
        indices = op.indices.minus(self.plan.window.origin)
        return AffineList.of(*(indices[axis] for axis in self.plan.kept)).canonical()

    # ---- copying ----

    def _transfer(
        self,
        what: str,
        insert: Callable[[Operation], None],
        statement: Callable[[AffineList, AffineList], list[Operation]],
    ) -> ForOp | None:
        """Loops over the part of the window that is in the buffer, around `statement`; the outermost one."""
        plan, origin = self.plan, self.plan.window.origin
        names = fresh_names(self.loop, *(f"{self.name}.{what}.ax{k}" for k in range(len(plan.kept))))
        ranges = [self._inside(axis) for axis in plan.kept]
        domain = [c for axis in plan.order if axis not in plan.kept for c in self._single(axis)]
        if self.tail != "clamp":
            ranges = [(AffineList.of(0), plan.window.extents[axis]) for axis in plan.kept]
        loops = [ForOp(n, lower, upper) for n, (lower, upper) in zip(names, ranges, strict=True)]
        if self.tail != "clamp":
            for axis, loop in zip(plan.kept, loops, strict=True):
                domain += self._single(axis, AffineList.of(loop.iv))
        position = {axis: loop.iv for axis, loop in zip(plan.kept, loops, strict=True)}
        there = AffineList.of(
            *(
                origin[axis].plus(AffineList.of(position[axis])) if axis in position else origin[axis]
                for axis in range(len(origin))
            )
        )
        here = AffineList.of(*(loop.iv for loop in loops))
        ops = statement(there, here)
        where = AffineList.of(*domain).canonical() if domain else None
        if where is not None and self.tail == "zero":
            *computed, store = ops
            before, after, value = or_zero(self.loop, buffer_name(plan.buffer), store.operands[0], where)
            store.operands[0] = value
            ops = [*before, *computed, *after, store]
        for op in ops:
            op.location = self.loop.location
            if isinstance(op, StoreOp | AccumulateOp) and self.tail != "zero" and where is not None:
                op.set_access(op.indices, where)
        return self._nest(loops, ops, insert)

    def _nest(
        self, loops: list[ForOp], ops: Sequence[Operation], insert: Callable[[Operation], None]
    ) -> ForOp | None:
        for loop, inner in pairwise(loops):
            loop.body.block.add_op(inner)
        for k, loop in enumerate(loops):
            loop.location = self.loop.location
            loop.iv.name_hint = f"ax{k}"
        for op in ops:
            if loops:
                loops[-1].body.block.add_op(op)
            else:
                insert(op)
        if not loops:
            return None
        insert(loops[0])
        return loops[0]

    def _load(self, there: AffineList, here: AffineList) -> list[Operation]:
        load, conversion = LoadOp(self.plan.buffer, there), self.plan.conversion
        if conversion is None:
            return [load, StoreOp(load.result, self.alloc.memref, here, label=self.name)]
        converted = type(conversion).create(
            operands=[load.result],
            result_types=[conversion.results[0].type],
            properties=dict(conversion.properties),
            attributes=dict(conversion.attributes),
        )
        return [load, converted, StoreOp(converted.results[0], self.alloc.memref, here, label=self.name)]

    def _store(self, there: AffineList, here: AffineList) -> list[Operation]:
        load, buffer = LoadOp(self.alloc.memref, here), self.plan.buffer
        label = next((a.op.statement for a in self.plan.accesses if isinstance(a.op, StoreOp)), "")
        return [load, StoreOp(load.result, buffer, there, label=label or buffer_name(buffer))]

    def _fill(self, copy: SSAValue, update: AccumulateOp) -> ForOp | None:
        """Every element of the copy set to the identity of the reduction."""
        zero = arith.ConstantOp(identities(update)[list(update.memrefs).index(copy)])
        zero.location = self.loop.location
        self._insert_first(zero)
        names = fresh_names(self.loop, *(f"{self.name}.init.ax{k}" for k in range(len(self.plan.kept))))
        loops = [ForOp(n, 0, self.plan.window.extents[a]) for n, a in zip(names, self.plan.kept, strict=True)]
        store = StoreOp(
            zero.result, copy, AffineList.of(*(loop.iv for loop in loops)), label=update.statement
        )
        store.location = self.loop.location
        return self._nest(loops, [store], self._insert_first)

    # ---- the part of the window that is in the buffer ----

    def _extents(self, axis: int) -> list[AffineList]:
        """How far the axis extends in each buffer that the copy goes back to, each extent once."""
        extents: list[AffineList] = []
        for buffer in self.buffers:
            extent, made = extent_before(buffer, axis, self.loop)
            self.made += made
            if not any(extent.canonical() == other.canonical() for other in extents):
                extents.append(extent)
        return extents

    def _inside(self, axis: int) -> tuple[AffineList, AffineList]:
        """The bounds of a copying loop: where the window extends beyond the buffer, it ends at the buffer's edge."""
        origin, extent = self.plan.window.origin[axis], self.plan.window.extents[axis]
        lower, uppers = AffineList.of(0), [extent]
        if not is_never_negative(origin, self.first):
            lower = AffineList.of(lower, origin.times(-1)).canonical()
        for one in self._extents(axis):
            room = one.minus(origin)
            if is_never_negative(room.minus(extent), self.first):
                continue
            ends_first = is_never_negative(extent.minus(room), self.first)
            uppers = [*(upper for upper in uppers if not (ends_first and upper is extent)), room]
        return lower, AffineList.of(*uppers).canonical()

    def _single(self, axis: int, offset: AffineList | None = None) -> list[AffineList]:
        """The constraints under which an axis' only index is in the buffer, without those that always hold.

        With an offset from there (the variable of a loop over the window) the index at that.
        """
        origin = self.plan.window.origin[axis]
        constraints = [(origin, origin if offset is None else origin.plus(offset))]
        for extent in self._extents(axis):
            room = extent.minus(origin)
            if offset is None:
                most = last = room.add(-1)
            else:
                most, last = room.minus(self.plan.window.extents[axis]), room.minus(offset).add(-1)
            constraints.append((most, last))
        return [c for check, c in constraints if not is_never_negative(check, self.first)]


def _read_converted(op: Operation, copy: SSAValue) -> None:
    """Replace a load and the conversions of what it loads by a load of the converted copy."""
    assert isinstance(op, LoadOp) and op.parent is not None
    load = LoadOp(copy, op.indices)
    load.location = op.location
    load.attributes.update(op.attributes)
    load.result.name_hint = op.result.name_hint
    op.parent.insert_op_before(load, op)
    for use in list(op.result.uses):
        conversion = use.operation
        conversion.results[0].replace_all_uses_with(load.result)
        conversion.detach()
        conversion.erase()
    op.detach()
    op.erase()
