"""Primal values that the adjoint of an island needs, computed again.

What is made of extents, loop variables and free loads is computed at the start of the block of the adjoint that runs for
the same iteration. The contents of a buffer that the island makes for itself are there again once the statements that fill
it have run again, where these need nothing that is gone. What is gone,
or decided by sums (`decisions.py`), is read from tapes (`tapes.py`).

The adjoint is made twice where it needs tapes: the first time finds out which values it asks for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue

from ....analysis.nest.loop_structure import is_inside
from ....analysis.nest.sets.accesses import buffer_name
from ....analysis.nest.sets.domains import is_computation
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, IfOp, IndexOp, LoadOp, StoreOp
from ...nest.rewrite.loops import materialise
from .decisions import Decisions
from .primal import END, Primal
from .refusals import refused
from .stored_kinds import from_memory

Contents = Callable[[SSAValue, str], SSAValue]
"""The buffer in the adjoint that holds the contents (`INPUT`, `START`, `END`) of a buffer of the primal."""
Taped = Callable[[SSAValue], tuple[SSAValue, AffineList] | None]
"""The buffer in the adjoint that holds a value of the primal, and where (by values of the primal); None: it has no tape."""

Change = Callable[
    [StoreOp | AccumulateOp, SSAValue, AffineList, Callable[[Operation], object]], tuple[SSAValue, str]
]
"""What becomes of the value of a statement, and how it is accumulated."""


class _Values(ABC):
    """Makes the values of some blocks of the primal again."""

    @abstractmethod
    def value(self, value: SSAValue) -> SSAValue:
        """A value that is needed, made again."""

    @abstractmethod
    def part(self, value: SSAValue) -> SSAValue:
        """A value that others are made of, made again."""

    @abstractmethod
    def place_of(self, load: LoadOp) -> tuple[SSAValue, AffineList]:
        """The buffer in which a load of the primal finds its value, and where (by values of the primal)."""

    @abstractmethod
    def taped(self, value: SSAValue) -> tuple[SSAValue, AffineList] | None:
        """The tape that has a value, and where (by values of the primal)."""

    @abstractmethod
    def may_differ(self, op: Operation) -> bool:
        """Whether what was decided by sums of floats would be decided again, by sums that may be rounded otherwise."""

    @abstractmethod
    def left(self, value: SSAValue) -> tuple[SSAValue, AffineList] | None:
        """The buffer whose final contents have a value that is gone otherwise, and where (by values of the primal)."""

    def indices(self, expressions: AffineList) -> AffineList:
        """Affine expressions over values that are made again."""
        return expressions.substitute_all({v: self.value(v) for v in expressions.operands})

    def _parts(self, expressions: AffineList) -> AffineList:
        return expressions.substitute_all({v: self.part(v) for v in expressions.operands})

    def make(self, op: Operation, insert: Callable[[Operation], object]) -> SSAValue:
        """The result of an operation of the primal, by operations that `insert` puts somewhere."""

        def put(new: Operation) -> SSAValue:
            new.location = op.location
            insert(new)
            return new.results[0]

        if (tape := self.taped(op.results[0])) is not None:
            buffer, at = tape
            result = from_memory(put(LoadOp(buffer, self._parts(at))), op.results[0].type, put)
        elif (final := self.left(op.results[0])) is not None:
            buffer, at = final
            result = put(LoadOp(buffer, self._parts(at)))
        elif self.may_differ(op):
            raise refused(op, "it needs what a sum of floats decides, which may be rounded otherwise now")
        elif isinstance(op, LoadOp):
            buffer, at = self.place_of(op)
            result = put(LoadOp(buffer, self._parts(at)))
        elif isinstance(op, IndexOp):
            result = self._index(op, put)
        elif is_computation(op):
            result = put(op.clone({v: self.part(v) for v in op.operands}))
        else:
            raise refused(op, f"it needs the result of '{op.name}'")
        result.name_hint = op.results[0].name_hint
        return result

    def _index(self, op: IndexOp, put: Callable[[Operation], SSAValue]) -> SSAValue:
        """A checked index that did not fail: it is in bounds, or counts from the end."""

        def number(expression: AffineList) -> SSAValue:
            scratch = Block()
            result = materialise(self._parts(expression), scratch, None)
            for new in list(scratch.ops):
                new.detach()
                put(new)
            return result

        index = number(op.index)
        if op.from_start is not None:
            return index
        zero = put(arith.ConstantOp(IntegerAttr(0, IndexType())))
        wrapped = put(arith.AddiOp(index, number(op.extent)))
        return put(arith.SelectOp(put(arith.CmpiOp(index, zero, "slt")), wrapped, index))


class Recompute(_Values):
    """Values of the primal in the adjoint."""

    def __init__(self, primal: Primal, contents: Contents, taped: Taped, is_final: bool):
        """`is_final`: what is gone has a tape; else it is only noted that something is needed that is gone."""
        self.primal, self._contents, self._taped, self._is_final = primal, contents, taped, is_final
        self._decisions = Decisions(primal)
        self._known: dict[SSAValue, SSAValue] = {}
        self._buffers: dict[tuple[SSAValue, str], SSAValue] = {}
        self._place: dict[Block, tuple[Block, list[Operation]]] = {}
        self.in_order: set[ForOp] = set()
        """Loops that run again as they ran."""
        self.asked: dict[SSAValue, None] = {}
        """The values of the primal that are needed, not those that these are made of."""
        self.is_gone = False
        """Whether something is needed that is gone."""

    def enter(self, block: Block, mirror: Block) -> None:
        """Say which block of the adjoint runs for the iterations of `block`; its loop variables are the same."""
        self._place[block] = mirror, []
        if isinstance(block.parent_op(), ForOp):
            self._known.update(zip(block.args, mirror.args, strict=True))

    def set(self, value: SSAValue, inside: SSAValue) -> None:
        """Say what a value of the primal is in the adjoint."""
        self._known[value] = inside

    def at_start(self, block: Block, op: Operation) -> None:
        """Put an operation at the start of the mirror of `block`, behind what was put there before."""
        mirror, made = self._place[block]
        if made:
            mirror.insert_op_after(op, made[-1])
        elif mirror.first_op is not None:
            mirror.insert_op_before(op, mirror.first_op)
        else:
            mirror.add_op(op)
        made.append(op)

    def value(self, value: SSAValue) -> SSAValue:
        self.asked[value] = None
        return self.part(value)

    def part(self, value: SSAValue) -> SSAValue:
        known = self._known.get(value)
        if known is None:
            op = value.owner
            assert isinstance(op, Operation) and op.parent is not None
            block = op.parent
            known = self._known[value] = self.make(op, lambda new: self.at_start(block, new))
        return known

    def taped(self, value: SSAValue) -> tuple[SSAValue, AffineList] | None:
        return self._taped(value)

    def may_differ(self, op: Operation) -> bool:
        if not self._decisions.may_differ(op):
            return False
        self.is_gone = True
        return self._is_final

    def left(self, value: SSAValue) -> tuple[SSAValue, AffineList] | None:
        store = self.primal.left(value)
        return None if store is None else (self._contents(store.memref, END), store.indices)

    def place_of(self, load: LoadOp) -> tuple[SSAValue, AffineList]:
        kind = self.primal.readable(load)
        if kind is None:
            if self._is_final:
                raise refused(
                    load, f"it needs what {buffer_name(load.memref)} holds here, which is overwritten"
                )
            self.is_gone = True
            return AllocOp("gone", MemRefType(load.result.type, [])).memref, AffineList.of()
        owner = load.memref.owner
        buffer = self._refilled(owner) if isinstance(owner, AllocOp) else self._contents(load.memref, kind)
        return buffer, load.indices

    def _refilled(self, alloc: AllocOp) -> SSAValue:
        """A buffer with the final contents of one of the island's own."""
        return self.beside(alloc, "", None)

    def beside(self, alloc: AllocOp, name: str, change: Change | None) -> SSAValue:
        """A buffer like one of the island's own, with what `change` makes of each value that is stored or accumulated.

        `change` gets the statement, its value, where its element is and how to insert operations; it gives another
        value, and how that is accumulated. The loads of the buffer are left out.
        """
        key = alloc.memref, name
        known = self._buffers.get(key)
        if known is None:
            block = alloc.parent
            assert block is not None and isinstance(alloc.memref.type, MemRefType)
            new = AllocOp(
                f"{alloc.label.data}{name}", alloc.memref.type, [self.value(s) for s in alloc.sizes]
            )
            new.location = alloc.location
            self.at_start(block, new)
            known = self._buffers[key] = new.memref
            own = {alloc.memref: known}
            _Refill(self, alloc, lambda op: self.at_start(block, op), own, change).run(block)
        return known


