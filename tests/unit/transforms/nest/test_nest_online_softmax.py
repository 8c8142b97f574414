"""A softmax with its product, block by block: the numbers of the program, where rows are special, too."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop, functions
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.reductions.online_softmax import online_softmax
from parsed import parse_module
from places import FILECHECK

FILES = FILECHECK / "transforms" / "nest" / "reductions"
TEXT = (FILES / "nest-online-softmax.mlir").read_text().partition("// -----")[0]
"""Rows of 10 scores; the product with 3 columns is added to %y."""

HALVES = (FILES / "nest-online-softmax.mlir").read_text().split("// -----")[-1]
"""The same of float16: scores are sums of two elements in float32, exponentials have 16 bits."""


def softmax(x):
    with np.errstate(invalid="ignore"):
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)


def rewritten(factor, text=TEXT, name="attention"):
    module = parse_module(text, name)
    online_softmax(find_loop(module, "i"), find_loop(module, "i.1"), factor)
    module.verify()
    return functions(module)[0]


def special():
    """Scores with rows and blocks of -inf, and with NaN and +inf, of all sizes of numbers."""
    x = np.random.default_rng(0).standard_normal((5, 10)).astype("f4") * 30
    x[0, :6] = -np.inf
    x[1, 3] = np.nan
    x[2] = -np.inf
    x[3, 9] = np.inf
    x[4] = np.linspace(-3e38, 3e38, 10)
    return x


@pytest.mark.parametrize("factor", [1, 3, 4, 5, 10, 16])
def test_numbers_are_those_of_the_program(factor):
    function = rewritten(factor)
    rng = np.random.default_rng(factor)
    ordinary = rng.standard_normal((5, 10)).astype("f4") * 10
    v = rng.standard_normal((10, 3)).astype("f4")
    for x in (ordinary, special()):
        y = np.ones((5, 3), "f4")
        with np.errstate(all="ignore"):
            run_nest(function, [x, v, y])
            want = 1 + softmax(x.astype("f8")) @ v
        np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)
    assert np.isnan(want[1:4]).all() and not np.isnan(want[[0, 4]]).any()


@pytest.mark.parametrize("factor", [3, 5, 16])
def test_numbers_of_halves(factor):
    """Exponentials are rounded to 11 bits once, where the program rounds quotients again; rows are special, too."""
    function = rewritten(factor, HALVES, "halves")
    rng = np.random.default_rng(factor)
    v = rng.standard_normal((10, 3)).astype("f2")
    scores = special().clip(-6e4, 6e4)
    scores[0, :6] = scores[2] = -np.inf
    scores[3, 9] = np.inf
    for x in (rng.standard_normal((5, 10)) * 10, scores):
        pair = np.stack([x, 0 * np.nan_to_num(x)], axis=-1).astype("f2")
        y = np.ones((5, 3), "f4")
        with np.errstate(all="ignore"):
            run_nest(function, [pair, v, y])
            want = 1 + softmax(pair.astype("f8").sum(axis=-1)) @ v
        np.testing.assert_allclose(y, want, rtol=2e-3, atol=2e-3)
    assert np.isnan(want[1:4]).all() and not np.isnan(want[[0, 4]]).any()
