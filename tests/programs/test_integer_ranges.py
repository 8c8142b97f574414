"""Python integers known at run time that become elements of a narrow type: NumPy's OverflowError, or the same result."""

import nestor as nt
import numpy as np
import pytest

from .agreement import agrees

A = np.array([1, 2, 3], np.int8)
BIG = np.array([1000.0])
TARGETS = ["cpu", "interp"]


def added(a, n):
    return a + n


def first(a, n):
    a[0] = n
    return a


def all_of_it(a, n):
    a[:] = n
    return a


def updated(a, n):
    a[1] += n
    return a


def squared(a, n):
    return a + n * n


def masked(a, n):
    a[a > 1] = n
    return a


def at_positions(a, n):
    a[[0, 2]] = n
    return a


def filled(a, n):
    return np.full_like(a, n)


def made(a, n):
    return np.array([n, n], a.dtype)


def numpy_scalar(a, n):
    return np.int8(n) + a


def copied(a, n):
    np.copyto(a, n)
    return a


def in_a_loop(a, n):
    for i in range(len(a)):
        a[i] = a[i] + n
    return a


def on_a_path(a, n):
    for i in range(len(a)):
        if a[i] > 2:
            a[i] = n
    return a


def after_a_test(a, n):
    b = np.zeros_like(a)
    if a[0] > 0:
        b += n
    return b


def counted(a, n):
    count = 0
    for i in range(len(a)):
        count += n
        a[i] = count
    return a


FUNCTIONS = [
    added, first, all_of_it, updated, squared, masked, at_positions, filled, made, numpy_scalar, copied, in_a_loop,
    on_a_path, after_a_test, counted,
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_integer_that_does_not_fit_is_refused(function, target):
    fits = nt.jit(function, target=target)
    np.testing.assert_array_equal(fits(A.copy(), 5), function(A.copy(), 5))
    message = {squared: 1_000_000}.get(function, 1000)
    for n in (1000, 5, 1000):
        if n == 5:
            np.testing.assert_array_equal(fits(A.copy(), n), function(A.copy(), n))
            continue
        with pytest.raises(OverflowError, match=f"Python integer {message} out of bounds for int8"):
            function(A.copy(), n)
        with pytest.raises(OverflowError, match=f"Python integer {message} out of bounds for int8") as caught:
            fits(A.copy(), n)
        assert f"{function.__code__.co_filename}:" in str(caught.value)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("function", [added, first, in_a_loop, filled])
def test_negative_integers_are_no_unsigned_ones(function, dtype):
    a = np.array([1, 2, 3], dtype)
    agrees(function, a, 7)
    with pytest.raises(OverflowError, match=f"Python integer -7 out of bounds for {np.dtype(dtype)}"):
        nt.jit(function)(a.copy(), -7)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.uint64])
@pytest.mark.parametrize("target", TARGETS)
def test_the_limits_of_the_type_fit(dtype, target):
    info = np.iinfo(dtype)
    fits = nt.jit(first, target=target)
    for n in (int(info.min), min(int(info.max), 2**63 - 1)):
        np.testing.assert_array_equal(fits(np.ones(3, dtype), n), first(np.ones(3, dtype), n))
    for n in (int(info.min) - 1, int(info.max) + 1):
        if n < 2**63:
            with pytest.raises(OverflowError, match=f"Python integer {n} out of bounds"):
                fits(np.ones(3, dtype), n)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.bool_, np.int64])
def test_other_types_take_any_integer(dtype):
    for function in (first, in_a_loop):
        agrees(function, np.ones(3, dtype), 1000)


def computed(a, x):
    return a + int(x[0])


def computed_in_a_loop(a, x):
    for i in range(len(a)):
        a[i] = int(x[0])
    return a


@pytest.mark.parametrize("function", [computed, computed_in_a_loop])
@pytest.mark.parametrize("target", TARGETS)
def test_integers_that_the_program_computes(function, target):
    agrees(function, A, np.array([100.0]), target=target)
    with pytest.raises(OverflowError, match="Python integer 1000 out of bounds for int8"):
        nt.jit(function, target=target)(A.copy(), BIG)


def indices(a):
    for i in range(len(a)):
        a[i] = i * 100
    return a


def test_loop_variables_are_judged_by_their_range():
    agrees(indices, np.zeros(2, np.int8))
    with pytest.raises(OverflowError, match="Python integer 200 out of bounds for int8"):
        nt.jit(indices)(np.zeros(5, np.int8))
    assert "cf.assert" not in nt.jit(indices).lower(nt.spec((1000,), "i4")).as_text("nest")


