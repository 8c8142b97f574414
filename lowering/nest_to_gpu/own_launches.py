"""Launches of kernels whose text is the user's (`nt.custom_op` with `cuda=`).

    func.call @prog.scaled.5e1c92b0(%x, %by, %y) {nestor.kind = "CallError"} : (memref<?xf64>, ...) -> ()
  becomes
    %blocks = arith.ceildivsi %n, %c256 : index
    gpu.launch_func @f_kernels::@scaled_5e1c92b0 blocks in (%blocks, %c1, %c1) threads in (%c256, %c1, %c1)
        args(%x : memref<?xf64>, %by : memref<f64>, %y : memref<?xf64>)
  where
    gpu.func @scaled_5e1c92b0(...) kernel attributes {nestor.own_kernel = [...]} { gpu.return }

stands for the text (`cuda_c/own_kernels.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Block, Operation, Region, SSAValue

from ...analysis.nest.calls import declared_by, target_of
from ...dialects.attributes import OWN_KERNEL
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import gpu as gpu_ext
from ...dialects.nest.common import INDEX
from ..abi.launch_rules import computed
from ..cuda_c.own_kernels import OwnKernel, TextError
from ..nest_common.index_arithmetic import IndexBuilder
from ..nest_common.own_code import Declared


class OwnLaunch(NamedTuple):
    """A launch, and the kernel that it is of."""

    name: str
    kernel: Operation
    launch: Operation


_OPERATIONS: dict[str, type[Operation]] = {
    "+": arith.AddiOp,
    "-": arith.SubiOp,
    "*": arith.MuliOp,
    "//": arith.FloorDivSIOp,
    "min": arith.MinSIOp,
    "max": arith.MaxSIOp,
}


def own_launch(
    builder: IndexBuilder, call: func.CallOp, buffers: Sequence[SSAValue], module_name: str
) -> OwnLaunch:
    """The launch that a call is, on `buffers`; what it needs is computed where `builder` is."""
    declared = declared_by(call)
    try:
        own = OwnKernel(Declared.of(declared))
    except TextError as error:
        what = f"the CUDA text of {target_of(declared)} cannot be used: {error}"
        raise fail(call, what, hint=error.hint, error=LoweringError) from None
    geometry = _Geometry(builder, call, own, buffers)
    grid = geometry.grid()
    operands = [*buffers, *([geometry.count] if own.is_elementwise else [])]
    threads = [builder.constant(n) for n in (*own.block, 1, 1)[:3]]
    segments = [0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, len(operands), 0]
    launch = gpu_ext.LaunchFuncOp.create(
        operands=(*grid, *threads, *operands),
        properties={
            "kernel": SymbolRefAttr(module_name, [own.symbol]),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, segments),
        },
    )
    return OwnLaunch(own.symbol, _kernel(call, own, operands), launch)


def _kernel(call: func.CallOp, own: OwnKernel, operands: Sequence[SSAValue]) -> Operation:
    """What stands for the text in a `gpu.module`."""
    types = [o.type for o in operands]
    kernel = gpu_ext.FuncOp.create(
        properties={"function_type": FunctionType.from_lists(types, []), "kernel": UnitAttr()},
        attributes={
            "sym_name": StringAttr(own.symbol),
            "arg_attrs": ArrayAttr([DictionaryAttr({})] * len(types)),
            "gpu.known_block_size": DenseArrayBase.from_list(i32, (*own.block, 1, 1)[:3]),
            OWN_KERNEL: own.declared.attribute,
        },
        regions=[Region(Block([gpu_ext.ReturnOp.create()], arg_types=types))],
    )
    kernel.location = call.location
    return kernel


class _Geometry:
    """How many blocks a launch has."""

    def __init__(self, builder: IndexBuilder, call: func.CallOp, own: OwnKernel, buffers: Sequence[SSAValue]):
        self.builder, self.call, self.own, self.buffers = builder, call, own, buffers
        self.ranks = [one.rank for one in (*own.operands, *own.results)]

    def grid(self) -> list[SSAValue]:
        """The blocks along x, y and z."""
        found = [self._of(text) for text in self.own.grid]
        if not found:
            threads = self.builder.constant(prod(self.own.block))
            found = [self.builder.value(arith.CeilDivSIOp, (self.count, threads))]
        return [*found, *[self.builder.constant(1)] * 2][:3]

    @property
    def count(self) -> SSAValue:
        """The elements of the first result."""
        first = len(self.own.operands)
        count = self.builder.constant(1)
        for axis in range(self.ranks[first]):
            count = self.builder.value(arith.MuliOp, (count, self._extent(first, axis)))
        return count

    def _of(self, text: str) -> SSAValue:
        return computed(text, self._extent, self.builder.constant, self._apply)

    def _apply(self, operator: str, values: Sequence[SSAValue]) -> SSAValue:
        one, other = values
        if operator != "%":
            return self.builder.value(_OPERATIONS[operator], (one, other))
        whole = self._apply("*", (self._apply("//", values), other))
        return self._apply("-", (one, whole))

    def _extent(self, position: int, axis: int) -> SSAValue:
        if position >= len(self.ranks) or axis >= self.ranks[position]:
            what = f"grid= of '{self.own.entry}' asks for axis {axis} of operand {position}"
            axes = self.ranks[position] if position < len(self.ranks) else 0
            raise fail(self.call, f"{what}, which has {axes} axes", hint="mend grid=", error=LoweringError)
        buffer = self.buffers[position]
        assert isinstance(buffer.type, MemRefType)
        extent = buffer.type.get_shape()[axis]
        if extent >= 0:
            return self.builder.constant(extent)
        return self.builder.value(memref.DimOp, (buffer, self.builder.constant(axis)), INDEX)
