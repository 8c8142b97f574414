"""`for`, `while` and run-time `if`: which form each becomes.

* Inside an island, or when the body works on numbers and elements: loops of the nest (`nest_loops.py`).
* Short loops of constant length, and loops over tuples: unrolled.
* Else: control flow on whole arrays (`tensor_control.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from copy import copy

from ...analysis.tensor.own_extents import reads_extents
from ..frame.frame import Frame
from ..frame.objects import is_ref, place_of
from ..frame.recursion import bind, evaluate, test
from ..indexing.subscripts import subscript
from ..interface.errors import ListGrows, UnsupportedError
from ..values.arithmetic import index_value
from ..values.contents import as_view
from ..values.extents import Affine
from ..values.islands import open_island
from ..values.selection import settled
from ..values.values import (
    Array,
    Chosen,
    Group,
    Iteration,
    Late,
    Lazy,
    Masked,
    Range,
    Rows,
    Scalar,
    Static,
    Tensor,
    Value,
    is_number,
)
from . import slots
from .attempts import attempt
from .facts import facts
from .grown_lists import grows, with_grown_lists
from .loop_variables import forget, kept_name, left_by
from .nest_loops import Carried, Execute, nest_for, nest_if, nest_while, with_stops
from .sequences import sequence, trip_count
from .structured import ELSE, STOPS, Step, read_after, stops_of, without
from .sweeps import NotElementwise, TypesDiffer, is_premature, sweeps
from .tensor_control import tensor_for, tensor_if, tensor_while
from .truth import refuse_assignments, truth

COUNTED = "nestor_counted"
"""The attribute of a `while` that is a counted loop: of how many iterations is known by then."""

MAX_UNROLL = 64
"""Maximum number of iterations to unroll where a loop cannot stay a loop."""

SMALL = 8
"""Up to this many iterations are unrolled where the body works on whole arrays."""


def for_loop(frame: Frame, node: ast.For, execute: Execute) -> None:
    """`for target in iterable: body`."""
    with sweeps(frame.graph).loop(frame, node):
        _perhaps_growing(frame, node, lambda: _for_loop(frame, node, execute))


def _perhaps_growing(frame: Frame, node: ast.For | ast.While | ast.If, run: Callable[[], None]) -> None:
    """Compile a loop or branch; where it appends to lists as often as only the run knows, with room for them."""
    sweep = sweeps(frame.graph)
    refs = [ref for ref in grows(frame, node) if not sweep.is_left_to_others(ref)]
    if not refs:
        return run()
    found = None
    try:
        with sweep.growing(refs), suppress(UnsupportedError), attempt(frame):
            return run()
    except ListGrows as first:
        if first.ref not in refs:
            raise
        found = first
    if found is None:
        return with_grown_lists(frame, node, refs, run)
    with suppress(UnsupportedError), attempt(frame):
        return with_grown_lists(frame, node, refs, run, found)
    with sweep.growing(
        None
    ):  # refused with room: it may be unrolled, for a number of iterations that is compiled in
        with suppress(UnsupportedError), attempt(frame):
            return run()
        return with_grown_lists(frame, node, refs, run)


def _for_loop(frame: Frame, node: ast.For, execute: Execute) -> None:
    first = len(frame.graph.sequences)
    iterable = evaluate(frame, node.iter)
    if isinstance(iterable, Masked):
        iterable = settled(frame.graph, iterable)
    frame.at(node)
    counted = _counted(frame, iterable)
    if counted is None:
        items = sequence(frame, node.iter, iterable)
        assert items.count.known is not None
        with frame.graph.counting(items.count):
            return _unroll(frame, node, [_turn(items, k) for k in range(items.count.known)], execute)
    span, at = counted
    turns = trip_count(frame, span).known
    if turns is not None and turns <= 0:
        return
    is_range = not isinstance(iterable, Iteration | Array | Lazy | Tensor | Rows)
    with frame.graph.going_through(first), frame.graph.counting(trip_count(frame, span)):
        _counted_loop(frame, node, span, at, execute, is_range)


def _counted_loop(
    frame: Frame,
    node: ast.For,
    span: Range,
    at: Callable[[Value], Value],
    execute: Execute,
    is_range: bool,
) -> None:
    forget(frame, node.body if is_range else [node])
    if stops_of(node):
        return _ending_early(frame, node, span, at, execute, kept_name(frame, node) if is_range else None)
    late = left_by(frame, node, span, trip_count(frame, span)) if is_range else None
    _whole_loop(frame, node, span, at, execute)
    if late is not None:
        assert isinstance(node.target, ast.Name)
        frame.variables[node.target.id] = late


def _whole_loop(
    frame: Frame, node: ast.For, span: Range, at: Callable[[Value], Value], execute: Execute
) -> None:
    """A loop that nothing ends early."""
    bind = _binder(frame, node, at)
    items = _items(frame, span, at)
    sweeps(frame.graph).found.may_unroll = items is not None
    if frame.graph.island is not None:
        nest_for(frame, node, span, bind, execute)
        return
    _outside(
        frame,
        node,
        lambda: nest_for(frame, node, span, bind, execute),
        lambda: tensor_for(frame, node, span, bind, execute),
        items,
        execute,
    )


def _outside(
    frame: Frame,
    node: ast.For | ast.While,
    in_island: Callable[[], list[Carried]],
    on_tensors: Callable[[], None],
    items: Callable[[], list[Callable[[], Value]]] | None,
    execute: Execute,
) -> None:
    """A loop outside of islands: an island of its own where its body works on elements."""
    variables, lost, sweep = dict(frame.variables), dict(frame.scope.lost), sweeps(frame.graph)
    place = place_of(frame, node)

    def again() -> None:
        frame.scope.variables, frame.scope.lost = dict(variables), dict(lost)

    def on_elements() -> UnsupportedError | None:
        """A loop over elements; why it is none where it is not."""
        while True:
            finds = sweep.finds
            try:
                with open_island(frame.graph):
                    carried = in_island()
                _leave_island(frame, carried)
                return None
            except Exception as error:
                again()
                premature = is_premature(frame.graph, error, finds)
                sweep.finds = finds
                if isinstance(error, NotElementwise):
                    sweep.found.not_elementwise.update(dict.fromkeys(error.inside, error))
                if premature:
                    continue
                if isinstance(error, TypesDiffer) and not sweep.is_one_by_one:
                    with sweep.one_by_one():
                        return on_elements()
                if not isinstance(error, UnsupportedError):
                    raise
                return error

    known = sweep.why_not_elementwise(place)
    first = known or on_elements()
    if first is None:
        return
    turns = items() if items is not None else None
    if turns is not None and len(turns) <= SMALL and isinstance(node, ast.For):
        try:
            return _unroll_short(frame, node, turns, execute)
        except _OwnExtents:
            again()
        except UnsupportedError:
            raise first from None
    try:
        return on_tensors()
    except TypesDiffer as error:
        second = error
        if not sweep.is_one_by_one:
            if not sweep.is_outermost:
                raise
            again()
            with sweep.one_by_one():
                return _outside(frame, node, in_island, on_tensors, items, execute)
    except UnsupportedError as error:
        second = error
    again()
    try:
        if isinstance(node, ast.While):
            return _unroll_while(frame, node, execute)
        if turns is not None:
            return _unroll(frame, node, turns, execute)
    except UnsupportedError:
        pass
    again()
    if known is not None and place not in sweep.found.not_elementwise and on_elements() is None:
        return
    raise (second if isinstance(first, NotElementwise) else first) from None


class _OwnExtents(UnsupportedError):
    """The iterations of a loop have extents of their own, which they read from an array: it stays a loop."""


def _unroll_short(frame: Frame, node: ast.For, turns: list[Callable[[], Value]], execute: Execute) -> None:
    """Unroll a loop, but not one over sequences of different lengths: raises _OwnExtents, and nothing changed."""
    if len(turns) < 2 or not _has_slices(node):
        return _unroll(frame, node, turns, execute)
    with attempt(frame):
        block, before = frame.graph.block, len(frame.graph.block.ops)

        def checked(k: int) -> Callable[[], Value]:
            def item() -> Value:
                if k == 1 and reads_extents(list(block.ops)[before:]):
                    raise _OwnExtents("its iterations have extents of their own")
                return turns[k]()

            return item

        _unroll(frame, node, [checked(k) for k in range(len(turns))], execute)


def _has_slices(node: ast.For) -> bool:
    return any(
        isinstance(inner, ast.Slice) or (isinstance(inner, ast.Name) and inner.id == "slice")
        for inner in ast.walk(node)
    )


def _counted(frame: Frame, iterable: Value) -> tuple[Range, Callable[[Value], Value]] | None:
    """An iterable that is counted at run time: its range, and the item of a count; None for one that is unrolled."""
    if isinstance(iterable, Range):
        return iterable, lambda index: index
    if isinstance(iterable, Iteration) and iterable.unrolled:
        return None
    if isinstance(iterable, Iteration):
        return Range(Affine(0), iterable.count, 1), iterable.at
    if isinstance(iterable, Static) and isinstance(iterable.value, range):
        r = iterable.value
        return Range(Affine(r.start), Affine(r.stop), r.step), lambda index: index
    if isinstance(iterable, Rows):
        items = sequence(frame, frame.source.node, iterable)
        return Range(Affine(0), items.count, 1), items.at
    if isinstance(iterable, Array | Lazy | Tensor) and iterable.extents:
        array = as_view(frame.graph, iterable)
        rows = lambda index: subscript(frame.graph, array, [index])  # noqa: E731
        return Range(Affine(0), array.extents[0], 1), rows
    return None


def _turn(items: Iteration, k: int) -> Callable[[], Value]:
    return lambda: items.at(Static(k))


def _binder(frame: Frame, node: ast.For, at: Callable[[Value], Value]) -> Callable[[Affine], None]:
    """Gives the loop's target its value for a count."""
    return lambda counter: bind(frame, node.target, at(index_value(counter)))


