"""The arguments of a kernel launch, from the operands of its `gpu.launch_func`: one Python expression per kernel.

A kernel `scale(const float *x, float *out, int n, int x_stride)` gets

    lambda operands, record: [operands[0], operands[1], int32(operands[0].shape[0]),
                              int32(operands[0].strides[0] // operands[0].itemsize)]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...dialects.diagnostic import NestorError
from ...lowering.abi.kernel_signature import KernelParameter, KernelSignature

_SCALARS = {
    "bool": np.bool_,
    "signed char": np.int8,
    "short": np.int16,
    "int": np.int32,
    "long long": np.int64,
    "float": np.float32,
    "double": np.float64,
}
SCALARS_BY_NAME: dict[str, Any] = {kind.__name__: kind for kind in _SCALARS.values()}


class Packer(NamedTuple):
    """How a kernel is launched: its name in CUDA C, whether it takes an error record, its dynamic shared memory."""

    name: str
    can_fail: bool
    shared_bytes: int
    pack: Callable[[Sequence[Any], Any], list[Any]]
    """The arguments, from the operands of the launch and the error record."""


def packer_of(signature: KernelSignature, names: Mapping[str, Any] = SCALARS_BY_NAME) -> Packer:
    """The packer of a kernel. It raises NestorError where an argument does not fit its type.

    `names` are the scalar types by name, or what takes their place.
    """
    items = ", ".join(_expression(parameter) for parameter in signature.parameters)
    direct: Callable[[Sequence[Any], Any], list[Any]] = eval(
        f"lambda operands, record: [{items}]", dict(names)
    )

    pairs = [
        p for p in signature.parameters if p.kind == "pointer" and any(kind in p.c_type for kind in _PAIRS)
    ]

    def pack(operands: Sequence[Any], record: Any) -> list[Any]:
        for parameter in pairs:
            _check_aligned(parameter, operands[parameter.operand])
        try:
            return direct(operands, record)
        except OverflowError as error:
            raise _too_large(signature, operands) from error

    return Packer(signature.name, signature.can_fail, signature.shared_bytes, pack)


_PAIRS = {"float2": 8, "double2": 16}
"""Types whose elements are at multiples of their size in kernels, and need not be in arrays of complex numbers."""


def _check_aligned(parameter: KernelParameter, array: Any) -> None:
    """Refuse an array that a kernel of the user's reads or writes pairs of, at an address where none is."""
    if isinstance(array, np.ndarray):
        address = array.__array_interface__["data"][0]
    else:
        address = getattr(getattr(array, "data", None), "ptr", 0)
    size = next(size for kind, size in _PAIRS.items() if kind in parameter.c_type)
    if isinstance(address, int) and address % size:
        raise NestorError(
            f"{parameter.name} is an array of complex numbers at an address that is no multiple of {size}, and its kernel "
            f"reads pairs there",
            hint="pass a copy: x.copy()",
        )


def _expression(parameter: KernelParameter) -> str:
    """What to pass for a parameter."""
    if parameter.kind == "error":
        return "record"
    if parameter.kind == "pointer":
        return f"operands[{parameter.operand}]"
    return f"{_SCALARS[parameter.c_type].__name__}({_number(parameter)})"


def _number(parameter: KernelParameter) -> str:
    """The number that a parameter is, whatever its type holds."""
    operand = f"operands[{parameter.operand}]"
    if parameter.kind == "extent":
        return f"{operand}.shape[{parameter.axis}]"
    if parameter.kind == "stride":
        return f"{operand}.strides[{parameter.axis}] // {operand}.itemsize"
    return operand


def _too_large(signature: KernelSignature, operands: Sequence[Any]) -> NestorError:
    for parameter in signature.parameters:
        if parameter.kind in ("pointer", "error"):
            continue
        try:
            eval(_expression(parameter), {**SCALARS_BY_NAME, "operands": operands})
        except OverflowError:
            number = eval(_number(parameter), {"operands": operands})
            return NestorError(
                f"{parameter.name} = {number} does not fit the {parameter.c_type} that the kernel takes",
                hint="write int64_t for it" if signature.is_own else "compile with nestor.index_bits = 64",
            )
    raise AssertionError("every argument fits its type")
