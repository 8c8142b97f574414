"""How many of a random kind a test draws, and how many cases of a grid run where slow tests are left out.

    pytestmark = pytest.mark.one_of(3)         # of a file, or a decorator of one test

Of the cases of a test, every third runs in `make test`, the first among them; the others are slow tests, which CI runs.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest


def is_sampled() -> bool:
    """Whether slow tests are left out (`-m 'not slow'`, as in `make test`)."""
    return os.environ.get("NESTOR_TEST_SAMPLES") == "few"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Mark as slow what `one_of` leaves to slow runs."""
    seen: Counter[str] = Counter()
    for item in items:
        marker = item.get_closest_marker("one_of")
        if marker is None or item.get_closest_marker("slow") is not None:
            continue
        test = f"{item.nodeid.partition('::')[0]}::{item.originalname}"
        if seen[test] % marker.args[0]:
            item.add_marker("slow")
        seen[test] += 1


def seeds(count: int) -> range:
    """The first third of so many seeds where slow tests are left out, else all of them."""
    return range(count // 3 if is_sampled() else count)
