"""ATen operations of single elements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...dialects.special import erf, erfc, lgamma, sigmoid
from ..nn.activations import gelu
from ..numpy_api.definitions import dtype_of, is_symbol, recorded, xp
from .numbers import number
from .table import DEFAULT, INT_TO_FLOAT, SAME, TO_BOOL, elementwise, row


def _unary(f: Any) -> Any:
    return lambda self: f(self)


def _binary(f: Any) -> Any:
    return lambda self, other: f(self, other)


def _sign(self: Any) -> Any:
    """1, 0 or -1; of NaN 0."""
    if dtype_of(self).kind == "b":
        return self
    return (self > 0).astype(dtype_of(self)) - (self < 0).astype(dtype_of(self))


# ---- one operand ------------------------------------------------------------------------------------

elementwise("aten.abs.default", lambda self: xp.abs(self), "COMPLEX_TO_FLOAT")
elementwise("aten.neg.default", lambda self: -self)
elementwise("aten.positive.default", lambda self: self)
elementwise("aten.sign.default aten.sgn.default", _sign)
elementwise("aten.square.default", lambda self: self * self)
elementwise("aten.ceil.default", lambda self: xp.ceil(self))
elementwise("aten.floor.default", lambda self: xp.floor(self))
elementwise("aten.trunc.default", lambda self: xp.trunc(self))
elementwise("aten.round.default", lambda self: xp.rint(self))
elementwise("aten.frac.default", lambda self: self - xp.trunc(self))
elementwise("aten.relu.default", lambda self: xp.maximum(self, 0))

for _name in (
    "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
):  # fmt: skip
    elementwise(f"aten.{_name}.default", _unary(getattr(np, _name)), INT_TO_FLOAT)
for _name, _numpy in {
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}.items():
    elementwise(f"aten.{_name}.default", _unary(_numpy), INT_TO_FLOAT)

elementwise("aten.rsqrt.default", lambda self: 1 / xp.sqrt(self), INT_TO_FLOAT)
elementwise("aten.reciprocal.default", lambda self: 1 / self, INT_TO_FLOAT)
elementwise("aten.sigmoid.default", lambda self: recorded(sigmoid, self), INT_TO_FLOAT)
elementwise("aten.erf.default", lambda self: recorded(erf, self), INT_TO_FLOAT)
elementwise("aten.erfc.default", lambda self: recorded(erfc, self), INT_TO_FLOAT)
elementwise("aten.lgamma.default", lambda self: recorded(lgamma, self), INT_TO_FLOAT)
elementwise("aten.deg2rad.default", lambda self: self * (math.pi / 180), INT_TO_FLOAT)
elementwise("aten.rad2deg.default", lambda self: self * (180 / math.pi), INT_TO_FLOAT)

elementwise("aten.isnan.default", lambda self: self != self, TO_BOOL)
elementwise("aten.isinf.default", lambda self: xp.isinf(self), TO_BOOL)
elementwise("aten.isfinite.default", lambda self: xp.isfinite(self), TO_BOOL)
elementwise("aten.isposinf.default", lambda self: self == np.inf, TO_BOOL)
elementwise("aten.isneginf.default", lambda self: self == -np.inf, TO_BOOL)
elementwise("aten.signbit.default", lambda self: self < 0 if _is_whole(self) else xp.signbit(self), TO_BOOL)
elementwise("aten.logical_not.default", lambda self: xp.logical_not(self), TO_BOOL)
elementwise("aten.bitwise_not.default", lambda self: ~self)


def _is_whole(x: Any) -> bool:
    """Whether elements are integers or bools."""
    return dtype_of(x).kind in "iub"


def _is_float(x: Any) -> bool:
    return dtype_of(x).kind not in "iubc"


# ---- activations ------------------------------------------------------------------------------------


def _elu(self: Any, *, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    negative = xp.expm1(xp.minimum(self, 0) * input_scale) * alpha
    return xp.where(self > 0, self * scale, negative * scale)


def _softplus(self: Any, *, beta: Any = 1, threshold: Any = 20) -> Any:
    scaled = self * beta
    return xp.where(scaled > threshold, self, xp.log1p(xp.exp(scaled)) / beta)


def _log_sigmoid(self: Any) -> tuple[Any, Any]:
    """The logarithm of the sigmoid, and PyTorch's buffer, which has no elements on a CPU that this stands for."""
    return xp.minimum(self, 0) - xp.log1p(xp.exp(-xp.abs(self))), recorded(np.zeros, (0,), dtype_of(self))


