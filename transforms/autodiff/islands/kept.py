"""Which values of an island go to tapes: those of the fewest bytes that all others can be computed from.

    %a = nest.load %x[%i - 1] ; %b = nest.load %x[%i] ; %c = nest.load %x[%i + 1]       // all are overwritten later
    %s = %a + %b + %c ; %r = math.sin %s ; nest.store %r, %x[%i]                        // its derivative is cos(%s): keep %s

A minimum cut (`tensor/partition.py`) between what is there and what the adjoint asks for. It goes through the values of an
iteration only: what one iteration leaves in memory for the next is a load that is gone, and loads that are gone are kept
or not needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import arith, math
from xdsl.ir import Block, Operation, SSAValue

from ....analysis.nest.loop_structure import enclosing_loops
from ....analysis.nest.sets.domains import is_computation
from ....dialects.nest import AllocOp, ForOp, IndexOp, LoadOp
from ....dialects.nt.types import width_of
from ...tensor.partition import Prices, partition
from .decisions import Decisions
from .places import Places
from .primal import Primal
from .refusals import refused
from .stored_kinds import stored_kind

_OPERATIONS = 1 << 12
"""How many operations cost as much as a byte that is kept: bytes count, and what is computed again where bytes are equal."""
_GUESS = 64
"""How often a loop runs, where that is not known."""
_FUNCTION = 16
"""What a function costs, as so many operations."""


def to_keep(primal: Primal, places: Places, asked: Iterable[SSAValue]) -> list[SSAValue]:
    """The values that tapes are to hold. Raises the diagnostic for what can be neither kept nor computed again."""
    needed = [v for v in asked if not _is_given(v, primal)]
    prices: dict[SSAValue, Prices] = {}
    pending = list(needed)
    decisions = Decisions(primal)
    while pending:
        value = pending.pop()
        if value not in prices:
            prices[value] = price = _price(value, primal, places, decisions)
            pending += price.operands  # pyright: ignore
    try:
        return list(partition(prices, needed).stored)  # pyright: ignore
    except ValueError:
        raise _refusal(prices) from None


def _is_given(value: SSAValue, primal: Primal) -> bool:
    return isinstance(value.owner, Block) or value in primal.known


def _price(value: SSAValue, primal: Primal, places: Places, decisions: Decisions) -> Prices:
    op = value.owner
    assert isinstance(op, Operation)
    runs = _runs(op)
    kind = stored_kind(value.type)
    store = float("inf")
    if kind is not None and op in primal.original and not isinstance(op, arith.ConstantOp):
        casts = 0 if kind == value.type else 2
        stored = _runs(op, places.unchanging(value)) if primal.gone_below(value) else runs
        store = float(stored * (_OPERATIONS * max(width_of(kind) // 8, 1) + casts))
    if decisions.may_differ(op):
        return Prices(store)
    compute, operands = float(runs), list(op.operands)
    if (final := primal.left(value)) is not None:
        operands = list(final.indices.operands)
    elif isinstance(op, LoadOp):
        operands = list(op.indices.operands)
        if primal.readable(op) is None:
            return Prices(store)
        if isinstance(op.memref.owner, AllocOp):
            compute += sum(_runs(a.op) for a in primal.writes(op.memref))
    elif not isinstance(op, IndexOp) and not is_computation(op):
        return Prices(store)
    elif op.name.startswith(("math.", "special.")) and not isinstance(op, math.AbsFOp):
        compute *= _FUNCTION
    return Prices(store, compute, [v for v in operands if not _is_given(v, primal)])


def _runs(op: Operation, without: Sequence[ForOp] = ()) -> int:
    """How often an operation runs, about, in all iterations of the loops around it or but some of them."""
    total = 1
    for loop in enclosing_loops(op):
        if loop in without:
            continue
        count = loop.constant_trip_count()
        total *= _GUESS if count is None else max(count, 1)
    return total


def _refusal(prices: dict[SSAValue, Prices]) -> Exception:
    for value, price in prices.items():
        op = value.owner
        if price.store == price.compute == float("inf") and isinstance(op, Operation):
            return refused(op, f"it needs the result of '{op.name}'")
    raise AssertionError("what is needed can be kept")
