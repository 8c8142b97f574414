"""Products of matrices: @, np.matmul, dot, vdot, inner, outer, tensordot, and the gufuncs vecdot, matvec, vecmat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...indexing.views import Slice, view
from ...interface.errors import DTypeError, ShapeError, UnsupportedError
from ...values.arithmetic import apply, broadcast_extents, convert
from ...values.contents import as_view
from ...values.equal_extents import require_equal
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.products import common_dtype, dot
from ...values.tensors import broadcast, common_order, normal_order
from ...values.values import Buffer, Extents, Static, Tensor, Value, extents_of, shape_text, whole
from ..elements.parts import conj
from ..registry import handles, normal_axis, refuse_out, static
from ..shapes.orders import lay_out

_TWO = Static(2)

_SIGNATURES = {
    "matmul": "(n?,k),(k,m?)->(n?,m?)",
    "vecdot": "(n),(n)->()",
    "matvec": "(m,n),(n)->(m)",
    "vecmat": "(n),(n,m)->(m)",
}


def _same(graph: Graph, a: Affine, b: Affine) -> bool:
    return require_equal(graph, a, b, "a product of matrices")


def _size(extent: Affine) -> str:
    size = extent.known if extent.known is not None else extent.witness()
    return "an unknown size" if size is None else str(size)


def _equal(a: Extents, b: Extents) -> bool:
    return len(a) == len(b) and all(x.equals(y) for x, y in zip(a, b, strict=True))


# ---- @ and its kind ---------------------------------------------------------------------------------


def _gufunc(graph: Graph, name: str, a: Value, b: Value, core: tuple[int, int]) -> Value:
    """A product over the last axes, `core` of each operand, for all elements of the others broadcast together."""
    for position, (value, wanted) in enumerate(zip((a, b), core, strict=True)):
        if len(extents_of(value)) < wanted:
            raise graph.error(
                ShapeError,
                f"{name}: Input operand {position} does not have enough dimensions (has "
                f"{len(extents_of(value))}, gufunc core with signature {_SIGNATURES[name]} requires {wanted})",
            )
    dtype = common_dtype(graph, a, b)
    left, right = extents_of(a), extents_of(b)
    inner = len(right) - core[1]
    if name == "matvec":
        inner = len(right) - 1
    if not _same(graph, left[-1], right[inner]):
        raise graph.error(
            ShapeError,
            f"{name}: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            f"{_SIGNATURES[name]} (size {_size(right[inner])} is different from {_size(left[-1])})",
            "the last axis of the first operand is summed with the last but one of the second: x.T, np.swapaxes",
        )
    outer = broadcast_extents(graph, [left[: len(left) - core[0]], right[: len(right) - core[1]]])
    if graph.island is None:
        a, b = convert(graph, a, dtype), convert(graph, b, dtype)
    order = _stack_order(a, b, core, len(outer))
    if len(left) == core[0] == 1 or len(right) == core[1]:
        # One matrix or vector on that side: the stack of the other side are free axes.
        return dot(graph, a, b, ([len(left) - 1], [inner]), dtype=dtype, order=order)
    a, b = _stretched(graph, name, a, outer, core[0]), _stretched(graph, name, b, outer, core[1])
    batch = list(range(len(outer)))
    contract = ([len(outer) + core[0] - 1], [len(outer) + inner - (len(right) - core[1])])
    return dot(graph, a, b, contract, (batch, batch), dtype=dtype, order=order)


def _stretched(graph: Graph, name: str, value: Value, outer: Extents, core: int) -> Value:
    """`value` with its leading axes broadcast to `outer`: a view that costs nothing."""
    own = extents_of(value)
    wanted = (*outer, *own[len(own) - core :])
    if _equal(own, wanted):
        return value
    if graph.island is not None:
        raise graph.error(
            UnsupportedError,
            f"np.{name} of stacks that broadcast is not supported inside loops",
            "multiply one matrix of the stack at a time",
        )
    assert isinstance(value, Tensor)
    return replace(broadcast(graph, value, wanted), order=None)


def _stack_order(a: Value, b: Value, core: tuple[int, int], rank: int) -> tuple[int, ...] | None:
    """The memory order of a gufunc's result: its stacks as in the operands, each matrix row by row."""
    stacks: list[Tensor] = []
    for value, own in zip((a, b), core, strict=True):
        if isinstance(value, Tensor) and len(value.extents) > own:
            depth = len(value.extents) - own
            order = [k for k in value.order or range(len(value.extents)) if k < depth]
            stacks.append(replace(value, extents=value.extents[:depth], order=normal_order(order)))
    outer = common_order(stacks, rank)
    return None if outer is None else (*outer, *range(rank, rank + sum(core) - 2))