elementwise("aten.silu.default", lambda self: self * recorded(sigmoid, self))
elementwise("aten.gelu.default", lambda self, *, approximate="none": recorded(gelu, self, approximate))
elementwise("aten.elu.default", _elu)
elementwise("aten.softplus.default", _softplus)
elementwise(
    "aten.leaky_relu.default",
    lambda self, *, negative_slope=0.01: xp.where(self > 0, self, self * negative_slope),
)
elementwise(
    "aten.hardtanh.default",
    lambda self, *, min_val=-1, max_val=1: xp.minimum(xp.maximum(self, min_val), max_val),
)
elementwise("aten.hardsigmoid.default", lambda self: xp.minimum(xp.maximum(self + 3, 0), 6) / 6)
elementwise("aten.hardswish.default", lambda self: self * xp.minimum(xp.maximum(self + 3, 0), 6) / 6)
elementwise("aten.mish.default", lambda self: self * xp.tanh(_softplus(self)))


# ---- two operands -----------------------------------------------------------------------------------


def _scaled(x: Any, factor: Any) -> Any:
    """`x` times a number, in the dtype of `x`."""
    if not is_symbol(factor) and factor == 1:
        return x
    return x * number(factor, dtype_of(x))


def _never_zero(name: str):
    """Refuses a division of integers by what may be 0, for which PyTorch raises and NumPy gives 0."""

    def takes(given: Mapping[str, Any]) -> str | None:
        divisor = given.get(name)
        is_zero = not isinstance(divisor, bool | int | float) or divisor == 0
        return "integers are divided by a tensor, which PyTorch looks at for zeros" if is_zero else None

    return takes


def whole_number_division(name: str):
    """As `_never_zero`, where elements are integers: the importer says that by the dtype `computes`."""
    takes = _never_zero(name)

    def checked(given: Mapping[str, Any]) -> str | None:
        is_whole = np.dtype(given["computes"]).kind in "iub"
        return takes(given) if is_whole else None

    return checked


