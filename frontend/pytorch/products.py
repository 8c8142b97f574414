"""ATen operations that are products of matrices."""

from __future__ import annotations

from typing import Any

from ..numpy_api.definitions import dtype_of, xp
from .numbers import number
from .table import row


def _is_16_bits(x: Any) -> bool:
    return dtype_of(x).kind not in "iub" and dtype_of(x).itemsize == 2


def product(a: Any, b: Any) -> Any:
    """a @ b; elements of 16 bits are multiplied and added up in 32."""
    if _is_16_bits(a):
        return (a.astype("float32") @ b.astype("float32")).astype(dtype_of(a))
    return a @ b


def _scaled(x: Any, factor: Any) -> Any:
    return x if isinstance(factor, int | float) and factor == 1 else x * number(factor, dtype_of(x))


def _added(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    """beta * self + alpha * (mat1 @ mat2). Where `beta` is 0, nothing of `self` counts, not even NaN."""
    made = mat1 @ mat2 if not _is_16_bits(mat1) else mat1.astype("float32") @ mat2.astype("float32")
    made = _scaled(made, alpha)
    if isinstance(beta, int | float) and beta == 0:
        return made
    return made + _scaled(self.astype(dtype_of(made)), beta)


row("aten.mm.default", lambda self, mat2: product(self, mat2))
row("aten.bmm.default", lambda self, mat2: product(self, mat2))
row("aten.mv.default", lambda self, vec: product(self, vec))
row("aten.dot.default", lambda self, tensor: product(self, tensor))
row("aten.matmul.default", lambda self, other: product(self, other))
row(
    "aten.addmm.default",
    lambda self, mat1, mat2, *, beta=1, alpha=1: _added(self, mat1, mat2, beta, alpha),
)
row(
    "aten.baddbmm.default",
    lambda self, batch1, batch2, *, beta=1, alpha=1: _added(self, batch1, batch2, beta, alpha),
)
row("aten.addmv.default", lambda self, mat, vec, *, beta=1, alpha=1: _added(self, mat, vec, beta, alpha))
row("aten.linear.default", lambda input, weight, bias=None: _linear(input, weight, bias))


def _linear(input: Any, weight: Any, bias: Any) -> Any:
    made = product(input, xp.swapaxes(weight, 0, 1) if weight.ndim == 2 else weight)
    return made if bias is None else made + bias
