"""The names by which a declaration says what is called (`custom_calls.py`). Plain data, without xDSL."""

from __future__ import annotations

TARGET, ARGUMENTS, ELEMENTS, INPUTS = "target", "arguments", "elements", "inputs"

NUMPY = "numpy."
"""How the names of NumPy's functions begin: calls that the user did not ask for."""

LANGUAGE, ENTRY, SOURCE, ELEMENTWISE = "language", "entry", "source", "elementwise"
"""Among the arguments of a call that machine code of the user's answers: what the text is in, the function of it that is
called, the text, and whether that function is of one element (docs/custom-ops.md)."""

CUDA, GRID, BLOCK = "cuda", "grid", "block"
"""Among the arguments of a call that a kernel of the user's answers on GPUs: a dictionary with ENTRY and SOURCE as above,
with GRID, blocks along each axis as texts of extents (`launch_rules.py`; empty: a thread for each element of the first
result), and with BLOCK, threads along each axis."""

PURE = "pure"
"""Among the arguments of a call of Python: the function has no effect and gives the same again, though it may raise."""

KINDS = "kinds"
"""Among the arguments: how each operand is given to the function, "array" or the type of a number."""
