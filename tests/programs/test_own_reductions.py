"""nt.reduce: reductions by functions of the user's, of one to four numbers, on each target, and their derivatives."""

from __future__ import annotations

import differences
import nestor as nt
import numpy as np
import pytest
from layouts import laid_out
from nestor.frontend.interface.errors import DTypeError, ShapeError, UnsupportedError

pytestmark = pytest.mark.one_of(3)

# ---- the functions --------------------------------------------------------------------------------------


def add(a, b):
    return a + b


def larger(a, b):
    if a > b or a != a:
        return a
    return b


def extremes(a, b):
    return np.minimum(a[0], b[0]), np.maximum(a[1], b[1])


def first_smallest(a, b):
    if a[0] < b[0]:
        return a
    if b[0] < a[0]:
        return b
    return a if a[1] <= b[1] else b


def sums(a, b):
    return a[0] + b[0], a[1] + b[1]


def exponentials(a, b):
    """The maximum, and the sum of exponentials relative to it."""
    m = max(a[0], b[0])
    return m, a[1] * np.exp(a[0] - m) + b[1] * np.exp(b[0] - m)


def moments(a, b):
    """The count, the mean, and the sum of squared differences from it."""
    count = a[0] + b[0]
    divisor = count if count > 0 else count + 1
    difference = b[1] - a[1]
    share = b[0] / divisor
    return count, a[1] + difference * share, a[2] + b[2] + difference * difference * a[0] * share


def matrices(a, b):
    """Products of matrices of two rows and columns: their order matters."""
    return (
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
    )


def of_exponentials(x, axis, keepdims):
    both = nt.reduce(exponentials, (x, x * 0 + 1), identity=(-1e30, 0.0), axis=axis, keepdims=keepdims)
    return both[0] + np.log(both[1])


def of_moments(x, axis, keepdims):
    parts = nt.reduce(moments, (x * 0 + 1, x, x * 0), identity=(0.0, 0.0, 0.0), axis=axis, keepdims=keepdims)
    return parts[1], parts[2] / parts[0]


def of_places(x, axis, keepdims):
    index = np.arange(x.size).reshape(x.shape)
    return nt.reduce(first_smallest, (x, index), identity=(np.inf, 1 << 60), axis=axis, keepdims=keepdims)


def smallest_and_place(x, axis, keepdims):
    index = np.broadcast_to(np.arange(x.size).reshape(x.shape), x.shape)
    least = x.min(axis=axis, keepdims=True, initial=np.inf)
    at = np.where(x == least, index, 1 << 60).min(axis=axis, keepdims=keepdims, initial=1 << 60)
    return x.min(axis=axis, keepdims=keepdims, initial=np.inf), at


def log_of_sum(x, axis, keepdims):
    wide = np.exp(x.astype(np.longdouble)).sum(axis=axis, keepdims=keepdims)
    return np.log(wide).astype(x.dtype)


def mean_and_variance(x, axis, keepdims):
    """As NumPy's, but for the mean of no elements: the identity, 0."""
    count = np.ones_like(x).sum(axis=axis, keepdims=True)
    mean = x.sum(axis=axis, keepdims=True) / np.maximum(count, 1)
    squares = ((x - mean) ** 2).sum(axis=axis, keepdims=True)
    dropped = tuple(range(x.ndim)) if axis is None else axis
    both = (mean, (squares / count).astype(x.dtype))
    return both if keepdims else tuple(np.squeeze(one, dropped)[()] for one in both)


CASES = {
    "add": (
        lambda x, axis, keepdims: nt.reduce(add, x, identity=0.0, axis=axis, keepdims=keepdims),
        lambda x, axis, keepdims: x.sum(axis=axis, keepdims=keepdims),
    ),
    "larger": (
        lambda x, axis, keepdims: nt.reduce(larger, x, identity=-np.inf, axis=axis, keepdims=keepdims),
        lambda x, axis, keepdims: x.max(axis=axis, keepdims=keepdims, initial=-np.inf),
    ),
    "extremes": (
        lambda x, axis, keepdims: nt.reduce(
            extremes, (x, x), identity=(np.inf, -np.inf), axis=axis, keepdims=keepdims
        ),
        lambda x, axis, keepdims: (
            x.min(axis=axis, keepdims=keepdims, initial=np.inf),
            x.max(axis=axis, keepdims=keepdims, initial=-np.inf),
        ),
    ),
    "sums": (
        lambda x, axis, keepdims: nt.reduce(
            sums, (x, x * x), identity=(0.0, 0.0), axis=axis, keepdims=keepdims
        ),
        lambda x, axis, keepdims: (
            x.sum(axis=axis, keepdims=keepdims),
            (x * x).sum(axis=axis, keepdims=keepdims),
        ),
    ),
    "smallest and place": (of_places, smallest_and_place),
    "logarithm of a sum": (of_exponentials, log_of_sum),
    "moments": (of_moments, mean_and_variance),
}
WITH_SPECIALS = ("add", "larger", "extremes", "sums")
SHAPES = [(), (1,), (7,), (33,), (3, 1), (1, 9), (5, 33), (2, 3, 4), (4, 130), (2, 0), (0,), (17, 3), (300,)]


