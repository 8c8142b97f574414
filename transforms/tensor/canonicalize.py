"""Canonicalisation of `nt`: every rule by operation type. xDSL's `canonicalize` pass is the driver.

    %0 = nt.constant dense<2.0> : tensor<f32>
    %1 = nt.broadcast %0 along [] : tensor<f32> -> tensor<4xf32>
    %2 = nt.multiply %1, %1 : tensor<4xf32>
    %3 = nt.transpose %x perm [1, 0] : tensor<4x5xf32> -> tensor<5x4xf32>
    %4 = nt.transpose %3 perm [1, 0] : tensor<5x4xf32> -> tensor<4x5xf32>
  becomes
    %0 = nt.constant dense<4.0> : tensor<f32>
    %2 = nt.broadcast %0 along [] : tensor<f32> -> tensor<4xf32>        // and %x for %4

Constant folding is part of it (by patterns rather than xDSL's folders, which lose locations). The normal forms: a splat
constant is a rank-0 constant and a broadcast; constants are right operands; broadcasts come after computation; views are
composed; products have no operand with repeated rows, and those that products read with axes exchanged and joined are
made that way; an extent is read from a function argument where it can be.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IntegerAttr, IntegerType, TensorType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from ...analysis.tensor.extents import Extents
from ...dialects.affine import AffineList
from ...dialects.nt.constants import convert, dtype_of, from_numpy
from ...dialects.nt.dot_op import DotOp
from ...dialects.nt.elementwise import ELEMENTWISE
from ...dialects.nt.elementwise_ops import ELEMENTWISE_OPS
from ...dialects.nt.ops import (
    INDEX,
    BroadcastOp,
    CastOp,
    ConstantOp,
    DimOp,
    FromScalarOp,
    ReduceOp,
    ReshapeOp,
    SliceOp,
    ToScalarOp,
    TransposeOp,
    element_of,
    shape_of,
)
from ...dialects.nt.reductions import REDUCTIONS
from ...dialects.nt.types import kind_of, width_of
from .algebra import BY_ARITY
from .dot_rules import dot_of_repeated, transpose_of_dot
from .rules import FOLD_LIMIT, REPEATED_LIMIT, Canonicalize, New, Rule, constant_of, uniform_of

# ---- constants and scalars ----------------------------------------------------------------------------


def splat_to_broadcast(op: ConstantOp, new: New) -> SSAValue | None:
    """`dense<1.0> : tensor<4xf32>` is a broadcast of a rank-0 constant: one element, not four."""
    shape = shape_of(op.result)
    if not shape or 0 in shape:
        return None
    value = uniform_of(op.result)
    return None if value is None else new.uniform(value, op.result, op.result.type)


def scalar_round_trip(op: FromScalarOp | ToScalarOp, new: New) -> SSAValue | None:
    """`to_scalar(from_scalar(s))`: s; `from_scalar(to_scalar(t))`: t."""
    inner = op.operands[0].owner
    if not isinstance(inner, FromScalarOp | ToScalarOp) or type(inner) is type(op):
        return None
    source = inner.operands[0]
    return source if source.type == op.result.type else None


def fold_from_scalar(op: FromScalarOp, new: New) -> SSAValue | None:
    """An arith.constant as a tensor is a constant."""
    owner = op.scalar.owner
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, IntegerAttr | FloatAttr):
        return None
    element = element_of(op.result)
    # Scalars are signless: an unsigned element is the number modulo two to its width.
    number = owner.value.value.data
    if kind_of(element) == "u":
        number = int(number) % (1 << width_of(element))
    return new.constant(from_numpy(np.array(number, dtype_of(element)), element))


def fold_to_scalar(op: ToScalarOp, new: New) -> SSAValue | None:
    """A constant as a scalar is an arith.constant."""
    array, type_ = constant_of(op.tensor), op.result.type
    if array is None or array.dtype.kind == "c":
        return None
    if isinstance(type_, IntegerType):
        value = IntegerAttr(int(array), type_, truncate_bits=True)
    else:
        value = FloatAttr(float(array), type_)  # pyright: ignore
    return new.op(arith.ConstantOp, (), type_, {"value": value})


# ---- casts --------------------------------------------------------------------------------------------

_FLOAT_DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}


def fold_cast(op: CastOp, new: New) -> SSAValue | None:
    """A constant converts as NumPy's astype does, unless NumPy leaves the result open."""
    source, result = element_of(op.source), element_of(op.result)
    value = uniform_of(op.source)
    if value is not None:
        scalar = convert(value, source, result)
        return None if scalar is None else new.uniform(scalar, op.source, op.result.type)
    array = constant_of(op.source)
    if array is None or array.size > FOLD_LIMIT:
        return None
    converted = convert(array, source, result)
    return None if converted is None else new.constant(from_numpy(converted, result))


