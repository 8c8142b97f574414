"""The interpreter that stops where the first NaN or infinity arises: `compile_nest(function, mode="watching")`.

A value arises where no operand is like it: NaN of infinities, infinity of numbers. Those of arguments and constants do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Operation

from ...dialects.nest import AccumulateOp, ForOp
from .compiler import Compiler

_QUIET = frozenset(("nest.load", "arith.constant", "arith.select", "arith.negf"))
"""Operations that hand on what is there."""


class Arisen(NamedTuple):
    """What arose first, where: the operation, its result and operands, and the loops around it."""

    op: Operation
    result: Any
    operands: tuple[Any, ...]
    loops: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        if isinstance(self.op, AccumulateOp):
            name = self.op.combiner.data
        else:
            dialect, _, name = self.op.name.partition(".")
            name = name.removesuffix("f") if dialect == "arith" else name
        at = ", ".join(f"{name} = {k}" for name, k in self.loops)
        given = ", ".join(f"{float(v):g}" for v in self.operands)
        return f"{name}({given}) is {float(self.result)}" + (f", at {at}" if at else "")


class Watch:
    """Notes the first NaN and the first infinity of a run."""

    def __init__(self) -> None:
        self.operations: list[tuple[Operation, tuple[str, ...]]] = []
        self.nan: Arisen | None = None
        self.infinity: Arisen | None = None

    def begin(self) -> None:
        self.nan = self.infinity = None

    def note(self, k: int, result: Any, operands: tuple[Any, ...], loops: tuple[int, ...]) -> None:
        """Called for what is not finite."""
        if np.isnan(result):
            if self.nan is None and not any(np.isnan(v) for v in operands):
                self.nan = self._arisen(k, result, operands, loops)
        elif self.infinity is None and all(np.isfinite(v) for v in operands):
            self.infinity = self._arisen(k, result, operands, loops)

    def _arisen(self, k: int, result: Any, operands: tuple[Any, ...], loops: tuple[int, ...]) -> Arisen:
        op, names = self.operations[k]
        return Arisen(op, result, operands, tuple(zip(names, loops, strict=True)))


class WatchingCompiler(Compiler):
    """Asks of each float that is computed whether it is finite."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.watch = Watch()
        self.namespace["watch"] = self.watch
        self._loops: list[ForOp] = []

    def operation(self, op: Operation) -> None:
        if isinstance(op, ForOp):
            self._loops.append(op)
        super().operation(op)
        if isinstance(op, ForOp):
            self._loops.pop()
        if len(op.results) == 1 and isinstance(op.results[0].type, AnyFloat) and op.name not in _QUIET:
            floats = [self.names[v] for v in op.operands if isinstance(v.type, AnyFloat)]
            self._ask(op, self.names[op.results[0]], floats)

    def combined(self, op: AccumulateOp, old: list[str], new: list[str]) -> list[str]:
        (*texts,) = super().combined(op, old, new)
        if op.combine is None and isinstance(op.values[0].type, AnyFloat):
            name = self.fresh()
            self.line(f"{name} = {texts[0]}")
            self._ask(op, name, [old[0], new[0]])
            return [name]
        return texts

    def _ask(self, op: Operation, name: str, operands: Sequence[str]) -> None:
        self.watch.operations.append((op, tuple(loop.label for loop in self._loops)))
        variables = "".join(f"{self.names[loop.iv]}, " for loop in self._loops)
        given = "".join(f"{operand}, " for operand in operands)
        self.line(
            f"if {name} - {name} != 0: watch.note({len(self.watch.operations) - 1}, {name}, ({given}), ({variables}))"
        )
