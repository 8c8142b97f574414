"""Products that the tensor core of a GPU does at a time: which nests they are (the annotation `nestor.matrix`).

    nest.for "l" %l = 0 to 32 bind "lane" {
      nest.for "m" %m = 0 to 4 attributes {nestor.matrix} {          // tiles of 16 rows
        nest.for "n" %n = 0 to 4 {                                   // tiles of 8 columns
          nest.for "r" %r = 0 to 2 {
            nest.for "c" %c = 0 to 2 {
              nest.for "h" %h = 0 to 2 {
                nest.for "e" %e = 0 to 8 {
                  %a = nest.load %x[16 * %m + 8 * %r + %l floordiv 4, 8 * %h + %e]
                  %b = nest.load %y[8 * %h + %e, 8 * %n + 2 * (%l mod 4) + %c]
                  ... nest.accumulate "s" add %p, %s[%l, %m, %n, %r, %c]       // %p is %a * %b

is, for each m and n, one mma.sync.m16n8k16 of the warp: lane l has the elements [r][c] of the sums, in row 8 * r + l / 4 and
column 2 * (l % 4) + c, as the instruction wants them, and the operands depend on no more of the lane than the row and the
column do. So what the loops say and what the instruction does differ in the order of the sum only. To the reference
interpreter, to all analyses and to other targets they are loops.

Floats of 32 bits are rounded to tf32 (11 bits of precision, m16n8k8), where a user granted it: the function is
`nestor.tf32` then.

A warp may also be 8 by 4 lanes, loops over lane.y and lane.x: these are `l floordiv 4` and `l mod 4` then. What a lane has
of the sums of one product is what it has to have of the rows of another: so that operand may stay in registers, where
column t of it is element [t mod 2] of lane.x `t mod 8 floordiv 2` (of elements of 16 bits):

    %a = nest.load %p[%y, %e floordiv 2, %m, %h, %r, %e mod 2]       // two tiles of 8 columns (%h) are 16 terms

Otherwise the operands are in shared memory, 8 rows of 16 bytes being contiguous along the sum ("h" and "e"), or, elements
having 16 bits, along the rows (columns): ldmatrix loads these transposed. How they are lowered: nest_to_gpu/matrices.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IntegerType,
    MemRefType,
    NoneAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ....dialects.attributes import MATRIX, TF32
from ....dialects.nest import LANES, LANES_ALONG, AccumulateOp, AllocOp, ForOp, LoadOp
from ..buffers import declared_space
from ..values.linear_forms import Atom, Division, Linear, forms_of, linear
from .lane_reductions import differs

ROWS, COLUMNS = 16, 8
"""Rows and columns of the sums of one instruction."""


@dataclass(frozen=True)
class Form:
    """An instruction: what it is called, bits of an element of the operands, and how these become factors."""

    name: str
    bits: int
    widen: type[Operation] | None
    multiply: type[Operation]

    @property
    def contiguous(self) -> int:
        """Elements in 16 bytes: how far "e" counts."""
        return 128 // self.bits

    @property
    def together(self) -> int:
        """Elements in a register."""
        return 32 // self.bits

    @property
    def terms(self) -> int:
        return 2 * self.contiguous


_FORMS: dict[Attribute, Form] = {
    Float16Type(): Form("f16", 16, arith.ExtFOp, arith.MulfOp),
    BFloat16Type(): Form("bf16", 16, arith.ExtFOp, arith.MulfOp),
    IntegerType(8): Form("s8", 8, arith.ExtSIOp, arith.MuliOp),
    Float32Type(): Form("tf32", 32, None, arith.MulfOp),
}


def form_of(element: Attribute) -> Form | None:
    """The instruction that multiplies matrices of such elements; `may_round` says whether it may."""
    return _FORMS.get(element)


def may_round(op: Operation, form: Form) -> bool:
    """Whether an instruction has its operands exactly, or the user granted that it rounds them."""
    while form.name == "tf32" and not isinstance(op, FuncOp):
        parent = op.parent_op()
        if parent is None:
            return False
        op = parent
    return form.name != "tf32" or TF32 in op.attributes


@dataclass(frozen=True, eq=False)
class Operand:
    """One of the matrices multiplied: where its elements are, and whether ldmatrix transposes what it loads."""

    load: LoadOp
    indices: tuple[Linear, ...]
    is_transposed: bool
    in_registers: bool = False
    """Whether the lanes have it, as they have sums; nothing is loaded then."""


@dataclass(frozen=True, eq=False)
class Lanes:
    """The loops over the lanes of a warp: one over all, or one over rows and one over columns of lanes."""

    loops: tuple[ForOp, ...]

    @property
    def row(self) -> Atom:
        """`l floordiv 4`"""
        return self.loops[0].iv if len(self.loops) == 2 else self._part(AffineBinaryOpKind.FloorDiv)

    @property
    def column(self) -> Atom:
        """`l mod 4`"""
        return self.loops[1].iv if len(self.loops) == 2 else self._part(AffineBinaryOpKind.Mod)

    def _part(self, kind: AffineBinaryOpKind) -> Division:
        return Division(kind, linear(((self.loops[0].iv, 1),), 0), 4)

    def uses_more(self, form: Linear, part: Atom) -> bool:
        """Whether `form` depends on the lane in another way than by `part`."""
        if isinstance(part, Division):
            return _uses_more(form, self.loops[0].iv, part)
        return any(form.uses(loop.iv) for loop in self.loops if loop.iv is not part)


@dataclass(frozen=True, eq=False)
class MatrixTile:
    """The loops of an annotated nest by what they count, and its operands; see the module's docstring."""

    form: Form
    lanes: Lanes
    row_tiles: ForOp | None
    column_tiles: ForOp | None
    r: ForOp
    c: ForOp
    h: ForOp
    e: ForOp
    a: Operand
    b: Operand
    sums: AccumulateOp