def cast_chain(op: CastOp, new: New) -> SSAValue | None:
    """A cast to its own type is nothing; a cast of a cast that lost nothing is one cast."""
    if op.source.type == op.result.type:
        return op.source
    inner = op.source.owner
    if not isinstance(inner, CastOp):
        return None
    first, middle, last = element_of(inner.source), element_of(inner.result), element_of(op.result)
    if not _is_exact(first, middle) or (
        kind_of(middle) == "f" and kind_of(first) != "f" and kind_of(last) in "iu"
    ):
        return None
    return inner.source if first == last else new.op(CastOp, (inner.source,), op.result.type)


def _is_exact(source, result) -> bool:
    """Whether every value of element type `source` is one of `result`."""
    kinds = kind_of(source) + kind_of(result)
    if kinds[0] == "b":
        return True
    if (
        "c" in kinds
    ):  # what a cast between parts and wholes loses, casts of complex numbers keep to themselves
        return kinds == "cc" and width_of(source) < width_of(result)
    if kinds == "ff":
        return _FLOAT_DIGITS[str(source)] <= _FLOAT_DIGITS[str(result)] and width_of(source) < width_of(
            result
        )
    if kinds[1] == "f":
        # The power keeps the largest integer of the type within float16's range.
        return width_of(source) - (kinds[0] == "i") <= _FLOAT_DIGITS[str(result)]
    if kinds in ("ii", "uu"):
        return width_of(source) <= width_of(result)
    return kinds == "ui" and width_of(source) < width_of(result)


def cast_before_broadcast(op: CastOp, new: New) -> SSAValue | None:
    """`cast(broadcast(x))` is `broadcast(cast(x))`: fewer elements."""
    inner = op.source.owner
    if not isinstance(inner, BroadcastOp):
        return None
    small = TensorType(element_of(op.result), shape_of(inner.source))
    return new.broadcast(new.op(CastOp, (inner.source,), small), inner.dims, op.result.type, inner.sizes)


# ---- shapes -------------------------------------------------------------------------------------------


def broadcast_chain(op: BroadcastOp, new: New) -> SSAValue | None:
    """A broadcast to its own type is nothing; two are one."""
    if op.source.type == op.result.type:
        return op.source
    inner = op.source.owner
    if not isinstance(inner, BroadcastOp):
        return None
    along = [op.dims[d] for d in inner.dims]
    return new.broadcast(inner.source, along, op.result.type, op.sizes)


def fold_broadcast(op: BroadcastOp, new: New) -> SSAValue | None:
    """A few values are repeated. A table that becomes larger so is read where it is: each element of a constant is code."""
    array, shape = constant_of(op.source), shape_of(op.result)
    if array is None or not array.shape or DYNAMIC_INDEX in shape:
        return None
    if np.prod(shape) > max(array.size, REPEATED_LIMIT):
        return None
    expanded = [1] * len(shape)
    for k, d in enumerate(op.dims):
        expanded[d] = array.shape[k]
    repeated = np.broadcast_to(array.reshape(expanded), shape)
    return new.constant(from_numpy(repeated, element_of(op.result)))


def reshape_chain(op: ReshapeOp, new: New) -> SSAValue | None:
    """A reshape to the shape it has is nothing; two are one; of a constant, a constant."""
    if _same_shape(op.source, op.result):
        return op.source
    array = constant_of(op.source)
    if array is not None and DYNAMIC_INDEX not in shape_of(op.result):
        return new.constant(from_numpy(array.reshape(shape_of(op.result)), element_of(op.result)))
    inner = op.source.owner
    if not isinstance(inner, ReshapeOp):
        return None
    return new.add(ReshapeOp(inner.source, op.result.type, op.sizes))  # pyright: ignore


def reshape_of_uniform(op: ReshapeOp, new: New) -> SSAValue | None:
    """A reshape of one repeated value repeats it in the new shape."""
    value = uniform_of(op.source)
    if value is None:
        return None
    constant = new.constant(from_numpy(value, element_of(op.result)))
    return new.broadcast(constant, (), op.result.type, op.sizes)


