"""Tuples, lists, dicts, NamedTuples and dataclasses as arguments, results and variables, compared with Python."""

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

X = np.arange(6.0)


class Params(NamedTuple):
    w: Any
    b: Any = 1.0

    def apply(self, x):
        return x * self.w + self.b


@dataclass
class State:
    h: Any
    n: int = 0

    def norm(self):
        return (self.h**2).sum()

    @property
    def twice(self):
        return self.h * 2


@dataclass(frozen=True)
class Layer:
    params: Params
    scale: float


# ---- variables --------------------------------------------------------------------------------------


def lists(x):
    ys = []
    zs = ys
    ys.append(x)
    zs.extend([x + 1, x + 2])
    ys[0] = x * 5
    ys += [x]
    ys.insert(1, 3)
    ys[1] += 4
    copy = ys.copy()
    copy.reverse()
    return zs, len(ys), ys is zs, ys.pop(2), copy[1:3], (ys + copy)[-1], [1, 2] * 2


def dicts(x):
    d = {"a": x, 1: x + 1, (0, 1): 2}
    d["c"] = d["a"] + d[1]
    d.update(z=x)
    total = x * 0
    for key in d:
        total = total + d[key]
    for _, value in d.items():
        total = total - value / 2
    d["a"] += 1
    names = list(d.keys())
    last = d.pop("z")
    return (
        d,
        {k: v * 2 for k, v in d.items()},
        "a" in d,
        d.get("q"),
        names,
        last,
        d[0, 1],
        {**d, "n": 1} | {"m": 2},
    )


def records(x):
    p = Params(x)
    q = p._replace(b=x)
    s = State(x, 2)
    s.n += 1
    s.h = s.h + 1
    t = dataclasses.replace(s, n=5)
    w, b = q
    return p, q, s.norm(), s, t.twice, t.n, w + b, p.w, p.apply(x), Layer(q, 2.0), q[0] + q.b


def shared(x):
    def grow(items):
        items.append(x * 7)
        return items

    a = [x]
    b = (a, 1)
    grow(a)
    c = grow(a)
    return a, b, c is a, len(b[0])


def lists_in_lists(x):
    grid = [[x, x + 1], [x + 2]]
    row = grid[1]
    row.append(x + 3)
    grid[0][1] = x * 9
    return grid, row is grid[1]


def rebuilt_in_a_loop(x):
    s = [x, x * 0]
    d = {"t": 0, "x": x}
    for t in range(20):
        s = [s[1] + 1, s[0] * 0.5]
        d["t"] += t
        d["x"] = d["x"] * 0.5 + s[0]
    return s, d


def changed_in_a_loop(x):
    s = State(x, 0)
    items = [x, x * 0]
    for _ in range(20):
        items[0] = items[0] + 1
        items[1] = items[0] * 0.5
        s.h = s.h * 0.5
        s.n += 1
    return items, s


def changed_on_a_path(x):
    items = [x, 0]
    if x.sum() > 3:
        items[0] = x * 2
        items[1] = 1
    else:
        items[0] = x * 3
    return items


def until_small(x):
    state = Params(x, 0)
    while state.w.sum() > 1:
        state = state._replace(w=state.w / 2, b=state.b + 1)
    return state


def unrolled(x):
    ys = []
    for k in range(3):
        if k != 1:
            ys.append(x * k)
    for y in ys:
        y[0] = 100
    return ys, [len(v) for v in (ys, ys[0])]


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize(
    "function",
    [
        lists, dicts, records, shared, lists_in_lists, rebuilt_in_a_loop, changed_in_a_loop, changed_on_a_path,
        until_small, unrolled,
    ],
)  # fmt: skip
def test_variables(function, target):
    agrees(function, X, target=target)
    agrees(function, np.zeros(1, "f4"), target=target)


def test_a_path_not_taken():
    agrees(changed_on_a_path, X * 0)


# ---- arguments and results --------------------------------------------------------------------------


def applied(layer, x, *more, **named):
    y = layer.params.apply(x) * layer.scale
    return {"y": y, "n": len(more), "rest": [m + 1 for m in more], "same": layer, "named": named}


def in_place(d):
    d["x"][:] = d["x"] * 2
    d["y"][0][0] += 1
    return d["x"].sum()


def numbers(values, e):
    return [v * 2 for v in values] + [e], len(values)


def step(state, g):
    return State(state.h - 0.1 * g, state.n + 1)


@pytest.mark.parametrize("dynamic", [None, True])
def test_arguments(dynamic):
    layer = Layer(Params(X, 2.5), 0.5)
    agrees(applied, layer, X + 1, dynamic=dynamic)
    agrees(applied, layer, X + 1, X, 3, dynamic=dynamic)
    agrees(in_place, {"x": X.copy(), "y": [X[::-1].copy()]}, dynamic=dynamic)
    for values in ([X, 1.5, 2, True], [1.0, 2], [], (X, X.T)):
        agrees(numbers, values, (), dynamic=dynamic)
    agrees(step, State(X, 3), X + 1, dynamic=dynamic)


def test_keywords_are_a_dict():
    jitted = nt.jit(applied)
    got = jitted(Layer(Params(X), 1.0), X, k=X, j=2)["named"]
    assert list(got) == ["k", "j"]
    np.testing.assert_array_equal(got["k"], X)
    assert got["j"] == 2


def test_the_structure_chooses_the_program():
    jitted = nt.jit(numbers)
    for values in ([X], (X,), [X, X + 1], [1.0], [2.0], [3]):
        want = numbers(values, None)
        got = jitted(values, None)
        assert len(got[0]) == len(want[0])
        for a, b in zip(got[0], want[0], strict=True):
            np.testing.assert_array_equal(a, b)
    assert jitted.cache_info()["compiled"] == 5  # one program for [1.0] and [2.0]


def test_extents_of_items_become_unknown_one_by_one():
    jitted = nt.jit(lambda_free)
    for n, m in ((3, 4), (3, 5), (3, 6), (3, 7)):
        np.testing.assert_array_equal(jitted((np.ones(n), np.ones(m)))[1], np.full(m, 2.0))
    assert jitted.cache_info()["compiled"] == 2


def lambda_free(pair):
    return pair[0] + 1, pair[1] + 1


def test_a_compiled_program_is_of_one_structure():
    compiled = nt.jit(numbers).lower([X, X], None).compile()
    with pytest.raises(TypeError, match="not of the types"):
        compiled((X, X), None)


def frozen(layer):
    layer.scale = 2.0
    return layer


def test_a_frozen_dataclass_does_not_change():
    with pytest.raises(AttributeError, match="cannot assign to field 'scale'"):
        nt.jit(frozen)(Layer(Params(X), 1.0))
