"""Calls of functions of Python, by name: what a call is at the levels of memory, and `nt.custom_call` as one.

    %y = nt.custom_call "numpy.sort"(%x) {axis = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  becomes
    func.call @numpy.sort.5e1c92b0(%x, %y) {nestor.kind = "CallError"} : (memref<4xf32>, memref<4xf32>) -> ()
  where
    func.func private @numpy.sort.5e1c92b0(memref<4xf32>, memref<4xf32>) attributes {nestor.custom_call =
      {target = "numpy.sort", arguments = {axis = 0 : i64}, elements = [f32, f32], inputs = 1 : i64}}

The function is declared, not defined: the runtime answers it (`runtime/custom_calls.py`), from what the declaration
says. Its symbol is the name with a hash of that, so equal calls are calls of one function, in every module. Buffers
come in, then those that are filled. A call may fail, as a check may: it is in the table of checks.

A call of code of the user's (`language` among its arguments) is the same, on the CPU: the symbol is in the program
(`runtime/cpu/native_code.py`). Its buffers are dense, in row-major order. So are those of a call that has a kernel of
the user's (`cuda` among its arguments), which a GPU launches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.nest.calls import declarations, declared_by, facts_of, target_of
from ...dialects.attributes import CUSTOM_CALL, KIND
from ...dialects.custom_call_names import ARGUMENTS, CUDA, ELEMENTS, INPUTS, LANGUAGE, NUMPY, TARGET
from ...dialects.nt import CustomCallOp
from ...dialects.nt.ops import element_of
from ...dialects.remarks import warn

if TYPE_CHECKING:
    from ..nt_to_nest.convert import Conversion

CALL_ERROR = "CallError"
"""The kind of check that a call is: what it raised is raised."""


def declaration(
    target: str,
    arguments: DictionaryAttr,
    types: Sequence[MemRefType],
    elements: Sequence[Attribute],
    inputs: int,
) -> func.FuncOp:
    """The declared function of a call: buffers of `types`, whose element types at the level of tensors are `elements`."""
    facts = DictionaryAttr(
        {
            TARGET: StringAttr(target),
            ARGUMENTS: arguments,
            ELEMENTS: ArrayAttr(list(elements)),
            INPUTS: IntegerAttr(inputs, i64),
        }
    )
    text = f"{facts} {', '.join(map(str, types))}"
    import hashlib  # which loads OpenSSL, for programs that have calls only

    name = re.sub(r"[^A-Za-z0-9_.]", "_", target)
    symbol = f"{name}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    function = func.FuncOp.external(symbol, list(types), [])
    function.attributes[CUSTOM_CALL] = facts
    return function


def call_of(function: func.FuncOp, buffers: Sequence[SSAValue]) -> func.CallOp:
    """A call of a declared function."""
    call = func.CallOp(function.sym_name.data, list(buffers), [])
    call.attributes[KIND] = StringAttr(CALL_ERROR)
    return call


def declare(module: ModuleOp, function: func.FuncOp) -> None:
    """Add a declaration to `module`, unless it is there."""
    name = function.sym_name.data
    for op in module.body.block.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == name:
            return
    first = module.body.block.first_op
    if first is None:
        module.body.block.add_op(function)
    else:
        module.body.block.insert_op_before(function, first)


def is_code(function: func.FuncOp) -> bool:
    """Whether the program itself has a declared function, as code of the user's."""
    arguments = facts_of(function)[ARGUMENTS]
    return isinstance(arguments, DictionaryAttr) and LANGUAGE in arguments.data


def is_kernel(function: func.FuncOp) -> bool:
    """Whether GPUs run a declared function, as a kernel of the user's."""
    arguments = facts_of(function)[ARGUMENTS]
    return isinstance(arguments, DictionaryAttr) and CUDA in arguments.data


def called(op: Operation) -> bool:
    """Whether `op` is a call of such a function."""
    return isinstance(op, func.CallOp) and op.attributes.get(KIND) == StringAttr(CALL_ERROR)


def launches(op: Operation) -> bool:
    """Whether `op` is a call that GPUs answer by a kernel of the user's."""
    return isinstance(op, func.CallOp) and called(op) and is_kernel(declared_by(op))


def convert_call(c: Conversion, op: CustomCallOp) -> None:
    """`nt.custom_call`: operands in memory, results in the buffers they end in."""
    has_code = LANGUAGE in op.arguments.data or CUDA in op.arguments.data
    buffers = [_dense(c, value) if has_code else c.materialise(value) for value in op.inputs]
    outputs = [_dense_result(c, result) if has_code else c.buffer_for(result) for result in op.results_]
    values = [*op.inputs, *op.results_]
    types = [b.type for b in (*buffers, *outputs)]
    function = declaration(
        op.target.data,
        op.arguments,
        types,  # pyright: ignore
        [element_of(v) for v in values],
        len(buffers),
    )
    declare(c.module, function)
    call = call_of(function, [*buffers, *outputs])
    call.location = op.location
    c.insert(call)
    note(call, op.target.data)
    for result, buffer in zip(op.results_, outputs, strict=True):
        c.place(result, buffer)


def _dense(c: Conversion, value: SSAValue) -> SSAValue:
    """A buffer in row-major order, without gaps, that has the elements of `value`."""
    buffer = c.materialise(value)
    return buffer if is_dense(buffer) else c.copied(value)


def _dense_result(c: Conversion, value: SSAValue) -> SSAValue:
    """Such a buffer for `value` to be computed into."""
    buffer = c.buffer_for(value)
    return buffer if is_dense(buffer) else c.new_buffer(value)


def is_dense(buffer: SSAValue) -> bool:
    """Whether the type of a buffer says that it is in row-major order, without gaps."""
    return isinstance(buffer.type, MemRefType) and isinstance(buffer.type.layout, NoneAttr)


def note(op: Operation, target: str) -> None:
    """Say that a function of NumPy is called: the user wrote NumPy, and expects it to be compiled."""
    if target.startswith(NUMPY):
        warn(op, f"call to {target}: it is not compiled, NumPy runs it")


def note_calls(module: ModuleOp, scope: Operation) -> None:
    """Say it of the calls that loops make."""
    targets = {f.sym_name.data: target_of(f) for f in declarations(module)}
    for op in scope.walk():
        if isinstance(op, func.CallOp) and op.callee.string_value() in targets:
            note(op, targets[op.callee.string_value()])


def any_layout(kind: MemRefType) -> MemRefType:
    """The memref type for every layout: what a buffer of unknown strides is cast to for a call."""
    return MemRefType(
        kind.element_type,
        kind.get_shape(),
        StridedLayoutAttr([None] * kind.get_num_dims(), 0),
        kind.memory_space,
    )


def as_any_layout(buffer: SSAValue) -> memref.CastOp:
    """The cast of a buffer whose layout is the business of another level."""
    assert isinstance(buffer.type, MemRefType)
    return memref.CastOp.create(operands=[buffer], result_types=[any_layout(buffer.type)])
