"""Writing schedules down: step by step as the user asks for them, or as an automatic scheduler takes them.

    recorder = Recorder(function)
    (i,) = recorder.match("loops", "i")              %i = schedule.match loops ["i"]
    o, v = recorder.step("split", [i], factor=16, tail="mask")   %o, %v = schedule.split %i by 16 tail(mask)

Every step is applied as it is recorded; one that is refused is neither applied nor recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.nest import AllocOp
from ...dialects.nest.common import name_hint_of
from ...dialects.schedule.ops import PRIMITIVE_OPS, MatchOp, PrimitiveOp, SequenceOp
from ...dialects.schedule.options import attribute_of
from ...dialects.schedule.table import BUFFER, LOOP, PRIMITIVES, Primitive
from ..nest.rewrite.steps import Steps
from .payload import Payload, State, StepFailure, aligned, kind_of, name_of

ROW_OF: dict[str, Primitive] = {row.function.partition(":")[2]: row for row in PRIMITIVES.values()}
"""The row of a primitive by the name of its Python function."""


class Recorder(Steps):
    """A schedule in the making, and the functions it is applied to meanwhile."""

    def __init__(
        self, functions: Sequence[FuncOp], name: str = "schedule", parameters: dict[str, int] | None = None
    ):
        target = functions[0].sym_name.data if len(functions) == 1 else None
        self.sequence = SequenceOp(name, target, parameters)
        self.state = State(functions, dict(parameters or {}))

    # ---- by handle ----------------------------------------------------------------------------------

    def match(
        self, kind: str, *names: str, pattern: str | None = None, optional: bool = False
    ) -> list[SSAValue]:
        """Record a match; its handles."""
        op = MatchOp(kind, names, pattern, optional)
        for name, result in zip(names, op.results, strict=False):
            result.name_hint = name_hint_of(name)
        return self._run(op)

    def step(self, name: str, targets: Sequence[SSAValue], **options: Any) -> list[SSAValue]:
        """Record and do the primitive called `name`; its handles."""
        attributes = {
            key: attribute_of(value)
            for key, value in options.items()
            if value is not None and value is not False
        }
        row = PRIMITIVES[name]
        for option in row.options:
            if options.get(option.name) == option.default:
                attributes.pop(option.name, None)
        return self._run(PRIMITIVE_OPS[name](targets, attributes))

    def _run(self, op: MatchOp | PrimitiveOp) -> list[SSAValue]:
        with self.undone_when_refused():
            for handle in op.operands:
                self.state.payload(handle)  # says which step consumed it
            self.sequence.body.block.add_op(op)
            try:
                op.verify()
            except VerifyException as error:
                raise StepFailure(
                    str(error).splitlines()[0], hint=f"docs/schedules.md says what {op.name} takes"
                ) from None
            self.state.run(op)
        return list(op.results)

    @contextmanager
    def undone_when_refused(self) -> Iterator[None]:
        """What is recorded meanwhile is dropped when a step is refused: nothing was done then."""
        last, steps = self.sequence.body.block.last_op, self.state.steps
        try:
            yield
        except Exception:
            while (op := self.sequence.body.block.last_op) is not last:
                assert op is not None
                for result in op.results:
                    self.state.payloads.pop(result, None)
                op.detach()
                op.erase()
            self.state.steps = steps
            raise

    # ---- by what they are done to -------------------------------------------------------------------

    def do(self, primitive: Callable[..., Any], *targets: Any, **options: Any) -> Any:
        """Do a primitive to loops themselves, and record it."""
        row = ROW_OF[primitive.__name__]
        handles = [self._handle(one) for target in targets for one in _listed(target)]
        returned = primitive(*targets, **options)
        self.done += 1
        self._record(row, handles, options, returned)
        return returned

    def _record(
        self, row: Primitive, handles: list[SSAValue], options: dict[str, Any], returned: Any
    ) -> None:
        known = {option.name: option.default for option in row.options}
        given = {
            name: attribute_of(value)
            for name, value in options.items()
            if name in known and value is not None and value != known[name]
        }
        op = PRIMITIVE_OPS[row.name](handles, given)
        self.sequence.body.block.add_op(op)
        found = aligned(returned, len(op.results))
        self.state.payloads.update(zip(op.results, found, strict=True))
        self.state.name_handles(op)

    def _handle(self, payload: Payload | AllocOp) -> SSAValue:
        """The handle that stands for just this loop or buffer; matched by name when there is none."""
        if isinstance(payload, AllocOp):
            payload = payload.memref
        for handle, payloads in reversed(self.state.payloads.items()):
            if len(payloads) == 1 and payloads[0] is payload and not _is_consumed(handle):
                return handle
        kind = {LOOP: "loops", BUFFER: "buffers"}[kind_of(payload)]
        op = MatchOp(kind, [self.state.name_to_match(payload)])
        op.results[0].name_hint = name_hint_of(name_of(payload))
        self.sequence.body.block.add_op(op)
        self.state.payloads[op.results[0]] = [payload]
        return op.results[0]


def _is_consumed(handle: SSAValue) -> bool:
    return any(
        isinstance(use.operation, PrimitiveOp) and handle in use.operation.consumed_handles()
        for use in handle.uses
    )


def _listed(target: Any) -> Sequence[Any]:
    return target if isinstance(target, list | tuple) else (target,)
