"""Rules for functions that are kept whole: composites, and calls of NumPy that take stacks by themselves.

    %i = nt.custom_call ordered "numpy.linalg.inv"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  becomes
    %i = nt.custom_call ordered "numpy.linalg.inv"(%a) : (tensor<8x3x3xf64>) -> tensor<8x3x3xf64>

Any other call runs for one slice after the other; code of the user's that has a decomposition beside it (`nt.native`) does
not run, for the decomposition has a form for stacks.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.attributes import NT_NATIVE
from ...dialects.custom_call_names import CUDA, ELEMENTWISE, KINDS, LANGUAGE
from ...dialects.nt import CompositeOp, CustomCallOp, ReshapeOp, YieldOp
from ...dialects.nt.ops import element_of, shape_of
from .batcher import Batcher, Rule, joined, reads_of
from .user_rules import rules_of, stacked_rules

STACKING = frozenset(
    f"numpy.linalg.{name}"
    for name in (
        *("inv", "det", "slogdet", "cholesky", "qr", "svd", "svdvals", "eigh", "eigvalsh", "pinv"),
        *("matrix_power", "matrix_rank", "cond", "cofactors"),
    )
)
"""Functions of one operand whose last two axes are a matrix, and the others a stack of them."""

ALONG_AXIS = frozenset(
    (
        *("numpy.sort", "numpy.argsort", "numpy.partition", "numpy.argpartition"),
        *(f"numpy.fft.{name}" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")),
    )
)
"""Functions of one operand that work along the axis that `axis` names."""


def _custom_call(b: Batcher, op: CustomCallOp) -> bool:
    name = op.target.data
    arguments: Mapping[str, Attribute] | None = None
    if name == "numpy.linalg.solve":
        return _solve(b, op)
    if LANGUAGE in op.arguments.data or CUDA in op.arguments.data:
        return _code(b, op)
    if len(op.inputs) == 1 and name in STACKING:
        arguments = op.arguments.data
    elif len(op.inputs) == 1 and name in ALONG_AXIS:
        arguments = _with_axis_moved(op.arguments.data)
    if arguments is None:
        return False
    _call(b, op, [b.stack(v) for v in op.inputs], arguments)
    return True


def _code(b: Batcher, op: CustomCallOp) -> bool:
    """Code of the user's: it is left out, or is a function of each element, or has no form for stacks."""
    users = [use.operation for result in op.results_ for use in result.uses]
    if users and all(NT_NATIVE in user.attributes for user in users):
        return True
    kinds = op.arguments.data[KINDS]
    assert isinstance(kinds, ArrayAttr)
    is_array = [kind == StringAttr("array") for kind in kinds]
    numbers = [v for v, array in zip(op.inputs, is_array, strict=True) if not array]
    if ELEMENTWISE not in op.arguments.data or not any(is_array) or any(map(b.is_stacked, numbers)):
        return False
    inputs = [b.stack(v) if array else b.values[v] for v, array in zip(op.inputs, is_array, strict=True)]
    _call(b, op, inputs, op.arguments.data)
    return True


def _call(b: Batcher, op: CustomCallOp, inputs: list[SSAValue], arguments: Mapping[str, Attribute]) -> None:
    sizes = joined(*[joined(b.sizes, b.mapped(op.sizes_of(k), op)) for k in range(len(op.results_))])
    types = [b.stack_type(r.type) for r in op.results_]
    new = CustomCallOp(op.target.data, inputs, types, arguments, sizes, op.is_ordered)
    new.attributes.update(op.attributes)
    b.add(new)
    for old, result in zip(op.results_, new.results_, strict=True):
        b.put(old, result)


def _with_axis_moved(arguments: Mapping[str, Attribute]) -> Mapping[str, Attribute] | None:
    """The options with the axis that a stack has it at; None where it is not one number."""
    axis = arguments.get("axis")
    if not isinstance(axis, IntegerAttr):
        return None
    number = axis.value.data
    return {**arguments, "axis": axis if number < 0 else IntegerAttr(number + 1, axis.type)}


def _solve(b: Batcher, op: CustomCallOp) -> bool:
    """A vector on the right becomes a matrix of one column: NumPy takes a stack of vectors for one matrix."""
    left, right = [b.stack(v) for v in op.inputs]
    if len(shape_of(op.inputs[0])) != 2:
        return False
    if len(shape_of(op.inputs[1])) > 1:
        _call(b, op, [left, right], op.arguments.data)
        return True
    slices, extent = shape_of(right)
    sizes = b.dims(right)
    column = TensorType(element_of(right), [slices, extent, 1])
    right = b.value(ReshapeOp(right, column, sizes))
    kind = b.stack_type(op.results_[0].type)
    wide = TensorType(kind.element_type, [*kind.get_shape(), 1])
    unknown = joined(b.sizes, b.mapped(op.sizes, op))
    new = CustomCallOp(op.target.data, [left, right], [wide], op.arguments.data, unknown, op.is_ordered)
    solved = b.add(new).results[0]
    b.put(op.results_[0], b.value(ReshapeOp(solved, kind, unknown)))
    return True


