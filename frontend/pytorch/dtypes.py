"""The dtypes of PyTorch by NumPy's names. bfloat16 needs ml_dtypes."""

# pyright: reportMissingImports=false
from __future__ import annotations

import torch

_NAMES = {
    torch.bool: "bool", torch.uint8: "uint8", torch.int8: "int8", torch.int16: "int16", torch.int32: "int32",
    torch.int64: "int64", torch.float16: "float16", torch.float32: "float32", torch.float64: "float64",
    torch.uint16: "uint16", torch.uint32: "uint32", torch.uint64: "uint64",
}  # fmt: skip


def numpy_name(dtype: torch.dtype) -> str | None:
    """NumPy's name of a dtype, None where NumPy has none."""
    if dtype is torch.bfloat16 and _has_bfloat16():
        return "bfloat16"
    return _NAMES.get(dtype)


def _has_bfloat16() -> bool:
    try:
        import ml_dtypes  # noqa: F401 (NumPy knows bfloat16 by it)
    except ImportError:
        return False
    return True


def torch_type(dtype: object) -> torch.dtype:
    """The dtype of PyTorch that a dtype of NumPy is."""
    name = str(dtype)
    return next((one for one, known in _NAMES.items() if known == name), torch.bfloat16)
