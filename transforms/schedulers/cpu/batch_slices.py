"""Matrices of batches on the CPU: nest-schedule-cpu makes and uses them slice by slice, so that none is in memory whole.

    nest.for "i" ... { nest.for "j" ... { ... nest.accumulate "t" add %p, %t[%i, %j, %k, %l] } }     // a product
    nest.for "i.1" ... { nest.for "j.1" ... { ... %t[%i, %j, %k, %l] ... } }                         // a softmax of its rows
    nest.for "i.2" ... { nest.for "j.2" ... { ... nest.load %t[%i, %j, %k, %m] ... } }               // a product with it
  becomes
    nest.for "i" ... {
      nest.for "j" ... {
        %t = nest.alloc "t" : memref<1x1x128x128xf32>
        ... the product, the softmax, the product with it
      }
    }

which is the attention of a transformer: a matrix of scores is as large as the caches allow, and is gone when its rows
have been used. Where a slice is larger than that, the first axis that the slices have in common is done in blocks as well:
of rows with all their keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IntegerType, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ....analysis.machine import Cpu
from ....analysis.nest.buffers import buffer_name, buffers_in
from ....analysis.nest.loop_structure import loops_in, perfect_band
from ....analysis.nest.sets.producers import top_in
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ...nest.loops.fuse import fuse, why_not_fuse
from ...nest.loops.split import split, why_not_split
from ...nest.memory.resize_buffer import resize_buffer, why_not_resize_buffer
from ...nest.memory.sink_alloc import sink_alloc, why_not_sink_alloc
from ...nest.memory.transform_layout import transform_layout, why_not_transform_layout
from ...nest.rewrite.steps import Steps
from ..patterns.costs import UNKNOWN_EXTENT
from ..patterns.products import Product, product_in

SLICE_SHARE = 2
"""The part of the second-level cache for a slice; the rest is for what the slice is made from."""

WHOLE_SHARE = 4
"""The part of it for a matrix that is left whole: it stays there from one nest to the next."""

APART = 512
"""Rows that begin at multiples of this many bytes share their places in a first-level cache of 64 sets of 8 lines."""

ROWS = 24
"""Minimum number of rows of a block: that of a tile of a product."""


# ---- slices -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sliced:
    """A matrix, the nests from the first that makes it to the last that uses it, and the axes they have in common."""

    matrix: AllocOp
    nests: list[ForOp]
    depth: int
    rows: int | None
    """Rows of the next axis in a block, None where slices are small enough."""


def _names(function: FuncOp) -> list[str]:
    """What the buffers are called: by its name a recorded schedule says which one is meant."""
    return [buffer_name(buffer) for buffer in buffers_in(function)]


def slices_in(function: FuncOp, cpu: Cpu) -> Iterator[Sliced]:
    """Matrices that products of batches make or use, each with the nests that could do it slice by slice.

    Each is looked for when the one before it has been done.
    """
    names = _names(function)
    for alloc in [op for op in function.walk() if isinstance(op, AllocOp)]:
        if alloc.parent is None or names.count(buffer_name(alloc.memref)) > 1:
            continue
        if (found := _sliced(alloc, cpu)) is not None:
            yield found


def _sliced(matrix: AllocOp, cpu: Cpu) -> Sliced | None:
    shape = [UNKNOWN_EXTENT if n == DYNAMIC_INDEX else n for n in matrix.memref.type.get_shape()]
    size = _element_bytes(matrix.memref.type)
    if len(shape) < 3 or size is None:
        return None
    if prod(shape) * size <= cpu.l2_bytes // WHOLE_SHARE or (nests := _nests_around(matrix)) is None:
        return None
    bands = [perfect_band(nest) for nest in nests]
    products = [(found, band) for band in bands if (found := product_in(band)) is not None]
    common = _common_axes(matrix, nests, bands)
    depth = min([common, len(shape) - 2, *(_batch_axes(product, band) for product, band in products)])
    if not products or depth < 1:
        return None
    row, most = prod(shape[depth + 1 :]) * size, cpu.l2_bytes // SLICE_SHARE
    if row * shape[depth] <= most:
        return Sliced(matrix, nests, depth, None)
    rows = max(1, most // row // ROWS) * ROWS
    return Sliced(matrix, nests, depth, rows if common > depth and rows < shape[depth] else None)


def _batch_axes(product: Product, band: Sequence[ForOp]) -> int:
    """How many outer loops of a product move all its operands: the others would have panels copied again and again."""
    count = 0
    while count < len(product.batch) and product.batch[count] is band[count]:
        loads = [op for op in product.term.walk() if isinstance(op, LoadOp)]
        if not all(band[count].iv in load.indices.operands for load in loads):
            break
        count += 1
    return count


def _nests_around(matrix: AllocOp) -> list[ForOp] | None:
    """The loops from the first that accesses the matrix to the last; None where something else does, or is marked."""
    block = matrix.parent
    assert block is not None
    used: set[Operation] = set()
    for use in matrix.memref.uses:
        if not isinstance(use.operation, LoadOp | StoreOp | AccumulateOp):
            return None
        used.add(top_in(block, use.operation))
    ops = list(block.ops)
    places = [k for k, op in enumerate(ops) if op in used]
    if len(places) < 3:
        return None
    nests = [op for op in ops[places[0] : places[-1] + 1] if op.regions or op in used]
    loops = [op for op in nests if isinstance(op, ForOp) and all(o.kind == "serial" for o in loops_in(op))]
    return loops if len(loops) == len(nests) else None


def _common_axes(matrix: AllocOp, nests: Sequence[ForOp], bands: Sequence[list[ForOp]]) -> int:
    """How many of the first axes have the variable of the same loop as index in every access of every nest."""
    depth = min(len(band) for band in bands)
    for nest, band in zip(nests, bands, strict=True):
        for op in nest.walk():
            if isinstance(op, LoadOp | StoreOp | AccumulateOp) and matrix.memref in op.operands:
                while depth and any(op.indices[k] != AffineList.of(band[k].iv) for k in range(depth)):
                    depth -= 1
    return depth


def do_slices(sliced: Sliced, cpu: Cpu, steps: Steps) -> ForOp:
    """Let one nest make and use the matrix slice by slice; the nest, or what became of the first one."""
    bands = [perfect_band(nest)[: sliced.depth + 1] for nest in sliced.nests]
    if sliced.rows is None:
        bands = [band[: sliced.depth] for band in bands]
    elif all(why_not_split(band[-1], sliced.rows, "clamp") is None for band in bands):
        for band in bands:
            band[-1], _ = steps.do(split, band[-1], factor=sliced.rows, tail="clamp")
    first, *others = bands
    for band in others:
        for k, (outer, inner) in enumerate(zip(first, band, strict=True)):
            if why_not_fuse(outer, inner) is not None:
                return first[0]
            first[k] = steps.do(fuse, outer, inner)
    matrix = sliced.matrix
    if why_not_sink_alloc(matrix, first[-1]) is None:
        matrix = steps.do(sink_alloc, matrix, first[-1])
        for axis in range(len(first)):
            if why_not_resize_buffer(matrix, axis) is None:
                matrix = steps.do(resize_buffer, matrix, dimension=axis)
        _set_rows_apart(matrix, cpu, steps)
    return first[0]


def _set_rows_apart(matrix: AllocOp, cpu: Cpu, steps: Steps) -> None:
    """Make the rows of a slice longer by a cache line, where a tile's rows would else all be in the same few sets."""
    type_ = matrix.memref.type
    assert isinstance(type_, MemRefType)
    shape, size = type_.get_shape(), _element_bytes(type_)
    if shape[-1] == DYNAMIC_INDEX or size is None or shape[-1] * size % APART:
        return
    axes = " ".join(f"d{k}" for k in range(len(shape)))
    pad = (*(0 for _ in shape[1:]), cpu.line // size)
    if why_not_transform_layout(matrix, f"{axes} -> {axes}", pad) is None:
        steps.do(transform_layout, matrix, layout=f"{axes} -> {axes}", pad=pad)


def _element_bytes(type_: MemRefType) -> int | None:
    """Bytes of an element that is a number."""
    element = type_.element_type
    if not isinstance(element, AnyFloat | IntegerType):
        return None
    return (element.bitwidth if isinstance(element, AnyFloat) else element.width.data) // 8