def _items(
    frame: Frame, span: Range, at: Callable[[Value], Value]
) -> Callable[[], list[Callable[[], Value]]] | None:
    """The items of a loop that is short enough to unroll."""
    count = trip_count(frame, span).known
    if count is None or count > MAX_UNROLL or span.start.known is None:
        return None
    first = span.start.known

    def turn(k: int) -> Callable[[], Value]:
        return lambda: at(Static(first + k * span.step))

    return lambda: [turn(k) for k in range(count)]


def _unroll(frame: Frame, node: ast.For, items: Sequence[Callable[[], Value]], execute: Execute) -> None:
    """The body once an item, each made in its turn. After what may end the loop early, what follows is under a condition."""
    stops = stops_of(node)
    frame.unrolling += 1
    try:
        for k, item in enumerate(items):
            with sweeps(frame.graph).turn(frame, k):
                if not _unrolled(frame, node, item, stops, execute):
                    return
    finally:
        frame.unrolling -= 1


def _unrolled(
    frame: Frame, node: ast.For, item: Callable[[], Value], stops: Sequence[str], execute: Execute
) -> bool:
    """One iteration of a loop; False where it is known to have ended."""
    going = test(frame, without(stops, node)) if stops else Static(True)
    if not isinstance(going, Static):
        take = Step(_binding(frame, node, item), node)
        execute(frame, [ast.copy_location(ast.If(without(stops, node), [take, *node.body], []), node)])
        return True
    if going.value:
        bind(frame, node.target, item())
        execute(frame, node.body)
    return bool(going.value)


