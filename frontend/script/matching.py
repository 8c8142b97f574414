"""Patterns of `match`: whether a value matches one, and what it binds.

case 3:              value == 3                  case None:          value is None
case [a, *rest]:     a tuple or list, its length and its items
case P(x=0):         isinstance(value, P), and value.x matches 0
case {"k": v}:       a dict with that key
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from ..frame import outside
from ..frame.frame import Frame
from ..frame.instances import has_attribute
from ..frame.recursion import evaluate
from ..interface.errors import DTypeError
from ..interface.match_statements import Bound, Matches, names_of
from ..values import arithmetic as arith
from ..values.values import Group, Static, Value, describe
from .attributes import attribute_of
from .classes import type_of
from .comparisons import compare_pair
from .conditions import bool_, every, some
from .operators import as_group, is_sequence

_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes whose one positional pattern is for the value itself."""


def matches(frame: Frame, node: Matches) -> Value:
    """Whether the subject matches, as Python's bool."""
    return _matches(frame, node.pattern, evaluate(frame, node.subject))


def bound(frame: Frame, node: Bound) -> Value:
    """What a name of a pattern stands for."""
    found = _found(frame, node.pattern, evaluate(frame, node.subject), node.name)
    assert found is not None
    return found


def _matches(frame: Frame, pattern: ast.pattern, value: Value) -> Value:
    frame.at(pattern)
    if isinstance(pattern, ast.MatchAs):
        return Static(True) if pattern.pattern is None else _matches(frame, pattern.pattern, value)
    if isinstance(pattern, ast.MatchOr):
        return some(frame, pattern, [_matches(frame, one, value) for one in pattern.patterns])
    if isinstance(pattern, ast.MatchValue):
        return bool_(
            frame, pattern, compare_pair(frame, pattern, ast.Eq(), value, evaluate(frame, pattern.value))
        )  # pyright: ignore
    if isinstance(pattern, ast.MatchSingleton):
        return bool_(frame, pattern, compare_pair(frame, pattern, ast.Is(), value, Static(pattern.value)))  # pyright: ignore
    parts = _parts(frame, pattern, value)
    if parts is None:
        return Static(False)
    return every(frame, pattern, [_matches(frame, one, part) for one, part in parts])


def _parts(frame: Frame, pattern: ast.pattern, value: Value) -> list[tuple[ast.pattern, Value]] | None:
    """The patterns in a pattern, and the parts of the value that they are for; None where it does not match."""
    if isinstance(pattern, ast.MatchSequence):
        return _of_sequence(frame, pattern, value)
    if isinstance(pattern, ast.MatchMapping):
        return _of_mapping(frame, pattern, value)
    if isinstance(pattern, ast.MatchClass):
        return _of_class(frame, pattern, value)
    return []


def _of_sequence(
    frame: Frame, pattern: ast.MatchSequence, value: Value
) -> list[tuple[ast.pattern, Value]] | None:
    group = _as_sequence(frame, pattern, value)
    if group is None:
        return None
    value = group
    starred = [k for k, one in enumerate(pattern.patterns) if isinstance(one, ast.MatchStar)]
    count, wanted = len(value.items), len(pattern.patterns)
    if not starred:
        return list(zip(pattern.patterns, value.items, strict=True)) if count == wanted else None
    if count < wanted - 1:
        return None
    first, after = starred[0], wanted - starred[0] - 1
    end = count - after
    ends = zip(pattern.patterns[first + 1 :], value.items[end:], strict=True)
    return [*zip(pattern.patterns[:first], value.items[:first], strict=True), *ends]


def _as_sequence(frame: Frame, pattern: ast.pattern, value: Value) -> Group | None:
    """What a pattern of a sequence looks into; None for what is no sequence to Python, as text and arrays are none."""
    if isinstance(value, Static) and isinstance(value.raw, range):
        value = Static(tuple(value.raw))
    if is_sequence(value):
        return as_group(frame, pattern, value)
    if isinstance(value, Group) and issubclass(value.kind, tuple | list):
        return value
    kind = type_of(frame, pattern, value)
    if issubclass(kind, Sequence) and not issubclass(kind, str | bytes | bytearray):
        what = f"a pattern for {describe(value)} is not supported"
        frame.fail(pattern, what, "compare its length and its items with if and elif")
    return None


