"""`nt.custom_call`: a function of the user, run by Python in the middle of compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.tracebacks import boundary
from ..interface.errors import DTypeError
from ..interface.spec import Spec


@boundary
def custom_call(function: Callable[..., Any], /, *args: Any, result: Any = None) -> Any:
    """Call `function(*args)`, also from compiled code: in program order, whether its result is used or not.

        y = nt.custom_call(scipy.special.gammaln, x, result=nt.spec(x.shape, x.dtype))
        nt.custom_call(progress, step, loss)                       # no result

    `args` are arrays and numbers; an array comes as a read-only view that is valid during the call only: keep a copy.
    `result` is the `nt.spec` of what it returns, a tuple of them for several, None for nothing; all extents are known.
    What it returns must be of these shapes and dtypes, else ValueError; a result of shape () is a NumPy scalar. What it
    raises is raised. Functions on a GPU cannot call Python.
    """
    for value in args:
        if not isinstance(value, np.ndarray) and hasattr(value, "__array_function__"):
            # An array that is being traced: the call is part of what is compiled.
            return value.__array_function__(
                custom_call, (type(value),), (function, *args), {"result": result}
            )
    given = function(*map(_read_only, args))
    if result is None:
        return None
    several = isinstance(result, tuple | list)
    specs: Sequence[Any] = result if several else (result,)
    if not all(isinstance(one, Spec) for one in specs):
        raise DTypeError("result= of nt.custom_call is an nt.spec, or a tuple of them")
    values = tuple(given) if several else (given,)
    name = getattr(function, "__qualname__", repr(function))
    if len(values) != len(specs):
        raise ValueError(f"{name} returned {len(values)} results, {len(specs)} are declared")
    results = [_checked(name, value, one) for value, one in zip(values, specs, strict=True)]
    return tuple(results) if several else results[0]


def _read_only(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _checked(name: str, value: Any, spec: Spec) -> Any:
    array = np.array(value, order="C")
    if array.shape != spec.shape or array.dtype != spec.dtype:
        raise ValueError(
            f"{name} returned {array.dtype}{list(array.shape)}, {spec.dtype}{list(spec.shape)} is declared"
        )
    return array[()] if not array.shape else array


def traced_call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`; in compiled code, what it does to symbolic arguments (`tracing.py`)."""
    return function(*args, **kwargs)