# ---- composites -----------------------------------------------------------------------------------------

WHOLE: dict[str, int] = {
    "softmax": 1,
    "log_softmax": 1,
    "gelu": 1,
    "layer_norm": 1,
    "logsumexp": 1,
    "standardised": 1,
    "divided_by_rms": 1,
    "rms_norm": 1,
    "attention": 3,
}
"""Composites that are the same function of a stack, where their first operands are stacked and no others."""

WITHOUT_AXES = ("gelu", "attention")
"""Those of them that have no axis: of the others, one that names none works along all."""


def _composite(b: Batcher, op: CompositeOp) -> bool:
    """The composite of a stack, or what it stands for; one with derivatives of the user's keeps them."""
    if NT_NATIVE in op.attributes:
        for result, value in zip(op.results_, op.inputs[len(op.results_) :], strict=True):
            b.put(result, b.values[value], stacked=b.is_stacked(value))
        return True
    count = WHOLE.get(op.label.data)
    parameters = op.parameters.data
    stacked = [b.is_stacked(v) for v in op.inputs]
    moved = parameters if count is None else _axes_moved(op)
    from_outside = any(b.is_stacked(v) for v in reads_of(op) if v not in op.inputs)
    if rules_of(op):
        moved = parameters
        if from_outside:
            raise b.fail(
                op, "nt.batch: a function with derivatives of its own uses a number that is sliced", "pass it"
            )
    else:
        if count is None or moved is None or any(stacked[count:]) or from_outside:
            return _decomposed(b, op)
        stacked = [k < count for k in range(len(op.inputs))]
    inputs = [b.stack(v) if s else b.values[v] for v, s in zip(op.inputs, stacked, strict=True)]
    block = Block(arg_types=[v.type for v in inputs])
    source = op.body.block
    for k, (old, new) in enumerate(zip(source.args, block.args, strict=True)):
        b.put(old, new, stacked=stacked[k])
    with b.inside(block):
        *ops, end = source.ops
        b.run(ops)
        b.add(YieldOp(*[b.stack(v) for v in end.operands]))
    types = [b.stack_type(r.type) for r in op.results_]
    made = CompositeOp(op.label.data, inputs, Region(block), types, DictionaryAttr(dict(moved)))
    made.attributes.update({**op.attributes, **stacked_rules(b, op)})
    b.add(made)
    for old, new in zip(op.results_, made.results_, strict=True):
        b.put(old, new)
    return True


def _axes_moved(op: CompositeOp) -> Mapping[str, Attribute] | None:
    """The parameters of a composite with `axis` as a stack has it; None where it is no number, or several."""
    parameters = op.parameters.data
    axis = parameters.get("axis")
    if axis is None and op.label.data in WITHOUT_AXES:
        return parameters
    if axis is None:
        axis = ArrayAttr([IntegerAttr(k, i64) for k in range(len(shape_of(op.inputs[0])))])
    moved = [_axis_moved(one) for one in (axis.data if isinstance(axis, ArrayAttr) else (axis,))]
    if any(one is None for one in moved):
        return None
    return {**parameters, "axis": ArrayAttr(moved) if isinstance(axis, ArrayAttr) else moved[0]}  # pyright: ignore


def _axis_moved(axis: Attribute) -> IntegerAttr | None:
    if not isinstance(axis, IntegerAttr) or not isinstance(axis.type, IntegerType):
        return None
    number = axis.value.data
    return axis if number < 0 else IntegerAttr(number + 1, axis.type)


def _decomposed(b: Batcher, op: CompositeOp) -> bool:
    block = op.body.block
    for argument, value in zip(block.args, op.inputs, strict=True):
        b.put(argument, b.values[value], stacked=b.is_stacked(value))
    *ops, end = block.ops
    b.run(ops)
    for result, value in zip(op.results_, end.operands, strict=True):
        b.put(result, b.values[value], stacked=b.is_stacked(value))
    return True


RULES: dict[type[Operation], Rule] = {CustomCallOp: _custom_call, CompositeOp: _composite}  # pyright: ignore
