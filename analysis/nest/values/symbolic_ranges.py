"""Ranges of integers whose ends may speak of an extent: `[0, n - 1]`.

    i in [0, n - 1],  j in [0, n]        i + j in [0, 2 * n - 1],   (i + j) >> 1 in [0, n - 1]

An end that is unknown is None. Additions of small constants are taken not to leave 64 bits (a counter would need
years); whatever else might wrap around is unknown.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

SMALL = 1 << 10
"""Steps up to this size never bring a counter to 2^63."""

LARGEST = (1 << 63) - 1

MOST_EXTENT = 1 << 60
"""No extent is larger, but of an axis of stride 0: there every index is the same address."""


@dataclass(frozen=True)
class Bound:
    """`factor * extent + constant`; a plain number where the factor is 0. Factors are never negative."""

    constant: int
    factor: int = 0
    extent: Hashable = None

    def plus(self, other: Bound) -> Bound | None:
        """The sum, None where it speaks of two extents."""
        if self.factor and other.factor and self.extent != other.extent:
            return None
        extent = self.extent if self.factor else other.extent
        return Bound(self.constant + other.constant, self.factor + other.factor, extent)

    def times(self, factor: int) -> Bound:
        """The product with a number that is not negative."""
        return Bound(self.constant * factor, self.factor * factor, self.extent)

    def over(self, divisor: int) -> Bound:
        """A bound of the quotient, rounded down: an extent's factor is rounded up."""
        return Bound(self.constant // divisor, -(-self.factor // divisor), self.extent)

    def most(self) -> int:
        """The largest number it can be."""
        return self.factor * MOST_EXTENT + self.constant


class Leasts(dict[Hashable, int]):
    """The least that each extent can be."""

    def never_above(self, a: Bound, b: Bound) -> bool:
        """Whether `a <= b` whatever the extents are."""
        if not b.factor and a.most() <= b.constant:
            return True
        factor = b.factor - a.factor
        if (a.factor and b.factor and a.extent != b.extent) or factor < 0:
            return False
        least = self.get(b.extent if b.factor else a.extent, 0) if factor else 0
        return b.constant - a.constant + factor * least >= 0

    def larger(self, a: Bound | None, b: Bound | None) -> Bound | None:
        """A bound that neither exceeds."""
        if a is None or b is None:
            return None
        if self.never_above(a, b):
            return b
        if self.never_above(b, a):
            return a
        if a.factor and b.factor and a.extent != b.extent:
            return None
        high, low = (a, b) if a.factor >= b.factor else (b, a)
        least = (high.factor - low.factor) * self.get(high.extent, 0)
        return Bound(low.constant - least, high.factor, high.extent)

    def smaller(self, a: Bound | None, b: Bound | None) -> Bound | None:
        """One of two bounds that both hold: the lower one where that is known."""
        if a is None or b is None:
            return b if a is None else a
        return b if self.never_above(b, a) else a

    def joined(self, a: Range, b: Range) -> Range:
        """What is one or the other."""
        low = None if a.low is None or b.low is None else min(a.low, b.low)
        return Range(low, self.larger(a.high, b.high))

    def met(self, a: Range, b: Range) -> Range:
        """What is both."""
        lows = [low for low in (a.low, b.low) if low is not None]
        return Range(max(lows, default=None), self.smaller(a.high, b.high))


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included."""

    low: int | None = None
    high: Bound | None = None

    @property
    def number(self) -> int | None:
        """The only number in it."""
        if self.high is not None and not self.high.factor and self.high.constant == self.low:
            return self.low
        return None

    def plus(self, other: Range) -> Range:
        if not (self.is_known() and other.is_known()) and not (self.is_small() or other.is_small()):
            return ANY
        low = None if self.low is None or other.low is None else self.low + other.low
        if self.high is None or other.high is None:
            return Range(low, None).without_overflow()
        if self.high.most() + other.high.most() > LARGEST:
            return ANY
        return Range(low, self.high.plus(other.high)).without_overflow()

    def negated(self) -> Range:
        """The lower end is a number."""
        low = None if self.high is None else -self.high.most()
        return Range(low, None if self.low is None else Bound(-self.low))

    def times(self, factor: int) -> Range:
        if factor < 0:
            return self.negated().times(-factor)
        if factor > 1 and not self.is_known():
            return ANY
        low = None if self.low is None else self.low * factor
        return Range(low, None if self.high is None else self.high.times(factor)).without_overflow()

    def over(self, divisor: int) -> Range:
        """Divided by a positive number, rounded down."""
        low = None if self.low is None else self.low // divisor
        return Range(low, None if self.high is None else self.high.over(divisor))

    def is_known(self) -> bool:
        return self.low is not None and self.high is not None

    def is_small(self) -> bool:
        """Whether it can be added to a counter."""
        return self.is_known() and self.low >= -SMALL and self.high.most() <= SMALL  # pyright: ignore

    def without_overflow(self) -> Range:
        """Itself; anything where it may not fit 64 bits."""
        if self.low is not None and self.low < -LARGEST - 1:
            return ANY
        return ANY if self.high is not None and self.high.most() > LARGEST else self


ANY = Range()


def exactly(number: int) -> Range:
    """One number."""
    return Range(number, Bound(number))


def of_width(width: int, signed: bool = True) -> Range:
    """The numbers that an integer type has."""
    if signed:
        return Range(-(1 << (width - 1)), Bound((1 << (width - 1)) - 1))
    return Range(0, Bound((1 << width) - 1))
