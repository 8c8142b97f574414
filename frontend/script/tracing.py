"""The run of a traced function: its errors and operations are at the line of the user that runs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...dialects.diagnostic import NestorError, SourceLocation
from ..frame.frame import Frame
from ..frame.reachable import note_reachable
from ..interface.errors import Respecialise, UnsupportedError
from ..interface.source import FunctionSource
from ..numpy_api.symbols import WAY_OUT, Recording
from ..values import arithmetic
from ..values.graph import Graph
from ..values.values import Group, Static, Value

_INTERNAL = (
    str(Path(__file__).parents[1]),
    str(Path(np.__file__).parent),
    "<__array_function__",
    "<nt.trace",
)
"""Files whose lines are not the user's."""


class _UserSource(FunctionSource):
    """Everything is at the user's present line."""

    graph: Graph

    def place(self, node: ast.AST) -> SourceLocation:
        return self.graph.place


class Trace(Recording):
    """One run of a function on symbolic arguments."""

    def __init__(self, frame: Frame):
        source = _UserSource(frame.source.function, frame.source.node, frame.source.file)  # pyright: ignore
        object.__setattr__(source, "graph", frame.graph)
        super().__init__(Frame(frame.graph, source, frame.captured))
        self.refusal: NestorError | None = None
        self._lists: list[tuple[Any, list[Any]]] = []
        """Lists and dicts given to the function, and what they held."""

    def run(self, function: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]) -> Value:
        """The value of `function(*args, **kwargs)`."""
        note_reachable(self.frame.captured, function)
        arguments = [self.object(v) for v in args]
        named = {k: self.object(v) for k, v in kwargs.items()}
        try:
            result = function(*arguments, **named)
        except Exception as error:
            # NumPy has errors of its own for arrays whose elements it cannot have.
            if self.wish is None and self.refusal is not None and not isinstance(error, NestorError):
                raise self.refusal from error
            raise
        finally:
            if self.wish is not None:  # also where the function caught it
                raise self.wish
        for container, held in self._lists:
            if len(container) != len(held) or any(
                a is not b for a, b in zip(_held(container), held, strict=True)
            ):
                raise self.error(
                    f"a {type(container).__name__} that was passed is changed", "return the new contents"
                )
        value = self.value(result)
        self.active = False
        return value

    def object(self, value: Value) -> Any:
        if isinstance(value, Static):
            note_reachable(self.frame.captured, value.raw)
            return value.raw
        seen = super().object(value)
        if isinstance(value, Group) and isinstance(seen, list | dict):
            self._lists.append((seen, _held(seen)))
        return seen

    def error(
        self, message: str, hint: str | None = None, kind: type[NestorError] = UnsupportedError
    ) -> NestorError:
        """Build an error at the user's line."""
        self.locate()
        self.refusal = self.graph.error(kind, message, hint)
        return self.refusal

    def locate(self) -> ast.Call:
        """What follows comes from the line of the user that runs; a node that stands for it."""
        self.graph.locate(_user_place() or self.graph.place)
        return ast.Call(ast.Name("traced", ast.Load()), [], [])

    def static(self, value: Value, what: str) -> Any:
        """A number that Python needs now: known, or compiled for its value; else an error at the user's line."""
        self.locate()
        try:
            return arithmetic.require_static(self.graph, value, what, WAY_OUT)
        except Respecialise as wish:
            self.wish = wish
            raise
        except NestorError as refusal:
            self.refusal = refusal
            raise

