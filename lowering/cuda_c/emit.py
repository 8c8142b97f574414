"""`gpu.module` to CUDA C: a text that a person can read and that NVRTC, nvcc and g++ compile as it is.

Before, with `nestor.index_bits = 32`:

    gpu.func @scale(%x: memref<?xf32>, %out: memref<?xf32>) kernel {
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %c256 = arith.constant 256 : index
      %0 = arith.muli %b, %c256 : index
      %i = arith.addi %0, %t : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      %inside = arith.cmpi slt, %i, %n : index
      scf.if %inside {
        %1 = memref.load %x[%i] : memref<?xf32>
        %y = arith.mulf %1, %2 : f32
        memref.store %y, %out[%i] : memref<?xf32>
      }
      gpu.return
    }

After:

    extern "C" __global__ void __launch_bounds__(256) scale(const float *x, float *out, int n) {
      const int i = blockIdx.x * 256 + threadIdx.x;
      if (i >= n) return;
      // prog.py:4: y = x * 2
      const float y = x[i] * 2.0f;
      out[i] = y;
    }

Values with a name (a Python variable) become one statement each; unnamed values used once are folded into
their use, unless a store that may change what they read comes between.
"""

from __future__ import annotations

import re
from dataclasses import replace

from xdsl.dialects import gpu
from xdsl.dialects.builtin import (
    IntegerAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Attribute, Operation

from ...dialects.affine import constant_of
from ...dialects.attributes import INDEX_BITS, OWN_KERNEL
from ...dialects.diagnostic import LoweringError, fail, op_location
from ..abi.kernel_signature import CudaModule, KernelSignature, OwnText
from .header import header
from .kernel import KernelPrinter
from .own_kernels import own_kernel
from .prelude import prelude
from .types import CTypes


def emit_cuda(module: Operation) -> str:
    """The CUDA C text of every `gpu.module` in `module` (a builtin module or a gpu.module)."""
    return print_cuda(module).source


def print_cuda(module: Operation) -> CudaModule:
    """The CUDA C text of every kernel in `module`, with the kernels' signatures."""
    helpers: set[str] = set()
    texts: list[str] = []
    places: list[list[tuple[str, int] | None]] = []
    signatures: dict[str, KernelSignature] = {}
    blocks = _launch_bounds(module)
    launches: dict[str, list[gpu.LaunchFuncOp]] = {}
    own: dict[str, tuple[Attribute, gpu.FuncOp]] = {}
    for op in module.walk():
        if isinstance(op, gpu.LaunchFuncOp):
            launches.setdefault(kernel_name(op.kernel), []).append(op)
    for gpu_module in _gpu_modules(module):
        types = CTypes(_index_bits(gpu_module))
        for func in gpu_module.body.block.ops:
            if not isinstance(func, gpu.FuncOp):
                raise fail(func, f"{func.name} cannot stand in a gpu.module", error=LoweringError)
            name = func.sym_name.data
            if (declared := func.attributes.get(OWN_KERNEL)) is not None:
                own.setdefault(name, (declared, func))
                continue
            printer = KernelPrinter(func, types, helpers, blocks.get(name))
            above = header(func, launches[name]) if name in launches else None
            texts.append(printer.print() if above is None else f"{above}\n{printer.print()}")
            places.append([*[None] * (above.count("\n") + 1 if above else 0), *printer.places()])
            signatures[name] = printer.signature()
    if not texts and not own:
        raise fail(
            module,
            "there is no gpu.module to print as CUDA C",
            hint="convert first: -p convert-nest-to-gpu",
            error=LoweringError,
        )
    first = prelude(_called(helpers, texts))
    lines: list[tuple[str, int] | None] = [None] * sum(text.count("\n") + 2 for text in first)
    for kernel in places:
        lines += [*kernel, None]
    users: list[OwnText] = []
    for name, (declared, func) in own.items():
        kernel = own_kernel(declared)
        place = op_location(func)
        text, user = kernel.text(None if place is None else (place.file, place.line))
        users.append(replace(user, first=len(lines) + user.first))
        lines += [None] * (text.count("\n") + 2)
        texts.append(text)
        signatures[name] = kernel.signature()
    return CudaModule("\n\n".join([*first, *texts]) + "\n", signatures, tuple(lines), tuple(users))


def _called(helpers: set[str], kernels: list[str]) -> set[str]:
    """The helpers that kernels call: a rounding that a store does by itself needs none."""
    names = set(re.findall(r"\bnt_\w+", "\n".join(kernels)))
    return {helper for helper in helpers if helper.split()[0] in names}


def _gpu_modules(module: Operation) -> list[gpu.ModuleOp]:
    return [op for op in module.walk() if isinstance(op, gpu.ModuleOp)]


def _index_bits(module: gpu.ModuleOp) -> int:
    bits = module.attributes.get(INDEX_BITS, IntegerAttr(64, i64))
    if isinstance(bits, IntegerAttr) and bits.value.data in (32, 64):
        return bits.value.data
    raise fail(module, f"nestor.index_bits is {bits}; it is 32 or 64", error=LoweringError)


def _launch_bounds(module: Operation) -> dict[str, int]:
    """Threads per block of the kernels that are always launched with the same constant number of them."""
    sizes: dict[str, set[int | None]] = {}
    for op in module.walk():
        if not isinstance(op, gpu.LaunchFuncOp):
            continue
        size: int | None = 1
        for extent in (op.blockSizeX, op.blockSizeY, op.blockSizeZ):
            constant = constant_of(extent)
            size = None if size is None or constant is None else size * constant
        sizes.setdefault(kernel_name(op.kernel), set()).add(size)
    return {name: s for name, (s, *rest) in ((k, list(v)) for k, v in sizes.items()) if not rest and s}


def kernel_name(symbol: SymbolRefAttr) -> str:
    """The kernel that a launch refers to: `scale` of `@f_kernels::@scale`."""
    nested = symbol.nested_references.data
    return nested[-1].data if nested else symbol.root_reference.data
