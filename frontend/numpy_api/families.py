"""The families of handlers, and the tables that look for a key in all of them.

`registry.py` has the tables, the families fill them. Who looks up takes them from here.
"""

from __future__ import annotations

import sys
from importlib import import_module

from ...runtime.fork_lock import ForkLock
from .registry import FUNCTIONS, METHODS, imports_handlers

FAMILIES = [
    "elements.selection",
    "shapes.reshaping",
    "shapes.rearranging",
    "statistics.reductions",
    "statistics.places",
    "shapes.creation",
    "linalg.products",
    "elements.python_builtins",
    "elements.python_math",
    "shapes.joining",
    "elements.rounding",
    "elements.parts",
    "elements.complex_parts",
    "statistics.scans",
    "statistics.log_sums",
    "shapes.repeating",
    "shapes.matrices",
    "shapes.padding",
    "indexing.picking",
    "shapes.assembling",
    "statistics.calculus",
    "linalg.chains",
    "elements.comparing",
    "elements.dtypes",
    "linalg.einsum",
    "statistics.histograms",
    "linalg.decompositions",
    "linalg.norms",
    "statistics.polynomials",
    "elements.python_math_gamma",
    "elements.python_math_more",
    "statistics.sorting",
    "elements.special",
    "indexing.tables",
    "indexing.finding",
    "statistics.sets",
    "shapes.windows",
]
"""The modules that fill the tables and are imported when a key is looked for that is not known yet, one after the other."""

LAZY = {"numpy.fft": "linalg.fourier"}
"""Families of modules that NumPy imports when a program names them, which it has done before it is looked up."""

_left = [*reversed(FAMILIES)]
_late = dict(LAZY)
_LOCK = ForkLock()


@imports_handlers
def _import_another() -> bool:
    """Import a family that is not yet; False when there is none. Other threads wait until it is whole."""
    with _LOCK:
        if not _left:
            return _import_late()
        import_module(f"{__package__}.{_left.pop()}")
        return True


__all__ = ["FAMILIES", "FUNCTIONS", "METHODS"]


def _import_late() -> bool:
    """Import a family of a module that is there by now; False when there is none."""
    for module, family in list(_late.items()):
        if module in sys.modules:
            del _late[module]
            import_module(f"{__package__}.{family}")
            return True
    return False
