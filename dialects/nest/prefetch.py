"""Hints to the machine that an element will be read soon."""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr, MemRefType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, var_operand_def

from .access import ElementOp
from .common import INDEX


@irdl_op_definition
class PrefetchOp(ElementOp):
    """Fetch the line of an element that is read later: `nest.prefetch %x[%i + 8] : memref<?xf32>`.

    With `{nestor.write}` it is going to be written: other cores give the line up. It reads nothing and has no effect on
    a value; the element may lie outside of the buffer. It states no effects, so that what does not know it leaves it
    where it is.
    """

    name = "nest.prefetch"

    memref = operand_def(MemRefType)
    index_operands = var_operand_def(INDEX)
    map = prop_def(AffineMapAttr)

    def verify_(self) -> None:
        self._verify_access(self.memref)
