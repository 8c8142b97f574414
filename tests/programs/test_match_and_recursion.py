"""`match` statements and functions that call themselves, against Python: first calls, and others of other shapes."""

from __future__ import annotations

import copy
import enum
import typing
from collections.abc import Callable
from dataclasses import dataclass

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

x = np.linspace(-2, 2, 7)
y = np.arange(5.0)
PROGRAMS: list[tuple[Callable, tuple]] = []


def case(*calls):
    """A program, and the arguments of calls of it."""

    def add(program):
        PROGRAMS.append((program, calls))
        return program

    return add


@dataclass
class P:
    x: object
    y: object


@dataclass(frozen=True)
class Q:
    a: float
    __match_args__ = ("a",)


class C(enum.Enum):
    RED = 1
    GREEN = 2


class N(typing.NamedTuple):
    u: object
    v: object


class K:
    A = 1
    B = 2.5


@case((x, 1), (y, 2), (x, 7), (y, -3))
def literals(x, n):
    match n:
        case 1:
            return x + 1
        case 2 | 3:
            return x * 2
        case -3:
            return -x
        case _:
            return x


@case((x, 1.0), (y, 2.5), (x, 0.0), (y, float("nan")))
def numbers_of_the_run(x, n):
    match n:
        case 0.0:
            r = x
        case K.B:
            r = x * 3
        case k if k != k:
            r = x - 1
        case k:
            r = x * k
    return r


@case((x, "a"), (y, "b"), (x, "zz"))
def texts(x, s):
    match s:
        case "a" | "A":
            return x + 1
        case "b":
            return x * 2
        case str(t):
            return x * len(t)


@case(
    (x, (1, 2)),
    (y, (3,)),
    (x, ()),
    (y, [1, 2, 3, 4]),
    (x, (0, 9)),
    (y, {"k": 3}),
    (x, {"k": 1, "z": 2}),
    (y, 5),
    (x, None),
    (x, True),
    (x, 2.5),
)
def sequences_and_mappings(x, t):
    match t:
        case []:
            return x
        case [a]:
            return x * a
        case (0, b):
            return x - b
        case [a, b]:
            return x + a * b
        case [a, *r]:
            return x * a + len(r) + sum(r)
        case {"k": v, **rest}:
            return x * v + len(rest)
        case None:
            return x - 100
        case True:
            return x - 200
        case int(n):
            return x * n
        case float() as q:
            return x / q


@case((P(3.0, 2.0),), (P(2.0, 3.0),), (P(0, y),), (P(0, x),), (P(1, 2),))
def classes_with_arrays(p):
    match p:
        case P(0, y=v):
            return v + 1
        case P(x=a, y=float(b)) if b > 2.5:
            return a * b
        case P(a, b):
            return a - b


@case((Q(2.0), x), (Q(-1.0), y), (3.0, x))
def positional_patterns(o, x):
    match o:
        case Q(a) if a > 0:
            return x * a
        case Q(a):
            return x + a
        case _:
            return x


@case((C.RED, x), (C.GREEN, y))
def members_of_an_enumeration(c, x):
    match c:
        case C.RED:
            return x + 1
        case C.GREEN:
            return x - 1


@case((N(1, x),), (N(2, y),), ((1, x),))
def named_tuples(n):
    match n:
        case N(1, v):
            return v
        case N(u=u, v=v):
            return v * u
        case (a, b):
            return b - a


