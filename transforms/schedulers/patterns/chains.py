"""Chains: products of which a factor is an elementwise function of other products, with few terms.

nest.for "b" ... { ... nest.accumulate "s" add %p, %s[%b, %i, %j] }         // rows i, columns j, few terms
nest.for "b.1" ... { ... %s[%b, %i, %j] ... nest.store "w" %w, %w[%b, %i, %j] }
nest.for "b.2" ... { ... nest.load %w[%b, %i, %l] ... }                     // rows i; j is the loop over terms
nest.for "b.3" ... { ... nest.load %w[%b, %l, %j] ... }                     // rows j; i is the loop over terms

Two layers of a network are one, and the reverse of attention is, whose gradients read weights and their cotangents along
rows and along columns. To compute %w again for each reader takes as many terms as %s has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import is_inside, loops_in, next_nest, perfect_band
from ....analysis.nest.sets.producers import top_in
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from .products import Product, sum_of_products_in

MOST_TERMS = 128
"""Maximum number of terms of a product that is computed where it is used."""


@dataclass(frozen=True, eq=False)
class Reader:
    """A product whose rows are those of a computed factor, or its columns (`turned`), and the nests around it."""

    product: Product
    factor: LoadOp
    turned: bool
    start: ForOp | None
    """The nest that sets its sums."""
    uses: list[ForOp]
    """The nests that use them, each by itself."""

    @property
    def nests(self) -> list[ForOp]:
        return [*([] if self.start is None else [self.start]), self.product.outermost, *self.uses]


@dataclass(frozen=True, eq=False)
class Chain:
    """The nests that compute factors, in order, and readers that follow each other and read them along the same axis."""

    producers: list[ForOp]
    readers: list[Reader]
    is_last: bool
    """Whether nobody reads the factors after these."""

    @property
    def turned(self) -> bool:
        return self.readers[0].turned


def chains_in(function: FuncOp) -> list[list[Chain]]:
    """The chains of a function: lists of those that have the same producers."""
    block = function.body.block
    tops = [op for op in block.ops if isinstance(op, ForOp)]
    found: dict[tuple[ForOp, ...], list[Reader]] = {}
    for nest in tops:
        product = sum_of_products_in(perfect_band(nest)) if _is_serial(nest) else None
        reader = None if product is None else _reader(product)
        if reader is None:
            continue
        producers = _producers(reader.factor, nest, tops)
        if producers is not None:
            found.setdefault(tuple(producers), []).append(reader)
    return [
        _chains(list(producers), readers)
        for producers, readers in found.items()
        if _are_all(producers, readers)
    ]


def _is_serial(nest: ForOp) -> bool:
    return all(loop.kind == "serial" and loop.step_value == 1 for loop in loops_in(nest))


def _reader(product: Product) -> Reader | None:
    """The reader that a product is, of a buffer of the function; None where no factor is in one."""
    if product.sums.combiner.data != "add" or not isinstance(product.sums.values[0].owner, arith.MulfOp):
        return None
    loads = [op for op in product.sums.parent.ops if isinstance(op, LoadOp)]  # pyright: ignore
    if len(loads) != 2:
        return None
    for load in loads:
        places = [_axis_of(load, loop) for loop in (*product.batch, product.row, product.term)]
        if None in places or len(places) != len(load.indices) or _axis_of(load, product.column) is not None:
            continue
        if (
            not isinstance(load.memref.owner, AllocOp)
            or load.memref.owner.parent is not product.outermost.parent
        ):
            continue
        *batch, row, term = places
        if batch != list(range(len(batch))):
            continue
        start, uses = _neighbours(product)
        return Reader(product, load, row > term, start, uses)  # pyright: ignore[reportOperatorIssue]
    return None


def _axis_of(load: LoadOp, loop: ForOp) -> int | None:
    """The axis whose index is the loop's variable."""
    for axis in range(len(load.indices)):
        if load.indices[axis].single_value() is loop.iv:
            return axis
    return None


def _neighbours(product: Product) -> tuple[ForOp | None, list[ForOp]]:
    """The nest before that sets the sums, and those after it that use each by itself."""
    result, rank = product.result, len(product.sums.indices)
    before = next_nest(product.outermost, lambda op: op.prev_op)
    start = before if before is not None and _is_over(before, result, rank) and not _loads(before) else None
    uses: list[ForOp] = []
    last = product.outermost
    while (use := next_nest(last, lambda op: op.next_op)) is not None and _is_over(use, result, rank):
        if not any(op.memref is result for op in _loads(use)):
            break
        uses.append(use)
        last = use
    return start, uses


def _loads(nest: ForOp) -> list[LoadOp]:
    return [op for op in nest.walk() if isinstance(op, LoadOp)]


def _is_over(nest: ForOp, buffer: SSAValue, rank: int) -> bool:
    """Whether a nest accesses a buffer, element by element."""
    loops = loops_in(nest)
    if len(loops) != rank or not _is_straight(nest):
        return False
    accesses = [op for op in nest.walk() if isinstance(op, LoadOp | StoreOp) and op.memref is buffer]
    return bool(accesses) and all(_is_along(op, loops) for op in accesses)


