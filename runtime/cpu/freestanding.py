"""LLVM IR of a compiled program for a library without Python: what the process had is the library's own.

declare i1 @nestor_poll(...)            a function that never stops the kernel: there are no handlers of Python
declare noalias ptr @aligned_alloc(..)  @f_memory, of the library's source, which asks the caller's allocator
declare ptr @realloc(..)                a function that gives back nothing: the caller's allocator cannot
@nestor_thread_count                    @f_threads, a number of the library
declare void @nestor_parallel(...)      libgomp's GOMP_parallel; without threads a function that calls the body
define i32 @f(...)                      @f_kernel, which other libraries do not see
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ...analysis.machine import Cpu
from ...lowering.abi.error_codes import POLL
from .engine import compile_object
from .native_code import NO_CODE, NativeCode
from .threads import COUNT, serial, with_openmp

_POLL = re.compile(rf"^declare (?:zeroext )?i1 @{POLL}\(.*\).*$", re.MULTILINE)
_QUIET = f"define internal i1 @{POLL}(ptr %record, i1 %first) {{\n  ret i1 false\n}}"
_SMALLER = re.compile(r"^declare [^@\n]*@realloc\(.*\).*$", re.MULTILINE)
_KEPT = "define internal ptr @realloc(ptr %memory, i64 %bytes) {\n  ret ptr %memory\n}"
_ENTRY = re.compile(r'^define (?!internal)(?!hidden)([^@\n]*)@([\w.$-]+|"[^"]*")\(', re.MULTILINE)
_DECLARED = re.compile(r"^declare [^@\n]*@([\w.$-]+)\(", re.MULTILINE)

ALLOWED = re.compile(r"llvm\.|aligned_alloc$|free$|mem(?:cpy|move|set)$|GOMP_parallel$|omp_|[a-z]+\d*f?$")
"""What a library may refer to: its source has it, the C library or libgomp."""


class NotAlone(Exception):
    """The program needs a function that a library does not have: its name."""


def freestanding(text: str, name: str, prefix: str, *, threads: bool, own: Collection[str] = ()) -> str:
    """The text with the entry `name` as `<prefix>_kernel`; `own` are functions that the library has. Raises NotAlone."""
    text = _POLL.sub(_QUIET, with_openmp(text, counted=True) if threads else serial(text))
    _check_declared(text, own)
    text = text.replace(f"@{COUNT} = external global i32", f"@{prefix}_threads = external hidden global i32")
    text = re.sub(rf"@{COUNT}\b", f"@{prefix}_threads", text)
    text = re.sub(r"@realloc\b", "@nestor_kept", _SMALLER.sub(_KEPT, text))
    text = re.sub(r"@aligned_alloc\b", f"@{prefix}_memory", text)
    text = re.sub(r"@free\b", f"@{prefix}_give_back", text)

    def entry(found: re.Match[str]) -> str:
        kind, symbol = found.groups()
        if symbol.strip('"') == name:
            return f"define hidden {kind}@{prefix}_kernel("
        return f"define internal {kind}@{symbol}("

    return _ENTRY.sub(entry, text)


def _check_declared(text: str, own: Collection[str] = ()) -> None:
    """Raise NotAlone where a function of this process is called."""
    for declared in _DECLARED.findall(text):
        if declared in own:
            continue
        if declared.startswith("nestor_") or not ALLOWED.match(declared):
            raise NotAlone(declared)


def compile_linkable(text: str, machine: Cpu | None = None) -> bytes:
    """Object code that a linker joins with others: all functions by their names, threads and their number of libgomp, memory
    of the C library. Raises NotAlone, and what LLVM raises."""
    text = _POLL.sub(_QUIET, with_openmp(text))
    _check_declared(text)
    return compile_object(text, machine=machine)


def compile_alone(
    text: str,
    name: str,
    prefix: str,
    *,
    threads: bool,
    machine: Cpu | None,
    native: NativeCode = NO_CODE,
) -> bytes:
    """Object code of a library, with code of the user's. Raises NotAlone, CodeError, and what LLVM raises."""
    text = freestanding(text, name, prefix, threads=threads, own=native.symbols)
    return compile_object(text, machine=machine, native=native)
