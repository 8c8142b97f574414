"""The ids of blocks and threads in a kernel, and what the lanes of a warp tell each other."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from xdsl.dialects import arith, gpu, scf
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    f32,
    i1,
    i32,
)
from xdsl.ir import Block, Region, SSAValue

from ...analysis.nest.kernels.barrier_places import BLOCK_AXES
from ...dialects.attributes import UNROLL
from ...dialects.ext import gpu as gpu_ext
from ...dialects.nest import BIND_AXES, LANES, LANES_ALONG
from ...dialects.nest.common import INDEX
from ..nest_common.index_arithmetic import IndexBuilder

_DIMENSIONS = {
    axis: gpu.DimensionAttr(gpu.DimensionEnum(axis.partition(".")[2] or "x"))
    for axis in BIND_AXES
    if axis not in LANES_ALONG
}


class ThreadIds:
    """The ids along the axes that a kernel uses, each read once at its start."""

    def __init__(self, builder: IndexBuilder, used: Container[str]):
        self._builder = builder
        self._used = used
        self._ids: dict[str, SSAValue] = {}
        self._thread_along_x: SSAValue | None = None
        """The id that warps and lanes are parts of."""

    def along(self, axis: str) -> SSAValue:
        found = self._ids.get(axis)
        if found is None:
            found = self._part_of_warps(axis) if self._counts_warps(axis) else self._read(axis)
            self._ids[axis] = found
            self._builder.nonnegative.add(found)
        return found

    def _read(self, axis: str) -> SSAValue:
        op_type = gpu_ext.BlockIdOp if axis in BLOCK_AXES else gpu_ext.ThreadIdOp
        new = op_type.create(result_types=(INDEX,), properties={"dimension": _DIMENSIONS[axis]})
        new.location = self._builder.location  # pyright: ignore[reportAttributeAccessIssue]
        self._builder.prologue.append(new)
        return new.results[0]

    def _counts_warps(self, axis: str) -> bool:
        return axis in LANES_ALONG or (
            axis == "thread.x" and any(lanes in self._used for lanes in LANES_ALONG)
        )

    def _part_of_warps(self, axis: str) -> SSAValue:
        """The number of the warp, of the lane in it, or of its row or column of lanes, of a thread along x."""
        if axis in ("lane.y", "lane.x"):
            op_type = arith.DivUIOp if axis == "lane.y" else arith.RemUIOp
            return self._part(op_type, self.along("lane"), LANES_ALONG["lane.x"], f"lane_{axis[-1]}")
        if self._thread_along_x is None:
            self._thread_along_x = self._read("thread.x")
        op_type = arith.DivUIOp if axis == "thread.x" else arith.RemUIOp
        return self._part(op_type, self._thread_along_x, LANES, "warp" if axis == "thread.x" else "lane")

    def _part(self, op_type: type, number: SSAValue, divisor: int, name: str) -> SSAValue:
        part = op_type(number, self._builder.constant(divisor))
        part.location = self._builder.location  # pyright: ignore[reportAttributeAccessIssue]
        self._builder.prologue.append(part)
        part.result.name_hint = name
        return part.result


Combine = Callable[[Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]


def over_lanes(
    builder: IndexBuilder, values: Sequence[SSAValue], combine: Combine, axis: str = "lane"
) -> Sequence[SSAValue]:
    """The values of all lanes along an axis combined, on each of them; several values where a combiner has several.

    scf.for %step = 0 to 5 iter_args(%total = %value) {          // lanes that are 16, 8, 4, 2 and 1 apart
      %other = gpu.shuffle xor %total, 16 >> %step, 32
      scf.yield %total + %other
    } {nestor.unroll}

    Along lane.x the lanes are 2 and 1 apart, along lane.y 16, 8 and 4.
    """
    steps = LANES_ALONG[axis].bit_length() - 1
    furthest = 2 if axis == "lane.x" else LANES // 2
    types = [value.type for value in values]
    body = Block(arg_types=(i32, *types))
    step, *totals = body.args
    step.name_hint = "step"
    for total in totals:
        total.name_hint = "total"
    with builder.inside(body):
        offset = builder.value(arith.ShRSIOp, (_int32(builder, furthest), step))
        others = [_from_lane(builder, total, offset) for total in totals]
        builder.emit(scf.YieldOp.create(operands=tuple(combine(totals, others))))
    loop = scf.ForOp.create(
        operands=(*(_int32(builder, bound) for bound in (0, steps, 1)), *values),
        result_types=types,
        attributes={UNROLL: UnitAttr()},
        regions=[Region(body)],
    )
    return builder.emit(loop).results


def _from_lane(builder: IndexBuilder, value: SSAValue, offset: SSAValue) -> SSAValue:
    """The value of the lane whose number differs by `offset`; lanes exchange 32 or 64 bits."""
    element, narrow = value.type, None
    if isinstance(element, IntegerType) and element.width.data < 32:
        value, narrow = builder.value(arith.ExtUIOp, (value,), i32), arith.TruncIOp
    elif isinstance(element, Float16Type | BFloat16Type):
        value, narrow = builder.value(arith.ExtFOp, (value,), f32), arith.TruncFOp
    shuffle = gpu_ext.ShuffleOp.create(
        operands=(value, offset, _int32(builder, LANES)),
        result_types=(value.type, i1),
        properties={"mode": StringAttr("xor")},
    )
    other = builder.emit(shuffle).results[0]
    return other if narrow is None else builder.value(narrow, (other,), element)


def on_any_lane(builder: IndexBuilder, condition: SSAValue) -> SSAValue:
    """Whether a condition holds on some lane."""
    flag = builder.value(arith.ExtUIOp, (condition,), i32)
    (flag,) = over_lanes(
        builder, [flag], lambda some, others: [builder.value(arith.OrIOp, (some[0], others[0]), i32)]
    )
    return builder.compare("ne", flag, _int32(builder, 0))


def _int32(builder: IndexBuilder, value: int) -> SSAValue:
    return builder.attribute_constant(IntegerAttr(value, i32), i32)
