"""`for` and run-time `if`: loops over `range` become islands of nest.for, short loops over anything else are unrolled.

A variable that a loop changes and that had a value before lives in a buffer of rank 0 while the loop runs:

    s = 0.0                          %s = nest.alloc "s" : memref<f64>; store 0.0
    for i in range(n):               nest.for "i" %i = 0 to %n { %0 = nest.load %s[] ...
        s += x[i]                      nest.store "s" %1, %s[] }
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Region
from xdsl.ir.affine import AffineBinaryOpKind

from ..dialects.nest import IfOp
from .arithmetic import convert, index_value, number_kind
from .errors import Respecialise, UnsupportedError
from .extents import Affine
from .frame import Frame, ReturnSignal
from .islands import Island, open_island
from .promotion import WEAK_DTYPES, Operand, result_dtype, same_operand, weak_result
from .script_expr import as_condition, as_group, evaluate
from .source import ir_name
from .tensors import from_scalar
from .values import (
    Array,
    Buffer,
    Index,
    Lazy,
    Range,
    Scalar,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    is_number,
    whole,
)

Execute = Callable[[Frame, Sequence[ast.stmt]], None]
MAX_UNROLL = 64


class NotElementwise(UnsupportedError):
    """A loop body that works on whole arrays, and so is no loop nest."""


def for_loop(frame: Frame, node: ast.For, execute: Execute) -> None:
    """`for target in iterable: body`."""
    if node.orelse:
        frame.fail(node.orelse[0], "else of a for loop is not supported")
    iterable = evaluate(frame, node.iter)
    frame.at(node)
    if not isinstance(iterable, Range):
        return _unroll(frame, node, _items(frame, node, iterable), execute)
    if not isinstance(node.target, ast.Name):
        frame.fail(node.target, "the target of a loop over range must be a name")
    if frame.graph.island is not None:
        _nest_loop(frame, node, iterable, execute)
        return
    variables, lost = dict(frame.variables), dict(frame.scope.lost)
    try:
        with open_island(frame.graph):
            carried = _nest_loop(frame, node, iterable, execute)
    except UnsupportedError as reason:
        count = _trip_count(frame, iterable).known
        if count is None or count > MAX_UNROLL:
            raise
        frame.scope.variables, frame.scope.lost = variables, lost
        values: list[Value] = [Static(iterable.start.constant + k * iterable.step) for k in range(count)]
        if iterable.start.known is None:
            raise reason
        try:
            return _unroll(frame, node, values, execute)
        except UnsupportedError:
            if isinstance(reason, NotElementwise):
                raise
            raise reason from None
    _leave_island(frame, carried)


def _items(frame: Frame, node: ast.For, iterable: Value) -> list[Value]:
    if isinstance(iterable, Array):
        from .views import subscript

        count = iterable.extents[0].known if iterable.axes else None
        if count is None:
            frame.fail(
                node.iter,
                "a loop over the rows of an array of unknown extent is not supported",
                "loop over range(len(x))",
            )
        if count > MAX_UNROLL:
            frame.fail(
                node.iter, f"a loop over {count} rows would be unrolled", "loop over range(len(x)) and index"
            )
        return [subscript(frame.graph, iterable, [Static(k)]) for k in range(count)]
    if isinstance(iterable, Static) and isinstance(iterable.value, range):
        return [Static(v) for v in iterable.value]
    return list(as_group(frame, node.iter, iterable).items)


def _unroll(frame: Frame, node: ast.For, items: Sequence[Value], execute: Execute) -> None:
    from .script_stmt import bind

    frame.unrolling += 1
    for item in items:
        bind(frame, node.target, item)
        execute(frame, node.body)
    frame.unrolling -= 1


# ---- loops of the nest ------------------------------------------------------------------------------


@dataclass(eq=False)
class Carried:
    """A variable that a loop changes: its type while the loop runs, and its cell."""

    name: str
    kind: Operand
    cell: Array
    outside: bool

    @property
    def dtype(self) -> np.dtype:
        return WEAK_DTYPES[self.kind] if isinstance(self.kind, type) else self.kind

    @property
    def weak(self) -> type | None:
        return self.kind if isinstance(self.kind, type) else None


def _nest_loop(frame: Frame, node: ast.For, iterable: Range, execute: Execute) -> list[Carried]:
    """A nest.for; returns the carried variables."""
    graph = frame.graph
    assert isinstance(node.target, ast.Name)
    kinds = {name: _kind(frame, node, name) for name in _changed(frame, node.body) if name in frame.variables}
    before = dict(frame.variables)
    while True:
        frame.scope.variables = dict(before)
        attempt = Block()
        with graph.inside(attempt):
            carried, after = _attempt(frame, node, iterable, kinds, execute)
        widened = {
            name: _join(frame, node, name, kinds[name], after[name]) for name in kinds if name in after
        }
        if all(same_operand(kind, kinds[name]) for name, kind in widened.items()):
            break
        attempt.drop_all_references()
        kinds = widened
    for op in list(attempt.ops):
        op.detach()
        graph.block.add_op(op)
    _forget_body(frame, node, before, carried)
    return carried


def _attempt(
    frame: Frame, node: ast.For, iterable: Range, kinds: dict[str, Operand], execute: Execute
) -> tuple[list[Carried], dict[str, Operand]]:
    """The loop, its carried variables having the types `kinds`; and the types they have after its body."""
    island = frame.graph.island
    assert island is not None and isinstance(node.target, ast.Name)
    frame.at(node)
    carried = [_cell(frame, island, name, kind, node) for name, kind in kinds.items()]
    with _counter(frame, island, iterable, node.target.id) as counter:
        frame.variables[node.target.id] = index_value(counter)
        loaded: dict[str, Value] = {}
        for one in carried:
            ssa = island.load(one.cell, ())
            ssa.name_hint = ir_name(one.name)
            loaded[one.name] = frame.variables[one.name] = Scalar(ssa, one.dtype, one.weak)
        execute(frame, node.body)
        after: dict[str, Operand] = {}
        for one in carried:
            value = frame.variables.get(one.name)
            if value is None:
                frame.fail(node, f"'{one.name}' has a value on some paths only", "give it one on every path")
            if value is loaded[one.name]:
                after[one.name] = one.kind
                continue
            after[one.name] = _kind(frame, node, one.name)
            if same_operand(_join(frame, node, one.name, one.kind, after[one.name]), one.kind):
                frame.at(node)
                island.store(one.cell, (), island.scalar(value, one.dtype))
    for one in carried:
        if not one.outside:
            frame.variables[one.name] = Scalar(island.load(one.cell, ()), one.dtype, one.weak)
    return carried, after


@contextmanager
def _counter(frame: Frame, island: Island, iterable: Range, name: str) -> Iterator[Affine]:
    """The nest.for of a range; a step down counts up and subtracts."""
    if iterable.step > 0:
        with island.loop(name, iterable.start, iterable.stop, iterable.step) as index:
            yield index
        return
    with island.loop(name, Affine(0), _trip_count(frame, iterable)) as index:
        yield iterable.start + index * iterable.step


def _trip_count(frame: Frame, iterable: Range) -> Affine:
    span = iterable.stop - iterable.start if iterable.step > 0 else iterable.start - iterable.stop
    step = abs(iterable.step)
    return frame.graph.assumptions.divided(AffineBinaryOpKind.FloorDiv, span + (step - 1), step)


def _cell(frame: Frame, island: Island, name: str, kind: Operand, node: ast.For) -> Carried:
    """A buffer of rank 0 with the present value of a variable: the island's own, or an operand when it is read later."""
    value = frame.variables[name]
    dtype = WEAK_DTYPES[kind] if isinstance(kind, type) else kind
    outer = not isinstance(value, Scalar) and not island.depth and _read_later(frame, node, name)
    if outer:
        with frame.graph.at_function_level():
            tensor = convert(frame.graph, value, dtype)
        cell = whole(Buffer(tensor.ssa, dtype, (), name))
        return Carried(name, kind, cell, True)
    cell = whole(island.allocate(name, dtype, ()))
    island.store(cell, (), island.scalar(value, dtype))
    return Carried(name, kind, cell, False)


