"""The `special` dialect: functions of one number that upstream's `math` has no operation for.

    %l = special.lgamma %x : f64                  // ln |gamma(x)|
    %s = special.sigmoid %x : vector<16xf32>      // 1 / (1 + e^-x)

They stand beside those of `math`, up to `expand-math` on the CPU and up to CUDA C on the GPU.
"""

from __future__ import annotations

from xdsl.dialects.math import FloatingPointLikeUnaryMathOperation
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, traits_def
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


SPECIAL = Dialect("special", [LgammaOp, SigmoidOp])
