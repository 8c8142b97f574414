"""The error of the functions that `expand-math` writes, measured: `python tests/unit/math_accuracy.py` prints the
table of docs/math.md.

Singles are compared with NumPy's doubles, doubles with its long doubles; functions that NumPy lacks with the C library's
long doubles. The
error is in units in the last place of the exact result, so that 0.5 is that of perfect rounding.

    --every N     every Nth of the 2^32 singles; 1 is `make test-math-sweep`, and compares those of `SWEPT` with the C
                  library's vector functions of doubles (gcc is wanted)
    --doubles N   so many random doubles
    --only NAMES  with commas
    --flags afn   the shorter forms, whose errors are not judged
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cpu_kernels import Kernel
from nestor.dialects.functions import FUNCTIONS, OPERATIONS


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@functools.cache
def c_library() -> ctypes.CDLL:
    """math_sweep.c. Linked without -ffast-math: with it, loading would make denormals zero in the whole process."""
    source = Path(__file__).with_name("math_sweep.c")
    options = ["-O3", "-march=native", "-ffast-math", "-fPIC"]
    with tempfile.TemporaryDirectory(prefix="nestor-math-") as folder:
        object_file, library = f"{folder}/s.o", f"{folder}/s.so"
        subprocess.run(["gcc", *options, "-c", str(source), "-o", object_file], check=True)
        subprocess.run(["gcc", "-shared", object_file, "-o", library, "-lm"], check=True)
        return ctypes.CDLL(library)


def long_function(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """A function that NumPy lacks, of the C library's long doubles; of arguments that are doubles."""

    def function(x: np.ndarray) -> np.ndarray:
        narrow = np.ascontiguousarray(x, np.float64)
        result = np.empty(narrow.shape, np.longdouble)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (narrow, result)]
        getattr(c_library(), f"long_{name}")(*pointers, ctypes.c_int64(narrow.size))
        return result

    return function


ONE_OPERAND: dict[str, tuple[Callable[..., Any], float]] = {
    "exp": (np.exp, 1.0),
    "exp2": (np.exp2, 1.0),
    "expm1": (np.expm1, 2.0),
    "log": (np.log, 1.0),
    "log2": (np.log2, 1.0),
    "log10": (np.log10, 1.0),
    "log1p": (np.log1p, 2.0),
    "sin": (np.sin, 1.0),
    "cos": (np.cos, 1.0),
    "tan": (np.tan, 1.5),
    "asin": (np.arcsin, 2.0),
    "acos": (np.arccos, 1.5),
    "atan": (np.arctan, 2.0),
    "sinh": (np.sinh, 1.5),
    "cosh": (np.cosh, 1.5),
    "tanh": (np.tanh, 1.0),
    "asinh": (np.arcsinh, 2.0),
    "acosh": (np.arccosh, 1.5),
    "atanh": (np.arctanh, 1.5),
    "cbrt": (np.cbrt, 1.0),
    "erf": (long_function("erf"), 1.5),
    "erfc": (long_function("erfc"), 2.0),
    **{row.name: (row.reference, row.ulp) for row in FUNCTIONS if row.arity == 1},
    "lgamma": (long_function("lgamma"), 4.0),
    "sigmoid": (sigmoid, 1.0),
}
"""The function, and the bound of its error: docs/math.md has what was measured."""

FLOORS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "lgamma": lambda x: np.where(x < 0, np.maximum(1.0, long_function("lgamma")(np.abs(x))), 0.0)
}
"""Results nearer to zero than that count as if they were so large: lgamma has a zero between any two negative poles, and
comes from that of -x."""

TWO_OPERANDS: dict[str, tuple[Callable[..., Any], float]] = {
    **{row.name: (row.reference, row.ulp) for row in FUNCTIONS if row.arity == 2},
    "atan2": (np.arctan2, 2.0),
    "powf": (np.power, 1.25),
}

WIDER: dict[Any, Any] = {np.float32: np.float64, np.float64: np.longdouble}
LANES = 16
BLOCK = 1 << 15
SWEPT = ("exp", "log", "sin", "cos", "tanh", "erf", "sigmoid")
"""Functions of which all singles are compared, with the C library: math_sweep.c."""


def kernel(name: str, element: str, width: int, arity: int = 1, flags: str = "") -> Kernel:
    """The function over arrays, `width` lanes at a time, with those fast-math flags."""
    granted = f" fastmath<{flags}>" if flags else ""
    type_ = element if width == 1 else f"vector<{width}x{element}>"
    if width == 1:
        load, store = "memref.load %{0}[%i] : memref<?x{1}>", "memref.store %r, %o[%i] : memref<?x{0}>"
    else:
        load, store = (
            "vector.load %{0}[%i] : memref<?x{1}>, {2}",
            "vector.store %r, %o[%i] : memref<?x{0}>, {1}",
        )
    operands = ["x", "y"][:arity]
    parameters = ", ".join(f"%{v}: memref<?x{element}> {{nestor.noalias}}" for v in [*operands, "o"])
    loads = "\n        ".join(f"%{v}0 = {load.format(v, element, type_)}" for v in operands)
    return Kernel(f"""
    func.func @apply({parameters}) {{
      %c0 = arith.constant 0 : index
      %step = arith.constant {width} : index
      %n = memref.dim %x, %c0 : memref<?x{element}>
      scf.for %i = %c0 to %n step %step {{
        {loads}
        %r = {"special" if name in OPERATIONS else "math"}.{name} {", ".join(f"%{v}0" for v in operands)}{granted} : {type_}
        {store.format(element, type_)}
      }}
      func.return
    }}
    """)


