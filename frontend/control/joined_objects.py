"""Lists, dicts and objects that both sides of a branch make: one object afterwards, which later changes are seen in.

    if x[0] > 0:             the side has made ".object3", the other ".object4": both become ".object5",
        p = P(x[0])          whose content is that of the one or the other
    else:
        p = P(x[1])

An object that there was before the branch stays the one it is, and so does one that stands for two of the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..frame.frame import Frame
from ..frame.objects import PREFIX, is_ref
from ..values.values import Closure, Group, Method, Value

Variables = dict[str, Value]


def unify(frame: Frame, then: Variables, other: Variables, before: Mapping[str, Value]) -> None:
    """Give objects that the sides of a branch made for each other one name."""
    pairs = _Pairs(then, other, before)
    for name in list(then):
        if name in other and not is_ref(name):
            pairs.walk(then[name], other[name])
    for first, second in pairs.found():
        name = frame.graph.new_name(PREFIX)
        for side, old in ((then, first), (other, second)):
            _rename(side, old, name)


class _Pairs:
    """The objects of two sides that are in the same places."""

    def __init__(self, then: Variables, other: Variables, before: Mapping[str, Value]):
        self.then, self.other, self.before = then, other, before
        self.of_first: dict[str, set[str]] = {}
        self.of_second: dict[str, set[str]] = {}
        self._seen: set[tuple[str, str]] = set()

    def walk(self, a: Value, b: Value) -> None:
        if not isinstance(a, Group) or not isinstance(b, Group) or a.kind is not b.kind:
            return
        if (a.ref is None) != (b.ref is None):
            return
        if a.ref is not None and b.ref is not None:
            if (a.ref, b.ref) in self._seen:
                return
            self._seen.add((a.ref, b.ref))
            first, second = self.then.get(a.ref), self.other.get(b.ref)
            if a.ref != b.ref:
                self.of_first.setdefault(a.ref, set()).add(b.ref)
                self.of_second.setdefault(b.ref, set()).add(a.ref)
            elif first is second:
                return
            if not isinstance(first, Group) or not isinstance(second, Group):
                return
            a, b = first, second
        if a.names != b.names or len(a.items) != len(b.items):
            return
        for x, y in zip(a.items, b.items, strict=True):
            self.walk(x, y)

    def found(self) -> list[tuple[str, str]]:
        """Those that stand for each other alone, and that the sides made."""
        return [
            (first, next(iter(seconds)))
            for first, seconds in self.of_first.items()
            if len(seconds) == 1
            and self.of_second[next(iter(seconds))] == {first}
            and first not in self.before
            and next(iter(seconds)) not in self.before
        ]


def _rename(variables: Variables, old: str, new: str) -> None:
    for name, value in list(variables.items()):
        renamed = _renamed(value, old, new)
        if renamed is not value:
            variables[name] = renamed
    variables[new] = variables.pop(old)


def _renamed(value: Value, old: str, new: str) -> Value:
    if isinstance(value, Method):
        receiver = _renamed(value.receiver, old, new)
        return value if receiver is value.receiver else replace(value, receiver=receiver)
    if isinstance(value, Closure):
        defaults = tuple([_renamed(one, old, new) for one in value.defaults])
        same = all(a is b for a, b in zip(defaults, value.defaults, strict=True))
        return value if same else replace(value, defaults=defaults)
    if not isinstance(value, Group):
        return value
    items = tuple([_renamed(item, old, new) for item in value.items])
    if all(a is b for a, b in zip(items, value.items, strict=True)):
        items = value.items
    elif value.ref != old:
        return replace(value, items=items)
    return replace(value, items=items, ref=new) if value.ref == old else value


def are_sole(variables: Mapping[str, Value], name: str, is_known: Callable[[str], bool]) -> bool:
    """Whether nothing but the variable `name` shows the objects that it holds, and none of them `is_known` elsewhere."""
    counts: dict[str, int] = {}
    _count(variables, [v for n, v in variables.items() if not is_ref(n)], counts, set())
    own: dict[str, int] = {}
    _count(variables, [variables[name]], own, set())
    return all(counts[ref] == number == 1 and not is_known(ref) for ref, number in own.items())


def _count(
    variables: Mapping[str, Value], values: Sequence[Value], counts: dict[str, int], entered: set[str]
) -> None:
    """How often each object is referred to, from values and from the objects in them."""
    for value in values:
        if isinstance(value, Method):
            _count(variables, [value.receiver], counts, entered)
        if isinstance(value, Closure):
            _count(variables, value.defaults, counts, entered)
        if not isinstance(value, Group):
            continue
        if value.ref is None:
            _count(variables, value.items, counts, entered)
            continue
        counts[value.ref] = counts.get(value.ref, 0) + 1
        content = variables.get(value.ref)
        if value.ref not in entered and isinstance(content, Group):
            entered.add(value.ref)
            _count(variables, content.items, counts, entered)
