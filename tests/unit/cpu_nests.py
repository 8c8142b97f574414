"""Loop nests as the tensor level hands them on, not scheduled: shared by the tests of nest-schedule-cpu."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Arguments = list[Any]


@dataclass(frozen=True)
class Nest:
    """A function `@f`, its arguments, what NumPy computes (by position), and the marks expected (`i_j.o parallel`)."""

    text: str
    arguments: Callable[[np.random.Generator], Arguments]
    expected: Callable[..., dict[int, np.ndarray]]
    marks: Sequence[str]
    rtol: float = 0.0


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.random(shape).astype(np.float32) + np.float32(0.5)


def _iou_text(shape: Sequence[int | str], layout: str = "") -> str:
    boxes = [f"{field}{k}" for k in (1, 2) for field in "xywh"]
    dims = "[" + ", ".join(f'"d{k}"' if n == "?" else str(n) for k, n in enumerate(shape)) + "]"
    extents = "x".join(map(str, shape))
    box, out = f"memref<{extents}xf32{layout}>", f"memref<{extents}xf32>"
    arguments = ", ".join(f"%{name}: {box} {{nest.dims = {dims}}}" for name in boxes)
    loads = "\n".join(f"%{name}_v = nest.load %{name}[%i, %j] : {box}" for name in boxes)
    n, m = (f"%n{k}" if extent == "?" else str(extent) for k, extent in enumerate(shape))
    return f"""
func.func @f({arguments}, %out: {out} {{nest.role = "out", nest.dims = {dims}}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %eps = arith.constant 1.0e-5 : f32
  %zero = arith.constant 0.0 : f32
  %n0 = memref.dim %x1, %c0 : {box}
  %n1 = memref.dim %x1, %c1 : {box}
  nest.for "i" %i = 0 to {n} {{
    nest.for "j" %j = 0 to {m} {{
      {loads}
      %xi = arith.maximumf %x1_v, %x2_v : f32
      %yi = arith.maximumf %y1_v, %y2_v : f32
      %r1 = arith.addf %x1_v, %w1_v : f32
      %r2 = arith.addf %x2_v, %w2_v : f32
      %b1 = arith.addf %y1_v, %h1_v : f32
      %b2 = arith.addf %y2_v, %h2_v : f32
      %right = arith.minimumf %r1, %r2 : f32
      %bottom = arith.minimumf %b1, %b2 : f32
      %w = arith.subf %right, %xi : f32
      %h = arith.subf %bottom, %yi : f32
      %wi = arith.maximumf %w, %zero : f32
      %hi = arith.maximumf %h, %zero : f32
      %inter = arith.mulf %wi, %hi : f32
      %area1 = arith.mulf %w1_v, %h1_v : f32
      %area2 = arith.mulf %w2_v, %h2_v : f32
      %areas = arith.addf %area1, %area2 : f32
      %union = arith.subf %areas, %inter : f32
      %safe = arith.addf %union, %eps : f32
      %iou = arith.divf %inter, %safe : f32
      nest.store "iou" %iou, %out[%i, %j] : {out}
    }}
  }}
  func.return
}}"""


def _iou(x1, y1, w1, h1, x2, y2, w2, h2, out) -> dict[int, np.ndarray]:
    w = np.maximum(np.minimum(x1 + w1, x2 + w2) - np.maximum(x1, x2), np.float32(0))
    h = np.maximum(np.minimum(y1 + h1, y2 + h2) - np.maximum(y1, y2), np.float32(0))
    inter = w * h
    return {8: inter / (w1 * h1 + w2 * h2 - inter + np.float32(1e-5))}


def _boxes(*shape: int) -> Callable[[np.random.Generator], Arguments]:
    return lambda rng: [*(floats(rng, *shape) for _ in range(8)), np.zeros(shape, np.float32)]


def _columns_of_tables(rng: np.random.Generator) -> Arguments:
    table = floats(rng, 3, 77, 8)
    return [*(table[..., k] for k in range(8)), np.zeros((3, 77), np.float32)]


IOU_STATIC = Nest(
    _iou_text([99, 99]), _boxes(99, 99), _iou, ["i_j.o parallel", "i_j.i vectorized", "i_j.t vectorized"]
)
IOU_SMALL = Nest(_iou_text([7, 37]), _boxes(7, 37), _iou, ["i_j.i vectorized", "i_j.t vectorized"])
IOU_DYNAMIC = Nest(
    _iou_text(["?", "?"]), _boxes(5, 29), _iou, ["i_j.o parallel", "i_j.i vectorized", "i_j.t vectorized"]
)
IOU_STRIDED = Nest(
    _iou_text(["?", "?"], ", strided<[?, ?]>"),
    _columns_of_tables,
    _iou,
    ["i parallel"],
)

_ROWS = """
func.func @f(%x: memref<?x?xf32> {nest.dims = ["n", "m"]}, %y: memref<?x?xf32> {nest.role = "out", nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    %top = nest.alloc "top" : memref<f32>
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "top" %lowest, %top[] : memref<f32>
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      nest.accumulate "top" maximum %a, %top[] : memref<f32>
    }
    nest.store "sum" %zero, %sum[] : memref<f32>
    nest.for "k" %k = 0 to %m {
      %a = nest.load %x[%i, %k] : memref<?x?xf32>
      %t = nest.load %top[] : memref<f32>
      %d = arith.subf %a, %t : f32
      %e = math.exp %d : f32
      nest.store "y" %e, %y[%i, %k] : memref<?x?xf32>
      nest.accumulate "sum" add %e, %sum[] : memref<f32>
    }
    nest.for "l" %l = 0 to %m {
      %e = nest.load %y[%i, %l] : memref<?x?xf32>
      %s = nest.load %sum[] : memref<f32>
      %q = arith.divf %e, %s : f32
      nest.store "y" %q, %y[%i, %l] : memref<?x?xf32>
    }
  }
  func.return
}"""


def _softmax(x: np.ndarray, y: np.ndarray) -> dict[int, np.ndarray]:
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return {1: e / e.sum(axis=1, keepdims=True)}


SOFTMAX = Nest(
    _ROWS,
    lambda rng: [floats(rng, 3, 77), np.zeros((3, 77), np.float32)],
    _softmax,
    ["i parallel", "j.i vectorized", "j.t vectorized", "k.i vectorized", "l.i vectorized"],
    rtol=1e-6,
)
SOFTMAX_SHORT_ROWS = Nest(
    _ROWS,
    lambda rng: [floats(rng, 2, 3), np.zeros((2, 3), np.float32)],
    _softmax,
    ["i parallel"],
    rtol=1e-6,
)


def _row_sums_text(n: str, m: str) -> str:
    return f"""
