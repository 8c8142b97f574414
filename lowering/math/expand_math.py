"""Pass `expand-math`: transcendental functions become arithmetic, for any vector width.

    %y = math.exp %x : vector<16xf32>

becomes

    %t = math.fma %x, log2(e), 1.5 * 2^23        // the low bits of %t are n = round(x / ln 2)
    %r = x - n ln 2                              // two fused steps
    %p = polynomial in %r                        // |r| <= ln(2) / 2
    %y = %p * 2^(n / 2) * 2^(n - n / 2)          // two steps, so that denormal results round once

Every function of `FORMS` (math/table.py) is expanded, for f32 and f64 (f16 and bf16 are computed in f32), within
2 ULP over all arguments (docs/math.md has the figures) and with the same bits for scalars and vectors. No library is called.
Expansions carry no fast-math flags: they rely on the order of their operations. Of an operation's own flags, `afn` gives
shorter forms of tan, and tanh of f64. Rare cases that would cost the others (the reduction of large arguments of sin,
logarithms of denormals, zero and infinity) are branches which a vector takes when one of its lanes has to.

What a module computes often (`OFTEN`) becomes a function that is called, for each type: a hundred sines are one polynomial.

With `kernels`, the same in GPU kernels, of those functions only that CUDA C has none for.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.gpu import FuncOp as KernelOp
from xdsl.passes import ModulePass

from ...dialects.walk import walk


@dataclass(frozen=True, eq=False)
class ExpandMathPass(ModulePass):
    """Write transcendental math operations as polynomials; in `kernels` those that CUDA C has no function for."""

    name = "expand-math"

    kernels: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.kernels:
            expand_in_kernels(op)
        else:
            expand_math(op)


def expand_math(module: ModuleOp) -> None:
    """Expand in place every math operation that has no machine instruction."""
    computed = 0
    computing: list[FuncOp] = []
    for function in module.body.block.ops:
        if isinstance(function, FuncOp):
            count = sum(op.name.startswith(_DIALECTS) for op in walk(function))
            computed += count
            computing += [function] if count else []
    if computed >= OFTEN:
        from .shared_functions import share

        computing += share(module, OFTEN)
    for function in computing:
        # Most programs compute none: a first call is faster without the forms.
        from .table import expand_function

        expand_function(function)


def expand_in_kernels(module: ModuleOp) -> None:
    """Expand in kernels what CUDA C has no function for."""
    for kernel in [op for op in walk(module) if isinstance(op, KernelOp)]:
        if not any(op.name.startswith("special.") for op in walk(kernel)):
            continue
        from ..cuda_c.operations import EXPRESSIONS
        from .table import expand_function

        expand_function(kernel, unless=EXPRESSIONS)


OFTEN = 80
"""Operations of one kind and type from which on they are calls: some nanoseconds each, for 20 ms of compilation."""

_DIALECTS = ("math.", "special.")
