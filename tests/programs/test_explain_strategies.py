"""`f.explain(..., strategies=True)` says which strategies were tried for each nest, in order, and why they did not apply."""

import re

import nestor as nt
import numpy as np
import pytest

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


def test_what_takes_several_nests_of_a_function_is_named():
    def normalised(x):
        return (x - x.mean(0)) / x.std(0)

    x = np.ones((4000, 900))
    tried = dict(rows(nt.jit(normalised, machine="x86-64-v4").explain(x, strategies=True)))
    assert tried["parts of relative sums"] == "applied"
    assert tried["pairs of rows"].startswith("is for sums over all pairs of rows")

    def attention(q, k, v):
        return nt.nn.attention(q, k, v)

    q = np.ones((64, 32), np.float16)
    tried = dict(rows(nt.jit(attention, target="cuda-sim").explain(q, q, q, strategies=True)))
    assert tried["attention by tensor cores"] == "applied"
    assert tried["attention"] != "applied"


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_strategies_are_listed_by_target(target):
    found = nt.strategies(target)
    names = [row.name for row in found]
    assert len(set(names)) == len(names)
    for row in found:
        assert f"  {row.name}: for {row.takes}" in str(found)
    f, name = (product, "tiles of a product") if target == "cpu" else (scaled, "elementwise vectors")
    arguments = (A, B) if target == "cpu" else (A,)
    heard = rows(nt.jit(f, target=target.replace("cuda", "cuda-sim")).explain(*arguments, strategies=True))
    assert {one for one, _ in heard} <= set(names) and (name, "applied") in heard


def test_other_targets_have_no_automatic_schedule():
    with pytest.raises(nt.UnsupportedError, match="the target 'tpu'") as refused:
        nt.strategies("tpu")
    assert "targets: cpu, cuda" in str(refused.value)


def test_nothing_is_said_of_strategies_unless_asked():
    assert "strategies" not in nt.jit(product).explain(A, B)


def test_a_parameter_of_that_name_stays_the_functions():
    text = nt.jit(named).explain(strategies=A)
    assert re.search(r"^  strategies: ", text, re.MULTILINE) and "tried" not in text
