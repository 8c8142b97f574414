"""Taking back a step that was half done: functions as they were, and what the handles stood for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue


class Snapshot:
    """The bodies of functions at the same time."""

    def __init__(self, functions: Sequence[FuncOp]):
        self._copies = [(function, function.clone()) for function in functions]
        self._copy_of: dict[Any, Any] = {}
        for function, copy in self._copies:
            for old, new in zip(function.walk(), copy.walk(), strict=True):
                self._copy_of[old] = new
                self._copy_of.update(zip(_values(old), _values(new), strict=True))

    def restore(self) -> dict[Any, Any]:
        """Put the bodies back; what stands for each operation and value of before now."""
        for function, copy in self._copies:
            function.detach_region(function.body)
            function.add_region(copy.detach_region(copy.body))
        return self._copy_of


def _values(op: Any) -> list[SSAValue]:
    arguments = [value for region in op.regions for block in region.blocks for value in block.args]
    return [*op.results, *arguments]
