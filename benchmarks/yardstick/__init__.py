"""The programs that Nestor is measured by: one table, in files by topic."""

from . import layouts, pointwise, rows
from .row import Row

ROWS: dict[str, Row] = {row.name: row for topic in (pointwise, rows, layouts) for row in topic.ROWS}
ROWS |= {row.name: row for row in layouts.CALLS}
