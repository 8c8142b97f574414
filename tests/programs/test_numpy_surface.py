"""NumPy's functions beyond operators and reductions: each called with typical and odd arguments, compared with NumPy.

A row is an expression in `x`, `y` and `z`; the arguments of a group are those of `ARGUMENTS`, in each of its element
types and layouts. What NumPy itself refuses of an expression is left out for that type.
"""

import linecache

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

pytestmark = pytest.mark.one_of(3)

REALS = np.array([1.2345, -2.5, 3.5, np.nan, np.inf, -np.inf, 1e20, -0.0, 155.5])
VECTOR, THREE = np.array([1.25, -2.5, 3.5, 0.25, 7.0, 100.0, -0.5, 55.5, -9.0]), np.array([1.0, -2.0, 0.5])
POINTS = np.linspace(0, 3, 9) ** 2

LAYOUTS = {
    "f8": lambda x: x,
    "f4": lambda x: x.astype("f4"),
    "i4": lambda x: np.nan_to_num(x, posinf=99, neginf=-99).clip(-1000, 1000).astype("i4"),
    "u1": lambda x: np.abs(np.nan_to_num(x, posinf=99, neginf=-99)).clip(0, 255).astype("u1"),
    "bool": lambda x: x > 0,
    "reversed": lambda x: x[::-1],
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
}

ELEMENTWISE = [
    "np.round(x)",
    "np.round(x, 2)",
    "np.around(x, -1)",
    "x.round(3)",
    "np.round(x, decimals=-2)",
    "np.round(x[0], 2)",
    "np.round(2.567, 1)",
    "round(x[0], 2)",
    "np.fix(x)",
    "np.isposinf(x)",
    "np.isneginf(x)",
    "np.nan_to_num(x)",
    "np.nan_to_num(x, nan=-1.0)",
    "np.nan_to_num(x, posinf=1.0, neginf=2)",
    "np.nan_to_num(x[3])",
    "np.sinc(x)",
    "np.real(x)",
    "np.isreal(x)",
    "np.iscomplex(x)",
    "np.iscomplexobj(x)",
    "np.isrealobj(x)",
    "np.imag(x)",
    "np.angle(x)",
    "np.angle(x, deg=True)",
    "np.real_if_close(x)",
    "np.unwrap(x)",
    "np.unwrap(x, period=4)",
    "np.unwrap(x.reshape(3, 3), axis=0)",
]

COMPARED = [
    "np.isclose(x, x[::-1])",
    "np.isclose(x, 1.2345, equal_nan=True)",
    "np.isclose(x[0], x[1])",
    "np.isclose([1.0, 2.0], [1.0, 2.1])",
    "np.allclose(x, x)",
    "np.allclose(x, x, equal_nan=True)",
    "np.allclose(x, x + 1e-9, rtol=0, atol=1e-3, equal_nan=True)",
    "np.array_equal(x, x)",
    "np.array_equal(x, x[:3])",
    "np.array_equal(x, x, equal_nan=True)",
    "np.array_equiv(x, x[:1])",
    "np.isin(x, [1.2345, 3.5])",
    "np.isin(x, x[:3], invert=True)",
    "np.isin(x.reshape(3, 3).T, 1)",
    "np.isin(x, np.arange(20))",
    "np.isin(x, x[:0])",
    "np.diff(x[:0])",
    "np.diff(x[:1], 2)",
    "np.unwrap(x[:0])",
    "np.add.accumulate(x, axis=None)",
    "x.astype(None)",
]

QUESTIONS = [
    "np.ndim(x)",
    "np.ndim([[1, 2]])",
    "np.shape(x)",
    "np.shape([1, 2])",
    "np.size(x)",
    "np.size(x, 0)",
    "np.isscalar(x[0])",
    "np.isscalar(3)",
    "np.isscalar(x)",
    "np.zeros(2, np.result_type(x, np.float32))",
    "np.zeros(2, np.result_type(x, 3))",
    "np.can_cast(x.dtype, np.float32)",
    "np.can_cast(x, np.float32, 'same_kind')",
    "np.zeros(2, np.promote_types(x.dtype, 'i4'))",
    "np.issubdtype(x.dtype, np.floating)",
    "np.isdtype(x.dtype, 'integral')",
    "np.min_scalar_type(x)",
    "np.min_scalar_type(300)",
    "np.isfortran(x.reshape(3, 3).T)",
    "np.iterable(x)",
    "np.iterable(x[0])",
    "np.broadcast_shapes((2, 1), (3,))",
    "np.broadcast_shapes(x.shape, (2, 1))",
]