def clamped(a, n):
    for i in range(len(a)):
        a[i] = max(min(int(a[i]) * n, 127), -128)
    return a


def remainders(a):
    for i in range(len(a)):
        a[i] = i * 7 % 128
    return a


def test_a_number_whose_bounds_are_known_needs_no_check():
    agrees(clamped, A, 100)
    agrees(remainders, np.zeros(300, np.int8))
    assert "cf.assert" not in nt.jit(clamped).lower(A, 100).as_text("nest")
    assert "cf.assert" not in nt.jit(remainders).lower(np.zeros(300, np.int8)).as_text("nest")


def part(a, n):
    for i in range(1, n):
        a[i - 1] += n
    return a


@pytest.mark.parametrize("target", TARGETS)
def test_checks_of_arguments_stand_before_the_loop(target):
    text = nt.jit(in_a_loop).lower(np.zeros(1000, np.int8), 5).as_text("nest")
    assert text.index("cf.assert") < text.index("nest.for")
    long = nt.jit(part, target=target)
    np.testing.assert_array_equal(long(A.copy(), 3), part(A.copy(), 3))
    for n in (1, 0, -1000):  # no turn: nothing is added
        np.testing.assert_array_equal(long(A.copy(), n), A)
    with pytest.raises(OverflowError):
        long(np.zeros(2000, np.int8), 1000)


def guarded(a, n):
    assert n < 100, "too large"
    return a + n


def test_a_check_does_not_overtake_an_assertion():
    with pytest.raises(AssertionError, match="too large"):
        nt.jit(guarded)(A, 1000)


def chosen(a, n):
    return np.where(a > 1, a, n)


def selected(a, n):
    return np.select([a > 2], [n], a)


def compared(a, n):
    return a < n, a == n


def bounded(a, n):
    return np.clip(a, 0, n), np.clip(a, -n, 2), a.clip(max=n)


def outer(a, n):
    return np.add.outer(a, n), np.multiply.outer(n, a)


def one_place(a, n):
    np.add.at(a, [0, 0], n)
    return a


@pytest.mark.parametrize("function", [chosen, selected, compared, bounded, outer, one_place])
@pytest.mark.parametrize("target", TARGETS)
def test_where_numpy_takes_any_integer(function, target):
    for n in (1000, 3, 127, 128):
        agrees(function, A, n, target=target)


def test_comparisons_in_loops_take_any_integer():
    def below(a, n):
        count = 0
        for i in range(len(a)):
            if a[i] < n:
                count += 1
        return count

    for n in (1000, 2, -1000):
        agrees(below, A, n)


def test_bounds_that_no_element_can_have():
    with pytest.raises(OverflowError, match="Python integer -1000 out of bounds for int8"):
        nt.jit(bounded)(A, -1000)


def python_max(a, n):
    return max(a[0], n)


def test_the_larger_of_an_element_and_an_integer():
    agrees(python_max, A, 0)
    with pytest.raises(OverflowError, match="Python integer 1000 out of bounds for int8"):
        nt.jit(python_max)(A, 1000)  # Python gives the int: a result has one type here


def test_on_the_device():
    assert nt.jit(added, target="cuda-sim")(A, 5).tolist() == [6, 7, 8]
    for function in (added, in_a_loop, computed):
        with pytest.raises(OverflowError, match="Python integer 1000 out of bounds for int8"):
            nt.jit(function, target="cuda-sim")(A.copy(), BIG if function is computed else 1000)


def counted(x, first, last):
    n = 0
    for k in range(first, last):
        x = x + k
        n += 1
    return x, n


def test_bounds_that_are_arrays_without_axes():
    compiled = nt.jit(counted)
    x = np.ones(3)
    for first, last in (
        (np.array(1), np.array(5)),
        (0, np.array(3, np.int32)),
        (np.array(4), np.array(2)),
        (np.uint8(2), 6),
    ):
        got, wanted = compiled(x, first, last), counted(x, first, last)
        np.testing.assert_array_equal(got[0], wanted[0])
        assert got[1] == wanted[1]
    for wrong in (np.array(True), np.array(2.0), np.array([4])):
        with pytest.raises(TypeError):
            compiled(x, 0, wrong)
        with pytest.raises(TypeError):
            counted(x, 0, wrong)