def _binding(frame: Frame, node: ast.For, item: Callable[[], Value]) -> Callable[[], None]:
    return lambda: bind(frame, node.target, item())


def _ending_early(
    frame: Frame,
    node: ast.For,
    span: Range,
    at: Callable[[Value], Value],
    execute: Execute,
    kept: str | None,
) -> None:
    """A counted loop that may end early: a `while` with a counter of its own. `kept` is a variable to know after it."""
    short = _items(frame, span, at)
    if short is not None and frame.graph.island is None and trip_count(frame, span).known in range(SMALL + 1):
        with suppress(UnsupportedError), attempt(frame):
            return _unroll(frame, node, short(), execute)
    before = frame.variables.get(kept) if kept is not None else None
    turns = trip_count(frame, span) if before is None or isinstance(before, Late) else None
    if kept is not None and turns is not None:
        frame.variables[kept] = index_value(span.start)
    counter, stop = f".count{node.lineno}.{node.col_offset}", f".stop{node.lineno}.{node.col_offset}"
    frame.variables[counter], frame.variables[stop] = index_value(span.start), index_value(span.stop)

    def name(text: str, context: ast.expr_context) -> ast.Name:
        return ast.copy_location(ast.Name(text, context), node)

    order = ast.Lt() if span.step > 0 else ast.Gt()
    condition = ast.Compare(name(counter, ast.Load()), [order], [name(stop, ast.Load())])
    following = ast.BinOp(name(counter, ast.Load()), ast.Add(), ast.Constant(span.step))
    advance = ast.Assign([name(counter, ast.Store())], following)
    take = Step(lambda: bind(frame, node.target, at(frame.variables[counter])), node)
    loop = ast.While(condition, [take, advance, *node.body], [])
    for made in (condition, following, following.right, advance, loop):
        ast.copy_location(made, node)
    setattr(loop, STOPS, stops_of(node))
    setattr(loop, COUNTED, True)
    setattr(loop, ELSE, read_after(node))
    while_loop(frame, loop, execute)
    for name_ in (counter, stop):
        frame.variables.pop(name_, None)
    if kept is not None and turns is not None and (turns.lower_bound() or 0) < 1 and kept in frame.variables:
        frame.variables[kept] = Late(frame.variables[kept], turns, before)


