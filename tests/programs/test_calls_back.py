"""What NumPy runs for compiled code: sorting, searching, counting, order statistics, linear algebra."""

import traceback

import nestor as nt
import numpy as np
import pytest
from agreement import agrees, same

pytestmark = pytest.mark.one_of(2)

RNG = np.random.default_rng(11)
TARGETS = ("cpu", "interp")


def sorts(x):
    y = np.sort(x + x)
    return y, np.sort(x, axis=0), np.sort(x, axis=None, kind="stable"), y[::2] + 1


def argsorts(x):
    return np.argsort(x, kind="stable"), x.argsort(0, stable=True), np.argsort(x, axis=None, kind="stable")


def partitions(x):
    return (
        np.partition(x, 1),
        np.sort(x[:, np.argpartition(x[0], 2)[:2]], axis=1),
        np.partition(x, (0, -1), axis=0),
    )


def lexsorts(x):
    return np.lexsort((x[0], x[1])), np.lexsort(x), np.lexsort([x, x], axis=0)


def searches(x):
    edges = np.sort(x[0])
    found = np.searchsorted(edges, x), np.searchsorted(edges, 0.5, side="right"), edges.searchsorted([1, 2])
    order = np.argsort(x[0])
    return (
        found,
        np.searchsorted(x[0], x[1], sorter=order),
        np.digitize(x, edges, right=True),
        np.digitize(1, edges),
    )


def interpolates(x):
    xp = np.sort(x[0])
    return (
        np.interp(x, xp, x[1]),
        np.interp(0.3, xp, x[1], left=-1, right=7.5),
        np.interp(x[1], xp, x[0], period=2),
    )


def histograms(x):
    counts, edges = np.histogram(x)
    some, theirs = np.histogram(x, bins=[-1, 0, 2, 5], density=True)
    weighted = np.histogram(x, 4, range=(0, 3), weights=x)
    return counts, edges, some, theirs, weighted, np.histogram_bin_edges(x, 3)


def histograms_2d(x):
    table, first, second = np.histogram2d(x[0], x[1], bins=(2, [-1, 0, 2, 5]))
    # NumPy's table is a window of a larger one
    return table + 0, first, second, np.histogram2d(x[0], x[1], 3, density=True, weights=x[1])[0]


def histograms_of_points(x):
    table, edges = np.histogramdd(x[:, :3], bins=(2, 3, 4), weights=x[:, 0])
    return table + 0, edges, np.histogramdd(x[:, :2], 3, range=[(0, 2), (0, 3)], density=True)[1], np.i0(x)


def medians(x):
    return np.median(x), np.median(x, axis=0), np.median(x, axis=(0, 1), keepdims=True), np.nanmedian(x, 1)


def quantiles(x):
    return (
        np.quantile(x, 0.25),
        np.percentile(x, [10, 50, 90], axis=1),
        np.quantile(x, (0.1, 0.2), axis=0, keepdims=True, method="nearest"),
        np.nanpercentile(x, 30, axis=-1),
    )


def arrays(dtype):
    """Layouts of one table, whose elements `dtype` can hold."""
    x = RNG.integers(0, 4, (4, 6)) + (RNG.random((4, 6)) if np.dtype(dtype).kind == "f" else 0)
    x = x.astype(dtype)
    return [x, x.T.copy().T, x[::-1, ::2], x[:, 1:4], np.ascontiguousarray(x)[:3, :3]]


FUNCTIONS = [
    sorts,
    argsorts,
    partitions,
    lexsorts,
    searches,
    histograms,
    histograms_2d,
    histograms_of_points,
    medians,
    quantiles,
]


def of_types():
    """Every type on the CPU; one in the interpreter, which calls the same functions: its others are slow tests."""
    for dtype in ("float64", "float32", "int64", "int16", "uint8"):
        yield pytest.param(dtype, "cpu")
        yield pytest.param(dtype, "interp", marks=[] if dtype == "int16" else [pytest.mark.slow])


@pytest.mark.parametrize(("dtype", "target"), list(of_types()))
@pytest.mark.parametrize("function", [*FUNCTIONS, interpolates], ids=lambda f: f.__name__)
def test_agrees(function, dtype, target):
    for x in arrays(dtype)[:: 1 if dtype == "float64" and target == "cpu" else 3]:
        agrees(function, x, target=target)


