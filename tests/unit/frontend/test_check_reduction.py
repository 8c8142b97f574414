"""nt.testing.check_reduction finds what is wrong with a function of nt.reduce, and nothing where nothing is."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import DTypeError

VALUES = np.array([1.5, -2.0, 0.0, 3.25, 1.5, -7.0])
SPECIAL = np.array([1.5, np.nan, np.inf, -np.inf, 0.0])
PLACES = np.arange(len(VALUES))


def farther(a, b):
    return a if abs(a[0]) >= abs(b[0]) else b


def first_of_the_smallest(a, b):
    if a[0] < b[0]:
        return a
    if b[0] < a[0]:
        return b
    return a if a[1] <= b[1] else b


RIGHT = {
    "a sum": (lambda a, b: a + b, SPECIAL, 0.0),
    "integers that wrap": (lambda a, b: a * b, np.array([3, 200, 17], "u1"), 1),
    "a place": (first_of_the_smallest, (VALUES, PLACES), (np.inf, 1 << 62)),
    "complex numbers": (lambda a, b: a * b, VALUES + 1j, 1.0),
}


@pytest.mark.parametrize("name", list(RIGHT))
def test_what_is_right_passes(name):
    function, x, identity = RIGHT[name]
    checked = nt.testing.check_reduction(function, x, identity=identity, samples=50)
    assert checked[0] == "identity: 50 times" and checked[-1] == "compiled: as in Python"


WRONG = {
    "not commutative": (lambda a, b: a, VALUES, 0.0, {"identity", "commutative"}),
    "ties go to the left": (farther, (np.array([2.0, -2.0]), np.arange(2)), (0.0, 0), {"commutative"}),
    "a mean of two": (lambda a, b: (a + b) / 2, VALUES, 0.0, {"identity", "associative"}),
    "a wrong identity": (lambda a, b: a + b, VALUES, 1.0, {"identity"}),
    "a NaN is lost on one side": (lambda a, b: a if a > b else b, SPECIAL, -np.inf, {"commutative"}),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_what_is_wrong_is_named(name):
    function, x, identity, kinds = WRONG[name]
    with pytest.raises(AssertionError) as caught:
        nt.testing.check_reduction(function, x, identity=identity)
    found = {line.split(":")[0].strip() for line in str(caught.value).splitlines()[1:]}
    assert kinds <= found


def test_rounding_is_no_difference_and_rtol_decides():
    rng = np.random.default_rng(0)
    x = rng.normal(size=100).astype("f4")
    nt.testing.check_reduction(lambda a, b: a + b, x, identity=0.0)
    with pytest.raises(AssertionError, match="associative"):
        nt.testing.check_reduction(lambda a, b: a + b, x, identity=0.0, rtol=0.0)


def test_nothing_to_combine_is_refused():
    with pytest.raises(DTypeError, match="no elements"):
        nt.testing.check_reduction(lambda a, b: a + b, np.zeros(0), identity=0.0)
