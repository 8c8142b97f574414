"""Products of matrices against NumPy: @, dot, inner, outer, vdot, tensordot, einsum, over dtypes, shapes and layouts."""

from collections.abc import Callable

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import ShapeError

from .agreement import agrees, same

pytestmark = pytest.mark.one_of(5)


def matmul(a, b):
    return a @ b


def transposed(a, b):
    return a @ b.T


def transposed_both(a, b):
    return a.T @ np.matmul(b, b.T)


def dot(a, b):
    return np.dot(a, b), a.dot(b)


def inner(a, b):
    return np.inner(a, b)


def outer(a, b):
    return np.outer(a, b)


def vdot(a, b):
    return np.vdot(a, b)


def epilogue(a, b):
    return np.exp((a * 2) @ b / 100) + 1


def gufuncs(a, b):
    return np.vecdot(a, b), np.matvec(a, b[0]), np.vecmat(b[0], a.T)


JITTED: dict[tuple[Callable, str, bool | None], Callable] = {}


def check(function, *arguments, tolerance=0.0, target="cpu", dynamic=None):
    key = (function, target, dynamic)
    jitted = JITTED.setdefault(key, nt.jit(function, target=target, dynamic=dynamic))
    same(jitted(*arguments), function(*arguments), tolerance)


def numbers(shape, dtype="f8", seed=0):
    """Small integers: their sums are exact in every dtype."""
    return np.random.default_rng(seed).integers(0, 4, shape).astype(dtype)


SHAPES = [
    ((3, 4), (4, 5)),
    ((4,), (4,)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((1, 3, 4), (2, 4, 5)),
    ((7, 1, 3, 4), (2, 4, 5)),
    ((3, 4), (2, 4, 5)),
    ((4,), (2, 4, 5)),
    ((2, 3, 4), (4,)),
    ((0, 4), (4, 5)),
    ((3, 0), (0, 5)),
    ((0,), (0,)),
    ((1, 1), (1, 1)),
    ((5, 1), (1, 6)),
    ((67, 70), (70, 65)),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_shapes(shapes):
    a, b = (numbers(shape, seed=k) for k, shape in enumerate(shapes))
    check(matmul, a, b)
    if a.size < 1000:  # what it is called matters before tiles do
        check(dot, a, b)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "u8", "i8", "f2", "f4", "f8"])
def test_dtypes(dtype):
    a, b = numbers((6, 33), dtype), numbers((33, 9), dtype, 1)
    check(matmul, a, b)
    check(matmul, a[0], b[:, 0])
    check(inner, a, np.ascontiguousarray(b.T))
    check(outer, a[0], b)
    check(vdot, a[:3, :3], b[:3, :3])


def test_mixed_dtypes():
    check(matmul, numbers((3, 4), "i4"), numbers((4, 5), "f4"))
    check(matmul, numbers((3, 4), "u1"), numbers((4, 5), "i1"))
    check(matmul, numbers((3, 4), "f2"), numbers((4, 5), "i8"))


def test_wraps():
    a = np.full((2, 300), 100, np.int8)
    check(matmul, a, a.T)


def test_special_values():
    a = np.array([[np.inf, 0.0, 1.0], [np.nan, 1.0, 2.0], [-0.0, 0.0, -1.0]])
    with np.errstate(invalid="ignore"):
        check(matmul, a, a.T)


@pytest.mark.parametrize("every_pair", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_layouts_of_both(every_pair):
    """Each of the left matrix, each of the right one; all pairs are slow."""
    a, b = numbers((6, 8)), numbers((8, 10), seed=1)
    lefts = (a, np.asfortranarray(a), a[::-1, ::-1], numbers((12, 16))[::2, ::2], numbers((8, 6)).T)
    for k, left in enumerate(lefts):
        for j, right in enumerate((b, np.asfortranarray(b), b[:, ::-1])):
            if every_pair or j == (k + 1) % 3:
                check(matmul, left, right)


def test_stacks_and_locked_matrices():
    a, b = numbers((6, 8)), numbers((8, 10), seed=1)
    stack = numbers((4, 5, 2, 3)).transpose(3, 2, 0, 1)
    check(matmul, stack, numbers((5, 6)))
    check(matmul, stack, numbers((2, 5, 6)))
    locked = a.copy()
    locked.flags.writeable = False
    check(matmul, locked, b)


def test_transposes_are_read_through():
    a, b = numbers((5, 6)), numbers((7, 6))
    check(transposed, a, b)
    check(transposed_both, numbers((7, 5)), b)
    assert "copy" not in nt.jit(transposed).lower(a, b).as_text("nest")


def test_around_it():
    check(
        epilogue,
        np.random.default_rng(0).random((20, 30)),
        np.random.default_rng(1).random((30, 40)),
        tolerance=1e-13,
    )


@pytest.mark.parametrize(
    "dtype", [*(pytest.param(t, marks=pytest.mark.slow) for t in ("i1", "f2")), "i8", "f8"]
)
def test_tiles(dtype):
    """Whole and partial tiles of every loop, known and unknown extents, either operand by rows or by columns.

    Narrow elements are slow.
    """
    a, b = numbers((13, 300), dtype, 0), numbers((300, 70), dtype, 1)
    check(matmul, a, b, dynamic=True)
    check(transposed, a, np.ascontiguousarray(b.T))
    if dtype == "f8":
        for shapes in ((9, 8), (8, 129)), ((6, 256), (256, 64)), ((100, 513), (513, 9)):
            a, b = (numbers(shape, dtype, k) for k, shape in enumerate(shapes))
            check(matmul, a, b, dynamic=True)
        check(matmul, np.asfortranarray(a), np.asfortranarray(b))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["i1", "i8", "f2", "f8"])
