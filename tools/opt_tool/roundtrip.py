"""`--verify-roundtrip`: what is printed, in the custom and the generic form, must parse to the same IR."""

from __future__ import annotations

from itertools import zip_longest

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.diagnostic import Diagnostic, NestorError, SourceLocation, op_location
from ...dialects.dominance import walk
from ...dialects.parse import parse_located
from .printing import PrintOptions, print_ir

_GENERIC = PrintOptions(generic=True)


def check_roundtrip(module: ModuleOp, context: Context) -> None:
    """Raise `NestorError` naming the first line that changes."""
    for options, form in ((PrintOptions(), "custom"), (_GENERIC, "generic")):
        _check_form(module, context, options, form)


def _check_form(module: ModuleOp, context: Context, options: PrintOptions, form: str) -> None:
    text = print_ir(module, options)
    try:
        again, _ = parse_located(text, f"<{form} form>", context)
    except NestorError as error:
        raise NestorError(
            f"roundtrip failed: the {form} form does not parse: {error.diagnostic.message}",
            notes=[Diagnostic("note", f"printed as: {_line(text, error)}")],
        ) from error
    if again.is_structurally_equivalent(module):
        return
    wanted, found = print_ir(module, _GENERIC), print_ir(again, _GENERIC)
    if wanted == found:  # xDSL finds values different that are used, in text order, before they are defined
        return
    before, after = _first_difference(wanted, found)
    notes = [Diagnostic("note", f"before: {before}"), Diagnostic("note", f"after:  {after}")]
    place = _place_of_difference(module, again)
    raise NestorError(f"roundtrip failed: the {form} form parses to different IR", place, notes=notes)


def _place_of_difference(module: ModuleOp, again: ModuleOp) -> SourceLocation | None:
    for before, after in zip(walk(module), walk(again), strict=False):
        if _signature(before) != _signature(after):
            return op_location(before)
    return None


def _signature(op: Operation) -> tuple:
    return op.name, len(op.operands), op.attributes, op.properties, op.result_types, len(op.regions)


def _line(text: str, error: NestorError) -> str:
    place = error.diagnostic.location
    lines = text.split("\n")
    return lines[place.line - 1].strip() if place is not None and 0 < place.line <= len(lines) else ""


def _first_difference(before: str, after: str) -> tuple[str, str]:
    pairs = zip_longest(before.split("\n"), after.split("\n"), fillvalue="(nothing)")
    return next(((a.strip(), b.strip()) for a, b in pairs if a != b), ("(the same text)", "(the same text)"))
