"""Results that are an argument, or a view of one, on some paths only: the run decides, as in NumPy."""

import nestor as nt
import numpy as np
import pytest

from .agreement import same

POSITIVE, NEGATIVE, MIXED = np.array([1.0, 2.0, 1.0]), np.array([-1.0, 2.0, -3.0]), np.array([7.0, 7.0, 7.0])


def bound_on_a_path(a, c):
    b = np.zeros_like(a)
    if c.sum() > 0:
        b = a
    return b


def one_or_the_other(a, c):
    b = c
    if c.sum() > 0:
        b = a
    return b


def returned_on_a_path(a, c):
    if c.sum() > 0:
        return a[1:]
    return a[:-1]


def nested(a, c):
    if c.sum() > 0:
        if c[0] > 3:
            return a
        return a * 2
    return a[::-1]


def conditional_expression(a, c):
    return a if c.sum() > 0 else c


def in_a_tuple(a, c):
    if c[0] > 0:
        return a, c
    return c, a * 2


def view_of_a_choice(a, c):
    b = a[::-1]
    if c[0] > 0:
        b = c * 2
    return b[1:]


def reshaped(a, c):
    b = a * 2
    if c[0] > 0:
        b = a
    return b.reshape(3, 1)


def in_a_loop(a, c):
    b = a * 1
    for i in range(12):
        if c[i % 3] > 1:
            b = a
        c = c * np.ones(3)
    return b


def while_it_is_small(a, c):
    b = a
    while b.sum() < c.sum():
        b = b + 1
    return b


def written_afterwards(a, c):
    b = np.zeros_like(a)
    if c.sum() > 0:
        b = a
    a[0] = 5
    return b


def of_two_loops(a, c):
    b = a
    while b.sum() < c.sum():
        b = b + 1
        k = b
        while k.sum() < 3:
            k = k * 2
    return b


FUNCTIONS = [
    bound_on_a_path, one_or_the_other, returned_on_a_path, nested, conditional_expression, in_a_tuple,
    view_of_a_choice, reshaped, in_a_loop, while_it_is_small, written_afterwards, of_two_loops,
]  # fmt: skip


def memory(result, arguments):
    """Which arguments each array of the result is, and which it shares memory with."""
    arrays = result if isinstance(result, tuple) else (result,)
    return [[(r is a, np.shares_memory(r, a)) for a in arguments] for r in arrays]


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_share_memory_as_in_numpy(function, target):
    compiled = nt.jit(function, target=target)
    for c in (POSITIVE, NEGATIVE, MIXED):
        ours, numpys = [np.arange(3.0), c.copy()], [np.arange(3.0), c.copy()]
        got, want = compiled(*ours), function(*numpys)
        same(got, want)
        assert memory(got, ours) == memory(want, numpys)


@pytest.mark.parametrize("order", ["C", "F"])
def test_two_dimensions(order):
    def part(a, c):
        return a[1:, ::2] if c[0] > 0 else a.T[:2, :2]

    for c in (POSITIVE, NEGATIVE):
        a = np.asarray(np.arange(12.0).reshape(3, 4), order=order)
        got, want = nt.jit(part)(a, c), part(a, c)
        same(got, want)
        assert got.strides == want.strides and np.shares_memory(got, a)


def test_the_same_array_in_both_places():
    a = np.arange(3.0)
    assert nt.jit(one_or_the_other)(a, a) is a


def test_an_out_array_gets_the_contents():
    for c in (POSITIVE, NEGATIVE):
        out = np.empty(3)
        assert nt.jit(bound_on_a_path)(np.arange(3.0), c, out=out) is out
        np.testing.assert_array_equal(out, bound_on_a_path(np.arange(3.0), c))
        out, a = np.empty(3), np.arange(3.0)
        assert nt.jit(written_afterwards)(a, c, out=out) is out
        np.testing.assert_array_equal(out, written_afterwards(np.arange(3.0), c))


def test_on_the_device():
    for c in (POSITIVE, NEGATIVE):
        a = np.arange(3.0)
        got = nt.jit(bound_on_a_path, target="cuda-sim")(a, c)
        assert (got is a) == (bound_on_a_path(a, c) is a)


def read_after_a_write(a, c):
    b = np.zeros_like(a)
    if c.sum() > 0:
        b = a
    a[0] = 5
    return b.sum()


def read_in_a_loop_that_writes(a, n):
    b, s = a, 0.0
    for _ in range(n):
        a[0] += b.mean()
        s += b.sum()
        b = b * 2
    return s


def read_through_a_view(a, c):
    b = np.zeros_like(a)
    if c.sum() > 0:
        b = a
    d = b.reshape(3, 1)
    a[0] = 5
    return d * 2


def copied_where_it_is_chosen(a, c):
    b = np.zeros_like(a)
    if c.sum() > 0:
        b = a.copy()
    a[0] = 5
    return b.sum()


@pytest.mark.parametrize(
    ("function", "seconds"),
    [(read_after_a_write, [POSITIVE, NEGATIVE]), (read_in_a_loop_that_writes, [3, 1, 4])],
)
@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_what_was_written_since_is_read_where_it_is_the_argument(function, seconds, target):
    compiled = nt.jit(function, target=target)
    for second in seconds:
        ours, numpys = np.arange(3.0), np.arange(3.0)
        same(compiled(ours, second), function(numpys, second))
        same(ours, numpys)


@pytest.mark.parametrize(("function", "second"), [(read_through_a_view, POSITIVE)])
def test_what_a_write_would_change_is_not_read(function, second):
    with pytest.raises(nt.UnsupportedError, match=r"on some paths only, .*is read after") as caught:
        nt.jit(function)(np.arange(3.0), second)
    assert "copy()" in str(caught.value)


def test_a_copy_is_the_way_out():
    for c in (POSITIVE, NEGATIVE):
        ours, numpys = np.arange(3.0), np.arange(3.0)
        same(nt.jit(copied_where_it_is_chosen)(ours, c), copied_where_it_is_chosen(numpys, c))


def carried_surely(a, n):
    h = a
    for _ in range(20):
        h = np.tanh(h @ np.ones((3, 3)) + n)
    return h


def test_a_loop_that_surely_runs_carries_no_choice():
    text = nt.jit(carried_surely).lower(np.arange(3.0), 1.5).as_text("nt")
    loop = next(line for line in text.splitlines() if "scf.for" in line)
    assert "tensor<i64>" not in loop
    a = np.arange(3.0)
    assert not np.shares_memory(nt.jit(carried_surely)(a, 1.5), a)


def chosen(a, c):
    doubled = (a * 2 if c.sum() > 0 else a - 1) + 1
    k = 1 if c[0] > 0 else 2
    x, y = (a, c) if c[1] > c[2] else (c, a)
    return doubled, k, x - y, (1.5 if c[0] > c[1] else 2)


def test_conditional_expressions_on_arrays():
    for c in (POSITIVE, NEGATIVE, MIXED):
        doubled, k, difference, number = nt.jit(chosen)(np.arange(3.0), c)
        want = chosen(np.arange(3.0), c)
        same((doubled, k, difference), want[:3])
        assert number == want[3]


def test_only_one_side_is_computed():
    def one_side(a, c):
        return int(a[0]) // int(c[0]) if c[0] > 0 else -1

    for c in (POSITIVE, np.array([0.0, 1.0, 1.0])):
        assert nt.jit(one_side)(np.array([7.0]), c) == one_side(np.array([7.0]), c)