def test_more_tiles(dtype):
    """The other shapes as extents that are known, and every dtype in every order of its elements."""
    for shapes in (((13, 300), (300, 70)), ((9, 8), (8, 129)), ((6, 256), (256, 64)), ((100, 513), (513, 9))):
        a, b = (numbers(shape, dtype, k) for k, shape in enumerate(shapes))
        for dynamic in (True, False):
            check(matmul, a, b, dynamic=dynamic)
            check(matmul, np.asfortranarray(a), np.asfortranarray(b), dynamic=dynamic)
            check(transposed, a, np.ascontiguousarray(b.T), dynamic=dynamic)


def test_error_is_small():
    r = np.random.default_rng(0)
    for dtype, tolerance in (("f4", 1e-5), ("f8", 1e-13)):
        a, b = r.random((50, 4000)).astype(dtype), r.random((4000, 33)).astype(dtype)
        check(matmul, a, b, tolerance=tolerance)


def test_gufuncs():
    check(gufuncs, numbers((3, 4)), numbers((3, 4), seed=1))


def rows(a, b):
    out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        out[i] = a[i] @ b
    return out


def cells(a, b):
    out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            out[i, j] = 2 * np.dot(a[i], b[:, j])
    return out


@pytest.mark.parametrize("dtype", ["?", "i4", "f2", "f8"])
def test_inside_loops(dtype):
    for shapes in (((3, 4), (4, 5)), ((2, 0), (0, 3)), ((1, 1), (1, 1))):
        a, b = (numbers(shape, dtype, k) for k, shape in enumerate(shapes))
        check(rows, a, b)
        check(cells, a, b)


def stacks_in_a_loop(a, b):
    out = np.zeros((a.shape[0], 3))
    for i in range(a.shape[0]):
        for j in range(3):
            out[i, j] = (a[i] @ b)[0, j, j] + out[i, j - 1]
    return out


def test_stacks_inside_loops():
    """Stacks that broadcast are no element loops: the loop is one on tensors."""
    check(stacks_in_a_loop, numbers((20, 1, 3, 4)), numbers((3, 4, 3), seed=1))


@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
def test_targets(target):
    for dtype in ("i4", "f2", "f4"):
        check(matmul, numbers((5, 7), dtype), numbers((7, 6), dtype, 1), target=target)
    check(matmul, numbers((2, 5, 7)), numbers((7, 6)), target=target)


@pytest.mark.parametrize(
    ("function", "shapes", "message"),
    [
        (matmul, ((3, 4), (3, 4)), "size 3 is different from 4"),
        (matmul, ((3, 4), (5,)), "size 5 is different from 4"),
        (dot, ((3, 4), (3, 4)), r"shapes \(3,4\) and \(3,4\) not aligned: 4 \(dim 1\) != 3 \(dim 0\)"),
        (matmul, ((2, 3, 4), (3, 4, 5)), "could not be broadcast together"),
    ],
    ids=["matmul", "vector", "dot", "stacks"],
)
def test_shapes_that_do_not_go_together(function, shapes, message):
    arguments = [np.zeros(shape) for shape in shapes]
    with pytest.raises(ValueError, match=r"mismatch|not aligned|broadcast"):
        function(*arguments)  # NumPy refuses them too
    with pytest.raises(ShapeError, match=message):
        nt.jit(function)(*arguments)


def by_number(a):
    return a @ 3.0


def test_a_number_is_no_matrix():
    with pytest.raises(ShapeError, match="Input operand 1 does not have enough dimensions"):
        nt.jit(by_number)(np.zeros((3, 4)))


def over_two(a, b):
    return np.tensordot(a, b)


def over_named(a, b):
    return np.tensordot(a, b, axes=([1, 0], [0, -1]))


