"""The plan of a fusion: which loop nests it becomes, and what each pass over the inner loops computes.

A fusion is a list of *nests*. A nest runs over a space, the axes of which are rows and reduced axes, and has *passes*: one
after the other inside the rows, each a loop nest over the reduced axes. The softmax of rows is one nest of three passes:

    for i:                                 rows [0], reduced [1]
      for j: m max= x[i, j]                pass 0: reductions of level 0
      for j: s += exp(x[i, j] - m)         pass 1: what needs the results of pass 0
      for j: out[i, j] = exp(...) / s      pass 2: an output over the full space

A reduction whose innermost axis is kept (`sum(axis=0)` of a row-major array) would read with a stride that way, so it
accumulates into a buffer over the rows instead ("by columns"); what needs its result is another nest. What is computed
of such results for a row alone, and is slow, is stored for all rows first: a nest of its own, instead of a division or
a square root at each element. The batch norm of the last axis:

    for i, j: s[j] += x[i, j]              by columns
    for j: mean[j] = s[j] / n              a value of rows
    for i, j: v[j] += (x[i, j] - mean[j]) ** 2
    for j: root[j] = sqrt(v[j] / n + eps)  a value of rows
    for i, j: out[i, j] = (x[i, j] - mean[j]) / root[j]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects.affine import AffineList, dims_of
from ...dialects.nt import REDUCTIONS, ElementwiseOp, ReduceOp
from ...dialects.nt.ops import element_of
from ...dialects.nt.types import storage_type
from ...dialects.nt.work import Effort, effort_of
from .access import Index
from .scalars import accumulator_type
from .shapes import INDEX

Key = tuple[SSAValue, Index]
"""An element of a tensor."""


@dataclass(eq=False)
class Output:
    """An element of `value` goes to the buffer `memref` at each point, or where `window` says."""

    value: SSAValue
    memref: SSAValue
    label: str
    window: Callable[[Index], Index] | None = None


@dataclass(eq=False)
class Pass:
    """One run over the reduced axes: accumulations, and stores of outputs over the full space."""

    reductions: list[ReduceOp] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)


@dataclass(eq=False)
class Nest:
    """Loops over `space`; `point` is the index in it (stand-ins for loop variables), `order` the axes from the outermost."""

    space: Index
    reduced: tuple[int, ...]
    by_columns: bool
    order: tuple[int, ...]
    point: Index
    passes: list[Pass] = field(default_factory=list)
    row_outputs: list[Output] = field(default_factory=list)
    exports: list[SSAValue] = field(default_factory=list)

    @property
    def rows(self) -> tuple[int, ...]:
        """The axes that are not reduced."""
        return tuple([axis for axis in range(len(self.space)) if axis not in self.reduced])

    @property
    def row_point(self) -> Index:
        return tuple([self.point[axis] for axis in self.rows])

    def reductions(self) -> Iterable[ReduceOp]:
        for one in self.passes:
            yield from one.reductions


def accumulator_of(op: ReduceOp, k: int) -> Attribute:
    """The type in memory of the accumulator of operand `k`."""
    element = element_of(op.inputs[k])
    name = op.combiner.data
    combiner = name if name == "custom" else REDUCTIONS[name].combiner(element)
    return accumulator_type(element, storage_type(element), combiner)


def stand_ins(rank: int) -> Index:
    """An index of as many fresh variables."""
    return tuple([AffineList.of(arg) for arg in Block(arg_types=[INDEX] * rank).args])


def is_expensive(value: SSAValue) -> bool:
    """Whether storing an element and loading it again beats computing it again."""
    return effort_of(value.owner) >= Effort.FUNCTION


class Planner:
    """Makes the nests of one fusion. `trace(roots, stop)` gives the elements that computing `roots` needs."""

    def __init__(
        self,
        extents: Callable[[SSAValue], Index],
        trace: Callable[..., list[Key]],
        memory_order: Callable[[SSAValue], tuple[int, ...]],
        buffer_of: Callable[[SSAValue], SSAValue | None],
    ):
        self._extents = extents
        self._trace = trace
        self._memory_order = memory_order
        self._buffer_of = buffer_of
        self._home: dict[SSAValue, tuple[Nest, int]] = {}
        self._outputs: Sequence[Output] = ()
        self.nests: list[Nest] = []
        self.row_values: list[SSAValue] = []
        """What is stored for all rows before the elements that need it."""

    def plan(self, reductions: Sequence[ReduceOp], outputs: Sequence[Output]) -> list[Nest]:
        """The nests in the order they run."""
        self._outputs = outputs
        for op in reductions:
            self._store_row_values(op.inputs)
            self._place_reduction(op)
        for output in outputs:
            self._store_row_values([output.value])
            if output.value not in self.row_values:
                self._place_output(output)
        self._find_exports()
        return self.nests

    # ---- reductions ---------------------------------------------------------------------------------

    def _place_reduction(self, op: ReduceOp) -> None:
        space = self._extents(op.inputs[0])
        reduced = tuple(sorted(op.reduced))
        for nest in reversed(self.nests):
            needed = self._needed([(v, nest.point) for v in op.inputs]) if nest.space == space else None
            if needed is not None and nest.reduced == reduced and self._fits(nest, needed):
                return self._join_reduction(nest, op, needed)
            if self._depends(op.inputs, space, nest):
                break
        nest = self._new_reduction_nest(op, space, reduced)
        self._join_reduction(nest, op, self._needed([(v, nest.point) for v in op.inputs]))

    def _join_reduction(self, nest: Nest, op: ReduceOp, needed: Sequence[Key]) -> None:
        level = self._level(nest, needed)
        self._pass(nest, level).reductions.append(op)
        for result in op.results:
            self._home[result] = (nest, level)

    def _new_reduction_nest(self, op: ReduceOp, space: Index, reduced: tuple[int, ...]) -> Nest:
        point = stand_ins(len(space))
        innermost = self._fastest_axis([(v, point) for v in op.inputs], point, reduced, space)
        axes = list(range(len(space)))
        is_product = op.order_name == "any" and self._is_product(op, point, reduced)
        by_columns = len(reduced) < len(axes) and bool(reduced) and (is_product or innermost not in reduced)
        fixed = is_product or (op.order_name != "any" and innermost in reduced)
        if innermost is not None and not fixed:
            axes.remove(innermost)
            axes.append(innermost)
        nest = Nest(space, reduced, by_columns, tuple(axes), point)
        self.nests.append(nest)
        return nest

    def _fastest_axis(
        self, roots: Sequence[Key], point: Index, reduced: Sequence[int], space: Index
    ) -> int | None:
        """The axis along which most loads move by one element; of equals a row, then the last; None for rank 0.

        Loads that move along several axes count first: one that moves along a single axis is invariant along the others. An
        axis of extent 1 is none to move along, where there are others.
        """
        votes = [0] * len(point)
        of_several = [0] * len(point)
        axis_of = {at.operands[0]: axis for axis, at in enumerate(point)}
        for value, index in self._trace(roots):
            memref = self._buffer_of(value)
            if memref is None or not index:
                continue
            last = index[fastest_dimension(memref)]
            moving = {operand for at in index for operand in at.operands if operand in axis_of}
            for operand in last.operands:
                if operand in axis_of and _is_unit(last, operand):
                    votes[axis_of[operand]] += 1
                    of_several[axis_of[operand]] += len(moving) > 1
        axes = [axis for axis, extent in enumerate(space) if extent.constants() != (1,)] or range(len(space))
        return max(axes, key=lambda a: (of_several[a], votes[a], a not in reduced, a), default=None)

    def _is_product(self, op: ReduceOp, point: Index, reduced: Sequence[int]) -> bool:
        """Whether one operand moves with some rows and another with others, as in products of matrices.

        Such sums are accumulated in memory, in loops that are perfectly nested: these can be tiled in both directions.
        """
        if op.combiner.data == "custom":
            return False
        axis_of = {at.operands[0]: axis for axis, at in enumerate(point)}
        moving: list[set[int]] = []
        for value, index in self._trace([(v, point) for v in op.inputs]):
            if self._buffer_of(value) is not None:
                axes = {axis_of[v] for at in index for v in at.operands if v in axis_of}
                if axes & set(reduced):
                    moving.append(axes - set(reduced))
        return any(a - b and b - a for a in moving for b in moving)

    def _needed(self, roots: Sequence[Key]) -> list[Key]:
        """The results of this fusion's reductions, and the stored values of rows, that `roots` need."""
        return [key for key in self._trace(roots, stop=self.row_values) if key[0] in self._home]

    def _fits(self, nest: Nest, needed: Sequence[Key]) -> bool:
        """Whether every result of `nest` that is needed is needed at the current row, when it is at hand."""
        inside = [index for value, index in needed if self._home_nest(value) is nest]
        if nest.by_columns:
            return not inside
        return all(index == nest.row_point for index in inside)

    def _depends(self, values: Iterable[SSAValue], space: Index, nest: Nest) -> bool:
        point = stand_ins(len(space))
        return any(self._home_nest(v) is nest for v, _ in self._needed([(v, point) for v in values]))

    def _home_nest(self, value: SSAValue) -> Nest | None:
        home = self._home.get(value)
        return home[0] if home else None

    def _level(self, nest: Nest, needed: Sequence[Key]) -> int:
        """The pass in which something can be computed: after those of the reductions it needs."""
        levels = [self._home[v][1] + 1 for v, _ in needed if self._home_nest(v) is nest]
        return max(levels, default=0)

    @staticmethod
    def _pass(nest: Nest, level: int) -> Pass:
        while len(nest.passes) <= level:
            nest.passes.append(Pass())
        return nest.passes[level]

    # ---- values of rows -----------------------------------------------------------------------------

    def _store_row_values(self, values: Sequence[SSAValue]) -> None:
        """Nests for the slow values of rows that computing `values` needs at each element: the last ones of each chain."""
        if not any(nest.by_columns for nest in self.nests):
            return
        space = self._extents(values[0])
        point = stand_ins(len(space))
        while True:
            needed = self._trace([(v, point) for v in values], stop=self.row_values)
            found = [v for v, _ in needed if self._is_slow_row_value(v, space)]
            if not found:
                return
            self._store_rows(max(found, key=_position))

    def _is_slow_row_value(self, value: SSAValue, space: Index) -> bool:
        extents = self._extents(value)
        if value in self.row_values or not isinstance(value.owner, ElementwiseOp):
            return False
        if not extents or len(extents) >= len(space):
            return False
        needed = self._trace([(value, stand_ins(len(extents)))], stop=self.row_values)
        homes = [self._home_nest(v) for v, _ in needed]
        return any(home is not None and home.by_columns for home in homes) and any(
            effort_of(v.owner) > Effort.CHEAP for v, _ in needed if v not in self.row_values
        )

    def _store_rows(self, value: SSAValue) -> None:
        space = self._extents(value)
        outputs = [output for output in self._outputs if output.value is value]
        nest = Nest(space, (), False, tuple(range(len(space))), stand_ins(len(space)), row_outputs=outputs)
        self.nests.append(nest)
        self._home[value] = (nest, 0)
        self.row_values.append(value)

    # ---- outputs ------------------------------------------------------------------------------------

    def _place_output(self, output: Output) -> None:
        space = self._extents(output.value)
        home = self._home_nest(output.value)
        if home is not None and home.by_columns and self._accumulates_in(output, home):
            home.row_outputs.append(output)
            return
        for nest in reversed(self.nests):
            if not nest.by_columns and self._join_output(nest, output, space):
                return
            if self._depends([output.value], space, nest):
                break
        order = self._memory_order(output.memref) if output.window is None else tuple(range(len(space)))
        nest = Nest(space, (), False, order, stand_ins(len(space)), [Pass([], [output])])
        self.nests.append(nest)

    @staticmethod
    def _accumulates_in(output: Output, home: Nest) -> bool:
        """Whether the output can be the accumulator; of several outputs of one value, the first."""
        op = output.value.owner
        assert isinstance(op, ReduceOp)
        if output.window is not None or any(other.value is output.value for other in home.row_outputs):
            return False
        return output.memref.type.element_type == accumulator_of(op, output.value.index)  # pyright: ignore

    def _join_output(self, nest: Nest, output: Output, space: Index) -> bool:
        if space == nest.space:
            needed = self._needed([(output.value, nest.point)])
            if not self._fits(nest, needed):
                return False
            self._pass(nest, self._level(nest, needed)).outputs.append(output)
            return True
        if space != tuple([nest.space[axis] for axis in nest.rows]):
            return False
        needed = self._needed([(output.value, nest.row_point)])
        if not needed or not self._fits(nest, needed):
            return False
        nest.row_outputs.append(output)
        return True

    def _find_exports(self) -> None:
        """Results of reductions that a later nest needs as well: they must be in a buffer."""
        for nest in self.nests:
            roots = [(v, nest.point) for op in nest.reductions() for v in op.inputs]
            roots += [(o.value, nest.point) for one in nest.passes for o in one.outputs]
            roots += [(o.value, nest.row_point) for o in nest.row_outputs]
            needed = [value for value, _ in self._needed(roots)]
            for value in self.row_values:
                if self._home_nest(value) is nest:
                    others = [v for v in self.row_values if v is not value]
                    traced = self._trace([(value, nest.point)], stop=others)
                    needed += [v for v, _ in traced if v is not value and v in self._home]
            for value in needed:
                home = self._home[value][0]
                if home is not nest and value not in home.exports:
                    home.exports.append(value)

    # ---- what is stored rather than computed twice --------------------------------------------------

    def shared_values(self) -> list[SSAValue]:
        """Expensive values over the full space that two passes need: each is stored by the first of them."""
        shared: list[SSAValue] = []
        while True:
            counts: dict[SSAValue, int] = {}
            for nest in self.nests:
                for one in nest.passes:
                    for value in self._expensive_in(nest, one, shared):
                        counts[value] = counts.get(value, 0) + 1
            twice = [v for v, count in counts.items() if count > 1 and v not in shared]
            if not twice:
                return shared
            # The last one in program order may hide the others from the second pass.
            shared.append(max(twice, key=_position))

    def _expensive_in(self, nest: Nest, one: Pass, stop: Sequence[SSAValue]) -> set[SSAValue]:
        roots = [(v, nest.point) for op in one.reductions for v in op.inputs]
        roots += [(o.value, nest.point) for o in one.outputs]
        found = self._trace(roots, stop=stop)
        return {
            v for v, at in found if is_expensive(v) and at == nest.point and self._extents(v) == nest.space
        }


