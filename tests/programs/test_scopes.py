"""Whose variable a name is: comprehensions, functions made in them, `:=`, and what looks at all variables at once."""

from collections import deque
from heapq import heappush

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

X = np.arange(4.0)
each_target = pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])


def late(x):
    return [f(x) for f in [lambda v: v * k for k in range(3)]]


def by_default(x):
    return [f(x) for f in [lambda v, k=k: v * k for k in range(3)]]


def in_a_dict(x):
    fs = {k: (lambda v: v * k) for k in range(3)}
    return [fs[k](x) for k in range(3)]


def nested(x):
    fs = [[(lambda v: v * k + j) for k in range(2)] for j in range(3)]
    return [f(x) for row in fs for f in row]


def two_generators(x):
    fs = [lambda v: v * k + j for k in range(2) for j in range(2)]
    return [f(x) for f in fs]


def of_each_turn(x):
    fs = []
    for n in (1, 2):
        fs.append([lambda v: v * n + j for j in (1, 2)][0])
    return fs[0](x), fs[1](x)


def of_a_loop(x):
    fs = []
    for k in range(3):
        fs.append(lambda v: v * k)
    return [f(x) for f in fs]


def makes_lists(x):
    fs = [lambda: [k * j for j in (1, 2)] for k in (3, 4)]
    return [f() for f in fs]


def hides_its_own(x):
    k = 10
    fs = [lambda v: v * k for k in range(3)]
    return fs[0](x) * k


def is_not_seen(x):
    k = 10
    f = lambda: k  # noqa: E731
    return [f() for k in range(3)], {f(): k for k in (1, 2)}, sum(f() * k for k in x)


def inner_is_not_seen(x):
    return [[g() for k in range(2)] for k in range(3) for g in [lambda: k]]


def same_name(x):
    k = [1, 2, 3]
    return [k for k in k], k, sum(k for k in k), sum(x for x in x)


def called_in_a_sum(x):
    return sum((lambda: v)() for v in x)


PROGRAMS = [late, by_default, in_a_dict, nested, two_generators, of_each_turn, of_a_loop, makes_lists, hides_its_own,
            is_not_seen, inner_is_not_seen, same_name, called_in_a_sum]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_variables_of_comprehensions(function):
    agrees(function, X)


@each_target
def test_on_each_target(target):
    agrees(late, X, target=target)
    agrees(is_not_seen, np.arange(20.0), target=target)
    agrees(called_in_a_sum, np.arange(20.0), target=target, dynamic=True)


def in_turns(x):
    for _ in range(12):
        fs = [lambda v: v + k for k in (1, 2)]
        x = np.tanh(fs[0](x) + sum(k * x for k in range(3)))
    return x


def test_in_a_loop_on_arrays():
    agrees(in_turns, X, tolerance=1e-14)


# ---- changed lists, and := --------------------------------------------------------------------------


def appends(x):
    ys = []

    def add(v):
        ys.append(v)
        return len(ys)

    return [add(v) * 10 + len(ys) for v in map(add, (1, 2, 3))], [ys.append(v) for v in (7, 8)], ys


def assigns(x):
    y = 5
    r = [[(y := y + j) for j in range(2)] for k in range(3)]
    s = [(z := v) if v > 1 else (z := -v) for v in x]
    return r, y, s, z


def finds(x):
    y = 0.0
    r = any((y := k) > 1 for k in x)
    return r, y


def test_changed_lists_and_assignments():
    agrees(appends, X)
    agrees(assigns, X)
    agrees(finds, X)


def test_an_assignment_in_a_long_search():
    agrees(finds, np.arange(20.0))


def pops(x):
    xs = [1, 2, 3]
    return [xs.pop() for _ in xs]


def pops_in_pairs(x):
    xs, ys = [1, 2, 3], [4, 5, 6]
    return [(a, b, xs.pop()) for a, b in zip(xs, ys)]


def pops_in_a_sum(x):
    xs = [1, 2, 3]
    return sum(xs.pop() for _ in zip(xs, xs))


def read_by_a_function(x):
    y = 0.0
    f = lambda: y  # noqa: E731
    return any((y := k) > 1 and f() > 0 for k in x)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (pops, "the length of a list changes"),
        (pops_in_pairs, "the length of a list changes"),
        (pops_in_a_sum, "a list is changed in an iteration"),
        (read_by_a_function, "used in a function defined here"),
    ],
)
def test_what_is_refused(function, why):
    with pytest.raises(nt.NestorError, match=why):
        nt.jit(function)(X)


# ---- functions that stop in the middle --------------------------------------------------------------


def yields(x):
    yield x


def yields_never(x):
    if x is None:
        yield x
    return x + 1


def yields_from(x):
    yield from [x]


def has_a_generator(x):
    def items():
        yield x

    return [v for v in items()]


def calls_a_generator(x):
    return [v for v in yields(x)]


def calls_one_that_never_yields(x):
    return yields_never(x)


def has_a_lambda_that_yields(x):
    f = lambda: (yield x)  # noqa: E731
    return f()


@pytest.mark.parametrize(
    "function",
    [yields, yields_never, yields_from, has_a_generator, calls_a_generator, calls_one_that_never_yields,
     has_a_lambda_that_yields],
)  # fmt: skip
def test_generators_are_refused(function):
    with pytest.raises(nt.NestorError, match="is a generator, which is not compiled"):
        nt.jit(function)(X)


async def waits(x):
    return x


def test_coroutines_are_refused():
    with pytest.raises(nt.NestorError, match="'waits' is a coroutine, which is not compiled"):
        nt.jit(waits)(X)


# ---- all variables at once, and state ---------------------------------------------------------------


def all_globals(x):
    return globals()["X"] is None


def all_locals(x):
    y = 3
    return sorted(locals())


def all_variables(x):
    return sorted(vars())


def all_names(x):
    return dir()


def runs_text(x):
    return eval("1 + 1")


def address(x):
    return id(None)


def steps(x):
    it = iter((1, 2, 3))
    s = 0
    for _ in range(len(x)):
        s += next(it)
    return s


def queue(x, c):
    waiting = deque((1, 2))
    if c > 0:
        waiting.append(3)
    else:
        waiting.append(4)
    return len(waiting)


def heap(x):
    h = [3, 4]
    heappush(h, 1)
    return h


def by_the_class(x):
    h = [3, 4]
    list.append(h, 1)
    return h


@pytest.mark.parametrize(
    "function",
    [all_globals, all_locals, all_variables, all_names, runs_text, address, steps, heap, by_the_class],
)
def test_what_looks_at_all_variables_or_keeps_a_state_is_refused(function):
    with pytest.raises(nt.NestorError, match="not supported in compiled code"):
        nt.jit(function)(np.arange(3.0))


def test_a_queue_is_refused():
    with pytest.raises(nt.NestorError, match="it may change the deque"):
        nt.jit(queue)(X, np.float64(1))
