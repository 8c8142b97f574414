"""Forward mode of an island: values and tangents side by side, in program order, in one island.

    nest.for "i" %i = 1 to %n {                          nest.for "i" %i = 1 to %n {
      %a = nest.load %y[%i - 1]                            %a = nest.load %y[%i - 1] ; %ta = nest.load %ty[%i - 1]
      %b = arith.mulf %a, %a                       ->      %b = arith.mulf %a, %a ; %tb = 2 %a %ta
      nest.store %b, %y[%i]                                nest.store %b, %y[%i] ; nest.store %tb, %ty[%i]
    }                                                    }

Each active buffer has a buffer of tangents beside it. What the island overwrites is no problem here: tangents are computed
when the values are there. The new island takes the place of the old one.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

from ....analysis.nest.sets.accesses import accesses_of, buffer_name
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ....dialects.nt.ops import EmptyOp, LoopsOp, ToScalarOp
from ..activity import used_from_outside
from ..forward import Forward
from .activity import varied
from .refusals import refused
from .scalars import Scalars, product


def forward(op: LoopsOp, by: Forward) -> Sequence[SSAValue | None]:
    """The rule for islands."""
    return _Tangent(op, by).run()


class _Tangent:
    """One island with its tangents, as it is made."""

    def __init__(self, op: LoopsOp, by: Forward):
        self._op, self._by = op, by
        args = op.body.block.args
        self._tensors = dict(zip(args, op.operands, strict=True))
        starts = {a for a, t in self._tensors.items() if by.of(t) is not None}
        starts |= {v for v in used_from_outside(op) if by.of(v) is not None}
        self._active = varied(op, starts)
        self._values: dict[SSAValue, SSAValue] = {}
        self._tangents: dict[SSAValue, SSAValue] = {}
        self._counts: dict[SSAValue, SSAValue] = {}
        """Of buffers that hold extremes: how many terms are equal to them so far."""

    def run(self) -> list[SSAValue | None]:
        """Put the island with tangents in the place of the old one; gives the tangents of its results."""
        op, by = self._op, self._by
        count = len(op.inputs)
        ins, outs = list(op.inputs), list(op.outputs)
        args = list(op.body.block.args)
        kinds = {
            k: [a for a in part if a in self._active]
            for k, part in (("in", args[:count]), ("out", args[count:]))
        }
        ins += [by.full(self._tensors[a]) for a in kinds["in"]]
        outs += [self._start(a) for a in kinds["out"]]
        order = [*args[:count], *kinds["in"], *args[count:], *kinds["out"]]
        body = Block(arg_types=[a.type for a in order])
        for position, (old, new) in enumerate(zip(order, body.args, strict=True)):
            is_tangent = position >= count + len(kinds["in"]) + len(op.outputs) or (
                count <= position < count + len(kinds["in"])
            )
            new.name_hint = old.name_hint
            (self._tangents if is_tangent else self._values)[old] = new
        for value in used_from_outside(op):
            if value in self._active and not isinstance(value.type, TensorType):
                tangent = by.of(value)
                assert tangent is not None
                self._tangents[value] = by.builder.value(ToScalarOp(tangent))
        self._copy(op.body.block, body)
        island = LoopsOp(ins, outs, Region(body))
        by.builder.add(island)
        by.replace(op, island)
        places = [kinds["out"].index(a) if a in self._active else None for a in args[count:]]
        return [None if k is None else island.results[len(op.outputs) + k] for k in places]

    def _start(self, argument: SSAValue) -> SSAValue:
        """What the tangent of something that is written starts from."""
        tensor = self._tensors[argument]
        known = self._by.of(tensor)
        if known is None and isinstance(tensor.owner, EmptyOp):
            return self._by.builder.value(tensor.owner.clone())
        return self._by.full(tensor) if known is None else known

    def _copy(self, block: Block, into: Block) -> None:
        """Put the operations of a block, and what they do to tangents, at the end of `into`."""
        for op in block.ops:
            scalars = Scalars(into.add_op, op.location)
            if isinstance(op, StoreOp | AccumulateOp):
                self._statement(op, into, scalars)
            copy = self._copied(op)
            into.add_op(copy)
            if isinstance(op, LoadOp | AllocOp):
                self._beside(op, into)
            elif op.results and op.results[0] in self._active:
                self._scalar(op, scalars)

    def _copied(self, op: Operation) -> Operation:
        if not op.regions or isinstance(op, AccumulateOp):
            copy = op.clone(self._values)
        else:
            copy = op.clone_without_regions(self._values)
            for old, new in zip(op.regions, copy.regions, strict=True):
                for block in old.blocks:
                    inner = Block(arg_types=[a.type for a in block.args])
                    for before, after in zip(block.args, inner.args, strict=True):
                        self._values[before] = after
                        after.name_hint = before.name_hint
                    new.add_block(inner)
                    self._copy(block, inner)
        if isinstance(copy, ForOp):
            copy.set_kind("serial")
        self._values.update(zip(op.results, copy.results, strict=True))
        if not isinstance(op, LoadOp | StoreOp | AccumulateOp):
            for access in accesses_of(op):
                if access.writes and any(v in self._active for v in op.operands):
                    raise refused(op, f"'{op.name}' writes {buffer_name(access.buffer)}")
        return copy

    def _beside(self, op: LoadOp | AllocOp, into: Block) -> None:
        """The tangent of what is loaded, or the buffer of tangents of one that is made here."""
        if op.results[0] not in self._active:
            return
        if isinstance(op, LoadOp):
            new: Operation = LoadOp(self._tangents[op.memref], self._indices(op.indices))
        else:
            assert isinstance(op.memref.type, MemRefType)
            new = AllocOp(
                f"{op.label.data}_tangent", op.memref.type, [self._values.get(s, s) for s in op.sizes]
            )
        new.location = op.location
        into.add_op(new)
        self._tangents[op.results[0]] = new.results[0]
        if isinstance(op, AllocOp) and any(map(_is_extreme, (use.operation for use in op.memref.uses))):
            count = new.clone()
            into.add_op(count)
            self._counts[op.memref] = count.results[0]

    def _indices(self, indices: AffineList) -> AffineList:
        return indices.substitute_all(self._values)

    def _statement(self, op: StoreOp | AccumulateOp, into: Block, by: Scalars) -> None:
        """What a store or an accumulate does to tangents, before it runs."""
        buffers = [op.memref] if isinstance(op, StoreOp) else list(op.memrefs)
        if not any(b in self._active for b in buffers):
            return
        at = self._indices(op.indices)
        where = None if op.where is None else self._indices(op.where)
        mask = None if op.mask is None else self._values.get(op.mask, op.mask)
        if isinstance(op, StoreOp):
            tangent = self._tangents.get(op.value)
            if tangent is None:
                tangent = by.emitter.const(0.0, op.value.type)
            if op.memref in self._counts:
                one = StoreOp(
                    by.emitter.const(1.0, op.value.type), self._counts[op.memref], at, where=where, mask=mask
                )
                one.location = op.location
                into.add_op(one)
            new: Operation = StoreOp(tangent, self._tangents[op.memref], at, where=where, mask=mask)
        else:
            combiner = op.combiner.data
            if buffers[0] in self._counts:
                return self._extreme(op, at, into, by)
            if combiner not in ("add", "mul"):
                name = buffer_name(buffers[0])
                raise refused(op, f"'accumulate {combiner}' into {name} is not differentiated yet")
            beside, change = self._tangents[buffers[0]], self._tangents.get(op.values[0])
            if combiner == "add" and change is None:
                return
            if combiner == "add":
                assert change is not None
                new = AccumulateOp("add", [change], [beside], at, where=where, mask=mask)
            else:
                new = StoreOp(self._of_product(op, at, into, by), beside, at, where=where, mask=mask)
        new.location = op.location
        into.add_op(new)

    def _extreme(self, op: AccumulateOp, at: AffineList, into: Block, by: Scalars) -> None:
        """The tangent of an extreme is the mean of those of the terms that are equal to it."""
        where = None if op.where is None else self._indices(op.where)
        mask = None if op.mask is None else self._values.get(op.mask, op.mask)
        buffer, kind = op.memrefs[0], op.values[0].type

        def put(new: Operation) -> Operation:
            new.location = op.location
            into.add_op(new)
            return new

        places = (self._values[buffer], self._tangents[buffer], self._counts[buffer])
        extreme, mean, count = (by.formula(put(LoadOp(b, at)).results[0]) for b in places)
        term = by.formula(self._values.get(op.values[0], op.values[0]))
        change = self._tangents.get(op.values[0])
        change = by.formula(by.emitter.const(0.0, kind) if change is None else change)
        wins = term > extreme if op.combiner.data == "maximum" else term < extreme
        ties, more = term.equals(extreme), count + 1.0
        tangent = wins.where(change, ties.where((mean * count + change) / more, mean))
        total = wins.where(1.0, ties.where(more, count))
        put(StoreOp(tangent.value, self._tangents[buffer], at, where=where, mask=mask))
        put(StoreOp(total.value, self._counts[buffer], at, where=where, mask=mask))

    def _of_product(self, op: AccumulateOp, at: AffineList, into: Block, by: Scalars) -> SSAValue:
        """The tangent of an element once it is multiplied."""
        value, change = self._values.get(op.values[0], op.values[0]), self._tangents.get(op.values[0])

        def load(buffer: SSAValue) -> SSAValue:
            new = LoadOp(buffer, at)
            new.location = op.location
            into.add_op(new)
            return new.result

        total = by.elementwise("multiply", load(self._tangents[op.memrefs[0]]), value)
        if change is not None:
            old = load(self._values[op.memrefs[0]])
            total = by.elementwise("add", total, by.elementwise("multiply", old, change))
        return total

    def _scalar(self, op: Operation, by: Scalars) -> None:
        """The tangent of a computed value."""
        values = [by.formula(self._values.get(v, v)) for v in (*op.operands, op.results[0])]
        total: SSAValue | None = None
        for k, operand in enumerate(op.operands):
            tangent = self._tangents.get(operand)
            part = None if tangent is None else product(op, k, tangent, values, by)
            if part is not None:
                total = part if total is None else by.elementwise("add", total, part)
        self._tangents[op.results[0]] = by.emitter.const(0.0, op.results[0].type) if total is None else total


def _is_extreme(op: Operation) -> bool:
    return isinstance(op, AccumulateOp) and op.combiner.data in ("maximum", "minimum")
