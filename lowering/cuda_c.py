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

import linecache
import os.path
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, cf, gpu, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects.diagnostic import LoweringError, fail, op_location
from ..dialects.ext import gpu as gpu_ext
from .cuda_c_expr import (
    EXPRESSIONS,
    cast,
    float_from_memory,
    float_to_memory,
    multiply_extended,
    opposite,
    plain,
    signed_operand,
)
from .cuda_c_prelude import prelude
from .cuda_c_types import ADD, ATOM, LIBRARY_NAMES, MUL, RESERVED, CExpr, CTypes, Names, is_short_float
from .kernel_signature import ERROR_CODES, KernelParameter, KernelSignature

_FOLD_LIMIT = 80
"""Characters beyond which an unnamed expression gets a line of its own."""
_SHORT = 16
"""Characters of an index expression that may stand inside a loop although it is computed before it."""
_LINE_LIMIT = 100
_SHARED = 3


@dataclass(frozen=True)
class CudaModule:
    """The CUDA C text of a module, and how its kernels are called."""

    source: str
    signatures: dict[str, KernelSignature]


def emit_cuda(module: Operation) -> str:
    """The CUDA C text of every `gpu.module` in `module` (a builtin module or a gpu.module)."""
    return print_cuda(module).source


def print_cuda(module: Operation) -> CudaModule:
    """The CUDA C text of every kernel in `module`, with the kernels' signatures."""
    helpers: set[str] = set()
    texts: list[str] = []
    signatures: dict[str, KernelSignature] = {}
    blocks = _launch_bounds(module)
    for gpu_module in _gpu_modules(module):
        types = CTypes(_index_bits(gpu_module))
        for func in gpu_module.body.block.ops:
            if not isinstance(func, gpu.FuncOp):
                raise fail(func, f"{func.name} cannot stand in a gpu.module", error=LoweringError)
            printer = KernelPrinter(func, types, helpers, blocks.get(func.sym_name.data))
            texts.append(printer.print())
            signatures[func.sym_name.data] = printer.signature()
    if not texts:
        raise fail(
            module,
            "there is no gpu.module to print as CUDA C",
            hint="convert first: -p convert-nest-to-gpu",
            error=LoweringError,
        )
    return CudaModule("\n\n".join([*prelude(helpers), *texts]) + "\n", signatures)


def _gpu_modules(module: Operation) -> list[gpu.ModuleOp]:
    return [op for op in module.walk() if isinstance(op, gpu.ModuleOp)]


def _index_bits(module: gpu.ModuleOp) -> int:
    bits = module.attributes.get("nestor.index_bits")
    return bits.value.data if isinstance(bits, IntegerAttr) else 64


def _launch_bounds(module: Operation) -> dict[str, int]:
    """Threads per block of the kernels that are always launched with the same constant number of them."""
    sizes: dict[str, set[int | None]] = {}
    for op in module.walk():
        if not isinstance(op, gpu.LaunchFuncOp):
            continue
        size: int | None = 1
        for extent in (op.blockSizeX, op.blockSizeY, op.blockSizeZ):
            constant = constant_integer(extent)
            size = None if size is None or constant is None else size * constant
        sizes.setdefault(kernel_name(op.kernel), set()).add(size)
    return {name: s for name, (s, *rest) in ((k, list(v)) for k, v in sizes.items()) if not rest and s}


def kernel_name(symbol: SymbolRefAttr) -> str:
    """The kernel that a launch refers to: `scale` of `@f_kernels::@scale`."""
    nested = symbol.nested_references.data
    return nested[-1].data if nested else symbol.root_reference.data


