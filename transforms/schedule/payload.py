"""What the handles of a schedule stand for, and why one stands for nothing any more.

A handle is a list of loops, statements or buffers. A primitive that takes one loop is done to each of the list, to none
where the list is empty: so a schedule replays where a split leaves no remainder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.printer import Printer

from ...analysis.nest.buffers import buffer_name, buffers_in, flat_views_in
from ...analysis.nest.loop_structure import is_inside, loops_in
from ...dialects.diagnostic import Diagnostic, NestorError, PassFailure, fail, op_location
from ...dialects.nest import AllocOp, ForOp
from ...dialects.nest.common import name_hint_of
from ...dialects.schedule.ops import MatchOp, PrimitiveOp
from ...dialects.schedule.options import value_of
from ...dialects.schedule.table import BUFFER, LOOP, STATEMENT, Target
from ..nest.primitive_passes import function_of
from ..nest.rewrite.mark_checks import why_not_compiled
from .match import match_pattern, statements_in
from .snapshot import Snapshot

Payload = Any
"""A `ForOp`, a statement (`StoreOp`, `AccumulateOp`), or a buffer (an SSA value)."""


class StepFailure(PassFailure):
    """A step of a schedule was refused: the message says which step, the notes say why.

        @nt.jit
        def f(x):
            y = x.copy()
            for i in range(1, len(x)):
                y[i] = y[i - 1] + x[i]
            return y

        s = nt.schedule(f.lower(np.ones(64)))
        s.parallel("i.1")

    The notes name the two accesses that would change places, at their lines. `s.dependences()` prints all dependences, and
    docs/schedules.md says of each primitive when it is legal; nothing has been done to the schedule.
    """


class State:
    """The functions a schedule is applied to, and what its handles stand for after the steps so far."""

    def __init__(self, functions: Sequence[FuncOp], parameters: dict[str, int], restores: bool = True):
        """`restores`: a step that is refused leaves the functions as they were; else half done, to be thrown away."""
        self._restores = restores
        self.functions = list(functions)
        self.parameters = parameters
        self.payloads: dict[SSAValue, list[Payload]] = {}
        self.roles: dict[str, list[Payload]] = {}
        """What the loops and buffers of the nest are that a strategy takes."""
        self.steps = 0
        self._gone: dict[Payload, str] = {}
        self._renamed: dict[str, str] = {}

    def loops(self) -> list[ForOp]:
        """Every loop there is now, in program order."""
        return [loop for function in self.functions for loop in loops_in(function)]

    def run(self, op: Operation) -> None:
        """Do one step. Raises `StepFailure`, and has changed nothing then."""
        self.steps += 1
        try:
            if isinstance(op, MatchOp):
                self._match(op)
            else:
                assert isinstance(op, PrimitiveOp)
                self._primitive(op)
        except StepFailure:
            raise
        except NestorError as error:
            raise self._blame(op, error) from error

    # ---- steps --------------------------------------------------------------------------------------

    def _primitive(self, op: PrimitiveOp) -> None:
        options = {name: value_of(value, self.parameters) for name, value in op.options.data.items()}
        groups = [
            (target, [as_taken(target, self.payload(value)) for value in values])
            for target, values in op.grouped_targets()
        ]
        before = {loop: loop.label for loop in self.loops()}
        results: list[list[Payload]] = [[] for _ in op.results]
        calls = list(_calls(groups)) if groups else [[function] for function in self.functions]
        snapshot = Snapshot(self.functions) if self._restores else None
        is_begun = False
        try:
            for targets in calls:
                returned = function_of(op.ROW)(*targets, **options)
                is_begun = True
                for found, more in zip(results, aligned(returned, len(op.results)), strict=True):
                    found += more
            self._check_marks()
        except NestorError:
            if snapshot is not None and is_begun:
                self._go_back_to(snapshot)
            raise
        self.payloads.update(zip(op.results, results, strict=True))
        self.name_handles(op)
        self._notice(op, before)

    def _check_marks(self) -> None:
        """Refuse a step after which what is marked has no code; the primitives themselves refuse marks that have none."""
        for function in self.functions:
            if (refusal := why_not_compiled(function)) is not None:
                raise refusal

    def _go_back_to(self, snapshot: Snapshot) -> None:
        """Undo what was done of a step that was refused."""
        copy_of = snapshot.restore()
        for handle, found in self.payloads.items():
            self.payloads[handle] = [copy_of.get(payload, payload) for payload in found]

    def name_handles(self, op: Operation) -> None:
        """Handles without a name are called like what they stand for."""
        for result in op.results:
            for payload in self.payloads[result]:
                if result.name_hint is None:
                    result.name_hint = name_hint_of(name_of(payload))

    def payload(self, handle: SSAValue) -> list[Payload]:
        """What a handle stands for. Raises the error that says which step consumed it."""
        found = self.payloads[handle]
        for payload in found:
            if (step := self._gone.get(payload)) is not None:
                name = payload.label if isinstance(payload, ForOp) else handle.name_hint
                owner = handle.owner if isinstance(handle.owner, Operation) else None
                raise fail(
                    owner,
                    f'the handle of "{name}" stands for nothing any more: {step} replaced it',
                    hint="go on with the handles that the step gave",
                )
        return found

    def _notice(self, op: Operation, before: dict[ForOp, str]) -> None:
        """Remember what the step made disappear."""
        step = f"step {self.steps}, `{text_of(op)}`,"
        now = {loop.label for loop in self.loops()}
        fresh = sorted(now - set(before.values()))
        for name in set(before.values()) - now:
            made = " by " + ", ".join(f'"{new}"' for new in fresh) if fresh else ""
            self._renamed[name] = f"{step} replaced it{made}"
        for payloads in self.payloads.values():
            for payload in payloads:
                if payload not in self._gone and not self._is_there(payload):
                    self._gone[payload] = step

    def _is_there(self, payload: Payload) -> bool:
        if isinstance(payload, SSAValue):
            owner = payload.owner
            payload = owner.parent_op() if isinstance(owner, Block) else owner
        return any(is_inside(payload, function) for function in self.functions)

    # ---- matching -----------------------------------------------------------------------------------

    def _match(self, op: MatchOp) -> None:
        if op.is_by_role:
            self._match_role(op)
            return
        if op.pattern is not None:
            found = match_pattern(self.loops(), op.pattern.data, op.wanted[0])
            if not found and op.optional is None:
                raise fail(op, f'no loop is {op.pattern.data} "{op.wanted[0]}"', hint=self._listing("loops"))
            self.payloads[op.results[0]] = list(found)
            self.name_handles(op)
            return
        for name, result in zip(op.wanted, op.results, strict=True):
            self.payloads[result] = self.find(op.kind.data, name, op, op.optional is not None)

    def _match_role(self, op: MatchOp) -> None:
        (name,), wants_loops = op.wanted, op.kind.data == "loops"
        found = [one for one in self.roles.get(name, ()) if isinstance(one, ForOp) == wants_loops]
        if not found and op.optional is None:
            known = ", ".join(self.roles) or "none"
            raise fail(op, f'no {op.kind.data} have the role "{name}"', hint=f"roles here: {known}")
        self.payloads[op.results[0]] = found
        self.name_handles(op)

    def find(self, kind: str, name: str, at: Operation | None, optional: bool = False) -> list[Payload]:
        """The loops, statements or buffers of a name; an error unless there is exactly one (or some statements)."""
        found = [payload for payload, label in self._named(kind) if label == name]
        if not found and kind == "buffers":
            found = self._of_same_name(name, self._named(kind))
        if not found and kind == "buffers":
            found = [view for view, label in self._views() if label == name]
            found = found or self._of_same_name(name, self._views())
        if len(found) == 1 or (found and kind == "statements") or (not found and optional):
            return found
        what = kind.removesuffix("s")
        if found:
            raise fail(
                found[0] if isinstance(found[0], Operation) else at,
                f'there are {len(found)} {kind} called "{name}"',
                hint="name the function that is meant: schedule.sequence @s for @f",
            )
        because = f": {self._renamed[name]}" if kind == "loops" and name in self._renamed else ""
        raise fail(at or self.functions[0], f'unknown {what} "{name}"{because}', hint=self._listing(kind))

    def _of_same_name(self, name: str, named: Iterable[tuple[Payload, str]]) -> list[Payload]:
        """`y[1]` is the second buffer called `y` (one beside an argument, say); so is `y.1` where none is called that."""
        stem, _, number = name[:-1].rpartition("[") if name.endswith("]") else name.rpartition(".")
        alike = [payload for payload, label in named if label == stem]
        return alike[int(number) :][:1] if number.isdecimal() and len(self.functions) == 1 else []

    def name_to_match(self, payload: Payload) -> str:
        """A name by which `find` finds this loop, statement or buffer."""
        name = name_of(payload)
        if not isinstance(payload, SSAValue):
            return name
        labels = list(self._named("buffers"))
        if all(other is not payload for other, _ in labels):
            labels = list(self._views())
        alike = [other for other, label in labels if label == name]
        if len(alike) < 2 or payload not in alike:
            return name
        return f"{name}[{alike.index(payload)}]"

    def _views(self) -> Iterator[tuple[Payload, str]]:
        """The flat views of buffers, which have names of their own."""
        for function in self.functions:
            for view in flat_views_in(function):
                yield view, buffer_name(view)

    def _named(self, kind: str) -> Iterator[tuple[Payload, str]]:
        for function in self.functions:
            if kind == "loops":
                yield from ((loop, loop.label) for loop in loops_in(function))
            elif kind == "buffers":
                yield from ((buffer, buffer_name(buffer)) for buffer in buffers_in(function))
            else:
                yield from ((op, op.label.data) for op in statements_in(function) if op.label is not None)

    def _listing(self, kind: str) -> str:
        names = dict.fromkeys(label for _, label in self._named(kind) if label)
        return f"{kind} here: {', '.join(names) or 'none'}"

    # ---- errors -------------------------------------------------------------------------------------

    def _blame(self, op: Operation, error: NestorError) -> StepFailure:
        reason = error.diagnostic
        place = op_location(op)
        notes = list(reason.notes)
        if place is not None and place != reason.location:
            notes.append(Diagnostic("note", "this step of the schedule", place))
        return StepFailure(
            f"step {self.steps}, `{text_of(op)}`: {reason.message}",
            reason.location,
            hint=reason.hint,
            notes=notes,
        )


def text_of(op: Operation) -> str:
    """A step as text."""
    stream = StringIO()
    Printer(stream).print_op(op)
    return stream.getvalue().strip()


def as_taken(target: Target, payloads: list[Payload]) -> list[Payload]:
    """Payloads as a primitive takes them: an allocation that it replaces is given as the operation."""
    if not (target.consumed and target.kind == BUFFER):
        return payloads
    return [p.owner if isinstance(p.owner, AllocOp) else p for p in payloads]


def _calls(groups: Sequence[tuple[Any, list[list[Payload]]]]) -> Iterator[list[Any]]:
    """The calls that a step makes: one for each payload of a sole target, none where a handle is empty."""
    if len(groups) == 1 and not groups[0][0].variadic:
        yield from ([payload] for payload in groups[0][1][0])
    elif all(payloads for _, handles in groups for payloads in handles):
        arguments: list[Any] = []
        for target, handles in groups:
            if target.variadic:
                arguments.append([payload for payloads in handles for payload in payloads])
                continue
            if len(handles[0]) > 1:
                raise fail(
                    handles[0][0],
                    f"'{target.name}' stands for {len(handles[0])} {target.kind}s, one is expected",
                )
            arguments.append(handles[0][0])
        yield arguments


def aligned(returned: Any, count: int) -> list[list[Payload]]:
    """What a primitive returned as one list for each result."""
    if count == 0:
        return []
    if count == 1:
        return [_listed(returned)]
    parts = [_listed(part) for part in returned]
    return parts + [[]] * (count - len(parts))


def _listed(part: Any) -> list[Payload]:
    if part is None:
        return []
    if isinstance(part, list | tuple):
        return [payload for one in part for payload in _listed(one)]
    return [part.results[0]] if isinstance(part, AllocOp) else [part]


def kind_of(payload: Payload) -> str:
    """What a handle of `payload` is a handle of."""
    if isinstance(payload, ForOp):
        return LOOP
    return BUFFER if isinstance(payload, SSAValue) else STATEMENT


def name_of(payload: Payload) -> str:
    """What a loop, statement or buffer is called."""
    if isinstance(payload, SSAValue):
        return buffer_name(payload)
    label = payload.label
    return label if isinstance(label, str) else label.data if label is not None else "statement"
