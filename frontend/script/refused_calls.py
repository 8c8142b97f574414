"""Calls that compiled code cannot make, and why: what looks at the variables of a function, runs text, or keeps a state.

locals()                 the variables of a compiled function are in no dict
it = iter(xs); next(it)  what the second call gives depends on the first: one that ran at compile time counts too
d = deque(); d.append(1) the same: an attempt at a loop that is given up would leave its changes behind
"""

from __future__ import annotations

import bisect
import builtins
import heapq
import inspect
import operator
import random
import re
from enum import Enum
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from ..interface.versioned import is_own

_VARIABLES = "it looks at the variables of the function that calls it", "name what you need"
_TEXT = "it runs text that is not compiled", "write the code, or call it outside and pass what it returns"
_STATE = "what it gives depends on the calls before it", "loop over the items, or index a list of them"
_ADDRESS = "where an object is in memory is not known in compiled code", "compare with =="
_CHANGE = "it changes its argument", "write it as a statement"
_BUILTINS: dict[Any, tuple[str, str]] = {
    **dict.fromkeys((globals, locals, vars, dir, super), _VARIABLES),
    compile: _TEXT,
    **dict.fromkeys((iter, next, builtins.aiter, builtins.anext), _STATE),
    id: _ADDRESS,
    **dict.fromkeys((setattr, delattr, operator.setitem, operator.delitem), _CHANGE),
    **dict.fromkeys((bisect.insort_left, bisect.insort_right), _CHANGE),
    **dict.fromkeys(
        (heapq.heapify, heapq.heappush, heapq.heappop, heapq.heapreplace, heapq.heappushpop), _CHANGE
    ),
    **{
        value: _CHANGE
        for name, value in vars(operator).items()
        if name[0] == "i" and f"__{name}__" in vars(operator)
    },
}
_UNCHANGING = (
    bool, int, float, complex, str, bytes, tuple, frozenset, range, slice, type, type(None), np.generic, np.dtype,
    re.Pattern, re.Match, MappingProxyType, ModuleType,
)  # fmt: skip
"""Classes whose methods change nothing."""
_GUARDED = (list, dict, set, bytearray, np.ndarray)
"""Classes whose methods that change something are refused by name (`objects.is_outside_change`)."""


RANDOM_HINT = (
    "nt.random.uniform(key, shape), nt.random.normal(key, shape) and others are functions of a key; "
    "or draw outside, and pass the numbers"
)


def is_random(target: Any) -> bool:
    """Whether it is a function of `random` or of `np.random`, which keep a state."""
    owner = getattr(target, "__self__", None)
    if isinstance(owner, random.Random) or target is random.Random:
        return True
    made = target if owner is None or isinstance(owner, ModuleType) else type(owner)
    return str(getattr(made, "__module__", "")).startswith("numpy.random")


def why_refused(target: Any) -> tuple[str, str] | None:
    """Why a call of `target` cannot be made by compiled code, and what to do; None where nothing here speaks against it."""
    try:
        why = _BUILTINS.get(target)
    except TypeError:
        return None
    if why is not None:
        return why
    if isinstance(target, type):
        return _why_not_made(target)
    kind = getattr(target, "__objclass__", None)
    if kind is not None and inspect.ismethoddescriptor(target):
        return None if issubclass(kind, _UNCHANGING) else _CHANGE
    owner = getattr(target, "__self__", None)
    if inspect.isbuiltin(target) and owner is not None and not isinstance(owner, _UNCHANGING + _GUARDED):
        return (
            f"it may change the {type(owner).__name__} that it is a method of",
            "use a list, or call it outside",
        )
    return None


def _why_not_made(kind: type) -> tuple[str, str] | None:
    """Why an object of a class cannot be made while a program is compiled."""
    if issubclass(kind, BaseException | Enum) or is_own(kind):
        return None
    if not any(isinstance(getattr(kind, name), FunctionType) for name in ("__init__", "__new__")):
        return None
    return f"the code that makes a {kind.__name__} is not compiled", "make it outside, or use a dataclass"
