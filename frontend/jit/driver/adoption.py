"""Arrays of other libraries as arguments: NumPy arrays of the same memory take their place, and results go back in kind.

    adopted = adoption(f, args, kwargs)           # None where there is nothing to adopt
    result = f(*adopted.args, **adopted.kwargs)   # a call as any other: it may be native
    adopted.results(result)                       # torch in, torch out

The first argument that is of another library says of which kind results are. An argument that is returned, and `out`, are
the very objects of the caller. Nothing here imports a library: who passes an array of one has imported it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...interface.errors import UnsupportedError
from ...interface.structures import LEAVES, parts_of, with_items
from .host_arrays import HostArrays, Namespace
from .torch_tensors import Torch

if TYPE_CHECKING:
    from .call_arguments import CallArguments

Library = HostArrays | Torch

_UNKNOWN: Any = object()
"""Instead of a library: the class has not been looked at."""

_STRUCTURE: Any = object()
"""Instead of a library: the class is a structure, whose items may be of one."""

_LIBRARIES: dict[type, Any] = {}
"""The library whose array a class is, Namespace where an array says; None for what is not an array, and for NumPy's own."""

MOST_CLASSES = 256
"""Maximum number of classes that are remembered; beyond, all are looked at again."""


class Exchange:
    """One call with arrays of one library in the place of those of others, and how results are given back."""

    __slots__ = ("_mine", "_taken", "args", "kwargs", "name")

    array_type: type
    """The arrays that take the place of others."""

    def __init__(self) -> None:
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        self.name = ""
        """The parameter whose value was taken last."""
        self._mine: dict[int, tuple[Any, Any]] = {}
        """Arrays of the call by identity, and what the caller passed for each."""
        self._taken: list[tuple[str, Any, Any]] = []
        """Parameters, and the libraries and arrays that were in their values."""

    def take(self, name: str, value: Any) -> Any:
        """What stands for the value of parameter `name`: the value itself where nothing in it is of another library."""
        raise NotImplementedError

    def take_items(self, name: str, value: Any) -> Any:
        """The same of a structured value."""
        return with_items(value, lambda item: self.take(name, item))

    def take_call(self, function: CallArguments, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Take the arguments of a call. What is beyond the parameters are those of the last one, `*args`."""
        names, static = function._names, function._static
        rest = len(args) - len(names)
        placed = names if rest <= 0 else [*names, *(names[-1:] or ["args"]) * rest]
        pairs = zip(placed, args, strict=False)
        self.args = tuple([value if name in static else self.take(name, value) for name, value in pairs])
        self.kwargs = {
            name: value if name in static else self.take(name, value) for name, value in kwargs.items()
        }

    def given_back(self, array: Any) -> Any:
        """An array that the call has made, in the caller's kind."""
        raise NotImplementedError

    def results(self, value: Any) -> Any:
        """A result with arrays of the caller's kind. Raises ShapeError, DTypeError where the library has none."""
        if type(value) is not self.array_type:
            return with_items(value, self.results)
        known = self._mine.get(id(value))
        if known is None or known[0] is not value:
            known = self._mine[id(value)] = value, self.given_back(value)
        return known[1]

    def note_writes(self, parameters: set[str]) -> None:
        """Tell the libraries that the arrays which these parameters had were written to."""
        for name, library, value in self._taken:
            if name in parameters and hasattr(library, "written"):
                library.written(value)


class Adoption(Exchange):
    """One call: its arguments with NumPy arrays in them, and how results are given back."""

    __slots__ = ("_leaves_devices", "library")

    array_type = np.ndarray

    def __init__(self, leaves_devices: bool):
        super().__init__()
        self.library: Library | None = None
        self._leaves_devices = leaves_devices

    def take(self, name: str, value: Any) -> Any:
        """What stands for the value of parameter `name`: the value itself where nothing in it is adopted."""
        self.name = name
        kind = type(value)
        if kind is np.ndarray:
            self._mine[id(value)] = (value, value)
            return value
        if kind in LEAVES:
            return value
        library = library_of(kind, value)
        if library is None:
            return value
        if library is _STRUCTURE:
            return self.take_items(name, value)
        if self._leaves_devices and library.is_elsewhere(value):
            return value
        array = library.array_of(name, value)
        if self.library is None:
            self.library = library
        self._mine[id(array)] = (array, value)
        self._taken.append((name, library, value))
        return array

    def given_back(self, array: Any) -> Any:
        """An array that the call has made, in the kind of the first argument of another library."""
        assert self.library is not None
        return self.library.result_of(array)

    def results(self, value: Any) -> Any:
        """A result with arrays, and scalars, of the caller's kind."""
        if isinstance(value, np.generic):
            assert self.library is not None
            return self.library.scalar_of(value)
        return super().results(value)


Leaves = tuple[list[str], list[Any], list[Any]]
"""The names, values and groups of the leaves of a call."""


class LeavesOfLibrary(tuple):
    """Leaves of a call, of which arrays from outside are of another library: results are in its kind."""

    adoption: Adoption

    def results(self, program: Any, run: Callable[[], Any]) -> Any:
        """What `run` gives, in the kind of the library, which is told what was written."""
        try:
            result = run()
        finally:
            self.adoption.note_writes({program.arguments[k].name for k in program.written})
        return self.adoption.results(result)


def leaves_of_library(
    leaves: Leaves, names: Sequence[str], found: Sequence[Any], groups: list[Any]
) -> LeavesOfLibrary:
    """The leaves of a call, and `found` outside behind them as arrays of NumPy."""
    made = Adoption(False)
    for value in leaves[1]:
        if type(value) is np.ndarray:
            made.take("", value)
    arrays = [made.take(name, value) for name, value in zip(names, found, strict=True)]
    result = LeavesOfLibrary(([*leaves[0], *names], [*leaves[1], *arrays], groups))
    result.adoption = made
    return result


class _Libraries:
    """The libraries whose arrays programs take from outside."""

    def has(self, value: Any) -> bool:
        """Whether a value is an array of another library, in host memory."""
        if isinstance(value, type):
            return False
        library = library_of(type(value), value)
        return library is not None and library is not _STRUCTURE and not library.is_elsewhere(value)

    def array_of(self, name: str, value: Any) -> np.ndarray:
        """The array of NumPy that argument `name` is. Raises UnsupportedError."""
        if isinstance(value, np.ndarray):
            return value
        return library_of(type(value), value).array_of(name, value)


LIBRARIES = _Libraries()

_NUMPY = HostArrays()


def library_of(kind: type, value: Any) -> Any:
    """The library whose array a value is, _STRUCTURE for what has items, None for all else."""
    found = _LIBRARIES.get(kind, _UNKNOWN)
    if found is _UNKNOWN:
        if len(_LIBRARIES) >= MOST_CLASSES:
            _LIBRARIES.clear()
        found = _LIBRARIES[kind] = _library(kind, value)
    if found is Namespace:
        return Namespace(value.__array_namespace__())
    if found is None and hasattr(value, "__dict__") and "__array_interface__" in vars(value):
        return _NUMPY
    return found


def _library(kind: type, value: Any) -> Any:
    if issubclass(kind, np.ndarray | np.generic | type) or hasattr(kind, "called_by_trace"):
        return None
    if any(base.__module__ == "torch" and base.__name__ == "Tensor" for base in kind.__mro__):
        return Torch()
    has_dlpack = hasattr(kind, "__dlpack__")
    if has_dlpack and hasattr(kind, "__array_namespace__"):
        return Namespace
    if has_dlpack or hasattr(kind, "__array_interface__"):
        return _NUMPY
    return _STRUCTURE if parts_of(value) is not None else None


def adoption(
    function: CallArguments, args: Sequence[Any], kwargs: Mapping[str, Any], *, leaves_devices: bool = False
) -> Adoption | None:
    """The call with NumPy arrays in the place of those of other libraries; None where there are none.

    With `leaves_devices` those in the memory of a device stay as they are. Raises UnsupportedError, which names the
    argument.
    """
    defaults = function._foreign_defaults
    if not defaults and not any(map(is_foreign, args)) and not any(map(is_foreign, kwargs.values())):
        return None
    made = Adoption(leaves_devices)
    if defaults:
        given = {*function._names[: len(args)], *kwargs}
        kwargs = {**kwargs, **{name: value for name, value in defaults.items() if name not in given}}
    try:
        made.take_call(function, args, kwargs)
    except UnsupportedError as error:
        function._locate(error, made.name)
        raise
    return None if made.library is None else made


DEEPEST = 100
"""Maximum number of lists, dicts and objects that an argument may be inside of."""


def is_foreign(value: Any, depth: int = 0) -> bool:
    """Whether a value is an array of another library, or has one in it. Raises UnsupportedError for one that contains
    itself."""
    kind = type(value)
    if kind in LEAVES:
        return False
    library = library_of(kind, value)
    if library is not _STRUCTURE:
        return library is not None
    parts = parts_of(value)
    if depth > DEEPEST:
        raise UnsupportedError(f"a {kind.__name__} that contains itself cannot be passed to compiled code")
    return parts is not None and any(is_foreign(item, depth + 1) for item in parts[1])
