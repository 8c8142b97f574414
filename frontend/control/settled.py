"""What a loop on whole arrays was found to carry: where attempts at it start, when a loop around it is compiled again.

An attempt at a loop compiles the loops in it, and each of these makes attempts of its own until what it carries does not
change. Two for each loop would be as many for the innermost one as 2 to the depth. What was found holds where the variables
that the loop reads are of the same kinds: later attempts would come to it, too.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..frame.frame import Frame
from ..frame.objects import current, is_ref, place_of
from ..interface.errors import UnsupportedError
from ..values.names import shown
from ..values.numbers import number_kind
from ..values.values import (
    UNBOUND,
    Array,
    Buffer,
    Chosen,
    Group,
    Index,
    Late,
    Range,
    Rows,
    Static,
    Tensor,
    Value,
    is_number,
)
from .forms import Form, form_of, may_be
from .nest_loops import Loop, join_numbers
from .sharing import arrays_in

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


@dataclass(frozen=True, eq=False)
class Settled:
    """The forms of variables, those of the contents of objects by a variable that shows them, and the arrays written."""

    kinds: Hashable
    forms: dict[str, Form]
    contents: dict[str, Form]
    written: list[str]


class Start:
    """A loop before it is compiled: whether it has been before, with variables of these kinds."""

    def __init__(self, frame: Frame, node: Loop, before: dict[str, Value]):
        self._frame, self._node, self._before = frame, node, before
        self._place = place_of(frame, node), type(node)
        self._kinds = _kinds_read(frame, node, before)
        known = frame.graph.settled.get(self._place)
        self._found: Settled | None = known if known is not None and known.kinds == self._kinds else None

    def forms(self, first: dict[str, Form]) -> dict[str, Form]:
        """The forms to start from, for those of the variables before the loop."""
        if self._found is None:
            return first
        forms = {name: self._widened(name, form, self._found.forms.get(name)) for name, form in first.items()}
        for name, content in self._found.contents.items():
            value = self._before.get(name)
            ref = value.ref if isinstance(value, Group) else None
            if ref is not None and (form := self._content(ref, content)) is not None:
                forms[ref] = form
        return forms

    def buffers(self) -> list[Buffer]:
        """The arrays that the loop writes, as far as variables show them."""
        if self._found is None:
            return []
        shown = dict(_shown_buffers(self._before))
        return list(dict.fromkeys(shown[name] for name in self._found.written if name in shown))

    def keep(self, forms: dict[str, Form], buffers: list[Buffer]) -> None:
        """Note what the loop was found to carry."""
        if self._kinds is None:
            return
        shown = {buffer: name for name, buffer in _shown_buffers(self._before)}
        contents = {
            name: forms[value.ref]
            for name, value in self._before.items()
            if isinstance(value, Group) and value.ref in forms and not is_ref(name)
        }
        named = {name: form for name, form in forms.items() if not is_ref(name)}
        written = [shown[buffer] for buffer in buffers if buffer in shown]
        self._frame.graph.settled[self._place] = Settled(self._kinds, named, contents, written)

    def _content(self, ref: str, found: Form) -> Form | None:
        value = self._before.get(ref)
        if not isinstance(value, Group) or found.items is None:
            return None
        if found.sequence is not value.kind or found.names != value.names:
            return None
        if len(found.items) != len(value.items):
            return None
        items = tuple(
            [
                Form(fixed=item)
                if form.fixed is not None
                else self._widened(ref, form_of(self._frame, "", item), form)
                for item, form in zip(value.items, found.items, strict=True)
            ]
        )
        return Form(items=items, sequence=value.kind, names=value.names)

    def _widened(self, name: str, form: Form, found: Form | None) -> Form:
        """The form of a variable, as wide as it was found to be: its type and what it consists of, not its extents."""
        if found is None or form.undefined or found.undefined:
            return form
        if form.items is not None and found.items is not None:
            return self._widened_items(name, form, found)
        if found.kind is None or found.options or found.fixed is not None or form.items is not None:
            return form
        if form.extents is not None or found.extents is not None:
            return replace(form, order=None) if form.order != found.order else form
        kind = number_kind(self._frame.graph, form.fixed) if _is_fixed_number(form) else form.kind  # pyright: ignore
        if kind is None or form.options:
            return form
        try:
            return Form(join_numbers(self._frame, self._node, "this", kind, found.kind))
        except UnsupportedError:
            return form

    def _widened_items(self, name: str, form: Form, found: Form) -> Form:
        assert form.items is not None and found.items is not None
        alike = form.sequence is found.sequence and form.names == found.names
        if not alike or len(form.items) != len(found.items) or found.ref is not None:
            return form
        if form.ref is not None and not found.own:
            self._frame.graph.fixed_objects.setdefault(form.ref, f"may be {shown(name)} too")
        items = [self._widened(name, one, other) for one, other in zip(form.items, found.items, strict=True)]
        joined = form.joined if found.own else may_be(self._frame, form)
        return replace(form, items=tuple(items), ref=None, own=found.own, joined=joined)


def _is_fixed_number(form: Form) -> bool:
    return form.fixed is not None and form.fixed is not UNBOUND and is_number(form.fixed)


def _shown_buffers(before: dict[str, Value]) -> Iterable[tuple[str, Buffer]]:
    """Buffers by names: of arrays that variables are or hold, and of lists that grow."""
    for name, array in arrays_in(before).items():
        yield name, array.buffer
    for name, value in before.items():
        if isinstance(value, Rows):
            for k, rows in enumerate([value, *value.columns]):
                yield f"{name} {k}", rows.buffer
            if value.cell is not None:
                yield f"{name} count", value.cell.buffer


def _kinds_read(frame: Frame, node: Loop, before: dict[str, Value]) -> Hashable:
    """The kinds of the variables that a loop reads or writes; None where something else may say what it does."""
    if frame.home is not None:
        return None
    names = sorted({n.id for n in ast.walk(node) if isinstance(n, ast.Name)})
    kinds = [(name, _kind(frame, before[name])) for name in names if name in before]
    return None if any(kind is None for _, kind in kinds) else tuple(kinds)


def _kind(frame: Frame, value: Value) -> Hashable:
    """What a loop's types may depend on of a value; None for what is not known here."""
    if value is UNBOUND:
        return "unbound"
    if isinstance(value, Static):
        raw: Any = value.raw
        return (type(raw), repr(raw)) if isinstance(raw, _PLAIN) else id(raw)
    if isinstance(value, Index):
        return "index"
    if isinstance(value, Range):
        return "range", value.step
    if isinstance(value, Tensor):
        return "tensor", value.dtype.str, value.weak, value.scalar, len(value.extents), value.order
    if isinstance(value, Array):
        return "array", value.dtype.str, len(value.axes), value.whole, value.buffer.order
    if isinstance(value, Chosen):
        return "chosen", value.options
    if isinstance(value, Late):
        return _all("late", [_kind(frame, one) for one in (value.value, value.before) if one is not None])
    if isinstance(value, Rows):
        columns = [(rows.buffer.dtype.str, len(rows.buffer.extents)) for rows in (value, *value.columns)]
        return "rows", str(value.kind), value.is_array, value.is_open, value.shrinks, tuple(columns)
    if isinstance(value, Group):
        now = current(frame, value)
        if isinstance(now, Rows):
            return _kind(frame, now)
        if not isinstance(now, Group):
            return None
        kinds = [_kind(frame, item) for item in now.items]
        return _all(("group", now.kind, now.names, value.ref is None), kinds)
    return None


def _all(what: Hashable, kinds: list[Hashable]) -> Hashable:
    return None if None in kinds else (what, *kinds)
