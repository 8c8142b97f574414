"""Says before pytest's closing line how many tests were skipped, and why; those of lit too.

`make test` runs lit first and names the file of its results (`lit --output`) in NESTOR_LIT_RESULTS.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

_FEATURES = re.compile(r"unavailable features: (.*)")


def pytest_terminal_summary(terminalreporter):
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", ()))
    results = Path(os.environ.get("NESTOR_LIT_RESULTS") or os.devnull)
    if not results.exists():
        terminalreporter.write_line(f"lit has left no results in {results}")
        results = Path(os.devnull)
    for line in summary(reasons, lit_reasons(results.read_text())):
        terminalreporter.write_line(line)


def summary(pytest_reasons: Counter[str], of_lit: Counter[str]) -> list[str]:
    """How many tests were skipped, then the reasons, the most frequent first."""
    skipped = pytest_reasons + of_lit
    if not skipped:
        return ["no test was skipped"]
    counted = [(pytest_reasons.total(), "pytest"), (of_lit.total(), "FileCheck")]
    are = "test was" if skipped.total() == 1 else "tests were"
    parts = " and ".join(f"{number} of {whose}" for number, whose in counted if number)
    return [
        f"{skipped.total()} {are} skipped, {parts}:",
        *(f"  {number:4} {reason}" for reason, number in skipped.most_common()),
    ]


def lit_reasons(results: str) -> Counter[str]:
    """Why the tests in lit's results were not run, and how many each time."""
    return Counter(_lit_reasons(json.loads(results)["tests"] if results else ()))


def _lit_reasons(tests: Iterable[dict[str, str]]) -> Iterable[str]:
    for test in tests:
        if test["code"] == "UNSUPPORTED":
            found = _FEATURES.search(test["output"])
            yield f"there is no {found[1]} for FileCheck tests" if found else test["output"].strip()


def _reason(report) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")
