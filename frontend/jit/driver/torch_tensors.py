"""Tensors of PyTorch as arguments and results: their memory as NumPy arrays, and back.

PyTorch is not imported here: who has a tensor has imported it.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from ...interface.errors import ShapeError, UnsupportedError
from .host_arrays import addressed, elsewhere


class Torch:
    """PyTorch as a library whose tensors a call was given."""

    name = "torch"

    def __init__(self) -> None:
        self.torch: Any = sys.modules["torch"]

    def __reduce__(self) -> Any:
        return _torch, ()

    def is_elsewhere(self, tensor: Any) -> bool:
        """Whether a tensor is in the memory of a device."""
        return tensor.device.type != "cpu"

    def array_of(self, name: str, tensor: Any) -> np.ndarray:
        """The memory of the tensor that argument `name` is. Raises UnsupportedError."""
        try:
            array = tensor.numpy()
        except (RuntimeError, TypeError, ValueError) as error:
            array = self._bfloat16(tensor)
            if array is None:
                raise self._refusal(name, tensor, str(error)) from None
        if type(tensor) is not self.torch.Tensor and type(tensor) is not self.torch.nn.Parameter:
            raise _refused(
                name, f"{_class(tensor)}, a subclass with rules of its own", "x.as_subclass(torch.Tensor)"
            )
        self._check_tangent(name, tensor)
        strides = array.strides
        if 0 in strides and any(n > 1 and not s for n, s in zip(array.shape, strides, strict=True)):
            array.flags.writeable = False  # elements share memory, as in what NumPy broadcasts
        return array

    def result_of(self, array: np.ndarray) -> Any:
        """The tensor that shares the memory of a result; a copy of what NumPy marks read-only. Raises ShapeError."""
        strides = array.strides
        if strides and min(strides) < 0:
            raise _negative()
        if not array.flags.writeable:
            array = _writeable(array)
        if array.dtype.kind == "V":  # bfloat16
            return self.torch.from_numpy(array.view(np.int16)).view(self.torch.bfloat16)
        return self.torch.from_numpy(array)

    def scalar_of(self, scalar: np.generic) -> Any:
        """The tensor of rank 0 for a NumPy scalar."""
        return self.result_of(np.asarray(scalar))

    def device_result_of(self, array: Any) -> Any:
        """The tensor that shares the memory of a CuPy array. Raises ShapeError."""
        if array.strides and min(array.strides) < 0:
            raise _negative()
        return self.torch.from_dlpack(array)

    def written(self, tensor: Any) -> None:
        """Tell autograd that the tensor was written to."""
        if not tensor.is_inference():
            self.torch.autograd.graph.increment_version(tensor)

    def _bfloat16(self, tensor: Any) -> np.ndarray | None:
        """The memory of a tensor of bfloat16, which NumPy has no type for; None for others."""
        if tensor.dtype is not self.torch.bfloat16 or self._records(tensor):
            return None
        try:
            from ml_dtypes import bfloat16

            return tensor.detach().view(self.torch.int16).numpy().view(bfloat16)
        except (ImportError, RuntimeError, TypeError, ValueError):
            return None

    def _records(self, tensor: Any) -> bool:
        return tensor.requires_grad and self.torch.is_grad_enabled()

    def _check_tangent(self, name: str, tensor: Any) -> None:
        forward = sys.modules.get("torch.autograd.forward_ad")
        if forward is None or forward._current_level < 0:
            return
        if forward.unpack_dual(tensor).tangent is not None:
            raise _refused(name, f"{_class(tensor)} with a tangent of forward differentiation", "x.detach()")

    def _refusal(self, name: str, tensor: Any, why: str) -> UnsupportedError:
        """What is wrong with a tensor that has no memory as NumPy knows it."""
        kind = _class(tensor)
        if tensor.layout is not self.torch.strided:
            return _refused(name, f"{kind} of layout {tensor.layout}", "x.to_dense()")
        if self.is_elsewhere(tensor):
            return elsewhere(name, f"{kind} on device '{tensor.device}'", "x.cpu()")
        if self._records(tensor):
            return _refused(
                name,
                f"{kind} that records gradients, which compiled code would not",
                "x.detach(), or call it under torch.no_grad()",
            )
        if tensor.is_quantized:
            return _refused(name, f"{kind} of {tensor.dtype}", "x.dequantize()")
        if tensor.dtype is self.torch.bfloat16 and "ml_dtypes" not in sys.modules:
            return _refused(name, f"{kind} of {tensor.dtype}, which NumPy has with ml_dtypes only", None)
        if tensor.is_neg():
            return _refused(name, f"{kind} that is negated where it is read", "x.resolve_neg()")
        return _refused(name, f"{kind} of {tensor.dtype} that NumPy cannot read: {_first_line(why)}", None)


def _negative() -> ShapeError:
    return ShapeError(
        "a result is a view with a negative stride, which tensors of torch cannot have",
        hint="return a copy: x[::-1].copy()",
    )


def _class(tensor: Any) -> str:
    kind = type(tensor)
    module = kind.__module__.partition(".")[0]
    return f"a {module}.{kind.__name__}"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _refused(name: str, what: str, instead: str | None) -> UnsupportedError:
    hint = None if instead is None else f"pass {instead.replace('x.', f'{name}.', 1)}"
    return UnsupportedError(f"argument '{name}' is {what}", hint=hint)


def _writeable(array: np.ndarray) -> np.ndarray:
    """The same memory, where only the view of it is read-only; else a copy."""
    root: Any = array
    while isinstance(root.base, np.ndarray) and not root.flags.writeable:
        root = root.base
    return addressed(array, array) if root.flags.writeable else array.copy()


def _torch() -> Torch:
    """What was pickled, in a process that may have no tensor yet."""
    importlib.import_module("torch")
    return Torch()
