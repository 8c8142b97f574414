"""Ctrl-C in a long kernel: machine code lets Python handle signals now and then, as Python's own loops do.

Compiled code calls `nestor_poll` between pieces of long loops (`lowering/to_llvm/cut_long_loops.py`). It reads the
processor's clock, and every `nestor_poll_cycles` of it calls `PyErr_CheckSignals`, which does nothing but in the main
thread. No handler is installed. What a handler raises stops the kernel, and is in its error record until the kernel
has returned.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Sequence
from typing import Any

from ...lowering.abi.error_codes import FACTS, LAST_POLL, POLL

_ASK = re.compile(rf"^declare (?:zeroext )?i1 @{POLL}\(.*\).*$", re.MULTILINE)

CYCLES = "nestor_poll_cycles"
"""How long a kernel goes on without asking, an i64 that machine code reads."""

_CYCLES = 1 << 27 if not hasattr(os, "uname") or os.uname().machine == "x86_64" else 1 << 21
"""Some 50 ms of the clock of x86; elsewhere the clock that LLVM reads has 24 MHz to 1 GHz."""

_POLL_IR = f"""\
@{CYCLES} = external global i64
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare i64 @llvm.readcyclecounter()
define internal i1 @{POLL}(ptr %record, i1 %first) noinline {{
  %last = getelementptr i64, ptr %record, i64 {LAST_POLL}
  %now = call i64 @llvm.readcyclecounter()
  br i1 %first, label %begin, label %look
begin:
  store i64 %now, ptr %last
  ret i1 false
look:
  %before = load i64, ptr %last
  %gone = sub i64 %now, %before
  %wait = load i64, ptr @{CYCLES}
  %soon = icmp ult i64 %gone, %wait
  br i1 %soon, label %no, label %ask
no:
  ret i1 false
ask:
  store i64 %now, ptr %last
  %state = call i32 @PyGILState_Ensure()
  %status = call i32 @PyErr_CheckSignals()
  %raised = icmp ne i32 %status, 0
  br i1 %raised, label %keep, label %done
keep:
  %type = getelementptr i64, ptr %record, i64 {FACTS}
  %value = getelementptr i64, ptr %record, i64 {FACTS + 1}
  %traceback = getelementptr i64, ptr %record, i64 {FACTS + 2}
  call void @PyErr_Fetch(ptr %type, ptr %value, ptr %traceback)
  call void @PyErr_NormalizeException(ptr %type, ptr %value, ptr %traceback)
  br label %done
done:
  call void @PyGILState_Release(i32 %state)
  ret i1 %raised
}}"""

_cycles = ctypes.c_int64(_CYCLES)


def polling(text: str) -> str:
    """LLVM IR text with the function that lets Python handle signals, where it is asked for."""
    return _ASK.sub(_POLL_IR, text)


def addresses() -> dict[str, int]:
    """Where machine code finds how long it may go on, by name."""
    return {CYCLES: ctypes.addressof(_cycles)}


def interruption(numbers: Sequence[int]) -> BaseException:
    """The exception that a handler raised, of the words of the error record that hold it."""
    held = [_taken(number) for number in numbers[:3]]
    error = held[1]
    return error.with_traceback(held[2])


def _taken(address: int) -> Any:
    """The object at an address, whose reference the record gave away."""
    if not address:
        return None
    reference = ctypes.cast(address, ctypes.py_object)
    found = reference.value
    ctypes.pythonapi.Py_DecRef(reference)
    return found
