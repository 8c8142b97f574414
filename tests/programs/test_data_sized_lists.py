"""Lists that a loop appends to on some paths, or at several places: the run counts how long they get."""

import nestor as nt
import numpy as np
import pytest
from test_data_sized_results import agrees_on, on_machine_code

RNG = np.random.default_rng(26)


def positive(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return np.array(out)


def places(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(i)
    return out, len(out)


def two_lists(x):
    a = []
    b = []
    for i in range(len(x)):
        if x[i] > 0:
            a.append(x[i] * 2)
        elif x[i] < -0.5:
            b.append(x[i])
            a.append(-x[i])
    return np.array(a), np.array(b), np.array(a).sum()


def begun(x):
    out = [np.float64(1.5)]
    for i in range(len(x)):
        for j in range(i):
            if x[i] > x[j]:
                out.append(x[i] - x[j])
    return np.array(out), out[0]


def ended_early(x):
    out = []
    for v in x:
        if v > 1:
            break
        if v == 0:
            continue
        out.append(v)
    return np.array(out)


def twice(x):
    out = []
    for v in x:
        if v < 0:
            continue
        out.append(v)
        if v > 0.5:
            out.append(v * 2)
    s = np.float64(0)
    for w in out:
        s += w
    return s, len(out)


def of_whole_arrays(x):
    out = []
    for k in range(len(x)):
        y = np.cumsum(x) * x[k]
        if y.sum() > 0:
            out.append(y.sum())
    return np.array(out)


def through_a_function(x):
    out = []

    def keep(v):
        if v > 0:
            out.append(v)

    for v in x:
        keep(v)
        keep(v - 1)
    return np.array(out)


X = RNG.standard_normal(11)
CALLS = [(X,), (-np.abs(X),), (np.abs(X),), (X[::-2],), (X[:2],), (X[:1],), (X[:0],)]
PROGRAMS = [positive, places, two_lists, begun, ended_early, twice, of_whole_arrays, through_a_function]


@pytest.mark.parametrize("dynamic", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize(("program", "target"), on_machine_code(PROGRAMS, [positive, places]))
def test_lists_of_numbers(program, target, dynamic):
    agrees_on(program, CALLS, target=target, dynamic=dynamic)


def rows(x):
    out = []
    for r in x:
        if r[0] > 0:
            out.append(r * 2)
    return np.array(out)


def stacked(x):
    ys = []
    zs = []
    for t in range(len(x)):
        if x[t, 0] > 0:
            ys.append(x[t])
        zs.append(x[t])
        zs.append(x[t] + 1)
    return np.stack(ys), np.stack(zs)


def joined(x):
    ys = []
    for t in range(len(x)):
        if x[t, 0] > 0:
            ys.append(x[t] + 1)
    return np.concatenate(ys)


def elements(x):
    out = []
    for i in range(len(x)):
        for j in range(x.shape[1]):
            if x[i, j] > 0.5:
                out.append(x[i, j])
    return np.array(out)


@pytest.mark.parametrize("target", ["interp", pytest.param("cpu", marks=pytest.mark.slow)])
def test_lists_of_rows(target):
    a = RNG.standard_normal((6, 4))
    a[0, 0] = 1
    agrees_on(rows, [(a,), (np.abs(a),), (a[:3],)], target=target, dynamic=True)
    for program in (stacked, joined):
        agrees_on(program, [(a,), (np.abs(a),), (-np.abs(a),), (a[:2],)], target=target)
    agrees_on(elements, [(a,), (np.abs(a),), (a[:3],), (-np.abs(a),)], target=target, dynamic=True)


def halved(n):
    out = []
    while n > 1:
        if n % 2:
            out.append(n)
        n = n // 2
    return out


def mixed(x):
    out = []
    for k in range(len(x)):
        if x[k] > 0:
            out.append(x[k])
        else:
            out.append(k)
    return out


def written_in_place(x):
    ys = []
    h = np.zeros(x.shape[1])
    for t in range(len(x)):
        h += x[t]
        if x[t, 0] > 0:
            ys.append(h)
    return np.stack(ys)


def written_under_another_name(x):
    ys = []
    h = np.zeros(x.shape[1])
    for t in range(len(x)):
        g = h
        g[0] = t
        if x[t, 0] > 0:
            ys.append(h)
        h = h + 1
    return np.stack(ys)


@pytest.mark.parametrize(
    ("program", "argument", "message"),
    [
        (mixed, X, "is appended, and elsewhere"),
        (written_in_place, np.ones((3, 4)), "is written in place by iterations of this loop"),
        (written_under_another_name, np.ones((3, 4)), "is written in place by iterations of this loop"),
    ],
)
def test_refusals(program, argument, message):
    with pytest.raises(nt.UnsupportedError, match=message) as caught:
        nt.jit(program, dynamic=True)(argument)
    assert "^" in str(caught.value)
