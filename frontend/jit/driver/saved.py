"""Programs that are saved to a file by name, and loaded in another process: `compiled.save("f.nestor")`, `nt.load`.

A file is a line that says what it is, the version of its form, and one variant as the cache keeps it
(`runtime/disk_cache.py`): what must hold for it to be used, the program, its machine code, under a digest. It is data: of
objects only those in `_KNOWN` are made, and no other code of Python is named. The machine code is run, so load only files
that you trust. Loading imports no compiler.
"""

from __future__ import annotations

import builtins
import inspect
import io
import os
import pickle
import struct
from typing import Any

import numpy as np

from .... import __version__
from ....runtime.cpu.object_loader import LoadError
from ....runtime.disk_cache import Variant, packed, unpacked
from ....runtime.whole_files import write_whole
from ...interface.captured import Captured
from ...interface.errors import DTypeError, FileError, SavedProgramError, UnsupportedError
from ...interface.outside_arrays import Inputs
from ...interface.parameters import as_called
from ...interface.program_parts import Program
from ..call.alone import why_not_alone
from ..call.cpu_kernel import CpuKernel, load_cpu
from ..disk.conditions import check_conditions, conditions_of
from ..disk.program_data import dumped, loaded
from .adoption import Leaves
from .call_arguments import CallArguments

_MAGIC = b"nestor program\n"
FORM = 3
"""The version of the form of files: higher where what is in them, or what machine code is told, changes."""

_START = struct.Struct("<I")
_KEY = "saved program"

_OWN = {
    "frontend.interface.program_parts": ("Guard", "Leaf", "Change", "OutputType", "Linear", "Quotient"),
    "frontend.interface.argument_types": ("ArgumentType",),
    "frontend.interface.structures": ("Structure", "Again", "Maybe", "Which"),
    "frontend.interface.static_values": ("Unhashable",),
    "frontend.values.exceptions": ("Constant", "Number", "Items", "Text", "Call", "Raise"),
    "runtime.abi": ("MemrefForm",),
}
_NUMPY = {
    "numpy": ("dtype", "ndarray", "bool"),
    "numpy.dtypes": tuple(name for name in dir(np.dtypes) if name.endswith("DType")),
    "numpy._core.multiarray": ("scalar", "_reconstruct"),
    "numpy._core.numeric": ("_frombuffer",),
    "ml_dtypes": ("bfloat16",),
}
_PLAIN = ("tuple", "list", "dict", "set", "frozenset", "int", "float", "bool", "complex", "str", "bytes")
_PLAIN_TOO = ("range", "slice", "NotImplemented", "Ellipsis", "repr", "ascii")
_PACKAGE = __name__.partition(".frontend.")[0]


def _is_known(module: str, name: str) -> bool:
    """Whether a file may name an object."""
    if module.startswith(f"{_PACKAGE}."):
        return name in _OWN.get(module.removeprefix(f"{_PACKAGE}."), ())
    if module == "builtins":
        kind = getattr(builtins, name, None)
        is_error = isinstance(kind, type) and issubclass(kind, BaseException)
        return is_error or name in (*_PLAIN, *_PLAIN_TOO)
    scalars = module == "numpy" and isinstance(getattr(np, name, None), type)
    return name in _NUMPY.get(module, ()) or (scalars and issubclass(getattr(np, name), np.generic))


class _Unknown(Exception):
    """An object that files do not name."""


class _Pickler(pickle.Pickler):
    def __init__(self, file: Any):
        super().__init__(file, 5)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if not _is_known(module, name):
            raise _Unknown(f"{module}.{name}")
        return super().find_class(module, name)


class SavedFunction(CallArguments):
    """The parameters of a function that was saved: what is left of it beside its program."""

    def __init__(
        self,
        name: str,
        parameters: list[tuple[str, int, bool, Any]],
        sets: tuple[Any, Any, Any],
        spreads: bool,
        writes: bool,
        statics: set[str],
    ):
        self.name = name
        kinds = list(inspect._ParameterKind)
        self._parameters = parameters
        self._static, self._constants, self._opened = (frozenset(one) for one in sets)
        self._spreads = spreads
        self._baked = statics
        self._writes_arguments = writes
        self._take_parameters(
            inspect.Signature(
                [
                    inspect.Parameter(n, kinds[k], default=d if has_default else inspect.Parameter.empty)
                    for n, k, has_default, d in parameters
                ]
            )
        )

    def _writes(self) -> bool:
        return self._writes_arguments

    def _misfit(self, error: TypeError) -> DTypeError:
        return DTypeError(
            f"{self.name}() {error}", hint=f"its parameters: {self.name}{as_called(self.signature)}"
        )

    def _with_inputs(self, leaves: Leaves, inputs: Inputs) -> Leaves:
        """The leaves of a call: saved programs take nothing from outside."""
        return leaves

    def __repr__(self) -> str:
        return f"<saved function {self.name}>"


def _description(owner: CallArguments, name: str) -> tuple[Any, ...]:
    """What a `SavedFunction` is made of."""
    parameters = [
        (p.name, int(p.kind), p.default is not p.empty, None if p.default is p.empty else p.default)
        for p in owner.signature.parameters.values()
    ]
    sets = tuple(tuple(sorted(one)) for one in (owner._static, owner._constants, owner._opened))
    return name, parameters, sets, owner._spreads, owner._writes()


