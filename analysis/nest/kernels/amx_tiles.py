"""Products that the matrix unit of a CPU does at a time: which nests they are (the annotation `nestor.amx`).

    nest.for "k.o" %k = 0 to 16 attributes {nestor.amx} {
      nest.for "m" %m = 0 to 2 {                                     // tiles of 16 rows
        nest.for "n" %n = 0 to 2 {                                   // tiles of 16 columns
          nest.for "r" %r = 0 to 16 {
            nest.for "c" %c = 0 to 16 {
              nest.for "g" %g = 0 to 16 {
                nest.for "v" %v = 0 to 4 {                           // the terms of 4 bytes
                  %a = nest.load %x[%k, 16 * %m + %r, 4 * %g + %v]
                  %b = nest.load %y[%k, %n, %g, 4 * %c + %v]
                  ... nest.accumulate "s" add %p, %s[16 * %m + %r, 16 * %n + %c]       // %p is %a * %b

is, for each k, m and n, one tdpbssd: registers hold 16 rows of 64 bytes of %x, the terms of 16 columns as %y has them, and
16 x 16 sums in 32 bits, which stay there for all k. Sums of bytes are exact in any order, for they are modulo 2^32.
What the loops say and what the instructions do is the same; to the reference interpreter, to all analyses and to other
targets they are loops. The loops "m" and "n" may be missing, and all may be shorter. How they are lowered: amx.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, MemRefType, i32
from xdsl.ir import Attribute, Operation

from ....dialects.attributes import AMX, VNNI
from ....dialects.ext.amx_sizes import REGISTERS, ROW_BYTES, ROWS, TOGETHER
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..buffers import strides_of
from ..values.linear_forms import Linear, forms_of
from .matrix_tiles import NoTile, counting_band, loads_and_sum, trip_count_from_zero

__all__ = ["AMX", "AmxTile", "Factor", "Form", "amx_form_of", "amx_tile", "zeroed_by"]


@dataclass(frozen=True)
class Form:
    """An instruction: bits of an element of the operands, how these become factors, and the type of the sums."""

    bits: int
    widen: tuple[type[Operation], ...]
    multiply: type[Operation]
    total: Attribute

    @property
    def together(self) -> int:
        """The terms of a column that lie side by side."""
        return 8 * TOGETHER // self.bits

    @property
    def terms(self) -> int:
        """The terms of an instruction."""
        return 8 * ROW_BYTES // self.bits


Forms = dict[LoadOp | AccumulateOp, list[Linear]]

_FORMS: dict[Attribute, Form] = {
    IntegerType(8): Form(8, (arith.ExtSIOp, arith.ExtUIOp), arith.MuliOp, i32),
}


def amx_form_of(element: Attribute) -> Form | None:
    """The instruction that multiplies matrices of such elements."""
    return _FORMS.get(element)


@dataclass(frozen=True)
class Unit:
    """What multiplies bytes: how large the tiles of an instruction, or of several, may be."""

    rows: int
    columns: int
    groups: int
    """Of terms that lie side by side."""
    registers: int
    is_for_tiles: bool
    """A register holds a tile. Else it holds the columns of a row: there are no tiles of rows, and columns are filled up."""

    def needed(self, rows: int, row_tiles: int, column_tiles: int) -> int:
        """The registers of sums and operands."""
        sums = row_tiles * column_tiles if self.is_for_tiles else rows * column_tiles
        return sums + column_tiles + 1


AMX_UNIT = Unit(ROWS, ROWS, ROW_BYTES // TOGETHER, REGISTERS, True)


@dataclass(frozen=True, eq=False)
class Factor:
    """An operand: where it is loaded, where a tile of it begins, and whether its integers have no sign."""

    load: LoadOp
    is_unsigned: bool


@dataclass(frozen=True, eq=False)
class AmxTile:
    """The loops of an annotated nest by what they count, and its operands; see the module's docstring."""

    form: Form
    row_tiles: ForOp | None
    column_tiles: ForOp | None
    r: ForOp
    c: ForOp
    g: ForOp
    v: ForOp
    a: Factor
    b: Factor
    sums: AccumulateOp

    @property
    def inner(self) -> tuple[ForOp, ...]:
        """The loops that an instruction does."""
        return (self.r, self.c, self.g, self.v)


def amx_tile(loop: ForOp) -> AmxTile:
    """What a nest multiplies. Raises NoTile."""
    return byte_tile(loop, AMX_UNIT)


