"""The variable of a loop after the loop: the last value, or Python's error where there was no turn."""

import nestor as nt
import numpy as np
import pytest

from .agreement import agrees

pytestmark = pytest.mark.one_of(2)

X = np.array([-1.0, 2, 3, -4, 5, 6, 7, 8])
TARGETS = ["cpu", "interp"]


def after_a_loop(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    return s * i


def as_an_index(x, n):
    for i in range(n, 0, -2):
        x[i - 1] = i
    return x[i]


def from_before(x, n):
    i = -5
    for i in range(2, n, 2):
        x[i] = 1
    return i


def search(x, n):
    for i in range(n):
        if x[i] > 0:
            break
    return i


def search_from_before(x, n):
    i = -1
    for i in range(n):
        if x[i] > 0:
            break
    return i


def of_nested_loops(x, n):
    c = 0
    for i in range(n):
        for j in range(i + 1):
            x[j] += 1
        c += j
    return c, i


def twice(x, n):
    for i in range(n):
        x[i] += 1
    first = i
    for i in range(n - 1):
        if x[i] > 6:
            break
    return first, i


def on_whole_arrays(x, n):
    h = x
    for i in range(n):  # noqa: B007
        h = np.tanh(h)
    return h + i


def in_a_condition(x, n):
    for i in range(n):
        x[i] *= 2
    if x[0] < 0:
        x[i] = 7
    return x


def of_an_inlined_function(x, n):
    def last(m):
        for i in range(m):  # noqa: B007
            pass
        return i

    return last(n) + last(n + 2)


def in_a_loop_again(x, n):
    total = 0
    for _ in range(3):
        for i in range(n):
            x[i] += 1
        total += i
    return total


FUNCTIONS = [
    after_a_loop, as_an_index, from_before, search, search_from_before, of_nested_loops, twice, on_whole_arrays,
    in_a_condition, of_an_inlined_function, in_a_loop_again,
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_last_value_is_kept(function, target):
    for n in (2, 5, 6):
        agrees(function, X, n, target=target, tolerance=1e-13)
        agrees(function, -np.abs(X), n, target=target, tolerance=1e-13)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_without_a_turn_it_has_no_value(function, target):
    compiled = nt.jit(function, target=target)
    assert compiled(X.copy(), 4) is not None  # compiled for any n
    if function in (from_before, search_from_before):
        agrees(function, X, 0, target=target)
        return
    if function is of_an_inlined_function:
        return  # the second loop has turns
    with pytest.raises(UnboundLocalError):
        function(X.copy(), 0)
    with pytest.raises(
        UnboundLocalError, match=r"cannot access local variable '.' where it is not associated"
    ):
        compiled(X.copy(), 0)


def test_extents_decide_at_compile_time():
    def last(x):
        for i in range(len(x)):
            x[i] += 1
        return i, x[i]

    agrees(last, X)
    with pytest.raises(UnboundLocalError):
        nt.jit(last)(np.zeros(0))
    text = nt.jit(last, dynamic=True).lower(X).as_text("nt")
    assert "UnboundLocalError" not in text


def search_of_three(x):
    for i in range(3):
        if x[i] > 0:
            break
    return i


def test_a_short_loop_that_ends_early():
    for x in (X, -X, -np.abs(X)):
        agrees(search_of_three, x)


def reused(x, n):
    for i in range(n):
        x[i] += 1
    for _ in range(3):
        for i in range(n):
            x[i] *= 2
    if x[0] > 3:
        for i in range(n):
            x[i] -= 1
    return x


def test_names_used_again_cost_nothing():
    agrees(reused, X, 5)
    assert "UnboundLocalError" not in nt.jit(reused).lower(X, 5).as_text("nest")


def changed_in_the_body(x, n):
    for i in range(n):
        x[i] = 1
        i = i * 2
    return i


def on_one_path(x, n):
    for i in range(n):
        x[i] = 2
    if x[0] > 5:
        for i in range(2):
            x[i] = 3
    return i


def over_elements(x, n):
    for v in x:  # noqa: B007
        n += 1
    return v


@pytest.mark.parametrize("function", [changed_in_the_body, on_one_path, over_elements])
def test_other_values_are_kept(function):
    for n in (4, 1, 5):
        agrees(function, X, n)
        agrees(function, X + 5, n)


def else_of_a_for(x, n):
    for i in range(n):
        x[i] = 1
    else:
        x[0] = 100
        for v in x[::2]:
            n += v
        else:
            n = n * 2
    return x, n


def else_of_a_while(x, n):
    s = x.sum()
    while s < 100:
        s = s * 2
        x = x + 1
    else:
        s = s + n
    return s, x


def else_in_a_branch(x, n):
    if n > 3:
        for k in range(3):
            x = x * k
        else:
            x = x - n
    return x


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("n", [0, 4])
@pytest.mark.parametrize("function", [else_of_a_for, else_of_a_while, else_in_a_branch])
def test_the_else_of_loops_without_jumps(function, n, target):
    agrees(function, X, n, target=target)


def first_above(x):
    i = 0
    while i < len(x):
        if x[i] > 6:
            break
        i += 1
    else:
        i = 99
    return i


def stops_at_three(x):
    s = 0
    for i in range(len(x)):
        if i == 3:
            break
        s += i
    else:
        return -1, i
    return s, i


def read_in_the_else_only(x):
    s = 0.0
    for v in x:
        if v > 7:
            break
        s += v
    else:
        x[0] = s
    return x


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("function", [first_above, stops_at_three, read_in_the_else_only])
def test_the_else_of_loops_that_may_end_early(function, target):
    for x in (X, X[:3], X - 10):
        agrees(function, x, target=target)
