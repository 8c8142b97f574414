"""NumPy's functions beyond operators and reductions: each called with typical and odd arguments, compared with NumPy.

A row is an expression in `x`, `y` and `z`; the arguments of a group are those of `ARGUMENTS`, in each of its element
types and layouts. What NumPy itself refuses of an expression is left out for that type.
"""

import linecache

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

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
    "strided": lambda x: np.repeat(x, 2)[::2],
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

ARGUMENTS = {
    "elementwise": (ELEMENTWISE, (REALS,)),
    "compared": (COMPARED, (REALS,)),
    "questions": (QUESTIONS, (REALS,)),
    "calculus": (CALCULUS, (VECTOR, THREE, POINTS)),
    "polynomials": (POLYNOMIALS, (VECTOR, THREE, POINTS)),
    "tables": (TABLES, (VECTOR, THREE, POINTS)),
}
"""Group -> its rows, and what they are called with."""

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
    function = program(text, "xyz"[: len(arguments)])
    try:
        with np.errstate(all="ignore"):
            function(*arguments)
    except (TypeError, ValueError, IndexError, OverflowError):
        with pytest.raises(nt.NestorError):
            nt.jit(function)(*arguments)
        return
    agrees(function, *arguments, tolerance=tolerance)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("group", ARGUMENTS)
def test_functions_of(group, layout):
    rows, arguments = ARGUMENTS[group]
    arguments = [LAYOUTS[layout](a) for a in arguments]
    wrong = []
    for text in rows:
        try:
            check(text, arguments, NARROW.get(layout, 1e-12))
        except (nt.NestorError, AssertionError, pytest.fail.Exception) as error:
            wrong.append(f"{text}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)
