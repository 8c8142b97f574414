"""The `llvm` dialect: xDSL's, plus the operations Nestor needs that xDSL lacks."""

from xdsl.dialects.llvm import LLVM as XDSL_LLVM
from xdsl.ir import Dialect

LLVM = Dialect("llvm", [*XDSL_LLVM.operations], [*XDSL_LLVM.attributes])
