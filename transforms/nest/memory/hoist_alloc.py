"""nest-hoist-alloc: a buffer made in each iteration of a loop is made once, before the loop.

    nest.for "i" %i = 0 to %n {
      %u = nest.alloc "u"(%m) : memref<?xf32>
      nest.for "j" %j = 0 to %m {
        nest.store "u" %a, %u[%j] : memref<?xf32>
      }
      ...
    }

with buffer=u, loop=i becomes

    %u = nest.alloc "u"(%m) : memref<?xf32>
    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        nest.store "u" %a, %u[%j] : memref<?xf32>
      }
      ...
    }

Every iteration gets the same memory. A buffer made in an iteration holds nothing until the iteration writes it, so that
what an earlier one left there is read by no program that is defined; but iterations that run at the same time would
share it: refused when the loop, or one between it and the buffer, is parallel, vectorized or bound. Sums, products and
quotients by constants that the extents are computed with move along; refused when an extent depends on an iteration.
`lift_alloc` in Exo, `hoist_storage` in Halide; without a name in TVM and NNC.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import is_inside
from ....analysis.nest.sets.accesses import is_defined_outside
from ....analysis.nest.sets.integer_sets import is_never_negative
from ....analysis.nest.sets.own_buffers import allocation_of, loops_between, name_of, why_not_of_function
from ....dialects.affine import AffineList, constant_of
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AllocOp, ForOp
from ..rewrite.sizes import at_least_zero

_MOVABLE = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp, arith.IndexCastOp)
_DIVISIONS = (arith.FloorDivSIOp, arith.CeilDivSIOp)


def why_not_hoist_alloc(alloc: AllocOp | SSAValue, loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to make the buffer before `loop`, None when it is legal."""
    alloc = allocation_of(alloc)

    def refuse(reason: str, hint: str | None = None, notes=(), at: Operation | None = None) -> NestorError:
        action = f'hoist the buffer "{name_of(alloc)}" out of the loop "{loop.label}"'
        where = alloc if isinstance(alloc, AllocOp) else at or loop
        return fail(where, f"cannot {action}: {reason}", hint=hint, notes=notes)

    if (refusal := why_not_of_function(alloc, refuse)) is not None:
        return refusal
    assert isinstance(alloc, AllocOp)
    if not is_inside(alloc, loop):
        return refuse("it is not made inside of that loop", notes=[(loop, "the loop is here")])
    for crossed in loops_between(alloc, loop):
        if crossed.kind not in ("serial", "unrolled"):
            return refuse(
                "iterations that run at the same time would share it",
                hint="nest-expand-buffer gives each of them a part of it",
                notes=[(crossed, f'the loop "{crossed.label}" is {_mark(crossed)}')],
            )
    for size in alloc.sizes:
        if (origin := why_not_known(size, loop)) is not None:
            return refuse(
                "its extent is not known before the loop",
                hint="nest-resize-buffer gives it an extent that is",
                notes=[(origin, "the extent comes from here")],
            )
    return None


def _mark(loop: ForOp) -> str:
    return loop.kind if loop.kind in ("parallel", "vectorized") else f"bound to {loop.kind}"


def why_not_known(size: SSAValue, loop: ForOp) -> Operation | None:
    """What `size` is computed with that cannot be computed before `loop`; None when all of it can."""
    if is_defined_outside(size, loop):
        return None
    owner = size.owner
    if not isinstance(owner, Operation):
        parent = owner.parent_op()
        assert parent is not None
        return parent
    if isinstance(owner, _DIVISIONS):
        divisor = constant_of(owner.rhs)
        is_movable = divisor is not None and divisor > 0
    elif isinstance(owner, memref.DimOp):
        is_movable = is_defined_outside(owner.source, loop)
    else:
        is_movable = isinstance(owner, (arith.ConstantOp, *_MOVABLE))
    if not is_movable:
        return owner
    return next(filter(None, (why_not_known(operand, loop) for operand in owner.operands)), None)


def hoist_alloc(alloc: AllocOp | SSAValue, loop: ForOp) -> AllocOp:
    """Make the buffer before `loop`; the allocation. Raises the diagnostic of `why_not_hoist_alloc`."""
    if (refusal := why_not_hoist_alloc(alloc, loop)) is not None:
        raise refusal
    alloc = allocation_of(alloc)
    assert isinstance(alloc, AllocOp)
    sizes = sizes_before(alloc.sizes, loop)
    block = loop.parent
    assert block is not None
    alloc.detach()
    alloc.operands = sizes
    block.insert_op_before(alloc, loop)
    return alloc


def sizes_before(sizes: Sequence[SSAValue], loop: ForOp) -> list[SSAValue]:
    """The extents as values known before `loop`, never negative there; what computes them moves along."""
    block = loop.parent
    assert block is not None
    found = []
    for size in sizes:
        _move(size, loop)
        if not is_never_negative(AffineList.of(size), loop):  # it may be where the loop does not run
            size = at_least_zero(size, loop)
        found.append(size)
    return found


def _move(value: SSAValue, loop: ForOp) -> None:
    """Move what computes `value` before `loop`."""
    owner = value.owner
    if is_defined_outside(value, loop) or not isinstance(owner, Operation):
        return
    for operand in owner.operands:
        _move(operand, loop)
    owner.detach()
    assert loop.parent is not None
    loop.parent.insert_op_before(owner, loop)
