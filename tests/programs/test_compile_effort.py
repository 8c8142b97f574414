"""How much is compiled for a program: statements are counted, not seconds."""

from __future__ import annotations

import linecache

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.script import statements

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
