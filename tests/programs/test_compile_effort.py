"""How much is compiled for a program: statements are counted, not seconds."""

from __future__ import annotations

import linecache

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.script import statements
from nestor.frontend.values.values import Buffer

X = np.random.default_rng(0).random(12)
P = np.random.default_rng(1).random((20, 4))


@pytest.fixture
def compiled_statements(monkeypatch):
    """Counts the statements that the frontend goes through; those of a loop count in each attempt at it."""
    count = [0]
    handlers = dict(statements._HANDLERS)

    def counting(handler):
        def handle(frame, node):
            count[0] += 1
            return handler(frame, node)

        return handle

    for kind, handler in handlers.items():
        monkeypatch.setitem(statements._HANDLERS, kind, counting(handler))
    return count


def function_of(text: str):
    """The function `f` of a source text, which has lines to show."""
    name = f"<{abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    values = {"np": np}
    exec(compile(text, name, "exec"), values)
    return values["f"]


def last_row(p):
    for i in range(p.shape[0]):
        z = p[i]
    return np.sum(z)


def last_large_row(p):
    z = p[0]
    for i in range(p.shape[0]):
        for j in range(p.shape[0]):
            if p[i, 0] > p[j, 1]:
                z = p[(i + j) % p.shape[0]]
    return np.sum(z)


def row_until(p):
    i, z = 0, p[0]
    while z.sum() < 3 and i < p.shape[0]:
        z = p[i]
        i += 1
    return np.sum(z)


@pytest.mark.parametrize("function", [last_row, last_large_row, row_until])
def test_views_that_only_an_iteration_knows_are_found_once(function, compiled_statements):
    np.testing.assert_allclose(nt.jit(function)(P), function(P))
    assert compiled_statements[0] < 80


def test_a_view_that_only_an_iteration_knows_is_no_result():
    def row(p):
        for i in range(p.shape[0]):
            z = p[i]
        return z

    with pytest.raises(nt.NestorError, match="shares memory with an argument on some paths"):
        nt.jit(row)(P)


def test_what_is_written_after_a_loop_that_left_a_view_is_not_missed():
    def row(p):
        for i in range(p.shape[0]):
            z = p[i]
        p[19] = 7.0
        return np.sum(z)

    with pytest.raises(nt.NestorError, match="the update would be missed"):
        nt.jit(row)(P.copy())


def nested(depth: int, head: str, tail: str = "", inner: str = "y = y + x * 0.1", first: str = "") -> str:
    """Loops in each other on whole arrays, with statements before and after the inner one."""
    lines, ends = ["def f(x, n):", "    y = x * 1.0", "    t = 0.0", *([f"    {first}"] if first else [])], []
    for k in range(depth):
        lines.append("    " * (k + 1) + f"for i{k} in range(n):")
        indent = "    " * (k + 2)
        lines += [indent + line for line in head.format(k=k).splitlines()]
        ends += [indent + tail] if tail else []
    lines += ["    " * (depth + 1) + inner, *ends[::-1], "    return y, t"]
    return "\n".join(lines) + "\n"


NESTED = {
    "lists": ("q = [y, t]\nif q[0].sum() > 90: break", "y = q[0] * 0.9"),
    "dicts": ("q = {{'a': y}}\nif q['a'].sum() > 90: break", "y = q['a'] * 0.9"),
    "lists in lists": ("q = [[y, t], t]\nif q[0][0].sum() > 90: break", "y = q[0][0] * 0.9"),
    "written slices": ("y[{k}:] = np.cumsum(y)[{k}:] * 0.1\nif y.sum() > 40 + {k}: break",),
    "written locals": (
        "z = np.zeros(5)\nz[2] = y[0]\nif z.sum() > 90: break",
        "y[:5] = y[:5] + z",
        "z[1:] = np.sort(z)[1:]",
    ),
    "lists that grow": ("xs.append(t)\nif y.sum() > 90: break", "", "y = y + t", "xs = []"),
    "branches": ("if y.sum() > 40 + {k}:\n    break\nelse:\n    y = y * 2", "t = t + y[0]"),
}


@pytest.mark.parametrize("kind", NESTED)
def test_loops_in_each_other_are_not_compiled_twice_for_each_loop_around(kind, compiled_statements):
    counts = []
    for depth in (2, 3, 5):
        compiled_statements[0] = 0
        function = function_of(nested(depth, *NESTED[kind]))
        program = nt.jit(function, target="interp")
        assert program.lower(X, 2).program is not None
        counts.append(compiled_statements[0])
    growth = counts[2] / counts[1]
    assert growth < 3.2, counts  # that of a cube; twice as many for each loop are four times as many


@pytest.mark.parametrize("kind", NESTED)
def test_loops_in_each_other_give_what_python_gives(kind):
    function = function_of(nested(3, *NESTED[kind]))
    for ours, expected in zip(nt.jit(function)(X, 2), function(X.copy(), 2), strict=True):
        np.testing.assert_allclose(ours, expected)


def local_types(x, n):
    total = 0
    for a in (1.5, 2):
        t = 0
        for _ in range(n):
            t = t + a
            x = x * 0.9
        total = (total, t)
    return total, x.sum()


def test_what_a_loop_carried_for_other_types_is_not_taken_over():
    (first, second), _ = nt.jit(local_types)(X, 9)
    (_, expected), _ = local_types(X, 9)
    assert (second, type(second)) == (expected, int)
    assert isinstance(first, tuple) and first[1] == 13.5


def rows_of_some_iterations(t, a, n, tol):
    v, k = a * 0.5, 0
    for row in t:
        row[-1] += tol
        k += 1
        if np.all(t.sum(axis=0) > n):
            return k, a.sum()
        for other in t:
            other *= 0.4
            if np.any(v < 0.5):
                continue
            if 0 < k < n:
                v = other
            k += 1
    return k, n + 1.0


def test_arrays_that_a_variable_may_be_are_kept_once(monkeypatch):
    most = [0]
    may_be = Buffer.may_be

    def counting(buffer, lenders):
        may_be(buffer, lenders)
        most[0] = max(most[0], len(buffer.lenders))

    monkeypatch.setattr(Buffer, "may_be", counting)
    t, a = np.random.default_rng(3).random((3, 3)) * 0.1, np.ones(3)
    want = rows_of_some_iterations(t.copy(), a, 3, 0.5)
    assert nt.jit(rows_of_some_iterations, dynamic=True)(t, a, 3, 0.5) == want
    assert 0 < most[0] < 60