def _read_later(frame: Frame, node: ast.For, name: str) -> bool:
    if frame.unrolling or frame.depth:
        return True
    end = node.end_lineno or node.lineno
    names = (n for n in ast.walk(frame.source.node) if isinstance(n, ast.Name) and n.id == name)
    return any(n.lineno > end for n in names)


def _changed(frame: Frame, body: Sequence[ast.stmt]) -> list[str]:
    """Names that statements assign, in order. Augmented assignment to an array writes the array, not the name."""
    names: dict[str, None] = {}
    for statement in body:
        for child in ast.walk(statement):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                names[child.id] = None
    return [n for n in names if not isinstance(frame.variables.get(n), Array) or _rebinds(body, n)]


def _rebinds(body: Sequence[ast.stmt], name: str) -> bool:
    augmented = {
        id(n.target)
        for s in body
        for n in ast.walk(s)
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) and id(n) not in augmented
        for s in body
        for n in ast.walk(s)
    )


def _kind(frame: Frame, node: ast.AST, name: str) -> Operand:
    """How the variable takes part in promotion; it must be a number."""
    value = frame.variables[name]
    if not is_number(value) or isinstance(value, Array | Lazy) or extents_of(value):
        raise NotElementwise(
            f"'{name}' is {describe(value)}, and the loop gives it a new value in each turn",
            frame.source.place(node),
            hint="in a loop over range variables are numbers; write to elements or slices of an array made before it",
        )
    return number_kind(frame.graph, value)


