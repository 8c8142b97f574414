"""Arrays that loops rewrite from their own neighbours: two buffers that change places, and what must not become that."""

from __future__ import annotations

import re

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

TURNS = (0, 1, 2, 3, 4, 7)


def copied_first(u, n):
    for _ in range(n):
        new = u.copy()
        new[1:-1, 1:-1] = np.sqrt(u[:-2, 1:-1] + u[2:, 1:-1]) + u[1:-1, :-2] * u[1:-1, 2:]
        u = new
    return u


def in_place(u, n):
    for _ in range(n):
        u[1:-1, 1:-1] = np.exp(-u[1:-1, 1:-1]) + 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1])
    return u.sum()


def with_edges(u, n):
    for _ in range(n):
        old = u.copy()
        u[1:-1, 1:-1] = 0.5 * (old[:-2, 1:-1] + old[2:, 1:-1])
        u[0, :] = 1.0
        u[:, -1] = 0.0
    return u


def edges_of_what_is_new(u, n):
    """The edges read the new rows: of two turns before, in a second buffer, where they read what is written later."""
    for _ in range(n):
        old = u.copy()
        u[1:-1, 1:-1] = 0.5 * (old[:-2, 1:-1] + old[2:, 1:-1])
        u[:, -1] = u[:, -2]
        u[0, :] = u[1, :]
    return u


def moving_window(u, n):
    """What an iteration writes is not what the one before wrote."""
    for t in range(n):
        u[1 + t % 3 : -1, 1:-1] = np.abs(u[: -2 - t % 3, 1:-1]) + 1
    return u


def some_iterations(u, n):
    for t in range(n):
        if t % 2 == 0:
            u[1:-1, 1:-1] = np.abs(u[:-2, 1:-1] + u[2:, 1:-1])
    return u


def under_a_mask(u, n):
    for t in range(n):
        new = u.copy()
        new[u > t] = 0.5
        new[1:-1, 1:-1] = np.abs(u[:-2, 1:-1] + u[2:, 1:-1])
        u = new
    return u


def the_one_before(u, n):
    """The old array goes on too."""
    before = u.copy()
    for _ in range(n):
        new = u.copy()
        new[1:-1, 1:-1] = 2 * u[1:-1, 1:-1] - before[1:-1, 1:-1] + 0.1 * np.sin(u[:-2, 1:-1])
        before, u = u, new
    return u, before


def with_a_difference(u, n):
    total = 0.0
    for _ in range(n):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        total += np.abs(new - u).sum()
        u = new
    return u, total


def until_it_converges(u, n):
    err, turns = 1.0, 0
    while err > 1e-3 and turns < n:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        err = np.abs(new - u).max() if u.size else 0.0
        u = new
        turns += 1
    return u, err, turns


def until_it_breaks(u, n):
    for _ in range(n):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * np.abs(u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u, old = new, u
        if np.abs(u - old).sum() < 1.0:
            break
    return u


def two_fields(u, n):
    v = np.flip(u, 1).copy()
    for _ in range(n):
        old_u, old_v = u.copy(), v.copy()
        u[1:-1, 1:-1] = np.sin(old_u[:-2, 1:-1] - old_v[1:-1, :-2])
        v[1:-1, 1:-1] = np.cos(old_v[2:, 1:-1] + old_u[1:-1, 2:])
    return u, v


def nested(u, n):
    for _ in range(n):
        u[0, :] += 1
        for _ in range(5):
            old = u.copy()
            u[1:-1, 1:-1] = 0.5 * np.abs(old[:-2, 1:-1] - old[2:, 1:-1])
    return u


def elements(u, n):
    for _ in range(n):
        new = u.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                new[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j]) + u[i, j - 1]
        u = new
    return u


def elements_in_place(u, n):
    """Gauss and Seidel: an element reads what its neighbours are by now."""
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j]) + u[i, j - 1]
    return u


def flipped(u, n):
    for _ in range(n):
        new = u.copy()
        new[:, 1:] = np.flip(u, 0)[:, :-1]
        u = new
    return u


def every_other(u, n):
    for t in range(n):
        new = u.copy()
        new[::2, ::-1] = np.abs(u[::2]) + t
        u = new
    return u


def a_row(u, n):
    for _ in range(n):
        u[0, :] = np.abs(u).sum(axis=0) * 0.5
    return u


def read_between(u, n):
    """What is new is read before all of it is."""
    total = 0.0
    for _ in range(n):
        new = u.copy()
        new[1:-1, 1:-1] = 0.3 * np.abs(u[:-2, 1:-1] + u[2:, 1:-1])
        total = 0.01 * new.sum()
        new[0, :] = total
        u = new
    return u, total


FORMS = [f for name, f in list(globals().items()) if callable(f) and getattr(f, "__module__", "") == __name__]
SHAPES = ((6, 7), (3, 3), (2, 5), (9, 4))


