"""How many threads this process should have: what OMP_NUM_THREADS asks for, the processors it may run on, its quota.

A container's quota ("1.5 processors") is time, not processors: the system stops all threads of a group for the rest of a
period once they have used it up. More threads than that use it up sooner.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

_ROOT = "/sys/fs/cgroup"


def processor_count() -> int:
    """The number of threads to begin with, at least 1."""
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if asked.isdecimal() and int(asked) > 0:
        return min(int(asked), (1 << 31) - 1)
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    quota = quota_of_processors()
    return max(1, count if quota is None else min(count, math.ceil(quota)))


def quota_of_processors(root: str = _ROOT, groups: str = "/proc/self/cgroup") -> float | None:
    """Processors' worth of time that Linux gives the control groups of this process, the least of them; None without quota.

    Reads `cpu.max` of version 2, `cpu.cfs_quota_us` of version 1, of the group and those above it.
    """
    found = [share for share in map(_share, _places(root, groups)) if share is not None]
    return min(found, default=None)


def _places(root: str, groups: str) -> Iterator[tuple[str, str | None]]:
    """Files that say a quota and its period; None where one file has both."""
    for line in _read(groups).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            for folder in _upwards(root, path):
                yield f"{folder}/cpu.max", None
        elif "cpu" in controllers.split(","):
            for mount in (controllers, "cpu"):
                for folder in _upwards(f"{root}/{mount}", path):
                    yield f"{folder}/cpu.cfs_quota_us", f"{folder}/cpu.cfs_period_us"


def _upwards(root: str, path: str) -> Iterator[str]:
    """The folder of a group, and of those above it: in a container the path may be the host's, the root its own group."""
    parts = [part for part in path.split("/") if part and part != ".."]
    for length in range(len(parts), -1, -1):
        yield "/".join([root, *parts[:length]])


def _share(place: tuple[str, str | None]) -> float | None:
    file, period_file = place
    words = _read(file).split() + (_read(period_file).split() if period_file else [])
    try:
        quota, period = float(words[0]), float(words[1])
    except (IndexError, ValueError):  # no such file, or "max"
        return None
    return quota / period if quota > 0 and period > 0 else None


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
