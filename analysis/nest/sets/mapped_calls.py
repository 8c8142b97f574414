"""Calls of NumPy's functions that do the same for each index of some axes: sorts of rows, inverses of stacks of matrices.

    func.call @numpy.sort.030e193a(%x, %t)      {axis = 0} on memref<100x4xf64>: a sort for each index of axis 1

Such an axis is one of iterations, as a loop is: a box of the results needs a box of the operands (`flow.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, ComplexType, IntegerAttr, MemRefType
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, SSAValue

from ....dialects.custom_call_names import ARGUMENTS, ELEMENTS
from ..calls import facts_of, find_declaration, inputs_of, target_of
from ..values.extent_keys import extent_key

Arguments = Mapping[str, Attribute]
Ranks = Sequence[int]
Groups = list[list[int | None]]
"""Of each axis that a call is mapped over, its place in each operand and result; None for one that is whole each time."""

Rule = Callable[[Arguments, Ranks, Ranks], Groups]
"""The groups of a function, by its arguments and the ranks of operands and of results."""


@dataclass(frozen=True)
class CallAxis:
    """An axis that a call is mapped over: its place in each buffer, operands first; None for one that is whole each time."""

    call: CallOp
    places: tuple[int | None, ...]

    @property
    def where(self) -> tuple[SSAValue, int]:
        """A buffer that has it, and its place there."""
        return next((b, k) for b, k in zip(self.call.arguments, self.places, strict=True) if k is not None)

    def place_in(self, buffer: SSAValue) -> int | None:
        """Its place in a buffer of the call. A buffer that is passed twice, and not alike, is whole each time."""
        found = {k for b, k in zip(self.call.arguments, self.places, strict=True) if b is buffer}
        return found.pop() if len(found) == 1 else None


def mapped_axes(call: CallOp) -> list[CallAxis]:
    """The axes that a call is mapped over: those of equal extents in all buffers that have them."""
    declared = find_declaration(call)
    if declared is None or (rule := RULES.get(target_of(declared))) is None:
        return []
    facts = facts_of(declared)
    elements, arguments = facts[ELEMENTS], facts[ARGUMENTS]
    # The parts of complex numbers are along a last axis.
    ranks = [
        len(buffer.type.get_shape()) - isinstance(element, ComplexType)  # pyright: ignore
        for buffer, element in zip(call.arguments, elements, strict=True)  # pyright: ignore
    ]
    count = inputs_of(declared)
    groups = rule(arguments.data, ranks[:count], ranks[count:])  # pyright: ignore
    return [CallAxis(call, tuple(places)) for places in groups if _is_equally_long(call, places)]


def _is_equally_long(call: CallOp, places: Sequence[int | None]) -> bool:
    """Whether an axis is as long in all buffers: one that is broadcast is not mapped."""
    extents = {_extent(b, k) for b, k in zip(call.arguments, places, strict=True) if k is not None}
    return len(extents) == 1


def _extent(buffer: SSAValue, axis: int) -> object:
    assert isinstance(buffer.type, MemRefType)
    return extent_key(buffer, axis)


# ---- what functions do --------------------------------------------------------------------------------


def _but_one(arguments: Arguments, operands: Ranks, results: Ranks) -> Groups:
    """All axes but `axis`, of one operand and results of its rank."""
    axis = arguments.get("axis")
    if not isinstance(axis, IntegerAttr) or len(operands) != 1:
        return []
    rank = operands[0]
    return [[k] * (1 + len(results)) for k in range(rank) if k != axis.value.data % rank]


def _reduced(arguments: Arguments, operands: Ranks, results: Ranks) -> Groups:
    """All axes but those of `axis`, which are gone in the result, or 1. Axes of the second operand come before them."""
    axes, keep = arguments.get("axis"), arguments.get("keepdims")
    if not isinstance(axes, ArrayAttr) or not isinstance(keep, IntegerAttr) or "selected" in arguments:
        return []
    gone = [axis.value.data for axis in axes if isinstance(axis, IntegerAttr)]
    left = [k for k in range(operands[0]) if k not in gone]
    kept = range(operands[0]) if keep.value.data else left
    first = results[0] - len(kept)
    others = [None] * (len(operands) - 1)
    return [[k, *others, first + list(kept).index(k)] for k in left]


def _stacks(inner: int) -> Rule:
    """The leading axes of stacks of matrices; operands have as many, and `inner` others."""

    def groups(arguments: Arguments, operands: Ranks, results: Ranks) -> Groups:
        if len(set(operands)) != 1:
            return []
        return [[k] * (len(operands) + len(results)) for k in range(operands[0] - inner)]

    return groups


def _first_operand(arguments: Arguments, operands: Ranks, results: Ranks) -> Groups:
    """All axes of the first operand; the others are whole."""
    return [[k, *[None] * (len(operands) - 1), *[k] * len(results)] for k in range(operands[0])]


def _second_operand(arguments: Arguments, operands: Ranks, results: Ranks) -> Groups:
    """All axes of the second operand; the others are whole."""
    return [[None, k, *[None] * (len(operands) - 2), *[k] * len(results)] for k in range(operands[1])]


RULES: dict[str, Rule] = {
    **dict.fromkeys(("numpy.sort", "numpy.argsort", "numpy.partition", "numpy.argpartition"), _but_one),
    **{f"numpy.fft.{name}": _but_one for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **dict.fromkeys(("numpy.median", "numpy.nanmedian"), _reduced),
    **dict.fromkeys(("numpy.quantile", "numpy.percentile"), _reduced),
    **dict.fromkeys(("numpy.nanquantile", "numpy.nanpercentile"), _reduced),
    **{
        f"numpy.linalg.{name}": _stacks(2)
        for name in (
            *("inv", "det", "cofactors", "slogdet", "cholesky", "qr", "svd", "svdvals", "eigh", "eigvalsh"),
            *("pinv", "matrix_power", "solve"),
        )
    },
    **dict.fromkeys(("numpy.i0", "numpy.digitize", "numpy.interp"), _first_operand),
    "numpy.searchsorted": _second_operand,
}
"""The functions that are mapped over axes. Those that are not here need all of their operands."""
