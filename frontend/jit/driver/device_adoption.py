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
from ...interface.structures import LEAVES
from .adoption import Exchange, library_of
from .host_arrays import Namespace
from .torch_tensors import Torch

if TYPE_CHECKING:
    from .call_arguments import CallArguments


class DeviceAdoption(Exchange):
    """One call with CuPy arrays in the place of those of other libraries, and how results are given back."""

    __slots__ = ("_cupy", "_library", "array_type", "is_decided")

    def __init__(self, cupy: Any):
        super().__init__()
        self._cupy = cupy
        self.array_type = cupy.ndarray
        self._library: Any = None
        self.is_decided = False
        """Whether an array of the device has said of which kind results are."""

    def take(self, name: str, value: Any) -> Any:
        """What stands for the value of parameter `name`: the value itself where nothing in it is adopted."""
        kind = type(value)
        if kind is self.array_type:
            self.is_decided = True
            return value
        if kind in LEAVES:
            return value
        if is_elsewhere(value):
            return self._array(name, value)
        return value if hasattr(value, "__dlpack__") else self.take_items(name, value)

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

    def given_back(self, array: Any) -> Any:
        """An array that the call has made, in the kind of the first one of the device."""
        return array if self._library is None else self._library.device_result_of(array)


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
    made = DeviceAdoption(cupy)
    made.take_call(function, args, kwargs)
    return made if made.is_needed else None
