"""Rules of upstream operations that MLIR's verifiers check and xDSL's do not, or that passes here rely on.

Numbers that are no index, axes that a shape does not have, what the regions of `scf` hand on, names of extents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from xdsl.dialects import arith, func, memref, scf, tensor
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType, IntegerAttr, MemRefType, TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue

from .affine import constant_of
from .attributes import DIMS
from .limits import is_index


def broken_rule(op: Operation) -> str | None:
    """What is wrong with `op`; None where nothing is, or where its own verifier will say it."""
    rule = _rule_of(type(op))
    return None if rule is None else rule(op)


@cache
def _rule_of(kind: type[Operation]) -> Callable[[Any], str | None] | None:
    return next((rule for kinds, rule in _RULES if issubclass(kind, kinds)), None)


def _constant(op: arith.ConstantOp) -> str | None:
    value = op.value
    if (
        not isinstance(value, IntegerAttr)
        or not isinstance(value.type, IndexType)
        or is_index(value.value.data)
    ):
        return None
    return f"has the index {value.value.data}: it does not fit in 64 bits"


def _axis(op: memref.DimOp | tensor.DimOp) -> str | None:
    axis, shaped = constant_of(op.index), op.source.type
    if axis is None or not isinstance(shaped, MemRefType | TensorType) or 0 <= axis < shaped.get_num_dims():
        return None
    return f"asks for the extent of axis {axis} of {shaped}, which has rank {shaped.get_num_dims()}"


def _if(op: scf.IfOp) -> str | None:
    if op.results and not op.false_region.blocks:
        return "has results, and no else that gives them"
    regions = [region for region in op.regions if region.blocks]
    return next(filter(None, (_handed_on(region, scf.YieldOp, op.result_types) for region in regions)), None)


def _for(op: scf.ForOp) -> str | None:
    if list(op.result_types) != _types(op.iter_args):
        return f"carries {_text(_types(op.iter_args))} and has results of {_text(op.result_types)}"
    return _handed_on(op.body, scf.YieldOp, op.result_types)


def _while(op: scf.WhileOp) -> str | None:
    taken, passed = _types(op.arguments), list(op.result_types)
    for region, types in ((op.before_region, taken), (op.after_region, passed)):
        if (found := _types(region.block.args)) != types:
            return f"has a region of arguments {_text(found)}; they are {_text(types)}"
    return _handed_on(op.before_region, scf.ConditionOp, passed) or _handed_on(
        op.after_region, scf.YieldOp, taken
    )


def _function(op: func.FuncOp) -> str | None:
    """`nest.dims` names the extent of each axis of a buffer."""
    for type, attributes in zip(op.function_type.inputs, op.arg_attrs or (), strict=False):
        dims = attributes.data.get(DIMS) if isinstance(attributes, DictionaryAttr) else None
        rank = type.get_num_dims() if isinstance(type, MemRefType) else 0
        if dims is not None and not (isinstance(dims, ArrayAttr) and len(dims) == rank):
            return f"has {DIMS} = {dims} on an argument of type {type}: it is a list of {rank}, one for each axis"
    return None


def _handed_on(
    region: Region, kind: type[scf.YieldOp | scf.ConditionOp], types: Sequence[Attribute]
) -> str | None:
    """What is wrong with the values at the end of a region."""
    last = region.block.last_op
    if not isinstance(last, kind):
        return None
    found = _types(last.operands[1:] if isinstance(last, scf.ConditionOp) else last.operands)
    return (
        None
        if found == list(types)
        else f"has a region that gives {_text(found)}; it is to give {_text(types)}"
    )


def _types(values: Sequence[SSAValue]) -> list[Attribute]:
    return [value.type for value in values]


def _text(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


_RULES = (
    ((arith.ConstantOp,), _constant),
    ((memref.DimOp, tensor.DimOp), _axis),
    ((scf.IfOp,), _if),
    ((scf.ForOp,), _for),
    ((scf.WhileOp,), _while),
    ((func.FuncOp,), _function),
)
