"""`nt.jit`: a Python function compiled for the types it is called with."""

from __future__ import annotations

import inspect
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

        @nt.jit
        def f(x, y):
            return np.sqrt(x * x + y * y)

        f(x, y)                          # the first call compiles, for these types and shapes
        print(f.explain(x, y))           # what was made of it; f.lower(x, y) has its levels and its schedule

    Options:

    target: "cpu", "cuda", "cuda-sim" (the CUDA C, on the processor) or "interp". "cuda-sim:checked" raises
        SimulatorFault for races, indices out of bounds and the like in the kernels.
    dynamic: which extents are unknown when it is compiled. None or "auto": those that differ in a second call;
        True: all; False: none. A dictionary says which, from the first call on: `{"x": {0: "batch"}, "y": {0:
        nt.dim("batch", max=64)}}`. The same name is the same extent, and a call that breaks what is said is refused
        (docs/executor.md).
    static_argnums, static_argnames: parameters, by number or name, whose values are compiled in.
    fastmath: True, or names among FASTMATH_FLAGS and, by name only, tf32: results are then no longer those of IEEE
        arithmetic.
    strict: True makes an error of a function of NumPy that compiled code calls; "fast" also of what is slow: a loop
        that stays scalar, a copy that remains.
    boundscheck: False leaves out the checks of indices that are known at run time only: one outside of its axis
        reads or writes memory that is not the array's.
    constants: names of parameters whose arrays are read-only and never change. What is computed from them alone,
        such as weights in the order in which a product reads them, is computed once per array, on target "cpu";
        whoever changes an array all the same gets old results.
    machine: a name of analysis/machine.py, such as "skylake" or "rtx4090": what is scheduled and compiled for in
        place of this machine (docs/machines.md).
    fallback: "numpy" runs what is refused as the plain function, with one RuntimeWarning for each reason;
        "compile-later" also calls whose program a thread is still compiling (docs/executor.md).
    profile: True watches four calls: what their small integers, bools and extents had in common gets a program of
        its own, and branches that elements decide are compiled for the ways they went.
    autocast: "bf16" or "f16" computes matrix products and convolutions of float32 in 16 bits, and what follows them
        cheaply; sums, and the types of arguments and results, stay float32 (docs/precision.md). `nt.autocast("bf16")`
        does it for the calls of a block.
    quantise: a calibration (`nt.quant.calibrate`) or "dynamic" computes matrix products and convolutions of float32 with
        integers of 8 bits, summed in 32; types of arguments and results stay float32 (docs/quantisation.md).
    strategies: files (or texts) of schedules for nests, which are tried before the strategies of the automatic schedule
        (docs/strategies.md).
    hot_sizes: True gives extents that come often a program of their own, which a thread compiles.

    Raises DTypeError for what is no function, and for options that there are not. A call raises what Python would,
    UnsupportedError for what is not compiled, and the errors of `nt.errors` for arguments that do not fit.
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


def _with_options() -> inspect.Signature:
    """The signature that `help` shows: the options by name, with their defaults."""
    P = inspect.Parameter
    options = (JitFunction.__init__.__kwdefaults__ or {}).items()
    named = [P(name, P.KEYWORD_ONLY, default=default) for name, default in options]
    return inspect.Signature([P("function", P.POSITIONAL_OR_KEYWORD, default=None), *named])


jit.__signature__ = _with_options()  # pyright: ignore[reportFunctionMemberAccess]
