"""nt.window: every window of a tensor, as numpy.lib.stride_tricks.sliding_window_view gives them."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, DenseArrayBase, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .common import (
    INDEX,
    AlongOp,
    shape_of,
    verify_same_element,
)
from .work import Viewing


@irdl_op_definition
class WindowOp(AlongOp, Viewing):
    """Windows along some dimensions: `nt.window %x over [1] : tensor<4x9xf32> -> tensor<4x7x3xf32>`.

    The result has the dimensions of the source, those of `over` shorter by the extent of the window less one, then the
    windows' own: element (i, j, k) above is element (i, j + k) of the source. The extents of a window are constants.
    """

    name = "nt.window"
    KEYWORD: ClassVar[str] = "over"

    source = operand_def(TensorType)
    size_operands = var_operand_def(INDEX)
    over = prop_def(DenseArrayBase)
    size_map = prop_def(AffineMapAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    SHIFTS: ClassVar[bool] = True

    def source_axes(self) -> tuple[int | None, ...]:
        return (*range(len(shape_of(self.source))), *[None] * len(self.dims))

    def verify_(self) -> None:
        verify_same_element(self, self.source, self.result)
        self._verify_sizes(self.result)
        source, result, dims = shape_of(self.source), shape_of(self.result), self.dims
        if any(not 0 <= d < len(source) for d in dims) or len(result) != len(source) + len(dims):
            raise VerifyException(
                f"{self.name}: windows over {list(dims)} of {self.source.type} do not give {self.result.type}"
            )
        expected = list(source)
        for d, extent in zip(dims, result[len(source) :], strict=True):
            if extent == DYNAMIC_INDEX or extent < 1:
                raise VerifyException(f"{self.name}: the extents of a window are positive constants")
            expected[d] = DYNAMIC_INDEX if expected[d] == DYNAMIC_INDEX else expected[d] - extent + 1
        for k, (extent, is_) in enumerate(zip(expected, result, strict=False)):
            if DYNAMIC_INDEX not in (extent, is_) and (extent != is_ or extent < 0):
                raise VerifyException(
                    f"{self.name}: dimension {k} of {self.result.type} has {is_} windows instead of {max(extent, 0)}"
                )