func.func @f(%x: memref<{n}x{m}xf32>, %s: memref<{n}xf32> {{nest.role = "out"}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<{n}x{m}xf32>
  %m = memref.dim %x, %c1 : memref<{n}x{m}xf32>
  nest.for "i" %i = 0 to {"%n" if n == "?" else n} {{
    nest.store "s" %zero, %s[%i] : memref<{n}xf32>
    nest.for "j" %j = 0 to {"%m" if m == "?" else m} {{
      %a = nest.load %x[%i, %j] : memref<{n}x{m}xf32>
      nest.accumulate "s" add %a, %s[%i] : memref<{n}xf32>
    }}
  }}
  func.return
}}"""


def _row_sums(x: np.ndarray, s: np.ndarray) -> dict[int, np.ndarray]:
    return {1: x.sum(axis=1, dtype=np.float64)}


ROW_SUMS_STATIC = Nest(
    _row_sums_text("3", "100"),
    lambda rng: [floats(rng, 3, 100), np.zeros(3, np.float32)],
    _row_sums,
    ["j.i vectorized", "j.i.init vectorized", "j.i.combine vectorized", "j.t vectorized"],
    rtol=1e-6,
)
ROW_SUMS_DYNAMIC = Nest(
    _row_sums_text("?", "?"),
    lambda rng: [floats(rng, 2, 4133), np.zeros(2, np.float32)],
    _row_sums,
    [
        "i parallel",
        "j.i vectorized",
        "j.i.combine vectorized",
        "j.i.combine.combine vectorized",
        "j.t vectorized",
    ],
    rtol=1e-6,
)

WHOLE_SUM = Nest(
    """
func.func @f(%x: memref<?x?xf32>, %s: memref<f32> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  nest.store "s" %zero, %s[] : memref<f32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
  }
  func.return
}""",
    lambda rng: [floats(rng, 7, 61), np.zeros((), np.float32)],
    lambda x, s: {1: x.sum(dtype=np.float64)},
    ["i_j.1.o.p parallel", "i_j.i vectorized", "i_j.t vectorized"],
    rtol=1e-6,
)

COLUMN_SUMS = Nest(
    """
func.func @f(%x: memref<?x?xf32>, %s: memref<?xf32> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  nest.for "j" %j = 0 to %m {
    nest.store "s" %zero, %s[%j] : memref<?xf32>
    nest.for "i" %i = 0 to %n {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      nest.accumulate "s" add %a, %s[%j] : memref<?xf32>
    }
  }
  func.return
}""",
    lambda rng: [floats(rng, 9, 83), np.zeros(83, np.float32)],
    lambda x, s: {1: x.sum(axis=0, dtype=np.float64)},
    ["j.o parallel", "j.i vectorized", "j.t vectorized"],
    rtol=1e-6,
)

COLUMN_SUMS_IN_PLACE = Nest(
    """
