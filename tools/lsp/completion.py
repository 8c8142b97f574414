"""What may stand at the cursor: operations, values, symbols, options of schedule primitives.

In RUN lines it is passes with their options, targets, and options of opt-tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects.schedule.table import PRIMITIVES, Option, Primitive
from ...transforms.registry import load_pass
from ..opt_tool.command_line import make_parser
from ..opt_tool.context import make_tool_context
from ..opt_tool.information import summary_of
from ..opt_tool.pass_options import describe_option, option_types, spelling
from ..opt_tool.plugins import PLUGIN_PASSES
from ..opt_tool.resolve import known_names, named_pipelines
from ..opt_tool.targets import TARGETS
from .document import Document
from .text import Word

_RUN = re.compile(r"^\s*(?://|#).*")
_PASSES = re.compile(
    r"(?:\s-p|--?passes|--?pass-pipeline|--?(?:mlir-)?print-ir-(?:before|after))[ =]+"
    r"(?:'(?P<single>[^']*)|\"(?P<double>[^\"]*)|(?P<bare>[^\s'\"]*))$"
)
_TARGET = re.compile(r"(?:\s-t|--?target)[ =]+(?P<name>[\w\-]*)$")
_OPTION = re.compile(r"\s(?P<name>--?[\w\-]*)$")
_PASS_WORD = re.compile(r"[\w.\-]+")
_CODE_WORD = re.compile(r"[%@]?[\w$.\-]*$")
_PRIMITIVE = re.compile(r"\bschedule\.(?P<name>\w+)[ \t(].*$")
_CHOICE = re.compile(r"\b(?P<option>\w+)\(\w*$")


@dataclass(frozen=True)
class Completion:
    """A text that may replace what is between `start` and the cursor."""

    text: str
    kind: str
    """`operation`, `dialect`, `value`, `symbol`, `pass`, `option`, `target` or `choice`."""
    start: int
    detail: str = ""
    documentation: str = ""


def completions(document: Document, offset: int) -> list[Completion]:
    """What may stand at `offset`."""
    line = document.text[document.text.rfind("\n", 0, offset) + 1 : offset]
    if is_comment(document.text, offset):
        return list(_in_run_line(line, offset)) if "opt-tool" in line else []
    if line.count('"') % 2:
        return []
    word = _CODE_WORD.search(line)
    text = word[0] if word is not None else ""
    start = offset - len(text)
    if text.startswith("%"):
        return list(_values(document, offset, start))
    if text.startswith("@"):
        symbols = document.symbols_beside(offset)
        return [Completion(f"@{symbol.name}", "symbol", start, symbol.operation) for symbol in symbols]
    if (step := _PRIMITIVE.search(line)) is not None and step["name"] in PRIMITIVES:
        return list(_step_options(PRIMITIVES[step["name"]], line, start))
    if "." in text:
        return [_operation(op, start) for op in operations_of(text.partition(".")[0])]
    return [Completion(name, "dialect", start) for name in _dialects()]


def is_comment(text: str, offset: int) -> bool:
    """Whether `offset` is in a line that is a comment."""
    start = text.rfind("\n", 0, offset) + 1
    return _RUN.match(text, start, max(offset, start)) is not None and text[start:offset].lstrip()[:1] == "/"


def _in_run_line(line: str, offset: int) -> Iterator[Completion]:
    if (passes := _PASSES.search(line)) is not None:
        yield from _passes(next(text for text in passes.groups() if text is not None), offset)
    elif (target := _TARGET.search(line)) is not None:
        start = offset - len(target["name"])
        for name, one in TARGETS.items():
            yield Completion(name, "target", start, one.description)
    elif (option := _OPTION.search(line)) is not None:
        start = offset - len(option["name"])
        for spelled, text in _tool_options():
            yield Completion(spelled, "option", start, text)


def _passes(pipeline: str, offset: int) -> Iterator[Completion]:
    """Names after a comma or an anchor; inside braces the options of the pass before them."""
    if pipeline.rfind("{") > pipeline.rfind("}"):
        outside, _, inside = pipeline.rpartition("{")
        name = re.search(r"[\w.\-]+$", outside)
        typed = re.search(r"[\w\-]*$", inside)
        pass_class = _pass_class(name[0]) if name is not None else None
        if pass_class is None or typed is None or inside[: typed.start()].endswith("="):
            return
        for option, hint in option_types(pass_class).items():
            detail = describe_option(pass_class, option, hint)
            yield Completion(f"{spelling(option)}=", "option", offset - len(typed[0]), detail)
        return
    typed = re.search(r"[\w.\-]*$", pipeline)
    start = offset - (len(typed[0]) if typed is not None else 0)
    pipelines = named_pipelines()
    for name in known_names():
        if name in pipelines:
            yield Completion(name, "pass", start, "named pipeline", ",".join(pipelines[name]))
        else:
            yield Completion(name, "pass", start)


def pass_at(text: str, offset: int) -> Word | None:
    """The name of a pass around `offset`."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    for found in _PASS_WORD.finditer(text, start, end if end >= 0 else len(text)):
        if found.start() <= offset <= found.end():
            return Word(found[0], found.start(), found.end())
    return None


