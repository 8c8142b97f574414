"""Loops and branches inside an island: nest.for, scf.while and nest.if over numbers and elements.

A variable that a loop changes and that had a value before lives in a buffer of rank 0 while the loop runs:

    s = 0.0                          %s = nest.alloc "s" : memref<f64>; store 0.0
    for i in range(n):               nest.for "i" %i = 0 to %n { %0 = nest.load %s[] ...
        s += x[i]                      nest.store "s" %1, %s[] }
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Region, SSAValue
from xdsl.traits import Pure

from ...dialects.nest import IfOp
from ..frame.frame import Frame
from ..frame.objects import is_ref, place_of, refuse_changes
from ..frame.recursion import test
from ..interface.errors import Stopped
from ..numpy_api.elements.selection import where
from ..values.arithmetic import as_weak, convert
from ..values.checks import opposite
from ..values.extents import Affine
from ..values.islands import Island
from ..values.names import ir_name, shown, written
from ..values.numbers import number_kind
from ..values.promotion import WEAK_DTYPES, Operand, result_dtype, same_operand, weak_result
from ..values.values import (
    UNBOUND,
    Array,
    Buffer,
    Group,
    Late,
    Lazy,
    Range,
    Scalar,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    flag_of,
    is_number,
    whole,
)
from . import slots
from .chosen_texts import Options, are_texts, is_options, number_among, of_number, options_of, select
from .chosen_texts import joined as joined_texts
from .facts import facts
from .joined_objects import unify
from .loop_variables import ONLY_INSIDE
from .same_values import is_same
from .sequences import trip_count
from .structured import RESULT, RETURNED, is_synthetic, read_after, stops_of, without
from .sweeps import ELEMENTS, NotElementwise, TypesDiffer, paths, sweeps
from .truth import as_condition

Execute = Callable[[Frame, Sequence[ast.stmt]], None]
Loop = ast.For | ast.While
Kind = Operand | Options
"""How a variable that a loop or branch changes takes part in promotion; of strings, those that it may be."""


@dataclass(eq=False)
class Carried:
    """A variable that a loop changes: its type while the loop runs, and its cell."""

    name: str
    kind: Kind
    cell: Array
    outside: bool

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self.kind)

    @property
    def final(self) -> Value:
        """Its value after the island."""
        assert self.cell.buffer.value is not None
        weak = self.kind if isinstance(self.kind, type) else int if is_options(self.kind) else None
        number = Tensor(self.cell.buffer.value, self.dtype, (), True, weak)
        return of_number(self.kind.texts, number) if is_options(self.kind) else number


Kinds = dict[str, Kind | None]
"""The types of the variables that a loop changes; None where it is not known yet (what a `return` will leave)."""


@dataclass(eq=False)
class _Turn:
    """What one attempt at a loop emits: `load` makes the variables' present values, `run` the body and its stores."""

    load: Callable[[], None]
    run: Callable[[], None]


def stops(frame: Frame, body: Sequence[ast.stmt], execute: Execute) -> bool:
    """Compile statements of a path of their own; whether it always ends in a `raise`."""
    try:
        execute(frame, body)
    except Stopped:
        return True
    return False


def nest_for(frame: Frame, node: ast.For, iterable: Range, bind: Callable[[Affine], None], execute: Execute):
    """A nest.for; `bind` gives the target its value. Returns the carried variables."""
    island = _island(frame)
    assert isinstance(node.target, ast.AST)

    def emit(turn: _Turn) -> None:
        with _counter(frame, island, iterable, _name_of(node)) as counter:
            bind(counter)
            turn.load()
            turn.run()

    return _loop(frame, node, execute, emit)


def nest_while(frame: Frame, node: ast.While, execute: Execute) -> list[Carried]:
    """A scf.while; returns the carried variables."""
    graph, island = frame.graph, _island(frame)
    condition = with_stops(node)

    def emit(turn: _Turn) -> None:
        before, after = Block(), Block()
        island.depth += 1
        with graph.inside(before), island.perhaps():
            turn.load()
            present = dict(frame.variables)
            holds = island.scalar(as_condition(frame, node.test, _test(frame, node, condition)), _BOOL)
            refuse_changes(frame, node.test, present, "in the condition of a loop")
            frame.at(node)
            graph.insert(scf.ConditionOp(holds))
        with graph.inside(after), island.perhaps():
            turn.load()
            turn.run()
            frame.at(node)
            graph.insert(scf.YieldOp())
        island.depth -= 1
        graph.insert(scf.WhileOp.create(regions=[Region(before), Region(after)]))

    return _loop(frame, node, execute, emit)


