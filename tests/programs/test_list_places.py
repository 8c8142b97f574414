"""Methods of lists at places that only the run knows: index, remove, insert, pop, del."""

import nestor as nt
import numpy as np
import pytest
from agreement import same


def found(a, v):
    xs = list(a[:3])
    return xs.index(v), xs.count(v), (4.0, v, v).index(v), [1.0, v, v].index(v, 2)


def inserted(a):
    xs = [1, 2, 3]
    for i in range(len(a)):
        xs.insert(a[i], int(a[i]) * 2)
        xs.pop(0)
    return xs


def taken(a):
    xs = [1, 20, 300, 4000]
    v = xs.pop(a[0])
    del xs[a[1]]
    return v, xs


def removed(a):
    xs = [0.5, 1.5, 0.5, 2.5]
    xs.remove(a[0])
    xs.remove(a[1])
    return xs


def window(x, width):
    """The median of a window that is kept in order."""
    out = np.empty(len(x) - width + 1)
    xs = sorted(x[:width])
    out[0] = xs[width // 2]
    for i in range(width, len(x)):
        xs.remove(x[i - width])
        k = 0
        while k < len(xs) and xs[k] < x[i]:
            k += 1
        xs.insert(k, x[i])
        out[i - width + 1] = xs[width // 2]
    return out


CASES = [
    (found, [(X := np.array([3.0, 1, 2]), 2.0), (X, 3.0), (X[::-1], 3.0)]),
    (inserted, [(np.array(v, dtype=int),) for v in ([3, 1, 2], [-1, 5, -9], [0, -3, -4, 2], [])]),
    (taken, [(np.array(v),) for v in ([0, 1], [-1, 0], [3, 2], [-4, -3])]),
    (removed, [(np.array(v),) for v in ([0.5, 0.5], [2.5, 1.5], [1.5, 0.5])]),
    (window, [(np.random.default_rng(n).random(n), w) for n, w in ((9, 3), (5, 5), (7, 1), (12, 4))]),
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize(("f", "calls"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_places(f, calls, target, dynamic):
    compiled = nt.jit(f, target=target, dynamic=dynamic)
    for arguments in calls:
        same(compiled(*arguments), f(*arguments))


@pytest.mark.parametrize(
    ("f", "arguments", "error", "message"),
    [
        (found, (X, 7.0), ValueError, "the value is not in list"),
        (removed, (np.array([9.0, 0.5]),), ValueError, r"list.remove\(x\): x not in list"),
        (removed, (np.array([1.5, 1.5]),), ValueError, r"list.remove\(x\): x not in list"),
        (taken, (np.array([4, 0]),), IndexError, "pop index out of range"),
        (taken, (np.array([0, -4]),), IndexError, "list assignment index out of range"),
    ],
)
def test_what_is_not_there(f, arguments, error, message):
    compiled = nt.jit(f)
    with pytest.raises(error, match=message):
        compiled(*arguments)
    with pytest.raises(error):
        f(*arguments)


def test_arrays_are_not_moved():
    def f(x, k):
        xs = [x, x + 1]
        xs.insert(k[0], x)
        return xs[0]

    with pytest.raises(nt.UnsupportedError, match="to a place known at run time is not supported"):
        nt.jit(f)(np.ones(3), np.array([1]))


def test_a_nan_is_in_no_list():
    def f(x):
        xs = [x[0], x[1]]
        return xs.count(x[0]), x[1] in xs

    x = np.array([np.nan, 2.0])
    assert f(x) == (1, True) or f(x) == (0, True)  # NumPy makes a new scalar of each subscript
    assert nt.jit(f)(x) == (0, True)

    def place(x):
        xs = [x[0], x[1]]
        return xs.index(xs[0])

    assert place(x) == 0
    with pytest.raises(ValueError, match="not in list"):
        nt.jit(place)(x)


def item_of_a_range(i, n):
    return range(10)[i[0]], range(n, 0, -3)[i[1]], range(2, 20, 5)[-1]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_items_of_ranges(target, dynamic):
    compiled = nt.jit(item_of_a_range, target=target, dynamic=dynamic)
    for i, n in (([0, 0], 5), ([9, 1], 5), ([-10, -2], 4), ([-1, 6], 20)):
        same(compiled(np.array(i), n), item_of_a_range(np.array(i).tolist(), n))
    for i, n in (([10, 0], 5), ([0, 2], 5), ([0, -3], 4), ([0, 0], 0)):
        with pytest.raises(IndexError, match="range object index out of range"):
            compiled(np.array(i), n)


def test_refusals_say_what_to_do():
    def distinct(a):
        found = set()
        for v in a:
            found.add(v)
        return len(found)

    def counted(a):
        counts = {}
        for v in a:
            counts[v] = counts.get(v, 0) + 1
        return counts

    def shorter(x):
        for _ in range(100):
            x = x[x < x.mean() * 2]
        return x

    for f, message, hint in (
        (distinct, "what is put into a set must be known at compile time", "if v not in xs"),
        (counted, "the key of a dict must be known at compile time", "np.unique"),
        (shorter, "is an array of shape", "how much of it counts"),
    ):
        with pytest.raises(nt.NestorError, match=message) as caught:
            nt.jit(f)(np.arange(100) % 7)
        assert hint in str(caught.value)