CALCULUS = [
    "np.gradient(x)",
    "np.gradient(x, 2.0)",
    "np.gradient(x, z)",
    "np.gradient(x, z, edge_order=2)",
    "np.gradient(x, 0.5, edge_order=2)",
    "np.gradient(x.reshape(3, 3))",
    "np.gradient(x.reshape(3, 3), axis=0)",
    "np.gradient(x.reshape(3, 3), 2.0, [0.0, 1.0, 3.0])",
    "np.trapezoid(x)",
    "np.trapezoid(x, z)",
    "np.trapezoid(x, dx=0.5)",
    "np.trapezoid(x.reshape(3, 3), axis=0)",
    "np.trapezoid(x.reshape(3, 3), y)",
    "np.trapezoid(x[:3], x[:6].reshape(3, 2))",
    "np.trapezoid(x[:3], x.reshape(3, 3), axis=-1)",
    "np.trapezoid(x[:2], x[:4].reshape(2, 2), axis=0)",
    "np.convolve(x, y)",
    "np.convolve(x, y, 'same')",
    "np.convolve(x, y, mode='valid')",
    "np.convolve(y, x, 'same')",
    "np.convolve(x, [1.0, 2.0])",
    "np.convolve(x, np.ones(4) / 4, 'valid')",
    "np.correlate(x, y)",
    "np.correlate(x, y, 'full')",
    "np.correlate(y, x, 'same')",
    "np.cross(x[:3], y)",
    "np.cross(x.reshape(3, 3), y)",
    "np.cross(x.reshape(3, 3), y, axisa=0)",
    "np.linalg.cross(x[:3], y)",
    "np.kron(x, y)",
    "np.kron(x.reshape(3, 3), y)",
    "np.kron(x.reshape(3, 3), np.eye(2))",
    "np.kron(y, 2)",
    "np.cov(x)",
    "np.cov(x.reshape(3, 3))",
    "np.cov(x.reshape(3, 3), rowvar=False)",
    "np.cov(x, z)",
    "np.cov(x.reshape(3, 3), bias=True)",
    "np.cov(x[:8].reshape(2, 4), ddof=0)",
    "np.corrcoef(x, z)",
    "np.corrcoef(x.reshape(3, 3))",
]

POLYNOMIALS = [
    "np.polyval(y, x)",
    "np.polyval([1, 2, 3], x)",
    "np.polyval(y, 2.0)",
    "np.polyval([1, 2], 3)",
    "np.polyadd(x, y)",
    "np.polysub(y, x)",
    "np.polyder(x)",
    "np.polyder(x, 2)",
    "np.polyint(y)",
    "np.polyint(y, 2, k=[1, 2])",
    "np.polyfit(z, x, 2)",
    "np.polyfit(z, x.reshape(9, 1) * y, 1)",
    "np.polyfit(z, x, 1, w=z + 1)",
    "np.vander(y)",
    "np.vander(x, 4)",
    "np.vander(y, 2, increasing=True)",
    "np.vander(y, 1)",
]

TABLES = [
    "np.hanning(5)",
    "np.bartlett(6) * 2",
    "np.blackman(7)",
    "np.hamming(len(x)) * x",
    "np.kaiser(5, 14.0)",
    "np.tril_indices(3)",
    "np.triu_indices(3, 1, 4)",
    "x.reshape(3, 3)[np.triu_indices(3)]",
    "np.tril_indices_from(x.reshape(3, 3), -1)",
    "np.triu_indices_from(x.reshape(3, 3))",
    "np.logspace(0, 2, 5)",
    "np.geomspace(1, 1000, 4)",
    "np.diag_indices(3)",
    "np.diag_indices_from(x.reshape(3, 3))",
    "np.indices((2, 3))",
    "np.indices((2, 3), sparse=True)",
    "np.indices(x.reshape(3, 3).shape)",
    "np.indices((300, 300)).sum()",
    "np.unravel_index(np.argmax(x), (3, 3))",
    "np.unravel_index(7, (3, 3))",
    "np.ravel_multi_index((1, 2), (3, 3))",
    "np.ravel_multi_index((np.argmax(x), 2), (9, 3), order='F')",
    "np.resize(x, (2, 3))",
    "np.resize(y, (2, 4))",
    "np.fft.fftfreq(5)",
]

