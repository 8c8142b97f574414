"""Which Python objects may be compiled in: those that nobody can change, and those of which attributes are read only.

    why_refused(3.5)                  None: numbers, strings, types, functions, tuples of such
    why_refused(config)               None: an object of a class of its own, whose attributes are looked at again
    why_refused(iter(xs))             ("an iterator ...", "what to do")
    runs_own_code(config)             whether `config + 1` or `len(config)` would run code of its class

A value of the first kind is a constant. Of an object only attributes are read: what its class computes for operators,
conversions or `len` may depend on anything, so that such code never runs while a program is compiled.
"""

from __future__ import annotations

import enum
from collections import deque
from functools import partial
from types import BuiltinFunctionType, FunctionType, GenericAlias, MethodType, ModuleType, UnionType
from typing import Any

import numpy as np

from .ordinary import is_generated
from .versioned import PACKAGE, is_in_its_module, is_own

_BY_VALUE = frozenset((type(None), bool, int, str, bytes, type(...), type(NotImplemented)))
"""Immutable, and of two values of one such type that are equal, one stands for the other."""

_BY_TEXT = frozenset((float, complex, range))
"""Immutable; equal values may differ, and have other texts then: 0.0 and -0.0, range(0) and range(1, 1)."""

_BUILTIN_NUMBERS = (int, float, complex, str, bytes)
_BUFFERS = frozenset(("bytearray", "memoryview", "array", "mmap"))
_AS_ARRAY = (
    "__array__", "__array_interface__", "__array_struct__", "__array_ufunc__", "__array_function__", "__dlpack__",
    "__cuda_array_interface__",
)  # fmt: skip
_AS_NUMBER = ("__float__", "__index__", "__int__", "__complex__")
_PLAIN_ARGUMENTS = "pass arrays, numbers, None, strings, or tuples of them"


def why_refused(value: Any) -> tuple[str, str] | None:
    """What is wrong with a value that is to be compiled in, and what to do; None where it may be."""
    kind = type(value)
    if kind in _BY_VALUE or kind in _BY_TEXT or isinstance(value, enum.Enum | np.dtype):
        return None
    if isinstance(value, np.generic):
        what = f"a NumPy scalar of dtype {value.dtype}, which can be changed,"
        return (what, "pass its fields") if value.dtype.kind in "VO" and not _is_bfloat16(value) else None
    if isinstance(value, _BUILTIN_NUMBERS):
        plain = next(one for one in _BUILTIN_NUMBERS if isinstance(value, one)).__name__
        return f"a {kind.__name__}, a subclass of {plain} with rules of its own,", f"pass {plain}(x)"
    items = _items(value)
    if items is not None:
        return next(filter(None, map(why_refused, items)), None)
    if _is_called(value):
        return None
    return _why_no_object(value)


_CALLED = (
    type, FunctionType, BuiltinFunctionType, MethodType, ModuleType, np.ufunc, np.vectorize, type(np.sum),
    type(str.join), type(str.__add__),
)  # fmt: skip
"""What the frontend calls, or reads attributes of, and Nestor's own objects; each is known by its identity."""


def _is_called(value: Any) -> bool:
    return isinstance(value, _CALLED) or type(value).__module__.startswith(f"{PACKAGE}.")


def _is_bfloat16(value: np.generic) -> bool:
    return value.dtype.name == "bfloat16"


def _items(value: Any) -> list[Any] | None:
    """The values that an immutable container consists of; None for others."""
    if isinstance(value, frozenset) or (isinstance(value, tuple) and not getattr(value, "__dict__", None)):
        return list(value)
    if isinstance(value, slice):
        return [value.start, value.stop, value.step]
    if type(value) is partial:
        return [value.func, *value.args, *value.keywords.values()]
    return None


def _why_no_object(value: Any) -> tuple[str, str] | None:
    """Why an object of an unknown class cannot be an argument."""
    kind = type(value)
    name = (
        kind.__name__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__name__}"
    )
    if isinstance(value, np.ndarray):
        return "an array, whose elements can change,", "leave it out of static_argnums and static_argnames"
    if kind.__name__ in _BUFFERS or hasattr(kind, "_b_base_"):  # of ctypes
        return f"a {name}, whose contents can change,", "pass np.asarray(x), which shares its memory"
    if kind.__module__.partition(".")[0] == "pandas":
        return f"a {name}, which has rules of its own,", "pass x.to_numpy()"
    if hasattr(kind, "__cuda_array_interface__") and not hasattr(kind, "__array__"):
        return f"a {name}, an array of a GPU,", 'compile for it: nt.jit(f, target="cuda")'
    if any(getattr(kind, protocol, None) is not None for protocol in _AS_ARRAY):
        return f"a {name}, an array with rules of its own,", "pass np.asarray(x)"
    if hasattr(kind, "__next__"):
        return f"an iterator ({name}), which is used up by one call,", "pass list(x), or an array"
    if any(hasattr(kind, protocol) for protocol in _AS_NUMBER):
        return f"a {name}, a number with rules of its own,", "pass float(x) or int(x)"
    if kind.__hash__ is None:
        return f"a {name}, which can change,", _PLAIN_ARGUMENTS
    if kind is object or kind.__module__ == "datetime" or any(map(_is_of_python, kind.__mro__)):
        return None
    return f"a {name}, which may change,", _PLAIN_ARGUMENTS


