"""The host side of a GPU program: its `func.func` as a Python function over any device.

The host function of docs/levels/gpu.md computes extents, allocates temporaries and launches
kernels. It is translated once to Python text; running it on NumPy arrays with the CUDA simulator and on
CuPy arrays with a GPU differ only in the `Device`.

    func.func @scale(%x: memref<?xf32>, %out: memref<?xf32>) {
      %n = memref.dim %x, %c0 : memref<?xf32>
      %blocks = arith.ceildivsi %n, %c256 : index
      gpu.launch_func @scale_kernels::@scale blocks in (%blocks, %c1, %c1) threads in (%c256, %c1, %c1)
          args(%x : memref<?xf32>, %out : memref<?xf32>)
      func.return
    }

becomes

    def scale(run, x, out):
        n = x.shape[0]
        blocks = ceil_divide(n, 256)
        run.launch('scale', (blocks, 1, 1), (256, 1, 1), (x, out))
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, cf, func, gpu, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.nest.check_sites import checked_index, raises
from ...dialects.attributes import ARENA, INDEX_BITS, KIND, SITE
from ...dialects.diagnostic import LoweringError, SourceLocation, fail, op_location
from ...lowering.abi.error_codes import ERROR_CODES
from ...lowering.abi.kernel_signature import CudaModule
from ...lowering.cuda_c.emit import kernel_name, print_cuda
from .. import scalar_eval
from .host_program import HostProgram


def _kernels(module: ModuleOp) -> CudaModule:
    """The text of the kernels; a program that only returns views and constants has none."""
    has_kernels = any(isinstance(op, gpu.FuncOp) for op in module.walk())
    return print_cuda(module) if has_kernels else CudaModule("", {})


def _places(module: ModuleOp, cuda: CudaModule) -> dict[str, SourceLocation | None]:
    """Where in the Python source each kernel comes from, by its name in CUDA C."""
    kernels = [op for op in module.walk() if isinstance(op, gpu.FuncOp)]
    return {cuda.signatures[op.sym_name.data].name: _place(op) for op in kernels}


def _place(kernel: gpu.FuncOp) -> SourceLocation | None:
    """The line whose result a kernel stores last, else the line of the function."""
    stores = [op for op in kernel.walk() if op.name in ("memref.store", "vector.store")]
    return next((place for op in reversed(stores) if (place := op_location(op))), op_location(kernel))


class HostPlan(HostProgram):
    """A GPU program: the text of its kernels, and its host function ready to run."""

    def __init__(self, module: ModuleOp, function: str | None = None, cuda: CudaModule | None = None):
        cuda = cuda or _kernels(module)
        host = _host_function(module, function)
        types = [argument.type for argument in host.body.block.args]
        super().__init__(
            host.sym_name.data,
            _Translator(host).translate(),
            tuple([None if isinstance(one, MemRefType) else scalar_eval.type_name(one) for one in types]),
            cuda,
            _places(module, cuda),
            _index_bits(module, host) == 32,
        )


def _index_bits(module: ModuleOp, host: func.FuncOp) -> int:
    """The width of indices in the kernels of a host function."""
    for op in module.body.block.ops:
        if isinstance(op, gpu.ModuleOp) and op.sym_name.data == f"{host.sym_name.data}_kernels":
            bits = op.attributes.get(INDEX_BITS)
            return bits.value.data if isinstance(bits, IntegerAttr) else 64
    return 64


def _host_function(module: ModuleOp, name: str | None) -> func.FuncOp:
    functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp) and op.body.blocks]
    for function in functions:
        if function.sym_name.data == name or (name is None and len(functions) == 1):
            return function
    names = ", ".join(f.sym_name.data for f in functions) or "none"
    wanted = f"@{name}" if name else "a single one"
    raise fail(module, f"no host function: wanted {wanted}", hint=f"functions here: {names}")


class _Translator:
    """Writes the host function as Python."""

    def __init__(self, function: func.FuncOp):
        self._function = function
        self._lines: list[str] = []
        self._depth = 1
        self._names: dict[SSAValue, str] = {}
        self._taken = {"run", "host", *scalar_eval.NAMESPACE}

    def translate(self) -> str:
        """The text of a Python function `host(run, *arguments)`."""
        if len(self._function.body.blocks) != 1:
            raise fail(self._function, "a host function has one block", error=LoweringError)
        arguments = ", ".join(["run", *(self._name(a) for a in self._function.body.block.args)])
        self._block(self._function.body.block)
        return "\n".join([f"def host({arguments}):", *self._lines, ""])

    def _name(self, value: SSAValue) -> str:
        base = re.sub(r"\W", "_", value.name_hint or "v", flags=re.ASCII)
        base = f"{base}_" if keyword.iskeyword(base) else base
        name, number = base, 0
        while name in self._taken or not name.isidentifier():
            number += 1
            name = f"{base}_{number}" if base.isidentifier() else f"v_{number}"
        self._taken.add(name)
        self._names[value] = name
        return name

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _values(self, values: Sequence[SSAValue]) -> list[str]:
        return [self._names[v] for v in values]

    def _block(self, block: Block) -> None:
        before = len(self._lines)
        for op in block.ops:
            self._operation(op)
        if len(self._lines) == before:
            self._line("pass")

    def _nested(self, block: Block, yields: list[str]) -> None:
        self._depth += 1
        self._block(block)
        if yields and block.last_op is not None:
            self._line(f"{', '.join(yields)}, = {', '.join(self._values(block.last_op.operands))},")
        self._depth -= 1

    def _operation(self, op: Operation) -> None:
        handler = _HANDLERS.get(op.name)
        if handler is not None:
            handler(self, op)
            return
        if op.name.startswith(("arith.", "math.", "special.")) and len(op.results) == 1:
            expression = scalar_eval.expression(op, self._values(op.operands))
            self._line(f"{self._name(op.results[0])} = {expression}")
            return
        raise fail(op, f"{op.name} cannot run on the host side of a GPU program", error=LoweringError)

    def _constant(self, op: arith.ConstantOp) -> None:
        value = scalar_eval.constant(op)
        name = scalar_eval.type_name(op.result.type)
        if name == "int":
            self._names[op.result] = str(value) if value >= 0 else f"({value})"
            return
        literal = f"float.fromhex({float(value).hex()!r})" if name[0] in "fb" else repr(value.item())
        self._line(f"{self._name(op.result)} = {name}({literal})")

    def _dim(self, op: memref.DimOp) -> None:
        self._line(f"{self._name(op.result)} = {self._names[op.source]}.shape[{self._names[op.index]}]")

    def _alloca(self, op: memref.AllocaOp) -> None:
        self._line(f"{self._name(op.memref)} = [None]")

    def _store(self, op: memref.StoreOp) -> None:
        if not isinstance(op.memref.owner, memref.AllocaOp):
            raise fail(op, "the host writes no element of the device", error=LoweringError)
        self._line(f"{self._names[op.memref]}[0] = {self._names[op.value]}")

    def _load(self, op: memref.LoadOp) -> None:
        if isinstance(op.memref.owner, memref.AllocaOp):
            self._line(f"{self._name(op.res)} = {self._names[op.memref]}[0]")
            return
        indices = "".join(f"{k}, " for k in self._values(op.indices))
        element = scalar_eval.type_name(op.res.type)
        self._line(f"{self._name(op.res)} = run.element({self._names[op.memref]}, ({indices}), {element!r})")

    def _address(self, op: memref.ExtractAlignedPointerAsIndexOp) -> None:
        self._line(f"{self._name(op.aligned_pointer)} = run.address({self._names[op.source]})")

    def _metadata(self, op: memref.ExtractStridedMetaDataOp) -> None:
        source = self._names[op.source]
        for axis, (size, stride) in enumerate(zip(op.sizes, op.strides, strict=True)):
            self._line(f"{self._name(size)} = {source}.shape[{axis}]")
            self._line(f"{self._name(stride)} = {source}.strides[{axis}] // {source}.itemsize")

    def _alloc(self, op: memref.AllocOp) -> None:
        shape, dtype = self._shape(op.memref.type, op.dynamic_sizes)
        if ARENA in op.attributes:
            self._line(f"{self._name(op.memref)} = run.arena({shape.rstrip(',')})")
            return
        self._line(f"{self._name(op.memref)} = run.allocate(({shape}), {dtype!r})")

    def _view(self, op: memref.ViewOp) -> None:
        shape, dtype = self._shape(op.result.type, op.sizes)
        arena, offset = self._names[op.source], self._names[op.byte_shift]
        self._line(f"{self._name(op.result)} = run.view({arena}, {offset}, ({shape}), {dtype!r})")

    def _shape(self, type: Any, dynamic: Sequence[SSAValue]) -> tuple[str, str]:
        """The extents of a buffer with commas, and its dtype."""
        sizes = iter(self._values(dynamic))
        extents = "".join(f"{next(sizes) if n == DYNAMIC_INDEX else n}, " for n in type.get_shape())
        return extents.rstrip(), scalar_eval.dtype_of(type.element_type).str

    def _dealloc(self, op: memref.DeallocOp) -> None:
        self._line(f"del {self._names[op.memref]}")

    def _copy(self, op: memref.CopyOp) -> None:
        self._line(f"run.copy({self._names[op.source]}, {self._names[op.destination]})")

    def _alias(self, op: memref.CastOp) -> None:
        self._names[op.results[0]] = self._names[op.operands[0]]

    def _collapse_shape(self, op: memref.CollapseShapeOp) -> None:
        groups = tuple(tuple(axis.value.data for axis in group) for group in op.reassociation)
        self._line(f"{self._name(op.result)} = run.collapse({self._names[op.src]}, {groups})")

    def _launch(self, op: gpu.LaunchFuncOp) -> None:
        if op.dynamicSharedMemorySize or op.asyncDependencies or op.asyncToken or op.clusterSizeX:
            raise fail(op, "launches have no dynamic shared memory, tokens or clusters", error=LoweringError)
        grid = ", ".join(self._values([op.gridSizeX, op.gridSizeY, op.gridSizeZ]))
        block = ", ".join(self._values([op.blockSizeX, op.blockSizeY, op.blockSizeZ]))
        operands = "".join(f"{name}, " for name in self._values(op.kernelOperands)).rstrip()
        self._line(f"run.launch({kernel_name(op.kernel)!r}, ({grid}), ({block}), ({operands}))")

    def _assert(self, op: cf.AssertOp) -> None:
        kind, site = op.attributes.get(KIND), op.attributes.get(SITE)
        if not (isinstance(kind, StringAttr) and kind.data in ERROR_CODES and isinstance(site, IntegerAttr)):
            raise fail(op, "a check needs nestor.kind and nestor.site", error=LoweringError)
        details = [self._names[v] if v is not None else "0" for v in checked_index(op.arg)]
        code = ERROR_CODES[kind.data]
        arguments = [self._names[op.arg], str(code), str(site.value.data), *details]
        self._line(f"run.check({', '.join(arguments)})")

    def _raise(self, op: func.CallOp) -> None:
        site = op.attributes.get(SITE)
        if not raises(op) or not isinstance(site, IntegerAttr):
            raise fail(op, f"{op.name} cannot run on the host side of a GPU program", error=LoweringError)
        words = [str(site.value.data), *[self._names[v] for v in op.arguments]]
        self._line(f"run.stop({', '.join(words)})")

    def _if(self, op: scf.IfOp) -> None:
        names = [self._name(r) for r in op.results]
        self._line(f"if {self._names[op.cond]}:")
        self._nested(op.true_region.block, names)
        if op.false_region.blocks:
            self._line("else:")
            self._nested(op.false_region.block, names)

    def _carried(self, results: Sequence[SSAValue], arguments: Sequence[SSAValue], inits: Sequence[SSAValue]):
        names = [self._name(r) for r in results]
        if names:
            self._line(f"{', '.join(names)}, = {', '.join(self._values(inits))},")
        self._names.update(zip(arguments, names, strict=True))
        return names

    def _for(self, op: scf.ForOp) -> None:
        index, *arguments = op.body.block.args
        names = self._carried(op.results, arguments, op.iter_args)
        bounds = ", ".join(self._values([op.lb, op.ub, op.step]))
        self._line(f"for {self._name(index)} in range({bounds}):")
        self._nested(op.body.block, names)

    def _while(self, op: scf.WhileOp) -> None:
        before, after = op.before_region.block, op.after_region.block
        carried = [self._name(a) for a in before.args]
        passed = [self._name(r) for r in op.results]
        self._names.update(zip(after.args, passed, strict=True))
        if carried:
            self._line(f"{', '.join(carried)}, = {', '.join(self._values(op.arguments))},")
        self._line("while True:")
        self._depth += 1
        self._block(before)
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        if passed:
            self._line(f"{', '.join(passed)}, = {', '.join(self._values(condition.args))},")
        self._line(f"if not {self._names[condition.condition]}: break")
        self._depth -= 1
        self._nested(after, carried)

    def _return(self, op: func.ReturnOp) -> None:
        if op.operands:
            raise fail(op, "a host function returns nothing: results are arguments", error=LoweringError)

    def _nothing(self, op: Operation) -> None:
        """Terminators: what encloses them has read their operands."""


_HANDLERS: dict[str, Callable[[_Translator, Any], None]] = {
    "arith.constant": _Translator._constant,
    "memref.dim": _Translator._dim,
    "memref.load": _Translator._load,
    "memref.extract_aligned_pointer_as_index": _Translator._address,
    "memref.extract_strided_metadata": _Translator._metadata,
    "memref.alloc": _Translator._alloc,
    "memref.alloca": _Translator._alloca,
    "memref.store": _Translator._store,
    "memref.dealloc": _Translator._dealloc,
    "memref.view": _Translator._view,
    "memref.copy": _Translator._copy,
    "memref.cast": _Translator._alias,
    "memref.collapse_shape": _Translator._collapse_shape,
    "gpu.launch_func": _Translator._launch,
    "cf.assert": _Translator._assert,
    "func.call": _Translator._raise,
    "scf.if": _Translator._if,
    "scf.for": _Translator._for,
    "scf.while": _Translator._while,
    "scf.yield": _Translator._nothing,
    "scf.condition": _Translator._nothing,
    "func.return": _Translator._return,
}
