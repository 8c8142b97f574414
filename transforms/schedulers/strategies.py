"""Strategies of the automatic schedules as rows: what each takes, how it is recognised, what is done. The order is the list.

    PRODUCTS = (
        Strategy("few rows, columns or terms", "products of which memory is the limit", skinny),
        Strategy("tiles of sums", "products of matrices", tiles, recognise=is_product),
    )
    if first_of(PRODUCTS, "i", nest): ...

A strategy's module has its recogniser and its application; the two targets have their rows where nests are dispatched
(cpu/dispatch.py, cuda/schedule_cuda.py). `watching` hears which rows were tried, for `explain(strategies=True)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple


def _always(nest: Any) -> bool:
    return True


class Strategy(NamedTuple):
    """A row. Neither function changes anything where it answers False."""

    name: str
    takes: str
    """What nests it is for."""
    apply: Callable[[Any], bool]
    """Schedules the nest; False where a step is refused, or would not pay."""
    recognise: Callable[[Any], Any] = _always
    """Whether the nest is what the strategy is for, as far as that is known without trying."""


class Tried(NamedTuple):
    """A row that was tried for a nest, and what came of it."""

    nest: str
    strategy: Strategy
    outcome: str

    def __str__(self) -> str:
        return f"{self.strategy.name}: {self.outcome}"


APPLIED = "applied"

_watcher: ContextVar[Callable[[Tried], None] | None] = ContextVar("_watcher", default=None)


@contextmanager
def watching(listener: Callable[[Tried], None]) -> Iterator[None]:
    """Hear of every row that is tried meanwhile."""
    token = _watcher.set(listener)
    try:
        yield
    finally:
        _watcher.reset(token)


def first_of(rows: Sequence[Strategy], label: str, nest: Any) -> Strategy | None:
    """Apply the first row that takes a nest, and say which one it was; None, and nothing changed, where none does."""
    watcher = _watcher.get()
    for row in rows:
        if not row.recognise(nest):
            outcome = f"is for {row.takes}"
        elif row.apply(nest):
            outcome = APPLIED
        else:
            outcome = f"is for {row.takes}: a step is refused or would not pay"
        if watcher is not None:
            watcher(Tried(label, row, outcome))
        if outcome is APPLIED:
            return row
    return None
