"""nest-loop-borders: what is written at a fixed index is written by a loop of one iteration.

    nest.for "j" %j = 0 to %m {
      nest.store "y" %zero, %y[%n - 1, %j]
    }

becomes

    nest.for "j.at.0" %i = %n - 1 to %n {
      nest.for "j" %j = 0 to %m {
        nest.store "y" %zero, %y[%i, %j]
      }
    }

Before `nest-restrict`, which computes what a box needs by the bounds of loops: a border is then written by the boxes that
it is in, and by no other. Left as they are: nests of several statements, and indices that the function reads or computes in
the nest. In Halide the bounds of a stage do the same; TVM, Exo and NNC have no counterpart.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from ....analysis.nest.loop_structure import is_inside, structured_functions
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..rewrite.loops import fresh_names


def loop_borders(function: FuncOp) -> None:
    """Give statements at fixed indices loops of one iteration around their nests, in place."""
    for nest in list(function.body.block.ops):
        if isinstance(nest, ForOp | StoreOp | AccumulateOp):
            _loop_borders_of(nest)


def _loop_borders_of(nest: Operation) -> None:
    statements = [op for op in nest.walk() if isinstance(op, StoreOp | AccumulateOp)]
    if len(statements) != 1 or any(isinstance(op, CallOp) for op in nest.walk()):
        return
    (statement,) = statements
    for axis in range(len(statement.indices)):
        index = statement.indices[axis]
        if not all(_is_known_before(value, nest) for value in index.operands):
            continue
        name = nest.label if isinstance(nest, ForOp) else statement.statement
        nest = _in_a_loop(nest, statement, axis, index, f"{name}.at.{axis}")


def _is_known_before(value: SSAValue, nest: Operation) -> bool:
    """Whether an index is there before a nest, made of extents and scalars alone."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return isinstance(owner.parent_op(), FuncOp)
    if owner is nest or is_inside(owner, nest) or isinstance(owner, LoadOp):
        return False
    if isinstance(owner, memref.DimOp):
        return True
    return is_side_effect_free(owner) and all(_is_known_before(one, nest) for one in owner.operands)


def _in_a_loop(
    nest: Operation, statement: StoreOp | AccumulateOp, axis: int, index: AffineList, name: str
) -> ForOp:
    loop = ForOp("", index, index.add(1).canonical())
    loop.location = statement.location
    assert nest.parent is not None
    nest.parent.insert_op_before(loop, nest)
    (name,) = fresh_names(loop, name)
    loop.set_label(name)
    loop.iv.name_hint = "at"
    read = _read_just_before(nest)
    nest.detach()
    loop.body.block.add_op(nest)
    copies: dict[SSAValue, SSAValue] = {}
    for op in read:
        copy = op.clone(copies)
        loop.body.block.insert_op_before(copy, nest)
    for op in nest.walk():
        op.operands = [copies.get(value, value) for value in op.operands]
    every = [AffineList.of(loop.iv) if k == axis else one for k, one in enumerate(statement.indices)]
    indices = AffineList.of(*every).canonical()
    if isinstance(statement, AccumulateOp):
        statement.set_access(indices, statement.where)
    else:
        statement.set_indices(indices)
    return loop


def _read_just_before(nest: Operation) -> list[Operation]:
    """The loads that a nest needs the values of, and what is computed from these, where nothing is written in between.

    They are for who writes the border alone."""
    needed: list[Operation] = []
    values = {value for op in nest.walk() for value in op.operands}
    op = nest.prev_op
    while op is not None and (isinstance(op, LoadOp | AllocOp | memref.DimOp) or is_side_effect_free(op)):
        if any(result in values for result in op.results) and not isinstance(op, AllocOp | memref.DimOp):
            needed.append(op)
            values.update(op.operands)
        op = op.prev_op
    found, loaded = [], set[SSAValue]()
    for op in reversed(needed):
        if isinstance(op, LoadOp) or any(value in loaded for value in op.operands):
            found.append(op)
            loaded.update(op.results)
    return found


@dataclass(frozen=True, eq=False)
class NestLoopBordersPass(ModulePass):
    """Give statements at fixed indices loops of one iteration."""

    name = "nest-loop-borders"

    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in structured_functions(op, self.func):
            loop_borders(function)
