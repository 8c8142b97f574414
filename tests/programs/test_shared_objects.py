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
