"""Equations and decompositions, which LAPACK computes for NumPy: solve, inv, det, cholesky, qr, svd, eigh, lstsq and so on.

Stacks of matrices are one call. What LAPACK refuses raises LinAlgError at the line of the call.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...indexing.views import transposed
from ...interface.errors import Respecialise, ShapeError, UnsupportedError
from ...values.arithmetic import broadcast_extents
from ...values.contents import as_view
from ...values.equal_extents import require_equal
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.values import Extents, Group, Static, Value, extents_of
from ..calls_back import calls_back
from ..custom_calls import LinearAlgebraError, as_operand, call_numpy
from ..registry import handles, normal_axis, static
from ..shapes.reshaping import ravel, reshape

NONE, FALSE, TRUE, TWO, LOWER, REDUCED = (Static(v) for v in (None, False, True, 2, "L", "reduced"))


def _matrices(graph: Graph, a: Value) -> tuple[Value, Extents, Affine, Affine]:
    """An array of matrices: itself, the extents of the stack, rows and columns."""
    value = as_operand(graph, a)
    extents = extents_of(value)
    if len(extents) < 2:
        raise graph.error(
            LinearAlgebraError,
            f"{len(extents)}-dimensional array given. Array must be at least two-dimensional",
        )
    return value, extents[:-2], extents[-2], extents[-1]


def _square(graph: Graph, a: Value) -> tuple[Value, Extents, Affine]:
    value, stack, rows, columns = _matrices(graph, a)
    if not graph.assumptions.equal(rows, columns, "a square matrix"):
        if not (rows - columns).is_of_extents():
            raise graph.error(
                UnsupportedError,
                "whether this matrix is square is known at run time only",
                "slice it within its extents, for k in range(1, len(a) + 1): a[:k, :k]",
            )
        raise graph.error(LinearAlgebraError, "Last 2 dimensions of the array must be square")
    return value, stack, rows


def _smaller(graph: Graph, rows: Affine, columns: Affine) -> Affine:
    """min(rows, columns)."""
    if rows.known is not None and columns.known is not None:
        return Affine(min(rows.known, columns.known))
    if rows.equals(columns):
        return rows
    raise Respecialise(shapes=True, why="a decomposition of matrices of unknown extents")


def _flag(graph: Graph, value: Value, what: str) -> bool:
    return bool(static(graph, value, what))


# ---- square matrices --------------------------------------------------------------------------------


@handles(np.linalg.inv)
@calls_back
def inv(graph: Graph, a: Value) -> Value:
    value, stack, n = _square(graph, a)
    return call_numpy(graph, "linalg.inv", [value], [(*stack, n, n)], ordered=True)


@handles(np.linalg.det)
@calls_back
def det(graph: Graph, a: Value) -> Value:
    value, stack, _ = _square(graph, a)
    return call_numpy(graph, "linalg.det", [value], [stack])


@handles(np.linalg.slogdet)
@calls_back
def slogdet(graph: Graph, a: Value) -> Value:
    value, stack, _ = _square(graph, a)
    return call_numpy(graph, "linalg.slogdet", [value], [stack, stack])


@handles(np.linalg.cholesky)
@calls_back
def cholesky(graph: Graph, a: Value, /, *, upper: Value = FALSE) -> Value:
    value, stack, n = _square(graph, a)
    is_upper = _flag(graph, upper, "upper")
    return call_numpy(graph, "linalg.cholesky", [value], [(*stack, n, n)], ordered=True, upper=is_upper)


@handles(np.linalg.eigh)
@calls_back
def eigh(graph: Graph, a: Value, UPLO: Value = LOWER) -> Value:
    value, stack, n = _square(graph, a)
    part = static(graph, UPLO, "UPLO")
    extents: list[Extents] = [(*stack, n), (*stack, n, n)]
    return call_numpy(graph, "linalg.eigh", [value], extents, ordered=True, UPLO=part)


@handles(np.linalg.eigvalsh)
@calls_back
def eigvalsh(graph: Graph, a: Value, UPLO: Value = LOWER) -> Value:
    value, stack, n = _square(graph, a)
    part = static(graph, UPLO, "UPLO")
    return call_numpy(graph, "linalg.eigvalsh", [value], [(*stack, n)], ordered=True, UPLO=part)


@handles(np.linalg.matrix_power)
@calls_back
def matrix_power(graph: Graph, a: Value, n: Value) -> Value:
    value, stack, size = _square(graph, a)
    power = static(graph, n, "the power")
    return call_numpy(
        graph, "linalg.matrix_power", [value], [(*stack, size, size)], ordered=power < 0, n=power
    )


def _refuse_complex(name: str) -> None:
    @handles(getattr(np.linalg, name))
    def refused(graph: Graph, *args: Value, **kwargs: Value) -> Value:
        raise graph.error(
            UnsupportedError,
            f"np.linalg.{name} is not supported: whether its results are complex depends on the elements",
            f"np.linalg.{name}h is for symmetric matrices"
            if name == "eig"
            else "np.linalg.eigvalsh is for symmetric matrices",
        )


_refuse_complex("eig")
_refuse_complex("eigvals")


# ---- equations --------------------------------------------------------------------------------------


@handles(np.linalg.solve)
@calls_back
def solve(graph: Graph, a: Value, b: Value) -> Value:
    """A right side of rank 1 is one vector; any other is a stack of matrices."""
    value, stack, n = _square(graph, a)
    right = as_operand(graph, b)
    extents = extents_of(right)
    if not extents:
        raise graph.error(
            LinearAlgebraError,
            "0-dimensional array given. Array must be at least one-dimensional",
        )
    is_vector = len(extents) == 1
    rows = extents[0] if is_vector else extents[-2]
    if not require_equal(graph, n, rows, "np.linalg.solve"):
        raise graph.error(ShapeError, "solve: the right side does not have as many rows as the matrix")
    shape = (*stack, n) if is_vector else (*broadcast_extents(graph, [stack, extents[:-2]]), n, extents[-1])
    return call_numpy(graph, "linalg.solve", [value, right], [shape], ordered=True)


@handles(np.linalg.lstsq)
@calls_back
def lstsq(graph: Graph, a: Value, b: Value, rcond: Value = NONE) -> Value:
    """With more rows than columns the residuals are those for full rank: any other raises, where they are used."""
    value, stack, rows, columns = _matrices(graph, a)
    right = as_operand(graph, b)
    extents = extents_of(right)
    if stack or not 1 <= len(extents) <= 2:
        rank = len(stack) + 2 if stack else len(extents)
        raise graph.error(
            LinearAlgebraError, f"{rank}-dimensional array given. Array must be two-dimensional"
        )
    if not require_equal(graph, rows, extents[0], "np.linalg.lstsq"):
        raise graph.error(LinearAlgebraError, "Incompatible dimensions")
    cutoff = static(graph, rcond, "rcond")
    count = _smaller(graph, rows, columns)
    shapes: list[Extents] = [(columns, *extents[1:]), (), (count,)]
    found = call_numpy(graph, "linalg.lstsq", [value, right], shapes, ordered=True, rcond=cutoff)
    assert isinstance(found, Group)
    x, rank, values = found.items
    has_residuals = _is_larger(graph, rows, columns)
    width: Extents = (extents[1] if len(extents) == 2 else Affine(1),)
    residuals = call_numpy(
        graph,
        "linalg.lstsq.residuals" if has_residuals else "linalg.lstsq.none",
        [value, right],
        [width if has_residuals else (Affine(0),)],
        rcond=cutoff,
    )
    return Group((x, residuals, rank, values))


def _is_larger(graph: Graph, rows: Affine, columns: Affine) -> bool:
    if rows.known is not None and columns.known is not None:
        return rows.known > columns.known
    if rows.equals(columns):
        return False
    raise Respecialise(shapes=True, why="least squares with matrices of unknown extents")


@handles(np.linalg.pinv)
@calls_back
def pinv(
    graph: Graph, a: Value, rcond: Value = NONE, hermitian: Value = FALSE, *, rtol: Value | None = None
) -> Value:
    value, stack, rows, columns = _matrices(graph, a)
    given: dict[str, Any] = {"rcond": static(graph, rcond, "rcond")}
    if rtol is not None:
        given["rtol"] = static(graph, rtol, "rtol")
    return call_numpy(
        graph,
        "linalg.pinv",
        [value],
        [(*stack, columns, rows)],
        ordered=True,
        hermitian=_flag(graph, hermitian, "hermitian"),
        **given,
    )


def _sizes(graph: Graph, value: Value) -> tuple[int, ...]:
    """The extents, known."""
    sizes = tuple([e.known for e in extents_of(value)])
    if None in sizes:
        raise Respecialise(shapes=True, why="a tensor seen as a matrix")
    return sizes  # pyright: ignore


@handles(np.linalg.tensorsolve)
@calls_back
def tensorsolve(graph: Graph, a: Value, b: Value, axes: Value = NONE) -> Value:
    left, right = as_view(graph, as_operand(graph, a)), as_operand(graph, b)
    moved, rank = static(graph, axes, "axes"), len(left.axes)
    if moved is not None:
        order = list(range(rank))
        for k in moved:
            order.remove(normal_axis(graph, k, rank))
            order.append(normal_axis(graph, k, rank))
        left = transposed(left, order)
    unknowns = _sizes(graph, left)[len(extents_of(right)) :]
    count = prod(unknowns)
    if prod(_sizes(graph, left)) != count**2:
        raise graph.error(
            LinearAlgebraError,
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])",
        )
    found = solve(graph, reshape(graph, left, Static((count, count))), ravel(graph, right))
    return reshape(graph, found, Static(unknowns))


@handles(np.linalg.tensorinv)
@calls_back
def tensorinv(graph: Graph, a: Value, ind: Value = TWO) -> Value:
    value, split = as_operand(graph, a), static(graph, ind, "ind")
    if split <= 0:
        raise graph.error(ShapeError, "Invalid ind argument.")
    sizes = _sizes(graph, value)
    matrix = reshape(graph, value, Static((prod(sizes[split:]), -1)))
    return reshape(graph, inv(graph, matrix), Static((*sizes[split:], *sizes[:split])))


# ---- decompositions ---------------------------------------------------------------------------------


@handles(np.linalg.qr)
@calls_back
def qr(graph: Graph, a: Value, mode: Value = REDUCED) -> Value:
    value, stack, rows, columns = _matrices(graph, a)
    way = static(graph, mode, "mode")
    if way not in ("reduced", "complete", "r"):
        known = way in ("raw", "full", "economic", "f", "e")
        error = UnsupportedError if known else ShapeError
        message = (
            f"np.linalg.qr with mode={way!r} is not supported" if known else f"Unrecognized mode '{way}'"
        )
        raise graph.error(error, message, "mode: 'reduced', 'complete' or 'r'")
    k = rows if way == "complete" else _smaller(graph, rows, columns)
    factors: list[Extents] = [(*stack, rows, k), (*stack, k, columns)]
    shapes = factors[1:] if way == "r" else factors
    return call_numpy(graph, "linalg.qr", [value], shapes, mode=way)


@handles(np.linalg.svd)
@calls_back
def svd(
    graph: Graph,
    a: Value,
    full_matrices: Value = TRUE,
    compute_uv: Value = TRUE,
    hermitian: Value = FALSE,
) -> Value:
    value, stack, rows, columns = _matrices(graph, a)
    k = _smaller(graph, rows, columns)
    full, both = _flag(graph, full_matrices, "full_matrices"), _flag(graph, compute_uv, "compute_uv")
    u, v = (rows, columns) if full else (k, k)
    vectors: list[Extents] = [(*stack, rows, u), (*stack, k), (*stack, v, columns)]
    return call_numpy(
        graph,
        "linalg.svd",
        [value],
        vectors if both else [(*stack, k)],
        ordered=True,
        full_matrices=full,
        compute_uv=both,
        hermitian=_flag(graph, hermitian, "hermitian"),
    )


@handles(np.linalg.svdvals)
@calls_back
def svdvals(graph: Graph, x: Value, /) -> Value:
    value, stack, rows, columns = _matrices(graph, x)
    return call_numpy(
        graph, "linalg.svdvals", [value], [(*stack, _smaller(graph, rows, columns))], ordered=True
    )


@handles(np.linalg.matrix_rank)
@calls_back
def matrix_rank(
    graph: Graph, A: Value, tol: Value = NONE, hermitian: Value = FALSE, *, rtol: Value = NONE
) -> Value:
    value = as_operand(graph, A)
    stack = extents_of(value)[:-2]
    return call_numpy(
        graph,
        "linalg.matrix_rank",
        [value],
        [stack],
        ordered=True,
        tol=static(graph, tol, "tol"),
        hermitian=_flag(graph, hermitian, "hermitian"),
        rtol=static(graph, rtol, "rtol"),
    )


@handles(np.linalg.cond)
@calls_back
def cond(graph: Graph, x: Value, p: Value = NONE) -> Value:
    value, stack, _, _ = _matrices(graph, x)
    return call_numpy(graph, "linalg.cond", [value], [stack], ordered=True, p=static(graph, p, "p"))