ORDERED = [
    "np.zeros((2, 3), order='F')",
    "np.ones((2, 3), 'i4', 'F')",
    "np.full((2, 3), 7, order='F') + 0",
    "np.empty((2, 0), order='F')",
    "np.zeros_like(m.T)",
    "np.zeros_like(m.T, order='C')",
    "np.ones_like(m, order='F')",
    "np.full_like(m, 1, order='A')",
    "np.array(m, order='F')",
    "np.array(m.T)",
    "np.array(m.T, order='C')",
    "np.array(m, ndmin=4)",
    "np.array(3.0, ndmin=2)",
    "np.array([1, 2], ndmin=2)",
    "np.asarray(m, order='F')",
    "np.asarray(m.T, order='F')",
    "np.asarray(m, copy=True)",
    "np.asfortranarray(m)",
    "np.asanyarray(m)",
    "np.require(m, requirements=['F'])",
    "np.require(m, 'f4', ['C'])",
    "np.copy(m.T)",
    "np.copy(m.T, order='C')",
    "np.copy([1, 2])",
    "m.T.copy()",
    "m.T.copy(order='F')",
    "m.T.copy('K')",
    "m.T.astype('f4')",
    "m.T.astype('f4', order='C')",
    "m.astype('f8', casting='safe')",
    "m.astype('i1', casting='safe')",
    "np.astype(m, np.float64)",
    "np.array(m[::-1, ::2], order='A')",
    "np.array(m[0, 0])",
    "np.array(m.sum())",
    "m.flatten('F')",
    "m.ravel(order='F')",
    "m.reshape((4, 3), order='F')",
    "np.reshape(m.T, (2, 6), order='F')",
    "m.mT",
    "m.nbytes",
    "m.real",
    "m.conj()",
    "np.conjugate(m)",
]

ASSEMBLED = [
    "np.block([[m, np.ones((3, 1))], [np.zeros((1, 5))]])",
    "np.block([m[0], v])",
    "np.block([1, v[0]])",
    "np.block(m)",
    "np.block([[n, v[:3, None]], [v[:3], 1.0]])",
    "np.block([[m], m])",
    "np.unstack(m)",
    "np.unstack(m, axis=1)",
    "np.row_stack([v, v])",
    "np.cumulative_sum(v)",
    "np.cumulative_sum(v, include_initial=True)",
    "np.cumulative_sum(m)",
    "np.cumulative_prod(m, axis=1)",
    "np.asarray_chkfinite(m)",
]

LINEAR = [
    "np.linalg.multi_dot([n, n, m, v])",
    "np.linalg.multi_dot([n, n, m])",
    "np.linalg.multi_dot([v, m.T, n, n])",
    "np.linalg.multi_dot([v[:3], n, v[:3]])",
    "np.linalg.multi_dot([v])",
    "np.linalg.vector_norm(m)",
    "np.linalg.vector_norm(m, axis=0)",
    "np.linalg.vector_norm(m, axis=1, keepdims=True, ord=1)",
    "np.linalg.vector_norm(m, axis=(0, 1))",
    "np.linalg.vector_norm(m, keepdims=True)",
    "np.linalg.matrix_norm(m)",
    "np.linalg.matrix_norm(m, ord=1)",
    "np.linalg.matmul(m, v)",
    "np.linalg.outer(v, v)",
    "np.linalg.outer(m, v)",
    "np.linalg.tensordot(n, n)",
    "np.linalg.vecdot(m, m)",
    "np.linalg.vecdot(m, m, axis=0)",
    "np.linalg.trace(n)",
    "np.linalg.diagonal(n) + 0",
    "np.linalg.matrix_transpose(m)",
    "np.linalg.norm(m, axis=1)",
    "np.linalg.norm(v, 3)",
    "np.linalg.norm(m, np.inf)",
    "np.linalg.norm(m, 'fro')",
    "np.matvec(m, v)",
    "np.vecmat(v[:3], m)",
    "np.vecdot(m, m)",
    "np.permute_dims(m, (1, 0))",
    "np.concat([m, m], axis=1)",
    "np.matrix_transpose(m)",
]

SUBSCRIPTS = [
    "np.mgrid[0:3, 0:4]",
    "np.mgrid[0:3]",
    "np.mgrid[1:3:0.5, 0:2]",
    "np.mgrid[0:1:5j, 0:2]",
    "np.mgrid[: m.shape[0], : m.shape[1]]",
    "np.mgrid[:300, :300].sum()",
    "np.ogrid[0:3, 0:4]",
    "np.ogrid[:3, :2]",
    "np.r_[v, 0, v]",
    "np.r_[1:4]",
    "np.r_[0, v, 5]",
    "np.r_[m, m]",
    "np.r_[[1, 2], v[:2]]",
    "np.r_[0:1:3j, v]",
    "np.c_[v, v]",
    "np.c_[m, v[:3]]",
    "np.c_[[1, 2, 3], v[:3]]",
]

