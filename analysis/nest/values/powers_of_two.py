"""Powers of two beside a number: sizes of tiles, of blocks of threads and of padded rows."""

from __future__ import annotations


def power_above(number: int) -> int:
    """The smallest power of two that is no less than `number`; 1 below that.

    >>> [power_above(n) for n in (0, 1, 5, 8)]
    [1, 1, 8, 8]
    """
    return 1 << max(0, number - 1).bit_length()


def power_below(number: int) -> int:
    """The largest power of two up to `number`; 1 below that.

    >>> [power_below(n) for n in (0, 1, 5, 8)]
    [1, 1, 4, 8]
    """
    return 1 << (max(1, number).bit_length() - 1)
