"""Reverse mode of an island: another island that runs its operations backwards, on cotangents.

    nest.for "i" %i = 1 to %n {                          nest.for "i" %i = 1 to %n {         // from %n - 1 down to 1
      %a = nest.load %y[%i - 1]                            %g = nest.load %cy[%n - %i]
      %b = arith.mulf %a, %c                       ->      nest.store %zero, %cy[%n - %i]
      nest.store %b, %y[%i]                                %h = arith.mulf %g, %c
    }                                                      nest.accumulate add %h, %cy[%n - %i - 1]

Operation by operation, the last one first: a load adds the cotangent of its value to that of the element; a store takes the
cotangent of the element and leaves zero (the old contents had no part in the new ones); an accumulate takes it and leaves
it. A loop runs backwards where its iterations depend on each other, else as it is; how it was to run is not copied. Checks
and prints are not repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

from ....analysis.nest.sets.accesses import accesses_in, buffer_name
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, IfOp, LoadOp, StoreOp
from ....dialects.nt.constants import dtype_of, from_numpy
from ....dialects.nt.ops import ConstantOp, EmptyOp, LoopsOp
from ..loops import empty_like
from ..masks import Mask
from ..reverse import Reverse
from .cells import values_of_cells
from .counted_loops import count_first
from .directions import turn_loops
from .extremes import of_term, require_reduction
from .gathers import gather_all, gather_rest
from .kept import to_keep
from .placement import first_are_stores
from .places import Counts, Places, UnknownCount
from .primal import END, INPUT, START, Primal
from .recompute import Recompute
from .refusals import refused
from .scalars import Late, Scalars, is_choice, product
from .tapes import Tapes


@dataclass(frozen=True)
class Domain:
    """Where a statement of the primal runs: as its `where` and its mask say."""

    where: AffineList | None = None
    mask: SSAValue | None = None

    def at(self, block: Block) -> Domain:
        """What of it is known in a block around."""
        around = set(_around(block))
        kept = (
            []
            if self.where is None
            else [c for c in self.where if all(_home(v) in around for v in c.operands)]
        )
        mask = self.mask if self.mask is not None and _home(self.mask) in around else None
        return Domain(AffineList.of(*kept).canonical() if kept else None, mask)


def reverse(op: LoopsOp, cotangents: Sequence[SSAValue | None], to: Reverse) -> None:
    """The rule for islands. Loops that only the run counts are counted first, as they are found."""
    counts: Counts = {}
    while True:
        primal = Primal(op, to.active, cotangents)
        places = Places(primal, counts)
        try:
            if loops := primal.open_loops():
                raise UnknownCount(primal, *loops)
            return _reverse(primal, places, cotangents, to)
        except UnknownCount as unknown:
            op, counts = _counted(op, unknown, places, counts, to)


def _counted(
    op: LoopsOp, unknown: UnknownCount, places: Places, counts: Counts, to: Reverse
) -> tuple[LoopsOp, Counts]:
    while True:
        try:
            return count_first(op, unknown.loops, places, counts, to)
        except UnknownCount as outer:
            unknown = outer


def _reverse(primal: Primal, places: Places, cotangents: Sequence[SSAValue | None], to: Reverse) -> None:
    tapes = Tapes(primal, places, to)
    adjoint = _Adjoint(primal, tapes, cotangents, to, is_final=False)
    adjoint.make()
    if adjoint.values.is_gone:
        primal.merge_loads()
        adjoint = _Adjoint(primal, tapes, cotangents, to, is_final=False)
        adjoint.make()
        tapes.keep(to_keep(primal, places, adjoint.values.asked))
        adjoint = _Adjoint(primal, tapes, cotangents, to, is_final=True)
        adjoint.make()
    adjoint.finish()


class _Adjoint:
    """The adjoint of one island, as it is made."""

    def __init__(
        self,
        primal: Primal,
        tapes: Tapes,
        cotangents: Sequence[SSAValue | None],
        to: Reverse,
        is_final: bool,
    ):
        self._to, self._given = to, cotangents
        self._primal, self._tapes = primal, tapes
        self._frame = self._primal.surroundings.function()
        self.values = Recompute(self._primal, self._contents, self._taped, is_final)
        for outer, inner in self._primal.copy.inside.items():
            self.values.set(inner, self._frame.inside[outer])
        self._read: dict[SSAValue, SSAValue] = {}
        """The tensors whose elements are read, and their buffers."""
        self._cotangents: dict[SSAValue, SSAValue] = {}
        """By buffer (or scalar from outside) of the primal: the buffer of its cotangent."""
        self._sums: dict[SSAValue, dict[Domain, SSAValue]] = {}
        """Cotangents of scalars, by where they count."""
        self._cells: dict[SSAValue, dict[Domain, SSAValue]] = {}
        """The same in memory: those that blocks inside of the scalar's add to."""
        self._updates: dict[tuple[SSAValue, AffineList, Domain], SSAValue] = {}
        """What the present block adds to elements that nobody reads before the end, and the operations."""
        self._block = self._primal.copy.block
        self._by = Scalars(self._frame.block.add_op, to.builder.marked(primal.op.location))
        self._added_only: set[SSAValue] = set()
        """Cotangents of what the island only reads: it adds to them, and does not look."""
        chooses = any(map(self._chooses, self._primal.copy.function.walk()))
        self._masked = Mask.ALL if chooses else to.masked
        self._cleared: set[SSAValue] = set()
        """Cotangents some elements of which were set to zero: what they belong to was overwritten."""

    def _chooses(self, op: Operation) -> bool:
        """Whether an operation leaves some of its operands out."""
        if isinstance(op, IfOp):
            return True
        if isinstance(op, AccumulateOp):
            return op.combiner.data in ("maximum", "minimum") and op.memrefs[0] in self._primal.active
        return bool(op.results) and op.results[0] in self._primal.active and is_choice(op)

    def make(self) -> None:
        """Make the operations of the adjoint."""
        primal, active = self._primal, self._primal.active
        for buffer, tensor in primal.tensor.items():
            if buffer in active:
                self._cotangents[buffer] = self._frame.buffer(tensor)
                if buffer in primal.inputs:
                    self._added_only.add(self._cotangents[buffer])
        for outer, inner in primal.copy.inside.items():
            if inner in active and outer in self._to.active:
                self._cotangents[inner] = self._frame.cell(outer.type)
        self._reverse(primal.copy.block, self._frame.block)

    # ---- operands and results -----------------------------------------------------------------------------

    def _contents(self, buffer: SSAValue, when: str) -> SSAValue:
        """The buffer that holds what one of the primal holds at some time."""
        primal = self._primal
        tensor = primal.tensor[buffer]
        if when == END:
            tensor = primal.op.results_[primal.outputs.index(buffer)]
        assert when in (INPUT, START, END)
        if tensor not in self._read:
            self._read[tensor] = self._frame.buffer(tensor, buffer.name_hint)
        return self._read[tensor]

    def _taped(self, value: SSAValue) -> tuple[SSAValue, AffineList] | None:
        """The buffer that holds what the primal kept of a value, and where."""
        kept = self._tapes.of(value)
        if kept is None:
            return None
        tape, at = kept
        if tape not in self._read:
            self._read[tape] = self._frame.buffer(tape)
        return self._read[tape], at

    def finish(self) -> None:
        """Put the island where the derivative goes, and hand the cotangents of its operands on."""
        self._frame.end()
        values_of_cells(self._frame.function)
        turn_loops(self._frame.function, self.values.in_order)
        primal, to = self._primal, self._to
        filled = self._tapes.fill()
        outers = {inner: outer for outer, inner in primal.copy.inside.items()}
        given = dict(zip(primal.outputs, self._given, strict=True))
        written = {a.buffer for a in accesses_in(self._frame.function) if a.writes}
        ins, outs = [(to.now(filled.get(t, t)), b) for t, b in self._read.items()], []
        targets: list[tuple[SSAValue, Mask]] = []
        for key, buffer in self._cotangents.items():
            if isinstance(key.owner, AllocOp):
                continue
            target = outers[key] if key in outers else primal.tensor[key]
            start = given.get(key)
            if buffer not in written:
                to.add(target, start, masked=self._masked)
                if start is not None and buffer.uses:
                    ins.append((start, buffer))
                continue
            outs.append((self._start(target, buffer) if start is None else start, buffer))
            left_out = buffer in self._cleared or (
                start is None and not isinstance(outs[-1][0].owner, EmptyOp)
            )
            targets.append((target, Mask.ALL if left_out else self._masked))
        if not outs:
            return
        gather_rest(self._frame.function)
        region = self._frame.leave(b for _, b in (*ins, *outs))
        island = to.builder.add(LoopsOp([t for t, _ in ins], [t for t, _ in outs], region))
        for (target, mask), result in zip(targets, island.results, strict=True):
            to.add(target, result, masked=mask)

    def _start(self, target: SSAValue, buffer: SSAValue) -> SSAValue:
        """What a cotangent without one from later operations starts from: zeros, or anything where all is stored."""
        builder = self._to.builder
        if not isinstance(target.type, TensorType):
            return builder.value(ConstantOp(from_numpy(np.zeros((), dtype_of(target.type)), target.type)))
        function = self._frame.function
        if buffer in self._added_only and (
            gather_all(function, buffer) or first_are_stores(function, buffer)
        ):
            return empty_like(builder, target)
        return builder.zeros(self._result_of(target))

    def _result_of(self, target: SSAValue) -> SSAValue:
        """Of what an island fills, the filled tensor: what has no value yet is not asked for its extents."""
        if isinstance(target.owner, EmptyOp):
            return self._primal.op.results_[list(self._primal.op.outputs).index(target)]
        return target

    # ---- the operations of a block, the last one first ----------------------------------------------------

    def _reverse(self, block: Block, mirror: Block) -> None:
        outer = self._block, self._by, self._updates
        self._block, self._by, self._updates = block, Scalars(mirror.add_op, self._by.emitter.location), {}
        self.values.enter(block, mirror)
        for op in block.ops:
            if isinstance(op, AllocOp) and op.memref in self._primal.active:
                self._allocate(op)
        for op in reversed(list(block.ops)):
            self._by.emitter.location = self._to.builder.marked(op.location)
            self._one(op)
        for (buffer, indices, domain), value in self._updates.items():
            self._accumulate(value, buffer, indices, domain)
        self._block, self._by, self._updates = outer

    def _one(self, op: Operation) -> None:
        if isinstance(op, LoadOp):
            self._load(op)
        elif isinstance(op, StoreOp):
            self._store(op)
        elif isinstance(op, AccumulateOp):
            self._accumulated(op)
        elif isinstance(op, ForOp):
            self._for(op)
        elif isinstance(op, IfOp):
            self._if(op)
        elif op.regions or not op.results:
            self._refuse_writes(op)
        elif op.results[0] in self._primal.active:
            self._scalar(op)

    def _refuse_writes(self, op: Operation) -> None:
        for access in accesses_in(op):
            if access.writes and access.buffer in self._primal.active:
                raise refused(op, f"'{op.name}' writes {buffer_name(access.buffer)}")

    def _load(self, op: LoadOp) -> None:
        for domain, cotangent in self._take(op.result):
            buffer = self._cotangents[op.memref]
            if buffer in self._added_only:
                key = buffer, self.values.indices(op.indices).canonical(), domain
                known = self._updates.get(key)
                self._updates[key] = cotangent if known is None else self._plus(known, cotangent)
            else:
                self._accumulate(cotangent, buffer, self.values.indices(op.indices), domain)

    def _store(self, op: StoreOp) -> None:
        if op.memref not in self._primal.active:
            return
        is_active, must_clear = op.value in self._primal.active, self._primal.must_clear(op)
        if not is_active and not must_clear:
            return
        buffer, at = self._cotangents[op.memref], self.values.indices(op.indices)
        if is_active:
            cotangent = self._put(LoadOp(buffer, at))
        if must_clear:
            where, mask = self._domain(Domain(op.where, op.mask))
            self._cleared.add(buffer)
            zero = self._by.emitter.const(0.0, op.value.type)
            self._put(StoreOp(zero, buffer, at, where=where, mask=mask))
        if is_active:
            self._add(op.value, cotangent, Domain(op.where, op.mask))

    def _accumulated(self, op: AccumulateOp) -> None:
        if not any(m in self._primal.active for m in op.memrefs):
            return
        is_sum, at = op.combiner.data == "add", self.values.indices(op.indices)
        if not is_sum:
            require_reduction(op, self._primal)
        if op.values[0] in self._primal.active:
            cotangent = self._put(LoadOp(self._cotangents[op.memrefs[0]], at))
            if not is_sum:
                cotangent = of_term(op, cotangent, at, self.values, self._by)
            self._add(op.values[0], cotangent, Domain(op.where, op.mask))

    def _scalar(self, op: Operation) -> None:
        parts = [Late(self._by, lambda v=v: self.values.value(v)) for v in (*op.operands, op.results[0])]
        for domain, cotangent in self._take(op.results[0]):
            for k, operand in enumerate(op.operands):
                if operand in self._primal.active:
                    part = product(op, k, cotangent, parts, self._by, self._masked)
                    if part is not None:
                        self._add(operand, part, domain)

    def _for(self, op: ForOp) -> None:
        body = Block(arg_types=[IndexType()])
        body.args[0].name_hint = op.iv.name_hint
        self._reverse(op.body.block, body)
        if _does_something(body):
            lower, upper = self.values.indices(op.lower), self.values.indices(op.upper)
            self._put(ForOp(op.label, lower, upper, body, step=op.step_value))

    def _if(self, op: IfOp) -> None:
        bodies = []
        for region in (op.then_region, op.else_region):
            bodies.append(Block())
            if region is not None:
                self._reverse(region.block, bodies[-1])
        if not any(map(_does_something, bodies)):
            return
        otherwise = Region(bodies[1]) if _does_something(bodies[1]) else None
        self._put(IfOp(self.values.value(op.condition), Region(bodies[0]), otherwise))

    # ---- cotangents of scalars ----------------------------------------------------------------------------

    def _add(self, value: SSAValue, cotangent: SSAValue, domain: Domain) -> None:
        """Add to the cotangent of a scalar, where `domain` says."""
        if value not in self._primal.active:
            return
        if value in self._cotangents:
            self._accumulate(cotangent, self._cotangents[value], AffineList.of(), domain)
        elif (home := _home(value)) is self._block:
            sums = self._sums.setdefault(value, {})
            sums[domain] = self._plus(sums[domain], cotangent) if domain in sums else cotangent
        else:
            cells = self._cells.setdefault(value, {})
            outer = domain.at(home)
            if outer not in cells:
                cells[outer] = self._zero_buffer(
                    home, MemRefType(value.type, []), [], value.name_hint or "value"
                )
            self._accumulate(cotangent, cells[outer], AffineList.of(), domain)

    def _take(self, value: SSAValue) -> list[tuple[Domain, SSAValue]]:
        """The cotangent of a scalar, complete."""
        sums = self._sums.pop(value, {})
        for domain, cell in self._cells.pop(value, {}).items():
            found = self._put(LoadOp(cell, AffineList.of()))
            sums[domain] = self._plus(sums[domain], found) if domain in sums else found
        return list(sums.items())

    def _plus(self, one: SSAValue, other: SSAValue) -> SSAValue:
        return self._by.elementwise("add", one, other)

    # ---- buffers ------------------------------------------------------------------------------------------

    def _allocate(self, op: AllocOp) -> None:
        assert isinstance(op.memref.type, MemRefType) and op.parent is not None
        sizes = [self.values.value(s) for s in op.sizes]
        self._cotangents[op.memref] = self._zero_buffer(op.parent, op.memref.type, sizes, op.label.data)

    def _zero_buffer(
        self, block: Block, kind: MemRefType[Any], sizes: Sequence[SSAValue], name: str
    ) -> SSAValue:
        """A buffer of zeros, made at the start of the mirror of `block`."""
        location = self._by.emitter.location

        def put(op: Operation) -> SSAValue:
            op.location = location
            self.values.at_start(block, op)
            return op.results[0] if op.results else None  # pyright: ignore

        buffer = put(AllocOp(f"{name}_cotangent", kind, sizes))
        zero = Scalars(put, location).emitter.const(0.0, kind.element_type)
        unknown = iter(sizes)
        extents = [next(unknown) if e == DYNAMIC_INDEX else e for e in kind.get_shape()]
        variables: list[SSAValue] = []
        outermost, inner = None, None
        for k, extent in enumerate(extents):
            loop = ForOp("ijklmnpq"[k % 8], 0, extent)
            loop.location = location
            variables.append(loop.iv)
            outermost = outermost or loop
            if inner is not None:
                inner.add_op(loop)
            inner = loop.body.block
        store = StoreOp(zero, buffer, AffineList.of(*variables))
        store.location = location
        if inner is None or outermost is None:
            put(store)
        else:
            inner.add_op(store)
            put(outermost)
        return buffer

    def _accumulate(self, value: SSAValue, buffer: SSAValue, at: AffineList, domain: Domain) -> None:
        where, mask = self._domain(domain)
        self._put(AccumulateOp("add", [value], [buffer], at, where=where, mask=mask))

    def _domain(self, domain: Domain) -> tuple[AffineList | None, SSAValue | None]:
        where = None if domain.where is None else self.values.indices(domain.where)
        return where, None if domain.mask is None else self.values.value(domain.mask)

    def _put(self, op: Operation) -> SSAValue:
        """Put an operation at the end of the mirror of the present block."""
        op.location = self._by.emitter.location
        self._by.insert(op)
        return op.results[0] if op.results else None  # pyright: ignore[reportReturnType]


def _does_something(block: Block) -> bool:
    return any(isinstance(inner, StoreOp | AccumulateOp) for op in block.ops for inner in op.walk())


def _home(value: SSAValue) -> Block:
    """The block in which a value is."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    assert block is not None
    return block


def _around(block: Block) -> list[Block]:
    """The block, and those around it."""
    found = [block]
    while (parent := found[-1].parent_op()) is not None and parent.parent is not None:
        found.append(parent.parent)
    return found
