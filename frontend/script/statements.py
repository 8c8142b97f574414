"""Python statements: the table of all kinds; branches, returns, checks. See also `assignments.py` and `loops.py`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from ...dialects.diagnostic import NestorError
from ..control.structured import Step
from ..control.unbound_names import Unbind, unbind
from ..frame.frame import Frame, ReturnSignal
from ..frame.instances import delete_attribute
from ..frame.objects import current
from ..frame.recursion import evaluate, test
from ..interface.errors import Stopped, UnsupportedError
from ..interface.forwarders import is_text_made
from ..values.values import Closure, Exceptional, Group, Iteration, Static, Value
from .assignments import annotated, assign, augmented, delete_item


def execute(frame: Frame, statements: Sequence[ast.stmt]) -> None:
    for statement in statements:
        handler = _HANDLERS.get(type(statement))
        if handler is None:
            word = _WORDS.get(type(statement), type(statement).__name__.lower())
            frame.fail(statement, f"{word} is not supported in compiled code", _HINTS.get(type(statement)))
        try:
            handler(frame, statement)
        except NestorError as error:
            error.is_late = error.is_late or _is_late(frame, statement)
            if not isinstance(error, UnsupportedError):
                raise
            place = frame.graph.place
            # What has no place of its own is where the code stands.
            if error.diagnostic.location is None and not is_text_made(place.file):
                error.diagnostic.location = place
            raise


_CONDITIONAL = (ast.IfExp, ast.BoolOp, ast.comprehension)


def _is_late(frame: Frame, statement: ast.stmt) -> bool:
    """Whether what Python would see comes before the statement, or an error in it may be on some paths only."""
    if frame.graph.changes_given or not frame.graph.is_certain:
        return True
    own = statement.test if isinstance(statement, ast.If | ast.While) else statement
    return not isinstance(statement, ast.For) and any(isinstance(n, _CONDITIONAL) for n in ast.walk(own))


# ---- assignments ------------------------------------------------------------------------------------


# ---- control flow -----------------------------------------------------------------------------------


def _return(frame: Frame, node: ast.Return) -> None:
    value = Static(None) if node.value is None else evaluate(frame, node.value)
    frame.at(node)
    if isinstance(value, Iteration) and value.once and frame.source.node.name != "__iter__":
        frame.fail(node, "returning an iterator is not supported", "return a list of it: list(...)")
    raise ReturnSignal(current(frame, value))


def _if(frame: Frame, node: ast.If) -> None:
    from ..control.loops import branch
    from ..control.truth import truth

    condition = test(frame, node.test)
    frame.at(node)
    if not isinstance(condition, Static | Group):
        return branch(frame, node, condition, execute)
    execute(frame, node.body if truth(frame, node.test, condition) else node.orelse)


def _for(frame: Frame, node: ast.For) -> None:
    from ..control.loops import for_loop

    for_loop(frame, node, execute)


def _while(frame: Frame, node: ast.While) -> None:
    from ..control.loops import while_loop

    while_loop(frame, node, execute)


def _expression(frame: Frame, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):  # a docstring has no effect
        evaluate(frame, node.value)


def _pass(frame: Frame, node: ast.stmt) -> None:
    pass


def _assert(frame: Frame, node: ast.Assert) -> None:
    """`assert`: decided now where it can be, else checked when the program runs."""
    from ..control.truth import as_condition, truth
    from ..values.checks import check

    condition = test(frame, node.test)
    frame.at(node)
    known = isinstance(condition, Static | Group)
    if known and truth(frame, node.test, condition):
        return
    message = "" if node.msg is None else getattr(node.msg, "value", None)
    if not isinstance(message, str):
        return _assert_with(frame, node, condition)
    holds = Static(False) if known else as_condition(frame, node.test, condition)
    check(frame.graph, holds, "AssertionError", message)
    if known:
        raise Stopped


def _assert_with(frame: Frame, node: ast.Assert, condition: Value) -> None:
    """An `assert` with a message that is computed where it fails."""
    from ..control.loops import branch
    from .raising import stop

    def fail() -> None:
        assert node.msg is not None
        message = evaluate(frame, node.msg)
        frame.at(node)
        stop(frame, node, Exceptional(AssertionError, (message,)))

    if isinstance(condition, Static | Group):
        return fail()
    passed = ast.copy_location(ast.Pass(), node)
    branch(
        frame, ast.copy_location(ast.If(node.test, [passed], [Step(fail, node)]), node), condition, execute
    )


def _raise(frame: Frame, node: ast.Raise) -> None:
    from .raising import raise_

    raise_(frame, node)


def _define(frame: Frame, node: ast.FunctionDef) -> None:
    from .functions import define

    old = frame.variables.get(node.name)
    is_again = isinstance(old, Closure) and old.node is node
    if old is not None and not is_again and (frame.looping or frame.graph.island is not None):
        frame.fail(
            node, f"'{node.name}' has another value in the first iteration of the loop", "use another name"
        )
    frame.variables[node.name] = define(frame, node)
    frame.mark_bound(node.name)


def _delete(frame: Frame, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            delete_item(frame, target)
            continue
        if isinstance(target, ast.Attribute):
            delete_attribute(frame, target, evaluate(frame, target.value), target.attr)
            continue
        if not isinstance(target, ast.Name):
            frame.fail(target, "this target of del is not supported", "delete names, items and attributes")
        frame.lookup(target)
        if frame.mark_bound(target.id, False):
            continue
        del frame.variables[target.id]
        frame.scope.lost[target.id] = "it was deleted"


_WORDS: dict[type[ast.stmt], str] = {
    ast.With: "with",
    ast.Try: "try",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.ClassDef: "a class",
    ast.AsyncFor: "async for",
    ast.AsyncWith: "async with",
    ast.AsyncFunctionDef: "async def",
}
_CHECK_OUTSIDE = "compile the part that computes, and do this around the call"
_HINTS: dict[type[ast.stmt], str] = {
    ast.AsyncFunctionDef: "define it outside the compiled function; calls are inlined",
    ast.ClassDef: "define it outside the compiled function, and return arrays and tuples",
    ast.Try: _CHECK_OUTSIDE,
    ast.With: _CHECK_OUTSIDE,
    ast.Global: "return the value, and assign it where the function is called",
    ast.Nonlocal: "return the value, and assign it where the function is called",
    ast.Import: "import at the top of the module",
    ast.ImportFrom: "import at the top of the module",
}
_HANDLERS: dict[type[ast.stmt], Callable[[Frame, Any], None]] = {
    ast.Assign: assign,
    ast.AnnAssign: annotated,
    ast.AugAssign: augmented,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    Step: lambda frame, node: node.run(),
    Unbind: unbind,
    ast.Expr: _expression,
    ast.Pass: _pass,
    ast.Assert: _assert,
    ast.Raise: _raise,
    ast.Delete: _delete,
    ast.FunctionDef: _define,
}
