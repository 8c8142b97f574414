"""Arrays that are an argument, or a view of one, on some paths only: which one, the run says.

    if c:             %b, %tag = scf.if %c -> (tensor<4xf64>, tensor<i64>) {
        b = a             scf.yield %a, %k1         (1: the first of the graph's `aliases`, here all of `a`)
    return b          } else { scf.yield %b0, %k0 }  (0: an array of its own)

The result is then what NumPy returns: the argument itself, its view, or the array that the kernel filled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue

from ...dialects.diagnostic import NestorError
from ..interface.errors import UnsupportedError
from .tensors import constant
from .values import Array, Axis, Value

if TYPE_CHECKING:
    from .graph import Graph

TAG = TensorType(i64, [])
"""The type of the number that says which alias an array is, counted from 1."""

_UNKNOWN = -1
"""The alias of which only the run knows where it is; results are never it."""


def is_of_argument(array: Array) -> bool:
    """Whether it is memory of an argument on every path."""
    return root_of(array).buffer.argument is not None


def root_of(array: Array) -> Array:
    """The array whose memory it is: what was reshaped, where NumPy's reshape is a view."""
    while array.buffer.derived is not None and array.buffer.derived[1] == "reshape":
        array = array.buffer.derived[0]
    return array


def aliases_of(graph: Graph, value: Value) -> tuple[int, ...]:
    """The aliases that an array may be."""
    if not isinstance(value, Array):
        return ()
    if is_of_argument(value):
        return (_number(graph, value),)
    if value.buffer.aliases and value.whole:
        return value.buffer.aliases
    return (_UNKNOWN,) if root_of(value).buffer.aliases else ()


def lasting(graph: Graph, aliases: tuple[int, ...], known: int | None = None) -> tuple[int, ...]:
    """Aliases as they are known after the block of a loop: a view that only an iteration knows is an unknown one.

    With `known`, so is each view that was found after this many.
    """

    def lasts(number: int) -> bool:
        if number == _UNKNOWN:
            return True
        return (known is None or number <= known) and _is_known_around(graph, graph.aliases[number - 1])

    return tuple(sorted({number if lasts(number) else _UNKNOWN for number in aliases}))


def _is_known_around(graph: Graph, view: Array) -> bool:
    axes = [affine for axis in view.axes for affine in (axis.offset, axis.extent)]
    return all(map(graph.is_known_around, [*axes, *[place for _, place in view.fixed]]))


def tag_of(graph: Graph, value: Value) -> SSAValue:
    """The number of the alias that an array is, as a tensor."""
    if isinstance(value, Array):
        if is_of_argument(value):
            return constant(graph, _number(graph, value), np.dtype(np.int64))
        if value.buffer.tag is not None and value.whole:
            return value.buffer.tag
        source = root_of(value).buffer
        if source.aliases and source.tag is None:
            graph.untagged.add(source)
        if source.aliases:
            return constant(graph, _UNKNOWN, np.dtype(np.int64))
    return fresh_tag(graph)


def fresh_tag(graph: Graph) -> SSAValue:
    """The tag of an array that shares no memory."""
    return constant(graph, 0, np.dtype(np.int64))


def _number(graph: Graph, array: Array) -> int:
    for k, known in enumerate(graph.aliases):
        if _same(known, array):
            return k + 1
    graph.aliases.append(array)
    return len(graph.aliases)


def _same(a: Array, b: Array) -> bool:
    if a.buffer is not b.buffer or len(a.axes) != len(b.axes) or len(a.fixed) != len(b.fixed):
        return False
    return all(
        (x.root, x.stride) == (y.root, y.stride) and x.offset.equals(y.offset) and x.extent.equals(y.extent)
        for x, y in zip(a.axes, b.axes, strict=True)
    ) and all(p == q and i.equals(j) for (p, i), (q, j) in zip(a.fixed, b.fixed, strict=True))


def alternatives(graph: Graph, array: Array) -> dict[int, Array]:
    """What a view of a tagged array is where that is an alias: the same view of the alias."""
    if _UNKNOWN in array.buffer.aliases:
        raise unknown_alias(graph)
    return {k: through(graph.aliases[k - 1], array) for k in array.buffer.aliases}


def unknown_alias(graph: Graph) -> NestorError:
    """The refusal of a result that may be a view, of which nothing says where."""
    return graph.error(
        UnsupportedError,
        "the result shares memory with an argument on some paths, in a way that only the run knows",
        "return a copy: x.copy()",
    )


def through(outer: Array, window: Array) -> Array:
    """The view that `window` is of its buffer, of `outer` instead of it."""
    if window.whole:
        return outer
    fixed = list(outer.fixed)
    for position, offset in window.fixed:
        axis = outer.axes[position]
        if axis.root is not None:
            fixed.append((axis.root, axis.offset + offset * axis.stride))
    axes: list[Axis] = []
    for one in window.axes:
        if one.root is None:
            axes.append(one)
            continue
        axis = outer.axes[one.root]
        axes.append(
            Axis(axis.root, axis.offset + one.offset * axis.stride, axis.stride * one.stride, one.extent)
        )
    return replace(outer, axes=tuple(axes), fixed=tuple(fixed))
