"""`nt.disable_jit()`: calls run the Python functions as they are, for debuggers, `print` and one's own tracebacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...interface.forwarders import ATTRIBUTES
from .native_pause import asked_for, native_pause

_FOR_ALL = asked_for("NESTOR_DISABLE_JIT", "functions run as plain Python")
_disabled: ContextVar[bool] = ContextVar("_disabled", default=_FOR_ALL)


@contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """Run functions of `nt.jit` as plain Python inside of this block, in this thread (in this context, where there are
    several); `disable=False` compiles again inside of it. It is a decorator, too. NESTOR_DISABLE_JIT=1 does the same for a
    process.

    with nt.disable_jit():
        y = f(x)            # breakpoints in f stop, print shows arrays

    Results are those of NumPy: other bits than those of the compiled function where sums are added in another order.
    Derivatives, `nt.vmap` and `nt.checkpoint` are made of compiled functions, and stay so; so do `low.compile()` and what
    `nt.load` gives.
    """
    with native_pause() if disable else nullcontext():
        token = _disabled.set(disable)
        try:
            yield
        finally:
            _disabled.reset(token)


def is_plain(function: Callable[..., Any]) -> bool:
    """Whether a call of this function runs it as it is now: not what Nestor itself made of others."""
    return _disabled.get() and vars(function).keys().isdisjoint(ATTRIBUTES)


def plain_call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], has_out: bool
) -> Any:
    """`function(*args, **kwargs)`; with `out`, where the function has none itself, results are copied into it."""
    if has_out or kwargs.get("out") is None:
        return function(*args, **(kwargs if has_out else {k: v for k, v in kwargs.items() if k != "out"}))
    out = kwargs.pop("out")
    _copy_into(out, function(*args, **kwargs))
    return out


def _copy_into(out: Any, result: Any) -> None:
    if isinstance(out, tuple | list):
        for target, part in zip(out, result, strict=True):
            _copy_into(target, part)
    elif out is not None and result is not None:
        np.copyto(out, result)
