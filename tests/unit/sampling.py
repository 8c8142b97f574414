"""How many of a random kind a test draws, and how many cases of a grid run where slow tests are left out.

    pytestmark = pytest.mark.one_of(3)         # of a file, or a decorator of one test

Of the cases of a test, every third runs in `make test`, the first among them; the others are slow tests, which CI runs.
Where parametrizations are crossed, those cases lie on diagonals of the grid, so that each target, for one, has its share.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

import pytest


def is_sampled() -> bool:
    """Whether slow tests are left out (`-m 'not slow'`, as in `make test`)."""
    return os.environ.get("NESTOR_TEST_SAMPLES") == "few"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Mark as slow what `one_of` leaves to slow runs."""
    tests: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("one_of") is not None and item.get_closest_marker("slow") is None:
            tests[f"{item.nodeid.partition('::')[0]}::{item.originalname}"].append(item)
    for cases in tests.values():
        every = cases[0].get_closest_marker("one_of").args[0]
        quick = chosen([places_of(case) for case in cases], every)
        for k, case in enumerate(cases):
            if k not in quick:
                case.add_marker("slow")


def places_of(item: Any) -> dict[str, Any]:
    """In each parametrization of a test, by its names, which values a case has."""
    values = (
        {name: id(value) for name, value in item.callspec.params.items()} if hasattr(item, "callspec") else {}
    )
    places: dict[str, Any] = {}
    for marker in item.iter_markers("parametrize"):
        names = marker.args[0] if marker.args else marker.kwargs["argnames"]
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        places[",".join(names)] = tuple([values.pop(name) for name in names])
    return places | values  # those of fixtures


def chosen(places: list[dict[str, Any]], every: int) -> set[int]:
    """The numbers of the cases that stay quick, of cases at such places: those on diagonals, or every so many-th where
    the grid is too small for its diagonals.

    >>> chosen([{"f": f, "target": t} for f in range(2) for t in range(2)], 2)
    {0, 3}
    """
    present = {name: list(dict.fromkeys(place[name] for place in places)) for name in places[0]}
    numbers = [sum(values.index(place[name]) for name, values in present.items()) for place in places]
    diagonal = {k for k, number in enumerate(numbers) if number % every == 0}
    return diagonal if len(diagonal) * every >= len(places) else {*range(0, len(places), every)}


def seeds(count: int) -> range:
    """The first third of so many seeds where slow tests are left out, else all of them."""
    return range(count // 3 if is_sampled() else count)
