"""nest-transform-layout: the elements of a buffer are kept in another order.

    %u = nest.alloc "u"(%n) : memref<8x?xf32>
    nest.for "j.o" %o = 0 to %n ceildiv 16 {
      nest.for "j.i" %v = 0 to min(16, %n - 16 * %o) {
        nest.store "u" %a, %u[%k, 16 * %o + %v] : memref<8x?xf32>
      }
    }

with buffer=u, layout="k j -> j/16 k j%16" becomes

    %u = nest.alloc "u"(%m) : memref<?x8x16xf32>          // %m is %n ceildiv 16
    nest.for "j.o" %o = 0 to %n ceildiv 16 {
      nest.for "j.i" %v = 0 to min(16, %n - 16 * %o) {
        nest.store "u" %a, %u[%o, %k, %v] : memref<?x8x16xf32>
      }
    }

The new indices are affine in the old ones: an order (`i j -> j i`), blocks (`i -> i/4 i%4`), a rotation of rows
that avoids bank conflicts (`i j -> i (i+j)%32`), one axis of two (`i j -> 8*i+j`), a fold of an axis of which no more than
so much is needed at the same time (`i -> i%2`). `pad=0,4` makes the new axes longer. Divisions whose result is known from
the bounds of the loops are done.

Refused unless isl proves that no new index is negative and that different elements stay different, or that none is
written to the place of another one between a write and a read of that, nor at once with it (`folding.py`); for arguments
(a copy of one can have any layout); and for buffers that are seen through views, or used by anything but loads and
statements. `transform_layout` in TVM, `rearrange_dim` and `divide_dim` in Exo, `reorder_storage`, `fold_storage` and
`align_storage` in Halide; without a name in NNC.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from xdsl.dialects import memref
from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr

from ....analysis.nest.buffers import buffer_name, owner_of
from ....analysis.nest.loop_structure import parent_loop
from ....analysis.nest.sets.folding import overwritten_while_needed, written_at_once
from ....analysis.nest.sets.integer_sets import System
from ....analysis.nest.sets.regions import bounds_of, complexity
from ....dialects.affine import AffineList, constant_of, replace_dims
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp
from ..rewrite.affine_options import parse_layout
from ..rewrite.reshaping import Accessing, extents_of, memref_type, replace_dim, without_known_divisions
from ..rewrite.sizes import reallocate, replace


def why_not_transform_layout(
    alloc: AllocOp | SSAValue, layout: str, pad: Sequence[int] = ()
) -> NestorError | None:
    """The diagnostic that refuses to keep the buffer in `layout`, None when it is legal."""
    if not isinstance(alloc, AllocOp):
        return fail(
            owner_of(alloc),
            f'cannot transform the layout of "{buffer_name(alloc)}": the caller made it',
            hint="nest-cache-read makes a copy of what a loop reads; the copy can have any layout",
        )
    if not isinstance(memref_type(alloc).layout, NoneAttr):
        return _refuse(alloc, "it has strides of its own")
    if not memref_type(alloc).get_num_dims():
        return _refuse(alloc, "it is one element, without axes")
    for use in alloc.memref.uses:
        op = use.operation
        if not isinstance(op, Accessing | memref.DimOp):
            return _refuse(alloc, "it is not only loaded and stored", notes=[(op, "it is used here")])
        if isinstance(op, memref.DimOp) and constant_of(op.index) is None:
            return _refuse(
                alloc, "the extent of an axis that is not constant is asked for", notes=[(op, "here")]
            )
        if isinstance(op, AccumulateOp) and len(op.memrefs) > 1:
            return _refuse(
                alloc,
                "a reduction updates it together with another buffer, at the same indices",
                notes=[(op, "the reduction is here")],
            )
    with _space(alloc) as axes:
        return _why_not_map(alloc, axes, layout, pad)


def _why_not_map(
    alloc: AllocOp, axes: Sequence[ForOp], layout: str, pad: Sequence[int]
) -> NestorError | None:
    try:
        new = parse_layout(layout, alloc, [axis.iv for axis in axes])
    except NestorError as error:
        return error
    if pad and (len(pad) != len(new) or min(pad) < 0):
        given = ", ".join(map(str, pad))
        return _refuse(
            alloc, f"pad={given} is not one extent, at least 0, for each of the {len(new)} new axes"
        )
    for k in range(len(new)):
        system = System(axes[0] if axes else alloc)
        _name(system, axes, "s")
        system.require(f"{system.expressions(new[k], 's')[0]} < 0")
        if system.has_solution():
            return _refuse(alloc, f"the new index {k} can be negative")
    if not axes or not _is_folding(axes, new):
        return None
    variables = [axis.iv for axis in axes]

    def place(indices: AffineList) -> AffineList:
        return _moved(indices, new, variables)

    if (lost := overwritten_while_needed(alloc, place)) is not None:
        reads = "statement updates" if isinstance(lost[0], AccumulateOp) else "load reads"
        notes = [
            (lost[0], f"this {reads} an element"),
            (lost[1], "this statement may have written the other one"),
        ]
        reason = "two of its elements would be in one place while both are still needed"
        return _refuse(alloc, reason, notes=notes)
    if (at_once := written_at_once(alloc, place)) is not None:
        notes = [(at_once[0], "one is written here"), (at_once[1], "and the other one here")]
        reason = "two of its elements would be in one place, and may be written at the same time"
        return _refuse(alloc, reason, notes=notes)
    return None


def _is_folding(axes: Sequence[ForOp], new: AffineList) -> bool:
    """Whether two different elements have equal new indices."""
    system = System(axes[0])
    different = []
    for axis in axes:
        first, second = (system.name(axis.iv, instance) for instance in "st")
        different.append(f"{first} != {second}")
    system.require(f"({' or '.join(different)})")
    for first, second in zip(system.expressions(new, "s"), system.expressions(new, "t"), strict=True):
        system.require(f"{first} = {second}")
    return system.has_solution()


def _name(system: System, axes: Sequence[ForOp], instance: str) -> None:
    for axis in axes:
        system.name(axis.iv, instance)


def _refuse(alloc: AllocOp, reason: str, hint: str | None = None, notes=()) -> NestorError:
    return fail(
        alloc, f'cannot transform the layout of "{alloc.label.data}": {reason}', hint=hint, notes=notes
    )


@contextmanager
def _space(alloc: AllocOp) -> Iterator[list[ForOp]]:
    """Loops over the elements of the buffer, one inside the other, that belong to no program."""
    extents = extents_of(alloc)
    axes = [ForOp(f"axis{k}", 0, extent) for k, extent in enumerate(extents)]
    around = ForOp("elements", 0, 1)
    for outer, inner in pairwise((around, *axes)):
        outer.body.block.add_op(inner)
    try:
        yield axes
    finally:
        around.erase()


# ---- rewriting --------------------------------------------------------------------------------------


def transform_layout(alloc: AllocOp | SSAValue, layout: str, pad: Sequence[int] = ()) -> AllocOp:
    """Keep the buffer in `layout`; the new allocation. Raises the diagnostic of `why_not_transform_layout`."""
    if (refusal := why_not_transform_layout(alloc, layout, pad)) is not None:
        raise refusal
    assert isinstance(alloc, AllocOp)
    old = alloc.memref
    with _space(alloc) as axes:
        variables = [axis.iv for axis in axes]
        new = parse_layout(layout, alloc, variables)
        extents = [_extent(new[k], axes) for k in range(len(new))]
        for op in list(dict.fromkeys(use.operation for use in old.uses)):
            if isinstance(op, memref.DimOp):
                replace_dim(op, extents_of(alloc))
            else:
                assert isinstance(op, Accessing)
                _rewrite(op, new, variables)
    padded = [e.add(p) for e, p in zip(extents, pad or [0] * len(extents), strict=True)]
    replacement = reallocate(alloc, padded, alloc)
    replace(alloc, replacement)
    return replacement


def _extent(index: AffineList, axes: Sequence[ForOp]) -> AffineList:
    """One more than the largest new index."""
    expr = index.exprs[0]
    if isinstance(expr, AffineBinaryOpExpr) and expr.kind is AffineBinaryOpKind.FloorDiv:
        assert isinstance(expr.rhs, AffineConstantExpr)
        inside = _extent(AffineList((expr.lhs,), index.operands).canonical(), axes)
        return inside.divided(AffineBinaryOpKind.CeilDiv, expr.rhs.value)
    around = parent_loop(axes[0])
    assert around is not None
    ends = [bound.add(1).canonical() for bound in bounds_of(index, around, low=False)]
    return min(ends, key=complexity)


def _rewrite(op: Accessing, new: AffineList, variables: Sequence[SSAValue]) -> None:
    """The new indices of an access."""
    indices = without_known_divisions(_moved(op.indices, new, variables), op)
    op.set_indices(indices)


def _moved(old: AffineList, new: AffineList, variables: Sequence[SSAValue]) -> AffineList:
    """The new indices of the element at the indices `old`."""
    position = {value: k for k, value in enumerate(variables)}
    by = [old.exprs[position[value]] for value in new.operands]
    return AffineList(tuple(replace_dims(e, by) for e in new.exprs), old.operands).canonical()
