"""What `f.explain(...)` knows of a call, as data and as text; `page.py` makes a page of it.

first on cpu, compiled                    {"name": "first", "target": "cpu", "status": "compiled",
arguments:                                 "arguments": [{"name": "x", "type": "float64[8]", ...}],
  x: float64[8]                            "nests": [{"loops": ["i"], "loads": 1, "stores": 1, ...}],
...                                        "history": [{"topic": "compile", "text": ..., "times": 1}], ...}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.diagnostic import Diagnostic
from ...interface.errors import DTypeError
from ..chunked.facts import chunk_lines
from .derivatives import Halves, derivative_facts, derivative_lines, half_name
from .precisions import precision_lines, precisions
from .quantised import quantised_lines, quantised_products

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from ....dialects.diagnostic import NestorError
    from ...interface.argument_types import ArgumentType
    from ...interface.program_parts import Program
    from ..specialise.history import Entry

FORMATS = ("text", "json", "html")


@dataclass
class Explanation:
    """Which program serves a call, what it assumes, what its nests do, and what is not compiled."""

    name: str
    target: str
    status: str
    """`compiled`, `not compiled yet`, `in chunks`, `refused`, or `runs in Python`."""
    arguments: list[dict[str, Any]] = field(default_factory=list)
    assumes: list[dict[str, str]] = field(default_factory=list)
    nests: list[dict[str, Any]] = field(default_factory=list)
    derivatives: list[dict[str, Any]] = field(default_factory=list)
    products: list[dict[str, str]] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    """Remarks of the automatic schedule of a GPU."""
    precisions: dict[str, Any] | None = None
    """Under `autocast`: the operations by type, and the casts."""
    quantised: dict[str, dict[str, int]] | None = None
    """Under `quantise`: the products by the types of their factors."""
    chunks: dict[str, Any] | None = None
    """Of a call with Dask arrays: its sources, and the steps that compute its results."""
    strategies: list[str] | None = None
    """What was tried for each nest; None where nobody asked."""
    calls: list[dict[str, Any]] = field(default_factory=list)
    """Functions of Python that are called."""
    remarks: list[dict[str, Any]] = field(default_factory=list)
    refusal: dict[str, Any] | None = None
    """Why there is no program: a call raises it, or Python runs the function."""
    history: list[dict[str, Any]] = field(default_factory=list)
    module: ModuleOp | None = None
    """The nests, where there is a program."""
    program: Program | None = None
    derivative_text: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The facts as plain data; the keys are those of docs/debugging.md."""
        hidden = ("module", "program", "derivative_text")
        return {name: value for name, value in vars(self).items() if name not in hidden}

    def json(self) -> str:
        """The same facts as JSON."""
        return json.dumps(self.as_dict(), indent=2)

    def text(self) -> str:
        """The same facts for people."""
        return "\n".join(self._refused() if self.refusal is not None else self._lines())

    def _refused(self) -> list[str]:
        assert self.refusal is not None
        if self.status == "refused":
            head = f"{self.name} on {self.target}, refused: a call like this raises an error"
        else:
            head = f"{self.name} runs in Python: it is not compiled"
        lines = [head, *self._arguments(), "why:", *indented(self.refusal["why"])]
        if self.refusal["ways_out"]:
            lines += ["what to do:", *[f"  {one}" for one in self.refusal["ways_out"]]]
        return [*lines, *self._history()]

    def _arguments(self) -> list[str]:
        return ["arguments:", *([f"  {argument_text(one)}" for one in self.arguments] or ["  none"])]

    def _history(self) -> list[str]:
        entries = [f"  {entry_text(one)}" for one in self.history]
        return ["history:", *(entries or ["  nothing has been compiled"])]

    def _lines(self) -> list[str]:
        lines = [f"{self.name} on {self.target}, {self.status}", *self._arguments()]
        if self.assumes:
            whys = [f"   ({one['why']})" if one["why"] else "" for one in self.assumes]
            lines += [
                "assumes:",
                *[f"  {one['guard']}{why}" for one, why in zip(self.assumes, whys, strict=True)],
            ]
        frozen = [one["name"] for one in self.arguments if one["frozen"]]
        if frozen:
            lines.append(
                f"frozen: {', '.join(frozen)}; what is computed from them alone is computed once an array"
            )
        nests = [f"  {nest_text(one)}" for one in self.nests]
        lines += [
            "nests (loops, and accesses in an iteration of the innermost):",
            *(nests or ["  none: nothing is computed element by element"]),
        ]
        lines += self.derivative_text
        if self.chunks is not None:
            lines += ["chunks (docs/dask.md):", *[f"  {one}" for one in chunk_lines(self.chunks)]]
        if self.precisions is not None:
            lines += [
                "autocast (docs/precision.md):",
                *[f"  {one}" for one in precision_lines(self.precisions)],
            ]
        if self.quantised is not None:
            lines += [
                "quantised products (docs/quantisation.md):",
                *[f"  {one}" for one in quantised_lines(self.quantised)],
            ]
        if self.products:
            lines += [
                "products (in tiles of our own, no BLAS: docs/decisions/0014-products-without-blas.md):",
                *[f"  {one['loop']}: {one['sizes']}" for one in self.products],
            ]
        if self.kernels:
            lines += [
                "kernels (what the schedule has to say of them):",
                *[f"  {one}" for one in self.kernels],
            ]
        if self.strategies is not None:
            lines += ["strategies (tried in this order, for each nest until one applies):", *self.strategies]
        for title, calls in calls_by_kind(self.calls):
            lines += [f"{title}:", *[f"  {call_text(one)}" for one in calls]]
        if self.remarks:
            lines += ["remarks:", *[f"  {line}" for r in self.remarks for line in r["text"].splitlines()]]
        return lines + self._history()


