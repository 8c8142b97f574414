"""How IR is printed."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO

from xdsl.ir import Operation
from xdsl.printer import Printer

from ...analysis.machine import Cpu, Gpu


@dataclass(frozen=True)
class PrintOptions:
    """How IR is printed."""

    generic: bool = False
    debuginfo: bool = False
    machine: Cpu | Gpu | None = None
    """What `asm` is made for; None: this processor."""


def print_ir(op: Operation, options: PrintOptions = PrintOptions()) -> str:
    """The text of `op` with a final newline."""
    stream = StringIO()
    printer = Printer(stream, print_generic_format=options.generic, print_debuginfo=options.debuginfo)
    printer.print_op(op)
    return stream.getvalue() + "\n"
