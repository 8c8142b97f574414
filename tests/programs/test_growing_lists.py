"""Lists that a loop appends to, compared with Python: ys.append(h), np.stack(ys), returning them; and what is refused."""

# ruff: noqa: B905 (zip as programs write it)

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

pytestmark = pytest.mark.one_of(2)

X = np.arange(200.0).reshape(100, 2) / 100


def recurrent(xs):
    h = np.zeros(2)
    ys = []
    for t in range(len(xs)):
        h = np.sqrt(np.abs(h - xs[t]))
        ys.append(h)
    return np.stack(ys), len(ys), ys[-1], ys[1]


def returned(xs):
    ys = []
    h = np.zeros(2)
    for row in xs:
        h = h * 0.5 + row
        ys.append(h)
    return ys


def numbers(n):
    ys = [1.0]
    s = 1.0
    for t in range(n):
        s = s * 0.5 + t
        ys.append(s)
    return ys, np.array(ys), sum(ys)


def two_lists(xs):
    sums, halves = [], [xs[0], xs[1]]
    for row in xs:
        s = 0.0
        for e in row:
            s += e
        sums.append(s)
        halves.append(row / 2)
    return np.array(sums), np.stack(halves), sums


def used_in_loops(xs):
    ys = []
    for t in range(0, len(xs), 3):
        ys.append(xs[t] * 2)
    out = np.zeros(2)
    for a, b in zip(ys, xs):
        out += a * b
    return out, np.concatenate(ys), np.array(ys).mean(axis=0)


def downwards(xs):
    ys = []
    for t in range(len(xs) - 1, -1, -1):
        ys.append(xs[t].max())
    return ys, np.array(ys)


def reads_back(xs):
    ys = [xs[0]]
    for t in range(1, len(xs)):
        ys.append(ys[-1] * 0.5 + xs[t])
    return np.stack(ys)


def counts(xs):
    ys = []
    for t in range(len(xs)):
        ys.append(t * 2)
    return ys


FUNCTIONS = [recurrent, returned, two_lists, used_in_loops, downwards, reads_back, counts]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dynamic", [None, True], ids=["static", "dynamic"])
def test_growing_lists(function, dynamic):
    agrees(function, X, dynamic=dynamic, target="interp")
    for xs in (X, X[:3], X[::-2], X.astype("f4"), np.asfortranarray(X)):
        agrees(function, xs, dynamic=dynamic)


def test_numbers():
    for n in (0, 3, 100):
        agrees(numbers, n)


def test_the_loop_is_kept():
    text = nt.jit(recurrent).lower(X).as_text("nt")
    assert text.count("scf.for") == 1
    assert text.count("nt.sqrt") == 1


# ---- what is refused --------------------------------------------------------------------------------


def written_in_place(xs):
    ys = []
    h = np.zeros(2)
    for t in range(len(xs)):
        h += xs[t]
        ys.append(h)
    return np.stack(ys)


def written_before_and_rebound(xs):
    ys = []
    h = np.zeros(2)
    for t in range(len(xs)):
        h += 1
        ys.append(h)
        if xs[t, 0] > 1:
            h = h * 2
    return np.stack(ys)


def written_afterwards(xs):
    ys = []
    h = np.zeros(2)
    for t in range(len(xs)):
        h = h + xs[t]
        ys.append(h)
    h += 1
    return np.stack(ys)


def item_written(xs):
    ys = []
    for t in range(len(xs)):
        ys.append(xs[t] * 2)
    first = ys[0]
    first[0] = 5
    return ys


def appended_later(xs):
    ys = []
    for t in range(len(xs)):
        ys.append(xs[t] * 2)
    ys.append(xs[0])
    return ys


def returned_views(xs):
    ys = []
    for t in range(len(xs)):
        ys.append(xs[t])
    return ys


def returned_from_before(xs):
    ys = []
    h = np.zeros(2)
    for t in range(len(xs)):
        ys.append(h)
        h = h + xs[t]
    return ys


def of_two_types(xs):
    ys = []
    for t in range(len(xs)):
        ys.append(xs[t] if t < 50 else 1.0)
    return ys


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (written_in_place, "'h' is written in place by iterations of this loop"),
        (written_before_and_rebound, "'h' is written in place by iterations of this loop"),
        (written_afterwards, "writing through an array that is in a list"),
        (item_written, "writing through an array that is in a list"),
        (appended_later, "appending to a list that a loop made is not supported after it"),
        (returned_views, "returning a list with arrays that others share is not supported"),
        (returned_from_before, "returning a list with arrays that others share is not supported"),
        (of_two_types, ""),
    ],
)
def test_refused(function, message):
    with pytest.raises(nt.NestorError) as caught:
        nt.jit(function)(X)
    assert message in str(caught.value)
    assert "test_growing_lists.py:" in str(caught.value)


def another_name_in_a_loop(x, c, k):
    xs = [x[0]]
    if c > 1:
        xs.append(xs[0])
    for _ in range(k):
        xs = xs
    return xs


def another_name_and_more(x, c, k):
    xs = [x[0]]
    ys = xs
    if c > 1:
        xs.append(xs[0])
    for _ in range(k):
        xs = ys
        xs.append(x[1])
    return len(ys), xs is ys


@pytest.mark.parametrize("function", [another_name_in_a_loop, another_name_and_more])
def test_a_list_that_grew_on_a_path_under_another_name(function):
    compiled = nt.jit(function)
    x = np.arange(1.0, 4.0)
    for c, k in ((1, 2), (3, 4), (3, 0), (0, 3)):
        assert compiled(x, c, k) == function(x, c, k)


@pytest.mark.parametrize("options", [{}, {"dynamic": True}, {"target": "interp"}], ids=str)
def test_arrays_of_other_lengths_that_the_run_takes_away_are_refused(options):
    """The reason names the list and stands where it is made; it named items that nobody appends."""

    def popped(con, n):
        while len(con) > n:
            con.pop()
        return len(con)

    def deleted(con, n):
        con.append(con[0] * 2)
        del con[3:10]
        return con

    con = [np.ones(k) for k in (3, 5, 1, 2, 7)]
    with pytest.raises(nt.UnsupportedError, match="whose length the run changes is not supported"):
        nt.jit(popped, **options)(list(con), 2)
    ours, pythons = list(con), list(con)
    got, want = nt.jit(deleted, **options)(ours, 2), deleted(pythons, 2)
    assert got is ours and [v.tolist() for v in got] == [v.tolist() for v in want]
