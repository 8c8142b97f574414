"""Sums in register tiles: full tiles and edges compute the same, sums stay in registers, their products are fused."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from cpu_kernels import Kernel
from nestor.dialects.registry import make_context
from nestor.lowering.nest_to_scf.convert import ConvertNestToScfPass
from nestor.runtime.cpu.llvm_machine import host
from nestor.runtime.interp.run import run_nest
from parsed import parse_module

from benchmarks.matmul import SCHEDULE, scheduled

MATMUL = scheduled(SCHEDULE)


def compiled(text: str) -> Kernel:
    module = parse_module(text)
    ConvertNestToScfPass().apply(make_context(), module)
    return Kernel(str(module))


@pytest.fixture(scope="module")
def matmul() -> Kernel:
    return compiled(MATMUL)


def integers(*shape: int) -> np.ndarray:
    """Small integers as f32: sums of their products are exact in any order."""
    return np.random.default_rng(sum(shape)).integers(-8, 9, shape).astype(np.float32)


SHAPES = [
    (6, 64, 512),  # one full tile
    (12, 128, 1024),
    (5, 63, 3),
    (7, 65, 513),
    (1, 1, 1),
    (151, 130, 40),  # more rows than a block of 144
    (3, 4, 0),
    (0, 3, 2),
    (3, 0, 2),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_products_of_any_shape(matmul: Kernel, shape: tuple[int, int, int]):
    m, n, k = shape
    a, b, c = integers(m, k), integers(k, n), np.full((m, n), np.nan, np.float32)
    assert matmul(a, b, c)[0] == 0
    np.testing.assert_array_equal(c, a @ b)


def test_the_interpreter_agrees():
    a, b, c = integers(7, 5), integers(5, 65), np.full((7, 65), np.nan, np.float32)
    run_nest(next(iter(parse_module(MATMUL).ops)), [a, b, c])
    np.testing.assert_array_equal(c, a @ b)


def inner_loops(assembly: str) -> list[str]:
    """The basic blocks that end with a jump to their own start."""
    blocks = re.split(r"^(\.LBB\w+):", assembly, flags=re.MULTILINE)[1:]
    pairs = zip(blocks[::2], blocks[1::2], strict=True)
    return [text for label, text in pairs if re.search(rf"\tj\w+\t{re.escape(label)}$", text, re.MULTILINE)]


def test_sums_stay_in_registers(matmul: Kernel):
    features = host()[1].split(",")
    if "+avx512f" not in features:
        pytest.skip("the tile of 6 x 64 is made for the 32 registers of AVX-512")
    fused = {text.count("vfmadd"): text for text in inner_loops(matmul.module.assembly) if "vfmadd" in text}
    assert list(fused) == [24]
    (loop,) = fused.values()
    for text in ("%rsp", "%rbp)", "vmulps", "vaddps"):
        assert text not in loop
    assert len(re.findall(r"vmov[au]ps\t\d*\(", loop)) == 4 and loop.count("vbroadcastss") == 6


def test_an_elementwise_use_of_a_fused_product_is_rounded():
    kernel = compiled("""
    func.func @f(%x: memref<?xf32>, %z: memref<?xf32>, %s: memref<16xf32>) {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      nest.for "i" %i = 0 to %n floordiv 16 {
        nest.for "v" %v = 0 to 16 vectorized(16) {
          %a = nest.load %x[16 * %i + %v] : memref<?xf32>
          %p = arith.mulf %a, %a : f32
          %q = arith.addf %p, %a : f32
          nest.store "z" %q, %z[16 * %i + %v] : memref<?xf32>
          nest.accumulate "s" add %p, %s[%v] : memref<16xf32>
        }
      }
      func.return
    }""")
    x = np.random.default_rng(2).standard_normal(1600).astype(np.float32)
    z, s = np.empty_like(x), np.zeros(16, np.float32)
    assert kernel(x, z, s)[0] == 0
    np.testing.assert_array_equal(z, x * x + x)
    np.testing.assert_allclose(s, (x.astype(np.float64) ** 2).reshape(-1, 16).sum(axis=0), rtol=1e-5)


# Tiles whose domains move in other ways than a matrix product's: each is run whole, at its edge and empty.
TILES = {
    "falling": """
      nest.for "i" %i = 0 to %n ceildiv 4 {
        nest.for "k" %k = 0 to 5 {
          nest.for "r" %r = 0 to 4 unrolled {
            %a = nest.load %x[%n - 1 - 4 * %i - %r] : memref<?xi64>
            nest.accumulate "y" add %a, %y[%n - 1 - 4 * %i - %r] where (%n - 1 - 4 * %i - %r >= 0) : memref<?xi64>
          }
        }
      }""",
    "steps": """
      nest.for "i" %i = 0 to %n step 6 {
        nest.for "k" %k = 2 to 9 step 3 {
          nest.for "r" %r = 1 to 6 step 2 unrolled {
            %a = nest.load %x[%i + %r] : memref<?xi64>
            nest.accumulate "y" add %a, %y[%i + %r] where (%i + %r < %n) : memref<?xi64>
          }
        }
      }""",
    "triangle": """
      nest.for "i" %i = 0 to %n ceildiv 8 {
        nest.for "k" %k = 0 to %i + 1 {
          nest.for "r" %r = 0 to 2 unrolled {
            nest.for "v" %v = 0 to 4 vectorized(4) {
              %a = nest.load %x[8 * %i + 4 * %r + %v] : memref<?xi64>
              nest.accumulate "y" add %a, %y[8 * %i + 4 * %r + %v] where (8 * %i + 4 * %r + %v < %n) : memref<?xi64>
            }
          }
        }
      }""",
    "short lanes": """
      nest.for "i" %i = 0 to %n ceildiv 8 {
        nest.for "k" %k = 0 to 3 {
          nest.for "v" %v = 0 to min(8, %n - 8 * %i) vectorized(8) {
            %a = nest.load %x[8 * %i + %v] : memref<?xi64>
            nest.accumulate "y" add %a, %y[8 * %i + %v] where (8 * %i + %v < %n - 2) : memref<?xi64>
          }
        }
      }""",
    "bounds": """
      nest.for "i" %i = 0 to %n ceildiv 8 {
        nest.for "k" %k = 0 to 3 {
          nest.for "r" %r = 0 to min(2, (%n - 8 * %i) ceildiv 4) unrolled {
            nest.for "v" %v = 0 to min(4, %n - 8 * %i - 4 * %r) vectorized(4) {
              %a = nest.load %x[8 * %i + 4 * %r + %v] : memref<?xi64>
              nest.accumulate "y" add %a, %y[8 * %i + 4 * %r + %v] : memref<?xi64>
            }
          }
        }
      }""",
    "settled": """
      nest.for "i" %i = 0 to %n ceildiv 3 {
        %t = nest.alloc "t" : memref<3xi64>
        nest.for "z" %z = 0 to 3 unrolled {
          nest.store "t" %zero, %t[%z] : memref<3xi64>
        }
        nest.for "k" %k = 0 to 4 {
          nest.for "r" %r = 0 to 3 unrolled {
            %a = nest.load %x[3 * %i + %r] : memref<?xi64>
            nest.accumulate "t" add %a, %t[%r] where (3 * %i + %r < %n) : memref<3xi64>
          }
        }
        nest.for "b" %b = 0 to min(3, %n - 3 * %i) unrolled {
          %a = nest.load %t[%b] : memref<3xi64>
          nest.store "y" %a, %y[3 * %i + %b] where (3 * %i + %b < %n - 1) : memref<?xi64>
        }
      }""",
    "local sums": """
      nest.for "i" %i = 0 to %n ceildiv 8 parallel {
        %t = nest.alloc "t" : memref<8xi64>
        nest.for "v" %v = 0 to 8 vectorized(8) {
          nest.store "t" %zero, %t[%v] where (8 * %i + %v < %n) : memref<8xi64>
        }
        nest.for "k" %k = 0 to 4 {
          nest.for "v.1" %v = 0 to 8 vectorized(8) {
            %a = nest.load %x[8 * %i + %v] : memref<?xi64>
            nest.accumulate "t" add %a, %t[%v] where (8 * %i + %v < %n) : memref<8xi64>
          }
        }
        nest.for "v.2" %v = 0 to 8 vectorized(8) {
          %a = nest.load %t[%v] : memref<8xi64>
          nest.store "y" %a, %y[8 * %i + %v] where (8 * %i + %v < %n) : memref<?xi64>
        }
      }""",
}


@pytest.mark.parametrize("name", TILES)
def test_full_tiles_and_edges_agree_with_the_interpreter(name: str):
    text = f"""
    func.func @f(%x: memref<?xi64> {{nest.dims = ["n"]}}, %y: memref<?xi64> {{nest.dims = ["n"]}}) {{
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0 : i64
      %n = memref.dim %x, %c0 : memref<?xi64>
      {TILES[name]}
      func.return
    }}"""
    run: Callable = compiled(text)
    for n in (0, 1, 2, 7, 8, 9, 24, 29):
        x, expected = np.arange(n) + 1, np.arange(n) * 100
        y = expected.copy()
        run_nest(next(iter(parse_module(text).ops)), [x, expected])
        assert run(x, y)[0] == 0
        np.testing.assert_array_equal(y, expected)
