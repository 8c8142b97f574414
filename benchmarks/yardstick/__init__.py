"""The programs that Nestor is measured by: one table, in files by topic."""

from . import (
    convolution,
    gradients,
    layouts,
    loop_gradients,
    matmul,
    networks,
    pointwise,
    reductions,
    rows,
    time_steps,
)
from .row import Row

TOPICS = (pointwise, rows, matmul, networks, convolution, reductions, layouts, gradients, loop_gradients)

ROWS: dict[str, Row] = {row.name: row for topic in TOPICS for row in topic.ROWS}

_BUSY = ("iou-small", "iou-10m", "softmax", "lstm-cell", "encoder-layer", "conv-nchw")
BUSY_ROWS: dict[str, Row] = {row.name: row for row in time_steps.ROWS} | {name: ROWS[name] for name in _BUSY}
"""The programs that are measured beside other processes."""
