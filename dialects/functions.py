"""The `special` dialect: functions of numbers that upstream's `math` has no operation for.

    %l = special.lgamma %x : f64                  // ln |gamma(x)|
    %s = special.sigmoid %x : vector<16xf32>      // 1 / (1 + e^-x)
    %b = special.philox %c, %s, %k : i64          // random bits

They are beside those of `math`, up to `expand-math`: on the CPU all of them, in kernels those that CUDA C has no function
for. A function of floats is a row here, from which its operation is made, the element operation `nt.NAME`, what the
interpreter calls, and the call in CUDA C; its form for processors is the function of its name in the module of its name in
`lowering/math`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.dialects.builtin import VectorType, i64
from xdsl.dialects.math import FloatingPointLikeBinaryMathOperation, FloatingPointLikeUnaryMathOperation
from xdsl.ir import Dialect, Operation
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    eq,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure, SameOperandsAndResultType

from . import special


@dataclass(frozen=True, eq=False)
class Function:
    """A row: a function of one or two floats."""

    name: str
    summary: str
    reference: Callable[..., Any]
    """What NumPy computes: a function of special.py, or NumPy's own."""
    ulp: float
    """Bound on the error of the form in `lowering/math`, in units in the last place."""
    arity: int = 1
    cuda: str = ""
    """The function of CUDA's library, of doubles; where there is none, kernels have the form of `lowering/math` too."""


FUNCTIONS = (
    Function(
        "lgamma",
        "The logarithm of the absolute value of the gamma function.",
        special.lgamma,
        ulp=8.0,
        cuda="lgamma",
    ),
    Function("sigmoid", "The logistic function, 1 / (1 + e^-x).", special.sigmoid, ulp=2.0),
)

_BASES = {1: FloatingPointLikeUnaryMathOperation, 2: FloatingPointLikeBinaryMathOperation}


def _define(row: Function) -> type[Operation]:
    members = {
        "name": f"special.{row.name}",
        "__doc__": row.summary,
        "__module__": __name__,
        "__annotations__": {"name": ClassVar[str]},
        "traits": traits_def(Pure(), SameOperandsAndResultType()),
    }
    class_name = "".join(part.capitalize() for part in row.name.split("_")) + "Op"
    return irdl_op_definition(type(class_name, (_BASES[row.arity],), members))


OPERATIONS: dict[str, type[Operation]] = {row.name: _define(row) for row in FUNCTIONS}
"""The operation of each row."""


@irdl_op_definition
class PhiloxOp(IRDLOperation):
    """64 random bits of a counter, a stream and a key: the first two words of Philox 4x32-10 (dialects/special.py)."""

    name = "special.philox"
    T: ClassVar = VarConstraint("T", eq(i64) | VectorType.constr(i64))
    counter = operand_def(T)
    stream = operand_def(T)
    key = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure(), SameOperandsAndResultType())
    assembly_format = "$counter `,` $stream `,` $key attr-dict `:` type($result)"


SPECIAL = Dialect("special", [*OPERATIONS.values(), PhiloxOp])