<<<<<<< HEAD
    def items(self, key: Any) -> list[Item]:
        """What is between the brackets."""
        return [self._item(part) for part in (key if isinstance(key, tuple) else (key,))]

    def _item(self, part: Any) -> Item:
        if not isinstance(part, slice):
            return self.value(part)
        bounds = [None if b is None else self.value(b) for b in (part.start, part.stop, part.step)]
        return Slice(*bounds)

    def store(self, owner: Value, key: Any, new: Any) -> None:
        """`owner[key] = new`."""
        node = self.locate()
        value = self.value(new)
        try:
            if not isinstance(owner, Array):
                raise self.graph.error(DTypeError, f"{describe(owner)} does not support item assignment")
            self._store(node, owner, self.items(key), value)
        except Respecialise as wish:
            self.wish = wish
            raise

    def _store(self, node: ast.Call, owner: Array, items: list[Item], value: Value) -> None:
        graph = self.graph
        if not is_number(value):
            raise graph.error(
                DTypeError, f"{describe(value)} cannot be stored in an array", "make it an array first"
            )
        if owner.whole and all(_is_all(item) for item in items):
            if not (isinstance(value, Array) and value.buffer is owner.buffer and value.whole):
                overwrite(self.frame, owner, value)
            return
        check_writable(graph, owner.buffer)
        if isinstance(value, Array) and value.buffer is owner.buffer:
            window = view(graph, owner, items)
            if _same_window(window, value):
                return  # what `x[1:] += y` ends with: the window is assigned to itself
        with open_island(graph) as island:
            island.assign(view(graph, owner, items), as_readable(value))


def _is_all(item: Item) -> bool:
    if isinstance(item, Slice):
        return all(
            b is None or (isinstance(b, Static) and b.value is None)
            for b in (item.start, item.stop, item.step)
        )
    return isinstance(item, Static) and item.value is Ellipsis

=======
>>>>>>> 5fac229 (No circle of imports in the frontend: what is in each other is compiled through a table that the graph holds)

def _held(container: Any) -> list[Any]:
    return list(container.values()) if isinstance(container, dict) else list(container)


