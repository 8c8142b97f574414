"""Assignments: names, items, parts of arrays, `op=`; and what may be written."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..control.structured import RESULT
from ..frame.frame import Frame
from ..frame.instances import has_attributes, refuse_outside, set_attribute
from ..frame.objects import (
    ASSIGNED,
    as_now,
    change,
    change_made,
    current,
    entries_of,
    is_made,
    kept,
    merge,
    position_of,
    set_item,
    stored,
)
from ..frame.outside import is_own_attribute
from ..frame.recursion import evaluate
from ..indexing.stores import store_window
from ..interface.errors import DTypeError, ShapeError, UnsupportedError
from ..values.arithmetic import is_number, operate, require_static
from ..values.names import ir_name
from ..values.tensors import as_readable
from ..values.values import (
    Array,
    Chosen,
    Group,
    Iteration,
    Lazy,
    Range,
    Rows,
    Scalar,
    Static,
    Tensor,
    Value,
    describe,
    is_flat,
)
from ..values.writes import check_writable
from . import special_methods
from .attributes import attribute_of
from .chosen import by_option, is_option
from .operators import BINARY, IN_PLACE, combined, is_sequence
from .subscripts import (
    as_indices,
    effectful_indices,
    evaluated_once,
    key_value,
    nested_indices,
    subscript_items,
)

if TYPE_CHECKING:
    from ..indexing.views import Item


def assign(frame: Frame, node: ast.Assign) -> None:
    if (
        len(node.targets) == 1
        and isinstance(node.targets[0], ast.Subscript)
        and not effectful_indices(frame, node.targets[0])
        and not _is_item(frame, node.targets[0])
    ):
        return _assign_subscript(frame, node.targets[0], node.value)
    value = evaluate(frame, node.value)
    if (
        frame.graph.island is not None
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == RESULT
    ):
        from ..control.nest_loops import refuse_result

        refuse_result(frame, node, value)
    if len(node.targets) > 1:
        value = kept(frame, value)
    for target in node.targets:
        bind(frame, target, value)


def annotated(frame: Frame, node: ast.AnnAssign) -> None:
    if node.value is not None:
        bind(frame, node.target, evaluate(frame, node.value))


def bind(frame: Frame, target: ast.expr, value: Value) -> None:
    """`target = value`, for any target."""
    if isinstance(target, ast.Name):
        return bind_name(frame, target.id, value)
    if isinstance(target, ast.Tuple | ast.List):
        return _unpack(frame, target, value)
    if isinstance(target, ast.Subscript) and (parts := effectful_indices(frame, target)):
        with evaluated_once(frame, target, parts) as plain:
            return bind(frame, plain, value)
    if isinstance(target, ast.Subscript):
        if _set_at_run_time(frame, target, lambda present: value, ASSIGNED):
            return
        if _is_item(frame, target):
            if isinstance(target.slice, ast.Slice) and not has_attributes(evaluate(frame, target.value)):
                return _set_slice(frame, target, value)
            owner, key = _item(frame, target)
            return _set_item(frame, target, owner, key, value)
        return _store(frame, target, lambda: value)
    if isinstance(target, ast.Attribute) and target.attr == "flat":
        owner = evaluate(frame, target.value)
        if isinstance(owner, Array):
            whole = ast.copy_location(ast.Constant(Ellipsis), target)
            part = ast.copy_location(ast.Subscript(target, whole, ast.Store()), target)
            return _store(frame, part, lambda: value)
    if isinstance(target, ast.Attribute):
        owner = _owner(frame, target.value)
        part = _part_of(owner, target.attr)
        if part is not None:
            frame.at(target)
            return store_window(frame.graph, part, _number(frame, target, value, part))
        return set_attribute(frame, target, owner, target.attr, value)
    frame.fail(target, "this target is not supported", "assign to names, items and attributes")


_PARTS = ("real", "imag")


def _owner(frame: Frame, node: ast.expr) -> Value:
    """What is assigned to: `x.real` is a window of x here, elsewhere its value at that moment."""
    if isinstance(node, ast.Attribute) and node.attr in _PARTS:
        owner = _owner(frame, node.value)
        part = _part_of(owner, node.attr)
        if part is not None:
            return part
    return evaluate(frame, node)


def _part_of(owner: Value, name: str) -> Array | None:
    """The parts of an array as a window of it; the real parts of a real array are the array."""
    if name not in _PARTS or not isinstance(owner, Array) or owner.part:
        return None
    if owner.dtype.kind != "c":
        return owner if name == "real" else None
    return replace(owner, part=name)


def _refuse_parts_at(frame: Frame, node: ast.AST, owner: Array) -> None:
    """Raise where the parts of elements are written that arrays name."""
    if owner.part:
        frame.fail(
            node,
            "writing parts of complex numbers at indices or under a mask is not supported",
            "assign the numbers: x[k] = real + 1j * imag",
        )


def _set_at_run_time(
    frame: Frame,
    target: ast.Subscript,
    make: Callable[[Value | None], Value],
    message: str | None = None,
) -> bool:
    """`xs[i] = value`, `m[i][j] = value` of lists of numbers at an index known at run time; whether it is such a target.

    `make` gives the value, from the present one where it is `op=`; `message` says that the index is outside.
    """
    from .choices import is_run_time, nested_item, set_at_index

    if _set_at_text(frame, target, make):
        return True
    found = nested_indices(frame, target)
    if found is None:
        if isinstance(target.slice, ast.Slice | ast.Tuple) or not _is_item(frame, target):
            return False
        owner = evaluate(frame, target.value)
        if not isinstance(owner, Group) or owner.kind is not list:
            return False
        index = evaluate(frame, target.slice)
        if not is_run_time(index):
            return False
        found = owner, [index]
    owner, indices = found
    frame.at(target)
    present = nested_item(frame, target, owner, indices, message)
    value = make(present)

    def put(group: Group, items: list[Value]) -> None:
        now = current(frame, group)
        assert isinstance(now, Group)
        change(frame, target, now, items)

    set_at_index(frame, target, owner, indices, value, put)
    return True


def _set_at_text(frame: Frame, target: ast.Subscript, make: Callable[[Value | None], Value]) -> bool:
    """`counts[kind] = value` of a dict, at a string that the run chooses; whether it is such a target."""
    from .choices import choose

    if not isinstance(target.slice, ast.Name | ast.IfExp) or not _is_item(frame, target):
        return False
    owner = evaluate(frame, target.value)
    if not isinstance(owner, Group) or owner.kind is not dict:
        return False
    key = evaluate(frame, target.slice)
    if not isinstance(key, Chosen):
        return False
    frame.at(target)
    names = owner.names or ()
    missing = [option for option in key.options if option not in names]
    if missing:
        frame.fail(
            target,
            f"{missing[0]!r} may be the key, which is {describe(key)}, and the dict has no such entry",
            "give the dict an entry for each key before: counts = {'a': 0, 'b': 0}",
        )
    value = make(
        by_option(frame, target, key, lambda one: owner.items[position_of(frame, target, owner, one)])
    )
    now = current(frame, owner)
    assert isinstance(now, Group)
    items = list(now.items)
    for k, option in enumerate(key.options):
        place = names.index(option)
        items[place] = choose(frame, target, is_option(frame, target, key, k), value, items[place])
    change(frame, target, now, items)
    return True


def _set_item(frame: Frame, target: ast.AST, owner: Value, key: Value, value: Value) -> None:
    if has_attributes(owner):
        return special_methods.set_item(frame, target, owner, key, value)
    assert isinstance(owner, Group)
    set_item(frame, target, owner, key, value)


def _is_item(frame: Frame, target: ast.Subscript) -> bool:
    """Whether the target is an item of a list or dict, or of an object."""
    root: ast.expr = target.value
    while isinstance(root, ast.Subscript | ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or not isinstance(frame.lookup(root), Group | Static):
        return False
    if nested_indices(frame, target) is not None:
        return True
    owner = evaluate(frame, target.value)
    return isinstance(owner, Group) or has_attributes(owner)


def _item(frame: Frame, target: ast.Subscript) -> tuple[Value, Value]:
    """The list, dict or object of a target, and the index or key."""
    from ..indexing.views import Slice

    owner = evaluate(frame, target.value)
    items = subscript_items(frame, target.slice)
    frame.at(target)
    owner = as_now(frame, owner)
    if has_attributes(owner):
        return owner, key_value(frame, target, items)
    keys = [item for item in items if not isinstance(item, Slice)]
    if len(keys) != len(items):
        frame.fail(target, "this slice of a list is not supported", "write xs[i:j] = ..., or make a new list")
    return owner, keys[0] if len(keys) == 1 else Group(tuple(keys))


def _set_slice(frame: Frame, target: ast.Subscript, value: Value) -> None:
    """`items[i:j] = values`."""
    from ..control.sequences import listed

    owner, where = _part_of_a_list(frame, target)
    items = list(owner.items)
    new = listed(frame, target, value)
    try:
        items[where] = new
    except ValueError as error:
        frame.fail(target, str(error), None, ShapeError)
    change(frame, target, owner, items)


def _part_of_a_list(frame: Frame, target: ast.Subscript) -> tuple[Group, slice]:
    """The list of a target, and its slice, which must be known at compile time."""
    from ..indexing.views import Slice

    owner = evaluate(frame, target.value)
    assert isinstance(owner, Group)
    if owner.kind is not list:
        frame.fail(target, f"{describe(owner)} does not support slices as targets", None, DTypeError)
    (part,) = subscript_items(frame, target.slice)
    assert isinstance(part, Slice)
    frame.at(target)
    bounds = [
        None if b is None else require_static(frame.graph, b, "a slice bound")
        for b in (part.start, part.stop, part.step)
    ]
    return owner, slice(*bounds)


def delete_item(frame: Frame, target: ast.Subscript) -> None:
    """`del items[k]`, `del items[i:j]`, `del entries[key]`."""
    if parts := effectful_indices(frame, target):
        with evaluated_once(frame, target, parts) as plain:
            return delete_item(frame, plain)
    from .choices import is_run_time, popped

    if not _is_item(frame, target):
        owner = evaluate(frame, target.value)
        if isinstance(owner, Static) and type(owner.raw) in (list, dict):
            refuse_outside(frame, target, f"a {type(owner.raw).__name__}")
        what = describe(owner)
        frame.fail(target, f"deleting a part of {what} is not supported", "take a slice of it, or np.delete")
    is_object = has_attributes(evaluate(frame, target.value))
    if isinstance(target.slice, ast.Slice) and not is_object:
        owner, where = _part_of_a_list(frame, target)
        items = list(owner.items)
        del items[where]
        return change(frame, target, owner, items)
    owner, key = _item(frame, target)
    if is_object:
        return special_methods.delete_item(frame, target, owner, key)
    assert isinstance(owner, Group)
    if owner.kind not in (list, dict):
        frame.fail(target, f"{describe(owner)} does not support item deletion", None, DTypeError)
    if owner.kind is list and is_run_time(key):
        _, left = popped(frame, target, owner, key, ASSIGNED)
        return change(frame, target, owner, left)
    position = position_of(frame, target, owner, key, ASSIGNED if owner.kind is list else "")
    names = None if owner.names is None else [n for k, n in enumerate(owner.names) if k != position]
    change(frame, target, owner, [v for k, v in enumerate(owner.items) if k != position], names)


def bind_name(frame: Frame, name: str, value: Value) -> None:
    """Give a variable its value; what was computed for it takes its name."""
    if isinstance(value, Lazy):
        assert frame.graph.island is not None
        value = frame.graph.island.materialise(value, name)
    if isinstance(value, Iteration) and value.once:
        raise frame.graph.error(
            UnsupportedError, "keeping an iterator is not supported", "keep a list of it: list(...)"
        )
    value = stored(frame, value)
    frame.variables[name] = value
    frame.mark_bound(name)
    if isinstance(value, Tensor | Scalar) and value.ssa.name_hint is None:
        value.ssa.name_hint = ir_name(name)
    if isinstance(value, Array) and not value.buffer.name:
        value.buffer.name = name
        if value.buffer.value is not None and value.buffer.value.name_hint is None:
            value.buffer.value.name_hint = ir_name(name)


def _unpack(frame: Frame, target: ast.Tuple | ast.List, value: Value) -> None:
    from ..control.sequences import listed

    frame.at(target)
    items = [_computed(frame, item) for item in listed(frame, target, value)]
    starred = [k for k, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
    if starred:
        return _unpack_starred(frame, target, starred[0], items)
    if len(items) != len(target.elts):
        few = len(items) < len(target.elts)
        text = f"not enough values to unpack (expected {len(target.elts)}, got {len(items)})"
        frame.fail(
            target,
            text if few else f"too many values to unpack (expected {len(target.elts)})",
            f"there are {len(items)}; `first, *rest = ...` takes as many as there are",
            ShapeError,
        )
    for one, item in zip(target.elts, items, strict=True):
        bind(frame, one, item)


def _computed(frame: Frame, value: Value) -> Value:
    """An array expression in memory, also as an item: the targets before its own may write what it reads."""
    if isinstance(value, Group) and value.kind is tuple:
        return replace(value, items=tuple([_computed(frame, item) for item in value.items]))
    return kept(frame, value) if isinstance(value, Lazy) else value


def _unpack_starred(
    frame: Frame, target: ast.Tuple | ast.List, position: int, items: Sequence[Value]
) -> None:
    """`first, *rest = values`: the starred target gets a list of what the others leave."""
    after = len(target.elts) - position - 1
    if len(items) < position + after:
        text = f"not enough values to unpack (expected at least {position + after}, got {len(items)})"
        frame.fail(target, text, f"there are {len(items)}", ShapeError)
    end = len(items) - after
    middle = Group(tuple(items[position:end]), list)
    for one, item in zip(target.elts, [*items[:position], middle, *items[end:]], strict=True):
        bind(frame, one.value if isinstance(one, ast.Starred) else one, item)


def _assign_subscript(frame: Frame, target: ast.Subscript, value_node: ast.expr) -> None:
    """`a[...] = expression`: outside loops the expression is computed where it is stored, when it can be."""
    if frame.graph.island is not None or _overwrites(frame, target):
        value = _apart(frame, evaluate(frame, value_node))
        return _store(frame, target, lambda: value)
    if not any(isinstance(n, ast.Call) for n in ast.walk(value_node)):
        try:
            return _store(frame, target, lambda: evaluate(frame, value_node))
        except UnsupportedError:
            pass  # what follows says the same again, or does it on whole tensors
    value = _apart(frame, evaluate(frame, value_node))
    _store(frame, target, lambda: value)


def _apart(frame: Frame, value: Value) -> Value:
    """What is assigned, as it is now where its memory is known in other shapes too: it may be what is written."""
    is_shown = isinstance(value, Array) and (value.buffer.through is not None or value.buffer.is_shown)
    if not is_shown or frame.graph.island is not None:
        return value
    from ..values.contents import as_tensor

    return as_tensor(frame.graph, value)


def _overwrites(frame: Frame, target: ast.Subscript) -> bool:
    """Whether the target is all of an array: `a[:]`, `a[...]`."""
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    return all(
        (isinstance(p, ast.Slice) and p.lower is p.upper is p.step is None)
        or (isinstance(p, ast.Constant) and p.value is Ellipsis)
        for p in parts
    )


def _refuse_items(frame: Frame, target: ast.Subscript, owner: Value) -> NoReturn:
    if isinstance(owner, Rows) or (isinstance(owner, Group) and owner.kind in (list, dict)):
        hint = "keep an array for each column"
        frame.fail(target, f"assigning to an item of {describe(owner)} is not supported here", hint)
    frame.fail(target, f"{describe(owner)} does not support item assignment", None, DTypeError)


def _store(frame: Frame, target: ast.Subscript, compute: Callable[[], Value]) -> None:
    """Write to `target` what `compute` gives."""
    from ..indexing.advanced import scatter
    from ..indexing.index_arrays import is_advanced
    from ..indexing.stores import overwrite
    from ..indexing.views import view
    from ..numpy_api.shapes.flat import place
    from ..values.islands import open_island, require_real

    graph = frame.graph
    if not _is_plain(target.slice):  # Python computes the value first
        first = compute()
        compute = lambda: first  # noqa: E731
    owner = _owner(frame, target.value)
    if isinstance(owner, Static) and type(owner.raw) in (list, dict):
        refuse_outside(frame, target, f"a {type(owner.raw).__name__}")
    if not isinstance(owner, Array) and not is_flat(owner):
        _refuse_items(frame, target, owner)
    items = as_indices(frame, target, subscript_items(frame, target.slice))
    frame.at(target)
    if is_flat(owner):
        owner, items = place(graph, owner, items)
    assert isinstance(owner, Array)
    if is_advanced(items):
        _refuse_parts_at(frame, target, owner)
        value = _number(frame, target, compute(), owner)
        frame.at(target)
        require_real(graph, owner.dtype, value)
        return scatter(graph, owner, items, value)
    if graph.island is not None:
        value = _number(frame, target, compute(), owner)
        frame.at(target)
        return graph.island.assign(view(graph, owner, items), value)
    if _overwrites(frame, target) and owner.whole:
        return overwrite(graph, owner, _number(frame, target, compute(), owner))
    check_writable(graph, owner.buffer)
    with open_island(graph) as island:
        value = _number(frame, target, compute(), owner)
        frame.at(target)
        window = view(graph, owner, items)
        island.assign(window, as_readable(value))


_PLAIN = (ast.Name, ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)
_DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)


def _is_plain(node: ast.expr) -> bool:
    """Whether computing an index has no effects and cannot fail, as its look shows."""
    return all(
        isinstance(n, (*_PLAIN, ast.expr_context)) and not isinstance(n, _DIVISIONS) for n in ast.walk(node)
    )


def _number(frame: Frame, node: ast.AST, value: Value, owner: Array) -> Value:
    """What is stored: a number or an array, also of nested lists, which NumPy makes an array of the type of `owner`."""
    if isinstance(value, Range) and value.start.known is not None and value.stop.known is not None:
        value = Static(tuple(range(value.start.known, value.stop.known, value.step)))
    is_list = isinstance(value, Group) and value.kind in (tuple, list)
    if is_list or is_sequence(value):
        from ..values.nested import array_of

        frame.at(node)
        return array_of(frame.graph, value, owner.dtype)
    if not is_number(value):
        frame.fail(node, f"{describe(value)} cannot be stored in an array", None, DTypeError)
    return value


def augmented(frame: Frame, node: ast.AugAssign) -> None:
    name = BINARY[type(node.op)]
    if isinstance(node.target, ast.Subscript) and (parts := effectful_indices(frame, node.target)):
        with evaluated_once(frame, node.target, parts) as plain:
            return augmented(frame, ast.copy_location(ast.AugAssign(plain, node.op, node.value), node))
    if isinstance(node.target, ast.Subscript):
        if _set_at_run_time(frame, node.target, lambda present: _combined(frame, node, present)):  # pyright: ignore
            return
        if not _is_item(frame, node.target):
            return _augmented_subscript(frame, node, name)
        owner, key = _item(frame, node.target)
        if has_attributes(owner):
            present = special_methods.item(frame, node, owner, key)
        else:
            assert isinstance(owner, Group)
            present = owner.items[position_of(frame, node, owner, key)]
        return _set_item(frame, node, owner, key, _combined(frame, node, present))
    if isinstance(node.target, ast.Attribute):
        owner = _owner(frame, node.target.value)
        part = _part_of(owner, node.target.attr)
        if part is not None:
            _combined(frame, node, part)
            return
        present = attribute_of(frame, node.target, owner)
        is_outside = isinstance(owner, Static) and is_own_attribute(owner.raw, node.target.attr)
        if is_outside and isinstance(present, Array):  # written in place, it stays where it is
            _combined(frame, node, present)
            return
        return set_attribute(frame, node.target, owner, node.target.attr, _combined(frame, node, present))
    bind_name(frame, node.target.id, _combined(frame, node, frame.lookup(node.target)))


def _combined(frame: Frame, node: ast.AugAssign, present: Value) -> Value:
    """What a variable or item is after `op=`: the same object where it can change, else a new value."""
    if has_attributes(present):
        operand = evaluate(frame, node.value)
        frame.at(node)
        return special_methods.binary(frame, node, node.op, present, operand, in_place=True)
    if isinstance(present, Group) or (isinstance(present, Static) and _is_changed_in_place(present.raw)):
        operand = evaluate(frame, node.value)
        frame.at(node)
        return _object_combined(frame, node, as_now(frame, present), as_now(frame, operand))
    if isinstance(present, Rows):
        frame.fail(
            node, f"changing {describe(present)} by op= is not supported", "append items: ys.append(v)"
        )
    operand = _apart(frame, evaluate(frame, node.value))
    frame.at(node)
    if has_attributes(operand):
        return combined(frame, node, node.op, present, operand)
    if isinstance(present, Array):
        from ..numpy_api.in_place import update_in_place

        update_in_place(frame, node, BINARY[type(node.op)], present, operand)
        return present
    return operate(frame.graph, BINARY[type(node.op)], present, operand)


def _is_changed_in_place(known: Any) -> bool:
    """Whether `op=` changes an object known at compile time, or gives another one as that of tuples does."""
    return isinstance(known, tuple) or (type(known).__hash__ is None and not isinstance(known, np.ndarray))


def _object_combined(frame: Frame, node: ast.AugAssign, present: Value, operand: Value) -> Value:
    """What a list, dict or set, or another object known at compile time, is after `op=`."""
    from ..control.sequences import listed

    if isinstance(present, Group) and present.ref is not None and present.kind is list:
        if isinstance(node.op, ast.Add):
            change(frame, node, present, (*present.items, *listed(frame, node, operand)))
            return present
        if isinstance(node.op, ast.Mult):
            repeated = combined(frame, node, node.op, present, operand)
            assert isinstance(repeated, Group)
            change(frame, node, present, repeated.items)
            return present
    is_union = isinstance(node.op, ast.BitOr)
    if is_union and isinstance(present, Group) and present.ref is not None and present.kind is dict:
        merged = merge(frame, node, [present, entries_of(frame, node, operand)])
        change(frame, node, present, merged.items, merged.names)
        return present
    in_place = IN_PLACE[type(node.op)]
    if isinstance(present, Static) and hasattr(type(present.raw), f"__{in_place.__name__}__"):
        if not is_made(frame, present):
            refuse_outside(frame, node, f"a {type(present.raw).__name__}")
        return change_made(frame, node, present, in_place, [operand])
    return combined(frame, node, node.op, present, operand)


def _augmented_subscript(frame: Frame, node: ast.AugAssign, name: str) -> None:
    from ..indexing.advanced import update
    from ..indexing.index_arrays import is_advanced
    from ..indexing.views import view
    from ..numpy_api.in_place import check_operands, check_update
    from ..numpy_api.shapes.flat import place
    from ..values.islands import open_island
    from .conditions import without_effects

    assert isinstance(node.target, ast.Subscript)
    graph = frame.graph
    owner = _owner(frame, node.target.value)
    if isinstance(owner, Static) and type(owner.raw) in (list, dict):
        present = evaluate(frame, node.target)
        if not isinstance(present, Array):
            refuse_outside(frame, node.target, f"a {type(owner.raw).__name__}")
        _combined(frame, node, present)
        return
    if not isinstance(owner, Array) and not is_flat(owner):
        _refuse_items(frame, node.target, owner)
    items = as_indices(frame, node, subscript_items(frame, node.target.slice))
    if is_flat(owner):
        owner, items = place(graph, owner, items)
    assert isinstance(owner, Array)
    if is_advanced(items):
        _refuse_parts_at(frame, node.target, owner)
        operand = evaluate(frame, node.value)
        frame.at(node)
        return update(graph, owner, items, name, operand)
    if graph.island is None:
        operand = without_effects(frame, lambda: evaluate(frame, node.value))
        if operand is None:  # Python looks at the element first
            frame.at(node)
            view(graph, owner, items)
            operand = evaluate(frame, node.value)
        operand = _apart(frame, operand)
        frame.at(node)
        check_writable(graph, owner.buffer)
        with open_island(graph) as island:
            frame.at(node)
            window = view(graph, owner, items)
            check_operands(frame, node, name, window, operand)
            result = operate(graph, name, _element_or_view(frame, window), as_readable(operand))
            if window.axes or _has_ellipsis(items):
                check_update(frame, node, name, window, result)
            island.assign(window, result)
        return
    frame.at(node)
    window = view(graph, owner, items)
    current = _element_or_view(frame, window)
    operand = evaluate(frame, node.value)
    frame.at(node)
    check_operands(frame, node, name, window, operand)
    result = operate(graph, name, current, operand)
    if window.axes or _has_ellipsis(items):
        check_update(frame, node, name, window, result)
    graph.island.assign(window, result)


def _has_ellipsis(items: Sequence[Item]) -> bool:
    """Whether a subscript gives an array, of rank 0 perhaps, and never an element, which is assigned to."""
    return any(isinstance(item, Static) and item.value is Ellipsis for item in items)


def _element_or_view(frame: Frame, window: Array) -> Value:
    from ..indexing.views import element

    return window if window.axes else element(frame.graph, window)


def named(frame: Frame, node: ast.NamedExpr) -> Value:
    from ..frame.recursion import bind

    bind(frame, node.target, evaluate(frame, node.value))
    return evaluate(frame, ast.copy_location(ast.Name(node.target.id, ast.Load()), node))