def _is_of_python(kind: type) -> bool:
    """Whether a class was made by a `class` statement, which gives instances a place for attributes or names their slots."""
    return kind is not object and not {"__dict__", "__weakref__", "__slots__"}.isdisjoint(vars(kind))


def distinction(value: Any) -> str:
    """A text that tells values apart that compare equal and are different constants: 0.0 and -0.0, (1,) and (True,).

    Of objects with attributes it says which one it is, whatever their classes take for equal.
    """
    kind = type(value)
    if kind in _BY_VALUE:
        return ""
    if kind in _BY_TEXT or isinstance(value, np.generic):
        return repr(value)
    items = _items(value)
    if items is not None:
        return f"({','.join([f'{type(item).__name__}:{distinction(item)}' for item in items])})"
    if _is_called(value) or isinstance(value, enum.Enum | np.dtype):
        return ""
    return str(id(value))


class Unhashable:
    """A value that nobody can change, and Python has no hash of: a slice, before 3.12."""

    def __init__(self, value: Any, items: list[Any]):
        self.value = value
        self._key = (type(value), tuple(map(hashable, items)), distinction(value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashable) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.value)


def hashable(value: Any) -> Any:
    """A value as part of a key. Raises TypeError for what can change."""
    try:
        hash(value)
    except (TypeError, ValueError):
        items = _items(value)
        if items is None:
            raise TypeError(f"a {type(value).__name__} can change") from None
        return Unhashable(value, items)
    return value


def held(value: Any) -> Any:
    """What `hashable` was given."""
    return value.value if type(value) is Unhashable else value


def is_object(value: Any) -> bool:
    """Whether a value that may be compiled in is an object with attributes that can change, or contains one."""
    items = _items(value)
    if items is not None:
        return any(map(is_object, items))
    kind = type(value)
    if kind in _BY_VALUE or kind in _BY_TEXT or isinstance(value, np.generic | np.dtype | enum.Enum):
        return False
    if isinstance(value, MethodType):
        return is_object(value.__self__)
    return not _is_called(value)


# ---- code that would run while a program is compiled ------------------------------------------------

_BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod"
_OTHERS = (
    "eq ne lt le gt ge neg pos invert abs bool int float complex index round trunc floor ceil len length_hint iter next "
    "reversed getitem contains bytes fspath array"
)
OPERATIONS = frozenset(
    [f"__{side}{name}__" for name in _BINARY.split() for side in ("", "r")]
    + [f"__{name}__" for name in _OTHERS.split()]
)
"""Methods that operators and builtin functions call."""

TEXT = frozenset(("__str__", "__repr__", "__format__"))
"""Methods that make a text of a value."""

TRUTH = frozenset(("__bool__", "__len__"))
"""Methods that say whether a value is true."""

_REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "ne": "eq"}


def methods_of(operator: str) -> frozenset[str]:
    """The methods that an operator, named as in the module of that name, calls."""
    name = operator.strip("_")
    return frozenset((f"__{name}__", f"__r{name}__", f"__{_REFLECTED.get(name, name)}__"))


def runs_own_code(value: Any, methods: frozenset[str] = OPERATIONS) -> bool:
    """Whether one of these methods of a value is neither of a value that cannot change (or whose contents calls compare) nor
    made for a dataclass: code of the program, or of a class such as `UserDict` that keeps things to itself."""
    kind = type(value)
    if kind in _BY_VALUE or kind in _BY_TEXT or isinstance(value, type):
        return False
    if kind in (tuple, list, frozenset, set):
        return any(runs_own_code(item, methods) for item in value)
    if kind is dict:
        return any(runs_own_code(item, methods) for pair in value.items() for item in pair)
    return any(
        any(is_own(base) or _is_own(space[name]) for name in methods & space.keys())
        for base in kind.__mro__
        if not _is_plain(base)
        for space in (vars(base),)
    )


_VALUES = (
    "builtins", "numpy", "ml_dtypes", "datetime", "decimal", "_decimal", "fractions", "pathlib", "uuid", "enum", "numbers",
    "typing", "abc", PACKAGE,
)  # fmt: skip
"""Modules of classes whose objects cannot change, or are read as a whole."""


def _is_plain(kind: type) -> bool:
    """Whether what a class computes depends on nothing but values, and contents that calls look at."""
    if kind in (UnionType, GenericAlias):
        return True
    if kind is object or issubclass(kind, tuple | list | dict | set | deque):
        return is_own(kind)
    root = kind.__module__.partition(".")[0]
    return (
        root in _VALUES
        and is_in_its_module(kind)
        and not kind.__module__.startswith("numpy.random")
        and not hasattr(kind, "__next__")
    )


def _is_own(method: Any) -> bool:
    """Whether a special method was written for its class: dataclasses and NamedTuples have theirs made."""
    if method is None:
        return False
    if not isinstance(method, FunctionType):
        return True
    return not is_generated(method) and not is_own(method)