def _join(frame: Frame, node: ast.AST, name: str, a: Operand, b: Operand) -> Operand:
    """The type of a variable that is `a` on one path and `b` on another."""
    if same_operand(a, b):
        return a
    if isinstance(a, type) and isinstance(b, type):
        return weak_result((a, b))
    joined = result_dtype((a, b))
    strong = [k for k in (a, b) if isinstance(k, np.dtype)]
    if len(strong) == 1 and joined == strong[0]:
        return joined
    shown = [k.__name__ if isinstance(k, type) else str(k) for k in (a, b)]
    frame.fail(
        node,
        f"'{name}' is {shown[0]} on one path and {shown[1]} on another",
        f"start it with the type it ends with: {name} = np.{joined}(...)",
    )


def _forget_body(frame: Frame, node: ast.For, before: dict[str, Value], carried: Sequence[Carried]) -> None:
    """After a loop only what had a value before it has one: the body may not have run."""
    assert isinstance(node.target, ast.Name)
    kept = {one.name for one in carried}
    for name in list(frame.variables):
        if name in kept or (name in before and name != node.target.id):
            if name not in kept:
                frame.variables[name] = before[name]
            continue
        del frame.variables[name]
        frame.scope.lost[name] = "it has a value only while the loop runs"


def _leave_island(frame: Frame, carried: Sequence[Carried]) -> None:
    """Variables that a finished island changed have their final values; others of its numbers are gone."""
    results = {one.name: one for one in carried}
    for name, value in list(frame.variables.items()):
        one = results.get(name)
        if one is not None and one.outside:
            assert one.cell.buffer.value is not None
            frame.variables[name] = Tensor(one.cell.buffer.value, one.dtype, (), True, one.weak)
        elif (
            isinstance(value, Scalar | Lazy)
            or (isinstance(value, Array) and value.buffer.local is not None)
            or one
        ):
            del frame.variables[name]
            frame.scope.lost[name] = "its value was computed inside a loop"


# ---- branches ---------------------------------------------------------------------------------------


def branch(frame: Frame, node: ast.If, condition: Value, execute: Execute) -> None:
    """An `if` inside an island whose condition is known at run time: nest.if."""
    graph, island = frame.graph, frame.graph.island
    assert island is not None
    test = island.scalar(as_condition(frame, node.test, condition), np.dtype(np.bool_))
    assert test.type == i1
    before = dict(frame.variables)
    sides: list[tuple[Block, dict[str, Value]]] = []
    for body in (node.body, node.orelse):
        frame.scope.variables = dict(before)
        block = Block()
        with graph.inside(block):
            try:
                execute(frame, body)
            except ReturnSignal:
                frame.fail(node, "return inside a loop is not supported")
        sides.append((block, frame.scope.variables))
    frame.at(node)
    (then_block, then), (else_block, other) = sides
    joined = _joined_variables(frame, node, then, other, then_block, else_block)
    else_region = Region(else_block) if else_block.first_op is not None else None
    graph.insert(IfOp(test, Region(then_block), else_region))
    frame.scope.variables = {name: value for name, value in then.items() if other.get(name) is value}
    for name, (cell, kind) in joined.items():
        dtype = WEAK_DTYPES[kind] if isinstance(kind, type) else kind
        ssa = island.load(cell, ())
        ssa.name_hint = ir_name(name)
        frame.variables[name] = Scalar(ssa, dtype, kind if isinstance(kind, type) else None)


def _joined_variables(
    frame: Frame,
    node: ast.If,
    then: dict[str, Value],
    other: dict[str, Value],
    then_block: Block,
    else_block: Block,
) -> dict[str, tuple[Array, Operand]]:
    """Cells for the numbers that the two sides leave different; each side stores its own."""
    graph, island = frame.graph, frame.graph.island
    assert island is not None
    joined: dict[str, tuple[Array, Operand]] = {}
    for name in {**then, **other}:
        if name not in then or name not in other:
            frame.scope.lost[name] = "it has a value on one side of an `if` only"
            continue
        if then[name] is other[name] or then[name] == other[name]:
            other[name] = then[name]
            continue
        kinds: list[Operand] = []
        for side in (then, other):
            frame.scope.variables = side
            kinds.append(_kind(frame, node, name))
        kind = _join(frame, node, name, kinds[0], kinds[1])
        dtype = WEAK_DTYPES[kind] if isinstance(kind, type) else kind
        cell = whole(island.allocate(name, dtype, ()))
        for side, block in ((then, then_block), (other, else_block)):
            with graph.inside(block):
                island.store(cell, (), island.scalar(side[name], dtype))
        joined[name] = (cell, kind)
    return joined


__all__ = ["Index", "Respecialise", "branch", "for_loop", "from_scalar"]
