"""What parts of complex numbers say: angle, isreal, iscomplex, and what they are of real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dialects.nt import ELEMENTWISE
from ...interface.errors import UnsupportedError
from ...values.arithmetic import emit
from ...values.assemble import dtype_of_value
from ...values.graph import Graph
from ...values.numbers import number_kind
from ...values.values import Group, Value, is_array
from ..definitions import call, defines, dtype_of, is_symbol, shape_of, xp
from ..registry import FUNCTIONS, handles
from .parts import is_complex


def _joined(real_part: Any, imaginary: Any) -> Any:
    return ELEMENTWISE["complex"].reference(np.asarray(real_part), np.asarray(imaginary))  # pyright: ignore


def with_parts(real_part: Any, imaginary: Any) -> Any:
    """The complex numbers of two parts, in definitions: NumPy has no function for it."""
    return call(_joined, real_part, imaginary)


@handles(_joined)
def _with_parts(graph: Graph, real_part: Value, imaginary: Value) -> Value:
    dtype = np.result_type(dtype_of_value(graph, real_part), dtype_of_value(graph, imaginary), np.float32)
    return emit(graph, ELEMENTWISE["complex"], [real_part, imaginary], (dtype, dtype))


def _kind(value: Any) -> Any:
    """The type of a number of Python, the dtype of one of NumPy; None of arrays and lists."""
    if not is_symbol(value) or is_array(value._value) or isinstance(value._value, Group):
        return None
    return number_kind(value._trace.graph, value._value)


@handles(np.real_if_close)
def real_if_close(graph: Graph, a: Value, tol: Value | None = None) -> Value:
    """Of what is real: itself."""
    if not isinstance(a, Group) and is_complex(graph, a):
        raise graph.error(
            UnsupportedError,
            "np.real_if_close of complex numbers is not supported: whether its result is complex depends on the elements",
            "take x.real where the imaginary parts are known to be small",
        )
    return FUNCTIONS[np.asarray](graph, a)


@defines(np.angle)
def angle(z, deg=False):
    """The angle of a complex number; of a real one zero, or half a turn where it is negative."""
    result = xp.arctan2(xp.imag(z), xp.real(z)) if dtype_of(z).kind == "c" else xp.arctan2(0, z)
    return result * (180 / np.pi) if deg else result


@defines(np.isreal)
def isreal(x):
    if dtype_of(x).kind == "c":
        return xp.equal(xp.imag(x), 0)
    if isinstance(_kind(x), type):
        return True
    return xp.equal(x, x) | xp.not_equal(x, x)


@defines(np.iscomplex)
def iscomplex(x):
    if dtype_of(x).kind == "c":
        return xp.not_equal(xp.imag(x), 0)
    return xp.zeros(shape_of(x), bool)[()]


@defines(np.isrealobj)
def isrealobj(x):
    return dtype_of(x).kind != "c"


@defines(np.iscomplexobj)
def iscomplexobj(x):
    return dtype_of(x).kind == "c"
