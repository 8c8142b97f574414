"""Elements that a chunk is said not to need are changed: the chunk stays what it was. On random programs and boxes."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import enclosing_loops, functions
from nestor.analysis.nest.sets.boxes import Bound
from nestor.analysis.nest.sets.chunking import Chunking, Cut, chunking
from nestor.analysis.nest.sets.readable import NestText
from nestor.dialects.affine import AffineList
from parsed import parse_module
from program_drafts import Program
from programs import FAMILIES, draw_program
from sampling import seeds
from sequences import Runner, Stop
from xdsl.dialects.func import FuncOp

BOXES = 3
"""Boxes that are tried for each cut."""


class Chunked:
    """A random program, how it may be cut, and what its extents are in one run."""

    def __init__(self, seed: int, family: str | None = None):
        self.rng = random.Random(seed)
        self.program: Program = draw_program(self.rng, family)
        self.module = parse_module(self.program.text, "program.mlir")
        self.function: FuncOp = functions(self.module)[0]
        self.chunking: Chunking = chunking(self.function)
        self.arrays = self.program.arguments(seed)
        self.sizes = {"lo": 0, "hi": 0}
        names = NestText(self.function)
        for argument, array in zip(self.function.args, self.arrays, strict=True):
            for axis, extent in enumerate(argument.type.get_shape()):  # pyright: ignore
                if extent < 0:
                    self.sizes[names.extent(argument, axis)] = array.shape[axis]

    def wrong(self) -> tuple[str | None, int]:
        """What a box needs beyond what it is said to need, None when nothing was found; how many boxes were tried."""
        tried = 0
        for cut in self.chunking.results:
            place = list(self.function.args).index(cut.what)
            extent = self.arrays[place].shape[cut.axis]
            for _ in range(BOXES if extent and not cut.after else 0):
                box = self._box(extent)
                part = (slice(None),) * cut.axis + (slice(*box),)
                changed = self._changed(self.function, cut, box, place, part)
                tried += changed is not None
                if changed:
                    return (
                        f"{cut.what.name_hint} axis {cut.axis} box {box}: {changed}\n{self.program.text}",
                        tried,
                    )
        return None, tried

    def wrong_reduction(self) -> tuple[str | None, int]:
        """The same for partial results: those of the iterations in a box."""
        tried = 0
        for cut in self.chunking.reductions:
            if cut.what not in self.function.args or cut.after:
                continue
            for _ in range(BOXES):
                low, high = self._box(8)
                part = self.module.clone()
                function = functions(part)[0]
                position = [op for op in self.function.walk()].index(cut.update)
                update = [op for op in function.walk()][position]
                loop = next(one for one in enclosing_loops(update) if one.label == cut.loop.label)
                if loop.step_value != 1:
                    break
                loop.set_bounds(
                    AffineList.of(*(loop.lower[k] for k in range(len(loop.lower))), low),
                    AffineList.of(*(loop.upper[k] for k in range(len(loop.upper))), high),
                )
                place = list(self.function.args).index(cut.what)
                changed = self._changed(function, cut, (low, high), place, ())
                tried += changed is not None
                if changed:
                    return (
                        f"reduction over {cut.loop.label} box {low, high}: {changed}\n{self.program.text}",
                        tried,
                    )
        return None, tried

    def _box(self, extent: int) -> tuple[int, int]:
        low = self.rng.randrange(extent)
        return low, self.rng.randint(low + 1, extent)

    def _changed(self, function: FuncOp, cut: Cut, box: tuple[int, int], place: int, part) -> str | None:
        """How the part of a result differs when nothing is left of what it does not need; None where a run stops."""
        runner = Runner(function.parent_op())  # pyright: ignore
        before = runner.run([array.copy() for array in self.arrays])
        others = [array.copy() for array in self.arrays]
        for k, array in enumerate(others):
            if self.program.buffers[k].role != "out" and not self._is_start(cut, k):
                array[~self._needed(cut, k, box)] += self.rng.choice((-5, 3, 11))
        after = runner.run(others)
        if isinstance(before, Stop) or isinstance(after, Stop):
            return None
        old, new = before[place][part], after[place][part]
        return "" if np.array_equal(old, new) else f"{old} became {new}"

    def _is_start(self, cut: Cut, k: int) -> bool:
        """Whether a reduction starts from an argument."""
        return cut.update is not None and self.function.args[k] in cut.update.memrefs

    def _needed(self, cut: Cut, k: int, box: tuple[int, int]) -> np.ndarray:
        array = self.arrays[k]
        found = np.zeros(array.shape, bool)
        for need in cut.needs:
            if need.buffer is not self.function.args[k]:
                continue
            index = [slice(None)] * array.ndim
            for reach in need.axes:
                low = 0 if reach.lower is None else self._value(reach.lower, box)
                high = array.shape[reach.axis] if reach.upper is None else self._value(reach.upper, box)
                index[reach.axis] = slice(max(low, 0), max(high, 0))
            found[tuple(index)] = True
        return found

    def _value(self, bound: Bound, box: tuple[int, int]) -> int:
        known = self.sizes | dict(zip(("lo", "hi"), box, strict=True))
        return bound.constant + sum(factor * known[name] for name, factor in bound.factors)


def run(count: int) -> Counter[str]:
    """Check that many programs of each family; the kinds of cuts that were tried."""
    kinds: Counter[str] = Counter()
    for family in FAMILIES:
        for seed in range(count):
            chunked = Chunked(seed, family)
            for found, tried in (chunked.wrong(), chunked.wrong_reduction()):
                assert found is None, f"{family} {seed}: {found}"
                kinds["tried"] += tried
            kinds["obstacle"] += chunked.chunking.obstacle is not None
            kinds["reductions"] += len(chunked.chunking.reductions)
            kinds.update(cut.kind for cut in chunked.chunking.results)
    return kinds


def test_what_a_chunk_does_not_need_does_not_change_it():
    """Seeds 0 and on of each family of programs; the slow test draws 40 of each."""
    kinds = run(len(seeds(3)))
    assert min(kinds[kind] for kind in ("blockwise", "halo", "running", "reductions")) > 0


@pytest.mark.slow
def test_what_chunks_of_many_programs_do_not_need_does_not_change_them():
    """Forty of each family: a thousand programs, some thousand boxes."""
    kinds = run(40)
    assert kinds["tried"] > 3000
    assert min(kinds[kind] for kind in ("blockwise", "halo", "moving", "running", "reductions")) > 5
