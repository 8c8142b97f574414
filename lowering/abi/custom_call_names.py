"""The names by which a declaration says what is called (`custom_calls.py`). Plain data, without xDSL."""

from __future__ import annotations

TARGET, ARGUMENTS, ELEMENTS, INPUTS = "target", "arguments", "elements", "inputs"

NUMPY = "numpy."
"""How the names of NumPy's functions begin: calls that the user did not ask for."""
