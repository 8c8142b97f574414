"""Masks as indices: what `x[mask]` selects is computed with, assigned and reduced.

x[mask] = v     ->   x = where(mask, v, x)
x[mask].sum()   ->   where(mask, x, 0).sum()

What a mask selects has a length that only the run knows: it can be reduced, computed with, and assigned under the same
mask, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.traits import Pure

from ...dialects.nt import ELEMENTWISE
from ..numpy_api.calls_back import may_take_selected
from ..values.arithmetic import BOOL, apply, as_weak, copy, emit, index_value
from ..values.errors import NestorError, UnsupportedError
from ..values.graph import Graph
from ..values.tensors import as_array, as_readable, read
from ..values.values import INSTEAD, UNKNOWN_LENGTH, Array, Masked, Static, Value, extents_of, shape_text
from .islands import Island, check_assignable, in_island, strip_leading
from .views import Slice, as_view, view


def unknown_length(graph: Graph) -> NestorError:
    """The refusal of what needs the elements that a mask selects side by side."""
    return graph.error(UnsupportedError, UNKNOWN_LENGTH, INSTEAD)


def spread_mask(graph: Graph, mask: Array, rank: int, axis: int = 0) -> Array:
    """A mask of some axes of an array of `rank`, as one that broadcasts over all of it."""
    rest = rank - axis - len(mask.axes)
    return view(graph, mask, [*[Slice()] * len(mask.axes), *[Static(None)] * rest])


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


def assign_masked(graph: Graph, base: Array, mask: Array, axis: int, value: Value) -> None:
    if isinstance(value, Masked):
        if axis or not same_mask(value.mask, _snapshot(graph, mask)):
            raise unknown_length(graph)
        value = value.values
        if len(extents_of(value)) != len(base.extents):
            raise unknown_length(graph)
    else:
        rest = len(base.extents) - axis - len(mask.extents)
        shape = extents_of(value)
        if len(shape) > rest and any(e.known != 1 for e in shape[: len(shape) - rest]):
            raise graph.error(
                UnsupportedError,
                f"an array of shape {shape_text(shape)} is assigned to what a mask selects; {UNKNOWN_LENGTH}",
                "assign a number, or elements selected by the same mask: x[mask] = y[mask]",
            )
        value = strip_leading(as_readable(value), rest)
        check_assignable(graph, base.extents[len(base.extents) - rest :], extents_of(value))
    whole_mask = spread_mask(graph, mask, len(base.extents), axis)

    def run(island: Island) -> None:
        chosen = emit(
            graph,
            ELEMENTWISE["select"],
            [whole_mask, as_readable(value), base],
            (BOOL, base.dtype, base.dtype),
        )
        island.assign(base, chosen)

    in_island(graph, run)


def _snapshot(graph: Graph, mask: Array) -> Array:
    return mask if graph.island is not None else as_array(read(graph, mask))


# ---- what a mask selects, reduced -------------------------------------------------------------------


def masked_attribute(graph: Graph, masked: Masked, name: str) -> Value:
    """`x[mask].size` and `x[mask].dtype`; the others say how long it is."""
    if name == "dtype":
        return Static(masked.values.dtype)
    if name == "size":
        return as_weak(_count(graph, masked), int, None)
    raise unknown_length(graph)


def masked_call(
    graph: Graph, name: str, handler: Callable[..., Value], args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    """A NumPy function or method of what a mask selects: the reductions over all of it."""
    if name == "np.where":
        return masked_operation(graph, lambda *plain: handler(graph, *plain), args)
    if may_take_selected(handler) and isinstance(args[0], Masked):
        return handler(graph, *args, **kwargs)
    reduce = _REDUCED.get(name.strip(".()").removeprefix("np."))
    if reduce is None or len(args) != 1 or not isinstance(args[0], Masked):
        raise unknown_length(graph)
    for key, item in kwargs.items():
        if key != "axis" or not isinstance(item, Static) or item.value not in (None, 0, -1):
            raise unknown_length(graph)
    if kwargs and len(args[0].values.extents) != len(args[0].mask.extents):
        raise unknown_length(graph)
    return reduce(graph, args[0])


def _filled(graph: Graph, masked: Masked, other: Value) -> Value:
    """The array with `other` where the mask does not select."""
    dtype = masked.values.dtype
    mask = spread_mask(graph, masked.mask, len(masked.values.extents))
    return emit(graph, ELEMENTWISE["select"], [mask, masked.values, other], (BOOL, dtype, dtype))


def _count(graph: Graph, masked: Masked) -> Value:
    from ..numpy_api.statistics.reductions import sum_

    total = sum_(graph, masked.mask)
    for extent in masked.values.extents[len(masked.mask.extents) :]:
        total = apply(graph, np.multiply, total, index_value(extent))
    return total


def _sum(graph: Graph, masked: Masked) -> Value:
    from ..numpy_api.statistics.reductions import sum_

    return sum_(graph, _filled(graph, masked, Static(0)))


def _prod(graph: Graph, masked: Masked) -> Value:
    from ..numpy_api.statistics.reductions import prod

    return prod(graph, _filled(graph, masked, Static(1)))


def _extreme(graph: Graph, masked: Masked, largest: bool) -> Value:
    from ..numpy_api.statistics.reductions import any_, max_, min_
    from ..values.checks import check

    dtype = masked.values.dtype
    name = "maximum" if largest else "minimum"
    text = f"zero-size array to reduction operation {name} which has no identity"
    check(graph, any_(graph, masked.mask), "ValueError", text)
    if dtype == BOOL:
        end: object = not largest
    elif dtype.kind in "iu":
        end = np.iinfo(dtype).min if largest else np.iinfo(dtype).max
    else:
        end = -np.inf if largest else np.inf
    filled = _filled(graph, masked, Static(dtype.type(end)))
    return (max_ if largest else min_)(graph, filled)


def _mean(graph: Graph, masked: Masked) -> Value:
    from ..numpy_api.statistics.reductions import sum_

    dtype = masked.values.dtype
    result = np.dtype(np.float64) if dtype.kind in "biu" else dtype
    compute = np.dtype(np.float32) if result.name in ("float16", "bfloat16") else result
    total = sum_(graph, _filled(graph, masked, Static(0)), dtype=Static(compute))
    count = copy(graph, _count(graph, masked), compute)
    return copy(graph, apply(graph, np.divide, total, count), result)


def _any(graph: Graph, masked: Masked) -> Value:
    from ..numpy_api.statistics.reductions import any_

    return any_(graph, _filled(graph, masked, Static(0)))


def _all(graph: Graph, masked: Masked) -> Value:
    from ..numpy_api.statistics.reductions import all_

    return all_(graph, _filled(graph, masked, Static(1)))


_REDUCED: dict[str, Callable[[Graph, Masked], Value]] = {
    "sum": _sum,
    "prod": _prod,
    "mean": _mean,
    "any": _any,
    "len": lambda graph, masked: _length(graph, masked),
    "all": _all,
    "max": lambda graph, masked: _extreme(graph, masked, True),
    "min": lambda graph, masked: _extreme(graph, masked, False),
    "amax": lambda graph, masked: _extreme(graph, masked, True),
    "amin": lambda graph, masked: _extreme(graph, masked, False),
}


def _length(graph: Graph, masked: Masked) -> Value:
    """How many elements along the first axis a mask selects: a Python integer known at run time."""
    from ..numpy_api.statistics.reductions import sum_

    return as_weak(sum_(graph, masked.mask), int, None)
