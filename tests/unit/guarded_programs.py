"""The programs that tests/unit/guard_pages.py runs: every kind of vector kernel, by family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from nestor import nn

Arguments = Callable[[int, np.random.Generator], list[np.ndarray]]
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


@dataclass(eq=False)
class Program:
    """A function, its arguments for a size n, and how near to NumPy's its result is."""

    name: str
    function: Callable[..., Any]
    arguments: Arguments
    itemsize: int
    tolerance: float = 0.0
    layouts: Sequence[str] = ("contiguous",)
    laid_out: Sequence[int] = (0, 1)
    """Arguments that take the layout; the others are contiguous."""
    in_place: bool = False
    """The program writes its first argument and has no result."""
    sizes: Sequence[int] = ()
    """Sizes in place of those around the lanes."""
    pages: int = 16


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    low = -100 if dtype.kind == "i" else 0
    return rng.integers(low, 100, shape).astype(dtype)


def arrays(*shapes: str, dtype: Any = F32) -> Arguments:
    """Arrays whose extents are written with n: `arrays("n", "n,3")`."""

    def make(n: int, rng: np.random.Generator) -> list[np.ndarray]:
        return [numbers(rng, eval(f"({shape},)", {"n": n}), dtype) for shape in shapes]

    return make


# --- elementwise -----------------------------------------------------------------------------------------


def add(x, y):
    return x + y


def larger(x, y):
    return x > y


def chosen(x, y):
    return np.where(x > y, x, y - x)


def both(x, y):
    return (x > 0) & (y > 0)


def functions(x, y):
    return np.exp(-np.abs(x)) + np.sin(y) * np.tanh(x) + nn.erf(y)


def root(x):
    return np.sqrt(np.abs(x))


def widened(x):
    return x.astype(np.float64) * 0.5


def narrowed(x):
    return x.astype(np.int8)


def from_bytes(x):
    return x.astype(np.float32) + 1


def outer(x, y):
    return x[:, None] - y[None, :]


def broadcast(x, y):
    return x * y


def increased(x, y):
    x += y


def shifted(x, y):
    x[1:] = x[1:] * 2 + y[:-1]


ALL_LAYOUTS = ("contiguous", "step", "reversed")
_TYPES = [np.float64, np.float32, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8]


def _elementwise() -> list[Program]:
    result = []
    for dtype in map(np.dtype, _TYPES):
        layouts = ALL_LAYOUTS if dtype in (F32, F64, np.int8) else ("contiguous",)
        result.append(
            Program(f"add {dtype}", add, arrays("n", "n", dtype=dtype), dtype.itemsize, layouts=layouts)
        )
    for dtype in map(np.dtype, (np.float32, np.float64, np.int8, np.int64)):
        result.append(Program(f"larger {dtype}", larger, arrays("n", "n", dtype=dtype), dtype.itemsize))
        result.append(Program(f"chosen {dtype}", chosen, arrays("n", "n", dtype=dtype), dtype.itemsize))
    result += [
        Program("both", both, arrays("n", "n"), 4),
        Program("functions f32", functions, arrays("n", "n"), 4, 1e-6),
        Program("functions f64", functions, arrays("n", "n", dtype=F64), 8, 1e-14),
        Program("root", root, arrays("n"), 4, layouts=ALL_LAYOUTS),
        Program("widened", widened, arrays("n"), 4, layouts=ALL_LAYOUTS),
        Program("narrowed", narrowed, arrays("n", dtype=np.int32), 4, layouts=ALL_LAYOUTS),
        Program("from bytes", from_bytes, arrays("n", dtype=np.uint8), 1),
        Program("outer", outer, arrays("n", "n"), 4),
        Program("rows and a row", broadcast, arrays("3,n", "n"), 4),
        Program("columns and a column", broadcast, arrays("n,5", "n,1"), 4),
        Program("increased", increased, arrays("n", "n"), 4, layouts=ALL_LAYOUTS, in_place=True),
        Program(
            "increased f64", increased, arrays("n", "n", dtype=F64), 8, layouts=ALL_LAYOUTS, in_place=True
        ),
        Program("shifted", shifted, arrays("n", "n"), 4, in_place=True, laid_out=()),
        Program("rows at a step", add, arrays("3,n", "3,n"), 4, layouts=("step", "reversed", "columns")),
        # Larger than the caches: stores that pass them.
        Program("streamed", add, arrays("n", "n"), 4, sizes=(12_000_001,), pages=11_800),
    ]
    return result


# --- reductions and scans --------------------------------------------------------------------------------


