"""Products of bfloat16: summed in 32 bits by the instructions for pairs where there are some, rounded once where stored."""

import ml_dtypes
import nestor as nt
import numpy as np
import pytest
from nestor.frontend.jit.specialise.machines import cpu_of

from .agreement import jitted

pytestmark = pytest.mark.one_of(4)

BF16 = np.dtype(ml_dtypes.bfloat16)

WITH_PAIRS = cpu_of(None).bf16
"""Whether code for this processor has the instruction (avx512_bf16 in /proc/cpuinfo)."""


def product(a, b):
    return a @ b


def by_rows(a, b):
    return a @ b.T


def by_columns(a, b):
    return a.T @ b


def layer(a, b):
    return np.maximum(a @ b + a.dtype.type(1), a.dtype.type(0))


SHAPES = [
    (15, 33, 25),
    *(
        pytest.param(shape, marks=pytest.mark.slow)
        for shape in [(8, 8, 8), (14, 32, 24), (57, 130, 41), (113, 200, 33), (9, 300, 1101)]
    ),
    (121, 97, 4099),
]
"""Rows, columns and terms: odd numbers of terms among them, and more than a block has."""


def numbers(seed, *shape, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def integers(seed, *shape):
    """Small ones: their sums are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(BF16)


def operands(function, shape, make=numbers, **options):
    m, n, k = shape
    a = make(0, *((k, m) if function is by_columns else (m, k)), **options)
    return a, make(1, *((n, k) if function is by_rows else (k, n)), **options)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [product, by_rows, by_columns])
def test_autocast_is_within_the_bound_of_sums_in_single_precision(function, shape, dynamic):
    """Of the rounded factors: products are exact, and each of k additions rounds once."""
    a, b = operands(function, shape)
    found = jitted(function, dynamic=dynamic, autocast="bf16")(a, b)
    left, right = (x.astype(BF16).astype(np.float64) for x in (a, b))
    bound = shape[2] * 2.0**-24 * function(abs(left), abs(right))
    assert found.dtype == np.float32
    assert (abs(found - function(left, right)) <= bound).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [product, layer])
def test_bfloat16_in_and_out(function, shape, dynamic):
    """Integers below 256 are exact; others are rounded once, the sum of a product before what follows."""
    a, b = operands(function, shape, integers)
    found = jitted(function, dynamic=dynamic)(a, b)
    sums = (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16)
    expected = sums if function is product else np.maximum(sums + BF16.type(1), BF16.type(0))
    assert found.dtype == BF16
    np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


def test_as_the_interpreter_computes_it():
    a, b = operands(product, (15, 33, 25), integers)
    expected = nt.jit(product, target="interp")(a, b)
    np.testing.assert_array_equal(nt.jit(product, dynamic=False)(a, b).view("u2"), expected.view("u2"))


def test_views_and_later_calls():
    f = nt.jit(product)
    a, b = integers(0, 40, 31), integers(1, 31, 50)
    for left, right in (
        (a, b),
        (a[::-1], b),
        (a[::2], b[:, ::2]),
        (np.asfortranarray(a), b[:, ::-1]),
        (a[:9], b[:, 1:]),
    ):
        np.testing.assert_array_equal(
            f(left, right).astype("f4"), (left.astype("f4") @ right.astype("f4")).astype(BF16).astype("f4")
        )
    b[:] = 0
    assert not f(a, b).astype("f4").any()
    assert f(a[:0], b).shape == (0, 50)
    assert f(a[:, :0], b[:0]).astype("f4").sum() == 0


def test_stacks_of_products():
    a, b = integers(0, 5, 20, 33), integers(1, 5, 33, 24)
    expected = (a.astype("f4") @ b.astype("f4")).astype(BF16)
    np.testing.assert_array_equal(nt.jit(product)(a, b).view("u2"), expected.view("u2"))


def test_constant_weights():
    a, w = numbers(0, 50, 65), numbers(1, 65, 40)
    w.flags.writeable = False
    once = nt.jit(product, autocast="bf16", constants="b")
    np.testing.assert_array_equal(once(a, w), nt.jit(product, autocast="bf16")(a, w))
    np.testing.assert_array_equal(once(a[:20], w), once(a, w)[:20])


def test_infinities_and_nans():
    a, b = (x.astype(BF16) for x in operands(product, (20, 40, 33)))
    a[3, 5], a[7, 32], a[9, 0], b[0, 2] = np.nan, np.inf, -np.inf, np.inf
    with np.errstate(all="ignore"):
        expected = a.astype("f4") @ b.astype("f4")
    found = nt.jit(product, dynamic=False)(a, b).astype("f4")
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(found[np.isinf(expected)], expected[np.isinf(expected)])


def test_numbers_below_the_least_normal_one_may_count_as_zero():
    """Documented in docs/precision.md: an absolute error of 2^-126 a term and of what it is multiplied by."""
    a, b = np.full((16, 33), 1e-39, np.float32).astype(BF16), np.full((33, 32), 3, np.float32).astype(BF16)
    found = nt.jit(product, dynamic=False)(a, b).astype(np.float64)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert (abs(found - exact) <= 33 * (3 + 1) * 2.0**-126).all()
    plain = nt.jit(product, dynamic=False, machine="x86-64-v4")
    if not np.array_equal(found, plain(a, b).astype(np.float64)):
        assert WITH_PAIRS
        assert abs(found).max() < abs(exact).min()


@pytest.mark.parametrize(
    ("channels", "features", "size", "window", "stride"),
    [(16, 32, 9, 3, 1), (16, 20, 9, 1, 1), (7, 33, 8, 3, 2), (64, 128, 7, 1, 2), (3, 16, 12, 7, 2)],
)
def test_convolutions(channels, features, size, window, stride):
    x, w = integers(0, 2, channels, size, size), integers(1, features, channels, window, window)

    def convolved(x, w):
        return nt.nn.conv2d(x, w, stride=stride, padding=window // 2)

    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    expected = convolved(x.astype(np.float64), w.astype(np.float64))
    for images in (x, last):
        found = nt.jit(convolved, dynamic=False)(images, w)
        assert found.dtype == BF16
        np.testing.assert_array_equal(
            found.astype("f4"), expected.astype(np.float32).astype(BF16).astype("f4")
        )


def test_gradients_of_products():
    a, b = operands(product, (30, 40, 33))

    def loss(a, b):
        return (np.tanh(a @ b / 32) ** 2).sum()

    exact = nt.grad(nt.jit(loss), argnums=(0, 1))(a, b)
    found = nt.grad(nt.jit(loss, autocast="bf16"), argnums=(0, 1))(a, b)
    for one, other in zip(found, exact, strict=True):
        assert abs(one - other).max() < 0.01 * abs(other).max()


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_instruction_is_there(dynamic):
    """Text, on any machine."""
    spec = [nt.spec(s, "f4") for s in ((64, 65), (65, 32))]
    for machine, wanted in (
        ("zen4", True),
        ("sapphire-rapids", True),
        ("icelake-server", False),
        ("x86-64-v3", False),
    ):
        lowered = nt.jit(product, autocast="bf16", machine=machine, dynamic=dynamic).lower(*spec)
        assert ("vdpbf16ps" in lowered.as_text("asm")) == wanted
        assert ("x86vector.avx512.dot" in lowered.as_text("scf")) == wanted
