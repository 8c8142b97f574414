"""nt.trace: functions compiled by running them on symbolic arrays, against NumPy; and what tracing refuses."""

import copy
import functools
import itertools
import operator
import sys
from pathlib import Path

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError

sys.path.insert(0, str(Path(__file__).parent))
from agreement import same

pytestmark = pytest.mark.one_of(2)

SPACE = {"np": np}
exec("def without_source(x, y):\n    return np.exp(x - x.max()) / y", SPACE)


def agrees(function, *arguments, tolerance=0.0, **options):
    """Trace, compile and run; results and written arguments are NumPy's. The second call finds what was compiled."""
    traced = nt.trace(function, **options)
    ours, numpys = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        want = function(*numpys)
    same(traced(*ours), want, tolerance)
    for a, b in zip(ours, numpys, strict=True):
        if isinstance(b, np.ndarray):
            same(a, b, tolerance)
    same(traced(*copy.deepcopy(arguments)), want, tolerance)
    assert traced.cache_info()["hits"] == 1
    return traced


def operators(x, y):
    z = (x + y) * 2 - x / (y + 1) + x // 3 - (x % 2) ** 2
    mask = (x < y) | ~(x >= 2) & (y != 1) ^ (x == y) | (y <= 0) | (x > 5)
    return -z, +z, abs(z), mask, 1 - x, 2 / (y + 1), 3**y, divmod(x, 2)


def calls(x, y):
    a = np.where(x > y, x, np.minimum(x, y)) + np.add.reduce(y) + np.maximum(y, 0.5, dtype=np.float64)
    b = np.stack([x, y]).sum(axis=0)
    return a, b, np.add.outer(x, y), x.mean(), y.astype(np.float32), np.clip(x, 0, 2), x.reshape(-1, 1)


def views(x, y):
    return (
        x[1:],
        x[::-1],
        y[None, :],
        x[0],
        x[-1] + y[..., 1],
        x.T,
        len(x),
        x.shape,
        x.ndim,
        x.size,
        x.dtype == y.dtype,
    )


def writes(x, y):
    z = x + y
    z[0] = 7
    z[1:] = z[:-1]
    z[1:] += y[1:]
    z *= 2
    x[:] = z
    w = x[::2]
    w -= 1
    np.add(x, y, out=y)
    n = x[0]
    n += 1
    return z, n, w


def constants(x, y):
    window = np.hanning(len(x))
    window[0] = 3
    first = x * window
    window[0] = 4
    return first + window * y, [1, 2, (3, None)], {"k": x + np.float32(2), "name": "v"}, window


def python(x, y):
    total = 0
    for k, v in enumerate(x):
        total = total + v * k
    try:
        total = total + x.no_such_attribute
    except AttributeError:
        total = total + 1
    return total, [row * 2 for row in (x, y)], hasattr(x, "other")


PROGRAMS = [operators, calls, views, writes, constants, python, SPACE["without_source"]]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_agrees(function, dtype, target):
    for size in (2, 3, 6):
        x, y = np.arange(size).astype(dtype), np.arange(size)[::-1].astype(dtype) + 1
        tolerance = 1e-6 if function in (operators, calls, SPACE["without_source"]) else 0.0
        agrees(function, x, y, target=target, tolerance=tolerance)


@pytest.mark.parametrize("function", [operators, writes], ids=lambda f: f.__name__)
def test_hostile_arrays(function):
    base = np.arange(24, dtype=np.float64)
    agrees(function, base[::3][:4].copy(), base[4:8], tolerance=1e-12)
    agrees(function, base[::5], base[20:0:-4][:5], tolerance=1e-12)
    assert function is not writes or base[0] == 0


def test_ranks():
    agrees(lambda x: (x + 1, x.sum(), x.T * 2), np.arange(12.0).reshape(3, 4))
    agrees(lambda x: (x * 2, x.sum()), np.array(3.0))
    agrees(lambda x: x * 2 + x.sum(axis=0), np.zeros((0, 3)))
    agrees(lambda x: x + x.T, np.asfortranarray(np.arange(9.0).reshape(3, 3)))


def test_other_callables():
    x, y = np.arange(4.0), np.ones(4)
    agrees(functools.partial(lambda a, b: a * b, y), x)
    same(nt.trace(operator.add)(x, y), x + y)
    same(nt.trace(lambda *xs, scale=2: sum(xs) * scale)(x, y, scale=3), (x + y) * 3)


def test_numbers_are_compiled_for_their_values_where_python_needs_them():
    def powers(x, n, double):
        for _ in range(n):
            x = x * x
        return x * 2 if double else x

    traced, x = nt.trace(powers), np.arange(4.0)
    for n, double in ((0, True), (3, False), (3, True)):
        same(traced(x, n, double), powers(x, n, double))
    assert traced.cache_info()["compiled"] == 3
    assert nt.trace(lambda x, a: x * a).lower(x, 2.5).as_text().count("%a: f64") == 1


