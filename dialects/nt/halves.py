"""Which half of which derivative an operation belongs to. Its location says so, from nt-differentiate on:

    loc("nt.forward loss"("prog.py":3:9))       it computes what @loss computes
    loc("nt.backward loss"("prog.py":3:9))      it computes cotangents of it
    loc("nt.backward loss"("nt.forward loss"("prog.py":3:9)))       it computes for them what @loss has computed

Where a derivative is differentiated itself, the outermost name is that of the last one. Code is the same whatever is said.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import NameLoc, StringAttr
from xdsl.ir import Attribute, Operation

from ..attributes import NT_BACKWARD, NT_FORWARD
from ..records import record


@record
class Half:
    """One half of the derivative with a name."""

    derivative: str
    is_backward: bool


class Mark:
    """Gives locations that say `half`."""

    def __init__(self, half: Half):
        self.half = half
        self._name = StringAttr(f"{NT_BACKWARD if half.is_backward else NT_FORWARD} {half.derivative}")
        self._made: dict[int, tuple[Attribute, NameLoc]] = {}

    def on(self, location: Any) -> Any:
        """The location, marked; it has the mark once."""
        if isinstance(location, NameLoc) and location.desc == self._name:
            return location
        known = self._made.get(id(location))
        if known is None:
            known = self._made[id(location)] = location, NameLoc(self._name, self._without_other(location))
        return known[1]

    def again(self, location: Any) -> Any:
        """The location of what computes in this half what the other one computes."""
        return NameLoc(self._name, location)

    def _without_other(self, location: Any) -> Any:
        other = half_of(location)
        is_same = other is not None and other.derivative == self.half.derivative
        return location.location if is_same else location


def half_of(location: Any) -> Half | None:
    """The half that a location (or the one of an operation) names, that of the outermost derivative."""
    if isinstance(location, Operation):
        location = location.location
    while isinstance(location, NameLoc):
        kind, _, name = location.desc.data.partition(" ")
        if kind in (NT_FORWARD, NT_BACKWARD):
            return Half(name, kind == NT_BACKWARD)
        location = location.location
    return None


def is_again(op: Operation) -> bool:
    """Whether an operation computes in the backward half what the forward half computes."""
    half = half_of(op)
    if half is None or not half.is_backward:
        return False
    assert isinstance(op.location, NameLoc)
    inner = half_of(op.location.location)
    return inner is not None and inner.derivative == half.derivative and not inner.is_backward


def as_marked(location: Any, like: Any) -> Any:
    """`location`, in the halves in which `like` is."""
    if not isinstance(like, NameLoc) or half_of(like) is None:
        return location
    return NameLoc(like.desc, as_marked(location, like.location))
