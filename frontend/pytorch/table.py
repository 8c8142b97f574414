"""The table of ATen operations: what each is in NumPy, in one row.

    elementwise("aten.add.Tensor aten.add.Scalar", lambda self, other, *, alpha=1: self + alpha * other)
    row("aten.permute.default", lambda self, dims: xp.transpose(self, dims))

The function has the parameters of the operation's schema, by their names. It runs once, while a graph is compiled, on arrays
that record what is done to them (`lowering.py`): the handlers of NumPy's functions are the only meaning of an operation.
Parameters before `*` of an elementwise operation are converted to the dtype in which PyTorch computes it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ...dialects.records import record

IGNORED = frozenset(("layout", "device", "pin_memory", "memory_format", "non_blocking", "implicit"))
"""Parameters that say where elements are, which results say by their strides."""

DEFAULT, INT_TO_FLOAT, TO_BOOL, SAME = "DEFAULT", "INT_TO_FLOAT", "ALWAYS_BOOL", "NO_OPMATH"
"""How PyTorch promotes: names of ELEMENTWISE_TYPE_PROMOTION_KIND."""


@record(eq=False)
class Row:
    """One operation, or several of one meaning. `takes` says why a call is not computed here (a text), or None."""

    function: Callable[..., Any]
    promotion: str | None = None
    takes: Callable[[Mapping[str, Any]], str | None] | None = None
    parameters: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    is_view: bool = False


ROWS: dict[str, Row] = {}
"""The rows, by the names of operations."""


def row(
    names: str,
    function: Callable[..., Any],
    *,
    takes: Callable[[Mapping[str, Any]], str | None] | None = None,
    promotion: str | None = None,
    is_view: bool = False,
) -> None:
    """Enter an operation under its names; `is_view` for one whose result shares memory with its first argument."""
    parameters = inspect.signature(function).parameters.values()
    all_names = tuple([p.name for p in parameters])
    operands = tuple([p.name for p in parameters if p.kind is not p.KEYWORD_ONLY])
    made = Row(function, promotion, takes, all_names, operands, is_view)
    for name in names.split():
        assert name not in ROWS, name
        ROWS[name] = made


def elementwise(
    names: str,
    function: Callable[..., Any],
    promotion: str = DEFAULT,
    takes: Callable[[Mapping[str, Any]], str | None] | None = None,
) -> None:
    """Enter an operation of single elements."""
    row(names, function, takes=takes, promotion=promotion)
