"""The thread library of CPU kernels: libgomp where the process can have it, serial stand-ins otherwise.

Kernels call five functions by name (`GOMP_parallel`, `omp_get_max_threads`, ...). With libgomp, `fork()`
after a parallel region leaves the child with a pool whose threads do not exist, and its next region would
wait for them for ever: the child runs serially from then on. Without libgomp the stand-ins run every
region on the calling thread; results are the same.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterator

import llvmlite.binding as llvm

NAMES = (
    "GOMP_parallel",
    "omp_get_max_threads",
    "omp_in_parallel",
    "omp_get_thread_num",
    "omp_get_num_threads",
)

_SERIAL_IR = """
define void @GOMP_parallel(ptr %body, ptr %context, i32 %threads, i32 %flags) {
  call void %body(ptr %context)
  ret void
}
define i32 @omp_get_max_threads() { ret i32 1 }
define i32 @omp_in_parallel() { ret i32 0 }
define i32 @omp_get_thread_num() { ret i32 0 }
define i32 @omp_get_num_threads() { ret i32 1 }
"""


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
    """Make the five functions known to the JIT linker; True when they are libgomp's. Runs once."""
    library = _gomp()
    if library is None:
        engine = _serial_engine()
        for name in NAMES:
            llvm.add_symbol(name, engine.get_function_address(name))
        return False
    for name in NAMES:
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        assert address is not None
        llvm.add_symbol(name, address)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_serial_in_child)
    return True


@functools.cache
def _serial_engine() -> llvm.ExecutionEngine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_SERIAL_IR), machine)
    engine.finalize_object()
    return engine


def _serial_in_child() -> None:
    set_num_threads(1)


def set_num_threads(count: int) -> None:
    """At most `count` threads from now on, for kernels called from this thread. Raises ValueError below 1."""
    if count < 1:
        raise ValueError(f"number of threads must be at least 1, not {count}")
    library = _gomp()
    if library is not None:
        library.omp_set_num_threads(ctypes.c_int(count))


def get_num_threads() -> int:
    """How many threads a large enough parallel loop would use."""
    library = _gomp()
    return library.omp_get_max_threads() if library is not None else 1