MATRICES = (np.arange(12.0).reshape(3, 4), np.arange(9.0).reshape(3, 3), np.array([3.0, 1, 2, 4]))

ARGUMENTS = {
    "elementwise": (ELEMENTWISE, (REALS,), "f8 f4 i4 u1 bool strided"),
    "compared": (COMPARED, (REALS,), "f8 i4 bool reversed"),
    "questions": (QUESTIONS, (REALS,), "f8 u1"),
    "calculus": (CALCULUS, (VECTOR, THREE, POINTS), "f8 f4 i4 bool strided"),
    "polynomials": (POLYNOMIALS, (VECTOR, THREE, POINTS), "f8 i4"),
    "tables": (TABLES, (VECTOR, THREE, POINTS), "f8"),
    "ordered": (ORDERED, MATRICES, "f8 bool"),
    "assembled": (ASSEMBLED, MATRICES, "f8 u1"),
    "linear": (LINEAR, MATRICES, "f8 f4 i4"),
    "subscripts": (SUBSCRIPTS, MATRICES, "f4 u1"),
}
"""Group -> its rows, what they are called with (x, y and z, or m, n and v), and in which layouts."""


def cases():
    """Group, layout, rows: all in the first layout, in each of the others every fourth row; the other rows are slow."""
    for group, (rows, _, layouts) in ARGUMENTS.items():
        for k, layout in enumerate(layouts.split()):
            if k == 0:
                yield pytest.param(group, layout, rows, id=f"{group}-{layout}")
                continue
            yield pytest.param(group, layout, rows[k % 4 :: 4], id=f"{group}-{layout}")
            others = [row for j, row in enumerate(rows) if j % 4 != k % 4]
            yield pytest.param(group, layout, others, marks=pytest.mark.slow, id=f"{group}-{layout}-others")


NARROW = {"f4": 1e-4}
"""Sums are in another order than NumPy's: within this, relative; of other types within 1e-12."""


def program(text, names):
    """The function that returns an expression."""
    source = f"def f({', '.join(names)}):\n    return {text}\n"
    file = f"<test {text}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = {"np": np}
    exec(compile(source, file, "exec"), space)
    return space["f"]


def check(text, arguments, tolerance):
    function = program(text, ("mnv" if arguments[0].ndim == 2 else "xyz")[: len(arguments)])
    try:
        with np.errstate(all="ignore"):
            function(*arguments)
    except (TypeError, ValueError, IndexError, OverflowError, np.linalg.LinAlgError):
        with pytest.raises(nt.NestorError):
            nt.jit(function)(*arguments)
        return
    agrees(function, *arguments, tolerance=tolerance)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("group", "layout", "rows"), list(cases()))
