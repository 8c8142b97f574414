"""Names that may have no value where they are read: what Python gives, and its error where it raises one."""

import inspect

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

X = np.array([1.0, -2.0, 3.0, 0.5, -0.25, 7.0])
TARGETS = ["cpu", "interp"]


def last(a, n):
    for i in range(n):
        last = a[i]
    return last


def last_of_a_row(a, n):
    for i in range(n):
        row = a * i + 1
    return row.sum() + row[0]


def last_array(a, n):
    for i in range(n):
        row = np.tanh(a) + i
    return row


def variable(a, n):
    for i in range(n):
        i = i * 2
        a[0] += i
    return a[0] * i


def of_elements(a, n):
    s = 0.0
    for v in a[:n]:
        s += v
    return s * v


def of_pairs(a, n):
    for i, v in enumerate(a[:n]):
        a[i] = v + 1
    return i, v


def of_zip(a, n):
    for u, v in zip(a[:n], a[-n:], strict=False):  # noqa: B007
        a[0] += u
    return u - v


def while_loop(a, n):
    k = 0
    while k < n:
        half = k / 2
        k += 1
    return half


def previous(a, n):
    s = 0.0
    for i in range(n):
        if i > 0:
            s += prev * a[i]  # noqa: F821
        prev = a[i]  # noqa: F841
    return s


def previous_too_early(a, n):
    s = 0.0
    for i in range(n):
        s += prev  # noqa: F821
        prev = a[i]  # noqa: F841
    return s


def nested(a, n):
    for i in range(n):
        for j in range(i - 1):
            found = a[i] * 10 + j
    return found


def with_else(a, n):
    for i in range(n):
        if a[i] > 2:
            place = i
            break
    else:
        place = -1
    return place


def without_else(a, n):
    for i in range(n):
        if a[i] > 2:
            place = i
            break
    return place


def one_path(a, n):
    if a[0] > n:
        y = a[1] * 2
    return y + 1


def one_path_of_arrays(a, n):
    if a[0] > n:
        y = a * 2
    if a[1] < 0:
        return y + 1
    return a


def both_read_under_it(a, n):
    big = a[0] * 2 > n
    if big:
        y = a[1]
    if big:
        return y
    return 0.0


def in_two_branches(a, n):
    if a[0] > n:
        y = 1.0
    elif a[1] < -n:
        y = 2.0
    return y


def deleted(a, n):
    y = a[0]
    if a[1] > n:
        del y
    return y


def deleted_always(a, n):
    y = a[0] * n
    del y
    return y  # noqa: F821


def deleted_in_a_loop(a, n):
    for i in range(n):
        y = a[i]
        if y < 0:
            del y
    return y


def deleted_and_bound_again(a, n):
    y = a[0]
    for i in range(n):
        del y
        y = a[i] * 2
    return y


def parameter_deleted(a, n):
    if a[0] > n:
        del a
    return a[0]


def augmented(a, n):
    if n > a[0]:
        s = 1.0
    for i in range(2):
        s += a[i]
    return s


def early(a, n):
    for i in range(n):
        t = a[i]
        if t > 2:
            return t * 2
    return t


def early_returns(a, n):
    if n > 3:
        if a[0] > 1:
            return a[1]
        y = a[2]
    else:
        y = a[3]
    return y * 2


def walrus(a, n):
    if n > 2:
        a[0] += (t := a[n])
    return t


def in_an_expression(a, n):
    for i in range(n):
        t = a[i]
    s = t if a[0] > 0 else 2.0
    if a[0] < -1 and t > 0:
        s += t
    return s + t


def several(a, n):
    for i in range(n):
        low, high = min(a[i], 0.0), max(a[i], 0.0)
    return low, high


def counted_down(a, n):
    for i in range(n, 0, -1):
        t = a[i - 1]
    return t


def same_name_twice(a, n):
    for i in range(n):
        t = a[i]
    a[0] = 9
    for i in range(n - 1):
        t = a[i] + t
    return t


def called(a, n):
    for i in range(n):
        t = a[i]
    return t


