"""What answers the calls of Python in compiled code (`nest_common/custom_calls.py`): functions by name, and how one is run.

A function gets its operands as NumPy arrays that are views of the kernel's memory, read-only; what it returns is copied
to the buffers of the results. What it raises stops the kernel and is raised when the kernel has returned, at the
Python line of the call.
"""

from __future__ import annotations

import ctypes
import gc
import threading
import traceback
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dialects.attributes import CUSTOM_CALL
from ..dialects.custom_call_names import ARGUMENTS, ELEMENTS, INPUTS, NUMPY, TARGET
from .numpy_calls import FILL, NUMPY_CALLS
from .real_parts import PARTS

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp

_OWN: dict[str, Callable[..., Any]] = {}
"""The functions of the user that compiled code calls, by the name it has for them."""


def name_of(function: Callable[..., Any]) -> str:
    """The name by which compiled code calls a function of the user; two functions have two names."""
    module, qualified = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    base = f"{module or 'python'}.{qualified or type(function).__name__}"
    name, k = base, 1
    while name.startswith(NUMPY) or _OWN.setdefault(name, function) is not function:
        k += 1
        name = f"python.{base}.{k}" if base.startswith(NUMPY) else f"{base}.{k}"
    return name


def function_of(name: str) -> Callable[..., Any] | None:
    """The function that compiled code calls by this name."""
    return NUMPY_CALLS.get(name) or _OWN.get(name)


# ---- errors -----------------------------------------------------------------------------------------


class _State(threading.local):
    error: BaseException | None = None


_STATE = _State()


def take_error(file: str | None, line: int) -> BaseException:
    """The exception that stopped the kernel of this thread, with the Python line of the call in its traceback."""
    error, _STATE.error = _STATE.error, None
    assert error is not None, "a call failed without an exception"
    if file is None or line < 1:
        return error
    # A frame of that line: what raises it is there.
    raising = compile("\n" * (line - 1) + "raise error", file, "exec")
    try:
        exec(raising, {"error": error})
    except BaseException as raised:
        if raised.__traceback__ is not None:
            raised.__traceback__ = raised.__traceback__.tb_next
        return raised
    raise AssertionError("not reached")


# ---- running ----------------------------------------------------------------------------------------


Form = tuple[str, str, int, dict[str, Any], tuple[str, ...], tuple[int, ...]]
"""A declared function as plain data, which other processes have too: its symbol, the name of what is called, how many of its
buffers are operands, the arguments beside these, and the dtype and the rank of each buffer."""


def form_of(declared: FuncOp) -> Form:
    """What a declaration says."""
    from xdsl.dialects.builtin import MemRefType

    from ..dialects.nt.types import TO_NAME

    facts: Any = declared.attributes[CUSTOM_CALL]
    return (
        declared.sym_name.data,
        facts.data[TARGET].data,
        facts.data[INPUTS].value.data,
        {key: python_value(value) for key, value in facts.data[ARGUMENTS].data.items()},
        tuple([TO_NAME[element] for element in facts.data[ELEMENTS].data]),
        tuple([t.get_num_dims() for t in declared.function_type.inputs.data if isinstance(t, MemRefType)]),
    )