def _same_shape(source: SSAValue, result: SSAValue) -> bool:
    """Whether the extents are equal: known so, or one is unknown and equal element counts make it so."""
    shape = shape_of(source)
    if shape != shape_of(result):
        return False
    if shape.count(DYNAMIC_INDEX) == 0 or (shape.count(DYNAMIC_INDEX) == 1 and 0 not in shape):
        return True
    extents = Extents()
    return extents.of(source) == extents.of(result)


def transpose_chain(op: TransposeOp, new: New) -> SSAValue | None:
    """The identity is nothing; two are one; of a constant, a constant."""
    perm = op.permutation
    if perm == tuple(range(len(perm))):
        return op.source
    array = constant_of(op.source)
    if array is not None:
        return new.constant(from_numpy(np.ascontiguousarray(array.transpose(perm)), element_of(op.result)))
    inner = op.source.owner
    if not isinstance(inner, TransposeOp):
        return None
    return new.add(TransposeOp(inner.source, [inner.permutation[p] for p in perm]))


def transpose_of_scalar(op: TransposeOp, new: New) -> SSAValue | None:
    """A transpose of a broadcast scalar is a broadcast."""
    inner = op.source.owner
    if not isinstance(inner, BroadcastOp) or shape_of(inner.source):
        return None
    sizes = iter(range(len(inner.sizes)))
    position = {d: next(sizes) for d, e in enumerate(shape_of(op.source)) if e == DYNAMIC_INDEX}
    moved = AffineList(
        tuple([inner.sizes.exprs[position[p]] for p in op.permutation if p in position]),
        inner.sizes.operands,
    )
    return new.broadcast(inner.source, (), op.result.type, moved)


def slice_chain(op: SliceOp, new: New) -> SSAValue | None:
    """The whole is nothing; a slice of a slice is one slice."""
    whole = op.offsets.constants() == (0,) * len(op.stride_values) and set(op.stride_values) <= {1}
    if whole and shape_of(op.source) == shape_of(op.result):
        extents = Extents()
        if extents.of(op.source) == extents.of(op.result):
            return op.source
    inner = op.source.owner
    if not isinstance(inner, SliceOp):
        return None
    joined = inner.offsets.concat(op.offsets)
    rank = len(inner.stride_values)
    offsets = [joined.exprs[k] + _times(joined.exprs[rank + k], inner.stride_values[k]) for k in range(rank)]
    strides = [a * b for a, b in zip(inner.stride_values, op.stride_values, strict=True)]
    start = AffineList(tuple(offsets), joined.operands).canonical()
    return new.add(SliceOp(inner.source, start, strides, op.result.type, op.sizes))  # pyright: ignore


def _times(expr, factor: int):
    return expr if factor == 1 else expr * AffineConstantExpr(factor)


def fold_slice(op: SliceOp, new: New) -> SSAValue | None:
    """A window of a constant is a constant."""
    array, start, shape = constant_of(op.source), op.offsets.constants(), shape_of(op.result)
    if array is None or start is None or DYNAMIC_INDEX in shape:
        return None
    places = [
        np.array([first + stride * k for k in range(size)], np.intp)
        for first, stride, size in zip(start, op.stride_values, shape, strict=True)
    ]
    window = array[np.ix_(*places)] if places else array
    return new.constant(from_numpy(np.ascontiguousarray(window), element_of(op.result)))


def slice_of_uniform(op: SliceOp, new: New) -> SSAValue | None:
    """A window of one repeated value repeats it in the window's shape."""
    value = uniform_of(op.source)
    if value is None:
        return None
    constant = new.constant(from_numpy(value, element_of(op.result)))
    return new.broadcast(constant, (), op.result.type, op.sizes)


# ---- reductions ---------------------------------------------------------------------------------------


def fold_reduce(op: ReduceOp, new: New) -> SSAValue | None:
    """A small constant reduces as the ufunc's `reduce` does."""
    reduction = REDUCTIONS.get(op.combiner.data)
    shape = shape_of(op.inputs[0])
    if reduction is None or DYNAMIC_INDEX in shape or np.prod(shape) > FOLD_LIMIT or 0 in shape:
        return None
    array, element = constant_of(op.inputs[0]), element_of(op.inputs[0])
    value = uniform_of(op.inputs[0])
    if value is not None:
        array = np.broadcast_to(value, shape)
    # Sums and products of half precision are kept in float32 at run time; NumPy's own differ.
    if array is None or (kind_of(element) == "f" and width_of(element) < 32):
        return None
    with np.errstate(all="ignore"):
        reduced = getattr(np, reduction.ufunc).reduce(array, axis=op.reduced, dtype=array.dtype)
    return new.constant(from_numpy(np.asarray(reduced), element))