func.func @f(%x: memref<?x?xf64> {nest.dims = ["n", "m"]}, %s: memref<?xf64> {nest.role = "inout", nest.dims = ["m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf64>
      nest.accumulate "s" add %a, %s[%j] : memref<?xf64>
    }
  }
  func.return
}""",
    lambda rng: [rng.random((9, 41)), np.ones(41)],
    lambda x, s: {1: x.sum(axis=0) + 1},
    ["i.1.p parallel", "j.o parallel", "j.i.i vectorized", "j.t.i vectorized"],
    rtol=1e-14,
)

MATMUL = Nest(
    """
func.func @f(%x: memref<?x?xf32> {nest.dims = ["n", "p"]}, %w: memref<?x?xf32> {nest.dims = ["p", "m"]},
             %y: memref<?x?xf32> {nest.role = "out", nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %p = memref.dim %x, %c1 : memref<?x?xf32>
  %m = memref.dim %w, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      nest.store "y" %zero, %y[%i, %j] : memref<?x?xf32>
      nest.for "k" %k = 0 to %p {
        %a = nest.load %x[%i, %k] : memref<?x?xf32>
        %b = nest.load %w[%k, %j] : memref<?x?xf32>
        %c = arith.mulf %a, %b : f32
        nest.accumulate "y" add %c, %y[%i, %j] : memref<?x?xf32>
      }
    }
  }
  func.return
}""",
    lambda rng: [floats(rng, 5, 9), floats(rng, 9, 71), np.zeros((5, 71), np.float32)],
    lambda x, w, y: {2: x.astype(np.float64) @ w},
    ["i parallel", "j.i vectorized", "j.t vectorized"],
    rtol=1e-6,
)

GAUSS_SEIDEL = Nest(
    """
