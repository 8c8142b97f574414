"""Whose turn it is among the slow tests: prints a number that grows by one from one landing to the next.

    python tests/slow_turn.py           # of the commit that is checked out
    python tests/slow_turn.py a1b2c3

A landing has many commits, so that their number says nothing about the next landing's; by bits of a commit's name, three
landings in a row rarely have three turns. But a landing waits for CI, for about an hour, and the next one's first commit
for some work: the turn is the number of pauses between the commits of the history. Two landings without a pause between
them have the same turn, and a pause within a landing leaves one out: the next round has it. Where there is no history (a
shallow clone, an archive) the clock says it, a turn for every four hours.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

PAUSE = 70 * 60
"""Seconds: longer than pauses between commits of one landing, shorter than CI and the work on a first commit after it."""
SLOT = 4 * 3600
"""Seconds that a turn by the clock lasts."""


def pauses(times: Iterable[int]) -> int:
    """How many pauses there are between commits at such times, in seconds.

    >>> pauses([0, 60, 120 + PAUSE, 180 + PAUSE])
    1
    """
    return sum(later - earlier >= PAUSE for earlier, later in pairwise(sorted(times)))


def turn(commit: str = "HEAD", folder: Path = Path(__file__).parent, now: float | None = None) -> int:
    """The turn of a commit of the repository that a folder is in."""
    shallow = _git(folder, "rev-parse", "--is-shallow-repository")
    times = _git(folder, "log", "--first-parent", "--format=%ct", commit) if shallow == ["false"] else None
    if times is None:
        return int((time.time() if now is None else now) // SLOT)
    return pauses(map(int, times))


def _git(folder: Path, *arguments: str) -> list[str] | None:
    """The words that git prints, or nothing where it fails or isn't there."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.split() if done.returncode == 0 else None


if __name__ == "__main__":
    print(turn(*sys.argv[1:2]))