def describe_pass(name: str) -> str | None:
    """The summary and options of a pass, or what a named pipeline is; None where there is no such pass."""
    if name not in known_names():
        return None
    if name in named_pipelines():
        return f"**{name}**, a named pipeline\n\n" + ",".join(named_pipelines()[name])
    pass_class = _pass_class(name)
    if pass_class is None:
        return None
    options = "\n".join(
        f"- `{describe_option(pass_class, option, hint)}`"
        for option, hint in option_types(pass_class).items()
    )
    return f"**{name}**\n\n{summary_of(pass_class)}\n\n{options}".rstrip()


def _pass_class(name: str) -> type[ModulePass] | None:
    try:
        return PLUGIN_PASSES.get(name) or load_pass(name)
    except (KeyError, ImportError, AttributeError):
        return None


@cache
def _tool_options() -> list[tuple[str, str]]:
    return [
        (spelled, action.help or "")
        for action in make_parser()._actions
        for spelled in action.option_strings
        if spelled.startswith("--")
    ]


def _values(document: Document, offset: int, start: int) -> Iterator[Completion]:
    """The values of this function that are defined before the cursor, the nearest first."""
    here = document.part_at(offset)
    if here is None:
        return
    part, parsed = here
    places = sorted(
        (
            (place, value)
            for value, place in parsed.index.definitions.items()
            if part.start + place[1] < start
        ),
        key=lambda entry: -entry[0][0],
    )
    seen = set()
    for (first, last), value in places:
        name = part.text[first:last]
        if not name.startswith("%") or name in seen:
            continue
        seen.add(name)
        yield Completion(name, "value", start, str(getattr(value, "type", "")))


def _step_options(primitive: Primitive, line: str, start: int) -> Iterator[Completion]:
    choice = _CHOICE.search(line)
    if choice is not None:
        for option in primitive.options:
            if option.name == choice["option"]:
                yield from (Completion(one, "choice", start, primitive.name) for one in option.choices)
        return
    for target in primitive.targets:
        if target.keyword:
            yield Completion(target.keyword, "option", start, f"{target.name}: {target.kind}")
    for option in primitive.options:
        yield Completion(option.keyword or option.name, "option", start, _about(option))


def _about(option: Option) -> str:
    kind = " | ".join(option.choices) if option.choices else option.type
    return f"{option.name}: {kind}" + ("" if option.default in (None, ()) else f" (default {option.default})")


def _operation(kind: type[Operation], start: int) -> Completion:
    text = cleandoc(kind.__doc__ or "")
    return Completion(kind.name, "operation", start, text.partition("\n")[0], text)


@cache
def _context() -> Context:
    return make_tool_context()


@cache
def operations_of(dialect: str) -> tuple[type[Operation], ...]:
    """The operations of a dialect, none where there is no such dialect or it cannot be loaded."""
    if dialect not in _context().registered_dialect_names:
        return ()
    try:
        found: Iterable[type[Operation]] = _context().get_dialect(dialect).operations
    except Exception:
        return ()
    return tuple(sorted(found, key=lambda op: op.name))


def _dialects() -> list[str]:
    return sorted(_context().registered_dialect_names)
