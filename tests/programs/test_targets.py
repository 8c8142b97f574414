"""Every target computes what NumPy computes: the interpreter, the CPU, and CUDA C in the simulator."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees
from test_iou import boxes, load

TARGETS = ["cpu", "cuda-sim", "interp"]
each_target = pytest.mark.parametrize("target", TARGETS)
each_mode = pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])


@each_target
@each_mode
def test_iou(target, dynamic):
    agrees(load("iou").ratio_iou, *boxes((7, 45)), target=target, dynamic=dynamic)


@each_target
@each_mode
def test_softmax(target, dynamic):
    x = np.random.default_rng(0).standard_normal((9, 130)).astype("f4")
    agrees(load("softmax").softmax, x, target=target, dynamic=dynamic, tolerance=1e-6)


@each_target
@each_mode
def test_gauss_seidel(target, dynamic):
    agrees(
        load("gauss_seidel").gauss_seidel,
        np.random.default_rng(1).random((6, 9)),
        3,
        target=target,
        dynamic=dynamic,
    )


def add_everywhere(a, b):
    return a + b, a.T - 1


def column_sums(x):
    return np.sum(x, axis=0), np.max(x)


def count_above(x, limit):
    return np.sum(x > limit), np.where(x > limit, x, limit)


def shift_rows(a):
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i - 1, j] + a[i, j]


def scale_by_first(a):
    t = a[0]
    for i in range(a.shape[0]):
        a[i] = a[i] / t


def smooth(a, b, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            b[i] = (a[i - 1] + a[i + 1]) / 2
        for i in range(1, a.shape[0] - 1):
            a[i] = b[i]


PROGRAMS = {
    "broadcast": (add_everywhere, [np.arange(12.0).reshape(3, 4), np.arange(4.0)]),
    "column-sums": (column_sums, [np.arange(77, dtype="i8").reshape(7, 11) % 13]),
    "count": (count_above, [np.arange(300, dtype="f8") % 17, 5.0]),
    "rows-in-order": (shift_rows, [np.ones((5, 70))]),
    "an-element-kept": (scale_by_first, [np.linspace(3, 9, 700)]),
    "steps": (smooth, [np.linspace(0, 1, 300) ** 2, np.zeros(300), 4]),
    "strided": (add_everywhere, [np.arange(24.0).reshape(4, 6)[::-1, ::2], np.arange(3.0)]),
    "empty": (add_everywhere, [np.zeros((0, 4)), np.arange(4.0)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_on_the_simulated_gpu(name):
    function, arguments = PROGRAMS[name]
    agrees(function, *arguments, target="cuda-sim")


@each_target
def test_an_index_out_of_bounds_stops_every_target(target):
    def pick(a, positions):
        for i in range(positions.shape[0]):
            a[positions[i]] = 1.0

    a = np.zeros(5)
    nt.jit(pick, target=target)(a, np.array([1, -1]))
    assert a.tolist() == [0, 1, 0, 0, 1]
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 5"):
        nt.jit(pick, target=target)(a, np.array([1, 7]))
    with pytest.raises(IndexError, match=f"index {1 << 32} is out of bounds for axis 0 with size 5"):
        nt.jit(pick, target=target, dynamic=True)(a, np.array([0, 1 << 32]))
