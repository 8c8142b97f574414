"""Relocatable objects (ELF, x86-64) loaded into this process, without LLVM.

    code = load(object_code, address_of)         # `address_of(name)`: where a symbol is that the object does not define
    code.address("f")

What a linker does for one object that stands alone: its sections are laid out in one piece of memory, a table of addresses
(GOT) and jumps to far functions are added, relocations are applied, and only then may the code run (no page can
be written and run at the same time). A cached kernel so needs neither LLVM nor a linker. `can_load` says whether this
machine is one of those it is for; an object with anything that is not expected is refused (`LoadError`).
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import sys
from collections.abc import Callable
from typing import Any


class LoadError(Exception):
    """An object that cannot be loaded: what is wrong with it, or which symbol is missing."""


@functools.cache
def can_load() -> bool:
    """Whether objects for this machine can be loaded."""
    return sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize == (1 << 63) - 1


# ---- the file ---------------------------------------------------------------------------------------

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_RELOCATABLE, _X86_64 = 1, 62
_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8
_X86_UNWIND = 0x70000001
_WRITE, _ALLOC, _EXECUTE, _TLS = 0x1, 0x2, 0x4, 0x400
_UNDEFINED, _ABSOLUTE, _FIRST_RESERVED = 0, 0xFFF1, 0xFF00
_WEAK = 2


class _Section:
    def __init__(self, words: tuple[int, ...]):
        self.name, self.type, self.flags, self.address, self.offset, self.size = words[:6]
        self.link, self.info, self.align, self.entry_size = words[6:]


class _Symbol:
    def __init__(self, name: str, binding: int, section: int, value: int):
        self.name = name
        self.binding = binding
        self.section = section
        self.value = value


class _File:
    """The parts of an object file."""

    def __init__(self, data: bytes):
        self.data = data
        if len(data) < _HEADER.size:
            raise LoadError("the object file is truncated")
        identity, kind, machine, *_, section_size, count, names = _HEADER.unpack_from(data)
        offset = struct.unpack_from("<Q", data, 40)[0]
        if identity[:6] != b"\x7fELF\x02\x01" or (kind, machine) != (_RELOCATABLE, _X86_64):
            raise LoadError("this is not a relocatable ELF object for x86-64")
        if section_size != _SECTION.size or offset + count * section_size > len(data):
            raise LoadError("the object file is truncated")
        self.sections = [
            _Section(_SECTION.unpack_from(data, offset + k * section_size)) for k in range(count)
        ]
        for section in self.sections:
            if section.type != _NOBITS and section.offset + section.size > len(data):
                raise LoadError("the object file is truncated")
        self._names = self.sections[names]
        self.symbols = [symbol for s in self.sections if s.type == _SYMTAB for symbol in self._symbols(s)]

    def text(self, table: _Section, at: int) -> str:
        start = table.offset + at
        return self.data[start : self.data.index(b"\0", start)].decode()

    def name(self, section: _Section) -> str:
        return self.text(self._names, section.name)

    def _symbols(self, table: _Section) -> list[_Symbol]:
        strings, found = self.sections[table.link], []
        for at in range(table.offset, table.offset + table.size, _SYMBOL.size):
            name, info, _, section, value, _ = _SYMBOL.unpack_from(self.data, at)
            found.append(_Symbol(self.text(strings, name), info >> 4, section, value))
        return found


# ---- memory -----------------------------------------------------------------------------------------

_PAGE = 4096
_READ, _READ_WRITE, _READ_RUN = 1, 1 | 2, 1 | 4
_PRIVATE_ANONYMOUS = 0x2 | 0x20
_MOST = 1 << 30
"""Maximum size of an object in bytes: relative addresses reach 2 GiB."""

_JUMP = struct.Struct("<HiH")
_JUMP_CODE, _TWO_NOPS = 0x25FF, 0x9090
"""`jmp *[rip + displacement]`, and two bytes to fill eight."""


_FAILED = (1 << 64) - 1


@functools.cache
def _memory_functions() -> tuple[Any, Any, Any]:
    """`mmap`, `mprotect` and `munmap` of the C library; Python's `mmap`, which has not all of them, need not be imported."""
    library = ctypes.CDLL(None, use_errno=True)
    word, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    reserve, protect, release = library.mmap, library.mprotect, library.munmap
    reserve.argtypes, reserve.restype = (word, size, number, number, number, ctypes.c_long), word
    protect.argtypes, release.argtypes = (word, size, number), (word, size)
    return reserve, protect, release