def calls(a, n):
    return called(a, n) + 1


def integers(a, n):
    for i in range(n):
        t = i * 3
    return t


def flags(a, n):
    for i in range(n):
        t = a[i] > 0
    return t


def narrow(a, n):
    for i in range(n):
        t = np.float32(a[i])
    return t


FUNCTIONS = [
    last, last_of_a_row, last_array, variable, of_elements, of_pairs, of_zip, while_loop, previous, previous_too_early,
    nested, with_else, without_else, one_path, one_path_of_arrays, both_read_under_it, in_two_branches, deleted,
    deleted_always, deleted_in_a_loop, deleted_and_bound_again, parameter_deleted, augmented, early, early_returns,
    walrus, several, in_an_expression, counted_down, same_name_twice, calls, integers, flags, narrow,
]  # fmt: skip


def outcome(function, a, n):
    """What a call gives, or Python's message."""
    try:
        result = function(a, n)
    except UnboundLocalError as error:
        text = str(error)
        return text[text.index("cannot access") :].splitlines()[0]
    parts = result if isinstance(result, tuple) else (result,)
    return [(np.ndim(part) and np.asarray(part).dtype.name, np.asarray(part).tolist()) for part in parts]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_python_gives(function, target):
    compiled = nt.jit(function, target=target)
    for n in (3, 0, 1, 5, -1, 2, 0):
        for a in (X, -X):
            ours, theirs = a.copy(), a.copy()
            assert outcome(compiled, ours, n) == outcome(function, theirs, n), (n, a)
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("function", [last, previous, one_path_of_arrays, early], ids=lambda f: f.__name__)
def test_other_types_and_lengths(function):
    compiled = nt.jit(function)
    for dtype in ("f4", "i8", "f8", "u1"):
        for a in (np.arange(4, dtype=dtype), np.arange(10, dtype=dtype)[::-2]):
            for n in (2, 0, 4):
                assert outcome(compiled, a.copy(), n) == outcome(function, a.copy(), n), (dtype, n)


def test_known_trip_counts():
    def known(a):
        for i in range(20):
            t = a[i]
        return t + i

    def none(a):
        for i in range(0):
            t = a[i]
        return t

    a = np.arange(20.0)
    assert nt.jit(known)(a) == known(a)
    with pytest.raises(UnboundLocalError, match="cannot access local variable 't'"):
        nt.jit(none)(a)


def test_any_extents():
    def over_all(a):
        for i in range(len(a)):
            t = a[i]
        return t

    compiled = nt.jit(over_all, dynamic=True)
    for length in (5, 3, 1, 0, 2):
        a = np.arange(float(length)) + 1
        if length:
            assert compiled(a) == over_all(a)
        else:
            with pytest.raises(UnboundLocalError, match="cannot access local variable 't'"):
                compiled(a)


def test_native_calls_raise_at_the_line():
    compiled = nt.jit(last)
    for _ in range(40):
        assert compiled(X, 3) == X[2]
    with pytest.raises(UnboundLocalError) as caught:
        compiled(X, 0)
    line = inspect.getsourcelines(last)[1] + 3
    assert f"{__file__}:{line}" in str(caught.value)
    assert compiled(X, 2) == X[1]


def test_no_flag_where_every_path_binds():
    def bound(a, n):
        if n > 3:
            y = a[0]
        else:
            y = a[1]
        for i in range(n):
            t = a[i] * y
            a[i] = t
        return y

    text = nt.jit(bound).lower(X, 3).as_text("nest")
    assert "UnboundLocalError" not in text and "bound_" not in text and '"t"' not in text


def test_a_function_inside_reads_it():
    def comprehension(a, n):
        for i in range(n):
            k = a[i]
        return np.array([k * j for j in range(3)])

    with pytest.raises(nt.NestorError, match="'k' may have no value when it is read here"):
        nt.jit(comprehension)(X, 2)


def test_the_simulator_agrees():
    compiled = nt.jit(last, target="cuda-sim")
    assert compiled(X, 4) == X[3]
    with pytest.raises(UnboundLocalError):
        compiled(X, 0)
