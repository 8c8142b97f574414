"""Lists that loops append to and take from, as often as only the run knows; lists of tuples; lists made inside of loops."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

pytestmark = pytest.mark.one_of(3)

RNG = np.random.default_rng(4)
X = RNG.standard_normal(9)


def until(y, end, h):
    t, track = 0.0, [y.copy()]
    while t < end:
        y = y + h * np.sin(y)
        t += h
        track.append(y.copy())
    return np.array(track)


def way_back(before, v):
    way = []
    while v != -1:
        way.append(v)
        v = before[v]
    return np.array(way, dtype=np.int64), len(way)


def pairs(x, least):
    out = []
    for i in range(len(x)):
        if x[i] > least:
            out.append((i, x[i]))
    return out


def pairs_as_an_array(x, least):
    out = []
    i = 0
    while i < len(x):
        if x[i] > least:
            out.append((i, i * i))
        i += 1
    return np.array(out, dtype=np.int64).reshape(-1, 2), out[::-1], out[1:]


def sum_of_a_tree(x):
    todo, total = [0], 0.0
    while todo:
        k = todo.pop()
        total += x[k]
        if 2 * k + 1 < len(x):
            todo.append(2 * k + 1)
        if 2 * k + 2 < len(x):
            todo.append(2 * k + 2)
    return total


def independent(A):
    basis = []
    for j in range(A.shape[1]):
        v = A[:, j].copy()
        for q in basis:
            v -= (q @ v) * q
        norm = np.sqrt(v @ v)
        if norm > 1e-9:
            basis.append(v / norm)
    return np.array(basis)


def compressed(x):
    pointers, data = [0], []
    for row in x:
        for v in row:
            if v > 0:
                data.append(v)
        pointers.append(len(data))
    return pointers, data


def snapshots(u, n):
    record = []
    for k in range(n):
        u[1:] += 0.1 * u[:-1]
        if k % 2 == 0:
            record.append(u.copy())
    return np.array(record)


def upper_hull(points):
    hull = []
    for q in points:
        while len(hull) >= 2:
            a, b = hull[-2], hull[-1]
            if (b[0] - a[0]) * (q[1] - a[1]) - (b[1] - a[1]) * (q[0] - a[0]) > 0:
                break
            hull.pop()
        hull.append(q.copy())
    return np.array(hull)


def labels(mask):
    h, w = mask.shape
    found = np.zeros((h, w), dtype=np.int32)
    current = 0
    for i in range(h):
        for j in range(w):
            if not mask[i, j] or found[i, j]:
                continue
            current += 1
            stack = [(i, j)]
            found[i, j] = current
            while stack:
                y, x = stack.pop()
                for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                    b, a = y + dy, x + dx
                    if 0 <= b < h and 0 <= a < w and mask[b, a] and not found[b, a]:
                        found[b, a] = current
                        stack.append((b, a))
    return found, current


def numbers(text):
    values, value, inside = [], 0, False
    for c in text:
        if 48 <= c <= 57:
            value = 10 * value + (int(c) - 48)
            inside = True
        elif inside:
            values.append(value)
            value, inside = 0, False
    if inside:
        values.append(value)
    return np.array(values, dtype=np.int64)


def two_loops(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    for v in x:
        if v < 0:
            out.append(-v)
    return out


def nearest_smaller(x):
    best = 0
    for i in range(x.shape[0]):
        stack = []
        for j in range(x.shape[1]):
            while stack and x[i, stack[-1]] >= x[i, j]:
                k = stack.pop()
                best = max(best, k - (stack[-1] if stack else -1))
            stack.append(j)
    return best


def chosen(x, n):
    ready = [i for i in range(n) if x[i] > 0]
    ends = [(i, j) for i in range(n) for j in range(i) if x[i] * x[j] > 1]
    return ready, ends


def breadth_first(x):
    queue, order = [(0, 0)], []
    while queue:
        k, depth = queue.pop(0)
        order.append((depth, k))
        for child in (2 * k + 1, 2 * k + 2):
            if child < len(x) and x[child] > 0:
                queue.append((child, depth + 1))
    return order


def last_of_a_circle(n, step):
    people, order, at = list(range(1, n + 1)), [], 0
    while people:
        at = (at + step - 1) % len(people)
        order.append(people.pop(at))
    return order


def taken_out(x, at):
    out = []
    for v in x:
        if v < 3:
            out.append((v, v * v))
    one = out.pop(at)
    return one, out.pop(-2), out


def searched(x, at):
    out = [v for v in x if v < 3]
    squares = [int(k * k) for k in range(len(x)) if x[k] < 3]
    return min(out), max(out), out.index(x[at]), squares.index(at * at), sum(out)


def chain(sizes):
    n = len(sizes) - 1
    cost = np.zeros((n, n))
    split = np.zeros((n, n), dtype=int)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            options = [
                cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)
            ]
            best = min(options)
            cost[i, j] = best
            split[i, j] = i + options.index(best)
    return cost, split


def on_one_path(x):
    out = []
    if x.sum() > 0:
        out.append(x.max())
    if x[0] > 0:
        out.append(x[0])
    return out, len(out)


def balance(x):
    stack = [1.0]
    for v in x:
        if v > 0:
            stack.append(float(v))
        else:
            stack.pop()
    return len(stack), stack


POINTS = np.column_stack([np.arange(12.0), RNG.random(12)])
CALLS = [
    (until, [(np.ones(2), 0.35, 0.1), (np.ones(3), 0.9, 0.2), (np.ones(3), -1.0, 0.2)]),
    (way_back, [(np.array([-1, 0, 0, 2, 3]), np.int64(4)), (np.array([-1, 0]), np.int64(-1))]),
    (pairs, [(X, 0.0), (X[:4], -9.0), (X, 9.0)]),
    (pairs_as_an_array, [(X, 0.0), (X[::2], -9.0)]),
    (sum_of_a_tree, [(np.arange(9.0),), (np.arange(1.0),), (np.arange(30.0),)]),
    (independent, [(RNG.random((4, 3)) @ RNG.random((3, 6)),), (RNG.random((3, 5)),)]),
    (compressed, [(RNG.standard_normal((4, 3)),), (RNG.standard_normal((2, 5)),), (-np.ones((2, 2)),)]),
    (snapshots, [(X.copy(), 5), (X[:3].copy(), 2)]),
    (upper_hull, [(POINTS,), (POINTS[:2],), (POINTS[::-1],)]),
    (labels, [(RNG.random((6, 7)) < 0.6,), (RNG.random((9, 4)) < 0.4,), (np.zeros((2, 2), bool),)]),
    (numbers, [(np.frombuffer(text, np.uint8).copy(),) for text in (b"12 3,44", b"7,", b",")]),
    (two_loops, [(X,), (X[:4],), (np.zeros(3),)]),
    (nearest_smaller, [(RNG.integers(0, 5, (4, 6)),), (RNG.integers(0, 5, (2, 9)),)]),
    (chosen, [(X, 9), (X, 4)]),
    (breadth_first, [(np.abs(X),), (X,), (np.abs(RNG.random(40)),)]),
    (last_of_a_circle, [(7, 3), (10, 2), (7, 1)]),
    (taken_out, [(X, 0), (X, np.int64(2)), (X, np.int64(-1)), (X[:4], np.int64(1))]),
    (searched, [(X, 3), (X, 0)]),
    (chain, [(RNG.integers(1, 20, 6),), (RNG.integers(1, 20, 3),)]),
    (on_one_path, [(X,), (np.ones(3),), (-np.ones(3),)]),
    (balance, [(np.array([1.0, 2, -1, 3, -1]),), (np.array([-1.0]),)]),
]


@pytest.mark.parametrize("target", [pytest.param("interp", marks=pytest.mark.slow), "cpu"])
@pytest.mark.parametrize(("program", "calls"), CALLS, ids=[program.__name__ for program, _ in CALLS])
def test_lists(program, calls, target):
    compiled = nt.jit(program, target=target, strict=True)
    for arguments in calls:
        agrees_with(program, compiled, arguments)


def agrees_with(program, compiled, arguments):
    ours, pythons = ([a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
    want, got = program(*pythons), compiled(*ours)
    np.testing.assert_equal(kinds(got), kinds(want))
    for mine, theirs in zip(flat(got), flat(want), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    for mine, theirs in zip(ours, pythons, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def kinds(value):
    if isinstance(value, tuple | list):
        return [type(value), *map(kinds, value)]
    return (type(value), value.dtype, value.shape) if isinstance(value, np.ndarray) else type(value)


def flat(value):
    return [one for item in value for one in flat(item)] if isinstance(value, tuple | list) else [value]


def test_lists_for_any_shape():
    agrees(labels, RNG.random((5, 7)) < 0.5, dynamic=True)
    agrees(two_loops, X, dynamic=True)


def test_an_empty_list_has_no_last_item():
    with pytest.raises(IndexError, match="pop from empty list"):
        nt.jit(balance)(np.array([1.0, -1, -1, -1, 3]))


@pytest.mark.parametrize("at", [9, -10])
def test_there_is_no_item_there(at):
    with pytest.raises(IndexError, match="pop index out of range"):
        nt.jit(taken_out)(X, np.int64(at))


def appended_while_gone_through(x):
    out = [x[0]]
    for v in x:
        if v > 0:
            out.append(v)
        for w in out:
            if w > 3:
                out.append(w)
    return out


def appended_by_number(x):
    out = [x[0]]
    for v in x:
        if v > 0:
            out.append(v)
        for k, w in enumerate(out):
            if w > 3 and k < 5:
                out.append(w)
    return out


def shares_an_item(x):
    last, rows = x[0].copy(), []
    for r in x:
        if r[0] > 0:
            rows.append(last)
        last[:] += r
    return np.array(rows)


@pytest.mark.parametrize(
    ("program", "argument", "message"),
    [
        (appended_while_gone_through, X, "while a loop goes through it"),
        (appended_by_number, X, "while a loop goes through it"),
        (shares_an_item, np.ones((3, 2)), "an array that is in a list"),
    ],
)
def test_refusals(program, argument, message):
    with pytest.raises(nt.UnsupportedError, match=message) as caught:
        nt.jit(program)(argument)
    assert "^" in str(caught.value)
