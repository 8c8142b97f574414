"""Calls without Python: the type of compiled functions, and the native wrapper that their instances are called through.

    class Function(NativeCallable): ...      # calling an instance is calling what `vectorcall` points to (PEP 590)
    install(function, entry)                 # from now on, arguments that fit `entry` run without Python

An instance without entries is called as any Python object is, through `__call__`; one with entries falls back to it. The
wrapper (`cpu/call_wrapper.py`) reads CPython's and NumPy's objects in place. Where everything lies is tested on probes
once per process: on another interpreter, or where any test fails, `available()` is False and calls stay in Python.
`NESTOR_FAST_CALL=0` asks for that.
"""

from __future__ import annotations

import ctypes
import functools
import os
import pickle
import struct
import sys
import types
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import disk_cache
from ..fork_lock import ForkLock
from . import thread_pool
from .call_layout import CALLABLE, MAX_ENTRIES, WORD, Offsets
from .machine_code import MachineCode

# ---- the type ---------------------------------------------------------------------------------------

_HAVE_VECTORCALL = 1 << 11
_BASE_TYPE = 1 << 10
_MEMBERS_SLOT = 72
_SSIZE_MEMBER, _READ_ONLY = 19, 1


@functools.cache
def _possible() -> bool:
    """Whether this interpreter is one that the layouts were written for."""
    return (
        os.environ.get("NESTOR_FAST_CALL", "1") != "0"
        and sys.implementation.name == "cpython"
        and sys.maxsize == (1 << 63) - 1
        and sys.byteorder == "little"
        and not getattr(sys, "abiflags", "")  # debug builds and those without the GIL have larger objects
    )


_NAME = b"nestor.runtime.cpu.fast_call.NativeCallable\0__vectorcalloffset__\0"
_SPEC = struct.Struct("PiiIP")  # PyType_Spec: name, sizes of instance and item, flags, slots
_SLOT = struct.Struct("iP")  # PyType_Slot; one of zeros ends the list, as one of members does
_MEMBER = struct.Struct("PiniP")  # PyMemberDef: name, type, offset, flags, doc

_KEPT: list[Any] = []
"""Keeps alive what the type points to."""


def _native_type() -> type:
    """A type whose instances begin with the words of CALLABLE."""
    # Packed, since making classes of `ctypes.Structure` takes longer than all else here.
    sizes = (_SPEC.size, 2 * _SLOT.size, 2 * _MEMBER.size, len(_NAME))
    memory = ctypes.create_string_buffer(sum(sizes))
    spec = ctypes.addressof(memory)
    slots, members, names = spec + sizes[0], spec + sum(sizes[:2]), spec + sum(sizes[:3])
    offset = CALLABLE.offset("vectorcall")
    memory[:] = b"".join(
        (
            _SPEC.pack(names, CALLABLE.size * WORD, 0, _BASE_TYPE, slots),
            _SLOT.pack(_MEMBERS_SLOT, members),
            bytes(_SLOT.size),
            _MEMBER.pack(names + _NAME.index(b"__"), _SSIZE_MEMBER, offset, _READ_ONLY, 0),
            bytes(_MEMBER.size),
            _NAME,
        )
    )
    _KEPT.append(memory)
    create = ctypes.pythonapi["PyType_FromSpec"]
    create.argtypes, create.restype = (ctypes.c_void_p,), ctypes.py_object
    return create(spec)


if TYPE_CHECKING:

    class NativeCallable:
        """The base of callables that can be called natively."""

else:
    NativeCallable = _native_type() if _possible() else type("NativeCallable", (), {"__module__": __name__})


# ---- entries ----------------------------------------------------------------------------------------


class Entry:
    """The words of a specialisation, and the objects that they point to."""

    __slots__ = ("__weakref__", "_blocks", "address", "kept")

    def __init__(self) -> None:
        self._blocks: list[Any] = []
        self.kept: list[Any] = []
        self.address = 0

    def keep(self, thing: Any) -> int:
        """The address of an object, which lives as long as the entry."""
        self.kept.append(thing)
        return id(thing)

    def block(self, words: Sequence[int]) -> int:
        """The address of words, which live as long as the entry."""
        memory = (ctypes.c_int64 * max(1, len(words)))(*words)
        self._blocks.append(memory)
        return ctypes.addressof(memory)


