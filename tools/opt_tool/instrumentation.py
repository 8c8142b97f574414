"""What watches passes run: IR dumps and timing. Everything goes to standard error."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from .pipeline_syntax import Element, parse_pipeline
from .printing import PrintOptions, print_ir


class IRDumper:
    """`--print-ir-before=`, `--print-ir-after=` and their relatives."""

    def __init__(self, options: argparse.Namespace, printing: PrintOptions):
        self._before = {element.name for element in parse_pipeline(options.print_ir_before)}
        self._after = {element.name for element in parse_pipeline(options.print_ir_after)}
        self._before_all: bool = options.print_ir_before_all
        self._only_changes: bool = options.print_ir_after_change
        self._after_all: bool = options.print_ir_after_all or (self._only_changes and not self._after)
        self._on_failure: bool = options.print_ir_after_failure
        self._printing = printing
        self._previous = ""

    @classmethod
    def from_options(cls, options: argparse.Namespace, printing: PrintOptions) -> IRDumper | None:
        """A dumper if the command line asks for dumps."""
        dumper = cls(options, printing)
        wanted = (dumper._before, dumper._after, dumper._before_all, dumper._after_all, dumper._on_failure)
        return dumper if any(wanted) else None

    def before_pass(self, element: Element, op: Operation) -> None:
        if self._only_changes:
            self._previous = print_ir(op, self._printing)
        if self._before_all or element.name in self._before:
            self._dump("Before", element, op, print_ir(op, self._printing))

    def after_pass(self, element: Element, op: Operation) -> None:
        if not self._after_all and element.name not in self._after:
            return
        text = print_ir(op, self._printing)
        if not self._only_changes or text != self._previous:
            self._dump("After", element, op, text)

    def pass_failed(self, element: Element, op: Operation) -> None:
        if self._on_failure or self._after_all or element.name in self._after:
            self._dump("After", element, op, self._print_broken(op), " Failed")

    def _print_broken(self, op: Operation) -> str:
        """What a failed pass left: in the generic form, which asks nothing of the operations."""
        try:
            return print_ir(op, PrintOptions(True, self._printing.debuginfo))
        except Exception as error:
            return f"(this IR cannot even be printed: {type(error).__name__}: {error})"

    def _dump(self, when: str, element: Element, op: Operation, text: str, suffix: str = "") -> None:
        header = f"// -----// IR Dump {when} {element.name}{anchor_text(op)}{suffix} //----- //"
        print(f"{header}\n{text}", file=sys.stderr)


def anchor_text(op: Operation) -> str:
    """What a pass ran on, after its name: nothing for a module, else ` ('func.func' @f)`."""
    if isinstance(op, ModuleOp):
        return ""
    symbol = op.get_attr_or_prop("sym_name")
    name = f" @{symbol.data}" if isinstance(symbol, StringAttr) else ""
    return f" ('{op.name}'{name})"


class Timer:
    """`--timing`: wall-clock time of each phase and each pass."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._rows: list[tuple[str, float]] = []
        self._started = 0.0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self._rows.append((name, time.perf_counter() - start))

    def before_pass(self, element: Element, op: Operation) -> None:
        self._started = time.perf_counter()

    def after_pass(self, element: Element, op: Operation) -> None:
        self._rows.append((f"  {element.name}{anchor_text(op)}", time.perf_counter() - self._started))

    def pass_failed(self, element: Element, op: Operation) -> None:
        self._rows.append(
            (f"  {element.name}{anchor_text(op)} (failed)", time.perf_counter() - self._started)
        )

    def report(self) -> None:
        """Print the table; passes include the verification after them."""
        total = time.perf_counter() - self._begin
        rows = [*self._rows, ("Rest", total - sum(t for _, t in self._rows)), ("Total", total)]
        rule = "===" + "-" * 73 + "==="
        lines = [rule, "Execution time report".center(len(rule)).rstrip(), rule]
        lines += [f"  {seconds:8.4f}s ({seconds / total:6.1%})  {name}" for name, seconds in rows]
        print("\n".join(lines), file=sys.stderr)
