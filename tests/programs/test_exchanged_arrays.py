"""Arrays that change places in loops, that are written there, and that somebody else sees: the caller, another name."""

from __future__ import annotations

import linecache
import random

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError

pytestmark = pytest.mark.one_of(2)


def heat(a, n):
    b = a.copy()
    for _t in range(n):
        b[1:-1] = a[:-2] + a[2:] * 0.5
        a, b = b, a
    return a


def both(a, n):
    b = a.copy()
    for t in range(n):
        b[0] = t + 100
        a, b = b, a
    return a.sum() + 10 * b.sum()


def while_less(a, n):
    b = a.copy()
    while n > 0:
        b[1:] = a[:-1] + 1
        a, b = b, a
        n -= 1
        if a[1] > 100:
            break
    return a


def three(a, n):
    b = np.zeros_like(a)
    c = np.ones_like(a)
    for t in range(n):
        a, b, c = b, c, a
        a[0] = t
        b[1] += 1
    return a.sum() + 10 * b.sum() + 100 * c.sum()


def pair(a, n):
    p = (a, a.copy())
    for t in range(n):
        p[1][0] = t + 100
        p = (p[1], p[0])
    return p[0].sum()


def exchange(a, b, n):
    for t in range(n):
        b[0] = t + 100
        a, b = b, a
    return a


def in_a_helper(a, n):
    x = a + 1
    y = a + 2
    r = exchange(x, y, n)
    r = exchange(y, x, n)
    return x.sum() + 10 * y.sum() + 100 * r.sum()


def argument_of_a_helper(a, n):
    return exchange(a, a.copy(), n).sum()


def read_by_another_name(a, n):
    x = a + 1
    first = x
    b = x.copy()
    for t in range(n):
        b[0] = t + 100
        x, b = b, x
    return first[0] + x[0] * 10


def few_turns(a, n):
    b = a.copy()
    for _t in range(4):
        b[1] = a[0] + n
        a, b = b, a
    a[0] = 7
    return a.sum() + b.sum()


def inner_turns(a, n):
    u = a + 1
    v = a + 2
    for _k in range(n):
        for t in range(3):
            v[1:] = u[:-1] + t
            u, v = v, u
    return u.sum() + 10 * v.sum()


def updated_and_computed(a, n):
    u = a + 1
    v = a + 2
    for k in range(n):
        v[1:] = u[:-1] + k
        w = u + v
        u, v = v, w
    return u.sum() + 10 * v.sum()


def updated_and_summed(a, n):
    u = a + 1
    v = a + 2
    w = a + 3
    for k in range(n):
        v[1:] = u[:-1] + k
        t = np.cumsum(v)
        w[1:] = v[:-1] + t[1:]
        u, v, w = v, t, w + v
    return u.sum() + 10 * v.sum() + 100 * w.sum()


def one_for_two(a, n):
    u = a + 1
    v = a * 2
    if n > 1:
        u[0] = 7
        v = u
    else:
        v[1] = 8
    return u.sum() + 10 * v.sum()


def copied_in_the_loop(a, n):
    w = a * 2
    v = a + 1
    for t in range(n):
        v = w.copy()
        v[1:] = a[:-1] + t
    return v.sum()


def second_name_dies(a, n):
    old, new = a.copy(), a + 1
    for k in range(n):
        old[0] = k
        new = old * 2
        old = new
    old[0] = 1
    return old


def second_name_is_read_before(a, n):
    u, w = a.copy(), a + 1
    for k in range(n):
        w = u = a + k
    t = (u + w).sum()
    w[3] = 7
    return w + t


PROGRAMS = [
    second_name_dies,
    second_name_is_read_before,
    heat,
    both,
    while_less,
    three,
    pair,
    in_a_helper,
    argument_of_a_helper,
    read_by_another_name,
    few_turns,
    inner_turns,
    updated_and_computed,
    updated_and_summed,
    one_for_two,
    copied_in_the_loop,
]


