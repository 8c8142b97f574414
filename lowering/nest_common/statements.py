"""Statements, checks and branches of nest in upstream operations: what loops hold (see body.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, cf, func, memref, scf
from xdsl.dialects.builtin import (
    ComplexType,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...analysis.nest.kernels.combiners import ATOMIC_KINDS, combiner_op, zero
from ...analysis.nest.sets.domains import Domain, LoadGuards, domain_of, may_be_undefined
from ...analysis.nest.values.linear_forms import Linear, forms_of, linear
from ...dialects.affine import AffineList
from ...dialects.attributes import GOES_ON, KIND, SITE
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext.arith import NO_OVERFLOW
from ...dialects.nest import AccumulateOp, IndexOp, LoadOp, LookupOp, PrefetchOp, StoreOp
from ...dialects.nest.common import INDEX
from ...dialects.remarks import remark
from .index_arithmetic import IndexBuilder


class Statements:
    """The operations of a block one by one, over the values of the new function.

    `values` maps values of the nest function to those of the new one; an index that is known (the variable
    of an unrolled loop) maps to an integer.
    """

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
        self.across: dict[LoadOp, tuple[SSAValue, dict[int, SSAValue]]] = {}
        """The loads whose vectors are made already, for each value of the variable of an unrolled loop."""

    def operation(self, op: Operation) -> None:
        """Lower one operation, of any kind."""
        raise NotImplementedError

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

    # ---- conditions ----

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

    def update(
        self, op: AccumulateOp, value: SSAValue, buffer: SSAValue, indices: Sequence[SSAValue]
    ) -> None:
        """Combine an element with a value in one step."""
        kind = IntegerAttr(ATOMIC_KINDS[op.combiner.data], i64)
        self.builder.emit(
            memref.AtomicRMWOp.create(
                operands=(value, buffer, *indices),
                result_types=[value.type],
                properties={"kind": kind},
                attributes=kept_attributes(op),
            )
        )

    def load(self, op: LoadOp) -> None:
        def read() -> SSAValue:
            return self.read(self.value(op.memref), self.index_values(op.indices))

        needed = self._needed(op)
        if needed is None:
            return self.define(op.result, read())
        if isinstance(op.result.type, ComplexType):
            hint = "run nest-expand-complex before"
            raise fail(
                op, "a complex number under a condition has no form here", hint=hint, error=LoweringError
            )
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
            if op.order_name == "atomic":
                return self.update(op, self.value(op.values[0]), buffers[0], indices)
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

        One that counts from the start is only compared with the extent. The error record's value and extent are the
        operands of that `k < n`.
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
            KIND: StringAttr("IndexError"),
            SITE: IntegerAttr(self.sites[op], i64),
        }
        properties = {"msg": StringAttr(message)}
        builder.emit(cf.AssertOp.create(operands=(in_bounds,), properties=properties, attributes=attributes))
        result = self._wrapped(raw, bound) if may_wrap else raw
        self.define(op.result, result)
        builder.learn_nonnegative(result)

    def lookup(self, op: LookupOp) -> None:
        """An index that was found in an array, checked where it is needed, and wrapped.

        A thread that may not leave here goes on with 0, which every axis has that is looked into.
        """
        builder = self.builder
        value, extent = self.value(op.value), self.value(op.extent)
        zero_ = builder.attribute_constant(IntegerAttr(0, i64), i64)
        lowest = builder.value(arith.SubiOp, (zero_, extent), i64)
        is_inside = [builder.compare("sge", value, lowest), builder.compare("slt", value, extent)]
        ok = in_bounds = self._all(is_inside)
        in_bounds.name_hint = "in_bounds"
        if (needed := self._needed(op)) is not None:
            yes = builder.attribute_constant(IntegerAttr(1, i1), i1, "true")
            idle = builder.value(arith.XOrIOp, (needed, yes), i1)
            ok = builder.value(arith.OrIOp, (idle, in_bounds), i1)
        message = f"IndexError: index out of bounds for axis {op.axis.value.data} of {op.array.data}"
        attributes: dict[str, Attribute] = {
            KIND: StringAttr("IndexError"),
            SITE: IntegerAttr(self.sites[op], i64),
        }
        leaves = self.may_leave_at_failures() and needed is None
        if not leaves:
            attributes[GOES_ON] = UnitAttr()
        builder.emit(
            cf.AssertOp.create(operands=(ok,), properties={"msg": StringAttr(message)}, attributes=attributes)
        )
        negative = builder.compare("slt", value, zero_)
        from_end = builder.value(arith.AddiOp, (value, extent), i64)
        wrapped = builder.value(arith.SelectOp, (negative, from_end, value), i64)
        if not leaves:
            wrapped = builder.value(arith.SelectOp, (in_bounds, wrapped, zero_), i64)
        result = builder.value(arith.IndexCastOp, (wrapped,), INDEX)
        self.define(op.result, result)
        builder.nonnegative.add(result)

    def may_leave_at_failures(self) -> bool:
        """Whether what stops at a failed check keeps nobody waiting."""
        return True

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


def kept_attributes(op: Operation) -> dict[str, Attribute]:
    """The discardable attributes that go on to the next level."""
    return {name: a for name, a in op.attributes.items() if name.startswith("nestor.")}
