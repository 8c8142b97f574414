"""The threads of compiled programs, as machine code: `thread_pool.ll`, compiled once a machine and kept on the disk.

What the file leaves open is filled in here: the times that its rules name, and what differs between systems. Loading it from
the disk needs no LLVM. Where the system has no POSIX threads, a region runs on the thread that begins it.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import sys
from collections.abc import Callable

from .. import disk_cache
from . import object_loader
from .process_symbols import of_process

REGION, FORGET, EXPECT = "nestor_parallel", "nestor_forget_threads", "nestor_expect_call"

COUNT = "nestor_thread_count"
"""The number of threads that there may be, an i32 that machine code reads."""

CALLS = "nestor_calls"
"""The number of calls that run without Python's lock, an i64 that they change themselves."""

count = ctypes.c_int32(0)
"""0: not asked for yet."""

_calls = ctypes.c_int64(0)

TIMES = {
    "quiet": 2_000_000,
    "crowded": 5_000,
    "jump": 300_000,
    "crowded_least": 4_000_000,
    "soon": 10_000_000,
    "crowded_most": 500_000_000,
    "wake_debt": 50_000,
    "crowded_debt": 3_000_000,
    "late": 200_000,
    "join_least": 20_000,
}
"""Nanoseconds: how long a thread looks for work, alone and beside other processes; the jump of the clock that tells of them,
and how long that is believed; how long regions run between two that wake a thread; how late one may be; and for how long
at least who waits at the end of a region looks."""

RUN_ALONE = f"""\
void @{REGION}(ptr %body, ptr %context, i64 %wanted) {{
  call void %body(ptr %context, i64 0, i64 1)
  ret void
}}"""
"""A region on the thread that begins it, as it is defined where there are no others."""

SERIAL_IR = f"""\
define {RUN_ALONE}
define void @{FORGET}() {{
  ret void
}}
define void @{EXPECT}(i64 %by) {{
  ret void
}}
"""

_NO_PLACES = """\
define internal i32 @processor() alwaysinline {
  ret i32 -1
}
define internal void @leave(i32 %processor) {
  ret void
}
"""

_FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)

_YIELD = ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)")
_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": _YIELD,
    "arm64": _YIELD,
}
"""How a processor is told that it is looking again and again: the declaration and the call of an intrinsic of LLVM."""


@functools.cache
def functions() -> dict[str, int]:
    """The addresses of `nestor_parallel`, `nestor_forget_threads` and `nestor_expect_call` in this process."""
    text = _text()
    key = (
        "threads-"
        + disk_cache.blake2b((disk_cache.environment() + text).encode(), digest_size=16).hexdigest()
    )
    for stored in disk_cache.read(key):
        try:
            return _loaded(stored.code)
        except object_loader.LoadError:
            continue
    code = _compiled(text)
    disk_cache.write(key, disk_cache.Variant(b"", b"", code))
    return _loaded(code)


def numbers() -> dict[str, int]:
    """Where the numbers are that machine code reads, by name."""
    return {COUNT: ctypes.addressof(count), CALLS: ctypes.addressof(_calls)}


def forget_calls() -> None:
    """In a child of fork: the calls of other threads are its parent's."""
    _calls.value = 0


def _symbol(name: str) -> int:
    return numbers().get(name) or of_process(name)


def _loaded(code: bytes) -> dict[str, int]:
    address: Callable[[str], int]
    if object_loader.can_load():
        owner = object_loader.load(code, _symbol)
        address = owner.address
    else:
        from .llvm_machine import load_with_llvm

        owner = load_with_llvm(code, numbers())
        address = owner.get_function_address
    ctypes.pythonapi.Py_IncRef(
        ctypes.py_object(owner)
    )  # threads run it until the process ends, after Python has
    return {name: address(name) for name in (REGION, FORGET, EXPECT)}


def _compiled(text: str) -> bytes:
    from .llvm_machine import binding, lock, module_of, run_passes, target_machine

    with lock:
        machine = target_machine(2)
        module = module_of(text, machine)
        options = binding().create_pipeline_tuning_options(speed_level=2)
        builder = binding().create_pass_builder(machine, options)
        run_passes(builder.getModulePassManager(), [module], builder)
        return machine.emit_object(module)


def _text() -> str:
    """The file for this system."""
    if not _has("pthread_create", "clock_gettime"):
        return SERIAL_IR
    text = _file("thread_pool.ll").replace("{calls}", CALLS).replace("{count}", COUNT)
    for name, nanoseconds in TIMES.items():
        text = text.replace(f"{{{name}}}", str(nanoseconds))
    faults = "\n  ".join([f"call i32 @sigdelset(ptr %signals, i32 {int(one)})" for one in _FAULTS])
    is_placed = _has("sched_getcpu", "sched_getaffinity", "sched_setaffinity")
    places = _file("thread_places.ll") if is_placed else _NO_PLACES
    declaration, pause = _PAUSES.get(os.uname().machine, ("", ""))
    clock, own_clock = (6, 16) if sys.platform == "darwin" else (1, 3)
    return f"""{text}
{declaration}
define internal void @pause() alwaysinline {{
  {pause}
  ret void
}}
{places}
define internal i32 @clock() alwaysinline {{
  ret i32 {clock}
}}
define internal i32 @own_clock() alwaysinline {{
  ret i32 {own_clock}
}}
declare i32 @sigdelset(ptr, i32)
define internal void @without_faults(ptr %signals) {{
  {faults}
  ret void
}}
define internal i32 @set_mask() alwaysinline {{
  ret i32 {int(signal.SIG_SETMASK)}
}}
"""


def _file(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), name)) as file:
        return file.read()


def _has(*names: str) -> bool:
    """Whether this process has functions of these names."""
    try:
        return all(map(of_process, names))
    except LookupError:
        return False
