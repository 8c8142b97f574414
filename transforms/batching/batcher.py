"""What the rules of batching share: which values are stacks of slices, and how new operations are made.

A value of the function is *stacked* where it depends on a slice: then a tensor stands for it that has the slices along
a new first axis, tensor<8x4xf32> for tensor<4xf32>. For a stacked scalar (f64, index ...) a tensor of rank 1 stands
(of i64 for an index). What depends on no slice stays as it is, and is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.affine import AffineList
from ...dialects.diagnostic import NestorError, fail
from ...dialects.nest import ForOp
from ...dialects.nt import BroadcastOp, CastOp, DimOp, EmptyOp, FromScalarOp, ReshapeOp, TransposeOp
from ...dialects.nt.expand import Emitter
from ...dialects.nt.ops import element_of, shape_of
from ...dialects.nt.types import storage_type

INDEX = IndexType()

Rule = Callable[["Batcher", Operation], bool]
"""Makes what an operation with stacked operands becomes; False, with nothing made, where it has no form for them."""


class SlicesDiffer(Exception):
    """The slices of a value have no common shape: there is no stack of them. Holds the diagnostic that says which."""

    def __init__(self, error: NestorError):
        super().__init__(str(error))
        self.error = error


class Batcher:
    """One function applied to all slices: its operations, one after the other, before `anchor` or at the end of `block`."""

    def __init__(
        self,
        rule_of: Callable[[Operation], Rule],
        one_by_one: Callable[[Batcher, Sequence[Operation]], None],
        slices: int,
        block: Block,
        anchor: Operation | None,
    ):
        self.rule_of = rule_of
        self.one_by_one = one_by_one
        """Runs operations for one slice after the other: what has no form for stacks."""
        self.slices = slices
        """The number of slices; `DYNAMIC_INDEX` where it is known at run time only."""
        self.count: AffineList = AffineList.of(slices)
        """The number of slices as an expression."""
        self.values: dict[SSAValue, SSAValue] = {}
        """What stands for a value of the function."""
        self.stacked: set[SSAValue] = set()
        self.done: set[Operation] = set()
        """Operations that were made with one before them."""
        self.inlining: list[Operation] = []
        """The functions of calls that are being put in place."""
        self.filled: list[Block] = []
        """The blocks in which something was made."""
        self.block, self.anchor = block, anchor
        self.location = None if anchor is None else anchor.location

    # ---- making operations ------------------------------------------------------------------------------

    def add(self, op: Operation) -> Operation:
        """Insert an operation."""
        if self.location is not None:
            op.location = self.location
        if self.anchor is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.anchor)
        return op

    def value(self, op: Operation) -> SSAValue:
        """Insert an operation with one result; gives the result."""
        return self.add(op).results[0]

    def emitter(self) -> Emitter:
        """Makes scalar operations here."""
        return Emitter(self.add) if self.location is None else Emitter(self.add, self.location)

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """At the end of another block."""
        place = self.block, self.anchor, self.location
        self.block, self.anchor = block, None
        self.filled.append(block)
        try:
            yield
        finally:
            self.block, self.anchor, self.location = place

    def give_up(self) -> None:
        """What is in blocks that no operation has got reads nothing any more: what they read is to be erased."""
        for block in self.filled:
            if block.parent is None:
                block.drop_all_references()
        self.filled = []

    @contextmanager
    def loop(self, name: str, upper: AffineList) -> Iterator[SSAValue]:
        """A nest.for from 0 around what is inserted; gives its variable."""
        body = Block(arg_types=[INDEX])
        body.args[0].name_hint = name
        self.add(ForOp(name, 0, upper, body))
        with self.inside(body):
            yield body.args[0]

    def fail(self, op: Operation, message: str, hint: str | None = None) -> NestorError:
        """An error at an operation of the function."""
        return fail(op, message, hint=hint)

    # ---- stacks -----------------------------------------------------------------------------------------

    @property
    def sizes(self) -> AffineList:
        """The number of slices as the first of the sizes of a result; nothing where it is in the type."""
        return self.count if self.slices == DYNAMIC_INDEX else AffineList(())

    def stack_type(self, kind: Attribute) -> TensorType:
        """The type of the stack that stands for a value of type `kind`."""
        return TensorType(slice_element(kind), [self.slices, *(_shape(kind))])

    def dims(self, value: SSAValue, axes: Sequence[int] | None = None) -> AffineList:
        """The unknown extents of a tensor, of those `axes` only."""
        shape = shape_of(value)
        wanted = range(len(shape)) if axes is None else axes
        found = [self.value(DimOp(value, k)) for k in wanted if shape[k] == DYNAMIC_INDEX]
        return AffineList.of(*found) if found else AffineList(())

    def extents(self, value: SSAValue) -> list[AffineList]:
        """Every extent of a tensor as an expression."""
        return [
            AffineList.of(self.value(DimOp(value, k)) if extent == DYNAMIC_INDEX else extent)
            for k, extent in enumerate(shape_of(value))
        ]

    def with_slices_first(self, value: SSAValue, axis: int) -> SSAValue:
        """A tensor sliced along `axis` as a stack, of the type that stacks have here."""
        if axis:
            rank = len(shape_of(value))
            value = self.value(TransposeOp(value, [axis, *[k for k in range(rank) if k != axis]]))
        shape = shape_of(value)
        if shape[0] != self.slices:
            kind = TensorType(element_of(value), [self.slices, *shape[1:]])
            sizes = _joined(self.sizes, self.dims(value, range(1, len(shape))))
            value = self.value(ReshapeOp(value, kind, sizes))
        return value

    def is_stacked(self, value: SSAValue) -> bool:
        """Whether the value depends on a slice."""
        return value in self.stacked

    def touches(self, op: Operation) -> bool:
        """Whether an operation, or one inside of it, reads a stacked value."""
        return any(v in self.stacked for v in reads_of(op))

    def put(self, old: SSAValue, new: SSAValue, *, stacked: bool = True) -> None:
        """`new` stands for `old` from now on."""
        self.values[old] = new
        new.name_hint = new.name_hint or old.name_hint
        self.stacked.discard(old)
        if stacked:
            self.stacked.add(old)

    def stack(self, value: SSAValue) -> SSAValue:
        """What stands for a value of the function as a stack; what depends on no slice is repeated."""
        new = self.values[value]
        return new if value in self.stacked else self.repeated(new)

    def repeated(self, value: SSAValue) -> SSAValue:
        """A stack of equal slices."""
        if isinstance(value.owner, EmptyOp):
            owner = value.owner
            return self.value(EmptyOp(self.stack_type(value.type), _joined(self.sizes, owner.sizes)))
        if not isinstance(value.type, TensorType):
            value = self.as_tensor(value)
        kind = self.stack_type(value.type)
        sizes = _joined(self.sizes, self.dims(value))
        return self.value(BroadcastOp(value, range(1, len(shape_of(kind))), kind, sizes))

    def as_tensor(self, scalar: SSAValue) -> SSAValue:
        """A scalar as a tensor of rank 0, of i64 where it is an index."""
        if isinstance(scalar.type, IndexType):
            scalar = self.value(arith.IndexCastOp(scalar, i64))
        return self.value(FromScalarOp(scalar, TensorType(scalar.type, [])))

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        """A tensor in another element type."""
        if element_of(value) == element:
            return value
        return self.value(CastOp(value, TensorType(element, shape_of(value))))

    def mapped(self, sizes: AffineList, op: Operation, what: str = "size") -> AffineList:
        """Expressions of the function as they are here. Raises where they differ from slice to slice."""
        if any(v in self.stacked for v in sizes.operands):
            error = self.fail(
                op,
                f"nt.batch: the {what} of this array ({op.name}) depends on what is sliced: its slices have no common shape",
                hint="give all slices one shape: mask what is not wanted, or do not slice the argument that says it",
            )
            raise SlicesDiffer(error)
        return sizes.substitute_all(self.values)

    def sizes_of(self, op: Operation) -> AffineList:
        """The sizes of the stack that the result of a sized operation becomes."""
        return _joined(self.sizes, self.mapped(op.sizes, op))  # pyright: ignore

    # ---- the walk ---------------------------------------------------------------------------------------

    def run(self, ops: Sequence[Operation]) -> None:
        """Make what operations of one block become, in order."""
        self.done.difference_update(ops)
        k = 0
        while k < len(ops):
            group = together(ops, k)
            self.step(group)
            k += len(group)

    def step(self, group: Sequence[Operation]) -> None:
        """Make what an operation (or several that stay together) becomes."""
        op = group[0]
        if op in self.done:
            return
        self.location = op.location
        if not any(map(self.touches, group)):
            for one in group:
                self.copy(one)
            return
        from_rule = len(group) == 1 and self.rule_of(op)(self, op)
        if not from_rule:
            self.one_by_one(self, group)

    def copy(self, op: Operation) -> None:
        """Insert a copy of an operation that reads no stacked value."""
        here = dict(self.values)
        self.add_copy(op, here)
        for old in op.results:
            self.put(old, here[old], stacked=False)

    def add_copy(self, op: Operation, values: dict[SSAValue, SSAValue]) -> Operation:
        """Insert a copy of an operation that reads other `values`; what it makes is added to them."""
        location, self.location = self.location, op.location
        new = self.add(op.clone(values))
        self.location = location
        return new


def _shape(kind: Attribute) -> Sequence[int]:
    return shape_of(kind) if isinstance(kind, TensorType) else ()


def _joined(first: AffineList, rest: AffineList) -> AffineList:
    return first.concat(rest).canonical() if len(first) and len(rest) else (first if len(first) else rest)


def joined(*lists: AffineList) -> AffineList:
    """The expressions of all lists, in order."""
    result = AffineList(())
    for one in lists:
        result = _joined(result, one)
    return result


def slice_element(kind: Attribute) -> Attribute:
    """The element type of the stack that stands for a value of type `kind`."""
    if isinstance(kind, TensorType):
        return kind.element_type
    return i64 if isinstance(kind, IndexType) else kind


def memory_type(kind: Attribute) -> MemRefType:
    """The buffer as which a tensor enters an island."""
    return MemRefType(storage_type(element_of(kind)), shape_of(kind))


def reads_of(op: Operation) -> list[SSAValue]:
    """The operands of an operation, and what its regions use from outside, each once."""
    if not op.regions:
        return list(dict.fromkeys(op.operands))
    made: set[SSAValue] = set()
    used: dict[SSAValue, None] = {}
    for inner in op.walk():
        made.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                made.update(block.args)
        used.update(dict.fromkeys(inner.operands))
    return [v for v in used if v not in made]


def together(ops: Sequence[Operation], k: int) -> Sequence[Operation]:
    """The operation at k and those after it that stay with it: a `print` is several calls, from its begin to its end."""
    if not _calls(ops[k], "nestor_print_begin"):
        return ops[k : k + 1]
    end = next(j for j in range(k, len(ops)) if _calls(ops[j], "nestor_print_end"))
    return ops[k : end + 1]


def _calls(op: Operation, name: str) -> bool:
    return isinstance(op, func.CallOp) and op.callee.string_value() == name