def of_little(x):
    return np.sort(x), np.argsort(x, axis=None), np.searchsorted(x.ravel(), 1)


@pytest.mark.parametrize("x", [np.zeros((0,)), np.zeros((3, 0)), np.ones(1), np.array([True, False, True])])
def test_little_arrays(x):
    agrees(of_little, x)


def of_rank_0(x):
    return (
        np.sort(x, axis=None),
        np.median(x),
        np.searchsorted(np.arange(3.0), x),
        np.interp(x, [0.0, 1], [2.0, 3]),
    )


def test_rank_0():
    agrees(of_rank_0, np.array(0.5))


def half(x):
    return np.sort(x), np.median(x), np.argsort(x)


def test_half_precision():
    agrees(half, RNG.random(9).astype(np.float16))


def of_selected(x):
    positive = x > 1
    few = x[positive]
    some = np.median(x[positive]), np.percentile(few, [20, 80]), np.quantile(x[x > 2], 0.5)
    return (
        some,
        np.histogram(few, bins=[0, 1, 2, 9])[0],
        np.median(x[x[:, 0] < 2], axis=0),
        np.histogram(few, 3),
    )


def counts_of_selected(k, w):
    some = w > 0.5
    out = np.zeros(len(k))
    for i in range(len(k)):
        out[i] = np.median(w[k <= k[i]])
    return np.bincount(k[some], minlength=5), np.bincount(k[some], w[some], 5), out


@pytest.mark.parametrize("target", TARGETS)
def test_what_masks_select(target):
    agrees(of_selected, RNG.random((5, 4)) * 3, target=target)
    agrees(counts_of_selected, RNG.integers(0, 5, 9), RNG.random(9), target=target)


def sort_of_selected(x):
    return np.sort(x[x > 0])


@pytest.mark.parametrize("target", TARGETS)
def test_what_depends_on_how_much_a_mask_selects(target):
    agrees(sort_of_selected, RNG.standard_normal(9), target=target)


# ---- in place, in loops ------------------------------------------------------------------------------


def in_place(a):
    view = a[::-1, 1:]
    view.sort(axis=0)
    a[0].sort()
    a.partition(2)
    return view


