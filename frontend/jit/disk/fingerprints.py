"""What tells one program from another across processes: text for each value that a compilation depends on.

    fingerprint(3.5)                 'float:00000000000c0c40'
    fingerprint(np.maximum)          'ufunc:maximum'
    fingerprint(a function)          'function:' and a digest of its code, place, and defaults

Equal texts mean that compiled code is the same. For what has none (an object of a class of its own, a socket) `Unkeyed`
says so: programs that depend on it are compiled in every process.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ....runtime.disk_cache import blake2b
from ...interface.carried_texts import file_of
from ...interface.custom_ops import CustomOp, Primal
from ...interface.custom_rules import CustomRule
from ...interface.forwarders import ATTRIBUTES
from ...interface.ordinary import is_generated
from ...interface.structures import Again, Structure, parts_of
from ...interface.versioned import PACKAGE, is_own

MAX_DEPTH = 16
MAX_BYTES = 1 << 24
"""Maximum size of an array that is compiled in, in bytes."""


class Unkeyed(Exception):
    """A value that cannot be distinguished from others in another process; the text says what it is."""


def digest(*parts: str | bytes) -> str:
    """A short text for long ones."""
    made = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        made.update(len(data).to_bytes(8, "little"))
        made.update(data)
    return made.hexdigest()


def fingerprint(value: Any, depth: int = 0) -> str:
    """The text of a value. Raises Unkeyed."""
    if depth > MAX_DEPTH:
        raise Unkeyed("values in values, too deep")
    plain = _PLAIN.get(type(value))
    if plain is not None:
        return f"{type(value).__name__}:{plain(value)}"
    if isinstance(value, np.generic | np.dtype | np.ndarray | np.ufunc):
        return _of_numpy(value)
    if isinstance(value, type):
        return _of_class(value, depth)
    if isinstance(value, FunctionType):
        return _of_function(value, depth)
    if isinstance(value, ModuleType):
        return f"module:{value.__name__}"
    if isinstance(value, BuiltinFunctionType):
        return _of_builtin(value, depth)
    if isinstance(value, Structure):
        names = None if value.names is None else tuple(value.names)
        hidden = f"{value.number}{value.hidden}"
        return f"structure({hidden}{fingerprint((value.kind, names, value.items), depth + 1)})"
    if isinstance(value, Again):
        return repr(value)
    if type(value) in (tuple, list, frozenset, dict) or parts_of(value) is not None:
        return _of_parts(value, depth)
    return _of_object(value, depth)


def found_text(value: Any) -> str:
    """The text of what was found outside: of an object that can change, which is looked into in steps of their own, the
    class."""
    kind = type(value)
    if kind in (list, dict, set):
        return kind.__name__
    if kind is tuple:
        return f"({','.join(map(found_text, value))})"
    if isinstance(value, CodeType):
        return f"code:{_of_code(value, 0)}"
    if _has_attributes(value):
        return f"object:{fingerprint(kind)}"
    return fingerprint(value)


def _has_attributes(value: Any) -> bool:
    """Whether it is an object of a Python class of the program."""
    kind = type(value)
    return not isinstance(value, type | tuple | FunctionType | np.ndarray) and not is_own(kind)


_PLAIN: dict[type, Any] = {
    type(None): repr,
    type(...): repr,
    bool: repr,
    int: repr,
    str: repr,
    bytes: repr,
    range: repr,
    float: lambda x: struct.pack("<d", x).hex(),
    complex: lambda x: struct.pack("<dd", x.real, x.imag).hex(),
}


def _joined(values: Iterable[Any], depth: int) -> str:
    return ",".join([fingerprint(value, depth + 1) for value in values])


def _of_parts(value: Any, depth: int) -> str:
    if isinstance(value, frozenset):
        return f"frozenset({sorted(fingerprint(item, depth + 1) for item in value)})"
    names, items = parts_of(value) or (None, ())
    kind = "" if type(value) in (tuple, list, dict) else fingerprint(type(value), depth + 1)
    keys = "" if names is None else _joined(names, depth)
    return f"{type(value).__name__}[{kind}]({keys};{_joined(items, depth)})"


def _of_numpy(value: Any) -> str:
    if isinstance(value, np.ufunc):
        if getattr(np, value.__name__, None) is not value:
            raise Unkeyed(f"the ufunc '{value.__name__}', which is not NumPy's")
        return f"ufunc:{value.__name__}"
    dtype = value if isinstance(value, np.dtype) else value.dtype
    if dtype.hasobject or dtype.names is not None or dtype.subdtype is not None:
        raise Unkeyed(f"a value of dtype {dtype}")
    name = f"{dtype.name}{dtype.str}"
    if isinstance(value, np.dtype):
        return f"dtype:{name}"
    if isinstance(value, np.generic):
        return f"scalar:{name}:{value.tobytes().hex()}"
    if type(value) is not np.ndarray or value.nbytes > MAX_BYTES:
        raise Unkeyed(f"an array of {value.nbytes} bytes" if value.nbytes > MAX_BYTES else repr(type(value)))
    facts = f"{value.shape}{value.strides}{value.flags.writeable}{value.flags.aligned}"
    return f"array:{name}:{facts}:{digest(value.tobytes())}"


def _of_builtin(value: Any, depth: int) -> str:
    """A function written in C; a method is one of what it is bound to."""
    owner = value.__self__
    if owner is None or isinstance(owner, ModuleType):
        if not is_own(value):
            raise Unkeyed(f"the function '{value.__qualname__}', which is not written in Python")
        return f"builtin:{value.__module__}.{value.__qualname__}"
    return f"builtin:{value.__name__}({fingerprint(owner, depth + 1)})"


def _of_function(function: FunctionType, depth: int) -> str:
    if is_own(function) and "<locals>" not in function.__qualname__:
        return f"function:{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"
    if vars(function).keys() - ATTRIBUTES:
        raise Unkeyed(f"the function '{function.__qualname__}', which has attributes")
    return code_of(function, depth)


def code_of(function: FunctionType, depth: int = 0) -> str:
    """The code of a function and its defaults; what it reads from outside is a matter of its own."""
    defaults = fingerprint((function.__defaults__, function.__kwdefaults__), depth + 1)
    return f"function:{digest(function.__qualname__, _of_code(function.__code__, depth), defaults)}"


def _of_code(code: CodeType, depth: int) -> str:
    """All of it, for errors say where they come from."""
    constants = [
        _of_code(c, depth + 1) if isinstance(c, CodeType) else fingerprint(c, depth + 1)
        for c in code.co_consts
    ]
    facts = (
        code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_names,
        code.co_varnames, code.co_freevars, code.co_cellvars, file_of(code), code.co_name, code.co_firstlineno,
    )  # fmt: skip
    lines = getattr(code, "co_linetable", b"")
    return digest(code.co_code, repr(facts), lines, *constants)


def _of_op(value: CustomOp | Primal, depth: int) -> str:
    """An operation of the user's: its texts. The functions that it is made of are read as its attributes."""
    op = value.op if isinstance(value, Primal) else value
    shape = op.shape if isinstance(op.shape, str) else None
    return (
        f"{type(value).__name__}({fingerprint((op.code, op.cuda, op.schedules, shape, op.dtype), depth + 1)})"
    )


