"""Integers that a program is compiled for, a program for each value, as numbers of the run: from the third value on.

    f(a, 3), f(a, 5)      # a[:n] of each: programs for 3 and for 5
    f(a, 7), f(a, 9)      # one program for all others, where lowering allows it

A slice bound, an extent or an exponent that is known gives the better program, so that the first values have programs of
their own. Negative values always have: -1 may mean something else than a number (`x.reshape(n, 2)`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from ...interface.argument_types import ArgumentType, is_open, opened, without_extents

OWN_PROGRAMS = 2
"""How many values of an integer have programs of their own."""

Types = tuple[ArgumentType, ...]


def names_to_open(
    types: Types, baked: Collection[str], families: Iterable[Sequence[ArgumentType]]
) -> frozenset[str]:
    """The integers of a call of which programs for enough other values have been compiled.

    All else is equal in these programs but other such integers. `families` are arguments without their extents.
    """
    places = [k for k, one in enumerate(types) if one.name in baked and _may_open(one)]
    if not places:
        return frozenset()
    values: dict[int, set[int]] = {k: set() for k in places}
    own: Sequence[ArgumentType] = without_extents(types)
    for family, differ in _differing(own, families):
        if all(k in values and _is_integer(family[k]) for k in differ):
            for k in differ:
                values[k].add(family[k].value)
    return frozenset(types[k].name for k in places if len(values[k]) >= OWN_PROGRAMS)


def with_opened(types: Types, names: Collection[str]) -> Types | None:
    """The types of a call with these integers open; None where one of them cannot be."""
    if any(one.name in names and not _may_open(one) for one in types):
        return None
    return tuple([opened(one) if one.name in names else one for one in types])


def as_of(arguments: Sequence[ArgumentType], types: Types) -> Types:
    """The types of a call with those integers open that are open in a program."""
    return tuple([opened(one) if is_open(own) else one for own, one in zip(arguments, types, strict=True)])


def values_with_programs(types: Types, families: Iterable[Sequence[ArgumentType]]) -> list[dict[int, int]]:
    """The values of open integers, by the position of the argument, for which there are programs beside that of `types`."""
    own, found = without_extents(types), []
    for family, differ in _differing(own, families):
        if differ and all(is_open(own[k]) and _is_integer(family[k]) for k in differ):
            found.append({k: family[k].value for k in differ})
    return found


def _differing(
    own: Sequence[ArgumentType], families: Iterable[Sequence[ArgumentType]]
) -> Iterator[tuple[Sequence[ArgumentType], list[int]]]:
    """The families of as many arguments, and where each differs."""
    for family in families:
        if len(family) == len(own):
            yield family, [k for k, (a, b) in enumerate(zip(family, own, strict=True)) if a != b]


def _is_integer(one: ArgumentType) -> bool:
    return one.kind == "static" and type(one.value) is int


def _may_open(one: ArgumentType) -> bool:
    return _is_integer(one) and 0 <= one.value < 1 << 63
