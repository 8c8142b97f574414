"""Products of bfloat16 two terms a step: scheduled nests mean the product in the interpreter, on any machine."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from nestor.dialects.attributes import BF16_PAIRS
from nestor.dialects.parse import parse_module
from nestor.dialects.registry import make_context
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.schedulers.cpu.schedule_cpu import NestScheduleCpuPass

BF16 = np.dtype(ml_dtypes.bfloat16)


def text(m: int, n: int, k: int, layout: str, *, known: bool) -> str:
    """A product as the tensor level hands it on; `layout` says which operands are transposed."""
    own = (lambda *shape: "x".join(map(str, shape))) if known else lambda *shape: "x".join("?" for _ in shape)
    left, right = (k, m) if "a" in layout else (m, k), (n, k) if "b" in layout else (k, n)
    a, b, c = own(*left), own(*right), own(m, n)
    at_a, at_b = "%k, %i" if "a" in layout else "%i, %k", "%j, %k" if "b" in layout else "%k, %j"
    extents = {"m": (m, "a", left.index(m)), "k": (k, "a", left.index(k)), "n": (n, "b", right.index(n))}
    dims = "".join(
        f"  %d{name} = arith.constant {axis} : index\n  %n{name} = memref.dim %{buffer}, %d{name} : memref<"
        f"{a if buffer == 'a' else b}xbf16>\n"
        for name, (_, buffer, axis) in extents.items()
    )
    ends = {name: f"%n{name}" if not known else str(n) for name, (n, _, _) in extents.items()}
    return f"""
func.func @f(%a: memref<{a}xbf16>, %b: memref<{b}xbf16>, %c: memref<{c}xf32> {{nest.role = "out"}}) {{
  %zero = arith.constant 0.0 : f32
{dims if not known else ""}
  nest.for "i" %i = 0 to {ends["m"]} {{
    nest.for "j" %j = 0 to {ends["n"]} {{
      nest.store "c" %zero, %c[%i, %j] : memref<{c}xf32>
    }}
  }}
  nest.for "i.1" %i = 0 to {ends["m"]} {{
    nest.for "j.1" %j = 0 to {ends["n"]} {{
      nest.for "k" %k = 0 to {ends["k"]} {{
        %0 = nest.load %a[{at_a}] : memref<{a}xbf16>
        %1 = nest.load %b[{at_b}] : memref<{b}xbf16>
        %2 = arith.extf %0 : bf16 to f32
        %3 = arith.extf %1 : bf16 to f32
        %4 = arith.mulf %2, %3 : f32
        nest.accumulate "c" add %4, %c[%i, %j] : memref<{c}xf32>
      }}
    }}
  }}
  func.return
}}
"""


def numbers(seed: int, *shape: int) -> np.ndarray:
    """Small integers: their sums are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(BF16)


CASES = [
    ((15, 33, 8), "", True),
    ((9, 8, 11), "a", True),
    ((14, 20, 9), "b", True),
    ((9, 34, 13), "ab", True),
]
"""Small ones: the interpreter takes microseconds for each product."""


@pytest.mark.parametrize(
    ("shape", "layout", "known"), [*CASES, ((15, 33, 9), "", False), ((8, 9, 8), "b", False)], ids=str
)
def test_the_interpreter_finds_a_product(shape, layout, known):
    m, n, k = shape
    module = parse_module(text(m, n, k, layout, known=known))
    NestScheduleCpuPass(bf16=True).apply(make_context(), module)
    verify(module)
    assert any(BF16_PAIRS in op.attributes for op in module.walk())
    a = numbers(0, *((k, m) if "a" in layout else (m, k)))
    b = numbers(1, *((n, k) if "b" in layout else (k, n)))
    left, right = a.astype("f4"), b.astype("f4")
    expected = (left.T if "a" in layout else left) @ (right.T if "b" in layout else right)
    for mode in ("program", "shuffled"):
        c = np.full((m, n), -1, np.float32)
        run_nest(next(iter(module.ops)), [a, b, c], mode=mode)  # pyright: ignore[reportArgumentType]
        np.testing.assert_array_equal(c, expected)


def test_there_are_none_without_the_instruction():
    for options in ({}, {"bf16": False, "machine": "zen4"}):
        module = parse_module(text(64, 64, 64, "", known=True))
        NestScheduleCpuPass(**options).apply(make_context(), module)
        assert not any(BF16_PAIRS in op.attributes for op in module.walk())
