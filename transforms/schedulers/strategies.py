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
from functools import partial
from typing import Any, NamedTuple

from ...dialects.diagnostic import NestorError
from .refusals import unless_refused


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
        outcome = unless_refused(partial(_outcome, row, nest), partial(_refused, row))
        if watcher is not None:
            watcher(Tried(label, row, outcome))
        if outcome is APPLIED:
            return row
    return None


def _outcome(row: Strategy, nest: Any) -> str:
    if not row.recognise(nest):
        return f"is for {row.takes}"
    return APPLIED if row.apply(nest) else f"is for {row.takes}: a step is refused or would not pay"


def _refused(row: Strategy, refusal: NestorError) -> str:
    return f"is for {row.takes}: {refusal.diagnostic.message}"
