"""Loops in each other, 1 to 7 deep: they compute what Python does, and what is compiled of each grows with the text, not
with 2 to the depth."""

from __future__ import annotations

import linecache
from collections import Counter

import nestor as nt
import numpy as np
import pytest
from agreement import same
from nestor import random
from nestor.frontend.script import expressions, statements


class Particle:
    def __init__(self, v, n):
        self.v = v
        self.n = n


def function_of(text: str, name: str = "f"):
    """The function of a source text, which has lines to show."""
    file = f"<nested {abs(hash(text))}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    values = {"np": np, "random": random, "Particle": Particle}
    exec(compile(text, file, "exec"), values)
    return values[name]


def equal(found, expected):
    """Equal numbers; of which type a number is that a loop carries is one for all iterations, which Python's is not."""
    if isinstance(expected, tuple | list):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            equal(one, other)
        return
    np.testing.assert_allclose(found, expected, rtol=1e-12)


BODIES = {
    "whole arrays": ("x = np.tanh(x * 0.5 + y)", "x.sum() > limit", "", "x"),
    "elements": ("y[0] = y[0] * 0.5 + s\ns = s + x[1]", "s > limit", "s = 0.0", "s, y"),
    "numbers that widen": ("a = b\nb = b + x[0]", "b > limit", "a = b = 0.0", "a, b"),
    "a list": ("out.append(x[0] + len(out))", "len(out) > limit", "out = []", "len(out), x"),
    "numbers in an object": ("p.v = p.v * 0.5 + x[0]\np.n = p.n + 1", "p.v > limit", "p = Particle(0.5, 0)", "p.v, p.n"),
    "arrays in an object": ("p.v = np.tanh(p.v * 0.5 + y)\np.n = p.n + 1", "p.v.sum() > limit", "p = Particle(x, 0)", "p.v"),
    "items of a dict": ("d['a'] = d['a'] * 0.5 + y\nd['n'] += 1", "d['n'] > limit", "d = {'a': x, 'n': 0}", "d['a']"),
    "arrays that change places": ("x, y = y, x * 0.5", "x.sum() > limit", "", "x, y"),
}  # fmt: skip
EXITS = ("", "break", "continue", "return")
MOST = {"numbers that widen": 3.5, "a list": 3.5}
"""Maximum average: the type of `a` is found one sweep after that of `b`; a list that grows is found before its loop."""


def nested(body: str, form: str, end: str, depth: int) -> str:
    """A function of `depth` loops in each other, which all end, or go on, where a condition of the body's holds."""
    work, condition, start, result = BODIES[body]
    lines, pad = ["def f(x, y, n, limit):", *[f"    {start}"][: bool(start)]], "    "
    for d in range(depth):
        loop = f"for i{d} in range(n):" if form == "for" else f"while i{d} < n:"
        lines += [f"{pad}i{d} = 0"] * (form == "while") + [pad + loop]
        pad += "    "
        lines += [f"{pad}i{d} += 1"] * (form == "while")
        ends = {"": [], "return": [f"return {result}"]}.get(end, [end])
        lines += [f"{pad}if {condition}:", *[f"{pad}    {one}" for one in ends]] if ends else []
    lines += [pad + line for line in work.split("\n")]
    return "\n".join([*lines, f"    return {result}", ""])


@pytest.fixture
def handled(monkeypatch):
    """How often the handler of each node was called."""
    counts: Counter[int] = Counter()

    def counting(handler):
        def handle(frame, node):
            counts[id(node)] += 1
            kept.append(node)
            return handler(frame, node)

        return handle

    kept = []
    for table in (statements._HANDLERS, expressions.EXPRESSIONS):
        for kind, handler in list(table.items()):
            monkeypatch.setitem(table, kind, counting(handler))
    return counts


def effort(handled, text: str) -> tuple[float, int]:
    """How often the handlers of a node are called on average, and at most."""
    handled.clear()
    array = nt.spec((4,), "f8")
    nt.jit(function_of(text)).lower(array, array, nt.spec((), "i8"), nt.spec((), "f8"))
    return handled.total() / len(handled), max(handled.values())


@pytest.mark.parametrize("end", EXITS)
@pytest.mark.parametrize("form", ["for", "while"])
@pytest.mark.parametrize("body", BODIES)
def test_each_node_is_handled_as_often_as_in_one_loop(handled, body, form, end):
    most = []
    for depth in (1, 3, 7):
        average, at_most = effort(handled, nested(body, form, end, depth))
        assert average <= MOST.get(body, 3), (depth, average)
        most.append(at_most)
    assert most[2] <= max(most[1], 4), most


