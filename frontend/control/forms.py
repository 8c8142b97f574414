"""What a value is made of: the tensors that control flow carries for it, and the value made of them again.

a number          %x : tensor<i64>                  a weak int, a bool, an np.float32: its kind is kept
(h, n)            %h : tensor<4xf64>, %n : tensor<i64>
a NamedTuple      the tensors of its fields, in order
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from xdsl.ir import Attribute, SSAValue

from ..frame.frame import Frame
from ..frame.objects import current, is_ref, stored
from ..interface.errors import Respecialise
from ..interface.structures import Maybe, parts_of
from ..values.aliases import TAG, aliases_of, fresh_tag, lasting, tag_of
from ..values.arithmetic import convert
from ..values.extents import Affine
from ..values.graph import NO_OTHER, Joined, tensor_type
from ..values.names import ir_name, shown, written
from ..values.numbers import number_kind
from ..values.promotion import WEAK_DTYPES, Operand, same_operand
from ..values.tensors import broadcast, constant, order_of
from ..values.values import (
    UNBOUND,
    Array,
    Buffer,
    Chosen,
    Extents,
    Group,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    is_array,
    is_number,
    shape_text,
    whole,
)
from .chosen_texts import number_among
from .nest_loops import join_numbers
from .same_values import is_same
from .structured import RESULT
from .which_object import joined_of, number_of


@dataclass(frozen=True, eq=False)
class Form:
    """What of a value stays the same in all iterations: a number's type, an array's type and shape, a tuple's items.

    `own` says of an object that only this variable shows it, so that it may be changed afterwards.
    `joined` are the objects that it may be; of those of the caller a number says which one it is (`which_object.py`).
    `ref` says that it is one object all the time, whose content is a variable of its own (`objects.py`);
    `fixed` is an object known at compile time; `undefined` what a `return` that was not reached would leave.
    `aliases`: the views of arguments that an array may be; a tensor of its own says which (`aliases.py`).
    `options` are strings, of which the tensor is the number of one.
    `order` is the memory order of an array where all paths agree on it.
    """

    kind: Operand | None = None
    extents: Extents | None = None
    items: tuple[Form, ...] | None = None
    sequence: type = tuple
    names: tuple[Any, ...] | None = None
    ref: str | None = None
    fixed: Value | None = None
    undefined: bool = False
    aliases: tuple[int, ...] = ()
    order: tuple[int, ...] | None = None
    own: bool = False
    joined: Joined = NO_OTHER
    options: tuple[Any, ...] = ()

    @property
    def dtype(self) -> np.dtype:
        assert self.kind is not None
        return WEAK_DTYPES[self.kind] if isinstance(self.kind, type) else self.kind

    def leaves(self) -> Iterator[Form]:
        """The numbers and arrays in it."""
        if self.ref is not None:
            return
        if self.items is not None:
            if self.joined.given:
                yield Form(int)
            for item in self.items:
                yield from item.leaves()
        elif self.fixed is None and not self.undefined:
            yield self

    def types(self) -> list[Attribute]:
        types: list[Attribute] = []
        for leaf in self.leaves():
            types.append(tensor_type(leaf.dtype, leaf.extents or ()))
            if leaf.aliases:
                types.append(TAG)
        return types


def form_of(frame: Frame, name: str, value: Value) -> Form:
    """The form of a variable's value."""
    if value is UNBOUND:
        return Form(undefined=True)
    if isinstance(value, Group):
        now = current(frame, value)
        if not isinstance(now, Group):  # a list whose length the run counts by now
            return Form(fixed=now)
        items = tuple([form_of(frame, "", item) for item in now.items])
        return Form(items=items, sequence=now.kind, names=now.names, ref=now.ref)
    if isinstance(value, Chosen):
        return Form(int, options=value.options)
    if not is_number(value):
        return Form(fixed=value)
    kind = number_kind(frame.graph, value)
    if is_array(value) or extents_of(value):
        assert isinstance(kind, np.dtype)
        order = (
            order_of(value)
            if isinstance(value, Array)
            else value.order
            if isinstance(value, Tensor)
            else None
        )
        return Form(kind, extents_of(value), aliases=aliases_of(frame.graph, value), order=order)
    return Form(kind)


