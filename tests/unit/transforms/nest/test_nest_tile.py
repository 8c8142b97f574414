"""Tiled nests compute what they did, for every tail; what is not permutable is refused before anything changes."""

import numpy as np
import pytest
from cpu_nests import GAUSS_SEIDEL, MATMUL, NESTS
from nestor.analysis.nest.loop_structure import find_loop, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.skew import skew
from nestor.transforms.nest.loops.tile import tile
from parsed import parse_module

TAILS = ("mask", "clamp", "remainder")

MATMUL_INTO = """
func.func @f(%x: memref<?x?xi64>, %w: memref<?x?xi64>, %y: memref<?x?xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xi64>
  %p = memref.dim %x, %c1 : memref<?x?xi64>
  %m = memref.dim %w, %c1 : memref<?x?xi64>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      nest.for "k" %k = 0 to %p {
        %a = nest.load %x[%i, %k] : memref<?x?xi64>
        %b = nest.load %w[%k, %j] : memref<?x?xi64>
        %c = arith.muli %a, %b : i64
        nest.accumulate "y" add %c, %y[%i, %j] : memref<?x?xi64>
      }
    }
  }
  func.return
}"""

TRIANGULAR = """
func.func @f(%n: index, %x: memref<?x?xi64>, %y: memref<?x?xi64>) {
  nest.for "i" %i = 1 to %n {
    nest.for "j" %j = 0 to %i {
      %a = nest.load %x[%i, %j] : memref<?x?xi64>
      nest.store "y" %a, %y[%j, %i] : memref<?x?xi64>
    }
  }
  func.return
}"""


def loops_of(module, names):
    return [find_loop(module, name) for name in names]


def run(module, arguments, mode="program"):
    verify(module)
    run_nest(next(iter(module.ops)), arguments, mode=mode)  # pyright: ignore[reportArgumentType]
    return arguments


def numbers(*shape):
    return np.random.default_rng(1).integers(-9, 9, shape)


@pytest.mark.parametrize("tail", TAILS)
def test_matmul(tail):
    module = parse_module(MATMUL_INTO)
    tiled = tile(loops_of(module, "ijk"), [4, 3, 2], tail)
    assert [loop.label for loop in tiled] == ["i.o", "j.o", "k.o", "i.i", "j.i", "k.i"]
    for n, m, p in ((4, 3, 2), (9, 7, 5), (1, 1, 1), (8, 6, 4), (3, 8, 0), (0, 2, 2)):
        x, w, y = numbers(n, p), numbers(p, m), numbers(n, m)
        expected = y + x @ w
        np.testing.assert_array_equal(run(module, [x, w, y])[2], expected)


def test_whole_tiles_are_of_constant_extent():
    module = parse_module(MATMUL_INTO)
    tiled = tile(loops_of(module, "ijk"), [4, 3, 2])
    assert [loop.constant_trip_count() for loop in tiled[3:]] == [4, 3, 2]
    names = [loop.label for loop in loops_in(module)]
    assert len(names) == len(set(names)) and {"i.t", "j.t", "k.t"} <= set(names)


@pytest.mark.parametrize("tail", TAILS)
def test_tiles_of_tiles(tail):
    module = parse_module(MATMUL_INTO)
    tiled = tile(loops_of(module, "ijk"), [8, 6, 4], tail)
    inner = tile(tiled[3:], [3, 2, 2], tail)
    assert [loop.label for loop in inner[:3]] == ["i.i.o", "j.i.o", "k.i.o"]
    for n, m, p in ((17, 13, 9), (8, 6, 4), (1, 2, 3)):
        x, w, y = numbers(n, p), numbers(p, m), numbers(n, m)
        expected = y + x @ w
        np.testing.assert_array_equal(run(module, [x, w, y])[2], expected)


@pytest.mark.parametrize("size", [1, 7, 16, 45, 60])
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("name", ["transpose", "iou-small"])
def test_pointwise(name, size, tail):
    nest = NESTS[name]
    module = parse_module(nest.text)
    tile(loops_of(module, "ij"), [size, 5], tail)
    arguments = nest.arguments(np.random.default_rng(0))
    wanted = nest.expected(*nest.arguments(np.random.default_rng(0)))
    run(module, arguments, "shuffled")
    for position, expected in wanted.items():
        np.testing.assert_allclose(arguments[position], expected, rtol=1e-6)