def _matmul(graph: Graph, a: Value, b: Value) -> Value:
    cores = [1 if len(extents_of(v)) == 1 else 2 for v in (a, b)]
    if 0 in (len(extents_of(a)), len(extents_of(b))):
        position = 0 if not extents_of(a) else 1
        raise graph.error(
            ShapeError,
            f"matmul: Input operand {position} does not have enough dimensions (has 0, gufunc core with signature "
            f"{_SIGNATURES['matmul']} requires 1)",
        )
    return _gufunc(graph, "matmul", a, b, (cores[0], cores[1]))


def _vecdot(graph: Graph, a: Value, b: Value) -> Value:
    return _gufunc(graph, "vecdot", conj(graph, a), b, (1, 1))


def _matvec(graph: Graph, a: Value, b: Value) -> Value:
    return _gufunc(graph, "matvec", a, b, (2, 1))


def _vecmat(graph: Graph, a: Value, b: Value) -> Value:
    return _gufunc(graph, "vecmat", conj(graph, a), b, (1, 2))


PRODUCTS: dict[str, Callable[..., Value]] = {
    "matmul": _matmul,
    "vecdot": _vecdot,
    "matvec": _matvec,
    "vecmat": _vecmat,
}
"""The ufuncs of this module, by name."""


# ---- dot, inner, outer ------------------------------------------------------------------------------


def _aligned(graph: Graph, a: Value, b: Value, axes: tuple[int, int]) -> Value:
    """The sum of products over one axis of each, the other axes of a before those of b."""
    left, right = extents_of(a), extents_of(b)
    if not _same(graph, left[axes[0]], right[axes[1]]):
        raise graph.error(
            ShapeError,
            f"shapes {shape_text(left)} and {shape_text(right)} not aligned: {_size(left[axes[0]])} "
            f"(dim {axes[0]}) != {_size(right[axes[1]])} (dim {axes[1]})".replace(", ", ","),
        )
    return dot(graph, a, b, ([axes[0]], [axes[1]]), dtype=common_dtype(graph, a, b))


@handles(np.dot, method="dot")
def dot_(graph: Graph, a: Value, b: Value, out: Value | None = None) -> Value:
    refuse_out(graph, out)
    ranks = len(extents_of(a)), len(extents_of(b))
    if 0 in ranks:
        return lay_out(graph, apply(graph, np.multiply, a, b), "C")
    return _aligned(graph, a, b, (ranks[0] - 1, max(ranks[1] - 2, 0)))


@handles(np.inner)
def inner(graph: Graph, a: Value, b: Value) -> Value:
    ranks = len(extents_of(a)), len(extents_of(b))
    if 0 in ranks:
        return lay_out(graph, apply(graph, np.multiply, a, b), "C")
    return _aligned(graph, a, b, (ranks[0] - 1, ranks[1] - 1))


def _flat(graph: Graph, value: Value) -> Value:
    from ..shapes.rearranging import atleast
    from ..shapes.reshaping import ravel

    return value if len(extents_of(value)) == 1 else ravel(graph, atleast(graph, value, 1))


@handles(np.vdot)
def vdot(graph: Graph, a: Value, b: Value) -> Value:
    return _aligned(graph, _flat(graph, conj(graph, a)), _flat(graph, b), (0, 0))


@handles(np.outer)
def outer(graph: Graph, a: Value, b: Value, out: Value | None = None) -> Value:
    refuse_out(graph, out)
    column = view(graph, as_view(graph, _flat(graph, a)), [Slice(), Static(None)])
    return apply(graph, np.multiply, column, _flat(graph, b))


# ---- tensordot --------------------------------------------------------------------------------------


@handles(np.tensordot)
def tensordot(graph: Graph, a: Value, b: Value, axes: Value = _TWO) -> Value:
    left, right = extents_of(a), extents_of(b)
    pairs = _tensordot_axes(graph, static(graph, axes, "axes"), len(left), len(right))
    for k, m in zip(*pairs, strict=True):
        if not _same(graph, left[k], right[m]):
            raise graph.error(ShapeError, "shape-mismatch for sum")
    result = dot(graph, a, b, pairs, dtype=common_dtype(graph, a, b))
    if isinstance(result, Tensor):
        return whole(Buffer(result.ssa, result.dtype, ()))  # an array of rank 0, as NumPy's
    return result


def _tensordot_axes(graph: Graph, axes: Any, left: int, right: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, Sequence):
        if len(axes) != 2:
            raise graph.error(DTypeError, "axes of np.tensordot are a number or two sequences")
        sides = [[k] if isinstance(k, int | np.integer) else list(k) for k in axes]
    else:
        sides = [list(range(-axes, 0)), list(range(axes))]
    if len(sides[0]) != len(sides[1]):
        raise graph.error(ShapeError, "shape-mismatch for sum")
    normal: list[list[int]] = []
    for side, rank in zip(sides, (left, right), strict=True):
        normal.append([normal_axis(graph, k, rank) for k in side])
        if len(set(normal[-1])) != len(side):
            raise graph.error(ShapeError, "an axis is summed over twice")
    return normal[0], normal[1]
