"""Processor time and memory of the tests, by file: where the budget of `make test` goes.

    pytest -m 'not slow' --file-times

Seconds are those of the process and of those that it started; other work on the machine does not count. Memory is what the
process holds when a file's last test ends.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

SECONDS, MEGABYTES = "processor seconds", "megabytes held"
PAGE = os.sysconf("SC_PAGE_SIZE")


def pytest_addoption(parser):
    parser.getgroup("slow tests").addoption(
        "--file-times", action="store_true", help="print processor time and memory by file"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    if not item.config.getoption("--file-times"):
        return (yield)
    item.began = sum(os.times()[:4])
    return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "teardown" and hasattr(item, "began"):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        report.user_properties.append((SECONDS, sum(os.times()[:4]) - item.began))
        report.user_properties.append((MEGABYTES, pages * PAGE >> 20))
    return report


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--file-times"):
        found = [report for reports in terminalreporter.stats.values() for report in reports]
        for line in table(found):
            terminalreporter.write_line(line)


def table(reports: Iterable) -> Iterator[str]:
    """A line for each file, the longest first, and the total."""
    seconds: dict[str, float] = defaultdict(float)
    tests: dict[str, int] = defaultdict(int)
    held: dict[str, int] = defaultdict(int)
    for report in reports:
        properties = dict(getattr(report, "user_properties", ()))
        if SECONDS in properties:
            file = report.nodeid.partition("::")[0]
            seconds[file] += properties[SECONDS]
            tests[file] += 1
            held[file] = max(held[file], properties[MEGABYTES])
    yield f"{sum(seconds.values()):8.1f} s {sum(tests.values()):6} tests   at most {max(held.values(), default=0)} MB held"
    for file, taken in sorted(seconds.items(), key=lambda one: -one[1]):
        yield f"{taken:8.1f} s {tests[file]:6} tests {held[file]:6} MB  {file}"
