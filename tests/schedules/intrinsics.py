"""Random intrinsics for `tensorize`: functions that mean what a nest of a program does, or nearly that.

    text = draw_intrinsic(rng, loop, "intrinsic_1")     # func.func private @intrinsic_1(...) {nest.intrinsic} ...

The nest is copied. Buffers of the program become arguments of unknown extents and strides, what is fixed
during the nest becomes an argument or is left to the place of a window; sometimes one operation is made
another one, so that there are intrinsics to refuse.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from nestor.analysis.nest.loop_structure import loops_in
from nestor.analysis.nest.sets.accesses import alias_set, is_defined_outside
from nestor.dialects.affine import AffineList
from nestor.dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from nestor.transforms.nest.rewrite.loops import replace_index, rewrite_indices
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

INTRINSIC = "nest.intrinsic"

Accessing = LoadOp | StoreOp | AccumulateOp


def draw_intrinsic(rng: random.Random, loop: ForOp, name: str) -> str:
    """A function called `name` that does what `loop` does on its arguments, four times in five."""
    return str(_Draft(rng, loop).finish(name))


class _Draft:
    """The copy of a nest, while what it takes from the program becomes arguments."""

    def __init__(self, rng: random.Random, loop: ForOp):
        self.rng = rng
        self.nest = loop.clone()
        self.block = Block()
        self.attributes: list[dict[str, Attribute]] = []
        self.known: dict[SSAValue, SSAValue] = {}
        self.block.add_op(self.nest)
        for k, inner in enumerate(loops_in(self.nest)):
            inner.set_label(f"{inner.label}.in{k}")

    def finish(self, name: str) -> func.FuncOp:
        if self.rng.random() < 0.7:
            for loop in loops_in(self.nest):
                self._start_from_zero(loop)
        for loop in loops_in(self.nest):
            self._name_extent(loop)
        self._move_windows()
        for op in self.nest.walk():
            for k, value in enumerate(op.operands):
                if is_defined_outside(value, self.nest) and value.owner is not self.block:
                    op.operands[k] = self._argument(value)
        if self.rng.random() < 0.2:
            self._spoil()
        types = [argument.type for argument in self.block.args]
        self.block.add_op(func.ReturnOp())
        function = func.FuncOp(name, (types, []), Region(self.block), "private")
        function.attributes[INTRINSIC] = UnitAttr()
        if any(self.attributes):
            function.arg_attrs = ArrayAttr([DictionaryAttr(given) for given in self.attributes])
        return function

    # ---- loops --------------------------------------------------------------------------------------

    def _start_from_zero(self, loop: ForOp) -> None:
        if len(loop.lower) != 1 or len(loop.upper) != 1 or loop.lower.constants() == (0,):
            return
        lower, upper = loop.lower, loop.upper
        loop.set_bounds(AffineList.of(0), upper.minus(lower).canonical())
        replace_index(loop.iv, AffineList.of(loop.iv).plus(lower))

    def _name_extent(self, loop: ForOp) -> None:
        """An upper bound that the program knows before the nest is an argument."""
        upper = loop.upper
        if len(upper) != 1 or upper.constants() is not None:
            return
        if all(is_defined_outside(value, self.nest) for value in upper.operands):
            loop.set_bounds(loop.lower, AffineList.of(self._new_argument(IndexType())))

    # ---- buffers ------------------------------------------------------------------------------------

    def _move_windows(self) -> None:
        """Leave what is fixed out of indices, and axes that have nothing else, for some buffers."""
        buffers: dict[SSAValue, list[Accessing]] = {}
        for op in self.nest.walk():
            if isinstance(op, Accessing):
                for buffer in op.memrefs if isinstance(op, AccumulateOp) else [op.memref]:
                    if is_defined_outside(buffer, self.nest):
                        buffers.setdefault(buffer, []).append(op)
        joint = {op for op in self.nest.walk() if isinstance(op, AccumulateOp) and len(op.memrefs) != 1}
        for buffer, ops in buffers.items():
            if self.rng.random() < 0.85:
                for op in ops:
                    rewrite_indices(op, self._without_fixed)
            dropped: list[int] = []
            if not joint & set(ops) and self.rng.random() < 0.6:
                dropped = [k for k in range(_rank(buffer)) if all(self._is_fixed(op, k) for op in ops)]
            self.known[buffer] = self._buffer_argument(buffer, dropped)
            for op in ops:
                _drop(op, dropped)

    def _without_fixed(self, expressions: AffineList) -> AffineList:
        for value in expressions.operands:
            if is_defined_outside(value, self.nest) and value.owner is not self.block:
                expressions = expressions.substitute(value, 0)
        return expressions.canonical()

    def _is_fixed(self, op: Accessing, axis: int) -> bool:
        return all(is_defined_outside(value, self.nest) for value in op.indices[axis].operands)

    def _buffer_argument(self, buffer: SSAValue, dropped: Sequence[int]) -> SSAValue:
        type_ = buffer.type
        assert isinstance(type_, MemRefType)
        shape = [n for k, n in enumerate(type_.get_shape()) if k not in dropped]
        if self.rng.random() < 0.7:
            shape = [DYNAMIC_INDEX] * len(shape)
        layout = StridedLayoutAttr([NoneAttr()] * len(shape), NoneAttr())
        argument = self._new_argument(MemRefType(type_.element_type, shape, layout, type_.memory_space))
        group = alias_set(buffer)
        if group is not None and self.rng.random() < 0.7:
            self.attributes[-1]["nest.alias_set"] = IntegerAttr(group, i64)
        return argument

    # ---- values -------------------------------------------------------------------------------------

    def _argument(self, value: SSAValue) -> SSAValue:
        """What stands for a value of the program: an argument, or a constant again."""
        if value not in self.known:
            if isinstance(value.owner, arith.ConstantOp) and self.rng.random() < 0.7:
                constant = value.owner.clone()
                self.block.insert_op_before(constant, self.nest)
                self.known[value] = constant.result
            elif isinstance(value.type, MemRefType):
                self.known[value] = self._buffer_argument(value, ())
            else:
                self.known[value] = self._new_argument(value.type)
        return self.known[value]

    def _new_argument(self, type_: Attribute) -> SSAValue:
        self.attributes.append({})
        return self.block.insert_arg(type_, len(self.block.args))

    # ---- what it does not mean ----------------------------------------------------------------------

    def _spoil(self) -> None:
        """Make one operation another one."""
        changes = list(_changes(self.block))
        if changes:
            self.rng.choice(changes)()


def _rank(buffer: SSAValue) -> int:
    assert isinstance(buffer.type, MemRefType)
    return buffer.type.get_num_dims()


def _drop(op: Accessing, axes: Sequence[int]) -> None:
    """Leave indices out."""
    kept = [op.indices[k] for k in range(len(op.indices)) if k not in axes]
    indices = AffineList.of(*kept)
    if isinstance(op, LoadOp):
        op.set_indices(indices)
    else:
        op.set_access(indices, op.where)


def _changes(block: Block) -> Iterator[Callable[[], None]]:
    for op in block.walk():
        if isinstance(op, arith.ConstantOp):
            yield lambda op=op: _add_one(op)
        elif isinstance(op, ForOp) and len(op.upper) == 1:
            yield lambda op=op: op.set_bounds(op.lower, op.upper.add(1))
        elif isinstance(op, AccumulateOp) and op.combiner == "add":
            yield lambda op=op: op.properties.update({"combiner": StringAttr("mul")})
        elif isinstance(op, (StoreOp, AccumulateOp)) and op.where is not None:
            yield lambda op=op: op.set_access(op.indices, None)
        elif isinstance(op, (arith.SubfOp, arith.SubiOp, arith.CmpiOp, arith.CmpfOp)):
            yield lambda op=op: _swap(op)
        elif isinstance(op, LoadOp) and len(op.indices):
            yield lambda op=op: op.set_indices(op.indices.add(1))


def _swap(op: Operation) -> None:
    op.operands = [op.operands[1], op.operands[0]]


def _add_one(op: arith.ConstantOp) -> None:
    old = op.value
    if isinstance(old, IntegerAttr):
        op.properties["value"] = IntegerAttr(old.value.data + 1, old.type)
    elif isinstance(old, FloatAttr):
        op.properties["value"] = FloatAttr(old.value.data + 1.0, old.type)
