"""Which code changes with a version only: Nestor's, NumPy's and Python's own."""

from __future__ import annotations

import sys

PACKAGE = __name__.rsplit(".", 3)[0]
"""The name that this package was imported by."""

_ITSELF = frozenset(("analysis", "dialects", "frontend", "lowering", "runtime", "transforms"))


def is_versioned(module: str | None) -> bool:
    """Whether a module is Nestor's, NumPy's or Python's own, which do not change while their versions are the same."""
    if not module:
        return False
    first, _, rest = module.partition(".")
    if module.startswith(f"{PACKAGE}."):
        return module[len(PACKAGE) + 1 :].partition(".")[0] in _ITSELF
    return (
        first in ("numpy", "ml_dtypes")
        or (first in sys.stdlib_module_names and module != "__main__" and not rest)
        or (first in ("collections", "concurrent", "importlib"))
    )
