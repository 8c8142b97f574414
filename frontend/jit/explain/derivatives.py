"""What `f.explain(...)` says of derivatives: kernels of both halves, what is kept between them, what is computed again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ....analysis.tensor.effects import CONTROL
from ....analysis.tensor.residuals import Derivative, Kept, Unit, derivatives_in, short_name
from ....dialects.attributes import NT_TAPES
from ....dialects.diagnostic import SourceLocation, op_location
from ....dialects.nest import AccumulateOp, StoreOp
from ....dialects.nt.derivative_ops import VjpOp
from ....dialects.nt.halves import Half, Mark, half_of
from ....dialects.nt.ops import EmptyOp, LoopsOp
from ..specialise.stages import lowered_copy, run_pipeline

HALVES = {"forward": "forward half", "both": "both halves at once", "backward": "backward half"}


class Halves:
    """A program given at the nt level, fused for a target: its derivatives, and its nests, which say whose half they are."""

    def __init__(self, module: ModuleOp, target: str = "cpu"):
        has_derivatives = any(isinstance(op, VjpOp) for op in module.walk())
        self._fused = lowered_copy(
            module, ("to-kernel-fusions" if target.startswith("cuda") else "to-fusions",)
        )
        functions = [op for op in self._fused.ops if isinstance(op, FuncOp)] if has_derivatives else []
        self.derivatives = [found for function in functions for found in derivatives_in(function)]

    def lowered(self) -> ModuleOp:
        """The nests; this is the end of the fusions."""
        for one in self.derivatives:
            mark = Mark(Half(one.name, is_backward=True))
            for unit in one.units:
                for op in unit.again if unit.kind == "backward" else ():
                    op.location = mark.on(op.location)
        return run_pipeline(self._fused, ("fusions-to-nest",))


def derivative_lines(halves: Halves) -> list[str]:
    """The lines for all derivatives of a program."""
    return [line for one in halves.derivatives for line in _lines(one)]


def _lines(one: Derivative) -> list[str]:
    lines = [f"derivative of {one.name}:"]
    for kind, units in one.kernels.items():
        if units:
            title = f"  {HALVES[kind]}, {_count(len(units), 'kernel')}:"
            lines += [title, *[f"    {unit_text(unit)}" for unit in units]]
    rows = [kept_row(kept) for kept in one.kept]
    lines.append(f"  kept for the backward half: {one.total} bytes" if rows else "  nothing is kept")
    lines += [f"    {row}" for row in _table(rows)]
    if one.there_anyway:
        lines.append(f"  read, and there anyway: {there_anyway_text(one)}")
    again = one.again()
    if again:
        lines.append("  computed again in the backward half:")
        for (name, place), count in again.items():
            times = f", in {count} places" if count > 1 else ""
            lines.append(f"    {name}{place_text(place)}{times}")
    return lines


def there_anyway_text(one: Derivative) -> str:
    """The names of what the backward half reads and what is there anyway."""
    return ", ".join(dict.fromkeys(v.name_hint or "a value" for v in one.there_anyway))


def unit_text(unit: Unit) -> str:
    """What a kernel is called, what it computes, and the lines that it is of."""
    names = [short_name(op) for op in (*unit.computes, *unit.again)]
    what = ", ".join(counted(names))
    around = "".join(f", in the {control_name(op)}{place_text(op_location(op))}" for op in unit.loops)
    lines = sorted({at.line for op in (*unit.computes, *unit.again) if (at := op_location(op)) and at.line})
    where = f" ({'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))})" if lines else ""
    detail = ": no arithmetic" if not what else f": {what}" if what != unit.label else ""
    return f"{unit.label}{detail}{where}{around}"


def kept_row(kept: Kept) -> tuple[str, str, str, str]:
    """Name, type, bytes and origin of a value that is kept."""
    return kept.name, kept_type(kept), f"{kept.bytes} bytes", _origin(kept)


def kept_type(kept: Kept) -> str:
    """Element type and shape of a value that is kept."""
    return f"{kept.element}[{', '.join(map(str, kept.shape))}]"


def _origin(kept: Kept) -> str:
    op = kept.op
    place = place_text(op_location(op))
    result = "; a result, which is there anyway" if kept.is_result else ""
    if isinstance(op, CONTROL):
        verb = "filled" if isinstance(op, scf.ForOp) and _is_stack(op.iter_args[kept.value.index]) else "left"  # pyright: ignore
        again = ", which runs again to have it" if kept.is_replayed else ""
        return f"{verb} by the {control_name(op)}{place}{again}{result}"
    if not isinstance(op, LoopsOp):
        return f"{short_name(op)}{place}{result}"
    why = tape_reason(kept)
    return f"written by the loops{place}{f': {why}' if why else ''}{result}"


def tape_reason(kept: Kept) -> str:
    """Why loops keep a tape; nothing for what they compute anyway."""
    reasons = kept.op.attributes.get(NT_TAPES)
    reason = reasons.data[kept.value.index] if isinstance(reasons, ArrayAttr) else None  # pyright: ignore
    return reason.data if isinstance(reason, StringAttr) else ""


def _is_stack(start: SSAValue) -> bool:
    """Whether a loop that is given `start` fills it: it has no elements, but for the first."""
    while isinstance(start.owner, LoopsOp):
        start = start.owner.outputs[start.owner.results_.index(start)]
    return isinstance(start.owner, EmptyOp)


def control_name(op: Operation) -> str:
    """What a loop or branch is called in Python."""
    return {"scf.for": "loop", "scf.while": "while loop", "scf.if": "if"}[op.name]


def place_text(place: SourceLocation | None) -> str:
    """Where something is, for the end of a line."""
    if place is None or not place.line:
        return ""
    return f" at {Path(place.file).name}:{place.line}"


def half_name(nest: Operation) -> str:
    """Which half of a derivative the stores of a nest belong to: `forward`, `backward`, `both halves`; empty for none."""
    found = [half_of(op) for op in nest.walk() if isinstance(op, StoreOp | AccumulateOp)]
    halves = {half.is_backward for half in found if half is not None}
    if not halves:
        return ""
    return "both halves" if len(halves) == 2 else "backward" if True in halves else "forward"


def derivative_facts(one: Derivative) -> dict[str, Any]:
    """The same of a derivative as plain data."""
    return {
        "name": one.name,
        "kernels": {kind: [unit_text(unit) for unit in units] for kind, units in one.kernels.items()},
        "kept_bytes": str(one.total),
        "kept": [dict(zip(("name", "type", "bytes", "origin"), kept_row(k), strict=True)) for k in one.kept],
        "there_anyway": [v.name_hint or "a value" for v in one.there_anyway],
        "again": [f"{name}{place_text(place)}" for name, place in one.again()],
    }


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))] if rows else []
    return [
        "  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def counted(names: Sequence[str]) -> list[str]:
    """Each name once, with how often it is there."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return [name if n == 1 else f"{n} {name}" for name, n in counts.items()]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
