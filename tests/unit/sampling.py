"""How many of a random kind a test draws."""

from __future__ import annotations

import os


def is_sampled() -> bool:
    """Whether slow tests are left out (`-m 'not slow'`, as in `make test`)."""
    return os.environ.get("NESTOR_TEST_SAMPLES") == "few"


def seeds(count: int) -> range:
    """The first third of so many seeds where slow tests are left out, else all of them."""
    return range(count // 3 if is_sampled() else count)
