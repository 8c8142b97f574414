"""Derivatives of scalar operations between complex numbers and their parts: `rules/complex_numbers.py` has them of tensors.

    %z = complex.create %a, %b      // forward: the number of both tangents; reverse: re(c) and -im(c), without conjugation
    %a = complex.re %z              // forward: re(t); reverse: the number (c, 0)
    %r = complex.abs %z             // forward: re(t * conj(z / |z|)); reverse: (c, 0) * conj(z / |z|)

An entry gets a tangent of operand k, or a cotangent of the result: their types say which it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ComplexType
from xdsl.ir import SSAValue

if TYPE_CHECKING:
    from ..builder import Formula
    from .scalars import Scalars

Map = Callable[[int, SSAValue, Sequence["Formula"], "Scalars"], SSAValue]


def _is_complex(value: SSAValue) -> bool:
    return isinstance(value.type, ComplexType)


def _complex_of(part: SSAValue, by: Scalars, is_imaginary: bool = False) -> SSAValue:
    zero = by.emitter.const(0.0, part.type)
    return by.elementwise("complex", *((zero, part) if is_imaginary else (part, zero)))


def _create(k: int, tangent: SSAValue, _: Sequence[Formula], by: Scalars) -> SSAValue:
    if not _is_complex(tangent):
        return _complex_of(tangent, by, is_imaginary=k == 1)
    if k == 0:
        return by.elementwise("real", tangent)
    return by.elementwise("negative", by.elementwise("imag", tangent))


def _real(_: int, tangent: SSAValue, __: Sequence[Formula], by: Scalars) -> SSAValue:
    return by.elementwise("real", tangent) if _is_complex(tangent) else _complex_of(tangent, by)


def _imag(_: int, tangent: SSAValue, __: Sequence[Formula], by: Scalars) -> SSAValue:
    if _is_complex(tangent):
        return by.elementwise("imag", tangent)
    return _complex_of(by.elementwise("negative", tangent), by, is_imaginary=True)


def _conjugate(_: int, tangent: SSAValue, __: Sequence[Formula], by: Scalars) -> SSAValue:
    return by.elementwise("conjugate", tangent)


def _absolute(_: int, tangent: SSAValue, values: Sequence[Formula], by: Scalars) -> SSAValue:
    direction = by.elementwise("conjugate", by.elementwise("sign", values[0].value))
    if not _is_complex(tangent):
        return by.elementwise("multiply", _complex_of(tangent, by), direction)
    return by.elementwise("real", by.elementwise("multiply", tangent, direction))


OF_PARTS: dict[str, Map] = {
    "complex.create": _create,
    "complex.re": _real,
    "complex.im": _imag,
    "complex.conj": _conjugate,
    "complex.abs": _absolute,
}
"""By the name of the operation: the dialect is not imported for programs without complex numbers."""