def _words(function: Any) -> Any:
    """The words of an instance from `vectorcall` on."""
    first = CALLABLE.offset("vectorcall")
    return (ctypes.c_int64 * (CALLABLE.size - first // WORD)).from_address(id(function) + first)


_SLOW, _HITS, _FIRST = (CALLABLE.names.index(n) - 2 for n in ("slow", "hits", "entry0"))


def install(function: Any, slow: Callable[..., Any], entries: dict[int, Entry], entry: Entry) -> Any:
    """Try `entry` first when `function` is called; `slow(function, ...)` answers calls that no entry fits.

    `entries` has those that the function has by address, and keeps them alive: the one used least recently leaves it.
    The words of the function are returned: where the first one is zero, it is called as a Python object.
    """
    words = _words(function)
    present = [address for address in words[_FIRST:] if address]
    chain = [entry.address, *[a for a in present if a != entry.address]][:MAX_ENTRIES]
    entries[entry.address] = entry
    entry.keep(slow)
    # At once: no thread sees a chain that is half written.
    words[_FIRST:] = [*chain, *[0] * (MAX_ENTRIES - len(chain))]
    words[_SLOW] = id(slow)
    words[0] = wrapper_address()
    for address in [a for a in entries if a not in chain]:
        del entries[address]
    return words


def uninstall(function: Any) -> None:
    """Call `function` as a Python object from now on."""
    if available():
        words = _words(function)
        words[0] = 0
        words[_FIRST:] = [0] * MAX_ENTRIES


def hits(function: Any) -> int:
    """How many calls entries have answered."""
    return _words(function)[_HITS] if _possible() else 0


@functools.cache
def call_natively(kind: type) -> bool:
    """Let calls of the instances of a class go where their `vectorcall` points, where that is set; whether it worked.

    CPython does not let classes inherit that (3.11), or not when they have a `__call__` (3.12): the class gets the
    flag here.
    """
    flags = _flags_word(kind)
    if flags is None:
        return False
    flags.value |= _HAVE_VECTORCALL
    return bool(kind.__flags__ & _HAVE_VECTORCALL) and kind.__flags__ == flags.value


_FLAGS_OFFSET = 168
"""The offset of `tp_flags` in a type."""


def _flags_word(kind: type) -> Any:
    word = ctypes.c_ulong.from_address(id(kind) + _FLAGS_OFFSET)
    return word if word.value == kind.__flags__ else None


# ---- the wrapper ------------------------------------------------------------------------------------


def available() -> bool:
    """Whether calls can be native in this process."""
    return wrapper_address() != 0


_LOCK = ForkLock()
"""Held while the wrapper is compiled: machine code that a second thread compiled would be freed while calls use it."""


@functools.cache
def _compiled_wrapper() -> Any:
    """The compiled wrapper; None where it cannot be had. For one thread at a time."""
    if not _possible():
        return None
    offsets = _tested_offsets()
    if offsets is None:
        return None
    code = _stored_wrapper()
    if code is None:
        from .call_wrapper import emit_call_wrapper
        from .engine import compile_object

        code = compile_object(emit_call_wrapper(offsets), opt_level=1)
        makers = disk_cache.makers() if disk_cache.is_on() else None
        if makers is not None:
            conditions = pickle.dumps((makers, repr(offsets)))
            disk_cache.write(_wrapper_key(), disk_cache.Variant(conditions, b"", code))
    return MachineCode(code, _symbols())


def _wrapper_key() -> str:
    return f"wrapper-{disk_cache.environment()}"


@functools.cache
def _stored_wrapper() -> bytes | None:
    """The object code of the wrapper, where another process has compiled it for the same layouts."""
    offsets = _tested_offsets() if disk_cache.is_on() else None
    for one in () if offsets is None else disk_cache.read(_wrapper_key()):
        makers, written_for = pickle.loads(one.conditions)
        if written_for == repr(offsets) and disk_cache.are_same(makers):
            return one.code
    return None


def is_at_hand() -> bool:
    """Whether `available()` has an answer at once: the wrapper is there, on the disk, or known not to be possible."""
    return _compiled_wrapper.cache_info().currsize > 0 or (_possible() and _stored_wrapper() is not None)


@functools.cache
def wrapper_address() -> int:
    """The address of the wrapper; 0 where calls stay in Python."""
    from .call_wrapper import NAME

    with _LOCK:
        module = _compiled_wrapper()
    return 0 if module is None else module.address(NAME)


def _symbols() -> dict[str, int]:
    """Addresses of what the wrapper refers to."""
    from .call_wrapper import FUNCTIONS, NUMPY_FUNCTIONS

    table = {name: _address(getattr(ctypes.pythonapi, name)) for name in FUNCTIONS}
    table.update({name: _numpy_table()[place] for name, (_, place) in NUMPY_FUNCTIONS.items()})
    table["memcmp"] = _address(ctypes.CDLL(None).memcmp)
    things = {
        "ndarray_type": np.ndarray,
        "float_type": float,
        "int_type": int,
        "bool_type": bool,
        "true_object": True,
    }
    table.update({f"nestor_{name}": id(thing) for name, thing in things.items()})
    table.update(thread_pool.numbers())
    return table


def _address(function: Any) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


_ARRAY_TYPE_PLACE = 2


@functools.cache
def _numpy_table() -> Any:
    """NumPy's table of C functions."""
    from numpy._core import multiarray

    capsule = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    address = capsule(multiarray._ARRAY_API, None)  # pyright: ignore[reportAttributeAccessIssue]
    return (ctypes.c_void_p * 256).from_address(address)


# ---- the self-test ----------------------------------------------------------------------------------


@functools.cache
def _tested_offsets() -> Offsets | None:
    """Where things are, after a look at objects that are known; None where something is not as expected."""
    offsets = Offsets(dict_version=_tested_dict_version())
    try:
        tested = all(test(offsets) for test in (_arrays_fit, _numbers_fit, _containers_fit, _numpy_fits))
    except (AttributeError, ImportError, ValueError, TypeError):
        return None
    return offsets if tested else None


def word_at(thing: Any, offset: int, kind: Any = ctypes.c_int64) -> int:
    """A word of an object."""
    return kind.from_address(id(thing) + offset).value


@functools.cache
def data_offset() -> int | None:
    """Where an array has its data pointer, tested; None on other interpreters."""
    off = Offsets()
    return off.array_data if _possible() and all(_data_fits(off, a) for a in _probes()) else None


def _probes() -> list[np.ndarray]:
    base = np.zeros((5, 7, 3), np.float32)
    locked = np.arange(6.0)
    locked.flags.writeable = False
    swapped = np.zeros(3, ">f8")
    probes = [base, base[::2, 1:, ::-1], base.T, locked, swapped, np.array(3, np.int8), np.zeros((2, 0))]
    probes.append(np.frombuffer(bytearray(17), np.int64, 2, 1))
    return probes


def _arrays_fit(off: Offsets) -> bool:
    return all(_array_fits(off, a) for a in _probes()) and _descrs_fit(off)


def _data_fits(off: Offsets, a: np.ndarray) -> bool:
    return (
        word_at(a, off.type) == id(np.ndarray)
        and word_at(a, off.array_data) == a.__array_interface__["data"][0]
    )


def _array_fits(off: Offsets, a: np.ndarray) -> bool:
    rank = a.ndim
    extents, strides = (
        (ctypes.c_int64 * rank).from_address(word_at(a, o)) if rank else ()
        for o in (off.array_extents, off.array_strides)
    )
    flags = word_at(a, off.array_flags, ctypes.c_int32)
    return (
        _data_fits(off, a)
        and word_at(a, off.array_rank, ctypes.c_int32) == rank
        and tuple(extents) == a.shape
        and tuple(strides) == a.strides
        and word_at(a, off.array_descr) == id(a.dtype)
        and word_at(a, off.array_base) == (0 if a.base is None else id(a.base))
        and _references_fit(off, a)
        and flags & 0x503 == a.flags.num & 0x503
        and bool(flags & 0x1) == a.flags.c_contiguous
        and bool(flags & 0x100) == a.flags.aligned
        and bool(flags & 0x400) == a.flags.writeable
    )


def _references_fit(off: Offsets, a: np.ndarray) -> bool:
    before = word_at(a, off.array_references)
    reference = weakref.ref(a)
    during = word_at(a, off.array_references)
    return (before, during) == (0, id(reference))


def _descrs_fit(off: Offsets) -> bool:
    """The word tells dtypes apart, and is the same for two objects of one dtype."""
    import pickle

    codes = "?bBhHiIlLefd"
    words = {word_at(np.dtype(code), off.descr_word) for code in codes}
    words |= {word_at(np.dtype(code).newbyteorder(), off.descr_word) for code in "hHiIlLefd"}
    copies = [pickle.loads(pickle.dumps(np.dtype(code))) for code in codes]
    return len(words) == len(codes) + 9 and all(
        word_at(copy, off.descr_word) == word_at(np.dtype(code), off.descr_word)
        for copy, code in zip(copies, codes, strict=True)
    )


def _numbers_fit(off: Offsets) -> bool:
    def same(thing: Any, format: str, offset: int) -> bool:
        return ctypes.string_at(id(thing) + offset, struct.calcsize(format)) == struct.pack(format, thing)

    scalars = [(np.float64, "d"), (np.float32, "f"), (np.float16, "e"), (np.bool_, "?")]
    scalars += [(np.int8, "b"), (np.int16, "h"), (np.int32, "i"), (np.int64, "q")]
    scalars += [(np.uint8, "B"), (np.uint16, "H"), (np.uint32, "I"), (np.uint64, "Q")]
    return (
        all(same(value, "d", off.float_value) for value in (1.25, -0.0, 3e300))
        and all(same(kind(value), code, off.scalar_value) for kind, code in scalars for value in (1, 77))
        and word_at(1.5, off.type) == id(float)
        and word_at(True, off.type) == id(bool)
        and word_at(1 << 70, off.type) == id(int)
    )


def _containers_fit(off: Offsets) -> bool:
    probe = (1.5, "x", None)
    items = [word_at(probe, off.tuple_items + k * WORD) for k in range(3)]
    cell = types.CellType(probe)
    row = [1.5, "x", None]
    row_items = (ctypes.c_int64 * 3).from_address(word_at(row, off.list_items))
    owner = Entry()
    alone = word_at(owner, off.count, ctypes.c_int32)
    others = [owner] * 5
    return (
        word_at(owner, off.count, ctypes.c_int32) == alone + len(others)
        and word_at(probe, off.size) == 3
        and items == [id(item) for item in probe]
        and word_at(cell, off.cell_value) == id(probe)
        and word_at(row, off.size) == 3
        and list(row_items) == [id(item) for item in row]
        and _functions_fit(off)
    )


def _functions_fit(off: Offsets) -> bool:
    def probe(x: int = 1, *, y: int = 2) -> int:
        return x + y

    def bare() -> None:
        return None

    return (
        word_at(probe, off.function_code) == id(probe.__code__)
        and word_at(probe, off.function_defaults) == id(probe.__defaults__)
        and word_at(probe, off.function_keywords) == id(probe.__kwdefaults__)
        and (word_at(bare, off.function_defaults), word_at(bare, off.function_keywords)) == (0, 0)
    )


def _numpy_fits(off: Offsets) -> bool:
    """The table of NumPy's functions is the one that is expected: they make what they should."""
    from .call_wrapper import NUMPY_FUNCTIONS

    table = _numpy_table()
    if table[_ARRAY_TYPE_PLACE] != id(np.ndarray):
        return False
    scalar = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        table[NUMPY_FUNCTIONS["PyArray_Scalar"][1]]
    )
    probe = ctypes.c_double(2.5)
    value = scalar(ctypes.addressof(probe), np.dtype(np.float64), None)
    return type(value) is np.float64 and value == 2.5


def _tested_dict_version() -> int | None:
    """The offset of a word that changes with every change of a dict, and only then; None where there is none."""
    offset = Offsets().dict_version
    assert offset is not None
    module = types.ModuleType("probe")
    table = vars(module)
    seen = {word_at(table, offset)}

    def changes() -> bool:
        version = word_at(table, offset)
        if version in seen:
            return False
        seen.add(version)
        return True

    def stays() -> bool:
        before = word_at(table, offset)
        return table.get("x") is not table and "z" not in table and word_at(table, offset) == before

    steps: list[Callable[[], Any]] = [
        lambda: table.__setitem__("x", 1),
        lambda: table.__setitem__("x", 2),
        lambda: setattr(module, "x", 3),
        lambda: table.update(y=1),
        lambda: exec("x = 4", table),
        lambda: exec("def f():\n global x\n x = 5\nfor _ in range(99): f()", table),
        lambda: delattr(module, "x"),
        lambda: table.pop("y"),
    ]
    for step in steps:
        step()
        if not (changes() and stays()):
            return None
    return offset


def has_versions() -> bool:
    """Whether dicts say when they change, where `Offsets` has it."""
    offsets = _tested_offsets()
    return offsets is not None and offsets.dict_version is not None
