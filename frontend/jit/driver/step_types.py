"""The steps of a schedule as type checkers and editors see them. `make docs` writes this file from the table of primitives.

At run time the class is empty: `schedule_steps.py` makes the methods of the same table.
"""
# ruff: noqa: E501

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from xdsl.dialects.builtin import SymbolRefAttr

    from .schedule_steps import Handle

    Place = Handle | str
    """A handle, or the name of a loop, statement or buffer."""
    Integer = int | SymbolRefAttr
    """A number, or a parameter of the schedule."""


class StepMethods:
    """The methods of `nt.schedule(...)` that are steps."""

    if TYPE_CHECKING:

        def split(
            self,
            loop: Place,
            factor: Integer,
            tail: Literal["remainder", "mask", "clamp", "perfect"] = "remainder",
        ) -> tuple[Handle, ...]:
            """Split a loop into an outer and an inner one of `factor` iterations."""
            ...

        def tile(
            self,
            *loops: Place,
            sizes: Sequence[Integer],
            tail: Literal["remainder", "mask", "clamp", "perfect"] = "remainder",
        ) -> tuple[Handle, ...]:
            """Split perfectly nested loops, and run the loops over tiles outside of the loops in a tile."""
            ...

        def reorder(self, *order: Place) -> None:
            """Run perfectly nested loops in the given order, outermost first."""
            ...

        def fuse(self, first: Place, second: Place) -> Handle:
            """Fuse two consecutive loops, one of which runs through the iterations of the other, into one."""
            ...

        def beside(self, first: Place, second: Place) -> Handle:
            """Make two consecutive loops the two iterations of one loop around them."""
            ...

        def flatten(self, outer: Place, inner: Place) -> Handle:
            """Flatten two perfectly nested loops into one."""
            ...

        def peel(
            self,
            loop: Place,
            count: Integer = 1,
            where: Literal["head", "tail"] = "head",
        ) -> tuple[Handle, Handle]:
            """Peel the first or last `count` iterations of a loop off into a loop of their own."""
            ...

        def cut(self, loop: Place, at: Integer) -> tuple[Handle, Handle]:
            """Cut a loop into two after `at` iterations."""
            ...

        def shift(self, loop: Place, by: Integer) -> None:
            """Shift the range of a loop's variable by a constant."""
            ...

        def skew(self, outer: Place, inner: Place, by: Integer = 1) -> None:
            """Skew an inner loop: start it later in each iteration of an outer loop."""
            ...

        def normalise(self, loop: Place) -> None:
            """Normalise a loop: run it from 0 in steps of 1."""
            ...

        def reverse(self, loop: Place) -> None:
            """Run the iterations of a loop from the last to the first, when no dependence forbids it."""
            ...

        def unroll(self, loop: Place, factor: Integer | None = None, force: bool = False) -> Handle:
            """Replace a loop by copies of its body, or unroll it by a factor with a remainder loop."""
            ...

        def unroll_and_jam(self, loop: Place, factor: Integer) -> Handle:
            """Unroll a loop by a factor and jam the copies together inside the loops within."""
            ...

        def distribute(self, loop: Place, after: str | Integer | None = None) -> Handle:
            """Distribute a loop over the parts of its body, after a statement or wherever it is legal."""
            ...

        def add_unit_loop(self, loop: Place, name: str = "one") -> Handle:
            """Wrap a loop in a new one that runs once."""
            ...

        def remove_unit_loop(self, loop: Place) -> None:
            """Replace a loop that runs exactly once by its body."""
            ...

        def specialise(self, loop: Place, when: str) -> tuple[Handle, Handle]:
            """Copy a nest for the case that a condition holds, and simplify the copy by it."""
            ...

        def hoist(self, loop: Place) -> None:
            """Move what is the same in all iterations of a loop before it."""
            ...

        def sink(self, loop: Place) -> None:
            """Move what is before the only loop of a loop's body into it: the two are perfectly nested then."""
            ...

        def absorb(self, loop: Place) -> None:
            """Move statements next to a loop that runs once into it."""
            ...

        def rename(self, loop: Place, to: str) -> None:
            """Give a loop another name."""
            ...

        def unmask(self, loop: Place) -> None:
            """Leave out conditions of statements in a loop where no one sees what the statements do without them."""
            ...

        def widen(self, loop: Place, within: Place) -> None:
            """Give a loop the same range in all iterations of one around it, statements the conditions."""
            ...

        def compute_at(
            self,
            buffer: Place,
            loop: Place,
            storage: Literal["root", "here"] = "root",
        ) -> tuple[Handle, Handle]:
            """Compute, in each iteration of a loop, just the part of a buffer that the iteration reads."""
            ...

        def rolling_buffer(
            self,
            buffer: Place,
            loop: Place,
            storage: Literal["circular", "whole"] = "circular",
        ) -> tuple[Handle, Handle]:
            """Keep what an iteration of a loop has computed of a buffer, and compute the new elements only."""
            ...

        def reverse_compute_at(self, consumer: Place, loop: Place) -> None:
            """Run, at the end of each iteration of a loop, the iterations of a later nest that use what it has made."""
            ...

        def compute_root(self, loop: Place) -> Handle:
            """Compute a buffer as a whole before the loops that compute it in parts."""
            ...

        def reverse_compute_inline(self, buffer: Place) -> None:
            """Use an element of a buffer where it is computed, and drop the buffer."""
            ...

        def fuse_epilogue(
            self,
            consumer: Place,
            loop: Place,
            space: Literal["global", "shared", "local"] = "global",
        ) -> tuple[Handle, Handle]:
            """Use the results of a reduction where its accumulators are complete, and never store them."""
            ...

        def recompute(self, *loops: Place, readers: Integer = 1) -> tuple[Handle, ...]:
            """Do nests once more for readers, which then read what was made for them alone."""
            ...

        def compute_inline(self, buffer: Place, duplicate: Literal["allow", "refuse"] = "allow") -> None:
            """Compute the elements of a buffer where they are read, and drop the buffer."""
            ...

        def rfactor(self, lanes: Place) -> tuple[Handle, Handle]:
            """Give each iteration of a reduction loop its own accumulator, combined after the loop around it."""
            ...

        def privatise(
            self,
            loop: Place,
            parts: Integer,
            share: Literal["chunks", "cyclic"] = "chunks",
        ) -> tuple[Handle, Handle]:
            """Give parts of a reduction loop accumulators of their own, combined after it."""
            ...

        def exact_sum(self, loop: Place) -> tuple[Handle, Handle, Handle, Handle]:
            """Add up integers instead of floating-point numbers at indices: the same sums in any order."""
            ...

        def last_write(self, loop: Place) -> tuple[Handle, Handle, Handle]:
            """Look for the last iteration that writes each element, then write what that one does."""
            ...

        def scatter_to_gather(self, buffer: Place, loop: Place) -> tuple[Handle, Handle, Handle]:
            """Let each element gather what a loop adds to elements around its iteration."""
            ...

        def block_relative(
            self,
            bases: Place,
            sums: Place,
            parts: Integer,
        ) -> tuple[Handle, Handle, Handle, Handle]:
            """Compute a reduction, and a sum of functions of the differences from its result, part by part."""
            ...

        def tree_reduce(self, loop: Place) -> Handle:
            """Combine the values of a reduction loop by a tree, in a buffer after it."""
            ...

        def block_scan(self, loop: Place, factor: Integer) -> tuple[Handle, Handle, Handle, Handle]:
            """Compute a scan (running results) in blocks that do not wait for each other."""
            ...

        def decompose_reduction(self, loop: Place) -> tuple[Handle, Handle]:
            """Initialise a reduction in a nest of its own, before it."""
            ...

        def online_softmax(
            self,
            rows: Place,
            product: Place,
            factor: Integer,
            kept: bool = False,
        ) -> tuple[Handle, ...]:
            """Compute a softmax of rows and the product that uses it block by block of the rows."""
            ...

        def skip_masked(
            self,
            loop: Place,
            side: Literal["above", "below"] = "above",
        ) -> tuple[Handle, Handle, Handle]:
            """Leave out blocks of a running softmax in which a mask leaves nothing; zeros of their product stay."""
            ...

        def lift(self, loop: Place) -> Handle:
            """Reduce tuples base by base: first the bases, then the sums that are relative to them."""
            ...

        def cache_read(
            self,
            buffer: Place,
            loop: Place,
            space: Literal["global", "shared", "local"] = "global",
            name: str | None = None,
            axes: Sequence[Integer] = (),
            along: str | None = None,
            axis: Integer | None = None,
            converted: bool = False,
            tail: Literal["clamp", "zero"] = "clamp",
        ) -> tuple[Handle, Handle]:
            """Copy the part of a buffer that an iteration of a loop reads to a buffer of its own."""
            ...

        def cache_write(
            self,
            buffer: Place,
            loop: Place,
            init: Literal["load", "identity"] = "load",
            space: Literal["global", "shared", "local"] = "global",
            name: str | None = None,
            axes: Sequence[Integer] = (),
            tail: Literal["clamp", "mask"] = "clamp",
        ) -> tuple[Handle, Handle, Handle]:
            """Let an iteration of a loop write to a buffer of its own, which is stored back at its end."""
            ...

        def stage_factors(
            self,
            loop: Place,
            space: Literal["global", "shared", "local"] = "global",
            narrow: bool = False,
        ) -> tuple[Handle, Handle, Handle, Handle]:
            """Copy the factors of a reduction's terms before it, with zeros where there are no terms."""
            ...

        def stage_mem(
            self,
            buffer: Place,
            loop: Place,
            window: str | None = None,
            space: Literal["global", "shared", "local"] = "global",
            name: str | None = None,
            axes: Sequence[Integer] = (),
        ) -> tuple[Handle, Handle, Handle]:
            """Let an iteration of a loop load a window of a buffer, work on it, and store it back."""
            ...

        def registerise(self, buffer: Place, loop: Place) -> Handle:
            """Keep elements of a buffer that are fixed in a loop in registers."""
            ...

        def transform_layout(self, buffer: Place, layout: str, pad: Sequence[Integer] = ()) -> Handle:
            """Keep the elements of a buffer in another order: axes permuted, blocked, rotated, padded."""
            ...

        def set_memory(self, buffer: Place, space: Literal["global", "shared", "local"]) -> Handle:
            """Put a buffer in another memory space: global, shared or local."""
            ...

        def hoist_alloc(self, buffer: Place, loop: Place) -> None:
            """Make a buffer once, before a loop, instead of in each iteration."""
            ...

        def sink_alloc(self, buffer: Place, loop: Place) -> None:
            """Make a buffer in each iteration of a loop, instead of once before it."""
            ...

        def reuse_buffers(
            self,
            order: Literal["kept", "free"] = "kept",
            within: Literal["function", "nest"] = "function",
        ) -> None:
            """Let buffers whose elements are not needed at the same time share memory."""
            ...

        def fold_buffer(self, buffer: Place, factor: Integer, dimension: Integer = 0) -> Handle:
            """Make an axis of a buffer circular, where no two elements that share a place are needed at the same time."""
            ...

        def resize_buffer(
            self,
            buffer: Place,
            dimension: Integer = 0,
            size: Integer | None = None,
            offset: Integer = 0,
        ) -> Handle:
            """Give an axis of a buffer another extent: that of the window which is used, or a given one."""
            ...

        def expand_buffer(self, buffer: Place, loop: Place) -> Handle:
            """Give each iteration of a loop a part of a buffer, so that iterations no longer share it."""
            ...

        def double_buffer(self, buffer: Place, loop: Place) -> tuple[Handle, Handle, Handle]:
            """Copy what the next iteration of a loop works on while this one works, to one of two halves of a buffer."""
            ...

        def pipeline(self, loop: Place, stages: Integer = 2) -> tuple[Handle, Handle]:
            """Copy what the next iterations of a loop work on while this one works."""
            ...

        def prefetch(
            self,
            buffer: Place,
            loop: Place,
            distance: Integer,
            whole: bool = False,
            at: str | None = None,
        ) -> None:
            """Prefetch what a loop reads or writes of a buffer, some iterations ahead."""
            ...

        def stream(self, buffer: Place, loop: Place) -> None:
            """Make the stores of a loop to a buffer non-temporal."""
            ...

        def simplify(self) -> None:
            """Simplify bounds, domains, loops, branches and divisions by what is known."""
            ...

        def eliminate_dead(self) -> None:
            """Remove what has no effect on what the caller sees."""
            ...

        def vectorize(self, loop: Place, width: Integer | None = None) -> Handle:
            """Mark a loop vectorized, splitting it by the width when it is longer."""
            ...

        def parallel(self, loop: Place, grain: Integer | None = None) -> None:
            """Mark a loop parallel, when no dependence forbids it."""
            ...

        def annotate(
            self,
            loop: Place,
            mark: str,
            value: Integer | None = None,
            text: str | None = None,
            force: bool = False,
        ) -> None:
            """Mark a loop unrolled, or give it an attribute."""
            ...

        def bind(self, loop: Place, axis: str) -> None:
            """Bind a loop to an axis of the grid or of the block, when no dependence forbids it."""
            ...

        def atomic(self, loop: Place) -> None:
            """Make the updates that a loop carries one step each, so that its iterations may run at the same time."""
            ...

        def insert_barriers(self) -> None:
            """Insert barriers where threads of a block touch what others of it touched, in the kernel of a loop or in all."""
            ...

        def tensorize(self, loop: Place, intrinsic: str) -> None:
            """Replace a nest by a call of an intrinsic that computes the same."""
            ...
