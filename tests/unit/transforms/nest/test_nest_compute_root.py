"""nest-compute-root computes what the program computed, in a whole buffer, and undoes nest-compute-at."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop, is_inside, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import AllocOp, ForOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.producers.compute_at import compute_at
from nestor.transforms.nest.producers.compute_root import compute_root, why_not_compute_root
from parsed import parse_module
from producer_nests import PROGRAMS, blur, blurred, buffer_of

LEGAL = {"tiled", "steps", "masked", "total", "in-place"}
"""Programs of which the parts, in the whole buffer, are known to go back to the root."""


@pytest.mark.parametrize("storage", ["root", "here"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_after_compute_at(name: str, storage):
    def change(function):
        loop = next(loop for loop in loops_in(function) if loop.label == "o")
        moved, _ = compute_at(buffer_of(function), loop, storage)
        if not isinstance(moved, ForOp):
            return
        if why_not_compute_root(moved) is None:
            compute_root(moved)
            assert all(not is_inside(op, loop) for op in function.walk() if isinstance(op, AllocOp))
        else:
            assert name not in LEGAL or storage == "here"

    PROGRAMS[name].agrees(change)


@pytest.mark.parametrize("shape", [(1, 1), (5, 9), (8, 16)])
@pytest.mark.parametrize("storage", ["root", "here"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_blur_by_rows(shape: tuple[int, int], storage, symbolic: bool):
    module = parse_module(blur("n", "m") if symbolic else blur(*shape))
    function = next(iter(module.ops))
    moved, _ = compute_at(buffer_of(function), find_loop(module, "o"), storage)
    assert isinstance(moved, ForOp)
    compute_root(moved)
    verify(module)
    assert len([op for op in function.walk() if isinstance(op, AllocOp)]) == 1
    assert buffer_of(function).parent_op() is function
    x = np.random.default_rng(0).random((shape[0] + 2, shape[1] + 2), dtype=np.float32)
    out = np.zeros(shape, np.float32)
    run_nest(function, [x, out], mode="shuffled")  # type: ignore[arg-type]
    np.testing.assert_array_equal(out, blurred(x))


_PARTS = """
func.func @f(%n: index, %x: memref<?xi64>, %y: memref<?xi64>) {
  %zero = arith.constant 0 : i64
  nest.for "g" %g = 1 to 3 {
    nest.for "o" %o = 2 to %n {
      %t = nest.alloc "t" : memref<3xi64>
      nest.for "h" %h = %o - 2 to %o + 1 {
        nest.store "t" %zero, %t[%h - %o + 2] : memref<3xi64>
      }
      nest.for "i" %i = %o - 2 to %o + 1 {
        nest.for "k" %k = 0 to %i + 1 {
          %a = nest.load %x[%k] : memref<?xi64>
          nest.accumulate "t" add %a, %t[%i - %o + 2] : memref<3xi64>
        }
      }
      %p = nest.load %t[0] : memref<3xi64>
      %q = nest.load %t[2] : memref<3xi64>
      %r = arith.subi %p, %q : i64
      nest.accumulate "y" add %r, %y[%o - %g] : memref<?xi64>
    }
  }
  func.return
}"""


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 9])
def test_sums_out_of_two_loops(n: int):
    runs = []
    for moves in (False, True):
        module = parse_module(_PARTS)
        function = next(iter(module.ops))
        if moves:
            compute_root(find_loop(module, "i"))
            verify(module)
            assert all(loop.parent_op() is not find_loop(module, "o") for loop in loops_in(function))
        rng = np.random.default_rng(3)
        arrays = [rng.integers(-9, 9, n), rng.integers(-9, 9, n)]
        run_nest(function, [n, *arrays], mode="shuffled")  # type: ignore[arg-type]
        runs.append(arrays)
    for old, new in zip(*runs, strict=True):
        np.testing.assert_array_equal(old, new)


def test_refused_it_changes_nothing():
    module = parse_module(_PARTS.replace("%x[%k]", "%y[%k]"))
    before = str(module)
    with pytest.raises(NestorError):
        compute_root(find_loop(module, "i"))
    assert str(module) == before