@dataclass
class Accuracy:
    """The largest error so far and where; and the arguments whose special result (nan, inf, a sign) is wrong."""

    name: str = ""
    error: float = 0.0
    worst: tuple[Any, ...] = ()
    wrong: tuple[Any, ...] = ()

    def add(self, operands: list[np.ndarray], result: np.ndarray, exact: np.ndarray) -> None:
        if result.dtype == np.float32:
            self._add_singles(operands, result, exact)
        else:
            self._add(operands, result, exact)

    def _add_singles(self, operands: list[np.ndarray], result: np.ndarray, exact: np.ndarray) -> None:
        """As `_add`, for a sweep over all singles: those that are not the exact result rounded are looked at."""
        with np.errstate(all="ignore"):
            rounded = exact.astype(np.float32)
        off = np.flatnonzero(result.view(np.int32) != rounded.view(np.int32))
        off = off[~(np.isnan(result[off]) & np.isnan(rounded[off]))]
        # Where all are, the error is that of rounding.
        self.error = max(self.error, 0.5)
        if off.size:
            self._add([x[off] for x in operands], result[off], exact[off])

    def note_wrong(self, operands: list[np.ndarray], result: np.ndarray, wrong: np.ndarray) -> None:
        if not self.wrong and wrong.any():
            place = int(wrong.argmax())
            self.wrong = (*(x[place] for x in operands), result[place])

    def _add(self, operands: list[np.ndarray], result: np.ndarray, exact: np.ndarray) -> None:
        dtype = result.dtype
        with np.errstate(all="ignore"):
            rounded = exact.astype(dtype)
            finite = np.isfinite(rounded) & np.isfinite(exact)
            size, near_zero = np.abs(rounded), np.zeros(rounded.shape, bool)
            if self.name in FLOORS:
                with np.errstate(over="ignore"):
                    floor = FLOORS[self.name](operands[0]).astype(dtype)
                size, near_zero = np.maximum(size, floor), size < floor
            spacing = np.spacing(size).astype(exact.dtype)
            error = np.where(finite, np.abs(result.astype(exact.dtype) - exact) / spacing, 0.0)
        error = np.where(np.isnan(error), np.inf, error)
        place = int(error.argmax())
        if error[place] > self.error:
            self.error, self.worst = float(error[place]), tuple(x[place] for x in operands)
        agrees = np.where(finite, near_zero | (np.signbit(result) == np.signbit(rounded)), result == rounded)
        agrees |= np.isnan(rounded) & np.isnan(result)
        self.note_wrong(operands, result, ~agrees)


def padded(values: Any, dtype: Any) -> np.ndarray:
    """As an array of whole vectors."""
    with np.errstate(over="ignore"):
        array = np.asarray(values).astype(dtype)
    return np.concatenate([array, np.zeros(-len(array) % LANES, dtype)])


