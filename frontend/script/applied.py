"""NumPy's functions that call functions of the program: vectorize, apply_along_axis, fromfunction, piecewise, and the
loops np.ndindex and np.ndenumerate.

np.vectorize(f)(x)            a loop over the elements, with the body of f in it
np.apply_along_axis(f, 1, x)  rows = []; for k in range(len(x)): rows.append(f(x[k]))
np.piecewise(x, [c], [f, g])  y[c] = f(x[c]); y[~c] = g(x[~c])
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Block

from ..control.structured import rewrite
from ..frame.frame import Frame
from ..frame.objects import current, refuse_changes
from ..frame.recursion import call, execute
from ..indexing.subscripts import subscript
from ..indexing.views import transposed
from ..interface.captured import Step
from ..interface.errors import Respecialise, ShapeError
from ..numpy_api.families import FUNCTIONS
from ..numpy_api.registry import normal_axis, static
from ..numpy_api.shapes.reshaping import array_shape, reshape_to
from ..values.arithmetic import broadcast_extents, operate, require_static
from ..values.assemble import as_piece, dtype_of_value, fresh
from ..values.contents import as_view
from ..values.extents import Affine
from ..values.islands import Island, open_island
from ..values.numbers import number_kind
from ..values.promotion import WEAK_DTYPES
from ..values.tensors import as_array
from ..values.values import (
    NOTHING,
    Array,
    Closure,
    Extents,
    Group,
    Iteration,
    Scalar,
    Static,
    Tensor,
    Value,
    extents_of,
)

_FLOAT = Static(float)


# ---- vectorize --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Vectorized:
    """What np.vectorize made of a function."""

    function: Value
    otypes: str | None = None


def vectorize(
    frame: Frame,
    node: ast.Call,
    pyfunc: Value,
    otypes: Value = NOTHING,
    doc: Value = NOTHING,
    excluded: Value = NOTHING,
    cache: Value = NOTHING,
    signature: Value = NOTHING,
) -> Value:
    for name, value in (("excluded", excluded), ("signature", signature)):
        if not (isinstance(value, Static) and value.value is None):
            frame.fail(
                node, f"np.vectorize with {name}= is not supported", "write a loop that fills an array"
            )
    wanted = require_static(frame.graph, otypes, "otypes")
    try:
        types = None if wanted is None else "".join(np.dtype(t).char for t in wanted)
    except TypeError as error:
        frame.fail(node, f"Invalid otype specified: {error}", None, ShapeError)
    return Static(Vectorized(pyfunc, types))


def vectorized_call(
    frame: Frame, node: ast.Call, made: Vectorized | np.vectorize, args: Sequence[Value], kwargs: dict
) -> Value:
    """The function for each element of its arguments broadcast together, which it gets as numbers of Python.

    The element type of the result is that of the function of NumPy's numbers: NumPy calls it once more to know.
    """
    if isinstance(made, np.vectorize):
        for name in ("pyfunc", "otypes", "signature", "excluded"):
            frame.captured.read(made, Step.ATTRIBUTE, name)
        if made.signature is not None or made.excluded:
            frame.fail(node, "np.vectorize with signature= or excluded= is not supported", "write a loop")
        made = Vectorized(Static(made.pyfunc), made.otypes)
    if kwargs:
        frame.fail(node, "keywords for a vectorized function are not supported", "give them by position")
    graph = frame.graph
    pieces = [as_piece(graph, FUNCTIONS[np.asarray](graph, a)) for a in args]
    extents = broadcast_extents(graph, [extents_of(p) for p in pieces])
    if made.otypes is None and any(e.known == 0 for e in extents):
        frame.fail(node, "cannot call `vectorize` on size 0 inputs unless `otypes` is set", None, ShapeError)

    def element(island: Island, index: Sequence[Affine], number: Callable[..., Value] = _number) -> Value:
        numbers = [number(island, piece, index) for piece in pieces]
        before = dict(frame.variables)
        value = call(frame, node, made.function, numbers, {})
        refuse_changes(frame, node, before, "by a function that is called for each element")
        return value

    sample = _tried(frame, lambda island, index: element(island, index, _numpy_number), extents)
    is_many = isinstance(sample, Group)
    samples = sample.items if isinstance(sample, Group) else (sample,)
    dtypes = [dtype_of_value(graph, s) for s in samples]
    if made.otypes is not None:
        dtypes = [np.dtype(char) for char in made.otypes]
    if len(dtypes) != len(samples):
        frame.fail(node, "otypes= names another number of results than the function has", None, ShapeError)
    results: list[Value] = []
    for position, dtype in enumerate(dtypes):

        def write(island: Island, target: Array, position: int = position, dtype: np.dtype = dtype) -> None:
            def one(index: list[Affine]) -> None:
                value = element(island, index)
                if isinstance(value, Group):
                    value = value.items[position]
                island.store(target, index, island.scalar(value, dtype))

            island.for_each(extents, one)

        results.append(fresh(graph, dtype, extents, write))
    return Group(tuple(results)) if is_many else results[0]


def _numpy_number(island: Island, piece: Value, index: Sequence[Affine]) -> Value:
    """An element as a number of NumPy."""
    dtype = dtype_of_value(island.graph, piece)
    return Scalar(island.element(piece, dtype, index), dtype)


def _number(island: Island, piece: Value, index: Sequence[Affine]) -> Value:
    """An element as a number of Python."""
    kind = number_kind(island.graph, piece)
    letter = "f" if isinstance(kind, type) or kind.name == "bfloat16" else kind.kind
    weak = {"b": bool, "i": int, "u": int, "c": complex}.get(letter, float)
    return Scalar(island.element(piece, WEAK_DTYPES[weak], index), WEAK_DTYPES[weak], weak)


class _Seen(Exception):
    """What the body of a loop gives, which is then built again in its place."""

    def __init__(self, value: Value):
        self.value = value


def _tried(frame: Frame, element: Callable[[Island, Sequence[Affine]], Value], extents: Extents) -> Value:
    """What one element becomes; the operations are dropped."""
    graph, first = frame.graph, [Affine(0) for _ in extents]
    try:
        if graph.island is None:
            with open_island(graph) as island:
                raise _Seen(element(island, first))
        block = Block()
        with graph.inside(block):
            seen = element(graph.island, first)
        block.drop_all_references()
        return seen
    except _Seen as seen:
        return seen.value


# ---- statements made for a call ---------------------------------------------------------------------


class _Program:
    """Statements on values, run where the call stands."""

    def __init__(self, frame: Frame, node: ast.Call):
        self.frame, self.node = frame, node
        self.names: list[str] = []

    def name(self, value: Value | None = None) -> str:
        """A variable of its own."""
        name = self.frame.graph.new_name(".applied")
        self.names.append(name)
        if value is not None:
            self.frame.variables[name] = value
        return name

    def run(self, text: str, **names: str) -> None:
        """Run statements in which `{x}` stands for the variable `names["x"]`."""
        module = ast.parse(text.format(**{key: key for key in names}))
        for child in ast.walk(module):
            if isinstance(child, ast.Name) and child.id in names:
                child.id = names[child.id]
            if isinstance(child, ast.expr | ast.stmt):
                ast.copy_location(child, self.node)
        execute(self.frame, rewrite(module.body, self.frame.graph.new_name))

    def value(self, name: str) -> Value:
        return current(self.frame, self.frame.variables[name])

    def __enter__(self) -> _Program:
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.names:
            self.frame.variables.pop(name, None)


def apply_along_axis(
    frame: Frame, node: ast.Call, func1d: Value, axis: Value, arr: Value, *args: Value, **kwargs: Value
) -> Value:
    """The function of each vector along an axis, by a loop over them."""
    graph = frame.graph
    array = as_view(graph, FUNCTIONS[np.asarray](graph, arr))
    rank = len(array.axes)
    along = normal_axis(graph, require_static(graph, axis, "axis"), rank)
    if rank == 1:
        return FUNCTIONS[np.asarray](graph, call(frame, node, func1d, [array, *args], kwargs))
    others = [k for k in range(rank) if k != along]
    outer = tuple([array.extents[k] for k in others])
    if any(e.known == 0 for e in outer):
        frame.fail(node, "Cannot apply_along_axis when any iteration dimensions are 0", None, ShapeError)
    rows: Value = transposed(array, [*others, along])
    if len(outer) > 1:
        rows = reshape_to(graph, rows, (Affine(-1), array.extents[along]), new=True)
    with _Program(frame, node) as program:
        names = {
            "rows": program.name(rows),
            "f": program.name(_with(func1d, args, kwargs)),
            "out": program.name(),
        }
        names["k"] = program.name()
        program.run("out = []\nfor k in range(len(rows)):\n    out.append(f(rows[k]))", **names)
        names["np"] = program.name(Static(np))
        program.run("out = np.stack(out)", **names)
        result = program.value(names["out"])
    inner = extents_of(result)[1:]
    if len(outer) > 1:
        result = reshape_to(graph, result, (*outer, *inner), new=True)
    back = list(range(rank - 1 + len(inner)))
    order = [*back[:along], *back[rank - 1 :], *back[along : rank - 1]]
    return transposed(as_view(graph, result), order)


@dataclass(frozen=True, eq=False)
class Bound:
    """A function with more arguments to come after those of the call."""

    function: Value
    args: tuple[Value, ...]
    kwargs: dict[str, Value]


def _with(function: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    return Static(Bound(function, tuple(args), kwargs)) if args or kwargs else function


def fromfunction(
    frame: Frame, node: ast.Call, function: Value, shape: Value, *, dtype: Value = _FLOAT, **kwargs: Value
) -> Value:
    """The function of the index along each axis, once."""
    grid = FUNCTIONS[np.indices](frame.graph, shape, dtype)
    count = extents_of(grid)[0].constant
    parts = [subscript(frame.graph, grid, [Static(k)]) for k in range(count)]
    return call(frame, node, function, parts, kwargs)


def piecewise(
    frame: Frame, node: ast.Call, x: Value, condlist: Value, funclist: Value, *args: Value, **kwargs: Value
) -> Value:
    """Each function of the elements that its condition selects, which it gets as what a mask selects."""
    if not isinstance(funclist, Group) and not (
        isinstance(funclist, Static) and isinstance(funclist.value, list | tuple)
    ):
        frame.fail(node, "np.piecewise takes a list of functions and numbers")
    functions = funclist.items if isinstance(funclist, Group) else [Static(f) for f in funclist.value]  # pyright: ignore
    conditions = list(condlist.items) if isinstance(condlist, Group) else [condlist]
    if len(functions) not in (len(conditions), len(conditions) + 1):
        n = len(conditions)
        text = f"with {n} condition(s), either {n} or {n + 1} functions are expected"
        frame.fail(node, text, None, ShapeError)
    if not extents_of(x):
        frame.fail(node, "np.piecewise of a number is not supported", "write a conditional expression")
    with _Program(frame, node) as program:
        names = {
            "x": program.name(x),
            "y": program.name(),
            "np": program.name(Static(np)),
            "c": program.name(),
        }
        names["rest"] = program.name()
        program.run("y = np.zeros_like(x)\nrest = np.ones(x.shape, bool)", **names)
        for k, function in enumerate(functions):
            names["f"] = program.name(_with(function, args, kwargs))
            if k < len(conditions):
                names["given"] = program.name(conditions[k])
                program.run("c = np.asarray(given, dtype=bool)\nrest = rest & ~c", **names)
            else:
                program.run("c = rest", **names)
            program.run("y[c] = f(x[c])" if is_callable(function) else "y[c] = f", **names)
        return program.value(names["y"])


def is_callable(value: Value) -> bool:
    return isinstance(value, Closure) or (isinstance(value, Static) and callable(value.value))


def apply_over_axes(frame: Frame, node: ast.Call, func: Value, a: Value, axes: Value) -> Value:
    """The function of the array and each axis in turn; it keeps the axis, or one of extent 1 takes its place."""
    graph = frame.graph
    value = FUNCTIONS[np.asarray](graph, a)
    rank, request = len(extents_of(value)), static(graph, axes, "axes")
    for axis in request if isinstance(request, tuple | list) else (request,):
        position = Static(normal_axis(graph, axis, rank))
        result = call(frame, node, func, [value, position], {})
        if len(extents_of(result)) == rank - 1:
            array = as_array(result) if isinstance(result, Tensor) else result
            result = FUNCTIONS[np.expand_dims](graph, array, position)
        if len(extents_of(result)) != rank:
            frame.fail(node, "function is not returning an array of the correct shape", None, ShapeError)
        value = result
    return value


# ---- loops over indices -----------------------------------------------------------------------------


def _indices(frame: Frame, extents: Sequence[Affine]) -> tuple[Affine, Callable[[Value], tuple[Value, ...]]]:
    """How many indices a shape has, and the k-th of them in row-major order."""
    graph, count = frame.graph, Affine(1)
    for extent in extents:
        if count.known is None and extent.known is None:
            raise Respecialise(shapes=True, why="a loop over the indices of a shape of unknown extents")
        count = count * extent.constant if extent.known is not None else extent * count.constant
    if any(e.known is None for e in extents[1:]):
        raise Respecialise(shapes=True, why="a loop over the indices of a shape of unknown extents")

    def at(k: Value) -> tuple[Value, ...]:
        index: list[Value] = []
        for position in reversed(range(len(extents))):
            if not position:
                index.insert(0, k)
                continue
            size = Static(max(extents[position].constant, 1))
            index.insert(0, operate(graph, "remainder", k, size))
            k = operate(graph, "floor_divide", k, size)
        return tuple(index)

    return count, at


def ndindex(frame: Frame, node: ast.Call, *shape: Value) -> Value:
    extents = array_shape(frame.graph, shape) if shape else ()
    count, at = _indices(frame, extents)
    return Iteration(count, lambda k: Group(at(k)), once=True)


def ndenumerate(frame: Frame, node: ast.Call, arr: Value) -> Value:
    array = as_view(frame.graph, arr)
    count, at = _indices(frame, array.extents)

    def item(k: Value) -> Value:
        index = at(k)
        return Group((Group(index), subscript(frame.graph, array, list(index))))

    return Iteration(count, item, once=True)


APPLIED: dict[Any, Callable[..., Value]] = {
    np.vectorize: vectorize,
    np.apply_along_axis: apply_along_axis,
    np.apply_over_axes: apply_over_axes,
    np.fromfunction: fromfunction,
    np.piecewise: piecewise,
    np.ndindex: ndindex,
    np.ndenumerate: ndenumerate,
}
"""Called as the builtins of `python_calls.py` are."""