@pytest.mark.parametrize("target", ["interp", "cpu"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_in_python(function, target):
    compiled = nt.jit(function, target=target)
    for n in (3, 0, 1, 2, 4, -1):
        ours, theirs = np.arange(5.0), np.arange(5.0)
        got, want = compiled(ours, n), function(theirs, n)
        np.testing.assert_allclose(got, want, rtol=1e-14)
        np.testing.assert_array_equal(ours, theirs)
        assert (got is ours) == (want is theirs)


@pytest.mark.parametrize("function", [heat, both, inner_turns], ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [2, 3])
def test_on_the_simulator(function, n):
    ours, theirs = np.arange(5.0), np.arange(5.0)
    np.testing.assert_allclose(nt.jit(function, target="cuda-sim")(ours, n), function(theirs, n), rtol=1e-14)
    np.testing.assert_array_equal(ours, theirs)


# ---- what is refused --------------------------------------------------------------------------------


def dropped(a, n):
    b = a
    for _t in range(n):
        b[0] += 1
        if a[0] > 3:
            b = b.copy()
    return a.sum() + 10 * b.sum()


def from_outside_the_loop(a, n):
    z = a + 1
    y = a + 2
    for _t in range(n):
        z[0] += 1
        z = y
    return y.sum()


def read_in_the_loop(a, n):
    x = a + 1
    first = x
    b = x.copy()
    s = 0.0
    for t in range(n):
        b[0] = t + 100
        x, b = b, x
        s += first[0]
    return s


def given_up(y, n):
    for _t in range(n):
        y[0] += 1
        y = y.copy()
    return y


def given_up_in_a_helper(a, n):
    x = a + 1
    return x.sum() + given_up(x, n).sum()


def chosen(y, n):
    if n > 2:
        y = y * 2
    y[0] = 5
    return y


def chosen_in_a_helper(a, n):
    x = a + 1
    r = chosen(x, n)
    return x.sum() + 10 * r.sum()


def twice(a, n):
    w = np.zeros_like(a)
    for _k in range(n):
        a[1:] = a[:-1] + 2
        w, a = a, w
    for _k in range(n):
        a[1:] = a[:-1] + 2
        w, a = a, w
    return 0


OUTSIDE = np.arange(5.0)


def outside(a, n):
    x = OUTSIDE
    b = x.copy()
    for _ in range(n):
        b[0] = OUTSIDE[0] + 1
        x, b = b, x
    return x.sum()


def one_at_last(a, n):
    u, w = a.copy(), a + 1
    for _k in range(n):
        w = u
        if a[0] > 2:
            u = w
    w[3] *= 7
    return u


def both_new(a, n):
    u, w = a.copy(), a + 1
    for k in range(n):
        w = u = a + k
    w[3] = 7
    return u


def one_in_the_loop(a, n):
    u, w = a.copy(), a + 1
    for _k in range(n):
        w[1] = w[1] * 2 + 1
        w = u
        if a[0] > 2:
            u = w
    return u + w


REFUSED = [
    (one_at_last, "'u', which is 'w' on some paths only, is read after 'w' was written"),
    (both_new, "'u', which is 'w' on some paths only, is read after 'w' was written"),
    (one_in_the_loop, "'w' is written in place in this loop, where it may be the array that 'u' is"),
    (outside, "'b' is written in place in this loop, where it may be the array that 'x' was"),
    (dropped, "'b' is written in place and given a new value in this loop, and the caller sees"),
    (from_outside_the_loop, "'z' is written in place in this loop, where it may be 'y' from before the loop"),
    (read_in_the_loop, "'b' is written in place in this loop, where it may be the array that 'x' was"),
    (given_up_in_a_helper, "and the function's caller sees what is written to it"),
    (chosen_in_a_helper, "writing through 'y', which is 'x' on some paths only, is not supported"),
    (twice, "'a' is written in place and given a new value in this loop, and that is 'a' on some paths"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=lambda p: getattr(p, "__name__", ""))
def test_what_would_be_lost_is_refused(function, message):
    with pytest.raises(NestorError) as refusal:
        nt.jit(function, target="interp")(np.arange(5.0), 3)
    assert message in str(refusal.value)


# ---- random programs --------------------------------------------------------------------------------

NAMES = ("a", "b", "u", "v", "w")
HELPERS = """
def helper0(p, q, n):
    for i in range(n):
        q[1:] = p[:-1] + i
        p, q = q, p
    return p
def helper1(p, q, n):
    p[0] += 1
    return q
def helper2(p, q, n):
    for i in range(n):
        q = q * 0.5
        q[0] = p[1]
    return q
def helper3(p, q, n):
    if n > 1:
        p = q
    return p
"""


class Draw:
    """A random function of two arrays and a number, whose arrays are written, renamed, exchanged and handed on."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines = ["def f(a, b, n):", "    s = 0.0", "    k = 0"]
        for name in ("u", "v", "w"):
            made = self.random.choice(("a", "b", "a.copy()", "a + 1", "b * 2", "np.zeros_like(a)"))
            self.lines.append(f"    {name} = {made}")
        self.line(1, f"for t in range({self.random.choice(('n', '3', '4'))}):")
        self.block(2)
        if self.random.random() < 0.4:
            self.block(1)
        total = "s + a.sum() + 3 * b.sum() + 5 * u.sum() + 7 * v.sum() + 11 * w.sum()"
        self.line(
            1, "return " + self.random.choice((total, "(u, v.sum(), w.sum() + s)", "(a, u, v, w, s)", "u"))
        )

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(self, depth: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        r = self.random
        x, y, z = (r.choice(NAMES) for _ in range(3))
        kind = r.randrange(11 if depth < 4 else 9)
        simple = (
            f"{x}[1:] = {y}[:-1] + {r.randint(0, 3)}",
            f"{x}[{r.randint(0, 3)}] {r.choice(('=', '+=', '*='))} {r.choice(('2', 'k', 's'))}",
            f"{x}, {y} = {y}, {x}",
            f"{x}, {y} = {y}, {x}",
            f"{x} = {y}",
            f"{x} = {y} * 0.5 + {z}",
            f"s = s + {x}[{r.randint(0, 3)}]",
            f"{x} = helper{r.randint(0, 3)}({y}, {z}, n)",
            f"{x} += {y}",
        )
        if kind < len(simple):
            return self.line(depth, simple[kind])
        if kind == 9:
            self.line(depth, f"if {r.choice(('n > 2', 's > 3', x + '[0] > 2'))}:")
            self.block(depth + 1)
        elif depth < 3:
            self.line(depth, f"for k{depth} in range({r.choice(('n', '2', 'n + 1'))}):")
            self.line(depth + 1, f"k = k{depth}")
            self.block(depth + 1)

    @property
    def text(self) -> str:
        return HELPERS + "\n".join(self.lines) + "\n"


def compare(seed: int, target: str) -> bool:
    """Whether the program is compiled, which then does what Python does; False where it is refused."""
    text, name = Draw(seed).text, f"<exchanged {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    found: dict = {"np": np}
    try:
        exec(compile(text, name, "exec"), found)
    except SyntaxError:
        return False
    compiled = nt.jit(found["f"], target=target)
    for n in (0, 1, 2, 3):
        theirs = [np.arange(5.0), np.arange(5.0) * 2 + 1]
        ours = [one.copy() for one in theirs]
        want = found["f"](*theirs, n)
        try:
            got = compiled(*ours, n)
        except NestorError:
            return False
        wants, gots = (one if isinstance(one, tuple) else (one,) for one in (want, got))
        for x, y in zip([*wants, *theirs], [*gots, *ours], strict=True):
            np.testing.assert_array_equal(x, y, err_msg=f"seed {seed}, n = {n}\n{text}")
        for x, y in zip(wants, gots, strict=True):
            for his, mine in zip(theirs, ours, strict=True):
                assert np.shares_memory(x, his) == np.shares_memory(y, mine), f"seed {seed}\n{text}"
    return True


@pytest.mark.parametrize(("first", "count", "target"), [(0, 120, "interp"), (200, 20, "cpu")])
def test_random_programs(first, count, target):
    compiled = [compare(seed, target) for seed in range(first, first + count)]
    assert sum(compiled) > count // 2


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 4000, 500))
def test_many_random_programs(first):
    compiled = [compare(seed, "interp") for seed in range(first, first + 500)]
    assert sum(compiled) > 250


def becomes_another_argument(a, b, n):
    v = b
    for _ in range(n):
        v = a
        b, v = v, b
        b += a
    return v.sum()


def test_an_argument_that_two_variables_are_in_the_next_iteration():
    """From the second iteration on `v` is `a` as well, which `b += a` changes."""
    x = np.arange(4.0)
    with pytest.raises(NestorError, match="is written in place in this loop, where it may be the array that"):
        nt.jit(becomes_another_argument)(x.copy(), x + 1, 2)


@pytest.mark.parametrize("seed", [2152, 3355, 3691])
def test_what_random_programs_found(seed):
    compare(seed, "interp")


def both_at_once(a, n):
    b = a * 2
    for i in range(n):
        a[:], b[:] = b * 1.5, a * 1.5
        b[i] = 1.0
    return b


def nested_targets(a, n):
    b = a * 2
    for i in range(n):
        (b[:], (a[:], b[i])) = (a * 1.5, (b * 2, a[0] * 3))
    return b


def items_of_objects(a, n):
    parts = {"a": a, "b": a * 2}
    for i in range(n):
        parts["a"][:], parts["b"][1:] = parts["b"] * 2, parts["a"][1:] - 1
        parts["b"][i] = 1.0
    return parts["b"]


def _changed(a, x, y):
    a[0] = 3.0
    return x.sum() + y[0]


def given_to_what_writes(a, n):
    b, s = a * 2, 0.0
    for i in range(n):
        s += _changed(a, a * 1.5, a[::-1] * 2)
        b[i] = s
    return b


def beside_what_writes(a, n):
    b = a * 2
    for i in range(n):
        b += (a * 2) * _changed(a, a * 1, b) + a * _changed(a, b, a)
        b[i] = 1
    return b


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize(
    "f", [both_at_once, nested_targets, items_of_objects, given_to_what_writes, beside_what_writes]
)
def test_expressions_are_computed_before_what_follows_writes(f, target):
    compiled = nt.jit(f, target=target)
    for n in (2, 3, 0):
        a = np.array([-1.5, 3, 1, 1.5])
        b = a.copy()
        np.testing.assert_array_equal(compiled(b, n), f(a, n))
        np.testing.assert_array_equal(b, a)
