"""The loops of a function: which there are, what is around and inside of them, and how often they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.ir.affine import AffineBinaryOpKind

from ...dialects.affine import AffineList
from ...dialects.diagnostic import fail
from ...dialects.nest import AccumulateOp, ForOp, IndexOp, StoreOp
from ...dialects.walk import walk_kind
from .check_sites import raises


def functions(module: ModuleOp, name: str | None = None) -> list[FuncOp]:
    """The functions with a body, or the one called `name` (a diagnostic when there is none)."""
    found = [op for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks]
    if name is None:
        return found
    chosen = [f for f in found if f.sym_name.data == name]
    if not chosen:
        names = ", ".join(f.sym_name.data for f in found) or "none"
        raise fail(module, f'unknown function "{name}"', hint=f"functions here: {names}")
    return chosen


def structured_functions(module: ModuleOp, name: str | None = None) -> list[FuncOp]:
    """As `functions`, those of one block: with `cf` branches a function has nests in several."""
    return [function for function in functions(module, name) if len(function.body.blocks) == 1]


def loops_in(op: Operation) -> list[ForOp]:
    """Every loop at or below `op`, in program order."""
    return walk_kind(op, ForOp)  # pyright: ignore


def find_loop(module: ModuleOp, name: str, function: str | None = None) -> ForOp:
    """The loop called `name`; a diagnostic that lists the loops when it is missing or ambiguous."""
    candidates = functions(module, function)
    loops = [loop for f in candidates for loop in loops_in(f)]
    matching = [loop for loop in loops if loop.label == name]
    if len(matching) == 1:
        return matching[0]
    listing = ", ".join(loop.label for loop in loops) or "none"
    anchor = candidates[0] if len(candidates) == 1 else module
    if not matching:
        raise fail(anchor, f'unknown loop "{name}"', hint=f"loops here: {listing}")
    raise fail(
        matching[0],
        f'there are {len(matching)} loops called "{name}"',
        hint="say which function is meant with the option func, or give the loops distinct names",
        notes=[(loop, "another one is here") for loop in matching[1:]],
    )


def parent_loop(op: Operation) -> ForOp | None:
    """The innermost loop around `op`."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, ForOp):
        parent = parent.parent_op()
    return parent


def is_in_rounds(op: Operation) -> bool:
    """Whether a loop is around `op`, of whichever kind."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, ForOp | scf.ForOp | scf.WhileOp):
        parent = parent.parent_op()
    return parent is not None


def enclosing_loops(op: Operation) -> list[ForOp]:
    """The loops around `op` (without `op` itself), outermost first."""
    chain: list[ForOp] = []
    loop = parent_loop(op)
    while loop is not None:
        chain.append(loop)
        loop = parent_loop(loop)
    return chain[::-1]


def enclosing_function(op: Operation) -> Operation:
    """The function around `op`, or the outermost operation when there is none."""
    while not isinstance(op, FuncOp):
        parent = op.parent_op()
        if parent is None:
            return op
        op = parent
    return op


def is_inside(op: Operation, ancestor: Operation) -> bool:
    """Whether `op` is `ancestor` or below it."""
    current: Operation | None = op
    while current is not None and current is not ancestor:
        current = current.parent_op()
    return current is ancestor


def sole_inner_loop(loop: ForOp) -> ForOp | None:
    """The loop that is all of the body of `loop`, else None."""
    block = loop.body.block
    inner = block.first_op
    return inner if isinstance(inner, ForOp) and inner is block.last_op else None


def next_nest(op: Operation, step: Callable[[Operation], Operation | None]) -> ForOp | None:
    """The nest that `step` leads to from `op`, past operations without regions; None where another one comes first."""
    other = step(op)
    while other is not None and not isinstance(other, ForOp):
        if other.regions:
            return None
        other = step(other)
    return other


def perfect_band(loop: ForOp) -> list[ForOp]:
    """`loop` and the loops that are each all of the body of the one before."""
    band = [loop]
    while (inner := sole_inner_loop(band[-1])) is not None:
        band.append(inner)
    return band


def may_fail(loop: ForOp) -> Operation | None:
    """An operation below `loop` that can stop the kernel (a checked index, an assertion, a `raise`), if there is one."""
    return next((op for op in loop.walk() if is_check(op)), None)


def is_check(op: Operation) -> bool:
    """Whether `op` can stop the kernel: a checked index, an assertion, a `raise`."""
    return isinstance(op, IndexOp) or op.name == "cf.assert" or raises(op)


def trip_count(loop: ForOp) -> AffineList | None:
    """The number of iterations as one affine expression per upper bound (the smallest counts).

    None when the loop has several lower bounds. Where the expression is negative the loop runs zero times.
    """
    return trips_between(loop.lower, loop.upper, loop.step_value)


def trips_between(lower: AffineList, upper: AffineList, step: int) -> AffineList | None:
    """`trip_count` of a loop with these bounds."""
    if len(lower) != 1:
        return None
    spread = AffineList((), ())
    for k in range(len(upper)):
        spread = spread.concat(upper[k].minus(lower[0]))
    if step != 1:
        spread = spread.divided(AffineBinaryOpKind.CeilDiv, step)
    return spread.canonical()


def statements(op: Operation) -> Iterator[StoreOp | AccumulateOp]:
    """The stores and accumulates at or below `op`."""
    for inner in op.walk():
        if isinstance(inner, (StoreOp, AccumulateOp)):
            yield inner
