"""Objects that have several names: lists repeated, assigned at once, chosen by a branch, and returned twice."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

X = np.arange(4.0)


def repeated(x):
    m = [[0] * 3] * 2
    m[0][0] = 7
    return m


def repeated_arrays(x):
    a, b = [x * 2] * 2
    a += 1
    return b


def assigned_at_once(x):
    a = b = [x]
    a[0] = x + 1
    c = d = []
    c.append(x)
    return b, len(d)


def at_once_in_a_loop(x, n):
    for i in range(n):
        a = b = x[0:2] * 2
        a += i
        x[0:2] = b
    return x


def a_list_of_text(x):
    parts = "a b".split()  # noqa: SIM905
    parts.append("c")
    counts = dict.fromkeys(parts, 0)
    counts["a"] = x
    return parts, counts


def default_list(x):
    def add(v, kept=[]):  # noqa: B006
        kept.append(v)
        return len(kept)

    return add(1), add(2)


@pytest.mark.parametrize(
    "function", [repeated, repeated_arrays, assigned_at_once, a_list_of_text, default_list]
)
def test_one_object_under_several_names(function):
    agrees(function, X)


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_in_loops(target):
    agrees(at_once_in_a_loop, X, 9, target=target)


def chosen(x, c):
    m, k = [x, x + 1], [x, x + 2]
    xs = m if c > 0 else k
    m[0] = x * 10
    return xs[0]


def test_a_list_that_may_be_another_is_not_changed():
    with pytest.raises(nt.NestorError, match="changing a list that may be"):
        nt.jit(chosen)(X, np.float64(1))


# ---- results ----------------------------------------------------------------------------------------


def array_twice(x):
    y = x + 1
    return y, y


def array_in_lists(x):
    y = x + 1
    return [y] * 2


def list_twice(x):
    xs = [x + 1]
    return xs, xs


def dict_twice(x):
    d = {"a": x}
    return d, d


def tuple_twice(x):
    t = (x + 1, 1)
    return t, t


def scalar_twice(x):
    s = x.sum()
    return s, s


def argument_twice(x):
    return x, x


@pytest.mark.parametrize(
    "function",
    [
        array_twice,
        array_in_lists,
        list_twice,
        dict_twice,
        tuple_twice,
        scalar_twice,
        argument_twice,
        repeated,
    ],
)
def test_a_result_that_is_there_twice_is_one_object(function):
    compiled = agrees(function, X)
    for _ in range(3):
        first, second = compiled(X)
        assert first is second


def view_of_a_result(x):
    y = x + 1
    return y[1:], y, y[::-1], y[None]


def transposed_result(x):
    y = np.outer(x, x)
    return y, y.T, y[1]


def rows_of_a_written_result(x):
    y = np.zeros((3, len(x)))
    z = y[0]
    for i in range(3):
        y[i] = x * i
    return y, z


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
@pytest.mark.parametrize("function", [view_of_a_result, transposed_result, rows_of_a_written_result])
def test_a_view_of_another_result_shares_its_memory(function, target, dynamic):
    compiled = agrees(function, X, target=target, dynamic=dynamic)
    for x in (X, np.arange(7.0), np.arange(7.0) + 1):
        got, want = compiled(x), function(x)
        for k in range(len(want)):
            np.testing.assert_array_equal(got[k], want[k])
            for j in range(k):
                assert np.shares_memory(got[j], got[k]) == np.shares_memory(want[j], want[k])


def test_results_of_two_calls_are_apart():
    compiled = nt.jit(array_twice)
    first, second = compiled(X)[0], compiled(X)[0]
    first += 1
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(second, X + 1)


def test_a_dict_that_is_made_is_a_new_one_in_each_call():
    compiled = nt.jit(a_list_of_text)
    compiled(X)[0].append("more")
    agrees(a_list_of_text, X)
    assert compiled(X)[0] == ["a", "b", "c"]


def gives_back(xs):
    return xs


def test_a_list_that_is_an_argument_is_given_back():
    xs, compiled = [X], nt.jit(gives_back)
    for _ in range(40):
        assert compiled(xs) is xs
    assert xs[0] is X


def two_views(x):
    y = x + 1
    return y[1:], y[:-1]


def test_views_of_an_array_that_is_no_result_are_apart():
    assert np.shares_memory(*two_views(X))
    assert not np.shares_memory(*nt.jit(two_views)(X))


def a_set(x):
    return set((1, 2))


def test_a_set_that_is_made_is_not_returned():
    with pytest.raises(nt.NestorError, match="returning a set that is made in compiled code"):
        nt.jit(a_set)(X)


class Holder:
    def __init__(self):
        self.s, self.d, self.l = {1, 2}, {1: 2}, [1.0]


def sets(a, b):
    first = set(a)
    second = first
    second &= set(b)
    third = second
    third |= {7, 8}
    first -= {7}
    second ^= {2, 9}
    return len(first), sorted(third), third is first, third == first | {9}


def methods_of_sets(a, b):
    s = set(a)
    t = s
    s.add(9)
    s.update(b, (11,))
    s.discard(100)
    s.intersection_update([*b, 9, 11])
    s.remove(9)
    [t.add(k) for k in (20, 21)]
    return sorted(t), s.copy() is s


def dicts(a, b):
    d = {1: a[0]}
    e = d
    e |= {3: b[0]}
    e |= [(5, b[1]), (1, 8)]
    return list(d), d[1], d[3], d[5]


def repeated_in_place(a, b):
    xs = [a[0], b[0]]
    ys = xs
    ys *= 2
    ys += (a[1],)
    return xs


def attributes(a, b):
    p = Holder()
    s, d, xs = p.s, p.d, p.l
    p.s |= {3}
    p.d |= {5: a[0]}
    p.l += [a[0]]
    p.l *= 2
    return len(s), d, xs


def items(a, b):
    p = {"s": {1, 2}, "d": {1: 2}, "l": [1]}
    s, d, xs, t = p["s"], p["d"], p["l"], (p["s"],)
    p["s"] |= {3}
    p["d"] |= {5: a[0]}
    p["l"] *= 2
    return len(s), list(d), xs, len(t[0])


def by_a_function(a, b):
    def widen(s):
        s |= {30}

    s = set(a)
    widen(s)
    size = lambda v: len(s) + v  # noqa: E731
    s.add(31)
    return len(s), size(1)


def in_loops(a, b):
    s, total = set(), 0
    t = s
    for k in (1, 2, 2):
        s |= {k}
    for _ in range(a[0] + 3):
        u = {1}
        v = u
        v |= {5, 6}
        total += len(u)
    return len(t), total


def frozen(a, b):
    s = frozenset(a)
    t = s
    t |= {77}
    return len(s), len(t)


@pytest.mark.parametrize(
    "function",
    [sets, methods_of_sets, dicts, repeated_in_place, attributes, items, by_a_function, in_loops, frozen],
)
def test_operators_that_change_an_object_change_it_under_all_its_names(function):
    for a, b in (((1, 2, 3), (2, 3, 4)), ((1, 2, 5), (5, 6, 4))):
        agrees(function, a, b)


def test_arguments_that_operators_change_are_the_callers():
    def f(x, xs, d, p):
        ys, e = xs, d
        ys += [x[0]]
        ys *= 2
        e |= {"z": x[1]}
        d["l"] *= 2
        p.l += (x[2],)
        p.d |= {9: x[0]}
        return len(xs)

    agrees(f, X, [1.0], {"l": [2.0]}, Holderless())


class Holderless:
    def __init__(self):
        self.d, self.l = {1: 2}, [1.0]


def under_a_condition(x):
    d = {1: x[0]}
    e = d
    if x[1] > 0.5:
        e |= {1: x[2]}
    return d[1]


def test_a_dict_that_one_path_changes():
    agrees(under_a_condition, X)
    agrees(under_a_condition, -X)


OUTSIDE_SET = {1, 2}
OUTSIDE = {"s": {1}, "b": bytearray(b"ab")}


def test_what_is_outside_is_not_changed_in_silence():
    def a_set(x):
        s = OUTSIDE_SET
        s |= {3}
        return len(OUTSIDE_SET)

    def a_method(x):
        OUTSIDE_SET.intersection_update({1})

    def an_item(x):
        s = OUTSIDE["s"]
        s ^= {1}

    def bytes_of_it(x):
        b = OUTSIDE["b"]
        b += b"c"

    def a_dict(x):
        d = OUTSIDE
        d |= {"t": 1}

    for function in (a_set, a_method, an_item, bytes_of_it, a_dict):
        with pytest.raises(nt.UnsupportedError, match="from outside the function is not supported"):
            nt.jit(function)(X)
    assert {1, 2} == OUTSIDE_SET and {"s": {1}, "b": b"ab"} == OUTSIDE


def test_a_set_that_the_run_changes_is_refused():
    def f(x):
        s = {1}
        t = s
        if x[0] > 0:
            s |= {2}
        return len(t)

    with pytest.raises(nt.UnsupportedError, match="on one path and"):
        nt.jit(f)(X)
