"""A graph of ATen operations as plain data: what PyTorch captured, without PyTorch.

    Graph("forward", ("x", "w"), (Step("aten.mm.default", {"self": Ref(0), "mat2": Ref(1)}, ("float32",)),), (2,))

Values are numbered: inputs first, then the result of each step. A graph is what is compiled in place of a function's source
(`lowering.py`), and what tells programs apart on the disk: equal texts are equal programs.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ...dialects.diagnostic import SourceLocation
from ...dialects.records import record


@record
class Ref:
    """The value of this number."""

    value: int


@record
class Extent:
    """The extent of an axis of the value of this number."""

    value: int
    axis: int


@record
class Step:
    """One operation.

    `arguments` are by the names of the operation's schema: numbers, texts, dtypes, `Ref`s, tuples of these. `dtypes` are
    those of its results, None for one that is no tensor; an operation of several results has several. `computes` is the
    dtype in which an elementwise operation computes, as PyTorch promotes.
    """

    operation: str
    arguments: Mapping[str, Any]
    dtypes: tuple[str | None, ...]
    several: bool = False
    computes: str | None = None
    shapes: tuple[tuple[int | None, ...] | None, ...] = ()
    place: SourceLocation | None = None


class Graph:
    """Steps from named inputs to outputs: numbers of values, with the order of their axes in memory (None: rows)."""

    def __init__(
        self,
        name: str,
        names: tuple[str, ...],
        steps: tuple[Step, ...],
        outputs: tuple[tuple[int, tuple[int, ...] | None], ...],
    ):
        self.__name__ = self.__qualname__ = name
        self.names = names
        self.steps = steps
        self.outputs = outputs
        P = inspect.Parameter
        self.__signature__ = inspect.Signature([P(n, P.POSITIONAL_OR_KEYWORD) for n in names])

    def fingerprint_text(self) -> str:
        """All that a program compiled from it depends on, places of messages among it."""
        return repr((self.names, self.steps, self.outputs))

    def __call__(self, *args: Any) -> Any:
        raise TypeError("a graph of PyTorch is compiled, and has no Python function")