def explanation(
    program: Program,
    target: str,
    history: Sequence[Entry],
    compiled: bool,
    machine: str | None,
    strategies: bool = False,
) -> Explanation:
    """What there is to say of a program."""
    halves = Halves(program.module, target)
    found = Explanation(program.name, target, "compiled" if compiled else "not compiled yet", program=program)
    first = len(program.arguments) - len(program.inputs)
    found.arguments = [
        _argument(one, k >= first, k in program.written) for k, one in enumerate(program.arguments)
    ]
    found.assumes = [{"guard": str(guard), "why": guard.why} for guard in program.guards]
    found.derivative_text = derivative_lines(halves)
    found.derivatives = [derivative_facts(one) for one in halves.derivatives]
    module = found.module = halves.lowered()
    found.nests = list(_nests(module))
    found.precisions = precisions(program.module)
    found.quantised = quantised_products(program.module)
    found.products = _products(module) if target == "cpu" else []
    found.kernels = _schedule_remarks(program.module, machine) if target.startswith("cuda") else []
    found.strategies = _strategies(program.module, target, machine) if strategies else None
    found.calls = _calls_on_gpu(program.module) if target.startswith("cuda") else _calls(module)
    found.remarks = [_diagnostic(one) for one in program.remarks]
    found.history = [one._asdict() for one in history]
    return found


def refused(
    name: str,
    target: str,
    refusal: NestorError,
    history: Sequence[Entry],
    types: Sequence[ArgumentType],
    *,
    in_python: bool,
    may_fall_back: bool,
) -> Explanation:
    """What there is to say of a call that has no program; `types` are those of its arguments, as far as they are known.

    Such a call raises the refusal, or is answered `in_python`; it `may_fall_back` where `fallback` could be asked for.
    """
    found = Explanation(name, target, "runs in Python" if in_python else "refused")
    said = refusal.diagnostic
    ways = [] if said.hint is None else [said.hint]
    if may_fall_back and not in_python:
        way = 'have Python answer what is refused: nt.jit(f, fallback="numpy") (docs/executor.md)'
        ways.append(f"or {way}" if ways else way)
    if said.page is not None:
        ways.append(f"see {said.page}")
    plain = Diagnostic(said.severity, said.message, said.location, said.notes)
    found.refusal = _diagnostic(said) | {"text": str(refusal), "why": plain.render(), "ways_out": ways}
    found.arguments = [_argument(one, False, False) for one in types]
    found.history = [one._asdict() for one in history]
    return found


