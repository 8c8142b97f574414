"""The slow tests of one run, a third of them by turns: three runs in a row run all.

    pytest -m slow --slow-turn 7 --slow-minutes 40

Turn 7 has the slow tests whose names fall to share 7 % 3, some of nearly each file, so that what breaks is seen early;
whole programs are in each turn. A new test changes nothing for the others. What is not reached in time is skipped, and its
files are listed at the end.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

OVER = "the time for slow tests is over"
ALWAYS = "programs/whole/"
SHARES = 3
UNTIL = "NESTOR_SLOW_UNTIL"
"""When the time is over, in seconds since the epoch; the processes that run tests read it."""


def pytest_addoption(parser):
    group = parser.getgroup("slow tests")
    group.addoption("--slow-minutes", type=float, default=None, help="how long slow tests are begun")
    group.addoption("--slow-turn", metavar="N", type=int, default=None, help="whose turn it is")


def pytest_configure(config):
    minutes = config.getoption("--slow-minutes", None)
    if minutes is not None and not hasattr(config, "workerinput"):
        os.environ[UNTIL] = str(time.time() + 60 * minutes)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave out the slow tests of other turns (`sampling.py` has said by now which are slow)."""
    turn = config.getoption("--slow-turn", None)
    if turn is None:
        return
    later = [item for item in items if item.get_closest_marker("slow") and not is_in_turn(item.nodeid, turn)]
    config.hook.pytest_deselected(items=later)
    left_out = set(later)
    items[:] = [item for item in items if item not in left_out]


def pytest_runtest_setup(item):
    until = os.environ.get(UNTIL)
    if until is not None and time.time() > float(until) and item.get_closest_marker("slow"):
        pytest.skip(OVER)


def pytest_terminal_summary(terminalreporter):
    for line in not_reached(terminalreporter.stats.get("skipped", ())):
        terminalreporter.write_line(line)


def is_in_turn(test: str, turn: int) -> bool:
    """Whether a test, by its name in pytest, is run in a turn."""
    return ALWAYS in test or hashlib.sha256(test.encode()).digest()[0] % SHARES == turn % SHARES


def not_reached(skipped: Sequence[Any]) -> list[str]:
    """The files with tests that there was no time for, and how many of each."""
    late = [report for report in skipped if OVER in str(report.longrepr)]
    files = Counter(report.nodeid.partition("::")[0] for report in late)
    if not files:
        return []
    lines = [f"  {count:4} {file}" for file, count in sorted(files.items())]
    return [f"there was no time for {len(late)} slow tests:", *lines]
