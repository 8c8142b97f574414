"""The slow tests in a part of the time that they take: whole programs first, then from another file on for each commit.

    pytest -m slow --slow-minutes 60 --slow-from "$(git rev-parse HEAD)"

What is not reached in time is skipped, and its files are listed at the end. Four commits in a row begin at four places, so
that all slow tests run within a few runs.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

import pytest

OVER = "the time for slow tests is over"
FIRST = "programs/whole/"
UNTIL = "NESTOR_SLOW_UNTIL"
"""When the time is over, in seconds since the epoch; the processes that run tests read it."""

Item = TypeVar("Item")


def pytest_addoption(parser):
    group = parser.getgroup("slow tests")
    group.addoption("--slow-minutes", type=float, default=None, help="how long slow tests are begun")
    group.addoption(
        "--slow-from", metavar="COMMIT", default=None, help="the commit that says where they begin"
    )


def pytest_configure(config):
    minutes = config.getoption("--slow-minutes", None)
    if minutes is not None and not hasattr(config, "workerinput"):
        os.environ[UNTIL] = str(time.time() + 60 * minutes)


def pytest_collection_modifyitems(config, items):
    commit = config.getoption("--slow-from", None)
    if commit:
        items[:] = in_turn(items, [item.path.as_posix() for item in items], commit)


def pytest_runtest_setup(item):
    until = os.environ.get(UNTIL)
    if until is not None and time.time() > float(until) and item.get_closest_marker("slow"):
        pytest.skip(OVER)


def pytest_terminal_summary(terminalreporter):
    for line in not_reached(terminalreporter.stats.get("skipped", ())):
        terminalreporter.write_line(line)


def in_turn(items: Sequence[Item], files: Sequence[str], commit: str) -> list[Item]:
    """Tests of whole programs, then the others from a file on that the name of the commit says, in the order they had."""
    first = [item for item, file in zip(items, files, strict=True) if FIRST in file]
    rest = [(item, file) for item, file in zip(items, files, strict=True) if FIRST not in file]
    names = list(dict.fromkeys(file for _, file in rest))
    if not names:
        return first
    start = int(commit[:8], 16) % len(names)
    place = {name: k for k, name in enumerate([*names[start:], *names[:start]])}
    return [*first, *(item for item, file in sorted(rest, key=lambda pair: place[pair[1]]))]


def not_reached(skipped: Sequence[Any]) -> list[str]:
    """The files with tests that there was no time for, and how many of each."""
    late = [report for report in skipped if OVER in str(report.longrepr)]
    files = Counter(report.nodeid.partition("::")[0] for report in late)
    if not files:
        return []
    lines = [f"  {count:4} {file}" for file, count in sorted(files.items())]
    return [f"there was no time for {len(late)} slow tests:", *lines]
