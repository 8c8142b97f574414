"""Convolutions on the CPU, where their sums are kept in tiles: odd shapes, strides and borders, exactly NumPy's numbers.

The elements are small integers, so that every order of a sum gives the same bits.
"""

import re

import nestor as nt
import numpy as np
import pytest
from agreement import agrees
from nestor import nn
from numpy.lib.stride_tricks import sliding_window_view

pytestmark = pytest.mark.one_of(6)


def integers(*shape, dtype="f4", seed=0):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def plain(x, w):
    return nn.conv2d(x, w)


def bordered(x, w):
    return nn.conv2d(x, w, padding=1)


def biased(x, w, bias):
    return nn.relu(nn.conv2d(x, w, bias, padding=1))


def pointwise(x, w, bias):
    return nn.relu(nn.conv2d(x, w, bias))


def strided(x, w):
    return nn.conv2d(x, w, stride=(2, 3), padding=((1, 0), (2, 1)))


def dilated(x, w):
    return nn.conv2d(x, w, dilation=2, padding="same")


def grouped(x, w):
    return nn.conv2d(x, w, groups=2, padding=1)


def volumes(x, w):
    return nn.conv3d(x, w, padding=1)


def lines(x, w):
    return nn.conv1d(x, w, padding=2)


def channels_last(x, w):
    x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return np.tensordot(sliding_window_view(x, (3, 3), (1, 2)), w, ((4, 5, 3), (0, 1, 2)))


def twice(x, w):
    """A result that two nests read, and a border that two sums read."""
    y = nn.conv2d(x, w, padding=1)
    return y - y.max(axis=(2, 3), keepdims=True)


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "outputs, dtype",
    [(1, "f4"), (5, "f4"), slow(16, "f4"), (37, "f4"), slow(37, "f8"), (37, "i4"), (5, "f8")],
)
def test_columns(outputs, dtype):
    """Every number of lanes, full registers and masked ones."""
    agrees(bordered, integers(2, 3, 7, 9, dtype=dtype), integers(outputs, 3, 3, 3, dtype=dtype, seed=1))


@pytest.mark.parametrize("width", [1, slow(2), slow(13), 14, 15, slow(29), 31])
def test_rows(width):
    """Every number of rows of the tiles, one that nothing divides included."""
    agrees(bordered, integers(1, 4, 3, width), integers(20, 4, 3, 3, seed=1))


@pytest.mark.parametrize("height", [1, slow(2), 7, 61])
def test_blocks(height):
    agrees(bordered, integers(3, 20, height, 40), integers(24, 20, 3, 3, seed=1))


def test_images_that_threads_cannot_share_evenly():
    """Blocks of rows of all images are one loop, and the threads': a few images are too few to be shared evenly."""
    w = integers(20, 6, 3, 3, seed=1)
    for images, count in ((3, 3 * 2), (4, 4 * 2), (40, 40)):
        x = integers(images, 6, 35, 120, seed=2)
        loops = nt.jit(bordered, machine="x86-64-v4").lower(x, w).as_text("nest")
        *_, shared = [line for line in loops.splitlines() if "parallel" in line and "grain" in line]
        assert f"= 0 to {count} parallel" in shared
    agrees(bordered, x[:3], w)


def test_edges_of_tiles_stay_in_registers():
    """What reads the sums of a tile at an edge reads all of it, transposed by shuffles: it is never gathered from memory."""
    x, w = integers(1, 4, 6, 28), integers(21, 4, 3, 3, seed=1)
    assert "vector.gather" not in nt.jit(bordered).lower(x, w).as_text("scf")
    agrees(bordered, x, w)


def activated(x, w):
    return np.tanh(nn.conv2d(x, w) / 64)


@pytest.mark.parametrize("outputs", [12, slow(9), slow(24), slow(40)])
@pytest.mark.parametrize("function", [activated, plain])
def test_sums_of_channels_that_do_not_fill_a_vector_stay_in_registers(outputs, function):
    """Whether a nest of its own reads the result (the tangent does) or none does: no masked access to what LLVM keeps."""
    x, w = integers(2, 4, 5, 32), integers(outputs, 4, 3, 3, seed=1)
    text = nt.jit(function, machine="x86-64-v4").lower(x, w).as_text("scf")
    buffers = re.findall(r"(%\S+) = memref.alloca.*memref<(?:1x)*10x\d+xf32>", text)

    assert buffers
    for buffer in buffers:
        assert not re.search(rf"vector.masked(load|store) {buffer}\[", text)
    agrees(function, x, w, tolerance=1e-6)


def test_windows():
    x, w = integers(2, 6, 17, 19), integers(8, 6, 3, 5, seed=1)
    agrees(strided, x, w)
    agrees(grouped, x, w[:, :3])
    agrees(biased, x, w[..., :3], integers(8, seed=2))


