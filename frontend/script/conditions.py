"""What decides: truth values, `not`, `and`, `or`, and `a if c else b`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation
from xdsl.traits import Pure

from ...dialects.nest import IndexOp, LoadOp
from ..control.structured import Step
from ..control.truth import ON_SOME_PATHS, as_condition, decided, refuse_assignments, truth
from ..frame.frame import Frame
from ..frame.objects import current, refuse_changes
from ..frame.recursion import bind, evaluate, execute
from ..interface.errors import Stopped
from ..numpy_api.elements.selection import where
from ..numpy_api.families import FUNCTIONS
from ..values import arithmetic as arith
from ..values.arithmetic import index_value
from ..values.contents import as_tensor
from ..values.extents import Affine, Atom
from ..values.graph import Graph
from ..values.list_counts import counted, with_count
from ..values.promotion import same_operand
from ..values.selection import as_index
from ..values.tensors import to_scalar
from ..values.values import Group, Rows, Static, Value, describe, is_array, is_number


def negation(frame: Frame, node: ast.expr, operand: Value) -> Value:
    """`not operand`."""
    if isinstance(operand, Static | Group):
        return Static(not truth(frame, node, operand))
    condition = as_condition(frame, node, operand)
    result = arith.apply(frame.graph, np.logical_not, condition)
    return arith.as_weak(result, bool, arith.scalar_arguments([operand]))


def both(frame: Frame, node: ast.expr, a: Value, b: Value) -> Value:
    """Both of two comparisons: `a < b < c`."""
    if isinstance(a, Static):
        return b if a.value else a
    if isinstance(b, Static) and b.value is True:
        return a
    return _joined(frame, np.logical_and, as_condition(frame, node, a), as_condition(frame, node, b))


def _joined(frame: Frame, ufunc: np.ufunc, a: Value, b: Value) -> Value:
    """`a and b` as a truth value: NumPy's bool when both are, else Python's."""
    result = arith.apply(frame.graph, ufunc, a, b)
    if not any(isinstance(arith.number_kind(frame.graph, v), type) for v in (a, b)):
        return result
    return arith.as_weak(result, bool, arith.scalar_arguments([a, b]))


def test(frame: Frame, node: ast.expr) -> Value:
    """An expression of which only the truth matters: the condition of an `if`, the operand of `not`."""
    if isinstance(node, ast.BoolOp):
        return bool_op(frame, node, only_truth=True)
    return decided(frame, evaluate(frame, node))


def bool_op(frame: Frame, node: ast.BoolOp, only_truth: bool = False) -> Value:
    """`and`, `or`: on constants as Python; after a run-time value, what has effects or may fail is under a branch.

    Where more than the truth is wanted, the result is one of the operands: `n or 4`.
    """
    is_and = isinstance(node.op, ast.And)
    result: Value | None = None
    before = dict(frame.variables)
    for k, operand in enumerate(node.values):
        compute = partial(test if only_truth else evaluate, frame, operand)
        if result is None:
            before = dict(frame.variables)
            value = compute()
        else:
            refuse_assignments(frame, operand)
            value = without_effects(frame, compute, has_read=_reads_no_more(frame, node, k))
            if value is None:
                value = _skipping(frame, node, k, result, only_truth)
                refuse_changes(frame, node, before, ON_SOME_PATHS)
                return value
            refuse_changes(frame, operand, before, ON_SOME_PATHS)
        frame.at(node)
        if not only_truth and result is None and k == len(node.values) - 1:
            return value
        if not only_truth:
            _refuse_side(frame, operand, value)
        if isinstance(value, Static | Group) and (only_truth or result is None):
            if bool(truth(frame, operand, value)) != is_and and result is None:
                return value
            if k < len(node.values) - 1 or result is not None:
                if bool(truth(frame, operand, value)) == is_and:
                    continue
                if only_truth:
                    return Static(not is_and)
                frame.fail(operand, "a constant after a run-time condition in `and`/`or` is not supported")
            return value
        condition = as_condition(frame, operand, value)
        if result is None:
            result = condition
            continue
        if only_truth or _are_bool(frame, result, condition):
            result = _joined(frame, np.logical_and if is_and else np.logical_or, result, condition)
        else:
            result = _one_of(frame, result, condition, is_and)
    assert result is not None
    return result


def _refuse_side(frame: Frame, node: ast.expr, value: Value) -> None:
    """Of arrays and objects it must be known which one `and` or `or` gives."""
    if isinstance(value, Static | Group) or (is_number(value) and not is_array(value)):
        return
    as_condition(frame, node, value)
    hint = "write a conditional expression; np.logical_and and np.where work on elements"
    frame.fail(node, f"{describe(value)} as a side of `and` or `or` is not supported", hint)


def without_effects(frame: Frame, compute: Callable[[], Value], has_read: bool = False) -> Value | None:
    """What `compute` gives, where that has no effects and cannot fail: it does not matter whether Python computes it.

    Else None, and nothing is left of the attempt. `has_read`: the elements that it reads have been read just before.
    """
    graph = frame.graph
    block, before, checked, may_stop = Block(), dict(frame.variables), set(graph.checked), graph.may_stop
    value: Value | None = None
    inside = graph.tensors_inside if graph.island is None else graph.inside
    perhaps = nullcontext() if graph.island is None else graph.island.perhaps()
    with graph.journal() as written, inside(block), perhaps, suppress(Stopped):
        value = compute()
    if value is not None and not written and all(_is_free(graph, op, has_read) for op in block.ops):
        for op in list(block.ops):
            op.detach()
            graph.block.add_op(op)
        return value
    graph.restore(written)
    graph.give_up(block)
    frame.scope.variables = before
    graph.checked, graph.may_stop = checked, may_stop
    return None


def _is_free(graph: Graph, op: Operation, has_read: bool) -> bool:
    """Whether an operation may run where Python does not compute it."""
    if has_read and isinstance(op, IndexOp | LoadOp):
        return True
    if not op.has_trait(Pure):
        return False
    # Without checks, what reads at an index relies on it.
    return graph.boundscheck or not any(isinstance(v.type, TensorType) and v.type.shape for v in op.operands)


def _reads_no_more(frame: Frame, node: ast.BoolOp, k: int) -> bool:
    """Whether operand `k` reads elements that earlier ones have read in any case, if any."""
    inside = [n for operand in node.values[: k + 1] for n in ast.walk(operand)]
    if any(isinstance(n, ast.comprehension | ast.Lambda) for n in inside):
        return False  # one text is another element then
    calls = [n for n in ast.walk(node.values[k]) if isinstance(n, ast.Call)]
    if not all(_is_of_numbers(frame, call.func) for call in calls):
        return False
    read = {text for operand in node.values[:k] for text in _elements(operand, certain=True)}
    return read.issuperset(_elements(node.values[k]))


_OF_NUMBERS = frozenset((abs, min, max, float, int, bool, round))


def _is_of_numbers(frame: Frame, function: ast.expr) -> bool:
    """Whether a call reads no elements but those in its arguments."""
    if not all(isinstance(n, ast.Name | ast.Attribute | ast.Load) for n in ast.walk(function)):
        return False
    found = evaluate(frame, function)
    if not isinstance(found, Static):
        return False
    raw = found.raw
    return isinstance(raw, np.ufunc) or (callable(raw) and isinstance(raw, Hashable) and raw in _OF_NUMBERS)


def _elements(node: ast.expr | ast.keyword, certain: bool = False) -> Iterator[str]:
    """The subscripts in an expression, as text; `certain`: those that it reads in any case."""
    parts: Sequence[ast.AST] = list(ast.iter_child_nodes(node))
    if certain:
        match node:
            case ast.BoolOp():
                parts = node.values[:1]
            case ast.IfExp():
                parts = [node.test]
            case ast.Compare():
                parts = [node.left, node.comparators[0]]
    if isinstance(node, ast.Subscript):
        yield ast.dump(node)
    for part in parts:
        if isinstance(part, ast.expr | ast.keyword):
            yield from _elements(part, certain)


def _skipping(frame: Frame, node: ast.BoolOp, k: int, left: Value, only_truth: bool) -> Value:
    """`left and right`, the right side (the operands from `k`) computed only where Python computes it."""
    rest = node.values[k:]
    following = rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(node.op, rest), node)

    def right() -> Value:
        if not only_truth:
            return evaluate(frame, following)
        condition = as_condition(frame, following, test(frame, following))
        return arith.as_weak(arith.apply(frame.graph, np.not_equal, condition, Static(0)), bool, None)

    def known() -> Value:
        return Static(isinstance(node.op, ast.Or)) if only_truth else left

    sides = (right, known) if isinstance(node.op, ast.And) else (known, right)
    return either(frame, node, left, *sides)


def _are_bool(frame: Frame, *values: Value) -> bool:
    return all(arith.number_kind(frame.graph, v) in (bool, arith.BOOL) for v in values)


def _one_of(frame: Frame, a: Value, b: Value, is_and: bool) -> Value:
    """`a and b` (`a or b`) of numbers: the one that Python gives. Both must be of one type, unless they are baked in."""
    kinds = [arith.number_kind(frame.graph, v) for v in (a, b)]
    if not same_operand(kinds[0], kinds[1]):
        arith.require_static(frame.graph, a, "the left side of `and`/`or` between numbers of two types")
    chosen = where(frame.graph, a, b, a) if is_and else where(frame.graph, a, a, b)
    weak = kinds[0]
    return arith.as_weak(chosen, weak, arith.scalar_arguments([a, b])) if isinstance(weak, type) else chosen


_FALSE = Static(False)


def bool_(frame: Frame, node: ast.Call, x: Value = _FALSE) -> Value:
    """`bool(x)`."""
    value = decided(frame, x)
    if isinstance(value, Static | Group):
        return Static(truth(frame, node, value))
    return FUNCTIONS[bool](frame.graph, as_condition(frame, node, value))


def if_expression(frame: Frame, node: ast.IfExp) -> Value:
    condition = test(frame, node.test)
    if isinstance(condition, Static | Group):
        return evaluate(frame, node.body if truth(frame, node.test, condition) else node.orelse)
    if frame.graph.island is None:
        rows = _perhaps_empty(frame, node, condition)
        if rows is not None:
            return rows
        return either(
            frame, node, condition, partial(evaluate, frame, node.body), partial(evaluate, frame, node.orelse)
        )
    for side in (node.body, node.orelse):
        refuse_assignments(frame, side)
    sides = (lambda: evaluate(frame, node.body), lambda: evaluate(frame, node.orelse))
    before = dict(frame.variables)
    chosen = either(frame, node, condition, *sides)
    refuse_changes(frame, node, before, ON_SOME_PATHS)
    return chosen


def _perhaps_empty(frame: Frame, node: ast.IfExp, condition: Value) -> Value | None:
    """`xs if c else []` of a list that a loop has made: its items, or none of them; None for all else."""
    sides = [node.body, node.orelse]
    names = [side for side in sides if isinstance(side, ast.Name)]
    if len(names) != 1 or not any(isinstance(side, ast.List) and not side.elts for side in sides):
        return None
    rows = evaluate(frame, names[0])
    if not isinstance(rows, Rows) or rows.is_open or rows.ref is None:
        return None
    graph = frame.graph
    now = counted(graph, rows)
    holds = as_condition(frame, node.test, condition)
    numbers = [index_value(now.count) if side is names[0] else Static(0) for side in sides]
    number = to_scalar(graph, as_tensor(graph, where(graph, holds, *numbers)))
    count = Affine.of(Atom(as_index(graph, number), low=0, high=rows.buffer.extents[0]))
    graph.fixed_objects.setdefault(rows.ref, "may be another one's, on some paths only,")
    return replace(with_count(now, count), ref=None)


def either(
    frame: Frame, node: ast.expr, condition: Value, then: Callable[[], Value], other: Callable[[], Value]
) -> Value:
    """One of two values, of which only that one is computed."""
    if frame.graph.island is not None:
        from ..control.nest_loops import either_number

        return either_number(frame, node, condition, then, other)
    from ..control.loops import branch

    name = ast.copy_location(ast.Name(frame.graph.new_name(".chosen"), ast.Store()), node)

    def side(compute: Callable[[], Value]) -> ast.stmt:
        return Step(lambda: bind(frame, name, compute()), node)

    question = node.test if isinstance(node, ast.IfExp) else node
    statement = ast.copy_location(ast.If(question, [side(then)], [side(other)]), node)
    frame.at(node)
    branch(frame, statement, condition, execute)
    return current(frame, frame.variables.pop(name.id))


def every(frame: Frame, node: Any, conditions: Sequence[Value]) -> Value:
    """Whether all conditions, each a bool, hold."""
    return _all_joined(frame, node, conditions, True)


def some(frame: Frame, node: Any, conditions: Sequence[Value]) -> Value:
    """Whether one of the conditions, each a bool, holds."""
    return _all_joined(frame, node, conditions, False)


def _all_joined(frame: Frame, node: Any, conditions: Sequence[Value], is_all: bool) -> Value:
    result: Value | None = None
    for one in conditions:
        if isinstance(one, Static):
            if bool(one.value) is not is_all:
                return Static(not is_all)
            continue
        held = as_condition(frame, node, one)
        ufunc = np.logical_and if is_all else np.logical_or
        result = held if result is None else arith.apply(frame.graph, ufunc, result, held)
    if result is None:
        return Static(is_all)
    return arith.as_weak(result, bool, arith.scalar_arguments(list(conditions)))
