"""Random products of what is computed of other products, with gradients, on a simulated GPU; and what was found."""

from __future__ import annotations

import chain_programs
import nestor as nt
import numpy as np
import pytest
from campaign import judged

QUICK, SLOW, PART = range(2), range(100, 220), 12


def wrong(seeds):
    return [f"{one.end}: {one.what}" for _, one in judged("chains-cuda-sim", seeds) if one.is_wrong]


def test_random_chains_are_right():
    assert wrong(QUICK) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(SLOW), PART))
def test_many_random_chains_are_right(first):
    assert wrong(SLOW[first : first + PART]) == []


def test_the_judge_finds_a_wrong_value_and_a_wrong_gradient(monkeypatch):
    real = nt.value_and_grad

    def shifted(by_value, by_gradient):
        def derivative(f, argnums):
            with_gradient = real(f, argnums=argnums)
            is_simulated = getattr(f, "target", "cpu") != "cpu"

            def both(*given):
                value, gradients = with_gradient(*given)
                if not is_simulated:
                    return value, gradients
                return value * by_value, tuple(by_gradient * gradient for gradient in gradients)

            return both

        return derivative

    monkeypatch.setattr(nt, "value_and_grad", shifted(2, 1))
    assert chain_programs.judge(0, "interp").end == "wrong value"
    monkeypatch.setattr(nt, "value_and_grad", shifted(1, 2))
    assert chain_programs.judge(0, "interp").end == "wrong gradient"


# ---- what was found ------------------------------------------------------------------------------------


def masked(x, w, k, v):
    p = ((x @ w) * 0.5 + 0.1) @ np.swapaxes(k, -1, -2)
    p = np.where(np.arange(p.shape[-2])[:, None] >= np.arange(p.shape[-1]), p, 0.0)
    return np.sum((p @ v) ** 2)


@pytest.mark.parametrize(
    ("shapes", "argnums"),
    [
        # the mask is of variables as numbers: splitting their loops left operations between these
        (((16, 64), (64, 24), (8, 24), (8, 8)), (2, 3)),
        # a product is a factor of one chain and a reader of another, which was scheduled before
        (((16, 64), (64, 5), (5, 5), (5, 40)), (0, 1, 2, 3)),
    ],
)
def test_gradients_of_masked_chains(shapes, argnums):
    rng = np.random.default_rng(1)
    given = [rng.standard_normal(shape) * 0.3 for shape in shapes]
    expected = nt.value_and_grad(masked, argnums=argnums)(*given)
    compiled = nt.jit(masked, target="cuda-sim:checked", dynamic=False)
    value, gradients = nt.value_and_grad(compiled, argnums=argnums)(*given)
    np.testing.assert_allclose(value, expected[0], rtol=1e-9)
    for found, wanted in zip(gradients, expected[1], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9)
