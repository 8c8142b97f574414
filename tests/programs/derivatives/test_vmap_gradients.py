"""Gradients of each slice, and of functions that work on slices: what a Python loop of gradients gives."""

import sys
from pathlib import Path

import nestor as nt
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from slices import take
from test_vmap_operations import CASES

WITHOUT = {
    *("complex", "matrices of halves", "integers", "while of integers", "random", "bincount"),
    *("while", "while of updates", "fill", "search"),
}
"""Of other numbers, or with operations whose derivatives are refused by name."""
FEW = ("matrices 2", "branch", "for of whole weights", "gather", "layer_norm")


def loss_of(function):
    """The sum of the squares of all that a function gives."""

    def loss(*arguments):
        total = 0.0
        result = function(*arguments)
        for value in result if isinstance(result, tuple) else (result,):
            value = np.asarray(value)
            if value.dtype.kind == "f":
                total = total + (value * value).sum()
        return total

    return loss


def check(name):
    function, arguments, in_axes = CASES[name]
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(arguments)
    k = next(i for i, a in enumerate(arguments) if a.dtype.kind == "f")
    loss = loss_of(function)
    gradient = nt.grad(loss, argnums=k)
    count = next(a.shape[x] for a, x in zip(arguments, axes, strict=True) if x is not None)
    slices = [
        [a if x is None else take(a, n, x) for a, x in zip(arguments, axes, strict=True)]
        for n in range(count)
    ]
    each = [gradient(*given) for given in slices]
    losses = nt.vmap(loss, axes)

    np.testing.assert_allclose(nt.vmap(gradient, axes)(*arguments), np.stack(each), rtol=1e-6, atol=1e-8)
    want = sum(each) if axes[k] is None else np.stack(each, axes[k])
    got = nt.grad(lambda *given: losses(*given).sum(), argnums=k)(*arguments)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)

    def along_ones(*given):
        def of_one(x):
            return loss(*given[:k], x, *given[k + 1 :])

        return nt.jvp(of_one, (given[k],), (given[k] * 0 + 1,))[1]

    want = [np.sum(one) for one in each]
    np.testing.assert_allclose(nt.vmap(along_ones, axes)(*arguments), want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", FEW)
def test_gradients(name):
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(CASES) - WITHOUT - set(FEW)))
def test_gradients_of_the_others(name):
    check(name)


@pytest.mark.parametrize("axis", [None, 0, (0, 1)], ids=str)
@pytest.mark.parametrize("function", [nt.nn.layer_norm, nt.nn.logsumexp])
def test_closed_forms_keep_their_axes(function, axis):
    """A composite that works along all axes of a slice does not along that of the slices."""
    tables = np.random.default_rng(0).standard_normal((5, 3, 4))

    def loss(x):
        return (function(x, axis=axis) ** 2 * np.arange(4)).sum()

    each, losses = nt.grad(loss), nt.vmap(loss)
    want = np.stack([each(x) for x in tables])
    np.testing.assert_allclose(nt.grad(lambda xs: losses(xs).sum())(tables), want, rtol=1e-9)
    np.testing.assert_allclose(nt.vmap(each)(tables), want, rtol=1e-9)
