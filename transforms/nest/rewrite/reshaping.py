"""A buffer with other indices: what the primitives share that give a buffer another shape, access by access."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, NoneAttr

from ....analysis.nest.kernels.domains import LoadGuards
from ....analysis.nest.sets.accesses import Access, accesses_of
from ....analysis.nest.sets.integer_sets import System
from ....analysis.nest.sets.own_buffers import Refuse, why_not_accesses
from ....dialects.affine import AffineList, constant_of
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, AllocOp, LoadOp
from ..memory.transform_layout import Accessing, extents_of, replace_dim, without_known_divisions
from .sizes import reallocate, replace


def why_not_reshape(alloc: AllocOp, refuse: Refuse) -> NestorError | None:
    """The refusal of a buffer whose accesses cannot all be given other indices."""
    assert isinstance(alloc.memref.type, MemRefType)
    if not isinstance(alloc.memref.type.layout, NoneAttr):
        return refuse("it has strides of its own")
    if (refusal := why_not_accesses(alloc, refuse)) is not None:
        return refusal
    for use in alloc.memref.uses:
        op = use.operation
        if isinstance(op, memref.DimOp) and constant_of(op.index) is None:
            return refuse("the extent of an axis that is not constant is asked for", notes=[(op, "here")])
        if isinstance(op, AccumulateOp) and len(op.memrefs) > 1:
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
    old = alloc.memref
    for op in list(dict.fromkeys(use.operation for use in old.uses)):
        if isinstance(op, memref.DimOp):
            replace_dim(op, extents_of(alloc))
            continue
        assert isinstance(op, Accessing)
        indices = without_known_divisions(change(op.indices).canonical(), op)
        op.set_indices(indices)
    new = reallocate(alloc, extents, alloc)
    replace(alloc, new)
    return new


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
