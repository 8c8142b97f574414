"""`nt.random`: random numbers that are functions of a key, by Philox 4x32-10.

    noise = nt.random.normal(key, x.shape, np.float32)
    key = nt.random.fold_in(key, step)          # the key of another, independent sequence

A key is an integer of 64 bits; the same key and shape give the same numbers, to the bit, in NumPy and compiled for any
target: what is computed here is integers, and arithmetic that IEEE 754 rounds in one way only. Element i in row-major
order takes the 64 bits of counter i.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects.special import philox

__all__ = ["bernoulli", "bits", "fold_in", "normal", "philox", "rand_like", "uniform"]

_DRAW, _FOLD = 0, 1
"""Streams (the upper half of the counter): what elements take, and what makes keys."""

_LN2 = 0.6931471805599453
_ROOT_HALF = 0.7071067811865476


def _positions(shape):
    """The row-major position of every element."""
    if len(shape) == 0:
        return np.int64(0)
    position = np.arange(shape[0])
    for extent in shape[1:]:
        position = np.expand_dims(position, -1) * extent + np.arange(extent)
    return position


def _word(key):
    return np.int64(key).astype(np.uint64)


def bits(key: Any, shape: Any) -> Any:
    """64 random bits (uint64) an element."""
    return philox(_positions(shape).astype(np.uint64), np.uint64(_DRAW), _word(key))


def fold_in(key: Any, data: Any) -> Any:
    """The key that belongs to `key` and the integer `data`."""
    return philox(np.int64(data).astype(np.uint64), np.uint64(_FOLD), _word(key)).astype(np.int64)


def uniform(key: Any, shape: Any, dtype: Any = np.float32, low: float = 0.0, high: float = 1.0) -> Any:
    """Numbers in [low, high), with as many random bits as `dtype` holds."""
    word = bits(key, shape)
    if dtype == np.float64:
        unit = (word >> 11).astype(np.int64).astype(np.float64) * 2.0**-53
    elif dtype == np.float32:
        unit = (word >> 40).astype(np.int32).astype(np.float32) * 2.0**-24
    elif dtype == np.float16:
        unit = (word >> 53).astype(np.int32).astype(np.float16) * 2.0**-11
    else:
        raise TypeError("random numbers are float16, float32 or float64")
    return unit if low == 0.0 and high == 1.0 else unit * (high - low) + low


def bernoulli(key: Any, p: float, shape: Any) -> Any:
    """True with probability `p`."""
    return uniform(key, shape, np.float32) < p


def rand_like(key: Any, x: Any) -> Any:
    """Uniform numbers of the shape and dtype of `x`."""
    return uniform(key, x.shape, x.dtype)


def normal(key: Any, shape: Any, dtype: Any = np.float32) -> Any:
    """Numbers of the standard normal distribution: its inverse distribution function of uniform numbers."""
    word = bits(key, shape)
    if dtype == np.float64:
        q = ((word >> 12).astype(np.int64).astype(np.float64) - (2.0**51 - 0.5)) * 2.0**-52
        return _inverse_double(q)
    q = ((word >> 41).astype(np.int32).astype(np.float32) - (2.0**22 - 0.5)) * 2.0**-23
    if dtype == np.float32:
        return _inverse_single(q)
    if dtype != np.float16:
        raise TypeError("random numbers are float16, float32 or float64")
    return _inverse_single(q).astype(np.float16)


# ---- the inverse of the normal distribution function, of q + 1/2 ------------------------------------
# Wichura, Algorithm AS 241, Applied Statistics 37 (1988): PPND7 and PPND16.


def _polynomial(x, coefficients):
    """Horner's rule; coefficients highest power first."""
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def _log(x, terms):
    """The logarithm of normal positive numbers, by operations that are rounded in one way only."""
    mantissa, exponent = np.frexp(x)
    low = mantissa < _ROOT_HALF
    mantissa = np.where(low, mantissa + mantissa, mantissa)
    exponent = np.where(low, exponent - 1, exponent).astype(mantissa.dtype)
    s = (mantissa - 1) / (mantissa + 1)
    return exponent * _LN2 + s * _polynomial(s * s, terms)


_SINGLE_LOG = tuple(2.0 / k for k in (9, 7, 5, 3, 1))
_DOUBLE_LOG = tuple(2.0 / k for k in (23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1))

_SINGLE_CENTRE = (
    (59.109374720, 159.29113202, 50.434271938, 3.3871327179),
    (67.187563600, 78.757757664, 17.895169469, 1.0),
)
_SINGLE_TAIL = (
    (0.17023821103, 1.3067284816, 2.7568153900, 1.4234372777),
    (0.12021132975, 0.73700164250, 1.0),
)

_DOUBLE_CENTRE = (
    (
        2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
        1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080,
    ),
    (
        5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
        5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0,
    ),
)  # fmt: skip
_DOUBLE_TAIL = (
    (
        7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
        3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734,
    ),
    (
        1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
        1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940, 2.05319162663775882187, 1.0,
    ),
)  # fmt: skip
_DOUBLE_FAR = (
    (
        2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
        2.96560571828504891230e-1, 1.78482653991729133580, 5.46378491116411436990, 6.65790464350110377720,
    ),
    (
        2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
        7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
        5.99832206555887937690e-1, 1.0,
    ),
)  # fmt: skip


def _ratio(x, polynomials):
    return _polynomial(x, polynomials[0]) / _polynomial(x, polynomials[1])


def _inverse_single(q):
    central = q * _ratio(0.180625 - q * q, _SINGLE_CENTRE)
    r = np.sqrt(-_log(0.5 - np.abs(q), _SINGLE_LOG))
    tail = np.copysign(_ratio(r - 1.6, _SINGLE_TAIL), q)
    return np.where(np.abs(q) <= 0.425, central, tail)


def _inverse_double(q):
    central = q * _ratio(0.180625 - q * q, _DOUBLE_CENTRE)
    r = np.sqrt(-_log(0.5 - np.abs(q), _DOUBLE_LOG))
    tail = np.where(r <= 5.0, _ratio(r - 1.6, _DOUBLE_TAIL), _ratio(r - 5.0, _DOUBLE_FAR))
    return np.where(np.abs(q) <= 0.425, central, np.copysign(tail, q))