def _position(value: SSAValue) -> int:
    op = value.owner
    assert isinstance(op, Operation) and op.parent is not None
    return op.parent.get_operation_index(op)


def fastest_dimension(memref: SSAValue) -> int:
    """The dimension of a buffer with stride 1 (the last one when none is known to be 1), except for those of extent 1."""
    shape, layout = shape_of_buffer(memref), memref.type.layout  # pyright: ignore
    found = [k for k, extent in enumerate(shape) if extent != 1] or list(range(len(shape)))
    if isinstance(layout, StridedLayoutAttr):
        strides = [None if isinstance(s, NoneAttr) else s.data for s in layout.strides.data]
        found = [k for k in found if strides[k] == 1] or found
    return found[-1]


def shape_of_buffer(memref: SSAValue) -> tuple[int, ...]:
    """Extents of a memref."""
    return tuple(memref.type.get_shape())  # pyright: ignore


def _is_unit(expression: AffineList, operand: SSAValue) -> bool:
    """Whether the expression moves by one when `operand` does."""
    position = expression.operands.index(operand)
    return _coefficient(expression.exprs[0], position) in (1, -1)


def _coefficient(expr: AffineExpr, position: int) -> int | None:
    zeros = [0] * 64
    if max(dims_of(expr), default=0) >= len(zeros):
        return None
    ones = list(zeros)
    ones[position] = 1
    return expr.eval(ones, []) - expr.eval(zeros, [])