def while_loop(frame: Frame, node: ast.While, execute: Execute) -> None:
    """`while condition: body`."""
    counting = frame.graph.counting(None) if not hasattr(node, COUNTED) else nullcontext()
    with counting, sweeps(frame.graph).loop(frame, node):
        _perhaps_growing(frame, node, lambda: _while_loop(frame, node, execute))


def _while_loop(frame: Frame, node: ast.While, execute: Execute) -> None:
    frame.at(node)
    forget(frame, node.body)
    if facts(node.test).has_named:
        return _unroll_while(frame, node, execute)
    sweep, is_plain = sweeps(frame.graph), _is_plain(frame, node.test)
    if is_plain and sweep.varies:
        sweep.found.is_while = True
        return _at_run_time(frame, node, execute)
    value, changes, writes = _tried(frame, node.test)
    if changes:  # it is evaluated as often as Python does
        return _unroll_while(frame, node, execute)
    if writes and frame.graph.island is None:
        return _rotated(frame, node, execute)
    if isinstance(value, Static | Group) and not truth(frame, node.test, value):
        test(frame, node.test)  # once, as in Python: it may raise before it is known to be false
        return
    if isinstance(value, Group):
        return _unroll_while(frame, node, execute)
    sweep.found.is_while, sweep.found.may_unroll = True, isinstance(value, Static)
    sweep.varies = is_plain and not isinstance(value, Static)
    _at_run_time(frame, node, execute)


def _at_run_time(frame: Frame, node: ast.While, execute: Execute) -> None:
    """A `while` loop that the run decides on."""
    if frame.graph.island is not None:
        nest_while(frame, node, execute)
        return
    _outside(
        frame,
        node,
        lambda: nest_while(frame, node, execute),
        lambda: tensor_while(frame, node, execute),
        None,
        execute,
    )


_PLAIN = (
    ast.Name,
    ast.Constant,
    ast.Compare,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.expr_context,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
)


def _is_plain(frame: Frame, condition: ast.expr) -> bool:
    """Whether a condition is made of operators on numbers alone, which change nothing."""
    parts = list(ast.walk(condition))
    names = [frame.variables.get(part.id) for part in parts if isinstance(part, ast.Name)]
    return all(isinstance(part, _PLAIN) for part in parts) and all(
        v is not None and is_number(v) for v in names
    )


class _Tried(Exception):
    """Ends an attempt of which only the kind of the value is wanted."""