def content_form(
    frame: Frame, node: ast.AST, name: str, then: dict[str, Value], other: dict[str, Value]
) -> Form:
    """The form of an object's content, by its ref in the variables of two paths: items that are the same on both are not
    carried."""
    a, b = then[name], other[name]

    def joined(key: str, x: Value, y: Value) -> Form:
        forms = [form_on(frame, key, value, side) for value, side in ((x, then), (y, other))]
        return joined_form(frame, node, name, *forms, known=then.keys() & other.keys())

    if isinstance(a, Group) and isinstance(b, Group) and a.names == b.names and len(a.items) == len(b.items):
        pairs = zip(a.items, b.items, strict=True)
        items = tuple([Form(fixed=x) if is_same(x, y) else joined("", x, y) for x, y in pairs])
        return Form(items=items, sequence=a.kind, names=a.names)
    return joined(name, a, b)


def form_on(frame: Frame, name: str, value: Value, side: dict[str, Value]) -> Form:
    """The form of a value on a path with the variables `side`."""
    now, frame.scope.variables = frame.scope.variables, side
    try:
        return form_of(frame, name, value)
    finally:
        frame.scope.variables = now


def widened_form(
    frame: Frame, node: ast.AST, name: str, old: Form, value: Value, known: Container[str]
) -> Form:
    """The form `old` of an object's content, where it may be `value` too."""
    if old.items is None or not isinstance(value, Group) or len(old.items) != len(value.items):
        return joined_form(frame, node, name, old, form_of(frame, name, value), known)
    if old.names != value.names or old.sequence is not value.kind:
        return joined_form(frame, node, name, old, form_of(frame, name, value), known)
    items = [
        form
        if form.fixed is not None and is_same(form.fixed, item)
        else joined_form(frame, node, name, form, form_of(frame, "", item), known)
        for form, item in zip(old.items, value.items, strict=True)
    ]
    return replace(old, items=tuple(items))


def lasting_form(frame: Frame, form: Form, known: int | None) -> Form:
    """The form of a value that an iteration leaves, as it is known after the loop (`aliases.lasting`)."""
    if form.items is not None:
        return replace(form, items=tuple([lasting_form(frame, item, known) for item in form.items]))
    return replace(form, aliases=lasting(frame.graph, form.aliases, known)) if form.aliases else form


def may_be(frame: Frame, form: Form) -> Joined:
    """The objects that a value of this form may be."""
    return form.joined if form.ref is None else joined_of(frame.graph, form.ref)


def options_in(form: Form) -> tuple[Any, ...]:
    """The strings that a value may be; () for others."""
    if isinstance(form.fixed, Static) and type(form.fixed.raw) is str:
        return (form.fixed.raw,)
    return form.options


def _of_number(frame: Frame, form: Form) -> Form:
    """The form of a value that was the same on all paths so far."""
    if form.fixed is None or not (is_number(form.fixed) or isinstance(form.fixed, Group)):
        return form
    return form_of(frame, "", form.fixed)


