"""Pass options: from the text of a pipeline to the typed fields of a pass, guided by their declared types."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterListType, ParameterType

from ...dialects.limits import MAX_NUMBER
from .pipeline_syntax import Element, Option, PipelineError

_TYPE_NAMES: dict[Any, str] = {int: "integer", float: "number", bool: "true or false", str: "text"}


def instantiate(pass_class: type[ModulePass], element: Element) -> ModulePass:
    """The pass with the options of `element`. Raises `PipelineError` naming the option and its type."""
    types = option_types(pass_class)
    parameters: dict[str, ParameterListType] = {}
    for option in element.options:
        name = option.key.replace("-", "_")
        if name not in types:
            raise _unknown_option(element, option, types)
        parameters[name] = _convert(element, option, types[name])
    missing = [name for name in pass_class.required_fields() if name not in parameters]
    if missing:
        wanted = " ".join(f"{spelling(name)}=<{type_name(types[name])}>" for name in sorted(missing))
        raise PipelineError(
            f"pass '{element.name}' needs the option{'s' if len(missing) > 1 else ''} "
            + ", ".join(f"'{spelling(name)}'" for name in sorted(missing)),
            element.place,
            hint=f"write {element.name}{{{wanted}}}",
        )
    try:
        return pass_class.from_spec(ArgSpec(pass_class.name, parameters))
    except ValueError as error:
        raise PipelineError(f"pass '{element.name}': {error}", element.place) from error


def option_types(pass_class: type[ModulePass]) -> dict[str, Any]:
    """The options of a pass (its dataclass fields) and their types."""
    hints = get_type_hints(pass_class)
    return {f.name: hints[f.name] for f in dataclasses.fields(pass_class) if f.init and f.name != "name"}


def spelling(field_name: str) -> str:
    """An option's name on the command line: `max_size` is `max-size`."""
    return field_name.replace("_", "-")


def type_name(hint: Any) -> str:
    """A type as a user reads it: `integer`, `list of integer`, `one of 'a', 'b'`."""
    if hint in _TYPE_NAMES:
        return _TYPE_NAMES[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(type_name(a) for a in arguments if a is not NoneType))
    if origin is tuple:
        return f"list of {type_name(arguments[0])}"
    if origin is Literal:
        return "one of " + ", ".join(f"'{a}'" for a in arguments)
    return getattr(hint, "__name__", str(hint))


def describe_option(pass_class: type[ModulePass], name: str, hint: Any) -> str:
    """`factor=<integer>`, with the default where there is one."""
    declared = next(f for f in dataclasses.fields(pass_class) if f.name == name)
    text = f"{spelling(name)}=<{type_name(hint)}>"
    if declared.default in (dataclasses.MISSING, None, ()):
        return text
    return f"{text} (default {_print_default(declared.default)})"


def _print_default(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _unknown_option(element: Element, option: Option, types: dict[str, Any]) -> PipelineError:
    names = [spelling(name) for name in types]
    close = get_close_matches(option.key, names, 1)
    listing = f"its options: {', '.join(names)}" if names else "it takes no options"
    return PipelineError(
        f"pass '{element.name}' has no option '{option.key}'",
        option.place,
        hint=(f"did you mean '{close[0]}'? " if close else "") + listing,
    )


def _convert(element: Element, option: Option, hint: Any) -> ParameterListType:
    for candidate in _alternatives(hint):
        converted = _convert_all(option.values, candidate)
        if converted is None:
            continue
        if any(isinstance(one, int) and abs(one) > MAX_NUMBER for one in converted):
            message = f"option '{option.key}' of pass '{element.name}' is larger than 2^48, as no buffer is"
            raise PipelineError(message, option.place)
        return converted
    written = f"'{','.join(option.values)}'" if option.values else "no value"
    raise PipelineError(
        f"option '{option.key}' of pass '{element.name}' expects {_article(type_name(hint))}, got {written}",
        option.place,
    )


def _article(name: str) -> str:
    if name.startswith(("one of", "true", "text")):
        return name
    return f"an {name}" if name[0] in "aeio" else f"a {name}"


def _alternatives(hint: Any) -> Sequence[Any]:
    """The members of a union; text last, because any value is text."""
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return sorted(members, key=lambda member: member is str)


def _convert_all(values: tuple[str, ...], hint: Any) -> ParameterListType | None:
    if hint is NoneType:
        return () if not values or values == ("none",) else None
    if get_origin(hint) is tuple:
        members = [_convert_one(value, get_args(hint)[0]) for value in values]
        return None if None in members else tuple(m for m in members if m is not None)
    if hint is bool and not values:
        return (True,)
    if len(values) != 1:
        return None
    converted = _convert_one(values[0], hint)
    return None if converted is None else (converted,)


def _convert_one(value: str, hint: Any) -> ParameterType | None:
    for candidate in _alternatives(hint):
        converted = _convert_scalar(value, candidate)
        if converted is not None:
            return converted
    return None


def _convert_scalar(value: str, hint: Any) -> ParameterType | None:
    if hint is str:
        return value
    if hint is bool:
        return {"true": True, "false": False, "1": True, "0": False}.get(value)
    if hint in (int, float):
        return _convert_number(value, hint)
    if get_origin(hint) is Literal:
        return next((choice for choice in get_args(hint) if str(choice) == value), None)
    return None


def _convert_number(value: str, kind: type[int] | type[float]) -> int | float | None:
    try:
        return kind(value)
    except ValueError:
        return None
