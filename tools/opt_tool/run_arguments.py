"""Arguments for a function that opt-tool runs: `.npy` files and numbers that are given, or generated values.

Extents come from the inputs and from `--extents n=5,m=7`, by the name of a dimension or as `argument.axis`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerType, MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from ...analysis.nest.sets.accesses import argument_attribute
from ...dialects.attributes import DIMS, ROLE
from ...dialects.diagnostic import NestorError, fail
from ...runtime import scalar_eval

_INDEX_VALUE = 3
"""What a generated argument of type index or integer is: small, for it may be a trip count."""


@dataclass(frozen=True)
class RunRequest:
    """What the command line asks for."""

    entry: str | None
    inputs: Sequence[str]
    extents: dict[str, int]
    mode: str
    seed: int


def entry_function(module: ModuleOp, name: str | None, option: str = "--run") -> FuncOp:
    """The function of that name, or the only one that has a body. Raises NestorError for `option`."""
    found = [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.body.blocks]
    listing = ", ".join(f.sym_name.data for f in found) or "none"
    if name is not None:
        found = [f for f in found if f.sym_name.data == name]
        if not found:
            raise fail(module, f'{option}: unknown function "{name}"', hint=f"functions here: {listing}")
    if len(found) != 1:
        problem = "several functions" if found else "no function with a body"
        hint = f"choose one by --entry: {listing}" if found else None
        raise fail(found[1] if found else module, f"{option}: the module has {problem}", hint=hint)
    return found[0]


class Arguments:
    """The arguments of one run; `option` is what the command line called it, `unknown_extent` the
    length of axes that nothing tells.
    """

    def __init__(
        self,
        function: FuncOp,
        inputs: Sequence[str],
        extents: dict[str, int],
        option: str = "--run",
        unknown_extent: int = 8,
    ):
        self._function = function
        self._inputs = inputs
        self._asked = extents
        self._option = option
        self._unknown_extent = unknown_extent
        self._extents = dict(extents)
        self._rng = np.random.default_rng(0)
        self.names = [a.name_hint or f"arg{k}" for k, a in enumerate(function.args)]

    def values(self) -> list[Any]:
        """A value for every argument: those that are given first, as they tell extents."""
        function, given = self._function, self._inputs
        reads = [k for k, argument in enumerate(function.args) if not _is_out(argument)]
        if given and len(given) != len(reads):
            names = ", ".join(self.names[k] for k in reads) or "none"
            raise fail(
                function,
                f"{self._option}: {len(given)} inputs given for {len(reads)}",
                hint=f"inputs of @{function.sym_name.data}, in this order: {names}",
            )
        values: dict[int, Any] = {}
        for k, text in zip(reads, given, strict=bool(given)):
            values[k] = self._given(k, text)
        self._refuse_unknown_extents()
        for k in range(len(function.args)):
            if k not in values:
                values[k] = self._generated(k)
        return [values[k] for k in range(len(function.args))]

    # ---- given values ----

    def _given(self, k: int, text: str) -> Any:
        argument = self._function.args[k]
        if not isinstance(argument.type, MemRefType):
            return self._given_scalar(k, text)
        array = self._read(k, text)
        dtype = scalar_eval.dtype_of(argument.type.element_type)
        if not _same_bits(array.dtype, dtype):
            raise self._refuse(k, f"is {argument.type}: it takes {dtype}, '{text}' holds {array.dtype}")
        declared = argument.type.get_shape()
        if len(declared) != array.ndim:
            raise self._refuse(k, f"has {len(declared)} dimensions, '{text}' has {array.ndim}")
        for axis, (extent, actual) in enumerate(zip(declared, array.shape, strict=True)):
            self._bind(k, axis, extent, actual, text)
        return np.ascontiguousarray(array).reshape(array.shape)

    def _read(self, k: int, path: str) -> np.ndarray:
        try:
            with open(path, "rb") as file:
                array = np.load(file, allow_pickle=False)
        except OSError as error:
            raise NestorError(f"cannot read input '{path}': {error.strerror or error}") from error
        except (ValueError, EOFError) as error:
            raise NestorError(f"input '{path}' is not an .npy file of numbers") from error
        if not isinstance(array, np.ndarray):
            raise NestorError(f"input '{path}' holds several arrays", hint="give each as an .npy file")
        return array

    def _given_scalar(self, k: int, text: str) -> Any:
        kind = self._function.args[k].type
        dtype = scalar_eval.dtype_of(kind)
        if text.endswith(".npy"):
            array = self._read(k, text)
            if array.ndim or not _same_bits(array.dtype, dtype):
                raise self._refuse(k, f"is {kind}: '{text}' holds {array.dtype} of shape {array.shape}")
            return array[()]
        try:
            return _number(text, kind)
        except ValueError:
            hint = (
                "give a number"
                if not Path(text).exists()
                else "give a number, or an .npy file without dimensions"
            )
            raise self._refuse(k, f"is {kind}: '{text}' is not a value of it", hint) from None

    def _bind(self, k: int, axis: int, extent: int, actual: int, text: str) -> None:
        if extent >= 0:
            if extent != actual:
                raise self._refuse(k, f"has extent {extent} along axis {axis}, '{text}' has {actual}")
            return
        for key in self._keys(k, axis):
            known = self._extents.setdefault(key, actual)
            if known != actual:
                raise self._refuse(k, f"has extent {key} = {known} along axis {axis}, '{text}' has {actual}")

    def _keys(self, k: int, axis: int) -> list[str]:
        """What an unknown extent is called: its dimension, if it has a name, and `argument.axis`."""
        named = argument_attribute(self._function.args[k], DIMS)
        dimension = named.data[axis] if isinstance(named, ArrayAttr) else None
        names = [dimension.data] if isinstance(dimension, StringAttr) else []
        return [*names, f"{self.names[k]}.{axis}"]

    def _refuse_unknown_extents(self) -> None:
        known = {
            key
            for k, a in enumerate(self._function.args)
            if isinstance(a.type, MemRefType)
            for axis in range(a.type.get_num_dims())
            for key in self._keys(k, axis)
        }
        for key in self._asked:
            if key not in known:
                raise fail(
                    self._function,
                    f"--extents: there is no extent '{key}'",
                    hint=f"extents: {', '.join(sorted(known))}",
                )

    def _refuse(self, k: int, text: str, hint: str | None = None) -> NestorError:
        return fail(self._function, f"{self._option}: argument %{self.names[k]} {text}", hint=hint)

    # ---- generated values ----

    def _generated(self, k: int) -> Any:
        argument = self._function.args[k]
        kind = argument.type
        if not isinstance(kind, MemRefType):
            return _INDEX_VALUE if isinstance(kind, (IndexType, IntegerType)) and kind != _I1 else 1
        shape = [n if n >= 0 else self._extent(k, axis) for axis, n in enumerate(kind.get_shape())]
        dtype = scalar_eval.dtype_of(kind.element_type)
        if _is_out(argument):
            return np.zeros(shape, dtype)
        if dtype.kind == "f":
            return (self._rng.integers(-16, 17, shape) / 4).astype(dtype)
        if dtype.kind == "b":
            return self._rng.integers(0, 2, shape).astype(dtype)
        if scalar_eval.type_name(kind.element_type) == "bf16":
            floats = np.asarray(self._rng.integers(-16, 17, shape), np.float32)
            return (floats.view(np.int32) >> 16).astype(dtype)
        return self._rng.integers(0, 4, shape).astype(dtype)

    def _extent(self, k: int, axis: int) -> int:
        keys = self._keys(k, axis)
        known = next((self._extents[key] for key in keys[::-1] if key in self._extents), None)
        if known is None and self._inputs:
            hint = f"say it: --extents {keys[0]}=..."
            raise self._refuse(k, f"has an extent along axis {axis} that no input tells", hint)
        extent = self._unknown_extent if known is None else known
        for key in keys:
            self._extents.setdefault(key, extent)
        return extent


_I1 = IntegerType(1)


def role_of(argument: SSAValue) -> str:
    role = argument_attribute(argument, ROLE)
    return role.data if isinstance(role, StringAttr) else "in"


def _is_out(argument: SSAValue) -> bool:
    return role_of(argument) == "out"


def _same_bits(given: np.dtype, wanted: np.dtype) -> bool:
    """Whether an array of `given` can be taken for one of `wanted`: signedness, and bool as i8, are not in a memref."""
    integers = "iub"
    if given.kind in integers and wanted.kind in integers:
        return given.itemsize == wanted.itemsize
    return given == wanted


def _number(text: str, kind: Attribute) -> int | float | bool:
    """The value of a scalar type that `text` spells. Raises ValueError."""
    name = scalar_eval.type_name(kind)
    if name == "i1":
        return text.lower() == "true" if text.lower() in ("true", "false") else bool(("0", "1").index(text))
    if "f" in name:
        return float(text)
    number = int(text, 0)
    bits = 64 if name == "int" else int(name[1:])
    if not -(1 << bits - 1) <= number < 1 << bits:
        raise ValueError(text)
    return number
