"""The Python of compiled functions, compared with Python: iterators, comprehensions, functions inside, unpacking."""

import itertools
import runpy

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

X = np.arange(6.0)
Y = np.array([3.0, -1.0, 2.5, 0.0, 7.0, -2.0])


# ---- iterators --------------------------------------------------------------------------------------


def dot(x, y):
    s = 0.0
    for a, b in zip(x, y):
        s += a * b
    return s


def numbered(x):
    out = np.zeros(len(x))
    for i, v in enumerate(x, 1):
        out[i - 1] = i * v
    return out


def backwards(x):
    out = np.zeros(len(x))
    i = 0
    for v in reversed(x):
        out[i] = v
        i += 1
    return out


def nested_targets(x, y):
    out = np.zeros(len(x))
    for i, (a, (b, c)) in enumerate(zip(x, zip(y, reversed(x)))):
        out[i] = a * b - c
    return out


def first_common(x, y):
    for i, (a, b) in enumerate(zip(x, y)):
        if a == b:
            return i
    return -1


def rows(x):
    out = np.zeros(x.shape[1])
    for row, k in zip(x, range(10, 0, -3)):
        out += row * k
    return out


def mapped(x):
    s = 0.0
    for v in map(lambda q: q * q + 1, x):
        s += v
    return s


def mapped_list(x):
    return list(map(lambda a, b: a + b, [x, x * 2], (1, 2))), list(filter(None, [1, 0, 3]))


def three_of_many(x):
    s = 0.0
    for w, v in zip((0.25, 0.5, 0.25), x):
        s += w * v
    return s


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (dot, (X, Y)),
        (dot, (X, Y[:4])),
        (dot, (X[::-1], Y)),
        (dot, (X[:0], Y)),
        (dot, (X.astype("i2"), Y.astype("f4"))),
        (numbered, (X,)),
        (numbered, (X[:1],)),
        (backwards, (X,)),
        (backwards, (X[::2],)),
        (nested_targets, (X, Y)),
        (first_common, (X, Y)),
        (first_common, (X, X + 1)),
        (rows, (np.arange(12.0).reshape(4, 3),)),
        (rows, (np.asfortranarray(np.arange(6.0).reshape(2, 3)),)),
        (mapped, (X,)),
        (mapped_list, (X,)),
        (three_of_many, (Y,)),
        (three_of_many, (Y[:2],)),
    ],
    ids=lambda p: getattr(p, "__name__", None),
)
def test_iterators(function, arguments, dynamic):
    agrees(function, *arguments, dynamic=dynamic)


def strict_pairs(x, y):
    return [a + b for a, b in zip(x, y, strict=True)]


def test_strict_zip():
    agrees(strict_pairs, X, Y)
    with pytest.raises(ValueError, match="different lengths"):
        nt.jit(strict_pairs)(X, Y[:3])


# ---- comprehensions and generators ------------------------------------------------------------------


def comprehensions(x):
    k = 100
    squares = [k * v for k, v in enumerate((x, x + 1, x * 3)) if k != 1]
    table = {f"{a}{b}": x * a + b for a in (1, 2) for b in range(a)}
    return squares, table, k, sum([v[0] for v in squares])


def closure_in_comprehension(x):
    return [[r + c for c in range(r)] for r in range(4)], [f(x) for f in (np.sin, np.cos)]


def sum_of_squares(x):
    return sum(v * v for v in x)


def sum_of_some(x):
    return sum(v * v for v in x if v > 1)


def sum_of_pairs(x, y):
    return sum(a * b for a in x for b in y)


def which(x):
    return any(v > 4 for v in x), all(v > 4 for v in x), all(v >= -9 for v in x), any(x), all(x)


def sums(x, a):
    return sum(x), sum([a, 2, a]), sum((x, x)), sum([[1], [2]], []), sum(x, 10)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (comprehensions, (X,)),
        (closure_in_comprehension, (X,)),
        (sum_of_squares, (X,)),
        (sum_of_squares, (np.arange(100, dtype="i2"),)),
        (sum_of_squares, (np.linspace(0, 1, 1000),)),
        (sum_of_some, (Y,)),
        (sum_of_pairs, (X, Y)),
        (sum_of_pairs, (np.arange(40.0), Y)),
        (which, (X,)),
        (which, (Y,)),
        (which, (np.arange(30.0),)),
        (sums, (X, 3)),
        (sums, (np.linspace(0, 1, 50), 2.5)),
    ],
    ids=lambda p: getattr(p, "__name__", None),
)
def test_comprehensions(function, arguments):
    agrees(function, *arguments)


def in_a_loop(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = sum(w * x[min(i + k, len(x) - 1)] for k, w in enumerate((0.5, 0.25, 0.25)))
        out[i] += max([x[i] * s for s in (1, -1)])
    return out


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_in_loops_over_elements(target):
    agrees(in_a_loop, Y, target=target)


# ---- functions inside -------------------------------------------------------------------------------


def closures(x):
    scale = lambda a, b=2: a * b
    k = 3

    def combine(a, *rest, m=1, **more):
        return a * k + len(rest) + m + more.get("z", 0)

    k = 4
    return scale(x) + combine(x, 1, 2, m=7, z=2), combine(*(x, 1), **{"m": 0})


def twice(f, v):
    return f(f(v))


def passed_on(x):
    step = 0.5
    return twice(lambda v: v + step, x), [g(2) for g in [lambda a, k=k: a * k for k in range(3)]]


def newton(x):
    def f(v):
        return v * v - x

    def derivative(v):
        return 2 * v

    v = x
    for _ in range(20):
        v = v - f(v) / derivative(v)
    return v


def elementwise_helper(x):
    def clamp(v, low=0.0):
        if v < low:
            return low
        return v

    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = clamp(x[i]) + clamp(x[i], -1.0)
    return out


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def static_recursion(x):
    return x * factorial(5)


def read_later(x):
    def total():
        return s

    s = 0.0
    for v in x:
        s += v
    return total()


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (closures, X),
        (passed_on, X),
        (newton, X + 1),
        (newton, 2.0),
        (elementwise_helper, Y),
        (static_recursion, X),
        (read_later, X),
    ],
    ids=lambda p: getattr(p, "__name__", None),
)
def test_functions_inside(function, argument, target):
    agrees(function, argument, target=target)