_BOOL = np.dtype(np.bool_)


def with_stops(node: ast.While) -> ast.expr:
    """The loop's condition, and that nothing has ended it."""
    stops = stops_of(node)
    if not stops:
        return node.test
    return ast.copy_location(ast.BoolOp(ast.And(), [without(stops, node), node.test]), node.test)


def _test(frame: Frame, node: ast.While, condition: ast.expr) -> Value:
    value = test(frame, condition)
    if isinstance(value, Static) and value.value and not stops_of(node):
        frame.fail(node, "this loop never ends", "its condition does not change")
    return value


def _name_of(node: ast.For) -> str:
    names = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
    return names[0].lstrip(".") if names else "i"


def _island(frame: Frame) -> Island:
    assert frame.graph.island is not None
    return frame.graph.island


# ---- what a loop carries ----------------------------------------------------------------------------


def _loop(frame: Frame, node: Loop, execute: Execute, emit: Callable[[_Turn], None]) -> list[Carried]:
    """Build the loop until the types of what it carries do not change any more (`sweeps.py`)."""
    graph, sweep = frame.graph, sweeps(frame.graph)
    before, found = dict(frame.variables), sweep.found
    kinds = _start(frame, node, found.kinds)
    while True:
        frame.scope.variables = dict(before)
        attempt = Block()
        finds, repeats, goes_on = sweep.finds, sweep.repeats, sweep.goes_on()
        try:
            with graph.inside(attempt), sweep.sweep(frame, ELEMENTS):
                carried, after = _attempt(frame, node, kinds, execute, emit)
        except NotElementwise as error:
            error.inside.append(place_of(frame, node))
            raise
        widened: Kinds = {**kinds}
        for name, kind in after.items():
            old = kinds.get(name)
            widened[name] = kind if old is None else join(frame, node, name, old, kind)
        more = [name for name, kind in widened.items() if not _same(kind, kinds.get(name))]
        if not more and sweep.finds == finds:
            break
        if not goes_on:
            names = [slots.owner_of(name) if slots.is_slot(name) else name for name in more]
            goes_on = sweep.is_of_its_own(frame, names, (), repeats)
            sweep.repeats += goes_on
        if more:
            found.kinds |= _lasting(before, widened)
            found.times += 1
        if not goes_on:
            sweep.finds += 1
            with graph.inside(attempt):
                carried = _as_found(frame, node, widened, before)
            break
        attempt.drop_all_references()
        kinds, sweep.finds = widened, finds
    for op in list(attempt.ops):
        op.detach()
        graph.block.add_op(op)
    _forget_body(frame, node, before, carried)
    return carried


def _start(frame: Frame, node: Loop, found: Mapping[Any, Kind | None]) -> Kinds:
    """The types to start from: those of the variables before the loop, as wide as they were `found` to be."""
    kinds: Kinds = {
        name: None if frame.variables[name] is UNBOUND else kind_of(frame, node, name)
        for name in changed_names(frame, node)
        if name in frame.variables
    }
    _refuse_arrays_in_objects(frame, node)
    if not found or sweeps(frame.graph).is_one_by_one:
        return kinds
    refs = {path: ref for ref, path in paths(frame.variables).items()}
    for place, kind in found.items():
        name = place
        if not isinstance(place, str):
            path, item = place
            content = frame.variables.get(refs.get(path, ""))
            if not isinstance(content, Group) or not item < len(content.items):
                continue
            name = slots.name_of(refs[path], item)
            kinds[name] = kind_of_value(frame, node, slots.title(frame, name), content.items[item])
        if name in kinds and kind is not None:
            now = kinds[name]
            with suppress(TypesDiffer):
                kinds[name] = kind if now is None else join(frame, node, name, now, kind)
    return kinds


def _refuse_arrays_in_objects(frame: Frame, node: Loop) -> None:
    """Raise where the body gives an attribute or item that is an array another value."""
    for owner, key in (one for statement in node.body for one in facts(statement).items):
        value = frame.variables.get(owner)
        content = frame.variables.get(value.ref or "", value) if isinstance(value, Group) else None
        if not isinstance(content, Group):
            continue
        keys = range(len(content.items)) if content.names is None else content.names
        if key in keys:
            item = content.items[keys.index(key)]
            if isinstance(item, Array) and item.axes:
                kind_of_value(frame, node, str(key), item)