def joined_form(
    frame: Frame,
    node: ast.AST,
    name: str,
    a: Form,
    b: Form,
    known: Container[str],
    own: bool = False,
) -> Form:
    """The form of a variable that has one form on one path and another on the other; `own` of objects that only it shows.

    `known` are the variables of both paths, contents of objects among them.
    """
    if a.undefined or b.undefined:
        return _of_parts(frame, b if a.undefined else a, known)
    if name == RESULT and (_may_be_none(a) or _may_be_none(b)) and not (_is_none(a) and _is_none(b)):
        return _maybe(frame, node, a, b, known)
    if (
        a.items is not None
        and b.items is not None
        and len(a.items) == len(b.items)
        and a.sequence is b.sequence
        and a.names == b.names
    ):
        if a.ref is not None and a.ref == b.ref:
            return a
        own = own and (a.own or a.ref is not None) and (b.own or b.ref is not None)
        for ref in (a.ref, b.ref):
            if (
                ref is not None and not own
            ):  # what is made of both is a copy, which would not show later changes
                frame.graph.fixed_objects.setdefault(ref, f"may be {shown(name)} too")
        items = [
            joined_form(frame, node, name, x, y, known, own) for x, y in zip(a.items, b.items, strict=True)
        ]
        joined = NO_OTHER if own else may_be(frame, a).joined_with(may_be(frame, b))
        return Form(items=tuple(items), sequence=a.sequence, names=a.names, own=own, joined=joined)
    if a.fixed is not None and b.fixed is not None and is_same(a.fixed, b.fixed):
        return a
    texts = [options_in(form) for form in (a, b)]
    if all(texts):
        return Form(int, options=tuple(dict.fromkeys((*texts[0], *texts[1]))))
    a, b = _of_number(frame, a), _of_number(frame, b)
    if a.options or b.options:
        _fail_forms(frame, node, name, a, b)
    if a.kind is None or b.kind is None:
        _fail_forms(frame, node, name, a, b)
    if a.extents is None and b.extents is None:
        return Form(join_numbers(frame, node, name, a.kind, b.kind))
    x, y = a.extents or (), b.extents or ()
    if a.extents is None or b.extents is None or len(x) != len(y):
        _fail_forms(frame, node, name, a, b)
    if not all(
        frame.graph.assumptions.equal(p, q, f"the shape of {shown(name)}") for p, q in zip(x, y, strict=True)
    ):
        _fail_forms(frame, node, name, a, b)
    if not same_operand(a.kind, b.kind):
        frame.fail(
            node,
            f"{shown(name)} is an array of {a.kind} on one path and of {b.kind} on another",
            f"start it with the dtype it ends with, or use {written(name)}.astype(...)",
        )
    aliases = tuple(sorted({*a.aliases, *b.aliases}))
    seen = [_visible(frame, p, q) for p, q in zip(x, y, strict=True)]
    if any(extent is None for extent in seen):
        _fail_forms(frame, node, name, a, b)
    extents = tuple([extent for extent in seen if extent is not None])
    return replace(a, extents=extents, aliases=aliases, order=a.order if a.order == b.order else None)


def _is_none(form: Form) -> bool:
    return isinstance(form.fixed, Static) and form.fixed.value is None


def _may_be_none(form: Form) -> bool:
    return form.sequence is Maybe or _is_none(form)


def _of_parts(frame: Frame, form: Form, known: Container[str]) -> Form:
    """The form of a value that one path has: objects that it made are what they consist of, and not `known` elsewhere."""
    if form.items is None or (form.ref is not None and form.ref in known):
        return form
    items = tuple([_of_parts(frame, item, known) for item in form.items])
    return replace(form, items=items, ref=None, joined=may_be(frame, form))


def _maybe(frame: Frame, node: ast.AST, a: Form, b: Form, known: Container[str]) -> Form:
    """The form of what a function returns that returns None on some paths."""
    given = [
        form.items[1] if form.sequence is Maybe and form.items is not None else form
        for form in (a, b)
        if not _is_none(form)
    ]
    inner = _of_number(
        frame,
        _of_parts(frame, given[0], known)
        if len(given) == 1
        else joined_form(frame, node, RESULT, *given, known=known),
    )
    if inner.fixed is not None and not isinstance(inner.fixed, Group):
        _fail_forms(frame, node, RESULT, a, b)
    return Form(items=(Form(bool), inner), sequence=Maybe)


def _visible(frame: Frame, one: Affine, other: Affine) -> Affine | None:
    """An extent that is equal on both paths, of values that are known behind them."""
    seen = frame.graph.visible(one)
    return frame.graph.visible(other) if seen is None else seen


def _fail_forms(frame: Frame, node: ast.AST, name: str, a: Form, b: Form) -> NoReturn:
    for form in (a, b):
        if isinstance(form.fixed, Static) and not frame.graph.spreads_objects and parts_of(form.fixed.raw):
            raise Respecialise(objects=True, why=f"{shown(name)} may be in an argument")
    sides = [_describe(form) for form in (a, b)]
    message = f"{shown(name)} is {sides[0]} on one path and {sides[1]} on another"
    hint = "give it one type and shape"
    if a.extents is not None and b.extents is not None:
        hint += ": keep an array of the largest shape and how much of it counts (kept[:n]), or a mask of what is left"
    frame.fail(node, message, hint)