@case((x,), (y,), (-x,))
def elements_of_an_array(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        match x[i]:
            case 0.0:
                out[i] = 10
            case v if v > 0:
                out[i] = v * 2
            case v:
                out[i] = v - 1
    return out


@case((np.array([0, 1, 2, 3, 2, 1]),), (np.array([5, 1]),), (np.array([], int),))
def a_machine_of_numbers(ops):
    acc = 1.0
    for o in ops:
        match o:
            case 0:
                acc = acc + 1
            case 1 | 2:
                acc = acc * 3
            case 3 if acc > 10:
                acc = 0.0
            case 3:
                acc = -acc
            case k:
                acc = acc - k
    return acc


@case((x, 1), (y, 2), (x, 3), (x, 0))
def a_capture_stays_bound(x, n):
    k = 0
    match n:
        case k if k > 2:
            r = 1
        case 1:
            r = 2
        case _:
            r = 3
    return x * k + r


@case((x, (1, 5)), (y, (5, 1)), (x, (2, 2)))
def alternatives_bind_one_name(x, t):
    match t:
        case (1, v) | (v, 1):
            return x * v
        case (v, w):
            return x + v - w


@case((1.0, 2.0), (2.0, 1.0), (3.0, 3.0), (0.0, 1.0))
def alternatives_of_the_run(a, b):
    match (a, b):
        case (1.0, v) | (v, 1.0):
            r = v * 10
        case (v, w):
            r = v - w
    return r


@case((x, ((1, 2), (3, (4, 5)))), (y, ((1, 2), 3)))
def nested_patterns(x, t):
    match t:
        case ((a, b), (c, (d, e))):
            return x * a + b + c + d + e
        case ((a, b), c):
            return x + a + b + c


@case((x, 3), (y, 4))
def no_case_for_some(x, n):
    match n:
        case 3:
            return x


@case((x,), (y,), (np.ones((2, 3)),), (np.ones((2, 3, 1)),))
def shapes(x):
    match x.shape:
        case (n,):
            return x * n
        case (n, m):
            return x + n * m
        case (n, *_, m):
            return x - m


@case((x, 2), (y, 3))
def breaks_and_continues(x, n):
    s = 0.0
    for i in range(10):
        match i % 4:
            case 0:
                continue
            case 3 if i > n * 2:
                break
            case r:
                s += r
    return x + s


@case((x,), (y,))
def a_comprehension_in_a_guard(x):
    match (1, 2, 3):
        case [a, *b] if sum(a for a in b) == 5:
            return x + a
        case _:
            return x


@case((x, 2), (x, -1))
def an_assignment_in_a_guard(x, n):
    match n:
        case k if (z := k * 2) > 0:
            return x + z
        case _:
            return x - z


@case((x, 3), (y, 3))
def in_an_inner_function(x, n):
    def g(k):
        match k:
            case 3:
                return x
            case _:
                return -x

    return g(n) + g(1)


@case((x, 1), (y, np.int64(2)), (x, True), (x, 1.0))
def types_of_numbers(x, n):
    match n:
        case bool():
            return x - 1
        case int():
            return x * n
        case float():
            return x + n
        case _:
            return x


@case(([1, 2, 3], x), ([1, 2], y), ([], x), ((x, y), x))
def the_last_of_a_list(l, x):
    match l:
        case [*_, last]:
            return x + last
        case []:
            return x


@case((x, [1, 8, 3]), (y, [1, 2]), (x, [9, 9, 1]))
def guards_with_names_of_their_own(x, t):
    match t:
        case [a, *b] if (lambda a: a > 5)(b[0]):
            return x + a
        case [a, *b] if any(a > 2 for a in b):
            return x - a
        case [a, *b] if [a for a in b if a == 2] == [2] and a == 1:
            return x * a
        case _:
            return x


@case((x, 3), (y, 5), (x, 0))
def a_guard_that_assigns_to_a_capture(x, n):
    match n:
        case 0:
            return x
        case int(v) if (v := v + 1) > 4:
            return x * v
        case w:
            return x - w


@case((x, [1, [2, 3]]), (y, [1, [1]]))
def captures_and_comprehensions(x, t):
    match t:
        case [a, b] if sum([a * b for b in b]) == 5:
            return x + a
        case [a, b] if len([a for a in [a]]) == 1:
            return x - a + len(b)


@case((x, 0.5), (x, 7.0), (y, 3.0))
def guards_of_the_run(x, v):
    match v:
        case k if (lambda k: k * 2)(1) > 5:
            return x
        case k if max(k for k in (1.0, 2.0)) > v:
            return x * k
        case k:
            return x + k


@case((x,), (np.ones((2, 2)),), (np.ones(2),))
def arrays_are_no_sequences(x):
    match x:
        case [a, b]:
            return a + b
        case np.ndarray(shape=(n,)):
            return x * n
        case np.ndarray(ndim=2):
            return x.T


@case((x, "ab"), (y, b"ab"), (x, range(2)), (x, [1, 2]))
def texts_are_no_sequences_and_ranges_are(x, s):
    match s:
        case [_, b]:
            return x + b
        case bytes():
            return x * 5
        case str():
            return x * 2


@case((x, (1, 2.0)), (y, (1.0, 2)), (x, (True, 1)), (y, (x, 1)))
def classes_in_a_tuple(x, t):
    match t:
        case (bool(), int()):
            return x
        case (int(), float()):
            return x + 1
        case (float(), int()):
            return x + 2
        case (np.ndarray() as z, 1):
            return z


@case((x, np.pi), (y, np.inf), (x, 2j))
def dotted_names(x, v):
    match v:
        case np.pi:
            return x * v
        case 2j:
            return x + v
        case _:
            return x


@case(
    (x, {"op": "add", "args": [1, 2]}),
    (y, {"op": "mul", "args": [x.sum()]}),
    (x, {"args": []}),
    (x, {"op": "neg"}),
)
def mappings(x, d):
    match d:
        case {"op": "add", "args": [a, b]}:
            return x + a + b
        case {"op": "mul", "args": [a]}:
            return x * a
        case {"op": str(o)}:
            return x * len(o)
        case {"args": []}:
            return -x


@case((("mul", ("add", "x", 2.0), "x"), x), (("neg", ("add", "x", "x")), y), (3.0, x), (("pow", 2), x))
def a_recursive_evaluation(e, x):
    match e:
        case "x":
            return x
        case ("add", a, b):
            return a_recursive_evaluation(a, x) + a_recursive_evaluation(b, x)
        case ("mul", a, b):
            return a_recursive_evaluation(a, x) * a_recursive_evaluation(b, x)
        case ("neg", a):
            return -a_recursive_evaluation(a, x)
        case float() as c:
            return c
        case _:
            raise ValueError("unknown")


@case((np.arange(6.0), 2), (np.arange(8.0), 3), (np.arange(9.0), 1))
def halves(v, depth):
    if depth == 0:
        return v.sum()
    h = len(v) // 2
    return halves(v[:h], depth - 1) + halves(v[h:], depth - 1)


@case((np.arange(8.0),), (np.arange(16.0),), (np.arange(7.0),), (np.arange(1.0),))
def even_and_odd(v):
    if len(v) <= 1:
        return v
    if len(v) % 2:
        return v * 2
    return np.concatenate([even_and_odd(v[::2]) + 1, even_and_odd(v[1::2]) - 1])


@case((10, x), (15, y), (2, x))
def fibonacci(n, x):
    def g(k):
        return k if k < 2 else g(k - 1) + g(k - 2)

    return x * g(n)


@case((5, x), (6, y), (0, y))
def two_that_call_each_other(n, x):
    def even(k, a):
        return a if k == 0 else odd(k - 1, a * 2)

    def odd(k, a):
        return -a if k == 0 else even(k - 1, a + 1)

    return even(n, x)


@case((np.ones((4, 4)),), (np.eye(8) + 1,))
def quarters(a):
    n = a.shape[0]
    if n <= 2:
        return a @ a
    h = n // 2
    out = np.empty_like(a)
    out[:h, :h] = quarters(a[:h, :h])
    out[:h, h:] = quarters(a[:h, h:])
    out[h:, :h] = quarters(a[h:, :h])
    out[h:, h:] = quarters(a[h:, h:])
    return out


@case(({"l": {"l": 1.0, "r": 2.0}, "r": 3.0}, x), ({"l": 1.0, "r": x}, x))
def a_tree_of_dicts(t, x):
    if isinstance(t, dict):
        return a_tree_of_dicts(t["l"], x) * a_tree_of_dicts(t["r"], x)
    return t + x


@pytest.mark.parametrize(("program", "calls"), PROGRAMS, ids=lambda one: getattr(one, "__name__", ""))
def test_it_answers_as_python_does(program, calls):
    jitted = nt.jit(program)
    for arguments in calls:
        try:
            wanted = program(*copy.deepcopy(arguments))
        except Exception as error:
            with pytest.raises(type(error)):
                jitted(*copy.deepcopy(arguments))
            continue
        found = jitted(*copy.deepcopy(arguments))
        assert (found is None) == (wanted is None)
        if wanted is not None:
            assert np.asarray(found).dtype == np.asarray(wanted).dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-13)


