"""What a mask selects, as an operand: the operation is done on everything, and selected then."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.traits import Pure

from ..interface.errors import NestorError, UnsupportedError
from .contents import as_view
from .graph import Graph
from .values import INSTEAD, UNKNOWN_LENGTH, Array, Masked, Value, extents_of


def unknown_length(graph: Graph) -> NestorError:
    """The refusal of what needs the elements that a mask selects side by side."""
    return graph.error(UnsupportedError, UNKNOWN_LENGTH, INSTEAD)


def same_mask(a: Array, b: Array) -> bool:
    """Whether two masks are the same array with the same contents."""
    if a is b:
        return True
    if not a.whole or not b.whole or a.buffer.value is None or b.buffer.value is None:
        return False
    return _same_value(a.buffer.value, b.buffer.value)


def _same_value(a: SSAValue, b: SSAValue) -> bool:
    """Whether two values are computed alike from the same values."""
    if a is b:
        return True
    one, other = a.owner, b.owner
    if not isinstance(one, Operation) or type(one) is not type(other) or not one.has_trait(Pure):
        return False
    assert isinstance(other, Operation)
    alike = a.type == b.type and one.properties == other.properties and one.attributes == other.attributes
    alike = alike and len(one.operands) == len(other.operands) and not one.regions
    return alike and all(_same_value(x, y) for x, y in zip(one.operands, other.operands, strict=True))


def masked_operation(graph: Graph, compute: Callable[..., Value], operands: Sequence[Value]) -> Value:
    """An elementwise operation on what masks select: on everything, and selected then."""
    masked = [o for o in operands if isinstance(o, Masked)]
    first = masked[0]
    for other in masked[1:]:
        same = same_mask(first.mask, other.mask)
        if not same or len(first.values.extents) != len(other.values.extents):
            raise unknown_length(graph)
    plain: list[Value] = []
    for operand in operands:
        if isinstance(operand, Masked):
            plain.append(operand.values)
            continue
        rest = len(first.values.extents) - len(first.mask.extents)
        shape = extents_of(operand)
        if len(shape) > rest and any(e.known != 1 for e in shape[: len(shape) - rest]):
            raise unknown_length(graph)
        plain.append(operand)
    result = compute(*plain)
    return Masked(as_view(graph, result), first.mask)