def _aligned(value: int, alignment: int) -> int:
    return (value + alignment - 1) // alignment * alignment


class LoadedObject:
    """Machine code in this process, and where its functions are. It goes when nothing refers to it."""

    _size = 0

    def __init__(self, data: bytes, address_of: Callable[[str], int]):
        file = _File(data)
        self._address_of = address_of
        self._place(file)
        self._relocate(file)
        self._protect()
        self._functions = {
            symbol.name: self._base + self._offsets[symbol.section] + symbol.value
            for symbol in file.symbols
            if symbol.binding and symbol.section in self._offsets
        }

    def address(self, name: str) -> int:
        """The address of a symbol that others may use. Raises KeyError when there is none of that name."""
        return self._functions[name]

    def _place(self, file: _File) -> None:
        """Code first, then constants and the table of addresses, then what may be written; each on pages of its own."""
        groups: list[list[int]] = [[], [], []]
        for k, section in enumerate(file.sections):
            if not section.flags & _ALLOC or file.name(section).startswith((".eh_frame", ".note")):
                continue
            if section.flags & _TLS or section.type not in (_PROGBITS, _NOBITS, _X86_UNWIND):
                raise LoadError(f"the section '{file.name(section)}' is of a kind that is not loaded")
            groups[0 if section.flags & _EXECUTE else 2 if section.flags & _WRITE else 1].append(k)
        undefined = [k for k, s in enumerate(file.symbols) if s.section == _UNDEFINED and s.name]
        self._offsets: dict[int, int] = {}
        end = 0
        for number, group in enumerate(groups):
            end = _aligned(end, _PAGE)
            if number == 1:
                self._table = end
                end += 8 * len(file.symbols)
            for k in group:
                section = file.sections[k]
                end = _aligned(end, max(1, section.align))
                self._offsets[k] = end
                end += section.size
            if number == 0:
                end = self._stubs = _aligned(end, 16)
                end += _JUMP.size * len(undefined)
                self._code_end = _aligned(end, _PAGE)
            elif number == 1:
                self._constants_end = _aligned(end, _PAGE)
        if end > _MOST:
            raise LoadError("the object file needs too much memory")
        self._stub_of = {k: self._stubs + _JUMP.size * n for n, k in enumerate(undefined)}
        size = max(_PAGE, _aligned(end, _PAGE))
        reserve, _, self._release = _memory_functions()
        address = reserve(None, size, _READ_WRITE, _PRIVATE_ANONYMOUS, -1, 0)
        if address in (None, _FAILED):
            raise LoadError(f"there is no memory for it (error {ctypes.get_errno()})")
        self._base, self._size = address, size
        self._memory = (ctypes.c_char * size).from_address(address)
        for k, offset in self._offsets.items():
            section = file.sections[k]
            if section.type != _NOBITS:
                code = file.data[section.offset : section.offset + section.size]
                ctypes.memmove(address + offset, code, section.size)

    def __del__(self) -> None:
        if self._size:
            self._release(self._base, self._size)

    def _protect(self) -> None:
        _, protect, _ = _memory_functions()
        for start, end, rights in (
            (0, self._code_end, _READ_RUN),
            (self._code_end, self._constants_end, _READ),
        ):
            if end > start and protect(self._base + start, end - start, rights):
                raise LoadError(f"memory cannot be made executable (error {ctypes.get_errno()})")

    # ---- relocations --------------------------------------------------------------------------------

    def _relocate(self, file: _File) -> None:
        addresses = [self._symbol_address(file, symbol) for symbol in file.symbols]
        for k, address in enumerate(addresses):
            struct.pack_into("<Q", self._memory, self._table + 8 * k, address & (1 << 64) - 1)
        for k, stub in self._stub_of.items():
            slot = self._table + 8 * k
            _JUMP.pack_into(self._memory, stub, _JUMP_CODE, slot - (stub + 6), _TWO_NOPS)
        for section in file.sections:
            if section.type != _RELA or section.info not in self._offsets:
                continue
            target = self._offsets[section.info]
            limit = file.sections[section.info].size
            for at in range(section.offset, section.offset + section.size, _RELOCATION.size):
                offset, info, addend = _RELOCATION.unpack_from(file.data, at)
                apply = _APPLY.get(info & 0xFFFFFFFF)
                if apply is None or offset + 4 > limit or info >> 32 >= len(addresses):
                    raise LoadError(f"a relocation of type {info & 0xFFFFFFFF} is not known")
                apply(self, target + offset, addresses, info >> 32, addend)

    def _symbol_address(self, file: _File, symbol: _Symbol) -> int:
        if symbol.section in self._offsets:
            return self._base + self._offsets[symbol.section] + symbol.value
        if symbol.section == _ABSOLUTE:
            return symbol.value
        if symbol.section == _UNDEFINED:
            if symbol.name == "_GLOBAL_OFFSET_TABLE_":
                return self._base + self._table
            if not symbol.name:
                return 0
            try:
                return self._address_of(symbol.name)
            except LookupError:
                if symbol.binding == _WEAK:
                    return 0
                raise LoadError(f"the symbol '{symbol.name}' is not known") from None
        if symbol.section >= _FIRST_RESERVED:
            raise LoadError(f"the symbol '{symbol.name}' is of a kind that is not loaded")
        return 0  # of a section that is not loaded

    def _put(self, at: int, value: int, form: str) -> None:
        try:
            struct.pack_into(form, self._memory, at, value)
        except struct.error:
            raise LoadError("an address is out of reach") from None

    def _absolute(self, at: int, addresses: list[int], symbol: int, addend: int) -> None:
        self._put(at, addresses[symbol] + addend & (1 << 64) - 1, "<Q")

    def _relative(self, at: int, addresses: list[int], symbol: int, addend: int, form: str = "<i") -> None:
        stub = self._stub_of.get(symbol)
        address = addresses[symbol] if stub is None else self._base + stub
        self._put(at, address + addend - (self._base + at), form)

    def _relative_far(self, *place: Any) -> None:
        self._relative(*place, form="<q")

    def _of_slot(self, at: int, addresses: list[int], symbol: int, addend: int) -> None:
        """Relative to here, the place in the table that has the address."""
        self._put(at, self._table + 8 * symbol + addend - at, "<i")

    def _slot(self, at: int, addresses: list[int], symbol: int, addend: int) -> None:
        self._put(at, 8 * symbol + addend, "<q")

    def _from_table(self, at: int, addresses: list[int], symbol: int, addend: int) -> None:
        self._put(at, addresses[symbol] + addend - (self._base + self._table), "<q")

    def _table_near(self, at: int, addresses: list[int], symbol: int, addend: int) -> None:
        self._put(at, self._table + addend - at, "<i")

    def _table_far(self, at: int, addresses: list[int], symbol: int, addend: int) -> None:
        self._put(at, self._table + addend - at, "<q")


_APPLY: dict[int, Callable[..., None]] = {
    1: LoadedObject._absolute,  # R_X86_64_64
    2: LoadedObject._relative,  # PC32
    4: LoadedObject._relative,  # PLT32
    9: LoadedObject._of_slot,  # GOTPCREL
    24: LoadedObject._relative_far,  # PC64
    25: LoadedObject._from_table,  # GOTOFF64
    26: LoadedObject._table_near,  # GOTPC32
    27: LoadedObject._slot,  # GOT64
    29: LoadedObject._table_far,  # GOTPC64
    41: LoadedObject._of_slot,  # GOTPCRELX
    42: LoadedObject._of_slot,  # REX_GOTPCRELX
}
"""By the number of a relocation of the psABI: what is written at a place."""


def load(data: bytes, address_of: Callable[[str], int]) -> LoadedObject:
    """Object code -> machine code in this process. Raises LoadError where it is not as expected."""
    try:
        return LoadedObject(data, address_of)
    except (struct.error, IndexError, ValueError, OverflowError, MemoryError, OSError) as error:
        raise LoadError(f"the object is damaged: {error}") from None


__all__ = ["LoadError", "LoadedObject", "can_load", "load"]
