"""A maximum and the sum of exponentials less it, a part at a time: the numbers of the program, infinities and NaNs, too."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop, functions
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.reductions.block_exponentials import block_exponentials
from parsed import parse_module
from places import FILECHECK

FILES = FILECHECK / "transforms" / "nest" / "reductions"
PLAIN, SHORT = (FILES / "nest-block-exponentials.mlir").read_text().split("// -----")

TERMS = {
    "near": np.linspace(-3, 5, 12),
    "far apart": np.linspace(-1e4, 3e38, 12),
    "far below 0": np.linspace(-3e38, -2.9e38, 12),
    "parts of -inf": np.r_[np.full(6, -np.inf), -200.0, np.full(4, -np.inf), -201.0],
    "all -inf": np.full(12, -np.inf),
    "+inf": np.r_[1.0, 2.0, np.inf, np.arange(9.0)],
    "NaN": np.r_[np.arange(7.0), np.nan, np.full(4, -np.inf)],
}


def rewritten(text, parts):
    module = parse_module(text, "exponentials")
    block_exponentials(find_loop(module, "i"), find_loop(module, "i.1"), parts)
    module.verify()
    return functions(module)[0]


@pytest.mark.parametrize("parts", [1, 4, 6])
def test_numbers_are_those_of_the_program(parts):
    function = rewritten(PLAIN, parts)
    for name, terms in TERMS.items():
        x, y = np.zeros(15, "f4"), np.full(15, 7, "f4")
        x[:12] = terms
        total = np.empty((), "f4")
        with np.errstate(all="ignore"):
            run_nest(function, [x, y, total])
            want = np.exp(x[:12] - x[:12].max())
        np.testing.assert_allclose(y[:12], want, rtol=3e-7, err_msg=name)
        np.testing.assert_allclose(total, want.astype("f8").sum(), rtol=2e-6, err_msg=name)
        assert (y[12:] == 7).all()


@pytest.mark.parametrize("parts", [2, 5])
def test_a_number_in_place_of_what_is_not_finite(parts):
    """logsumexp: exponentials less 0 where the maximum is infinite, of 16 bits, in parts of which the last has fewer."""
    function = rewritten(SHORT, parts)
    for name, terms in TERMS.items():
        x, lowest, total = np.full(15, -3, "f2"), np.array(-np.inf, "f2"), np.zeros((), "f4")
        with np.errstate(all="ignore"):
            x[2:14] = terms.astype("f2")
            run_nest(function, [x, lowest, total])
            wide = x[2:].astype("f8")
            largest = wide.max() if np.isfinite(wide.max()) else 0
            want = np.exp(wide - largest).sum()
        np.testing.assert_allclose(total, want, rtol=4e-3, err_msg=name)
