"""The `special` dialect: functions of numbers that upstream's `math` has no operation for.

    %l = special.lgamma %x : f64                  // ln |gamma(x)|
    %s = special.sigmoid %x : vector<16xf32>      // 1 / (1 + e^-x)
    %b = special.philox %c, %s, %k : i64          // random bits

They are beside those of `math`, up to `expand-math` on the CPU and up to CUDA C on the GPU.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import VectorType, i64
from xdsl.dialects.math import FloatingPointLikeUnaryMathOperation
from xdsl.ir import Dialect
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


@irdl_op_definition
class LgammaOp(FloatingPointLikeUnaryMathOperation):
    """The logarithm of the absolute value of the gamma function."""

    name = "special.lgamma"
    traits = traits_def(Pure(), SameOperandsAndResultType())


@irdl_op_definition
class SigmoidOp(FloatingPointLikeUnaryMathOperation):
    """The logistic function, 1 / (1 + e^-x)."""

    name = "special.sigmoid"
    traits = traits_def(Pure(), SameOperandsAndResultType())


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


SPECIAL = Dialect("special", [LgammaOp, SigmoidOp, PhiloxOp])
