"""What a mask selects in calls of NumPy: the reductions over all of it, its size and dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...dialects.nt import ELEMENTWISE
from ..indexing.masks import spread_mask
from ..values.arithmetic import apply, as_weak, copy, emit, index_value
from ..values.graph import Graph
from ..values.masked import as_masked, masked_operation
from ..values.selection import count_true
from ..values.tensors import BOOL
from ..values.values import Index, Masked, Static, Value
from .calls_back import may_take_selected


def masked_attribute(graph: Graph, masked: Masked, name: str) -> Value | None:
    """`x[mask].size` and `x[mask].dtype`; others are those of the elements side by side."""
    if name == "dtype":
        return Static(masked.values.dtype)
    if name == "size":
        return as_weak(_count(graph, masked), int, None)
    return None


def masked_call(
    graph: Graph, name: str, handler: Callable[..., Value], args: Sequence[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A NumPy function or method of what a mask selects, where it goes over everything, under the mask: reductions over
    all of it. None for all others, which get the elements side by side."""
    if name == "np.where" and len(args) == 3 and not kwargs:
        return masked_operation(graph, lambda *plain: handler(graph, *plain), args)
    first = as_masked(graph, args[0]) if args else None
    if isinstance(first, Masked):
        if may_take_selected(handler):
            return handler(graph, first, *args[1:], **kwargs)
        reduce = _REDUCED.get(name.strip(".()").removeprefix("np."))
        if reduce is _length and not isinstance(args[0], Masked):
            return None  # the array knows it
        if reduce is not None and _is_whole(first, args, kwargs):
            return reduce(graph, first)
    return None


def _is_whole(masked: Masked, args: Sequence[Value], kwargs: dict[str, Value]) -> bool:
    """Whether a reduction is over all elements, with no other arguments."""
    if len(args) != 1 or (kwargs and len(masked.values.extents) != len(masked.mask.extents)):
        return False
    return all(
        key == "axis" and isinstance(item, Static) and item.value in (None, 0, -1)
        for key, item in kwargs.items()
    )


def _filled(graph: Graph, masked: Masked, other: Value) -> Value:
    """The array with `other` where the mask does not select."""
    dtype = masked.values.dtype
    mask = spread_mask(graph, masked.mask, len(masked.values.extents))
    return emit(graph, ELEMENTWISE["select"], [mask, masked.values, other], (BOOL, dtype, dtype))


def _count(graph: Graph, masked: Masked) -> Value:
    from .statistics.reductions import sum_

    total = sum_(graph, masked.mask)
    for extent in masked.values.extents[len(masked.mask.extents) :]:
        total = apply(graph, np.multiply, total, index_value(extent))
    return total


def _sum(graph: Graph, masked: Masked) -> Value:
    from .statistics.reductions import sum_

    return sum_(graph, _filled(graph, masked, Static(0)))


def _prod(graph: Graph, masked: Masked) -> Value:
    from .statistics.reductions import prod

    return prod(graph, _filled(graph, masked, Static(1)))


def _extreme(graph: Graph, masked: Masked, largest: bool) -> Value:
    from ..values.checks import check
    from .statistics.reductions import any_, max_, min_

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
    from .statistics.reductions import sum_

    dtype = masked.values.dtype
    result = np.dtype(np.float64) if dtype.kind in "biu" else dtype
    compute = np.dtype(np.float32) if result.name in ("float16", "bfloat16") else result
    total = sum_(graph, _filled(graph, masked, Static(0)), dtype=Static(compute))
    count = copy(graph, _count(graph, masked), compute)
    return copy(graph, apply(graph, np.divide, total, count), result)


def _any(graph: Graph, masked: Masked) -> Value:
    from .statistics.reductions import any_

    return any_(graph, _filled(graph, masked, Static(0)))


def _all(graph: Graph, masked: Masked) -> Value:
    from .statistics.reductions import all_

    return all_(graph, _filled(graph, masked, Static(1)))


def _length(graph: Graph, masked: Masked) -> Value:
    """How many elements along the first axis a mask selects: a Python integer known at run time."""
    return Index(count_true(graph, masked.mask))


_REDUCED: dict[str, Callable[[Graph, Masked], Value]] = {
    "sum": _sum,
    "prod": _prod,
    "mean": _mean,
    "any": _any,
    "len": _length,
    "all": _all,
    "max": lambda graph, masked: _extreme(graph, masked, True),
    "min": lambda graph, masked: _extreme(graph, masked, False),
    "amax": lambda graph, masked: _extreme(graph, masked, True),
    "amin": lambda graph, masked: _extreme(graph, masked, False),
}
