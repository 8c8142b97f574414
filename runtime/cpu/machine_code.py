"""Object code as machine code of this process: loaded here where that is known (`object_loader.py`), else by LLVM.

    module = MachineCode(object_code)
    status = module.entry("f")(arguments, error)     # the packed ABI of docs/levels/llvm.md

Nothing here imports LLVM, unless it is needed: object code from the cache runs without.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from typing import Any

from . import interruptions, object_loader, threads
from .process_symbols import of_process
from .processor import may_use_tiles

EntryPoint = Callable[[Any, Any], int]
_ENTRY_TYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


class MachineCode:
    """Machine code in this process. Its entry points are valid while the module is referenced."""

    def __init__(self, object_code: bytes, symbols: Mapping[str, int] | None = None):
        may_use_tiles()  # which this process asks for once, should the code use them
        self.object_code = object_code
        self._entries: dict[str, EntryPoint] = {}
        if object_loader.can_load():
            loaded = object_loader.load(object_code, _Symbols(symbols or {}))
            self._address, self._owner = loaded.address, loaded
        else:
            from .llvm_machine import load_with_llvm

            self._owner = load_with_llvm(object_code, {**known_symbols(), **(symbols or {})})
            self._address = self._owner.get_function_address

    def address(self, name: str) -> int:
        """The address of a function. Raises KeyError when there is none of that name."""
        address = self._address(name)
        if not address:
            raise KeyError(name)
        return address

    def entry(self, name: str) -> EntryPoint:
        """The packed entry point `name` as a ctypes callable: `entry(arguments, error) -> status`."""
        function = self._entries.get(name)
        if function is None:
            function = self._entries[name] = _ENTRY_TYPE(self.address(name))
            function.owner = self  # type: ignore[attr-defined]  # keeps the code alive while it is held
        return function


def load_object(object_code: bytes) -> MachineCode:
    """Object code from `cpu.compile_object` -> loaded machine code."""
    return MachineCode(object_code)


# ---- symbols ----------------------------------------------------------------------------------------


def known_symbols() -> dict[str, int]:
    """What the runtime has for compiled code, by name."""
    return {**threads.addresses(), **_without_threads()}


def _without_threads() -> dict[str, int]:
    found = interruptions.addresses()
    runtime = __name__.rpartition(".")[0].rpartition(".")[0]
    for name in ("printing", "custom_calls"):
        module = sys.modules.get(f"{runtime}.{name}")
        if module is not None:  # else no kernel has been compiled that calls it
            found |= module.addresses()
    return found


class _Symbols:
    """What an object may refer to: the runtime, then what this process has. Threads are there once code asks for them."""

    def __init__(self, own: Mapping[str, int]):
        self._own = own
        self._known: dict[str, int] | None = None

    def __call__(self, name: str) -> int:
        address = self._own.get(name)
        if address is None and name in threads.NAMES:
            return threads.addresses()[name]
        if address is None and self._known is None:
            self._known = _without_threads()
        return address or self._known.get(name) or of_process(name)  # pyright: ignore
