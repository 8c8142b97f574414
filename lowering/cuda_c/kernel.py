"""One kernel as CUDA C: its head, its statements, its control flow. See cuda_c/emit.py for what it looks like."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from math import prod

from xdsl.dialects import arith, cf, func, gpu, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StringAttr,
    VectorType,
)
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.machine import REGISTERS_OF_BLOCK
from ...analysis.nest.buffers import element_bytes
from ...analysis.nest.check_sites import checked_index, raises
from ...dialects.attributes import GOES_ON, KIND, NOALIAS, SITE, UNROLL
from ...dialects.diagnostic import LoweringError, fail, op_location
from ...dialects.ext import gpu as gpu_ext
from ...dialects.ext import nvgpu
from ...dialects.ext.vector import ExtractStridedSliceOp, FromElementsOp
from ..abi.error_codes import ERROR_CODES, FACTS, RAISED
from ..abi.kernel_signature import KernelParameter, KernelSignature
from .expressions import cast, float_from_memory, float_to_memory, plain, signed_operand
from .integer import multiply_extended, opposite
from .kept_bits import is_kept_as_bits, passes_bits_on
from .lines import LINE_LIMIT
from .matrices import MatrixPrinter, is_fragment
from .names import loop_name, name_of
from .operations import EXPRESSIONS
from .pairs import PairPrinter, is_array_of_pairs, is_pair, pair_of
from .scope import Buffer, argument_attributes, is_shared, written_buffers
from .shared import SharedLayout, SharedPrinter
from .types import ADD, LIBRARY_NAMES, RESERVED, CExpr, is_short_float, short_float_bits
from .updates import update_of
from .vector import is_local_vector
from .warp import WarpPrinter

_KEPT = range(16, 65)
"""Registers of arrays that a thread keeps, of rows of a matrix, for which ptxas is told how many threads are enough.

