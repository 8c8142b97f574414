"""`print` in compiled code: numbers are sent when the program runs, in its order, and printed as Python prints them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, f64, i64
from xdsl.ir import SSAValue

from ...lowering.abi.print_calls import PRINT_CALLS
from ...runtime.printing import Form, Site, register
from ..frame.frame import Frame
from ..numpy_api.families import FUNCTIONS
from ..values.contents import as_tensor
from ..values.graph import Graph
from ..values.islands import open_island
from ..values.numbers import number_kind
from ..values.tensors import as_array, cast, to_scalar
from ..values.values import (
    Array,
    Group,
    Index,
    Lazy,
    Static,
    Tensor,
    Text,
    Value,
    describe,
    extents_of,
    is_array,
    is_number,
)

FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)
_TYPES = {"i64": i64, "f64": f64}


def print_(frame: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`print(*args, sep=, end=, flush=)`."""
    given: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name not in ("sep", "end", "flush"):
            frame.fail(node, f"print with {name}= is not supported", "print to the standard output")
        if not isinstance(value, Static):
            frame.fail(node, f"{name}= of print must be known at compile time")
        given[name] = value.value
    graph = frame.graph
    sends: list[Callable[[], None]] = []
    forms = tuple([_form(frame, node, arg, sends) for arg in args])
    site = register(Site(forms, given.get("sep"), given.get("end")))
    _call(graph, "nestor_print_begin", graph.emitter().const(site, i64))
    for send in sends:
        send()
    _call(graph, "nestor_print_end")
    return Static(None)


def _call(graph: Graph, name: str, *operands: SSAValue) -> None:
    graph.externals[name] = FunctionType.from_lists([_TYPES[type_] for type_ in PRINT_CALLS[name]], [])
    graph.has_acted = True
    if graph.island is not None:
        graph.island.keeps()
    graph.insert(func.CallOp(name, list(operands), []))


def _form(frame: Frame, node: ast.Call, value: Value, sends: list[Callable[[], None]]) -> Form:
    """How one argument is put together again; what sends its numbers is added to `sends`."""
    graph = frame.graph
    if isinstance(value, Static):
        return lambda numbers: value.value
    if isinstance(value, Group):
        items = [_form(frame, node, item, sends) for item in value.items]
        return lambda numbers: value.built([item(numbers) for item in items])
    if isinstance(value, Text):
        parts = [(_form(frame, node, part, sends), convert, spec) for part, convert, spec in value.parts]
        return lambda numbers: "".join(
            [
                format(convert(part(numbers)) if convert else part(numbers), spec)
                for part, convert, spec in parts
            ]
        )
    if not is_number(value):
        frame.fail(node, f"{describe(value)} cannot be printed in compiled code", "print it outside")
    kind = number_kind(graph, value)
    if kind is complex or (isinstance(kind, np.dtype) and kind.kind == "c"):
        return _complex(frame, node, value, kind, sends)
    if extents_of(value) or is_array(value):
        assert isinstance(kind, np.dtype)
        return _array(frame, value, kind, sends)
    sends.append(lambda: _send(graph, value, kind))
    return lambda numbers: _number(next(numbers), kind)


def _complex(frame: Frame, node: ast.Call, value: Value, kind: Any, sends: list[Callable[[], None]]) -> Form:
    """Complex numbers are sent as two numbers, or two arrays, of their parts."""
    parts = [FUNCTIONS[part](frame.graph, value) for part in (np.real, np.imag)]
    forms = [_form(frame, node, part, sends) for part in parts]

    def form(numbers: Iterator[Any]) -> Any:
        real, imaginary = [part(numbers) for part in forms]
        if kind is complex:
            return complex(real, imaginary)
        joined = np.empty(np.shape(real), kind)
        joined.real, joined.imag = real, imaginary
        return joined if is_array(value) else joined[()]

    return form


def _wire(kind: Any) -> np.dtype:
    """The type in which a number is sent."""
    is_float = kind is float or (isinstance(kind, np.dtype) and kind.kind not in "iub")
    return FLOAT if is_float else INT


def _number(value: float, kind: Any) -> Any:
    if isinstance(kind, type):
        return kind(value)
    return np.asarray(value, np.float64 if _wire(kind) is FLOAT else np.int64).astype(kind)[()]


def _send(graph: Graph, value: Value, kind: Any) -> None:
    wire = _wire(kind)
    name = "nestor_print_float" if wire is FLOAT else "nestor_print_int"
    if graph.island is not None:
        return _call(graph, name, graph.island.scalar(value, wire))
    if isinstance(value, Index):
        return _call(graph, name, graph.integer(value.affine))
    _call(graph, name, to_scalar(graph, cast(graph, as_tensor(graph, value), wire)))


def _array(frame: Frame, value: Value, dtype: np.dtype, sends: list[Callable[[], None]]) -> Form:
    """An array: its extents, then its elements in row-major order."""
    graph = frame.graph
    extents, rank = extents_of(value), len(extents_of(value))

    def elements(array: Array | Lazy) -> None:
        island = graph.island
        assert island is not None
        name = "nestor_print_float" if _wire(dtype) is FLOAT else "nestor_print_int"
        island.for_each(extents, lambda at: _call(graph, name, island.element(array, _wire(dtype), at)))

    def send() -> None:
        for extent in extents:
            _call(graph, "nestor_print_int", graph.integer(extent))
        if graph.island is not None:
            assert isinstance(value, Array | Lazy)
            return elements(value)
        array = as_array(value) if isinstance(value, Tensor) else value
        assert isinstance(array, Array)
        with open_island(graph):
            elements(array)

    sends.append(send)

    def form(numbers: Iterator[Any]) -> np.ndarray:
        shape = [int(next(numbers)) for _ in range(rank)]
        flat = [next(numbers) for _ in range(int(np.prod(shape)))]
        return (
            np.asarray(flat, np.float64 if _wire(dtype) is FLOAT else np.int64).astype(dtype).reshape(shape)
        )

    return form
