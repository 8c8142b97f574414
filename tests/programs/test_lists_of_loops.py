"""Lists that loops make: searched, changed after the loop, lists in them, and perhaps empty."""

import nestor as nt
import numpy as np
import pytest
from agreement import same

pytestmark = pytest.mark.one_of(2)

X = np.array([0.5, -1.0, 3.0])


def searched(n, v):
    xs = []
    for i in range(n):
        if i % 3:
            xs.append((i * 37) % 50)
    return v in xs, v not in xs, xs.count(v), 50 in xs


def kept_apart(n, v):
    """A list that is searched in the loop that appends to it."""
    seen, twice = [], 0
    for _ in range(n):
        v = (v * 7 + 3) % 31
        if v in seen:
            twice += 1
        else:
            seen.append(v)
    return seen, twice


def in_order(n, v):
    xs = []
    for i in range(n):
        if i % 3:
            xs.append((i * 37) % 50 - v)
    given = xs[:3]
    xs.sort()
    low = xs[:2]
    down = sorted(xs, reverse=True)
    xs.sort(reverse=True)
    return given, low, down, xs, sorted(xs)


def shortened(n, v):
    xs, ys = [], []
    for i in range(n):
        xs.append(i * 2)
        if i % 2:
            ys.append(i * 0.5)
    for_later = xs[-1]
    xs.remove(v * 2)
    xs.pop(0)
    xs.reverse()
    ys.remove(1.5)
    ys.reverse()
    return xs, xs.pop(1), xs.pop(), len(xs), for_later, ys, ys.pop(-2)


def rows_of_numbers(n, v):
    rows = []
    for i in range(n):
        if i % 3 != 1:
            rows.append([i, v * 0.5])
    total = 0.0
    for row in rows:
        total += row[1]
    for k, w in rows:
        total += k * w
    return rows, total, rows[1], rows[-1][0], len(rows)


def stacked_rows(n, v):
    rows = []
    for i in range(n):
        rows.append([v * 0.5, float(i)])
    return np.array(rows).sum(axis=0), [[float(i * j) for j in range(3)] for i in range(n)]


def perhaps_empty(n, v):
    xs, ys = [], []
    for i in range(n):
        if i % 3:
            xs.append(i)
            ys.append(-i)
    return xs if len(xs) > v else [], [] if len(ys) > v else ys


CALLS = [(70, 4), (90, 7), (200, 30)]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize(
    "f", [searched, kept_apart, in_order, shortened, rows_of_numbers, stacked_rows, perhaps_empty]
)
def test_lists(f, target, dynamic):
    compiled = nt.jit(f, target=target, dynamic=dynamic)
    for n, v in CALLS if target == "cpu" else CALLS[:2]:
        same(compiled(n, v), f(n, v))


@pytest.mark.parametrize("f", [searched, in_order, perhaps_empty])
def test_short_lists(f):
    compiled = nt.jit(f, dynamic=True)
    for n in (80, 0, 1, 2, 5):
        same(compiled(n, 1), f(n, 1))


def test_what_is_not_in_a_list():
    def f(n):
        xs = []
        for i in range(n):
            if i % 2:
                xs.append(i)
        xs.remove(4)
        return xs

    with pytest.raises(ValueError, match=r"list.remove\(x\): x not in list"):
        nt.jit(f)(100)


def item_of_a_row(n):
    rows = []
    for i in range(n):
        rows.append([i, 1])
    rows[1][0] = 5
    return rows


def item_of_each(n):
    rows = []
    for i in range(n):
        rows.append([i, 1])
    for row in rows:
        row[0] += 1
    return rows


def method_of_a_row(n):
    rows = []
    for i in range(n):
        rows.append([i, 1])
    rows[2].append(3)
    return rows


def row_with_a_name(n):
    rows = []
    for i in range(n):
        rows.append([i, 1])
    best = rows[3]
    best[1] -= 2
    return rows


def one_list_many_times(n):
    rows, row = [], [0, 1]
    for i in range(n):
        row[0] = i
        rows.append(row)
    return rows


def list_that_may_be_another(n):
    xs = []
    for i in range(n):
        if i % 3:
            xs.append(i)
    ys = [] if n > 1000 else xs
    xs.append(3)
    return ys


def sorted_in_a_loop(n):
    xs = []
    for i in range(n):
        if i % 3:
            xs.append(-i)
            xs.sort()
    return xs


def sorted_by_a_key(n):
    rows = []
    for i in range(n):
        if i % 3:
            rows.append((i, 1))
    rows.sort(key=lambda row: -row[0])
    return rows


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (item_of_a_row, "assigning to an item of a list is not supported"),
        (item_of_each, "changing a list that is in a list that a loop makes is not supported"),
        (method_of_a_row, "changing a list that is in a list that a loop makes is not supported"),
        (row_with_a_name, "changing a list that is in a list that a loop makes is not supported"),
        (one_list_many_times, "appending a list"),
        (list_that_may_be_another, "changing a list that may be another one's"),
        (sorted_in_a_loop, r"list.sort\(\) of a list that a loop makes is not supported in a loop"),
        (sorted_by_a_key, r"list.sort\(key=...\) of a list that a loop makes is not supported"),
    ],
)
def test_no_change_is_missed(f, message):
    with pytest.raises(nt.NestorError, match=message):
        nt.jit(f)(100)


def selected(x, y):
    m = x > 0
    pairs = np.stack([x[m], y[m] * 2], axis=1)
    columns = np.column_stack((x[m], np.arange(len(x))[m]))
    return pairs, columns, np.concatenate([x[m], y[~m]]), np.vstack([x[m], x[m] + 1])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_stacks_of_what_masks_select(target, dynamic):
    compiled = nt.jit(selected, target=target, dynamic=dynamic)
    for x in (X, -X, X[:1], np.ones(5)[::-1], np.array([np.nan, np.inf, -0.0])):
        same(compiled(x, x + 1), selected(x, x + 1))


def test_stacks_of_different_lengths():
    def f(x):
        return np.stack([x[x > 0], x[x < 0]])

    compiled = nt.jit(f)
    same(compiled(np.array([1.0, -1.0])), f(np.array([1.0, -1.0])))
    with pytest.raises(ValueError, match="extents differ"):
        compiled(np.array([1.0, -1.0, 3.0]))


def popped_until(xs, n, m):
    for _ in range(3):
        xs.pop()
        if n == m:
            break
    return xs, [xs]


def test_a_list_of_the_caller_is_returned_as_itself():
    compiled = nt.jit(popped_until)
    for n in (1, 2, 1):
        xs, ys = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]
        result, (again,) = compiled(xs, n, 2)
        assert result is xs and again is xs
        assert xs == popped_until(ys, n, 2)[0]


def changed_item_of_a_list_that_grew(n):
    xs = []
    for i in range(n):
        if i % 3:
            xs.append(i)
    xs[0] = 7
    return xs


def test_what_is_not_supported_is_no_type_error():
    with pytest.raises(
        nt.UnsupportedError, match="to an item of a list that a loop makes is not supported here"
    ):
        nt.jit(changed_item_of_a_list_that_grew)(100)
