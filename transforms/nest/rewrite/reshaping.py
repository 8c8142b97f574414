"""A buffer with other indices: what the primitives share that give a buffer another shape, access by access."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, NoneAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr

from ....analysis.nest.loop_structure import enclosing_loops
from ....analysis.nest.sets.accesses import Access, accesses_of
from ....analysis.nest.sets.domains import LoadGuards
from ....analysis.nest.sets.integer_sets import System
from ....analysis.nest.sets.own_buffers import Refuse, why_not_accesses
from ....dialects.affine import AffineList, combine, constant_of
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, AllocOp, LoadOp, StoreOp
from ....dialects.nest.common import INDEX
from .buffers import erase_unused
from .sizes import reallocate, replace

Accessing = LoadOp | StoreOp | AccumulateOp


def why_not_reshape(alloc: AllocOp, refuse: Refuse, together: Sequence[AllocOp] = ()) -> NestorError | None:
    """The refusal of a buffer whose accesses cannot all be given other indices, where those of others get the same ones."""
    changed = {alloc.memref, *(other.memref for other in together)}
    assert isinstance(alloc.memref.type, MemRefType)
    if not isinstance(alloc.memref.type.layout, NoneAttr):
        return refuse("it has strides of its own")
    if (refusal := why_not_accesses(alloc, refuse)) is not None:
        return refusal
    for use in alloc.memref.uses:
        op = use.operation
        if isinstance(op, memref.DimOp) and constant_of(op.index) is None:
            return refuse("the extent of an axis that is not constant is asked for", notes=[(op, "here")])
        if isinstance(op, AccumulateOp) and not changed.issuperset(op.memrefs):
            return refuse(
                "a reduction updates it together with another buffer, at the same indices",
                notes=[(op, "the reduction is here")],
            )
    return None


def why_not_dimension(alloc: AllocOp, dimension: int, refuse: Refuse) -> NestorError | None:
    """The refusal of an axis that the buffer does not have."""
    assert isinstance(alloc.memref.type, MemRefType)
    rank = alloc.memref.type.get_num_dims()
    if 0 <= dimension < rank:
        return None
    hint = f"its dimensions are 0 to {rank - 1}" if rank else "it is one element"
    return refuse(f"it has no dimension {dimension}", hint=hint)


def reshape(
    alloc: AllocOp, extents: Sequence[AffineList], change: Callable[[AffineList], AffineList]
) -> AllocOp:
    """Make the buffer anew with `extents`, and let `change` give the indices of each access; the new allocation."""
    return reshape_together([alloc], [extents], change)[0]


def reshape_together(
    allocs: Sequence[AllocOp],
    extents: Sequence[Sequence[AffineList]],
    change: Callable[[AffineList], AffineList],
) -> list[AllocOp]:
    """Make buffers anew that reductions update together: an access to several of them is changed once."""
    changed: set[Operation] = set()
    made = []
    for alloc in allocs:
        for op in list(dict.fromkeys(use.operation for use in alloc.memref.uses)):
            if isinstance(op, memref.DimOp):
                replace_dim(op, extents_of(alloc))
            elif op not in changed:
                changed.add(op)
                assert isinstance(op, Accessing)
                op.set_indices(without_known_divisions(change(op.indices).canonical(), op))
    for alloc, sizes in zip(allocs, extents, strict=True):
        made.append(reallocate(alloc, sizes, alloc))
        replace(alloc, made[-1])
    return made


def with_index(indices: AffineList, dimension: int, index: AffineList) -> AffineList:
    """The indices with another one for an axis."""
    return AffineList.of(*(index if k == dimension else indices[k] for k in range(len(indices))))


def accesses_to(alloc: AllocOp) -> list[Access]:
    """Every access to a buffer that is only loaded and stored."""
    users = dict.fromkeys(use.operation for use in alloc.memref.uses)
    return [a for op in users for a in accesses_of(op) if a.buffer is alloc.memref]


def is_within(access: Access, gaps: AffineList) -> bool:
    """Whether every one of `gaps` is at least 0 wherever the access runs: a load, where something needs the element."""
    needed = LoadGuards().of(access.op) if isinstance(access.op, LoadOp) else None
    domains = [access.where] if needed is None else [AffineList.of(*one.constraints) for one in needed]
    return not any(_may_be_outside(access, domain, gaps) for domain in domains)


def _may_be_outside(access: Access, where: AffineList | None, gaps: AffineList) -> bool:
    system = System(access.op)
    system.require_reached(access.op, "s")
    for constraint in system.expressions(where, "s") if where is not None else ():
        system.require(f"{constraint} >= 0")
    system.require(f"({' or '.join(f'{gap} < 0' for gap in system.expressions(gaps, 's'))})")
    return system.has_solution()


def extents_of(alloc: AllocOp) -> list[AffineList]:
    sizes = iter(alloc.sizes)
    shape = memref_type(alloc).get_shape()
    return [AffineList.of(next(sizes) if extent == DYNAMIC_INDEX else extent) for extent in shape]


def replace_dim(op: memref.DimOp, extents: Sequence[AffineList]) -> None:
    """The extent of an axis as it was."""
    axis = constant_of(op.index)
    assert axis is not None
    extent = extents[axis]
    value = extent.single_value()
    numbers = extent.constants()
    if value is None:
        assert numbers is not None and op.parent is not None
        number = arith.ConstantOp(IntegerAttr(numbers[0], INDEX))
        number.location = op.location
        op.parent.insert_op_before(number, op)
        value = number.result
    op.result.replace_all_uses_with(value)
    erase_unused([op])


def without_known_divisions(expressions: AffineList, op: Accessing) -> AffineList:
    """Without the divisions whose result is known from the loops around: `%v mod 16` is `%v` where %v < 16."""

    def change(expr: AffineExpr) -> AffineExpr:
        if not isinstance(expr, AffineBinaryOpExpr):
            return expr
        lhs, rhs = change(expr.lhs), change(expr.rhs)
        if expr.kind in (AffineBinaryOpKind.Mod, AffineBinaryOpKind.FloorDiv):
            assert isinstance(rhs, AffineConstantExpr)
            if _is_in_range(AffineList((lhs,), expressions.operands).canonical(), rhs.value, op):
                return lhs if expr.kind is AffineBinaryOpKind.Mod else AffineConstantExpr(0)
        return combine(expr.kind, lhs, rhs)

    result = expressions.map_exprs(change).canonical()
    # what is left of (4 * %t + %v) floordiv 4, taken apart, is %v floordiv 4
    return result if result == expressions else without_known_divisions(result, op)


def _is_in_range(expression: AffineList, end: int, op: Accessing) -> bool:
    """Whether `expression` is from 0 to `end - 1` wherever `op` runs."""
    gaps = AffineList.of(expression, expression.times(-1).add(end - 1))
    system = System(op)
    for loop in enclosing_loops(op):
        system.name(loop.iv, "s")
    if isinstance(op, StoreOp | AccumulateOp) and op.where is not None:
        for constraint in system.expressions(op.where, "s"):
            system.require(f"{constraint} >= 0")
    outside = " or ".join(f"{gap} < 0" for gap in system.expressions(gaps, "s"))
    system.require(f"({outside})")
    return not system.has_solution()


def memref_type(alloc: AllocOp) -> MemRefType:
    assert isinstance(alloc.memref.type, MemRefType)
    return alloc.memref.type