def byte_tile(loop: ForOp, unit: Unit) -> AmxTile:
    """What a nest multiplies, for a unit. Raises NoTile."""
    if loop.kind != "serial":
        raise NoTile(loop, "this loop is marked")
    ops = list(loop.body.block.ops)
    if len(ops) != 1 or not isinstance(ops[0], ForOp):
        raise NoTile(loop, "it is not a perfect nest around a sum")
    band = counting_band(ops[0])
    sums = loads_and_sum(band[-1], _ARITHMETIC)[2]
    (first, second), form = _factors(sums)
    _check_sums(loop, sums, (first, second))
    forms: Forms = {op: forms_of(op.indices, op.indices.operands) for op in (sums, first.load, second.load)}
    terms = [inner for inner in band if not _use(forms[sums], inner)]
    rest = [inner for inner in band if inner not in terms]
    a, b = _sides(loop, rest, first, second, forms)
    rows = [inner for inner in rest if _use(forms[a.load], inner)]
    columns = [inner for inner in rest if inner not in rows]
    r, row_tiles = _innermost(sums, forms[sums][-2], rows, "rows")
    c, column_tiles = _innermost(sums, forms[sums][-1], columns, "columns")
    if len(terms) != 2:
        raise NoTile(loop, "there are two loops over the terms of an instruction")
    v, g = _innermost(a.load, forms[a.load][-1], terms, "terms")
    assert g is not None
    if any(_use(forms[b.load], inner) for inner in rows):
        raise NoTile(b.load, "it moves with the rows and with the columns")
    if _count(v) != form.together:
        raise NoTile(v, f"the terms that lie side by side are {form.together}")
    wanted = {r: unit.rows, c: unit.columns, g: unit.groups}
    for inner, most in wanted.items():
        if _count(inner) > most:
            raise NoTile(inner, f"this loop has more than {most} iterations")
    inner = (r, c, g, v)
    _check_place(sums, forms[sums], inner, {r: 1}, {c: 1})
    _check_place(a.load, forms[a.load], inner, {r: 1}, {g: form.together, v: 1})
    _check_place(b.load, forms[b.load], inner, {g: 1}, {c: form.together, v: 1})
    count = [_count(tiles) for tiles in (row_tiles, column_tiles)]
    if unit.needed(_count(r), *count) > unit.registers:
        sums = f"{count[0]} x {count[1]} tiles" if unit.is_for_tiles else f"{_count(r)} x {count[1]} vectors"
        raise NoTile(
            loop, f"{sums} of sums and those of the operands are more than {unit.registers} registers"
        )
    if not unit.is_for_tiles and row_tiles is not None:
        raise NoTile(row_tiles, "its rows are one loop")
    if not unit.is_for_tiles and _count(c) != unit.columns:
        raise NoTile(c, f"a vector has {unit.columns} columns")
    return AmxTile(form, row_tiles, column_tiles, r, c, g, v, a, b, sums)


def zeroed_by(loop: ForOp, unit: Unit = AMX_UNIT) -> ForOp | None:
    """The nest right before an annotated loop that sets all sums to zero, if the tiles are all of their buffer."""
    start = loop.prev_op
    if not isinstance(start, ForOp) or AMX in start.attributes or VNNI in start.attributes:
        return None
    band = [start]
    while len(ops := list(band[-1].body.block.ops)) == 1 and isinstance(ops[0], ForOp):
        band.append(ops[0])
    stores = list(band[-1].body.block.ops)
    if len(stores) != 1 or not isinstance(store := stores[0], StoreOp):
        return None
    try:
        tile = byte_tile(loop, unit)
    except NoTile:
        return None
    buffer, value = tile.sums.memrefs[0], store.value.owner
    assert isinstance(buffer.type, MemRefType)
    shape = list(buffer.type.get_shape())
    is_zero = isinstance(value, arith.ConstantOp) and not value.value.value.data  # pyright: ignore
    if not is_zero or store.memref is not buffer or store.where is not None or store.mask is not None:
        return None
    own = [store.indices[k].single_value() for k in range(len(store.indices))]
    loops = {inner.iv: inner for inner in band}
    extents = [trip_count_from_zero(loops[v]) if v in loops else None for v in own if v is not None]
    if extents != shape or len(set(own)) != len(band) or len(band) != 2:
        return None
    rows = _count(tile.r) * _count(tile.row_tiles)
    columns = _count(tile.c) * _count(tile.column_tiles)
    origin = forms_of(tile.sums.indices, tile.sums.indices.operands)
    whole = [rows, columns] == shape and all(form.constant == 0 for form in origin)
    tiled = ((tile.row_tiles, tile.r, origin[0]), (tile.column_tiles, tile.c, origin[1]))
    for tiles, one, form in tiled:
        spoken = {one.iv: 1} if tiles is None else {one.iv: 1, tiles.iv: _count(one)}
        whole = whole and dict(form.terms) == spoken
    return start if whole else None


def _count(loop: ForOp | None) -> int:
    """The iterations of a loop of a tile; one where there is no such loop."""
    return 1 if loop is None else loop.constant_trip_count() or 0


