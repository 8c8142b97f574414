"""`nt.jit`: a Python function compiled for the types it is called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from ....dialects.tracebacks import boundary
from ...interface.errors import DTypeError
from ...interface.inside import inside
from .jit_function import MAKERS, JitFunction

if TYPE_CHECKING:
    from typing import Unpack

    from .typed import JitOptions, Jitted, P, R


@overload
def jit(function: Callable[P, R], **options: Unpack[JitOptions]) -> Jitted[P, R]: ...
@overload
def jit(function: None = None, **options: Unpack[JitOptions]) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...


@boundary
@inside("jit")
def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a NumPy function: `@nt.jit`, `@nt.jit(dynamic=True)`, or `nt.jit(f, target="cuda-sim")`.

    Options: `target` ("cpu", "cuda", "cuda-sim", "interp"; "cuda-sim:checked" raises SimulatorFault for races,
    indices out of bounds and the like in the kernels); `dynamic` (None or "auto": static extents first, those that
    differ become unknown when a second shape arrives; True: all unknown; False: none; a dictionary such as
    `{"x": {0: "batch"}, "y": {0: nt.dim("batch", max=4096)}}`: these axes are unknown from the first call on, the same name
    is the same extent, and a call that breaks what is said is refused, see docs/executor.md); `static_argnums` and
    `static_argnames` (baked in by value); `strict` (True: a function of NumPy that compiled code calls is an error;
    "fast": so is what is slow, a loop that stays scalar or a copy that remains); `fastmath` (True, or names among
    FASTMATH_FLAGS and, by name only, tf32: results are then no longer those of IEEE arithmetic); `boundscheck`
    (False: indices known at run time only are not checked, and one outside of its axis reads or writes memory that is
    not the array's); `constants` (parameters whose arrays, which must be read-only, never change: what is computed
    from them alone, such as weights in the order in which a product reads them, is computed once per array, on target
    "cpu"; whoever changes an array all the same gets old results); `machine` (a name of analysis/machine.py, such as
    "skylake" or "rtx4090": what is scheduled and compiled for in place of this machine, see docs/machines.md);
    `fallback` ("numpy": what is refused runs as the plain function, with one RuntimeWarning for each reason;
    "compile-later": so do calls whose program a thread is still compiling); `profile` (True: four calls are watched, and
    what their small integers, bools and extents had in common gets a program of its own); `hot_sizes` (True: extents that
    come often get one, which a thread compiles); see docs/executor.md for these.
    """
    known = JitFunction.__init__.__kwdefaults__ or {}
    if unknown := [name for name in options if name not in known]:
        raise DTypeError(f"nt.jit has no option '{unknown[0]}'", hint=f"its options: {', '.join(known)}")
    if function is None:
        return boundary(lambda f: jit(f, **options))
    make = _for_cuda if options.get("target") == "cuda" else JitFunction
    return make(function, **options)


def _for_cuda(function: Callable[..., Any], **options: Any) -> JitFunction:
    from .cuda_call import CudaFunction

    return CudaFunction(function, **options)


MAKERS["cuda"] = _for_cuda
