"""Tiles that tensor cores multiply (part of convert-nest-to-gpu): fragments from shared memory, and products of them.

    nest.for "m" %m = 0 to 4 attributes {nestor.matrix} { ... }         (see matrix_tiles.py)

becomes

    %a_frag = memref.alloca() : memref<4xvector<4x2xf16>>
    scf.for %m = %c0 to %c4 step %c1 {
      %0 = nvgpu.ldmatrix %x[%1, %2] {numTiles = 4, transpose = false}
      memref.store %0, %a_frag[%m]
    } {nestor.unroll}
    scf.for %n = %c0 to %c4 step %c2 {                        // of two tiles of columns at a time
      %1 = nvgpu.ldmatrix %y[%2, %3] {numTiles = 4, transpose = true}
      %2 = vector.extract_strided_slice %1 {offsets = [0], sizes = [2], strides = [1]}
      memref.store %2, %b_frag[%n]
      ... and %b_frag[%n + 1]
    } {nestor.unroll}
    scf.for %m = %c0 to %c4 step %c1 {
      scf.for %n = %c0 to %c4 step %c1 {
        %3 = memref.load %a_frag[%m]
        %4 = memref.load %b_frag[%n]
        %5 = vector.load %s[%m, %n, %c0, %c0] : memref<4x4x2x2xf32>, vector<2x2xf32>
        %6 = nvgpu.mma.sync(%3, %4, %5) {mmaShape = [16, 8, 16]}
        vector.store %6, %s[%m, %n, %c0, %c0]
      } {nestor.unroll}
    } {nestor.unroll}

An operand that the lanes have in registers already is put together of their pairs of elements:

    %0 = vector.load %p[%m, %h, %r, %c0] : memref<1x2x2x2xf16>, vector<2xf16>      // for %h and %r 0 and 1
    %1 = vector.insert %0, %none [0]
    ... memref.store %4, %a_frag[%m]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType, UnitAttr, VectorType
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ...analysis.nest.kernels.matrix_tiles import COLUMNS, ROWS, MatrixTile, NoTile, Operand, matrix_tile
from ...analysis.nest.kernels.thread_copies import NoCopies, ThreadCopies
from ...analysis.nest.values.linear_forms import Atom, Division, Linear, linear, terms_of
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import nvgpu
from ...dialects.ext.vector import ExtractStridedSliceOp
from ...dialects.nest import ForOp
from ...dialects.nest.common import INDEX
from .tiles import UNROLL

if TYPE_CHECKING:
    from .kernel import KernelBody

_FLOOR, _MOD = AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.Mod


def lower_matrix_tile(body: KernelBody, loop: ForOp) -> None:
    """Lower an annotated nest; the lanes of a warp reach it together."""
    try:
        tile = matrix_tile(loop)
    except NoTile as why:
        raise fail(
            loop,
            f'the loop "{loop.label}" is annotated as a tile for tensor cores, but is not one:  {why.reason}',
            notes=[(why.op, "here")],
            error=LoweringError,
        ) from None
    _Tile(body, tile).lower()


class _Tile:
    def __init__(self, body: KernelBody, tile: MatrixTile):
        self.body, self.builder, self.tile = body, body.builder, tile
        self.lane = linear(((body.ids.along("lane"), 1),), 0)
        """The number of the lane in its warp."""

    def lower(self) -> None:
        tile = self.tile
        for inner in (tile.r, tile.c, tile.h, tile.e):
            self.body.values[inner.iv] = 0
        if tile.a.in_registers:
            a = self._fragments_of_lanes(tile.a, tile.row_tiles)
        else:
            a = self._fragments(tile.a, tile.row_tiles, 4, self._lane_of_rows())
        pairs = (tile.column_tiles.constant_trip_count() or 1) % 2 == 0 if tile.column_tiles else False
        b = self._fragments(tile.b, tile.column_tiles, 2, self._lane_of_columns(), 2 if pairs else 1)

        def multiply() -> None:
            self._multiply(a, b)

        self._unrolled(tile.row_tiles, lambda: self._unrolled(tile.column_tiles, multiply))

    # ---- operands ----

    def _lane_of_rows(self) -> Mapping[Atom, Linear]:
        """Where the row is that a lane says: rows 0 to 15 of the first terms, then of the second ones."""
        tile, sixteenth = self.tile, _divided(self.lane, _FLOOR, 16)
        within = _divided(self.lane, _MOD, 16)
        eighth = _divided(within, _FLOOR, 8)
        if tile.a.is_transposed:
            last = _divided(self.lane, _MOD, 8)
            return {tile.r.iv: eighth, tile.lanes.row: _ZERO, tile.h.iv: sixteenth, tile.e.iv: last}
        row = _divided(within, _MOD, 8)
        return {tile.r.iv: eighth, tile.lanes.row: row, tile.h.iv: sixteenth, tile.e.iv: _ZERO}

    def _lane_of_columns(self) -> Mapping[Atom, Linear]:
        """Where the column is that a lane says, or the term where these are contiguous."""
        tile, within = self.tile, _divided(self.lane, _MOD, 16)
        if tile.b.is_transposed:
            h, e = _divided(within, _FLOOR, 8), _divided(within, _MOD, 8)
            return {tile.lanes.column: _ZERO, tile.c.iv: _ZERO, tile.h.iv: h, tile.e.iv: e}
        column = _divided(self.lane, _MOD, 8)
        first, second = _divided(column, _FLOOR, 2), _divided(column, _MOD, 2)
        h = _divided(within, _FLOOR, 8)
        return {tile.lanes.column: first, tile.c.iv: second, tile.h.iv: h, tile.e.iv: _ZERO}

    def _fragments(
        self,
        operand: Operand,
        tiles: ForOp | None,
        registers: int,
        lane: Mapping[Atom, Linear],
        together: int = 1,
    ) -> SSAValue:
        """The fragments of an operand, one for each tile of rows (columns), so many loaded together: a buffer of vectors."""
        body, source = self.body, operand.load
        new = self._fragment_buffer(operand, tiles, registers)
        buffer = body.value(source.memref)

        def load() -> None:
            self.builder.location = source.location
            known = {v: self._known(v) for form in operand.indices for v in _values_in(form)}
            if together > 1:  # the first 16 lanes have rows of the first one
                assert tiles is not None
                known[tiles.iv] = known[tiles.iv].added(_divided(self.lane, _FLOOR, 16))
            forms = [_joined(_substituted(form, {**known, **lane})) for form in operand.indices]
            indices = body.places(buffer, [self.builder.affine(form) for form in forms])
            place = self.builder.constant(0) if tiles is None else body.value(tiles.iv)
            places = [place, *(self.builder.affine(linear(((place, 1),), k)) for k in range(1, together))]
            count = together * registers
            loaded = VectorType(source.result.type, [count, self.tile.form.together])
            fragment = nvgpu.LdMatrixOp.of(buffer, indices, count, operand.is_transposed, loaded)
            self.builder.emit(fragment)
            for k, at in enumerate(places):
                part = fragment.fragment
                if together > 1:
                    taken = ExtractStridedSliceOp.of(part, [k * registers], [registers])
                    self.builder.emit(taken)
                    part = taken.result
                self.builder.emit(memref.StoreOp.get(part, new, [at]))

        self._unrolled(tiles, load, together)
        return new

    def _fragments_of_lanes(self, operand: Operand, tiles: ForOp | None) -> SSAValue:
        """The fragments of the rows that the lanes have in registers: the same, nothing is loaded."""
        body, builder, tile, source = self.body, self.builder, self.tile, operand.load
        copies = body.of_threads.get(source.memref)  # pyright: ignore[reportArgumentType]
        is_there = isinstance(copies, ThreadCopies) and {"lane.y", "lane.x"} <= copies.distributed.keys()
        if not is_there or source.memref not in body.pairs:
            note = [(copies.op, copies.reason)] if isinstance(copies, NoCopies) else []
            raise fail(
                source,
                "a tensor core takes this from registers, but the lanes do not have its elements in pairs",
                hint='let loops bound to "lane.y" and "lane.x" store them, two at a time in a vectorized loop, and put the '
                "buffer in local memory",
                notes=note,
                error=LoweringError,
            )
        new = self._fragment_buffer(operand, tiles, 4)
        buffer = body.value(source.memref)
        element = source.result.type
        pair, whole = VectorType(element, [2]), VectorType(element, [4, 2])

        def put_together() -> None:
            builder.location = source.location
            zeros = DenseIntOrFPElementsAttr.from_list(whole, [0.0])  # pyright: ignore
            fragment = builder.emit(arith.ConstantOp(zeros)).results[0]
            for h in (0, 1):
                for r in (0, 1):
                    known: dict[Atom, Linear] = {
                        v: self._known(v) for form in operand.indices for v in _values_in(form)
                    }
                    known |= {tile.h.iv: linear((), h), tile.r.iv: linear((), r), tile.e.iv: _ZERO}
                    forms = [_substituted(form, known) for form in operand.indices]
                    indices = body.places(buffer, [builder.affine(form) for form in forms])
                    part = vector.LoadOp.create(operands=[buffer, *indices], result_types=[pair])
                    builder.emit(part)
                    fragment = builder.emit(vector.InsertOp(part.results[0], fragment, [2 * h + r])).results[
                        0
                    ]
            place = builder.constant(0) if tiles is None else body.value(tiles.iv)
            builder.emit(memref.StoreOp.get(fragment, new, [place]))

        self._unrolled(tiles, put_together)
        return new

    def _fragment_buffer(self, operand: Operand, tiles: ForOp | None, registers: int) -> SSAValue:
        """A buffer of vectors, one for each tile of rows (columns)."""
        source = operand.load
        vector_type = VectorType(source.result.type, [registers, self.tile.form.together])
        count = 1 if tiles is None else tiles.constant_trip_count()
        assert count is not None
        new = memref.AllocaOp.get(vector_type, shape=[count])
        buffer_name = source.memref.name_hint or "operand"
        new.memref.name_hint = f"{buffer_name.removesuffix('_tile')}_frag"
        self.builder.location = source.location
        self.builder.emit(new)
        return new.memref

    def _known(self, value: SSAValue) -> Linear:
        if value is self.tile.lanes.loops[0].iv and len(self.tile.lanes.loops) == 1:
            return self.lane
        found = self.body.values[value]
        return linear((), found) if isinstance(found, int) else linear(((found, 1),), 0)

    # ---- products ----

    def _multiply(self, a: SSAValue, b: SSAValue) -> None:
        tile, body, builder = self.tile, self.body, self.builder
        sums = tile.sums
        builder.location = sums.location
        left, right = self._fragment(a, tile.row_tiles), self._fragment(b, tile.column_tiles)
        buffer = body.value(sums.memrefs[0])
        indices = body.places(buffer, body.index_values(sums.indices))
        assert isinstance(buffer.type, MemRefType)
        corner = VectorType(buffer.type.element_type, [2, 2])
        old = vector.LoadOp.create(operands=[buffer, *indices], result_types=[corner])
        builder.emit(old)
        shape = (ROWS, COLUMNS, tile.form.terms)
        new = nvgpu.MmaSyncOp.of(left, right, old.results[0], shape)
        builder.emit(new)
        builder.emit(vector.StoreOp.create(operands=[new.sum, buffer, *indices]))

    def _fragment(self, buffer: SSAValue, tiles: ForOp | None) -> SSAValue:
        place = self.builder.constant(0) if tiles is None else self.body.value(tiles.iv)
        return self.builder.emit(memref.LoadOp.get(buffer, [place])).results[0]

    def _unrolled(self, tiles: ForOp | None, members: Callable[[], None], step: int = 1) -> None:
        """`members` for each tile, or for each `step` of them."""
        if tiles is None:
            return members()
        count = tiles.constant_trip_count()
        assert count is not None
        builder, body = self.builder, Block(arg_types=(INDEX,))
        variable = body.args[0]
        variable.name_hint = tiles.iv.name_hint
        self.body.values[tiles.iv] = variable
        builder.nonnegative.add(variable)
        with builder.inside(body):
            members()
            builder.emit(scf.YieldOp.create())
        bounds = (builder.constant(0), builder.constant(count), builder.constant(step))
        builder.emit(
            scf.ForOp.create(operands=bounds, attributes={UNROLL: UnitAttr()}, regions=[Region(body)])
        )


# ---- forms ------------------------------------------------------------------------------------------

_ZERO = linear((), 0)


def _values_in(form: Linear) -> Sequence[SSAValue]:
    values: list[SSAValue] = []
    for atom, _ in form.terms:
        values += _values_in(atom.numerator) if isinstance(atom, Division) else [atom]
    return values


def _divided(form: Linear, kind: AffineBinaryOpKind, divisor: int) -> Linear:
    """A form divided by a positive number."""
    if not form.terms:
        value = form.constant % divisor if kind is _MOD else form.constant // divisor
        return linear((), value)
    return linear(((Division(kind, form, divisor), 1),), 0)


def _substituted(form: Linear, by: Mapping[Atom, Linear]) -> Linear:
    """A form with atoms replaced, those inside of divisions too."""
    total = linear((), form.constant)
    for atom, factor in terms_of(form):
        new = by.get(atom)
        if new is None and isinstance(atom, Division):
            new = _divided(_joined(_substituted(atom.numerator, by)), atom.kind, atom.divisor)
        total = total.added((linear(((atom, 1),), 0) if new is None else new).scaled(factor))
    return total


def _joined(form: Linear) -> Linear:
    """The parts of a number put together: `8 * (x floordiv 8) + x mod 8` is x."""
    for atom, factor in terms_of(form):
        if not isinstance(atom, Division) or atom.kind is not _MOD:
            continue
        other = Division(_FLOOR, atom.numerator, atom.divisor)
        if form.coefficient(other) == factor * atom.divisor:
            rest = form.without(atom).without(other)
            return _joined(rest.added(atom.numerator.scaled(factor)))
    return form