def over_all(a):
    return np.tensordot(a, a, axes=a.ndim)


def over_none(a, b):
    return np.tensordot(a, b, 0)


def test_tensordot():
    a, b = numbers((2, 3, 4)), numbers((3, 4, 5), seed=1)
    check(over_two, a, b)
    check(over_named, a, numbers((3, 5, 2)))
    check(over_all, a)
    check(over_none, a[0], b[0])
    with pytest.raises(ShapeError, match="shape-mismatch for sum"):
        nt.jit(over_two)(a, numbers((4, 3, 5)))


def test_agrees():
    """The arguments stay as they are."""
    agrees(matmul, numbers((3, 4)), numbers((4, 5)))


def einsum_of_two(a, b):
    return (
        np.einsum("ij,jk->ik", a, b),
        np.einsum("ij, jk", a, b),
        np.einsum("ij,jk->ki", a, b),
        np.einsum("ij,jk->", a, b),
        np.einsum("ij,jk->j", a, b),
        np.einsum("...j,jk->...k", a, b),
    )


def einsum_of_one(a):
    return (
        np.einsum("ij->ji", a),
        np.einsum("ij->", a),
        np.einsum("ij->j", a),
        np.einsum("ij,ij->ij", a, a),
        np.einsum("ij,ij->i", a, a),
        np.einsum("i...->...", a),
    )


def einsum_of_three(a, b, x):
    return np.einsum("ij,jk,k->i", a, b, x), np.einsum("ij,jk,k", a, b, x, optimize=True)


def einsum_of_stacks(s, t):
    return (
        np.einsum("bij,bjk->bik", s, t),
        np.einsum("bij,bjk->bki", s, t),
        np.einsum("bhd,bkd->bhk", s, s),
        np.einsum("...ij,...jk->...ik", s, t),
    )


def einsum_of_diagonals(q):
    return (
        np.einsum("ii", q),
        np.einsum("ii->i", q) + 0,
        np.einsum("i,j->ij", q[0], q[1]),
        np.einsum("i,i", q[0], q[1]),
    )


def test_einsum():
    a, b = numbers((3, 4)), numbers((4, 5), seed=1)
    for left, right in ((a, b), (np.asfortranarray(a), b[::-1])):
        check(einsum_of_two, left, right)
    for dtype in ("i1", "?"):
        check(einsum_of_two, numbers((3, 4), dtype), numbers((4, 5), dtype))
    check(einsum_of_one, a)
    check(einsum_of_one, np.asfortranarray(a))
    check(einsum_of_three, a, b, numbers(5))
    check(einsum_of_stacks, numbers((2, 3, 4)), numbers((2, 4, 5)))
    check(einsum_of_stacks, numbers((1, 3, 4)), numbers((1, 4, 5)))
    check(einsum_of_diagonals, numbers((4, 4)))


@pytest.mark.slow
def test_more_einsum():
    """Other orders of the operands, and float16."""
    a, b = numbers((3, 4)), numbers((4, 5), seed=1)
    for left, right in ((np.asfortranarray(a), b), (a, np.asfortranarray(b)), (a[:, ::-1], b[::-1])):
        check(einsum_of_two, left, right)
    check(einsum_of_two, numbers((3, 4), "f2"), numbers((4, 5), "f2"))


def einsum_too_few(a):
    return np.einsum("ij,jk", a)


def einsum_unfitting(a):
    return np.einsum("ijk->i", a)


def einsum_unknown(a):
    return np.einsum("ij->k", a)


def einsum_mismatch(a, b):
    return np.einsum("ij,jk", a, b)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (einsum_too_few, "2 operands in the subscripts and 1 in the call"),
        (einsum_unfitting, "do not fit their operand"),
        (einsum_unknown, "are not those of the operands"),
    ],
)
def test_einsum_refusals(function, message):
    with pytest.raises(ValueError):
        function(np.zeros((3, 4)))
    with pytest.raises(ShapeError, match=message):
        nt.jit(function)(np.zeros((3, 4)))


def test_einsum_extents():
    with pytest.raises(ShapeError, match="different extents for the label 'j'"):
        nt.jit(einsum_mismatch)(np.zeros((3, 4)), np.zeros((3, 4)))


@pytest.mark.parametrize("n", [4, 50])
def test_a_factor_made_of_its_indices(n):
    """A factor that is computed where its panels are copied, from indices as numbers."""

    def program(x, a):
        return a @ (np.arange(len(x))[:, None] * x).T, a @ (np.eye(len(x)) * x)

    x, a = np.linspace(-1, 1, n), np.ones((3, n))
    for got, want in zip(nt.jit(program, dynamic=True)(x, a), program(x, a), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