def total(x):
    return np.sum(x)


def rows(x):
    return np.sum(x, axis=1)


def columns(x):
    return np.sum(x, axis=0)


def largest(x):
    return np.max(x, axis=-1)


def place_of_largest(x):
    return np.argmax(x, axis=-1)


def any_positive(x):
    return np.any(x > 0)


def count(x):
    return np.sum(x > 0, axis=0)


def variance(x):
    return np.var(x, axis=1)


def running(x):
    return np.cumsum(x)


def running_rows(x):
    return np.cumsum(x, axis=1)


def running_columns(x):
    return np.cumsum(x, axis=0)


def dot(x, y):
    return np.dot(x, y)


def _reductions() -> list[Program]:
    result = []
    for dtype in map(np.dtype, (np.float32, np.float64, np.int8, np.int32, np.int64)):
        near = {"f": 1e-5 if dtype == F32 else 1e-13}.get(dtype.kind, 0.0)
        for function, shape in ((total, "n"), (rows, "3,n"), (columns, "n,7"), (columns, "5,n")):
            result.append(
                Program(
                    f"{function.__name__} {shape} {dtype}",
                    function,
                    arrays(shape, dtype=dtype),
                    dtype.itemsize,
                    near,
                    ALL_LAYOUTS if function is total and dtype == F32 else ("contiguous",),
                )
            )
    result += [
        Program("largest", largest, arrays("3,n+1"), 4, layouts=ALL_LAYOUTS),
        Program("largest i8", largest, arrays("3,n+1", dtype=np.int8), 1),
        Program("place of largest", place_of_largest, arrays("3,n+1"), 4),
        Program("place of largest i8", place_of_largest, arrays("n+1", dtype=np.int8), 1),
        Program("any", any_positive, arrays("n"), 4),
        Program("count", count, arrays("n,3"), 4),
        Program("variance", variance, arrays("3,n+1"), 4, 1e-5),
        Program("dot", dot, arrays("n", "n"), 4, 1e-5, ALL_LAYOUTS),
    ]
    return result


def _scans() -> list[Program]:
    result = []
    for dtype in map(np.dtype, (np.float32, np.float64, np.int32, np.int64)):
        near = {"f": 1e-5 if dtype == F32 else 1e-13}.get(dtype.kind, 0.0)
        for function, shape in ((running, "n"), (running_rows, "3,n"), (running_columns, "n,5")):
            result.append(
                Program(
                    f"{function.__name__} {dtype}", function, arrays(shape, dtype=dtype), dtype.itemsize, near
                )
            )
    result.append(
        Program("running, long", running, arrays("n"), 4, 1e-5, sizes=(100_003, 300_001), pages=300)
    )
    return result


# --- products, convolutions, transposes ------------------------------------------------------------------


def product(a, b):
    return a @ b


def product_of_bytes(a, b):
    return np.matmul(a, b, dtype=np.int32)


def product_of_bytes_by_rows(a, b):
    return a.astype(np.int32) @ b.astype(np.int32).T


def product_of_transposed(a, b):
    return a @ b.T


def with_bias(a, b, c):
    return np.maximum(a @ b + c, 0)


def image(x, w):
    return nn.conv2d(x, w, padding=1)


def signal(x, w):
    return nn.conv1d(x, w)


def pooled(x):
    return nn.max_pool(x, (2, 2))


def blurred(x):
    return (x[:-2, 1:-1] + x[1:-1, :-2] + x[1:-1, 1:-1] + x[1:-1, 2:] + x[2:, 1:-1]) * 0.2


def turned(x):
    return np.ascontiguousarray(x.T)


def moved(x):
    return np.ascontiguousarray(np.transpose(x, (2, 0, 1)))