class Call:
    """A declared function: how operands become arrays, which function runs, where its results go."""

    def __init__(self, form: Form):
        _, self.target, self.inputs, arguments, elements, self.ranks = form
        self.arguments = dict(arguments)
        self.kinds: Sequence[str] = self.arguments.get("kinds", ())
        """How a function of the user is given its operands."""
        self.several: bool = self.arguments.get("several", False)
        """Whether it returns a tuple of results."""
        self.selected: Sequence[int] = self.arguments.pop("selected", ())
        """Operands of NumPy of which a mask selects; the masks are the last operands."""
        self.operands = [_Element.of(element, True) for element in elements[: self.inputs]]
        self.outputs = [_Element.of(element, False) for element in elements[self.inputs :]]
        self.sizes = [one.size for one in (*self.operands, *self.outputs)]
        self.slots = sum(1 + 2 * rank for rank in self.ranks)
        self.is_numpy = self.target.startswith(NUMPY)
        self._seen: tuple[bytes, list[np.ndarray], list[np.ndarray]] | None = None

    def from_slots(self, address: int) -> int:
        """What machine code calls: the slots of each buffer are its address, its extents, its strides in elements."""
        if not self.is_numpy:
            return 0 if self._succeeds(lambda: self._call_own(self._places(address))) else 1
        # In a loop buffers are where they were, mostly; NumPy keeps no array, so those of the last call do again.
        words = ctypes.string_at(address, 8 * self.slots)
        seen = self._seen
        if seen is None or seen[0] != words:
            seen = self._seen = (words, *self._arrays(self._places(address)))
        return 0 if self._succeeds(lambda: self._call_numpy(*seen[1:])) else 1

    def on_places(self, places: Sequence[Place]) -> bool:
        """Run on buffers, those of the results last; whether it succeeded."""
        if self.is_numpy:
            return self._succeeds(lambda: self._call_numpy(*self._arrays(places)))
        return self._succeeds(lambda: self._call_own(places))

    def _succeeds(self, run: Callable[[], None]) -> bool:
        try:
            run()
        except BaseException as error:
            # The frames hold arrays whose memory is about to go.
            traceback.clear_frames(error.__traceback__)
            _STATE.error = error
            return False
        return True

    def _places(self, address: int) -> list[Place]:
        slots = (ctypes.c_int64 * self.slots).from_address(address)
        places: list[Place] = []
        at = 0
        for rank, size in zip(self.ranks, self.sizes, strict=True):
            shape = tuple(slots[at + 1 : at + 1 + rank])
            strides = tuple([s * size for s in slots[at + 1 + rank : at + 1 + 2 * rank]])
            places.append((slots[at], shape, strides))
            at += 1 + 2 * rank
        return places

    def _arrays(self, places: Sequence[Place]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The operands, and the results."""
        return list(map(_array, places, self.operands)), list(
            map(_array, places[self.inputs :], self.outputs)
        )

    def _function(self) -> Callable[..., Any]:
        function = function_of(self.target)
        if function is None:
            raise LookupError(f"no function '{self.target}' is known to the runtime")
        return function

    def _call_numpy(self, operands: list[np.ndarray], outputs: list[np.ndarray]) -> None:
        function = self._function()
        if self.selected:
            count = len(operands) - len(self.selected)
            operands, masks = operands[:count], operands[count:]
            for k, mask in zip(self.selected, masks, strict=True):
                operands[k] = operands[k][mask]
        if self.target in FILL:
            function(*operands, out=outputs[0], **self.arguments)
            return
        with np.errstate(all="ignore"):
            given = function(*operands, **self.arguments)
        _fill(self.target, outputs, (given,) if len(outputs) == 1 else given)

    def _call_own(self, places: Sequence[Place]) -> None:
        """A function of the user: numbers as numbers, and no array is kept."""
        function = self._function()
        arrays: list[Any]
        arrays, outputs = self._arrays(places)
        memories = [weakref.ref(_memory(array)) for array in arrays if array.size]
        for k, kind in enumerate(self.kinds):
            if kind != "array":
                arrays[k] = _NUMBERS[kind](arrays[k])
        try:
            given = function(*arrays)
            _fill(self.target, outputs, given if self.several else (given,))
        except BaseException as error:
            # The frames of the function hold what it was given.
            traceback.clear_frames(error.__traceback__)
            raise
        finally:
            given = None
            arrays.clear()
            _refuse_kept(self.target, memories)

    def on_arrays(self, *memory: np.ndarray) -> bool:
        """What the interpreter calls."""
        return self.on_places([(a.__array_interface__["data"][0], a.shape, a.strides) for a in memory])


_NUMBERS: dict[str, Callable[[np.ndarray], Any]] = {
    "complex": complex,
    "scalar": lambda array: array[()],
    "int": int,
    "float": float,
    "bool": bool,
}

Place = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Where a buffer is: its address, extents, and strides in bytes."""


class _Memory:
    """The memory of a buffer, as long as an array looks at it."""

    def __init__(self, place: Place, typestr: str, read_only: bool):
        address, shape, strides = place
        self.__array_interface__ = {
            "data": (address, read_only),
            "shape": shape,
            "strides": strides,
            "typestr": typestr,
            "version": 3,
        }


@dataclass(frozen=True, eq=False)
class _Element:
    """How the elements of a buffer become those of an array."""

    dtype: np.dtype
    read_only: bool
    typestr: str

    @property
    def size(self) -> int:
        """Bytes of what memory holds: of a part, of complex numbers."""
        return PARTS.get(self.dtype, self.dtype).itemsize

    @staticmethod
    def of(element: str, read_only: bool) -> _Element:
        if element == "bfloat16":
            import_module("ml_dtypes")  # whose type it is
        dtype = np.dtype(element)
        return _Element(dtype, read_only, f"<i{dtype.itemsize}" if dtype.kind == "V" else dtype.str)


def _array(place: Place, element: _Element) -> np.ndarray:
    """A buffer as an array."""
    if element.dtype in PARTS:  # the parts are along a last axis
        address, shape, strides = place
        place = address, shape[:-1], strides[:-1]
    if 0 in place[1]:
        return np.empty(place[1], element.dtype)
    array = np.asarray(_Memory(place, element.typestr, element.read_only))
    return array if element.dtype.kind != "V" else array.view(element.dtype)


def _memory(array: Any) -> _Memory:
    """What is alive as long as an array that `_array` made, or a view of it, is."""
    while not isinstance(array, _Memory):
        array = array.base
    return array


def _fill(target: str, outputs: Sequence[np.ndarray], given: Any) -> None:
    """Copy what a function returned to where the kernel goes on with it."""
    results = tuple(given) if outputs else ()
    if len(results) != len(outputs):
        raise ValueError(f"{target} returned {len(results)} results, {len(outputs)} are declared")
    for result, output in zip(results, outputs, strict=True):
        array = np.asarray(result)
        if array.shape != output.shape or array.dtype != output.dtype:
            raise ValueError(
                f"{target} returned {array.dtype}{list(array.shape)}, "
                f"{output.dtype}{list(output.shape)} is declared"
            )
        output[...] = array


def _refuse_kept(target: str, memories: Sequence[weakref.ref[_Memory]]) -> None:
    """Raise when a function has kept an operand, or a view of one: the memory is the kernel's, which goes on with it."""
    if any(memory() is not None for memory in memories):
        gc.collect()
        if any(memory() is not None for memory in memories):
            raise ValueError(
                f"{target} keeps an array it was given, which is valid during the call only: keep a copy"
            )


def python_value(attribute: Any) -> Any:
    """The Python object that an attribute stands for."""
    from xdsl.dialects.builtin import (
        ArrayAttr,
        DictionaryAttr,
        FloatAttr,
        IntegerAttr,
        StringAttr,
        UnitAttr,
        i1,
    )

    if isinstance(attribute, DictionaryAttr):
        return {name: python_value(one) for name, one in attribute.data.items()}
    if isinstance(attribute, ArrayAttr):
        return tuple([python_value(one) for one in attribute.data])
    if isinstance(attribute, IntegerAttr):
        return bool(attribute.value.data) if attribute.type == i1 else attribute.value.data
    if isinstance(attribute, FloatAttr):
        return attribute.value.data
    if isinstance(attribute, StringAttr):
        return attribute.data
    assert isinstance(attribute, UnitAttr), f"{attribute} does not stand for a Python object"
    return None


# ---- what machine code finds by name ----------------------------------------------------------------

_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
_ANSWERS: dict[str, Any] = {}


def call_of(declared: FuncOp) -> Call:
    """The call that a declared function is."""
    return Call(form_of(declared))


def forms_of(module: ModuleOp) -> tuple[Form, ...]:
    """The functions that a module calls and Python answers."""
    from ..analysis.nest.calls import declarations
    from ..lowering.nest_common.custom_calls import is_code

    return tuple([form_of(declared) for declared in declarations(module) if not is_code(declared)])


def are_numpy(forms: Iterable[Form]) -> bool:
    """Whether all that is called is NumPy's, which every process has."""
    return all(target in NUMPY_CALLS for _, target, *_ in forms)


def provide(forms: Iterable[Form]) -> None:
    """Be ready to answer these calls: their symbols say all that is to be known."""
    for form in forms:
        if form[0] not in _ANSWERS:
            _ANSWERS[form[0]] = _CALLBACK(Call(form).from_slots)


def addresses() -> dict[str, int]:
    """The functions that machine code calls, by symbol."""
    return {name: ctypes.cast(answer, ctypes.c_void_p).value or 0 for name, answer in _ANSWERS.items()}
