"""nest-vectorize: mark a loop whose iterations become the lanes of a vector.

    nest.for "i" %i = 0 to 16 {
      nest.store "y" %v, %out[%i]
    }

becomes

    nest.for "i" %i = 0 to 16 vectorized(16) {
      nest.store "y" %v, %out[%i]
    }

The extent is the width, or known to be at most the width (then the lanes are masked). A longer loop is split
first, and its remainder is vectorized as well:

    nest.for "i" %i = 0 to %n { ... }

becomes

    nest.for "i.o" %o = 0 to %n floordiv 16 {
      nest.for "i.i" %v = 0 to 16 vectorized(16) { ... }
    }
    nest.for "i.t" %t = 0 to %n mod 16 vectorized(16) { ... }

Lanes run in lockstep by statement: in straight-line code a dependence is kept whose source is before its sink
(the load of `%a[%i + 1]` before the store to `%a[%i]`), and everywhere one that is as far apart as the vector is long. The
loop must carry no other one, except reductions in any order into an element that all lanes share; its body is
straight-line code, or loops that all lanes run equally often. A step is normalised away.
`vectorize` in Halide, TVM and NNC.
"""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr

from ....analysis.nest.kernels.loop_marks import refuse_in_vector, refuse_marked
from ....analysis.nest.kernels.vector_forms import no_vector_form
from ....analysis.nest.loop_structure import enclosing_loops, may_fail, statements
from ....analysis.nest.sets.accesses import accesses_of, is_defined_outside
from ....analysis.nest.sets.dependence import Dependence, Dependences, analyse
from ....analysis.nest.sets.integer_sets import is_never_negative
from ....analysis.nest.sets.lockstep import is_kept
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.limits import MAX_LANES
from ....dialects.nest import THREAD_AXES, AccumulateOp, ForOp, StoreOp
from ..loops.split import split


def why_not_lanes(
    loop: ForOp, dependences: Dependences | None = None, width: int | None = None, in_kernel: bool = False
) -> NestorError | None:
    """The diagnostic that refuses to run iterations of `loop` in lockstep: `width` of them, or any number.

    It is, or will be `in_kernel`, inside of loops over threads.
    """
    refusal = refuse_marked(loop, "vectorize") or refuse_in_vector(loop, "vectorize")
    if refusal is not None:
        return refusal
    if (refusal := _why_not_straight(loop, in_kernel)) is not None:
        return refusal
    dependences = dependences or analyse(loop)
    first = dependences.first_not(loop, lambda d: is_kept(d, loop, width, dependences))
    if first is None:
        return _why_not_shared(loop)
    is_reduction = first.kind == "reduction"
    return _refuse(loop, first, "two lanes may update one element" if is_reduction else first.describe())


def _why_not_shared(loop: ForOp) -> NestorError | None:
    """Refuses a statement for all lanes at once which none of them can do for the others."""
    varying: set[SSAValue] = {loop.iv}
    for op in loop.body.walk():
        if any(value in varying for value in op.operands):
            varying.update(op.results)
    for op in statements(loop):
        if isinstance(op, AccumulateOp) and op.order_name == "atomic":
            reason = f'cannot vectorize the loop "{loop.label}": an atomic update has no vector form'
            return fail(loop, reason, hint="run its iterations as threads", notes=[(op, "this update")])
        if not all(is_defined_outside(a.buffer, loop) for a in accesses_of(op) if a.buffer is not None):
            continue
        is_fixed = isinstance(op, StoreOp) or op.order_name == "sequential"
        if is_fixed and not any(value in varying for value in op.indices.operands):
            reason = f'cannot vectorize the loop "{loop.label}": all its iterations write one element'
            return fail(loop, reason, notes=[(op, "this element")])
    return None


def _why_not_straight(loop: ForOp, in_kernel: bool) -> NestorError | None:
    """Refuses what lanes cannot run together. Loops stay loops, when all lanes run them equally often."""
    message = f'cannot vectorize the loop "{loop.label}": its body is not straight-line code'
    if (check := may_fail(loop)) is not None:
        hint = "nest-prove-bounds removes the checks that cannot fail"
        return fail(loop, message, hint=hint, notes=[(check, f"'{check.name}' can stop the kernel")])
    in_kernel = in_kernel or any(around.kind in THREAD_AXES for around in enclosing_loops(loop))
    found = no_vector_form(loop, in_kernel)
    if found is None or isinstance(found.op, StoreOp | AccumulateOp):
        return None
    return fail(loop, message, hint=found.hint, notes=[(found.op, found.why)])


def _refuse(loop: ForOp, dependence: Dependence, reason: str) -> NestorError:
    return fail(loop, f'cannot vectorize the loop "{loop.label}": {reason}', notes=dependence.notes)


def why_not_vectorize(loop: ForOp, width: int, dependences: Dependences | None = None) -> NestorError | None:
    """The diagnostic that refuses to vectorize `loop` as it is, None when it is legal."""
    if width < 1:
        return fail(loop, f'cannot vectorize the loop "{loop.label}" by {width}: the width must be positive')
    if width > MAX_LANES:
        return fail(
            loop,
            f'cannot vectorize the loop "{loop.label}" by {width}: a vector has at most {MAX_LANES} lanes',
        )
    if loop.step_value != 1:
        from ....analysis.nest.sets.loop_bounds import refuse_several

        if (refusal := refuse_several(loop, "vectorize", "lower")) is not None:
            return refusal
    if not extent_is_at_most(loop, width):
        return fail(
            loop,
            f'cannot vectorize the loop "{loop.label}": it may have more than {width} iterations',
            hint="split it first",
        )
    return why_not_lanes(loop, dependences, width)


def extent_is_at_most(loop: ForOp, width: int) -> bool:
    """Whether the loop provably has at most `width` iterations."""
    extent = loop.constant_trip_count()
    if extent is not None:
        return extent <= width
    return any(
        _spread_is_at_most(loop.upper[k].minus(loop.lower[j]), width * loop.step_value, loop)
        for k in range(len(loop.upper))
        for j in range(len(loop.lower))
    )


def _spread_is_at_most(spread: AffineList, width: int, loop: ForOp) -> bool:
    expr = spread.exprs[0]
    if isinstance(expr, AffineBinaryOpExpr) and expr.kind is AffineBinaryOpKind.Mod:
        return isinstance(expr.rhs, AffineConstantExpr) and expr.rhs.value <= width + 1
    room = AffineList.of(width).minus(spread)
    return is_never_negative(room, loop)


def vectorize(loop: ForOp, width: int | None = None, dependences: Dependences | None = None) -> list[ForOp]:
    """Mark `loop` vectorized by `width` (its extent by default), splitting it first when it is longer.

    Returns the vectorized loops: `loop` itself, or the inner loop and the remainder of the split.
    """
    extent = loop.constant_trip_count()
    if width is None:
        if extent is None:
            raise fail(
                loop,
                f'cannot vectorize the loop "{loop.label}": its extent is unknown',
                hint="give a width: the loop is split by it",
            )
        width = max(extent, 1)
    if width < 1 or extent_is_at_most(loop, width):
        if (refusal := why_not_vectorize(loop, width, dependences)) is not None:
            raise refusal
        if loop.step_value != 1:
            from ..loops.normalise import normalise

            normalise(loop)
        loop.set_kind("vectorized", width)
        return [loop]
    if (refusal := why_not_lanes(loop, dependences, width)) is not None:
        raise refusal
    _, *pieces = split(loop, width)
    for piece in pieces:
        piece.set_kind("vectorized", width)
    return pieces