def test_functions_of(group, layout, rows):
    arguments = [LAYOUTS[layout](a) for a in ARGUMENTS[group][1]]
    wrong = []
    for text in rows:
        try:
            check(text, arguments, NARROW.get(layout, 1e-12))
        except (nt.NestorError, AssertionError, pytest.fail.Exception) as error:
            wrong.append(f"{text}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def in_place(a, b, v):
    np.fill_diagonal(a, 5)
    np.fill_diagonal(b, v)
    cube, tall, wide = np.zeros((3, 3, 3)), np.zeros((5, 2)), np.zeros((2, 5)).T
    np.fill_diagonal(cube, 1)
    np.fill_diagonal(tall, [1, 2])
    np.fill_diagonal(wide, v[0])
    filled = np.zeros((2, 3))
    filled.fill(v.sum())
    np.place(a, a > 6, 0)
    np.place(a, a < 2, [9])
    return cube, tall, wide, filled


def in_loops(a, n):
    for k in range(n):
        np.fill_diagonal(a, k)
        a[k, 0] = 3
        np.fill_diagonal(a, a[0])
    return a.sum()


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_arrays_are_filled_in_place(target):
    square, oblong = np.arange(16.0).reshape(4, 4), np.arange(12.0).reshape(3, 4)
    agrees(in_place, square, oblong, np.array([9.0, 8, 7]), target=target)
    agrees(in_place, square.T, np.asfortranarray(oblong), np.array([9.0, 8, 7]), target=target)
    agrees(in_loops, square, 3, target=target)


def of_numbers(x, n, v):
    return [(np.imag(k), np.isreal(k)) for k in (n, v, x[0], x)]


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_numbers_are_real(target):
    agrees(of_numbers, np.array([1.5, np.nan], np.float32), 3, np.inf, target=target)
    agrees(of_numbers, np.arange(3, dtype=np.int8), True, 2.5, target=target)


def chosen(x):
    return np.asarray_chkfinite(x) * 2, np.unravel_index(x.astype(int), (3, 3))[1] + 0


def test_checks_raise_when_the_program_runs():
    jitted = agrees(chosen, np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="must not contain infs or NaNs"):
        jitted(np.array([1.0, np.inf]))
    with pytest.raises(ValueError, match="out of bounds for array with size 9"):
        jitted(np.array([1.0, 20.0]))


def among_elements(x, y):
    total = 0.0
    for i in range(len(x)):
        if np.isclose(x[i], y[i]) or np.isposinf(x[i]):
            total += np.round(x[i], 1)
        y[i] = np.nan_to_num(x[i]) + np.sinc(0.5) + np.polyval([1.0, 2.0], i)
    return total


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_definitions_in_loops_over_elements(target):
    x = np.array([1.25, np.nan, 3.0, np.inf])
    agrees(among_elements, x, np.array([1.25, 2.0, 3.1, 4.0]), target=target)


REFUSED = [
    ("np.mgrid[0:]", "a range without an end"),
    ("np.mgrid[x]", "take ranges"),
    ("np.r_['0,2', x]", "a string in np.r_"),
    ("np.cov(x, fweights=[1] * 9)", "with weights is not supported"),
    ("np.polyfit(x, x, 1, full=True)", "with full= or cov="),
    ("np.isin(x, np.arange(1000))", "at most 256"),
    ("np.place(x, x > 1, [1, 2])", "more than one value"),
    ("np.fill_diagonal(x, 1)", "at least 2-d"),
    ("np.polymul(x, x)", "np.polymul is not supported"),
    ("np.round(x, decimals=x)", "must be known at compile time"),
    ("np.round(x, 1.5)", "'float' object cannot be interpreted as an integer"),
    ("np.diff(x, 1.5)", "1.5 cannot be interpreted as an integer"),
    ("np.correlate(x[0], x)", "too small depth"),
    ("np.append(x, None)", "None is not a number"),
    ("np.min_scalar_type(x[0])", "it depends on the number"),
    ("np.eye(-1)", "negative dimensions are not allowed"),
    ("np.tri(3, 3, 'a')", "the diagonal must be an integer, not 'a'"),
    ("[k for k in np.ndindex(-1)]", "negative dimensions are not allowed"),
    ("np.vectorize(np.sin, otypes='zz')(x)", "Invalid otype specified"),
    ("np.add(x, x, casting='any')", "casting must be one of"),
    ("np.add.accumulate(x.reshape(3, 3), axis=None)", "does not allow multiple axes"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused_with_a_caret(text, message):
    with pytest.raises(nt.NestorError, match=message) as caught:
        nt.jit(program(text, "x"))(VECTOR.copy())
    assert "^" in str(caught.value)


@pytest.mark.parametrize("text", ["np.round(x, 2)", "np.convolve(x, y)", "np.gradient(x)", "np.cross(y, y)"])
@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
def test_other_targets(text, target):
    agrees(program(text, "xy"), VECTOR, THREE, tolerance=1e-12, target=target)


@pytest.mark.parametrize(
    "text", ["np.allclose(x, x + 1e-9)", "np.kron(y, x)", "np.nan_to_num(x / 0)", "np.trapezoid(x)"]
)
def test_traced(text):
    with np.errstate(all="ignore"):
        want = program(text, "xy")(VECTOR, THREE)
    np.testing.assert_allclose(nt.trace(program(text, "xy"))(VECTOR, THREE), want)


def rows(a, b, kernel):
    out, total = np.zeros_like(a), 0.0
    for i in range(len(a)):
        out[i] = np.cross(a[i], b[i])
        total += np.gradient(a[i])[0] + np.trapezoid(a[i]) + np.convolve(a[i], kernel).sum()
        if np.array_equal(a[i], a[0]) or np.allclose(b[i], 1.0):
            total += np.round(b[i], 1).sum()
    return out, total


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_definitions_of_rows_in_loops(target):
    rng = np.random.default_rng(3)
    agrees(rows, rng.random((5, 3)), rng.random((5, 3)), rng.random(2), tolerance=1e-12, target=target)


def test_gradient_of_points_at_equal_distances():
    for distance in (0.25, 3, 7):
        agrees(program("np.gradient(x, y)", "xy"), VECTOR, np.arange(9) * distance, tolerance=1e-13)
