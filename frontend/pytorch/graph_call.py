"""The call that stands in the text of a compiled graph."""

from __future__ import annotations

from typing import Any


def graph_call(graph: Any, *args: Any) -> Any:
    """`graph(*args)`; in compiled code, its steps (`lowering.py`)."""
    return graph(*args)
