"""The threads of a block, each for itself: the mode "threads" of the reference interpreter.

A kernel (what is in the innermost loop over blocks, or the loops over threads where there is none) becomes a
generator that one thread runs: of a loop bound to threads its own iteration, of what is outside such loops
what the first thread does for the block. It yields at barriers. All threads run up to the next barrier, in
random order. Where two of them touch an element meanwhile, one to write it, a barrier is missing: a trap. So is
a barrier that only some of them reach.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import product
from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ...analysis.nest.kernels.barrier_places import BLOCK_AXES, THREAD_AXES, bound_loops, threads_for
from ...analysis.nest.kernels.lane_reductions import reduction_loop
from ...analysis.nest.kernels.matrix_tiles import is_matrix, is_operand_in_registers
from ...analysis.nest.kernels.thread_copies import ThreadCopies, thread_copies, writes_copies
from ...analysis.nest.sets.domains import domain_of
from ...dialects.affine import AffineList
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.nest import (
    LANES,
    LANES_ALONG,
    AccumulateOp,
    AllocOp,
    BarrierOp,
    ForOp,
    IfOp,
    StoreOp,
    told_apart,
    with_lanes,
)
from .compiler import Compiler

Thread = tuple[int, ...]


class TeamCompiler(Compiler):
    """Writes a kernel as what one thread does."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.axes: dict[str, str] = {}
        """The axes of the block's threads, with the variable that is the thread's number; none outside of kernels."""
        self.enclosing: set[str] = set()
        self.is_one_thread = False
        self.current: Operation | None = None
        self.is_atomic = False
        self.shared: dict[SSAValue, tuple[str, list[str]]] = {}
        """Buffers that threads share: the table they are in, and the axes along which there is one for each thread."""

    @property
    def is_team_level(self) -> bool:
        return bool(self._axes_left())

    def _axes_left(self) -> list[str]:
        """The axes over which no loop is around: of lanes, one of two where a loop over the other is."""
        around = with_lanes(self.enclosing)
        left = [axis for axis in self.axes if axis not in around]
        other = next((b for a, b in (("lane.y", "lane.x"), ("lane.x", "lane.y")) if a in around), "lane")
        return [other if axis == "lane" else axis for axis in left]

    def _number(self, axis: str) -> str:
        """The number of the thread along an axis, as an expression."""
        columns = LANES_ALONG["lane.x"]
        parts = {"lane.y": f"({{}} // {columns})", "lane.x": f"({{}} % {columns})"}
        return parts[axis].format(self.axes["lane"]) if axis in parts else self.axes[axis]

    # ---- operations ----

    def operation(self, op: Operation) -> None:
        self.current = op
        if isinstance(op, BarrierOp):
            if self.axes:
                self.line(f"yield {self.known(op)}")
            return
        if not self.axes or self.is_one_thread or not self.is_team_level or not self._is_once(op):
            return self._dispatch(op)
        first = [f"{self._number(axis)} == 0" for axis in self._axes_left()]
        self.is_one_thread = True
        self.nested(f"if {' and '.join(first)}:", lambda: self._dispatch(op))
        self.is_one_thread = False

    def _dispatch(self, op: Operation) -> None:
        if isinstance(op, ForOp):
            return self.loop(op)
        if isinstance(op, AllocOp):
            return self.alloc(op)
        if isinstance(op, AccumulateOp) and self.axes and reduction_loop(op) is not None:
            return self._over_lanes(op)
        # an atomic update is no race with others like it
        self.is_atomic = isinstance(op, AccumulateOp) and op.order_name == "atomic"
        super().operation(op)
        self.is_atomic = False

    def _is_once(self, op: Operation) -> bool:
        """Whether one thread does `op` for all; elements are read by every thread."""
        is_whole = isinstance(op, ForOp | IfOp | StoreOp | AccumulateOp) and not bound_loops(
            [op], THREAD_AXES
        )
        return is_whole and not writes_copies(op)

    # ---- loops ----

    def loop(self, op: ForOp) -> None:
        if self.axes and is_matrix(op) and any(map(is_operand_in_registers, op.walk())):
            meet = f"yield {self.known(op)}, None"  # what a tensor core takes from lanes, they all have
            self.line(meet)
            super().loop(op)
            return self.line(meet)
        if self.axes:
            return self._of_thread(op) if op.kind in THREAD_AXES else super().loop(op)
        if op.kind in THREAD_AXES:
            return self._team([op])
        inside = list(op.body.block.ops)
        if op.kind not in BLOCK_AXES or bound_loops(inside, BLOCK_AXES) or not bound_loops(inside):
            return super().loop(op)
        name = self.names[op.iv] = self.fresh("i")
        self.nested(f"for {name} in shuffled(rng, {self.span(op)}):", lambda: self._team(inside))

    def _of_thread(self, op: ForOp) -> None:
        """The iteration of a loop bound to threads that is this thread's, when there is one."""
        span, number = self.fresh("r"), self._number(op.kind)
        name = self.names[op.iv] = self.fresh("i")
        was_inside = op.kind in self.enclosing

        def iteration() -> None:
            self.line(f"{name} = {span}[{number}]")
            self.enclosing.add(op.kind)
            self.block(op.body.block)

        self.line(f"{span} = {self.span(op)}")
        self.nested(f"if {number} < len({span}):", iteration)
        if not was_inside:
            self.enclosing.discard(op.kind)

    def _team(self, ops: Sequence[Operation]) -> None:
        """A function for one thread of a block that does `ops`, and the call that runs it for all."""
        loops = bound_loops(ops, THREAD_AXES)
        self.axes = {axis: self.fresh("t") for axis in told_apart(loop.kind for loop in loops)}
        counts = {axis: _threads_along(loops, axis) for axis in self.axes}
        for op in ops:
            for inner in op.walk():
                if isinstance(inner, AllocOp):
                    self._share(inner, counts)
        team = self.fresh("team")

        def body() -> None:
            for op in ops:
                self.operation(op)
            self.nested("if False:", lambda: self.line("yield"))

        self.nested(f"def {team}({', '.join(self.axes.values())}):", body)
        lengths = "".join(f"{count}, " for count in counts.values())
        self.axes = {}
        self.line(f"run_team(rng, {team}, ({lengths}), races, operations)")

    def _over_lanes(self, op: AccumulateOp) -> None:
        """An update by all lanes of a warp: they meet, and lane 0 makes the updates of all."""
        domain, value, values = domain_of(op), self.fresh("v"), self.fresh("v")
        given = self.names[op.values[0]]
        if not domain.is_everywhere:
            given = f"({given} if {self.condition(domain)} else None)"
        self.line(f"{values} = yield {self.known(op)}, {given}")
        loop, lane, columns = reduction_loop(op), self.axes["lane"], LANES_ALONG["lane.x"]
        assert loop is not None
        if loop.kind == "lane.x":
            self.line(f"{values} = {values}[{lane} // {columns} * {columns}:][:{columns}]")
        elif loop.kind == "lane.y":
            self.line(f"{values} = {values}[{lane} % {columns} :: {columns}]")

        def update() -> None:
            (buffer,), old = op.memrefs, self.fresh("o")
            subscript = self.read(op, buffer, op.indices, old)
            (new,) = self.combined(op, [old], [value])
            self.write(buffer, subscript, new)

        def all_updates() -> None:
            self.nested(f"for {value} in {values}:", lambda: self.nested(f"if {value} is not None:", update))

        if self._is_seen_by_others(op.memrefs[0]):
            self.nested(f"if {self._number(loop.kind)} == 0:", all_updates)
        else:
            all_updates()

    # ---- buffers ----

    def _share(self, op: AllocOp, lengths: dict[str, int]) -> None:
        """Make a buffer that threads share before they start, one for each thread along the axes around it."""
        around = _axes_around(op)
        is_own = around.issuperset(lengths) or isinstance(thread_copies(op), ThreadCopies)
        if is_own and not any(is_operand_in_registers(use.operation) for use in op.memref.uses):
            return
        if op.sizes:
            raise fail(op, "a buffer inside a kernel needs constant extents", error=LoweringError)
        axes = [axis for axis in self.axes if axis in around]
        table = self.fresh("b")
        self.shared[op.memref] = (table, axes)
        one = self.fresh("b")
        self.line(f"{table} = {{}}")
        inside = "".join(f"range({lengths[axis]}), " for axis in axes)

        def make() -> None:
            super(TeamCompiler, self).alloc(op)
            self.line(f"{table}[{one}] = {self.names[op.memref]}, {self.names[op.memref]}_w")

        self.nested(f"for {one} in product({inside}):", make)

    def alloc(self, op: AllocOp) -> None:
        if op.memref not in self.shared:
            return super().alloc(op)
        table, axes = self.shared[op.memref]
        numbers = "".join(f"{self.axes[axis]}, " for axis in axes)
        name = self.names[op.memref] = self.fresh("b")
        self.line(f"{name}, {name}_w = {table}[{f'({numbers})'}]")
        self.bind_buffer(op.memref, name)

    def bind_buffer(self, value: SSAValue, name: str) -> None:
        super().bind_buffer(value, name)
        self.line(f"{name}_p, {name}_s = {name}.ctypes.data, {name}.strides")

    def _is_seen_by_others(self, buffer: SSAValue) -> bool:
        while isinstance(buffer.owner, memref.CollapseShapeOp | memref.CastOp | memref.SubviewOp):
            buffer = buffer.owner.operands[0]
        if not self.axes or not isinstance(buffer.owner, AllocOp):
            return bool(self.axes)
        is_own = _axes_around(buffer.owner).issuperset(self.axes)
        return not is_own and not isinstance(thread_copies(buffer.owner), ThreadCopies)

    def read(self, op: Operation, buffer: SSAValue, indices: AffineList, target: str) -> str:
        subscript = super().read(op, buffer, indices, target)
        self._record("update" if self.is_atomic else "read", buffer, subscript)
        return subscript

    def write(self, buffer: SSAValue, subscript: str, value: str) -> None:
        if not self.is_atomic:
            self._record("write", buffer, subscript)
        super().write(buffer, subscript, value)

    def _record(self, action: str, buffer: SSAValue, subscript: str) -> None:
        if self._is_seen_by_others(buffer):
            assert self.current is not None and isinstance(buffer.type, MemRefType)
            indices = subscript if not buffer.type.get_num_dims() else f"({subscript},)"
            place = f"{self.names[buffer]}_p, {self.names[buffer]}_s, {indices}"
            self.line(f"races.{action}({place}, operations[{self.known(self.current)}])")


