"""`nt.autocast`: the calls of a block compute products in 16 bits (`transforms/tensor/nt_autocast.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ..specialise.options import autocast_type
from .native_pause import native_pause

if TYPE_CHECKING:
    from .jit_function import JitFunction

_asked: ContextVar[str | None] = ContextVar("_asked", default=None)
_VARIANTS: WeakKeyDictionary[JitFunction, dict[str, JitFunction]] = WeakKeyDictionary()
"""Functions with the option, by those without one."""


@contextmanager
def autocast(to: str = "bf16", enabled: bool = True) -> Iterator[None]:
    """Let jitted functions called inside of this block, in this thread, compute products of float32 in 16 bits.

    with nt.autocast("bf16"):
        y = f(x)                # as nt.jit(f, autocast="bf16")(x)

    `to` is "bf16" or "f16"; the sums of products are of float32, and the types of arguments and results stay
    (docs/precision.md). Functions that have an option `autocast` of their own keep it. `enabled=False` calls as ever inside
    of a block. Python answers the calls of a block, which takes some microseconds more. Raises DTypeError for other types.
    """
    to_type = autocast_type(to) if enabled else None
    with native_pause():
        token = _asked.set(to_type)
        try:
            yield
        finally:
            _asked.reset(token)


def variant(function: JitFunction) -> JitFunction:
    """What answers the calls of a jitted function now: itself, or what has the option of the block around."""
    to = _asked.get()
    if to is None or function.autocast is not None:
        return function
    known = _VARIANTS.setdefault(function, {})
    if to not in known:
        known[to] = function.again(autocast=to)
    return known[to]
