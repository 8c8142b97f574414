"""What reverse mode asks about an island: what is active, which loads can be repeated, what a store overwrites.

A load is *free* where its value can be read again when all is done: of an operand that nothing writes; of an element that
nothing overwrites afterwards (the final contents are a result); or of an element as it was at the start (the operand that
is written is still there). Unknown means not free. A buffer that the island makes for itself is filled again: it can be read
where that needs nothing but free loads. Of a value that is stored to an element which nothing overwrites later, the final
contents are one more place to read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import cf, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, SSAValue

from ....analysis.nest.loop_structure import is_inside
from ....analysis.nest.sets.accesses import Access, accesses_in
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.sets.domains import is_computation
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, IfOp, IndexOp, LoadOp, StoreOp
from ....dialects.nt.ops import EmptyOp, LoopsOp
from ...nest.cleanup.prove_bounds import prove_bounds
from .activity import stored_by, useful, varied
from .cells import join_copies
from .equal_loads import merge_equal_loads
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
        erase_prints(self.copy.function)
        prove_bounds(self.copy.function)
        join_copies(self.copy.function)
        updates_to_accumulates(self.copy.function)
        self.inputs = self.copy.buffers[: len(op.inputs)]
        self.outputs = self.copy.buffers[len(op.inputs) :]
        self.tensor = dict(zip(self.copy.buffers, op.operands, strict=True))
        starts = {b for b, t in self.tensor.items() if t in active}
        starts |= {inner for outer, inner in self.copy.inside.items() if outer in active}
        ends = {b for b, c in zip(self.outputs, cotangents, strict=True) if c is not None}
        self.known = set(self.copy.inside.values())
        """What is known outside, inside."""
        self.wanted = starts
        """The buffers and scalars from outside whose cotangents are of use."""
        self._ends = ends
        self._look()
        for access in self.dependences.accesses:
            if access.buffer is None and not access.op.name.startswith("scf."):
                raise refused(access.op, f"'{access.op.name}' may write any buffer")

    def _look(self) -> None:
        """Find out what is asked about, of the function as it is now."""
        self.active = varied(self.copy.function, self.wanted) & useful(self.copy.function, self._ends)
        self.dependences = Dependences(self.copy.function)
        self._free: dict[LoadOp, str | None] = {}
        self._refillable: dict[AllocOp, bool] = {}
        self._gone: dict[SSAValue, tuple[LoadOp, ...]] = {}
        self._left: dict[SSAValue, StoreOp | None] = {}

    def merge_loads(self) -> None:
        """Let equal loads be one, so that they are kept once."""
        merge_equal_loads(self.copy.function)
        self._look()

    def open_loops(self) -> list[Operation]:
        """The outermost scf.while that write what carries derivatives, in the island itself."""
        found = [
            op
            for op in self.copy.function.walk()
            if isinstance(op, scf.WhileOp)
            and any(a.writes and a.buffer in self.active for a in accesses_in(op))
        ]
        return [self.original[op] for op in found if not any(is_inside(op, o) for o in found if o is not op)]

    def writes(self, buffer: SSAValue) -> list[Access]:
        """The stores and accumulates of a buffer."""
        return [a for a in self.dependences.accesses_through(buffer) if a.writes]

    def readable(self, load: LoadOp) -> str | None:
        """Where the value of a load can be read again, `INPUT`, `START` or `END` contents; None: it is gone."""
        kind = self.free(load)
        owner = load.memref.owner
        return None if isinstance(owner, AllocOp) and not self._can_refill(owner) else kind

    def gone_below(self, value: SSAValue) -> tuple[LoadOp, ...]:
        """The loads that are gone among what a value is computed from."""
        if value not in self._gone:
            found: dict[Operation, None] = {}
            pending = [value.owner]
            while pending:
                op = pending.pop()
                if isinstance(op, Block) or op in found:
                    continue
                found[op] = None
                pending += [v.owner for v in (op.indices.operands if isinstance(op, LoadOp) else op.operands)]
            gone = (op for op in found if isinstance(op, LoadOp) and self.readable(op) is None)
            self._gone[value] = tuple(gone)
        return self._gone[value]

    def left(self, value: SSAValue) -> StoreOp | None:
        """A store that leaves a value which is gone otherwise in the final contents of a buffer."""
        if value not in self._left:
            stores = (use.operation for use in value.uses) if self.gone_below(value) else ()
            self._left[value] = next((op for op in stores if self._leaves(op, value)), None)
        return self._left[value]

    def _leaves(self, op: Operation, value: SSAValue) -> bool:
        if not isinstance(op, StoreOp) or op.value is not value or op.memref not in self.outputs:
            return False
        if op.parent is not value.owner.parent or op.where is not None or op.mask is not None:  # pyright: ignore
            return False
        return not any(self._runs_before(op, access.op) for access in self.writes(op.memref))

    def free(self, load: LoadOp) -> str | None:
        """What buffer still has the value of a load: `INPUT`, `START` or `END` contents; None where none has."""
        if load not in self._free:
            self._free[load] = self._freedom(load)
        return self._free[load]

    def _freedom(self, load: LoadOp) -> str | None:
        writes = self.writes(load.memref)
        if not writes:
            return INPUT
        if not any(self._runs_before(load, access.op) for access in writes):
            return END
        is_known = load.memref in self.outputs and not isinstance(self.tensor[load.memref].owner, EmptyOp)
        if is_known and not any(self._runs_before(access.op, load) for access in writes):
            return START
        return None

    def writes_between(self, load: LoadOp, loop: Operation) -> bool:
        """Whether something inside of `loop` may write what the load reads."""
        home = load.memref.owner
        if isinstance(home, Operation) and is_inside(home, loop):
            return True
        writes = [a.op for a in self.writes(load.memref) if is_inside(a.op, loop)]
        return any(self._runs_before(load, op) or self._runs_before(op, load) for op in writes)

    def _runs_before(self, first: Operation, second: Operation) -> bool:
        """Whether an instance of `first` may run before one of `second` that touches the same element."""
        return bool(self.dependences.distance(first, second))

    def _can_refill(self, alloc: AllocOp) -> bool:
        """Whether what fills a buffer can run again, with values that are there."""
        if alloc not in self._refillable:
            self._refillable[alloc] = False  # as far as it needs itself
            self._refillable[alloc] = self._fills_again(alloc)
        return self._refillable[alloc]

    def _fills_again(self, alloc: AllocOp) -> bool:
        around: set[Operation] = set()
        needed: list[SSAValue] = list(alloc.sizes)
        for access in self.writes(alloc.memref):
            op = access.op
            if not isinstance(op, StoreOp) and (not isinstance(op, AccumulateOp) or op.combine is not None):
                return False
            needed += (v for v in op.operands if v is not alloc.memref)
            while op.parent is not alloc.parent:
                op = op.parent_op()
                if not isinstance(op, ForOp | IfOp):
                    return False
                around.add(op)
        needed += (v for op in around for v in op.operands)
        for use in alloc.memref.uses:
            user = use.operation
            if isinstance(user, LoadOp) and (user.parent is alloc.parent or user.parent_op() in around):
                needed += user.indices.operands
        known: dict[SSAValue, bool] = {}
        return all(self._is_there(v, alloc, known) for v in needed)

    def _is_there(self, value: SSAValue, alloc: AllocOp, known: dict[SSAValue, bool]) -> bool:
        """Whether a value can be computed again while a buffer is filled again."""
        op = value.owner
        if isinstance(op, Block) or value in self.known:
            return True
        if value not in known:
            parts: Iterable[SSAValue] = op.operands
            if isinstance(op, LoadOp):
                parts = op.indices.operands
                can = op.memref is alloc.memref or self._can_read_beside(op, alloc)
            else:
                can = isinstance(op, IndexOp) or is_computation(op)
            known[value] = can and all(self._is_there(v, alloc, known) for v in parts)
        return known[value]

    def _can_read_beside(self, load: LoadOp, alloc: AllocOp) -> bool:
        owner = load.memref.owner
        if isinstance(owner, AllocOp) and _is_below(owner.parent, alloc.parent):
            return False  # what it held is lost when its own loop goes on
        return self.readable(load) is not None

    def must_clear(self, store: StoreOp) -> bool:
        """Whether what the store overwrites has a use for a cotangent, which must not get that of the new contents."""
        if store.memref in self.wanted:
            return True
        return any(
            self._runs_before(access.op, store)
            for access in self.writes(store.memref)
            if any(v in self.active for v in stored_by(access.op))
        )


def _is_below(block: Block | None, outer: Block | None) -> bool:
    """Whether a block is in a region of an operation of another one."""
    while block is not None and (parent := block.parent_op()) is not None:
        block = parent.parent
        if block is outer:
            return True
    return False


def may_stop(op: LoopsOp) -> bool:
    """Whether an island checks or prints something, other than an index that is certain to be in bounds."""

    def acts(op: Operation) -> bool:
        return any(isinstance(inner, IndexOp | cf.AssertOp | CallOp) for inner in op.walk())

    if not acts(op):
        return False
    function = as_function(op, Surroundings(op)).function
    prove_bounds(function)
    return acts(function)


def erase_prints(function: Operation) -> None:
    """Erase checks and calls of the runtime that print: they are not repeated, and touch no buffer."""
    for op in list(function.walk()):
        is_print = isinstance(op, CallOp) and not any(isinstance(v.type, MemRefType) for v in op.operands)
        if not op.results and (is_print or isinstance(op, cf.AssertOp)):
            assert op.parent is not None
            op.parent.erase_op(op)