_ARITHMETIC = (arith.ExtFOp, arith.ExtSIOp, arith.ExtUIOp, arith.MulfOp, arith.MuliOp)


def _factors(sums: AccumulateOp) -> tuple[list[Factor], Form]:
    product = sums.values[0].owner
    if not isinstance(product, arith.MulfOp | arith.MuliOp):
        raise NoTile(sums, "what is added up is not a product")
    factors: list[Factor] = []
    form: Form | None = None
    for value in product.operands[:2]:
        wide = value.owner
        load = wide.operands[0].owner if isinstance(wide, Operation) and wide.operands else None
        form = _FORMS.get(load.result.type) if isinstance(load, LoadOp) else None
        if form is None or not isinstance(load, LoadOp) or not isinstance(wide, form.widen):
            known = ", ".join(map(str, _FORMS))
            raise NoTile(sums, f"the factors are not elements made wider; those of {known} can be")
        factors.append(Factor(load, isinstance(wide, arith.ExtUIOp)))
    assert form is not None
    if factors[0].load is factors[1].load or factors[0].load.result.type != factors[1].load.result.type:
        raise NoTile(sums, "the factors are not two elements of one type")
    if not isinstance(product, form.multiply) or sums.values[0].type != form.total:
        raise NoTile(sums, f"the products are not added up in {form.total}")
    return factors, form


def _check_sums(loop: ForOp, sums: AccumulateOp, factors: Sequence[Factor]) -> None:
    """The sums may stay in registers while the loop runs."""
    if sums.combiner.data != "add" or sums.order_name != "any" or len(sums.memrefs) != 1:
        raise NoTile(sums, "the products are not added up in any order")
    if sums.where is not None or sums.mask is not None:
        raise NoTile(
            sums, "it has a domain, and an instruction adds up whole tiles: pad the operands with zeros"
        )
    buffer = sums.memrefs[0]
    if not isinstance(buffer.owner, AllocOp) or any(factor.load.memref is buffer for factor in factors):
        raise NoTile(sums, "the sums have no buffer of their own")
    if loop.iv in sums.indices.operands:
        raise NoTile(sums, "the sums move with the loop")


def _sides(
    loop: ForOp, rest: Sequence[ForOp], first: Factor, second: Factor, forms: Forms
) -> tuple[Factor, Factor]:
    """The operand of the rows, which are the second axis from the end of the sums, and that of the columns."""
    sums = next(op for op in forms if isinstance(op, AccumulateOp))
    if len(forms[sums]) < 2:
        raise NoTile(sums, "the sums have no axes for rows and columns")
    for a, b in ((first, second), (second, first)):
        moving = [inner for inner in rest if _use(forms[a.load], inner)]
        if moving and all(forms[sums][-2].uses(inner.iv) for inner in moving):
            return a, b
    raise NoTile(loop, "no operand moves with the rows alone, and the other with the columns alone")


def _innermost(op: Operation, form: Linear, loops: Sequence[ForOp], what: str) -> tuple[ForOp, ForOp | None]:
    """Of one or two loops, that whose iterations are neighbours, and the other one."""
    if not 1 <= len(loops) <= 2:
        raise NoTile(op, f"it has {len(loops)} loops over {what}, and not one or two")
    near = [loop for loop in loops if form.coefficient(loop.iv) == 1]
    if len(near) != 1:
        raise NoTile(op, f"its {what} are not adjacent along their axis")
    others = [loop for loop in loops if loop is not near[0]]
    return near[0], others[0] if others else None


def _check_place(
    op: LoadOp | AccumulateOp,
    forms: Sequence[Linear],
    inner: Sequence[ForOp],
    across: dict[ForOp, int],
    along: dict[ForOp, int],
) -> None:
    """The rows of a tile are rows of the buffer, and their elements neighbours."""
    if len(forms) < 2:
        raise NoTile(op, "the buffer has no rows")
    buffer = op.memrefs[0] if isinstance(op, AccumulateOp) else op.memref
    assert isinstance(buffer.type, MemRefType)
    if strides_of(buffer.type)[-1] != 1:
        raise NoTile(op, "the elements of a row of the buffer are not known to be adjacent")
    wanted = [*[{} for _ in forms[:-2]], across, along]
    for form, own in zip(forms, wanted, strict=True):
        for loop in inner:
            if form.coefficient(loop.iv) != own.get(loop, 0) or form.without(loop.iv).uses(loop.iv):
                raise NoTile(
                    op, f'it does not change with the loop "{loop.label}" as an element of a tile does'
                )


def _use(forms: Sequence[Linear], loop: ForOp) -> bool:
    return any(form.uses(loop.iv) for form in forms)