def gcd(a, b):
    return a if b == 0 else gcd(b, a % b)


def test_static_arguments_end_a_recursion():
    jitted = nt.jit(gcd, static_argnums=(0, 1))
    assert [jitted(48, 18), jitted(17, 5), jitted(7, 0)] == [6, 1, 7]


def counted_down(x, n):
    return x if n == 0 else counted_down(x + 1, n - 1)


def test_a_recursion_is_written_out_up_to_sixty_calls():
    jitted = nt.jit(counted_down, static_argnums=1)
    np.testing.assert_array_equal(jitted(y, 45), y + 45)
    with pytest.raises(
        nt.UnsupportedError, match=r"(?s)'counted_down' calls itself too deeply.*write a loop"
    ):
        jitted(y, 200)


def element_factorial(v):
    def factorial(n):
        return 1 if n <= 1 else n * factorial(n - 1)

    return factorial(v[0])


@pytest.mark.parametrize("arguments", [(np.array([5, 6]),), (np.array([1]),)])
def test_a_recursion_that_elements_end_is_refused(arguments):
    with pytest.raises(nt.UnsupportedError, match=r"(?s)'factorial' calls itself too deeply.*write a loop"):
        nt.jit(element_factorial)(*arguments)


def of_a_growing_list(x):
    found = []
    for v in x:
        if v > 0:
            found.append(v)
    match found:
        case [first, *_]:
            return first
        case _:
            return 0.0


def test_a_pattern_for_a_list_of_unknown_length_is_refused():
    with pytest.raises(nt.UnsupportedError, match=r"(?s)a pattern for .* is not supported.*if and elif"):
        nt.jit(of_a_growing_list, strict=True)(x)
