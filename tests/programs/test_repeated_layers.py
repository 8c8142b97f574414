"""Layers that are equal are compiled once: the results of NumPy, and as many functions for six layers as for three."""

import nestor as nt
import numpy as np
import pytest
from nestor import nn

pytestmark = pytest.mark.one_of(3)


def layer(x, w, b, u, c, scale):
    y = x @ w + b
    y = np.maximum(y, 0) @ u + c
    y = (x + y * scale).astype(x.dtype)
    return y / np.sqrt((y * y).mean(axis=-1, keepdims=True) + 1)


def network(x, layers):
    for w, b, u, c in layers:
        x = layer(x, w, b, u, c, 0.5)
    return x


def scaled(x, layers):
    x = layer(x, *layers[0], 0.5)
    x = layer(x, *layers[1], 0.25)
    return layer(x, *layers[2], -3.0)


def parameters(rng, count, width=8, inner=12, dtype=np.float64):
    def made(*shape):
        return (rng.standard_normal(shape) * 0.4).astype(dtype)

    return [(made(width, inner), made(inner), made(inner, width), made(width)) for _ in range(count)]


def arguments(count, rows=5, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, 8)).astype(dtype), parameters(rng, count, dtype=dtype)


def parts(text):
    return text.count("func.func private @"), text.count("func.call @")


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_layers_in_calls_with_other_values_and_shapes(target):
    f = nt.jit(network, target=target)
    for seed, rows in ((0, 5), (1, 5), (2, 1)):
        args = arguments(3, rows, seed=seed)
        np.testing.assert_allclose(f(*args), network(*args), rtol=1e-12)


def test_six_layers_are_as_many_functions_as_three():
    for count in (3, 6):
        low = nt.jit(network).lower(*arguments(count))
        assert parts(low.as_text("nest")) == (1, count)
        assert low.as_text("llvm-ir").count("define internal i32 @network") == 2


@pytest.mark.slow
def test_six_layers_have_the_kernels_of_three():
    texts = [nt.jit(network).lower(*arguments(count)).as_text("cuda") for count in (3, 6)]
    assert texts[0].count("__global__") == texts[1].count("__global__") > 1
    launches = [nt.jit(network).lower(*arguments(n)).as_text("gpu").count("gpu.launch_func") for n in (3, 6)]
    assert launches[1] == 2 * launches[0]


def test_two_layers_are_no_function_where_little_is_saved():
    assert parts(nt.jit(layer).lower(*arguments(1)[:1], *arguments(1)[1][0], 0.5).as_text("nest")) == (0, 0)


@pytest.mark.parametrize("target", ["cpu", "cuda-sim:checked"])
def test_numbers_that_differ_are_arguments(target):
    f, args = nt.jit(scaled, target=target), arguments(3)
    assert parts(f.lower(*args).as_text("nest")) == (1, 3)
    np.testing.assert_allclose(f(*args), scaled(*args), rtol=1e-12)


@pytest.mark.parametrize("target", ["cpu", "cuda-sim:checked"])
def test_layers_that_share_their_weights(target):
    x, (one, two) = arguments(2)
    f = nt.jit(network, target=target)
    for layers in ([one, one, one], [one, two, one], [one, two, two, one]):
        np.testing.assert_allclose(f(x, layers), network(x, layers), rtol=1e-12)


@pytest.mark.parametrize("target", ["cpu", "cuda-sim:checked"])
def test_intermediates_that_others_read_too(target):
    def branches(x, layers):
        a = layer(x, *layers[0], 0.5)
        b = layer(a, *layers[1], 0.5)
        c = layer(b, *layers[2], 0.5)
        return a + b[::-1] * c, b

    args = arguments(3)
    for got, wanted in zip(nt.jit(branches, target=target)(*args), branches(*args), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.parametrize("target", ["cpu", "cuda-sim:checked"])
def test_layers_that_write_to_an_argument(target):
    def in_place(x, layers):
        for w, b, u, c in layers:
            x[...] = layer(x, w, b, u, c, 0.5)
        return x.sum()

    f = nt.jit(in_place, target=target)
    for seed in range(2):
        x, layers = arguments(3, seed=seed)
        y = x.copy()
        np.testing.assert_allclose(f(x, layers), in_place(y, layers), rtol=1e-12)
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_layers_of_unknown_extents_and_strided_arguments():
    f = nt.jit(network, dynamic=True)
    for rows in (3, 1, 6):
        x, layers = arguments(2, rows)
        np.testing.assert_allclose(f(x, layers), network(x, layers), rtol=1e-12)


@pytest.mark.slow
def test_layers_of_a_strided_argument():
    x, layers = arguments(3)
    wide = np.asfortranarray(np.repeat(x, 2, axis=1))[:, ::-2]
    np.testing.assert_allclose(nt.jit(network)(wide, layers), network(wide, layers), rtol=1e-12)


def test_layers_of_constant_weights():
    f = nt.jit(network, constants=("layers",))
    args = arguments(3)
    for weight in (weight for one in args[1] for weight in one):
        weight.setflags(write=False)
    for _ in range(2):
        np.testing.assert_allclose(f(*args), network(*args), rtol=1e-12)


def test_a_schedule_of_the_users_speaks_of_the_whole_program():
    args = arguments(3)
    low = nt.jit(network).lower(*args)
    schedule = low.schedule()
    assert parts(low.as_text("nest", schedule=schedule)) == (0, 0)
    np.testing.assert_allclose(low.compile(schedule=schedule)(*args), network(*args), rtol=1e-12)


@pytest.mark.slow
def test_large_layers_share_their_memory():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((96, 64)).astype(np.float32)
    layers = parameters(rng, 4, 64, 256, np.float32)
    f = nt.jit(network)
    np.testing.assert_allclose(f(x, layers), network(x, layers), rtol=2e-4, atol=1e-5)
    text = f.lower(x, layers).as_text("scf")
    caller, part = text.split("func.func private")
    hidden = "memref.alloc() : memref<96x256xf32>"
    assert caller.count(hidden) == 1 and hidden not in part


def convolutions(x, kernels, scales):
    for k, s in zip(kernels, scales, strict=True):
        y = nn.conv2d(x, k, padding=1)
        x = np.maximum(y * s[:, None, None], 0) + (x if s.shape[0] == x.shape[1] else 0)
    return x


@pytest.mark.parametrize("constants", [(), ("kernels",)])
def test_equal_convolutions_are_one_function_whatever_follows_them(constants):
    """Nests that are equal once they are scheduled are compiled once; the first and the last differ from those between."""
    rng = np.random.default_rng(0)
    kernels = [rng.standard_normal((16, n, 3, 3)).astype(np.float32) * 0.1 for n in (3, 16, 16, 16, 16)]
    scales = [rng.standard_normal(16).astype(np.float32) for _ in kernels]
    for kernel in kernels:
        kernel.setflags(write=False)
    f = nt.jit(convolutions, constants=constants)
    for seed in range(2):
        x = np.random.default_rng(seed).standard_normal((2, 3, 14, 14)).astype(np.float32)
        np.testing.assert_allclose(
            f(x, kernels, scales), convolutions(x, kernels, scales), rtol=1e-4, atol=1e-4
        )
    if not constants:
        text = f.lower(x, kernels, scales).as_text("scf")
        assert text.count("func.func private") >= 1
        assert text.count("{nestor.outlined} :") >= 3