def _is_straight(nest: ForOp) -> bool:
    """Whether a nest is loops within each other around loads, arithmetic and stores."""
    loops = loops_in(nest)
    if not _is_serial(nest) or any(
        sum(isinstance(op, ForOp) for op in loop.body.block.ops) > 1 for loop in loops
    ):
        return False
    if any(loop.lower.constants() != (0,) for loop in loops):
        return False
    inner = [op for op in nest.walk() if not isinstance(op, ForOp)]
    outside = [op for op in inner if op.parent is not loops[-1].body.block]
    if any(op.regions or isinstance(op, AccumulateOp | AllocOp) for op in inner):
        return False
    return not any(isinstance(op, StoreOp) for op in outside)


def _is_along(op: LoadOp | StoreOp, loops: Sequence[ForOp]) -> bool:
    """Whether the indices are the variables of the loops, in their order."""
    return [op.indices[k].single_value() for k in range(len(op.indices))] == [loop.iv for loop in loops]


def _producers(factor: LoadOp, reader: ForOp, tops: list[ForOp]) -> list[ForOp] | None:
    """The nests before a reader that compute a factor, in order: elementwise of products of few terms; None for others."""
    assert isinstance(factor.memref.type, MemRefType)
    shape, found, pending, seen = (
        factor.memref.type.get_shape(),
        set[ForOp](),
        [factor.memref],
        set[SSAValue](),
    )
    block, has_product = reader.parent, False
    assert block is not None
    while pending:
        buffer = pending.pop()
        if buffer in seen:
            continue
        seen.add(buffer)
        if not all(isinstance(use.operation, LoadOp | StoreOp | AccumulateOp) for use in buffer.uses):
            return None
        for nest in dict.fromkeys(top_in(block, use.operation) for use in buffer.uses):
            writes = [
                op for op in nest.walk() if isinstance(op, StoreOp | AccumulateOp) and buffer in op.operands
            ]
            if not writes or nest in found:
                continue
            if not isinstance(nest, ForOp) or nest not in tops or not nest.is_before_in_block(reader):
                return None
            found.add(nest)
            if _is_straight(nest) and len(loops_in(nest)) == len(shape):
                if not all(_is_along(op, loops_in(nest)) for op in _of_shape(nest, shape)):
                    return None
                pending += [op.memref for op in _of_shape(nest, shape) if _is_own(op.memref, nest)]
            elif _is_short(nest, buffer):
                has_product = True
            else:
                return None
    if not has_product or not all(_is_own(buffer, reader) for buffer in seen):
        return None
    return [nest for nest in tops if nest in found]


def _of_shape(nest: ForOp, shape: Sequence[int]) -> list[LoadOp | StoreOp]:
    """The accesses to buffers with as many axes as a factor has, each as long."""
    ops = [op for op in nest.walk() if isinstance(op, LoadOp | StoreOp)]
    return [
        op for op in ops if isinstance(op.memref.type, MemRefType) and op.memref.type.get_shape() == shape
    ]


def _is_own(buffer: SSAValue, nest: ForOp) -> bool:
    """Whether a buffer is one of floating-point numbers that the function makes beside the nest."""
    owner = buffer.owner
    if not isinstance(owner, AllocOp) or owner.parent is not nest.parent:
        return False
    return isinstance(owner.memref.type.element_type, AnyFloat)


def _is_short(nest: ForOp, result: SSAValue) -> bool:
    """Whether a nest is a product of few terms, with its elements along the loops."""
    product = sum_of_products_in(perfect_band(nest)) if _is_serial(nest) else None
    if product is None or product.result is not result or product.sums.combiner.data != "add":
        return False
    terms = extent_of(product.term)
    moving = [*product.batch, product.row, product.column]
    indices = [product.sums.indices[k].single_value() for k in range(len(product.sums.indices))]
    is_whole = (
        indices == [loop.iv for loop in moving] and product.sums.where is None and product.sums.mask is None
    )
    return is_whole and terms is not None and terms <= MOST_TERMS


def _are_all(producers: Sequence[ForOp], readers: Sequence[Reader]) -> bool:
    """Whether nobody else reads what the producers make."""
    block = producers[0].parent
    assert block is not None
    inside = [*producers, *(reader.product.outermost for reader in readers)]
    buffers = {op.memref for nest in producers for op in nest.walk() if isinstance(op, StoreOp)}
    users: list[Operation] = [use.operation for buffer in buffers for use in buffer.uses]
    return all(any(is_inside(op, nest) for nest in inside) for op in users)


def _chains(producers: list[ForOp], readers: list[Reader]) -> list[Chain]:
    """Readers that follow each other, and read along the same axis, together."""
    groups: list[list[Reader]] = []
    for reader in readers:
        if groups and groups[-1][0].turned == reader.turned and _are_alike(groups[-1][0], reader):
            groups[-1].append(reader)
        else:
            groups.append([reader])
    return [Chain(producers, group, group is groups[-1]) for group in groups]


def _are_alike(one: Reader, other: Reader) -> bool:
    """Whether two readers have as many rows and columns each."""
    a, b = one.product, other.product
    pairs = zip((*a.batch, a.row, a.column, a.term), (*b.batch, b.row, b.column, b.term), strict=False)
    return len(a.batch) == len(b.batch) and all(x.upper.canonical() == y.upper.canonical() for x, y in pairs)
