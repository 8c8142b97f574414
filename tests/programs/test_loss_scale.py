"""`nt.LossScale`: the gradients of `nt.value_and_grad`, of 16 bits too, whatever their size."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import nestor as nt
import numpy as np
import pytest

RNG = np.random.default_rng(11)


def singles(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


X, Y = singles(7, 4), singles(7, 2)


class Weights(NamedTuple):
    w: Any
    b: Any
    v: Any


@dataclass
class Layers:
    w: Any
    b: Any
    v: Any

    def __post_init__(self):
        self.w = self.w * 1


class Model:
    def __init__(self, w, b, v):
        self.w, self.b, self.v, self.none = w, b, v, None


PARTS = [singles(4, 5), singles(5), singles(5, 2)]


def of_named(p, x, y):
    return ((np.tanh(x @ p.w + p.b) @ p.v - y) ** 2).mean()


def of_dict(p, x, y):
    return of_named(Weights(*p["layers"][0], p["v"]), x, y)


STRUCTURES = [
    (of_named, Weights(*PARTS)),
    (of_named, Layers(*PARTS)),
    (of_named, Model(*PARTS)),
    (of_dict, {"layers": [(PARTS[0], PARTS[1])], "v": PARTS[2]}),
]


def parts(structure):
    if isinstance(structure, dict):
        return [type(structure), list(structure), *map(parts, structure.values())]
    if isinstance(structure, list | tuple):
        return [type(structure), *map(parts, structure)]
    if hasattr(structure, "__dict__"):
        return [type(structure), parts(vars(structure))]
    return structure if structure is None else (structure.dtype, np.asarray(structure).tolist())


@pytest.mark.parametrize(("loss", "weights"), STRUCTURES, ids=["NamedTuple", "dataclass", "object", "dict"])
def test_gives_what_value_and_grad_gives(loss, weights):
    step = nt.LossScale().value_and_grad(loss)
    for count in (7, 3, 7):
        wanted = nt.value_and_grad(loss, 0)(weights, X[:count], Y[:count])
        assert parts(step(weights, X[:count], y=Y[:count])) == parts(wanted)


def test_of_several_arguments_and_of_other_results():
    def loss(w, x):
        h = x @ w
        return h.sum(), {"h": h, "n": 3}

    w = PARTS[0]
    step = nt.LossScale().value_and_grad(loss, (0, 1), has_aux=True)
    assert str(step(w, X)) == str(nt.value_and_grad(loss, (0, 1), has_aux=True)(w, X))
    assert nt.LossScale().value_and_grad(lambda a: a * a)(3.0) == (9.0, 6.0)
    half = w.astype(np.float16)
    assert nt.LossScale().value_and_grad(lambda a: (a * a).sum())(half)[1].dtype == np.float16


def error(gradient, exact):
    return np.abs(gradient - exact).max() / np.abs(exact).max()


def test_small_gradients_in_16_bits_do_not_vanish():
    def loss(w, x):
        return (x @ w).mean() * 1e-7

    mixed, w = nt.jit(loss, autocast="f16"), PARTS[0]
    exact = nt.grad(loss)(w, X)
    assert not nt.grad(mixed)(w, X).any()
    scale = nt.LossScale()
    assert error(scale.value_and_grad(mixed)(w, X)[1], exact) < 1e-2
    with nt.autocast("f16"):
        assert error(scale.value_and_grad(loss)(w, X)[1], exact) < 1e-2
    assert scale.factor == 2.0**15


def test_a_factor_that_is_too_large_is_halved_until_it_is_not():
    def loss(w, x):
        return (x @ w).sum() * 30

    scale, w = nt.LossScale(every=3), PARTS[0]
    step = scale.value_and_grad(nt.jit(loss, autocast="f16"))
    exact = nt.grad(loss)(w, X)
    assert error(step(w, X)[1], exact) < 1e-2
    first = scale.factor
    assert first < 2.0**15
    for factor in (first, 2 * first, first):  # the third call doubles it, the fourth halves it again
        assert error(step(w, X)[1], exact) < 1e-2
        assert scale.factor == factor


def test_what_is_infinite_without_a_factor_is_returned():
    scale = nt.LossScale()
    value, gradient = scale.value_and_grad(lambda w: (w / 0.0).sum())(np.ones(3))
    assert value == np.inf
    assert np.isinf(gradient).all()
    assert scale.factor == 1
    scale.value_and_grad(lambda w: (w * w).sum())(np.ones(3))
    assert scale.factor == 1


def test_it_is_copied_with_its_factor():
    scale = nt.LossScale(64, every=5)
    for other in (copy.copy(scale), pickle.loads(pickle.dumps(scale))):
        assert repr(other) == repr(scale) == "LossScale(factor=64, every=5)"


@pytest.mark.parametrize("factor", [0, 3, 0.5, 2.0**25, -2, float("nan")])
def test_factors_that_are_none(factor):
    with pytest.raises(ValueError, match="factor is a power of two from 1 to 2\\*\\*24"):
        nt.LossScale(factor)


def test_refused():
    scale = nt.LossScale()
    with pytest.raises(ValueError, match="every is a number of calls, at least 1, not 0"):
        nt.LossScale(every=0)
    with pytest.raises(ValueError, match="the loss is an array of shape"):
        scale.value_and_grad(lambda w: w)(np.ones(3))
    with pytest.raises(nt.UnsupportedError, match="names parameters in `constants`"):
        scale.value_and_grad(nt.jit(of_named, constants=("x",)))

    def inside(w):
        return scale.value_and_grad(lambda v: (v * v).sum())(w)

    with pytest.raises(nt.UnsupportedError, match="is found by trying, call by call"):
        nt.jit(inside)(np.ones(3))