@pytest.mark.parametrize("tail", ["mask", "clamp"])
def test_a_triangle(tail):
    module = parse_module(TRIANGULAR)
    tile(loops_of(module, "ij"), [4, 3], tail)
    for n in range(14):
        x, y = numbers(n, n), numbers(n, n)
        expected = np.where(np.triu(np.ones((n, n), bool), 1), x.T, y)
        np.testing.assert_array_equal(run(module, [n, x, y])[2], expected)


def test_perfect_sizes():
    module = parse_module(NESTS["iou-static"].text)
    tile(loops_of(module, "ij"), [11, 9], "perfect")
    assert [loop.constant_trip_count() for loop in loops_in(module)] == [9, 11, 11, 9]


def _refused(text, names, sizes, tail, reason):
    module = parse_module(text)
    before = str(module)
    with pytest.raises(NestorError, match=reason):
        tile(loops_of(module, names), sizes, tail)
    assert str(module) == before


def test_refusals_change_nothing():
    sweep = GAUSS_SEIDEL.text
    backwards = sweep.replace("%a[%i - 1, %j]", "%a[%i - 1, %j + 1]")
    _refused(
        backwards, "ij", [4, 4], "clamp", "cannot tile the loops i, j: it turns a flow dependence around"
    )
    _refused(sweep, "ti", [2, 2], "mask", "cannot tile the loops t, i: it turns a")
    _refused(sweep, "ij", [4], "clamp", "1 sizes given for 2 loops")
    _refused(sweep, "ji", [4, 4], "clamp", "not perfectly nested in this order")
    _refused(sweep, "ij", [4, 0], "clamp", "cannot tile the loops i, j: the factor must be positive")
    _refused(sweep, "ij", [4, 4], "perfect", "it has an unknown number of iterations")
    _refused(TRIANGULAR, "ij", [4, 4], "remainder", 'the bounds of "j" use the variable of "i"')
    _refused(MATMUL.text, "ijk", [4, 4, 4], "mask", "not perfectly nested")


@pytest.mark.parametrize("tail", TAILS)
def test_a_sweep(tail):
    module = parse_module(GAUSS_SEIDEL.text)
    tile(loops_of(module, "ij"), [3, 4], tail)
    arguments = GAUSS_SEIDEL.arguments(np.random.default_rng(0))
    wanted = GAUSS_SEIDEL.expected(*GAUSS_SEIDEL.arguments(np.random.default_rng(0)))[1]
    np.testing.assert_array_equal(run(module, arguments)[1], wanted)


@pytest.mark.parametrize("tail", ["mask", "clamp"])
def test_time_tiles_of_a_skewed_sweep(tail):
    module = parse_module(GAUSS_SEIDEL.text)
    t, i, j = loops_of(module, "tij")
    skew(t, i)
    skew(t, j)
    tile([t, i, j], [2, 3, 3], tail)
    arguments = GAUSS_SEIDEL.arguments(np.random.default_rng(0))
    wanted = GAUSS_SEIDEL.expected(*GAUSS_SEIDEL.arguments(np.random.default_rng(0)))[1]
    np.testing.assert_array_equal(run(module, arguments)[1], wanted)


def test_a_mask_keeps_no_branch_from_reading_before_the_first_element():
    """Blocks line up at multiples of 4: the first one has iterations before the loop's own, whatever divides the end."""
    text = """
    func.func @f(%p: memref<16xi1>, %v: i64, %y: memref<16x16xi64>) {
      nest.for "i" %i = 0 to 16 {
        nest.for "j" %j = %i to 16 {
          %c = nest.load %p[%j - %i] : memref<16xi1>
          nest.if %c {
            nest.store "y" %v, %y[%i, %j] : memref<16x16xi64>
          }
        }
      }
      func.return
    }"""
    module = parse_module(text)
    with pytest.raises(NestorError, match="iterations outside of its bounds would read elements"):
        tile(loops_in(module), (4, 4), "mask")
    tile(loops_in(module), (4, 4), "clamp")
    arguments = [numbers(16) > 0, np.int64(5), np.zeros((16, 16), np.int64)]
    expected = run(parse_module(text), [a.copy() for a in arguments])
    assert np.array_equal(run(module, arguments)[2], expected[2])
