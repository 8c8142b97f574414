"""`nt.custom_call`: functions of the user, run by Python in program order."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

RNG = np.random.default_rng(5)
TARGETS = ("cpu", "interp")
LOG = []


def note(*values):
    LOG.append(tuple(np.array(v) if isinstance(v, np.ndarray) else v for v in values))


def reversed_rows(x):
    return x[:, ::-1]


def extremes(x):
    return x.min(), x.max(axis=0)


def doubled(x):
    return x + x


def results(x):
    y = nt.custom_call(reversed_rows, x * 2, result=nt.spec(x.shape, x.dtype)) + 1
    low, high = nt.custom_call(extremes, y.T, result=(nt.spec((), y.dtype), nt.spec(y.shape[0], y.dtype)))
    return y, low, high


def in_order(x, n):
    nt.custom_call(note, True, n, x)
    for i in range(n):
        x = x * 0.5 + 1
        if x.sum() > 3.5:
            nt.custom_call(note, i, x, x.max(), 1.5 * i, x[0] > 1)
    nt.custom_call(note)
    return x


def among_elements(a):
    s = 0
    for i in range(len(a)):
        s += a[i]
        nt.custom_call(note, i, a[i], s)
        a[i] = nt.custom_call(doubled, s, result=nt.spec((), a.dtype))
    nt.custom_call(note, a)
    nt.custom_call(note, a[::-2])
    return s


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "x", [RNG.random((3, 4)), RNG.random((4, 3)).T, np.arange(12, dtype=np.int16).reshape(3, 4)]
)
def test_results(x, target):
    agrees(results, x, target=target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (in_order, (np.zeros(2), 5)),
        (in_order, (np.ones((2, 2), np.float32), 3)),
        (among_elements, (np.arange(5),)),
        (among_elements, (np.arange(5.0)[::-1],)),
        (among_elements, (np.arange(4, dtype=np.uint8),)),
    ],
)
def test_program_order(function, arguments, target):
    LOG.clear()
    function(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments])
    want = list(LOG)
    LOG.clear()
    nt.jit(function, target=target)(*arguments)
    assert len(LOG) == len(want)
    for got, one in zip(LOG, want, strict=True):
        assert [type(v) for v in got] == [type(v) for v in one]
        for a, b in zip(got, one, strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype


def one(x):
    return nt.custom_call(doubled, x, result=nt.spec(x.shape, x.dtype))


def test_shapes_that_are_not_known():
    f = nt.jit(one, dynamic=True)
    for n in (2, 5, 9):
        np.testing.assert_array_equal(f(np.ones((n, 3))), 2 * np.ones((n, 3)))
    assert f.cache_info()["compiled"] == 1


def test_trace():
    x = np.arange(6.0).reshape(2, 3)
    for got, want in zip(nt.trace(results)(x), results(x), strict=True):
        np.testing.assert_array_equal(got, want)


# ---- what goes wrong --------------------------------------------------------------------------------


def fails(x):
    raise KeyError("why")


def writes(x):
    x[0] = 1


KEPT = []


def keeps(x):
    KEPT.append(x[1:])


def call_fails(x):
    nt.custom_call(fails, x + 1)
    return x


def call_writes(x):
    nt.custom_call(writes, x)
    return x


def call_keeps(x):
    nt.custom_call(keeps, x + 1)
    return x


def wrong_shape(x):
    return nt.custom_call(doubled, x, result=nt.spec(3, "f8"))


def wrong_dtype(x):
    return nt.custom_call(doubled, x, result=nt.spec(2, "f4"))


def wrong_number(x):
    return nt.custom_call(doubled, x, result=(nt.spec(2, "f8"),))


@pytest.mark.parametrize("target", [*TARGETS, None])
@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (call_fails, KeyError, "why"),
        (call_writes, ValueError, "read-only"),
        (wrong_shape, ValueError, r"returned float64\[2\], float64\[3\] is declared"),
        (wrong_dtype, ValueError, r"returned float64\[2\], float32\[2\] is declared"),
        (wrong_number, ValueError, "returned 2 results, 1 are declared"),
    ],
)
def test_errors(function, error, message, target):
    """As the function itself without a compiler (target None)."""
    f = function if target is None else nt.jit(function, target=target)
    with pytest.raises(error, match=message):
        f(np.ones(2))


@pytest.mark.parametrize("target", TARGETS)
def test_an_array_that_is_kept(target):
    try:
        with pytest.raises(ValueError, match="keeps keeps an array it was given"):
            nt.jit(call_keeps, target=target)(np.ones(4))
    finally:
        KEPT.clear()


def unknown_extent(x):
    return nt.custom_call(doubled, x, result=UNKNOWN)


UNKNOWN = nt.spec((None,), "f8")


def no_spec(x):
    return nt.custom_call(doubled, x, result=3)


def text(x):
    return nt.custom_call(note, x, "text")


def inner_function(x):
    def inside(y):
        return y

    return nt.custom_call(inside, x)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (unknown_extent, "has the extent None, which is not known"),
        (no_spec, r"result= of nt.custom_call is an nt\.spec"),
        (text, r"nt\.custom_call with 'text'"),
        (inner_function, r"nt\.custom_call of the function inside"),
    ],
)
def test_refusals(function, message):
    with pytest.raises(nt.NestorError, match=message):
        nt.jit(function)(np.ones(2))


def test_it_is_asked_for():
    assert (nt.jit(one, strict=True)(np.ones(2)) == 2).all()
    text = nt.jit(one).explain(np.ones(2))
    assert "calls of Python:" in text
    assert f"{doubled.__module__}.doubled   ({__file__}:" in text
