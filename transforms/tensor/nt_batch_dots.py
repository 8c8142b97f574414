"""nt-batch-dots: small products that share an operand become one product, before the loop or in front of the first of them.

    %r = scf.for %t = %c0 to %c50 step %c1 iter_args(%h = %h0) -> (tensor<8x16xf32>) {
      %0 = nt.slice %xs[%t, 0, 0] strides [1, 1, 1] : tensor<50x8x4xf32> -> tensor<1x8x4xf32>
      %1 = nt.reshape %0 : tensor<1x8x4xf32> -> tensor<8x4xf32>
      %2 = nt.dot %1, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
      ...
  becomes
    %d = nt.dot %xs, %w contract [2] x [0] : tensor<50x8x4xf32>, tensor<4x16xf32> -> tensor<50x8x16xf32>
    %r = scf.for %t = %c0 to %c50 step %c1 iter_args(%h = %h0) -> (tensor<8x16xf32>) {
      %0 = nt.slice %d[%t, 0, 0] strides [1, 1, 1] : tensor<50x8x16xf32> -> tensor<1x8x16xf32>
      %2 = nt.reshape %0 : tensor<1x8x16xf32> -> tensor<8x16xf32>
      ...

An operand is *part* of a tensor where it is that at one place of an axis (`xs[t]`). Products of parts at places side by
side, in a loop over these (`for x in xs`) or one after the other (`x @ w[0]`, `x @ w[1]`, ...), are parts of a product of
the whole: the axis is one more of the result where the other operand is the same for all, and one of a stack of products
where both are parts.

Saved is that what they share is read, and packed, again for each of them, and the start of a parallel loop; spent is that
their results are in memory together, as far as the second-level cache has no room for them (analysis/machine.py): large
products stay as they are. A loop must be known to visit all of the places that the product computes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from ...analysis.machine import DEFAULT_CPU, Cpu, cpu
from ...analysis.tensor.extents import Extents
from ...dialects.affine import AffineList, constant_of
from ...dialects.nt import DimOp, DotOp, LoopsOp, ReduceOp, ReshapeOp, SliceOp
from ...dialects.nt.ops import element_of, shape_of
from ...dialects.nt.types import width_of

REGION_BYTES = 128 << 10
"""What the start of a parallel loop costs, in bytes that a core reads from its second-level cache in the time (2 us)."""

BEYOND = 8
"""What a byte costs, in such bytes, that is written behind the second-level cache and read again from there."""

UNKNOWN_EXTENT = 64
"""What an extent that only the run knows counts as."""


@dataclass(frozen=True)
class Part:
    """What an operand is: `tensor` at place `index` of its axis `axis`."""

    tensor: SSAValue
    axis: int
    index: AffineList


@dataclass(frozen=True)
class Whole:
    """A product whose operands are `parts` (None: the same for all), at `count` places from `starts` on."""

    dot: DotOp
    parts: tuple[Part | None, Part | None]
    starts: tuple[AffineList | None, AffineList | None]
    """Of each part the first place; None where it is 0 and there are as many as the axis has."""
    count: int | None
    """None: as many as the axis has."""


def part_of(value: SSAValue, extents: Extents) -> Part | None:
    """The tensor of which an operand is one place of an axis; None where it is something else."""
    reshape = value.owner
    if not isinstance(reshape, ReshapeOp) or not isinstance(reshape.source.owner, SliceOp):
        return None
    cut = reshape.source.owner
    whole, kept = extents.of(cut.source), extents.of(cut.result)
    if any(stride != 1 for stride in cut.stride_values):
        return None
    for axis in range(len(kept)):
        others = [k for k in range(len(kept)) if k != axis]
        if (
            kept[axis] == 1
            and tuple(kept[k] for k in others) == extents.of(value)
            and all(kept[k] == whole[k] and cut.offsets[k].constants() == (0,) for k in others)
        ):
            return Part(cut.source, axis, cut.offsets[axis])
    return None


# ---- the product of the whole -----------------------------------------------------------------------


def make_whole(whole: Whole, before: Operation) -> tuple[SSAValue, int]:
    """The product of all, in front of an operation, and the axis of its result along which the places are."""
    dot = whole.dot
    operands: list[SSAValue] = []
    contract, batch, free = [], [], []
    for side, value in enumerate(dot.operands):
        part = whole.parts[side]
        if part is None:
            operands.append(value)
            shift = len(shape_of(value))
        else:
            operands.append(_range(part, whole.starts[side], whole.count, before))
            shift = part.axis
        moved = [k + (k >= shift) for k in range(len(shape_of(value)))]
        contract.append([moved[k] for k in dot.contract[side]])
        batch.append([moved[k] for k in dot.batch[side]])
        free.append([moved[k] for k in dot.free[side]])
    one, other = whole.parts
    if one is not None and other is not None:
        batch = [[one.axis, *batch[0]], [other.axis, *batch[1]]]
        place = 0
    elif one is not None:
        place = len(batch[0]) + sum(k < one.axis for k in free[0])
    else:
        assert other is not None
        place = len(batch[0]) + len(free[0]) + sum(k < other.axis for k in free[1])
    made = DotOp(operands[0], operands[1], (contract[0], contract[1]), (batch[0], batch[1]))
    made.attributes.update(dot.attributes)
    made.location = dot.location
    _insert_before(made, before)
    return made.result, place


def _range(part: Part, start: AffineList | None, count: int | None, before: Operation) -> SSAValue:
    """The tensor at the places that are computed."""
    extents = shape_of(part.tensor)
    if start is None or (start.constants() == (0,) and count == extents[part.axis]):
        return part.tensor
    assert count is not None
    shape = [count if k == part.axis else extent for k, extent in enumerate(extents)]
    zero = AffineList.of(0)
    offsets = AffineList.of(*[start if k == part.axis else zero for k in range(len(extents))])
    sizes = [_dim(part.tensor, k, before) for k, extent in enumerate(shape) if extent == DYNAMIC_INDEX]
    cut = SliceOp(
        part.tensor,
        offsets,
        [1] * len(extents),
        TensorType(element_of(part.tensor), shape),  # pyright: ignore
        AffineList.of(*sizes) if sizes else AffineList(()),
    )
    cut.location = before.location
    _insert_before(cut, before)
    return cut.result


def take(result: SSAValue, axis: int, index: AffineList, dot: DotOp) -> None:
    """Let a product be its place in the product of all."""
    extents = shape_of(result)
    zero = AffineList.of(0)
    unknown = [k for k, extent in enumerate(extents) if extent == DYNAMIC_INDEX and k != axis]
    sizes = AffineList.of(*[_dim(result, k, dot) for k in unknown]) if unknown else AffineList(())
    cut = SliceOp(
        result,
        AffineList.of(*[index if k == axis else zero for k in range(len(extents))]),
        [1] * len(extents),
        TensorType(element_of(result), [1 if k == axis else extent for k, extent in enumerate(extents)]),  # pyright: ignore
        sizes,
    )
    seen = ReshapeOp(cut.result, dot.result.type, sizes)  # pyright: ignore
    for op in (cut, seen):
        op.location = dot.location
        _insert_before(op, dot)
    seen.result.name_hint = dot.result.name_hint
    dot.result.replace_all_uses_with(seen.result)
    views = [value.owner for value in dot.operands]
    dot.detach()
    dot.erase()
    for view in views:
        _erase_idle(view)


def _erase_idle(op: Operation | Block) -> None:
    """Erase a part that nothing reads any more."""
    if isinstance(op, ReshapeOp | SliceOp) and is_trivially_dead(op):
        source = op.source.owner
        op.detach()
        op.erase()
        _erase_idle(source)


def _dim(value: SSAValue, axis: int, before: Operation) -> SSAValue:
    op = DimOp(value, axis)
    op.location = before.location
    _insert_before(op, before)
    return op.result


# ---- in loops ---------------------------------------------------------------------------------------


def join_over_loop(loop: scf.ForOp, machine: Cpu) -> None:
    """Compute before a loop what it multiplies with the same operand at each of its places."""
    extents = Extents()
    for op in list(loop.body.block.ops):
        if isinstance(op, DotOp):
            whole = _over_loop(op, loop, extents)
            if whole is None or not pays(whole, whole.count or UNKNOWN_EXTENT, machine):
                continue
            index = next(part.index for part in whole.parts if part is not None)
            start = next(
                start for part, start in zip(whole.parts, whole.starts, strict=True) if part is not None
            )
            result, axis = make_whole(whole, loop)
            take(result, axis, index if start is None else index.minus(start).canonical(), op)


def _over_loop(dot: DotOp, loop: scf.ForOp, extents: Extents) -> Whole | None:
    """The product of all places that a loop visits; None where an operand is no part, or changes otherwise."""
    parts: list[Part | None] = []
    starts: list[AffineList | None] = []
    counts: set[int | None] = set()
    for value in dot.operands:
        if _is_outside(value, loop):
            parts.append(None)
            starts.append(None)
            continue
        part = part_of(value, extents)
        if part is None or not _is_outside(part.tensor, loop):
            return None
        visited = _visited(part, loop, extents)
        if visited is None:
            return None
        parts.append(part)
        starts.append(visited[0])
        counts.add(visited[1])
    if len(counts) != 1:
        return None
    return Whole(dot, (parts[0], parts[1]), (starts[0], starts[1]), counts.pop())


def _visited(part: Part, loop: scf.ForOp, extents: Extents) -> tuple[AffineList | None, int | None] | None:
    """The first place that a loop visits and how many there are, (None, None) for all; None where that is not known."""
    if constant_of(loop.step) != 1 or loop.body.block.args[0] not in part.index.operands:
        return None
    variable = loop.body.block.args[0]
    lower, upper = constant_of(loop.lb), constant_of(loop.ub)
    if lower is not None and upper is not None:
        ends = [part.index.substitute(variable, at) for at in (lower, upper - 1)]
        first, last = [end.constants() for end in ends]
        if upper <= lower or first is None or last is None or abs(last[0] - first[0]) != upper - lower - 1:
            return None
        return AffineList.of(min(first[0], last[0])), upper - lower
    is_all = part.index.single_value() is variable and lower == 0
    return (None, None) if is_all and _is_extent(loop.ub, part, extents) else None


def _is_extent(value: SSAValue, part: Part, extents: Extents) -> bool:
    """Whether a number is the extent of the axis."""
    owner = value.owner
    return isinstance(owner, DimOp) and extents.axis(
        owner.operands[0], owner.axis.value.data
    ) == extents.axis(part.tensor, part.axis)


def _is_outside(value: SSAValue, loop: Operation) -> bool:
    around: Operation | None = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    while around is not None and around is not loop:
        around = around.parent_op()
    return around is None


# ---- one after the other ----------------------------------------------------------------------------


def join_neighbours(block: Block, machine: Cpu) -> None:
    """Compute in one product those of a block whose operands are parts at constant places side by side."""
    extents = Extents()
    for both in (True, False):
        groups: dict[Hashable, list[tuple[DotOp, tuple[Part | None, Part | None]]]] = {}
        for dot in [op for op in block.ops if isinstance(op, DotOp)]:
            for parts in _ways(dot, extents, both):
                groups.setdefault(_key(dot, parts), []).append((dot, parts))
        for group in groups.values():
            left = [one for one in group if one[0].parent is block]
            if len(left) > 1:
                _join(left, machine)


def _ways(dot: DotOp, extents: Extents, both: bool) -> list[tuple[Part | None, Part | None]]:
    """Which operands are taken for parts: both, or one of them."""
    found = [part_of(value, extents) for value in dot.operands]
    found = [part if part is not None and part.index.constants() is not None else None for part in found]
    if both:
        return [(found[0], found[1])] if None not in found else []
    ways = [(found[0], None), (None, found[1])]
    return [way for way in ways if way != (None, None)]


def _key(dot: DotOp, parts: tuple[Part | None, Part | None]) -> Hashable:
    sides: list[Hashable] = [
        value if part is None else (part.tensor, part.axis)
        for value, part in zip(dot.operands, parts, strict=True)
    ]
    if None not in parts:
        one, other = parts
        sides.append(_place(other) - _place(one))  # pyright: ignore
    return (*sides, dot.contract, dot.batch)


def _place(part: Part) -> int:
    places = part.index.constants()
    assert places is not None
    return places[0]


def _join(group: Sequence[tuple[DotOp, tuple[Part | None, Part | None]]], machine: Cpu) -> None:
    places = [next(_place(part) for part in parts if part is not None) for _, parts in group]
    count = max(places) - min(places) + 1
    if sorted(set(places)) != list(range(min(places), max(places) + 1)):
        return
    first, parts = group[places.index(min(places))]
    starts = tuple([None if part is None else AffineList.of(_place(part)) for part in parts])
    whole = Whole(first, parts, starts, count)  # pyright: ignore
    if not pays(whole, count, machine):
        return
    result, axis = make_whole(whole, group[0][0])
    for (dot, _), place in zip(group, places, strict=True):
        take(result, axis, AffineList.of(place - min(places)), dot)


# ---- what it costs ----------------------------------------------------------------------------------


def pays(whole: Whole, count: int, machine: Cpu) -> bool:
    """Whether one product is cheaper than `count` of them."""
    shared = [value for value, part in zip(whole.dot.operands, whole.parts, strict=True) if part is None]
    saved = (count - 1) * (REGION_BYTES + sum(map(_bytes, shared)))
    kept = count * _bytes(whole.dot.result)
    return saved > BEYOND * max(0, kept - machine.l2_bytes // 2)


def _bytes(value: SSAValue) -> int:
    extents = [UNKNOWN_EXTENT if extent == DYNAMIC_INDEX else extent for extent in shape_of(value)]
    return prod(extents) * (width_of(element_of(value)) // 8 or 1)


def _insert_before(new: Operation, op: Operation) -> None:
    assert op.parent is not None
    op.parent.insert_op_before(new, op)


def batch_dots(function: FuncOp, machine: Cpu) -> None:
    """Join the small products of a function, inner loops first."""
    for op in reversed([inner for inner in function.walk() if isinstance(inner, scf.ForOp)]):
        join_over_loop(op, machine)
    for op in [function, *function.walk()]:
        if isinstance(op, LoopsOp | ReduceOp):
            continue
        for region in op.regions:
            for block in region.blocks:
                join_neighbours(block, machine)


@dataclass(frozen=True, eq=False)
class NtBatchDotsPass(ModulePass):
    """Join small products that share an operand."""

    name = "nt-batch-dots"

    machine: str = DEFAULT_CPU
    l2_kib: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = cpu(self.machine, l2_kib=self.l2_kib)
        for function in [one for one in op.walk() if isinstance(one, FuncOp) and one.body.blocks]:
            batch_dots(function, machine)
