"""`nt.spec`: the type of an argument without its data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

import numpy as np

from ...dialects.records import record
from ...dialects.tracebacks import boundary
from .argument_types import ArgumentType
from .errors import DTypeError, ShapeError
from .named_extents import Dim

SHORT_DTYPES = {
    "bool": "bool", "i1": "bool",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "ui8": "uint8", "ui16": "uint16", "ui32": "uint32", "ui64": "uint64",
    "f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128",
}  # fmt: skip
"""Element types as the text of `opt-tool --spec` and of the IR names them."""


@record
class Spec:
    """The type of an array argument: extents (an integer, None for unknown, a string or `nt.dim` for unknown and named)."""

    shape: tuple[int | str | Dim | None, ...]
    dtype: np.dtype
    layout: str = "c"

    def argument_type(self, name: str) -> ArgumentType:
        """As the type of the argument called `name`."""
        named = [e.name if isinstance(e, Dim) else e for e in self.shape]
        extents = tuple([f"{name}_{k}" if e is None else e for k, e in enumerate(named)])
        witness = tuple([e if isinstance(e, int) else None for e in extents])
        return ArgumentType(name, "array", self.dtype, extents, witness, self.layout)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The extents of which more is known than their names."""
        return tuple([one for one in self.shape if isinstance(one, Dim)])


@record
class ScalarSpec:
    """The type of a scalar argument passed at run time: `int`, `float`, `bool`, `complex` or a NumPy dtype."""

    kind: str
    dtype: np.dtype

    def argument_type(self, name: str) -> ArgumentType:
        return ArgumentType(name, self.kind, self.dtype)


@boundary
def spec(
    shape: int | str | Dim | Sequence[int | str | Dim | None] | None = (),
    dtype: Any = "f8",
    *,
    layout: str = "c",
) -> Spec:
    """The type of an array: `nt.spec((100, None), "f4")`.

    An extent is an integer, None (unknown), a name (unknown; the same name is the same extent) or `nt.dim` (a name, and
    what is known of it: `nt.dim("batch", max=4096)`). `layout` is "c" (contiguous, row-major) or "strided". Raises
    DTypeError for an unknown layout or dtype, ShapeError for a negative extent.
    """
    if layout not in ("c", "strided"):
        raise DTypeError(f"unknown layout {layout!r}", hint="layouts: 'c' (contiguous, row-major), 'strided'")
    if isinstance(shape, str) and not shape.isidentifier():
        raise DTypeError(f"{shape!r} is no shape", hint='a shape is a tuple: nt.spec((100, None), "f4")')
    if isinstance(dtype, tuple | list):
        raise DTypeError(
            f"{dtype!r} is no dtype",
            hint='the shape comes first: nt.spec((100, None), "f4"), nt.spec((), "f4")',
        )
    entries = tuple(shape) if isinstance(shape, Iterable) and not isinstance(shape, str) else (shape,)
    extents = tuple([index(e) if hasattr(e, "__index__") else e for e in entries])  # pyright: ignore
    _check_extents(extents)
    if type(dtype).__module__ == "torch":  # torch.float32
        dtype = str(dtype).rpartition(".")[2]
    if dtype == "bfloat16":
        from ml_dtypes import bfloat16 as dtype
    # One-letter-and-bits names mean bits here as in the IR; NumPy's f4, i8 mean bytes and are read first.
    try:
        return Spec(extents, np.dtype(dtype), layout)
    except TypeError as error:
        if isinstance(dtype, str) and dtype in SHORT_DTYPES:
            return Spec(extents, np.dtype(SHORT_DTYPES[dtype]), layout)
        raise DTypeError(str(error), hint=f"one of {', '.join(SHORT_DTYPES)}, or a dtype of NumPy") from None


def dims_in(values: Iterable[Any]) -> dict[str, Dim]:
    """What `nt.spec`s among the arguments say of their extents; an object may have `dims` of another kind."""
    found: dict[str, Dim] = {}
    for value in values:
        for one in value.dims if isinstance(value, Spec) else ():
            before = found.setdefault(one.name, one)
            if before != one:
                raise DTypeError(
                    f"two things are said of '{one.name}': {before}, and {one}", hint="say the same of both"
                )
    return found


def _check_extents(extents: Sequence[int | str | Dim | None]) -> None:
    for extent in extents:
        if isinstance(extent, str) and not extent.isidentifier():
            raise DTypeError(
                f"{extent!r} is not an extent", hint="an extent is an integer, a name, or unknown (None, ?)"
            )
        if extent is not None and not isinstance(extent, str | int | Dim):
            raise DTypeError(
                f"{extent!r} is not an extent", hint="an extent is an integer, a name, or unknown (None, ?)"
            )
        if isinstance(extent, int) and extent < 0:
            raise ShapeError(f"negative extent {extent}", hint="None stands for an unknown extent")


_ENTRY = r"\s*(?:(?P<count>\d+)\s*x\s+)?(?P<dtype>[a-z]+\d*)(?:\[(?P<shape>[^\]]*)\])?(?P<layout>\s+strided)?\s*(?:,|$)"


def parse_specs(text: str) -> list[Spec | ScalarSpec]:
    """The specs of `opt-tool --spec`: `8x f32[100,1000], f64[?,n] strided, int, float`.

    Raises DTypeError for text that is not a list of specs.
    """
    specs: list[Spec | ScalarSpec] = []
    position, entry = 0, re.compile(_ENTRY)
    while position < len(text):
        match = entry.match(text, position)
        if match is None:
            raise DTypeError(
                f"cannot read the spec {text[position:]!r}", hint='write "8x f32[100,1000], f64[?,n], int"'
            )
        specs.extend([_one(match)] * int(match["count"] or 1))
        position = match.end()
    return specs


def _one(match: re.Match) -> Spec | ScalarSpec:
    name, shape = match["dtype"], match["shape"]
    if name in ("int", "float", "complex") and shape is None:
        return ScalarSpec(name, np.dtype(name))
    if name not in SHORT_DTYPES:
        raise DTypeError(
            f"unknown element type {name!r} in a spec",
            hint=f"one of {', '.join(SHORT_DTYPES)}, int, float, complex",
        )
    dtype = np.dtype(SHORT_DTYPES[name])
    if shape is None:
        return ScalarSpec("bool" if name == "bool" else "scalar", dtype)
    parts = [p.strip() for p in shape.split(",") if p.strip()]
    extents = [int(p) if p.isdigit() else None if p == "?" else p for p in parts]
    _check_extents(extents)
    return Spec(tuple(extents), dtype, "strided" if match["layout"] else "c")
