"""The threads of CPU kernels: how many a parallel region may have, and what runs it.

Kernels call `nestor_parallel` (`thread_pool.ll`), and read how many threads they may use from `nestor_thread_count`, one
number for the whole process; `processor_count` says its first value. A library without Python has libgomp's threads, or
none.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...dialects.diagnostic import CallError
from ...dialects.tracebacks import boundary
from ..errors import SettingError
from . import thread_pool
from .processor_count import processor_count
from .thread_pool import COUNT

NAMES = (COUNT, thread_pool.REGION)
"""What machine code with parallel regions refers to."""

_MAX = "nestor_max_threads"
_ASK = re.compile(rf"^declare i32 @{_MAX}\(\).*$", re.MULTILINE)
"""How LLVM IR of a kernel asks for it."""

_ANSWER = f"""\
@{COUNT} = external global i32
define internal i32 @{_MAX}() {{
  %count = load atomic i32, ptr @{COUNT} monotonic, align 4
  ret i32 %count
}}"""

_RUN = re.compile(rf"^declare void @{thread_pool.REGION}\(.*\).*$", re.MULTILINE)

_RUN_BY_OPENMP = f"""\
declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @omp_in_parallel()
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
define internal void @nestor_member(ptr %region) {{
  %body = load ptr, ptr %region
  %at = getelementptr ptr, ptr %region, i64 1
  %context = load ptr, ptr %at
  %number = call i32 @omp_get_thread_num()
  %count = call i32 @omp_get_num_threads()
  %thread = sext i32 %number to i64
  %threads = sext i32 %count to i64
  call void %body(ptr %context, i64 %thread, i64 %threads)
  ret void
}}
define internal void @{thread_pool.REGION}(ptr %body, ptr %context, i64 %wanted) {{
  %region = alloca [2 x ptr]
  store ptr %body, ptr %region
  %at = getelementptr ptr, ptr %region, i64 1
  store ptr %context, ptr %at
  %inside = call i32 @omp_in_parallel()
  %alone = icmp ne i32 %inside, 0
  %count = trunc i64 %wanted to i32
  %threads = select i1 %alone, i32 1, i32 %count
  call void @GOMP_parallel(ptr @nestor_member, ptr %region, i32 %threads, i32 0)
  ret void
}}"""

_OPENMP_ANSWER = f"""\
declare i32 @omp_get_max_threads()
define internal i32 @{_MAX}() {{
  %count = call i32 @omp_get_max_threads()
  ret i32 %count
}}"""

_ONE_THREAD = f"define internal i32 @{_MAX}() {{\n  ret i32 1\n}}"


def answered(text: str) -> str:
    """LLVM IR text in which the process says how many threads there may be."""
    return _ASK.sub(_ANSWER, text)


def with_openmp(text: str, *, counted: bool = False) -> str:
    """LLVM IR text whose regions libgomp runs. Their number of threads is libgomp's too, unless it is `counted`: a number of
    the library's, as in `answered`."""
    return _RUN.sub(_RUN_BY_OPENMP, _ASK.sub(_ANSWER if counted else _OPENMP_ANSWER, text))


def serial(text: str) -> str:
    """LLVM IR text whose regions run on the thread that begins them."""
    return _RUN.sub(f"define internal {thread_pool.RUN_ALONE}", _ASK.sub(_ONE_THREAD, text))


def _is_serial() -> bool:
    return bool(os.environ.get("NESTOR_SERIAL"))


@functools.cache
def _start_count() -> None:
    """Give the number of threads its first value, unless there is one. Runs once."""
    if not thread_pool.count.value:
        thread_pool.count.value = 1 if _is_serial() else processor_count()


@functools.cache
def addresses() -> dict[str, int]:
    """Where machine code finds the threads, by name."""
    _start_count()
    found = thread_pool.functions()
    if hasattr(os, "register_at_fork"):
        forget = ctypes.CFUNCTYPE(None)(found[thread_pool.FORGET])
        os.register_at_fork(after_in_child=forget)
        os.register_at_fork(after_in_child=thread_pool.forget_calls)
    return {**thread_pool.numbers(), thread_pool.REGION: found[thread_pool.REGION]}


@functools.cache
def _expect() -> Callable[[int], None]:
    _start_count()
    return ctypes.CFUNCTYPE(None, ctypes.c_int64)(thread_pool.functions()[thread_pool.EXPECT])


def expect_call() -> None:
    """Another thread is about to call a compiled function: none that waits for work keeps its processor."""
    _expect()(1)


def call_begins() -> None:
    """The call that was expected counts itself from now on."""
    _expect()(-1)


@contextmanager
def counted_call() -> Iterator[None]:
    """A call from Python that other threads are to count: kernels do not count themselves."""
    _expect()(1)
    try:
        yield
    finally:
        _expect()(-1)


@boundary
def set_num_threads(count: int) -> None:
    """Let compiled functions use at most `count` threads from now on, whichever Python thread calls them.

    More than there are processors may be asked for. Where `NESTOR_SERIAL` is set, kernels stay serial. Raises ValueError
    below 1, TypeError for what is no integer.
    """
    wanted = count.__index__() if hasattr(count, "__index__") else None
    if wanted is None:
        raise CallError(
            f"number of threads must be an integer, not {type(count).__name__}", hint="nt.set_num_threads(4)"
        )
    if not 1 <= wanted < 1 << 31:
        raise SettingError(
            f"number of threads must be at least 1, not {count}",
            hint="1 keeps kernels serial; NESTOR_SERIAL=1 too",
        )
    thread_pool.count.value = 1 if _is_serial() else wanted


def get_num_threads() -> int:
    """How many threads a large enough parallel loop would use."""
    _start_count()
    return thread_pool.count.value


def threads_for_schedules() -> int | None:
    """The number of threads that automatic schedules are made for; None where they serve any number.

    Two are a number of their own, for which long scans are scheduled (transforms/schedulers/cpu/scans.py).
    """
    return 2 if get_num_threads() == 2 else None
