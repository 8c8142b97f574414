"""Shuffles of registers: what a transposition's rounds do to elements that say where they are."""

import pytest
from nestor.lowering.nest_to_scf.shuffles import beginning, concatenation, transposition

SQUARES = [(count, size) for count in (2, 4, 8, 16) for size in (1, 2, 4, 8)]


def _apply(shuffle, vectors):
    both = vectors[shuffle.lhs] + vectors[shuffle.rhs]
    return [both[lane] for lane in shuffle.lanes]


@pytest.mark.parametrize(("count", "size"), SQUARES)
def test_columns(count, size):
    rounds, order = transposition(count, size)
    rows = [[(row, column) for column in range(count)] for row in range(count)]
    for shuffles in rounds:
        rows = [_apply(shuffle, rows) for shuffle in shuffles]
    assert len(rounds) == count.bit_length() - 1
    assert [rows[place] for place in order] == [[(r, c) for r in range(count)] for c in range(count)]


@pytest.mark.parametrize(("count", "size"), SQUARES)
def test_elements_stay_in_their_pieces_first(count, size):
    """As long as elements are unpacked, lane k comes from the 16 bytes that lane k is in: no table is needed."""
    piece = min(count, 16 // size)
    rounds, _ = transposition(count, size)
    for shuffles in rounds[: piece.bit_length() - 1]:
        for shuffle in shuffles:
            assert all(lane % count // piece == k // piece for k, lane in enumerate(shuffle.lanes))


def test_ends():
    assert _apply(concatenation(2), [["a", "b"], ["c", "d"]]) == ["a", "b", "c", "d"]
    assert _apply(beginning(3), [["a", "b", "c", "d"]]) == ["a", "b", "c"]