def check(seed: int, targets: list[str]) -> None:
    """A random reduction of random arrays, three times by the same compiled functions."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(CASES)))
    function, oracle = CASES[name]
    rank_shape = SHAPES[rng.integers(0, len(SHAPES))]
    axes = [None, *range(-len(rank_shape), len(rank_shape))]
    if len(rank_shape) > 1:
        axes += [(0, -1), ()]
    axis = axes[rng.integers(0, len(axes))]
    keepdims = bool(rng.integers(0, 2))
    dtype = np.dtype(rng.choice(["f4", "f8"]))
    compiled = [
        nt.jit(lambda x: function(x, axis, keepdims), target=t, dynamic=bool(rng.integers(0, 2)))
        for t in targets
    ]
    for turn in range(3):
        shape = tuple(e + turn if e > 1 else e for e in rank_shape)
        x = laid_out(rng, array_of(rng, shape, dtype, name in WITH_SPECIALS))
        with np.errstate(all="ignore"):
            wanted = oracle(x, axis, keepdims)
        for one, target in zip(compiled, targets, strict=True):
            label = f"{name} {target} {axis=} {keepdims=} {x.shape} {x.strides} {dtype}"
            with np.errstate(all="ignore"):
                found = one(x)
            same(found, wanted, label, dtype, x)


def same(found, wanted, label: str, dtype: np.dtype, x: np.ndarray) -> None:
    several = isinstance(wanted, tuple)
    assert isinstance(found, tuple) == several
    rtol = 2e-5 if dtype.itemsize == 4 else 1e-12
    known = x[np.isfinite(x)]
    scale = max(1.0, float(np.abs(known).sum()) if known.size else 1.0)
    for a, b in zip(found if several else (found,), wanted if several else (wanted,), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b), label
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale, err_msg=label)


def array_of(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, specials: bool) -> np.ndarray:
    """Few different numbers, so that there are ties, or many; sometimes NaN and infinities among them."""
    x = rng.integers(-3, 4, shape) if rng.random() < 0.5 else rng.normal(size=shape)
    x = np.asarray(x, dtype)
    if specials and rng.random() < 0.4:
        chosen = rng.choice(np.array([np.nan, np.inf, -np.inf, -0.0], dtype)[rng.integers(0, 3) :], shape)
        x = np.where(rng.random(shape) < 0.2, chosen, x)
    return x


@pytest.mark.parametrize("seed", range(20))
def test_random_reductions(seed):
    check(seed, ["cpu"])


@pytest.mark.parametrize("seed", range(100, 106))
def test_random_reductions_on_each_target(seed):
    check(seed, ["interp", "cuda-sim"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1340))
def test_many_random_reductions(seed):
    check(seed, ["cpu", "interp", "cuda-sim"])


@pytest.mark.parametrize("name", list(CASES))
def test_python_gives_the_same(name):
    function, oracle = CASES[name]
    x = np.random.default_rng(5).normal(size=(3, 4))
    same(function(x, 1, True), oracle(x, 1, True), name, x.dtype, x)


# ---- kinds of numbers, orders, places --------------------------------------------------------------------


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
@pytest.mark.parametrize(
    ("function", "dtype", "identity"),
    [
        (lambda a, b: a and b, "?", True),
        (lambda a, b: a ^ b, "u1", 0),
        (lambda a, b: a * b, "i4", 1),
        (lambda a, b: a * b, "c16", 1),
        (lambda a, b: a + b, "f2", 0),
        (lambda a, b: np.logaddexp(a, b), "f8", -np.inf),
        (np.hypot, "f8", 0),
        (max, "i8", -(1 << 63)),
    ],
)
def test_kinds_of_numbers(function, dtype, identity, target):
    rng = np.random.default_rng(1)
    x = (rng.integers(0, 3, (4, 37)) + (0.5 if dtype in ("f8", "c16") else 0)).astype(dtype)
    compiled = nt.jit(lambda x: nt.reduce(function, x, identity=identity, axis=1), target=target)
    with np.errstate(all="ignore"):
        wanted = nt.reduce(function, x, identity=identity, axis=1)
        found = compiled(x)
    assert found.dtype == wanted.dtype == x.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_a_sequential_order_is_that_of_the_elements(target):
    x = np.random.default_rng(2).normal(size=(5, 40))

    def product(x):
        parts = (np.cos(x), np.sin(x), x, x * x)
        start = (1.0, 0.0, 0.0, 1.0)
        return nt.reduce(matrices, parts, identity=start, axis=1, order="sequential")

    wanted = np.stack([np.linalg.multi_dot([np.array(m) for m in matrices_of(row)]) for row in x])
    found = np.stack(nt.jit(product, target=target)(x), axis=-1).reshape(5, 2, 2)
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


def matrices_of(row):
    return [[[np.cos(v), np.sin(v)], [v, v * v]] for v in row]


def test_a_fold_that_is_not_associative_runs_in_order():
    fold = nt.jit(lambda x: nt.reduce(lambda a, b: a * 3 + b, x, identity=1, order="sequential"))
    x = np.arange(12)
    wanted = 1
    for v in x:
        wanted = wanted * 3 + v
    assert fold(x) == wanted


@pytest.mark.parametrize("axis", [None, (), 0])
def test_an_identity_that_is_not_neutral_takes_part_in_order(axis):
    x = np.float64(2.0)
    fold = nt.jit(lambda x: nt.reduce(lambda a, b: a * 3 + b, x, identity=1.0, axis=axis, order="sequential"))
    assert fold(x) == nt.reduce(lambda a, b: a * 3 + b, x, identity=1.0, axis=axis, order="sequential") == 5.0


def test_in_loops_over_elements():
    @nt.jit
    def rows(x):
        y = np.zeros((len(x), 2))
        for i in range(len(x)):
            least, most = nt.reduce(extremes, (x[i], x[i]), identity=(np.inf, -np.inf))
            y[i, 0] = least
            y[i, 1] = most
        return y

    for shape in ((3, 5), (2, 1), (4, 33)):
        x = np.random.default_rng(3).normal(size=shape)
        np.testing.assert_array_equal(rows(x), np.stack([x.min(1), x.max(1)], 1))


def test_in_loops_what_is_not_over_all_axes_is_done_on_whole_arrays():
    @nt.jit
    def kept(x):
        y = np.zeros((len(x), 1))
        for i in range(len(x)):
            y[i] = nt.reduce(add, x[i], identity=0.0, axis=0, keepdims=True)
        return y

    @nt.jit
    def of_no_axis(x):
        y = np.zeros(x.shape)
        for i in range(len(x)):
            y[i] = nt.reduce(add, x[i], identity=0.0, axis=())
        return y

    x = np.random.default_rng(3).normal(size=(3, 4))
    np.testing.assert_allclose(kept(x), x.sum(1, keepdims=True), rtol=1e-12)
    np.testing.assert_array_equal(of_no_axis(x), x)


def test_mapped_and_traced():
    x = np.random.default_rng(4).normal(size=(3, 4, 6))
    function = lambda x: of_moments(x, 0, False)[1]  # noqa: E731
    np.testing.assert_allclose(nt.vmap(function)(x), x.var(axis=1), rtol=1e-12)
    traced = nt.trace(lambda x: nt.reduce(add, x, identity=0.0, axis=-1))
    np.testing.assert_allclose(traced(x), x.sum(-1), rtol=1e-12)


def test_operands_are_broadcast():
    x = np.random.default_rng(6).normal(size=(3, 5))
    weighted = nt.jit(lambda x, w: nt.reduce(sums, (x * w, w), identity=(0.0, 0.0), axis=1))
    total, weight = weighted(x, np.arange(5.0))
    np.testing.assert_allclose(total, (x * np.arange(5.0)).sum(1), rtol=1e-12)
    np.testing.assert_array_equal(weight, 10.0)  # the tuple has one shape: that of x * w


# ---- derivatives ----------------------------------------------------------------------------------------


def product_of_matrices(x):
    parts = (np.cos(x), np.sin(x), x, x * x)
    p = nt.reduce(matrices, parts, identity=(1.0, 0.0, 0.0, 1.0), axis=-1, order="sequential")
    return p[0] + 2 * p[1] + 3 * p[2] * p[3]


def in_a_loop(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = nt.reduce(lambda a, b: a * b + 1.0, x[i], identity=1.0, order="sequential")
    return y


def of_complex(x):
    return abs(nt.reduce(lambda a, b: a * b, x + 1j * np.sin(x), identity=1.0, axis=0))


DIFFERENTIATED = {
    "moments": lambda x: of_moments(x, 1, False)[1],
    "logarithm of a sum": lambda x: of_exponentials(x, 0, True),
    "matrices": product_of_matrices,
    "larger": lambda x: nt.reduce(larger, x, identity=-np.inf, axis=1),
    "in a loop": in_a_loop,
    "complex": of_complex,
}


@pytest.mark.parametrize("shape", [(3, 5), (1, 1)])
@pytest.mark.parametrize("name", list(DIFFERENTIATED))
def test_derivatives(name, shape):
    function = DIFFERENTIATED[name]
    rng = np.random.default_rng(7)
    x, tangent = rng.normal(size=shape), rng.normal(size=shape)

    def loss(x):
        y = function(x)
        return (y * np.arange(1, 1 + y.size).reshape(y.shape)).sum()

    plain = nt.jit(loss)
    gradient = nt.grad(loss)
    slope = differences.gradient(plain, x)
    np.testing.assert_allclose(gradient(x), slope, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        nt.jvp(loss, (x,), (tangent,))[1], (slope * tangent).sum(), rtol=1e-4, atol=1e-6
    )
    second = nt.grad(lambda x: (gradient(x) ** 2).sum())(x)
    wanted = differences.gradient(lambda x: (gradient(x) ** 2).sum(), x, 1e-5)
    np.testing.assert_allclose(second, wanted, rtol=1e-3, atol=1e-4)


def test_the_derivative_of_nothing_but_a_reduction():
    x = np.random.default_rng(8).normal(size=7)
    value, gradient = nt.value_and_grad(lambda x: nt.reduce(lambda a, b: a + b, x * x, identity=0.0))(x)
    np.testing.assert_allclose(value, (x * x).sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient, 2 * x, rtol=1e-12)


# ---- refusals -------------------------------------------------------------------------------------------


def raising(a, b):
    if a > 100:
        raise ValueError("too large")
    return a + b


def looping(a, b):
    for i in range(10000):
        a = a + b * i
    return a


REFUSED = [
    (
        lambda x: nt.reduce(lambda a, b: (a, b), x, identity=0.0),
        DTypeError,
        "must return what it gets: a number",
    ),
    (lambda x: nt.reduce(lambda a, b: a[0], (x, x), identity=(0.0, 0.0)), DTypeError, "a tuple of 2 numbers"),
    (lambda x: nt.reduce(lambda a, b: a > b, x, identity=0.0), DTypeError, "returns bool for float64"),
    (lambda x: nt.reduce(lambda a, b: a + b * x[0], x, identity=0.0), UnsupportedError, "uses an array"),
    (lambda x: nt.reduce(add, x, identity=x[0]), UnsupportedError, "identity= is computed by the program"),
    (lambda x: nt.reduce(add, x > 0, identity=2), DTypeError, "2 is no number of dtype bool"),
    (lambda x: nt.reduce(sums, (x, x), identity=0.0), DTypeError, "identity= has 1 numbers, 2 arrays"),
    (lambda x: nt.reduce(add, x, identity=0.0, order="fast"), UnsupportedError, "unknown order 'fast'"),
    (lambda x: nt.reduce(add, x, identity=0.0, axis=1), np.exceptions.AxisError, "axis 1 is out of bounds"),
    (lambda x: nt.reduce(add, "abc", identity=0.0), DTypeError, "nt.reduce of 'abc'"),
    (lambda x: nt.reduce(add, (), identity=()), DTypeError, "an empty tuple"),
    (lambda x: nt.reduce(sums, (x, np.ones((2, 3))), identity=(0.0, 0.0)), ShapeError, "broadcast"),
    (lambda x: nt.reduce(raising, x, identity=0.0), UnsupportedError, "a branch that more than chooses"),
    (
        lambda x: nt.reduce(lambda a, b: nt.stop_gradient(a) + b, x, identity=0.0),
        UnsupportedError,
        "more than compute",
    ),
    (lambda x: nt.reduce(looping, x, identity=0.0), UnsupportedError, "has a loop"),
    (lambda x: nt.reduce(lambda a: a, x, identity=0.0), DTypeError, "too many positional arguments"),
    (lambda x: nt.reduce(add, x), DTypeError, "missing a required argument: 'identity'"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_refused_says_why(number):
    function, error, text = REFUSED[number]
    with pytest.raises(error, match=text):
        nt.jit(function)(np.arange(6.0))


@pytest.mark.parametrize(
    ("x", "identity", "order", "error"),
    [
        (np.ones(3), (0.0, 0.0), "any", DTypeError),
        (np.ones(3), "zero", "any", DTypeError),
        (np.ones(3, "u1"), -1, "any", DTypeError),
        (np.ones(3), 0.0, "fast", UnsupportedError),
        (np.array(["a"]), 0.0, "any", DTypeError),
        ((), 0.0, "any", DTypeError),
    ],
)
def test_python_refuses_the_same(x, identity, order, error):
    with pytest.raises(error):
        nt.reduce(add, x, identity=identity, order=order)