class _Refill(_Values):
    """Runs what fills a buffer again, in program order: loops are made anew, and so are the values in them."""

    def __init__(
        self,
        outer: Recompute,
        alloc: AllocOp,
        insert: Callable[[Operation], object],
        known: dict[SSAValue, SSAValue],
        change: Change | None,
    ):
        self._outer, self._alloc, self._insert, self._known = outer, alloc, insert, known
        self._change = change

    def run(self, block: Block) -> None:
        """Run what is in a block again, as far as it is about the buffer."""
        for op in block.ops:
            if isinstance(op, LoadOp) and op.memref is self._alloc.memref and self._change is None:
                # where it stands: the buffer changes
                self._known[op.result] = self._now(op)
            elif any(is_inside(a.op, op) for a in self._outer.primal.writes(self._alloc.memref)):
                new = self._again(op)
                new.location = op.location
                self._insert(new)

    def value(self, value: SSAValue) -> SSAValue:
        if self._change is not None:
            self._outer.asked[value] = None
        return self.part(value)

    def part(self, value: SSAValue) -> SSAValue:
        known = self._known.get(value)
        if known is None:
            if not self._is_own(value):
                return self._outer.part(value)
            assert isinstance(value.owner, Operation)
            known = self._known[value] = self.make(value.owner, self._insert)
        return known

    def place_of(self, load: LoadOp) -> tuple[SSAValue, AffineList]:
        known = self._known.get(load.memref)
        return self._outer.place_of(load) if known is None else (known, load.indices)

    def taped(self, value: SSAValue) -> tuple[SSAValue, AffineList] | None:
        return self._outer.taped(value)

    def may_differ(self, op: Operation) -> bool:
        return self._outer.may_differ(op)

    def left(self, value: SSAValue) -> tuple[SSAValue, AffineList] | None:
        return self._outer.left(value)

    def _now(self, load: LoadOp) -> SSAValue:
        """What the buffer holds now."""
        new = LoadOp(self._known[load.memref], self._parts(load.indices))
        new.location, new.result.name_hint = load.location, load.result.name_hint
        self._insert(new)
        return new.result

    def _again(self, op: Operation) -> Operation:
        if isinstance(op, StoreOp) or (isinstance(op, AccumulateOp) and op.combine is None):
            if self._change is not None:
                return self._changed(op, self._change)
            return op.clone({v: self.value(v) for v in op.operands})
        if isinstance(op, ForOp):
            body = Block(arg_types=[IndexType()])
            body.args[0].name_hint = op.iv.name_hint
            self._inside(op.body.block, body, {op.iv: body.args[0]})
            lower, upper = self.indices(op.lower), self.indices(op.upper)
            loop = ForOp(op.label, lower, upper, body, step=op.step_value)
            self._outer.in_order.add(loop)
            return loop
        if isinstance(op, IfOp):
            regions = [self._branch(r) for r in (op.then_region, op.else_region) if r is not None]
            return IfOp(self.value(op.condition), *regions)
        raise refused(op, f"it needs again what '{op.name}' has written to {buffer_name(self._alloc.memref)}")

    def _changed(self, op: StoreOp | AccumulateOp, change: Change) -> Operation:
        at = self.indices(op.indices)
        where = None if op.where is None else self.indices(op.where)
        mask = None if op.mask is None else self.value(op.mask)
        value = op.value if isinstance(op, StoreOp) else op.values[0]
        new, combiner = change(op, self.value(value), at, self._insert)
        buffer = self._known[self._alloc.memref]
        if isinstance(op, StoreOp):
            return StoreOp(new, buffer, at, where=where, mask=mask)
        return AccumulateOp(combiner, [new], [buffer], at, where=where, mask=mask)

    def _branch(self, region: Region) -> Region:
        body = Block()
        self._inside(region.block, body, {})
        return Region(body)

    def _inside(self, block: Block, body: Block, known: dict[SSAValue, SSAValue]) -> None:
        _Refill(self._outer, self._alloc, body.add_op, {**self._known, **known}, self._change).run(block)

    def _is_own(self, value: SSAValue) -> bool:
        """Whether a value is one of the loops that are made here, or made of what the buffer holds meanwhile."""
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        home = self._alloc.parent
        if block is home:
            return isinstance(owner, Operation) and any(
                (v in self._known and v is not self._alloc.memref) or self._is_own(v) for v in owner.operands
            )
        while block is not None and block is not home:
            outer = block.parent_op()
            block = None if outer is None else outer.parent
        return block is home
