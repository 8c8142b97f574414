"""Parts of complex numbers: real, imag, conj; and complex numbers of their parts."""

from __future__ import annotations

import numpy as np

from ....dialects.nt import ELEMENTWISE
from ...interface.errors import DTypeError, UnsupportedError
from ...values.arithmetic import apply, as_weak, copy, emit, operate, scalar_arguments
from ...values.contents import as_view, read
from ...values.graph import Graph
from ...values.numbers import number_kind
from ...values.tensors import elementwise
from ...values.values import Array, Group, Lazy, Method, Static, Value, extents_of, is_array, operand_of
from ..registry import FUNCTIONS, handles
from ..shapes.reshaping import frozen_view

_FLOAT, _COMPLEX = np.dtype(np.float64), np.dtype(np.complex128)


def is_complex(graph: Graph, value: Value) -> bool:
    """Whether a value is complex."""
    kind = number_kind(graph, value)
    return kind is complex or (isinstance(kind, np.dtype) and kind.kind == "c")


@handles(np.real)
def real(graph: Graph, val: Value) -> Value:
    """Of a real array: itself. A bool of Python is an int then."""
    if isinstance(val, Method):
        return val
    if isinstance(val, Group):
        return real(graph, FUNCTIONS[np.asarray](graph, val))
    if is_complex(graph, val):
        return _part(graph, val, "real")
    return operate(graph, "positive", val) if operand_of(val) is bool else val


@handles(np.imag)
def imag(graph: Graph, val: Value) -> Value:
    """Of a real array: zeros, which cannot be written where they are an array."""
    if isinstance(val, Group):
        return imag(graph, FUNCTIONS[np.asarray](graph, val))
    if is_complex(graph, val):
        return _part(graph, val, "imag")
    if not is_array(val):
        kind = number_kind(graph, val)
        return Static((int if kind is bool else kind)(0) if isinstance(kind, type) else kind.type(0))
    zeros = FUNCTIONS[np.zeros_like](graph, val)
    if isinstance(zeros, Array):
        zeros.buffer.read_only = True
    return zeros


def _part(graph: Graph, value: Value, name: str) -> Value:
    """A part of a number, or of an array at this moment, of which NumPy gives a view."""
    if isinstance(value, Static):
        return Static(getattr(value.value, name))
    kind, row = number_kind(graph, value), ELEMENTWISE[name]
    dtype = np.dtype(np.complex128) if kind is complex else kind
    assert isinstance(dtype, np.dtype)
    if not is_array(value) or isinstance(value, Lazy) or graph.island is not None:
        result = emit(graph, row, [value], (dtype,))
        return as_weak(result, float, scalar_arguments([value])) if kind is complex else result
    array = as_view(graph, value)
    tensor = elementwise(graph, row, [read(graph, array)], array.extents)
    what = f"the {'real' if name == 'real' else 'imaginary'} part"
    return frozen_view(graph, array, tensor, what, (name, ()))


@handles(method="conj")
@handles(method="conjugate")
def conj(graph: Graph, a: Value) -> Value:
    """Of a real array: itself."""
    if not is_complex(graph, a):
        return a
    result = apply(graph, np.conjugate, a)
    return as_weak(result, complex, scalar_arguments([a])) if number_kind(graph, a) is complex else result


@handles(complex)
def to_complex(graph: Graph, real: Value | None = None, imag: Value | None = None) -> Value:
    """Python's numbers of two real ones, or of one of any kind."""
    if real is None:
        real = Static(0.0)
    if isinstance(real, Static) and (imag is None or isinstance(imag, Static)):
        return Static(complex(real.value) if imag is None else complex(real.value, imag.value))
    given = [real] if imag is None else [real, imag]
    if any(extents_of(value) for value in given):
        raise graph.error(DTypeError, "only size-1 arrays can be converted to Python scalars")
    if any(is_complex(graph, value) for value in given):
        if imag is not None:
            raise graph.error(
                UnsupportedError, "complex(a, b) of complex numbers is not supported", "a + b * 1j"
            )
        return as_weak(copy(graph, real, _COMPLEX), complex, scalar_arguments([real]))
    parts = [*given, Static(0.0)][:2]
    result = emit(graph, ELEMENTWISE["complex"], parts, (_FLOAT, _FLOAT))
    return as_weak(result, complex, scalar_arguments(given))
