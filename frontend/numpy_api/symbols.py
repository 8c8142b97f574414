"""Arrays that record what is done to them, in the same tables as compiled source."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ...dialects.diagnostic import NestorError
from ..frame.frame import Frame
from ..frame.recursion import call
from ..indexing.stores import overwrite
from ..indexing.subscripts import subscript
from ..indexing.views import Item, Slice, view
from ..interface.errors import DTypeError, MissingAttributeError, Respecialise, UnsupportedError
from ..interface.structures import parts_of
from ..values import arithmetic
from ..values.islands import open_island, same_window
from ..values.nested import constant_table
from ..values.selection import settled
from ..values.tensors import as_array, as_readable
from ..values.values import (
    Array,
    Group,
    Masked,
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
from .elements.attributes import ATTRIBUTES
from .elements.ufuncs import call_ufunc, ufunc_method
from .in_place import update_in_place
from .registry import METHODS

WAY_OUT = "nt.jit compiles branches, loops and conversions from the source of a function"


class Recording:
    """One run of a function on symbols."""

    def __init__(self, frame: Frame):
        self.graph = frame.graph
        self.frame = frame
        self.active = True
        self.wish: Respecialise | None = None

    # ---- objects and values -------------------------------------------------------------------------

    def object(self, value: Value) -> Any:
        """What the function sees of a value: constants as they are, the rest as symbols."""
        if isinstance(value, Static):
            return value.value
        if isinstance(value, Group):
            return value.built([self.object(item) for item in value.items])
        if isinstance(value, Tensor) and is_array(value):
            value = as_array(value)
        if isinstance(value, Masked):
            value = settled(self.graph, value)
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
            constant = constant_table(self.graph, obj)
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
        """Build an error where the run stands."""
        return self.graph.error(kind, message, hint)

    def locate(self) -> ast.Call:
        """What follows comes from where the run stands; a node that stands for it."""
        return ast.Call(ast.Name("definition", ast.Load()), [], [])

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
            result = self.record(lambda _: call_ufunc(self.graph, ufunc, values, named))
            out = kwargs.get("out", ())
            return out[0] if len(out) == 1 else result
        return self.record(lambda _: ufunc_method(self.graph, ufunc, method, values, named))

    def static(self, value: Value, what: str) -> Any:
        """A number that Python needs now: known, or compiled for its value."""
        return arithmetic.require_static(self.graph, value, what)

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
                overwrite(self.graph, owner, value)
            return
        check_writable(graph, owner.buffer)
        if isinstance(value, Array) and value.buffer is owner.buffer:
            window = view(graph, owner, items)
            if same_window(window, value):
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


class Symbol:
    """An array or a number of a run: what is done to it is recorded."""

    __slots__ = ("_trace", "_value")
    __hash__ = None  # pyright: ignore

    def __init__(self, trace: Recording, value: Value):
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
            WAY_OUT,
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
            UnsupportedError if hasattr(np.ndarray, name) else MissingAttributeError,
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


_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
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


def _in_place(name: str) -> Callable[..., Any]:
    def update(self: Symbol, other: Any) -> Any:
        """Of an array: in its memory. Numbers are new ones."""
        trace, value = self._trace, self._value
        if not isinstance(value, Array):
            return NotImplemented
        operand = trace.value(other)

        def write(call: ast.Call) -> Value:
            check_writable(trace.graph, value.buffer)
            update_in_place(trace.frame, call, name, value, operand)
            return Static(None)

        trace.record(write)
        return self

    return update


for _name, _ufunc in _BINARY.items():
    setattr(Symbol, f"__{_name}__", _forward(_ufunc))
    setattr(Symbol, f"__r{_name}__", _reflected(_ufunc))
    setattr(Symbol, f"__i{_name}__", _in_place(_ufunc))
for _name, _ufunc in {**_COMPARE, **_UNARY}.items():
    setattr(Symbol, f"__{_name}__", _forward(_ufunc))
