"""What makes a first call cheaper: the garbage collector paused, xDSL's assembly formats compiled on demand.

A first call imports the compiler and compiles once; both figures here are of that (docs/decisions/0005-first-call.md).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..runtime.fork_lock import ForkLock

if TYPE_CHECKING:
    from xdsl.irdl import OpDef
    from xdsl.irdl.declarative_assembly_format import FormatProgram


@contextmanager
def collector_paused() -> Iterator[None]:
    """IR and freshly imported modules are full of cycles and mostly alive: collecting garbage meanwhile frees little
    and costs up to a fifth of the time.

    What was made meanwhile then counts as old, as it would after the collections it was spared: otherwise the first
    allocation after a compilation would walk all of it at once.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if gc.get_freeze_count() == 0:  # a program that froze objects keeps them frozen
                gc.freeze()
                gc.unfreeze()
            gc.enable()


_lock = ForkLock()
_depth = 0
_eager: Callable[[str, OpDef], FormatProgram]


@contextmanager
def formats_on_demand() -> Iterator[None]:
    """An operation of xDSL that is defined meanwhile compiles its `assembly_format` when it is first parsed or printed.

    Compiling a function in memory parses and prints almost none of them. A format that is wrong would then be found
    late; every format is compiled at once by `opt-tool`, which does not come this way.
    """
    from xdsl.irdl.declarative_assembly_format import FormatProgram

    global _depth, _eager
    with _lock:
        if _depth == 0:
            _eager = FormatProgram.from_str
            FormatProgram.from_str = staticmethod(_FormatOnDemand)  # pyright: ignore[reportAttributeAccessIssue]
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                FormatProgram.from_str = staticmethod(_eager)  # pyright: ignore[reportAttributeAccessIssue]


class _FormatOnDemand:
    """Stands for a `FormatProgram` until it is needed."""

    def __init__(self, text: str, op_def: OpDef):
        self._text = text
        self._op_def = op_def

    def parse(self, *arguments: Any) -> Any:
        return self._program.parse(*arguments)

    def print(self, *arguments: Any) -> None:
        self._program.print(*arguments)

    @cached_property
    def _program(self) -> FormatProgram:
        return _eager(self._text, self._op_def)
