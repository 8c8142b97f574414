"""Convolutions in tiles on a GPU: every tile, in both orders of axes, is right and free of races."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from nestor import jit, nn
from nestor.transforms.schedulers.cuda import convolutions as cuda_convolutions
from nestor.transforms.schedulers.cuda.convolutions import BY_CHANNELS, BY_PIXELS, shape_for


def biased(x, w, bias):
    return np.maximum(nn.conv2d(x, w, stride=2, padding=1, dilation=2) + bias[:, None, None], 0)


def channels_last(x, w):
    return np.tensordot(
        np.lib.stride_tricks.sliding_window_view(x, w.shape[:2], axis=(1, 2)), w, ((4, 5, 3), (0, 1, 2))
    )


def along_a_line(x, w):
    return nn.conv1d(x, w, padding=1)


def normal(*shapes):
    rng = np.random.default_rng(len(shapes))
    return [rng.standard_normal(shape).astype("f4") for shape in shapes]


def check(function, given, shapes):
    exact = function(*(a.astype("f8") for a in given))
    for shape in shapes:
        with patch.object(cuda_convolutions, "shape_for", lambda *_, shape=shape: shape):
            got = jit(function, target="cuda-sim:checked", dynamic=False)(*given)
        np.testing.assert_allclose(got, exact, rtol=1e-5, atol=1e-5 * np.abs(exact).max())


IMAGE = (2, 17, 23, 21), (9, 17, 3, 3), (9,)
LAST = (1, 19, 9, 20), (3, 2, 20, 35)


def test_strides_gaps_and_borders():
    check(biased, normal(*IMAGE), BY_PIXELS[1:2])


def test_one_axis():
    check(along_a_line, normal((3, 5, 31), (9, 5, 3)), BY_PIXELS[4:5])


@pytest.mark.slow
@pytest.mark.parametrize("shape", [*BY_PIXELS, *BY_CHANNELS], ids=lambda s: "x".join(map(str, s.extents)))
def test_every_tile(shape):
    check(biased, normal(*IMAGE), [shape])
    check(channels_last, normal(*LAST), [shape])


def test_tiles_suit_the_image():
    assert shape_for([56, 56, 64], 32, True) in BY_PIXELS
    assert shape_for([7, 7, 512], 32, False) in BY_CHANNELS
    assert shape_for([7, 7, 64], 64, True).extents[1] == 8, "columns of 32 pixels would be mostly empty"
