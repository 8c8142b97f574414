"""`--show-dialects --markdown`: dialects as a page, each operation with its docstring and what its definition says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import cleandoc

from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OptionalDef,
    RangeLengthConstraint,
    RangeOf,
    VariadicDef,
)


def dialect_page(name: str, dialect: Dialect, origin: str) -> str:
    """The section of one dialect: its types and attributes, then its operations."""
    lines = [f"# {name}", "", f"{origin[:1].upper()}{origin[1:]}.", ""]
    attributes = sorted(dialect.attributes, key=lambda attribute: attribute.name)
    if attributes:
        lines += ["## Types and attributes", ""]
        lines += [f"- `{attribute.name}`{_first_sentence(attribute)}" for attribute in attributes] + [""]
    for operation in sorted(dialect.operations, key=lambda op: op.name):
        lines += _operation(operation)
    return "\n".join(lines)


def _first_sentence(attribute: type[Attribute]) -> str:
    text = cleandoc(attribute.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    return f": {text}" if text else ""


def _operation(operation: type[Operation]) -> list[str]:
    lines = [f"## {operation.name}", ""]
    text = cleandoc(operation.__doc__ or "")
    if text:
        lines += [text, ""]
    if issubclass(operation, IRDLOperation):
        rows = list(_rows(operation))
        if rows:
            lines += ["| | name | |", "|---|---|---|", *rows, ""]
    return lines


def _rows(operation: type[IRDLOperation]) -> Iterator[str]:
    definition = operation.get_irdl_definition()
    for kind, entries in (("operand", definition.operands), ("result", definition.results)):
        for name, one in entries:
            yield _row(kind, name, one, _range_text(one.constr))
    segments = ("operandSegmentSizes", "resultSegmentSizes")
    for kind, entries in (("property", definition.properties), ("attribute", definition.attributes)):
        for name, one in entries.items():
            if name not in segments:
                yield _row(kind, name, one, _text(one.constr))
    for kind, entries in (("region", definition.regions), ("successor", definition.successors)):
        for name, one in entries:
            yield _row(kind, name, one, "")
    traits = sorted(type(trait).__name__ for trait in operation.traits.traits)
    if traits:
        yield f"| traits | | {', '.join(traits)} |"


def _row(kind: str, name: str, definition: object, constraint: str) -> str:
    number = (
        "any number"
        if isinstance(definition, VariadicDef) and not isinstance(definition, OptionalDef)
        else "optional"
        if isinstance(definition, OptionalDef)
        else ""
    )
    about = ", ".join(part for part in (number, constraint) if part)
    return f"| {kind} | `{name}` | {about} |"


def _range_text(constraint: object) -> str:
    if isinstance(constraint, RangeLengthConstraint):
        return _range_text(constraint.constraint)
    return _text(constraint.constr) if isinstance(constraint, RangeOf) else ""


def _text(constraint: object) -> str:
    """What a constraint admits, where that can be said in a few words."""
    if isinstance(constraint, AnyAttr):
        return ""
    if isinstance(constraint, BaseAttr):
        return f"`{_name(constraint.attr)}`"
    if isinstance(constraint, EqAttrConstraint):
        return f"`{constraint.attr}`"
    if isinstance(constraint, AnyOf):
        return _join(_text(one) for one in constraint.attr_constrs)
    inner = getattr(constraint, "constraint", None)
    return _text(inner) if inner is not None else ""


def _name(attribute: type[Attribute]) -> str:
    return getattr(attribute, "name", attribute.__name__)


def _join(parts: Iterable[str]) -> str:
    texts = list(dict.fromkeys(parts))
    return " or ".join(texts) if all(texts) else ""
