"""Logarithms of sums of exponentials: nt.nn.logsumexp and np.logaddexp.reduce, as one reduction of pairs.

np.logaddexp.reduce(x, axis=1)      %m, %s = nt.reduce custom (%x, %ones) over [1] identity [the least number, 0] {
                                    ^bb0(%m1, %s1, %m2, %s2):        the larger of %m1 and %m2, and the sum of
                                      ...                            exponentials less that one
                                    %m + log(%s)

The maximum starts from the least finite number: of nothing but -inf, the sum is 0 and its logarithm -inf. Where the maximum
is inf the sum is NaN, and the result inf. nest-lift takes one exponential for each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, i1, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from ....dialects.nt import ELEMENTWISE, CompositeOp, YieldOp
from ....dialects.nt.expand import Emitter
from ...interface.errors import DTypeError, UnsupportedError
from ...interface.log_of_sum import log_of_sum
from ...values.arithmetic import apply, convert, copy, finished
from ...values.assemble import dtype_of_value
from ...values.contents import as_tensor
from ...values.graph import Graph
from ...values.tensors import Combine, as_array, broadcast, reduce_together
from ...values.values import Static, Value, extents_of
from ..elements.selection import where
from ..registry import Handler, dtype_of, handles, refuse_out, static
from .reductions import ALL_AXES, INT, axes_of, keep_axes, require_elements

_FIRST = Static(0)
_EMPTY = "zero-size array to reduction operation maximum which has no identity"
_EXPONENTIAL = {"logaddexp": (np.exp, np.log), "logaddexp2": (np.exp2, np.log2)}


def log_sum(
    graph: Graph, x: Value, axis: Value | None, keepdims: bool, ufunc: np.ufunc = np.logaddexp
) -> Value:
    """The logarithm of the sum of exponentials over `axis`, in the dtype that the exponential of `x` has."""
    exponential, logarithm = _EXPONENTIAL[ufunc.__name__]
    own, axes, extents = dtype_of_value(graph, x), axes_of(graph, x, axis), extents_of(x)
    dtype = own if own.name == "bfloat16" else exponential(np.ones(1, own)).dtype
    if dtype.kind == "c":
        raise graph.error(DTypeError, f"np.{ufunc.__name__} of complex numbers is not defined")
    if not axes:
        return copy(graph, x, dtype)
    wide = dtype if dtype.itemsize > 2 else np.dtype(np.float32)
    combine, starts = _combiner(exponential.__name__), [float(np.finfo(wide).min), 0.0]
    if graph.island is not None:
        if len(axes) != len(extents) or keepdims:
            raise graph.error(UnsupportedError, *ALL_AXES)
        largest, total = graph.island.reduce_together(
            combine, starts, [(x, wide), (Static(wide.type(1)), wide)], extents, "any"
        )
        return copy(graph, _joined(graph, largest, total, logarithm), dtype)
    values = convert(graph, x, wide)
    ones = replace(broadcast(graph, convert(graph, Static(1.0), wide), extents), order=values.order)
    results = reduce_together(graph, combine, starts, [values, ones], axes, names=("largest", "sum"))
    if keepdims:
        results = [keep_axes(graph, one, values, axes) for one in results]
    largest, total = (as_array(one) if one.extents else one for one in results)
    return copy(graph, _joined(graph, largest, total, logarithm), dtype)


@handles(log_of_sum)
def log_sum_of(graph: Graph, x: Value, axis: Value, keepdims: Value) -> Value:
    require_elements(graph, x, axes_of(graph, x, axis), _EMPTY)
    if dtype_of_value(graph, x).kind == "b":  # as NumPy makes it in the function
        x = copy(graph, x, INT)
    return log_sum(graph, x, axis, bool(static(graph, keepdims, "keepdims")))


def _joined(graph: Graph, largest: Value, total: Value, logarithm: np.ufunc) -> Value:
    result = apply(graph, np.add, largest, apply(graph, logarithm, total))
    return where(graph, apply(graph, np.equal, largest, Static(np.inf)), largest, result)


def _combiner(exponential: str) -> Combine:
    """The larger maximum, and the sum of both sums relative to it."""
    maximum, subtract, power, multiply, add = (
        ELEMENTWISE[name].expansions["f"] for name in ("maximum", "subtract", exponential, "multiply", "add")
    )

    def combine(e: Emitter, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> Sequence[SSAValue]:
        largest = maximum(e, old[0], new[0])
        first, second = (multiply(e, s, power(e, subtract(e, m, largest))) for m, s in (old, new))
        return [largest, add(e, first, second)]

    return combine


def reduce_by(ufunc: np.ufunc) -> Handler:
    """The handler of np.logaddexp.reduce and np.logaddexp2.reduce."""

    def handler(
        graph: Graph,
        array: Value,
        axis: Value = _FIRST,
        dtype: Value | None = None,
        out: Value | None = None,
        keepdims: Value | None = None,
    ) -> Value:
        refuse_out(graph, out)
        if not extents_of(array):
            raise graph.error(DTypeError, f"cannot reduce on a scalar: np.{ufunc.__name__}.reduce")
        given = dtype_of(graph, dtype)
        array = array if given is None else copy(graph, array, given)
        kept = bool(static(graph, keepdims, "keepdims"))
        if ufunc is np.logaddexp and graph.island is None:
            return _whole(graph, array, axis, kept)
        return log_sum(graph, array, axis, kept, ufunc)

    return handler


def _whole(graph: Graph, array: Value, axis: Value, keepdims: bool) -> Value:
    """As one nt.composite, whose derivative is known (`nt.nn.logsumexp` is one)."""
    tensor = as_tensor(graph, array)
    axes = axes_of(graph, array, axis)
    block = Block(arg_types=[tensor.ssa.type])
    with graph.tensors_inside(block):
        inside = as_array(replace(tensor, ssa=block.args[0]))
        made = as_tensor(graph, log_sum(graph, inside, Static(axes), keepdims))
        graph.insert(YieldOp(made.ssa))
    parameters: dict[str, Attribute] = {
        "axis": ArrayAttr([IntegerAttr(k, i64) for k in axes]),
        "keepdims": IntegerAttr(int(keepdims), i1),
    }
    op = CompositeOp("logsumexp", [tensor.ssa], Region(block), [made.ssa.type], DictionaryAttr(parameters))
    graph.insert(op)
    return finished(replace(made, ssa=op.results_[0]))
