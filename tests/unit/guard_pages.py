"""Arrays between pages that nobody may touch, and a run of compiled programs on them:
`python tests/unit/guard_pages.py FAMILY [--full]`.

A program is called on arrays that end right before such a page, that begin right after one, and that lie at other
addresses within 64 bytes; for the sizes 0 to twice the largest number of lanes and three more. Without `--full` these are
samples of the sizes (0 and 1 in one layout only) and an eighth of the programs. An access outside ends the process: the
case that ran is in the file that `--note` names. A write next to an array, where there is memory, is found by what was
there before. Results are compared with NumPy's.
"""

from __future__ import annotations

import argparse
import ctypes
import mmap
import os
import random
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import nestor as nt
import numpy as np
from cpu_kernels import Kernel
from guarded_programs import FAMILIES, Program

PAGE = mmap.PAGESIZE
LINE = 64
VECTOR_BYTES = 128
"""The longest vectors of the automatic schedule."""

_libc = ctypes.CDLL(None, use_errno=True)


class Place(NamedTuple):
    """Where an array lies: it ends right before a guard page, or begins so many bytes after one."""

    at_end: bool
    offset: int = 0


class GuardedMemory:
    """Pages of memory between two that fault."""

    def __init__(self, pages: int):
        self.size = pages * PAGE
        self._map = mmap.mmap(-1, self.size + 2 * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        for page in (start, start + PAGE + self.size):
            if _libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), 0) != 0:
                raise OSError(ctypes.get_errno(), "mprotect")
        self.bytes = np.frombuffer(self._map, np.uint8, self.size, PAGE)
        self._pattern = np.random.default_rng(9).integers(0, 256, self.size, dtype=np.uint8)

    def put(self, array: np.ndarray, layout: str, place: Place) -> np.ndarray:
        """A view of this memory with the elements of `array`; all other bytes are a known pattern."""
        base_shape = array.shape
        if layout == "step" and array.ndim and array.shape[-1]:
            base_shape = (*array.shape[:-1], 2 * array.shape[-1] - 1)
        count = int(np.prod(base_shape)) * array.itemsize
        begin = self.size - count if place.at_end else place.offset
        assert begin >= 0 and begin + count <= self.size
        self._span = slice(begin, begin + count)
        self.bytes[:] = self._pattern
        base = self.bytes[self._span].view(array.dtype).reshape(base_shape)
        view = _view(base, layout, array.ndim)
        view[...] = array
        self._before = self.bytes.copy()
        return view

    def untouched(self, written: bool) -> bool:
        """No byte has changed, those of the array aside where it is `written`."""
        same = self.bytes == self._before
        if written:
            same[self._span] = True
        return bool(same.all())


def _view(base: np.ndarray, layout: str, rank: int) -> np.ndarray:
    if rank == 0 or layout == "contiguous":
        return base
    if layout == "step":
        return base[..., ::2]
    if layout == "reversed":
        return base[..., ::-1]
    assert layout == "columns"
    return base.reshape(base.shape[::-1]).T


def places(itemsize: int, full: bool, rng: random.Random) -> list[list[Place]]:
    """For the arguments in order (the last is the result's place): all at the end, all at the start, all elsewhere."""
    offsets = list(range(itemsize, LINE, itemsize))
    chosen = offsets if full else rng.sample(offsets, 1)
    result = [[Place(True)] * 5, [Place(False)] * 5]
    for k in chosen:
        result.append([Place(False, (k + 3 * j * itemsize) % LINE) for j in range(5)])
    return result