def _user_place() -> SourceLocation | None:
    """The innermost line that is neither Nestor's nor NumPy's."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INTERNAL):
        frame = frame.f_back
    if frame is None:
        return None
    positions = list(frame.f_code.co_positions())
    line, _, column, _ = positions[frame.f_lasti // 2]
    return SourceLocation(
        frame.f_code.co_filename, line or frame.f_lineno, 0 if column is None else column + 1
    )


<<<<<<< HEAD
# ---- symbols ----------------------------------------------------------------------------------------


class Symbol:
    """An array or a number of a run: what is done to it is recorded."""

    __slots__ = ("_trace", "_value")
    __hash__ = None  # pyright: ignore

    def __init__(self, trace: Trace, value: Value):
        self._trace = trace
        self._value = value

    def __repr__(self) -> str:
        return f"<traced: {describe(self._value)}>"

    def called_by_trace(self, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A jitted function called with this among its arguments: its source is compiled instead of the call."""
        return self._trace.call(function, args, kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self._trace.call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        return self._trace.call(func, args, kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._trace.error(
            f"{describe(self._value)} is being traced and has no elements yet (np.array, np.asarray)",
            _WAY_OUT,
        )

    def __getattr__(self, name: str) -> Any:
        trace, value = self._trace, self._value
        if name in ATTRIBUTES:
            return trace.record(lambda _: ATTRIBUTES[name](trace.graph, value))
        if name in METHODS:
            return partial(self._call_method, name)
        if name.startswith("__"):
            raise AttributeError(name)
        raise trace.error(
            f"the attribute '{name}' of {describe(value)} is not supported",
            f"attributes: {', '.join(sorted(ATTRIBUTES))}; methods: {', '.join(sorted(METHODS))}",
            MissingAttributeError,
        )

    def _call_method(self, name: str, *args: Any, **kwargs: Any) -> Any:
        trace = self._trace
        values, named = [trace.value(a) for a in args], {k: trace.value(v) for k, v in kwargs.items()}
        return trace.record(lambda node: call(trace.frame, node, Method(self._value, name), values, named))

    def __getitem__(self, key: Any) -> Any:
        trace = self._trace
        items = trace.items(key)
        return trace.record(lambda _: subscript(trace.graph, trace.value(self), items))

    def __setitem__(self, key: Any, new: Any) -> None:
        self._trace.store(self._trace.value(self), key, new)

    def __len__(self) -> int:
        extents = extents_of(self._value)
        if not extents:
            raise self._trace.error(f"{describe(self._value)} has no len()", kind=DTypeError)
        return self._trace.static(arithmetic.index_value(extents[0]), "a length")

    def __iter__(self) -> Iterator[Any]:
        return iter([self[k] for k in range(len(self))])

    def __contains__(self, item: Any) -> bool:
        raise self._trace.error(
            "`in` on a traced array depends on its elements", "write (x == v).any() with nt.jit"
        )

    def __bool__(self) -> bool:
        return bool(self._trace.static(self._value, "a condition of a traced function"))

    def __int__(self) -> int:
        return int(self._trace.static(self._value, "int() in a traced function"))

    def __float__(self) -> float:
        return float(self._trace.static(self._value, "float() in a traced function"))

    def __index__(self) -> int:
        return self._trace.static(self._value, "an integer that Python needs in a traced function")

    def __complex__(self) -> complex:
        return complex(float(self))

    def __abs__(self) -> Any:
        return self._trace.operate("absolute", self)

    def __divmod__(self, other: Any) -> Any:
        return self._trace.call(builtins.divmod, (self, other), {})

    def __rdivmod__(self, other: Any) -> Any:
        return self._trace.call(builtins.divmod, (other, self), {})

    def __round__(self, digits: int | None = None) -> Any:
        return self._trace.call(builtins.round, (self,) if digits is None else (self, digits), {})

    def __trunc__(self) -> int:
        return math.trunc(float(self))


_BINARY: dict[str, tuple[str, type[ast.operator]]] = {
    "add": ("add", ast.Add),
    "sub": ("subtract", ast.Sub),
    "mul": ("multiply", ast.Mult),
    "truediv": ("divide", ast.Div),
    "floordiv": ("floor_divide", ast.FloorDiv),
    "mod": ("remainder", ast.Mod),
    "pow": ("power", ast.Pow),
    "matmul": ("matmul", ast.MatMult),
    "and": ("bitwise_and", ast.BitAnd),
    "or": ("bitwise_or", ast.BitOr),
    "xor": ("bitwise_xor", ast.BitXor),
    "lshift": ("left_shift", ast.LShift),
    "rshift": ("right_shift", ast.RShift),
}
_COMPARE = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_UNARY = {"neg": "negative", "pos": "positive", "invert": "invert"}


def _forward(name: str) -> Callable[..., Any]:
    return lambda self, *others: self._trace.operate(name, self, *others)


def _reflected(name: str) -> Callable[..., Any]:
    return lambda self, other: self._trace.operate(name, other, self)


def _in_place(operator: type[ast.operator]) -> Callable[..., Any]:
    def update(self: Symbol, other: Any) -> Any:
        """Of an array: in its memory. Numbers are new ones."""
        trace, value = self._trace, self._value
        if not isinstance(value, Array):
            return NotImplemented
        operand = trace.value(other)

        def write(call: ast.Call) -> Value:
            place = ast.AugAssign(ast.Name("traced", ast.Store()), operator(), call)
            check_writable(trace.graph, value.buffer)
            update_in_place(trace.frame, place, value, operand)
            return Static(None)

        trace.record(write)
        return self

    return update


for _name, (_ufunc, _operator) in _BINARY.items():
    setattr(Symbol, f"__{_name}__", _forward(_ufunc))
    setattr(Symbol, f"__r{_name}__", _reflected(_ufunc))
    setattr(Symbol, f"__i{_name}__", _in_place(_operator))
for _name, _ufunc in {**_COMPARE, **_UNARY}.items():
    setattr(Symbol, f"__{_name}__", _forward(_ufunc))


def _run(frame: Frame, node: ast.Call, function: Value, *args: Value, **kwargs: Value) -> Value:
=======
def run(frame: Frame, node: ast.Call, function: Value, *args: Value, **kwargs: Value) -> Value:
>>>>>>> 5fac229 (No circle of imports in the frontend: what is in each other is compiled through a table that the graph holds)
    """What a call of `traced_call` is worth."""
    assert isinstance(function, Static)
    return Trace(frame).run(function.raw, list(args), kwargs)
