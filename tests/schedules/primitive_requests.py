"""What a random schedule asks for: requests, and what is known of a primitive."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp


@dataclass(frozen=True)
class Request:
    """One use of a primitive."""

    primitive: str
    loops: tuple[str, ...] = ()
    buffer: int | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [self.primitive, *self.loops]
        if self.buffer is not None:
            parts.append(f"buffer {self.buffer}")
        return " ".join([*parts, *(f"{k}={v}" for k, v in self.options.items())])


class NothingToDo(Exception):
    """The request is legal and changes nothing."""


@dataclass(frozen=True)
class Case:
    """A request that is refused, and how it ends when nothing refuses it: with `error`, or in `unchanged` IR.

    `then` is what is done with the IR after it was verified.
    """

    text: str
    request: Callable[[ModuleOp], Any]
    check: str
    error: type[Exception] | None
    message: str | None = None
    then: Callable[[ModuleOp], Any] = str


@dataclass(frozen=True)
class Primitive:
    """One row. `draw` may give None: nothing here to ask for.

    `apply` is how it is carried out, where not as its row of the table of primitives says. `checks` are the functions
    that refuse, as `module:name=answer`: what they answer when they find nothing wrong (None when it is left out); where
    nothing is said, `why_not_` and its name. `is_mark`: decides how a loop runs, and no more. `copies`: may leave more code.
    """

    draw: Callable[[random.Random, ModuleOp], Request | None]
    apply: Callable[[ModuleOp, Request], Any] | None = None
    checks: tuple[str, ...] | None = None
    is_mark: bool = False
    copies: bool = False
    weight: int = 2
    harmless: str = ""
    """Why no refusal keeps from a wrong value: iterations keep their order whatever is asked for. What becomes of a
    request without the refusal, its `case` shows, or the one in test_checks.py."""
    case: Case | None = None
    families: tuple[str, ...] = ()
    """Families of programs in which its mutant may be caught, where most give it no occasion to be wrong."""
    caught_by: tuple[int, ...] = ()
    """The first seeds that have caught its mutant, where that is not at once: they are tried before others. Where what is
    drawn has changed they may catch none any more, and the search takes longer."""
