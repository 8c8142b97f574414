"""Errors of compiled programs: NumPy's exception, the Python line, a caret, and a way out."""

import nestor as nt
import numpy as np
import pytest

x = np.arange(6.0).reshape(2, 3)


def add(a, b):
    return a + b


def constant_index(a):
    return a[7]


def endless(a):
    while True:
        a = a + 1


def undefined(a):
    return no_such_name + a  # noqa: F821


def run_time_branch(a):
    if a.sum() > 0:
        return a
    return a[0]


def bad_attribute(a):
    return a.real_part


def bad_axis(a):
    return a.sum(axis=5)


def bad_cast(a):
    a += 1.5


def lost_variable(a):
    for i in range(0):
        t = a[0, 0] + i
    return t


def bad_keyword(a):
    return np.clip(a, lo=1)


def shrinking(a):
    for _ in range(1000):
        a = a[1:]
    return a


def bad_assignment(a):
    a[:, 0] = a[0]


def divide(n, m):
    return n // m


CASES = [
    (
        add,
        (np.zeros(3), np.zeros(4)),
        ValueError,
        "operands could not be broadcast together with shapes (3,) (4,)",
        1,
        12,
    ),
    (constant_index, (np.zeros(3),), IndexError, "index 7 is out of bounds for axis 0 with size 3", 1, 12),
    (endless, (x,), nt.UnsupportedError, "this loop never ends", 1, 5),
    (undefined, (x,), NameError, "name 'no_such_name' is not defined", 1, 12),
    (
        run_time_branch,
        (x,),
        nt.UnsupportedError,
        "the result is an array of shape (2, 3) on one path and an array of shape (3,) on another",
        1,
        5,
    ),
    (bad_attribute, (x,), AttributeError, "'numpy.ndarray' object has no attribute 'real_part'", 1, 12),
    (bad_axis, (x,), IndexError, "axis 5 is out of bounds for array of dimension 2", 1, 12),
    (bad_cast, (np.zeros(3, "i4"),), TypeError, "Cannot cast ufunc 'add' output", 1, 5),
    (lost_variable, (x,), UnboundLocalError, "cannot access local variable 't'", 3, 12),
    (bad_keyword, (x,), TypeError, "unexpected keyword argument 'lo'", 1, 12),
    (shrinking, (x,), nt.UnsupportedError, "'a' is an array of shape (2, 3) on one path", 1, 5),
    (
        bad_assignment,
        (x,),
        ValueError,
        "could not broadcast input array from shape (3,) into shape (2,)",
        1,
        5,
    ),
    (divide, (7, 0), ZeroDivisionError, "division by zero", 1, 12),
    (add, (x, x.astype(">f8")), nt.UnsupportedError, "not in native byte order", 0, 12),
    (add, (x, np.array([None])), nt.UnsupportedError, "arrays of objects", 0, 12),
]


@pytest.mark.parametrize(("function", "arguments", "error", "message", "line", "column"), CASES)
def test_error(function, arguments, error, message, line, column):
    with pytest.raises(error) as caught:
        nt.jit(function).lower(*arguments)
    text = str(caught.value)
    assert isinstance(caught.value, nt.NestorError)
    assert message in text
    first = function.__code__.co_firstlineno
    assert text.startswith(f"{__file__}:{first + line}:{column}: error: ")
    assert text.splitlines()[2] == " " * (column - 1) + "^"


@nt.jit
def decorated(
    a,
):
    return a + np.zeros(17)


def test_lines_of_decorated_functions():
    with pytest.raises(ValueError) as caught:
        decorated(np.zeros(3))
    assert f":{decorated.function.__code__.co_firstlineno + 4}:12: error" in str(caught.value)


def test_a_lambda_of_a_string_has_no_text():
    with pytest.raises(nt.UnsupportedError, match="the text of '<lambda>' is not known"):
        nt.jit(eval("lambda a: print(a)"))(x)
