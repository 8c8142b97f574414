"""Tangents of equations and decompositions: solve, inv, det, cholesky, qr, eigh, svd and what they give.

    %y = nt.custom_call ordered "numpy.linalg.inv"(%x)      // dy = -y @ dx @ y

The formulas are those of M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic
differentiation (2008), of JAX for complex matrices and for the factors of tall ones. As in JAX, cholesky and eigh are
functions of the mean of their operand and its conjugate transpose; eigenvectors and singular vectors that belong to equal
values have no derivative (it is infinite or NaN).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, TensorType, f64, i1, i32
from xdsl.ir import Attribute, SSAValue

from .....dialects.affine import AffineList
from .....dialects.diagnostic import fail
from .....dialects.nt.constants import dtype_of
from .....dialects.nt.ops import BroadcastOp, CustomCallOp, SliceOp, element_of, shape_of
from .....dialects.nt.types import kind_of
from ...builder import Builder
from ...matrices import Matrix, call, part_of, with_stack

if TYPE_CHECKING:
    from ...forward import Forward
    from ...reverse import Reverse

Tangents = Sequence["SSAValue | None"]


def _operand(op: CustomCallOp, b: Builder, k: int = 0, element: Attribute | None = None) -> Matrix:
    """An operand in the type that is computed in: that of the first result, complex where a operand is."""
    source = op.inputs[k]
    if element is None:
        element = element_of(op.results_[0])
        if kind_of(element_of(source)) == "c" and kind_of(element) != "c":
            element = element_of(source)
    return Matrix(b, b.cast(source, element))


def _tangent(op: CustomCallOp, by: Forward, like: Matrix, k: int = 0) -> Matrix | None:
    tangent = by.of(op.inputs[k])
    return None if tangent is None else Matrix(by.builder, by.builder.cast(tangent, like.element))


def _flag(op: CustomCallOp, name: str) -> bool:
    value = op.arguments.data.get(name)
    return isinstance(value, IntegerAttr) and bool(value.value.data)


def _true(value: bool) -> Attribute:
    return IntegerAttr(int(value), i1)


def _like(b: Builder, target: str, operand: Matrix, op: CustomCallOp) -> Matrix:
    """A function of matrices that gives such matrices."""
    kind = operand.value.type
    assert isinstance(kind, TensorType)
    (value,) = call(b, target, [operand.value], [kind], b.sizes_of(operand.value), ordered=op.is_ordered)
    return Matrix(b, value)


def solved(b: Builder, a: Matrix, right: Matrix) -> Matrix:
    """The solution of `a @ x == right`, of which `right` has the stack."""
    kind = right.value.type
    assert isinstance(kind, TensorType)
    inputs = [a.value, right.value]
    (value,) = call(b, "linalg.solve", inputs, [kind], b.sizes_of(right.value), ordered=True)
    return Matrix(b, value)


# ---- equations ------------------------------------------------------------------------------------------


def _sides(op: CustomCallOp, b: Builder) -> tuple[SSAValue, SSAValue, SSAValue, bool]:
    """Matrix, right side and solution of a solve in one type; a vector on the right as a matrix of one column."""
    element = element_of(op.results_[0])
    a, right = (b.cast(v, element) for v in op.inputs)
    is_vector = len(shape_of(right)) == 1
    x = op.results_[0]
    if is_vector:
        x = b.expand(x, [len(shape_of(x))])
        right = b.expand(right, [1])
    return a, right, x, is_vector


def solve_forward(op: CustomCallOp, by: Forward) -> Tangents:
    b = by.builder
    a, _, x, is_vector = _sides(op, b)
    right: Matrix | None = None
    tangent = by.of(op.inputs[1])
    if tangent is not None:
        tangent = b.cast(tangent, element_of(x))
        tangent = b.expand(tangent, [1]) if is_vector else tangent
        right = Matrix(b, with_stack(b, tangent, x, 2))
    of_matrix = by.of(op.inputs[0])
    if of_matrix is not None:
        moved = Matrix(b, with_stack(b, b.cast(of_matrix, element_of(x)), x, 2)) @ Matrix(b, x)
        right = -moved if right is None else right - moved
    assert right is not None
    moved = solved(b, Matrix(b, a), right).value
    return [b.reshape(moved, op.results_[0]) if is_vector else moved]


def solve_reverse(op: CustomCallOp, cotangents: Tangents, to: Reverse) -> None:
    """The transposed equations: `a.T @ c == cotangent` is the cotangent of the right side, `-c @ x.T` of the matrix."""
    b, cotangent = to.builder, cotangents[0]
    assert cotangent is not None
    a, right, x, is_vector = _sides(op, b)
    if is_vector:
        cotangent = b.expand(cotangent, [len(shape_of(cotangent))])
    c = solved(b, Matrix(b, a).T, Matrix(b, cotangent))
    if to.wants(op.inputs[1]):
        of_right = sum_to_stack(b, c.value, right)
        of_right = b.reshape(of_right, op.inputs[1]) if is_vector else of_right
        to.add(op.inputs[1], b.cast(of_right, element_of(op.inputs[1])))
    if to.wants(op.inputs[0]):
        of_matrix = sum_to_stack(b, (-(c @ Matrix(b, x).T)).value, a)
        to.add(op.inputs[0], b.cast(of_matrix, element_of(op.inputs[0])))


def sum_to_stack(b: Builder, value: SSAValue, like: SSAValue) -> SSAValue:
    """The sum over the matrices of a stack that are one in the stack of `like`."""
    shape, wanted = shape_of(value), shape_of(like)
    added = len(shape) - len(wanted)
    value = b.sum(value, range(added))
    stretched = [k for k in range(len(wanted) - 2) if wanted[k] == 1 and shape[added + k] != 1]
    return b.expand(b.sum(value, stretched), stretched)


def inv(op: CustomCallOp, by: Forward) -> Tangents:
    y = Matrix(by.builder, op.results_[0])
    tangent = _tangent(op, by, y)
    assert tangent is not None
    return [(-(y @ tangent @ y)).value]


def pinv(op: CustomCallOp, by: Forward) -> Tangents:
    """G. H. Golub and V. Pereyra, The differentiation of pseudo-inverses (1973), (4.12); of constant rank."""
    b = by.builder
    p, a = Matrix(b, op.results_[0]), _operand(op, b)
    tangent = _tangent(op, by, a)
    assert tangent is not None
    if _flag(op, "hermitian"):
        a, tangent = a.hermitian, tangent.hermitian
    wide = tangent.H - (tangent.H @ a) @ p  # tangent.H @ (1 - a @ p)
    tall = tangent.H - p @ (a @ tangent.H)  # (1 - p @ a) @ tangent.H
    return [(-(p @ tangent @ p) + p @ (p.H @ wide) + (tall @ p.H) @ p).value]


def lstsq(op: CustomCallOp, by: Forward) -> Tangents:
    """x = pinv(a) @ b and the singular values of a."""
    b = by.builder
    x = op.results_[0]
    a = _operand(op, b)
    is_vector = len(shape_of(x)) == 1
    column = (
        (lambda v: b.expand(b.cast(v, a.element), [1])) if is_vector else (lambda v: b.cast(v, a.element))
    )
    solution, right = Matrix(b, column(x)), Matrix(b, column(op.inputs[1]))
    rows, columns = shape_of(a.value)
    kind = TensorType(a.element, [columns, rows])
    given = {"rcond": _cutoff(op, rows, columns), "hermitian": _true(False)}
    sizes = b.sizes_of(a.value, [1]).concat(b.sizes_of(a.value, [0]))
    (inverse,) = call(b, "linalg.pinv", [a.value], [kind], sizes, given, ordered=True)
    p = Matrix(b, inverse)
    total: Matrix | None = None
    moved = by.of(op.inputs[1])
    if moved is not None:
        total = p @ Matrix(b, column(moved))
    tangent = _tangent(op, by, a)
    values: SSAValue | None = None
    if tangent is not None:
        rest = right - a @ solution
        along = p @ (p.H @ (tangent.H @ rest)) - p @ (tangent @ solution)
        back = tangent.H @ (p.H @ solution)
        along = along + (back - p @ (a @ back))
        total = along if total is None else total + along
        if op.results_[2] in by.useful:
            values = _singular_values(a, tangent, op)
    assert total is not None
    return [b.reshape(total.value, x) if is_vector else b.fitted(total.value, x), None, values]


def _cutoff(op: CustomCallOp, rows: int, columns: int) -> Attribute:
    """Below which share of the largest a singular value is zero: np.linalg.lstsq has another default than pinv."""
    given = op.arguments.data["rcond"]
    if isinstance(given, FloatAttr):
        return given
    if rows < 0 or columns < 0:
        raise fail(
            op,
            "np.linalg.lstsq has a derivative for matrices of known extents, or with rcond=",
            hint="give rcond, or nt.jit without dynamic=True",
        )
    dtype = dtype_of(part_of(element_of(op.results_[0])))
    return FloatAttr(float(np.finfo(dtype).eps) * max(rows, columns), f64)


def residuals(op: CustomCallOp, by: Forward) -> Tangents:
    """Sums of squares of `a @ x - b`, which is orthogonal to the columns of `a`."""
    b = by.builder
    a = _operand(op, b, element=element_of(op.inputs[0]))
    x = _least_squares(op, b)
    column = (lambda v: b.expand(v, [1])) if len(shape_of(op.inputs[1])) == 1 else (lambda v: v)
    rest = Matrix(b, column(op.inputs[1])) - a @ Matrix(b, column(x))
    terms: list[Matrix] = []
    moved, tangent = by.of(op.inputs[1]), by.of(op.inputs[0])
    if moved is not None:
        terms.append(Matrix(b, column(moved)))
    if tangent is not None:
        terms.append(-(Matrix(b, tangent) @ Matrix(b, column(x))))
    total = terms[0] if len(terms) == 1 else terms[0] + terms[1]
    product = b.sum((rest.conjugate * total * 2.0).value, [0])
    return [b.cast(product, element_of(op.results_[0]))]


def _least_squares(op: CustomCallOp, b: Builder) -> SSAValue:
    a, right = op.inputs
    if element_of(a) != element_of(right):
        raise fail(
            op,
            "the residuals of np.linalg.lstsq have derivatives where both operands are of one type",
            hint="compute them: ((a @ x - b) ** 2).sum(axis=0)",
        )
    kinds = [
        TensorType(element_of(a), [shape_of(a)[1], *shape_of(right)[1:]]),
        TensorType(i32, []),
        TensorType(part_of(element_of(a)), [shape_of(a)[1]]),
    ]
    columns = b.sizes_of(a, [1])
    sizes = columns.concat(b.sizes_of(right, range(1, len(shape_of(right))))).concat(columns)
    return call(b, "linalg.lstsq", op.inputs, kinds, sizes, op.arguments.data, ordered=True)[0]


# ---- determinants, powers -------------------------------------------------------------------------------


def det(op: CustomCallOp, by: Forward) -> Tangents:
    """The sum of the products with the cofactors, which singular matrices have too."""
    b = by.builder
    a = _operand(op, b)
    tangent = _tangent(op, by, a)
    assert tangent is not None
    return [(_like(b, "linalg.cofactors", a, op) * tangent).summed()]


def cofactors(op: CustomCallOp, by: Forward) -> Tangents:
    """det(a) * inv(a).T; here the matrix must have an inverse."""
    b = by.builder
    c, a = Matrix(b, op.results_[0]), _operand(op, b)
    tangent = _tangent(op, by, a)
    assert tangent is not None
    inverse = _like(b, "linalg.inv", a, op).T
    trace = (inverse * tangent).summed()
    return [(c * c.by_stack(trace) - c @ tangent.T @ inverse).value]


def slogdet(op: CustomCallOp, by: Forward) -> Tangents:
    b = by.builder
    sign, logarithm = op.results_
    a = _operand(op, b)
    tangent = _tangent(op, by, a)
    assert tangent is not None
    trace = (_like(b, "linalg.inv", a, op).T * tangent).summed()
    if not a.is_complex:
        return [None, trace]
    imaginary = b.elementwise("imag", trace)
    turned = b.elementwise("complex", b.zeros(imaginary), imaginary)
    return [b.elementwise("multiply", sign, turned), b.cast(trace, element_of(logarithm))]


def matrix_power(op: CustomCallOp, by: Forward) -> Tangents:
    """By repeated squares, each with its tangent."""
    b = by.builder
    power = op.arguments.data["n"].value.data  # pyright: ignore
    if power == 0:
        return [None]
    a = _operand(op, b)
    tangent = _tangent(op, by, a)
    assert tangent is not None
    if power < 0:
        a = _like(b, "linalg.inv", a, op)
        tangent, power = -(a @ tangent @ a), -power
    result: tuple[Matrix, Matrix] | None = None
    square = (a, tangent)
    while True:
        if power & 1:
            result = square if result is None else _product(result, square)
        power >>= 1
        if not power:
            break
        square = _product(square, square)
    assert result is not None
    return [result[1].value]


def _product(x: tuple[Matrix, Matrix], y: tuple[Matrix, Matrix]) -> tuple[Matrix, Matrix]:
    return x[0] @ y[0], x[1] @ y[0] + x[0] @ y[1]


# ---- decompositions -------------------------------------------------------------------------------------


def cholesky(op: CustomCallOp, by: Forward) -> Tangents:
    b = by.builder
    upper = _flag(op, "upper")
    factor = Matrix(b, op.results_[0])
    tangent = _tangent(op, by, factor)
    assert tangent is not None
    lower = factor.H if upper else factor
    half = solved(b, lower, tangent.hermitian)
    inner = solved(b, lower, half.H).H
    # below the diagonal, and half of it
    moved = lower @ (inner.where("less") + (inner.where("equal") * 0.5))
    return [(moved.H if upper else moved).value]


def qr(op: CustomCallOp, by: Forward) -> Tangents:
    """Of a tall or square matrix; of a wide one by its first columns, of which the others are combinations."""
    b = by.builder
    mode = op.arguments.data["mode"]
    assert isinstance(mode, StringAttr)
    q, r = _qr_factors(op, b, mode.data)
    rows, columns = shape_of(op.inputs[0])[-2:]
    if rows < 0 or columns < 0 or (mode.data == "complete" and rows > columns):
        raise fail(
            op,
            "np.linalg.qr has a derivative for matrices of known extents, and for mode='complete' where they are not tall",
            hint="mode='reduced', and nt.jit without dynamic=True",
        )
    whole = _tangent(op, by, q)
    assert whole is not None
    tangent, square = whole, r
    if columns > rows:
        tangent, square = (Matrix(b, _columns(b, m.value, rows)) for m in (whole, r))
    over = solved(b, square.T, tangent.T).T  # tangent @ inv(r)
    inner = q.H @ over
    below = inner.where("less")
    turned = below - below.H
    if q.is_complex:
        parts = inner.where("equal").value
        imaginary = b.elementwise(
            "complex", b.zeros(b.elementwise("real", parts)), b.elementwise("imag", parts)
        )
        turned = turned + Matrix(b, imaginary)
    of_q = q @ (turned - inner) + over
    of_r = q.H @ (whole - of_q @ r)
    of_r = of_r.where("greater_equal") if columns > rows else (inner - turned) @ r
    return [of_r.value] if mode.data == "r" else [of_q.value, of_r.value]


def _qr_factors(op: CustomCallOp, b: Builder, mode: str) -> tuple[Matrix, Matrix]:
    if mode != "r":
        return Matrix(b, op.results_[0]), Matrix(b, op.results_[1])
    r = op.results_[0]
    a = b.cast(op.inputs[0], element_of(r))
    *stack, rows, _ = shape_of(a)
    k = shape_of(r)[-2]
    kinds = [TensorType(element_of(r), [*stack, rows, k]), r.type]
    rank = len(stack)
    sizes = b.sizes_of(a, range(rank + 1)).concat(b.sizes_of(r, [rank])).concat(b.sizes_of(r))
    q, again = call(b, "linalg.qr", [a], kinds, sizes, {"mode": StringAttr("reduced")})  # pyright: ignore
    return Matrix(b, q), Matrix(b, again)


def _columns(b: Builder, value: SSAValue, count: int) -> SSAValue:
    """The first columns."""
    shape = shape_of(value)
    kind = TensorType(element_of(value), [*shape[:-1], count])
    offsets = AffineList.of(*[0] * len(shape))
    return b.value(SliceOp(value, offsets, [1] * len(shape), kind, b.sizes_of(value, range(len(shape) - 1))))


def eigh(op: CustomCallOp, by: Forward) -> Tangents:
    b = by.builder
    values, v = op.results_[0], Matrix(b, op.results_[1])
    tangent = _tangent(op, by, v)
    assert tangent is not None
    inner = v.H @ tangent.hermitian @ v
    of_values = b.cast(inner.diagonal, element_of(values))
    if op.results_[1] not in by.useful:
        return [of_values, None]
    return [of_values, (v @ (_inverse(_differences(values, b), v) * inner)).value]


def _differences(values: SSAValue, b: Builder) -> Matrix:
    """value[j] - value[i] in row i and column j."""
    rank = len(shape_of(values))
    along = [*range(rank - 1), rank]
    extent = shape_of(values)[-1]
    kind = TensorType(element_of(values), [*shape_of(values), extent])
    sizes = b.sizes_of(values).concat(b.sizes_of(values, [rank - 1]))
    columns = Matrix(b, b.value(BroadcastOp(values, along, kind, sizes)))
    return columns - columns.by_rows(values)


def _inverse(values: Matrix, like: Matrix) -> Matrix:
    """One by each element, zero on the diagonal; of the type of `like`."""
    b = values.b
    inverse = Matrix(b, b.elementwise("reciprocal", values.with_diagonal(1.0).value))
    return Matrix(b, b.cast(inverse.with_diagonal(0.0).value, like.element))


def eigvalsh(op: CustomCallOp, by: Forward) -> Tangents:
    b = by.builder
    values = op.results_[0]
    a = _operand(op, b)
    tangent = _tangent(op, by, a)
    assert tangent is not None
    sizes = b.sizes_of(values).concat(b.sizes_of(a.value))
    kinds = [values.type, a.value.type]
    v = Matrix(b, call(b, "linalg.eigh", [a.value], kinds, sizes, op.arguments.data, ordered=True)[1])  # pyright: ignore
    inner = v.H @ tangent.hermitian @ v
    return [b.cast(inner.diagonal, element_of(values))]


def svd(op: CustomCallOp, by: Forward) -> Tangents:
    b = by.builder
    a = _operand(op, b)
    tangent = _tangent(op, by, a)
    assert tangent is not None
    if _flag(op, "hermitian"):
        tangent = tangent.hermitian
    if len(op.results_) == 1:
        return [_singular_values(a, tangent, op)]
    u, values, vh = Matrix(b, op.results_[0]), op.results_[1], Matrix(b, op.results_[2])
    rows, columns = shape_of(a.value)[-2:]
    vectors = any(r in by.useful for r in (op.results_[0], op.results_[2]))
    if vectors and (rows < 0 or columns < 0 or (_flag(op, "full_matrices") and rows != columns)):
        raise fail(
            op,
            "the vectors of np.linalg.svd have a derivative with full_matrices=False, for known extents",
            hint="full_matrices=False, and nt.jit without dynamic=True",
        )
    if not vectors:
        return [None, _singular_values(a, tangent, op), None]
    v = vh.H
    inner = u.H @ tangent @ v
    of_values = b.cast(inner.diagonal, element_of(values))
    differences = _differences(values, b)
    sums = differences.by_columns(values) + differences.by_rows(values)
    factors = _inverse(differences * sums, inner)  # 1 / (s[j]^2 - s[i]^2)
    right, left = inner * inner.by_columns(values), inner * inner.by_rows(values)
    size = b.formula(values)
    inverse = size.equals(0.0).where(0.0, size.equals(0.0).where(1.0, size).apply("reciprocal")).value
    of_u = u @ (factors * (right + right.H))
    if inner.is_complex:
        skew = (inner - inner.H).where("equal") * 0.5
        of_u = of_u + u @ (skew * skew.by_rows(inverse))
    of_v = v @ (factors * (left + left.H))
    if rows > columns:
        moved = tangent @ v
        rest = moved - u @ (u.H @ moved)
        of_u = of_u + rest * rest.by_columns(inverse)
    if columns > rows:
        moved = tangent.H @ u
        rest = moved - v @ (vh @ moved)
        of_v = of_v + rest * rest.by_columns(inverse)
    return [of_u.value, of_values, of_v.H.value]


def svdvals(op: CustomCallOp, by: Forward) -> Tangents:
    b = by.builder
    a = _operand(op, b)
    tangent = _tangent(op, by, a)
    assert tangent is not None
    return [_singular_values(a, tangent, op)]


def _singular_values(a: Matrix, tangent: Matrix, op: CustomCallOp) -> SSAValue:
    """The tangents of the singular values of `a`: the diagonal of u.H @ tangent @ v."""
    b = a.b
    *stack, rows, columns = shape_of(a.value)
    values = next(r for r in op.results_ if len(shape_of(r)) == len(stack) + 1)
    k = shape_of(values)[-1]
    kinds = [
        TensorType(a.element, [*stack, rows, k]),
        TensorType(part_of(a.element), [*stack, k]),
        TensorType(a.element, [*stack, k, columns]),
    ]
    rank = len(stack)
    outer, count = b.sizes_of(a.value, range(rank)), b.sizes_of(values, [rank])
    sizes = outer.concat(b.sizes_of(a.value, [rank])).concat(count)
    sizes = (
        sizes.concat(outer).concat(count).concat(outer).concat(count).concat(b.sizes_of(a.value, [rank + 1]))
    )
    given = {
        "full_matrices": _true(False),
        "compute_uv": _true(True),
        "hermitian": _true(_flag(op, "hermitian")),
    }
    u, _, vh = call(b, "linalg.svd", [a.value], kinds, sizes, given, ordered=True)
    inner = Matrix(b, u).H @ tangent @ Matrix(b, vh).H
    return b.cast(inner.diagonal, element_of(values))
