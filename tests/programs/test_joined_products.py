"""Small products that share an operand are computed as one, in loops and one after the other; the numbers are NumPy's."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees
from nestor.dialects.nt import DotOp
from nestor.frontend.jit.specialise.stages import lowered_copy
from test_iou import load
from xdsl.dialects import scf

pytestmark = pytest.mark.one_of(2)


def integers(*shape, dtype="f8", seed=0):
    """Small integers, so that every order of a sum gives the same bits."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def products(function, *args):
    """How many products a fused program has, outside of loops and inside."""
    module = lowered_copy(function.lower(*args).program.module, ("to-fusions",))
    dots = [op for op in module.walk() if isinstance(op, DotOp)]
    inside = [op for op in dots if isinstance(op.parent_op(), scf.ForOp)]
    return len(dots) - len(inside), len(inside)


def forward(xs, h, w, u):
    for x in xs:
        h = np.maximum(x @ w + h @ u, -1) % 5
    return h


def backwards(xs, h, w, u):
    for t in range(len(xs) - 1, -1, -1):
        h = np.maximum(xs[t] @ w + h @ u, -1) % 5
    return h


def some(xs, h, w, u):
    for x in xs[2:12]:
        h = np.maximum(x @ w + h @ u, -1) % 5
    return h


def transposed(xs, h, w, u):
    """The places are the last axis."""
    for t in range(xs.shape[0]):
        h = np.maximum(xs.T[:, :, t].T @ w + h @ u, -1) % 5
    return h


STEPS = integers(14, 3, 4), integers(3, 6, seed=1), integers(4, 6, seed=2), integers(6, 6, seed=3)


@pytest.mark.parametrize("target", ["cpu", pytest.param("interp", marks=pytest.mark.slow)])
@pytest.mark.parametrize("function", [forward, backwards, some], ids=lambda f: f.__name__)
def test_inputs_of_a_recurrence(function, target):
    compiled = agrees(function, *STEPS, target=target)
    assert products(compiled, *STEPS) == (1, 1)


def test_other_axes():
    agrees(transposed, *STEPS)


@pytest.mark.parametrize("function", [forward, backwards, some], ids=lambda f: f.__name__)
def test_extents_that_are_not_known(function):
    compiled = agrees(function, *STEPS, dynamic=True)
    xs, h, w, u = STEPS
    for n in (13, 0, 1) if function is not some else (13, 12):
        np.testing.assert_array_equal(compiled(xs[:n], h, w, u), function(xs[:n], h, w, u))


def each(x, w):
    return [np.abs(x @ w[k]) for k in range(5)]


def each_with_its_own(x, w):
    return [x[k] @ w[k + 1] for k in range(3)]


def sum_of_all(x, w):
    s = x @ w[3]
    for k in (2, 4):
        s = s + np.maximum(x @ w[k], 0)
    return s


def apart(x, w):
    return x @ w[0], x @ w[4]


def test_one_after_the_other():
    x, w = integers(7, 4), integers(5, 4, 6, seed=1)
    for function, count in ((each, 1), (sum_of_all, 1), (apart, 2)):
        assert products(agrees(function, x, w), x, w) == (count, 0)
    xs = integers(3, 7, 4)
    assert products(agrees(each_with_its_own, xs, w), xs, w) == (1, 0)


def test_large_products_stay_as_they_are():
    """Their results would not stay in the cache."""
    args = (
        integers(14, 512, 4),
        integers(512, 256, seed=1),
        integers(4, 256, seed=2),
        integers(256, 256, seed=3),
    )
    assert products(nt.jit(forward, machine="skylake"), *args) == (0, 2)


def test_weights_that_a_loop_changes():
    def trained(xs, w):
        for x in xs:
            w = w - (x @ w) % 3
        return w

    xs, w = integers(9, 4, 4), integers(4, 4, seed=1)
    assert products(agrees(trained, xs, w), xs, w) == (0, 1)


def test_inputs_that_a_loop_writes():
    """What is read is what the step before has written: no product of the whole."""

    def written(xs, w):
        for t in range(len(xs) - 1):
            xs[t + 1] = (xs[t] @ w) % 5
        return xs

    agrees(written, integers(6, 3, 4), integers(4, 4, seed=1))


def test_lstm_and_its_gradient():
    example = load("lstm")
    rng = np.random.default_rng(0)
    xs, h, c = rng.standard_normal((9, 2, 3)), rng.standard_normal((2, 5)), rng.standard_normal((2, 5))
    w, u, bias = rng.standard_normal((3, 20)), rng.standard_normal((5, 20)), rng.standard_normal(20)

    def loss(w, u, bias):
        h1, c1 = example.lstm(xs, h, c, w, u, bias)
        return np.sum(h1 * h1) + np.sum(c1)

    compiled = agrees(example.lstm, xs, h, c, w, u, bias, tolerance=1e-9)
    assert products(compiled, xs, h, c, w, u, bias) == (1, 1)
    gradients = nt.grad(loss, argnums=(0, 1, 2))(w, u, bias)
    for k, (array, gradient) in enumerate(zip((w, u, bias), gradients, strict=True)):
        step = np.zeros_like(array)
        step.flat[k] = 1e-6
        moved = [[w, u, bias], [w, u, bias]]
        moved[0][k], moved[1][k] = array + step, array - step
        slope = (loss(*moved[0]) - loss(*moved[1])) / 2e-6
        np.testing.assert_allclose(gradient.flat[k], slope, rtol=1e-6)
