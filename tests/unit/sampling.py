"""How many of a random kind a test draws."""

from __future__ import annotations

import os


def seeds(count: int) -> range:
    """The first third of so many seeds in `make test` (`-m 'not slow'`), all of them without that choice."""
    return range(count // 3 if os.environ.get("NESTOR_TEST_SAMPLES") == "few" else count)
