"""A dialect of xDSL with operations of Nestor's: what an extension of an upstream dialect is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from xdsl.ir import Attribute, Dialect, Operation


class ExtendedDialect(Dialect):
    """The first dialect, of which operations that ours have the names of are left out, and then ours.

    Nobody looks at an operation of any before someone asks for `operations`: a call of a compiled function does not.
    """

    def __init__(
        self,
        parent: Dialect,
        operations: Sequence[type[Operation]],
        attributes: Sequence[type[Attribute]] = (),
        *more: Dialect,
    ):
        super().__init__(parent.name, [*operations], [*attributes])
        self._parent = parent
        self._more = more

    @property
    def operations(self) -> Iterator[type[Operation]]:
        own = [*super().operations, *chain.from_iterable(dialect.operations for dialect in self._more)]
        names = {op.name for op in own}
        return chain((op for op in self._parent.operations if op.name not in names), own)

    @property
    def attributes(self) -> Iterator[type[Attribute]]:
        return chain(self._parent.attributes, super().attributes)