class NoTile(Exception):
    """Why a nest is none: an operation, and what is wrong with it."""

    def __init__(self, op: Operation, reason: str):
        super().__init__(reason)
        self.op, self.reason = op, reason


def is_matrix(loop: ForOp) -> bool:
    """Whether a loop is annotated."""
    return MATRIX in loop.attributes


def matrix_around(op: Operation) -> ForOp | None:
    """The annotated loop that `op` is in."""
    parent = op.parent_op()
    while parent is not None and not (isinstance(parent, ForOp) and is_matrix(parent)):
        parent = parent.parent_op()
    return parent if isinstance(parent, ForOp) else None


def matrix_tile(loop: ForOp) -> MatrixTile:
    """What a nest multiplies. Raises NoTile."""
    lanes = _lanes_around(loop)
    band = counting_band(loop)
    first, second, sums = loads_and_sum(band[-1])
    form = _form(sums, first, second)
    r, c = _corner(band, sums)
    rest = [inner for inner in band if inner not in (r, c)]
    summed = [inner for inner in rest if inner.iv not in sums.indices.operands]
    if len(summed) != 2 or [trip_count_from_zero(inner) for inner in summed] != [2, form.contiguous]:
        raise NoTile(loop, f"there are two loops over the terms, of 2 and {form.contiguous} iterations")
    tiles = [inner for inner in rest if inner not in summed]
    h, e = summed
    loads = {op: tuple(forms_of(op.indices, op.indices.operands)) for op in (first, second)}
    for a, b in ((first, second), (second, first)):
        if _uses(loads[a], r.iv) and not _uses(loads[a], c.iv) and not _uses(loads[b], r.iv):
            break
    else:
        raise NoTile(loop, "no operand moves with the rows alone, and the other with the columns alone")
    row_tiles = [inner for inner in tiles if not _uses(loads[b], inner.iv)]
    column_tiles = [inner for inner in tiles if not _uses(loads[a], inner.iv)]
    if len(row_tiles) + len(column_tiles) != len(tiles) or max(len(row_tiles), len(column_tiles)) > 1:
        raise NoTile(loop, "more than one loop over tiles of rows, and one over tiles of columns")
    return MatrixTile(
        form,
        lanes,
        row_tiles[0] if row_tiles else None,
        column_tiles[0] if column_tiles else None,
        r,
        c,
        h,
        e,
        _operand(a, loads[a], form, lanes, {lanes.row: 1}, e),
        _operand(b, loads[b], form, lanes, {lanes.column: 2, c.iv: 1}, e),
        sums,
    )


def _lanes_around(loop: ForOp) -> Lanes:
    """The loops over lanes, all of which come to `loop` equally often."""
    found: dict[str, ForOp] = {}
    inside: list[ForOp] = []
    around = loop.parent_op()
    while isinstance(around, ForOp) and not ("lane" in found or len(found) == 2):
        if around.kind in LANES_ALONG:
            found[around.kind] = around
        inside.append(around)
        around = around.parent_op()
    loops = [found[kind] for kind in ("lane", "lane.y", "lane.x") if kind in found]
    if sum(1 for _ in loops) != (1 if "lane" in found else 2) or any(
        loop.constant_trip_count() != LANES_ALONG[loop.kind] or len(loop.upper) != 1 for loop in loops
    ):
        raise NoTile(loop, f"it is not in a loop over the {LANES} lanes of a warp, or in a branch of it")
    for between in inside:
        if any(differs(v, one) for v in (*between.lower_operands, *between.upper_operands) for one in loops):
            raise NoTile(between, "some lanes run more iterations of this loop than others")
    return Lanes(tuple(loops))


