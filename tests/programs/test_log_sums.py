"""nt.nn.logsumexp and np.logaddexp.reduce: one reduction of pairs, right for NaN and infinities, on each target."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import DTypeError, ShapeError
from nestor.frontend.interface.log_of_sum import log_of_sum

pytestmark = pytest.mark.one_of(3)

SHAPES = [
    ((5,), None, False),
    ((3, 33), 1, False),
    ((3, 33), 0, True),
    ((4, 3, 5), (0, 2), False),
    ((2, 70), -1, True),
    ((1, 1), None, True),
    ((300,), None, False),
]
TOLERANCE = {"f8": 1e-12, "f4": 1e-5, "f2": 1e-2, "i4": 1e-12, "i1": 1e-2, "?": 1e-12}


def values(shape, dtype, special):
    rng = np.random.default_rng(sum(shape))
    x = (rng.normal(size=shape) * 3).astype(dtype)
    if special:
        chosen = rng.choice([-np.inf, np.inf, np.nan][:special], shape)
        x = np.where(rng.random(shape) < 0.6, chosen, x).astype(dtype)
    return x


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_logsumexp(dtype, target):
    for shape, axis, keepdims in SHAPES:
        compiled = nt.jit(lambda x: nt.nn.logsumexp(x, axis, keepdims), target=target)  # noqa: B023
        for special in (0, 1, 2, 3) if dtype[0] == "f" else (0,):
            x = values(shape, dtype, special)
            with np.errstate(all="ignore"):
                wanted, kind = log_of_sum(x.astype("f8"), axis, keepdims), log_of_sum(x, axis, keepdims).dtype
                found = compiled(x)
            assert found.dtype == kind and found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, TOLERANCE[dtype], TOLERANCE[dtype], err_msg=str(x))


@pytest.mark.parametrize("ufunc", [np.logaddexp, np.logaddexp2])
def test_the_method_of_the_ufunc(ufunc):
    for shape, axis, keepdims in SHAPES:
        axis = 0 if axis is None or isinstance(axis, tuple) else axis
        compiled = nt.jit(lambda x: ufunc.reduce(x, axis=axis, keepdims=keepdims))  # noqa: B023
        for dtype in ("f8", "f4", "i1"):
            for special in (0, 1, 2, 3) if dtype[0] == "f" else (0,):
                x = values(shape, dtype, special)
                with np.errstate(all="ignore"):
                    found, wanted = compiled(x), ufunc.reduce(x, axis=axis, keepdims=keepdims)
                assert found.dtype == wanted.dtype and found.shape == wanted.shape
                np.testing.assert_allclose(found, wanted, TOLERANCE[dtype], TOLERANCE[dtype])
    nothing = np.zeros((0, 3))
    np.testing.assert_array_equal(nt.jit(lambda x: ufunc.reduce(x))(nothing), ufunc.reduce(nothing))


def test_of_unknown_extents():
    compiled = nt.jit(lambda x: nt.nn.logsumexp(x, axis=-1), dynamic=True)
    for shape in ((3, 5), (1, 1), (40, 100), (2, 4097)):
        x = np.random.default_rng(1).normal(size=shape)
        np.testing.assert_allclose(compiled(x), log_of_sum(x, -1, False), rtol=1e-13)


def test_far_from_zero():
    x = np.array([[1000.0, 1000.5], [-1e300, -1e300], [np.finfo(float).min, 0.0]])
    np.testing.assert_allclose(nt.jit(lambda x: nt.nn.logsumexp(x, axis=1))(x), log_of_sum(x, 1, False))


def test_derivatives_are_the_softmax():
    rng = np.random.default_rng(2)
    x, c = rng.normal(size=(3, 5)), np.arange(3.0)
    exponentials = np.exp(x)
    wanted = exponentials / exponentials.sum(1, keepdims=True) * c[:, None]
    for function in (lambda x: np.logaddexp.reduce(x, axis=1), lambda x: nt.nn.logsumexp(x, axis=1)):
        np.testing.assert_allclose(nt.grad(lambda x: (function(x) * c).sum())(x), wanted, rtol=1e-13)  # noqa: B023
    base_two = nt.grad(lambda x: (np.logaddexp2.reduce(x, axis=1) * c).sum())(x)
    powers = np.exp2(x)
    np.testing.assert_allclose(base_two, powers / powers.sum(1, keepdims=True) * c[:, None], rtol=1e-12)


def test_in_a_loop_over_elements():
    @nt.jit
    def rows(x):
        y = np.zeros(len(x))
        for i in range(len(x)):
            y[i] = nt.nn.logsumexp(x[i]) + np.logaddexp.reduce(x[i])
        return y

    x = np.random.default_rng(3).normal(size=(4, 9))
    np.testing.assert_allclose(rows(x), 2 * log_of_sum(x, 1, False), rtol=1e-13)


def test_one_exponential_for_an_element():
    text = nt.jit(lambda x: nt.nn.logsumexp(x, axis=1)).lower(nt.spec((64, 1024), "f4")).as_text("nest")
    assert text.count("math.exp") == 1


def test_what_is_refused():
    with pytest.raises(DTypeError, match="complex"):
        nt.jit(lambda x: nt.nn.logsumexp(x))(np.ones(3, "c16"))
    with pytest.raises(ShapeError, match="zero-size array"):
        nt.jit(lambda x: nt.nn.logsumexp(x))(np.ones(0))
    with pytest.raises(DTypeError, match="cannot reduce on a scalar"):
        nt.jit(lambda x: np.logaddexp.reduce(x))(np.float64(1.0))
