"""Whether two values of a variable are one, so that nothing has to choose between them."""

from __future__ import annotations

from ..values.values import UNBOUND, Group, Static, Value


def is_same(a: Value, b: Value) -> bool:
    """Whether two values are one: the same, or equal objects known at compile time."""
    if a is UNBOUND or b is UNBOUND:
        return a is b  # None, which a path returns, is a value
    if a is b or a == b:
        return True
    if isinstance(a, Group) and isinstance(b, Group):
        return a.ref is not None and a.ref == b.ref
    if not isinstance(a, Static) or not isinstance(b, Static) or type(a.value) is not type(b.value):
        return False
    if a.value is None:
        return True
    return isinstance(a.value, bool | int | float | str) and repr(a.value) == repr(b.value)
