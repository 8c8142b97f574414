"""`nt.trace`: a Python function compiled by running it once on arrays that stand for its arguments.

    from scipy_like import gain                    # code that calls NumPy, whose source cannot be compiled
    fast = nt.trace(gain)                          # traced when it is called, once for each kind of arguments
    fast = nt.trace(gain, nt.spec("n")))  # traced now, for arrays of any length

What the function does to its arguments is recorded and compiled; Python runs while tracing only. So a branch or a loop
that depends on the elements of an array is an error, which names the line and suggests `nt.jit`; numbers that decide
one are compiled for their value. What the function may read outside, arrays too, is looked at in every call, and it is
traced again when any of that has changed (`reachable.py`). The result has the methods of what `nt.jit` returns: `lower`,
`explain`, `cache_info`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ....dialects.tracebacks import boundary
from ....runtime.collector import collector_paused
from ...interface.errors import DTypeError
from ...interface.forwarders import forwarder
from ...operations.own_calls import traced_call
from ..specialise.arguments import parts_of_function
from .jit_function import JitFunction


class TracedFunction(JitFunction):
    """A function and its specialisations, each from one run of it. Made by `nt.trace`."""

    _on_disk = False
    _takes_outside = False

    def __init__(self, function: Callable[..., Any], **options: Any):
        if options.get("fallback") is not None:
            raise DTypeError(
                "nt.trace has no fallback: tracing runs the function, and falling back would run it again",
                hint="nt.jit(f, fallback=...) compiles the source, and runs nothing of it",
            )
        self.traced = function.function if isinstance(function, JitFunction) else function
        super().__init__(_caller(self.traced), **options)

    def _present_parts(self) -> list[Any]:
        return parts_of_function(self.traced)

    def _take_signature(self) -> None:
        if hasattr(self, "signature"):
            self.function = _caller(self.traced)
        super()._take_signature()

    def _source(self) -> Any:
        return self.traced

    def again(self, **others: Any) -> JitFunction:
        return TracedFunction(self.traced, **{**self.options(), **others})

    def _can_fall_back(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<nt.trace of {getattr(self.traced, '__qualname__', self.traced)}>"

    def compile_for(self, *specs: Any) -> None:
        """Trace and compile for arguments like these."""
        args, kwargs = self._adopted(specs, {})
        names, values, groups = self._leaves(args, kwargs)
        with collector_paused():
            self._compile_for(self._types(names, values, groups), values)


@boundary
def trace(function: Callable[..., Any] | None = None, *specs: Any, **options: Any) -> Any:
    """Compile a function by running it on symbolic arrays: `nt.trace(f)`, or `nt.trace(f, *specs)` for arguments that
    are known now. Options are those of `nt.jit`."""
    if function is None:
        return boundary(lambda f: TracedFunction(f, **options))
    traced = TracedFunction(function, **options)
    if specs:
        traced.compile_for(*specs)
    return traced


def _caller(function: Callable[..., Any]) -> FunctionType:
    """A function with the parameters of `function` whose source is a call of it."""
    name = getattr(function, "__name__", "traced")
    space: dict[str, Any] = {"_traced_call": traced_call, "_function": function}
    name = name if name.isidentifier() else "traced"
    caller = forwarder(function, name, "_traced_call(_function, {})", space, "trace")
    caller.__qualname__ = getattr(function, "__qualname__", name)
    return caller
