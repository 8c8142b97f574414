"""What an adjoint adds to neighbours is gathered by each element instead: the adjoint of a stencil is a stencil.

    nest.for "i" %i = 1 to %n - 1 {                      nest.for "i" %p = 2 to %n - 2 {       // the core
      %g = nest.load %c[%i]                                %s = %c[%p + 1] + %c[%p - 1]
      nest.accumulate add %g, %x[%i - 1]           ->      nest.store %s, %x[%p]
      nest.accumulate add %g, %x[%i + 1]                 }
    }                                                    ... and both ends, where each term has its domain

All iterations of the loops write elements of their own, so that they run in parallel, as vectors. That is
`nest-scatter-to-gather`; here is where it pays: for several sums of one loop into elements around its own, or one into
those of a window (`%x[%i + %k]`), where the terms that several of them share are cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from ....analysis.nest.loop_structure import enclosing_loops
from ....analysis.nest.sets.accesses import accesses_in
from ....analysis.nest.sets.dependence import Dependences
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, ForOp
from ...nest.reductions.scatter_to_gather import computes_again, scatter_to_gather

FEW = 64
"""Elements for which a loop that adds to all of them is better run for each of them."""


def gather_all(function: FuncOp, buffer: SSAValue) -> bool:
    """Make sums into the neighbours of an element, in a buffer of zeros, stores of each element; whether that was done."""
    sums = [a.op for a in accesses_in(function) if a.buffer is buffer]
    if not all(isinstance(op, AccumulateOp) for op in sums) or len({op.parent for op in sums}) != 1:
        return False
    loop = _loop_of(sums)  # pyright: ignore[reportArgumentType]
    if loop is None or loop.parent_op() is not function:
        return False
    return _gather(function, buffer, loop, fill=True)


def gather_rest(function: FuncOp) -> None:
    """Gather what loops add to neighbours, in buffers that hold something already."""
    for buffer, sums in _sums_of_blocks(function):
        loop = _loop_of(sums)
        if loop is not None:
            _gather(function, buffer, loop, fill=False)


def _gather(function: FuncOp, buffer: SSAValue, loop: ForOp, fill: bool) -> bool:
    if computes_again(buffer, loop):
        return False
    try:
        scatter_to_gather(buffer, loop, fill, Dependences(function))
    except NestorError:
        return False
    return True


def _sums_of_blocks(function: FuncOp) -> list[tuple[SSAValue, list[AccumulateOp]]]:
    """The sums into one buffer that stand in one block, innermost loops of a nest."""
    found: dict[tuple[SSAValue, Block | None], list[AccumulateOp]] = {}
    for op in function.walk():
        if isinstance(op, AccumulateOp) and op.combiner.data == "add" and len(op.memrefs) == 1:
            found.setdefault((op.memrefs[0], op.parent), []).append(op)
    return [(buffer, sums) for (buffer, _), sums in found.items()]


def _loop_of(sums: Sequence[AccumulateOp]) -> ForOp | None:
    """The loop of which sums are to be gathered; None where nothing is gained.

    For elements around that of the iteration, or in a window: the outermost one of those that decide which elements they
    are. For few elements that all iterations of a loop add to (the weights of a window): that loop, the innermost then.
    """
    loops = enclosing_loops(sums[0])
    around = {loop.iv for loop in loops}
    used = [loop for loop in loops if any(loop.iv in op.indices.operands for op in sums)]
    is_window = any(len(around & set(index.operands)) > 1 for op in sums for index in op.indices)
    if len({op.indices.canonical() for op in sums}) < 2 and not is_window:
        first = len(loops) - len(used)
        if not used or first == 0 or used != loops[first:]:
            return None
        counts = [loop.constant_trip_count() for loop in used]
        long = loops[first - 1].constant_trip_count()
        is_few = all(counts) and prod(c or 0 for c in counts) <= FEW and (long is None or long > FEW)
        return loops[first - 1] if is_few else None
    found: ForOp | None = None
    for loop in reversed(loops):
        if not all(loop.iv in op.indices.operands for op in sums):
            break
        found = loop
    return found