def _divided(self: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor":
        return xp.floor_divide(self, other)
    if rounding_mode == "trunc":
        if _is_whole(self):
            quotient = xp.floor_divide(self, other)
            inexact = quotient * other != self
            return xp.where(inexact & (quotient < 0), quotient + 1, quotient)
        return xp.trunc(self / other)
    return self / other


def _clamp(self: Any, min: Any = None, max: Any = None) -> Any:
    if min is not None:
        self = xp.maximum(self, min)
    return self if max is None else xp.minimum(self, max)


def _power(self: Any, exponent: Any) -> Any:
    return xp.power(self, exponent)


def _power_takes(given: Mapping[str, Any]) -> str | None:
    if np.dtype(given["computes"]).kind not in "iub":
        return None
    exponent = given.get("exponent")
    return (
        None
        if isinstance(exponent, int) and exponent >= 0
        else "integers to the power of what may be negative"
    )


elementwise("aten.add.Tensor aten.add.Scalar", lambda self, other, *, alpha=1: self + _scaled(other, alpha))
elementwise("aten.sub.Tensor aten.sub.Scalar", lambda self, other, *, alpha=1: self - _scaled(other, alpha))
elementwise("aten.rsub.Tensor aten.rsub.Scalar", lambda self, other, *, alpha=1: other - _scaled(self, alpha))
elementwise("aten.mul.Tensor aten.mul.Scalar", lambda self, other: self * other)
elementwise("aten.div.Tensor aten.div.Scalar", lambda self, other: self / other, INT_TO_FLOAT)
elementwise("aten.div.Tensor_mode aten.div.Scalar_mode", _divided, DEFAULT, whole_number_division("other"))
elementwise(
    "aten.floor_divide.default aten.floor_divide.Scalar",
    lambda self, other: xp.floor_divide(self, other),
    DEFAULT,
    whole_number_division("other"),
)
elementwise(
    "aten.remainder.Tensor aten.remainder.Scalar aten.remainder.Scalar_Tensor",
    lambda self, other: xp.remainder(self, other),
    DEFAULT,
    whole_number_division("other"),
)
elementwise(
    "aten.fmod.Tensor aten.fmod.Scalar",
    lambda self, other: xp.fmod(self, other),
    DEFAULT,
    whole_number_division("other"),
)
elementwise("aten.pow.Tensor_Scalar aten.pow.Tensor_Tensor aten.pow.Scalar", _power, DEFAULT, _power_takes)
elementwise("aten.maximum.default", lambda self, other: xp.maximum(self, other))
elementwise("aten.minimum.default", lambda self, other: xp.minimum(self, other))
elementwise("aten.fmax.default", lambda self, other: xp.fmax(self, other))
elementwise("aten.fmin.default", lambda self, other: xp.fmin(self, other))
elementwise("aten.atan2.default", lambda self, other: xp.arctan2(self, other), INT_TO_FLOAT)
elementwise("aten.hypot.default", lambda self, other: xp.hypot(self, other))
elementwise(
    "aten.copysign.Tensor aten.copysign.Scalar", lambda self, other: xp.copysign(self, other), INT_TO_FLOAT
)
elementwise("aten.nextafter.default", lambda self, other: xp.nextafter(self, other), SAME)
elementwise("aten.logaddexp.default", lambda self, other: xp.logaddexp(self, other))
elementwise("aten.clamp.default aten.clamp.Tensor", _clamp)
elementwise("aten.clamp_min.default aten.clamp_min.Tensor", lambda self, min: xp.maximum(self, min))
elementwise("aten.clamp_max.default aten.clamp_max.Tensor", lambda self, max: xp.minimum(self, max))
elementwise(
    "aten.xlogy.Tensor aten.xlogy.Scalar_Other aten.xlogy.Scalar_Self",
    lambda self, other: xp.where((self == 0) & (other == other), self * 0 + 0, self * xp.log(other)),
    INT_TO_FLOAT,
)

for _name, _numpy in {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}.items():
    elementwise(f"aten.{_name}.Tensor aten.{_name}.Scalar", _binary(_numpy), TO_BOOL)
for _name, _numpy in {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}.items():
    elementwise(f"aten.logical_{_name}.default", _binary(_numpy), TO_BOOL)
for _name, _numpy in {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}.items():
    elementwise(
        f"aten.bitwise_{_name}.Tensor aten.bitwise_{_name}.Scalar aten.bitwise_{_name}.Scalar_Tensor",
        _binary(_numpy),
    )


# ---- three operands ---------------------------------------------------------------------------------


def _where(self: Any, other: Any, *, condition: Any) -> Any:
    return xp.where(condition if dtype_of(condition) == np.bool_ else condition != 0, self, other)


elementwise("aten.where.self aten.where.ScalarSelf aten.where.ScalarOther aten.where.Scalar", _where, SAME)
elementwise(
    "aten.addcmul.default",
    lambda self, tensor1, tensor2, *, value=1: self + _scaled(tensor1, value) * tensor2,
)
elementwise(
    "aten.addcdiv.default",
    lambda self, tensor1, tensor2, *, value=1: self + _scaled(tensor1, value) / tensor2,
)


def _lerp(self: Any, end: Any, weight: Any) -> Any:
    return xp.where(xp.abs(weight) < 0.5, self + weight * (end - self), end - (end - self) * (1 - weight))


elementwise("aten.lerp.Scalar aten.lerp.Tensor", _lerp)
elementwise(
    "aten.masked_fill.Scalar aten.masked_fill.Tensor",
    lambda self, *, mask, value: _filled(self, mask, value),
    SAME,
)


def _filled(self: Any, mask: Any, value: Any) -> Any:
    return xp.where(mask, number(value, dtype_of(self)), self)


# ---- conversions ------------------------------------------------------------------------------------


def _converted(self: Any, dtype: Any = None) -> Any:
    return self if dtype is None else self.astype(dtype)


row("aten._to_copy.default", _converted)
row("prims.convert_element_type.default", lambda a, dtype: _converted(a, dtype))
row(
    "aten.clone.default aten.lift_fresh_copy.default aten.contiguous.default aten.detach.default aten.alias.default "
    "aten.lift_fresh.default",
    lambda self: self,
)
