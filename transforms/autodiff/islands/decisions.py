"""What sums of floats decide is kept: computed again, a sum may be rounded otherwise, and decide otherwise.

nest.for "j" ... { nest.accumulate "s" add %w[%i, %j], %s[] }       // schedules may choose another order each time
%s_1 = nest.load %s[] ; %k = arith.fptosi %s_1                      // 15 once, 16 another time: keep %k
%k_1 = nest.index %k of 16 ; %v = nest.load %x[%k_1]                // checked once only
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import AnyFloat, ComplexType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects.nest import AccumulateOp, AllocOp, LoadOp
from .primal import Primal

_EXACT = ("maximum", "minimum")
"""Combiners that give the same in any order."""


class Decisions:
    """What an island decides by sums of floats."""

    def __init__(self, primal: Primal):
        self._primal = primal
        self._of_sums: dict[Operation, bool] = {}
        self._in_fill: dict[AllocOp, bool] = {}

    def may_differ(self, op: Operation) -> bool:
        """Whether what an operation gives may be another value, not only another rounding, when it is made again."""
        if isinstance(op, LoadOp):
            owner = op.memref.owner
            return isinstance(owner, AllocOp) and self._decides_in(owner)
        return self._is_decided(op)

    def _is_decided(self, op: Operation) -> bool:
        """Whether it makes an integer or a truth value of floats among which is a sum."""
        if not any(_is_inexact(v.type) for v in op.operands) or any(_is_inexact(r.type) for r in op.results):
            return False
        if op not in self._of_sums:
            found = self._behind(v for v in op.operands if _is_inexact(v.type))
            self._of_sums[op] = any(isinstance(one, LoadOp) and self._reads_sum(one) for one in found)
        return self._of_sums[op]

    def _decides_in(self, alloc: AllocOp) -> bool:
        """Whether something is decided by sums while a buffer is filled."""
        if alloc not in self._in_fill:
            self._in_fill[alloc] = any(map(self._is_decided, self._behind(self._filled_with(alloc))))
        return self._in_fill[alloc]

    def _reads_sum(self, load: LoadOp) -> bool:
        alloc = load.memref.owner
        if not isinstance(alloc, AllocOp) or not _is_inexact(load.result.type) or not self._is_refilled(load):
            return False
        for access in self._primal.writes(alloc.memref):
            op = access.op
            if isinstance(op, AccumulateOp):
                if op.combiner.data not in _EXACT:
                    return True
            elif any(
                isinstance(one, LoadOp) and one.memref is alloc.memref
                for one in self._behind(op.operands[:1])
            ):
                return True
        return False

    def _is_refilled(self, load: LoadOp) -> bool:
        return isinstance(load.memref.owner, AllocOp) and self._primal.readable(load) is not None

    def _behind(self, values: Iterable[SSAValue]) -> list[Operation]:
        """The operations that run again for these values: those that fill buffers again among them."""
        found: dict[Operation, None] = {}
        pending = list(values)
        while pending:
            value = pending.pop()
            op = value.owner
            if value in self._primal.known or isinstance(op, Block) or op in found:
                continue
            found[op] = None
            if not isinstance(op, LoadOp):
                pending += op.operands
                continue
            pending += op.indices.operands
            if self._is_refilled(op):
                assert isinstance(op.memref.owner, AllocOp)
                pending += self._filled_with(op.memref.owner)
        return list(found)

    def _filled_with(self, alloc: AllocOp) -> list[SSAValue]:
        """What the statements that fill a buffer, and the loops and branches around them, are given."""
        given: list[SSAValue] = []
        for access in self._primal.writes(alloc.memref):
            op: Operation | None = access.op
            while op is not None and op.parent is not alloc.parent:
                given += op.operands
                op = op.parent_op()
            if op is not None:
                given += op.operands
        return [v for v in given if not isinstance(v.type, MemRefType)]


def _is_inexact(kind: Attribute) -> bool:
    return isinstance(kind, AnyFloat | ComplexType)
