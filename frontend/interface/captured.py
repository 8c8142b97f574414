"""What a program took from outside its arguments while it was compiled, and whether it is still there.

    x * CFG["gain"][0]       NAME     the global CFG is this dict
                             ITEM     its item "gain" is this list
                             ITEM     the item 0 of that is a float like this one

Each read is noted with the object it was made of: that this is the object which the function would find again, an earlier
read says. So reads in the order in which they were made, each of the same as before, are the whole path. What was read as
a whole (iterated over, compared, given to a function that is evaluated now) is noted with all its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .errors import UnsupportedError
from .source import FunctionSource


class Absent:
    """Stands for what was looked for and not found."""


class Step(IntEnum):
    """How an object was looked into."""

    NAME = 0
    """A global, a builtin or a cell of a function."""
    ATTRIBUTE = 1
    ITEM = 2
    """`owner[name]`."""
    LENGTH = 3
    KEYS = 4
    """The keys of a dict, in their order."""
    CONTENT = 5
    """The elements of an array or a set, the bytes of a buffer."""
    CODE = 6
    """The code of a function and its defaults."""


class Read:
    """One look at an object from outside, and what was found."""

    __slots__ = ("name", "owner", "step", "value")

    def __init__(self, owner: Any, step: Step, name: Any, value: Any):
        self.owner = owner
        self.step = step
        self.name = name
        self.value = value

    def __str__(self) -> str:
        thing = self.owner.function if isinstance(self.owner, FunctionSource) else self.owner
        whose = getattr(thing, "__qualname__", None) or f"a {type(thing).__name__}"
        return f"{_WORDS[self.step].format(repr(self.name))} {whose}"

    def present(self) -> Any:
        """What is there now."""
        return looked_up(self.owner, self.step, self.name)

    def holds(self) -> bool:
        """Whether that is what was found."""
        present = self.present()
        return present is self.value or is_same(present, self.value)


MAX_PARTS = 4096
"""Maximum number of parts of an object that is read as a whole."""

MAX_BYTES = 1 << 20
"""Maximum size of an array whose elements are compiled in, in bytes."""


class Captured:
    """The reads of one program; `unkeyed` says what it depends on that another process cannot find again, if anything.

    `take`, while the program is lowered, makes an argument of an array that was found (`outside_arrays.py`), and gives
    what stands for it; None where it is compiled in.
    """

    def __init__(self) -> None:
        self._reads: dict[Any, Read] = {}
        self._wholes: dict[int, Any] = {}
        self.unkeyed: str | None = None
        self.take: Callable[[Any, Step, Any, Any], Any] | None = None

    def __iter__(self) -> Iterator[Read]:
        return iter(self._reads.values())

    def __len__(self) -> int:
        return len(self._reads)

    def hold(self) -> bool:
        """Whether every read finds what it found."""
        return all(map(Read.holds, self._reads.values()))

    def memory(self) -> list[np.ndarray]:
        """The arrays and buffers whose elements were read."""
        owners = [read.owner for read in self if read.step in (Step.CONTENT, Step.ITEM)]
        buffers = [np.frombuffer(one, np.uint8) for one in owners if isinstance(one, _BUFFERS) and len(one)]
        return [one for one in owners if isinstance(one, np.ndarray)] + buffers

    def read(self, owner: Any, step: Step, name: Any = None) -> Any:
        """Look, and note what is found: that."""
        return self.note(owner, step, name, looked_up(owner, step, name))

    def note(self, owner: Any, step: Step, name: Any, value: Any) -> Any:
        """Note what was found: that."""
        key = (step, id(reader_of(owner)), type(name), name)
        self._reads.setdefault(key, Read(owner, step, name, value))
        return value

    def name_of(self, thing: Any) -> str:
        """By what name an object was found; "" where by none."""
        names = (read.name for read in self if read.value is thing and read.step in _NAMING)
        codes = (r.owner.__name__ for r in self if r.step == Step.CODE and any(p is thing for p in r.value))
        return next((str(name) for name in names), next(codes, ""))

    def whole(self, thing: Any) -> None:
        """Note all that an object consists of: its items, theirs, and so on. Raises UnsupportedError for a large one."""
        rest = [thing]
        while rest:
            one = rest.pop()
            if id(one) in self._wholes or not can_change(one):
                continue
            self._wholes[id(one)] = one
            rest.extend(self._parts(one))
            if len(self._reads) + len(rest) > MAX_PARTS:
                raise _too_large(thing)

    def _parts(self, thing: Any) -> list[Any]:
        if isinstance(thing, tuple | frozenset):
            return list(thing)
        if isinstance(thing, list | dict):
            return [self.read(thing, Step.ITEM, key) for key in self.places(thing)]
        fields = getattr(type(thing), "__dataclass_fields__", None)
        if fields is not None:
            return [self.read(thing, Step.ATTRIBUTE, name) for name in fields]
        if isinstance(thing, np.ndarray) and thing.nbytes > MAX_BYTES:
            raise _too_large(thing)
        found = self.read(thing, Step.CONTENT)
        return list(found) if isinstance(thing, set) or type(thing) not in _BUFFERS else []

    def places(self, thing: list[Any] | dict[Any, Any]) -> Sequence[Any]:
        """The positions of a list or the keys of a dict, noted. Raises UnsupportedError for very many."""
        is_list = isinstance(thing, list)
        found = self.read(thing, Step.LENGTH if is_list else Step.KEYS)
        places = range(found) if is_list else found
        if len(places) > MAX_PARTS:
            raise _too_large(thing)
        return places

    def function(self, function: FunctionType) -> None:
        """Note the code of a function, and its defaults."""
        self.read(function, Step.CODE)
        if function.__kwdefaults__:
            self.shallow(function.__kwdefaults__)

    def shallow(self, thing: Any) -> Any:
        """Note the items of a container, not what is in them."""
        if type(thing) in (list, dict):
            self._parts(thing)
        elif can_change(thing) and type(thing) is not tuple:
            self.whole(thing)
        return thing


def reader_of(owner: Any) -> Any:
    """The function or object that was looked into."""
    return owner.function if isinstance(owner, FunctionSource) else owner


def _too_large(thing: Any) -> UnsupportedError:
    kind = type(thing).__name__
    size = f"{thing.nbytes} bytes" if isinstance(thing, np.ndarray) else f"{len(thing)} items"
    return UnsupportedError(
        f"a {kind} of {size} from outside the function is read as a whole: what is in it would have to be "
        "compared in every call",
        hint="pass it as an argument",
    )


def looked_up(owner: Any, step: Step, name: Any) -> Any:
    """What is there now; Absent."""
    try:
        return _LOOK[step](owner, name)
    except Exception:  # what Python code of the program raises, too: it is no longer what was found
        return Absent


def _content(thing: Any, _: Any) -> Any:
    if isinstance(thing, np.ndarray):
        return (type(thing), thing.dtype, thing.shape, thing.strides, thing.flags.writeable, thing.tobytes())
    return bytes(thing) if isinstance(thing, _BUFFERS) else tuple(thing)


def _code(function: Any, _: Any) -> Any:
    return function.__code__, function.__defaults__, function.__kwdefaults__


_LOOK: dict[Step, Any] = {
    Step.NAME: lambda source, name: source.lookup(name),
    Step.ATTRIBUTE: getattr,
    Step.ITEM: lambda owner, key: owner[key],
    Step.LENGTH: lambda owner, _: len(owner),
    Step.KEYS: lambda owner, _: tuple(owner),
    Step.CONTENT: _content,
    Step.CODE: _code,
}

_NAMING = (Step.NAME, Step.ATTRIBUTE, Step.ITEM)
_WORDS = {
    Step.NAME: "the name {} that is read in",
    Step.ATTRIBUTE: "the attribute {} of",
    Step.ITEM: "the item {} of",
    Step.LENGTH: "the length of",
    Step.KEYS: "the keys of",
    Step.CONTENT: "the content of",
    Step.CODE: "the code or a default of",
}
_BUFFERS = (bytearray, memoryview)
_BY_TEXT = (float, complex)
"""Equal numbers may differ: 0.0 and -0.0."""
_EQUAL = (bool, int, str, bytes, range, np.dtype)


def is_same(present: Any, value: Any) -> bool:
    """Whether what was found is the object that was compiled in, or one that cannot be told from it."""
    if present is value:
        return True
    kind = type(present)
    if kind is not type(value):
        return False
    if isinstance(value, np.generic):
        return present.dtype == value.dtype and present.tobytes() == value.tobytes()
    if kind in _BY_TEXT:
        return repr(present) == repr(value)
    if kind is tuple:
        return len(present) == len(value) and all(map(is_same, present, value))
    if kind is MethodType:
        return present.__func__ is value.__func__ and present.__self__ is value.__self__
    if kind is BuiltinMethodType:
        return present.__self__ is value.__self__ and present.__name__ == value.__name__
    if kind is slice:
        return all(map(is_same, _ends(present), _ends(value)))
    return isinstance(value, _EQUAL) and present == value


def _ends(part: slice) -> tuple[Any, Any, Any]:
    return part.start, part.stop, part.step


# ---- what can change --------------------------------------------------------------------------------

_FIXED = frozenset((
    bool, int, float, complex, str, bytes, type(None), type(...), range, slice, FunctionType, ModuleType, type, np.ufunc,
))  # fmt: skip
_OPEN = frozenset((list, dict, set, np.ndarray, *_BUFFERS))


def can_change(value: Any) -> bool:
    """Whether it is a container, a dataclass or a buffer whose contents can change, or has such in it.

    Other objects are read attribute by attribute only.
    """
    kind = type(value)
    if kind in _FIXED or isinstance(value, type):
        return False
    if kind in _OPEN:
        return True
    if isinstance(value, tuple | frozenset):
        return any(map(can_change, value))
    is_open = isinstance(value, list | dict | set | np.ndarray | bytearray) or kind.__name__ in _OTHERS
    return is_open or hasattr(kind, "__dataclass_fields__")


_OTHERS = frozenset(("deque", "array", "mappingproxy", "dict_keys", "dict_values", "dict_items"))
