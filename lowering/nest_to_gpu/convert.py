"""convert-nest-to-gpu: every top-level nest becomes a kernel, the function becomes the host side that launches them.

    func.func @f(%x: memref<1000xf32>, %y: memref<1000xf32> {nest.role = "out"}) {
      nest.for "i.o" %o = 0 to 4 bind "block.x" {
        nest.for "i.i" %v = 0 to 256 bind "thread.x" {
          %a = nest.load %x[256 * %o + %v] : memref<1000xf32>
          nest.store "y" %a, %y[256 * %o + %v] where (256 * %o + %v < 1000) : memref<1000xf32>
        }
      }
    }
->
    func.func @f(%x: memref<1000xf32>, %y: memref<1000xf32>) {
      gpu.launch_func @f_kernels::@f_y blocks in (%c4, %c1, %c1) threads in (%c256, %c1, %c1)
          args(%x : memref<1000xf32>, %y : memref<1000xf32>)
    }
    gpu.module @f_kernels attributes {nestor.index_bits = 32 : i64} {
      gpu.func @f_y(%x: memref<1000xf32> {nestor.noalias}, %y: ... {nestor.noalias}) kernel { ... }
    }

The forms are those of docs/levels/gpu.md. A serial loop around bound loops stays on the host, and
launches in every iteration; a nest without bound loops is one thread. Elements of buffers are read in
kernels only: a value loaded at the top level is loaded again by each kernel that uses it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import (
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass

from ...analysis.nest.calls import declared_by, target_of
from ...analysis.nest.check_sites import check_sites, site_table
from ...analysis.nest.kernels.loop_marks import call_for_effect
from ...dialects.attributes import INDEX_BITS, SITES
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import gpu as gpu_ext
from ..abi.handed_over import HAND_OVER
from ..abi.print_calls import PRINT_CALLS
from ..nest_common.custom_calls import called, is_code, is_kernel
from ..nest_common.index_arithmetic import IndexBuilder
from ..nest_to_scf.convert import prepend, set_arguments
from .host import HostBody
from .host_cells import take_cells
from .index_width import width_of_indices
from .kept_elements import keep_elements


@dataclass(frozen=True)
class ConvertNestToGpuPass(ModulePass):
    """Lower every function of loop nests to a host function and kernels; see the module's docstring.

    `index-bits` is the width of index arithmetic in kernels: 64; 32 where the caller promises that no buffer has more than
    2^31 - 2^16 elements (kernels that compute indices from 64-bit elements keep 64); 0 for 32 where all buffers are
    known to be that small. With `explicit-barriers` kernels whose barriers nest-insert-barriers can find hold all
    that they need: the pass has just run. Otherwise those that are missing are put in, by buffers.
    """

    name = "convert-nest-to-gpu"

    index_bits: int = 0
    explicit_barriers: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.index_bits not in (0, 32, 64):
            raise fail(op, f"index-bits is {self.index_bits}; it is 32, 64, or 0 to choose")
        for function in list(op.body.block.ops):
            if isinstance(function, func.FuncOp) and function.body.blocks:
                lower_function(op, function, self.index_bits, self.explicit_barriers)


def lower_function(
    module: ModuleOp, function: func.FuncOp, index_bits: int = 0, explicit_barriers: bool = False
) -> None:
    """Lower one function in place; its kernels go to a `gpu.module` after it."""
    if len(function.body.blocks) != 1:
        raise fail(function, "a function of loop nests has one block", error=LoweringError)
    _refuse_calls(function)
    old = function.body.block
    new = Block(arg_types=[a.type for a in old.args])
    sites = check_sites(function)
    taken = {k.sym_name.data for k in module.walk() if isinstance(k, gpu.FuncOp)}
    host = HostBody(IndexBuilder(new), sites, function, taken, explicit_barriers)
    for before, after in zip(old.args, new.args, strict=True):
        host.define(before, after)
    bits = width_of_indices(function, index_bits)
    host.cells = take_cells(function)
    keep_elements(function, host.may_overlap, host.cells)
    host.block(old)
    host.name_the_only_kernel()
    prepend(new, host.builder.prologue)
    set_arguments(function)
    if sites:
        function.attributes[SITES] = site_table(sites)
    function.body.detach_block(old)
    function.body.add_block(new)
    old.erase()
    kernels = gpu_ext.ModuleOp.create(
        properties={"sym_name": StringAttr(host.module_name)},
        attributes={INDEX_BITS: IntegerAttr(bits, i64)},
        regions=[Region(Block([*host.kernels, *host.own_kernels.values()]))],
    )
    kernels.location = function.location
    module.body.block.insert_op_after(kernels, function)
    module.attributes["gpu.container_module"] = UnitAttr()


def _refuse_calls(function: func.FuncOp) -> None:
    for op in function.walk():
        if isinstance(op, func.CallOp) and op.callee.string_value() in PRINT_CALLS:
            raise fail(
                op,
                "print is not supported on a GPU",
                hint="return the values, and print them outside",
                error=LoweringError,
            )
        if isinstance(op, func.CallOp) and op.callee.string_value().startswith(HAND_OVER):
            raise fail(
                op,
                "a result whose extents depend on elements is not made on a GPU",
                hint="return an array of a known shape and how much of it counts, or use the target cpu",
                error=LoweringError,
            )
        if isinstance(op, func.CallOp) and called(op):
            callee = declared_by(op)
            if is_kernel(callee):
                continue
            what = "calls code for the CPU" if is_code(callee) else "calls Python"
            way_out = "call it outside the compiled function, or use the target cpu"
            raise fail(
                op,
                f"{what}: {target_of(callee)}, which a GPU cannot",
                hint=f"{way_out}; an nt.custom_op may have cuda= or a decomposition=, which run on GPUs"
                if is_code(callee)
                else way_out,
                error=LoweringError,
            )
    if (call := call_for_effect(function)) is not None:
        raise fail(
            call,
            f"calls @{call.callee.string_value()}, and a kernel calls no function on buffers",
            hint="leave the nest as loops for this target: nest-tensorize is for the CPU",
            error=LoweringError,
        )
