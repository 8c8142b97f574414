"""`nt.debug_nans()`: where the NaN or infinity of a result arose, as an error at its Python line.

A call runs compiled, and its results are looked at. Where there is NaN or an infinity, the reference interpreter runs the
program on the arguments as they were, and says what operation made the first one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from ....dialects.diagnostic import Diagnostic, op_location
from ...interface.errors import NonFiniteError
from ..specialise.stages import WATCHES
from .device_calls import loaded_cupy
from .native_pause import asked_for, native_pause

if TYPE_CHECKING:
    from ....runtime.interp.watching import Arisen
    from .jit_function import JitFunction

_FOR_ALL = asked_for("NESTOR_DEBUG_NANS", "calls whose results have NaN or infinities raise")
_watching: ContextVar[bool] = ContextVar("_watching", default=_FOR_ALL)


@contextmanager
def debug_nans(enable: bool = True) -> Iterator[None]:
    """Raise `FloatingPointError` where a jitted function called inside of this block, in this thread, gives NaN or
    infinities: the first operation that made one, with its operands, its Python line and the loops around it.

    with nt.debug_nans():
        y = f(x)            # error: log(-1) is nan, at i = 3

    What the arguments have of them does not arise: it is said where it comes from. Arguments are copied before each call,
    and the interpreter runs where something is found: for debugging. `enable=False` calls as ever inside of a block; it is
    a decorator, too. NESTOR_DEBUG_NANS=1 does the same for a process.
    """
    with native_pause() if enable else nullcontext():
        token = _watching.set(enable)
        try:
            yield
        finally:
            _watching.reset(token)


def is_watched() -> bool:
    return _watching.get()


def watched_call(function: JitFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call of a function. Raises `NonFiniteError`."""
    token = _watching.set(False)
    try:
        named = {k: _copied(v) for k, v in kwargs.items() if k != "out"}
        before = tuple(map(_copied, args)), named
        result = function._call(args, dict(kwargs))
        found = [*_not_finite(result, "result"), *_changed(function, args, kwargs, before)]
        if found:
            _explain(function, found, *before)
        return result
    finally:
        _watching.reset(token)


def _copied(value: Any) -> Any:
    """A copy of an argument; itself, where it cannot be copied (a lock in an object)."""
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def _changed(
    function: JitFunction, args: tuple, kwargs: dict[str, Any], before: tuple
) -> list[tuple[str, float]]:
    """What is not finite in arguments, and was before."""
    names = [*function.signature.parameters]
    given = [*zip(names, args, before[0], strict=False)]
    given += ((name, value, before[1][name]) for name, value in kwargs.items() if name in before[1])
    return [
        one
        for name, value, old in given
        for one in _not_finite(value, name)
        if len(_not_finite(value, name)) > len(_not_finite(old, name)) or one not in _not_finite(old, name)
    ]


def _not_finite(value: Any, name: str) -> list[tuple[str, float]]:
    """The first NaN and the first infinity in arrays and numbers, each with the name of its element."""
    if isinstance(value, tuple | list):
        return [one for k, part in enumerate(value) for one in _not_finite(part, f"{name}[{k}]")]
    if isinstance(value, dict):
        return [one for k, part in value.items() for one in _not_finite(part, f"{name}[{k!r}]")]
    value = _on_host(value)
    array = np.asarray(value) if isinstance(value, np.ndarray | np.generic | float | complex) else None
    if array is None or array.dtype.kind not in "fc":
        return []
    found = []
    for test, number in ((np.isnan, np.nan), (np.isinf, np.inf)):
        places = np.argwhere(test(array))
        if len(places):
            at = f"[{', '.join(map(str, places[0]))}]" if array.ndim else ""
            found.append((name + at, number))
    return found


def _on_host(value: Any) -> Any:
    cupy = loaded_cupy()
    return cupy.asnumpy(value) if cupy is not None and isinstance(value, cupy.ndarray) else value


def _explain(
    function: JitFunction, found: list[tuple[str, float]], args: tuple, kwargs: dict[str, Any]
) -> None:
    where = next((name for name, number in found if np.isnan(number)), found[0][0])
    is_nan = any(np.isnan(number) for _, number in found)
    what = "nan" if is_nan else "an infinity"
    given = [
        one
        for name, value in (*zip(function.signature.parameters, args, strict=False), *kwargs.items())
        for one in _not_finite(value, name)
    ]
    watches: list[Any] = []
    token = WATCHES.set(watches)
    try:
        plain = function.again(target="interp", profile=False, hot_sizes=False, fallback=None)
        plain(*map(_on_host, args), **{k: _on_host(v) for k, v in kwargs.items()})
    except Exception as error:
        raise NonFiniteError(
            f"{where} is {what}", hint=f"the interpreter cannot say where it arose: {error}"
        ) from None
    finally:
        WATCHES.reset(token)
    nan = next((w.nan for w in watches if w.nan is not None), None)
    infinity = next((w.infinity for w in watches if w.infinity is not None), None)
    first = nan if is_nan else infinity
    if first is None and given:
        raise NonFiniteError(
            f"{where} is {what}, which comes from an argument: {given[0][0]} is {given[0][1]}"
        )
    first = first or infinity
    if first is None:
        hint = "the interpreter does not find it: it adds sums in another order"
        raise NonFiniteError(f"{where} is {what}", hint=hint)
    notes = [_note(infinity)] if is_nan and infinity is not None and infinity is not first else []
    raise NonFiniteError(f"{first}, and {where} is {what}", op_location(first.op), notes=notes)


def _note(arisen: Arisen) -> Diagnostic:
    return Diagnostic("note", f"before, or elsewhere, {arisen}", op_location(arisen.op))
