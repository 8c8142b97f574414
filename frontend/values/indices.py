"""Integers of any type as affine ones: indices, bounds of slices and ranges, extents that only the run knows.

a[k:] (k = x.argmax())      %0 = nt.to_scalar %k, then once for all uses of it, right behind it:
                            %1 = arith.index_cast %0 : i64 to index
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import Pure

from ...dialects.nest import IndexOp, LoadOp
from ...dialects.nt.types import scalar_type
from ...lowering.nt_to_nest.scalars import convert as convert_scalar
from .arithmetic import affine_of
from .contents import read
from .extents import Affine, Atom
from .graph import INDEX, Graph, element_type
from .promotion import WEAK_DTYPES
from .tensors import to_scalar
from .values import Array, Scalar, Tensor, Value

_INT = WEAK_DTYPES[int]


def integer_of(graph: Graph, value: Value) -> Affine | None:
    """What `operator.index(value)` gives, as an affine integer; None where Python raises TypeError.

    An unsigned number above those of int64 becomes the largest of these, which is outside of every array too.
    """
    if isinstance(value, Tensor | Scalar):
        is_python_bool = value.dtype.kind == "b" and value.weak is bool
        if (value.dtype.kind not in "iu" and not is_python_bool) or _rank(value):
            return None
        return Affine.of(_atom(graph, value))
    if isinstance(value, Array):
        if value.axes or value.dtype.kind not in "iu":
            return None
        return Affine.of(_atom(graph, _element(graph, value)))
    if _is_numpy_bool(value):
        return None
    return affine_of(value)


def _rank(value: Tensor | Scalar) -> int:
    return len(value.extents) if isinstance(value, Tensor) else 0


def _is_numpy_bool(value: Value) -> bool:
    return isinstance(getattr(value, "raw", None), np.bool_)


def _element(graph: Graph, array: Array) -> Tensor | Scalar:
    """The number in an array of rank 0."""
    if graph.island is not None:
        return Scalar(graph.island.load(array, ()), array.dtype)
    return read(graph, array)


def _atom(graph: Graph, value: Tensor | Scalar) -> Atom:
    """The number as an atom: one for all uses of it, so that bounds made of it are equal."""
    known = graph.run_integers.setdefault(_identity(graph, value.ssa), [])
    for atom in known:
        if graph.is_visible(atom.value):
            return atom
    low = 0 if value.dtype.kind in "bu" else None
    known.append(Atom(_behind(graph, value), low=low))
    return known[-1]


def _identity(graph: Graph, value: SSAValue, depth: int = 16) -> Hashable:
    """Equal for values that are the same number: computed alike, loads in one block from the same memory."""
    op = value.owner
    if isinstance(op, Block) or op.regions or len(op.results) != 1 or not depth:
        return value
    age = None
    if isinstance(op, LoadOp):
        age = None if graph.island is None else graph.island.age_of(value)
        if age is None:
            return value
    elif not isinstance(op, IndexOp) and not op.has_trait(Pure):
        return value
    operands = tuple([_identity(graph, operand, depth - 1) for operand in op.operands])
    home = None if age is None else op.parent
    return op.name, home, age, tuple(sorted(op.properties.items(), key=str)), value.type, operands


def _behind(graph: Graph, value: Tensor | Scalar) -> SSAValue:
    """Its SSA value of type index, computed right behind it: whatever sees the number sees the index."""
    block, owner = Block(), value.ssa.owner
    with graph.inside(block):
        scalar = value.ssa if isinstance(value, Scalar) else to_scalar(graph, value)
        emitter = graph.emitter()
        if value.dtype == np.uint64:
            largest = emitter.const(np.iinfo(np.int64).max, scalar_type(element_type(value.dtype)))
            scalar = emitter.op(arith.MinUIOp, (scalar, largest))
        elif value.dtype != _INT:
            scalar = convert_scalar(emitter, scalar, element_type(value.dtype), i64)
        index = graph.insert(arith.IndexCastOp.create(operands=[scalar], result_types=[INDEX]))
    assert index is not None
    ops = list(block.ops)
    for op in ops:
        op.detach()
    if isinstance(owner, Operation):
        home = owner.parent
        assert home is not None
        home.insert_ops_after(ops, owner)
    elif owner.first_op is not None:
        owner.insert_ops_before(ops, owner.first_op)
    else:
        owner.add_ops(ops)
    return index