LOCAL = {
    "numbers that each loop begins": ("s{d} = 0\nfor k in range(n):\n    s{d} = s{d} + y[k]", "x = x + s0"),
    "lists that each loop makes": ("q{d} = []\nfor v in y:\n    if v > limit:\n        q{d}.append(v)", "x = x + len(q0)"),
    "objects that each loop makes": ("p{d} = Particle(x, 0)\nfor k in range(n):\n    p{d}.v = p{d}.v + y", "x = p0.v * 0.5"),
    "loops that converge": ("e{d} = 1.0\nwhile e{d} > 1e-3:\n    z = x * 0.5\n    e{d} = z.sum()\n    x = z", "x = x + y"),
    "comprehensions": ("x = x + sum([v * 2.0 for v in y if v > limit])", "x = x * 0.5"),
}  # fmt: skip


def with_loops_beside(name: str, depth: int) -> str:
    """A function of loops in each other, each of which has a loop of its own before the next one."""
    each, inner = LOCAL[name]
    lines, pad = ["def f(x, y, n, limit):"], "    "
    for d in range(depth):
        lines.append(f"{pad}for i{d} in range(n):")
        pad += "    "
        lines += [pad + line for line in each.replace("{d}", str(d)).split("\n")]
    return "\n".join([*lines, *[pad + line for line in inner.split("\n")], "    return x", ""])


@pytest.mark.parametrize("name", LOCAL)
def test_a_loop_that_changes_nothing_of_the_one_around_it_is_compiled_again_alone(handled, name):
    for depth in (1, 3, 6):
        assert effort(handled, with_loops_beside(name, depth))[0] <= 3.2


@pytest.mark.parametrize("name", LOCAL)
def test_loops_beside_loops_compute_what_python_does(name):
    f = function_of(with_loops_beside(name, 3))
    compiled = nt.jit(f)
    for n, size in ((2, 4), (0, 4), (1, 3)):
        x, y = np.linspace(0.1, 1, size), np.linspace(-1, 0.7, size)
        same(compiled(x.copy(), y.copy(), n, 0.2), f(x.copy(), y.copy(), n, 0.2))


LIMITS = (1e9, 3.0, 0.6, -1.0)


@pytest.mark.parametrize("end", EXITS)
@pytest.mark.parametrize("form", ["for", "while"])
@pytest.mark.parametrize("body", BODIES)
def test_nested_loops_compute_what_python_does(body, form, end):
    f = function_of(nested(body, form, end, 3))
    compiled = nt.jit(f)
    for n in (2, 3, 0, 1):
        for limit in LIMITS:
            x, y = np.linspace(0.1, 1, 4), np.linspace(-1, 1, 4)
            equal(compiled(x.copy(), y.copy(), n, limit), f(x.copy(), y.copy(), n, limit))


def rotate(x, n):
    xs, total = [1.0, 2.0, 3.0], 0.0
    for _ in range(n):
        for _ in range(n):
            xs.append(xs.pop(0))
            total = total * 2 + xs[0] * x[0]
            if total > 1e3:
                break
    return total, xs


def rotate_rows(x, n):
    xs, total = [], 0.0
    for _ in range(n):
        for v in x:
            xs.append(v)
        for _ in range(n):
            xs.append(xs.pop() + total)
            total = total * 0.5 + xs[-1]
    return total, len(xs)


def printing(x, n):
    s = 0.0
    for i in range(n):
        for j in range(n):
            print(i, j, s)
            if x.sum() > 14:
                print("stop", i, j)
                break
            x = x + 0.5
            s = s + x[0]
        else:
            print("no stop", i)
    print(s)
    return x


def draws(x, n):
    key = random.fold_in(3, 0)
    for i in range(n):
        for j in range(n):
            key = random.fold_in(key, j)
            x = x + random.uniform(key, x.shape, np.float64)
            if x.sum() > 20 + i:
                break
    return x


def counted(x, n):
    calls = [0]

    def tick(v):
        calls[0] += 1
        return v * 0.5

    for i in range(n):
        for _ in range(n):
            x = x + tick(x) * i
        x = x - tick(x)
    return x, calls[0]


def written_in_order(x, n):
    y = np.zeros(4)
    for i in range(n):
        for j in range(n):
            y[j % 4], y[i % 4] = y[i % 4] + x[0], y[j % 4] + 1.0
            if y[0] > 5:
                continue
            y += x * 0.25
    return y


EFFECTS = [rotate, rotate_rows, printing, draws, counted, written_in_order]


@pytest.mark.parametrize("f", EFFECTS, ids=[f.__name__ for f in EFFECTS])
def test_effects_in_nested_loops_are_there_once_and_in_order(f, capsys):
    compiled = nt.jit(f)
    for n in (2, 3, 0, 1):
        x = np.arange(1.0, 5.0)
        expected = f(x.copy(), n)
        printed = capsys.readouterr().out
        equal(compiled(x.copy(), n), expected)
        assert capsys.readouterr().out == printed


