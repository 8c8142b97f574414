"""What an adjoint adds to neighbours is gathered by each element instead: the adjoint of a stencil is a stencil.

    nest.for "i" %i = 1 to %n - 1 {                      nest.for "i" %p = 2 to %n - 2 {       // the core
      %g = nest.load %c[%i]                                %s = %c[%p + 1] + %c[%p - 1]
      nest.accumulate add %g, %x[%i - 1]           ->      nest.store %s, %x[%p]
      nest.accumulate add %g, %x[%i + 1]                 }
    }                                                    ... and both ends, where each term has its domain

All iterations of the loops write elements of their own, so that they run in parallel, as vectors. That is
`nest-scatter-to-gather`; here is where it pays: for several sums of one loop into elements around its own, where the
terms that several of them share are cheap.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from ....analysis.nest.loop_structure import enclosing_loops
from ....analysis.nest.sets.accesses import accesses_in
from ....analysis.nest.sets.dependence import Dependences
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, ForOp
from ...nest.reductions.scatter_to_gather import computes_again, scatter_to_gather


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
    """The outermost of the loops that decide which elements sums are to; None where there is nothing to gather."""
    if len({op.indices.canonical() for op in sums}) < 2:
        return None
    found: ForOp | None = None
    for loop in reversed(enclosing_loops(sums[0])):
        if not all(loop.iv in op.indices.operands for op in sums):
            break
        found = loop
    return found
