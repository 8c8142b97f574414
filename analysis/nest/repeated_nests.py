"""Sequences of nests that occur again, equal up to names, buffers and numbers: the layers of a network.

    nest.for "i" ... { ... %x ... %w0 ... %t }          nest.for "i.2" ... { ... %y ... %w1 ... %t.1 }
    nest.for "j" ... { ... %t ... %y }                  nest.for "j.2" ... { ... %t.1 ... %z }

The second pair is the first one with %y for %x, %w1 for %w0, %t.1 for %t and %z for %y. What is compared: operations,
their properties without names, types, and which values are one and the same. Only nests in the block of a function are
compared, without checks and calls, over buffers of static shape that overlap no other, and their views. Between them
allocations and pure operations may stand; all else ends a sequence. Sequences have a reduction, for elementwise nests are
one by now; once nests are scheduled, any is looked for.

Runs of equal nests are found by their distance: nests k and k + d for all k of a run. Each run proposes its first d nests
(or the whole, where it is shorter).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float16Type, Float32Type, Float64Type, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ...dialects.attributes import ALIAS_SET, FROZEN
from ...dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, PrefetchOp, StoreOp
from ...dialects.walk import walk
from .loop_structure import is_check
from .sets.accesses import VIEWS, argument_attribute, root_of

NAMES = frozenset({"label", "loop_name"})
"""Properties that are names: what is equal but for them is equal."""

MOST_PROPOSALS = 24
"""Maximum number of sequences that are looked for; those that save most come first."""


@dataclass(frozen=True)
class Occurrence:
    """One place where a sequence stands: its nests, and the values from outside, in one order for all places."""

    nests: tuple[ForOp, ...]
    values: tuple[SSAValue, ...]


def repeated_nests(
    function: FuncOp, least_nests: int, least_saved: int, host: bool = False, scheduled: bool = False
) -> list[list[Occurrence]]:
    """The sequences of at least `least_nests` nests whose later occurrences have `least_saved` operations together.

    Each with all places where it stands, in program order; no nest is in two. With `host` numbers from outside of nests are
    constants and arguments: what is computed may depend on an element, which the host of a GPU does not read.
    Of `scheduled` nests any sequence counts, and arguments that are the same in every call are arguments like others.
    """
    if sum(isinstance(op, ForOp) for op in function.body.block.ops) < 2 * least_nests:
        return []
    nests, tokens, sizes = _tokens(function, host, scheduled)
    found: list[list[Occurrence]] = []
    while (best := _best(nests, tokens, sizes, least_nests, least_saved, scheduled)) is not None:
        starts, length = best
        found.append([_occurrence(nests[k : k + length]) for k in starts])
        for start in starts:
            tokens[start : start + length] = -1
    return found


# ---- one number for equal nests -----------------------------------------------------------------------


def _tokens(function: FuncOp, host: bool, scheduled: bool) -> tuple[list[ForOp], np.ndarray, np.ndarray]:
    """The nests of the block of a function, a number for each that equal ones share, and their operations.

    What may stand in no sequence has the number -1; a sequence does not go past it.
    """
    nests: list[ForOp] = []
    tokens: list[int] = []
    sizes: list[int] = []
    numbers: dict[Hashable, int] = {}
    for op in function.body.block.ops:
        if not isinstance(op, ForOp) and _is_transparent(op):
            continue
        key = _key(op, host, scheduled) if isinstance(op, ForOp) else None
        nests.append(op)  # pyright: ignore
        tokens.append(-1 if key is None else numbers.setdefault(key, len(numbers)))
        sizes.append(0 if key is None else len(key))
    return nests, np.array(tokens, dtype=np.int64), np.array(sizes, dtype=np.int64)


def _is_transparent(op: Operation) -> bool:
    return isinstance(op, AllocOp) or (not op.regions and is_side_effect_free(op))


def _key(nest: ForOp, host: bool, scheduled: bool) -> tuple[Hashable, ...] | None:
    """What equal nests have in common, an item an operation; None for one that is in no sequence."""
    numbers: dict[SSAValue, int] = {}
    items: list[Hashable] = []
    for op in walk(nest):
        if not _is_known(op):
            return None
        operands: list[Hashable] = []
        for value in op.operands:
            if value not in numbers:
                described = _described(value, host, scheduled)
                if described is None:
                    return None
                numbers[value] = len(numbers)
                operands.append((numbers[value], described))
            else:
                operands.append(numbers[value])
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    numbers[argument] = len(numbers)
        for result in op.results:
            numbers[result] = len(numbers)
        said = sorted((op.properties | op.attributes).items())
        properties = tuple((name, attribute) for name, attribute in said if name not in NAMES)
        types = tuple(result.type for result in op.results)
        shape = tuple(len(region.blocks) for region in op.regions), _depth(op, nest)
        items.append((type(op), tuple(operands), properties, types, shape))
    return tuple(items)


def _is_known(op: Operation) -> bool:
    """Whether an operation touches no more than the buffers that it names, and cannot fail."""
    if is_check(op) or op.successors:
        return False
    if isinstance(op, ForOp | LoadOp | StoreOp | AccumulateOp | AllocOp | PrefetchOp):
        return True
    return op.name == "nest.if" or op.name == "nest.yield" or is_side_effect_free(op)


def _depth(op: Operation, nest: Operation) -> int:
    depth = 0
    while op is not nest:
        parent = op.parent_op()
        assert parent is not None
        op, depth = parent, depth + 1
    return depth


def _described(value: SSAValue, host: bool, scheduled: bool) -> Hashable | None:
    """What a value from outside of a nest must have in common with the one in its place; None: it ends a sequence.

    Floats may differ: they become arguments then.
    """
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and not is_float(value.type):
        return owner.value
    if not isinstance(value.type, MemRefType):
        is_known = not host or isinstance(owner, arith.ConstantOp | Block)
        return value.type if is_known else None
    if DYNAMIC_INDEX in value.type.get_shape():
        return None
    if isinstance(owner, VIEWS):
        around = _described(owner.operands[0], host, scheduled) if len(owner.operands) == 1 else None
        said = tuple(sorted(owner.properties.items()))
        return None if around is None else (type(owner), said, value.type, around)
    if not isinstance(owner, AllocOp | Block):
        return None
    refused = (ALIAS_SET,) if scheduled else (ALIAS_SET, FROZEN)
    if isinstance(owner, Block) and any(argument_attribute(value, name) is not None for name in refused):
        return None
    return value.type


def is_float(type: Attribute) -> bool:
    """Whether a type is that of floats."""
    return isinstance(type, Float16Type | Float32Type | Float64Type)


# ---- sequences ----------------------------------------------------------------------------------------


def _best(
    nests: Sequence[ForOp],
    tokens: np.ndarray,
    sizes: np.ndarray,
    least_nests: int,
    least_saved: int,
    scheduled: bool,
) -> tuple[list[int], int] | None:
    """The starts and the length of the sequence that saves most; None where none is worth it."""
    proposals = sorted(set(_proposals(tokens, sizes, least_nests)), reverse=True)
    best: tuple[int, list[int], int] | None = None
    for _, start, length in [(most, -k, n) for most, k, n in proposals[:MOST_PROPOSALS]]:
        if not scheduled and not any(
            isinstance(op, AccumulateOp) for nest in nests[start : start + length] for op in walk(nest)
        ):
            continue
        starts = _places(nests, tokens, start, length)
        saved = (len(starts) - 1) * int(sizes[start : start + length].sum())
        if saved >= least_saved and (best is None or saved > best[0]):
            best = saved, starts, length
    return None if best is None else best[1:]


def _proposals(tokens: np.ndarray, sizes: np.ndarray, least_nests: int) -> list[tuple[int, int, int]]:
    """`(at most so many operations saved, -start, length)` of the runs of equal nests, by their distance."""
    found = []
    ends = np.concatenate([[0], np.cumsum(sizes)])
    for distance in range(least_nests, len(tokens) - least_nests + 1):
        equal = (tokens[:-distance] == tokens[distance:]) & (tokens[:-distance] >= 0)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], equal.view(np.int8), [0]])))
        for start, end in edges.reshape(-1, 2).tolist():
            length = min(end - start, distance)
            if length >= least_nests:
                found.append((int(ends[end] - ends[start]), -start, length))
    return found


def _places(nests: Sequence[ForOp], tokens: np.ndarray, start: int, length: int) -> list[int]:
    """Where the sequence at `start` stands again, each value in the place of one of the first: starts, none in two."""
    first, pattern = None, tokens[start : start + length]
    found: list[int] = []
    k = start
    while k + length <= len(tokens):
        if np.array_equal(tokens[k : k + length], pattern):
            values = _values(nests[k : k + length])
            first = first if first is not None else values
            if _same_pattern(first, values):
                found.append(k)
                k += length
                continue
        k += 1
    return found


def _values(nests: Sequence[ForOp]) -> list[SSAValue]:
    """The operands from outside of nests, of views the buffers, each time that one is used.

    Equal nests have them in one order.
    """
    inside = {op for nest in nests for op in walk(nest)}
    found = []
    for nest in nests:
        for op in walk(nest):
            for value in op.operands:
                owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
                if owner not in inside:
                    found.append(root_of(value))
    return found


def _same_pattern(one: Sequence[SSAValue], other: Sequence[SSAValue]) -> bool:
    """Whether the same places hold one value in both."""
    pairs = set(zip(one, other, strict=True))
    return len(pairs) == len(set(one)) == len(set(other))


def _occurrence(nests: Sequence[ForOp]) -> Occurrence:
    return Occurrence(tuple(nests), tuple(dict.fromkeys(_values(nests))))
