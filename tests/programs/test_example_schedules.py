"""Every schedule of examples/schedules/ is legal on even and on odd shapes, and changes no bit of the result."""

from __future__ import annotations

import sys
from pathlib import Path

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.parse import parse_module
from nestor.runtime.interp.run import run_nest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEDULES = EXAMPLES / "schedules"


def example(name: str):
    """A function of examples/, jitted or not."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(EXAMPLES))


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("shape", [(3, 3), (36, 66), (39, 71), (100, 20)])
@pytest.mark.parametrize("name", example("blur").SCHEDULES)
def test_blur(name: str, shape: tuple[int, int], target: str):
    blur = example("blur").blur
    x = np.random.default_rng(1).random(shape, dtype=np.float32)
    compiled = blur.lower(x).compile(target, schedule=SCHEDULES / f"{name}.mlir")
    np.testing.assert_array_equal(compiled(x), blur(x))


def boxes(shape: tuple[int, int]) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    return [rng.random(shape, dtype=np.float32) for _ in range(8)]


@pytest.mark.parametrize(
    ("name", "target"), [("iou-cpu", "cpu"), ("iou-cpu", "interp"), ("iou-cuda", "cuda-sim")]
)
@pytest.mark.parametrize("shape", [(16, 64), (7, 13), (1, 5)])
def test_iou(name: str, target: str, shape: tuple[int, int]):
    ratio_iou = example("iou").ratio_iou
    arrays = boxes(shape)
    lowered = nt.jit(ratio_iou).lower(*arrays)
    compiled = lowered.compile(target, schedule=SCHEDULES / f"{name}.mlir")
    np.testing.assert_array_equal(compiled(*arrays), ratio_iou(*arrays))


@pytest.mark.parametrize("shape", [(1, 1, 1), (6, 64, 8), (13, 70, 9), (150, 131, 530)])
def test_matmul(shape: tuple[int, int, int]):
    """Packed, tiled and vectorized, with edges in all directions; small integers, so that any order is exact."""
    from benchmarks.matmul import SCHEDULE, compile_nest, scheduled

    m, n, k = shape
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, size).astype(np.float32) for size in ((m, k), (k, n)))
    guarded = np.full((m + 2, n + 2), 7, np.float32)
    c = np.empty((m, n), np.float32)
    compile_nest(scheduled(SCHEDULE))(a, b, c)
    np.testing.assert_array_equal(c, a @ b)
    module = parse_module(scheduled(SCHEDULE))
    if m * n * k < 10_000:
        run_nest(next(iter(module.ops)), [a, b, guarded[1:-1, 1:-1]], mode="shuffled")
        np.testing.assert_array_equal(guarded[1:-1, 1:-1], a @ b)
        guarded[1:-1, 1:-1] = 7
        assert (guarded == 7).all()


def test_every_schedule_is_tested():
    tested = {*example("blur").SCHEDULES, "iou-cpu", "iou-cuda", "matmul"}
    assert {path.stem for path in SCHEDULES.glob("*.mlir")} == tested