def refuse_result(frame: Frame, node: ast.AST, value: Value) -> None:
    """Raise where a loop over elements returns what is no number: that is known before its end."""
    if sweeps(frame.graph).is_in_elements(frame) and value is not UNBOUND:
        kind_of_value(frame, node, RESULT, value)


def _lasting(before: dict[str, Value], kinds: Kinds) -> dict[Any, Kind | None]:
    """Types by names that hold in the next sweep."""
    shown, found = paths(before), dict[Any, Kind | None]()
    for name, kind in kinds.items():
        if not slots.is_slot(name):
            found[name] = kind
        elif (ref := slots.owner_of(name)) in shown:
            found[shown[ref], slots.place_of(name)] = kind
    return found


def _as_found(frame: Frame, node: Loop, kinds: Kinds, before: dict[str, Value]) -> list[Carried]:
    """What a loop leaves that carries more than it did in this sweep: another sweep follows."""
    island, after = _island(frame), frame.scope.variables
    frame.scope.variables = dict(before)
    carried = [_cell(frame, island, name, kind, node) for name, kind in kinds.items() if kind is not None]
    frame.scope.variables = after
    for one in carried:
        slots.put(frame, one.name, _present(island.load(one.cell, ()), one.kind))
    return carried


def _numbers_changed(
    frame: Frame, node: ast.AST, before: dict[str, Value]
) -> Iterator[tuple[str, Value, Value]]:
    """The numbers in objects that an iteration changes: what they were, and are. What else it changes of objects, the next
    iteration would find changed: that is refused."""
    for ref, names in slots.changed(before, frame.variables).items():
        value, now = before[ref], frame.variables.get(ref)
        if names is None:
            raise NotElementwise(
                f"{describe(value)} is changed in each iteration of this loop",
                frame.source.place(node),
                hint="write to elements of an array made before it",
            )
        assert isinstance(value, Group) and isinstance(now, Group)
        for name in names:
            place = slots.place_of(name)
            yield name, value.items[place], now.items[place]


def _same(a: Kind | None, b: Kind | None) -> bool:
    if a is None or b is None or is_options(a) or is_options(b):
        return a is b or (is_options(a) and is_options(b) and a == b)
    return same_operand(a, b)


def dtype_of(kind: Kind) -> np.dtype:
    """The type of a cell for a variable."""
    if is_options(kind):
        return WEAK_DTYPES[int]
    return WEAK_DTYPES[kind] if isinstance(kind, type) else kind


def number_for(frame: Frame, kind: Kind, value: Value) -> Value:
    """What is stored of a value in a cell."""
    if value is UNBOUND:
        return Static(dtype_of(kind).type(0))
    return number_among(frame, kind.texts, value) if is_options(kind) else value


def _present(ssa: SSAValue, kind: Kind) -> Value:
    """What a cell holds now."""
    if is_options(kind):
        return of_number(kind.texts, Scalar(ssa, WEAK_DTYPES[int], int))
    return Scalar(ssa, dtype_of(kind), kind if isinstance(kind, type) else None)


def _attempt(
    frame: Frame, node: Loop, kinds: Kinds, execute: Execute, emit: Callable[[_Turn], None]
) -> tuple[list[Carried], dict[str, Kind]]:
    """The loop, its carried variables having the types `kinds`; and the types they have after its body."""
    island = _island(frame)
    frame.at(node)
    carried = [_cell(frame, island, name, kind, node) for name, kind in kinds.items() if kind is not None]
    unknown = [name for name, kind in kinds.items() if kind is None]
    before = dict(frame.variables)
    objects = [name for name in before if is_ref(name)]
    start: dict[str, Value] = {}
    after: dict[str, Kind] = {}
    loaded: dict[str, Value] = {}

    def load() -> None:
        for one in carried:
            ssa = island.load(one.cell, ())
            ssa.name_hint = ir_name(slots.title(frame, one.name))
            loaded[one.name] = _present(ssa, one.kind)
            slots.put(frame, one.name, loaded[one.name])
        start.update(frame.variables)

    def run() -> None:
        if stops(frame, node.body, execute):  # there is no next iteration
            after.update({one.name: one.kind for one in carried})
            return
        for name, old, new in _numbers_changed(frame, node, {ref: start[ref] for ref in objects}):
            if name not in kinds:
                title = slots.title(frame, name)
                sides = [kind_of_value(frame, node, title, value) for value in (old, new)]
                after[name] = join(frame, node, title, *sides)
        for name in unknown:
            if frame.variables[name] is not UNBOUND:
                after[name] = kind_of(frame, node, name)
        for one in carried:
            value = (
                slots.get(frame, one.name) if one.name in frame.variables or slots.is_slot(one.name) else None
            )
            if value is None:
                frame.fail(
                    node, f"{shown(one.name)} has a value on some paths only", "give it one on every path"
                )
            if value is loaded[one.name]:
                after[one.name] = one.kind
                continue
            after[one.name] = kind_of_value(frame, node, slots.title(frame, one.name), value)
            if _same(join(frame, node, one.name, one.kind, after[one.name]), one.kind):
                frame.at(node)
                number = number_for(frame, one.kind, value)
                island.store(one.cell, (), island.scalar(number, one.dtype))

    with island.turns():
        emit(_Turn(load, run))
    for one in carried:
        if not one.outside:
            slots.put(frame, one.name, _present(island.load(one.cell, ()), one.kind))
    return carried, after


