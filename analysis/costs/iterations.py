"""How often a statement runs, and in which iterations, for given extents.

    nest.for "i" %i = 0 to 1000 {              the loop j depends on i: 1000 iterations of i are looked at
      nest.for "j" %j = 0 to %i {              and j is multiplied: 499500
        nest.for "k" %k = 0 to %n {            so is k: 499500 * n

Iterations are enumerated for those loops only that bounds, conditions or domains depend on, and as long as something inside
depends on them; the others are multiplied.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.dialects.func import CallOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects.affine import AffineList
from ...dialects.diagnostic import op_location
from ...dialects.nest import AllocOp, ForOp, IfOp, IndexOp

MOST_POINTS = 1 << 22
"""Maximum number of iterations that are looked at one by one."""

Number = Any
"""An integer, an array with one for each iteration, or None where only the run knows it."""


class NotKnown(Exception):
    """What cannot be counted, and why."""


class Condition(NamedTuple):
    """A branch that the iterations go into."""

    op: Operation
    value: SSAValue
    is_taken: bool


Step = ForOp | scf.ForOp | Condition
"""What stands around a statement."""


def around(op: Operation) -> list[Step] | Operation:
    """The loops and branches around `op`, the outermost first; an operation that runs its regions in another way."""
    found: list[Step] = []
    block = op.parent
    while block is not None and (outer := block.parent_op()) is not None and outer.name != "func.func":
        if isinstance(outer, ForOp | scf.ForOp):
            found.append(outer)
        elif isinstance(outer, IfOp | scf.IfOp):
            is_first = block.parent is outer.regions[0]
            found.append(Condition(outer, outer.operands[0], is_first))
        else:
            return outer
        block = outer.parent
    return found[::-1]


def variable(loop: ForOp | scf.ForOp) -> SSAValue:
    """The variable of a loop."""
    return loop.body.block.args[0]


def _sizes_of(buffer: SSAValue) -> Sequence[SSAValue]:
    """The sizes that a buffer is allocated with, where its type does not say them."""
    if isinstance(buffer.owner, AllocOp):
        return buffer.owner.sizes
    return buffer.owner.dynamic_sizes if isinstance(buffer.owner, memref.AllocOp | memref.AllocaOp) else ()


def place(op: Operation) -> str:
    """` at line 7` of an operation, for messages; empty where it is not known."""
    found = op_location(op)
    return f" at line {found.line}" if found is not None and found.line else ""


def callee(op: CallOp) -> str:
    """The function that is called; of a function of Python its name there, without what makes declarations unique."""
    return re.sub(r"\.[0-9a-f]{8}$", "", op.callee.string_value())


class Extents:
    """What is known of a function for given extents."""

    def __init__(self, shapes: Mapping[SSAValue, Sequence[int]], numbers: Mapping[SSAValue, int]):
        self._shapes = shapes
        self._numbers = numbers
        self._supports: dict[SSAValue, frozenset[SSAValue]] = {}

    def shape(self, buffer: SSAValue) -> tuple[int, ...]:
        """The extents of a buffer. Raises NotKnown."""
        if buffer in self._shapes:
            return tuple(self._shapes[buffer])
        assert isinstance(buffer.type, MemRefType)
        sizes = iter(_sizes_of(buffer))
        found = [n if n >= 0 else self.value(next(sizes, None), {}) for n in buffer.type.get_shape()]
        if not all(isinstance(n, int | np.integer) for n in found):
            raise NotKnown(f"the size of '{buffer.name_hint or 'a buffer'}' is known when it runs")
        return tuple(map(int, found))

    # ---- values ---------------------------------------------------------------------------------------

    def value(self, value: SSAValue | None, here: Mapping[SSAValue, Number]) -> Number:
        """What an integer is; `here` has the variables of loops."""
        if value is None:
            return None
        if value in here:
            return here[value]
        if value in self._numbers:
            return self._numbers[value]
        if isinstance(value, BlockArgument):
            return None
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, arith.ConstantOp):
            return op.value.value.data if isinstance(op.value, IntegerAttr) else None
        if isinstance(op, memref.DimOp):
            axis = self.value(op.index, here)
            try:
                return self.shape(op.source)[axis] if isinstance(axis, int) else None
            except NotKnown:
                return None
        if isinstance(op, IndexOp):
            return self._checked(op, here)
        form = _FORMS.get(type(op))
        if form is None:
            return None
        operands = [self.value(one, here) for one in op.operands]
        if any(one is None for one in operands):
            return None
        return form(op, *operands)

    def _checked(self, op: IndexOp, here: Mapping[SSAValue, Number]) -> Number:
        index, extent = self.affine(op.index, here)[0], self.affine(op.extent, here)[0]
        if index is None or extent is None or op.from_start is not None:
            return index
        found = np.where(np.asarray(index) < 0, index + extent, index)
        return found if isinstance(index, np.ndarray) else int(found)

    def affine(self, forms: AffineList, here: Mapping[SSAValue, Number]) -> list[Number]:
        """What affine expressions are."""
        known = [self.value(one, here) for one in forms.operands]
        return [
            None if any(known[k] is None for k in expr.used_dims()) else expr.eval(known, [])
            for expr in forms.exprs
        ]

    def support(self, value: SSAValue) -> frozenset[SSAValue]:
        """The variables of loops that a value is computed from."""
        if value in self._supports:
            return self._supports[value]
        if isinstance(value, BlockArgument):
            loop = value.owner.parent_op()
            is_variable = isinstance(loop, ForOp | scf.ForOp) and variable(loop) is value
            found = frozenset([value]) if is_variable or isinstance(loop, scf.ParallelOp) else frozenset()
        else:
            op = value.owner
            assert isinstance(op, Operation)
            is_plain = isinstance(op, IndexOp) or type(op) in _FORMS
            found = frozenset().union(*map(self.support, op.operands)) if is_plain else frozenset()
        self._supports[value] = found
        return found

    def supports(self, values: Iterable[SSAValue]) -> frozenset[SSAValue]:
        """The variables of loops that values are computed from."""
        return frozenset().union(*map(self.support, values))

    # ---- iterations -----------------------------------------------------------------------------------

    def iterations(
        self,
        steps: Sequence[Step],
        wanted: Iterable[SSAValue] = (),
        where: AffineList | None = None,
        fixed: Mapping[SSAValue, int] | None = None,
    ) -> Iterations:
        """The iterations of the loops and branches in `steps`, with the values of the `wanted` variables.

        `fixed` are variables of loops outside of `steps`. Raises NotKnown.
        """
        needed = {*wanted, *self.supports(where.operands if where is not None else ())}
        after: list[set[SSAValue]] = []
        for step in reversed(steps):
            after.insert(0, set(needed))
            needed |= self.supports(_decides(step))
        found = Iterations(dict(fixed or {}))
        for step, still_needed in zip(steps, after, strict=True):
            if isinstance(step, Condition):
                self._enter(found, step)
            else:
                self._repeat(found, step, variable(step) in needed)
            found.keep_only(still_needed)
        if where is not None:
            for expr in self.affine(where, found.values):
                if expr is None:
                    raise NotKnown("the domain of a statement depends on data")
                found.keep(np.asarray(expr) >= 0)
        return found

    def _enter(self, found: Iterations, step: Condition) -> None:
        taken = self.value(step.value, found.values)
        if taken is None:
            raise NotKnown(f"the branch{place(step.op)} depends on data")
        found.keep(np.asarray(taken, bool) == step.is_taken)

    def _repeat(self, found: Iterations, loop: ForOp | scf.ForOp, is_needed: bool) -> None:
        first, end, step = self.bounds(loop, found.values)
        if first is None or end is None or step is None:
            name = f"'{loop.label}'" if isinstance(loop, ForOp) else ""
            raise NotKnown(f"how often the loop {name}{place(loop)} runs is not known".replace("  ", " "))
        trips = np.maximum(-((first - end) // step), 0)
        if not is_needed:
            found.multiply(trips)
        else:
            found.expand(variable(loop), first, step, trips)

    def bounds(self, loop: ForOp | scf.ForOp, here: Mapping[SSAValue, Number]) -> tuple[Number, ...]:
        """Where a loop starts, the end that it does not reach, and its step."""
        if isinstance(loop, scf.ForOp):
            return tuple(self.value(one, here) for one in (loop.lb, loop.ub, loop.step))
        ends = [self.affine(loop.lower, here), self.affine(loop.upper, here)]
        if any(one is None for side in ends for one in side):
            return None, None, None
        first, end = ends[0][0], ends[1][0]
        for other in ends[0][1:]:
            first = np.maximum(first, other)
        for other in ends[1][1:]:
            end = np.minimum(end, other)
        return first, end, loop.step_value


class Iterations:
    """Points of the loops that matter, each of them standing for some iterations of the others."""

    def __init__(self, values: dict[SSAValue, Number]):
        self.values = values
        self._points = 1
        self._factor = 1
        self._weights: np.ndarray | None = None

    @property
    def count(self) -> int:
        """How many iterations there are."""
        if self._weights is None:
            return self._factor * self._points
        return self._factor * int(_checked(self._weights).sum())

    def array(self, value: Number) -> np.ndarray:
        """A value at every point that has iterations."""
        full = np.broadcast_to(np.asarray(value, np.int64), (self._points,))
        if self._factor == 0:
            return full[:0]
        return full if self._weights is None else full[self._weights > 0]

    def multiply(self, trips: Number) -> None:
        """Run a loop on which nothing depends."""
        if np.ndim(trips) == 0:
            self._factor *= int(trips)
        else:
            weights = np.ones(self._points, np.int64) if self._weights is None else self._weights
            _checked(weights.astype(float) * trips)
            self._weights = trips.astype(np.int64) * weights

    def expand(self, name: SSAValue, first: Number, step: int, trips: Number) -> None:
        """Run a loop whose iterations matter."""
        counts = np.broadcast_to(np.asarray(trips, np.int64), (self._points,))
        if self._weights is not None:
            counts = np.where(self._weights > 0, counts, 0)
        total = int(counts.sum())
        if total > MOST_POINTS:
            raise NotKnown(f"more than {MOST_POINTS:,} iterations of loops that depend on each other")
        which = np.repeat(np.arange(self._points), counts)
        begin = np.broadcast_to(np.asarray(first, np.int64), (self._points,))[which]
        passed = np.repeat(np.cumsum(counts) - counts, counts)
        self.values = {k: v[which] if isinstance(v, np.ndarray) else v for k, v in self.values.items()}
        self.values[name] = begin + step * (np.arange(total) - passed)
        self._weights = None if self._weights is None else self._weights[which]
        self._points = total

    def keep(self, which: np.ndarray) -> None:
        """Keep the points that a condition holds at."""
        ones = np.ones(self._points, np.int64) if self._weights is None else self._weights
        self._weights = np.where(np.broadcast_to(which, (self._points,)), ones, 0)

    def keep_only(self, needed: Collection[SSAValue]) -> None:
        """Forget variables that nothing needs any more: points that differ in nothing else are one."""
        arrays = {name: value for name, value in self.values.items() if isinstance(value, np.ndarray)}
        kept = [name for name in arrays if name in needed]
        if len(kept) == len(arrays):
            return
        self.values = {n: value for n, value in self.values.items() if n not in arrays or n in needed}
        weights = np.ones(self._points, np.int64) if self._weights is None else _checked(self._weights)
        there = weights > 0
        rows, weights = [arrays[name][there] for name in kept], weights[there]
        if not kept:
            self._factor *= int(weights.sum())
            self._points, self._weights = 1, None
            return
        order = np.lexsort(rows)
        rows, weights = [row[order] for row in rows], weights[order]
        starts = np.ones(weights.size, bool)
        if weights.size:
            starts[1:] = np.any([row[1:] != row[:-1] for row in rows], axis=0)
        first = np.flatnonzero(starts)
        self.values |= {name: row[first] for name, row in zip(kept, rows, strict=True)}
        self._weights = np.add.reduceat(weights, first) if weights.size else weights
        self._points = first.size


def _checked(weights: np.ndarray) -> np.ndarray:
    """Numbers of iterations whose sum is a number of 64 bits."""
    if float(weights.astype(float).sum()) >= 2.0**62:
        raise NotKnown("there are too many iterations to count them")
    return weights


def _decides(step: Step) -> Sequence[SSAValue]:
    """What decides how often a step runs its body."""
    if isinstance(step, Condition):
        return [step.value]
    if isinstance(step, scf.ForOp):
        return [step.lb, step.ub, step.step]
    return [*step.lower.operands, *step.upper.operands]


def _compare(op: Operation, left: Number, right: Number) -> Number:
    assert isinstance(op, arith.CmpiOp)
    names = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    kind = op.predicate.value.data
    if kind >= len(names):  # unsigned: the same where nothing is negative
        kind -= 4
        if np.min(left, initial=0) < 0 or np.min(right, initial=0) < 0:
            return None
    return getattr(np, names[kind])(left, right)


def _towards_zero(op: Operation, left: Number, right: Number) -> Number:
    negative = np.any(np.asarray(left) < 0) or np.any(np.asarray(right) <= 0)
    return None if negative else left // right


def _remainder(op: Operation, left: Number, right: Number) -> Number:
    negative = np.any(np.asarray(left) < 0) or np.any(np.asarray(right) <= 0)
    return None if negative else left % right


def _select(op: Operation, chosen: Number, left: Number, right: Number) -> Number:
    if np.ndim(chosen) == 0:
        return left if chosen else right
    return np.where(chosen, left, right)


def _largest(op: Operation, left: Number, right: Number) -> Number:
    return max(left, right) if isinstance(left, int) and isinstance(right, int) else np.maximum(left, right)


def _smallest(op: Operation, left: Number, right: Number) -> Number:
    return min(left, right) if isinstance(left, int) and isinstance(right, int) else np.minimum(left, right)


def _floor(op: Operation, left: Number, right: Number) -> Number:
    return None if np.any(np.asarray(right) == 0) else left // right


_FORMS: dict[type[Operation], Any] = {
    arith.AddiOp: lambda op, a, b: a + b if _is_wide(op) else None,
    arith.SubiOp: lambda op, a, b: a - b if _is_wide(op) else None,
    arith.MuliOp: lambda op, a, b: a * b if _is_wide(op) else None,
    arith.AndIOp: lambda op, a, b: np.asarray(a) & np.asarray(b),
    arith.OrIOp: lambda op, a, b: np.asarray(a) | np.asarray(b),
    arith.FloorDivSIOp: _floor,
    arith.CeilDivSIOp: lambda op, a, b: None if np.any(np.asarray(b) == 0) else -(-a // b),
    arith.DivSIOp: _towards_zero,
    arith.DivUIOp: _towards_zero,
    arith.RemSIOp: _remainder,
    arith.RemUIOp: _remainder,
    arith.MaxSIOp: _largest,
    arith.MinSIOp: _smallest,
    arith.CmpiOp: _compare,
    arith.SelectOp: _select,
    arith.IndexCastOp: lambda op, a: a,
    arith.ExtSIOp: lambda op, a: None if _is_flag(op) else a,
    arith.ExtUIOp: lambda op, a: None if not _is_flag(op) else a,
}


def _is_wide(op: Operation) -> bool:
    """Whether sums of extents do not wrap around."""
    width = getattr(op.results[0].type, "width", None)
    return width is None or width.data >= 64


def _is_flag(op: Operation) -> bool:
    width = getattr(op.operands[0].type, "width", None)
    return width is not None and width.data == 1
