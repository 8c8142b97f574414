"""`nt.cache`: compiled functions that are kept on the disk.

    nt.cache.path()      where they are, None where the cache is off or has no place
    nt.cache.stats()     {"files": 12, "bytes": 61440, "hits": 1, "misses": 0, "stored": 0}
    nt.cache.clear()     remove them; how many files there were

docs/cache.md says what is kept and when it is used.
"""

from __future__ import annotations

from ....runtime import disk_cache


def path() -> str | None:
    """The directory of the files; None where nothing is kept."""
    return disk_cache.directory() if disk_cache.is_on() else None


def clear() -> int:
    """Remove all files, also those of other processes; how many there were. What is loaded stays."""
    return disk_cache.clear()


def stats() -> dict[str, int]:
    """Files and their bytes; what this process found there, did not find, and stored."""
    files, size = disk_cache.sizes()
    counts = disk_cache.COUNTS
    return {
        "files": files,
        "bytes": size,
        "hits": counts.hits,
        "misses": counts.misses,
        "stored": counts.stored,
    }
