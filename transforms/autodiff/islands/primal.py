"""What reverse mode asks about an island: what is active, which loads can be repeated, what a store overwrites.

A load is *free* where its value can be read again when all is done: of an operand that nothing writes; of an element that
nothing overwrites afterwards (the final contents are a result); or of an element as it was at the start (the operand that
is written is still there). Unknown means not free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import cf
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.sets.accesses import Access
from ....analysis.nest.sets.dependence import Dependences
from ....dialects.nest import IndexOp, LoadOp, StoreOp
from ....dialects.nt.ops import EmptyOp, LoopsOp
from ...nest.cleanup.prove_bounds import prove_bounds
from .activity import stored_by, useful, varied
from .refusals import refused
from .region import Function, Surroundings, as_function
from .updates import updates_to_accumulates

INPUT, START, END = "input", "start", "end"


class Primal:
    """The region of an island, as a function in a form that derivatives are made of."""

    def __init__(self, op: LoopsOp, active: Iterable[SSAValue], cotangents: Sequence[SSAValue | None]):
        self.op = op
        self.surroundings = Surroundings(op)
        self.copy: Function = as_function(op, self.surroundings)
        self.original = self.copy.copied
        """The operations of the island by those of the copy."""
        _erase_prints(self.copy.function)
        prove_bounds(self.copy.function)
        updates_to_accumulates(self.copy.function)
        self.dependences = Dependences(self.copy.function)
        for access in self.dependences.accesses:
            if access.buffer is None and not access.op.name.startswith("scf."):
                raise refused(access.op, f"'{access.op.name}' may write any buffer")
        self.inputs = self.copy.buffers[: len(op.inputs)]
        self.outputs = self.copy.buffers[len(op.inputs) :]
        self.tensor = dict(zip(self.copy.buffers, op.operands, strict=True))
        starts = {b for b, t in self.tensor.items() if t in active}
        starts |= {inner for outer, inner in self.copy.inside.items() if outer in active}
        ends = {b for b, c in zip(self.outputs, cotangents, strict=True) if c is not None}
        self.wanted = starts
        """The buffers and scalars from outside whose cotangents are of use."""
        self.active = varied(self.copy.function, starts) & useful(self.copy.function, ends)

    def writes(self, buffer: SSAValue) -> list[Access]:
        """The stores and accumulates of a buffer."""
        return [a for a in self.dependences.accesses_through(buffer) if a.writes]

    def free(self, load: LoadOp) -> str | None:
        """Where the value of a load can be read again: `INPUT`, `START` or `END` contents; None where nowhere."""
        writes = self.writes(load.memref)
        if not writes:
            return INPUT
        if not any(self._runs_before(load, access.op) for access in writes):
            return END
        is_known = load.memref in self.outputs and not isinstance(self.tensor[load.memref].owner, EmptyOp)
        if is_known and not any(self._runs_before(access.op, load) for access in writes):
            return START
        return None

    def _runs_before(self, first: Operation, second: Operation) -> bool:
        """Whether an instance of `first` may run before one of `second` that touches the same element."""
        return bool(self.dependences.distance(first, second))

    def must_clear(self, store: StoreOp) -> bool:
        """Whether what the store overwrites has a use for a cotangent, which must not get that of the new contents."""
        if store.memref in self.wanted:
            return True
        return any(
            self._runs_before(access.op, store)
            for access in self.writes(store.memref)
            if any(v in self.active for v in stored_by(access.op))
        )


def may_stop(op: LoopsOp) -> bool:
    """Whether an island checks or prints something, other than an index that is certain to be in bounds."""

    def acts(op: Operation) -> bool:
        return any(isinstance(inner, IndexOp | cf.AssertOp | CallOp) for inner in op.walk())

    if not acts(op):
        return False
    function = as_function(op, Surroundings(op)).function
    prove_bounds(function)
    return acts(function)


def _erase_prints(function: FuncOp) -> None:
    """Erase checks and calls of the runtime that print: they are not repeated, and touch no buffer."""
    for op in list(function.walk()):
        is_print = isinstance(op, CallOp) and not any(isinstance(v.type, MemRefType) for v in op.operands)
        if not op.results and (is_print or isinstance(op, cf.AssertOp)):
            assert op.parent is not None
            op.parent.erase_op(op)
