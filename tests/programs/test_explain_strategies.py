"""`f.explain(..., strategies=True)` says which strategies were tried for each nest, in order, and why they did not apply."""

import re

import nestor as nt
import numpy as np

A = np.ones((300, 200), np.float32)
B = np.ones((200, 310), np.float32)


def product(a, b):
    return a @ b


def scaled(a):
    return a * np.float32(2)


def named(strategies):
    return strategies * np.float32(2)


def rows(text: str) -> list[tuple[str, str]]:
    """The strategies that were tried, and what came of each."""
    lines = text.partition("strategies (")[2].partition("history:")[0].splitlines()[1:]
    return [tuple(line.strip().split(": ", 1)) for line in lines if line.startswith("    ")]  # type: ignore[misc]


def test_strategies_are_tried_in_order_until_one_applies():
    tried = rows(nt.jit(product, machine="x86-64-v4").explain(A, B, strategies=True))
    names = [name for name, _ in tried]
    last = names.index("tiles of a product")
    assert names[last - 3 : last] == ["matrix unit", "bytes in vectors", "few rows or columns"]
    assert tried[last - 3][1] == "is for products of bytes, on a processor with a unit for them"
    assert tried[last - 1][1].endswith("a step is refused or would not pay")
    assert tried[last][1] == "applied"


def test_a_plain_loop_needs_no_other_strategy():
    assert rows(nt.jit(scaled).explain(A, strategies=True)) == [("plain loop", "applied")]


def test_strategies_of_a_gpu():
    tried = dict(rows(nt.jit(product, target="cuda-sim").explain(A, B, strategies=True)))
    assert tried["tensor cores"].startswith("is for products of what tensor cores multiply")
    assert tried["tiles of a product"] == "applied"
    elementwise = rows(nt.jit(scaled, target="cuda-sim").explain(A, strategies=True))
    assert elementwise[-2:] == [("elementwise vectors", "applied"), ("independent loops", "applied")]


def test_nothing_is_said_of_strategies_unless_asked():
    assert "strategies" not in nt.jit(product).explain(A, B)


def test_a_parameter_of_that_name_stays_the_functions():
    text = nt.jit(named).explain(strategies=A)
    assert re.search(r"^  strategies: ", text, re.MULTILINE) and "tried" not in text
