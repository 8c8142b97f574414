"""Random programs of loops and branches: forward mode against differences, reverse mode against forward mode."""

import numpy as np
import pytest
from derivative_programs import check, results_of, run
from nestor.dialects.diagnostic import PassFailure
from random_loops import loaded

QUICK, ALL = 1, 40


@pytest.mark.parametrize(
    "seed", [*range(QUICK), *(pytest.param(s, marks=pytest.mark.slow) for s in range(QUICK, ALL))]
)
def test_derivatives(seed, tmp_path):
    f, text = loaded(seed, tmp_path)
    rng = np.random.default_rng(seed)
    h, g = rng.standard_normal((2, 3))
    w, x = rng.standard_normal((3, 3)) / 2, rng.standard_normal((5, 3))
    arguments = (h, g, w, x, int(rng.integers(0, 5)))
    try:
        check(f, *arguments, dynamic=bool(seed % 2), rtol=1e-4)
    except PassFailure as refusal:
        # A number that a loop carries by itself is in memory, where the loop overwrites it: refused by name.
        assert "the loop overwrites it" in str(refusal), text
        return
    except AssertionError:
        print(text)
        raise
    if seed % 4:
        return
    cotangents = [rng.standard_normal(r.shape) for r in results_of(f, arguments)]
    whole, some = (
        run("vjp", f, arguments, cotangents, [0, 1, 2, 3], passes=passes)
        for passes in (("to-nest",), ("nt-differentiate{snapshots=2}", "to-nest"))
    )
    for one, other in zip(some, whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