def indented(text: str) -> list[str]:
    """The lines of a text, indented."""
    return [f"  {line}".rstrip() for line in text.splitlines()]


def checked_format(format: Any) -> str:
    """The option `format`. Raises DTypeError for what is none."""
    if format not in FORMATS:
        raise DTypeError(f"format={format!r}", hint=f"formats: {', '.join(FORMATS)}")
    return format


# ---- facts --------------------------------------------------------------------------------------------------


def _argument(one: ArgumentType, is_outside: bool, is_written: bool) -> dict[str, Any]:
    text = str(one)
    separator = " = " if one.kind == "static" else ": "
    return {
        "name": one.name,
        "type": text.removeprefix(f"{one.name}{separator}"),
        "compiled_in": one.kind == "static",
        "from_outside": is_outside,
        "written": is_written,
        "frozen": one.constant,
    }


def argument_text(one: dict[str, Any]) -> str:
    """An argument, and what is special about it."""
    said = [
        text
        for key, text in (
            ("compiled_in", "compiled in"),
            ("from_outside", "from outside, read at each call"),
            ("written", "written by the call"),
        )
        if one[key]
    ]
    separator = " = " if one["compiled_in"] else ": "
    special = f" ({', '.join(said)})" if said else ""
    return f"{one['name']}{separator}{one['type']}{special}"


def entry_text(one: dict[str, Any]) -> str:
    """A line of the history."""
    return one["text"] if one["times"] == 1 else f"{one['text']} ({one['times']} times)"


def nest_text(one: dict[str, Any]) -> str:
    """A nest: its loops, and its memory accesses an iteration of the innermost."""
    said = ", ".join(filter(None, (one["half"], f"line {one['line']}" if one["line"] else "")))
    return f"{', '.join(one['loops'])}: {accesses_text(one)}{f'   ({said})' if said else ''}"


def accesses_text(one: dict[str, Any]) -> str:
    """`8 loads, 1 store`."""
    return f"{_count(one['loads'], 'load')}, {_count(one['stores'], 'store')}"


def call_text(one: dict[str, Any]) -> str:
    """A call of Python: the function, and where it stands."""
    place = f"   ({one['file']}:{one['line']})" if one["line"] else ""
    return f"{one['function']}{place}"