# ---- saving -----------------------------------------------------------------------------------------


def save(compiled: Any, path: str | os.PathLike[str]) -> None:
    """Write a compiled program to a file. Raises UnsupportedError, FileError."""
    content = contents(compiled._owner, compiled.program, compiled._kernel)
    try:
        write_whole(path, content)
    except OSError as error:
        raise FileError(
            f"'{os.fspath(path)}' cannot be written: {error.strerror}",
            hint="give a file in a folder that exists and may be written to",
        ) from None


def name_of(owner: Any) -> str:
    """The name of a function that was compiled, here or where it was saved."""
    return getattr(owner, "name", None) or owner.function.__name__


def contents(
    owner: CallArguments,
    program: Program,
    kernel: Any,
    done: str = "saved",
    error: type[UnsupportedError] = UnsupportedError,
    way_out: str = "",
    *,
    has_inputs: bool = False,
) -> bytes:
    """A compiled program as bytes. Raises `error`, which says why it cannot be `done`, and a `way_out` beside others.

    A program that reads arrays from outside is one only where `has_inputs` says that it is given them.
    """
    name = name_of(owner)
    reason = why_not_alone(program, kernel, has_inputs, has_numpy=True)
    if reason is not None:
        raise error(f"'{name}' cannot be {done}: {reason[0]}", hint=f"{reason[1]}{way_out}")
    engine, file = kernel.engine, io.BytesIO()
    try:
        _Pickler(file).dump(_description(owner, name))
        data = dumped(program, kernel, _Pickler, remarks=[])
        for part in (file.getvalue(), data):
            _Unpickler(io.BytesIO(part)).load()
    except _Unknown as unknown:
        raise error(
            f"'{name}' cannot be {done}: its arguments, results or errors have '{unknown}' in them, which another process "
            "may not have",
            hint="use tuples, lists, dicts, arrays, numbers and exceptions of Python",
        ) from None
    except Exception as raised:  # of an object of the program, when it is pickled
        raise error(f"'{name}' cannot be {done}: {raised}") from None
    header = getattr(engine, "saved_header", None) or conditions_of(engine)
    conditions = len(header).to_bytes(4, "little") + header + file.getvalue()
    return _MAGIC + _START.pack(FORM) + packed(_KEY, Variant(conditions, data, engine.object_code))


# ---- loading ----------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> tuple[SavedFunction, Program, CpuKernel]:
    """The program in a file, as `nt.load` says."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise FileError(
            f"'{name}' cannot be read: {error.strerror}", hint="give a file that compiled.save has written"
        ) from None
    return opened(name, data)


def opened(name: str, data: bytes) -> tuple[SavedFunction, Program, CpuKernel]:
    """The program that `contents` wrote; messages call it `name`."""
    variant = _variant(name, data)
    size = int.from_bytes(variant.conditions[:4], "little")
    header, description = variant.conditions[4 : 4 + size], variant.conditions[4 + size :]
    check_conditions(name, header)
    try:
        made = _Unpickler(io.BytesIO(description)).load()
        parts = loaded(_Unpickler(io.BytesIO(variant.program)))
        program = Program(module=None, captured=Captured(), **parts.parts)  # pyright: ignore
        statics = {one.name for one in program.arguments if one.kind == "static"}
        owner = SavedFunction(*made, statics)
    except _Unknown as unknown:
        raise SavedProgramError(
            f"'{name}' names '{unknown}', which is no part of a saved program",
            hint="do not trust it; save the program again",
        ) from None
    except Exception as error:  # the digest was right: it was written so
        raise SavedProgramError(
            f"'{name}' is not as Nestor writes it: {type(error).__name__}: {error}",
            hint="save the program again",
        ) from None
    try:
        kernel = load_cpu(variant.code, program.name, parts.forms, parts.sites, parts.frozen, parts.calls)
    except LoadError as error:
        raise UnsupportedError(f"the machine code of '{name}' cannot be loaded here: {error}") from None
    kernel.engine.saved_header = header
    return owner, program, kernel


def _variant(name: str, data: bytes) -> Variant:
    """The parts of a file. Raises SavedProgramError."""
    start = len(_MAGIC) + _START.size
    if data[: len(_MAGIC)] != _MAGIC[: len(data)] or not data:
        raise SavedProgramError(
            f"'{name}' is no saved program", hint='f.lower(...).compile().save("f.nestor") writes one'
        )
    if len(data) >= start:
        (form,) = _START.unpack_from(data, len(_MAGIC))
        if form != FORM:
            raise SavedProgramError(
                f"'{name}' has form {form}, and this version of Nestor ({__version__}) reads form {FORM}",
                hint="save the program with this version",
            )
    found = next(unpacked(_KEY, data[start:]), None)
    if found is None or packed(_KEY, found) != data[start:]:
        raise SavedProgramError(
            f"'{name}' is damaged or cut off: its {len(data)} bytes are not those that were written",
            hint="copy it again, or save the program again",
        )
    return found


__all__ = ["SavedFunction", "contents", "name_of", "opened", "read", "save"]
