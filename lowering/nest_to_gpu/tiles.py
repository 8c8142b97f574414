"""Unrolled and vectorized loops in kernels (part of convert-nest-to-gpu).

    nest.for "u" %u = 0 to 2 unrolled {                        %whole = ... 1024 * %u + 4 * %t + 3 of %u = 1 is below %n
      nest.for "v" %v = 0 to 4 vectorized(4) {       ->        scf.if %whole {
        ... x[1024 * %u + 4 * %t + %v] ...                       scf.for %u = %c0 to %c2 step %c1 { vectors } {nestor.unroll}
      }                                                        } else {
    }                                                            scf.for %u = %c0 to %c2 step %c1 { elements }
                                                               }

An unrolled loop stays a loop, which the compiler of CUDA C unrolls. A tile (a vectorized loop, and the unrolled
loops directly around it) has two versions: whole, with the vectors of nest_to_gpu/vectors.py, or element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import MemRefType, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ...analysis.nest.kernels.async_copies import AsyncCopy
from ...analysis.nest.kernels.gpu_accesses import is_bound, is_part_of_loop, part_name
from ...analysis.nest.sets.domains import within_bound
from ...analysis.nest.values.linear_forms import Linear
from ...dialects.affine import AffineList
from ...dialects.attributes import UNROLL
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.nest import BLOCK_AXES, AccumulateOp, ForOp, LoadOp, StoreOp
from ..nest_common.body import NestBody
from ..nest_common.full_tiles import TileConstraint, constraints_within
from .async_copies import VectorCopy, async_loops, copy_elements, domain_of_load
from .pairs import PairLoop, is_loop_over_pairs
from .vectors import Alignment, LaneLoop


class TileBody(NestBody):
    """What the body of a kernel does with unrolled and vectorized loops."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.alignment = Alignment()
        """What vector accesses so far need of the kernel's parameters."""
        self.vectors: dict[Operation, LaneLoop] = {}
        """The accesses that are, in the lanes lowered now, elements of a vector."""
        self.done: set[Operation] = set()
        """Operations that are lowered already, for all lanes."""
        self.pairs: set[SSAValue] = set()
        """Buffers of the nest that are arrays of pairs of 16-bit floats."""
        self._lanes: dict[ForOp, Callable[[], None]] = {}
        """How the vectorized loops of the tile at hand are lowered."""
        self._is_edge = False
        """Whether unrolled loops are left as loops: what they do is rare."""
        self._is_aligned: bool | None = None
        """What was asked about the alignment already."""

    def keeps_registers(self, loop: ForOp) -> bool:
        """Whether elements of local arrays are used in `loop`: they are registers when its iterations are constants."""
        accessed = (op for op in loop.body.walk() if isinstance(op, LoadOp | StoreOp | AccumulateOp))
        buffers = (
            m for op in accessed for m in (op.memrefs if isinstance(op, AccumulateOp) else (op.memref,))
        )
        return any(
            isinstance(m.type, MemRefType) and m.type.get_num_dims() and self.is_private(m) for m in buffers
        )

    def places(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The indices of an element where the thread finds it."""
        return indices

    def is_private(self, buffer: SSAValue) -> bool:
        """Whether each thread has the buffer, or a part of it, for itself."""
        raise NotImplementedError

    def is_local(self, buffer: SSAValue) -> bool:
        """Whether a thread keeps the buffer in registers or memory of its own."""
        raise NotImplementedError

    def may_overlap(self, one: SSAValue, other: SSAValue) -> bool:
        """Whether two buffers of the nest may be the same memory."""
        raise NotImplementedError

    def alignment_flag(self) -> SSAValue:
        """The parameter of the kernel that says whether its buffers are as `alignment` needs them."""
        raise NotImplementedError

    def loop_handlers(self) -> dict[str, Callable[[ForOp], None]]:
        return {**super().loop_handlers(), "vectorized": self.vectorized}

    # ---- tiles ----

    def vectorized(self, op: ForOp) -> None:
        if is_loop_over_pairs(self, op):
            return PairLoop(self, op).lower()
        lower = self._lanes.get(op)
        return self._tile(op) if lower is None else lower()

    def serial(self, op: ForOp) -> None:
        """A serial loop that the compiler of CUDA C is to unroll may be part of a tile."""
        if _is_unrolled(op) and not is_bound(op):
            return self.unrolled(op)
        super().serial(op)

    def unrolled(self, op: ForOp) -> None:
        if copies := async_loops([op]):
            return copy_elements(self, op, copies[op])
        loops = self._vectors_in(op)
        if not loops or loops[0] in self._lanes:
            return self._unrolled(op)
        if async_loops(loops) is None and self._is_row(op):
            return self._row(op)
        self._tile(op)

    def _vectors_in(self, op: ForOp) -> list[ForOp]:
        """The vectorized loops of a tile, those over pairs aside."""
        return [loop for loop in _vectorized_in(op) if not is_loop_over_pairs(self, loop)]

    def _is_row(self, op: ForOp) -> bool:
        """Whether tiles of every block have an edge: some iterations of the unrolled loops are whole, others not."""
        unrolled = {loop.iv for loop in _tile_loops(op) if loop.kind != "vectorized"}
        asked = (c for c in constraints_within(op) if c.constraint not in self.assumed)
        return any(not unrolled.isdisjoint(c.ranges) and not _is_of_grid(c.constraint) for c in asked)

    def _row(self, op: ForOp) -> None:
        """Whether the buffers are aligned is asked before the loop, whether vectors are whole in each iteration."""
        needs = Alignment()
        for loop in self._vectors_in(op):
            inside = {c.constraint for c in constraints_within(loop)}
            needs.merge(LaneLoop(self, loop, self.assumed | inside).needs)
        if not needs.is_needed or self._is_aligned is not None:
            return self._unrolled(op)

        def version(is_aligned: bool) -> None:
            self._is_aligned = is_aligned
            self._unrolled(op)
            self._is_aligned = None

        self.either(self.alignment_flag(), lambda: version(True), lambda: version(False))

    def _tile(self, op: ForOp) -> None:
        """Two versions where it is not known that the tile is whole."""
        if (copies := async_loops(self._vectors_in(op))) is not None and self._copy_tile(op, copies):
            return
        asked = [c for c in constraints_within(op) if c.constraint not in self.assumed]
        fresh = {c.constraint for c in asked}
        lanes = [LaneLoop(self, loop, self.assumed | fresh) for loop in self._vectors_in(op)]
        is_known_misaligned = self._is_aligned is False and any(lane.needs.is_needed for lane in lanes)
        if is_known_misaligned or not any(lane.accesses for lane in lanes):
            return self._version(op, {lane.loop: lane.edge for lane in lanes})
        self.builder.location = self.location_of(op)
        needs = Alignment()
        inside = {loop.iv for loop in _tile_loops(op)}
        for lane in lanes:
            needs.merge(lane.needs)
            lane.name_positions(inside)
        self.alignment.merge(needs)
        conditions = [self.alignment_flag()] if needs.is_needed and not self._is_aligned else []
        conditions += dict.fromkeys(self._holds_in_tile(c) for c in asked)

        def whole() -> None:
            self.assumed |= fresh
            self._version(op, {lane.loop: lane.whole for lane in lanes})
            self.assumed -= fresh

        if not conditions:
            return whole()
        is_never_whole = any(self._never_holds_in_tile(c) for c in asked)

        def edge() -> None:
            self._is_edge = not is_never_whole and not any(self.keeps_registers(lane.loop) for lane in lanes)
            self._version(op, {lane.loop: lane.edge for lane in lanes})
            self._is_edge = False

        if is_never_whole:
            return edge()
        self.either(self._all(conditions), whole, edge)

    def _copy_tile(self, op: ForOp, copies: Mapping[ForOp, AsyncCopy]) -> bool:
        """Copies that are in flight: of vectors where the buffers are aligned, else of elements. False: not at all."""
        vectors = [VectorCopy(self, loop, copy) for loop, copy in copies.items()]
        zeros = {constraint for copy in copies.values() for constraint in domain_of_load(copy)}
        if any(c.constraint not in self.assumed | zeros for c in constraints_within(op)):
            return False
        needs = Alignment()
        for vector in vectors:
            needs.merge(vector.lanes.needs)

        def elements() -> None:
            self._is_edge = not any(copy.may_copy_elements for copy in copies.values())
            self._version(op, {loop: partial(self._copy_lanes, loop, copy) for loop, copy in copies.items()})
            self._is_edge = False

        self.builder.location = self.location_of(op)
        if not all(vector.is_legal() for vector in vectors) or (
            needs.is_needed and self._is_aligned is False
        ):
            elements()
            return True
        inside = {loop.iv for loop in _tile_loops(op)}
        for vector in vectors:
            vector.lanes.name_positions(inside)
        self.alignment.merge(needs)

        def whole() -> None:
            self._version(op, {vector.loop: vector.emit for vector in vectors})

        if not needs.is_needed or self._is_aligned:
            whole()
        else:
            self.either(self.alignment_flag(), whole, elements)
        return True

    def _copy_lanes(self, loop: ForOp, copy: AsyncCopy) -> None:
        """Copies of elements, one after the other."""
        if copy.may_copy_elements:
            return copy_elements(self, loop, copy)
        LaneLoop(self, loop, self.assumed).edge()

    def _holds_in_tile(self, asked: TileConstraint) -> SSAValue:
        """`i + 3 < n`: the constraint in the last lane."""
        least = asked.least(self.values)
        return self.builder.at_least_zero(least, asked.first(self.values).constant - least.constant)

    def _never_holds_in_tile(self, asked: TileConstraint) -> bool:
        """Whether the tile is larger than what is there: no number of a thread makes it whole."""
        return self.builder.is_nonnegative(asked.least(self.values).scaled(-1).plus(-1))

    def _version(self, op: ForOp, lanes: dict[ForOp, Callable[[], None]]) -> None:
        outer, self._lanes = self._lanes, {**self._lanes, **lanes}
        self.loop(op)
        self._lanes = outer

    def either(self, condition: SSAValue, then: Callable[[], None], other: Callable[[], None]) -> None:
        """`scf.if` without results."""
        blocks, location = (Block(), Block()), self.builder.location
        for block, body in zip(blocks, (then, other), strict=True):
            with self.builder.inside(block):
                body()
                self.builder.emit(scf.YieldOp.create())
        self.builder.location = location
        self.builder.emit(scf.IfOp.create(operands=(condition,), regions=[Region(b) for b in blocks]))

    # ---- loops ----

    def iterations(self, op: ForOp, members: Callable[[], None]) -> None:
        """The iterations of an unrolled or vectorized loop, one after the other; `members` lowers its body."""
        if op.kind == "vectorized":
            ends = self.forms(op.upper)
            start = self.builder.affine(self.forms(op.lower)[0])
            return self._emit_loop(op, start, ends, all(not end.terms for end in ends), members)
        self._unrolled(op, members)

    def _unrolled(self, op: ForOp, members: Callable[[], None] | None = None) -> None:
        """A loop of constant length; upper bounds that are not constant become a branch in it."""
        members = members or partial(self.block, op.body.block)
        lower, upper = self.forms(op.lower), self.forms(op.upper)
        ends = [form for form in upper if not form.terms]
        if not ends or any(form.terms for form in lower):
            raise fail(
                op,
                f'the loop "{op.label}" is marked unrolled, but its bounds are not constant',
                hint="split it by a constant factor and unroll the inner loop",
                error=LoweringError,
            )
        unknown = [
            within_bound(op, k)
            for k, form in enumerate(upper)
            if form.terms and within_bound(op, k) not in self.assumed
        ]

        first, last = max(form.constant for form in lower), min(form.constant for form in ends)

        def body() -> None:
            conditions = [self.builder.at_least_zero(self.forms(c)[0]) for c in unknown]
            if not conditions:
                return members()

            def then() -> Sequence[SSAValue]:
                members()
                return ()

            self.branch(self._all(conditions), (), then)

        if first < last <= first + op.step_value:
            self.values[op.iv] = first
            return body()
        self._emit_loop(op, first, ends, not self._is_edge, body)

    def lane_loop(self, op: ForOp, ends: Sequence[Linear], is_unrolled: bool) -> None:
        """The lanes of a vectorized loop that begins at a constant, one after the other."""
        lower = self.forms(op.lower)
        start = self.builder.affine(lower[0]) if len(lower) == 1 else self.one_of(op.lower, arith.MaxSIOp)
        self._emit_loop(op, start, ends, is_unrolled, lambda: self.block(op.body.block))

    def _emit_loop(
        self,
        op: ForOp,
        lower: SSAValue | int,
        ends: Sequence[Linear],
        is_unrolled: bool,
        body: Callable[[], None],
    ) -> None:
        builder = self.builder
        builder.location = self.location_of(op)
        start = builder.constant(lower) if isinstance(lower, int) else lower
        known = [form.constant for form in ends if not form.terms]
        others = dict.fromkeys(form for form in ends if form.terms)
        values = [builder.constant(min(known))] if known else []
        values += [builder.affine(form) for form in others]
        end = values[0]
        for value in values[1:]:
            end = builder.value(arith.MinSIOp, (end, value))
        step = builder.constant(op.step_value)
        around = self.copies_made
        if is_unrolled and known:
            count = len(range(lower, min(known), op.step_value)) if isinstance(lower, int) else None
            self.multiply_copies(op, count or op.constant_trip_count() or 1)
        block = self.loop_body(op, body)
        self.copies_made = around
        if is_part_of_loop(op):
            block.args[0].name_hint = part_name(op)
        with builder.inside(block):
            builder.emit(scf.YieldOp.create())
        builder.location = self.location_of(op)
        attributes = {UNROLL: UnitAttr()} if is_unrolled else {}
        builder.emit(
            scf.ForOp.create(operands=(start, end, step), attributes=attributes, regions=[Region(block)])
        )

    def location_of(self, op: ForOp):
        """The Python line of a loop."""
        return op.location

    # ---- statements ----

    def operation(self, op: Operation) -> None:
        if op not in self.done:
            super().operation(op)

    def load(self, op: LoadOp) -> None:
        lanes = self.vectors.get(op)
        return super().load(op) if lanes is None else lanes.load_lane(op)

    def store(self, op: StoreOp) -> None:
        lanes = self.vectors.get(op)
        return super().store(op) if lanes is None else lanes.store_lane(op)


def _is_of_grid(constraint: AffineList) -> bool:
    """Whether a constraint depends on the block."""
    loops = (v.owner.parent_op() for v in constraint.operands if isinstance(v.owner, Block))
    return any(isinstance(loop, ForOp) and loop.kind in BLOCK_AXES for loop in loops)


def _is_unrolled(loop: ForOp) -> bool:
    if loop.kind == "serial" and loop.constant_trip_count() is not None:
        return UNROLL in loop.attributes
    return loop.kind == "unrolled"


def _tile_loops(loop: ForOp) -> list[ForOp]:
    """`loop` and the unrolled and vectorized loops in it, as far as they are of its tile."""
    inner = [op for op in loop.body.block.ops if isinstance(op, ForOp)] if _is_unrolled(loop) else []
    return [loop, *(found for op in inner for found in _tile_loops(op))]


def _vectorized_in(loop: ForOp) -> list[ForOp]:
    """`loop` where it is vectorized, else the vectorized loops in it with only unrolled ones around them."""
    return [found for found in _tile_loops(loop) if found.kind == "vectorized"]