def types_by_turns(x, n):
    a = b = c = 0
    for _ in range(n):
        for _ in range(n):
            a, b, c = b, c, c + x[0]
        k = a * 2
        if k > 4:
            break
    return a, b, c


def unrolled_inside(x, n):
    """The types that one iteration of an unrolled loop finds are not those of another one."""
    s, first = 0, 0
    for step in (1, 0.5):
        for _ in range(n):
            s = s + step
        if step == 1:
            first = s
    for _ in range(n):
        for step in (1, 2):
            x = x * step
    return x, s, first


def decided_by_a_flag(x, n):
    """What the first sweep takes for a constant is none."""
    flag, s = False, 0.0
    for _ in range(n):
        for _ in range(n):
            if flag:
                x = x * 2.0
                s = s + x[0]
            flag = True
        if s > 50:
            return x, s
    return x, s


def reset_at_the_end(x, n):
    """The inner loop makes a float of what is an integer at the start of each iteration."""
    s = 0
    for i in range(n):
        for _ in range(n):
            s = s + 0.5
        x = x + s
        s = 0
        x = x + x[s + i]
    return x, s


def called(x, n):
    for i in range(n):
        if x[0] > 1e3:
            return x * 2.0
        for _ in range(i):
            x = x + 1.0
    return x


def calls_in_loops(x, n):
    for _ in range(n):
        x = called(x, n)
        for _ in range(n):
            x = called(x, n) * 0.5
    return x


def rows_of_rows(x, n):
    rows = []
    for i in range(n):
        row = []
        for v in x:
            if v > i:
                row.append(v)
        rows.append(len(row))
        for v in row:
            x = x + v * 0.1
    return np.array(rows), x


def floats_of_two_sizes(x, n):
    """In the first sweep `v` is a float32 where `t` takes it, and a float64 in the next one."""
    a, v = x.astype(np.float32), 0.0
    for i in range(n):
        for j in range(n):
            v = v + a[j]
        t = 0.0
        for _ in range(n):
            for _ in range(n):
                t = t + v
        x[i] = t
        v = v + x[i]
    return v, x


def float_arrays_of_two_sizes(x, n):
    a, v = x.astype(np.float32), 0.0
    for i in range(n):
        for j in range(n):
            v = v + a[j]
            x = np.tanh(x)
        t = 0.0
        for _ in range(n):
            for _ in range(n):
                t = t + v
                x = x * 0.5
        x = x + t
        v = v + x[i]
    return v, x


def list_beside_writes(x, n):
    """With room for the list this is refused, for `x` is written in place; `n` is compiled in, and the loops unrolled."""
    out, flag = [], False
    for _ in range(n):
        for i in range(n):
            out.append(x[1])
            x[i] = 0.5
            if flag:
                x = x + 1
    return len(out), x


def empty_arrays(x, n):
    s = 0.0
    for i in range(n):
        for j in range(n):
            if x[j] > 1:
                s = s + np.array([]).sum() + x[i]
    return s, x


FORMS = [
    empty_arrays,
    list_beside_writes,
    floats_of_two_sizes,
    float_arrays_of_two_sizes,
    types_by_turns,
    unrolled_inside,
    decided_by_a_flag,
    reset_at_the_end,
    calls_in_loops,
    rows_of_rows,
]


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("f", FORMS, ids=[f.__name__ for f in FORMS])
def test_what_sweeps_find_is_what_python_computes(f, target):
    compiled = nt.jit(f, target=target)
    for n in (2, 3, 1):
        x = np.linspace(0.5, 2, 4)
        equal(compiled(x.copy(), n), f(x.copy(), n))


def changed_in_the_condition(x, n):
    calls = [0]

    def tick(v):
        calls[0] += 1
        return v

    for _ in range(n):
        while tick(x[0]) > 0.01:
            x = x * 0.5
    return x, calls[0]


def two_shapes(x, n):
    for _ in range(n):
        for _ in range(n):
            if x.sum() > 1e6:
                break
            x = np.concatenate([x, x])
    return x


@pytest.mark.parametrize(
    ("f", "message", "line"),
    [
        (changed_in_the_condition, "known at run time only, and assigns or changes an object", "while tick"),
        (two_shapes, "an array of shape", "if x.sum() > 1e6"),
    ],
    ids=["changed_in_the_condition", "two_shapes"],
)
def test_what_is_refused_in_nested_loops_says_where(f, message, line):
    with pytest.raises(nt.NestorError, match=message) as caught:
        nt.jit(f)(np.ones(4), 2)
    assert line in str(caught.value)
