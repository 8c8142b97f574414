"""Which elements of arrays a nest touches, for given extents: their number, each element counted once.

    for i in range(1, n - 1):             u: n elements are read, not 3 * (n - 2)
        v[i] = u[i - 1] + u[i] + u[i + 1]  v: n - 2 are written

Where loops are independent of each other, and each axis is indexed by loops of its own, an access touches a product of
sets, one an axis; else its iterations are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...dialects.affine import AffineList, linear_terms
from ...dialects.nest import AccumulateOp, ForOp, LoadOp, StatementOp, StoreOp
from .iterations import MOST_POINTS, Condition, Extents, NotKnown, Step, place, variable

Access = LoadOp | StoreOp | AccumulateOp
MOST_SETS = 60
"""Maximum number of different products of sets that a union is counted of."""


Indices = range | np.ndarray
"""A set of indices: a progression upwards, or a sorted array."""


class Touched:
    """The elements of one buffer that some accesses touch."""

    def __init__(self, extents: Extents, buffer: SSAValue):
        self._extents, self._buffer = extents, buffer
        self._products: dict[tuple[Any, ...], tuple[Indices, ...]] = {}
        self._elements: list[np.ndarray] = []

    def add(self, op: Access, steps: Sequence[Step], fixed: Mapping[SSAValue, int]) -> None:
        """Add the elements of an access in `steps`; `fixed` are variables of loops around them. Raises NotKnown."""
        sets = self._sets(op, steps, fixed)
        if sets is None:
            self._elements.append(self._each(op, steps, fixed))
        elif all(len(one) for one in sets):
            self._products[tuple(one if isinstance(one, range) else one.tobytes() for one in sets)] = sets

    @property
    def count(self) -> int:
        """How many elements there are."""
        if self._elements or len(self._products) > MOST_SETS:
            spread = [self._numbered(one) for one in self._products.values()]
            return int(np.unique(np.concatenate([*self._elements, *spread])).size)
        return _union(list(self._products.values()))

    # ---- one access -----------------------------------------------------------------------------------

    def _sets(
        self, op: Access, steps: Sequence[Step], fixed: Mapping[SSAValue, int]
    ) -> tuple[Indices, ...] | None:
        """A set of indices an axis, whose product is touched."""
        loops = [step for step in steps if not isinstance(step, Condition)]
        own = {variable(loop) for loop in loops}
        if len(loops) < len(steps) or (isinstance(op, StatementOp) and op.where is not None):
            return None
        if any(self._extents.supports(loop.operands) & own for loop in loops):
            return None
        if self._extents.iterations(loops, fixed=fixed).count == 0:
            return (range(0),)
        axes = [self._extents.supports(axis.operands) & own for axis in op.indices]
        if sum(map(len, axes)) > len(frozenset().union(*axes)):
            return None
        return tuple(self._axis(op, axis, loops, fixed) for axis in op.indices)

    def _axis(
        self,
        op: Access,
        index: AffineList,
        loops: Sequence[ForOp | scf.ForOp],
        fixed: Mapping[SSAValue, int],
    ) -> Indices:
        """The indices of an axis: sums are made of sets, so that a product of their sizes is never looked at."""
        terms, rest = linear_terms(index.exprs[0])
        variables = {variable(loop): loop for loop in loops}
        values: Indices = range(rest, rest + 1)
        for term, factor in terms.items():
            value = index.operands[term.position] if isinstance(term, AffineDimExpr) else None
            if value is None or (value not in variables and self._extents.support(value) & set(variables)):
                return self._listed(op, index, loops, fixed)
            if value in variables:
                first, end, step = map(int, self._extents.bounds(variables[value], fixed))
                other = range(first, end, step)
            else:
                known = self._extents.value(value, fixed)
                if known is None:
                    raise _by_data(op)
                other = range(int(known), int(known) + 1)
            sums = _sums(values, _multiplied(other, factor))
            if sums is None:
                return self._listed(op, index, loops, fixed)
            values = sums
        return values

    def _listed(
        self,
        op: Access,
        index: AffineList,
        loops: Sequence[ForOp | scf.ForOp],
        fixed: Mapping[SSAValue, int],
    ) -> np.ndarray:
        support = self._extents.supports(index.operands)
        used = [loop for loop in loops if variable(loop) in support]
        points = self._extents.iterations(used, support, fixed=fixed)
        value = self._extents.affine(index, points.values)[0]
        if value is None:
            raise _by_data(op)
        return np.unique(points.array(value))

    def _each(self, op: Access, steps: Sequence[Step], fixed: Mapping[SSAValue, int]) -> np.ndarray:
        """The numbers of the elements that are touched, iteration by iteration."""
        indices = op.indices
        where = op.where if isinstance(op, StatementOp) else None
        points = self._extents.iterations(steps, self._extents.supports(indices.operands), where, fixed)
        found = self._extents.affine(indices, points.values)
        if any(one is None for one in found):
            raise _by_data(op)
        total = points.array(0)
        for index, stride in zip(found, self._strides(), strict=True):
            total = total + stride * points.array(index)
        return np.unique(total)

    # ---- all of them ----------------------------------------------------------------------------------

    def _strides(self) -> list[int]:
        strides = [1]
        for extent in reversed(self._extents.shape(self._buffer)[1:]):
            strides.insert(0, strides[0] * max(extent, 1))
        return strides[: len(self._extents.shape(self._buffer))]

    def _numbered(self, sets: tuple[Indices, ...]) -> np.ndarray:
        if np.prod([float(len(one)) for one in sets]) > MOST_POINTS:
            raise NotKnown(f"more than {MOST_POINTS:,} elements of '{self._buffer.name_hint}' in all")
        total = np.zeros(1, np.int64)
        for one, stride in zip(sets, self._strides(), strict=True):
            total = (total[:, None] + stride * np.asarray(one)[None, :]).ravel()
        return total


def _multiplied(indices: range, factor: int) -> range:
    """A progression, each element times a factor that is not 0."""
    if not indices:
        return range(0)
    ends = sorted((indices[0] * factor, indices[-1] * factor))
    return range(ends[0], ends[1] + 1, max(abs(indices.step * factor), 1))


def _sums(left: Indices, right: Indices) -> Indices | None:
    """The sums of two sets; None where there are too many to look at."""
    for one, other in ((left, right), (right, left)):
        if not isinstance(one, range) or not isinstance(other, range):
            break
        step = one.step if len(one) > 1 else other.step
        is_one = len(other) == 1 or (other.step % step == 0 and other.step <= len(one) * step)
        if is_one:  # without gaps: one progression
            return range(one[0] + other[0], one[-1] + other[-1] + 1, step)
    if len(left) * len(right) > MOST_POINTS:
        return None
    return np.unique(np.asarray(left)[:, None] + np.asarray(right)[None, :])


def _by_data(op: Access) -> NotKnown:
    buffer = op.memrefs[0] if isinstance(op, AccumulateOp) else op.memref
    return NotKnown(f"'{buffer.name_hint or 'an array'}' is indexed by data{place(op)}")


def _union(products: Sequence[tuple[Indices, ...]]) -> int:
    """How many elements are in any of some products of sets."""
    if not products:
        return 0
    classes = {(1 << len(products)) - 1: 1}
    for axis in zip(*products, strict=True):
        merged: dict[int, int] = {}
        for kind, size in _classes(axis).items():
            for mask, count in classes.items():
                if mask & kind:
                    merged[mask & kind] = merged.get(mask & kind, 0) + count * size
        classes = merged
    return sum(classes.values())


def _classes(axis: Sequence[Indices]) -> dict[int, int]:
    """By which of the sets an index is in (a bit each): how many such indices there are."""
    if all(isinstance(one, range) and one == axis[0] for one in axis):
        return {(1 << len(axis)) - 1: len(axis[0])}
    found: dict[int, int] = {}
    intervals = [one for one in axis if isinstance(one, range) and (one.step == 1 or len(one) == 1)]
    if len(intervals) == len(axis):
        ends = sorted({end for one in intervals for end in (one[0], one[-1] + 1)})
        for first, end in pairwise(ends):
            mask = sum(1 << k for k, one in enumerate(intervals) if one[0] <= first <= one[-1])
            found[mask] = found.get(mask, 0) + end - first
        return found
    if sum(map(len, axis)) > MOST_POINTS:
        raise NotKnown(f"more than {MOST_POINTS:,} indices of accesses with steps")
    every = np.unique(np.concatenate([np.asarray(one) for one in axis]))
    bits = np.zeros(every.size, np.int64)
    for k, one in enumerate(axis):
        bits |= np.isin(every, np.asarray(one), assume_unique=True).astype(np.int64) << k
    kinds, sizes = np.unique(bits, return_counts=True)
    return dict(zip(kinds.tolist(), sizes.tolist(), strict=True))


# ---- reads of what the same nest has written ------------------------------------------------------------


def is_written_before(op: LoadOp | AccumulateOp, buffer: SSAValue, root: Operation, extents: Extents) -> bool:
    """Whether a nest has written all that an access reads, in the same iteration of the loops around both."""
    inner: list[ForOp] = []
    here: Operation = op
    while here is not root:
        earlier = here.prev_op
        while earlier is not None:
            if any(_covers(store, op, buffer, earlier, inner, extents) for store in _stores(earlier)):
                return True
            earlier = earlier.prev_op
        outer = here.parent_op()
        assert outer is not None
        if isinstance(outer, ForOp):
            inner.append(outer)
        elif outer.regions and not isinstance(outer, ForOp) and outer.name not in ("nest.if", "scf.if"):
            return False
        here = outer
    return False


def _stores(op: Operation) -> list[StoreOp]:
    """The stores that `op` makes in any case, whole loops over constant ranges included."""
    if isinstance(op, StoreOp):
        return [op] if op.where is None and op.mask is None else []
    if not isinstance(op, ForOp):
        return []
    return [store for one in op.body.block.ops for store in _stores(one)]


def _covers(
    store: StoreOp,
    op: LoadOp | AccumulateOp,
    buffer: SSAValue,
    outermost: Operation,
    inner: Sequence[ForOp],
    extents: Extents,
) -> bool:
    if store.memref is not buffer:
        return False
    loops: list[ForOp] = []
    here: Operation | None = store
    while here is not outermost and here is not None:
        here = here.parent_op()
        if isinstance(here, ForOp):
            loops.append(here)
    if _form(store.indices, loops) != _form(op.indices, inner):
        return False
    # a loop that indexes runs as often as that of the reads; any other has to run at all
    return all(loop.iv in store.indices.operands or _runs(loop, extents) for loop in loops)


def _runs(loop: ForOp, extents: Extents) -> bool:
    """Whether a loop has an iteration in any case."""
    if extents.supports(loop.operands):
        return False
    try:
        return extents.iterations([loop]).count > 0
    except NotKnown:
        return False


def _form(indices: AffineList, loops: Sequence[ForOp]) -> tuple[object, ...]:
    """Indices in which variables of `loops` are replaced by their ranges, numbered in the order of their use."""
    known = {loop.iv: loop for loop in loops}
    order: dict[SSAValue, int] = {}
    found: list[object] = []
    for axis in indices:
        keys: list[object] = []
        for value in axis.operands:
            loop = known.get(value)
            if loop is None:
                keys.append(value)
            else:
                ends = loop.lower.canonical(), loop.upper.canonical(), loop.step_value
                keys.append((order.setdefault(value, len(order)), *ends))
        found.append((axis.exprs, tuple(keys)))
    return tuple(found)
