"""Strategies of the automatic schedules as rows: what each takes, how it is recognised, what is done. The order is the list.

    PRODUCTS = (
        Strategy("few rows, columns or terms", "products of which memory is the limit", skinny),
        Strategy("tiles of sums", "products of matrices", tiles, recognise=is_product),
    )
    if first_of(PRODUCTS, "i", nest): ...

A strategy's module has its recogniser and its application. Rows for a whole function, of which each takes several nests
together, are all done, in their order (`each_of`; whole_functions.py of each target); of those for a nest one takes it
(`first_of`; cpu/dispatch.py, cuda/schedule_cuda.py).
`watching` hears which rows were tried, for `explain(strategies=True)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

from ...dialects.diagnostic import NestorError
from ..nest.rewrite.steps import Steps
from .refusals import unless_refused


def _always(nest: Any) -> bool:
    return True


class Strategy(NamedTuple):
    """A row. Neither function changes anything where it answers False."""

    name: str
    takes: str
    """What nests it is for."""
    apply: Callable[[Any], Any]
    """Schedules the nest; False where a step is refused, or would not pay. Of a whole function: does what it can."""
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
NOT_DONE = "a step is refused or would not pay"

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
    for row in rows:
        if _tried(row, label, partial(_outcome, row, nest)) is APPLIED:
            return row
    return None


def each_of(rows: Sequence[Strategy], label: str, whole: Any, steps: Steps) -> None:
    """Apply all rows to a function, in their order. A row is applied where it did a step."""
    for row in rows:
        _tried(row, label, partial(_outcome_of_steps, row, whole, steps))


def _tried(row: Strategy, label: str, action: Callable[[], str]) -> str:
    outcome = unless_refused(action, partial(_refused, row))
    heard(label, row, outcome)
    return outcome


def heard(label: str, row: Strategy, outcome: str) -> None:
    """Tell who watches what came of a row."""
    if (watcher := _watcher.get()) is not None:
        watcher(Tried(label, row, outcome))


def _outcome(row: Strategy, nest: Any) -> str:
    if not row.recognise(nest):
        return passed_over(row)
    return APPLIED if row.apply(nest) else passed_over(row, NOT_DONE)


def _outcome_of_steps(row: Strategy, whole: Any, steps: Steps) -> str:
    if not row.recognise(whole):
        return passed_over(row)
    done = steps.done
    row.apply(whole)
    return APPLIED if steps.done > done else passed_over(row, NOT_DONE)


def passed_over(row: Strategy, reason: str | None = None) -> str:
    """The outcome of a row that was not done: what it is for, and why it was not, where it takes the nest."""
    return f"is for {row.takes}" if reason is None else f"is for {row.takes}: {reason}"


def _refused(row: Strategy, refusal: NestorError) -> str:
    return passed_over(row, refusal.diagnostic.message)
