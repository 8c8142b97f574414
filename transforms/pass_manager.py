"""Running passes: anchors to operations, verification and instruments around each pass.

`opt-tool` and `nt.jit` run their pipelines here; `pipelines.py` has them by name. Anchored pipelines, `func.func(cse)`,
run on every operation of that name directly inside the enclosing anchor. Passes are module passes, so such an operation
is moved into a module of its own (with the attributes of the enclosing module) while its pipeline runs, and back to its
place afterwards, together with whatever the pass put beside it. That is sound for operations isolated from above, and
refused for others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import DiagnosticException

from ..analysis.machine import UnknownMachine
from ..dialects.diagnostic import Diagnostic, NestorError, PassFailure, op_location

DEBUG = "rerun with --debug for the traceback"
"""What the user of opt-tool may do about a bug."""


class InternalFailure(NestorError):
    """Nestor itself is at fault: an exception that no pass raises on purpose. The cause is chained."""

    is_fault = True


class InvalidResult(PassFailure):
    """A pass left invalid IR behind. `errors` has every fault."""

    def __init__(self, pass_name: str, errors: list[Diagnostic]):
        blame = Diagnostic("note", f"the IR was valid before pass '{pass_name}', which broke it")
        super().__init__(errors[0].message, errors[0].location, notes=[*errors[0].notes, blame])
        self.errors = errors


class Step(Protocol):
    """What names a pass in a pipeline."""

    @property
    def name(self) -> str: ...


class Instrument(Protocol):
    """Watches passes run. `op` is the anchor: the module, or the operation of a nested pipeline."""

    def before_pass(self, element: Step, op: Operation) -> None: ...
    def after_pass(self, element: Step, op: Operation) -> None: ...
    def pass_failed(self, element: Step, op: Operation) -> None: ...


@dataclass(frozen=True)
class PassNode:
    """A pass with its options bound."""

    element: Step
    module_pass: ModulePass


@dataclass(frozen=True)
class AnchorNode:
    """A pipeline to be run on each operation called `anchor` (`any`: each isolated operation)."""

    anchor: str
    children: tuple[PassNode | AnchorNode, ...]


Node = PassNode | AnchorNode


class PassManager:
    """Runs passes over modules. Nodes are asked for one at a time: one may depend on what those before it have made."""

    def __init__(
        self,
        context: Context,
        instruments: Sequence[Instrument] = (),
        *,
        verify: bool = True,
        advice: str = DEBUG,
    ):
        self._context = context
        self._advice = advice
        self._instruments = instruments
        self._verify = verify

    def run(self, nodes: Iterable[Node], module: ModuleOp) -> None:
        """Apply `nodes` to `module` in place. Raises `NestorError` at the first failure."""
        for node in nodes:
            self._run_node(node, module)

    def _run_node(self, node: Node, op: Operation) -> list[Operation]:
        """Run one node on `op`; the operations that stand at its place afterwards."""
        if isinstance(node, PassNode):
            return self._run_pass(node, op)
        for target in _anchors(node.anchor, op):
            self._run_nodes(node.children, target)
        return [op]

    def _run_nodes(self, nodes: Iterable[Node], op: Operation) -> list[Operation]:
        current = [op]
        for node in nodes:
            current = [new for old in current for new in self._run_node(node, old)]
        return current

    def _run_pass(self, node: PassNode, op: Operation) -> list[Operation]:
        for instrument in self._instruments:
            instrument.before_pass(node.element, op)
        try:
            current = self._apply(node, op)
            self._check(node, current)
        except NestorError:
            for instrument in self._instruments:
                instrument.pass_failed(node.element, op)
            raise
        for instrument in self._instruments:
            for result in current:
                instrument.after_pass(node.element, result)
        return [result for result in current if result.name == op.name]

    def _apply(self, node: PassNode, op: Operation) -> list[Operation]:
        if isinstance(op, ModuleOp):
            self._call(node, op)
            return [op]
        return _in_own_module(op, lambda module: self._call(node, module))

    def _call(self, node: PassNode, module: ModuleOp) -> None:
        name = node.element.name
        try:
            node.module_pass.apply(self._context, module)
        except NestorError:
            raise
        except UnknownMachine as error:
            raise PassFailure(f"pass '{name}': {error}", op_location(module), hint=error.hint) from error
        except DiagnosticException as error:
            text = " ".join(str(error).split())
            raise PassFailure(f"pass '{name}' failed: {text}", op_location(module)) from error
        except RecursionError as error:
            raise PassFailure(
                f"the IR is nested too deeply for pass '{name}'", op_location(module)
            ) from error
        except Exception as error:
            author = _author(node.module_pass)
            raise internal_failure(f"pass {name}", error, module, author, self._advice) from error

    def _check(self, node: PassNode, ops: Iterable[Operation]) -> None:
        if not self._verify:
            return
        from ..dialects.verifier import verification_errors

        for op in ops:
            if errors := verification_errors(op):
                raise InvalidResult(node.element.name, errors)


def _author(module_pass: ModulePass) -> str:
    origin = type(module_pass).__module__.partition(".")[0]
    return {"xdsl": "xDSL", "nestor": "Nestor"}.get(origin, "the plugin")


def internal_failure(
    where: str,
    error: Exception,
    op: Operation | None = None,
    author: str = "Nestor",
    advice: str = DEBUG,
) -> InternalFailure:
    """What the user reads when the fault is ours."""
    text = " ".join(str(error).split()) or "no message"
    message = f"internal error in {where}: {type(error).__name__}: {text}"
    hint = f"this is a bug in {author}, {advice}"
    return InternalFailure(message, op_location(op) if op is not None else None, hint=hint)


def _anchors(anchor: str, parent: Operation) -> list[Operation]:
    children = [op for region in parent.regions for block in region.blocks for op in block.ops]
    if anchor == "any":
        return [op for op in children if op.has_trait(IsolatedFromAbove, value_if_unregistered=False)]
    targets = [op for op in children if op.name == anchor]
    for op in targets:
        if not op.has_trait(IsolatedFromAbove, value_if_unregistered=False):
            message = f"a pipeline cannot be anchored on '{op.name}': it is not isolated from above"
            raise PassFailure(message, op_location(op))
    return targets


def _in_own_module(op: Operation, action) -> list[Operation]:
    """Run `action` on a module that holds only `op`, then put what is in that module where `op` was."""
    block = op.parent
    assert block is not None
    following = op.next_op
    module = ModuleOp([], _module_attributes(op))
    module.location = op.location
    op.detach()
    module.body.block.add_op(op)
    try:
        action(module)
    finally:
        results = list(module.body.block.ops)
        for result in results:
            result.detach()
        if following is not None:
            block.insert_ops_before(results, following)
        else:
            block.add_ops(results)
    return results


def _module_attributes(op: Operation) -> dict:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, ModuleOp):
        parent = parent.parent_op()
    return dict(parent.attributes) if parent is not None else {}
