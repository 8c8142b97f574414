"""Lists, dicts, dataclasses and objects of the caller that a compiled function changes, compared with Python.

Compared are the results, the arguments after the call, and which objects in them are one.
"""

import threading
from dataclasses import dataclass
from typing import Any

import nestor as nt
import numpy as np
import pytest
from agreement import same
from nestor.frontend.interface.ordinary import attributes_of, is_ordinary

X = np.array([1.0, -2.0, 3.0])
Y = -X


class Point:
    def __init__(self, a, b=0.0):
        self.a = a
        self.b = b
        self.held = [a, b]

    def bump(self, k):
        self.b += k
        return self

    @property
    def twice(self):
        return self.a * 2

    @twice.setter
    def twice(self, value):
        self.a = value / 2


@dataclass
class State:
    x: Any
    n: int = 0
    option: Any = None


@dataclass
class Frozen:
    p: Point


# ---- programs ----------------------------------------------------------------------------------------


def fields(p, a):
    p.x = a
    p.n += 1
    return p.x.sum()


def entries(d, a):
    d["k"] = a
    d["n"] = d["n"] + 1
    del d["z"]
    d.setdefault("more", []).append(a)
    return d


def items(values, a):
    values.append(a)
    values[0] = a * 2
    values[1] += 1
    return values, len(values)


def two_that_may_be_one(p, q):
    p.a = q.a + 1
    q.b = p.a
    return p is q


def deep(p, a):
    p.held.append(a)
    p.held[0] = 5.0
    p.new = [a, p.held]
    del p.b
    return p.new


def in_a_loop(x, p):
    for i in range(len(x)):
        p.a += x[i]
        if x[i] > 0:
            p.b += 1.0


def raises_between(x, p):
    p.a = p.a + 1
    if x[0] > 0:
        raise ValueError("no")
    p.b = 2.0


def index_after(x, p, i):
    p.n += 1
    x[0] = 7.0
    p.x = x[i]
    return p


def nested(d):
    d["s"]["t"].append(len(d["s"]["t"]))
    d["s"]["u"] = d["s"]["t"]


def reordered(values):
    values.reverse()
    values.pop()
    values.insert(0, values[0])


def only_where_it_raises(x, p):
    if x[0] > 0:
        p.n = p.n + 1
        raise KeyError("q")
    return x * 2


def holds_the_other(p, q):
    q.append(p)
    p.a = 1.0
    return q[0]


def in_a_tuple_of_a_list(o, a):
    o[0][1].x = a
    return o


def methods(p):
    p.bump(2.0).bump(1.0)
    p.twice = 5.0
    p.held.append(p.twice)


def too_large(p, n):
    p.n = p.n * n
    return p.n


def grown(values, x):
    for i in range(len(x)):
        values.append(x[i] * 2)


def on_one_path(p, x):
    if x[0] > 0:
        p.x = x
    else:
        p.x = x * 2


def returns_an_attribute(p):
    p.n += 1
    return p.option


def moved(p, q):
    p.x, q.x = q.x, p.x


def attribute_order(p):
    del p.a
    p.a = 3.0
    p.c = 4.0


def of_frozen(f):
    f.p.a = f.p.a * 2
    return f.p


def cleared(d, values):
    d.clear()
    values.clear()
    d["only"] = 1.0


def slices(values, a):
    values[1:3] = [a, a]
    del values[0]
    values += [1, "s"]


def a_pair():
    p = Point(1.0)
    return p, p


CASES = [
    (fields, lambda: (State(1.0), X), lambda: (State(X, 5), Y), lambda: (State(None, 2), Y)),
    (entries, lambda: ({"n": 1, "z": 2, "q": X}, X), lambda: ({"z": 2, "k": 1.0, "n": 2.5}, Y)),
    (items, lambda: ([1.0, 2], X), lambda: ([X, X, 3], Y)),
    (two_that_may_be_one, lambda: (Point(1.0), Point(2.0)), a_pair, lambda: (Point(1.0), Point(2.0))),
    (deep, lambda: (Point(1.0), X), lambda: (Point(2), 3.0)),
    (in_a_loop, lambda: (X, Point(1.0)), lambda: (Y, Point(2.0))),
    (raises_between, lambda: (X, Point(1.0)), lambda: (Y, Point(2.0))),
    (index_after, lambda: (X.copy(), State(1.0), 1), lambda: (X.copy(), State(1.0), 9)),
    (nested, lambda: ({"s": {"t": [1, 2]}},), lambda: ({"s": {"t": [1.5]}},)),
    (reordered, lambda: ([1.0, "a", None, X],), lambda: ([X, 2],)),
    (only_where_it_raises, lambda: (X, State(1)), lambda: (Y, State(1))),
    (holds_the_other, lambda: (Point(2.0), [])),
    (in_a_tuple_of_a_list, lambda: ([(1, State(2.0))], X)),
    (methods, lambda: (Point(1.0),), lambda: (Point(3.0, 4.0),)),
    (too_large, lambda: (State(1.0, 3), 2), lambda: (State(1.0, 2**40), 2**40)),
    (grown, lambda: ([], X), lambda: ([1.0], X)),
    (on_one_path, lambda: (State(1), X.copy()), lambda: (State(1), Y.copy())),
    (returns_an_attribute, lambda: (State(1),), lambda: (State(1, 2, "abc"),)),
    (moved, lambda: (State(X), State(Y)), lambda: (State(1.0), State(2))),
    (attribute_order, lambda: (Point(1.0),)),
    (of_frozen, lambda: (Frozen(Point(1.0)),)),
    (cleared, lambda: ({"a": 1}, [X]), lambda: ({}, [])),
    (slices, lambda: ([1, 2, 3, 4], X)),
]


