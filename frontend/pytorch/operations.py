"""The whole table of ATen operations: what every family of them has entered."""

from __future__ import annotations

from . import creating, elements, indexing, networks, products, reducing, shapes
from .table import ROWS

FAMILIES = (elements, shapes, creating, reducing, products, indexing, networks)
OPERATIONS = ROWS
"""A row for each operation, by its name."""
