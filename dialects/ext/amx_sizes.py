"""What the matrix unit of a CPU (AMX) has: sizes that both the dialect and the analyses of nests read.

They stand apart from the dialect, so that a schedule which asks for a tile does not import its operations.
"""

REGISTERS = 8
"""Number of tile registers."""

ROWS, ROW_BYTES = 16, 64
"""Maximum size of a tile."""

TOGETHER = 4
"""Consecutive terms of a column that are adjacent in a row of the right operand, in bytes."""