def outcome(function, arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


def shape_of(value, path=()):
    """The objects in a value that can change, by where they are."""
    if isinstance(value, tuple | list):
        parts = list(enumerate(value))
    elif isinstance(value, dict):
        parts = list(value.items())
    elif is_ordinary(type(value)):
        parts = list(attributes_of(value).items())
    else:
        return [(path, value)] if isinstance(value, np.ndarray) else []
    own = [] if isinstance(value, tuple) else [(path, value)]
    return own + [found for key, part in parts for found in shape_of(part, (*path, key))]


def shared(value):
    """Which places in a value are one object."""
    first = {}
    return [(path, first.setdefault(id(thing), path)) for path, thing in shape_of(value)]


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_changes_are_seen_by_the_caller(case, target):
    function, *makers = case
    compiled = nt.jit(function, target=target)
    for make in (*makers, makers[0]):
        ours, pythons = make(), make()
        want, got = outcome(function, pythons), outcome(compiled, ours)
        same(got, want)
        for a, b in zip(ours, pythons, strict=True):
            same(a, b)
        assert shared((ours, got)) == shared((pythons, want))


def test_the_same_object_again_and_again():
    compiled, p, q = nt.jit(fields), State(1.0), State(1.0)
    for k in range(50):
        assert compiled(p, X) == fields(q, X)
        same(p, q)
        assert p.x is X
        p.n, q.n = p.n + k, q.n + k


class Counter:
    """Methods that change their object; what it holds besides cannot be passed."""

    step = 2

    def __init__(self, w):
        self.w = w
        self.count = 0
        self.lock = threading.Lock()
        self.name = "counter"

    @nt.jit
    def add(self, x):
        self.count += self.step
        self.h = np.tanh(x * self.w) + self.count
        return self.h.sum()

    @nt.jit
    def locked(self):
        self.count += 1
        return self.lock


def test_methods_that_change_their_object(monkeypatch):
    ours, pythons, other = Counter(np.ones(3)), Counter(np.ones(3)), Counter(np.zeros(3))
    for k in range(40):
        same(ours.add(X), Counter.add.function(pythons, X), tolerance=1e-12)
        same(ours.h, pythons.h, tolerance=1e-12)
        assert ours.count == pythons.count
        if k == 20:
            ours.w = pythons.w = np.arange(3.0)
            monkeypatch.setattr(Counter, "step", 5)
    assert other.add(Y) == Counter.add.function(Counter(np.zeros(3)), Y)
    assert Counter.add.cache_info()["compiled"] <= 4
    with pytest.raises(
        nt.UnsupportedError, match="the attribute 'lock' of a Counter is of a kind that cannot be passed"
    ):
        ours.locked()
    assert ours.count == pythons.count


LIST, POINT = [1.0], Point(1.0)


def changes_a_list(x):
    LIST.append(x)


def changes_under_another_name(x):
    values = LIST
    values += [x]


def sets_an_item(x):
    LIST[0] = x


def changes_an_object(x):
    POINT.a = x


def changes_a_list_of_an_object(p, x):
    POINT.held[0] = x


def prints_too(p, x, i):
    p.a = x[i]
    print("a")


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (changes_a_list, (1.0,), "changing a list from outside the function is not supported"),
        (changes_under_another_name, (1.0,), "changing a list from outside the function is not supported"),
        (sets_an_item, (1.0,), "changing a list from outside the function is not supported"),
        (changes_an_object, (1.0,), "changing the attribute 'a' of a Point from outside is not supported"),
        (changes_a_list_of_an_object, (POINT, 2.0), "changing a list from outside the function is not supported"),
        (prints_too, (Point(1.0), X, 1), "prints or calls Python, and may raise"),
    ],
)  # fmt: skip
def test_refused(function, arguments, message):
    with pytest.raises(nt.UnsupportedError, match=message):
        nt.jit(function)(*arguments)
    assert LIST == [1.0]
    assert (POINT.a, POINT.held) == (1.0, [1.0, 0.0])


def reads_the_same(p):
    p.a = 5.0
    return POINT.a


def test_an_argument_that_is_read_from_outside_too():
    compiled = nt.jit(reads_the_same)
    assert compiled(Point(2.0)) == 1.0
    with pytest.raises(nt.UnsupportedError, match="the function reads it from outside too"):
        compiled(POINT)
    assert POINT.a == 1.0


def test_an_object_that_contains_itself():
    values, p = [X], Point(1.0)
    values.append(values)
    p.held.append(p)
    for function, arguments in ((items, (values, X)), (methods, (p,))):
        with pytest.raises(nt.UnsupportedError, match="that contains itself cannot be passed"):
            nt.jit(function)(*arguments)


def test_a_lowered_program_does_not_change_its_arguments():
    compiled = nt.jit(fields).lower(State(1.0), X).compile()
    with pytest.raises(nt.UnsupportedError, match="call the jitted function"):
        compiled(State(1.0), X)


def with_default(x, values=[]):  # noqa: B006
    values.append(x.sum())
    return values


def test_a_default_that_is_changed():
    compiled = nt.jit(with_default)
    for count in range(1, 4):
        assert len(compiled(X)) == count
    assert len(with_default(X)) == 4


def test_tensors_are_refused():
    torch = pytest.importorskip("torch")
    p = State(1.0)
    with pytest.raises(nt.UnsupportedError, match="arrays of other libraries"):
        nt.jit(fields)(p, torch.ones(3))
    assert p.x == 1.0
