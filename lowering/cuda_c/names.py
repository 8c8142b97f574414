"""Names of variables in CUDA C for values that the program gives none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Operation, SSAValue

from ...dialects.affine import constant_of
from ...dialects.ext.nvgpu import DeviceAsyncCopyOp

if TYPE_CHECKING:
    from .scope import KernelScope

_POSITION = re.compile(r"(?:\w+ \+ )?(\w+)", re.ASCII)
_PART = re.compile(r"(row|column)_o|.*_ax\d+(_o)?|.*_i_o", re.ASCII)


_AXES = ("column", "row")
"""Names of the last axis and of that before it."""


def name_of(scope: KernelScope, value: SSAValue) -> str:
    """The name that a pass gave a value, unless it is that of an axis and taken: then a name that says of what."""
    hint = value.name_hint
    is_taken = hint in _AXES and not scope.is_free(hint)
    return _default_name(scope, value) if hint is None or is_taken else hint


def _default_name(scope: KernelScope, value: SSAValue) -> str:
    """A name that says what a value is for: the element that it is, the axis that it counts along, what it tells."""
    op = value.owner
    if isinstance(op, memref.LoadOp):
        return _element_name(scope, op)
    if isinstance(value.type, IndexType):
        return _index_name(scope, value)
    if isinstance(value.type, IntegerType) and value.type.width.data == 1 and isinstance(op, Operation):
        return _condition_name(scope, op)
    return "t"


def loop_name(hint: str | None) -> str:
    """The name of a loop's variable; the passes of threads over a tile have none of their own."""
    if hint is None:
        return "k"
    return "step" if _PART.fullmatch(hint) else hint


def _element_name(scope: KernelScope, op: memref.LoadOp) -> str:
    buffer, indices = scope.buffer_name(op.memref), [scope.value(i).text for i in op.indices]
    named = [_POSITION.fullmatch(index) for index in indices]
    if not indices or None in named:
        return f"{buffer}_value"
    return "_".join((buffer, *(match[1] for match in named if match)))


def _index_name(scope: KernelScope, value: SSAValue) -> str:
    """`row` and `column` of what is accessed there, `index` of a list; `start` of what is only counted from."""
    for buffer, indices, at in _accesses(value):
        place = len(indices) - 1 - indices.index(at)
        if len(indices) == 1 or place > 1:
            return "index" if len(indices) == 1 else "k"
        axis = _AXES[place]
        return axis if scope.is_free(axis) else f"{scope.buffer_name(buffer)}_{axis}"
    is_start = all(isinstance(use.operation, arith.AddiOp) for use in value.uses)
    return "start" if is_start else "k"


def _accesses(value: SSAValue) -> Iterator[tuple[SSAValue, list[SSAValue], SSAValue]]:
    """What is accessed there, or a little further on where the value is a place and no start."""
    places = [value]
    if isinstance(value.owner, arith.AddiOp):
        added = [use.operation for use in value.uses if isinstance(use.operation, arith.AddiOp)]
        places += [op.result for op in added]
    for place in places:
        for use in place.uses:
            for buffer, indices in _accessed(use.operation):
                if place in indices:
                    yield buffer, indices, place


def _accessed(op: Operation) -> list[tuple[SSAValue, list[SSAValue]]]:
    """The buffers that an operation reads or writes, and where."""
    if isinstance(op, memref.LoadOp | memref.StoreOp):
        return [(op.memref, list(op.indices))]
    if isinstance(op, vector.LoadOp | vector.StoreOp):
        return [(op.base, list(op.indices))]
    if isinstance(op, DeviceAsyncCopyOp):
        return [(op.src, list(op.src_indices)), (op.dst, list(op.dst_indices))]
    return []


def _condition_name(scope: KernelScope, op: Operation) -> str:
    """`is_first_lane` for `lane == 0`; `is_inside` for an index below a bound."""
    if not isinstance(op, arith.CmpiOp) or not isinstance(op.lhs.type, IndexType):
        return "t"
    predicate, left = op.predicate.value.data, scope.value(op.lhs).text
    if predicate == 0 and constant_of(op.rhs) == 0:
        return f"is_first_{left}" if left.isidentifier() else "is_first"
    return "is_inside" if predicate in (2, 3, 4, 5) else "t"
