"""An automatic schedule never ends in a refusal: what is refused is left out, and the rest of the schedule is done.

    with the function as it was:  part 0: flatten   part 1: "vectors"   part 2: share -> refused
    and again from the start:     part 0: flatten   part 1: "vectors"   part 2: left out   part 3: ...

What a scheduler may leave out is a part (`unless_refused`), and parts hold parts. Where a step is refused that its strategy
believed to be legal, the function is put back as it was, and scheduled again without the innermost part that the step is
in. Schedules are deterministic, so the parts before it have the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from xdsl.dialects.func import FuncOp

from ...dialects.diagnostic import Diagnostic, NestorError
from ...dialects.remarks import held, remark
from ..nest.rewrite.mark_checks import why_not_compiled
from ..nest.rewrite.steps import Steps

T = TypeVar("T")

NOT_TAKEN = "a step of the automatic schedule is refused, and is not taken"

MOST_LEFT_OUT = 24
"""Maximum number of parts that are left out of the schedule of a function; with more, all of it is."""


class _Run:
    """One run of a scheduler over a function."""

    def __init__(self, function: FuncOp, left_out: dict[int, NestorError], is_careful: bool):
        self.left_out = left_out
        self._function = function
        self._is_careful = is_careful
        self._parts = 0
        self._blamed: tuple[NestorError, int] | None = None

    def do(self, action: Callable[[], T], otherwise: Callable[[NestorError], T]) -> T:
        number = self._parts
        self._parts += 1
        if number in self.left_out:
            return otherwise(self.left_out[number])
        try:
            result = action()
            if self._is_careful:
                self.check_marks()
        except NestorError as refusal:
            if self._blamed is None or self._blamed[0] is not refusal:
                self._blamed = refusal, number
            raise
        return result

    def check_marks(self) -> None:
        """Raise the refusal of a mark that the lowerings have no code for."""
        if (refusal := why_not_compiled(self._function)) is not None:
            raise refusal

    def part_of(self, refusal: NestorError) -> int | None:
        """The innermost part that a refusal ended; None where it arose outside of all."""
        return self._blamed[1] if self._blamed is not None and self._blamed[0] is refusal else None


_run: ContextVar[_Run | None] = ContextVar("_run", default=None)


def unless_refused(action: Callable[[], T], otherwise: Callable[[NestorError], T]) -> T:
    """Do a part of a schedule. Where it is left out, nothing of it is done: the result is that of `otherwise`."""
    run = _run.get()
    return action() if run is None else run.do(action, otherwise)


def optional(action: Callable[[], Any]) -> None:
    """Do a part of a schedule that gives nothing to those after it."""
    unless_refused(action, lambda _: None)


def never_refused(function: FuncOp, steps: Steps, schedule: Callable[[], None]) -> None:
    """Schedule a function; what is refused of the schedule is left out, which a remark says."""
    pristine, left_out, is_careful = function.clone(), {}, False
    while True:
        run = _Run(function, left_out, is_careful)
        token = _run.set(run)
        try:
            with steps.undone_when_refused(), held():
                schedule()
                run.check_marks()
                for refusal in left_out.values():
                    _say(refusal)
            return
        except NestorError as error:
            refusal = error
        finally:
            _run.reset(token)
        _put_back(function, pristine)
        number = run.part_of(refusal)
        if number is not None and len(left_out) < MOST_LEFT_OUT:
            left_out[number] = refusal
        elif number is None and not is_careful:
            is_careful = True  # a mark is wrong: asked after every part, the part that made it is found
        else:
            return _say(refusal)


def _say(refusal: NestorError) -> None:
    said: Diagnostic = refusal.diagnostic
    notes = [(note.location, note.message) for note in said.notes]
    remark(said.location, f"{NOT_TAKEN}: {said.message}", notes=notes)


def _put_back(function: FuncOp, pristine: FuncOp) -> None:
    """Give a function the body that it had, of which `pristine` keeps a copy."""
    copy = pristine.clone()
    function.attributes, function.properties = dict(copy.attributes), dict(copy.properties)
    old, body = function.body, copy.body
    function.detach_region(old)
    copy.detach_region(body)
    function.add_region(body)