# ---- targets and expressions ------------------------------------------------------------------------


def unpacking(x):
    a = b = x + 1
    (c, d), *e, f = (a, b), x, 2, x * 3
    first, *middle, last = x
    g, (h, *i) = 1, (2, 3)
    return a is b, c + d, e, f, first, middle, last, g, h, i, [*e, *(1, 2)]


def walrus(x):
    if (n := len(x)) > 3:
        return x * n, n
    return x, n


def walrus_loop():
    k = 0
    while (k := k + 3) < 10:
        pass
    return k


def builtins_of(a, b, x):
    return (
        min(a, b), max([a, b, 3.0]), min(v for v in (3, 1, 2)), pow(a, 2), divmod(a, b), round(a),
        isinstance(x, np.ndarray), isinstance(a, float | int), type((1, 2)) is tuple, hasattr(x, "shape"),
        getattr(x, "nothing", 7), sorted({"b": 1, "a": 2}.items()), sorted([3, 1, 2], reverse=True), callable(len),
        f"{3:>5}|{'a'!r}|{2.5:.2f}", abs(a), len([a, b]), tuple([1, a]), dict(k=a)["k"], "b" in {"b": 1},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (unpacking, (X,)),
        (walrus, (X,)),
        (walrus, (X[:2],)),
        (walrus_loop, ()),
        (builtins_of, (2.5, -1.5, Y)),
        (builtins_of, (-0.5, 3.25, Y)),
    ],
    ids=lambda p: getattr(p, "__name__", None),
)
def test_expressions(function, arguments):
    agrees(function, *arguments)


def rounded(x):
    return round(x)


@pytest.mark.parametrize("value", [0.5, 1.5, -2.5, 1e15 + 0.5, -0.2])
def test_round(value):
    agrees(rounded, value)


def test_round_of_what_is_no_integer():
    for value, error in [(float("nan"), ValueError), (float("inf"), OverflowError)]:
        with pytest.raises(error):
            rounded(value)
        with pytest.raises(error):
            nt.jit(rounded)(value)


# ---- compile-time arguments -------------------------------------------------------------------------

GAIN = 2.0


def with_gain(x):
    return x * GAIN


def made(step):
    def inner(x):
        return x + step

    return inner


def power(x, n, mode="up"):
    for _ in range(n):
        x = x * 2 if mode == "up" else x / 2
    return x


def test_globals_and_closures_are_guarded(monkeypatch):
    jitted = nt.jit(with_gain)
    np.testing.assert_array_equal(jitted(X), X * 2)
    monkeypatch.setitem(with_gain.__globals__, "GAIN", 5.0)
    np.testing.assert_array_equal(jitted(X), X * 5)
    for step in (1, 2.5):
        np.testing.assert_array_equal(nt.jit(made(step))(X), X + step)


def test_static_arguments():
    by_number, by_name = nt.jit(power, static_argnums=(1, 2)), nt.jit(power, static_argnames=["n", "mode"])
    for n, mode in itertools.product((0, 3), ("up", "down")):
        for jitted in (by_number, by_name):
            np.testing.assert_array_equal(jitted(X, n, mode), power(X, n, mode))
    assert by_number.cache_info()["compiled"] == 4


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("math.sqrt(-1)", ValueError),
        ("math.exp(1000)", OverflowError),
        ("int('a')", ValueError),
        ("'abc'[9]", IndexError),
        ("max()", TypeError),
        ("max([])", ValueError),
        ("x[::0]", ValueError),
        ("[k for k in range(0, 3, 0)]", ValueError),
    ],
)
def test_what_python_raises_for_constants(text, kind, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(f"import math\n\ndef f(x):\n    return {text}\n")
    function = runpy.run_path(str(path))["f"]
    with pytest.raises(kind):
        function(np.ones(2))
    with pytest.raises(nt.NestorError, match=r"program.py:4") as caught:
        nt.jit(function)(np.ones(2))
    assert isinstance(caught.value, kind)


def growing_halves(a, n):
    i = n
    i += i >> 1
    i -= i // 3
    i += i >> 1
    i -= i // 3
    i += i >> 1
    i -= i // 3
    i += i >> 1
    i -= i // 3
    i += i >> 1
    i -= i // 3
    i += i >> 1
    i -= i // 3
    i += i >> 1
    i -= i // 3
    i += i >> 1
    i -= i // 3
    i += i >> 1
    i -= i // 3
    i += i >> 1
    i -= i // 3
    i += i >> 1
    i -= i // 3
    i += i >> 1
    i -= i // 3
    a[i % 3] = i
    return i


def test_quotients_of_quotients_are_not_written_out():
    """Each step names its number twice: the expression of the last would have 2^24 terms."""
    agrees(growing_halves, np.zeros(3), 7)
    agrees(growing_halves, np.zeros(3), -7)