def _describe(form: Form) -> str:
    if form.options:
        return f"one of {', '.join(map(repr, form.options))}"
    if form.items is not None:
        return f"a {form.sequence.__name__} of {len(form.items)}"
    if form.fixed is not None:
        return describe(form.fixed)
    if form.extents is not None:
        return f"an array of shape {shape_text(form.extents)}"
    return f"a number ({form.kind.__name__ if isinstance(form.kind, type) else form.kind})"


def flatten(frame: Frame, form: Form, value: Value) -> list[SSAValue]:
    """The tensors of a value that has `form`, or may take it."""
    if form.ref is not None:
        return []
    if (
        form.sequence is Maybe
        and value is not UNBOUND
        and not (isinstance(value, Group) and value.kind is Maybe)
    ):
        assert form.items is not None
        is_given = not (isinstance(value, Static) and value.value is None)
        flag = convert(frame.graph, Static(is_given), form.items[0].dtype).ssa
        return [flag, *flatten(frame, form.items[1], value if is_given else UNBOUND)]
    if form.items is not None:
        if not isinstance(value, Group):
            return [ssa for leaf in form.leaves() for ssa in _zeros(frame, leaf)]
        value = current(frame, value)
        assert isinstance(value, Group)
        given = form.joined.given
        number = [number_of(frame.graph, given, value.ref)] if given else []
        pairs = zip(form.items, value.items, strict=True)
        return [*number, *(ssa for item, part in pairs for ssa in flatten(frame, item, part))]
    if form.fixed is not None or form.undefined:
        return []
    if value is UNBOUND:
        return _zeros(frame, form)
    if form.options:
        value = number_among(frame, form.options, value)
    contents = convert(frame.graph, value, form.dtype).ssa
    return [contents, tag_of(frame.graph, value)] if form.aliases else [contents]


def _zeros(frame: Frame, leaf: Form) -> list[SSAValue]:
    """What stands where nothing was returned."""
    zero = Tensor(constant(frame.graph, 0, leaf.dtype), leaf.dtype, ())
    contents = broadcast(frame.graph, zero, leaf.extents or ()).ssa
    return [contents, fresh_tag(frame.graph)] if leaf.aliases else [contents]


def built(frame: Frame, form: Form, tensors: Iterator[SSAValue], name: str) -> Value:
    """The value of `form` that consists of the tensors."""
    if form.ref is not None:
        return Group((), form.sequence, None, form.ref)
    if form.items is not None:
        # Objects in another one have names of their own: the content of a ref is no object that could be changed.
        inner = "" if is_ref(name) else name
        number = next(tensors) if form.joined.given else None
        items = tuple([built(frame, item, tensors, inner) for item in form.items])
        made = Group(items, form.sequence, form.names)
        why = None if form.own else "was made on some paths or in some iterations only"
        if is_ref(name):
            return made
        value = stored(frame, made, why)
        if isinstance(value, Group) and value.ref is not None and form.joined != NO_OTHER:
            frame.graph.joined_objects[value.ref] = replace(form.joined, number=number)
        return value
    if form.fixed is not None:
        return form.fixed
    if form.undefined:
        return UNBOUND
    ssa = next(tensors)
    if ssa.name_hint is None:
        ssa.name_hint = ir_name(name.lstrip(".")) or None
    if form.extents is None:
        weak = form.kind if isinstance(form.kind, type) else None
        number = Tensor(ssa, form.dtype, (), True, weak)
        return Chosen(form.options, number) if form.options else number
    called = "" if is_ref(name) else name.lstrip(".")
    buffer = Buffer(ssa, form.dtype, form.extents, called, form.order, aliases=form.aliases, joined=True)
    if form.aliases:
        buffer.tag = next(tensors)
    return whole(buffer)