ODD = {"sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "cbrt", "erf"}
EVEN = {"cos", "cosh"}
"""Functions whose results for -x must have the bits of those for x, the sign aside: singles of half the line are
compared with the exact results, and with their mirror images."""


def singles(every: int, name: str = "") -> Iterator[np.ndarray]:
    """Every so-manyth of all singles, in blocks; of those without a sign where the function is its own mirror image."""
    count = 1 << 31 if name in ODD | EVEN else 1 << 32
    for start in range(0, count, BLOCK * every):
        patterns = np.arange(start, min(start + BLOCK * every, count), every, dtype=np.int64)
        yield padded(patterns.astype(np.uint32).view(np.float32), np.float32)


def doubles(count: int) -> Iterator[np.ndarray]:
    """Random ones: half of all sizes, half between the sizes that matter; and multiples of pi / 4."""
    rng = np.random.default_rng(5)
    for start in range(0, count, BLOCK):
        half = min(BLOCK, count - start) // 2 + 1
        patterns = rng.integers(0, 2**64, half // 2, dtype=np.uint64).view(np.float64)
        sizes = 10.0 ** rng.uniform(-9, 3, half) * rng.choice([-1.0, 1.0], half)
        turns = (2.0 ** rng.uniform(0, 60, half // 4)).round() * (np.pi / 4)
        near_one = rng.choice([-1.0, 1.0], half // 4) * (1 + 10.0 ** rng.uniform(-16, 0, half // 4))
        yield padded(
            np.concatenate([patterns, sizes, turns, near_one, rng.uniform(-2, 2, half // 2)]), np.float64
        )


def pairs_of(values: np.ndarray, rng: np.random.Generator, name: str) -> list[np.ndarray]:
    """Those and others of like size; for pow, half of them exponents that lead to results of all sizes."""
    if name != "powf":
        return [values, rng.permutation(values)]
    dtype = values.dtype
    largest = 88 if dtype == np.float32 else 709
    with np.errstate(all="ignore"):
        exponent = (rng.uniform(-largest, largest, len(values)) / np.log(np.abs(values))).astype(dtype)
    whole = rng.integers(-30, 30, len(values)).astype(dtype)
    choice = rng.integers(0, 4, len(values))
    return [
        np.where(choice > 0, np.abs(values), values),
        np.select([choice == 0, choice == 1], [whole, values], exponent).astype(dtype),
    ]


REFERENCES = ONE_OPERAND | TWO_OPERANDS


def function_of(name: str, dtype: Any, flags: str) -> Callable[..., Any]:
    """Called with the operands and the result."""
    element = "f32" if dtype is np.float32 else "f64"
    return kernel(name, element, LANES, 2 if name in TWO_OPERANDS else 1, flags)


def exact_values(name: str, operands: list[np.ndarray]) -> np.ndarray:
    """In the wider type."""
    with np.errstate(all="ignore"):
        wide = [x.astype(WIDER[operands[0].dtype.type]) for x in operands]
        return np.asarray(REFERENCES[name][0](*wide))


def measure(name: str, blocks: Iterator[np.ndarray], flags: str = "") -> Accuracy:
    rng = np.random.default_rng(6)
    accuracy, compiled = Accuracy(name), {}
    for block in blocks:
        dtype = block.dtype.type
        if dtype not in compiled:
            compiled[dtype] = function_of(name, dtype, flags)
        operands = pairs_of(block, rng, name) if name in TWO_OPERANDS else [block]
        result = np.empty_like(block)
        compiled[dtype](*operands, result)
        accuracy.add(operands, result, exact_values(name, operands))
        if dtype is np.float32 and name in ODD | EVEN:
            mirrored = np.empty_like(block)
            compiled[dtype](-block, mirrored)
            same = (-mirrored if name in ODD else mirrored).view(np.int32) == result.view(np.int32)
            accuracy.note_wrong([-block], mirrored, ~same & ~(np.isnan(mirrored) & np.isnan(result)))
    return accuracy


def sweep(name: str, flags: str = "", first: int = 0, last: int = 1 << 32) -> Accuracy:
    """All singles (or those of a range of bits), against the C library's function of doubles."""
    function = function_of(name, np.float32, flags)
    accuracy, mirror = Accuracy(name), name in ODD | EVEN
    result, mirrored = (np.empty(BLOCK, np.float32) for _ in range(2))
    exact, places = np.empty(BLOCK, np.float64), np.empty(BLOCK, np.int32)
    library = c_library()
    reference, differences = getattr(library, f"exact_{name}"), library.differences
    differences.restype = ctypes.c_int64
    size = ctypes.c_int64(BLOCK)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (result, exact, places)]
    for start in range(first, min(last, 1 << 31) if mirror else last, BLOCK):
        bits = np.arange(start, start + BLOCK, dtype=np.int64).astype(np.uint32)
        x = bits.view(np.float32)
        function(x, result)
        reference(ctypes.c_void_p(x.ctypes.data), pointers[1], size)
        found = differences(pointers[0], pointers[1], size, ctypes.c_double(accuracy.error), pointers[2])
        if found:
            at = places[:found]
            accuracy.add([x[at]], result[at], exact[at])
        if mirror:
            function((bits ^ np.uint32(1 << 31)).view(np.float32), mirrored)
            sign = np.uint32(1 << 31 if name in ODD else 0)
            same = (mirrored.view(np.uint32) ^ sign) == result.view(np.uint32)
            if not same.all():
                accuracy.note_wrong([-x], mirrored, ~same & ~(np.isnan(mirrored) & np.isnan(result)))
    return accuracy


def main() -> int:
    parser = argparse.ArgumentParser(description="the error of what expand-math writes")
    parser.add_argument("--every", type=int, default=1009)
    parser.add_argument("--doubles", type=int, default=10_000_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--flags", default="")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else [*REFERENCES]
    failed = False
    print("| function | f32 | worst at | f64 | worst at |\n|---|---|---|---|---|")
    for name in names:
        bound = REFERENCES[name][1]
        cells = [f"`{name}`"]
        for blocks in (singles(options.every, name), doubles(options.doubles)):
            whole = options.every == 1 and name in SWEPT and not cells[1:]
            accuracy = sweep(name, options.flags) if whole else measure(name, blocks, options.flags)
            cells += [f"{accuracy.error:.3f}", ", ".join(map(str, accuracy.worst))]
            if accuracy.wrong:
                cells[-1] += f" (wrong at {', '.join(map(str, accuracy.wrong))})"
            failed = failed or bool(accuracy.wrong) or (not options.flags and accuracy.error > bound)
        print(f"| {' | '.join(cells)} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
