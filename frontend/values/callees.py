"""What compiled code can call and Python cannot: functions that a call at compile time has made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Callee:
    """A function made by a call at compile time, such as `nt.grad(f)`.

    `call(frame, node, args, kwargs)` compiles a call of it; `what` says in messages what it is. It is made of `function`,
    whose parameters it has, and called `label` where it needs a name.
    """

    __slots__ = ("call", "function", "label", "what")

    def __init__(self, call: Callable[..., Any], what: str, label: str, function: Any = None):
        self.call = call
        self.what = what
        self.label = label
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.what} is called in the compiled function that made it only")

    def __repr__(self) -> str:
        return self.what
