"""The thread library of CPU kernels: libgomp where the process can have it, serial stand-ins otherwise.

Kernels call four functions by name (`GOMP_parallel`, `omp_in_parallel`, ...), and read how many threads they may use from
`nestor_thread_count`, one number for the whole process. Its first value is what OMP_NUM_THREADS asks for, else the
number of processors that this process may run on. With libgomp, `fork()` after a parallel region leaves the child with
a pool whose threads do not exist, and its next region would wait for them for ever: the child runs serially. Without
libgomp the stand-ins run every region on the calling thread; results are the same.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import warnings
from collections.abc import Iterator
from typing import Any

NAMES = ("GOMP_parallel", "omp_in_parallel", "omp_get_thread_num", "omp_get_num_threads")

COUNT = "nestor_thread_count"
"""The number of threads, an i32 that machine code reads."""

_ASK = r"^declare i32 @omp_get_max_threads\(\).*$"
"""How LLVM IR of a kernel asks for it."""

_ANSWER = f"""\
@{COUNT} = external global i32
define internal i32 @omp_get_max_threads() {{
  %count = load atomic i32, ptr @{COUNT} monotonic, align 4
  ret i32 %count
}}"""
"""What takes the place of that: libgomp's answer would be the one for this Python thread only."""


def answered(text: str) -> str:
    """LLVM IR text in which the process, not libgomp, says how many threads there may be."""
    return re.sub(_ASK, _ANSWER, text, flags=re.MULTILINE)


SERIAL_IR = """
define void @GOMP_parallel(ptr %body, ptr %context, i32 %threads, i32 %flags) {
  call void %body(ptr %context)
  ret void
}
define i32 @omp_in_parallel() { ret i32 0 }
define i32 @omp_get_thread_num() { ret i32 0 }
define i32 @omp_get_num_threads() { ret i32 1 }
"""

_count = ctypes.c_int32(0)
"""0: not asked for yet."""
_is_child = False


@functools.cache
def _gomp() -> ctypes.CDLL | None:
    """libgomp, or None where it is missing or `NESTOR_SERIAL` asks for none."""
    if os.environ.get("NESTOR_SERIAL"):
        return None
    for name in _candidates():
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _candidates() -> Iterator[str]:
    """Names to try, the dear search (it runs programs) only after the usual ones."""
    yield from ("libgomp.so.1", "libgomp.1.dylib")
    import ctypes.util

    found = ctypes.util.find_library("gomp")
    if found:
        yield found


@functools.cache
def install_thread_library() -> bool:
    """Have what `addresses` names; True when it is libgomp's. Runs once."""
    library = _gomp()
    if not _count.value:
        _count.value = 1 if library is None else _usual_count(library)
    if library is None:
        return False
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_serial_in_child)
    return True


def _usual_count(library: ctypes.CDLL) -> int:
    """As many threads as OMP_NUM_THREADS says, else as there are processors for this process."""
    count = library.omp_get_max_threads()
    if not os.environ.get("OMP_NUM_THREADS") and hasattr(os, "sched_getaffinity"):
        # libgomp looked when it was loaded, which another library may have done long ago.
        count = min(count, len(os.sched_getaffinity(0)))
    return max(1, count)


@functools.cache
def addresses() -> dict[str, int]:
    """Where machine code finds the thread library, by name."""
    install_thread_library()
    library = _gomp()
    found = {COUNT: ctypes.addressof(_count)}
    if library is None:
        engine = _serial_engine()
        return found | {name: engine.get_function_address(name) for name in NAMES}
    return found | {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in NAMES}


@functools.cache
def _serial_engine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(SERIAL_IR), machine)
    engine.finalize_object()
    return engine


def _serial_in_child() -> None:
    global _is_child
    _is_child = True
    _count.value = 1


def set_num_threads(count: int) -> None:
    """Let compiled functions use at most `count` threads from now on, whichever Python thread calls them.

    More than there are processors may be asked for. Without libgomp, and in a child that `fork` made, kernels stay
    serial. Raises ValueError below 1, TypeError for what is no integer.
    """
    wanted = count.__index__() if hasattr(count, "__index__") else None
    if wanted is None:
        raise TypeError(f"number of threads must be an integer, not {type(count).__name__}")
    if not 1 <= wanted < 1 << 31:
        raise ValueError(f"number of threads must be at least 1, not {count}")
    if not install_thread_library():
        return
    if _is_child and wanted > 1:
        warnings.warn(
            "a process that fork made runs compiled functions on one thread: the threads of its parent do not exist "
            "in it; start processes with 'spawn' or 'forkserver' instead",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    _count.value = wanted


def get_num_threads() -> int:
    """How many threads a large enough parallel loop would use."""
    install_thread_library()
    return _count.value


def threads_for_schedules() -> int | None:
    """The number of threads that automatic schedules are made for; None where they serve any number.

    Two are a number of their own, for which long scans are scheduled (transforms/schedulers/cpu/scans.py).
    """
    return 2 if get_num_threads() == 2 else None