func.func @f(%t: index, %a: memref<?x?xf64> {nest.role = "inout"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %quarter = arith.constant 0.25 : f64
  %n = memref.dim %a, %c0 : memref<?x?xf64>
  %m = memref.dim %a, %c1 : memref<?x?xf64>
  nest.for "t" %s = 0 to %t {
    nest.for "i" %i = 1 to %n - 1 {
      nest.for "j" %j = 1 to %m - 1 {
        %p = nest.load %a[%i - 1, %j] : memref<?x?xf64>
        %q = nest.load %a[%i, %j - 1] : memref<?x?xf64>
        %r = nest.load %a[%i + 1, %j] : memref<?x?xf64>
        %u = nest.load %a[%i, %j + 1] : memref<?x?xf64>
        %v = arith.addf %p, %q : f64
        %w = arith.addf %v, %r : f64
        %x = arith.addf %w, %u : f64
        %y = arith.mulf %x, %quarter : f64
        nest.store "a" %y, %a[%i, %j] : memref<?x?xf64>
      }
    }
  }
  func.return
}""",
    lambda rng: [3, rng.standard_normal((6, 9))],
    lambda t, a: {1: _gauss_seidel(t, a.copy())},
    [],
)


def _gauss_seidel(steps: int, a: np.ndarray) -> np.ndarray:
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i + 1, j] + a[i, j + 1]) * 0.25
    return a


def _copy_text(layout: str = "", indices: str = "%j, %i") -> str:
    return f"""
func.func @f(%x: memref<?x?xf32{layout}> {{nest.dims = ["m", "n"]}},
             %y: memref<?x?xf32> {{nest.role = "out", nest.dims = ["n", "m"]}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %y, %c0 : memref<?x?xf32>
  %m = memref.dim %y, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {{
    nest.for "j" %j = 0 to %m {{
      %a = nest.load %x[{indices}] : memref<?x?xf32{layout}>
      nest.store "y" %a, %y[%i, %j] : memref<?x?xf32>
    }}
  }}
  func.return
}}"""


TRANSPOSE = Nest(
    _copy_text(),
    lambda rng: [floats(rng, 37, 45), np.zeros((45, 37), np.float32)],
    lambda x, y: {1: x.T},
    ["j.o parallel", "i.i.i unrolled", "j.i.i vectorized"],
)

BIAS = Nest(
    """
func.func @f(%x: memref<?x?xf32> {nest.dims = ["n", "m"]}, %b: memref<?xf32> {nest.dims = ["m"]},
             %y: memref<?x?xf32> {nest.role = "out", nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  nest.for "j" %j = 0 to %m {
    nest.for "i" %i = 0 to %n {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      %c = nest.load %b[%j] : memref<?xf32>
      %d = arith.addf %a, %c : f32
      nest.store "y" %d, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}""",
    lambda rng: [floats(rng, 5, 70), floats(rng, 70), np.zeros((5, 70), np.float32)],
    lambda x, b, y: {2: x + b},
    ["i parallel", "j.i vectorized", "j.t vectorized"],
)

MIXED_TYPES = Nest(
    """
func.func @f(%x: memref<150xi8>, %y: memref<150xf64> {nest.role = "out"}, %p: memref<150xi8> {nest.role = "out"}) {
  %one = arith.constant 1.5 : f64
  %yes = arith.constant 1 : i8
  %no = arith.constant 0 : i8
  nest.for "i" %i = 0 to 150 {
    %a = nest.load %x[%i] : memref<150xi8>
    %b = arith.sitofp %a : i8 to f64
    %c = arith.mulf %b, %one : f64
    nest.store "y" %c, %y[%i] : memref<150xf64>
    %m = arith.cmpf ogt, %c, %one : f64
    %q = arith.select %m, %yes, %no : i8
    nest.store "p" %q, %p[%i] : memref<150xi8>
  }
  func.return
}""",
    lambda rng: [rng.integers(-9, 9, 150).astype(np.int8), np.zeros(150), np.zeros(150, np.int8)],
    lambda x, y, p: {1: x * 1.5, 2: (x * 1.5 > 1.5).astype(np.int8)},
    ["i.i vectorized", "i.t vectorized"],
)

DIAGONAL = Nest(
    """
func.func @f(%x: memref<?x?xf32>, %y: memref<?xf32> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i, %i] : memref<?x?xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  func.return
}""",
    lambda rng: [floats(rng, 19, 19), np.zeros(19, np.float32)],
    lambda x, y: {1: np.diagonal(x)},
    ["i parallel"],
)

CONVOLUTION = Nest(
    """
func.func @f(%x: memref<2x3x9x20xf32>, %w: memref<37x3x3x3xf32>, %y: memref<2x37x9x20xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %p = nest.alloc "p" : memref<2x3x11x22xf32>
  nest.for "b" %b = 0 to 2 {
    nest.for "c" %c = 0 to 3 {
      nest.for "i" %i = 0 to 11 {
        nest.for "j" %j = 0 to 22 {
          nest.store "p" %zero, %p[%b, %c, %i, %j] : memref<2x3x11x22xf32>
          %e = nest.load %x[%b, %c, %i - 1, %j - 1] : memref<2x3x9x20xf32>
          nest.store "p" %e, %p[%b, %c, %i, %j] where (%i >= 1, %i < 10, %j >= 1, %j < 21) : memref<2x3x11x22xf32>
        }
      }
    }
  }
  %t = nest.alloc "t" : memref<2x9x20x37xf32>
  nest.for "b.0" %b = 0 to 2 {
    nest.for "i.0" %i = 0 to 9 {
      nest.for "j.0" %j = 0 to 20 {
        nest.for "k.0" %k = 0 to 37 {
          nest.store "t" %zero, %t[%b, %i, %j, %k] : memref<2x9x20x37xf32>
        }
      }
    }
  }
  nest.for "b.1" %b = 0 to 2 {
    nest.for "i.1" %i = 0 to 9 {
      nest.for "j.1" %j = 0 to 20 {
        nest.for "k.1" %k = 0 to 37 {
          nest.for "c.1" %c = 0 to 3 {
            nest.for "u" %u = 0 to 3 {
              nest.for "v" %v = 0 to 3 {
                %e = nest.load %p[%b, %c, %i + %u, %j + %v] : memref<2x3x11x22xf32>
                %f = nest.load %w[%k, %c, %u, %v] : memref<37x3x3x3xf32>
                %g = arith.mulf %e, %f : f32
                nest.accumulate "t" add %g, %t[%b, %i, %j, %k] : memref<2x9x20x37xf32>
              }
            }
          }
        }
      }
    }
  }
  nest.for "b.2" %b = 0 to 2 {
    nest.for "k.3" %k = 0 to 37 {
      nest.for "i.3" %i = 0 to 9 {
        nest.for "j.3" %j = 0 to 20 {
          %e = nest.load %t[%b, %i, %j, %k] : memref<2x9x20x37xf32>
          nest.store "y" %e, %y[%b, %k, %i, %j] : memref<2x37x9x20xf32>
        }
      }
    }
  }
  func.return
}""",
    lambda rng: [floats(rng, 2, 3, 9, 20), floats(rng, 37, 3, 3, 3), np.zeros((2, 37, 9, 20), np.float32)],
    lambda x, w, y: {2: _convolved(x, w)},
    ["b.2_i.3.o parallel", "j.1.i.at unrolled", "k.1.i.at vectorized"],
    rtol=1e-5,
)


def _convolved(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))).astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("bcijuv,kcuv->bkij", windows, w.astype(np.float64))


NESTS = {
    name.lower().replace("_", "-"): nest for name, nest in globals().copy().items() if isinstance(nest, Nest)
}
