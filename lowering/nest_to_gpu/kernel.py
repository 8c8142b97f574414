"""The inside of one kernel (part of convert-nest-to-gpu): loops bound to blocks and threads, barriers, buffers.

    nest.for "i.o" %o = 0 to 40 bind "block.x" {
      nest.for "i.i" %v = 0 to 256 bind "thread.x" {
        nest.store "y" %a, %y[256 * %o + %v] where (256 * %o + %v < %n) : memref<?xf32>
      }
    }
->
    %o = gpu.block_id x
    %v = gpu.thread_id x
    %0 = arith.muli %o, %c256
    %1 = arith.addi %0, %v
    %2 = arith.cmpi slt, %1, %n
    scf.if %2 { memref.store %a, %y[%1] }

What is outside the loops over threads is done once per block: by the first thread, in buffers that the block
shares. Where one phase uses what another wrote, a barrier is between them: what nest-insert-barriers found out
is `nest.barrier`, and without that any use of a buffer counts as one of all its elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    IntegerAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ...analysis.nest.kernels.async_copies import closes_group, groups_left
from ...analysis.nest.kernels.barrier_places import (
    BLOCK_AXES,
    THREAD_AXES,
    bound_loops,
    has_guard,
    is_uniform,
    threads_for,
)
from ...analysis.nest.kernels.gpu_accesses import (
    Phase,
    accesses,
    is_bound,
    is_part_of_loop,
    is_repeated,
    loops_around,
    may_overlap,
    touches_memory,
)
from ...analysis.nest.kernels.matrix_tiles import is_matrix
from ...analysis.nest.kernels.thread_copies import writes_copies
from ...analysis.nest.values.linear_forms import Division, Linear, linear
from ...dialects.attributes import NO_COPIES
from ...dialects.diagnostic import LoweringError, fail, op_location
from ...dialects.ext import gpu as gpu_ext
from ...dialects.ext import nvgpu
from ...dialects.nest import (
    BIND_AXES,
    LANES_ALONG,
    AccumulateOp,
    BarrierOp,
    ForOp,
    IfOp,
    IndexOp,
    LoadOp,
    StoreOp,
    told_apart,
    with_lanes,
)
from ...dialects.nest.common import name_hint_of
from ..nest_common.index_arithmetic import IndexBuilder
from .matrices import lower_matrix_tile
from .thread_statements import ThreadBody

_SHARED = IntegerAttr(3, i64)


class KernelBody(ThreadBody):
    """Lowers one top-level nest into the body of a kernel.

    `overlaps` maps arguments that may overlap to one of them. Where barriers are `explicit`, the nest holds all that
    it needs.
    """

    def __init__(
        self,
        builder: IndexBuilder,
        sites: dict[Operation, int],
        unit: Sequence[Operation],
        overlaps: dict[SSAValue, SSAValue],
        explicit: bool = False,
    ):
        super().__init__(builder, sites, unit, explicit)
        self.overlaps = overlaps
        self.spans: dict[str, list[Linear]] = {}
        """How many iterations each axis has to offer, for each loop bound to it, over values of the kernel."""
        self.phases: list[Phase] = []
        """What the threads of a block have done since the last barrier."""
        self.is_one_thread = False
        """Whether what is lowered now is done by the first thread of the block alone."""
        self.branches_of_threads = 0
        """How many branches and loops stand here inside a loop over threads: a barrier there may not be reached by all."""
        self._last_group: Operation | None = None
        """The group of asynchronous copies that was made last."""
        self.host_of: dict[SSAValue, SSAValue] = {}
        """The value on the host side of what the kernel was given."""
        self.new_flag: Callable[[], SSAValue] | None = None
        """Makes the parameter that says whether buffers are aligned."""
        self._flag: SSAValue | None = None
        self._check_blocks_are_independent(unit)
        self._leaves = explicit and not any(map(_is_shared_work, unit))

    def may_leave_at_failures(self) -> bool:
        """Whether no thread of the block waits for another one, or needs its values."""
        return self._leaves

    # ---- loops ----

    def loop_handlers(self) -> dict[str, Callable[[ForOp], None]]:
        return {**super().loop_handlers(), **dict.fromkeys(BIND_AXES, self.bound)}

    def serial(self, op: ForOp) -> None:
        if is_matrix(op):
            return lower_matrix_tile(self, op)
        super().serial(op)

    def bound(self, op: ForOp) -> None:
        """A loop bound to an axis: its variable comes from the id; a guard where the axis is longer than the loop."""
        axis = op.kind
        if axis in with_lanes(self.enclosing) or (
            axis == "lane" and told_apart(self.enclosing)[-1:] == ["lane"]
        ):
            raise fail(
                op,
                f'the loop "{op.label}" is bound to {axis}, and so is a loop around it',
                error=LoweringError,
            )
        if axis in BLOCK_AXES and self.enclosing.intersection(THREAD_AXES):
            raise fail(
                op,
                f'the loop "{op.label}" is bound to {axis} inside a loop over threads',
                hint="reorder: loops over blocks go outside",
                error=LoweringError,
            )
        lower = self.forms(op.lower)
        first = lower[0] if len(lower) == 1 else linear(((self.one_of(op.lower, arith.MaxSIOp), 1),), 0)
        self.builder.location = self.location_of(op)
        identity = self.ids.along(axis)
        variable = first.added(linear(((identity, op.step_value),), 0))
        value = self.values[op.iv] = self.builder.affine(variable)
        if self.builder.is_nonnegative(variable):
            self.builder.nonnegative.add(value)
        if not self._name_position(op) and not is_part_of_loop(op):
            value.name_hint = value.name_hint or op.iv.name_hint
        guards = self._guards(op, axis, first)
        self.enclosing.add(axis)
        self._guarded(guards, lambda: self.block(op.body.block))
        self.enclosing.remove(axis)
        if axis in THREAD_AXES and self.enclosing.isdisjoint(THREAD_AXES) and closes_group(op):
            self._last_group = nvgpu.DeviceAsyncCreateGroupOp.create(result_types=[nvgpu.TOKEN])
            self.builder.emit(self._last_group)

    def _name_position(self, op: ForOp) -> bool:
        """Whether `op` is part of a loop `i` that was split into `i.o` and `i.i`; their sum takes its name."""
        stem, _, part = op.label.rpartition(".")
        if part == "o":
            return any(loop.label == f"{stem}.i" for loop in bound_loops(op.body.block.ops))
        outer = next((loop for loop in loops_around(op) if loop.label == f"{stem}.o"), None)
        factor = op.constant_trip_count() or (threads_for([op]) if op.kind in THREAD_AXES else None)
        if part != "i" or outer is None or factor is None:
            return False
        position = linear(((self.value(outer.iv), factor), (self.value(op.iv), 1)), 0)
        self.builder.part(position).name_hint = name_hint_of(stem)
        self._name_whole_position(op, stem, position, factor * (outer.constant_trip_count() or 0))
        return True

    def _name_whole_position(self, op: ForOp, stem: str, position: Linear, extent: int) -> None:
        """Name the sum of the parts `i.o`, `i.i.o` and `i.i.i` as well; the latter two have `extent` iterations together."""
        whole, _, part = stem.rpartition(".")
        outer = next((loop for loop in loops_around(op) if loop.label == f"{whole}.o"), None)
        if part != "i" or outer is None or not extent:
            return
        position = position.added(linear(((self.value(outer.iv), extent),), 0))
        self.builder.part(position).name_hint = name_hint_of(whole)

    def location_of(self, op: ForOp) -> Attribute:
        """The Python line of a loop; none where it is that of a statement inside, at which it is said."""
        lines = {_line(inner) for inner in op.walk() if not isinstance(inner, ForOp)}
        return UNKNOWN_LOC if _line(op) in lines else op.location

    def _guards(self, op: ForOp, axis: str, first: Linear) -> list[SSAValue]:
        """Record the length of the loop for the launch; the conditions under which the id is an iteration."""
        uppers = self.forms(op.upper)
        spans = [upper.added(first.scaled(-1)) for upper in uppers]
        usable = [s for s in spans if not s.terms or (axis in BLOCK_AXES and self._is_on_host(s))]
        if not usable:
            what = "a constant" if axis in THREAD_AXES else "known before the launch"
            raise fail(
                op,
                f'the loop "{op.label}" is bound to {axis}, but its extent is not {what}',
                hint="split it by a constant factor and bind the two loops",
                error=LoweringError,
            )
        lengths = [_iterations(s, op.step_value) for s in usable]
        self.spans.setdefault(axis, []).append(min(lengths, key=lambda s: (bool(s.terms), s.constant)))
        if not has_guard(op, self.loops_on[axis]):
            return []
        iv = linear(((self.value(op.iv), 1),), 0)
        threads = threads_for(self.loops_on[axis]) if axis in THREAD_AXES else None
        asked = [
            u for u, s in zip(uppers, spans, strict=True) if threads is None or not _covers(s, op, threads)
        ]
        return [self.builder.at_least_zero(upper.added(iv.scaled(-1)).plus(-1)) for upper in asked]

    def _is_on_host(self, form: Linear) -> bool:
        return all(
            self._is_on_host(atom.numerator) if isinstance(atom, Division) else atom in self.host_of
            for atom in form.order
        )

    def _guarded(self, conditions: Sequence[SSAValue], body: Callable[[], None]) -> None:
        if not conditions:
            return body()

        def then() -> Sequence[SSAValue]:
            body()
            return ()

        self.branch(self._all(conditions), (), then)

    # ---- what is done once per block ----

    def operation(self, op: Operation) -> None:
        if isinstance(op, BarrierOp):
            return self._explicit_barrier(op)
        if isinstance(op, StoreOp | AccumulateOp | IndexOp):
            self._check_blocks(op)
        if self.is_one_thread or not self.is_team_level or not touches_memory(op):
            return super().operation(op)
        threads = {loop.kind for loop in bound_loops([op])}.intersection(THREAD_AXES)
        if not threads and not (self.of_threads and writes_copies(op)):
            return self._once(op)
        if isinstance(op, ForOp) and op.kind in BIND_AXES:
            around = with_lanes((*self.enclosing, op.kind))
            if around.issuperset(self.thread_axes):
                self._enter(op)
            return super().operation(op)
        self._enter(op)
        before, self.phases = self.phases, []
        super().operation(op)
        self.phases = before

    def _enter(self, op: Operation, by_first_thread: bool = False) -> None:
        """A barrier where `op` meets what other threads did since the last one."""
        if self.explicit:
            return
        phase = self._phase(op, by_first_thread)
        if any(phase.conflicts(other) for other in self.phases):
            self.barrier(op)
        self.phases.append(phase)

    def _once(self, op: Operation) -> None:
        """What the first thread does for the block; an element is read by all."""
        if isinstance(op, LoadOp):
            self._enter(op)
            return super().operation(op)
        self._enter(op, by_first_thread=self.enclosing.isdisjoint(THREAD_AXES))
        self.builder.location = op.location
        first = [
            self.builder.compare("eq", self.ids.along(axis), self.builder.constant(0))
            for axis in self.axes_left
        ]
        self.is_one_thread = True
        self._guarded(first, lambda: super(KernelBody, self).operation(op))
        self.is_one_thread = False

    def _explicit_barrier(self, op: BarrierOp) -> None:
        if self.is_one_thread:
            raise fail(
                op,
                "the first thread of a block alone would wait here: the loop around it is not over threads",
                hint="bind the loops around to threads, or let nest-insert-barriers place the barriers",
                error=LoweringError,
            )
        if self.thread_axes:
            self.barrier(op)

    def barrier(self, op: Operation) -> None:
        if self.branches_of_threads:
            raise fail(
                op,
                "this needs a barrier of the block where not all of its threads arrive",
                hint="split by a factor that divides the extent, or distribute the loops over threads",
                error=LoweringError,
            )
        self.builder.location = op.location
        if isinstance(op, BarrierOp) and (copies := groups_left(op)) is not None:
            self._wait_for_copies(copies)
        self.builder.emit(gpu_ext.BarrierOp.create())
        self.phases.clear()

    def _wait_for_copies(self, groups: int) -> None:
        """Wait until no more groups of copies than that are in flight, of which one made here is the last."""
        group = self._last_group
        if group is None or group.parent is not self.builder.block:
            group = nvgpu.DeviceAsyncCreateGroupOp.create(
                result_types=[nvgpu.TOKEN], attributes={NO_COPIES: UnitAttr()}
            )
            self.builder.emit(group)
        count = {"numGroups": IntegerAttr(groups, i32)}
        self.builder.emit(nvgpu.DeviceAsyncWaitOp.create(operands=[group.results[0]], properties=count))

    def counted(self, op: ForOp, members: Callable[[], object]) -> None:
        """A serial loop; a barrier separates its iterations where one uses what another thread wrote in the last."""
        if self.is_one_thread or not self.is_team_level or not is_bound(op):
            with self._branch_of_threads():
                return super().counted(op, members)
        whole = self._phase(op)

        def iteration() -> None:
            members()
            if any(whole.conflicts(phase) for phase in self.phases):
                self.barrier(op)

        with nullcontext() if is_uniform(op) else self._branch_of_threads():
            super().counted(op, iteration)

    def branch(
        self, condition: SSAValue, types: Sequence[Attribute], then: Callable[[], Sequence[SSAValue]]
    ) -> Sequence[SSAValue]:
        """A branch for a domain, which no line of the program asks for."""
        before = list(self.phases)

        def body() -> Sequence[SSAValue]:
            results = then()
            self.builder.location = UNKNOWN_LOC
            return results

        with self._branch_of_threads():
            results = super().branch(condition, types, body)
        self.phases += [phase for phase in before if phase not in self.phases]
        return results

    def conditional(self, op: IfOp) -> None:
        with self._branch_of_threads():
            super().conditional(op)

    @contextmanager
    def _branch_of_threads(self) -> Iterator[None]:
        inside = not self.enclosing.isdisjoint(THREAD_AXES)
        self.branches_of_threads += inside
        yield
        self.branches_of_threads -= inside

    def _phase(self, op: Operation, by_first_thread: bool = False) -> Phase:
        reads, writes = (
            {self.overlaps.get(buffer, buffer) for buffer in buffers - self.private}
            for buffers in accesses(op)
        )
        return Phase(reads, writes, by_first_thread)

    def may_overlap(self, one: SSAValue, other: SSAValue) -> bool:
        return may_overlap(self.overlaps, one, other)

    def alignment_flag(self) -> SSAValue:
        if self._flag is None:
            assert self.new_flag is not None
            self._flag = self.new_flag()
        return self._flag

    def _check_blocks_are_independent(self, unit: Sequence[Operation]) -> None:
        """Blocks of a kernel never wait for each other: loops over blocks that follow each other share nothing written."""
        for axis in BLOCK_AXES:
            before: list[Phase] = []
            for loop in self.loops_on.get(axis, ()):
                phase = self._phase(loop)
                meets_itself = is_repeated(loop, unit) and phase.conflicts(phase)
                if meets_itself or any(phase.conflicts(other) for other in before):
                    raise fail(
                        loop,
                        f'the loop "{loop.label}" is bound to {axis} and uses what other blocks of its kernel write',
                        hint="blocks cannot wait for each other: distribute the loops, so that each becomes a kernel",
                        error=LoweringError,
                    )
                before.append(phase)

    def _check_blocks(self, op: Operation) -> None:
        missing = [axis for axis in BLOCK_AXES if axis in self.loops_on and axis not in self.enclosing]
        if missing:
            loop = self.loops_on[missing[0]][0]
            raise fail(
                op,
                f"this is outside the loop bound to {missing[0]}: every block would do it",
                hint="distribute the loops, so that it becomes a kernel of its own",
                notes=[(loop, f'the loop "{loop.label}"')],
                error=LoweringError,
            )


def _covers(span: Linear, op: ForOp, threads: int) -> bool:
    """Whether every one of this many threads is within a bound of the loop."""
    return not span.terms and _iterations(span, op.step_value).constant >= threads


def _iterations(span: Linear, step: int) -> Linear:
    """`ceil(span / step)`, at least 0."""
    if not span.terms:
        return linear((), max(0, -(-span.constant // step)))
    return span if step == 1 else linear(((Division(AffineBinaryOpKind.CeilDiv, span, step), 1),), 0)


def _line(op: Operation) -> tuple[str, int] | None:
    place = op_location(op)
    return None if place is None else (place.file, place.line)


def _is_shared_work(unit: Operation) -> bool:
    """Whether threads of a block wait for each other, or combine values, somewhere in `unit`."""
    return any(
        isinstance(op, BarrierOp) or (isinstance(op, ForOp) and op.kind in LANES_ALONG) for op in unit.walk()
    )