@contextmanager
def _counter(frame: Frame, island: Island, iterable: Range, name: str) -> Iterator[Affine]:
    """The nest.for of a range; a step down counts up and subtracts."""
    if iterable.step > 0:
        with island.loop(name, iterable.start, iterable.stop, iterable.step) as index:
            yield index
        return
    with island.loop(name, Affine(0), trip_count(frame, iterable)) as index:
        yield iterable.start + index * iterable.step


def _cell(frame: Frame, island: Island, name: str, kind: Kind, node: Loop) -> Carried:
    """A buffer of rank 0 with the present value of a variable: the island's own, or an operand when it is read later."""
    value, title = slots.get(frame, name), slots.title(frame, name)
    dtype = dtype_of(kind)
    value = number_for(frame, kind, value)
    outer = not isinstance(value, Scalar) and not island.depth and _read_later(frame, node, name)
    if outer:
        with frame.graph.at_function_level():
            tensor = convert(frame.graph, value, dtype)
        cell = whole(Buffer(tensor.ssa, dtype, (), title))
        return Carried(name, kind, cell, True)
    cell = whole(island.allocate(title.lstrip("."), dtype, ()))
    island.store(cell, (), island.scalar(value, dtype))
    return Carried(name, kind, cell, False)


def _read_later(frame: Frame, node: ast.AST, name: str) -> bool:
    if (
        name in (RESULT, RETURNED)
        or slots.is_slot(name)
        or name in frame.handed_on
        or frame.unrolling
        or frame.depth
    ):
        return True
    if is_synthetic(name):
        return name.startswith((ACCUMULATOR, flag_of(""))) or name in read_after(node)
    statements = [facts(statement) for statement in frame.source.node.body]
    if any(one.has_functions for one in statements):
        return True  # a function defined before may read it when it is called
    end = getattr(node, "end_lineno", None) or node.lineno  # pyright: ignore
    return any(one.last_lines.get(name, 0) > end for one in statements) or frame.looping > 0


def changed_names(frame: Frame, node: Loop) -> list[str]:
    """Names that the body assigns, in order. Augmented assignment to an array writes the array, not the name."""
    found = [facts(statement) for statement in node.body]
    names = dict.fromkeys(name for one in found for name in one.changed)
    rebound = frozenset[str]().union(*(one.rebound for one in found))
    return [n for n in names if not isinstance(frame.variables.get(n), Array) or n in rebound]


def kind_of(frame: Frame, node: ast.AST, name: str) -> Kind:
    """How the variable takes part in promotion; it must be a number or a string."""
    return kind_of_value(frame, node, name, frame.variables[name])


def kind_of_value(frame: Frame, node: ast.AST, name: str, value: Value) -> Kind:
    texts = options_of(value)
    if texts:
        return Options(texts)
    if not is_number(value) or isinstance(value, Array | Lazy) or extents_of(value):
        raise NotElementwise(
            f"{shown(name)} is {describe(value)}, and the loop gives it a new value in each iteration",
            frame.source.place(node),
            hint="in a loop over range variables are numbers; write to elements or slices of an array made before it",
        )
    return number_kind(frame.graph, value)


def join(frame: Frame, node: ast.AST, name: str, a: Kind, b: Kind) -> Kind:
    """The type of a variable that is `a` on one path and `b` on another."""
    if is_options(a) and is_options(b):
        return Options(joined_texts(a.texts, b.texts))
    if is_options(a) or is_options(b):
        kinds = ["a string" if is_options(k) else _kind_name(k) for k in (a, b)]
        frame.fail(
            node,
            f"{shown(name)} is {kinds[0]} on one path and {kinds[1]} on another",
            "keep the string and the number in two variables",
        )
    return join_numbers(frame, node, name, a, b)


