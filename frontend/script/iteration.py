"""What can be iterated over: zip, enumerate, reversed, map, filter, comprehensions and generator expressions.

Sequences whose length is known at compile time are lists of values. Those counted at run time (the rows of an array,
a range) stay a count and an item for each index, so that a loop over `zip(x, y)` is a loop over indices.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ...dialects.records import changed
from ..control.attempts import attempt
from ..control.nest_loops import ACCUMULATOR
from ..control.sequences import MAX_LISTED, count_of, listed, required, sequence
from ..control.structured import rewrite
from ..control.truth import truth
from ..frame.frame import Frame
from ..frame.objects import key_of, refuse_changes, share
from ..frame.recursion import bind, call, evaluate, execute, test
from ..interface.errors import DTypeError, ShapeError, UnsupportedError
from ..numpy_api.families import FUNCTIONS
from ..values.arithmetic import index_value, operate, require_static
from ..values.equal_extents import require_equal
from ..values.extents import Affine
from ..values.numbers import number_kind
from ..values.values import Group, Iteration, Range, Rows, Static, Value, describe, extents_of

_FALSE = Static(False)
_ZERO = Static(0)


# ---- builtins ---------------------------------------------------------------------------------------


def zip_(frame: Frame, node: ast.Call, *values: Value, strict: Value = _FALSE) -> Value:
    parts = [sequence(frame, node, v) for v in values]
    if not parts:
        return Iteration(Affine(0), lambda k: Group(()), True, True)
    is_strict = require_static(frame.graph, strict, "strict")
    count = parts[0].count
    for part in parts[1:]:
        count = _shorter(frame, node, count, part.count, is_strict)
    unrolled = any(p.unrolled for p in parts)
    return Iteration(count, lambda k: Group(tuple([p.at(k) for p in parts])), unrolled, True)


def _shorter(frame: Frame, node: ast.AST, a: Affine, b: Affine, is_strict: bool) -> Affine:
    if a.equals(b):
        return a
    if a.known is not None and b.known is not None:
        if is_strict:
            frame.fail(
                node, f"zip() arguments have different lengths: {a.known} and {b.known}", None, ShapeError
            )
        return a if a.known < b.known else b
    assumptions = frame.graph.assumptions
    if is_strict:
        if not require_equal(frame.graph, a, b, "zip(strict=True)"):
            frame.fail(node, "zip() arguments have different lengths", None, ShapeError)
        return a
    if (b - a).lower_bound() is not None and (b - a).lower_bound() >= 0:  # pyright: ignore
        return a
    if (a - b).lower_bound() is not None and (a - b).lower_bound() >= 0:  # pyright: ignore
        return b
    for short, long in ((a, b), (b, a)):
        if short.known is not None:
            if assumptions.nonnegative(long - short, "the length of what zip pairs"):
                return short
            return Affine(min(short.known, required(frame, long)))
    return frame.graph.smaller(a, b)


def enumerate_(frame: Frame, node: ast.Call, iterable: Value, start: Value = _ZERO) -> Value:
    items, first = sequence(frame, node, iterable), _as_integer(frame, node, start)

    def at(k: Value) -> Value:
        return Group((operate(frame.graph, "add", first, k), items.at(k)))

    return Iteration(items.count, at, items.unrolled, True)


def _as_integer(frame: Frame, node: ast.AST, value: Value) -> Value:
    """An integer, or a NumPy integer as one of Python."""
    is_integer = isinstance(value, Static) and isinstance(value.value, int | np.integer)
    if not is_integer and isinstance(value, Static | Group | Rows | Iteration | Range):
        what = type(value.value).__name__ if isinstance(value, Static) else describe(value)
        frame.fail(node, f"'{what}' object cannot be interpreted as an integer", None, DTypeError)
    kind = number_kind(frame.graph, value)
    if extents_of(value) or not (kind in (int, bool) or (isinstance(kind, np.dtype) and kind.kind in "iu")):
        frame.fail(node, f"{describe(value)} cannot be interpreted as an integer", None, DTypeError)
    return FUNCTIONS[int](frame.graph, value)


def reversed_(frame: Frame, node: ast.Call, iterable: Value) -> Value:
    if isinstance(iterable, Iteration) and iterable.once:
        frame.fail(node, "an iterator is not reversible", "reverse the list of it", DTypeError)
    items = sequence(frame, node, iterable)
    last = index_value(items.count - 1)

    def at(k: Value) -> Value:
        return items.at(operate(frame.graph, "subtract", last, k))

    return Iteration(items.count, at, items.unrolled, True)


def map_(frame: Frame, node: ast.Call, function: Value, *iterables: Value) -> Value:
    items = zip_(frame, node, *iterables)
    assert isinstance(items, Iteration)

    def at(k: Value) -> Value:
        arguments = items.at(k)
        assert isinstance(arguments, Group)
        return call(frame, node, function, list(arguments.items), {})

    return replace(items, at=at)


def filter_(frame: Frame, node: ast.Call, function: Value, iterable: Value) -> Value:
    kept = []
    for item in listed(frame, node, iterable):
        is_none = isinstance(function, Static) and function.value is None
        if truth(frame, node, item if is_none else call(frame, node, function, [item], {})):
            kept.append(item)
    return Iteration(Affine(len(kept)), lambda k: kept[k.value], True, True)  # pyright: ignore


ITERATORS: dict[Any, Callable[..., Value]] = {
    builtins.zip: zip_,
    builtins.enumerate: enumerate_,
    builtins.reversed: reversed_,
    builtins.map: map_,
    builtins.filter: filter_,
}


# ---- comprehensions ---------------------------------------------------------------------------------


def comprehension(frame: Frame, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Value:
    """`[f(v) for v in xs if v is not None]`: its items are spelled out."""
    asked = len(frame.graph.sequences)
    (first, *others), items = node.generators, []
    values = evaluate(frame, first.iter)
    is_set = isinstance(node, ast.SetComp) or any(g.is_async for g in node.generators)
    if not is_set and not others and not first.ifs and _is_counted(frame, first.iter, values):
        with frame.graph.going_through(asked):
            return _appended(frame, node, values)  # pyright: ignore
    try:
        with attempt(frame), own_scope(frame, node) as inner:
            _each(frame, inner, node.generators, lambda: items.append(evaluate(inner, node.elt)), values)
        return Group(tuple(items), list)
    except UnsupportedError:
        if is_set:
            raise
        with suppress(UnsupportedError), attempt(frame), frame.graph.going_through(asked):
            return _appended(frame, node, values)  # pyright: ignore
        raise


def _is_counted(frame: Frame, node: ast.AST, values: Value) -> bool:
    """Whether the items are too many to be spelled out, or in a number that only the run knows."""
    items = sequence(frame, node, values)
    count = items.count
    if items.unrolled or frame.graph.island is not None:
        return False
    if count.known is not None:
        return count.known > MAX_LISTED
    return not count.is_of_extents() and not count.arguments()


def _appended(frame: Frame, node: ast.ListComp | ast.GeneratorExp, values: Value) -> Value:
    """A comprehension as the loop that appends to a list."""
    name, source = frame.graph.new_name(".list"), frame.graph.new_name(".source")
    append = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
    loop: list[ast.stmt] = [ast.Expr(ast.Call(append, [node.elt], []))]
    for k, one in reversed([*enumerate(node.generators)]):
        for condition in reversed(one.ifs):
            loop = [ast.If(condition, loop, [])]
        loop = [ast.For(one.target, one.iter if k else ast.Name(source, ast.Load()), loop, [])]
    body = [ast.Assign([ast.Name(name, ast.Store())], ast.List([], ast.Load())), *loop]
    for made in body:
        _place(made, node)
    with own_scope(frame, node) as inner:
        inner.variables[source] = values
        before = {**inner.variables}
        execute(inner, body)
        if isinstance(values, Iteration):  # it reads objects as they were
            refuse_changes(inner, node, before, "in an iteration of a comprehension")
        result = evaluate(inner, _placed(ast.Name(name, ast.Load()), node))
        del inner.variables[name], inner.variables[source]
    return result


def _placed(made: ast.expr, node: ast.AST) -> ast.expr:
    _place(made, node)
    return made


def dict_comprehension(frame: Frame, node: ast.DictComp) -> Value:
    """`{name: f(v) for name, v in d.items()}`."""
    entries: dict[Any, Value] = {}

    def enter() -> None:
        key = key_of(inner, node.key, evaluate(inner, node.key))
        entries[key] = evaluate(inner, node.value)

    with own_scope(frame, node) as inner:
        _each(frame, inner, node.generators, enter)
    return Group(tuple(entries.values()), dict, tuple(entries))


Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

_DEFINITION = "nestor_definition"
"""The attribute of a comprehension with the function definition that has its variables."""


class own_scope:
    """The frame of a comprehension, which is a function of its own in Python: functions made in it keep its variables,
    and functions made outside do not see them. What `:=` in it assigns is a variable of the function around it."""

    def __init__(self, frame: Frame, node: Comprehension):
        self.outer = frame
        self.assigned = _assigned(node)
        for name in self.assigned:
            _refuse_read_by_functions(frame, node, name)
        self.inner = Frame(
            frame.graph, changed(frame.source, node=_definition(node)), frame.captured, frame.depth, frame
        )
        self.inner.unrolling, self.inner.looping = frame.unrolling, frame.looping
        self.inner.handed_on = frozenset(self.assigned)

    def __enter__(self) -> Frame:
        _share_with(self.outer, self.inner, self.assigned)
        return self.inner

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            _share_with(self.inner, self.outer, self.assigned)


def _share_with(source: Frame, target: Frame, names: Sequence[str]) -> None:
    """Give `target` the objects and the variables `names` of `source`."""
    share(source, target)
    for name in names:
        if name in source.variables:
            target.variables[name] = source.variables[name]
            target.scope.lost.pop(name, None)
        elif name in source.scope.lost:
            target.variables.pop(name, None)
            target.scope.lost[name] = source.scope.lost[name]


def _definition(node: Comprehension) -> ast.FunctionDef:
    """A function without a body that has the targets of a comprehension for variables."""
    made = getattr(node, _DEFINITION, None)
    if made is None:
        targets = [n for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
        parameters = [ast.copy_location(ast.arg(n.id), n) for n in targets]
        arguments = ast.arguments([], parameters, None, [], [], None, [])
        made = ast.copy_location(ast.FunctionDef("<comprehension>", arguments, [], []), node)
        setattr(node, _DEFINITION, made)
    return made


def _assigned(node: ast.AST) -> list[str]:
    """What `:=` in a comprehension assigns."""
    names: list[str] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Lambda):
            continue
        if isinstance(child, ast.NamedExpr):
            names.append(child.target.id)
        names += _assigned(child)
    return names


def _refuse_read_by_functions(frame: Frame, node: ast.AST, name: str) -> None:
    """A function that is defined here would read the variable as it was before the comprehension."""
    functions = (n for n in ast.walk(frame.source.node) if isinstance(n, ast.Lambda | ast.FunctionDef))
    inside = (n for f in functions if f is not frame.source.node for n in ast.walk(f))
    if any(isinstance(n, ast.Name) and n.id == name for n in inside):
        frame.fail(
            node,
            f"'{name}' is assigned in a comprehension and used in a function defined here, which is not supported",
            "assign in a statement of its own",
        )


def _each(
    frame: Frame,
    inner: Frame,
    generators: Sequence[ast.comprehension],
    emit: Callable[[], None],
    values: Value | None = None,
) -> None:
    """Run `emit` for each iteration; the first iterable of `generators` is evaluated in `frame` (it may be known
    already: `values`), all else in `inner`."""
    if not generators:
        return emit()
    first, *rest = generators
    if first.is_async:
        frame.fail(first.iter, "async for is not supported in compiled code")
    items = sequence(frame, first.iter, evaluate(frame, first.iter) if values is None else values)
    inner.unrolling += 1
    try:
        for k in range(count_of(frame, first.iter, items)):
            item = items.at(Static(k))
            share(frame, inner)
            bind(inner, first.target, item)
            if all(_holds(inner, condition, test, truth) for condition in first.ifs):
                _each(inner, inner, rest, emit)
            share(inner, frame)
    finally:
        inner.unrolling -= 1


def _holds(frame: Frame, condition: ast.expr, test: Any, truth: Any) -> bool:
    value = test(frame, condition)
    if not isinstance(value, Static | Group):
        frame.fail(
            condition,
            "how many items this comprehension has is known at run time only",
            "choose with np.where, or fill an array in a for loop",
        )
    return truth(frame, condition, value)


# ---- sums of generators -----------------------------------------------------------------------------


def reduced(
    frame: Frame, node: ast.Call, generator: ast.GeneratorExp, function: Any, start: Value, values: Value
) -> Value:
    """`sum(...)`, `any(...)`, `all(...)` of a generator expression, as a loop over `values`, what its first iterable
    is."""
    name, source = frame.graph.new_name(ACCUMULATOR), frame.graph.new_name(".source")
    first = ast.Name(source, ast.Load())

    def variable(context: ast.expr_context) -> ast.Name:
        return ast.Name(name, context)

    if function is builtins.sum:
        total = ast.BinOp(variable(ast.Load()), ast.Add(), generator.elt)
        body: list[ast.stmt] = [ast.Assign([variable(ast.Store())], total)]
    else:
        found = ast.Constant(function is builtins.any)
        condition = generator.elt if function is builtins.any else ast.UnaryOp(ast.Not(), generator.elt)
        body = [ast.If(condition, [ast.Assign([variable(ast.Store())], found), ast.Break()], [])]
    for k, one in reversed([*enumerate(generator.generators)]):
        for condition in reversed(one.ifs):
            body = [ast.If(condition, body, [])]
        body = [ast.For(one.target, one.iter if k else first, body, [])]
    for made in body:
        _place(made, node)
    with own_scope(frame, generator) as inner:
        inner.variables[name], inner.variables[source] = start, values
        before = {**inner.variables}
        execute(inner, rewrite(body, frame.graph.new_name))
        if isinstance(values, Iteration):  # it reads objects as they were
            refuse_changes(inner, node, before, "in an iteration of a generator expression")
        return inner.variables.pop(name)


def _place(made: ast.AST, node: ast.AST) -> None:
    """Give a location to nodes that have none."""
    for child in ast.walk(made):
        if isinstance(child, ast.expr | ast.stmt) and not hasattr(child, "lineno"):
            ast.copy_location(child, node)