def _axes_around(op: AllocOp) -> set[str]:
    found: set[str] = set()
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp) and parent.kind in THREAD_AXES:
            found.add(parent.kind)
        parent = parent.parent_op()
    return with_lanes(found)


def _threads_along(loops: Sequence[ForOp], axis: str) -> int:
    """How many threads a block has along an axis along which they are told apart."""
    return LANES if axis == "lane" else threads_for([loop for loop in loops if loop.kind == axis])


# ---- what a kernel calls -----------------------------------------------------------------------------


class Races:
    """Which thread touched which element since the last barrier."""

    def __init__(self, trap: Callable[[Operation, str], Any]):
        self.trap = trap
        self.thread: Thread = ()
        self.writers: dict[int, Thread] = {}
        self.readers: dict[int, set[Thread]] = {}
        self.updaters: dict[int, set[Thread]] = {}

    def wait(self) -> None:
        """All threads have met at a barrier."""
        self.writers.clear()
        self.readers.clear()
        self.updaters.clear()

    def read(self, base: int, strides: Iterable[int], indices: Iterable[int], op: Operation) -> None:
        """The thread reads an element."""
        address = base + sum(i * s for i, s in zip(indices, strides, strict=True))
        if self.writers.get(address, self.thread) != self.thread or self._is_updated(address):
            self.trap(op, "reads what another thread of the block has written since the last barrier")
        self.readers.setdefault(address, set()).add(self.thread)

    def write(self, base: int, strides: Iterable[int], indices: Iterable[int], op: Operation) -> None:
        """The thread writes an element."""
        address = base + sum(i * s for i, s in zip(indices, strides, strict=True))
        if self.writers.get(address, self.thread) != self.thread or self._is_updated(address):
            self.trap(op, "writes what another thread of the block has written since the last barrier")
        if self.readers.get(address, {self.thread}) != {self.thread}:
            self.trap(op, "writes what another thread of the block has read since the last barrier")
        self.writers[address] = self.thread

    def update(self, base: int, strides: Iterable[int], indices: Iterable[int], op: Operation) -> None:
        """The thread updates an element in one step."""
        address = base + sum(i * s for i, s in zip(indices, strides, strict=True))
        if self.writers.get(address, self.thread) != self.thread:
            self.trap(op, "updates what another thread of the block has written since the last barrier")
        if self.readers.get(address, {self.thread}) != {self.thread}:
            self.trap(op, "updates what another thread of the block has read since the last barrier")
        self.updaters.setdefault(address, set()).add(self.thread)

    def _is_updated(self, address: int) -> bool:
        return self.updaters.get(address, {self.thread}) != {self.thread}


