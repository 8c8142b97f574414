"""Random loop and tensor programs with gradients: Python's values, central differences, a time limit."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from campaign import judged

QUICK, SLOW = range(3), {"cpu": range(100, 260), "interp": range(100, 260, 4), "cuda-sim": range(100, 260, 8)}
PART = 20


def wrong(seeds, target):
    kind = "smooth" if target == "cpu" else f"smooth-{target}"
    return [f"{one.end}: {one.what}" for _, one in judged(kind, seeds) if one.is_wrong]


def test_random_programs_and_their_gradients_are_right():
    assert wrong(QUICK, "cpu") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "first"), [(target, k) for target, seeds in SLOW.items() for k in range(0, len(seeds), PART)]
)
def test_many_random_programs_and_their_gradients_are_right(target, first):
    assert wrong(SLOW[target][first : first + PART], target) == []


def test_the_judge_finds_a_wrong_gradient_and_a_wrong_value(monkeypatch):
    import smooth_judge

    def halved(f, argnums):
        with_gradient = real(f, argnums=argnums)

        def both(*given):
            value, gradients = with_gradient(*given)
            return value, tuple(0.5 * gradient for gradient in gradients)

        return both

    real = nt.value_and_grad
    monkeypatch.setattr(nt, "value_and_grad", halved)
    monkeypatch.setattr(nt, "jit", lambda f, target: f)
    assert smooth_judge.judge(2).end == "wrong gradient"
    monkeypatch.setattr(nt, "jit", lambda f, target: lambda *given: 1.0 + f(*given))
    assert smooth_judge.judge(2).end == "wrong value"


# ---- what was found ------------------------------------------------------------------------------------


def sums_read_in_a_branch(a, w):
    m = np.zeros((3, 3)) + a[2]
    p = a @ m.T
    if w[0] > 0.6:
        m = np.zeros((3, 3)) + p.sum(axis=0)
    m[1] -= m.reshape(-1)[-3:]
    return np.sum(m * m) + np.sum(p)


FOUND = [(sums_read_in_a_branch, (4, 3), 3)]


@pytest.mark.parametrize(("f", "shape", "length"), FOUND)
@pytest.mark.parametrize("target", ["cpu", "cuda-sim"])
def test_found_programs_are_right(f, shape, length, target):
    import smooth_judge

    for seed in (1, 2):
        random = np.random.default_rng(seed)
        given = random.random(shape), random.random(length)
        value, gradients = nt.jit(nt.value_and_grad(f, argnums=(0, 1)), target=target)(*given)
        np.testing.assert_allclose(value, f(*given))
        assert smooth_judge.wrong_gradient(f, given, gradients) is None
