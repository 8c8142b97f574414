"""Intersection over union: the same bits as NumPy for every shape, layout and special value."""

import importlib.util
from pathlib import Path

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ratio_iou = load("iou").ratio_iou


def boxes(shape, dtype="f4"):
    rng = np.random.default_rng(3)
    return [np.asarray(rng.random(shape)).astype(dtype) for _ in range(8)]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (100, 1000), (0, 5)])
def test_shapes(shape, dtype):
    agrees(ratio_iou, *boxes(shape, dtype))


def test_broadcasting():
    agrees(ratio_iou, *[a[:, :1] if k % 2 else a[:1] for k, a in enumerate(boxes((5, 7)))])


@pytest.mark.parametrize(
    "view", [lambda a: a.T, lambda a: a[::-1, ::2], lambda a: a[2:5, 3:], np.asfortranarray]
)
def test_layouts(view):
    agrees(ratio_iou, *[view(a) for a in boxes((6, 9))])


def test_special_values():
    values = np.array([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf], "f4")
    agrees(ratio_iou, *[np.roll(values, k) for k in range(8)])


def test_integers_promote():
    agrees(ratio_iou, *[(a * 10).astype("i4") for a in boxes((4, 5))])


def test_keyword_and_run_time_scalar():
    jitted = nt.jit(ratio_iou)
    arguments = boxes((3, 4))
    for eps in (1e-5, 0.5, 2.0):
        np.testing.assert_array_equal(jitted(*arguments, eps=eps), ratio_iou(*arguments, eps=eps))
    assert jitted.cache_info()["compiled"] == 1


def test_out():
    arguments, out = boxes((3, 4)), np.empty((3, 4), "f4")
    jitted = nt.jit(ratio_iou)
    assert jitted(*arguments, out=out) is out
    np.testing.assert_array_equal(out, ratio_iou(*arguments))
    want = ratio_iou(*arguments)
    jitted(*arguments, out=arguments[0])
    np.testing.assert_array_equal(arguments[0], want)


@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
def test_targets(target):
    agrees(ratio_iou, *boxes((3, 5)), target=target)