def _products() -> list[Program]:
    ragged = (1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 64, 67)
    result = []
    for dtype in map(np.dtype, (np.float32, np.float64)):
        near = 1e-5 if dtype == F32 else 1e-13
        for function, shapes in (
            (product, ("n,9", "9,n")),
            (product, ("7,n", "n,5")),
            (product, ("n,n", "n,n")),
            (product, ("2,n,5", "2,5,n")),
            (product, ("n,33", "33")),
            (product, ("33", "33,n")),
            (product_of_transposed, ("n,17", "n,17")),
            (with_bias, ("6,n", "n,19", "19")),
        ):
            result.append(
                Program(
                    f"{function.__name__} {' @ '.join(shapes)} {dtype}",
                    function,
                    arrays(*shapes, dtype=dtype),
                    dtype.itemsize,
                    near,
                    sizes=ragged,
                    pages=24,
                )
            )
    result += [
        Program("product of integers", product, arrays("n,9", "9,n", dtype=np.int32), 4, sizes=ragged),
        Program("bytes", product_of_bytes, arrays("n,67", "67,n", dtype=np.int8), 1, sizes=(17, 65, 100)),
        Program(
            "bytes of a transposed matrix",
            product_of_bytes_by_rows,
            arrays("n,67", "n,67", dtype=np.int8),
            1,
            sizes=(17, 65, 100),
        ),
        Program("large product", product, arrays("n,n", "n,n"), 4, 1e-4, sizes=(131,), pages=24),
        Program("image", image, arrays("2,3,n,n+2", "5,3,3,3"), 4, 1e-5, sizes=(1, 2, 3, 6, 8, 17), pages=24),
        Program("signal", signal, arrays("2,3,n+4", "5,3,5"), 4, 1e-5, sizes=ragged),
        Program("pooled", pooled, arrays("2,2,n+1,n+2"), 4, sizes=(1, 2, 7, 16, 33), pages=24),
        Program("blurred", blurred, arrays("n,n+3"), 4, 1e-6, sizes=(3, 4, 9, 16, 18, 35, 67), pages=24),
    ]
    return result


def _transposes() -> list[Program]:
    result = []
    for dtype in map(np.dtype, (np.float32, np.float64, np.int8, np.int16)):
        result.append(Program(f"turned n,5 {dtype}", turned, arrays("n,5", dtype=dtype), dtype.itemsize))
        result.append(Program(f"turned 9,n {dtype}", turned, arrays("9,n", dtype=dtype), dtype.itemsize))
    result += [
        Program("turned square", turned, arrays("n,n"), 4, pages=24),
        Program("turned at a step", turned, arrays("n,19"), 4, layouts=("step", "reversed")),
        Program("moved", moved, arrays("3,n,6"), 4),
        Program("turned, large", turned, arrays("n,n+7"), 4, sizes=(301,), pages=96),
    ]
    return result


# --- rows and gathers ------------------------------------------------------------------------------------


def softmax(x):
    return nn.softmax(x)


def log_softmax(x):
    return nn.log_softmax(x)


def layer_norm(x, scale, shift):
    return nn.layer_norm(x, scale, shift)


def attention(q, k, v):
    return nn.attention(q, k, v)


def picked(x, places):
    return x[places]


def picked_rows(x, places):
    return x[places]


def scattered(x, places):
    for k in range(places.shape[0]):
        x[places[k]] += 1


def smoothed(x, y):
    for i in range(1, x.shape[0]):
        x[i] = x[i - 1] * 0.5 + y[i]


def kept(x):
    return np.where(x > 0, x, 0).sum(axis=0)


def _with_places(shape: str, dtype: Any = F32) -> Arguments:
    def make(n: int, rng: np.random.Generator) -> list[np.ndarray]:
        values = numbers(rng, eval(f"({shape},)", {"n": n + 1}), dtype)
        return [values, rng.integers(-len(values), len(values), n)]

    return make


def _rows() -> list[Program]:
    return [
        Program("softmax", softmax, arrays("3,n+1"), 4, 1e-5),
        Program("softmax f64", softmax, arrays("3,n+1", dtype=F64), 8, 1e-13),
        Program("softmax of columns", softmax, arrays("3,n+1"), 4, 1e-5, layouts=("step", "columns")),
        Program("log softmax", log_softmax, arrays("3,n+1"), 4, 1e-5),
        Program("layer norm", layer_norm, arrays("3,n+1", "n+1", "n+1"), 4, 1e-4),
        Program("attention", attention, arrays("2,n,9", "2,n,9", "2,n,9"), 4, 1e-5, sizes=(1, 2, 7, 16, 33)),
        Program("kept", kept, arrays("n,3"), 4, 1e-5),
        Program("picked", picked, _with_places("n"), 4),
        Program("picked f64", picked, _with_places("n", F64), 8),
        Program("picked i8", picked, _with_places("n", np.int8), 1),
        Program("picked rows", picked_rows, _with_places("n,5"), 4),
        Program("scattered", scattered, _with_places("n"), 4, in_place=True, laid_out=()),
        Program("smoothed", smoothed, arrays("n", "n"), 4, 1e-6, in_place=True, laid_out=()),
    ]


FAMILIES: dict[str, list[Program]] = {
    "elementwise": _elementwise(),
    "reductions": _reductions(),
    "scans": _scans(),
    "products": _products(),
    "transposes": _transposes(),
    "rows": _rows(),
}