def constant_integer(value: SSAValue) -> int | None:
    """The value of an integer constant, if it is one."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def argument_attributes(func: gpu.FuncOp) -> list[dict[str, Attribute]]:
    """The attributes of each argument of a gpu.func."""
    attributes = func.properties.get("arg_attrs") or func.attributes.get("arg_attrs")
    if not isinstance(attributes, ArrayAttr):
        return [{} for _ in func.body.block.args]
    return [dict(a.data) if isinstance(a, DictionaryAttr) else {} for a in attributes.data]


@dataclass(frozen=True)
class _Buffer:
    name: str
    type: MemRefType
    operand: int | None
    """Position among the kernel's arguments; None for memory of the thread or block."""
    private: bool
    """Memory of one thread, whose 16-bit floats are kept as `float`."""
    no_alias: bool


class KernelPrinter:
    """Prints one kernel: its body first, which decides what parameters the head needs."""

    def __init__(self, func: gpu.FuncOp, types: CTypes, helpers: set[str], block_size: int | None):
        if func.kernel is None or len(func.body.blocks) != 1:
            raise fail(func, "only kernels of one block can be printed as CUDA C", error=LoweringError)
        self.func = func
        self.types = types
        self._helpers = helpers
        self._block_size = block_size
        self._names = Names()
        self._lines: list[str] = []
        self._depth = 1
        self._values: dict[SSAValue, CExpr] = {}
        self._buffers: dict[SSAValue, _Buffer] = {}
        self._pending: dict[SSAValue, None] = {}
        """Folded values that read memory or loop-carried variables and are not used yet, oldest first."""
        self._undeclared: set[SSAValue] = set()
        """Local scalars whose first store declares them."""
        self._implied: dict[tuple[object, ...], KernelParameter] = {}
        self._commented: set[tuple[str, int]] = set()
        self._can_fail = any(isinstance(op, cf.AssertOp) for op in func.walk())
        self._written = {b for op in func.walk() for b in _written_buffers(op)}

    # -- the kernel ---------------------------------------------------------------------------------------

    def print(self) -> str:
        """The whole function definition."""
        self._parameters = self._bind_arguments()
        self._names.open()
        self._block(self.func.body.block, tail=True)
        return "\n".join([*self._head(), *self._lines, "}"])

    def signature(self) -> KernelSignature:
        """The parameters in order: arguments, then the extents and strides used, then the error record."""
        parameters = [*self._parameters, *self._implied.values()]
        if self._can_fail:
            parameters.append(KernelParameter("err", "long long", "error"))
        return KernelSignature(self._c_name(), tuple(parameters))

    def _c_name(self) -> str:
        """The kernel's symbol, unless the C library or CUDA owns that name (`norm`, `pow`, ...)."""
        name = re.sub(r"\W", "_", self.func.sym_name.data, flags=re.ASCII)
        return f"{name}_kernel" if name in RESERVED or name in LIBRARY_NAMES else name

    def _bind_arguments(self) -> list[KernelParameter]:
        parameters = []
        attributes = argument_attributes(self.func)
        self._dims = [a.get("nest.dims") for a in attributes]
        for k, argument in enumerate(self.func.body.block.args):
            name = self._names.fresh(argument.name_hint or f"arg{k}")
            type = argument.type
            if isinstance(type, MemRefType):
                no_alias = "nestor.noalias" in attributes[k]
                self._buffers[argument] = _Buffer(name, type, k, False, no_alias)
                c_type = self.types.memory(type.element_type, self.func)
                parameters.append(KernelParameter(name, c_type, "pointer", k))
                continue
            self._values[argument] = CExpr(name)
            parameters.append(KernelParameter(name, self.types.scalar(type, self.func), "scalar", k))
        return parameters

    def _head(self) -> list[str]:
        bounds = self._known_block_size()
        limit = f"__launch_bounds__({bounds}) " if bounds else ""
        start = f'extern "C" __global__ void {limit}{self._c_name()}('
        texts = [self._declare_parameter(p) for p in self.signature().parameters]
        line = f"{start}{', '.join(texts)}) {{"
        if len(line) <= _LINE_LIMIT:
            return [line]
        lines = [start]
        row = "   "
        for k, text in enumerate(texts):
            piece = f" {text}{',' if k + 1 < len(texts) else ') {'}"
            if len(row) + len(piece) > _LINE_LIMIT:
                lines.append(row)
                row = "   "
            row += piece
        return [*lines, row]

    def _known_block_size(self) -> int | None:
        known = self.func.known_block_size
        if not isinstance(known, DenseArrayBase):
            return self._block_size
        size = 1
        for extent in known.get_values():
            size *= int(extent)
        return size

    def _declare_parameter(self, parameter: KernelParameter) -> str:
        if parameter.kind == "error":
            return "long long *err"
        if parameter.kind != "pointer":
            return f"{parameter.c_type} {parameter.name}"
        argument = self.func.body.block.args[parameter.operand]
        constant = "" if argument in self._written else "const "
        restrict = "__restrict__ " if self._buffers[argument].no_alias else ""
        return f"{constant}{parameter.c_type} *{restrict}{parameter.name}"

    # -- what the expression rules need -------------------------------------------------------------------

    def value(self, value: SSAValue) -> CExpr:
        """The expression of an SSA value that has been visited."""
        self._pending.pop(value, None)
        return self._values[value]

    def helper(self, name: str, type: str | None = None) -> str:
        """Ask for a function of the prelude (in its overload for `type`); returns its C name."""
        self._helpers.add(f"{name} {type}" if type else name)
        return name

    def element(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> CExpr:
        """The value of an element."""
        place = self.place(buffer, indices)
        b = self._buffers[buffer]
        if is_short_float(b.type.element_type) and not b.private:
            return float_from_memory(self, b.type.element_type, place)
        return place

    def place(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> CExpr:
        """`x[i * m + j]`, `tile[i][j]` or `acc`: an element as something that can be assigned to."""
        b = self._buffer(buffer)
        # An offset is below 2^31 where indices have 32 bits: in unsigned arithmetic it comes out the same.
        operand = self.value if self.types.index_bits == 32 else lambda i: signed_operand(self, i)
        parts = [operand(i) for i in indices]
        if b.operand is None:
            text = b.name + "".join(f"[{part.text}]" for part in parts)
        else:
            parts = [self._offset(buffer, parts)]
            text = f"{b.name}[{parts[0].text}]"
        reads = frozenset({buffer}).union(*(part.reads for part in parts))
        variables = frozenset[str]().union(*(part.variables for part in parts))
        return CExpr(text, ATOM, reads, variables)

    def extent(self, buffer: SSAValue, axis: int) -> CExpr:
        """The extent of an axis: a literal, or a parameter."""
        b = self._buffer(buffer)
        size = b.type.get_shape()[axis]
        if size != DYNAMIC_INDEX:
            return self.types.integer(size, IndexType())
        assert b.operand is not None, "memory inside a kernel has a static shape"
        dims = self._dims[b.operand]
        symbol = dims.data[axis] if isinstance(dims, ArrayAttr) else None
        if isinstance(symbol, StringAttr):  # the same name is the same extent: one parameter serves all
            return self._implied_parameter(("dim", symbol.data), symbol.data, "extent", b.operand, axis)
        key = ("extent", b.operand, axis)
        return self._implied_parameter(key, f"{b.name}_n{axis}", "extent", b.operand, axis)

    def _buffer(self, value: SSAValue) -> _Buffer:
        if value not in self._buffers:
            raise fail(value.owner, "a buffer that is no argument and no allocation", error=LoweringError)
        return self._buffers[value]

    def _implied_parameter(self, key: tuple[object, ...], hint: str, kind, operand: int, axis: int) -> CExpr:
        if key not in self._implied:
            name = self._names.fresh(hint, outermost=True)
            c_type = self.types.scalar(IndexType())
            self._implied[key] = KernelParameter(name, c_type, kind, operand, axis)
        return CExpr(self._implied[key].name)

    def _offset(self, buffer: SSAValue, indices: list[CExpr]) -> CExpr:
        """The position of an element, counted from the buffer's address."""
        b = self._buffers[buffer]
        if isinstance(b.type.layout, NoneAttr):
            return self._row_major(buffer, indices)
        if not isinstance(b.type.layout, StridedLayoutAttr):
            raise fail(self.func, f"layout {b.type.layout} has no CUDA C", error=LoweringError)
        if not (isinstance(b.type.layout.offset, IntAttr) and b.type.layout.offset.data == 0):
            raise fail(self.func, f"the offset of {b.type} must be 0", error=LoweringError)
        position = self.types.integer(0, IndexType())
        for axis, (index, stride) in enumerate(zip(indices, b.type.layout.strides.data, strict=True)):
            if isinstance(stride, IntAttr):
                factor = self.types.integer(stride.data, IndexType())
            else:
                hint, operand = f"{b.name}_s{axis}", b.operand
                assert operand is not None
                factor = self._implied_parameter(("stride", operand, axis), hint, "stride", operand, axis)
            position = _plus(position, _times(index, factor))
        return position

    def _row_major(self, buffer: SSAValue, indices: list[CExpr]) -> CExpr:
        if not indices:
            return CExpr("0", is_literal=True)
        position = indices[0]
        for axis, index in enumerate(indices[1:], 1):
            if not _is_zero(position):
                position = _times(position, self.extent(buffer, axis))
            position = _plus(position, index)
        return position

    # -- statements ---------------------------------------------------------------------------------------

    def _block(self, block: Block, tail: bool = False) -> None:
        for op in block.ops:
            if tail and isinstance(op, scf.IfOp) and _is_guard(op):
                self._comment(op)
                self._line(f"if ({opposite(self, op.cond).text}) return;")
                self._block(op.true_region.block, tail=True)
                return
            self._operation(op)

    def _operation(self, op: Operation) -> None:
        if (rule := EXPRESSIONS.get(type(op))) is not None:
            self._define(op.results[0], rule(self, op))
            return
        statement = _STATEMENTS.get(type(op))
        if statement is None:
            raise fail(op, f"{op.name} cannot be printed as CUDA C", error=LoweringError)
        statement(self, op)

    def _define(self, result: SSAValue, expr: CExpr) -> None:
        """Bind a value: folded into its only use, or as a `const` of its own."""
        if result.first_use is None:
            return
        self._values[result] = expr
        if expr.is_literal or (expr.text.isidentifier() and not expr.reads):
            return
        if expr.is_builtin and expr.precedence == ATOM and result.name_hint is None:
            return
        if _is_short_index(result, expr):
            return
        if _is_folded(result) and len(expr.text) <= _FOLD_LIMIT:
            if expr.reads or expr.variables:
                self._pending[result] = None
            return
        self._materialize(result)

    def _materialize(self, value: SSAValue) -> None:
        """Give a folded value a `const` variable of its own, here."""
        self._pending.pop(value, None)
        expr = self._values[value]
        op = value.owner
        if isinstance(op, Operation):
            self._comment(op)
        name = self._names.fresh(value.name_hint or self._default_name(op, value))
        self._line(f"const {self.types.scalar(value.type, op)} {name} = {expr.text};")
        self._values[value] = CExpr(name)

    def _default_name(self, op: Operation | Block, value: SSAValue) -> str:
        if isinstance(op, memref.LoadOp):
            parts = [self._buffers[op.memref].name, *(self._values[i].text for i in op.indices)]
            if len(parts) > 1 and all(re.fullmatch(r"\w+", part, re.ASCII) for part in parts):
                return "_".join(parts)
            return f"{parts[0]}_value"
        return "k" if isinstance(value.type, IndexType) else "t"

    def _flush(self, written: Iterable[SSAValue] | None) -> None:
        """Evaluate now what reads a buffer that is about to be written (None: any buffer)."""
        written = None if written is None else list(written)
        for value in list(self._pending):
            reads = self._values[value].reads
            if (written is None and reads) or any(
                self._may_alias(r, w) for r in reads for w in written or ()
            ):
                self._materialize(value)

    def _may_alias(self, a: SSAValue, b: SSAValue) -> bool:
        if a is b:
            return True
        first, second = self._buffers.get(a), self._buffers.get(b)
        if first is None or second is None:  # allocated inside the region that writes it
            return False
        if first.operand is None or second.operand is None:
            return False
        return not (first.no_alias or second.no_alias)

    def _line(self, text: str) -> None:
        self._lines.append("  " * self._depth + text)

    def _comment(self, op: Operation) -> None:
        """The Python line an operation comes from, where the text first reaches that line."""
        place = op_location(op)
        if place is None or not place.line or place.file.endswith(".mlir"):
            return
        if (place.file, place.line) in self._commented:
            return
        self._commented.add((place.file, place.line))
        source = linecache.getline(place.file, place.line).strip()
        where = f"// {os.path.basename(place.file)}:{place.line}"
        self._line(f"{where}: {source}".rstrip("\\") if source else where)

    def _open(self, text: str) -> None:
        self._line(text)
        self._depth += 1
        self._names.open()

    def _close(self, text: str = "}") -> None:
        self._names.close()
        self._depth -= 1
        self._line(text)

    # -- memory -------------------------------------------------------------------------------------------

    def _store(self, op: memref.StoreOp) -> None:
        value = signed_operand(self, op.value)
        place = self.place(op.memref, list(op.indices))
        self._flush([op.memref])
        b = self._buffers[op.memref]
        self._comment(op)
        if is_short_float(b.type.element_type) and not b.private:
            value = float_to_memory(self, b.type.element_type, value)
        if op.memref in self._undeclared:
            self._undeclared.remove(op.memref)
            self._line(f"{self.types.scalar(b.type.element_type)} {place.text} = {value.text};")
            return
        self._line(f"{place.text} = {value.text};")

    def _allocate(self, op: memref.AllocaOp | memref.AllocOp) -> None:
        type = op.memref.type
        assert isinstance(type, MemRefType)
        shared = _is_shared(type)
        if isinstance(op, memref.AllocOp) and not shared:
            raise fail(
                op,
                "a kernel cannot allocate global memory",
                hint="allocate in the host function and pass the buffer, or use memref.alloca",
                error=LoweringError,
            )
        if not type.has_static_shape() or not isinstance(type.layout, NoneAttr):
            raise fail(op, f"{op.name} of {type}: needs a static, dense shape", error=LoweringError)
        name = self._names.fresh(op.memref.name_hint or ("shared" if shared else "local"))
        self._buffers[op.memref] = _Buffer(name, type, None, not shared, True)
        element = self.types.memory if shared else self.types.scalar
        if not shared and type.get_num_dims() == 0 and _first_use_stores(op):
            self._undeclared.add(op.memref)
            return
        self._comment(op)
        extents = "".join(f"[{extent}]" for extent in type.get_shape())
        prefix = "__shared__ " if shared else ""
        self._line(f"{prefix}{element(type.element_type, op)} {name}{extents};")

    def _deallocate(self, op: memref.DeallocOp) -> None:
        if self._buffer(op.memref).operand is not None:
            raise fail(op, "a kernel cannot free its arguments", error=LoweringError)

    def _atomic(self, op: memref.AtomicRMWOp) -> None:
        type = op.result.type
        function = _ATOMICS.get(op.kind.value.data)
        if function is None or is_short_float(type):
            raise fail(op, f"no atomic operation of this kind on {type}", error=LoweringError)
        bits = None if not isinstance(type, IntegerType) else self.types.bits(type)
        if bits not in (None, 32, 64):
            raise fail(op, f"no atomic operation on {type}", error=LoweringError)
        value, place = self.value(op.value), self.place(op.memref, list(op.indices))
        self._flush([op.memref])
        pointer, operand = f"&{place.text}", value.text
        if bits == 64 and function == "atomicAdd":  # CUDA has the unsigned overload only
            pointer, operand = f"(unsigned long long *){pointer}", cast("unsigned long long", value).text
        self._comment(op)
        call = f"{function}({pointer}, {operand})"
        if op.result.first_use is None:
            self._line(f"{call};")
            return
        name = self._names.fresh(op.result.name_hint or "old")
        self._line(f"const {self.types.scalar(type)} {name} = {call};")
        self._values[op.result] = CExpr(name)

    def _barrier(self, op: gpu.BarrierOp) -> None:
        self._flush(None)
        self._comment(op)
        self._line("__syncthreads();")

    # -- control ------------------------------------------------------------------------------------------

    def _assert(self, op: cf.AssertOp) -> None:
        kind, site = op.attributes.get("nestor.kind"), op.attributes.get("nestor.site")
        if not (isinstance(kind, StringAttr) and kind.data in ERROR_CODES):
            raise fail(op, f"nestor.kind must be one of {', '.join(ERROR_CODES)}", error=LoweringError)
        if not isinstance(site, IntegerAttr):
            raise fail(op, "nestor.site is missing", error=LoweringError)
        self._comment(op)
        condition = opposite(self, op.arg)
        code = ERROR_CODES[kind.data]
        details = [plain(signed_operand(self, v)).text if v else "0" for v in checked_index(op.arg)]
        self.helper("nt_raise")
        self._open(f"if ({condition.text}) {{  // {kind.data}")
        self._line(f"nt_raise(err, {code}, {site.value.data}, {', '.join(details)});")
        self._line("return;")
        self._close()

    def _if(self, op: scf.IfOp) -> None:
        condition = self.value(op.cond)
        names = [self._variable(result, op) for result in op.results]
        self._flush_region_writes(op)
        self._comment(op)
        self._open(f"if ({condition.text}) {{")
        self._branch(op.true_region.block, names)
        other = op.false_region.block if op.false_region.blocks else None
        if other is not None and (names or not isinstance(other.first_op, scf.YieldOp)):
            self._close("} else {")
            self._depth += 1
            self._names.open()
            self._branch(other, names)
        self._close()

    def _variable(self, value: SSAValue, op: Operation) -> str:
        """Declare a variable that the branches of `op` will assign."""
        name = self._names.fresh(value.name_hint or ("k" if isinstance(value.type, IndexType) else "t"))
        self._comment(op)
        self._line(f"{self.types.scalar(value.type, op)} {name};")
        self._values[value] = CExpr(name)
        return name

    def _branch(self, block: Block, names: list[str]) -> None:
        self._block(block)
        if names:
            assert block.last_op is not None
            self._assign(names, list(block.last_op.operands))

    def _assign(self, names: list[str], values: list[SSAValue]) -> None:
        """Assign all at once: what a later assignment still reads is saved before it is overwritten."""
        for k, name in enumerate(names):
            for later in values[k + 1 :]:
                if name in self._values[later].variables and self._values[values[k]].text != name:
                    self._save(later)
        for name, value in zip(names, values, strict=True):
            expr = signed_operand(self, value)
            if expr.text == name:
                continue
            if isinstance(value.owner, Operation):
                self._comment(value.owner)
            self._line(f"{name} = {expr.text};")

    def _save(self, value: SSAValue) -> None:
        expr = self.value(value)
        name = self._names.fresh("next")
        self._line(f"const {self.types.scalar(value.type)} {name} = {expr.text};")
        self._values[value] = CExpr(name)

    def _loop_variables(
        self, op: Operation, arguments: Sequence[SSAValue], inits: Sequence[SSAValue]
    ) -> list[str]:
        names = []
        for argument, init in zip(arguments, inits, strict=True):
            name = self._names.fresh(argument.name_hint or init.name_hint or "carried")
            self._line(f"{self.types.scalar(argument.type, op)} {name} = {signed_operand(self, init).text};")
            self._values[argument] = CExpr(name, variables=frozenset({name}))
            names.append(name)
        return names

    def _for(self, op: scf.ForOp) -> None:
        self._flush_region_writes(op)
        self._comment(op)
        arguments = op.body.block.args
        _carry_names(op.results, arguments[1:])
        names = self._loop_variables(op, arguments[1:], op.iter_args)
        for result, name in zip(op.results, names, strict=True):
            self._values[result] = CExpr(name)
        for evaluated_often in (op.ub, op.step):
            if self._values[evaluated_often].reads:
                self._materialize(evaluated_often)
        lower, upper = signed_operand(self, op.lb), signed_operand(self, op.ub)
        step = signed_operand(self, op.step).text
        self._names.open()
        i = self._names.fresh(arguments[0].name_hint or "k")
        self._values[arguments[0]] = CExpr(i)
        increment = f"{i}++" if step in ("1", "1LL") else f"{i} += {step}"
        if "nestor.unroll" in op.attributes:
            self._line("#pragma unroll")
        c_type = self.types.scalar(arguments[0].type, op)
        self._open(f"for ({c_type} {i} = {lower.text}; {i} < {upper.at(ADD)}; {increment}) {{")
        self._branch(op.body.block, names)
        self._close()
        self._names.close()

    def _while(self, op: scf.WhileOp) -> None:
        """`while (condition)` where the condition is an expression, else a loop that breaks in its middle."""
        self._flush_region_writes(op)
        self._comment(op)
        before, after = op.before_region.block, op.after_region.block
        _carry_names(op.results, after.args)
        _carry_names(after.args, before.args)
        names = self._loop_variables(op, before.args, op.arguments)
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        passed: dict[str, SSAValue] = {}
        for value, result, argument in zip(condition.args, op.results, after.args, strict=True):
            if value in before.args:
                self._values[result] = CExpr(self._values[value].text)
                self._values[argument] = self._values[value]
                continue
            name = self._variable(result, op)
            self._values[argument] = CExpr(name, variables=frozenset({name}))
            passed[name] = value
        head = len(self._lines)
        self._open("while (true) {")
        self._block(before)
        self._assign(list(passed), list(passed.values()))
        test = condition.condition
        if len(self._lines) == head + 1:
            self._lines[head] = "  " * (self._depth - 1) + f"while ({self.value(test).text}) {{"
        else:
            self._line(f"if ({opposite(self, test).text}) break;")
        self._branch(after, names)
        self._close()

    def _flush_region_writes(self, op: Operation) -> None:
        if any(isinstance(inner, gpu.BarrierOp) for inner in op.walk()):
            self._flush(None)
            return
        self._flush({b for inner in op.walk() for b in _written_buffers(inner)})

    def _extended_product(self, op: arith.MulUIExtendedOp | arith.MulSIExtendedOp) -> None:
        for result, expr in zip(op.results, multiply_extended(self, op), strict=True):
            self._define(result, expr)

    def _nothing(self, op: Operation) -> None:
        """Terminators: what encloses them has read their operands."""


_STATEMENTS = {
    memref.StoreOp: KernelPrinter._store,
    memref.AllocaOp: KernelPrinter._allocate,
    memref.AllocOp: KernelPrinter._allocate,
    memref.DeallocOp: KernelPrinter._deallocate,
    memref.AtomicRMWOp: KernelPrinter._atomic,
    arith.MulUIExtendedOp: KernelPrinter._extended_product,
    arith.MulSIExtendedOp: KernelPrinter._extended_product,
    gpu.BarrierOp: KernelPrinter._barrier,
    gpu_ext.BarrierOp: KernelPrinter._barrier,
    gpu.ReturnOp: KernelPrinter._nothing,
    gpu_ext.ReturnOp: KernelPrinter._nothing,
    scf.YieldOp: KernelPrinter._nothing,
    scf.ConditionOp: KernelPrinter._nothing,
    scf.IfOp: KernelPrinter._if,
    scf.ForOp: KernelPrinter._for,
    scf.WhileOp: KernelPrinter._while,
    cf.AssertOp: KernelPrinter._assert,
}

_ATOMICS = {0: "atomicAdd", 1: "atomicAdd", 4: "atomicMax", 7: "atomicMin", 11: "atomicOr", 12: "atomicAnd"}
"""memref.atomic_rmw's `kind` (arith::AtomicRMWKind) to CUDA's function."""


def checked_index(condition: SSAValue) -> tuple[SSAValue | None, SSAValue | None]:
    """What an index check compares: the index and the extent, of `i < n` or `0 <= i and i < n`."""
    op = condition.owner
    if isinstance(op, arith.AndIOp):
        for side in (op.rhs, op.lhs):
            value, extent = checked_index(side)
            if value is not None:
                return value, extent
    if isinstance(op, arith.CmpiOp) and op.predicate.value.data in (2, 6):  # slt, ult
        return op.lhs, op.rhs
    return None, None


def _written_buffers(op: Operation) -> list[SSAValue]:
    return [op.memref] if isinstance(op, (memref.StoreOp, memref.AtomicRMWOp)) else []


def _is_folded(value: SSAValue) -> bool:
    """Whether a value is an unnamed intermediate whose only use is in the same block."""
    if value.name_hint is not None or not value.has_one_use():
        return False
    use = value.first_use
    assert use is not None
    return isinstance(value.owner, Operation) and use.operation.parent is value.owner.parent


def _is_short_index(value: SSAValue, expr: CExpr) -> bool:
    """Whether a bound such as `n - 1` may be repeated by a loop inside the block that computes it."""
    if not isinstance(value.type, IndexType) or value.name_hint is not None or not value.has_one_use():
        return False
    return len(expr.text) <= _SHORT and not expr.reads and not expr.variables


def _is_guard(op: scf.IfOp) -> bool:
    """Whether all that is left of a kernel stands under this condition."""
    if op.results or not isinstance(op.next_op, gpu.ReturnOp | scf.YieldOp):
        return False
    if op.false_region.blocks and not isinstance(op.false_region.block.first_op, scf.YieldOp):
        return False
    return not any(isinstance(inner, gpu.BarrierOp) for inner in op.walk())


def _first_use_stores(op: memref.AllocaOp | memref.AllocOp) -> bool:
    """Whether the first operation that touches a local scalar is a store right beside its allocation."""
    users = {use.operation for use in op.memref.uses}
    following = op.next_op
    while following is not None:
        if any(inner in users for inner in following.walk()):
            return isinstance(following, memref.StoreOp) and following.value is not op.memref
        following = following.next_op
    return False


def _is_shared(type: MemRefType) -> bool:
    space = type.memory_space
    if isinstance(space, NoneAttr):
        return False
    return (isinstance(space, IntegerAttr) and space.value.data == _SHARED) or "workgroup" in str(space)


def _carry_names(sources: Sequence[SSAValue], targets: Sequence[SSAValue]) -> None:
    """Unnamed loop-carried arguments take the names of what leaves the loop."""
    for source, target in zip(sources, targets, strict=False):
        if target.name_hint is None:
            target.name_hint = source.name_hint


def _is_zero(expr: CExpr) -> bool:
    return expr.is_literal and expr.text == "0"


def _plus(a: CExpr, b: CExpr) -> CExpr:
    if _is_zero(a) or _is_zero(b):
        return b if _is_zero(a) else a
    text = f"{a.at(ADD)} + {b.at(ADD + 1)}"
    return CExpr(text, ADD, a.reads | b.reads, a.variables | b.variables)


def _times(a: CExpr, b: CExpr) -> CExpr:
    if _is_zero(a) or _is_zero(b):
        return CExpr("0", is_literal=True)
    for one, other in ((a, b), (b, a)):
        if one.is_literal and one.text == "1":
            return other
    text = f"{a.at(MUL)} * {b.at(MUL + 1)}"
    return CExpr(text, MUL, a.reads | b.reads, a.variables | b.variables)
