"""`profile=True` counts which way branches go in the calls that it watches; later programs have that as weights."""

import linecache
import re

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.attributes import BRANCH_WEIGHTS
from nestor.dialects.parse import parse_module
from nestor.frontend.jit.specialise import branches, stages

X = np.random.default_rng(3).random(1000)
LONG = np.random.default_rng(4).random(30000)


def rare(x, n):
    s, k = 0.0, 0
    for i in range(len(x)):
        if x[i] > 0.99:
            for j in range(n):
                s += np.sin(x[i] * j)
            k += 1
        else:
            s += x[i]
    return s, k


def of_arrays(x, limit):
    y = x * 2
    if y.sum() > limit:
        y = y - y.max()
        y = y[::-1] * limit
    return y


def of_numbers(x, n):
    found = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        elif n > 50:
            n = 3 * n + 1
        else:
            n = n - 1
        found += 1
    return found, x[0]


def in_threads(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        if x[i] > 0.5:
            r = x[i]
            for _ in range(30):
                r = r * 0.5 + 1
            y[i] = r
    return y


def same(got, want):
    for one, other in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.fixture
def texts(monkeypatch):
    """The LLVM IR of the programs that are compiled."""
    found = []
    emit = stages._llvm_ir

    def kept(module):
        found.append(emit(module))
        return found[-1]

    monkeypatch.setattr(stages, "_llvm_ir", kept)
    monkeypatch.setenv("NESTOR_CACHE", "0")
    return found


def counted(text):
    """What explain says of branches: line, times true, times in all."""
    return [tuple(map(int, one)) for one in re.findall(r"line (\d+) was true (\d+) of (\d+) times", text)]


CALLS = {
    "elements": (
        rare,
        [(X, 20), (X, 20), (X * 0.5, 20), (X, 20)],
        [(X, 20), (X[:7], 20), (X, 3), (X * 0, 20)],
    ),
    "arrays": (of_arrays, [(X, 10.0)] * 4, [(X, 1e9), (X[:3], 10.0), (X, 10.0)]),
    "numbers": (of_numbers, [(X, 97), (X, 97), (X, 96), (X, 12)], [(X, 97), (X, 7), (X, 1)]),
    "threads": (in_threads, [(LONG,)] * 4, [(LONG,), (LONG[:9],), (LONG * 0,)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_the_function_before_and_after(name):
    function, first, later = CALLS[name]
    compiled = nt.jit(function, profile=True)
    for arguments in (*first, *later, *first, *later):
        same(compiled(*arguments), function(*arguments))


def test_both_ways_are_counted_and_said(texts):
    compiled = nt.jit(rare, profile=True)
    for _ in range(5):
        compiled(X, 20)
    ((line, yes, total),) = counted(compiled.explain(X, 20))
    assert "if x[i] > 0.99" in linecache.getline(__file__, line)
    assert (yes, total) == (3 * int((X > 0.99).sum()), 3 * len(X))
    watched, decided = texts
    assert "inttoptr" in watched and "branch_weights" not in watched
    weights = re.findall(r'!"branch_weights", i32 (\d+), i32 (\d+)', decided)
    assert weights == [(str(yes + 1), str(total - yes + 1))] and "inttoptr" not in decided


def test_the_general_program_counts_no_more(texts):
    compiled = nt.jit(rare, profile=True)
    for _ in range(4):
        compiled(X, 20)
    before = len(texts)
    for arguments in ((X[:9], 20), (X, 5), (X[:30], 4)):
        same(compiled(*arguments), rare(*arguments))
    assert len(texts) == before + 1 and "inttoptr" not in texts[-1] and "branch_weights" in texts[-1]


def test_where_nothing_was_the_same_there_are_weights_all_the_same(texts):
    compiled = nt.jit(rare, profile=True)
    for k in range(6):
        same(compiled(X[k:], k + 2), rare(X[k:], k + 2))
    assert "nothing was the same" in compiled.explain(X, 20)
    assert len(texts) == 2 and "inttoptr" in texts[0] and "branch_weights" in texts[1]


def test_branches_of_whole_arrays_and_of_numbers():
    for name in ("arrays", "numbers"):
        function, first, _ = CALLS[name]
        compiled = nt.jit(function, profile=True)
        for arguments in first:
            compiled(*arguments)
        said = counted(compiled.explain(*first[-1]))
        assert said, name
        wanted = {"arrays": [(3, 3)], "numbers": None}[name]
        assert wanted is None or [one[1:] for one in said] == wanted


def test_what_has_no_branches_is_not_compiled_again(texts):
    compiled = nt.jit(lambda x, n: x * n + 1, profile=True)
    for _ in range(4):
        compiled(X, 3)
    compiled(X[:5], 3)
    assert len(texts) == 2 and not any("inttoptr" in text or "branch_weights" in text for text in texts)
    assert "branches in these calls" not in compiled.explain(X, 3)


def test_without_the_option_nothing_is_counted(texts):
    for _ in range(5):
        nt.jit(rare)(X, 20)
    assert not any("inttoptr" in text or "branch_weights" in text for text in texts)


def test_large_counts_are_scaled_to_what_weights_hold():
    module = parse_module(
        'func.func @f(%c: i1) {\n  scf.if %c {\n  } loc("f.py":3:1)\n  func.return\n}', "<test>"
    )
    branches.weigh(module, {("f.py", 3, 1): (10, 1 << 40)})
    (branch,) = [op for op in module.walk() if op.name == "scf.if"]
    yes, no = branch.attributes[BRANCH_WEIGHTS].get_values()
    assert (1 << 30) < yes < 1 << 32 and no == 1


def test_what_is_said_of_many_branches_is_short():
    assert branches.ways_text({("f.py", 3, 1): (10, 2)}) == "line 3 was true 2 of 12 times"
    assert branches.ways_text({("f.py", k, 1): (1, k) for k in range(1, 12)}).endswith(", 3 more")
