"""What the lowerings of nest to the CPU and to the GPU share: statements, branches, buffers, serial loops.

    nest.for "i" %i = 0 to min(%n, 64) step 4 {            scf.for %i = %c0 to %0 step %c4 {
      %a = nest.load %x[%i + 1] : memref<?xf32>      ->      %1 = arith.addi %i, %c1
      nest.store %a, %y[%i] where (%i < %m) : ...            %2 = arith.cmpi slt, %i, %m
    }                                                        scf.if %2 { memref.load, memref.store }

A domain becomes one branch around all the operations that are needed only there, loads included: where the
domain is false their addresses may lie outside the buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, cf, func, memref, scf
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, MemRefType, StringAttr, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from ..dialects.affine import AffineList
from ..dialects.diagnostic import LoweringError, fail
from ..dialects.nest import AccumulateOp, AllocOp, ForOp, IfOp, IndexOp, LoadOp, PrefetchOp, StoreOp
from ..dialects.remarks import remark
from .check_sites import SITE
from .combiners import combiner_op, zero
from .domain_runs import Run, domain_runs, escaping_values
from .domains import DIVISIONS, Domain, LoadGuards, domain_of, may_be_undefined, within_bound
from .index_arithmetic import INDEX, NO_OVERFLOW, IndexBuilder, Linear, forms_of, linear

STACK_BYTES = 16 << 10
"""Buffers of static size up to this many bytes live on the stack."""

_CLONED_DIALECTS = ("arith", "math", "memref", "func")


class NestBody:
    """Lowers blocks of nest operations into the current block of `builder`.

    `values` maps values of the nest function to those of the new one; an index that is known (the variable
    of an unrolled loop) maps to an integer. Subclasses say how marked loops and buffers are lowered.
    """

    guards_copies = False
    """Whether a copy of an unrolled body may stand in a branch."""

    def __init__(self, builder: IndexBuilder, sites: dict[Operation, int]):
        self.builder = builder
        self.sites = sites
        self.values: dict[SSAValue, SSAValue | int] = {}
        self.guards = LoadGuards()
        self.assumed: set[AffineList] = set()
        self.allocas = builder.prologue
        self.heap_buffers: list[SSAValue] = []
        self.private: set[SSAValue] = set()
        """The buffers on the stack of the thread that runs this."""

    # ---- values ----

    def value(self, old: SSAValue) -> SSAValue:
        """The new value of `old`."""
        new = self.values[old]
        return self.builder.constant(new) if isinstance(new, int) else new

    def forms(self, exprs: AffineList) -> list[Linear]:
        return forms_of(exprs, [self.values[v] for v in exprs.operands])

    def index_values(self, exprs: AffineList) -> list[SSAValue]:
        return [self.builder.affine(form) for form in self.forms(exprs)]

    def define(self, old: SSAValue, new: SSAValue) -> None:
        new.name_hint = new.name_hint or old.name_hint
        self.values[old] = new

    def one_of(self, exprs: AffineList, op_type: type[Operation]) -> SSAValue:
        """The largest or smallest (`op_type`) of the expressions."""
        first, *rest = self.index_values(exprs)
        for other in rest:
            first = self.builder.value(op_type, (first, other))
        return first

    # ---- blocks ----

    def block(self, block: Block) -> None:
        """Lower the operations of `block`, runs of one domain in one branch; free what it allocated."""
        outer, self.heap_buffers = self.heap_buffers, []
        last = block.last_op
        terminator = last if last is not None and last.has_trait(IsTerminator) else None
        for constraints, ops in self._runs(block):
            if constraints:
                self._guarded_run(block, constraints, ops)
                continue
            for op in ops:
                if op is not terminator:
                    self.operation(op)
        self.end_of_block()
        for buffer in reversed(self.heap_buffers):
            self.builder.emit(memref.DeallocOp.create(operands=(buffer,)))
        self.heap_buffers = outer
        if terminator is not None:
            self.operation(terminator)

    def end_of_block(self) -> None:
        """Called after the last operation of a block, before its buffers are freed."""

    def nested(self, target: Block, source: Block) -> None:
        with self.builder.inside(target):
            self.block(source)

    def _runs(self, block: Block) -> list[Run]:
        return domain_runs(block, self.guards, self.assumed)

    def _guarded_run(self, block: Block, constraints: tuple[AffineList, ...], ops: list[Operation]) -> None:
        escaping = escaping_values(ops, block)
        self.builder.location = ops[0].location
        condition = self.condition(Domain(constraints))

        def then() -> list[SSAValue]:
            fresh = set(constraints) - self.assumed
            self.assumed |= fresh
            for op in ops:
                self.operation(op)
            self.assumed -= fresh
            return [self.value(v) for v in escaping]

        results = self.branch(condition, [v.type for v in escaping], then)
        for old, new in zip(escaping, results, strict=True):
            self.define(old, new)

    def condition(self, domain: Domain) -> SSAValue:
        """Whether the domain holds here, as an i1."""
        parts = [
            self.builder.at_least_zero(self.forms(c)[0]) for c in domain.constraints if c not in self.assumed
        ]
        if domain.mask is not None:
            parts.append(self.value(domain.mask))
        return self._all(parts)

    def _all(self, parts: Sequence[SSAValue]) -> SSAValue:
        if not parts:
            return self.builder.attribute_constant(IntegerAttr(1, i1), i1, "true")
        result = parts[0]
        for part in parts[1:]:
            result = self.builder.value(arith.AndIOp, (result, part))
        return result

    def branch(
        self, condition: SSAValue, types: Sequence[Attribute], then: Callable[[], Sequence[SSAValue]]
    ) -> Sequence[SSAValue]:
        """`scf.if` whose results are those of `then`, and zeros where the condition is false."""
        builder = self.builder
        blocks = [Block(), Block()] if types else [Block()]
        with builder.inside(blocks[0]):
            builder.emit(scf.YieldOp.create(operands=then()))
        if types:
            with builder.inside(blocks[1]):
                zeros = [builder.attribute_constant(zero(t), t) for t in types]
                builder.emit(scf.YieldOp.create(operands=zeros))
        regions = [Region(b) for b in blocks] + ([] if types else [Region()])
        op = scf.IfOp.create(operands=(condition,), result_types=types, regions=regions)
        return builder.emit(op).results

    # ---- operations ----

    def operation(self, op: Operation) -> None:
        self.builder.location = op.location
        handler = _HANDLERS.get(type(op))
        if handler is not None:
            return handler(self, op)
        if not op.regions and op.name.partition(".")[0] in _CLONED_DIALECTS:
            return self.clone(op)
        raise fail(op, f"'{op.name}' cannot stand in a loop nest that is lowered", error=LoweringError)

    def clone(self, op: Operation, more: dict[str, Attribute] | None = None) -> None:
        """The same operation on the new values, with some attributes more."""
        copy = type(op).create(
            operands=[self.value(v) for v in op.operands],
            result_types=[r.type for r in op.results],
            properties=dict(op.properties),
            attributes={**op.attributes, **(more or {})},
        )
        self.builder.emit(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            self.define(old, new)

    def division(self, op: Operation) -> None:
        """An integer division; where it is not needed it divides by one, for its operands may be anything."""
        needed = self._needed(op) if may_be_undefined(op) else None
        if needed is None:
            return self.clone(op)
        dividend, divisor = (self.value(v) for v in op.operands)
        one = self.builder.attribute_constant(IntegerAttr(1, divisor.type), divisor.type)  # pyright: ignore
        divisor = self.builder.value(arith.SelectOp, (needed, divisor, one), divisor.type)
        result = self.builder.value(type(op), (dividend, divisor), dividend.type)
        self.define(op.results[0], result)

    def constant(self, op: arith.ConstantOp) -> None:
        if isinstance(op.result.type, IndexType):
            self.values[op.result] = op.value.value.data  # pyright: ignore
            return
        self.values[op.result] = self.builder.attribute_constant(
            op.value, op.result.type, op.result.name_hint
        )

    def dim(self, op: memref.DimOp) -> None:
        buffer, axis = self.value(op.source), self.values[op.index]
        if isinstance(buffer.type, MemRefType) and isinstance(axis, int):
            extent = buffer.type.get_shape()[axis]
            if extent >= 0:
                self.values[op.result] = extent
                return
        self.clone(op)
        self.builder.nonnegative.add(self.value(op.result))

    def read(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        assert isinstance(buffer.type, MemRefType)
        return self.builder.value(memref.LoadOp, (buffer, *indices), buffer.type.element_type)

    def write(self, op: Operation, value: SSAValue, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        store = memref.StoreOp.create(operands=(value, buffer, *indices), attributes=kept_attributes(op))
        self.builder.emit(store)

    def load(self, op: LoadOp) -> None:
        def read() -> SSAValue:
            return self.read(self.value(op.memref), self.index_values(op.indices))

        needed = self._needed(op)
        if needed is None:
            return self.define(op.result, read())
        (result,) = self.branch(needed, [op.result.type], lambda: [read()])
        self.define(op.result, result)

    def prefetch(self, op: PrefetchOp) -> None:
        """Left out, unless a subclass has something to make of it."""
        remark(op, "this prefetch is left out: threads of a GPU wait for memory while others run")

    def _needed(self, op: Operation) -> SSAValue | None:
        """Whether `op` is needed, as an i1; None when it is wherever this is reached."""
        parts = []
        for domain in self.guards.of(op) or ():
            if domain.mask is None and self.assumed.issuperset(domain.constraints):
                return None
            parts.append(self.condition(domain))
        if not parts:
            return None
        result = parts[0]
        for part in parts[1:]:
            result = self.builder.value(arith.OrIOp, (result, part))
        return result

    def statement(self, op: StoreOp | AccumulateOp, body: Callable[[], None]) -> None:
        domain = domain_of(op)
        if domain.mask is None and self.assumed.issuperset(domain.constraints):
            return body()

        def then() -> Sequence[SSAValue]:
            body()
            return ()

        self.branch(self.condition(domain), (), then)

    def store(self, op: StoreOp) -> None:
        self.statement(
            op,
            lambda: self.write(
                op, self.value(op.value), self.value(op.memref), self.index_values(op.indices)
            ),
        )

    def accumulate(self, op: AccumulateOp) -> None:
        def body() -> None:
            indices = self.index_values(op.indices)
            buffers = [self.value(m) for m in op.memrefs]
            old = [self.read(buffer, indices) for buffer in buffers]
            combined = self.combine(op, old, [self.value(v) for v in op.values])
            for value, buffer in zip(combined, buffers, strict=True):
                self.write(op, value, buffer, indices)

        self.statement(op, body)

    def combine(
        self, op: AccumulateOp, old: Sequence[SSAValue], new: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The combined values, by the named combiner or by a copy of the region."""
        if op.combine is None:
            op_type, properties = combiner_op(op.combiner.data, op.values[0].type)
            return [self.builder.value(op_type, (old[0], new[0]), None, properties)]
        region = op.combine.block
        self.values.update(zip(region.args, (*old, *new), strict=True))
        last = region.last_op
        assert last is not None
        for member in region.ops:
            if member is not last:
                self.operation(member)
        return [self.value(v) for v in last.operands]

    def index(self, op: IndexOp) -> None:
        """A Python index, checked and wrapped: `-n <= k and k < n`, `cf.assert`, then `k < 0 ? k + n : k`.

        One that counts from the start is only compared with the extent.

        The error record's value and extent are the operands of that `k < n`.
        """
        builder = self.builder
        index, extent = self.forms(AffineList.from_op(op.map, op.map_operands))
        raw, bound = builder.affine(index), builder.affine(extent)
        in_bounds = builder.compare("ult" if op.from_start is not None else "slt", raw, bound)
        may_wrap = op.from_start is None and not builder.is_nonnegative(index)
        if may_wrap:
            lowest = builder.affine(linear(((bound, -1),), 0))
            in_bounds = self._all([builder.compare("sge", raw, lowest), in_bounds])
        message = f"IndexError: index out of bounds for axis {op.axis.value.data} of {op.array.data}"
        attributes = {
            "nestor.kind": StringAttr("IndexError"),
            "nestor.site": IntegerAttr(self.sites[op], i64),
        }
        properties = {"msg": StringAttr(message)}
        builder.emit(cf.AssertOp.create(operands=(in_bounds,), properties=properties, attributes=attributes))
        result = self._wrapped(raw, bound) if may_wrap else raw
        self.define(op.result, result)
        builder.nonnegative.add(result)

    def _wrapped(self, index: SSAValue, extent: SSAValue) -> SSAValue:
        negative = self.builder.compare("slt", index, self.builder.constant(0))
        from_end = self.builder.value(arith.AddiOp, (index, extent), INDEX, NO_OVERFLOW)
        return self.builder.value(arith.SelectOp, (negative, from_end, index), INDEX)

    def assertion(self, op: cf.AssertOp) -> None:
        """A check keeps its number."""
        attributes = dict(op.attributes)
        if op in self.sites:
            attributes[SITE] = IntegerAttr(self.sites[op], i64)
        operands = (self.value(op.arg),)
        self.builder.emit(
            cf.AssertOp.create(operands=operands, properties=dict(op.properties), attributes=attributes)
        )

    def call(self, op: func.CallOp) -> None:
        """A call; one that may fail has a number, as a check has."""
        self.clone(op, {SITE: IntegerAttr(self.sites[op], i64)} if op in self.sites else None)

    def conditional(self, op: IfOp) -> None:
        blocks = [Block()] if op.else_region is None else [Block(), Block()]
        self.nested(blocks[0], op.then_region.block)
        if op.else_region is not None:
            self.nested(blocks[1], op.else_region.block)
        self.builder.location = op.location
        for block in blocks:
            block.add_op(scf.YieldOp.create())
        regions = [Region(block) for block in blocks] + [Region()] * (2 - len(blocks))
        self.builder.emit(scf.IfOp.create(operands=(self.value(op.condition),), regions=regions))

    # ---- upstream control flow that surrounds loop nests ----

    def structured(self, op: Operation) -> None:
        """`scf.if/for/while`: the same operation around lowered blocks."""
        operands = [self.value(v) for v in op.operands]
        regions = [Region([self._copied_block(block) for block in region.blocks]) for region in op.regions]
        self.builder.location = op.location
        copy = type(op).create(
            operands=operands,
            result_types=[r.type for r in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=regions,
        )
        self.builder.emit(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            self.define(old, new)

    def _copied_block(self, block: Block) -> Block:
        copy = Block(arg_types=[a.type for a in block.args])
        for old, new in zip(block.args, copy.args, strict=True):
            self.define(old, new)
        self.nested(copy, block)
        return copy

    # ---- loops and buffers ----

    def loop(self, op: ForOp) -> None:
        handler = self.loop_handlers().get(op.kind)
        if handler is None:
            raise fail(
                op,
                f'the loop "{op.label}" is marked {op.kind}, which has no meaning here',
                hint="remove the mark",
                error=LoweringError,
            )
        handler(op)

    def loop_handlers(self) -> dict[str, Callable[[ForOp], None]]:
        """How loops are lowered, by mark."""
        return {"serial": self.serial, "unrolled": self.unrolled}

    def serial(self, op: ForOp) -> None:
        self.counted(op, lambda: self.members(op))

    def members(self, op: ForOp) -> None:
        """The body of a serial loop."""
        self.block(op.body.block)

    def counted(self, op: ForOp, members: Callable[[], object]) -> None:
        """`scf.for` with the bounds of `op`; `members` lowers its body."""
        builder = self.builder
        lower = self.one_of(op.lower, arith.MaxSIOp)
        upper = self.one_of(op.upper, arith.MinSIOp)
        step = builder.constant(op.step_value)
        body = self.loop_body(op, members)
        with builder.inside(body):
            builder.location = op.location
            builder.emit(scf.YieldOp.create())
        builder.location = op.location
        builder.emit(scf.ForOp.create(operands=(lower, upper, step), regions=[Region(body)]))

    def loop_body(self, op: ForOp, members: Callable[[], object]) -> Block:
        """The lowered body of a loop, its variable the block's argument."""
        body = Block(arg_types=(INDEX,))
        self.define(op.iv, body.args[0])
        if any(self.builder.is_nonnegative(form) for form in self.forms(op.lower)):
            self.builder.nonnegative.add(body.args[0])
        with self.builder.inside(body):
            members()
        return body

    def unrolled(self, op: ForOp) -> None:
        self.repeated(op, lambda: self.block(op.body.block))

    def repeated(self, op: ForOp, members: Callable[[], object]) -> None:
        """A copy of the body for each iteration; `members` lowers it.

        Upper bounds that are not constant, beside one that is, become a branch around each copy (`guards_copies`).
        """
        lower, upper = self.forms(op.lower), self.forms(op.upper)
        ends = [form.constant for form in upper if not form.terms]
        unknown = [
            form
            for k, form in enumerate(upper)
            if form.terms and not (self.assumed and within_bound(op, k) in self.assumed)
        ]
        if not ends or any(form.terms for form in lower) or (unknown and not self.guards_copies):
            raise fail(
                op,
                f'the loop "{op.label}" is marked unrolled, but its bounds are not constant',
                hint="split it by a constant factor and unroll the inner loop",
                error=LoweringError,
            )
        for iv in range(max(form.constant for form in lower), min(ends), op.step_value):
            self.values[op.iv] = iv
            self.builder.location = op.location
            reached = [self.builder.at_least_zero(form.plus(-iv - 1)) for form in unknown]
            if not reached:
                members()
                continue

            def copy() -> Sequence[SSAValue]:
                members()
                return ()

            self.branch(self._all(reached), (), copy)

    def alloc(self, op: AllocOp) -> None:
        """On the stack when it is small, else from the heap until the end of the block."""
        buffer = op.memref.type
        assert isinstance(buffer, MemRefType)
        if is_small(buffer):
            self.define(op.memref, self.stack_buffer(op, buffer))
            return
        new = memref.AllocOp.create(
            operands=[self.value(v) for v in op.sizes],
            result_types=(buffer,),
            properties={"operandSegmentSizes": _segments(len(op.sizes), 0)},
        )
        self.builder.emit(new)
        self.define(op.memref, new.memref)
        self.heap_buffers.append(new.memref)

    def stack_buffer(self, op: AllocOp, buffer: MemRefType) -> SSAValue:
        new = memref.AllocaOp.create(
            result_types=(buffer,), properties={"operandSegmentSizes": _segments(0, 0)}
        )
        new.location = op.location
        self.allocas.append(new)
        self.private.add(new.memref)
        return new.memref


def is_small(buffer: MemRefType) -> bool:
    """Whether the buffer has static extents and fits on the stack."""
    total = 1
    for extent in buffer.get_shape():
        if extent < 0:
            return False
        total *= extent
    return total * element_bytes(buffer.element_type) <= STACK_BYTES


def element_bytes(element: Attribute) -> int:
    if isinstance(element, IndexType):
        return 8
    width = getattr(element, "bitwidth", None)
    return -(-(element.width.data if width is None else width) // 8)  # pyright: ignore


def kept_attributes(op: Operation) -> dict[str, Attribute]:
    """The discardable attributes that go on to the next level."""
    return {name: a for name, a in op.attributes.items() if name.startswith("nestor.")}


def _segments(*sizes: int) -> Attribute:
    return DenseArrayBase.from_list(i32, list(sizes))


_HANDLERS: dict[type, Callable[[Any, Any], None]] = {
    arith.ConstantOp: NestBody.constant,
    **dict.fromkeys(DIVISIONS, NestBody.division),
    memref.DimOp: NestBody.dim,
    LoadOp: lambda body, op: body.load(op),
    PrefetchOp: lambda body, op: body.prefetch(op),
    StoreOp: lambda body, op: body.store(op),
    AccumulateOp: lambda body, op: body.accumulate(op),
    IndexOp: lambda body, op: body.index(op),
    IfOp: lambda body, op: body.conditional(op),
    ForOp: lambda body, op: body.loop(op),
    AllocOp: lambda body, op: body.alloc(op),
    cf.AssertOp: lambda body, op: body.assertion(op),
    func.CallOp: lambda body, op: body.call(op),
    scf.IfOp: NestBody.structured,
    scf.ForOp: NestBody.structured,
    scf.WhileOp: NestBody.structured,
    scf.YieldOp: NestBody.clone,
    scf.ConditionOp: NestBody.clone,
    func.ReturnOp: NestBody.clone,
}
