"""`is` and `is not`: decided as Python decides it, computed of bools, refused where the interpreter decides."""

import enum

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

X = np.arange(4.0)
each_target = pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])


class Mode(enum.Enum):
    FAST = 1
    EXACT = 2


MISSING = object()


def flagged(x, flag):
    return x + 1 if flag is True else x


@each_target
@pytest.mark.parametrize("flag", [True, False, 1, 1.0, np.True_, None, "yes"], ids=repr)
def test_a_flag_is_true(flag, target):
    agrees(flagged, X, flag, target=target)


def two_flags(x, a, b):
    return a is True, a is not False, a is b, a is not b, a is None, not (a is False)


@pytest.mark.parametrize(("a", "b"), [(True, True), (True, False), (False, True), (False, False)])
def test_flags_of_the_second_call(a, b):
    compiled = agrees(two_flags, X, True, True)
    assert compiled(X, a, b) == two_flags(X, a, b)


def of_elements(x):
    """Python's bools and NumPy's are two pairs of objects."""
    return (
        (x[0] > 0) is True,
        bool(x[0] > 0) is False,
        bool(x[1] > 0) is True,
        (x[1] > 0) is np.True_,
        (x[0] > 0) is (x[1] > 0),
        x[0] is None,
        x.sum() is not None,
    )


def in_a_loop(x, flag):
    s = 0.0
    for i in range(len(x)):
        if (x[i] > 1) is True:
            s += 1
        if bool(x[i] > 1) is True:
            s += 10
        if flag is True and x is not None:
            s += 100
    return s


@each_target
def test_bools_of_elements(target):
    agrees(of_elements, X, target=target)
    agrees(in_a_loop, X, True, target=target)
    agrees(in_a_loop, np.arange(20.0), False, target=target)


def objects(x):
    xs, other = [x], [x]
    same = xs
    d = {}
    f = lambda: 0  # noqa: E731
    return (
        xs is same,
        xs is other,
        xs is not same,
        xs[0] is x,
        xs[0] is other[0],
        [] is [],
        d is {},
        d is d,
        f is f,
        f is (lambda: 0),
        xs is None,
        xs is x.shape,
    )


def classes(x, n):
    return (
        type(x) is np.ndarray,
        type(n) is int,
        type(n) is bool,
        type(n) is not float,
        type(x[0]) is np.float64,
        type([]) is list,
        type(x.shape) is tuple,
        type(range(n)) is range,
    )


def arrays(x, y):
    z = x
    z += 1
    return x is x, z is x, np.asarray(x) is x, x is y, x.copy() is x, (x + 0) is x, x[1:] is x


def test_objects_classes_and_arrays():
    agrees(objects, X)
    agrees(classes, X, 3)
    agrees(arrays, X, X + 1)


def are_one(a, b):
    return a is b


@pytest.mark.parametrize(
    ("a", "b"),
    [(X, None), (None, None), (None, 3), (3, 3.0), ("a", "b"), (X, X[1:]), (X, X.astype("f4")), (Mode.FAST, Mode.FAST),
     (Mode.FAST, Mode.EXACT), (np.float64, np.float64), (np.True_, np.True_), (True, np.True_), (X[0], True)],
)  # fmt: skip
def test_arguments(a, b):
    assert nt.jit(are_one)(a, b) is (a is b)


def test_lists_that_are_arguments():
    compiled, xs = nt.jit(are_one), [X]
    for a, b in ((xs, [X]), (xs, xs), ([X], xs)):
        assert compiled(a, b) is (a is b)


def with_default(x, y=MISSING):
    return x if y is MISSING else x + y


def test_a_default_that_stands_for_nothing():
    agrees(with_default, X)
    agrees(with_default, X, 2)


@pytest.mark.parametrize(
    ("a", "b"),
    [(X, X), (X, X[:]), (np.zeros(0), np.zeros(0)), (5, 5), (5.0, 5.0), ("a", "a"), ((1, 2), (1, 2)), (X[0], X[0])],
)  # fmt: skip
def test_what_only_the_interpreter_knows_is_refused(a, b):
    with pytest.raises(nt.NestorError, match="is not decided"):
        nt.jit(are_one)(a, b)


def test_the_same_array_in_the_second_call_is_refused():
    compiled = nt.jit(are_one)
    assert compiled(X, X + 1) is False
    with pytest.raises(nt.NestorError, match="is not decided"):
        compiled(X, X)


def chosen_by_a_branch(x, c):
    y = x * 2
    if c > 0:
        z = x
    else:
        z = y
    return z is x


def chosen_by_turns(x, n):
    p, q = x + 1, x + 2
    found = 0
    for _ in range(n):
        if q is p:
            found += 1
        p = q
    return found


@pytest.mark.parametrize(("function", "value"), [(chosen_by_a_branch, np.float64(1)), (chosen_by_turns, 20)])
def test_what_control_flow_chooses_is_refused(function, value):
    with pytest.raises(nt.NestorError, match="known at run time only"):
        nt.jit(function)(X, value)


def class_of_an_iterator(x):
    return type(zip(x, x)) is zip


def test_the_class_of_an_iterator_is_refused():
    with pytest.raises(nt.NestorError, match="the class of an iterator"):
        nt.jit(class_of_an_iterator)(X)