def _given(shape, dtype=float):
    return np.random.default_rng(1).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_a_loop_gives_what_numpy_gives_for_each_number_of_turns(form):
    compiled = nt.jit(form)
    for shape in SHAPES:
        for turns in TURNS:
            ours, theirs = _given(shape), _given(shape)
            got, wanted = compiled(ours, turns), form(theirs, turns)
            for one, other in zip(
                *((x if isinstance(x, tuple) else (x,)) for x in (got, wanted)), strict=True
            ):
                np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12, err_msg="the caller's array")


def test_a_window_that_moves_needs_one_buffer():
    def moving(u, n):
        for t in range(n):
            new = u.copy()
            new[1 + t % 3 : 3 + t % 3, 1:-1] = np.abs(u[:2, 1:-1]) + 1
            u = new
        return u

    compiled = nt.jit(moving)
    for turns in TURNS:
        np.testing.assert_array_equal(compiled(_given((6, 7)), turns), moving(_given((6, 7)), turns))


def test_where_a_window_is_may_be_known_after_what_it_is_filled_with():
    def placed(x):
        v = np.exp(x[:3])
        k = int(np.abs(x).max())
        out = np.zeros(9)
        out[k : k + 3] = v
        s = 0.0
        for i in range(len(x)):
            s += x[i] * 0.5
        w = np.cos(x[:2])
        filled = np.full(5, s)
        filled[1:3] = w
        return out, filled

    compiled = nt.jit(placed)
    for x in (np.array([1.0, 2.0, -3.5, 0.5]), np.array([0.1, 0.2, 0.3, 5.0]), np.arange(5.0)):
        for got, wanted in zip(compiled(x), placed(x), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.parametrize("target", ["interp", pytest.param("cuda-sim", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "form", [copied_first, with_edges, until_it_converges, two_fields, elements, flipped]
)
def test_the_other_targets_agree(form, target):
    compiled = nt.jit(form, target=target)
    for turns in (2, 5):
        got, wanted = compiled(_given((6, 7)), turns), form(_given((6, 7)), turns)
        for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (got, wanted)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_what_is_no_number_spreads_as_it_does_in_numpy():
    u = _given((7, 8))
    u[2, 3], u[4, 4] = np.nan, np.inf
    with np.errstate(all="ignore"):
        wanted = copied_first(u, 3)
    np.testing.assert_array_equal(nt.jit(copied_first)(u, 3), wanted)


def test_the_derivative_of_a_stencil_over_time_is_that_of_differences():
    def loss(u):
        for _ in range(4):
            new = u.copy()
            new[1:-1, 1:-1] = np.sin(u[:-2, 1:-1] + u[2:, 1:-1]) * u[1:-1, :-2]
            u = new
        return (u * u).sum()

    u, step = _given((5, 6)), 1e-6
    gradient = nt.grad(loss)(u)
    for at in ((0, 0), (1, 2), (2, 3), (4, 5)):
        up, down = u.copy(), u.copy()
        up[at] += step
        down[at] -= step
        assert gradient[at] == pytest.approx((loss(up) - loss(down)) / (2 * step), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("shift", [-2, 0, 1, 3])
def test_a_window_of_an_array_that_overlaps_the_one_it_is_filled_from_gets_the_old_elements(shift):
    @nt.jit
    def turned(x, y):
        x[1:-1] = np.flip(y)[:-2]
        x[1:-1] = np.exp(y[2:]) - np.roll(y, 1)[1:-1]

    given = _given((16,))
    ours, theirs = given.copy(), given.copy()
    for memory, function in ((ours, turned), (theirs, turned.__wrapped__)):
        function(memory[4:12], memory[4 + shift : 12 + shift])
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_a_loop_that_only_looks_at_a_view_compiles():
    @nt.jit
    def sum_of_small(a, n):
        columns = a.reshape(2, -1)
        for i in range(n):
            if columns[i, 0] > 5:
                raise ValueError("large")
        return a.sum()

    assert sum_of_small(np.ones(8), 2) == 8
    with pytest.raises(ValueError, match="large"):
        sum_of_small(np.arange(8.0) * 2, 2)


def _copies(form, turns):
    """How many copies of arrays there are in the loop and what follows it."""
    text = nt.jit(form).lower(_given((64, 64)), turns).as_text("nest")
    start = text.index('nest.for "_"') if "scf.while" not in text else text.index("scf.while")
    return len(re.findall(r'"copy".*memref<\d', text[start:]))


def test_no_iteration_copies_an_array():
    """What an odd last iteration leaves is copied once."""
    assert _copies(copied_first, np.array(8)) == 1
    assert _copies(until_it_converges, 100) == 1
    assert _copies(with_a_difference, np.array(8)) == 1
    assert _copies(flipped, np.array(8)) == 1
