"""Functions that the element tables have and NumPy lacks, in NumPy; `nt.nn` exports those of `__all__`.

They are what compiled code is compared with, and what `nt.nn` and `nt.random` run outside of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = [
    "erf",
    "erfc",
    "lgamma",
    "sigmoid",
]

PHILOX_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
PHILOX_WEYL = (0x9E3779B9, 0xBB67AE85)
PHILOX_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def erf(x: Any) -> Any:
    """The error function, elementwise. Types are those of np.tanh: integers become floats."""
    return _elementwise(math.erf, x)


def erfc(x: Any) -> Any:
    """1 - erf(x), without the loss of digits."""
    return _elementwise(math.erfc, x)


def lgamma(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function."""
    return _elementwise(_lgamma, x)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), computed so that nothing overflows."""
    array, dtype = _float_array(x)
    wide = array.astype(np.longdouble if dtype == np.float64 else np.float64)
    small = np.exp(-np.abs(wide))
    return (np.where(wide >= 0, 1, small) / (1 + small)).astype(dtype)[()]


def _lgamma(x: float) -> float:
    """Infinite at the poles, where Python raises an error, and for results that are too large."""
    if x <= 0 and x.is_integer():
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


def _elementwise(function: Callable[..., float], *operands: Any) -> Any:
    """The function of Python floats, element by element."""
    arrays = np.broadcast_arrays(*operands)
    dtype = np.tanh.resolve_dtypes((np.result_type(*operands), None))[1]
    values = np.fromiter(map(function, *(x.ravel().tolist() for x in arrays)), np.float64, arrays[0].size)
    result = np.empty_like(arrays[0], dtype)
    with np.errstate(over="ignore"):
        result[...] = values.reshape(result.shape)
    return result[()]


def _float_array(x: Any) -> tuple[np.ndarray, np.dtype]:
    """The array, and the type of what functions make of it: integers become floats."""
    array = np.asarray(x)
    return array, np.tanh.resolve_dtypes((array.dtype, None))[1]


def philox(counter: Any, stream: Any, key: Any) -> Any:
    """64 random bits for each (counter, stream, key): the first two words of Philox 4x32-10, the first one lowest.

    All three are uint64; `counter` is the lower half of the generator's counter, `stream` the upper one. See Salmon,
    Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    counter, stream, key = (np.asarray(v) for v in (counter, stream, key))
    if any(v.dtype.kind != "u" for v in (counter, stream, key)):
        raise TypeError("philox takes unsigned integers")
    dtype = np.result_type(counter, stream, key)
    counter, stream, key = (v.astype(np.uint64) for v in (counter, stream, key))
    words = philox_words((counter & _LOW, counter >> _HALF, stream & _LOW, stream >> _HALF), key)
    return (words[0] | words[1] << _HALF).astype(dtype)[()]


def philox_words(words: tuple[Any, Any, Any, Any], key: Any) -> tuple[Any, Any, Any, Any]:
    """The four words (in uint64) that Philox 4x32-10 makes of the four words of a counter and a key of 64 bits."""
    a, b, c, d = words
    keys = [key & _LOW, key >> _HALF]
    first, second = map(np.uint64, PHILOX_MULTIPLIERS)
    for k in range(PHILOX_ROUNDS):
        if k:
            keys = [(key + np.uint64(weyl)) & _LOW for key, weyl in zip(keys, PHILOX_WEYL, strict=True)]
        x, y = a * first, c * second
        a, b, c, d = (y >> _HALF) ^ b ^ keys[0], y & _LOW, (x >> _HALF) ^ d ^ keys[1], x & _LOW
    return a, b, c, d