def counting_band(loop: ForOp) -> list[ForOp]:
    """The loops around each other, from `loop` inwards: all of constant length, from 0 on. Raises NoTile."""
    band: list[ForOp] = []
    while True:
        if loop.kind not in ("serial", "unrolled"):
            raise NoTile(loop, "this loop is marked")
        if not trip_count_from_zero(loop):
            raise NoTile(loop, "this loop does not count from 0 to a constant")
        band.append(loop)
        ops = list(loop.body.block.ops)
        if len(ops) != 1 or not isinstance(ops[0], ForOp):
            return band
        loop = ops[0]


def trip_count_from_zero(loop: ForOp) -> int | None:
    """The iterations of a loop that counts from 0 to a constant by one; None of others."""
    is_plain = loop.lower.constants() == (0,) and loop.step_value == 1 and len(loop.upper) == 1
    return loop.constant_trip_count() if is_plain else None


_ARITHMETIC = (arith.ExtFOp, arith.ExtSIOp, arith.MulfOp, arith.MuliOp)


def loads_and_sum(
    inner: ForOp, arithmetic: tuple[type[Operation], ...] = _ARITHMETIC
) -> tuple[LoadOp, LoadOp, AccumulateOp]:
    """The loads of the factors and the sum, which with such arithmetic are all that the innermost loop does."""
    loads = [op for op in inner.body.block.ops if isinstance(op, LoadOp)]
    sums = [op for op in inner.body.block.ops if isinstance(op, AccumulateOp)]
    others = [op for op in inner.body.block.ops if not isinstance(op, LoadOp | AccumulateOp)]
    if len(loads) != 2 or len(sums) != 1 or not all(isinstance(op, arithmetic) for op in others):
        raise NoTile(inner, "it does more than add up products of two elements")
    return loads[0], loads[1], sums[0]


def _form(sums: AccumulateOp, first: LoadOp, second: LoadOp) -> Form:
    form = _FORMS.get(first.result.type)
    if form is None or first.result.type != second.result.type:
        known = ", ".join(map(str, _FORMS))
        raise NoTile(
            sums, f"tensor cores multiply {known}, here {first.result.type} and {second.result.type}"
        )
    if not may_round(sums, form):
        raise NoTile(sums, "tensor cores would round the factors to tf32, which was not asked for")
    if sums.combiner.data != "add" or sums.order_name != "any" or len(sums.memrefs) != 1:
        raise NoTile(sums, "the products are not added up in any order")
    if sums.where is not None or sums.mask is not None:
        raise NoTile(
            sums, "it has a domain, and a tensor core adds up whole tiles: pad the operands with zeros"
        )
    product = sums.values[0].owner
    if not isinstance(product, form.multiply) or sums.values[0].type not in (Float32Type(), IntegerType(32)):
        raise NoTile(sums, "what is added up is not a product in 32 bits")
    factors = {_widened(value, form) for value in product.operands}
    if factors != {first.result, second.result}:
        raise NoTile(sums, "the factors are not the elements loaded")
    return form


def _widened(value: SSAValue, form: Form) -> SSAValue:
    owner = value.owner
    return owner.operands[0] if form.widen is not None and isinstance(owner, form.widen) else value


def _corner(band: Sequence[ForOp], sums: AccumulateOp) -> tuple[ForOp, ForOp]:
    """The loops over the two rows and two columns of a tile that a lane has: the last indices of the sums."""
    rank = len(sums.indices)
    if rank < 3:
        raise NoTile(sums, "the sums have no axes for a lane's two rows and two columns")
    by_variable = {loop.iv: loop for loop in band}
    found = [by_variable.get(v) for k in (-2, -1) if (v := sums.indices[rank + k].single_value()) is not None]
    if (
        len(found) != 2
        or None in found
        or any(trip_count_from_zero(loop) != 2 for loop in found if loop is not None)
    ):
        raise NoTile(sums, "the last two indices of the sums are not a lane's two rows and two columns")
    r, c = found
    assert r is not None and c is not None
    others = [sums.indices[k].operands for k in range(rank - 2)]
    if any(loop.iv in values for values in others for loop in (r, c)):
        raise NoTile(sums, "a lane's rows and columns are in other indices of the sums, too")
    return r, c


