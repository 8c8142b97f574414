"""The line above a kernel: the Python function it is part of, and how many threads run it.

// iou (boxes.py:4): ceil(n / 1024) blocks of 256 threads
"""

from __future__ import annotations

import os.path

from xdsl.dialects import arith, func, gpu, memref
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.attributes import DIMS
from ...dialects.diagnostic import op_location
from .scope import argument_attributes

_SYMBOLS = {arith.AddiOp: "+", arith.SubiOp: "-", arith.MuliOp: "*"}


def header(kernel: gpu.FuncOp, launches: list[gpu.LaunchFuncOp]) -> str | None:
    """What is known of a kernel that is launched here; None when nothing is."""
    sizes = _sizes(kernel, launches)
    if sizes is None:
        return None
    module = kernel.parent_op()
    host = _host_function(module)
    if host is None:
        return f"// {sizes}"
    place = op_location(host)
    where = f" ({os.path.basename(place.file)}:{place.line})" if place and place.file.endswith(".py") else ""
    return f"// {host.sym_name.data}{where}: {sizes}"


def _host_function(module: Operation | None) -> func.FuncOp | None:
    """The function whose kernels are in `module`: `f` for `f_kernels`."""
    around = module.parent_op() if module is not None else None
    if not isinstance(module, gpu.ModuleOp) or not isinstance(around, ModuleOp):
        return None
    name = module.sym_name.data.removesuffix("_kernels")
    functions = (op for op in around.body.block.ops if isinstance(op, func.FuncOp))
    return next((f for f in functions if f.sym_name.data == name), None)


def _sizes(kernel: gpu.FuncOp, launches: list[gpu.LaunchFuncOp]) -> str | None:
    known = kernel.known_block_size
    if not isinstance(known, DenseArrayBase):
        return None
    threads = _product([str(n) for n in known.get_values()])
    threads = "one thread" if threads == "1" else f"{threads} threads"
    grids = {_grid(launch, kernel) for launch in launches}
    grid = grids.pop() if len(grids) == 1 else None
    if grid is None:
        return f"blocks of {threads}"
    return f"one block of {threads}" if grid == "1" else f"{grid} blocks of {threads}"


def _grid(launch: gpu.LaunchFuncOp, kernel: gpu.FuncOp) -> str | None:
    sizes = (launch.gridSizeX, launch.gridSizeY, launch.gridSizeZ)
    extents = [_described(v, launch, kernel) for v in sizes]
    return None if None in extents else _product([e for e in extents if e is not None])


def _product(extents: list[str]) -> str:
    while len(extents) > 1 and extents[-1] == "1":
        extents.pop()
    return " x ".join(extents)


def _described(value: SSAValue, launch: gpu.LaunchFuncOp, kernel: gpu.FuncOp) -> str | None:
    """An extent of a grid in the kernel's own terms; None when that is long."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return str(op.value.value.data)
    if isinstance(op, memref.DimOp):
        return _extent(op, launch, kernel)
    if isinstance(op, arith.CeilDivSIOp):
        parts = [_described(v, launch, kernel) for v in op.operands]
        return None if None in parts else f"ceil({parts[0]} / {parts[1]})"
    if isinstance(op, Operation) and type(op) in _SYMBOLS:
        parts = [_described(v, launch, kernel) for v in op.operands]
        is_short = all((part is not None and part.isidentifier()) or str(part).isdigit() for part in parts)
        return f"{parts[0]} {_SYMBOLS[type(op)]} {parts[1]}" if is_short else None
    return None


def _extent(op: memref.DimOp, launch: gpu.LaunchFuncOp, kernel: gpu.FuncOp) -> str | None:
    """The name of an extent of a buffer that the kernel is given."""
    axis = _axis(op)
    attributes = argument_attributes(kernel)
    for k, operand in enumerate(launch.kernelOperands):
        dims = attributes[k].get(DIMS)
        if operand is op.source and isinstance(dims, ArrayAttr) and axis is not None:
            name = dims.data[axis]
            return name.data if isinstance(name, StringAttr) else None
    return None


def _axis(op: memref.DimOp) -> int | None:
    constant = op.index.owner
    if isinstance(constant, arith.ConstantOp) and isinstance(constant.value, IntegerAttr):
        return constant.value.value.data
    return None
