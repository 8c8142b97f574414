"""Python in, nt out: what `opt-tool --emit-nt prog.py:function --spec "8x f32[100,1000]"` does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....dialects.diagnostic import NestorError, SourceLocation
from ....runtime.user_files import run_file
from ...interface.errors import DTypeError, UndefinedNameError, UnsupportedError
from ...interface.parameters import as_called
from ...interface.spec import parse_specs

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .lowered import Lowered


def emit_nt(reference: str, specs: str = "", *, strict: bool = False) -> ModuleOp:
    """The nt module of `file.py:function` for arguments of the given specs; missing ones take their defaults.

    Raises a diagnostic when the file, the function or the specs do not fit.
    """
    return lowered(reference, specs, strict=strict).program.module


def lowered(reference: str, specs: str = "", *, strict: bool = False, machine: str | None = None) -> Lowered:
    """`file.py:function` lowered for arguments of the given specs, as `emit_nt` says; for a machine, where one is named."""
    from .jit_function import JitFunction

    function = load_function(reference)
    jitted = function if isinstance(function, JitFunction) else JitFunction(function, strict=strict)
    if machine is not None:
        jitted = jitted.again(machine=machine)
    types = parse_specs(specs)
    try:
        jitted.signature.bind(*types)
    except TypeError as error:
        name = jitted.function.__name__
        parameters = as_called(jitted.signature)
        raise DTypeError(
            f"{name}() {error}", hint=f'it is {name}{parameters}: --spec "f32[100,1000], ..." says types'
        ) from None
    return jitted.lower(*types)


def load_function(reference: str) -> Callable[..., Any]:
    """The function that `path/to/prog.py:name` names; its file is executed."""
    path, colon, name = reference.rpartition(":")
    if not colon or not name.isidentifier():
        raise UnsupportedError(f"'{reference}' is not of the form file.py:function")
    if not Path(path).is_file():
        raise UnsupportedError(
            f"no file '{path}'", hint="give the path of a Python file, then a colon and the function"
        )
    try:
        module = run_file(path)
    except NestorError:
        raise
    except (Exception, SystemExit) as error:
        raise UnsupportedError(
            f"{type(error).__name__} while running '{path}': {error}", SourceLocation(path)
        ) from error
    if not hasattr(module, name):
        known = [
            n for n, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
        ]
        hint = f"it defines {', '.join(known)}" if known else None
        raise UndefinedNameError(f"'{path}' defines no '{name}'", hint=hint)
    function = getattr(module, name)
    if not callable(function):
        raise DTypeError(f"'{name}' of '{path}' is {function!r}, not a function")
    return function
