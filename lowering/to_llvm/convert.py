"""Pass `convert-to-llvm`: functions over memrefs, in upstream dialects, become functions of the llvm dialect.

    func.func @scale(%x: memref<?xf32> {nestor.noalias}, %out: memref<?xf32> {nestor.noalias}) {
      %n = memref.dim %x, %c0 : memref<?xf32>
      scf.for %i = %c0 to %n step %c1 { ... }
      func.return
    }
    ->
    llvm.func internal @scale.kernel(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %n: i64,
                                     %out: !llvm.ptr {llvm.noalias, llvm.writeonly}, %0: i64,
                                     %err: !llvm.ptr {llvm.noalias}) -> i32 { ... }
    llvm.func @scale(%args: !llvm.ptr, %err: !llvm.ptr) -> i32 {    // unpacks the 8-byte slots of `args`
      ...
      %status = llvm.call @scale.kernel(...)
      llvm.return %status : i32
    }

One direct walk, dispatched by operation type; control flow becomes blocks as the walk goes. The ABI is that of
docs/levels/llvm.md. The parts live beside this file, one per dialect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Float32Type,
    Float64Type,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from ...analysis.machine import DEFAULT_CPU, Cpu, cpu
from ...dialects.attributes import MATH_FUNCTION, NOALIAS, OUTLINED
from ...dialects.diagnostic import LoweringError, fail
from .arith import ARITH, MATH
from .builder import FunctionBuilder, Handler
from .memref import MEMREF, layout_strides, row_major
from .parallel import PARALLEL, pointer_attributes
from .scf import SCF, declare_external
from .types import (
    PTR,
    UNIT,
    MemRef,
    ModuleState,
    Size,
    byte_size,
    lower_element,
    lower_type,
    make_function,
)
from .vector import VECTOR

HANDLERS: dict[str, Handler] = {**ARITH, **MATH, **MEMREF, **SCF, **VECTOR, **PARALLEL}
"""How operations are translated, by name; those of amx, vnni and x86vector are beside, for few programs have any."""

_DEFAULT = cpu()

NOINLINE = StringAttr("noinline")
"""Of a function that several calls share: compiled once, not once a call."""

SLOT = 8
"""Bytes of a slot of the packed arguments."""


@dataclass(frozen=True)
class ConvertToLlvmPass(ModulePass):
    """Lower func, scf, cf, memref, vector, arith and math to the llvm dialect, with a packed entry point, for the
    registers and the last-level cache of a `machine`."""

    name = "convert-to-llvm"

    machine: str = DEFAULT_CPU
    vector_bits: int | None = None
    l3_kib: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert_to_llvm(op, cpu(self.machine, vector_bits=self.vector_bits, l3_kib=self.l3_kib))


def handler_of(name: str) -> Handler | None:
    """How operations of this name are translated; None where they are not."""
    if name.startswith("amx."):
        from .amx import AMX

        return AMX.get(name)
    if name.startswith("vnni."):
        from .vnni import VNNI

        return VNNI.get(name)
    if name.startswith("x86vector."):
        from .x86vector import X86VECTOR

        return X86VECTOR.get(name)
    return HANDLERS.get(name)


def convert_to_llvm(module: ModuleOp, target: Cpu = _DEFAULT) -> None:
    """Replace every `func.func` of `module`; functions of the llvm dialect stay as they are."""
    state = ModuleState(target)
    sources = list(module.body.block.ops)
    for op in sources:
        if isinstance(op, func.FuncOp) and not op.body.blocks:
            declare_external(state, op)
        elif isinstance(op, func.FuncOp):
            state.sources[op.sym_name.data] = op
        elif not isinstance(op, llvm.FuncOp):
            raise fail(op, f"{op.name} at module level has no translation to llvm", error=LoweringError)
    for op in sources:
        if isinstance(op, func.FuncOp) and op.body.blocks:
            _convert_function(state, op)
    for op in sources:
        if isinstance(op, func.FuncOp):
            op.detach()
            op.erase()
    present = {op.sym_name.data for op in module.body.block.ops if isinstance(op, llvm.FuncOp)}
    externals = [op for name, op in state.externals.items() if name not in present]
    module.body.block.add_ops([*externals, *state.functions])


def _convert_math_function(state: ModuleState, op: func.FuncOp) -> None:
    """A function of values, which cannot fail."""
    name = op.sym_name.data
    b = FunctionBuilder(state, name, handler_of)
    b.location = op.location
    for k, source in enumerate(op.body.block.args):
        b.bind(source, b.entry.insert_arg(lower_type(op, source.type), k))
    terminator = b.lower_block(op.body.block)
    assert isinstance(terminator, func.ReturnOp)
    (result,) = terminator.operands
    b.emit(llvm.ReturnOp, (b.value(result),))
    b.finish()
    types = [arg.type for arg in b.entry.args]
    attributes = [*b.function_attributes(), NOINLINE]
    state.functions.append(
        make_function(
            name,
            types,
            lower_type(op, result.type),
            b.region,
            linkage="internal",
            passthrough=attributes,
            location=op.location,
        )
    )


def _convert_function(state: ModuleState, op: func.FuncOp) -> None:
    if MATH_FUNCTION in op.attributes:
        return _convert_math_function(state, op)
    if op.function_type.outputs.data:
        raise fail(
            op,
            f"@{op.sym_name.data} has results",
            hint="results are trailing memref arguments at this level: run convert-nt-to-nest first",
            error=LoweringError,
        )
    if len(op.body.blocks) != 1:
        raise fail(op, "a function of several blocks has no translation: use scf", error=LoweringError)
    name = op.sym_name.data
    b = FunctionBuilder(state, name, handler_of)
    b.location = op.location
    parameters = _bind_parameters(b, op)
    error = b.entry.insert_arg(PTR, len(b.entry.args))
    error.name_hint = "err"
    b.error_record = error
    b.noalias_arguments.add(error)
    terminator = b.lower_block(op.body.block)
    assert isinstance(terminator, func.ReturnOp)
    b.location = terminator.location
    b.emit(llvm.ReturnOp, (b.integer(0, i32),))
    b.finish()
    kernel = make_function(
        f"{name}.kernel",
        [arg.type for arg in b.entry.args],
        i32,
        b.region,
        linkage="internal",
        arg_attrs=pointer_attributes(b),
        passthrough=[*b.function_attributes(), *([NOINLINE] if OUTLINED in op.attributes else [])],
        location=op.location,
    )
    state.functions.append(kernel)
    if OUTLINED not in op.attributes:
        state.functions.append(_entry_point(state, op, parameters))


def _bind_parameters(b: FunctionBuilder, op: func.FuncOp) -> list[tuple[Attribute, str | None]]:
    """Give the kernel its parameters, in the order of the packed slots; their types and names."""
    attributes = op.arg_attrs.data if op.arg_attrs else ()
    parameters: list[tuple[Attribute, str | None]] = []

    def parameter(type: Attribute, hint: str | None) -> SSAValue:
        arg = b.entry.insert_arg(type, len(b.entry.args))
        arg.name_hint = hint
        parameters.append((type, hint))
        return arg

    for k, source in enumerate(op.body.block.args):
        type_: Any = source.type
        hint = source.name_hint
        if not isinstance(type_, MemRefType):
            b.bind(source, parameter(lower_type(op, type_), hint))
            continue
        base = parameter(PTR, hint)
        stem = hint or f"arg{k}"
        sizes: list[Size] = [
            parameter(i64, f"{stem}.dim{axis}") if n == DYNAMIC_INDEX else n
            for axis, n in enumerate(type_.get_shape())
        ]
        stated = layout_strides(op, type_)
        strides = (
            row_major(b, sizes)
            if stated is None
            else tuple(parameter(i64, f"{stem}.stride{a}") if s is None else s for a, s in enumerate(stated))
        )
        noalias = bool(attributes) and NOALIAS in attributes[k].data
        if noalias:
            b.noalias_arguments.add(base)
        element = lower_element(op, type_.element_type)
        b.bind_memref(source, MemRef(base, 0, tuple(sizes), strides, element, noalias))
    return parameters


def _entry_point(
    state: ModuleState, op: func.FuncOp, parameters: list[tuple[Attribute, str | None]]
) -> llvm.FuncOp:
    """`@f(args, err)`: load the slots and call the kernel."""
    name = op.sym_name.data
    b = FunctionBuilder(state, name, handler_of)
    b.location = op.location
    args, error = (b.entry.insert_arg(PTR, k) for k in range(2))
    args.name_hint, error.name_hint = "args", "err"
    values = [_load_slot(b, args, k, type, hint) for k, (type, hint) in enumerate(parameters)]
    status = b.call(f"{name}.kernel", [*values, error], i32)
    status.name_hint = "status"
    b.emit(llvm.ReturnOp, (status,))
    b.finish()
    attributes: list[dict[str, Attribute]] = [
        {"llvm.noalias": UNIT, "llvm.readonly": UNIT},
        {"llvm.noalias": UNIT},
    ]
    return make_function(
        name, [PTR, PTR], i32, b.region, linkage="external", arg_attrs=attributes, location=op.location
    )


def _load_slot(b: FunctionBuilder, args: SSAValue, k: int, type_: Attribute, hint: str | None) -> SSAValue:
    slot = b.gep(args, k, i64)
    if type_ in (i64, PTR) or isinstance(type_, Float32Type | Float64Type):
        return b.load(slot, type_, SLOT, hint)
    if isinstance(type_, VectorType) or byte_size(type_) > SLOT:
        raise fail(
            b.location, f"an argument of type {type_} does not fit into its {SLOT} bytes", error=LoweringError
        )
    if isinstance(type_, IntegerType):
        return b.emit(llvm.TruncOp, (b.load(slot, i64, SLOT),), type_, hint=hint)
    return b.load(slot, type_, SLOT, hint)