def _operand(
    load: LoadOp, indices: tuple[Linear, ...], form: Form, lanes: Lanes, across: Mapping[Atom, int], e: ForOp
) -> Operand:
    """How ldmatrix loads an operand: with 16 bytes along the sum, or along what `across` says (8 rows or columns)."""
    part = next(iter(across))
    if any(lanes.uses_more(form_, part) for form_ in indices):
        raise NoTile(load, "this depends on the lane in another way than its row, or column, does")
    buffer = load.memref.type
    assert isinstance(buffer, MemRefType)
    extents = buffer.get_shape()
    if declared_space(buffer) in ("local", None) and _is_of_lanes(load, indices, form, lanes, part, e):
        return Operand(load, indices, False, in_registers=True)
    if declared_space(buffer) != "shared" or not isinstance(buffer.layout, NoneAttr) or len(extents) < 2:
        raise NoTile(load, "this operand is not in shared memory, by rows")
    if extents[-1] % form.contiguous:
        raise NoTile(
            load,
            f"the length of a row of this operand is not a multiple of 16 bytes, {form.contiguous} elements",
        )
    along: dict[Atom, int] = {e.iv: 1}
    if _is_contiguous(indices, along, form):
        return Operand(load, indices, False)
    if form.bits == 16 and _is_contiguous(indices, across, form):
        return Operand(load, indices, True)
    raise NoTile(
        load,
        f"no {form.contiguous} elements of this operand that an instruction needs together are so in memory",
    )


def _is_of_lanes(
    load: LoadOp, indices: tuple[Linear, ...], form: Form, lanes: Lanes, part: Atom, e: ForOp
) -> bool:
    """Whether the rows of an operand are where the lanes have them: elements that an instruction wants of them."""
    if not isinstance(load.memref.owner, AllocOp) or form.bits != 16 or part is not lanes.row:
        return False
    if isinstance(part, Division):
        return False
    lane, element = _places_of_term(e)
    plain = linear(((part, 1),), 0)
    if [f == plain for f in indices].count(True) != 1 or [f == lane for f in indices].count(True) != 1:
        return False
    others = [f for f in indices[:-1] if f not in (plain, lane)]
    return indices[-1] == element and not any(_mentions(f, atom) for f in others for atom in (part, e.iv))


def _places_of_term(e: ForOp) -> tuple[Linear, Linear]:
    """Which lane along x has term `e` of 8, and which of its two elements this is."""
    place = linear(((e.iv, 1),), 0)
    lane, element = (
        linear(((Division(kind, place, 2), 1),), 0)
        for kind in (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.Mod)
    )
    return lane, element


def is_operand_in_registers(op: Operation) -> bool:
    """Whether an access is that of a tensor core to what the lanes of its warp have."""
    if not isinstance(op, LoadOp) or matrix_around(op) is None:
        return False
    return isinstance(op.memref.type, MemRefType) and declared_space(op.memref.type) != "shared"


def has_fragment(op: Operation, row: int | None, column: int | None) -> bool:
    """Whether such an access is to the lanes that have the elements.

    The buffer's axis `row` is the number of a lane along y, `column` that along x.
    """
    loop = matrix_around(op)
    assert loop is not None and isinstance(op, LoadOp)
    if row is None or column is None:
        return False
    try:
        tile = matrix_tile(loop)
    except NoTile:
        return False
    if tile.a.load is not op or not tile.a.in_registers:
        return False
    lane, _ = _places_of_term(tile.e)
    indices = tile.a.indices
    return indices[row] == linear(((tile.lanes.row, 1),), 0) and indices[column] == lane


def _is_contiguous(indices: tuple[Linear, ...], unit: Mapping[Atom, int], form: Form) -> bool:
    """Whether the last index counts 16 bytes by `unit`, from a multiple of them on, and no other index does."""
    *others, last = indices
    if any(last.coefficient(atom) != c for atom, c in unit.items()):
        return False
    rest = [(atom, c) for atom, c in last.terms if atom not in unit]
    if any(_mentions(other, atom) for other in others for atom in unit):
        return False
    if any(
        isinstance(atom, Division) and any(_mentions(atom.numerator, u) for u in unit) for atom, _ in rest
    ):
        return False
    return all(c % form.contiguous == 0 for _, c in rest) and last.constant % form.contiguous == 0


def _mentions(form: Linear, atom: Atom) -> bool:
    """Whether an atom occurs, also inside of divisions."""
    return any(a == atom or (isinstance(a, Division) and _mentions(a.numerator, atom)) for a, _ in form.terms)


def _uses(forms: tuple[Linear, ...], value: SSAValue) -> bool:
    return any(form.uses(value) for form in forms)


def _uses_more(form: Linear, value: SSAValue, part: Atom) -> bool:
    """Whether `form` depends on `value` in another way than by `part`."""
    return any(
        a is value or (isinstance(a, Division) and a != part and _uses_more(a.numerator, value, part))
        for a, _ in form.terms
    )
