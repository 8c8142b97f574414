"""Folded layouts: what is accepted computes the same, what would lose an element is refused."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import functions
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import AllocOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.memory.transform_layout import transform_layout
from parsed import parse_module
from xdsl.dialects.builtin import ModuleOp

WINDOW = """
func.func @f(%n: index, %x: memref<16xi64>, %y: memref<16xi64>) {
  %u = nest.alloc "u"(%n) : memref<?xi64>
  nest.for "k" %k = 0 to min(%n, 2) {
    %a = nest.load %x[%k] : memref<16xi64>
    nest.store "u" %a, %u[%k] : memref<?xi64>
  }
  nest.for "i" %i = 0 to %n - 2 {
    %a = nest.load %x[%i + 2] : memref<16xi64>
    nest.store "u" %a, %u[%i + 2] : memref<?xi64>
    %b = nest.load %u[%i] : memref<?xi64>
    %c = nest.load %u[%i + 1] : memref<?xi64>
    %d = arith.subi %b, %c : i64
    nest.store "y" %d, %y[%i] : memref<16xi64>
  }
  func.return
}"""

TRIANGLE = """
func.func @f(%n: index, %x: memref<16xi64>, %y: memref<16xi64>) {
  %u = nest.alloc "u"(%n) : memref<?xi64>
  nest.for "i" %i = 1 to %n {
    nest.for "j" %j = 0 to %i {
      %a = nest.load %x[%i - %j] : memref<16xi64>
      nest.store "u" %a, %u[%j] : memref<?xi64>
      nest.accumulate "u" add %a, %u[%j] where (%j < 3) : memref<?xi64>
    }
    nest.for "k" %k = 0 to min(%i, 4) step 2 {
      %b = nest.load %u[%k] : memref<?xi64>
      nest.accumulate "y" add %b, %y[%i] : memref<16xi64>
    }
  }
  func.return
}"""

BACKWARDS = """
func.func @f(%n: index, %x: memref<16xi64>, %y: memref<16xi64>) {
  %u = nest.alloc "u"(%n) : memref<?xi64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<16xi64>
    nest.store "u" %a, %u[%n - 1 - %i] : memref<?xi64>
    %b = nest.load %u[%n - 1 - %i] : memref<?xi64>
    nest.store "u" %b, %u[%n - 1 - %i] where (%i > 3) : memref<?xi64>
    nest.store "y" %b, %y[%i] where (%i < 5) : memref<16xi64>
  }
  func.return
}"""

ACCEPTED = {
    "window": (WINDOW, ("i -> i%3", "i -> i%4", "i -> i/3 i%3")),
    "triangle": (TRIANGLE, ("i -> i", "i -> i/2 i%2")),
    "backwards": (BACKWARDS, ("i -> i%1", "i -> i%2", "i -> i/4")),
}
"""By program: the layouts that keep what it reads."""

REFUSED = {
    "window": (WINDOW, ("i -> i%2", "i -> i/2")),
    "triangle": (TRIANGLE, ("i -> i%2", "i -> i%3", "i -> i/2")),
}


def rows(table: dict[str, tuple[str, tuple[str, ...]]]) -> list[tuple[str, str]]:
    return [(text, layout) for text, layouts in table.values() for layout in layouts]


def outcome(module: ModuleOp, n: int, mode: str) -> np.ndarray:
    y = np.zeros(16, np.int64)
    run_nest(functions(module)[0], [n, np.arange(16, dtype=np.int64) ** 2 - 20, y], mode=mode, seed=n)
    return y


def folded(text: str, layout: str) -> ModuleOp:
    module = parse_module(text)
    transform_layout(next(op for op in module.walk() if isinstance(op, AllocOp)), layout)
    verify(module)
    return module


@pytest.mark.parametrize(("text", "layout"), rows(ACCEPTED))
def test_what_is_needed_is_kept(text: str, layout: str):
    module = folded(text, layout)
    for n in (1, 2, 3, 5, 8, 13):
        for mode in ("program", "shuffled"):
            np.testing.assert_array_equal(outcome(module, n, mode), outcome(parse_module(text), n, "program"))


@pytest.mark.parametrize(("text", "layout"), rows(REFUSED))
def test_what_would_be_lost_is_refused(text: str, layout: str, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(
        NestorError, match="two of its elements would be in one place while both are still needed"
    ):
        folded(text, layout)
    monkeypatch.setattr("nestor.transforms.nest.memory.transform_layout._is_folding", lambda *_: False)
    wrong = folded(text, layout)
    assert any(
        not np.array_equal(outcome(wrong, n, "program"), outcome(parse_module(text), n, "program"))
        for n in (5, 8)
    )
