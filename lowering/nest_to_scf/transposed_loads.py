"""Loads of a tile that lie side by side across its lanes: rows and shuffles (part of convert-nest-to-scf).

    nest.for "i" %i = 0 to 8 unrolled {
      nest.for "j" %j = 0 to 8 vectorized(8) {
        %a = nest.load %x[%j, %i] : memref<?x?xf32>       // the lanes lie a row apart, the copies side by side
        nest.store "y" %a, %y[%i, %j] : memref<?x?xf32>
      }
    }

becomes

    %r0 = vector.load %x[%c0, %c0] : memref<?x?xf32>, vector<8xf32>
    ...
    %r7 = vector.load %x[%c7, %c0] : memref<?x?xf32>, vector<8xf32>
    ... three rounds of vector.shuffle (`shuffles.py`): %t0 holds the first element of each row, %t7 the last
    vector.store %t0, %y[%c0, %c0] : memref<?x?xf32>, vector<8xf32>
    ...
    vector.store %t7, %y[%c7, %c0] : memref<?x?xf32>, vector<8xf32>

so that a tile of n x n elements takes n loads and n log2(n) shuffles. To get it, unroll a loop whose variable moves along
the last axis of what is loaded, directly around a vectorized loop whose variable moves along another axis, both of a
multiple of four iterations. The loops may end early (split them with tail=clamp): a tile at the edge is distinguished from a
whole one by a branch, and reads no further than its rows reach; with domains (tail=mask) the edge is gathered, unless
it is the edge of a small buffer at constant places, which is read as a whole (and so can stay in registers). Rows are
read before anything of the tile runs, so that nothing in it may write the buffer; where one of these conditions fails,
the lanes are gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import DenseArrayBase, MemRefType, VectorType, i1, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from ...analysis.nest.buffers import element_bytes, strides_of
from ...analysis.nest.kernels.combiners import splat, zero
from ...analysis.nest.sets.domains import is_computation, within_bound
from ...analysis.nest.values.linear_forms import Linear, linear_form
from ...dialects.affine import AffineList
from ...dialects.attributes import ALIAS_SET
from ...dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, PrefetchOp, StoreOp
from ..nest_common.full_tiles import TileConstraint, is_made_inside
from .shuffles import Shuffle, beginning, concatenation, transposition

if TYPE_CHECKING:
    from .convert import CpuBody

FEWEST, MOST = 4, 16
"""Rows of a block that is transposed in registers: of fewer, a gather is as good; of more, they do not fit."""

REGISTER_BYTES = 64
"""Bytes of a row of such a block at most: longer ones need more registers than there
are. Where registers are narrower LLVM takes several for a row."""


@dataclass(frozen=True, eq=False)
class AcrossLoad:
    """A load in `lanes`, a vectorized loop, whose elements for the copies of the loop around it are neighbours."""

    op: LoadOp
    lanes: ForOp
    block: int
    """Rows and columns of the blocks that are transposed."""


def loads_across(loop: ForOp) -> list[AcrossLoad]:
    """The loads of the tile of an unrolled `loop` that can be read as rows."""
    count = _most_iterations(loop)
    if count is None or not _is_readable_ahead(loop):
        return []
    written = [_root(buffer) for buffer in _written(loop)]
    found = []
    for lanes in loop.body.block.ops:
        if not isinstance(lanes, ForOp) or lanes.kind != "vectorized" or not _is_plain(lanes, loop):
            continue
        for op in lanes.body.block.ops:
            if isinstance(op, LoadOp) and _is_across(op, lanes, loop) and _is_unchanged(op.memref, written):
                block = _block_of(op, count, lanes)
                if block >= FEWEST:
                    found.append(AcrossLoad(op, lanes, block))
    return found


def _most_iterations(loop: ForOp) -> int | None:
    """The copies of an unrolled loop with constant first value and steps of one."""
    lower = loop.lower.constants()
    ends = [end[0] for k in range(len(loop.upper)) if (end := loop.upper[k].constants()) is not None]
    if loop.step_value != 1 or lower is None or not ends:
        return None
    return min(ends) - max(lower)


def _is_plain(lanes: ForOp, loop: ForOp) -> bool:
    """Whether the lanes start at a constant, and their bounds are known before `loop`."""
    return (
        lanes.step_value == 1
        and lanes.lower.constants() is not None
        and not any(is_made_inside(value, loop) or value is loop.iv for value in lanes.upper.operands)
        and not any(is_made_inside(value, loop) for value in loop.upper.operands)
    )


def _is_readable_ahead(loop: ForOp) -> bool:
    """Whether the body does nothing but compute, read and write buffers that it names."""
    known = (ForOp, LoadOp, StoreOp, AccumulateOp, AllocOp, PrefetchOp, arith.ConstantOp, memref.DimOp)
    return all(isinstance(op, known) or is_computation(op) for op in loop.body.walk())


def _written(loop: ForOp) -> Iterator[SSAValue]:
    for op in loop.body.walk():
        if isinstance(op, StoreOp):
            yield op.memref
        elif isinstance(op, AccumulateOp):
            yield from op.memrefs


def _is_across(op: LoadOp, lanes: ForOp, loop: ForOp) -> bool:
    """Whether the copies are neighbours on a contiguous last axis and the lanes move along the others only."""
    ivs = (loop.iv, lanes.iv)
    indices = op.indices
    if any(value not in ivs and is_made_inside(value, loop) for value in (op.memref, *indices.operands)):
        return False
    assert isinstance(op.memref.type, MemRefType)
    if not len(indices) or strides_of(op.memref.type)[-1] != 1:
        return False
    forms = [linear_form(expr, indices.operands) for expr in indices.exprs]
    if any(form.without(iv).uses(iv) for form in forms for iv in ivs):
        return False
    *outer, last = forms
    return (
        last.coefficient(loop.iv) == 1
        and not last.coefficient(lanes.iv)
        and not any(form.coefficient(loop.iv) for form in outer)
        and any(form.coefficient(lanes.iv) for form in outer)
    )


def _is_unchanged(buffer: SSAValue, written: Sequence[SSAValue]) -> bool:
    """Whether none of the buffers `written` can be `buffer`: it overlaps nothing, or is on its own."""
    root = _root(buffer)
    if root in written:
        return False
    if isinstance(root.owner, Block):
        function = root.owner.parent_op()
        if not isinstance(function, FuncOp):
            return False
        given = function.arg_attrs
        return given is None or ALIAS_SET not in given.data[root.owner.args.index(root)].data  # pyright: ignore
    return isinstance(root.owner, AllocOp | memref.AllocOp | memref.AllocaOp)


def _root(buffer: SSAValue) -> SSAValue:
    """The buffer behind views of it."""
    while isinstance(buffer.owner, _VIEWS):
        buffer = buffer.owner.operands[0]
    return buffer


_VIEWS = (
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    memref.CastOp,
    memref.SubviewOp,
    memref.ReinterpretCastOp,
)


def _block_of(op: LoadOp, count: int, lanes: ForOp) -> int:
    """The largest power of two that divides copies and lanes, and whose rows fit into registers."""
    assert lanes.width is not None and isinstance(op.memref.type, MemRefType)
    width = lanes.width.value.data
    most = min(MOST, REGISTER_BYTES // element_bytes(op.memref.type.element_type))
    block = 1
    while 2 * block <= most and count % (2 * block) == 0 and width % (2 * block) == 0:
        block *= 2
    return block


class TransposedTile:
    """Lowers an unrolled loop, the rows of `loads` read first."""

    def __init__(self, body: CpuBody, loop: ForOp, loads: Sequence[AcrossLoad]):
        self.body = body
        self.builder = body.builder
        self.loop = loop
        self.loads = loads

    def lower(self, copies: Callable[[], None]) -> None:
        """`copies` lowers the copies of the body; where the tile may end early, a whole one has a version of its own."""
        bounds = {bound: form for bound, form in self._bounds() if bound not in self.body.assumed}
        if not bounds:
            self._version(copies, whole=True)
            return
        body = self.body
        body.versions(
            dict.fromkeys(bounds.values()),
            set(bounds),
            lambda: self._version(copies, whole=True),
            lambda: self._version(copies, whole=False),
        )

    def _bounds(self) -> Iterator[tuple[AffineList, Linear]]:
        """The upper bounds that are not constants, and by how much the last iteration of a whole tile is below them."""
        for loop in dict.fromkeys((self.loop, *(load.lanes for load in self.loads))):
            for k in range(len(loop.upper)):
                if loop.upper[k].constants() is None:
                    (upper,) = self.body.forms(loop.upper[k])
                    yield within_bound(loop, k), upper.plus(-self._end(loop))
        for load in self.loads:
            if not self._is_own_tile(load):
                yield from self._domain_bounds(load)

    def _domain_bounds(self, load: AcrossLoad) -> Iterator[tuple[AffineList, Linear]]:
        """The constraints on where the load is needed that can be asked ahead, and their least value in a whole tile."""
        ranges = {loop.iv: (_first(loop), self._end(loop) - 1) for loop in (self.loop, load.lanes)}
        for domain in self.body.guards.of(load.op) or ():
            for constraint in domain.constraints:
                others = [value for value in constraint.operands if value not in ranges]
                form = linear_form(constraint.exprs[0], constraint.operands)
                is_steady = not any(form.without(iv).uses(iv) for iv in ranges)
                if is_steady and not any(is_made_inside(value, self.loop) for value in others):
                    yield constraint, TileConstraint(constraint, ranges, False).least(self.body.values)

    def _end(self, loop: ForOp) -> int:
        """The variable's value after the last iteration of a whole tile."""
        if loop is self.loop:
            return _first(loop) + (_most_iterations(loop) or 0)
        assert loop.width is not None
        return _first(loop) + loop.width.value.data

    def _version(self, copies: Callable[[], None], whole: bool) -> None:
        body = self.body
        for load in self.loads:
            is_own = self._is_own_tile(load)
            if is_own or self._is_needed_everywhere(load.op):
                body.across[load.op] = (self.loop.iv, self._columns(load, whole or is_own))
        copies()
        for load in self.loads:
            body.across.pop(load.op, None)

    def _is_needed_everywhere(self, op: LoadOp) -> bool:
        """Whether nothing but the ends of the loops says where the load is needed."""
        needed = self.body.guards.of(op)
        return needed is None or all(
            domain.mask is None and self.body.assumed.issuperset(domain.constraints) for domain in needed
        )

    def _is_own_tile(self, load: AcrossLoad) -> bool:
        """Whether the tile lies in a buffer made here, at places that are constant: no read of it can do harm."""
        memref_type, indices = load.op.memref.type, load.op.indices
        ends = [loop.upper.constants() for loop in (self.loop, load.lanes)]
        if not isinstance(load.op.memref.owner, AllocOp) or any(end is None for end in ends):
            return False
        last = {loop.iv: self._last(loop) for loop in (self.loop, load.lanes)}
        for expr, extent in zip(indices.exprs, memref_type.get_shape(), strict=True):  # pyright: ignore
            form = linear_form(expr, indices.operands)
            for iv, value in last.items():
                form = form.without(iv).plus(form.coefficient(iv) * value)
            if form.terms or not 0 <= form.constant < extent:
                return False
        return True

    def _last(self, loop: ForOp) -> int:
        """The variable's value in the last iteration of a loop of constant bounds."""
        return min(loop.upper.constants() or (0,)) - 1

    # ---- rows and columns ----

    def _columns(self, load: AcrossLoad, whole: bool) -> dict[int, SSAValue]:
        """The lanes of the load in each copy, by the value of the unrolled loop's variable."""
        assert load.lanes.width is not None
        first, end = _first(self.loop), self._end(self.loop)
        width, block = load.lanes.width.value.data, load.block
        rounds, order = transposition(block, self._element_bytes(load.op))
        columns: dict[int, SSAValue] = {}
        for at in range(first, end, block):
            mask = None if whole else self._mask(load, at)
            parts: list[list[SSAValue]] = [[] for _ in range(block)]
            for lane in range(0, width, block):
                rows = [self._row(load, at, lane + k, mask) for k in range(block)]
                for shuffles in rounds:
                    rows = [self._shuffle(shuffle, rows) for shuffle in shuffles]
                for k in range(block):
                    parts[k].append(rows[order[k]])
            columns.update((at + k, self._joined(part, width)) for k, part in enumerate(parts))
        return columns

    def _row(self, load: AcrossLoad, at: int, lane: int, mask: SSAValue | None) -> SSAValue:
        """The elements of one lane for the copies from `at` on; a lane behind the end of the tile repeats the last one."""
        body, op = self.body, load.op
        body.values[self.loop.iv] = at
        body.values[load.lanes.iv] = _first(load.lanes) + lane
        if mask is not None and lane:
            last = self._last_lane(load.lanes)
            lane_index = self.builder.constant(_first(load.lanes) + lane)
            body.values[load.lanes.iv] = self.builder.value(arith.MinSIOp, (lane_index, last))
        where = (body.value(op.memref), *body.index_values(op.indices))
        assert isinstance(op.memref.type, MemRefType)
        row = VectorType(op.memref.type.element_type, [load.block])
        if mask is None:
            return self.builder.value(vector.LoadOp, where, row)
        zeros = self.builder.attribute_constant(splat(zero(row.element_type), row), row)
        return self.builder.value(vector.MaskedLoadOp, (*where, mask, zeros), row)

    def _last_lane(self, lanes: ForOp) -> SSAValue:
        builder = self.builder
        end = self.body.one_of(lanes.upper, arith.MinSIOp)
        last = builder.value(arith.SubiOp, (end, builder.constant(1)))
        return builder.value(arith.MaxSIOp, (last, builder.constant(_first(lanes))))

    def _mask(self, load: AcrossLoad, at: int) -> SSAValue:
        """The copies from `at` on that there are; none where the tile has no lane."""
        builder, lanes = self.builder, load.lanes
        end = self.body.one_of(self.loop.upper, arith.MinSIOp)
        count = builder.value(arith.SubiOp, (end, builder.constant(at)))
        stop = self.body.one_of(lanes.upper, arith.MinSIOp)
        has_lanes = builder.compare("sgt", stop, builder.constant(_first(lanes)))
        count = builder.value(arith.SelectOp, (has_lanes, count, builder.constant(0)), count.type)
        return builder.value(vector.CreateMaskOp, (count,), VectorType(i1, [load.block]))

    def _joined(self, parts: list[SSAValue], width: int) -> SSAValue:
        """Vectors end to end: `width` lanes in all."""
        while len(parts) > 1:
            parts = parts + parts[-1:] if len(parts) % 2 else parts
            both = concatenation(_length(parts[0]))
            parts = [self._shuffle(both, parts[k : k + 2]) for k in range(0, len(parts), 2)]
        return parts[0] if _length(parts[0]) == width else self._shuffle(beginning(width), parts)

    def _shuffle(self, shuffle: Shuffle, vectors: Sequence[SSAValue]) -> SSAValue:
        lhs, rhs = vectors[shuffle.lhs], vectors[shuffle.rhs]
        assert isinstance(lhs.type, VectorType)
        result = VectorType(lhs.type.element_type, [len(shuffle.lanes)])
        return self.builder.value(
            vector.ShuffleOp, (lhs, rhs), result, {"mask": DenseArrayBase.from_list(i64, list(shuffle.lanes))}
        )

    def _element_bytes(self, op: LoadOp) -> int:
        assert isinstance(op.memref.type, MemRefType)
        return element_bytes(op.memref.type.element_type)


def _first(loop: ForOp) -> int:
    constants = loop.lower.constants()
    assert constants is not None
    return max(constants)


def _length(value: SSAValue) -> int:
    assert isinstance(value.type, VectorType)
    return value.type.get_shape()[0]