def _entries(value: Value) -> dict[Any, Value] | None:
    if isinstance(value, Static) and type(value.raw) is dict:
        return {key: Static(item) for key, item in outside.entries(value.raw)}
    if isinstance(value, Group) and value.kind is dict:
        return dict(zip(value.names or (), value.items, strict=True))
    return None


def _of_mapping(
    frame: Frame, pattern: ast.MatchMapping, value: Value
) -> list[tuple[ast.pattern, Value]] | None:
    entries = _entries(value)
    keys = [arith.require_static(frame.graph, evaluate(frame, key), "the key") for key in pattern.keys]
    if entries is None and issubclass(type_of(frame, pattern, value), Mapping):
        what = f"a pattern for {describe(value)}"
        frame.fail(pattern, f"{what} is not supported", "look its keys up with if and elif")
    if entries is None or any(key not in entries for key in keys):
        return None
    return [(one, entries[key]) for key, one in zip(keys, pattern.patterns, strict=True)]


def _of_class(frame: Frame, pattern: ast.MatchClass, value: Value) -> list[tuple[ast.pattern, Value]] | None:
    kind = arith.require_static(frame.graph, evaluate(frame, pattern.cls), "the class")
    if not isinstance(kind, type):
        frame.fail(pattern, "called match pattern must be a class", None, DTypeError)
    if not issubclass(type_of(frame, pattern, value), kind):
        return None
    names = list(pattern.kwd_attrs)
    patterns = [*pattern.patterns, *pattern.kwd_patterns]
    if pattern.patterns and kind in _WHOLE:
        return [(pattern.patterns[0], value)]
    if pattern.patterns:
        given = getattr(kind, "__match_args__", ())
        if len(given) < len(pattern.patterns):
            what = f"{kind.__name__}() accepts {len(given)} positional sub-patterns ({len(pattern.patterns)} given)"
            frame.fail(pattern, what, None, DTypeError)
        names = [*given[: len(pattern.patterns)], *names]
    found = []
    for name, one in zip(names, patterns, strict=True):
        if isinstance(value, Group) and not has_attribute(frame, pattern, value, name):
            return None
        access = ast.copy_location(ast.Attribute(pattern.cls, name, ast.Load()), pattern.cls)
        found.append((one, attribute_of(frame, access, value)))
    return found


def _found(frame: Frame, pattern: ast.pattern, value: Value, name: str) -> Value | None:
    """What a pattern that matches binds to a name; None where it binds none of that name."""
    if isinstance(pattern, ast.MatchAs):
        if pattern.name == name:
            return value
        return None if pattern.pattern is None else _found(frame, pattern.pattern, value, name)
    if isinstance(pattern, ast.MatchOr):
        return _of_alternatives(frame, pattern, value, name)
    if isinstance(pattern, ast.MatchMapping) and pattern.rest == name:
        keys = [arith.require_static(frame.graph, evaluate(frame, key), "the key") for key in pattern.keys]
        rest = {key: item for key, item in (_entries(value) or {}).items() if key not in keys}
        return Group(tuple(rest.values()), dict, tuple(rest))
    if isinstance(pattern, ast.MatchSequence):
        rest = _rest(frame, pattern, value, name)
        if rest is not None:
            return rest
    for one, part in _parts(frame, pattern, value) or ():
        found = _found(frame, one, part, name)
        if found is not None:
            return found
    return None


def _rest(frame: Frame, pattern: ast.MatchSequence, value: Value, name: str) -> Value | None:
    """What `*name` in a pattern stands for."""
    for k, one in enumerate(pattern.patterns):
        if isinstance(one, ast.MatchStar) and one.name == name:
            group = _as_sequence(frame, pattern, value)
            assert group is not None
            items = group.items
            return Group(items[k : len(items) - (len(pattern.patterns) - k - 1)], list)
    return None


def _of_alternatives(frame: Frame, pattern: ast.MatchOr, value: Value, name: str) -> Value | None:
    for one in pattern.patterns:
        if name not in names_of(one):
            continue
        taken = _matches(frame, one, value)
        if not isinstance(taken, Static):
            frame.fail(
                pattern,
                f"which alternative of this pattern binds '{name}' is known at run time only",
                "write a case for each",
            )
        if taken.value:
            return _found(frame, one, value, name)
    return None