It would aim at more, and spill elements for them. Kernels that have fewer need no telling.
"""

_TILES = 1024
"""Bytes that a block shares from which on it has tiles in them, of products: these take as many registers as there are."""

_RESIDENT = REGISTERS_OF_BLOCK // 64
"""Threads of a multiprocessor that leave each 64 registers: with these full of elements, enough is in flight."""


class KernelPrinter(WarpPrinter, MatrixPrinter, PairPrinter, SharedPrinter):
    """Prints one kernel: its body first, which decides what parameters the head needs."""

    def print(self) -> str:
        """The whole function definition."""
        self._parameters = self._bind_arguments()
        self._names.open()
        self._block(self.func.body.block, tail=True)
        return "\n".join([*self._head(), *self._lines, "}"])

    def places(self) -> list[tuple[str, int] | None]:
        """Of each line that `print` gave: the Python file and line that it comes from."""
        return [*[None] * len(self._head()), *self._places, None]

    def signature(self) -> KernelSignature:
        """The parameters in order: arguments, then the extents and strides used, then the error record."""
        parameters = [*self._parameters, *self._implied.values()]
        if self._can_fail:
            parameters.append(KernelParameter("err", "long long", "error"))
        shared = self.shared_memory.bytes if self.shared_memory.is_dynamic else 0
        return KernelSignature(self._c_name(), tuple(parameters), shared)

    @cached_property
    def shared_memory(self) -> SharedLayout:
        """Where the buffers are that the threads of a block share."""
        return SharedLayout(self.func)

    def _c_name(self) -> str:
        """The kernel's symbol, unless the C library or CUDA owns that name (`norm`, `pow`, ...)."""
        name = re.sub(r"\W", "_", self.func.sym_name.data, flags=re.ASCII)
        return f"{name}_kernel" if name in RESERVED or name in LIBRARY_NAMES else name

    def _bind_arguments(self) -> list[KernelParameter]:
        parameters = []
        attributes = argument_attributes(self.func)
        for k, argument in enumerate(self.func.body.block.args):
            name = self._names.fresh(argument.name_hint or f"arg{k}")
            type = argument.type
            if isinstance(type, MemRefType):
                no_alias = NOALIAS in attributes[k]
                self._buffers[argument] = Buffer(name, type, k, False, no_alias)
                c_type = self.types.memory(type.element_type, self.func)
                parameters.append(KernelParameter(name, c_type, "pointer", k))
                continue
            self._values[argument] = CExpr(name)
            parameters.append(KernelParameter(name, self.types.scalar(type, self.func), "scalar", k))
        return parameters

    def _head(self) -> list[str]:
        bounds = self._known_block_size()
        blocks = f", {min(32, -(-_RESIDENT // bounds))}" if bounds and self._keeps_rows() else ""
        blocks = ", 1" if bounds and self._keeps_fragments() else blocks
        limit = f"__launch_bounds__({bounds}{blocks}) " if bounds else ""
        start = f'extern "C" __global__ void {limit}{self._c_name()}('
        texts = [self._declare_parameter(p) for p in self.signature().parameters]
        line = f"{start}{', '.join(texts)}) {{"
        if len(line) <= LINE_LIMIT:
            return [line]
        lines = [start]
        row = "   "
        for k, text in enumerate(texts):
            piece = f" {text}{',' if k + 1 < len(texts) else ') {'}"
            if len(row) + len(piece) > LINE_LIMIT:
                lines.append(row)
                row = "   "
            row += piece
        return [*lines, row]

    def _keeps_rows(self) -> bool:
        """Whether threads keep arrays of many elements, which are registers as long as none is spilt."""
        words = 0
        for op in self.func.walk():
            if isinstance(op, memref.AllocaOp) and not is_shared(type := op.memref.type):
                assert isinstance(type, MemRefType)
                if isinstance(type.element_type, VectorType) or not type.has_static_shape():
                    return False
                if type.get_num_dims():
                    words += prod(type.get_shape()) * -(-element_bytes(type.element_type) // 4)
        return words in _KEPT and self.shared_memory.bytes < _TILES

    def _keeps_fragments(self) -> bool:
        """Whether tensor cores take operands from registers, beside sums: ptxas may use as many as there are."""
        ops = list(self.func.walk())
        has_pairs = any(isinstance(op, memref.AllocaOp) and is_array_of_pairs(op.memref) for op in ops)
        return has_pairs and any(isinstance(op, nvgpu.MmaSyncOp) for op in ops)

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

    def _block(self, block: Block, tail: bool = False) -> None:
        for op in block.ops:
            if tail and isinstance(op, scf.IfOp) and _is_guard(op):
                self._comment(op)
                self._line(f"if ({opposite(self, op.cond).text}) return;")
                self._block(op.true_region.block, tail=True)
                return
            self._operation(op)

    def _operation(self, op: Operation) -> None:
        try:
            self._print_operation(op)
        except LoweringError as error:  # of a type, say, which does not know where it stands
            error.diagnostic.location = error.diagnostic.location or op_location(op)
            raise

    def _print_operation(self, op: Operation) -> None:
        if isinstance(op, memref.LoadOp | vector.LoadOp) and is_fragment(op.results[0]):
            return self.load_fragment(op) if isinstance(op, memref.LoadOp) else self.load_sums(op)
        if isinstance(op, vector.StoreOp) and is_fragment(op.vector):
            return self.store_sums(op)
        if isinstance(op, arith.ConstantOp) and is_fragment(op.result):
            return  # what pairs are inserted in
        if isinstance(op, FromElementsOp) and not is_pair(op.result):
            return  # conditions: nt_select2 has them
        if isinstance(op, vector.LoadOp) and is_array_of_pairs(op.base):
            return self.load_pair(op)
        if isinstance(op, vector.StoreOp) and is_array_of_pairs(op.base):
            return self.store_pair(op)
        if op.results and is_pair(op.results[0]) and not isinstance(op, vector.LoadOp | arith.ConstantOp):
            return self._define(op.results[0], pair_of(self, op))
        if (rule := EXPRESSIONS.get(type(op))) is not None:
            if op.results[0].first_use is not None:  # an unused extent must not become a parameter
                self._define(op.results[0], rule(self, op))
            return
        statement = _STATEMENTS.get(type(op))
        if statement is None:
            raise fail(op, f"{op.name} cannot be printed as CUDA C", error=LoweringError)
        statement(self, op)

    def _store(self, op: memref.StoreOp) -> None:
        if is_fragment(op.value):  # stored where it was loaded, or put together
            return self.store_inserted(op) if isinstance(op.value.owner, vector.InsertOp) else None
        value = signed_operand(self, op.value)
        place = self.place(op.memref, list(op.indices))
        self._flush([op.memref])
        b = self._buffers[op.memref]
        self._comment(op)
        if is_short_float(b.type.element_type) and not b.as_float:
            value = self._bits(op.value, value)
        if op.memref in self._undeclared:
            self._undeclared.remove(op.memref)
            self._line(f"{self._private_type(b)} {place.text} = {value.text};")
            return
        if (term := self._added(op, place)) is not None:
            self._line(f"{place.text} {term[0]}= {term[1].text};")
            return
        self._line(f"{place.text} = {value.text};")

    def _bits(self, value: SSAValue, expr: CExpr) -> CExpr:
        """The 16 bits that memory holds of a float."""
        constant = value.owner
        if isinstance(constant, arith.ConstantOp) and isinstance(constant.value, FloatAttr):
            return CExpr(str(short_float_bits(value.type, constant.value.value.data)), is_literal=True)
        return float_to_memory(self, value.type, expr)

    def _private_type(self, buffer: Buffer) -> str:
        """The type of the elements of a thread's memory."""
        types, element = self.types, buffer.type.element_type
        return types.scalar(element) if buffer.as_float else types.memory(element)

    def _added(self, op: memref.StoreOp, place: CExpr) -> tuple[str, CExpr] | None:
        """What is added to, or multiplied with, an element that is stored again: `sum += e`."""
        if is_short_float(op.value.type) or not op.value.has_one_use():
            return None
        update = op.value.owner
        load = update.operands[0].owner if isinstance(update, Operation) and update.operands else None
        if not isinstance(load, memref.LoadOp) or load.memref is not op.memref or load.indices != op.indices:
            return None
        return update_of(self, op.value, place.text)

    def _allocate(self, op: memref.AllocaOp | memref.AllocOp) -> None:
        type = op.memref.type
        assert isinstance(type, MemRefType)
        shared = is_shared(type)
        if isinstance(op, memref.AllocaOp) and is_array_of_pairs(op.memref):
            return self.declare_pairs(op)
        if isinstance(op, memref.AllocaOp) and is_local_vector(op.memref):
            return self.declare_local_vector(op)
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
        if isinstance(op, memref.AllocaOp) and isinstance(type.element_type, VectorType):
            return self.fragment_buffer(op, type, name)
        as_float = not shared and not passes_bits_on(op)
        self._buffers[op.memref] = Buffer(name, type, None, as_float, True)
        if shared:
            return self.declare_shared(self.shared_memory, op.memref, name)
        if type.get_num_dims() == 0 and _first_use_stores(op):
            self._undeclared.add(op.memref)
            return
        extents = "".join(f"[{extent}]" for extent in type.get_shape())
        self._line(f"{self._private_type(self._buffers[op.memref])} {name}{extents};")

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
        is_signed = function in ("atomicMax", "atomicMin") and op.kind.value.data not in _UNSIGNED_ATOMICS
        if bits is not None and not is_signed and (bits == 64 or op.kind.value.data in _UNSIGNED_ATOMICS):
            name = "unsigned long long" if bits == 64 else "unsigned int"  # CUDA has no other overload
            pointer, operand = f"({name} *){pointer}", cast(name, value).text
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

    def _assert(self, op: cf.AssertOp) -> None:
        kind, site = op.attributes.get(KIND), op.attributes.get(SITE)
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
        if GOES_ON not in op.attributes:
            self._line("return;")
        self._close()

    def _raise(self, op: func.CallOp) -> None:
        """A `raise` with numbers: they go into the error record of the thread that fails first."""
        site = op.attributes.get(SITE)
        if not raises(op) or not isinstance(site, IntegerAttr):
            raise fail(op, f"{op.name} cannot be printed as CUDA C", error=LoweringError)
        self._comment(op)
        words = [signed_operand(self, v).text for v in op.arguments]
        self.helper("nt_fails_first")
        self._open(f"if (nt_fails_first(err, {RAISED}, {site.value.data})) {{")
        for k, word in enumerate(words):
            self._line(f"err[{FACTS + k}] = {word};")
        self._close()
        self._line("return;")

    def _if(self, op: scf.IfOp) -> None:
        condition = self.value(op.cond)
        names = [self._variable(result, op) for result in op.results]
        self._flush_region_writes(op)
        self._comment(op)
        bits = {name for name, result in zip(names, op.results, strict=True) if is_kept_as_bits(result)}
        self._open(f"if ({condition.text}) {{")
        self._branch(op.true_region.block, names, bits)
        other = op.false_region.block if op.false_region.blocks else None
        if other is not None and (names or not isinstance(other.first_op, scf.YieldOp)):
            self._close("} else {")
            self._depth += 1
            self._names.open()
            self._branch(other, names, bits)
        self._close()

    def _variable(self, value: SSAValue, op: Operation) -> str:
        """Declare a variable that the branches of `op` will assign."""
        name = self._names.fresh(name_of(self, value))
        self._comment(op)
        if is_kept_as_bits(value):
            self._line(f"{self.types.memory(value.type, op)} {name};")
            self._values[value] = float_from_memory(self, value.type, CExpr(name))
            return name
        self._line(f"{self.types.scalar(value.type, op)} {name};")
        self._values[value] = CExpr(name)
        return name

    def _branch(self, block: Block, names: list[str], bits: Collection[str] = ()) -> None:
        self._block(block)
        if names:
            assert block.last_op is not None
            self._assign(names, list(block.last_op.operands), bits)

    def _assign(self, names: list[str], values: list[SSAValue], bits: Collection[str] = ()) -> None:
        """Assign all at once: what a later assignment still reads is saved before it is overwritten.

        Variables in `bits` hold those of a 16-bit float.
        """
        for k, name in enumerate(names):
            for later in values[k + 1 :]:
                if name in self._values[later].variables and self._values[values[k]].text != name:
                    self._save(later)
        for name, value in zip(names, values, strict=True):
            expr = signed_operand(self, value)
            if name in bits:
                expr = self._bits(value, expr)
            if expr.text == name:
                continue
            if isinstance(value.owner, Operation):
                self._comment(value.owner)
                if (update := update_of(self, value, name)) is not None:
                    self._line(f"{name} {update[0]}= {update[1].text};")
                    continue
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
        i = self._names.fresh(loop_name(arguments[0].name_hint))
        self._values[arguments[0]] = CExpr(i)
        increment = f"{i}++" if step in ("1", "1LL") else f"{i} += {step}"
        if UNROLL in op.attributes:
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
        self._flush({b for inner in op.walk() for b in written_buffers(inner)})

    def _extended_product(self, op: arith.MulUIExtendedOp | arith.MulSIExtendedOp) -> None:
        for result, expr in zip(op.results, multiply_extended(self, op), strict=True):
            if result.first_use is not None:
                self._define(result, expr)

    def _nothing(self, op: Operation) -> None:
        """Terminators: what encloses them has read their operands."""


_STATEMENTS = {
    memref.StoreOp: KernelPrinter._store,
    vector.LoadOp: KernelPrinter.vector_load,
    vector.StoreOp: KernelPrinter.vector_store,
    memref.AllocaOp: KernelPrinter._allocate,
    memref.AllocOp: KernelPrinter._allocate,
    memref.DeallocOp: KernelPrinter._deallocate,
    memref.AtomicRMWOp: KernelPrinter._atomic,
    arith.MulUIExtendedOp: KernelPrinter._extended_product,
    arith.MulSIExtendedOp: KernelPrinter._extended_product,
    gpu.BarrierOp: KernelPrinter._barrier,
    gpu_ext.BarrierOp: KernelPrinter._barrier,
    gpu_ext.ShuffleOp: KernelPrinter.shuffle,
    gpu.ReturnOp: KernelPrinter._nothing,
    gpu_ext.ReturnOp: KernelPrinter._nothing,
    scf.YieldOp: KernelPrinter._nothing,
    scf.ConditionOp: KernelPrinter._nothing,
    scf.IfOp: KernelPrinter._if,
    scf.ForOp: KernelPrinter._for,
    scf.WhileOp: KernelPrinter._while,
    cf.AssertOp: KernelPrinter._assert,
    func.CallOp: KernelPrinter._raise,
    nvgpu.LdMatrixOp: KernelPrinter.load_matrix,
    ExtractStridedSliceOp: KernelPrinter.part_of_fragment,
    vector.InsertOp: KernelPrinter.insert_part,
    nvgpu.MmaSyncOp: KernelPrinter.multiply,
    nvgpu.DeviceAsyncCopyOp: KernelPrinter.async_copy,
    nvgpu.DeviceAsyncCreateGroupOp: KernelPrinter.async_group,
    nvgpu.DeviceAsyncWaitOp: KernelPrinter.async_wait,
}

_ATOMICS = {
    0: "atomicAdd",
    1: "atomicAdd",
    4: "atomicMax",
    5: "atomicMax",
    7: "atomicMin",
    8: "atomicMin",
    11: "atomicOr",
    12: "atomicAnd",
    15: "atomicXor",
}
"""memref.atomic_rmw's `kind` (arith::AtomicRMWKind) to CUDA's function."""

_UNSIGNED_ATOMICS = (5, 8)
"""The kinds that compare numbers without a sign."""


def _is_guard(op: scf.IfOp) -> bool:
    """Whether all that is left of a kernel stands under this condition."""
    if op.results or not isinstance(op.next_op, gpu.ReturnOp | scf.YieldOp):
        return False
    if op.false_region.blocks and not isinstance(op.false_region.block.first_op, scf.YieldOp):
        return False
    return not any(isinstance(inner, gpu.BarrierOp) for inner in op.walk())


def _first_use_stores(op: memref.AllocaOp | memref.AllocOp) -> bool:
    """Whether what first touches a local scalar is a store, beside its allocation or in the branch that holds all uses."""
    users = {use.operation for use in op.memref.uses}
    following = op.next_op
    while following is not None:
        if following in users:
            return isinstance(following, memref.StoreOp) and following.value is not op.memref
        inside = users.intersection(following.walk())
        if not inside:
            following = following.next_op
            continue
        if not isinstance(following, scf.IfOp) or not users.issubset(following.true_region.walk()):
            return False
        following = following.true_region.block.first_op
    return False


def _carry_names(sources: Sequence[SSAValue], targets: Sequence[SSAValue]) -> None:
    """Unnamed loop-carried arguments take the names of what leaves the loop."""
    for source, target in zip(sources, targets, strict=False):
        if target.name_hint is None:
            target.name_hint = source.name_hint
