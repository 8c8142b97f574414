"""The place of an extreme, looked for in one part of the row: the numbers of the program, where rows are special, too."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop, functions
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.reductions.search_parts import search_parts
from parsed import parse_module
from places import FILECHECK

FILES = FILECHECK / "transforms" / "nest" / "reductions"
TEXT = (FILES / "nest-search-parts.mlir").read_text().partition("// -----")[0]
"""The place of the largest of 12 elements, of five rows."""

NAN = np.nan


def rewritten(text, parts):
    module = parse_module(text, "places")
    search_parts(find_loop(module, "j"), find_loop(module, "j.1"), parts)
    module.verify()
    return functions(module)[0]


def places(function, x):
    out = np.full(len(x), -1, "i4")
    run_nest(function, [x, out])
    return out


def special():
    """Rows with ties, zeros of both signs, nothing but -inf, one NaN, and NaN from the middle on."""
    x = np.zeros((5, 12), "f4")
    x[0, [5, 6, 11]] = 3
    x[1, :4] = -0.0
    x[2] = -np.inf
    x[3] = np.arange(12)
    x[3, 7] = NAN
    x[4, 5:] = NAN
    x[4, 2] = np.inf
    return x


@pytest.mark.parametrize("parts", [2, 3, 4, 12])
def test_places_are_those_of_numpy(parts):
    function = rewritten(TEXT, parts)
    for x in (np.random.default_rng(parts).standard_normal((5, 12)).astype("f4"), special()):
        np.testing.assert_array_equal(places(function, x), np.argmax(x, 1))


def test_where_no_element_is_found_none_is_as_before():
    """A row with a NaN, and no question for one: no element equals the extreme."""
    lines = [line for line in TEXT.splitlines() if "%nan =" not in line and "%found =" not in line]
    text = "\n".join(lines).replace("arith.select %found", "arith.select %equal")
    before = places(functions(parse_module(text, "places"))[0], special())
    assert list(before[3:]) == [2**31 - 1] * 2
    np.testing.assert_array_equal(places(rewritten(text, 4), special()), before)
