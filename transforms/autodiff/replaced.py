"""Operations of the program that make way for others: a loop, for one that keeps what the derivative needs."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue


class Replaced:
    """Which values took the place of others."""

    def __init__(self) -> None:
        self._by: dict[SSAValue, SSAValue] = {}

    def replace(self, op: Operation, by: Operation) -> None:
        """Erase `op`; the first results of `by`, which is in the program already, are its results."""
        for old, new in zip(op.results, by.results, strict=False):
            new.name_hint = new.name_hint or old.name_hint
            old.replace_all_uses_with(new)
            self._by[old] = new
        assert op.parent is not None
        op.parent.erase_op(op)

    def now(self, value: SSAValue) -> SSAValue:
        """The value that took the place of `value`, itself where none did."""
        while value in self._by:
            value = self._by[value]
        return value