def run_team(
    rng: random.Random,
    team: Callable[..., Generator[Any, Any, None]],
    lengths: Sequence[int],
    races: Races,
    operations: Sequence[Operation],
) -> None:
    """Run all threads of a block from barrier to barrier; `lengths` says how many there are along each axis.

    The last axis is that of lanes where there are any. A thread yields the number of a barrier, or that of an update by
    all lanes of its warp and the value it has for it; it is sent the values of all.
    """
    live = [(thread, team(*thread)) for thread in product(*map(range, lengths))]
    while live:
        races.wait()
        rng.shuffle(live)
        waiting, sites = [], set()
        warps: dict[tuple[Thread, int], dict[int, tuple[Any, Any]]] = {}
        ready: list[tuple[Thread, Any, Any]] = [(thread, steps, None) for thread, steps in live]
        while ready:
            thread, steps, values = ready.pop()
            races.thread = thread
            try:
                stop = steps.send(values)
            except StopIteration:
                continue
            if isinstance(stop, int):
                waiting.append((thread, steps))
                sites.add(stop)
                continue
            site, value = stop
            lanes = warps.setdefault((thread[:-1], site), {})
            lanes[thread[-1]] = (steps, value)
            if len(lanes) == lengths[-1]:
                del warps[thread[:-1], site]
                values = [lanes[k][1] for k in range(len(lanes))]
                ready += [
                    ((*thread[:-1], k), lanes[k][0], values)
                    for k in rng.sample(range(len(lanes)), len(lanes))
                ]
        for _, site in warps:
            races.trap(operations[site], "is not reached by all lanes of a warp")
        if waiting and (len(waiting) < len(live) or len(sites) > 1):
            races.trap(operations[min(sites)], "is not reached by all threads of the block")
        live = waiting
