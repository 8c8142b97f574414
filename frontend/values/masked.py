"""What a mask selects, as an operand: the operation is done on everything, and selected then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..interface.errors import NestorError, UnsupportedError
from .contents import as_view
from .graph import Graph
from .selection import same_mask, settled
from .values import INSTEAD, UNKNOWN_LENGTH, Array, Masked, Value, extents_of


def as_masked(graph: Graph, value: Value) -> Value:
    """An array that still is what a mask selected, as that: whole arrays are computed with under the mask."""
    if not isinstance(value, Array) or not _may_be_lazy(graph) or value.buffer.selection is None:
        return value
    masked, ssa = value.buffer.selection
    return masked if value.buffer.value is ssa and value.whole else value


def _may_be_lazy(graph: Graph) -> bool:
    return graph.island is None and graph.is_lazy


def takes_selected(graph: Graph, values: Iterable[Value]) -> bool:
    """Whether there is something that a mask selects among values."""
    return any(
        isinstance(v, Masked)
        or (isinstance(v, Array) and v.buffer.selection is not None and _may_be_lazy(graph))
        for v in values
    )


def unknown_length(graph: Graph) -> NestorError:
    """The refusal of what needs the elements that a mask selects side by side."""
    return graph.error(UnsupportedError, UNKNOWN_LENGTH, INSTEAD)


def masked_operation(graph: Graph, compute: Callable[..., Value], operands: Sequence[Value]) -> Value:
    """An elementwise operation on what masks select: on everything, and selected then; on the elements side by side
    where masks differ, or other operands have an element for each."""
    lazy = [as_masked(graph, o) for o in operands]
    if not _are_alike(lazy):
        return side_by_side(graph, compute, operands)
    first = next(o for o in lazy if isinstance(o, Masked))
    result = compute(*[o.values if isinstance(o, Masked) else o for o in lazy])
    compact = None if graph.island is not None else lambda: side_by_side(graph, compute, operands)
    return Masked(as_view(graph, result), first.mask, compact)


def side_by_side(graph: Graph, compute: Callable[..., Value], operands: Sequence[Value]) -> Value:
    """An operation on the elements that masks select, as arrays."""
    with graph.side_by_side():
        return compute(*[settled(graph, o) if isinstance(o, Masked) else o for o in operands])


def _are_alike(operands: Sequence[Value]) -> bool:
    """Whether the same mask selects of operands of the same rank, and others are broadcast over all of it."""
    masked = [o for o in operands if isinstance(o, Masked)]
    if not masked:
        return False
    first = masked[0]
    for other in masked[1:]:
        if not same_mask(first.mask, other.mask) or len(first.values.extents) != len(other.values.extents):
            return False
    rest = len(first.values.extents) - len(first.mask.extents)
    shapes = [extents_of(o) for o in operands if not isinstance(o, Masked)]
    return not any(
        len(shape) > rest and any(e.known != 1 for e in shape[: len(shape) - rest]) for shape in shapes
    )
