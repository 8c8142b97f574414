"""Elementwise operations between complex numbers and their parts. As in JAX, a cotangent is transposed, not conjugated.

A complex tensor is its real and its imaginary part: the derivative of a function that is not holomorphic (`abs`, `conj`,
`real`) is that of the parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ....dialects.nt.elementwise_ops import ElementwiseOp
from ..builder import Builder

if TYPE_CHECKING:
    from ..forward import Forward
    from ..reverse import Reverse

OWN = frozenset(("complex", "real", "imag", "conjugate", "absolute", "sign"))


def reverse(op: ElementwiseOp, cotangent: SSAValue, wanted: Sequence[int], to: Reverse) -> None:
    b, name = to.builder, op.row.name
    if name == "complex":
        parts = (("real", False), ("imag", True))
        for k in wanted:
            part = b.elementwise(parts[k][0], cotangent)
            to.add(op.inputs[k], b.elementwise("negative", part) if parts[k][1] else part)
        return
    if not wanted:
        return
    source = op.inputs[0]
    if name == "real":
        to.add(source, b.elementwise("complex", cotangent, b.zeros(cotangent)))
    elif name == "imag":
        to.add(source, b.elementwise("complex", b.zeros(cotangent), b.elementwise("negative", cotangent)))
    elif name == "conjugate":
        to.add(source, b.elementwise("conjugate", cotangent))
    elif name == "absolute":
        direction = b.elementwise("conjugate", b.elementwise("sign", source))
        to.add(source, b.elementwise("multiply", _as_complex(cotangent, b), direction))
    else:
        # z / |z| along its circle: (t - s * Re(conj(s) * t)) / |z|, a map of the parts that is its own transpose up to
        # conjugation on both sides
        to.add(source, b.elementwise("conjugate", _turned(op, b.elementwise("conjugate", cotangent), b)))


def forward(op: ElementwiseOp, tangents: Mapping[int, SSAValue], by: Forward) -> SSAValue | None:
    b, name = by.builder, op.row.name
    if name == "complex":
        parts = [tangents[k] if k in tangents else b.zeros(v) for k, v in enumerate(op.inputs)]
        return b.elementwise("complex", *parts)
    tangent = tangents[0]
    if name in ("real", "imag", "conjugate"):
        return b.elementwise(name, tangent)
    if name == "absolute":
        direction = b.elementwise("conjugate", b.elementwise("sign", op.inputs[0]))
        return b.elementwise("real", b.elementwise("multiply", tangent, direction))
    return _turned(op, tangent, b)


def _turned(op: ElementwiseOp, tangent: SSAValue, b: Builder) -> SSAValue:
    """The tangent of z / |z|; zero where z is."""
    along = b.elementwise("real", b.elementwise("multiply", b.elementwise("conjugate", op.result), tangent))
    across = b.elementwise("subtract", tangent, b.elementwise("multiply", op.result, _as_complex(along, b)))
    size = b.formula(b.elementwise("absolute", op.inputs[0]))
    none = size.equals(0.0)
    inverse = none.where(0.0, none.where(1.0, size).apply("reciprocal"))
    return b.elementwise("multiply", across, _as_complex(inverse.value, b))


def _as_complex(value: SSAValue, b: Builder) -> SSAValue:
    return b.elementwise("complex", value, b.zeros(value))