def _kind_name(kind: Operand) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def join_numbers(frame: Frame, node: ast.AST, name: str, a: Operand, b: Operand) -> Operand:
    """The type of a number that is `a` on one path and `b` on another."""
    if same_operand(a, b):
        return a
    if isinstance(a, type) and isinstance(b, type):
        return weak_result((a, b))
    joined = result_dtype((a, b))
    strong = [k for k in (a, b) if isinstance(k, np.dtype)]
    if len(strong) == 1 and joined == strong[0]:
        return joined
    kinds = [_kind_name(k) for k in (a, b)]
    frame.fail(
        node,
        f"{shown(name)} is {kinds[0]} on one path and {kinds[1]} on another",
        f"start it with the type it ends with: {written(name)} = np.{joined}(...)",
        TypesDiffer,
    )


def _forget_body(frame: Frame, node: Loop, before: dict[str, Value], carried: Sequence[Carried]) -> None:
    """After a loop only what had a value before it has one: the body may not have run."""
    targets = (
        {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        if isinstance(node, ast.For)
        else set()
    )
    kept = {slots.owner_of(one.name) if slots.is_slot(one.name) else one.name for one in carried}
    for name in list(frame.variables):
        if name in kept or (name in before and name not in targets):
            if name not in kept:
                frame.variables[name] = before[name]
            continue
        del frame.variables[name]
        frame.scope.lost[name] = ONLY_INSIDE


# ---- branches ---------------------------------------------------------------------------------------


def nest_if(frame: Frame, node: ast.If, condition: Value, execute: Execute) -> None:
    """An `if` inside an island whose condition is known at run time: nest.if."""
    graph, island = frame.graph, _island(frame)
    holds = island.scalar(as_condition(frame, node.test, condition), _BOOL)
    assert holds.type == i1
    before = dict(frame.variables)
    sides: list[tuple[Block, dict[str, Value]]] = []
    for body in (node.body, node.orelse):
        frame.scope.variables = dict(before)
        block = Block()
        with graph.inside(block), island.perhaps(), sweeps(graph).perhaps():
            always = stops(frame, body, execute)
        sides.append((block, frame.scope.variables))
        if always:  # the other side and what follows are one path
            frame.at(node)
            frame.scope.variables = dict(before)
            is_first = len(sides) == 1
            _insert_if(frame, holds if is_first else opposite(graph, holds), block, Block())
            if not is_first:
                sides[0][0].drop_all_references()
            return execute(frame, node.orelse if is_first else node.body)
    frame.at(node)
    (then_block, then), (else_block, other) = sides
    unify(frame, then, other, before)
    joined = _joined_variables(frame, node, then, other, then_block, else_block)
    _insert_if(frame, holds, then_block, else_block)
    frame.scope.variables = {
        name: value
        for name, value in then.items()
        if other.get(name) is value or (is_ref(name) and name in other)
    }
    for name, (cell, kind) in joined.items():
        slots.put(frame, name, _loaded(island, cell, kind, slots.title(frame, name)))


def either_number(
    frame: Frame,
    node: ast.expr,
    condition: Value,
    then: Callable[[], Value],
    other: Callable[[], Value],
) -> Value:
    """A number that is one of two, of which only that one is computed: `a and b`, `x if c else y` in loops.

    Where computing both has no effects, both are, and one is selected.
    """
    graph, island = frame.graph, _island(frame)
    holds = island.scalar(as_condition(frame, node, condition), _BOOL)
    blocks = [Block(), Block()]
    values: list[Value] = []
    for block, compute in zip(blocks, (then, other), strict=True):
        value: Value | None = None
        with graph.inside(block), island.perhaps(), suppress(Stopped):
            value = compute()
        if value is None and block is blocks[0]:  # it always raises
            _insert_if(frame, holds, block, Block())
            return other()
        if value is None:
            blocks[0].drop_all_references()
            _insert_if(frame, opposite(graph, holds), block, Block())
            return then()
        values.append(value)
    frame.at(node)
    if all(op.has_trait(Pure) for block in blocks for op in block.ops):
        for block in blocks:
            for op in list(block.ops):
                op.detach()
                graph.block.add_op(op)
        if are_texts(values):
            return select(frame, as_condition(frame, node, condition), *values)
        _check_alike(frame, node, values)
        chosen = where(graph, as_condition(frame, node, condition), *values)
        if any(isinstance(value, Array) and value.axes for value in values):
            return _one_of(frame, chosen, values)
        weak = [k for k in (number_kind(graph, value) for value in values) if isinstance(k, type)]
        return as_weak(chosen, weak_result(tuple(weak)), None) if len(weak) == len(values) else chosen
    kinds = [kind_of_value(frame, node, "this value", value) for value in values]
    kind = join(frame, node, "this value", *kinds)
    dtype = dtype_of(kind)
    cell = whole(island.allocate("either", dtype, ()))
    for block, value in zip(blocks, values, strict=True):
        with graph.inside(block), island.perhaps():
            island.store(cell, (), island.scalar(number_for(frame, kind, value), dtype))
    _insert_if(frame, holds, *blocks)
    return _loaded(island, cell, kind, "")


def _check_alike(frame: Frame, node: ast.expr, values: Sequence[Value]) -> None:
    """Raise where one of two values is an array, and the other is none or has another shape or element type."""
    first, second = map(extents_of, values)
    if not first and not second:
        return
    kinds = [number_kind(frame.graph, value) for value in values]
    alike = len(first) == len(second) and all(a.equals(b) for a, b in zip(first, second, strict=True))
    if not alike or not same_operand(*kinds):
        frame.fail(
            node,
            f"this is {describe(values[0])} on one path and {describe(values[1])} on the other",
            "inside loops, give both the same shape and element type",
        )


def _one_of(frame: Frame, chosen: Value, values: Sequence[Value]) -> Array:
    """What one of two arrays holds now: good for reading as long as neither is written."""
    array = _island(frame).materialise(chosen, "either")
    for value in values:
        if not isinstance(value, Array):
            continue
        buffer = value.buffer
        array.buffer.borrowed = array.buffer.borrowed or buffer.borrowed or buffer.name or "another array"
        array.buffer.may_be(buffer.lenders or [buffer.origin or (buffer, buffer.age)])
    array.buffer.frozen = f"this array, which is '{array.buffer.borrowed}' on some paths only,"
    return array


def _insert_if(frame: Frame, holds: SSAValue, then: Block, other: Block) -> None:
    orelse = Region(other) if other.first_op is not None else None
    frame.graph.insert(IfOp(holds, Region(then), orelse))


def _loaded(island: Island, cell: Array, kind: Kind, name: str) -> Value:
    ssa = island.load(cell, ())
    ssa.name_hint = ir_name(name) or None
    return _present(ssa, kind)


def _joined_variables(
    frame: Frame,
    node: ast.If,
    then: dict[str, Value],
    other: dict[str, Value],
    then_block: Block,
    else_block: Block,
) -> dict[str, tuple[Array, Kind]]:
    """Cells for the numbers that the two sides leave different; each side stores its own."""
    graph, island = frame.graph, _island(frame)
    joined: dict[str, tuple[Array, Kind]] = {}

    def store(name: str, title: str, sides: Sequence[Value]) -> None:
        kinds = [kind_of_value(frame, node, title, value) for value in sides if value is not UNBOUND]
        kind = join(frame, node, title, kinds[0], kinds[-1])
        dtype = dtype_of(kind)
        cell = whole(island.allocate(title.lstrip("."), dtype, ()))
        for value, block in zip(sides, (then_block, else_block), strict=True):
            with graph.inside(block), island.perhaps():
                island.store(cell, (), island.scalar(number_for(frame, kind, value), dtype))
        joined[name] = (cell, kind)

    for name in {**then, **other}:
        if name not in then or name not in other:
            frame.scope.lost[name] = "it has a value on one side of an `if` only"
            continue
        if isinstance(then[name], Late) or isinstance(other[name], Late):
            if then[name] is not other[name]:
                frame.scope.lost[name] = ONLY_INSIDE
            continue
        if is_same(then[name], other[name]):
            other[name] = then[name]
            continue
        if not is_ref(name):
            store(name, name, [side[name] for side in (then, other)])
            continue
        contents = [side[name] for side in (then, other)]
        different = slots.different(name, *contents)
        if different is None:
            raise NotElementwise(
                f"{describe(contents[0])} is changed on one path of this branch",
                frame.source.place(node),
                hint="write to elements of an array made before the loop",
            )
        for one in different:
            place = slots.place_of(one)
            assert all(isinstance(content, Group) for content in contents)
            names = contents[0].names  # pyright: ignore
            title = str(names[place]) if names else "item"
            store(one, title, [content.items[place] for content in contents])  # pyright: ignore
    return joined


ACCUMULATOR = ".total"