def _tried(frame: Frame, condition: ast.expr) -> tuple[Value, bool, bool]:
    """What a condition is before the loop, whether it changes an object, and whether it writes an array.

    Nothing of it remains: `while xs.pop() < 1`.
    """
    before = dict(frame.variables)
    value: Value = Static(None)
    changes = writes = False
    with suppress(_Tried), attempt(frame), frame.graph.journal() as written:
        value = test(frame, condition)
        changes = any(is_ref(name) and frame.variables.get(name) is not one for name, one in before.items())
        writes = bool(written)
        raise _Tried
    return value, changes, writes


def _rotated(frame: Frame, node: ast.While, execute: Execute) -> None:
    """A loop whose condition writes arrays: it is evaluated before the loop and at the end of each iteration.

    while step(x) < tol: body      ->      go = step(x) < tol
                                           while go: body; go = step(x) < tol
    """
    going = frame.graph.new_name(".going")

    def decide() -> ast.stmt:
        holds = ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), node.test))
        made = ast.Assign([ast.Name(going, ast.Store())], holds)
        return ast.fix_missing_locations(ast.copy_location(made, node.test))

    again = [decide()]
    if stops := stops_of(node):
        again = [ast.copy_location(ast.If(without(stops, node), again, []), node)]
    loop = copy(node)
    loop.test = ast.copy_location(ast.Name(going, ast.Load()), node.test)
    loop.body = [*node.body, *again]
    execute(frame, [decide()])
    _while_loop(frame, loop, execute)
    frame.variables.pop(going, None)


def _unroll_while(frame: Frame, node: ast.While, execute: Execute) -> None:
    """A loop whose condition is known at compile time in each iteration."""
    condition = with_stops(node)
    frame.unrolling += 1
    try:
        for k in range(MAX_UNROLL):
            value = test(frame, condition)
            if not isinstance(value, Static | Group):
                refuse_assignments(frame, node.test)
                frame.fail(
                    node,
                    "this loop's condition is known at run time only, and assigns or changes an object",
                    "do that in a statement of the body",
                )
            if not truth(frame, node.test, value):
                return
            with sweeps(frame.graph).turn(frame, k):
                execute(frame, node.body)
    finally:
        frame.unrolling -= 1
    frame.fail(node, f"this loop would be unrolled more than {MAX_UNROLL} times")


def _leave_island(frame: Frame, carried: Sequence[Carried]) -> None:
    """Variables that a finished island changed have their final values; others of its numbers are gone."""
    results = {one.name: one for one in carried}
    for one in carried:
        if slots.is_slot(one.name):
            assert one.outside
            slots.put(frame, one.name, one.final)
    for name, value in list(frame.variables.items()):
        one = results.get(name)
        if one is not None and one.outside:
            frame.variables[name] = one.final
        elif (
            isinstance(value, Scalar | Lazy)
            or (isinstance(value, Chosen) and isinstance(value.which, Scalar))
            or (isinstance(value, Array) and value.buffer.local is not None)
            or one
        ):
            del frame.variables[name]
            frame.scope.lost[name] = "its value was computed inside a loop"


def branch(frame: Frame, node: ast.If, condition: Value, execute: Execute) -> None:
    """An `if` whose condition is known at run time."""
    if frame.unrolling:  # the loop itself is compiled for a list that grows
        return _branch(frame, node, condition, execute)
    _perhaps_growing(frame, node, lambda: _branch(frame, node, condition, execute))


def _branch(frame: Frame, node: ast.If, condition: Value, execute: Execute) -> None:
    if frame.graph.island is not None:
        return nest_if(frame, node, condition, execute)
    if (
        isinstance(node.test, ast.Name | ast.UnaryOp)
        and isinstance(condition, Tensor)
        and condition.arguments
    ):
        truth(frame, node.test, condition)  # a flag: what it decides is decided at compile time
    variables, lost = dict(frame.variables), dict(frame.scope.lost)
    try:
        tensor_if(frame, node, condition, execute)
    except UnsupportedError:
        if not isinstance(condition, Tensor) or not condition.arguments:
            raise
        frame.scope.variables, frame.scope.lost = variables, lost
        truth(frame, node.test, condition)
