"""Strategies of the user's (`nt.jit(strategies=...)`): the nests that they take, what is refused, and what is kept."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from nestor.transforms.schedule.nest_kinds import KINDS
from places import ROOT

BY_FOUR = """schedule.sequence @by_four takes "column sums" params {rows = 4, lanes = 8} {
  %row = schedule.match loops role "row"
  %column = schedule.match loops role "column"
  %rows, %four = schedule.split %row by @rows tail(clamp)
  %columns, %lanes = schedule.split %column by @lanes tail(mask)
  schedule.reorder %rows, %columns, %lanes, %four
  %v = schedule.vectorize %lanes
}
"""

TILES = """schedule.sequence @tiles takes "product" params {size = 4} {
  %row = schedule.match loops role "row"
  %column = schedule.match loops role "column"
  %term = schedule.match loops role "term"
  %batch = schedule.match optional loops role "batch"
  %rows, %r = schedule.split %row by @size tail(mask)
  %columns, %c = schedule.split %column by 8 tail(mask)
  schedule.reorder %rows, %columns, %term, %r, %c
  %v = schedule.vectorize %c
  schedule.parallel %rows
}
"""

HALVES = """schedule.sequence @halves takes "elementwise" {
  %inner = schedule.match loops role "inner"
  %o, %v = schedule.split %inner by 16 tail(mask)
  %w = schedule.vectorize %v
}
"""

ROWS = """schedule.sequence @rows takes "reduction" {
  %kept = schedule.match loops role "kept"
  schedule.parallel %kept
}
"""


def column_sums(x):
    return x.sum(0)


def gram(x):
    return x @ x.T


def shifted(x):
    return x * 2 + 1


def row_sums(x):
    return x.sum(1)


CASES = {
    "column sums": (BY_FOUR, column_sums, "@by_four"),
    "product": (TILES, gram, "@tiles"),
    "elementwise": (HALVES, shifted, "@halves"),
    "reduction": (ROWS, row_sums, "@rows"),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_a_strategy_is_done_and_changes_no_result(name, dynamic):
    text, function, label = CASES[name]
    jitted = nt.jit(function, strategies=text, dynamic=dynamic)
    rng = np.random.default_rng(1)
    for shape in ((21, 9), (8, 16), (1, 1), (0, 5), (5, 0), (130, 67)):
        x = rng.standard_normal(shape)
        np.testing.assert_allclose(jitted(x), function(x), rtol=1e-12, atol=1e-12)
    assert f"{label}: applied" in jitted.explain(rng.standard_normal((21, 9)), strategies=True)


def test_strategies_are_tried_in_order_and_what_they_do_not_take_is_scheduled_as_before():
    jitted = nt.jit(lambda x: (x.sum(0), x + 1), strategies=[TILES, BY_FOUR, ROWS])
    x = np.random.default_rng(2).standard_normal((40, 24))
    for found, expected in zip(jitted(x), (x.sum(0), x + 1), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    text = jitted.explain(x, strategies=True)
    tried = [line.strip() for line in text.splitlines() if line.strip().startswith("@")]
    first = tried.index("@by_four: applied")
    assert tried[first - 1].startswith("@tiles: is for sums over one loop")
    assert "plain loop: applied" in text or "vectors: applied" in text


def test_a_step_that_is_refused_leaves_the_nest_to_the_next_and_is_told():
    threads = ROWS.replace("@rows", "@threads").replace("kept", "reduced")
    jitted = nt.jit(row_sums, strategies=[threads, ROWS])
    x = np.random.default_rng(3).standard_normal((40, 24))
    np.testing.assert_allclose(jitted(x), x.sum(1), rtol=1e-12)
    text = jitted.explain(x, strategies=True)
    assert "the strategy @threads is not used for" in text and "@rows: applied" in text
    assert "this step of the schedule" in text


def test_a_file_is_read_when_the_function_is_made(tmp_path):
    path = tmp_path / "mine.mlir"
    path.write_text(BY_FOUR)
    jitted = nt.jit(column_sums, strategies=path)
    path.unlink()
    x = np.ones((20, 10))
    np.testing.assert_array_equal(jitted(x), x.sum(0))
    assert "@by_four: applied" in jitted.explain(x, strategies=True)


def test_programs_on_the_disk_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("NESTOR_CACHE_DIR", str(tmp_path))
    x = np.random.default_rng(4).standard_normal((30, 16))
    for strategies in ((), BY_FOUR, BY_FOUR.replace("rows = 4", "rows = 2")):
        for _ in range(2):
            np.testing.assert_allclose(nt.jit(column_sums, strategies=strategies)(x), x.sum(0), rtol=1e-12)


def test_gradients_have_the_strategies_of_their_function():
    x = np.random.default_rng(5).standard_normal((12, 10))
    grad = nt.grad(nt.jit(lambda x: (x @ x.T).sum(), strategies=TILES))
    np.testing.assert_allclose(grad(x), 2 * np.tile(x.sum(0), (12, 1)), rtol=1e-12)


def test_a_strategy_of_a_gpu():
    text = """schedule.sequence @threads takes "elementwise" {
      %outer = schedule.match loops role "outer"
      %o, %i = schedule.split %outer by 32 tail(mask)
      schedule.bind %o to "block.x"
      schedule.bind %i to "thread.x"
    }"""
    jitted = nt.jit(shifted, target="cuda-sim", strategies=text)
    x = np.random.default_rng(6).standard_normal(100)
    np.testing.assert_allclose(jitted(x), shifted(x))
    assert "@threads: applied" in jitted.explain(x, strategies=True)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (3, nt.errors.DTypeError, "strategies=3"),
        ([BY_FOUR, None], nt.errors.DTypeError, "strategies=None"),
        ("no/such/file.mlir", nt.NestorError, "cannot read the strategies 'no/such/file.mlir'"),
        (BY_FOUR.replace(' takes "column sums"', ""), nt.NestorError, "no roles|takes no nests"),
        (BY_FOUR.replace("column sums", "sums"), nt.NestorError, 'the strategy @by_four takes "sums"'),
        (BY_FOUR.replace("tail(clamp)", "tail(ragged)"), nt.NestorError, "'tail' is one of"),
    ],
)
def test_what_is_no_strategy_is_refused_at_once(given, error, message):
    with pytest.raises(error, match=message):
        nt.jit(column_sums, strategies=given)


def test_the_page_has_every_kind_with_its_roles():
    page = (ROOT / "docs" / "strategies.md").read_text()
    for kind in KINDS.values():
        (line,) = [line for line in page.splitlines() if line.startswith(f'| `"{kind.name}"` |')]
        assert kind.what in line
        assert all(f"`{role}`" in line for role in kind.roles[3:])