def in_rows(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        a[i].sort()
        out[i] = np.searchsorted(a[i], 0.5) + np.median(a[i, ::2])
    return out


def in_a_recurrence(a, n):
    for _ in range(n):
        a = np.sort(a, axis=0) * 0.5 + a[::-1]
        if a.sum() > 3:
            a = a - np.quantile(a, 0.75, axis=0)
    return a


@pytest.mark.parametrize("target", TARGETS)
def test_in_place_and_in_loops(target):
    for x in (RNG.random((5, 6)), RNG.random((5, 12))[:, ::2], np.asfortranarray(RNG.random((5, 6)))):
        agrees(in_place, x, target=target)
        agrees(in_rows, x, target=target)
        agrees(in_a_recurrence, x[:5, :6].copy(), 5, target=target)


def test_shapes_that_are_not_known():
    f = nt.jit(searches, dynamic=True)
    for x in (RNG.random((4, 6)), RNG.random((7, 3))):
        same(f(x), searches(x))
    assert f.cache_info()["compiled"] == 1


def overlapping(a, b):
    b.sort()
    return np.sort(a)


def test_overlapping_arguments():
    for f in (overlapping, nt.jit(overlapping)):
        x = np.array([5.0, 4, 3, 2, 1])
        assert list(f(x[:4], x[1:])) == [1, 2, 3, 5]


def puts(a):
    np.put(a, [0, -1, 3], [7, 8])
    view = a[1:, ::2]
    view.put(np.array([1, 0]), 5)
    np.put(a, 99, -3, mode="wrap")
    return view.sum()


def puts_outside(a):
    np.put(a, 99, 1)


@pytest.mark.parametrize("target", TARGETS)
def test_put(target):
    for x in (np.zeros((4, 5)), np.zeros((4, 5), np.int8).T, np.zeros((8, 10))[::-2, ::2]):
        agrees(puts, x, target=target)
    with pytest.raises(IndexError, match="index 99 is out of bounds"):
        nt.jit(puts_outside, target=target)(np.zeros(3))


# ---- counts -----------------------------------------------------------------------------------------


def bincounts(x, w):
    return np.bincount(x, minlength=7), np.bincount(x, w, minlength=len(w))


@pytest.mark.parametrize("target", TARGETS)
def test_bincount(target):
    agrees(bincounts, RNG.integers(0, 7, 20), RNG.random(20), target=target)


def test_bincount_of_what_does_not_fit():
    f = nt.jit(bincounts)
    x = np.arange(7)
    f(x, np.ones(7))
    with pytest.raises(ValueError, match="element 9 with minlength=7"):
        f(x + 3, np.ones(7))
    with pytest.raises(ValueError, match="negative"):
        f(x - 1, np.ones(7))
    with pytest.raises(nt.UnsupportedError, match="bincount without minlength"):
        nt.jit(without_minlength)(x)


def without_minlength(x):
    return np.bincount(x)


# ---- linear algebra ---------------------------------------------------------------------------------


def equations(a, b):
    return np.linalg.solve(a, b), np.linalg.solve(a, b[:, 0]), np.linalg.inv(a), np.linalg.det(a)


def logarithms(a, b):
    parts = np.linalg.slogdet(a)
    return parts, parts.sign * 2, parts[1]


def symmetric(a, b):
    s = a @ np.swapaxes(a, -1, -2) + 4 * np.eye(4)
    return (
        np.linalg.cholesky(s),
        np.linalg.eigvalsh(s),
        np.linalg.eigh(s).eigenvalues,
        np.linalg.cholesky(s, upper=True),
    )


def decompositions(a, b):
    q, r = np.linalg.qr(b)
    u, s, v = np.linalg.svd(b, full_matrices=False)
    return (
        np.abs(q @ r),
        (u * s) @ v,
        np.linalg.svd(b, compute_uv=False),
        np.linalg.svdvals(b),
        np.linalg.qr(b, "r"),
    )


def whole_decompositions(a, b):
    u, s, v = np.linalg.svd(b)
    q, r = np.linalg.qr(b, mode="complete")
    return u.shape, v, s, q @ r, np.linalg.matrix_rank(b), np.linalg.pinv(b), np.linalg.cond(a)


def least_squares(a, b):
    x, residuals, rank, s = np.linalg.lstsq(b, a[:, :2])
    return (
        x,
        residuals,
        rank,
        s,
        np.linalg.lstsq(a, b)[1],
        np.linalg.matrix_power(a, 3),
        np.linalg.matrix_power(a, -1),
    )


LINEAR = [equations, logarithms, symmetric, decompositions, whole_decompositions, least_squares]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("function", LINEAR, ids=lambda f: f.__name__)
def test_linear_algebra(function, dtype, target):
    a = (RNG.integers(-2, 3, (4, 4)) + 6 * np.eye(4)).astype(dtype)
    b = RNG.integers(1, 9, (4, 3)).astype(dtype)
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    agrees(function, a, b, target=target, tolerance=tolerance)
    agrees(function, a.T, b[::-1], target=target, tolerance=tolerance)


def stacks(a, b):
    values, vectors = np.linalg.eigh(a @ np.swapaxes(a, 1, 2))
    solved = np.linalg.solve(a, b), np.linalg.inv(a), np.linalg.det(a), np.linalg.slogdet(a)[1]
    return solved, values, np.abs(vectors), np.linalg.matrix_rank(a), np.linalg.svdvals(b), np.linalg.pinv(b)


def tensors(a, b):
    inverse = np.linalg.tensorinv(a.reshape(2, 3, 6))
    turned = np.linalg.tensorsolve(a.reshape(3, 2, 2, 3), b.reshape(2, 3), axes=(0, 2))
    return inverse, turned, np.linalg.tensorsolve(a.reshape(2, 3, 2, 3), b.reshape(2, 3))


def test_tensors_as_matrices():
    agrees(tensors, RNG.random((6, 6)) + 3 * np.eye(6), RNG.random(6), tolerance=1e-8)


def test_stacks_of_matrices():
    a = RNG.random((5, 3, 3)) + 2 * np.eye(3)
    agrees(stacks, a, RNG.random((5, 3, 2)), tolerance=1e-8)
    agrees(stacks, a, RNG.random((1, 3, 2)), tolerance=1e-8)


def newton(a, x, n):
    for _ in range(n):
        x = x - np.linalg.solve(a + np.diag(x), a @ x + x * x / 2 - 1)
    return x


def test_in_a_loop():
    agrees(newton, RNG.random((4, 4)) + 4 * np.eye(4), np.ones(4), 20, tolerance=1e-9)


# ---- errors -----------------------------------------------------------------------------------------


def inverse(a):
    b = a + 1
    return np.linalg.inv(b)


def unused_inverse(a):
    np.linalg.inv(a)
    return a


def residuals(a, b):
    return np.linalg.lstsq(a, b)[1]


def solution(a, b):
    return np.linalg.lstsq(a, b)[0]


@pytest.mark.parametrize("target", TARGETS)
def test_errors_of_numpy_are_raised_at_the_line(target):
    f = nt.jit(inverse, target=target)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix") as info:
        f(-np.ones((2, 2)))
    lines = [entry.line for entry in traceback.extract_tb(info.tb) if entry.filename == __file__]
    assert "return np.linalg.inv(b)" in lines
    np.testing.assert_allclose(f(np.eye(2)), inverse(np.eye(2)))
    with pytest.raises(np.linalg.LinAlgError):
        nt.jit(unused_inverse, target=target)(np.zeros((2, 2)))


def test_residuals_of_a_deficient_matrix():
    a, b = np.ones((4, 2)), np.arange(4.0)
    with pytest.raises(np.linalg.LinAlgError, match="rank 1 < 2"):
        nt.jit(residuals)(a, b)
    agrees(solution, a, b, tolerance=1e-12)


def not_square(a):
    return np.linalg.inv(a)


def eigen(a):
    return np.linalg.eig(a)


def automatic_bins(a):
    return np.histogram(a, bins="auto")


def data_dependent_kth(a, n):
    return np.partition(a, a[0])


@pytest.mark.parametrize(
    ("function", "arguments", "error", "message"),
    [
        (not_square, (np.ones((2, 3)),), np.linalg.LinAlgError, "must be square"),
        (not_square, (np.ones(3),), np.linalg.LinAlgError, "1-dimensional array given"),
        (not_square, (np.ones((2, 2), np.float16),), TypeError, "float16 is unsupported"),
        (eigen, (np.ones((2, 2)),), nt.UnsupportedError, "complex depends on the elements"),
        (automatic_bins, (np.ones(4),), nt.UnsupportedError, "depends on the elements"),
        (data_dependent_kth, (np.ones(4, int), 3), nt.UnsupportedError, "must be known at compile time"),
    ],
)
def test_refusals(function, arguments, error, message):
    with pytest.raises(error, match=message):
        nt.jit(function)(*arguments)


def test_what_is_said_about_calls():
    f = nt.jit(inverse)
    f(np.eye(2))
    assert "call to numpy.linalg.inv" in f.explain(np.eye(2))
    with pytest.raises(nt.UnsupportedError, match=r"strict: call to numpy\.linalg\.inv"):
        nt.jit(inverse, strict=True)(np.eye(2))


def test_strict_is_about_python_and_fast_about_speed():
    def running(x):
        for i in range(1, len(x)):
            x[i] = 0.5 * x[i - 1] + x[i] ** x[i - 1]
        return x

    agrees(running, np.ones(9), strict=True)
    with pytest.raises(nt.UnsupportedError, match="strict: the loop"):
        nt.jit(running, strict="fast")(np.ones(9))
    with pytest.raises(nt.NestorError, match="strict='slow'"):
        nt.jit(running, strict="slow")
    with pytest.raises(nt.NestorError, match=r"calls Python: numpy\.linalg\.inv, which a GPU cannot"):
        nt.jit(inverse, target="cuda-sim")(np.eye(2))


def sorted_views(m):
    return np.sort(m.T), np.sort(m.T, axis=0), np.partition(m.T[::2], 1), np.argsort(m.T)


def test_results_lie_in_memory_as_the_views_they_are_of():
    m = np.random.default_rng(0).normal(size=(3, 4))
    for one in (m, np.asfortranarray(m), m[:, ::2]):
        for got, want in zip(nt.jit(sorted_views)(one), sorted_views(one), strict=True):
            np.testing.assert_array_equal(got, want)
            assert got.strides == want.strides
