"""Calls back to NumPy, for what has no native kernel: the types of results are NumPy's own, asked on small samples.

np.sort(x)      ->   %y = nt.custom_call "numpy.sort"(%x) {axis = -1 : i64} : (tensor<7xf64>) -> tensor<7xf64>

Inside an island the operands are copied to buffers of its own, and the call is between the loops.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from ...dialects.custom_call_names import CUDA, LANGUAGE
from ...dialects.diagnostic import NestorError
from ...dialects.nt import CustomCallOp
from ...lowering.nest_common.custom_calls import as_any_layout, call_of, declaration
from ...runtime.numpy_calls import NUMPY_CALLS
from ..interface.argument_types import memory_axes
from ..interface.errors import DTypeError, ShapeError
from ..values.assemble import axis_order, dtype_of_value
from ..values.contents import as_tensor
from ..values.extents import Affine, affine_list
from ..values.graph import Graph, dynamic, element_type, tensor_type
from ..values.islands import Island
from ..values.numbers import number_kind
from ..values.tensors import as_array, normal_order
from ..values.values import (
    Array,
    Extents,
    Group,
    Lazy,
    Masked,
    Scalar,
    Static,
    Tensor,
    Value,
    extents_of,
    is_array,
    whole,
)
from .shapes.rearranging import atleast


class LinearAlgebraError(NestorError, np.linalg.LinAlgError):
    """Matrices of the wrong shape.

        @nt.jit
        def f(a):
            return np.linalg.inv(a)

        f(np.ones((2, 3)))

    `np.linalg.pinv` and `np.linalg.lstsq` take matrices that are not square.
    """


@dataclass(frozen=True, eq=False)
class Result:
    """What a call gives: an array, or a number (`is_array` False) of rank 0."""

    dtype: np.dtype
    extents: Extents
    is_array: bool = True
    order: tuple[int, ...] | None = None


def call_numpy(
    graph: Graph,
    name: str,
    operands: Sequence[Value],
    extents: Sequence[Extents],
    *,
    ordered: bool = False,
    sample: dict[str, Any] | None = None,
    **arguments: Any,
) -> Value:
    """`np.name(*operands, **arguments)`, with results of the given extents, whose types NumPy itself says.

    `sample` are arguments to ask it with instead of the true ones. An `ordered` call may raise, and stays where it is.
    What masks select is selected by the call, `values[mask]`: the extents of results must not depend on it.
    Raises what NumPy raises for operands of these types, ranks and extents.
    """
    operands = [as_operand(graph, o) for o in operands]
    shapes = _sample_shapes([shape_of_operand(o) for o in operands])
    samples = tuple([_sample_type(graph, o, s) for o, s in zip(operands, shapes, strict=True)])
    selected = tuple([k for k, o in enumerate(operands) if isinstance(o, Masked)])
    try:
        answer = _ask(name, samples, tuple(sorted({**arguments, **(sample or {})}.items())))
    except np.linalg.LinAlgError as error:
        raise graph.error(LinearAlgebraError, str(error)) from None
    except TypeError as error:
        raise graph.error(DTypeError, str(error)) from None
    except ValueError as error:
        raise graph.error(ShapeError, str(error)) from None
    kind, fields, found = answer
    results = [
        Result(dtype, e, array, order) for (dtype, array, order), e in zip(found, extents, strict=True)
    ]
    for one in results:
        element_type(one.dtype, graph.place)
    if selected:
        arguments["selected"] = selected
        masks = [o.mask for o in operands if isinstance(o, Masked)]
        operands = [*[o.values if isinstance(o, Masked) else o for o in operands], *masks]
    values = python_call(graph, f"numpy.{name}", operands, results, ordered=ordered, **arguments)
    return values[0] if kind is None else Group(tuple(values), kind, fields)


def python_call(
    graph: Graph,
    target: str,
    operands: Sequence[Value],
    results: Sequence[Result],
    *,
    ordered: bool = False,
    **arguments: Any,
) -> list[Value]:
    """A call of the function that the runtime knows as `target`."""
    attributes = {key: attribute_of(value) for key, value in arguments.items()}
    if graph.island is not None:
        return _in_island(graph, graph.island, target, operands, results, ordered, attributes)
    tensors = [as_tensor(graph, o) for o in operands]
    sizes = affine_list([size for one in results for size in dynamic(one.extents)])
    types = [tensor_type(one.dtype, one.extents) for one in results]
    op = CustomCallOp(target, [t.ssa for t in tensors], types, attributes, sizes, ordered)
    graph.insert(op)
    return [_value(ssa, one) for ssa, one in zip(op.results_, results, strict=True)]


def _value(ssa: SSAValue, result: Result) -> Value:
    if not result.is_array:
        return Tensor(ssa, result.dtype, (), True)
    return as_array(Tensor(ssa, result.dtype, result.extents, order=result.order))


def as_operand(graph: Graph, value: Value) -> Value:
    """A number as it is; everything else as an array."""
    if isinstance(value, Group) or (isinstance(value, Static) and isinstance(value.value, tuple | list)):
        return atleast(graph, value, 0)
    number_kind(graph, value)
    return value


def shape_of_operand(value: Value) -> Extents:
    """The extents of an operand; what a mask selects has a first one that stands for any."""
    if isinstance(value, Masked):
        return (Affine(3), *value.values.extents[len(value.mask.extents) :])
    return extents_of(value)


def attribute_of(value: Any) -> Attribute:
    """A Python object as the attribute that stands for it."""
    if value is None:
        return UnitAttr()
    if isinstance(value, bool | np.bool_):
        return IntegerAttr(int(value), i1)
    if isinstance(value, int | np.integer):
        return IntegerAttr(int(value), i64)
    if isinstance(value, float | np.floating):
        return FloatAttr(float(value), f64)
    if isinstance(value, str):
        return StringAttr(value)
    if isinstance(value, dict):
        return DictionaryAttr({name: attribute_of(one) for name, one in value.items()})
    assert isinstance(value, tuple | list), f"{value!r} is not an argument of a call"
    return ArrayAttr([attribute_of(one) for one in value])


# ---- inside islands ---------------------------------------------------------------------------------


def _in_island(
    graph: Graph,
    island: Island,
    target: str,
    operands: Sequence[Value],
    results: Sequence[Result],
    ordered: bool,
    attributes: dict[str, Attribute],
) -> list[Value]:
    buffers = [_buffer(graph, island, o, LANGUAGE in attributes or CUDA in attributes) for o in operands]
    arrays = [whole(island.allocate("t", one.dtype, one.extents)) for one in results]
    dtypes = [dtype_of_value(graph, o) for o in operands] + [one.dtype for one in results]
    memory = [*buffers, *[island.memref(a.buffer) for a in arrays]]
    function = declaration(
        target,
        DictionaryAttr(attributes),
        [m.type for m in memory],  # pyright: ignore
        [element_type(d) for d in dtypes],
        len(buffers),
    )
    graph.declarations[function.sym_name.data] = function
    if ordered:
        island.keeps()
    graph.insert(call_of(function, memory))
    return [
        array if one.is_array else Scalar(island.load(array, ()), one.dtype)
        for array, one in zip(arrays, results, strict=True)
    ]


def _buffer(graph: Graph, island: Island, operand: Value, dense: bool) -> SSAValue:
    """An operand in memory: the buffer that it is all of, or a copy; a `dense` one is in row-major order without gaps."""
    if isinstance(operand, Array) and operand.whole and operand.axes:
        memref = island.memref(operand.buffer)
        if operand.buffer.local is not None:
            return memref
        if dense:
            return island.memref(island.materialise(operand, "t").buffer)
        cast = as_any_layout(memref)
        graph.insert(cast)
        return cast.dest
    if isinstance(operand, Array | Lazy) and operand.extents:
        return island.memref(island.materialise(operand, "t").buffer)
    dtype = dtype_of_value(graph, operand)
    cell = whole(island.allocate("t", dtype, ()))
    island.store(cell, (), island.scalar(operand, dtype))
    return island.memref(cell.buffer)


# ---- what NumPy says --------------------------------------------------------------------------------

_Sample = tuple[tuple[int, ...], tuple[int, ...] | None, Any, bool]
"""Extents, memory order, dtype or Python type, whether it is an array."""


_SMALL = 8
"""Extents up to this one are the same in samples."""


def _sample_shapes(shapes: Sequence[Extents]) -> list[tuple[int, ...]]:
    """Small extents of which those are equal that are, and of which the order is the same; small ones as they are."""
    values = [[_size(e) for e in shape] for shape in shapes]
    large = sorted({v for shape in values for v in shape if v > _SMALL})
    small = {v: _SMALL + 1 + k for k, v in enumerate(large)}
    return [tuple([small.get(v, v) for v in shape]) for shape in values]


def _size(extent: Affine) -> int:
    value = extent.witness()
    return 2 if value is None else value


def _sample_type(graph: Graph, value: Value, shape: tuple[int, ...]) -> _Sample:
    order = None
    if isinstance(value, Array) and value.buffer.local is None:
        order = axis_order(value)
    elif isinstance(value, Tensor):
        order = value.order
    return shape, order, number_kind(graph, value), is_array(value) or isinstance(value, Masked)


@functools.lru_cache(maxsize=1024)
def _ask(
    name: str, samples: tuple[_Sample, ...], arguments: tuple[tuple[str, Any], ...]
) -> tuple[type | None, tuple[str, ...] | None, list[tuple[np.dtype, bool, tuple[int, ...] | None]]]:
    """What a function gives for such operands: the kind of tuple, and the type of each of its items."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = NUMPY_CALLS[f"numpy.{name}"](*map(_sample, samples), **dict(arguments))
    if not isinstance(given, tuple | list):
        return None, None, [_type_of(given)]
    return type(given), getattr(given, "_fields", None), [_type_of(one) for one in given]


def _type_of(value: Any) -> tuple[np.dtype, bool, tuple[int, ...] | None]:
    array = np.asarray(value)
    dense = array.ndim > 1 and array.size > 0 and not array.flags.c_contiguous
    return array.dtype, isinstance(value, np.ndarray), normal_order(memory_axes(array)) if dense else None


def _sample(one: _Sample) -> Any:
    """Numbers that no function minds: a unit matrix, increasing numbers, one."""
    shape, order, kind, array = one
    if isinstance(kind, type):
        return kind(1)
    if not array:
        return kind.type(1)
    if not shape:
        return np.ones((), kind)
    data = np.arange(shape[0]) if len(shape) == 1 else np.broadcast_to(np.eye(shape[-2], shape[-1]), shape)
    if order is None:
        return np.ascontiguousarray(data.astype(kind))
    stored = np.ascontiguousarray(data.transpose(order).astype(kind))
    return stored.transpose([order.index(k) for k in range(len(order))])
