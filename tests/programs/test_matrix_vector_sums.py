"""Products of a computed matrix and a vector: what computes the matrix is part of the sums; products of matrices are not."""

import nestor as nt
import numpy as np
import pytest

from .agreement import agrees, jitted, same

pytestmark = pytest.mark.one_of(3)


def scaled(a, alpha, x):
    return (alpha * a) @ x


def from_the_left(a, alpha, x):
    return x @ (alpha * a)


def transposed(a, alpha, x):
    return (a * alpha).T @ x


def of_transposed(a, alpha, x):
    return (a.T - alpha) @ x


def twice(a, alpha, x):
    b = a * alpha + 1
    return b @ x, np.maximum(b @ x, 0), b


def by_einsum(a, alpha, x):
    return np.einsum("ij,j->i", a + alpha, x) + 1


FUNCTIONS = (scaled, from_the_left, transposed, of_transposed, twice, by_einsum)


def numbers(seed, *shape, dtype="f8"):
    """Small integers: their sums are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def fitting(f, m, n, dtype):
    """A matrix and a vector that `f` can multiply."""
    turned = f in (from_the_left, transposed, of_transposed)
    return numbers(m, m, n, dtype=dtype), numbers(n, m if turned else n, dtype=dtype)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dynamic", [None, True], ids=["known", "unknown"])
def test_scaled_matrices(f, dynamic):
    compiled = jitted(f, dynamic=dynamic)
    for m, n, dtype in (
        (7, 9, "f8"),
        (33, 70, "f4"),
        (0, 3, "f8"),
        (3, 0, "f8"),
        (1, 5, "f4"),
        (40, 17, "i4"),
    ):
        a, x = fitting(f, m, n, dtype)
        for alpha in (3, -2):
            same(compiled(a, alpha, x), f(a, alpha, x), 0.0)
    a, x = fitting(f, 12, 12, "f8")
    for view in (a[::-1, ::-1], a.T, np.broadcast_to(a[:1], a.shape)):
        view.flags.writeable = False
        same(compiled(view, 2, x[::-1]), f(view, 2, x[::-1]), 0.0)
    a[3, 4], a[5, 6] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        same(compiled(a, 2, x), f(a, 2, x), 0.0)


def shifted(a, b, row, column, x):
    return ((a * b + row) - column[:, None]) @ x


def centred(a, b, row, column, x):
    return (a - a.mean(axis=0)) @ x + x @ (a - a.mean(axis=1)[:, None]).T


def batches(a, b, row, column, x):
    return np.einsum("ij,ij->i", a + 1, b * 2), np.vdot(a * b, b)


def both_sides(a, b, row, column, x):
    c = a * b
    return c @ x, column @ c, c @ a.T


@pytest.mark.parametrize("f", [shifted, centred, batches, both_sides], ids=lambda f: f.__name__)
@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_rows_columns_and_batches(f, target):
    operands = numbers(0, 8, 16), numbers(1, 8, 16), numbers(2, 16), numbers(3, 8), numbers(4, 16)
    agrees(f, *operands, target=target)
    if target == "cpu":
        agrees(f, *operands, dynamic=True)


@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
def test_targets(target):
    for f in FUNCTIONS:
        a, x = fitting(f, 6, 10, "f4")
        agrees(f, a, np.float32(3), x, target=target)


def test_complex():
    a = numbers(0, 5, 6) + 1j * numbers(1, 5, 6)
    agrees(scaled, a, 2 - 1j, numbers(2, 6) + 0j)


def nests(f, *arguments):
    return nt.jit(f).lower(*arguments).as_text("nest")


def test_no_matrix_is_stored():
    a, x = np.ones((600, 600)), np.ones(600)
    for f in (scaled, from_the_left, transposed, of_transposed, by_einsum):
        assert "memref<600x600xf64>\n" not in "".join(
            line + "\n" for line in nests(f, a, 2.0, x).splitlines() if "nest.alloc" in line
        )


def test_products_of_matrices_compute_once():
    """A matrix that is read many times is stored: its elements would be computed again for each column."""

    def f(a, b):
        return np.exp(a) @ b

    assert "nest.alloc" in nests(f, np.ones((100, 110)), np.ones((110, 120)))
    assert nests(f, np.ones((100, 110)), np.ones((110, 120))).count("math.exp") <= 2
