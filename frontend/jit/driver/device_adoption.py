"""Arrays of other libraries on a GPU as arguments: CuPy arrays of the same memory take their place, results go back in kind.

    taken = device_adoption(f, cupy, args, kwargs)   # None where all arrays of the device are CuPy's own
    result = call(*taken.args, **taken.kwargs)       # as any other: it follows the launch plan of a call like it
    taken.results(result)                            # torch in, torch out

The first array of the device among the arguments says of which kind results are. An argument that is returned, and `out`,
are the very objects of the caller. Arrays in host memory are not looked at here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....runtime.cuda.device_arrays import adopt, check_is_here, is_elsewhere
from ...interface.structures import LEAVES, build, parts_of
from .adoption import library_of
from .host_arrays import Namespace
from .torch_tensors import Torch

if TYPE_CHECKING:
    from .call_arguments import CallArguments


class DeviceAdoption:
    """One call with CuPy arrays in the place of those of other libraries, and how results are given back."""

    __slots__ = ("_cupy", "_library", "_mine", "_taken", "args", "is_decided", "kwargs")

    def __init__(self, cupy: Any):
        self._cupy = cupy
        self._library: Any = None
        self.is_decided = False
        """Whether an array of the device has said of which kind results are."""
        self._mine: dict[int, tuple[Any, Any]] = {}
        """CuPy arrays of the call by identity, and what the caller passed for each."""
        self._taken: list[tuple[str, Any, Any]] = []
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}

    def take(self, name: str, value: Any) -> Any:
        """What stands for the value of parameter `name`: the value itself where nothing in it is adopted."""
        kind = type(value)
        if kind is self._cupy.ndarray:
            self.is_decided = True
            return value
        if kind in LEAVES:
            return value
        if is_elsewhere(value):
            return self._array(name, value)
        parts = parts_of(value) if not hasattr(value, "__dlpack__") else None
        if parts is None:
            return value
        names, items = parts
        taken = [self.take(name, item) for item in items]
        if all(new is old for new, old in zip(taken, items, strict=True)):
            return value
        return build(kind, names, taken)

    def _array(self, name: str, value: Any) -> Any:
        array = adopt(self._cupy, value, name)
        check_is_here(self._cupy, array, name)
        library = library_of(type(value), value)
        if not self.is_decided:
            self.is_decided = True
            self._library = library if isinstance(library, Torch | Namespace) else None
        self._mine[id(array)] = array, value
        self._taken.append((name, library, value))
        return array

    @property
    def is_needed(self) -> bool:
        """Whether an argument is of another library."""
        return bool(self._mine)

    def results(self, value: Any) -> Any:
        """A result with arrays of the caller's kind."""
        kind = type(value)
        if kind is self._cupy.ndarray:
            known = self._mine.get(id(value))
            if known is not None:
                return known[1]
            made = value if self._library is None else self._library.device_result_of(value)
            self._mine[id(value)] = value, made
            return made
        parts = None if kind in LEAVES else parts_of(value)
        if parts is None:
            return value
        names, items = parts
        made = [self.results(item) for item in items]
        if all(new is old for new, old in zip(made, items, strict=True)):
            return value
        return build(kind, names, made)

    def note_writes(self, parameters: set[str]) -> None:
        """Tell the libraries that the arrays which these parameters had were written to."""
        for name, library, value in self._taken:
            if name in parameters and hasattr(library, "written"):
                library.written(value)


def device_adoption(
    function: CallArguments, cupy: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> DeviceAdoption | None:
    """The call with CuPy arrays in the place of those of other libraries on the device; None where there are none.

    Raises UnsupportedError for an array of another device than the current one, which names the argument.
    """
    own = cupy.ndarray
    if all([type(v) is own or type(v) in LEAVES for v in args]) and all(
        [type(v) is own or type(v) in LEAVES for v in kwargs.values()]
    ):
        return None
    made, names, static = DeviceAdoption(cupy), function._names, function._static
    rest = len(args) - len(names)
    placed = names if rest <= 0 else [*names, *(names[-1:] or ["args"]) * rest]
    pairs = zip(placed, args, strict=False)
    made.args = tuple([value if name in static else made.take(name, value) for name, value in pairs])
    made.kwargs = {
        name: value if name in static else made.take(name, value) for name, value in kwargs.items()
    }
    return made if made.is_needed else None
