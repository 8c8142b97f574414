"""Calls of functions that Python answers, at the levels of memory: what their declarations say.

    func.func private @numpy.sort.5e1c92b0(memref<4xf32>, memref<4xf32>) attributes {nestor.custom_call =
      {target = "numpy.sort", arguments = {axis = 0 : i64}, elements = [f32, f32], inputs = 1 : i64}}

Of the buffers of a call the first `inputs` are read, the others filled (`lowering/nest_common/custom_calls.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.attributes import CUSTOM_CALL
from ...dialects.custom_call_names import INPUTS, TARGET


def declarations(module: ModuleOp) -> list[func.FuncOp]:
    """The functions of `module` that the runtime answers."""
    return [
        op for op in module.body.block.ops if isinstance(op, func.FuncOp) and CUSTOM_CALL in op.attributes
    ]


def declared_by(call: func.CallOp) -> func.FuncOp:
    """The declaration of what is called, which is one of these."""
    declared = find_declaration(call)
    assert declared is not None, f"@{call.callee.string_value()} is not answered by the runtime"
    return declared


def find_declaration(call: func.CallOp) -> func.FuncOp | None:
    """The declaration of what is called; None for a function that is not one of these."""
    module: Operation = call
    while (parent := module.parent_op()) is not None:
        module = parent
    if not isinstance(module, ModuleOp):
        return None
    name = call.callee.string_value()
    return next((one for one in declarations(module) if one.sym_name.data == name), None)


def facts_of(declared: func.FuncOp) -> Mapping[str, Attribute]:
    """What a declaration says, by name (`dialects/custom_call_names.py`)."""
    facts = declared.attributes[CUSTOM_CALL]
    assert isinstance(facts, DictionaryAttr)
    return facts.data


def target_of(declared: func.FuncOp) -> str:
    """The name of the function that a declaration stands for."""
    target = facts_of(declared)[TARGET]
    assert isinstance(target, StringAttr)
    return target.data


def inputs_of(declared: func.FuncOp) -> int:
    """How many of its buffers are read."""
    inputs = facts_of(declared)[INPUTS]
    assert isinstance(inputs, IntegerAttr)
    return inputs.value.data


def filled_by(call: func.CallOp) -> Sequence[SSAValue] | None:
    """The buffers that a call fills, those of its results; None where that is not known."""
    declared = find_declaration(call)
    return None if declared is None else call.arguments[inputs_of(declared) :]
