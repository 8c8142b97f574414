"""Shuffles of two vectors that transpose a square of registers, or put vectors end to end.

    rows                unpack within 16 bytes        exchange pieces of 16 bytes
    r0 = a0 a1 a2 a3    a0 b0 a1 b1 ...
    r1 = b0 b1 b2 b3    a2 b2 a3 b3 ...

A transposition of n rows of n elements is log2(n) rounds of n shuffles. Elements are unpacked within pieces of 16 bytes
first, then the pieces are exchanged: both kinds are one instruction on x86 at any width, and on other machines no worse
than any other way.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

PIECE_BYTES = 16
"""Bytes within which x86 moves elements by an instruction without a table."""


@dataclass(frozen=True)
class Shuffle:
    """Lanes of two vectors, given by their numbers: lane k of the result is `lanes[k]` of `lhs` followed by `rhs`."""

    lhs: int
    rhs: int
    lanes: tuple[int, ...]


@functools.cache
def transposition(count: int, element_bytes: int) -> tuple[tuple[tuple[Shuffle, ...], ...], tuple[int, ...]]:
    """The rounds that transpose `count` (a power of two) rows of as many elements.

    Each round gives `count` vectors, of those of the round before it. Returned beside them: which of the last round
    holds column k.

    >>> rounds, order = transposition(2, 8)
    >>> rounds
    ((Shuffle(lhs=0, rhs=1, lanes=(0, 2)), Shuffle(lhs=0, rhs=1, lanes=(1, 3))),)
    >>> order
    (0, 1)
    """
    piece = min(count, max(1, PIECE_BYTES // element_bytes))
    rounds: list[tuple[Shuffle, ...]] = []
    distance = 1
    while distance < count:
        halves = _unpacked(count, piece, distance) if distance < piece else _exchanged(count, piece)
        rounds.append(
            tuple(
                Shuffle(k & ~distance, k | distance, halves[1 if k & distance else 0]) for k in range(count)
            )
        )
        distance *= 2
    return tuple(rounds), _columns(count, rounds)


def _unpacked(count: int, piece: int, run: int) -> tuple[tuple[int, ...], ...]:
    """In each piece: runs of `run` elements of both vectors in turn, of the first and of the second half of the piece."""
    halves = []
    for first in (0, piece // 2):
        lanes: list[int] = []
        for start in range(first, count, piece):
            for at in range(start, start + piece // 2, run):
                lanes += [*range(at, at + run), *range(count + at, count + at + run)]
        halves.append(tuple(lanes))
    return tuple(halves)


def _exchanged(count: int, piece: int) -> tuple[tuple[int, ...], ...]:
    """Every second piece of the one vector, then of the other: those at even places, and those at odd ones."""
    return tuple(tuple(lane for lane in range(2 * count) if lane // piece % 2 == parity) for parity in (0, 1))


def _columns(count: int, rounds: Sequence[Sequence[Shuffle]]) -> tuple[int, ...]:
    """Which vector of the last round is column k: the rounds done to elements that say where they are."""
    rows = [[(row, column) for column in range(count)] for row in range(count)]
    for shuffles in rounds:
        rows = [[(rows[s.lhs] + rows[s.rhs])[lane] for lane in s.lanes] for s in shuffles]
    order = {row[0][1]: place for place, row in enumerate(rows)}
    return tuple(order[column] for column in range(count))


def concatenation(length: int) -> Shuffle:
    """Two vectors of `length` lanes end to end.

    >>> concatenation(2)
    Shuffle(lhs=0, rhs=1, lanes=(0, 1, 2, 3))
    """
    return Shuffle(0, 1, tuple(range(2 * length)))


def beginning(length: int) -> Shuffle:
    """The first `length` lanes of a vector.

    >>> beginning(2)
    Shuffle(lhs=0, rhs=0, lanes=(0, 1))
    """
    return Shuffle(0, 0, tuple(range(length)))
