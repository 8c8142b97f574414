"""nest-expand-buffer: each iteration of a loop gets a part of a buffer: scalar expansion.

    nest.for "i" %i = 2 to %n {
      %s = nest.alloc "s" : memref<f32>
      nest.store "s" %a, %s[] : memref<f32>
      ...
      %b = nest.load %s[] : memref<f32>
    }

with buffer=s, loop=i becomes

    %s = nest.alloc "s"(%m) : memref<?xf32>            // %m is %n - 2
    nest.for "i" %i = 2 to %n {
      nest.store "s" %a, %s[%i - 2] : memref<?xf32>
      ...
      %b = nest.load %s[%i - 2] : memref<?xf32>
    }

and the loop can be distributed over its statements: what an iteration stores is still there afterwards. The buffer may
be made in the loop, or before it when an iteration reads nothing that an earlier one wrote (isl proves it, as for
nest-sink-alloc) and the loop has all of its uses. Refused when the number of iterations or an extent is not known
before the loop, when the loop is bound, and when one between it and the buffer runs its iterations at the same time.
`expand_dim` in Exo; without a name in TVM, Halide and NNC.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ....analysis.nest.loop_structure import is_inside, trip_count
from ....analysis.nest.sets.dependence import Dependences, analyse
from ....analysis.nest.sets.loop_bounds import largest
from ....analysis.nest.sets.own_buffers import loops_between, name_of, why_not_of_function, why_not_own
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, AllocOp, ForOp
from ..rewrite.loops import materialise, simplify_bounds
from ..rewrite.reshaping import extents_of, reshape_together, why_not_reshape
from .hoist_alloc import sizes_before, why_not_known
from .sink_alloc import space_of


def why_not_expand_buffer(
    alloc: AllocOp | SSAValue,
    loop: ForOp,
    dependences: Dependences | None = None,
    together: Sequence[AllocOp] = (),
) -> NestorError | None:
    """The diagnostic that refuses to give each iteration a part of the buffer, None when it is legal.

    `together`: others that get the same, which reductions may update together with this one."""

    def refuse(reason: str, hint: str | None = None, notes=(), at: Operation | None = None) -> NestorError:
        action = f'expand the buffer "{name_of(alloc)}" over the loop "{loop.label}"'
        where = alloc if isinstance(alloc, AllocOp) else at or loop
        return fail(where, f"cannot {action}: {reason}", hint=hint, notes=notes)

    if (refusal := why_not_of_function(alloc, refuse)) is not None:
        return refusal
    assert isinstance(alloc, AllocOp) and isinstance(alloc.memref.type, MemRefType)
    if (refusal := why_not_reshape(alloc, refuse, together)) is not None:
        return refusal
    if loop.kind in BIND_AXES:
        return refuse(
            "the loop is bound already",
            hint="expand the buffer before binding the loop",
            notes=[(loop, f'the loop "{loop.label}" is bound to {loop.kind}')],
        )
    space = space_of(alloc.memref.type)
    if space != "global":
        return refuse(
            f"it is in {space} memory, of which there is one part per thread or block",
            hint="nest-set-memory puts it into global memory",
        )
    if len(largest(loop.lower, loop)) != 1:
        return refuse("the lower bound of the loop is a max of several expressions", notes=[(loop, "here")])
    if not is_inside(alloc, loop):
        return why_not_own(alloc, loop, dependences or analyse(loop), refuse)
    for crossed in loops_between(alloc, loop)[1:]:
        if crossed.kind not in ("serial", "unrolled"):
            kind = f"bound to {crossed.kind}" if crossed.kind in BIND_AXES else crossed.kind
            return refuse(
                "iterations of a loop inside that run at the same time would share a part",
                hint="expand the buffer over that loop first",
                notes=[(crossed, f'the loop "{crossed.label}" is {kind}')],
            )
    for size in alloc.sizes:
        if (origin := why_not_known(size, loop)) is not None:
            return refuse(
                "its extent is not known before the loop", notes=[(origin, "the extent comes from here")]
            )
    return None


def expand_buffer(alloc: AllocOp | SSAValue, loop: ForOp, dependences: Dependences | None = None) -> AllocOp:
    """Give each iteration of `loop` a part of the buffer; the new allocation, before the loop.

    Raises the diagnostic of `why_not_expand_buffer`.
    """
    return expand_buffers([alloc], loop, dependences)[0]


def expand_buffers(
    allocs: Sequence[AllocOp | SSAValue], loop: ForOp, dependences: Dependences | None = None
) -> list[AllocOp]:
    """Give each iteration of `loop` a part of each buffer; the new allocations, before the loop.

    Raises the diagnostic of `why_not_expand_buffer`.
    """
    buffers = [alloc for alloc in allocs if isinstance(alloc, AllocOp)]
    for alloc in allocs:
        if (refusal := why_not_expand_buffer(alloc, loop, dependences, buffers)) is not None:
            raise refusal
    assert loop.parent is not None
    simplify_bounds(loop)
    sizes = [sizes_before(alloc.sizes, loop) for alloc in buffers]
    iterations = _iterations(loop)
    for alloc, before in zip(buffers, sizes, strict=True):
        alloc.detach()
        alloc.operands = before
        loop.parent.insert_op_before(alloc, loop)
    number = AffineList.of(loop.iv).minus(loop.lower)
    if loop.step_value != 1:
        number = number.divided(AffineBinaryOpKind.FloorDiv, loop.step_value)
    extents = [[iterations, *extents_of(alloc)] for alloc in buffers]
    return reshape_together(buffers, extents, lambda indices: number.concat(indices).canonical())


def _iterations(loop: ForOp) -> AffineList:
    """The number of iterations as one expression known before `loop`; a constant bound on it where it has one."""
    trips = trip_count(loop)
    assert trips is not None and loop.parent is not None
    constants = [c[0] for k in range(len(trips)) if (c := trips[k].constants()) is not None]
    if constants:
        return AffineList.of(max(0, min(constants)))
    if len(trips) == 1:
        return trips
    least = materialise(trips[0], loop.parent, loop)
    for k in range(1, len(trips)):
        op = arith.MinSIOp(least, materialise(trips[k], loop.parent, loop))
        op.location = loop.location
        loop.parent.insert_op_before(op, loop)
        least = op.result
    return AffineList.of(least)
