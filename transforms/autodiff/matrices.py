"""Formulas of matrices: the last two axes of a tensor are rows and columns, the others a stack of matrices.

y = Matrix(b, inverse)
tangent = -(y @ Matrix(b, t) @ y)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i64
from xdsl.ir import Attribute, SSAValue

from ...dialects.affine import AffineList
from ...dialects.nt.ops import (
    BroadcastOp,
    CustomCallOp,
    DotOp,
    IotaOp,
    ReshapeOp,
    element_of,
    shape_of,
)
from ...dialects.nt.types import kind_of, part_type
from .builder import Builder


class Matrix:
    """A stack of matrices; operands of `+`, `-`, `*` and `@` have one element type and the same stack."""

    __slots__ = ("b", "value")

    def __init__(self, builder: Builder, value: SSAValue):
        self.b, self.value = builder, value

    @property
    def rank(self) -> int:
        return len(shape_of(self.value))

    @property
    def element(self) -> Attribute:
        return element_of(self.value)

    @property
    def is_complex(self) -> bool:
        return kind_of(self.element) == "c"

    def _of(self, value: SSAValue) -> Matrix:
        return Matrix(self.b, value)

    def _fitting(self, other: Matrix | float) -> SSAValue:
        """The other operand with the type of this one: extents that one of the types knows."""
        if not isinstance(other, Matrix):
            return self.b.uniform(other, self.value)
        return self.b.fitted(other.value, self.value)

    def __matmul__(self, other: Matrix) -> Matrix:
        stack = list(range(self.rank - 2))
        contract = ([self.rank - 1], [other.rank - 2])
        return self._of(self.b.value(DotOp(self.value, other.value, contract, (stack, stack))))

    def __add__(self, other: Matrix | float) -> Matrix:
        return self._of(self.b.elementwise("add", self.value, self._fitting(other)))

    def __sub__(self, other: Matrix | float) -> Matrix:
        return self._of(self.b.elementwise("subtract", self.value, self._fitting(other)))

    def __mul__(self, other: Matrix | float) -> Matrix:
        return self._of(self.b.elementwise("multiply", self.value, self._fitting(other)))

    def __neg__(self) -> Matrix:
        return self._of(self.b.elementwise("negative", self.value))

    @property
    def T(self) -> Matrix:
        """Rows become columns."""
        order = list(range(self.rank))
        order[-2:] = order[:-3:-1]
        return self._of(self.b.transpose(self.value, order))

    @property
    def H(self) -> Matrix:
        """The conjugate transpose."""
        return self.T.conjugate

    @property
    def conjugate(self) -> Matrix:
        return self._of(self.b.elementwise("conjugate", self.value)) if self.is_complex else self

    @property
    def hermitian(self) -> Matrix:
        """The mean of this matrix and its conjugate transpose."""
        return (self + self.H) * 0.5

    # ---- parts of a matrix ----------------------------------------------------------------------------

    def _compared(self, name: str) -> SSAValue:
        """Where the number of the column compares so with that of the row."""
        sides = []
        for axis in (self.rank - 1, self.rank - 2):
            extent = shape_of(self.value)[axis]
            numbers = self.b.value(IotaOp(TensorType(i64, [extent]), self.b.sizes_of(self.value, [axis])))
            sides.append(self.b.broadcast(numbers, [axis], self.value))
        return self.b.elementwise(name, *sides)

    def where(self, name: str, other: float = 0.0) -> Matrix:
        """The elements whose column compares so with their row (`less`: below the diagonal), `other` elsewhere."""
        chosen = self._compared(name)
        return self._of(self.b.elementwise("select", chosen, self.value, self.b.uniform(other, self.value)))

    def with_diagonal(self, number: float) -> Matrix:
        """Another number in each element of the diagonal."""
        return self.where("not_equal", number)

    @property
    def diagonal(self) -> SSAValue:
        """The diagonal of a square matrix: a stack of vectors."""
        return self.b.sum(self.where("equal").value, [self.rank - 1])

    def summed(self) -> SSAValue:
        """The sum of all elements, for each matrix of the stack."""
        return self.b.sum(self.value, [self.rank - 2, self.rank - 1])

    # ---- vectors and numbers, one for each matrix --------------------------------------------------------

    def by_columns(self, vectors: SSAValue) -> Matrix:
        """A matrix like this one: element k of the vector in all of column k."""
        return self._spread(vectors, [*range(self.rank - 2), self.rank - 1])

    def by_rows(self, vectors: SSAValue) -> Matrix:
        """A matrix like this one: element k of the vector in all of row k."""
        return self._spread(vectors, list(range(self.rank - 1)))

    def by_stack(self, numbers: SSAValue) -> Matrix:
        """A matrix like this one: one number in all elements."""
        return self._spread(numbers, list(range(self.rank - 2)))

    def _spread(self, source: SSAValue, along: Sequence[int]) -> Matrix:
        cast = self.b.cast(source, self.element)
        return self._of(self.b.broadcast(cast, along, self.value))


def part_of(element: Attribute) -> Attribute:
    """The type of a real part: the type itself of what is not complex."""
    return part_type(element) if kind_of(element) == "c" else element


def with_stack(b: Builder, value: SSAValue, like: SSAValue, own: int) -> SSAValue:
    """`value` broadcast to the first axes of `like`, its last `own` axes as they are."""
    mine, theirs = shape_of(value), shape_of(like)
    stack = theirs[: len(theirs) - own]
    shape = [*stack, *mine[len(mine) - own :]]
    if list(mine) == shape:
        return value
    sizes = b.sizes_of(like, range(len(stack))).concat(b.sizes_of(value, range(len(mine) - own, len(mine))))
    along = range(len(shape) - len(mine), len(shape))
    return b.value(BroadcastOp(value, along, TensorType(element_of(value), shape), sizes))


def reshaped(b: Builder, value: SSAValue, shape: Sequence[int], sizes: AffineList) -> SSAValue:
    """The elements of `value` in another shape."""
    if tuple(shape) == shape_of(value) and DYNAMIC_INDEX not in shape:
        return value
    return b.value(ReshapeOp(value, TensorType(element_of(value), shape), sizes))


def as_column(b: Builder, value: SSAValue) -> SSAValue:
    """Vectors as matrices of one column."""
    return b.expand(value, [len(shape_of(value))])


def call(
    b: Builder,
    target: str,
    inputs: Sequence[SSAValue],
    types: Sequence[TensorType],
    sizes: AffineList,
    arguments: Mapping[str, Attribute] | None = None,
    *,
    ordered: bool = False,
) -> list[SSAValue]:
    """The results of a function of NumPy, in the types that it gives."""
    op = CustomCallOp(f"numpy.{target}", inputs, types, arguments, sizes, ordered)
    return list(b.add(op).results)
