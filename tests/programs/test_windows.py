"""Pooling and convolutions of separate channels on the CPU: odd shapes, strides and borders, exactly NumPy's numbers.

The elements are small integers, so that every order of a sum gives the same bits.
"""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees
from nestor import nn
from numpy.lib.stride_tricks import sliding_window_view

SLOW = pytest.mark.slow


def integers(*shape, dtype="f4", seed=0):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def largest(x):
    return nn.max_pool(x, (3, 3), 1, 1)


def every_second(x):
    return nn.max_pool(x, (3, 3), 2, 1)


def means(x):
    return nn.avg_pool(x, (2, 4), (2, 3))


def lines(x):
    return nn.max_pool(x, (5,), 4, 2)


def separate(x, w):
    return nn.conv2d(x, w, padding=1, groups=x.shape[1])


def separate_strided(x, w, bias):
    return nn.relu(nn.conv2d(x, w, bias, stride=2, padding=(2, 1), dilation=2, groups=x.shape[1]))


def grouped(x, w):
    return nn.conv2d(x, w, padding=1, groups=3)


def few(x, w):
    return nn.conv2d(x, w, padding="same")


def last(x):
    x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    return np.max(sliding_window_view(x, (3, 3), (1, 2))[:, ::2, ::2], axis=(4, 5))


def separate_last(x, w):
    x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return np.einsum("bijcuv,uvc->bijc", sliding_window_view(x, (3, 3), (1, 2)), w)


@pytest.mark.parametrize(
    "shape", [(2, 3, 7, 37), pytest.param((1, 37, 16, 64), marks=SLOW), (3, 1, 1, 5), (0, 2, 5, 9)]
)
def test_pooling(shape):
    """Full registers and masked ones, rows that nothing divides, no image at all."""
    agrees(largest, integers(*shape))
    agrees(every_second, integers(*shape))


@pytest.mark.parametrize("dtype", ["f8", "f2", *(pytest.param(name, marks=SLOW) for name in ("i4", "i1"))])
def test_kinds_of_elements(dtype):
    x = integers(2, 3, 9, 35, dtype=dtype)
    agrees(every_second, x)
    if dtype == "f8":
        agrees(means, x)
        agrees(separate, x, integers(3, 1, 3, 3, dtype=dtype, seed=1))


def test_lines():
    agrees(lines, integers(2, 3, 66))


@pytest.mark.parametrize("channels", [pytest.param(1, marks=SLOW), 37])
def test_separate_channels(channels):
    x, w = integers(2, channels, 9, 22), integers(channels, 1, 3, 3, seed=1)
    agrees(separate_strided, x, w, integers(channels, seed=2))
    agrees(separate_last, x.transpose(0, 2, 3, 1).copy(), w[:, 0].transpose(1, 2, 0).copy())


def test_groups_and_few_channels():
    x = integers(2, 6, 9, 22)
    agrees(grouped, x, integers(6, 2, 3, 3, seed=1))
    agrees(few, x, integers(3, 6, 3, 3, seed=1))


def test_channels_last():
    agrees(last, integers(2, 9, 10, 37))
    agrees(last, integers(1, 4, 3, 64))


def test_layouts_and_extents():
    x = integers(2, 6, 17, 40)
    agrees(largest, x[:, ::-1, ::2, ::-1])
    agrees(every_second, np.frombuffer(b"...." + x.tobytes(), "f4", offset=4).reshape(x.shape))
    agrees(every_second, x, dynamic=True)


@pytest.mark.slow
def test_extents_that_are_not_known():
    x, w = integers(2, 6, 17, 40), integers(6, 1, 3, 3, seed=1)
    agrees(largest, x, dynamic=True)
    agrees(means, x, dynamic=True, tolerance=1e-6)
    agrees(last, x.transpose(0, 2, 3, 1), dynamic=True)
    agrees(separate_last, x.transpose(0, 2, 3, 1), w[:, 0].transpose(1, 2, 0), dynamic=True)


def test_not_a_number_stays_in_its_windows():
    x = integers(1, 2, 9, 40)
    x[0, 1, 4, 7], x[0, 0, 8, 39] = np.nan, -np.inf
    agrees(largest, x)
    agrees(every_second, x)
    agrees(separate, x, integers(2, 1, 3, 3, seed=1))


def test_the_automatic_schedule_replays():
    x, w = integers(2, 4, 9, 22), integers(4, 1, 3, 3, seed=1)
    for function, arguments in ((every_second, (x,)), (separate, (x, w))):
        low = nt.jit(function).lower(*arguments)
        replayed = low.compile(schedule=low.schedule("cpu"))
        np.testing.assert_array_equal(replayed(*arguments), function(*arguments))
