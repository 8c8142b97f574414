"""nest-rfactor: loops that start anywhere, with steps and extents that are not constants, give the same total."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop, functions
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import compile_nest
from nestor.transforms.nest.reductions.rfactor import rfactor
from parsed import parse_module

ROWS = """
func.func @f(%n: index, %m: index, %x: memref<?xi64>, %s: memref<4xi64>) {{
  nest.for "r" %r = 0 to 4 {{
    nest.for "o" %o = {outer} {{
      nest.for "v" %v = {lanes} {{
        %a = nest.load %x[11 * %r + 3 * %o + %v] : memref<?xi64>
        nest.accumulate "s" {combiner} %a, %s[{element}]{where} : memref<4xi64>
      }}
    }}
  }}
  func.return
}}
"""

LANES = ("0 to 4", "3 to 12 step 4", "%m to %m + 5", "%o to %o + %m", "2 to %m step 2", "%m to 3", "5 to 2")
"""Bounds of the reduction loop; %m is 3 or 4."""

FIXED = "%m to min(6, %n)"


def same_totals(text: str, *extents: tuple[int, int]) -> None:
    """The total of the program with its reduction factored is that of the program as it is written."""
    as_written = compile_nest(functions(parse_module(text))[0])
    module = parse_module(text)
    rfactor(find_loop(module, "v"))
    verify(module)
    for mode in ("program", "shuffled"):
        factored = compile_nest(functions(module)[0], mode=mode)
        for n, m in extents:
            np.testing.assert_array_equal(total(factored, n, m), total(as_written, n, m))


def total(kernel: Callable[..., None], n: int, m: int) -> np.ndarray:
    s = np.arange(4, dtype=np.int64)
    kernel(n, m, np.arange(90, dtype=np.int64) % 7 - 2, s, seed=n)
    return s


@pytest.mark.parametrize("where", ("", " where (%r < 3)", " where (%o + %v < 6)"))
@pytest.mark.parametrize("combiner", ("add", "maxsi"))
@pytest.mark.parametrize("outer", ("0 to %n", "1 to min(%n, 3)", "%m to 2"))
@pytest.mark.parametrize("lanes", LANES)
def test_the_total_is_the_same(lanes: str, outer: str, combiner: str, where: str):
    text = ROWS.format(lanes=lanes, outer=outer, combiner=combiner, where=where, element="%r")
    same_totals(text, (0, 3), (1, 4), (5, 3))


@pytest.mark.parametrize("combiner", ("add", "maxsi"))
def test_another_update_of_the_element_is_kept(combiner: str):
    text = ROWS.format(lanes="1 to 5 step 2", outer="0 to %n", combiner=combiner, where="", element="%r")
    line = f'nest.accumulate "s" {combiner} %a, %s[%r] : memref<4xi64>'
    text = text.replace(line, f"{line}\n{line.replace('%r', '3 - %r')}\n{line.replace('%a', '%b')}")
    text = text.replace("%a = nest.load", "%b = arith.index_cast %o : index to i64\n%a = nest.load")
    same_totals(text, (0, 3), (1, 3), (4, 3))


@pytest.mark.parametrize("lanes", ("0 to %o", "%o to 4", FIXED))
def test_an_extent_that_changes_is_refused(lanes: str):
    text = ROWS.format(lanes=lanes, outer="0 to %n", combiner="add", where="", element="%r")
    module = parse_module(text)
    with pytest.raises(NestorError, match="how often it runs is not known before"):
        rfactor(find_loop(module, "v"))
    assert str(module) == str(parse_module(text))
