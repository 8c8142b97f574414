"""How results may be computed in chunks, as data without IR and as a text: what `nt.chunking` gives and passes print.

y axis 0: halo                     CutData("y", 0, "halo", needs=(
  x axis 0: lo - 1 to hi + 1           NeedData("x", 0, Bound(lo - 1), Bound(hi + 1)),), after=())
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from ....dialects.nest import AccumulateOp
from ..calls import find_declaration, target_of
from .accesses import accesses_of
from .boxes import Bound
from .chunking import Cut, Need, chunking
from .readable import NestText, line_text


@dataclass(frozen=True)
class NeedData:
    """The part of an input that a box of `lo` to `hi` needs: `lower` to `upper` (exclusive) along `axis`.

    As far as these exist; None is the start or the end. Where `axis` is None all of the input is needed. `because` names the
    access for which that is, with its line of Python, where there is one. One need for each axis that moves with the box.
    """

    input: str
    axis: int | None
    lower: Bound | None = None
    upper: Bound | None = None
    because: str = ""

    @property
    def halo(self) -> tuple[int, int] | None:
        """How many indices before `lo` and after `hi`, negative where it is fewer; None where it moves otherwise."""
        if self.lower is None or self.upper is None:
            return None
        if self.lower.factors != (("lo", 1),) or self.upper.factors != (("hi", 1),):
            return None
        return -self.lower.constant, self.upper.constant

    def __str__(self) -> str:
        why = f", because of {self.because}" if self.because else ""
        if self.axis is None:
            return f"{self.input}: all{why}"
        if self.lower is None:
            return f"{self.input} axis {self.axis}: up to {self.upper}{why}"
        part = f"from {self.lower}" if self.upper is None else f"{self.lower} to {self.upper}"
        return f"{self.input} axis {self.axis}: {part}{why}"


@dataclass(frozen=True)
class CutData:
    """A result computed in boxes along one axis: its kind, what a box needs, the reductions that are complete before."""

    result: str
    axis: int
    kind: str
    needs: tuple[NeedData, ...]
    after: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"{self.result} axis {self.axis}: {_with_after(self.kind, self.after)}"


@dataclass(frozen=True)
class ReductionData:
    """A reduction whose updates may be made in boxes along a loop: `combiner` makes the partial results one.

    Its `order` is "any", or the order that has to be kept. Needs and `after` are as for a result.
    """

    name: str
    combiner: str
    order: str
    loop: str
    place: str
    kind: str
    needs: tuple[NeedData, ...]
    after: tuple[str, ...]

    @property
    def title(self) -> str:
        combiner = self.combiner if self.order == "any" else f"{self.combiner} in order ({self.order})"
        kind = _with_after(self.kind, self.after)
        return f"{self.name} by {combiner} over {self.loop}: {kind}{_in_brackets(self.place)}"


@dataclass(frozen=True)
class ChunkingData:
    """How a function may be computed in chunks. `obstacle`: why nothing is known, empty where something is."""

    function: str
    results: tuple[CutData, ...]
    reductions: tuple[ReductionData, ...]
    obstacle: str = ""

    def __str__(self) -> str:
        lines = [f"func @{self.function}"]
        if self.obstacle:
            lines.append(f"whole: {self.obstacle}")
        for cut in (*self.results, *self.reductions):
            lines += [cut.title, *(f"  {need}" for need in cut.needs)]
        if len(lines) == 1:
            lines.append("no result has an axis to cut")
        return "\n".join(lines) + "\n"

    def of(self, result: str, axis: int) -> CutData:
        """The cut of a result along an axis. Raises KeyError where there is none."""
        for cut in self.results:
            if (cut.result, cut.axis) == (result, axis):
                return cut
        raise KeyError(f"no cut of {result!r} along axis {axis}: {', '.join(c.title for c in self.results)}")


def chunking_data(function: FuncOp) -> ChunkingData:
    """How the results of a function at nest level may be computed in chunks, as data."""
    return _Writer(function).data()


def access_text(op: Operation, names: NestText, name_of: Callable[[SSAValue], str]) -> str:
    """What an operation does with a buffer, with its line of Python: `x[i, 0] (model.py:3)`, `the call of numpy.sort`."""
    place = _in_brackets(line_text(op))
    if isinstance(op, CallOp):
        declared = find_declaration(op)
        return f"the call of {op.callee.string_value() if declared is None else target_of(declared)}{place}"
    (access, *_) = accesses_of(op)
    assert access.buffer is not None and access.indices is not None
    element = names.element(access.buffer, access.indices)
    return f"{name_of(access.buffer)}{element.removeprefix(names.name(access.buffer))}{place}"


class _Writer:
    def __init__(self, function: FuncOp):
        self._function = function
        self._names = NestText(function)
        self._hints = [argument.name_hint for argument in function.args]

    def data(self) -> ChunkingData:
        found = chunking(self._function)
        obstacle = ""
        if found.obstacle is not None:
            op, why = found.obstacle
            obstacle = f"{why}{_in_brackets(line_text(op))}"
        results = tuple(map(self._cut, found.results))
        reductions = tuple(map(self._reduction, found.reductions))
        return ChunkingData(self._function.sym_name.data, results, reductions, obstacle)

    def _cut(self, cut: Cut) -> CutData:
        assert cut.axis is not None
        return CutData(self._name(cut.what), cut.axis, cut.kind, self._needs(cut), self._after(cut))

    def _reduction(self, cut: Cut) -> ReductionData:
        update, loop = cut.update, cut.loop
        assert update is not None and loop is not None
        said = update.combiner.data, update.order_name, loop.label, line_text(update)
        return ReductionData(self._reduced(update), *said, cut.kind, self._needs(cut), self._after(cut))

    def _after(self, cut: Cut) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(self._reduced, cut.after)))

    def _reduced(self, update: AccumulateOp) -> str:
        names = [self._name(buffer) for buffer in update.memrefs]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"

    def _needs(self, cut: Cut) -> tuple[NeedData, ...]:
        return tuple(one for need in cut.needs for one in self._need(need))

    def _need(self, need: Need) -> list[NeedData]:
        name, because = self._name(need.buffer), self._because(need.cause)
        if not need.axes:
            return [NeedData(name, None, because=because)]
        return [NeedData(name, one.axis, one.lower, one.upper, because) for one in need.axes]

    def _because(self, cause: Operation | None) -> str:
        return "" if cause is None else access_text(cause, self._names, self._name)

    def _name(self, buffer: SSAValue) -> str:
        """As in Python, though a loop has the name as well."""
        hint = buffer.name_hint
        if buffer in self._function.args and hint and self._hints.count(hint) == 1:
            return hint
        return self._names.name(buffer)


def _with_after(kind: str, after: tuple[str, ...]) -> str:
    return f"{kind}, after {', '.join(after)}" if after else kind


def _in_brackets(place: str) -> str:
    return f" ({place})" if place else ""
