"""What the matrix unit of a CPU (AMX) has: sizes that both the dialect and the analyses of nests read.

They stand apart from the dialect, so that a schedule which asks for a tile does not import its operations.
"""

REGISTERS = 8
"""Tiles at a time."""

ROWS, ROW_BYTES = 16, 64
"""The most that a tile has."""

TOGETHER = 4
"""Bytes of the terms of a column that lie side by side in a row of the right operand."""
