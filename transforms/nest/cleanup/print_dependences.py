"""nest-print-dependences: print the dependences of loop nests, with the loop that carries each and its distances.

    nest.for "i" %i = 1 to %n {
      nest.for "j" %j = 0 to %m {
        %v = nest.load %a[%i - 1, %j] : memref<?x?xf32>
        nest.store "a" %v, %a[%i, %j] : memref<?x?xf32>
      }
    }

becomes itself (the pass changes nothing), and standard error gets

    func @f
    nest i                            in.mlir:4
      for i = 1 to n
        for j = 0 to m
          1  reads   a[i - 1, j]      in.mlir:6
          2  writes  a[i, j]          in.mlir:7

      dependence          i    j   carried by
      flow  a  2 -> 1    [1]   0   i

A row is a dependence from an access (by its number) to another that runs later; `flow`, `anti`, `output`, or `reduction`
where the order does not matter. A column is a loop: the distance of its variable, or the signs that it can
have: `<` the source's iteration is earlier, `=` the same, `>` later, `*` any; `.` where the loop is not around both.
The loop that carries the dependence is in brackets; the ones before it are in one iteration. Not only the last
write before a read counts: a dependence is any pair of accesses to one element, one of them a write. With
`loop`, the loops around that one are in one iteration. As IR dumps do, the text goes to standard error, so that the
module can still be piped on.
Like MLIR's `-test-memref-dependence-check`; nothing of the kind is in Halide, TVM, Exo or NNC.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import (
    enclosing_function,
    enclosing_loops,
    find_loop,
    functions,
    is_inside,
    loops_in,
)
from ....analysis.nest.sets.accesses import Access
from ....analysis.nest.sets.dependence import Dependences, analyse
from ....analysis.nest.sets.distances import DependenceVector
from ....analysis.nest.sets.readable import NestText, line_text, mark_text
from ....dialects.nest import ForOp


def dependence_report(function: Operation, loop: ForOp | None = None) -> str:
    """The accesses and dependences of a function's nests (or of `loop` alone) as a text."""
    return _Report(function, loop).text()


class _Report:
    def __init__(self, function: Operation, loop: ForOp | None):
        self._function = function
        self._only = loop
        self._dependences: Dependences = analyse(function)
        self._names = NestText(function)
        scope = function if loop is None else loop
        self._accesses = self._dependences.accesses_in(scope)
        self._vectors = self._dependences.all(scope)
        self._numbers: dict[Operation, int] = {}
        for access in self._accesses:
            self._numbers.setdefault(access.op, len(self._numbers) + 1)

    def text(self) -> str:
        symbol = self._function.get_attr_or_prop("sym_name")
        lines = [f"func @{symbol.data}" if isinstance(symbol, StringAttr) else self._function.name]
        nests = [self._only] if self._only is not None else _outermost_loops(self._function)
        outside = [access for access in self._accesses if not any(is_inside(access.op, n) for n in nests)]
        if outside:
            lines += ["outside of loops", *_aligned([self._access_row(a, "  ") for a in outside]), ""]
        for nest in nests:
            lines += [*self._nest(nest), ""]
        crossing = [v for v in self._vectors if not v.loops]
        if crossing:
            lines += ["between nests", *self._table(crossing, []), ""]
        if not nests and not outside:
            lines += ["no accesses", ""]
        return "\n".join(lines[:-1]) + "\n"

    def _nest(self, nest: ForOp) -> list[str]:
        rows = [(f"nest {nest.label}", line_text(nest))]
        around = enclosing_loops(nest)
        if around:
            names = ", ".join(loop.label for loop in around)
            rows.append((f"  in one iteration of {names}", ""))
        depth = len(around)
        for op in nest.walk():
            indent = "  " * (len(enclosing_loops(op)) - depth + 1)
            if isinstance(op, ForOp):
                mark = mark_text(op)
                rows.append((f"{indent}for {self._names.loop(op)}{' ' * bool(mark)}{mark}", ""))
            rows += [self._access_row(access, indent) for access in self._accesses if access.op is op]
        vectors = [v for v in self._vectors if v.loops and is_inside(v.loops[0], nest)]
        table = self._table(vectors, loops_in(nest)) if vectors else ["  no dependences"]
        return [*_aligned(rows), "", *table]

    def _access_row(self, access: Access, indent: str) -> tuple[str, str]:
        digits = len(str(len(self._numbers)))
        number = f"{self._numbers[access.op]:{digits}}"
        return f"{indent}{number}  {self._names.access(access)}", line_text(access.op)

    def _table(self, vectors: Sequence[DependenceVector], loops: Sequence[ForOp]) -> list[str]:
        """The dependences as a matrix: a row each, a column for each loop that is around both ends of some."""
        columns = [loop for loop in loops if any(loop in v.loops for v in vectors)]
        rows = [["dependence", *(loop.label for loop in columns), "carried by" if columns else ""]]
        for vector in vectors:
            name = "?" if vector.buffer is None else self._names.name(vector.buffer)
            ends = f"{self._numbers[vector.source]} -> {self._numbers[vector.sink]}"
            carrier = vector.carrier.label if vector.carrier else "" if not columns else "-"
            rows.append([f"{vector.kind:9}  {name}  {ends}", *(_entry(vector, c) for c in columns), carrier])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return [_table_line(row, widths) for row in rows]


def _entry(vector: DependenceVector, loop: ForOp) -> str:
    if loop not in vector.loops:
        return "."
    entry = vector.distance[vector.loops.index(loop)]
    return f"[{entry}]" if loop is vector.carrier else str(entry)


def _table_line(row: list[str], widths: list[int]) -> str:
    middle = (cell.center(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True))
    return f"  {'   '.join([row[0].ljust(widths[0]), *middle, row[-1]])}".rstrip()


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    """Rows of a text and a place, the places in one column."""
    width = max(len(text) for text, _ in rows) + 4
    return [f"{text:{width}}{place}".rstrip() for text, place in rows]


def _outermost_loops(function: Operation) -> list[ForOp]:
    return [loop for loop in loops_in(function) if not enclosing_loops(loop)]


@dataclass(frozen=True, eq=False)
class NestPrintDependencesPass(ModulePass):
    """Print the dependences of every nest, or of one loop, to standard error; the module stays as it is."""

    name = "nest-print-dependences"

    func: str | None = None
    loop: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.loop is not None:
            loop = find_loop(op, self.loop, self.func)
            print(dependence_report(enclosing_function(loop), loop), file=sys.stderr)
            return
        for function in functions(op, self.func):
            print(dependence_report(function), file=sys.stderr)
