"""nest-schedule-own: the schedules that operations of the user's have (`nt.custom_op(schedule=...)`), on their nests.

    module attributes {nestor.own_schedules = {"blur#1" = {cpu = "schedule.sequence @cpu { ... }"}}} {
      func.func @f(...) {
        nest.for "i" ... { ... }                       // of others
        nest.for "i.1" ... { nest.for "j.1" ... }      // every statement of it is of blur#1, its location says
      }
    }
  becomes
        nest.for "i" ... { ... }
        nest.for "i.1" ... parallel { nest.for "j.1.o" ... { nest.for "j.1.i" ... vectorized } }

The schedule names loops as they are where the decomposition is compiled by itself: "i" stands for "i.1" here. Where a
statement of others is in the same loops, or a step is refused, all stays as it was and a remark says so: the automatic
schedule, which runs next and leaves alone what is scheduled, decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, NameLoc, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...analysis.nest.buffers import buffer_name, buffers_in
from ...analysis.nest.loop_structure import enclosing_loops, functions, is_inside, loops_in
from ...dialects.attributes import NT_BACKWARD, OWN_SCHEDULES, SCHEDULED_OP
from ...dialects.diagnostic import NestorError, fail
from ...dialects.nest import AccumulateOp, ForOp, StoreOp
from ...dialects.parse import parse_module
from ...dialects.remarks import remark
from ...dialects.schedule.ops import MatchOp
from ...lowering.nt_to_nest.buffers import COPY
from .apply_schedule import sequences_in
from .match import statements_in
from .payload import Payload, State
from .snapshot import Snapshot


@dataclass(frozen=True)
class NestScheduleOwnPass(ModulePass):
    """Schedule the nests of operations of the user's as they say for the `target`, "cpu" or "cuda"."""

    name = "nest-schedule-own"

    target: str = "cpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        schedules = op.attributes.get(OWN_SCHEDULES)
        if not isinstance(schedules, DictionaryAttr):
            return
        for name, texts in schedules.data.items():
            assert isinstance(texts, DictionaryAttr)
            text = texts.data.get(self.target)
            if isinstance(text, StringAttr):
                _schedule(op, name, text.data)


def _schedule(module: ModuleOp, name: str, text: str) -> None:
    found = [one for one in functions(module) if _own(one, name)]
    shown = name.partition("#")[0]
    if not found:
        remark(module, f"the schedule of {shown} is not used: no loops are left of its decomposition")
    for function in found:
        reason = _why_not(function, name, text)
        if reason is not None:
            said = reason.diagnostic
            message = f"the schedule of {shown} is not used: {said.message}"
            remark(_own(function, name)[0], message, hint=said.hint)


def _why_not(function: FuncOp, name: str, text: str) -> NestorError | None:
    """Do what a schedule says to the nests of an operation; why that is not done, where it is not."""
    own = _own(function, name)
    nests = {outermost: None for s in own if isinstance(outermost := [s, *enclosing_loops(s)][-1], ForOp)}
    for statement in (s for nest in nests for s in _statements(nest)):
        if marks_of(statement) != {name}:
            return fail(
                statement,
                "its loops are those of other operations, too",
                hint="what stands beside it is fused with it, which saves memory traffic; products and scans are not",
            )
    if not nests:
        return fail(own[0], "its decomposition has no loops here")
    snapshot = Snapshot([function])
    state = _OwnState(function, name)
    try:
        for sequence in sequences_in(parse_module(text, f"<schedule of {name.partition('#')[0]}>")):
            state.parameters = dict(sequence.parameters)
            for op in sequence.body.block.ops:
                state.run(op)
    except NestorError as refusal:
        snapshot.restore()
        return refusal
    return None


def marks_of(op: Operation) -> frozenset[str | None]:
    """The operations of the user's that an operation is part of; None is among them for others."""
    return frozenset(_marks(op.location))  # pyright: ignore


def _marks(location: object) -> Iterator[str | None]:
    members = getattr(location, "locations", None)
    if members is not None:
        for member in getattr(members, "data", members):
            yield from _marks(member)
        return
    if not isinstance(location, NameLoc):
        yield None
        return
    kind, _, name = location.desc.data.partition(" ")
    if kind == SCHEDULED_OP:
        yield name
    elif kind == NT_BACKWARD:
        yield None
    else:
        yield from _marks(location.location)


def _own(function: FuncOp, name: str) -> list[StoreOp | AccumulateOp]:
    """The statements of an operation. Copies are the program's, which keeps apart what is in one buffer."""
    return [
        s
        for s in statements_in(function)
        if name in marks_of(s) and (s.label is None or s.label.data != COPY)
    ]


def _statements(nest: ForOp) -> Iterator[Operation]:
    function = next(one for one in _ancestors(nest) if isinstance(one, FuncOp))
    return (s for s in statements_in(function) if is_inside(s, nest))


def _ancestors(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


class _OwnState(State):
    """A schedule applied to the nests of one operation, in a function that has others."""

    def __init__(self, function: FuncOp, name: str):
        super().__init__([function], {})
        self._own = name
        self._plain = {kind: _plain_names([label for _, label in self._labels(kind)]) for kind in _KINDS}

    def loops(self) -> list[ForOp]:
        """The loops around statements of the operation."""
        return [loop for loop, _ in self._labels("loops") if isinstance(loop, ForOp)]

    def run(self, op: Operation) -> None:
        """Do one step. Raises what it is refused with."""
        if not op.operands and not isinstance(op, MatchOp):
            raise fail(op, f"'{op.name}' is a step on whole functions", hint="leave it to the program")
        super().run(op)

    def _labels(self, kind: str) -> Iterator[tuple[Payload, str]]:
        (function,) = self.functions
        own = _own(function, self._own)
        around = {loop for s in own for loop in enclosing_loops(s)}
        if kind == "loops":
            yield from ((loop, loop.label) for loop in loops_in(function) if loop in around)
        elif kind == "statements":
            yield from ((s, s.label.data) for s in own if s.label is not None)
        else:
            for buffer in buffers_in(function):
                if any(use.operation in own or around & {*_ancestors(use.operation)} for use in buffer.uses):
                    yield buffer, buffer_name(buffer)

    def _named(self, kind: str) -> Iterator[tuple[Payload, str]]:
        for payload, label in self._labels(kind):
            yield payload, _plain(label, self._plain.get(kind, {}))


_KINDS = ("loops", "buffers")


def _plain_names(labels: Sequence[str]) -> dict[str, str]:
    """The names that loops or buffers have where there are no others: "i.3", "i.4" are "i", "i.1"."""
    found: dict[str, str] = {}
    for label in labels:
        base = re.sub(r"(\.\d+)+$", "", label)
        name, k = base, 0
        while name in found.values():
            k += 1
            name = f"{base}.{k}"
        found[label] = name
    return found


def _plain(label: str, names: dict[str, str]) -> str:
    """The same of what steps have made of one of them: "i.3.o" is "i.o"."""
    for known in sorted(names, key=len, reverse=True):
        if label == known or label.startswith(f"{known}."):
            return names[known] + label[len(known) :]
    return label
