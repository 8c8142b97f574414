"""The programs that Nestor is measured by: one table, in files by topic."""

from . import convolution, gradients, layouts, loop_gradients, matmul, networks, pointwise, reductions, rows
from .row import Row

TOPICS = (pointwise, rows, matmul, networks, convolution, reductions, layouts, gradients, loop_gradients)

ROWS: dict[str, Row] = {row.name: row for topic in TOPICS for row in topic.ROWS}
