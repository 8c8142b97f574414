"""`nt.jit(..., constants=...)`: what is computed from constant arrays alone is computed once an array."""

import functools
import gc

import nestor as nt
import numpy as np
import pytest
from nestor import nn
from nestor.frontend.interface.errors import DTypeError, UnsupportedError

pytestmark = pytest.mark.usefixtures("collected_quickly")


def integers(*shape, dtype="f4", seed=0, constant=False):
    """Small integers, so that every order of a sum gives the same bits."""
    array = np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)
    array.setflags(write=not constant)
    return array


def layer(x, w, bias):
    return np.maximum(x @ w + bias, 0)


def scaled(x, w):
    return x @ (w.T.astype(np.float32) * np.float32(2))


def convolved(x, w):
    return nn.conv2d(x, w, padding=1)


@functools.cache
def frozen_layer():
    """`layer` of constant weights, one for the tests that do not ask what is compiled."""
    return nt.jit(layer, constants="w")


def packed(function):
    """How often a function has computed what depends on constants."""
    return function.cache_info()["packed"]


def test_weights_are_packed_once():
    x, w, other = (
        integers(40, 60),
        integers(60, 72, seed=1, constant=True),
        integers(60, 72, seed=2, constant=True),
    )
    bias = integers(72, seed=3)
    function = nt.jit(layer, constants="w")
    text = function.lower(x, w, bias).as_text("nest")
    main, once = text.split("func.func @layer_frozen")
    assert "nest.load %w" not in main and "nest.load %w" in once
    for k in range(40):  # in Python first, then natively
        assert np.array_equal(function(x + k, w, bias), layer(x + k, w, bias))
    assert packed(function) == 1
    assert np.array_equal(function(x, other, bias), layer(x, other, bias)) and packed(function) == 2
    assert np.array_equal(function(x, w, bias), layer(x, w, bias)) and packed(function) == 2
    out = np.empty((40, 72), "f4")
    assert function(x, other, bias=bias, out=out) is out and np.array_equal(out, layer(x, other, bias))
    assert packed(function) == 2 and function.cache_info()["compiled"] == 1


def test_arrays_that_are_gone_are_forgotten():
    x, bias = integers(40, 60), integers(72, seed=3)
    function = frozen_layer()
    before = packed(function)
    for seed in range(1, 6):  # of the same shape, most likely at the same address
        w = integers(60, 72, seed=seed, constant=True)
        assert np.array_equal(function(x, w, bias), layer(x, w, bias)) and packed(function) == before + seed
        del w
        gc.collect()


def test_what_is_cheap_is_part_of_the_copy():
    """A transposed matrix of narrow numbers, converted and scaled: the program reads the wide numbers only."""
    x, w = integers(30, 60), integers(72, 60, dtype="f2", seed=1, constant=True)
    function = nt.jit(scaled, constants=("w",))
    main, once = function.lower(x, w).as_text("nest").split("func.func @scaled_frozen")
    assert "xf16" not in main.split("\n", 2)[2] and "nest.load %w" in once
    for _ in range(3):
        assert np.array_equal(function(x, w), scaled(x, w))
    assert packed(function) == 1


@pytest.mark.parametrize("order", ["F", pytest.param("strided", marks=pytest.mark.slow)])
def test_memory_orders(order):
    """By columns; weights with gaps are slow."""
    x, bias = integers(40, 60), integers(72, seed=3)
    w = np.asarray(
        integers(60, 144, seed=1)[:, ::2] if order == "strided" else integers(60, 72, seed=1),
        order=order[:1] if order != "strided" else "K",
    )
    w.setflags(write=False)
    function = nt.jit(layer, constants="w", dynamic=True)
    plain = nt.jit(layer, constants="w")
    for _ in range(3):
        assert np.array_equal(plain(x, w, bias), layer(x, w, bias))
        assert np.array_equal(function(x, w, bias), layer(x, w, bias))
    assert packed(plain) == 1 and packed(function) == 0  # extents that are not known are packed in each call


def test_convolution():
    x, w = integers(2, 3, 8, 14), integers(16, 3, 3, 3, seed=1, constant=True)
    function = nt.jit(convolved, constants="w")
    expected = convolved(x, w)
    for _ in range(3):
        assert np.array_equal(function(x, w), expected)
    assert packed(function) == 1


def normalised(x, w, mean, variance):
    for _ in range(2):
        x = (x @ w - mean) / np.sqrt(variance)
        w, mean, variance = w.T, variance, mean * mean
    return x


def test_what_is_computed_from_constants_has_memory_of_its_own():
    """The second vector took the memory of the first, and both were computed before the program."""
    x, w = integers(6, 32), integers(32, 32, seed=1, constant=True)
    mean, variance = integers(32, seed=2), integers(32, seed=3) ** 2 + 1
    for array in (mean, variance):
        array[array == 0] = 1
        array.setflags(write=False)
    function = nt.jit(normalised, constants=("w", "mean", "variance"))
    wide = [a.astype("f8") for a in (x, w, mean, variance)]
    for _ in range(3):
        np.testing.assert_allclose(function(x, w, mean, variance), normalised(*wide), rtol=1e-4, atol=1e-2)
    assert packed(function) == 1


def test_structures():
    """All arrays of a constant argument are constant."""

    def network(x, parameters):
        for w, bias in parameters:
            x = np.maximum(x @ w + bias, 0)
        return x

    x = integers(16, 32)
    parameters = [
        (integers(32, 32, seed=k, constant=True), integers(32, seed=k, constant=True)) for k in (1, 2)
    ]
    function = nt.jit(network, constants="parameters")
    for _ in range(3):
        assert np.array_equal(function(x, parameters), network(x, parameters))
    assert packed(function) == 1


def test_what_is_refused():
    x, w, bias = integers(40, 60), integers(60, 72), integers(72)
    function = frozen_layer()
    with pytest.raises(UnsupportedError, match=r"'w' is constant, and its array can be written"):
        function(x, w, bias)
    w.setflags(write=False)
    for _ in range(40):
        function(x, w, bias)
    w.setflags(write=True)
    other = w.copy()
    with pytest.raises(UnsupportedError, match="can be written"):
        function(x, other, bias)
    with pytest.raises(DTypeError, match="no parameter 'v' to be constant"):
        nt.jit(layer, constants=("v",))
    with pytest.raises(DTypeError, match="static"):
        nt.jit(layer, constants="w", static_argnames="w")


def test_programs_on_the_disk(tmp_path, monkeypatch):
    """Another process takes the program and what fills its buffers from the disk."""
    monkeypatch.setenv("NESTOR_CACHE", "1")
    monkeypatch.setenv("NESTOR_CACHE_DIR", str(tmp_path))
    x, w, bias = integers(40, 60), integers(60, 72, seed=1, constant=True), integers(72, seed=3)
    first, second = nt.jit(layer, constants="w"), nt.jit(layer, constants="w")
    assert np.array_equal(first(x, w, bias), layer(x, w, bias))
    assert np.array_equal(second(x, w, bias), layer(x, w, bias))
    assert "taken from the disk" in second.explain(x, w, bias) and packed(second) == 1
    assert "frozen: w" in second.explain(x, w, bias)
    assert "40 x 60 by 60 x 72" in second.explain(x, w, bias)


@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
def test_other_targets_compute_it_in_each_call(target):
    x, w, bias = integers(5, 6), integers(6, 7, seed=1, constant=True), integers(7, seed=3)
    assert np.array_equal(nt.jit(layer, constants="w", target=target)(x, w, bias), layer(x, w, bias))
