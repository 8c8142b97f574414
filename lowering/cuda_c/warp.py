"""What the lanes of a warp tell each other, as CUDA C.

%o, %p = gpu.shuffle xor %t, %offset, %c32 : f32       const float other = __shfl_xor_sync(0xffffffffu, t, offset);
"""

from __future__ import annotations

from ...dialects.affine import constant_of
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import gpu as gpu_ext
from .expressions import signed_operand
from .types import CExpr
from .vector import VectorPrinter

_LANES = 32
_FUNCTIONS = {
    "xor": "__shfl_xor_sync",
    "up": "__shfl_up_sync",
    "down": "__shfl_down_sync",
    "idx": "__shfl_sync",
}


class WarpPrinter(VectorPrinter):
    """The part of a kernel's printer that writes shuffles."""

    def shuffle(self, op: gpu_ext.ShuffleOp) -> None:
        """The value of another lane."""
        if op.valid.first_use is not None:
            raise fail(op, "whether a shuffle reads a lane of the warp has no form here", error=LoweringError)
        value, offset, width = (signed_operand(self, v) for v in op.operands)
        name = self._names.fresh(op.shuffle_result.name_hint or "other")
        segment = "" if constant_of(op.width) == _LANES else f", {width.text}"
        call = f"{_FUNCTIONS[op.mode.data]}(0xffffffffu, {value.text}, {offset.text}{segment})"
        self._line(f"const {self.types.scalar(op.shuffle_result.type, op)} {name} = {call};")
        self._values[op.shuffle_result] = CExpr(name)
