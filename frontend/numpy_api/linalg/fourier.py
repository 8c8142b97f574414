"""np.fft: transforms, which NumPy computes; frequencies and shifts of their results.

Lengths (`n`, `s`) are constants or extents; any length is right. Errors are those of NumPy's pocketfft: of the order of
eps * log(n) relative to the norm of the operand.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir.affine import AffineBinaryOpKind

from ...interface.errors import ShapeError
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.values import Extents, Static, Value, extents_of
from ..calls_back import calls_back
from ..custom_calls import as_operand, call_numpy
from ..definitions import defines, known, xp
from ..registry import handles, normal_axis, refuse_out, static

NONE, MINUS_ONE, LAST_TWO = Static(None), Static(-1), Static((-2, -1))

Length = Callable[[Graph, Affine], Affine]


def _same(graph: Graph, length: Affine) -> Affine:
    return length


def _half(graph: Graph, length: Affine) -> Affine:
    """Of a real operand: the frequencies that are not negative."""
    return graph.assumptions.divided(AffineBinaryOpKind.FloorDiv, length, 2) + 1


def _double(graph: Graph, length: Affine) -> Affine:
    """Of a real result, where nothing else is said."""
    return (length - 1) * 2


def _with(extents: Extents, axis: int, extent: Affine) -> Extents:
    return (*extents[:axis], extent, *extents[axis + 1 :])


def _along_axis(name: str, of_operand: Length, of_count: Length) -> None:
    """A transform along one axis: what its result's extent is, of the operand's, and of `n` where that is given."""

    @handles(getattr(np.fft, name))
    @calls_back
    def transform(
        graph: Graph,
        a: Value,
        n: Value = NONE,
        axis: Value = MINUS_ONE,
        norm: Value = NONE,
        out: Value = NONE,
    ) -> Value:
        refuse_out(graph, out)
        operand = as_operand(graph, a)
        extents, count = extents_of(operand), static(graph, n, "n")
        position = normal_axis(graph, static(graph, axis, "axis"), len(extents))
        extent = (
            of_operand(graph, extents[position]) if count is None else of_count(graph, _count(graph, count))
        )
        options = {"n": count, "axis": position, "norm": static(graph, norm, "norm")}
        return call_numpy(
            graph, f"fft.{name}", [operand], [_with(extents, position, extent)], ordered=True, **options
        )


def _count(graph: Graph, count: Any) -> Affine:
    count = operator.index(count)
    if count < 1:
        raise graph.error(ShapeError, f"Invalid number of FFT data points ({count}) specified.")
    return Affine(count)


_along_axis("fft", _same, _same)
_along_axis("ifft", _same, _same)
_along_axis("rfft", _half, _half)
_along_axis("irfft", _double, _same)
_along_axis("hfft", _double, _same)
_along_axis("ihfft", _half, _half)


def _along_axes(name: str, last_of_operand: Length, last_of_count: Length, default: Static) -> None:
    """A transform along several axes, the last of which may become half or twice as long."""

    @handles(getattr(np.fft, name))
    @calls_back
    def transform(
        graph: Graph, a: Value, s: Value = NONE, axes: Value = default, norm: Value = NONE, out: Value = NONE
    ) -> Value:
        refuse_out(graph, out)
        operand = as_operand(graph, a)
        counts, along = static(graph, s, "s"), static(graph, axes, "axes")
        extents = extents_of(operand)
        given = list(range(len(extents))) if along is None else list(along)
        if along is None and counts is not None:
            given = given[len(given) - len(counts) :]
        positions = [normal_axis(graph, k, len(extents)) for k in given]
        result = _result(graph, extents, positions, counts, last_of_operand, last_of_count)
        options = {
            "s": None if counts is None else tuple(counts),
            "axes": tuple(positions),
            "norm": static(graph, norm, "norm"),
        }
        return call_numpy(graph, f"fft.{name}", [operand], [result], ordered=True, **options)


def _result(
    graph: Graph,
    extents: Extents,
    positions: Sequence[int],
    counts: Sequence[int] | None,
    last_of_operand: Length,
    last_of_count: Length,
) -> Extents:
    if counts is not None and len(counts) != len(positions):
        raise graph.error(ShapeError, "Shape and axes have different lengths.")
    result = extents
    for k, axis in enumerate(positions):
        count = None if counts is None or counts[k] == -1 else _count(graph, counts[k])
        is_last = k == len(positions) - 1
        if count is not None:
            result = _with(result, axis, last_of_count(graph, count) if is_last else count)
        elif is_last:
            result = _with(result, axis, last_of_operand(graph, extents[axis]))
    return result


for _name, _operand, _counted in (
    ("fft", _same, _same), ("ifft", _same, _same), ("rfft", _half, _half), ("irfft", _double, _same),
):  # fmt: skip
    _along_axes(f"{_name}2", _operand, _counted, LAST_TWO)
    _along_axes(f"{_name}n", _operand, _counted, NONE)


# ---- frequencies and shifts ---------------------------------------------------------------------------


@defines(np.fft.fftfreq)
def fftfreq(n, d=1.0, device=None):
    """The frequencies of the elements of a transform of n samples, d apart."""
    n = operator.index(known(n))
    if not n:
        raise ZeroDivisionError("float division by zero")
    half = (n - 1) // 2 + 1
    return np.concatenate([np.arange(half), np.arange(-(n // 2), 0)]) * (1.0 / (n * d))


@defines(np.fft.rfftfreq)
def rfftfreq(n, d=1.0, device=None):
    """The frequencies of a transform of n real samples, d apart."""
    n = operator.index(known(n))
    return np.arange(n // 2 + 1) * (1.0 / (n * d))


def _shifted(x: Any, axes: Any, sign: int) -> Any:
    x = xp.asarray(x)
    along = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    shifts = [sign * (known(x.shape[k]) // 2) for k in along]
    return xp.roll(x, tuple(shifts), tuple(along))


@defines(np.fft.fftshift)
def fftshift(x, axes=None):
    """The frequency 0 in the middle."""
    return _shifted(x, axes, 1)


@defines(np.fft.ifftshift)
def ifftshift(x, axes=None):
    """What np.fft.fftshift shifts back."""
    return _shifted(x, axes, -1)