def calls_by_kind(calls: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Calls of Python, and of code that the program has, each kind with its title, where there are any."""
    for title, in_program in (("calls of Python", False), ("calls of code in the program", True)):
        found = [one for one in calls if one["in_program"] == in_program]
        if found:
            yield title, found


def _diagnostic(one: Diagnostic) -> dict[str, Any]:
    where = one.location
    return {
        "severity": one.severity,
        "message": one.message,
        "file": where.file if where is not None else "",
        "line": where.line if where is not None else 0,
        "column": where.column if where is not None else 0,
        "hint": one.hint,
        "notes": [_diagnostic(note) for note in one.notes],
        "text": one.render(),
    }


def nest_accesses(module: ModuleOp) -> Iterator[tuple[str, str]]:
    """The names of the loops of each nest, and its accesses an iteration of the innermost: `8 loads, 1 store`."""
    for one in _nests(module):
        yield ", ".join(one["loops"]), accesses_text(one)


def _nests(module: ModuleOp) -> Iterator[dict[str, Any]]:
    """Each outermost loop."""
    from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp

    for loop in module.walk():
        if not isinstance(loop, ForOp) or isinstance(loop.parent_op(), ForOp):
            continue
        inner = list(loop.walk())
        file, line = _place(inner)
        yield {
            "loops": [op.label for op in inner if isinstance(op, ForOp)],
            "loads": sum(isinstance(op, LoadOp) for op in inner),
            "stores": sum(isinstance(op, StoreOp | AccumulateOp) for op in inner),
            "half": half_name(loop),
            "file": file,
            "line": line,
        }


def _place(ops: Sequence[Operation]) -> tuple[str, int]:
    """Where operations stand in Python: the first place that is known."""
    from ....dialects.diagnostic import op_location

    found = next((at for op in ops if (at := op_location(op)) is not None and at.line), None)
    return (found.file, found.line) if found is not None else ("", 0)


def _products(module: ModuleOp) -> list[dict[str, str]]:
    """Each nest that is a product of matrices large enough for tiles."""
    from ....analysis.nest.loop_structure import perfect_band
    from ....dialects.nest import ForOp
    from ....transforms.schedulers.patterns.products import product_in

    found: list[dict[str, str]] = []
    for loop in module.walk():
        if not isinstance(loop, ForOp) or isinstance(loop.parent_op(), ForOp):
            continue
        if (product := product_in(perfect_band(loop))) is not None:
            sizes = [largest_extent(one) or "?" for one in (product.row, product.term, product.column)]
            text = f"{sizes[0]} x {sizes[1]} by {sizes[1]} x {sizes[2]}"
            found.append({"loop": loop.label, "sizes": text})
    return found


def _schedule_remarks(module: ModuleOp, machine: str | None) -> list[str]:
    """What the automatic schedule of the GPU remarks: why loops are one thread, what goes to memory, which checks wait."""
    from ....dialects.remarks import listening
    from ..specialise.stages import SCHEDULED, lowered_copy

    heard: list[str] = []
    with listening(lambda said: heard.extend(said.render().splitlines())):
        lowered_copy(module, SCHEDULED["cuda"], machine=machine)
    return list(dict.fromkeys(heard))


def _strategies(module: ModuleOp, target: str, machine: str | None) -> list[str]:
    """The strategies that the automatic schedule tries for each nest, in turn, and what came of each."""
    from ....dialects.remarks import listening
    from ....transforms.schedulers.refusals import NOT_TAKEN
    from ....transforms.schedulers.strategies import Tried, watching
    from ..specialise.stages import SCHEDULED, lowered_copy

    if target == "interp":
        return ["  none: the interpreter runs nests as they are written"]
    tried: list[Tried] = []
    left_out: list[str] = []

    def hear(said: Diagnostic) -> None:
        if said.message.startswith(NOT_TAKEN):
            left_out.extend(said.render().splitlines())

    with watching(tried.append), listening(hear):
        lowered_copy(module, SCHEDULED["cpu" if target == "cpu" else "cuda"], machine=machine)
    lines: list[str] = []
    nest = None
    for one in tried:
        if one.nest != nest:
            nest = one.nest
            lines.append(f"  {nest}")
        lines.append(f"    {one}")
    lines += [f"  {line}" for line in left_out]
    return lines or ["  none: there are no nests"]


def _calls_on_gpu(module: ModuleOp) -> list[dict[str, Any]]:
    """The same of a program that a GPU runs, which takes kernels of the user's."""
    from ..specialise.stages import lowered_copy

    if not any(op.name == "nt.custom_call" for op in module.walk()):
        return []
    return _calls(lowered_copy(module, ("cuda-to-nest",)), on_gpu=True)


def _calls(module: ModuleOp, on_gpu: bool = False) -> list[dict[str, Any]]:
    """Each call of Python, or of code that the program has: the function, and where it stands."""
    from ....analysis.nest.calls import declarations, target_of
    from ....lowering.nest_common.custom_calls import called, is_code, is_kernel

    has_code = is_kernel if on_gpu else is_code
    targets = {f.sym_name.data: (target_of(f), has_code(f)) for f in declarations(module)}
    found: list[dict[str, Any]] = []
    for op in filter(called, module.walk()):
        file, line = _place([op])
        function, has_code = targets[op.callee.string_value()]  # pyright: ignore
        found.append({"function": function, "in_program": has_code, "file": file, "line": line})
    return found


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
