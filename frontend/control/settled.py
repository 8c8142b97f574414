"""What a loop on whole arrays was found to carry, by names that hold in the next sweep (`sweeps.py`), which starts there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..frame.frame import Frame
from ..frame.objects import is_ref
from ..interface.errors import UnsupportedError
from ..values.names import shown
from ..values.numbers import number_kind
from ..values.values import UNBOUND, Buffer, Group, Rows, Static, Value, is_number
from .forms import Form, form_of, may_be, options_in
from .nest_loops import Loop, join_numbers
from .sharing import arrays_in
from .sweeps import Path, paths, sweeps


@dataclass(frozen=True, eq=False)
class Settled:
    """The forms of variables, those of the contents of objects by their paths, and the arrays written by variables."""

    forms: dict[str, Form]
    contents: dict[Path, Form]
    written: list[Any]
    exchanged: tuple[str, ...]


class Start:
    """A loop before it is compiled, and what earlier sweeps found of it."""

    def __init__(self, frame: Frame, node: Loop, before: dict[str, Value]):
        self._frame, self._node, self._before = frame, node, before
        sweep = sweeps(frame.graph)
        self._place = sweep.found
        self._found: Settled | None = None if sweep.is_one_by_one else sweep.found.carried
        self._paths = paths(before)

    def forms(self, first: dict[str, Form]) -> dict[str, Form]:
        """The forms to start from, for those of the variables before the loop."""
        if self._found is None:
            return first
        forms = {name: self._widened(name, form, self._found.forms.get(name)) for name, form in first.items()}
        for ref, path in self._paths.items():
            content = self._found.contents.get(path)
            if content is not None and (form := self._content(ref, content)) is not None:
                forms[ref] = form
        return forms

    def buffers(self) -> list[Buffer]:
        """The arrays that the loop writes, as far as variables show them."""
        if self._found is None:
            return []
        shown = dict(self._shown_buffers())
        return list(dict.fromkeys(shown[name] for name in self._found.written if name in shown))

    def exchanged(self) -> tuple[str, ...]:
        """The arrays that change places in each iteration."""
        names = () if self._found is None else self._found.exchanged
        known = arrays_in(self._before)
        return names if all(name in known for name in names) else ()

    def keep(self, forms: dict[str, Form], buffers: list[Buffer], exchanged: tuple[str, ...]) -> None:
        """Note what the loop was found to carry."""
        shown: dict[Buffer, Any] = {}
        for name, buffer in self._shown_buffers():
            shown.setdefault(buffer, name)
        contents = {path: forms[ref] for ref, path in self._paths.items() if ref in forms}
        named = {name: form for name, form in forms.items() if not is_ref(name)}
        written = [shown[buffer] for buffer in buffers if buffer in shown]
        self._place.carried = Settled(named, contents, written, exchanged)

    def _shown_buffers(self) -> Iterable[tuple[Any, Buffer]]:
        """Buffers by names that hold in the next sweep: of arrays that variables and objects are or hold, and of lists that
        grow."""
        for name, array in arrays_in(self._before).items():
            owner, _, item = name.partition("[")
            if is_ref(owner):
                if owner in self._paths:
                    yield (self._paths[owner], item), array.buffer
            else:
                yield name, array.buffer
        for name, value in self._before.items():
            if isinstance(value, Rows):
                shown = self._paths.get(name, name)
                for k, rows in enumerate([value, *value.columns]):
                    yield (shown, k), rows.buffer
                if value.cell is not None:
                    yield (shown, "count"), value.cell.buffer

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
        if found is None or found.undefined:
            return form
        if form.undefined:
            return found if _lasts(found) else form
        texts = [options_in(one) for one in (form, found)]
        if all(texts) and not (form.fixed is not None and found.fixed is not None):
            return Form(int, options=tuple(dict.fromkeys((*texts[0], *texts[1]))))
        if form.items is not None and found.items is not None:
            return self._widened_items(name, form, found)
        if found.kind is None or found.options or found.fixed is not None or form.items is not None:
            return form
        if form.extents is not None or found.extents is not None:
            aliases = tuple(sorted({*form.aliases, *found.aliases}))
            return replace(form, order=form.order if form.order == found.order else None, aliases=aliases)
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
        joined = form.joined if found.own else may_be(self._frame, form).joined_with(found.joined)
        return replace(form, items=tuple(items), ref=None, own=found.own, joined=joined)


def _is_fixed_number(form: Form) -> bool:
    return form.fixed is not None and form.fixed is not UNBOUND and is_number(form.fixed)


def _lasts(form: Form) -> bool:
    """Whether the form of a value holds in the next sweep: it hangs on nothing that is computed in the loop."""
    if form.ref is not None or form.joined.given:
        return False
    if form.items is not None:
        return all(map(_lasts, form.items))
    if form.fixed is not None:
        return isinstance(form.fixed, Static)
    return all(extent.known is not None or extent.is_of_extents() for extent in form.extents or ())
