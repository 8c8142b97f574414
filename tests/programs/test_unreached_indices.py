"""Indices that are known to be out of bounds, where the program may not come: an error only when it does."""

import nestor as nt
import numpy as np
import pytest

TARGETS = ["cpu", "interp", "cuda-sim"]


def leaves_before(a):
    for k in range(3):
        if a[k, 0] > 0:
            break
    return a + 1


def counts_before(a):
    s = 0
    for k in range(3):
        if a[k, 0] > 0:
            break
        s += 1
    return s


def in_a_branch(a):
    b = a * 2
    if a.sum() > 0:
        b = a[4] + a
    return b


def negative_in_a_branch(a):
    if a.sum() > 0:
        a[-7] = 9
    return a * 2


def rows_until(a):
    for k in range(7):
        if a.sum() < 3:
            break
        a += a[k]
    return a


def in_a_loop_over_elements(a):
    for _ in range(9):
        if a[0, 0] > 0:
            a[0, 0] = a[7, 7]
    return a


PROGRAMS = [
    leaves_before,
    counts_before,
    in_a_branch,
    negative_in_a_branch,
    rows_until,
    in_a_loop_over_elements,
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_an_error_only_where_it_is_reached(program, target):
    compiled = nt.jit(program, target=target)
    for sign in (1.0, -1.0):
        given, kept = np.full((2, 2), sign), np.full((2, 2), sign)
        try:
            want = program(kept)
        except IndexError as error:
            with pytest.raises(IndexError) as info:
                compiled(given)
            assert str(error) in str(info.value)
            continue
        np.testing.assert_array_equal(compiled(given), want)
        np.testing.assert_array_equal(given, kept)


def first_row(a):
    b = a * 2
    if b.sum() > 0:
        b = a[0] + a
    return b


@pytest.mark.parametrize("shape", [(0, 2), (0,)])
def test_an_axis_without_elements(shape):
    a = np.ones(shape)
    np.testing.assert_array_equal(nt.jit(first_row)(a), first_row(a))


def always(a):
    return a[4]


def test_where_it_is_always_reached_it_is_found_by_the_compiler():
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 2"):
        nt.jit(always).lower(np.ones((2, 2)))