_MADE = frozenset((
    "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__dataclass_params__",
    "__slots__", "__static_attributes__", "__firstlineno__", "__match_args__", "__dataclass_fields__", "__orig_bases__",
    "__parameters__", "__annotate_func__", "__annotations_cache__", "__abstractmethods__", "_abc_impl",
))  # fmt: skip
"""What Python puts into a class; fields and their defaults are looked at as such."""


def _of_class(kind: type, depth: int) -> str:
    if is_own(kind):
        return f"type:{kind.__module__}.{kind.__qualname__}"
    if type(kind) is not type:
        raise Unkeyed(f"the class '{kind.__qualname__}', which has a metaclass")
    parts = [fingerprint(base, depth + 1) for base in kind.__bases__]
    for name, item in sorted(vars(kind).items()):
        if name not in _MADE:
            parts.append(f"{name}={_of_member(item, depth + 1)}")
    for name, field in getattr(kind, "__dataclass_fields__", {}).items():
        if callable(field.default_factory):
            raise Unkeyed(f"the class '{kind.__qualname__}', which makes defaults")
        default = "" if field.default is field.default_factory else fingerprint(field.default, depth + 1)
        parts.append(f"field {name} {field.init} {field.kw_only} {default}")
    return f"class:{digest(kind.__module__, kind.__qualname__, *parts)}"


def _of_member(item: Any, depth: int) -> str:
    if isinstance(item, staticmethod | classmethod):
        return f"{type(item).__name__}({_of_member(item.__func__, depth + 1)})"
    if isinstance(item, property):
        return f"property({_of_member(item.fget, depth + 1)})"
    if isinstance(item, FunctionType):
        # Of namedtuple and dataclass: they follow from the fields.
        made = is_generated(item) or is_own(item)
        return "made" if made else code_of(item, depth)
    if type(item).__name__ in ("_tuplegetter", "member_descriptor", "getset_descriptor"):
        return type(item).__name__
    return fingerprint(item, depth)


def _of_object(value: Any, depth: int) -> str:
    kind = type(value)
    if isinstance(value, MethodType):
        return f"method({fingerprint(value.__func__, depth + 1)},{fingerprint(value.__self__, depth + 1)})"
    if kind.__module__ == "numpy" and kind.__name__ == "_ArrayFunctionDispatcher":
        return f"numpy:{value.__module__}.{value.__qualname__}"
    if kind.__module__ == f"{PACKAGE}.frontend.jit.driver.jit_function" and kind.__name__ == "JitFunction":
        return f"jit({code_of(value.function, depth)})"
    if isinstance(value, CustomOp | Primal):
        return _of_op(value, depth)
    if isinstance(value, CustomRule) and isinstance(value.function, Primal):
        return f"{kind.__name__}({_of_op(value.function, depth)})"
    if is_own(kind) and hasattr(kind, "fingerprint_text"):  # data of Nestor's that does not change
        return f"{kind.__qualname__}({digest(value.fingerprint_text())})"
    raise Unkeyed(f"an object of the class '{kind.__module__}.{kind.__qualname__}'")
