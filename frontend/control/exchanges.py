"""Arrays that a loop writes and that change places in it (ping-pong): who sees one of them sees what was written to it.

    b = a.copy()
    for t in range(n):
        b[1:-1] = a[:-2] + a[2:]     %a1, %b1, %p, %q = scf.for ... iter_args(%a, %b, %p = 0, %q = 1)
        a, b = b, a                    scf.yield %b', %a, %q, %p
                                     the argument `a` holds %a1 where %p is 0, else %b1

Variables of a loop are carried by their contents, so that an array which was one variable's in one iteration is
another's in the next. What a variable writes is written to each array that it has been. Where the iterations permute
the arrays, none of them is lost, and after the loop each has the contents of the variable that it ended as. Anything
else (an array that is written and dropped, or copied on some paths) is refused where somebody else sees the array.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import NoReturn

import numpy as np
from xdsl.dialects import scf
from xdsl.ir import Block, Region, SSAValue

from ..frame.frame import Frame
from ..indexing.stores import overwrite
from ..values.aliases import root_of
from ..values.arithmetic import apply
from ..values.checks import as_bool
from ..values.tensors import constant
from ..values.values import Array, Buffer, Tensor, Value, whole
from .sharing import arrays_in, other_owner, shown

PLACE = np.dtype(np.int64)


def exchanged(
    frame: Frame,
    node: ast.AST,
    before: dict[str, Value],
    inner: dict[str, Value],
    written: Collection[Buffer],
) -> tuple[str, ...]:
    """The variables whose arrays change places in the loop, where somebody sees an array that is written.

    Raises UnsupportedError where a variable writes an array that somebody else sees, and the loop may lose it.
    """
    arrays, outer, after = arrays_in(inner), arrays_in(before), arrays_in(frame.variables)
    earlier = names_before(arrays, after)
    found: dict[str, None] = {}
    for name, array in arrays.items():
        if array.buffer not in written:
            continue
        for start in earlier[name]:
            if (older := _older(after.get(start), arrays)) is not None:
                frame.fail(
                    node,
                    f"{shown(name)} is written in place in this loop, where it may be "
                    f"{shown(older.name) if older.name else 'an array'} from before the loop",
                    "copy where it is chosen: x.copy()",
                )
            owner = _owner(frame, start, outer[start].buffer, before) if start in outer else None
            if owner is None:
                continue
            group = _cycle(start, after, arrays)
            if name not in group or not _is_kept_apart(frame, node, group, outer):
                _refuse(frame, node, name, start, owner)
            found.update(dict.fromkeys(group))
    return tuple(found)


def joined(inner: dict[str, Value], after: dict[str, Value], names: Collection[str]) -> list[tuple[str, str]]:
    """The pairs of variables that an iteration may leave being one array, which are two when the next one starts.

    w = u         the array that `u` was at the start of the iteration is both then
    u = w = x + k
    """
    arrays, ends = arrays_in(inner), {name: a for name, a in arrays_in(after).items() if name in names}
    sources = {name: _sources(array, arrays) for name, array in ends.items()}
    found: set[tuple[str, str]] = set()
    for one, array in ends.items():
        buffer = root_of(array).buffer
        for other, second in ends.items():
            if one < other:
                root = root_of(second).buffer
                if buffer is root or buffer in root.sources or root in buffer.sources:
                    found.add((one, other))
    size = -1
    while size < len(found):
        size = len(found)
        for one in ends:
            for other in ends:
                pairs = {(min(a, b), max(a, b)) for a in sources[one] for b in sources[other] if a != b}
                if one < other and pairs & found:
                    found.add((one, other))
    return sorted(found)


def refuse_joined_writes(
    frame: Frame,
    node: ast.AST,
    pairs: Collection[tuple[str, str]],
    inner: dict[str, Value],
    starts: dict[Buffer, SSAValue | None],
    written: Collection[Buffer],
) -> None:
    """Raise where an iteration writes an array that the one before left to another variable too, which is read then.

    `starts` has what arrays hold at the start of an iteration.
    """
    arrays, after = arrays_in(inner), arrays_in(frame.variables)
    for pair in pairs:
        if root_of(arrays[pair[0]]).buffer is root_of(arrays[pair[1]]).buffer:
            continue  # they are one in every iteration: each sees what the other writes
        for name, other in (pair, pair[::-1]):
            if arrays[name].buffer not in written:
                continue
            start = starts.get(arrays[other].buffer)
            is_read = start is not None and start.first_use is not None
            if is_read or any(other in _sources(a, arrays) for a in after.values()):
                frame.fail(
                    node,
                    f"{shown(name)} is written in place in this loop, where it may be the array that {shown(other)} is",
                    "copy where it gets a second name: x.copy()",
                )


def names_before(arrays: dict[str, Array], after: dict[str, Array]) -> dict[str, list[str]]:
    """For each of the `arrays` of an iteration the variables that it may have been in earlier ones, itself first.

    `after`: the arrays that the iteration leaves to the variables.
    """
    came_from = {name: _sources(after.get(name), arrays) for name in arrays}
    return {name: _closure(name, came_from) for name in arrays}


def written_before(
    before: dict[str, Value], inner: dict[str, Value], after: dict[str, Value], written: Collection[Buffer]
) -> list[Buffer]:
    """The arrays that variables were before a loop which an iteration writes by those that they are in it."""
    arrays, outer = arrays_in(inner), arrays_in(before)
    earlier = names_before(arrays, arrays_in(after))
    names = {start for name, array in arrays.items() if array.buffer in written for start in earlier[name]}
    return [outer[name].buffer for name in sorted(names) if name in outer]


def _owner(frame: Frame, name: str, buffer: Buffer, before: dict[str, Value]) -> str | None:
    if buffer.borrowed is not None:
        return f"that is '{buffer.borrowed}' on some paths"
    return other_owner(frame, name, buffer, before)


def _sources(value: Array | None, arrays: dict[str, Array]) -> set[str]:
    """The variables of the iteration that the array may have been."""
    if value is None:
        return set()
    maybe = {root_of(value).buffer, *root_of(value).buffer.sources}
    return {name for name, array in arrays.items() if array.buffer in maybe}


def _older(value: Array | None, arrays: dict[str, Array]) -> Buffer | None:
    """An array from before the loop that an iteration may leave to a variable."""
    if value is None:
        return None
    known = {array.buffer for array in arrays.values()}
    first = min(buffer.serial for buffer in known)
    maybe = (root_of(value).buffer, *root_of(value).buffer.sources)
    return next((b for b in maybe if b not in known and b.serial < first), None)


def _closure(name: str, came_from: dict[str, set[str]]) -> list[str]:
    """`name`, and the variables that its array was in earlier iterations."""
    found = [name]
    for one in found:
        found += [m for m in sorted(came_from.get(one, ())) if m not in found]
    return found


def _cycle(start: str, after: dict[str, Array], arrays: dict[str, Array]) -> list[str]:
    """The variables whose arrays an iteration permutes, `start` among them; none where it does not.

    An array that is `start`'s in one iteration is the next one's in the next.
    """
    found: list[str] = []
    name = start
    while name not in found:
        found.append(name)
        heirs = [m for m, value in after.items() if value.buffer is arrays[name].buffer and m in arrays]
        if len(heirs) != 1 or not after[heirs[0]].whole:
            return []
        name = heirs[0]
    return found if name == start else []


def _is_kept_apart(frame: Frame, node: ast.AST, group: list[str], outer: dict[str, Array]) -> bool:
    """Whether nothing in the loop sees the arrays of `group` but by these variables: only after it they are up to date."""
    buffers = {outer[name].buffer for name in group if name in outer and _is_plain(outer[name])}
    if len(buffers) < len(group):
        return False
    read = {
        one.id
        for part in (node, *_functions_in(frame))
        for one in ast.walk(part)
        if isinstance(one, ast.Name)
    }
    around: Frame | None = frame
    while around is not None:
        holders = outer if around is frame else arrays_in(around.variables)
        for name, array in holders.items():
            if array.buffer in buffers and name not in group and (not name.isidentifier() or name in read):
                return False
        around = around.home
    return True


def _functions_in(frame: Frame) -> list[ast.AST]:
    """What a loop may call that reads the variables around it."""
    inside = ast.walk(frame.source.node)
    return [
        one
        for one in inside
        if isinstance(one, ast.FunctionDef | ast.Lambda) and one is not frame.source.node
    ]


def _is_plain(array: Array) -> bool:
    """Whether it is an array as a whole that no argument overlaps, and that no name outside of the function leads to."""
    buffer = array.buffer
    return array.whole and buffer.shared is None and not buffer.borrowed and not buffer.is_outside


def _refuse(frame: Frame, node: ast.AST, name: str, start: str, owner: str) -> NoReturn:
    if name == start:
        message = f"{shown(name)} is written in place and given a new value in this loop, and {owner}"
    else:
        was = f"{shown(name)} is written in place in this loop, where it may be the array that {shown(start)} was"
        message = f"{was}, and {owner}"
    plain = start if start.isidentifier() else "x"
    frame.fail(node, message, f"start from a copy: {plain} = {plain}.copy()")


def places(frame: Frame, names: Sequence[str], starting: bool) -> list[SSAValue]:
    """Which of the arrays that change places each variable is, as tensors."""
    if starting:
        return [constant(frame.graph, k, PLACE) for k in range(len(names))]
    arrays = arrays_in(frame.variables)
    return [place for name in names if (place := arrays[name].buffer.place) is not None]


def write_back(frame: Frame, names: Sequence[str], before: dict[str, Value]) -> set[Buffer]:
    """Give the arrays that `names` were `before` the loop the contents of the variables that they are after it.

    Returns these arrays, as which the variables are up to date.
    """
    graph = frame.graph
    outer, now = arrays_in(before), arrays_in(frame.variables)
    contents = [_held_by(frame, place, [now[name].buffer for name in names]) for place in range(len(names))]
    for name, ssa in zip(names, contents, strict=True):
        buffer = outer[name].buffer
        if other_owner(frame, name, buffer, before) is not None:
            overwrite(graph, whole(buffer), Tensor(ssa, buffer.dtype, buffer.extents))
    return {outer[name].buffer for name in names}


def _held_by(frame: Frame, place: int, buffers: Sequence[Buffer]) -> SSAValue:
    """The contents of that one of the arrays which has come from `place`."""
    graph, (first, *rest) = frame.graph, buffers
    assert first.value is not None
    if not rest:
        return first.value
    assert first.place is not None
    sides = [Tensor(ssa, PLACE, (), True) for ssa in (first.place, constant(graph, place, PLACE))]
    holds = as_bool(graph, apply(graph, np.equal, *sides))
    blocks = [Block(), Block()]
    with graph.tensors_inside(blocks[0]):
        graph.insert(scf.YieldOp(first.value))
    with graph.tensors_inside(blocks[1]):
        graph.insert(scf.YieldOp(_held_by(frame, place, rest)))
    branch = scf.IfOp(holds, [first.value.type], Region(blocks[0]), Region(blocks[1]))
    graph.insert(branch)
    return branch.results[0]
