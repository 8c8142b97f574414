"""Programs that the passes on tensors rewrite, against NumPy."""

import sys
from pathlib import Path

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.registry import make_context
from nestor.transforms.tensor.nt_if_to_select import NtIfToSelectPass
from nestor.transforms.tensor.nt_unroll import NtUnrollPass

sys.path.insert(0, str(Path(__file__).parent))
from agreement import agrees

pytestmark = pytest.mark.one_of(3)

SHAPES = [(3, 4), (1, 5), (6, 1), (5, 7)]


def grow(x, limit, n):
    for _ in range(n):
        if x.sum() < limit:
            x = x + x
        else:
            x = x - 1.0
    return x


def shared_columns(x, z, m):
    s = x + z
    return s + m, s * m - s


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("dynamic", [True, False])
def test_a_carried_array_is_reduced(target, dynamic):
    for shape in SHAPES:
        for n in (0, 1, 5):
            x = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
            agrees(grow, x, 100.0, n, target=target, dynamic=dynamic)


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_a_small_sum_that_is_read_twice(target):
    for rows, columns in [*SHAPES, (0, 3)]:
        x = np.arange(columns, dtype=np.float32)
        m = np.ones((rows, columns), np.float32)
        agrees(shared_columns, x, x * 2, m, target=target)


def invariants(x, y, h, n):
    for _ in range(n):
        scale = np.exp(x)[:, None] / (1.0 + (y * y).sum())
        column = y[::-1][None, :]
        if h.sum() > 10.0:
            h = h * 0.5 + scale * column
        else:
            h = h[::-1] + column * scale
    return h


def while_invariant(x, limit):
    k = 0
    while (x * x).sum() < (np.sqrt(limit) + 1.0).sum():
        x = x + np.abs(limit).max()
        k += 1
    return x, k


def view_of_updated(x, n):
    b = x.T
    h = x.copy()
    for k in range(n):
        x[k % 2] += h[0] * 0.5
        if x.sum() < 100.0:
            h = h + b
    return h, x


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("n", [0, 1, 4])
def test_what_every_turn_computes_alike(target, n):
    for rows, columns in SHAPES:
        x = np.linspace(-1, 1, rows, dtype=np.float32)
        y = np.linspace(0, 2, columns, dtype=np.float32)
        agrees(invariants, x, y, np.ones((rows, columns), np.float32), n, target=target, tolerance=1e-5)


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_what_a_condition_computes_alike(target):
    for size in (1, 4, 7):
        agrees(while_invariant, np.zeros(size), np.arange(size) + 2.0, target=target, tolerance=1e-12)


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_views_of_what_loops_update(target):
    for n in (0, 1, 5):
        agrees(view_of_updated, np.arange(16.0).reshape(4, 4), n, target=target)


def chosen(x, y, n):
    step = x.sum()
    for _ in range(n):
        if step > 4.0:
            step = step * 0.5
        else:
            step = step + 3.0
        if x[0] < y[0]:
            x = x + y * step
        else:
            x = y - x
    return x, step


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_cheap_branches(target):
    for n in (0, 1, 7):
        for size in (1, 5):
            agrees(chosen, np.arange(size) * 0.25, np.ones(size) * 2, n, target=target)


def test_cheap_branches_are_selections():
    text = nt.jit(chosen).lower(np.arange(5.0), np.ones(5), 3).as_text("nest")
    assert "nest.if" not in text and "scf.if" not in text and "arith.select" in text


def table(x, y):
    for k in range(20):
        x = x * 0.5 + y[k : k + 4]
        if x.sum() > 3.0:
            x = x - 1.0
    return x


@pytest.mark.parametrize(
    ("limit", "factor"), [(0, 1), (0, 2), (0, 3), (0, 7), (0, 19), (0, 20), (32, 1), (3, 6)]
)
def test_unrolled(limit, factor):
    """The loop has 20 turns: in full, by what divides them and by what does not."""
    x, y = np.arange(4.0), np.linspace(0, 3, 30)
    low = nt.jit(table).lower(x, y)
    turns = low.as_text().count("scf.for")
    NtUnrollPass(limit=limit, size=10**6, factor=factor).apply(make_context(), low.program.module)
    text = low.as_text()
    assert turns == 1 and text.count("scf.for") == (0 if limit == 32 else 1)
    assert text.count("nt.reduce") == (
        20 if limit == 32 else 1 if factor in (1, 20) else factor + 20 % factor
    )
    np.testing.assert_array_equal(low.compile()(x, y), table(x, y))


def test_selected_before_unrolling():
    x, y = np.arange(5.0), np.ones(5)
    low = nt.jit(chosen).lower(x, y, 6)
    NtIfToSelectPass().apply(make_context(), low.program.module)
    assert "scf.if" not in low.as_text()
    for a, b in zip(low.compile()(x, y, 6), chosen(x, y, 6), strict=True):
        np.testing.assert_array_equal(a, b)


def column_sums(x):
    c = x - x.mean(axis=1, keepdims=True)
    d = np.tanh(c) * x.max(axis=1, keepdims=True)
    return c.sum(axis=0), d.sum(axis=0), (c * c).max(axis=0), d.sum(axis=1)


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
@pytest.mark.parametrize("dynamic", [True, False])
def test_columns_of_several_results_are_reduced_together(target, dynamic):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((9, 9))
    special = x.copy()
    special[2, 3], special[4, 1] = np.nan, np.inf
    cases = [x, x[:5], rng.standard_normal((1, 7)), rng.standard_normal((6, 1)), x[::-2, ::3].T, special]
    for case in cases if target != "cuda-sim" else cases[::3]:
        agrees(column_sums, case, target=target, dynamic=dynamic, tolerance=1e-13)
