"""Functions restricted to boxes: the boxes of a result, put together, are the whole. On random programs and chunks."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import functions
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import AllocOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import TrapError, compile_nest
from nestor.transforms.nest.memory.split_buffers import split_buffers
from nestor.transforms.nest.producers.box_loops import run_from_zero
from nestor.transforms.nest.producers.inline_once import inline_once
from nestor.transforms.nest.producers.restrict import Part, Restricted, Word, WordBound, restrict
from parsed import parse_module
from programs import FAMILIES, draw_program
from sampling import seeds
from sequences import Runner, Stop, defined_elements


class Chunks:
    """A random program and its results, whole. With `inside`, only boxes away from borders are computed, by the function for
    these, with fewer buffers and loops from 0, as chunks are."""

    def __init__(self, seed: int, family: str, inside: bool = False):
        self.inside = inside
        self.rng = random.Random(seed)
        self.program = draw_program(self.rng, family)
        self.module = parse_module(self.program.text, "program.mlir")
        self.arrays = self.program.arguments(seed)
        runner = Runner(self.module)
        self.whole = runner.run([array.copy() for array in self.arrays])
        if isinstance(self.whole, Stop):
            return
        copies = [array.copy() for array in self.arrays]
        self.defined = defined_elements(runner, copies, self.program, self.whole)

    def disagreement(self, kinds: Counter[str]) -> str | None:
        """How a result in chunks differs from the whole one, None where all agree; counts what was tried."""
        if isinstance(self.whole, Stop):
            kinds["stopped"] += 1
            return None
        for place, buffer in enumerate(self.program.buffers):
            rank = self.arrays[place].ndim
            if buffer.role not in ("out", "inout") or not rank:
                continue
            for axes in [[axis] for axis in range(rank)] + [list(range(rank))] * (rank > 1):
                if wrong := self._in_chunks(place, axes, kinds):
                    return f"result {place} axes {axes}: {wrong}\n{self.program.text}"
        return None

    def _in_chunks(self, place: int, axes: list[int], kinds: Counter[str]) -> str | None:
        module = self.module.clone()
        function = functions(module)[0]
        try:
            restricted = restrict(function, [function.args[place]], axes, inside=self.inside)
        except NestorError as error:
            kinds["refused: " + str(error).splitlines()[0].rpartition(": ")[2]] += 1
            return None
        verify(module)
        kinds["restricted"] += 1
        kinds["cut inputs"] += any(
            isinstance(p, Part) and p.kind == "input" and p.axes for p in restricted.arguments
        )
        made = self.arrays[place].copy()
        boxes = list(self._boxes([made.shape[axis] for axis in axes]))
        if self.inside:
            buffers = len([op for op in function.walk() if isinstance(op, AllocOp)])
            run_from_zero(function, restricted.boxes)
            split_buffers(function)
            inline_once(function)
            verify(module)
            kinds["inlined"] += len([op for op in function.walk() if isinstance(op, AllocOp)]) < buffers
            boxes = [within for box in boxes if (within := self._within(restricted, box)) is not None]
            kinds["inside"] += any(low > 0 for box in boxes for low, _ in box[:1])
            made[...] = self.whole[place]
        kernel = compile_nest(function)
        for box in boxes:
            where = [slice(None)] * made.ndim
            for axis, (low, high) in zip(axes, box, strict=True):
                where[axis] = slice(low, high)
            part = (self.arrays[place] if self.inside else made)[tuple(where)].copy()
            try:
                kernel(*self._arguments(restricted, place, dict(zip(axes, box, strict=True)), part))
            except TrapError as error:
                return f"box {box}: {error}\n{module}\n{restricted.arguments}"
            made[tuple(where)] = part
        wrong = np.argwhere((made != self.whole[place]) & self.defined[place])
        if len(wrong):
            at = tuple(wrong[0].tolist())
            return f"at {at}: {made[at]}, whole {self.whole[place][at]}\n{module}"
        return None

    def _within(self, restricted: Restricted, box: list[tuple[int, int]]) -> list[tuple[int, int]] | None:
        """What of a box the function is for; None where that is nothing."""
        words: dict[Word | int, int] = {}
        for k, array in enumerate(self.arrays):
            for kind in ("input", "result"):
                words |= {Word("extent", kind, k, axis): n for axis, n in enumerate(array.shape)}
            if array.ndim == 0 or not isinstance(array, np.ndarray):
                words[k] = int(array)
        found = []
        for (low, high), (lower, upper) in zip(box, restricted.inside or [([], [])] * len(box), strict=True):
            low = max([low, *(self._value(one, words) for one in lower)])
            high = min([high, *(self._value(one, words) for one in upper)])
            if low >= high:
                return None
            found.append((low, high))
        return found

    def _boxes(self, extents: list[int]):
        """Boxes that cover all: ragged ones, of one element, or one of all, along each axis."""
        if not extents:
            yield []
            return
        ends = self._cuts(extents[0])
        for low, high in pairwise(ends):
            for rest in self._boxes(extents[1:]):
                yield [(low, high), *rest]

    def _cuts(self, extent: int) -> list[int]:
        how = self.rng.randrange(4)
        if how == 0:
            return list(range(extent + 1))
        return sorted({0, extent, *(self.rng.randrange(extent + 1) for _ in range(how))})

    def _arguments(
        self, restricted: Restricted, place: int, box: dict[int, tuple[int, int]], part: np.ndarray
    ):
        words: dict[Word | int, int] = {}
        for word in restricted.arguments:
            if isinstance(word, Word) and word.kind == "extent":
                words[word] = self.arrays[word.place].shape[word.axis]
            elif isinstance(word, Word) and word.kind in ("lo", "hi"):
                words[word] = box[word.axis][word.kind == "hi"]
        for k, array in enumerate(self.arrays):
            if array.ndim == 0 or not isinstance(array, np.ndarray):
                words[k] = int(array)
        parts: dict[tuple[int, int], np.ndarray] = {}
        for one in restricted.arguments:
            if not isinstance(one, Part) or one.place == place:
                continue
            array = self.arrays[one.place]
            where = [slice(None)] * array.ndim
            for axis, (lower, upper) in one.axes.items():
                low = min(max(self._value(lower, words), 0), array.shape[axis])
                where[axis] = slice(low, max(low, min(self._value(upper, words), array.shape[axis])))
                words[Word("first", one.kind, one.place, axis, one.number)] = low
            parts[one.place, one.number] = array[tuple(where)].copy()
        for one in restricted.arguments:
            if isinstance(one, Part):
                yield part if one.place == place else parts[one.place, one.number]
            else:
                yield words[one]

    def _value(self, bound: WordBound, words: dict) -> int:
        return bound.constant + sum(factor * self._number(word, words) for word, factor in bound.factors)

    def _number(self, word: Word | int, words: dict) -> int:
        if isinstance(word, Word) and word.kind == "extent":
            return self.arrays[word.place].shape[word.axis]
        return words[word]


def run(count: int, families=FAMILIES, inside: bool = False) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for family in families:
        for seed in range(count):
            found = Chunks(seed, family, inside).disagreement(kinds)
            assert found is None, f"{family} {seed}: {found}"
    return kinds


def test_what_is_loaded_before_a_branch_is_in_the_part():
    """A row that the branch does not use is read nevertheless (found by a slow run)."""
    kinds: Counter[str] = Counter()
    assert Chunks(17, "branches", True).disagreement(kinds) is None
    assert kinds["inside"]


def test_boxes_put_together_are_the_whole():
    """Seeds 0 and on of each family of programs; the slow test draws 25 of each."""
    kinds = run(len(seeds(6)))
    assert kinds["restricted"] > 50 and kinds["cut inputs"] > 30


def test_boxes_away_from_borders_are_parts_of_the_whole():
    """Seeds 0 and on of each family of programs; the slow test draws 25 of each."""
    kinds = run(len(seeds(6)), inside=True)
    assert kinds["restricted"] > 50 and kinds["inside"] > 20 and kinds["inlined"] > 5


STEPS = """
func.func @f(%x: memref<9xi64>, %y: memref<9xi64> {nest.role = "out"}) {
  %one = arith.constant 1 : i64
ALLOCS
  nest.for "t" %t = 0 to 40 {
NESTS
  }
  nest.for "k" %k = 0 to 9 {
    %a = nest.load %b0[%k] : memref<9xi64>
    nest.store "y" %a, %y[%k] : memref<9xi64>
  }
  func.return
}
"""


def test_a_step_of_more_nests_than_rounds():
    """Each of eight buffers is made of the next one: what the first needs is found nest by nest."""
    made, nests = [], []
    for k in range(8):
        made.append(
            f'  %b{k} = nest.alloc "b{k}" : memref<9xi64>\n  nest.for "c{k}" %c{k} = 0 to 9 {{\n'
            f"    %v{k} = nest.load %x[%c{k}] : memref<9xi64>\n"
            f'    nest.store "b{k}" %v{k}, %b{k}[%c{k}] : memref<9xi64>\n  }}'
        )
        nests.append(
            f'    nest.for "i{k}" %i{k} = 0 to 8 {{\n'
            f"      %l{k} = nest.load %b{(k + 1) % 8}[%i{k} + 1] : memref<9xi64>\n"
            f"      %s{k} = arith.addi %l{k}, %one : i64\n"
            f'      nest.store "b{k}" %s{k}, %b{k}[%i{k}] : memref<9xi64>\n    }}'
        )
    text = STEPS.replace("ALLOCS", "\n".join(made)).replace("NESTS", "\n".join(nests))
    module = parse_module(text, "steps.mlir")
    x, whole = np.arange(9) ** 2, np.zeros(9, np.int64)
    compile_nest(functions(module)[0])(x, whole)
    function = functions(module)[0]
    arguments = restrict(function, [function.args[1]], [0]).arguments
    verify(module)
    kernel = compile_nest(function)
    for low in range(9):
        part = np.zeros(1, np.int64)
        words = {"lo": low, "hi": low + 1, "extent": 9, "first": 0}
        given = [
            x if one.kind == "input" else part if isinstance(one, Part) else words[one.kind]
            for one in arguments
        ]
        kernel(*given)
        assert part[0] == whole[low]


@pytest.mark.slow
def test_boxes_of_many_programs_put_together_are_the_whole():
    kinds = run(25)
    assert kinds["restricted"] > 800 and kinds["cut inputs"] > 500


@pytest.mark.slow
def test_boxes_away_from_borders_of_many_programs_are_parts_of_the_whole():
    kinds = run(25, inside=True)
    assert kinds["restricted"] > 800 and kinds["inside"] > 300
