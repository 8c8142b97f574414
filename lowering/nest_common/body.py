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
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from ...analysis.nest.buffers import element_bytes
from ...analysis.nest.sets.domains import DIVISIONS, Domain, within_bound
from ...dialects.affine import AffineList
from ...dialects.attributes import AS_WRITTEN, NO_SLP, UNROLL
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.nest import (
    AccumulateOp,
    AllocOp,
    ForOp,
    IfOp,
    IndexOp,
    LoadOp,
    LookupOp,
    PrefetchOp,
    StoreOp,
)
from ...dialects.nest.common import INDEX, segments
from .domain_runs import Run, domain_runs, escaping_values
from .statements import Statements

STACK_BYTES = 16 << 10
"""Buffers of static size up to this many bytes live on the stack."""

MAX_COPIES = 4096
"""Maximum number of copies of one statement: more are no faster than a loop, and take minutes to compile."""


_CLONED_DIALECTS = ("arith", "math", "special", "memref", "func")


def _unused_after(block: Block) -> dict[Operation, list[SSAValue]]:
    """Which buffers of a block nothing uses behind an operation of it, but for those that control flow may pass on."""
    places = {op: k for k, op in enumerate(block.ops)}
    found: dict[Operation, list[SSAValue]] = {}
    for alloc in block.ops:
        if not isinstance(alloc, AllocOp):
            continue
        last: Operation | None = alloc
        work: list[SSAValue] = [alloc.memref]
        while work:
            for use in work.pop().uses:
                user = use.operation
                if user.has_trait(IsTerminator) or (user.regions and not isinstance(user, AccumulateOp)):
                    last = None  # control flow may pass it on
                    break
                work += [result for result in user.results if isinstance(result.type, MemRefType)]
                while user not in places:
                    user = user.parent_op()
                    assert user is not None
                assert last is not None
                if places[user] > places[last]:
                    last = user
            if last is None:
                break
        if last is not None:
            found.setdefault(last, []).append(alloc.memref)
    return found


class NestBody(Statements):
    """Lowers blocks of nest operations into the current block of `builder`.

    Subclasses say how marked loops and buffers are lowered.
    """

    guards_copies = False
    """Whether a copy of an unrolled body may be in a branch."""

    frees_early = False
    """Whether a buffer is freed behind its last use, not at the end of its block: the next one takes its memory."""

    copies_made = 1
    """Copies that unrolled loops make of what is lowered now."""

    # ---- blocks ----

    def block(self, block: Block) -> None:
        """Lower the operations of `block`, runs of one domain in one branch; free what it allocated."""
        outer, self.heap_buffers = self.heap_buffers, []
        unused = _unused_after(block) if self.frees_early else {}
        last = block.last_op
        terminator = last if last is not None and last.has_trait(IsTerminator) else None
        for constraints, ops in self._runs(block):
            if constraints:
                self._guarded_run(block, constraints, ops)
                continue
            for op in ops:
                if op is not terminator:
                    self.operation(op)
                    self._free(unused.get(op, ()))
        self.end_of_block()
        for buffer in reversed(self.heap_buffers):
            self.builder.emit(memref.DeallocOp.create(operands=(buffer,)))
        self.heap_buffers = outer
        if terminator is not None:
            self.operation(terminator)

    def _free(self, buffers: Sequence[SSAValue]) -> None:
        """Free those of the buffers that are on the heap, and of this block."""
        for value in buffers:
            buffer = self.values.get(value)
            if buffer in self.heap_buffers:
                assert isinstance(buffer, SSAValue)
                self.builder.emit(memref.DeallocOp.create(operands=(buffer,)))
                self.heap_buffers.remove(buffer)

    def end_of_block(self) -> None:
        """Called after the last operation of a block, before its buffers are freed."""

    def nested(self, target: Block, source: Block) -> None:
        with self.builder.inside(target):
            self.block(source)

    def _runs(self, block: Block) -> list[Run]:
        return domain_runs(block, self.guards, self.assumed)

    def _guarded_run(self, block: Block, constraints: tuple[AffineList, ...], ops: list[Operation]) -> None:
        escaping = escaping_values(ops, block, self.guards)
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

    # ---- operations ----

    def operation(self, op: Operation) -> None:
        self.builder.location = op.location
        handler = _HANDLERS.get(type(op))
        if handler is not None:
            return handler(self, op)
        if not op.regions and op.name.partition(".")[0] in _CLONED_DIALECTS:
            return self.clone(op)
        raise fail(op, f"'{op.name}' cannot stand in a loop nest that is lowered", error=LoweringError)

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
        attributes = {
            name: op.attributes[name] for name in (AS_WRITTEN, NO_SLP, UNROLL) if name in op.attributes
        }
        builder.emit(
            scf.ForOp.create(operands=(lower, upper, step), attributes=attributes, regions=[Region(body)])
        )

    def loop_body(self, op: ForOp, members: Callable[[], object]) -> Block:
        """The lowered body of a loop, its variable the block's argument."""
        body = Block(arg_types=(INDEX,))
        self.define(op.iv, body.args[0])
        if any(self.builder.is_nonnegative(form) for form in self.forms(op.lower)):
            self.builder.nonnegative.add(body.args[0])
        ends = [form.constant for form in self.forms(op.upper) if not form.terms]
        if ends:
            self.builder.most[body.args[0]] = min(ends) - 1
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
        iterations = range(max(form.constant for form in lower), min(ends), op.step_value)
        around = self.copies_made
        self.multiply_copies(op, len(iterations))
        for iv in iterations:
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
        self.copies_made = around

    def multiply_copies(self, op: ForOp, count: int) -> None:
        """Note that so many copies of the body are made now; refuses too many, those of the loops around counted."""
        self.copies_made *= max(1, count)
        if self.copies_made > MAX_COPIES:
            raise fail(
                op,
                f'cannot unroll the loop "{op.label}": {self.copies_made} copies of its body, with those of the loops '
                f"around it, are more than {MAX_COPIES}",
                hint="split it by a smaller factor and unroll the inner loop",
                error=LoweringError,
            )

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
            properties={"operandSegmentSizes": segments(len(op.sizes), 0)},
        )
        self.builder.emit(new)
        self.define(op.memref, new.memref)
        self.heap_buffers.append(new.memref)

    def stack_buffer(self, op: AllocOp, buffer: MemRefType) -> SSAValue:
        new = memref.AllocaOp.create(
            result_types=(buffer,), properties={"operandSegmentSizes": segments(0, 0)}
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


_HANDLERS: dict[type, Callable[[Any, Any], None]] = {
    arith.ConstantOp: Statements.constant,
    **dict.fromkeys(DIVISIONS, Statements.division),
    memref.DimOp: Statements.dim,
    LoadOp: lambda body, op: body.load(op),
    PrefetchOp: lambda body, op: body.prefetch(op),
    StoreOp: lambda body, op: body.store(op),
    AccumulateOp: lambda body, op: body.accumulate(op),
    IndexOp: lambda body, op: body.index(op),
    LookupOp: lambda body, op: body.lookup(op),
    IfOp: lambda body, op: body.conditional(op),
    ForOp: lambda body, op: body.loop(op),
    AllocOp: lambda body, op: body.alloc(op),
    cf.AssertOp: lambda body, op: body.assertion(op),
    func.CallOp: lambda body, op: body.call(op),
    scf.IfOp: NestBody.structured,
    scf.ForOp: NestBody.structured,
    scf.WhileOp: NestBody.structured,
    scf.YieldOp: Statements.clone,
    scf.ConditionOp: Statements.clone,
    func.ReturnOp: Statements.clone,
}