def sizes(itemsize: int, full: bool, rng: random.Random) -> list[int]:
    lanes = VECTOR_BYTES // itemsize
    every = list(range(2 * lanes + 4))
    if full:
        return every
    edges = {0, 1, 2, lanes - 1, lanes, lanes + 1, lanes // 2 + 1, 2 * lanes + 3}
    return sorted(edges | set(rng.sample(every, 3)))


def trials(program: Program, full: bool, rng: random.Random) -> Iterator[tuple[bool, int, str, list[Place]]]:
    """Whether compiled for any size or for this one; the size, the layout, the places."""
    for layout in program.layouts:
        chosen = program.sizes or sizes(program.itemsize, full, rng)
        if program.sizes and not full:
            chosen = rng.sample(chosen, min(4, len(chosen)))
        elif not full and layout != program.layouts[0]:
            chosen = [n for n in chosen if n > 1]  # each of 0 and 1 is compiled for itself
        for n in chosen:
            for where in places(program.itemsize, full, rng):
                yield True, n, layout, where
    lanes = VECTOR_BYTES // program.itemsize
    chosen = program.sizes or (lanes - 1, lanes + 3, 2 * lanes + 3)
    for n in chosen if full else chosen[-1:]:
        for where in places(program.itemsize, False, rng):
            yield False, n, program.layouts[0], where


def run(program: Program, full: bool, note: int) -> int:
    """All trials; their number. The one that runs is written to the file `note`."""
    rng = random.Random(program.name)
    compiled = {dynamic: nt.jit(program.function, dynamic=dynamic) for dynamic in (True, False)}
    memories = [GuardedMemory(program.pages) for _ in range(5)]
    count = 0
    for dynamic, n, layout, where in trials(program, full, rng):
        case = f"{program.name}: size {n}, {'any' if dynamic else 'this'} size, {layout}, {where[0]}"
        os.pwrite(note, case.ljust(200).encode(), 0)
        arrays = program.arguments(n, np.random.default_rng(n))
        with np.errstate(all="ignore"):
            copies = [a.copy() for a in arrays]
            want = program.function(*copies)
        guarded = [
            memories[k].put(a, layout if k in program.laid_out else "contiguous", where[k])
            for k, a in enumerate(arrays)
        ]
        if program.in_place:
            compiled[dynamic](*guarded)
            got, want = guarded[0], copies[0]
            written = {0}
        else:
            blank = np.zeros(np.shape(want), np.asarray(want).dtype)
            got = memories[4].put(blank, "contiguous", where[4])
            compiled[dynamic](*guarded, out=got)
            written = {4}
        try:
            _compare(got, want, program.tolerance)
        except AssertionError as error:
            raise AssertionError(f"{case}: {error}") from None
        for k in (*range(len(arrays)), *written):
            assert memories[k].untouched(k in written), (
                f"{case}: bytes beside or of argument {k} were changed"
            )
        count += 1
    return count


def _compare(got: Any, want: Any, tolerance: float) -> None:
    if tolerance:
        scale = np.abs(np.asarray(want, np.float64)).max(initial=0.0)
        np.testing.assert_allclose(
            np.asarray(got, np.float64), np.asarray(want, np.float64), rtol=tolerance, atol=tolerance * scale
        )
    else:
        np.testing.assert_array_equal(got, want)


OVERRUN = """
func.func @overrun(%x: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<?xf32>, vector<8xf32>
  vector.store %v, %o[%c0] : memref<?xf32>, vector<8xf32>
  func.return
}
"""
"""Eight elements, however many there are."""


def overrun(place: Place, note: int) -> None:
    """What an access outside does here: at the end of the memory it ends this process, elsewhere bytes change."""
    os.pwrite(note, f"overrun: {place}".ljust(200).encode(), 0)
    x, o = GuardedMemory(1), GuardedMemory(1)
    short = o.put(np.zeros(5, np.float32), "contiguous", place)
    Kernel(OVERRUN)(x.put(np.zeros(8, np.float32), "contiguous", Place(False)), short)
    assert o.untouched(True), "bytes beside the array were changed"


def main() -> int:
    parser = argparse.ArgumentParser(description="compiled programs on arrays between guard pages")
    parser.add_argument("family", choices=[*FAMILIES, "overrun", "overwrite"])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--note", default=os.devnull)
    options = parser.parse_args()
    note = os.open(options.note, os.O_WRONLY | os.O_CREAT)
    if options.family in ("overrun", "overwrite"):
        overrun(Place(options.family == "overrun"), note)
        return 0
    programs = FAMILIES[options.family]
    if not options.full:
        programs = random.Random(options.family).sample(programs, (len(programs) + 7) // 8)
    total = 0
    for program in programs:
        total += run(program, options.full, note)
    print(total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