@pytest.mark.slow
def test_more_windows():
    x, w = integers(2, 6, 17, 19), integers(8, 6, 3, 5, seed=1)
    for function in (plain, dilated):
        agrees(function, x, w)
    agrees(plain, x, w[..., :1, :1])
    agrees(plain, x, integers(8, 6, 17, 19, seed=3))
    agrees(lines, x[..., 0], w[..., 0])
    agrees(volumes, integers(1, 2, 4, 5, 6), integers(16, 2, 3, 3, 3, seed=1))
    agrees(twice, x, w[..., :3])


MANY = integers(2, 150, 7, 6), integers(301, 150, 3, 3, seed=1)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (biased, (*MANY, integers(301, seed=2))),
        slow(bordered, MANY),
        slow(channels_last, (MANY[0].transpose(0, 2, 3, 1), MANY[1].transpose(2, 3, 1, 0))),
    ],
)
def test_many_weights(function, given):
    """More of them than the second-level cache has room for: rows of a block are done with those of a tile first."""
    agrees(function, *given)


@pytest.mark.parametrize("shape", [(2, 6, 7, 5), (1, 14, 56, 32), (3, 5, 31, 1)])
def test_channels_last(shape):
    agrees(channels_last, integers(*shape), integers(3, 3, shape[-1], 33, seed=1))


def mixed(x, w):
    return np.tensordot(x, w, ((3,), (0,)))


def test_windows_of_one_element():
    """The same weights for all of an image: one loop over terms."""
    x, w = integers(2, 6, 9, 15), integers(37, 6, 1, 1, seed=1)
    agrees(strided, x, w)
    agrees(pointwise, x, w, integers(37, seed=2))
    agrees(plain, x, w, dynamic=True)
    agrees(mixed, x.transpose(0, 2, 3, 1), w[:, :, 0, 0].T)


def test_layouts_and_extents():
    x, w = integers(2, 6, 17, 19), integers(8, 6, 3, 3, seed=1)
    agrees(bordered, x[:, :, ::-1, ::2], w.transpose(1, 0, 3, 2)[:, :, ::-1, ::-1].transpose(1, 0, 2, 3))
    agrees(bordered, np.frombuffer(b"...." + x.tobytes(), "f4", offset=4).reshape(x.shape), w)
    agrees(bordered, x[:0], w)
    agrees(strided, x, w, dynamic=True)


@pytest.mark.slow
def test_extents_that_are_not_known():
    x, w = integers(2, 6, 17, 19), integers(8, 6, 3, 3, seed=1)
    agrees(bordered, x, w, dynamic=True)
    agrees(channels_last, x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), dynamic=True)


def test_not_a_number_stays_in_its_windows():
    x, w = integers(1, 3, 9, 20), integers(17, 3, 3, 3, seed=1)
    x[0, 1, 4, 7], x[0, 2, 8, 19] = np.nan, np.inf
    agrees(bordered, x, w)


def test_the_same_bits_every_time():
    rng = np.random.default_rng(5)
    x, w = rng.standard_normal((5, 12, 20, 30)), rng.standard_normal((24, 12, 3, 3))
    function = nt.jit(bordered)
    first = function(x, w)
    assert all(np.array_equal(first, function(x, w)) for _ in range(20))


@pytest.mark.parametrize("fill", [0.0, -0.0, np.inf])
def test_a_border_of_one_constant(fill):
    def around(x):
        return np.pad(x, ((1, 2), (0, 0), (3, 0)), constant_values=fill)

    got = agrees(around, integers(3, 5, 40))(integers(3, 5, 40))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(around(integers(3, 5, 40))))
    agrees(around, integers(1, 1, 1)[:, ::-1], dynamic=True)
    agrees(around, integers(3, 0, 2))


def several(x):
    return np.pad(x, ((1, 2), (3, 0)), constant_values=((1, 2), (3, 4)))


def given(x, fill):
    return np.pad(x, 1, constant_values=fill)


def test_borders_of_other_constants():
    agrees(several, integers(5, 40))
    agrees(given, integers(5, 40), 3)


def scaled(x, w, scale, bias):
    return np.maximum(nn.conv2d(x, w, padding=1) * scale[:, None, None] + bias[:, None, None], 0)


def test_a_scale_for_each_channel_is_part_of_the_tiles():
    """With channels first, too, where it is the same for a row: the sums go to no memory but a tile's."""
    x, w, scale, bias = (
        integers(2, 4, 14, 28),
        integers(16, 4, 3, 3, seed=1),
        integers(16, seed=2),
        integers(16, seed=3),
    )
    text = nt.jit(scaled, machine="x86-64-v4").lower(x, w, scale, bias).as_text("nest")
    assert 'nest.alloc "result" : memref<1x1x14x16xf32>' in text
    agrees(scaled, x, w, scale, bias)
    agrees(scaled, x, w, scale, bias, dynamic=True)
