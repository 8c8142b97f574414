"""The run of a traced function: arrays that record what is done to them, in the same tables as compiled source."""

from __future__ import annotations

import ast
import builtins
import math
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...dialects.diagnostic import NestorError, SourceLocation
from ..frame.frame import Frame
from ..frame.reachable import note_reachable
from ..indexing.subscripts import subscript
from ..indexing.views import Item, Slice, view
from ..interface.errors import DTypeError, MissingAttributeError, Respecialise, UnsupportedError
from ..interface.source import FunctionSource
from ..interface.structures import parts_of
from ..jit.driver.trace import traced_call
from ..numpy_api.elements.attributes import ATTRIBUTES
from ..numpy_api.elements.ufuncs import call_ufunc, ufunc_method
from ..numpy_api.families import METHODS
from ..values import arithmetic
from ..values.graph import Graph
from ..values.islands import _same_window, open_island
from ..values.nested import constant_array
from ..values.tensors import as_array, as_readable
from ..values.values import (
    Array,
    Group,
    Method,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    is_array,
    is_number,
)
from ..values.writes import check_writable
from .assignments import overwrite, update_in_place
from .calls import call
from .python_calls import PYTHON

_INTERNAL = (
    str(Path(__file__).parents[1]),
    str(Path(np.__file__).parent),
    "<__array_function__",
    "<nt.trace",
)
"""Files whose lines are not the user's."""
_WAY_OUT = "nt.jit compiles branches, loops and conversions from the source of a function"


class _UserSource(FunctionSource):
    """Everything is at the user's present line."""

    graph: Graph

    def place(self, node: ast.AST) -> SourceLocation:
        return self.graph.place


class Trace:
    """One run of a function on symbolic arguments."""

    def __init__(self, frame: Frame):
        self.graph = frame.graph
        source = _UserSource(frame.source.function, frame.source.node, frame.source.file)  # pyright: ignore
        object.__setattr__(source, "graph", frame.graph)
        self.frame = Frame(frame.graph, source, frame.captured)
        self.active = True
        self.wish: Respecialise | None = None
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

    # ---- objects and values -------------------------------------------------------------------------

    def object(self, value: Value) -> Any:
        """What the function sees of a value: constants as they are, the rest as symbols."""
        if isinstance(value, Static):
            note_reachable(self.frame.captured, value.raw)
            return value.raw
        if isinstance(value, Group):
            built = value.built([self.object(item) for item in value.items])
            if isinstance(built, list | dict):
                self._lists.append((built, _held(built)))
            return built
        if isinstance(value, Tensor) and is_array(value):
            value = as_array(value)
        return Symbol(self, value)

    def value(self, obj: Any) -> Value:
        """What an object of the function is worth."""
        if isinstance(obj, Symbol):
            if obj._trace is not self or not self.active:
                raise self.error(
                    "an array of another run of a traced function is used here", "pass it as an argument"
                )
            return obj._value
        if isinstance(obj, np.ndarray):
            constant = constant_array(self.graph, obj)
            constant.buffer.frozen = "an array that is neither an argument nor computed from one"
            return constant
        parts = parts_of(obj)
        if parts is None:
            return Static(obj)
        names, items = parts
        return Group(tuple([self.value(item) for item in items]), type(obj), names)

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

    def record(self, make: Callable[[ast.Call], Value]) -> Any:
        """The object of the value that `make` gives, at the user's line."""
        node = self.locate()
        try:
            return self.object(make(node))
        except Respecialise as wish:
            self.wish = wish
            raise

    # ---- operations ---------------------------------------------------------------------------------

    def operate(self, name: str, *operands: Any) -> Any:
        """A Python operator."""
        return self.record(lambda _: arithmetic.operate(self.graph, name, *[self.value(o) for o in operands]))

    def call(self, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A NumPy function or a builtin."""
        values, named = [self.value(a) for a in args], {k: self.value(v) for k, v in kwargs.items()}
        return self.record(lambda node: call(self.frame, node, Static(function), values, named))

    def call_ufunc(self, ufunc: np.ufunc, method: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """`ufunc(...)`, or one of its methods."""
        values, named = [self.value(a) for a in args], {k: self.value(v) for k, v in kwargs.items()}
        if method == "__call__":
            result = self.record(lambda _: call_ufunc(self.frame, ufunc, values, named))
            out = kwargs.get("out", ())
            return out[0] if len(out) == 1 else result
        return self.record(lambda _: ufunc_method(self.graph, ufunc, method, values, named))

    def static(self, value: Value, what: str) -> Any:
        """A number that Python needs now: known, or compiled for its value; else an error at the user's line."""
        self.locate()
        try:
            return arithmetic.require_static(self.graph, value, what, _WAY_OUT)
        except Respecialise as wish:
            self.wish = wish
            raise
        except NestorError as refusal:
            self.refusal = refusal
            raise

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
    """What a call of `traced_call` is worth."""
    assert isinstance(function, Static)
    return Trace(frame).run(function.raw, list(args), kwargs)


PYTHON[traced_call] = _run
