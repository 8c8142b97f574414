"""Products of a computed matrix and a vector become sums: a step of nt-fuse.

    %0 = nt.multiply %a, %A : tensor<?x?xf64>
    %y = nt.dot %0, %x contract [1] x [0] : tensor<?x?xf64>, tensor<?xf64> -> tensor<?xf64>
  becomes
    %0 = nt.multiply %a, %A : tensor<?x?xf64>
    %1 = nt.broadcast %0 along [0, 1] ...
    %2 = nt.broadcast %x along [1] ...
    %3 = nt.multiply %1, %2 : tensor<?x?xf64>
    %y = nt.reduce add %3 over [1] : tensor<?x?xf64> -> tensor<?xf64>

Such a product reads each element of the matrix once, as a sum does: what computes the matrix fuses into it, and the matrix
is never stored. A product of matrices reads each element many times, and stays a product; so does one whose matrix is in
memory anyway.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.nt import DimOp, DotOp, ReduceOp, TransposeOp
from ...dialects.nt.ops import shape_of
from ...dialects.nt.work import Role, role_of
from ...lowering.nt_to_nest.dot import sum_of_products
from .canonicalize import source_of_dim


def open_matrix_vector_products(block: Block) -> None:
    """Make sums of the products in `block` that read each element of a matrix computed in it once."""
    for op in list(block.ops):
        if isinstance(op, DotOp) and any(_is_computed(value, block) for value in _read_once(op)):
            _open(op, block)


def _read_once(op: DotOp) -> list[SSAValue]:
    """The operands of rank 2 and more of which each element is in one sum: the other one has no axis of its own."""
    pairs = zip((op.lhs, op.rhs), (op.rhs, op.lhs), reversed(op.free), strict=True)
    return [
        value
        for value, other, free in pairs
        if len(shape_of(value)) > 1 and all(shape_of(other)[axis] == 1 for axis in free)
    ]


def _is_computed(value: SSAValue, block: Block) -> bool:
    """Whether elementwise operations of this block compute a value, perhaps transposed."""
    while isinstance(value.owner, TransposeOp):
        value = value.owner.operands[0]
    op = value.owner
    return isinstance(op, Operation) and op.parent is block and _is_elementwise(op)


def _is_elementwise(op: Operation) -> bool:
    return role_of(op) is Role.COMPUTES and not isinstance(op, ReduceOp)


def _open(op: DotOp, block: Block) -> None:
    def emit(inner: Operation) -> None:
        block.insert_op_before(inner, op)

    def extent_of(value: SSAValue, axis: int) -> SSAValue:
        """That of what the value is computed from: asking for its own would keep it in memory."""
        while (source := source_of_dim(value, axis)) is not None:
            if isinstance(source, SSAValue):
                return source
            value, axis = source
        dim = DimOp(value, axis)
        dim.location = op.location
        emit(dim)
        return dim.result

    value = sum_of_products(op, emit, extent_of)
    op.result.replace_all_uses_with(value)
    block.erase_op(op)
