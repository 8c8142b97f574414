"""The `math` dialect: xDSL's, plus `math.erfc`, which xDSL lacks, with MLIR's name and syntax."""

from __future__ import annotations

from xdsl.dialects.math import FloatingPointLikeUnaryMathOperation, Math
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure, SameOperandsAndResultType

from .extended import ExtendedDialect


@irdl_op_definition
class ErfcOp(FloatingPointLikeUnaryMathOperation):
    """1 - erf(x): `%r = math.erfc %x : vector<8xf64>`."""

    name = "math.erfc"
    traits = traits_def(Pure(), SameOperandsAndResultType())


MATH = ExtendedDialect(Math, [ErfcOp])
