"""The guards of an entry: what was read outside the function must be what was compiled in."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ....runtime.cpu.call_kinds import Guarded
from ....runtime.cpu.call_layout import GUARD_GROUP, Offsets
from ....runtime.cpu.fast_call import has_versions, word_at
from ...interface.captured import Absent, Read, Step
from ...interface.source import FunctionSource
from .leaves import Declined

_OFFSETS = Offsets()
_LAYOUT = ("dtype", "shape", "strides", "ndim", "size", "itemsize", "nbytes")
_BYTES_HEAD = bytes.__basicsize__ - 1
"""Where the bytes of an object of that class begin."""
_KEYS = (str, int, float, bool, bytes, type(None))
"""Types of keys that are found in a dict without a call of Python code."""

MAX_PAIRS = 4096


def guards(
    captured: Iterable[Read], keep: Callable[[Any], int], taken: Iterable[tuple[Read, int]] = ()
) -> list[list[int]]:
    """What was read outside: one group an object that was looked into. What the reads of `taken` find is put at their
    addresses, where that can be said, else it must be what they found.

    `keep` makes an object live as long as the entry, and gives its address. What is no longer what was compiled in
    (another thread has changed it since the call began) is declined, and so is what a native guard cannot say.
    """
    groups = _Groups(keep)
    for read in captured:
        if not read.holds():
            raise Declined
        groups.add(read)
    for read, address in taken:
        if not groups.take(read, address):
            groups.add(read)
    return groups.words()


class _Groups:
    def __init__(self, keep: Callable[[Any], int]):
        self._keep = keep
        self._found: dict[tuple[Guarded, int], tuple[Any, dict[Any, tuple[int, int]]]] = {}

    def words(self) -> list[list[int]]:
        """The words of the groups. Cells and functions first: they take the fewest steps."""
        groups = []
        if sum(len(pairs) for _, pairs in self._found.values()) > MAX_PAIRS:
            raise Declined
        for (kind, _), (owner, pairs) in sorted(self._found.items(), key=lambda one: _ORDER.index(one[0][0])):
            head = GUARD_GROUP.pack(kind=kind, object=self._keep(owner), count=len(pairs))
            groups.append([*head, *[word for pair in pairs.values() for word in pair]])
        return groups

    def add(self, read: Read) -> None:
        """Note what must be found where."""
        if read.step == Step.NAME:
            self._name(read.owner, read.name)
        elif read.step == Step.CODE:
            self._function(read.owner)
        elif type(read.owner) is np.ndarray and read.step == Step.CONTENT:
            self._elements(read.owner)
        elif type(read.owner) is np.ndarray and read.step == Step.ATTRIBUTE and read.name in _LAYOUT:
            self._layout(read.owner)
        elif read.step == Step.ATTRIBUTE:
            self._attribute(read.owner, read.name)
        elif type(read.owner) is list and read.step in (Step.ITEM, Step.LENGTH):
            self._list(read)
        elif type(read.owner) is dict and read.step == Step.ITEM and type(read.name) in _KEYS:
            self._dict(read.owner, read.name)
        elif type(read.owner) is dict and read.step in (Step.KEYS, Step.LENGTH):
            self._keys(read.owner)
        elif isinstance(read.owner, tuple) and read.step == Step.ITEM:
            return  # a tuple does not change
        else:
            raise Declined

    def take(self, read: Read, address: int) -> bool:
        """Have what is found by a look put at an address in each call; whether that can be said."""
        owner, name, function = read.owner, read.name, getattr(read.owner, "function", None)
        if read.step == Step.NAME:
            code = function.__code__
            if name in code.co_freevars and function.__closure__ is not None:
                cell = function.__closure__[code.co_freevars.index(name)]
                self._pair(Guarded.CELL_TAKEN, cell, address, 0, address)
                return True
            owner = function.__globals__
        elif type(owner) is ModuleType and read.step == Step.ATTRIBUTE:
            owner = vars(owner)
        elif read.step == Step.ITEM and type(owner) is list:
            self._pair(Guarded.LIST_TAKEN, owner, address, int(name), address)
            return True
        elif read.step != Step.ITEM:
            return False
        if type(owner) is not dict or type(name) not in _KEYS or name not in owner:
            return False
        key = self._keep(sys.intern(name) if type(name) is str else name)
        self._pair(Guarded.DICT_TAKEN, owner, address, key, address)
        return True

    def _pair(self, kind: Guarded, owner: Any, name: Any, key: int, value: int) -> None:
        self._found.setdefault((kind, id(owner)), (owner, {}))[1][name] = (key, value)

    def _name(self, source: FunctionSource, name: str) -> None:
        function: Any = source.function
        code = function.__code__
        if name not in code.co_freevars or function.__closure__ is None:
            if self._dict(function.__globals__, name) is Absent:
                self._dict(vars(builtins), name)
            return
        cell = function.__closure__[code.co_freevars.index(name)]
        self._pair(Guarded.CELL, cell, name, 0, self._keep(_contents(cell)))

    def _function(self, function: FunctionType) -> None:
        if type(function) is not FunctionType:
            raise Declined
        parts = (function.__code__, function.__defaults__, function.__kwdefaults__)
        words = [0 if part is None else self._keep(part) for part in parts]
        self._pair(Guarded.FUNCTION, function, 0, words[0], words[1])
        self._pair(Guarded.FUNCTION, function, 1, words[2], 0)

    def _attribute(self, owner: Any, name: str) -> None:
        if type(owner) is ModuleType and name in vars(owner):
            self._dict(vars(owner), name)
            return
        present = getattr(owner, name, Absent)
        if present is not getattr(owner, name, Absent):  # made anew whenever it is asked for
            raise Declined
        value = 0 if present is Absent else self._keep(present)
        self._pair(Guarded.ATTRIBUTES, owner, name, self._keep(sys.intern(name)), value)

    def _layout(self, array: np.ndarray) -> None:
        """The dtype, shape and strides of an array."""
        off = _OFFSETS
        for offset in (off.array_rank, off.array_extents, off.array_strides, off.array_descr):
            self._pair(Guarded.WORDS, array, offset, offset, word_at(array, offset))
        for offset, numbers in ((off.array_extents, array.shape), (off.array_strides, array.strides)):
            self._bytes(array, offset, np.array(numbers, np.int64).tobytes())

    def _elements(self, array: np.ndarray) -> None:
        off = _OFFSETS
        if not (array.flags.c_contiguous or array.flags.f_contiguous) or array.dtype.hasobject:
            raise Declined
        self._layout(array)
        for offset in (off.array_data, off.array_flags):
            self._pair(Guarded.WORDS, array, offset, offset, word_at(array, offset))
        self._bytes(array, off.array_data, array.tobytes("A"))

    def _bytes(self, array: np.ndarray, offset: int, copy: bytes) -> None:
        """That the memory that a word of an array points to has what is in the copy."""
        self._pair(Guarded.BYTES, array, (offset, "size"), len(copy), 0)
        self._pair(Guarded.BYTES, array, offset, word_at(array, offset), self._keep(copy) + _BYTES_HEAD)

    def _list(self, read: Read) -> None:
        owner = read.owner
        if read.step == Step.LENGTH:
            self._pair(Guarded.WORDS, owner, _OFFSETS.size, _OFFSETS.size, len(owner))
        else:
            present = read.present()
            if present is Absent:
                raise Declined
            self._pair(Guarded.LIST, owner, read.name, int(read.name), self._keep(present))

    def _dict(self, table: dict, name: Any) -> Any:
        """Note what a dict has by this name: that."""
        present = table.get(name, Absent)
        key = self._keep(sys.intern(name) if type(name) is str else name)
        self._pair(Guarded.DICT, table, name, key, 0 if present is Absent else self._keep(present))
        return present

    def _keys(self, table: dict) -> None:
        """That it has these keys in this order, its version says."""
        offset = _OFFSETS.dict_version
        if offset is None or not has_versions():
            raise Declined
        self._pair(Guarded.WORDS, table, offset, offset, word_at(table, offset))


_ORDER = (
    Guarded.CELL_TAKEN, Guarded.DICT_TAKEN, Guarded.LIST_TAKEN,
    Guarded.FUNCTION, Guarded.CELL, Guarded.WORDS, Guarded.DICT, Guarded.LIST, Guarded.BYTES, Guarded.ATTRIBUTES,
)  # fmt: skip


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty by now
        raise Declined from None