def reduce_nothing(op: ReduceOp, new: New) -> SSAValue | None:
    """Over nothing or extents of 1: a reshape (not a sum of floats: that turns -0.0 into 0.0)."""
    if op.combiner.data not in REDUCTIONS:
        return None
    source = op.inputs[0]
    shape = shape_of(source)
    if any(shape[d] != 1 for d in op.reduced):
        return None
    if op.combiner.data == "add" and kind_of(element_of(source)) in "fc":
        return None
    if not op.reduced:
        return source
    if DYNAMIC_INDEX in shape:
        return None
    return new.add(ReshapeOp(source, op.results[0].type))  # pyright: ignore


# ---- extents ------------------------------------------------------------------------------------------


def known_dim(op: DimOp, new: New) -> SSAValue | None:
    """A static extent is a constant; one of a computed value is that of what it is computed from."""
    axis = op.axis.value.data
    extent = shape_of(op.tensor)[axis]
    if extent != DYNAMIC_INDEX:
        return new.op(arith.ConstantOp, (), INDEX, {"value": IntegerAttr(extent, INDEX)})
    source = source_of_dim(op.tensor, axis)
    if source is None or isinstance(source, SSAValue):
        return source
    tensor, source_axis = source
    return new.op(DimOp, (tensor,), INDEX, {"axis": IntegerAttr(source_axis, i64)})


def source_of_dim(value: SSAValue, axis: int) -> SSAValue | tuple[SSAValue, int] | None:
    """The unknown extent of a computed value: a number, or an axis of what it is computed from; None: of its own."""
    owner = value.owner
    handler = _DIM_SOURCES.get(type(owner)) if isinstance(owner, Operation) else None
    return None if handler is None else handler(owner, axis)


def _same_axis(op: Operation, axis: int):
    return op.operands[0], axis


def _sized_axis(op: BroadcastOp | ReshapeOp | SliceOp, axis: int):
    number = shape_of(op.result)[:axis].count(DYNAMIC_INDEX)
    return op.sizes[number].single_value()


def _transposed_axis(op: TransposeOp, axis: int):
    return op.source, op.permutation[axis]


def _kept_axis(op: ReduceOp, axis: int):
    kept = [d for d in range(len(shape_of(op.inputs[0]))) if d not in op.reduced]
    return op.inputs[0], kept[axis]


_DIM_SOURCES = {
    **{op_type: _same_axis for op_type in ELEMENTWISE_OPS.values()},
    CastOp: _same_axis,
    BroadcastOp: _sized_axis,
    ReshapeOp: _sized_axis,
    SliceOp: _sized_axis,
    TransposeOp: _transposed_axis,
    ReduceOp: _kept_axis,
}

# ---- all of them --------------------------------------------------------------------------------------

_STRUCTURE: dict[type[Operation], tuple[Rule, ...]] = {
    ConstantOp: (splat_to_broadcast,),
    FromScalarOp: (scalar_round_trip, fold_from_scalar),
    ToScalarOp: (scalar_round_trip, fold_to_scalar),
    CastOp: (fold_cast, cast_chain, cast_before_broadcast),
    BroadcastOp: (broadcast_chain, fold_broadcast),
    ReshapeOp: (reshape_chain, reshape_of_uniform),
    TransposeOp: (transpose_chain, transpose_of_scalar, transpose_of_dot),
    DotOp: (dot_of_repeated,),
    SliceOp: (slice_chain, fold_slice, slice_of_uniform),
    ReduceOp: (reduce_nothing, fold_reduce),
    DimOp: (known_dim,),
}

RULES: dict[type[Operation], tuple[Rule, ...]] = {
    **_STRUCTURE,
    **{op_type: BY_ARITY[ELEMENTWISE[name].arity] for name, op_type in ELEMENTWISE_OPS.items()},
}
"""The rules of every operation of `nt` that has any, in the order they are tried."""

PATTERNS = (Canonicalize(RULES),)
