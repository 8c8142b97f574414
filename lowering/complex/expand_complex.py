"""nest-expand-complex: complex numbers become pairs of real ones, in memory and as values.

    func.func @square(%x: memref<?xcomplex<f64>>, %y: memref<?xcomplex<f64>> {nest.role = "out"}) {
      nest.for "i" %i = 0 to %n {
        %0 = nest.load %x[%i] : memref<?xcomplex<f64>>
        %1 = complex.mul %0, %0 : complex<f64>
        nest.store "y" %1, %y[%i] : memref<?xcomplex<f64>>
      }
  becomes
    func.func @square(%x: memref<?x2xf64>, %y: memref<?x2xf64> {nest.role = "out"}) {
      nest.for "i" %i = 0 to %n {
        %0 = nest.load %x[%i, 0] : memref<?x2xf64>
        %1 = nest.load %x[%i, 1] : memref<?x2xf64>
        ...
        nest.store "y.re" %4, %y[%i, 0] : memref<?x2xf64>
        nest.store "y.im" %7, %y[%i, 1] : memref<?x2xf64>
      }

Arguments keep their memory, which is NumPy's: the two parts side by side, as a last axis of 2. A buffer of the function's
own that only loads and statements touch becomes two, one for each part. A reduction of a buffer that cannot be cut is a
load and a store. Schedules, vectors, CUDA C and the simulator see real numbers only (`pairs.py`, `arithmetic.py`,
`functions.py`; docs/decisions/0024-complex-numbers.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from .memory import is_complex


@dataclass(frozen=True, eq=False)
class NestExpandComplexPass(ModulePass):
    """Take complex numbers apart."""

    name = "nest-expand-complex"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.body.block.ops):
            if isinstance(function, FuncOp) and _has_complex(function):
                from .pairs import Pairs

                Pairs(function).run()


def _has_complex(function: FuncOp) -> bool:
    if any(map(is_complex, function.function_type.inputs)):
        return True
    return any(_touches_complex(op) for op in function.walk())


def _touches_complex(op: Operation) -> bool:
    return any(is_complex(result.type) for result in op.results)