def test_specs_are_traced_at_once():
    runs = itertools.count()  # no list: what a traced function can reach is part of what is looked at again

    def scaled(x, y):
        next(runs)
        return x * 2 + y

    traced = nt.trace(scaled, nt.spec(("n", 3), "f4"), nt.spec((3,), "f4"))
    assert repr(runs) == "count(1)"
    for n in (2, 5, 9):
        x = np.ones((n, 3), np.float32)
        same(traced(x, x[0]), scaled(x, x[0]))
    assert repr(runs) == "count(4)" and traced.cache_info()["compiled"] == 1
    assert "nest.for" in traced.lower(x, x[0]).as_text("nest")
    assert "x: float32[n, 3]" in traced.explain(x, x[0])


def test_dynamic():
    traced = nt.trace(lambda x: (x[1:] + x[:-1], x.shape[0] * 2, x.sum()), dynamic=True)
    for n in (3, 7):
        x = np.arange(n) + 1.0
        same(traced(x), (x[1:] + x[:-1], n * 2, x.sum()))
    assert traced.cache_info()["compiled"] == 1


# ---- refusals ---------------------------------------------------------------------------------------

KEPT = []


def branch(x):
    if x.sum() > 2:
        return x
    return x + 1


def outside_written(x):
    w = np.zeros(3)
    w += x
    return w


def element_stored_outside(x):
    w = np.zeros(3)
    w[0] = x[0]
    return w


def kept(x):
    KEPT.append(x)
    return x + KEPT[0]


@pytest.mark.parametrize(
    ("function", "message", "line"),
    [
        (branch, "a condition of a traced function must be known", "    if x.sum() > 2:"),
        (lambda x: float(x[0]), r"float\(\) in a traced function must be known", "float(x[0])"),
        (lambda x: [1, 2][x.astype(int)[0]], "an integer that Python needs", "[1, 2]["),
        (lambda x: np.asarray(x), "has no elements yet", "np.asarray(x)"),
        (lambda x: x.real_part, "the attribute 'real_part' of float64 array", "x.real_part"),
        (lambda x: np.linalg.svd(x), "np.linalg.svd is not supported", "np.linalg.svd(x)"),
        (lambda x: 3.0 in x, "`in` on a traced array", "3.0 in x"),
        (outside_written, "neither an argument nor computed from one", "    w += x"),
        (element_stored_outside, "must be known at compile time|has no elements yet", "    w[0] = x[0]"),
    ],
    ids=lambda v: "" if isinstance(v, str) else v.__name__,
)
def test_refusals_name_the_line(function, message, line):
    with pytest.raises(NestorError, match=message) as info:
        nt.trace(function)(np.arange(3.0))
    assert line in str(info.value) and __file__ in str(info.value)


def test_branches_suggest_jit():
    with pytest.raises(NestorError, match=r"nt\.jit compiles branches, loops"):
        nt.trace(branch)(np.arange(3.0))


def test_symbols_do_not_outlive_their_run():
    traced = nt.trace(kept)
    same(traced(np.arange(3.0)), np.arange(3.0) * 2)
    with pytest.raises(NestorError, match="of another run"):
        traced(np.arange(4.0))


def _put(items, place, value):
    items[place] = value


CHANGES = {
    "an item more": lambda x, items, named: items.append(x),
    "an item less": lambda x, items, named: items.pop(),
    "another item": lambda x, items, named: _put(items, 0, x),
    "another number": lambda x, items, named: _put(items, 2, items[2] + 1),
    "another order": lambda x, items, named: items.reverse(),
    "an item of an item": lambda x, items, named: _put(items[1], 0, x),
    "a value more": lambda x, items, named: _put(named, "b", x),
    "a value less": lambda x, items, named: named.pop("a"),
    "another value": lambda x, items, named: _put(named, "a", x),
    "another key": lambda x, items, named: _put(named, "c", named.pop("last")),
    "an item of a value": lambda x, items, named: _put(named["last"], 0, x),
}


@pytest.mark.one_of(1)
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_passed_is_not_changed(change):
    """It would be changed in the run that compiles, and in no call."""

    def traced(x, items, named):
        CHANGES[change](x, items, named)
        return x * 2

    given = [np.ones(3), [np.ones(3)], 5], {"a": np.ones(3), "last": [np.ones(3)]}
    with pytest.raises(NestorError, match=r"a (list|dict) that was passed is changed"):
        nt.trace(traced)(np.arange(3.0), *given)


def test_what_has_no_parameters():
    with pytest.raises(NestorError, match="has no parameters that can be known"):
        nt.trace(max)


@nt.jit
def clipped_sum(x, limit=1.5):
    total = 0.0
    for i in range(len(x)):
        if x[i] > limit:
            total += limit
        else:
            total += x[i]
    return total


@nt.jit
def doubled(x):
    return x * 2


def calls_jitted(x):
    y = doubled(x) + 1
    return y, clipped_sum(y), clipped_sum(y, limit=3.0), doubled(np.ones(2)).sum()


def test_jitted_functions_are_compiled_in_place_of_their_calls():
    x = np.array([0.25, 1.0, 2.0])
    plain = x * 2 + 1, clipped_sum(x * 2 + 1), clipped_sum(x * 2 + 1, 3.0), np.float64(4.0)
    traced = nt.trace(calls_jitted, nt.spec((3,), "f8"))
    for _ in range(3):
        got = traced(x)
        for a, b in zip(got, plain, strict=True):
            np.testing.assert_array_equal(a, b)
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        nt.trace(lambda x: doubled(x, out=x))(x)
