"""What a module computes often becomes a function (part of expand-math).

    %y = math.sin %x : vector<8xf64>        // and many more of this type
  becomes
    %y = func.call @nestor_sin_8xf64(%x) : (vector<8xf64>) -> vector<8xf64>

    func.func private @nestor_sin_8xf64(%0: vector<8xf64>) -> vector<8xf64> attributes {nestor.math} {
      %1 = math.sin %0 : vector<8xf64>
      func.return %1 : vector<8xf64>
    }

The bits of results do not change: the function is expanded as the operation would be.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects import math
from xdsl.dialects.builtin import ModuleOp, UnitAttr, VectorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region

from ...dialects.attributes import MATH_FUNCTION
from ...dialects.walk import walk
from .table import FORMS

_SHORT = (math.RsqrtOp,)
"""Forms of a few operations."""


def share(module: ModuleOp, often: int) -> list[FuncOp]:
    """Call functions for the operations that `module` computes at least so `often`; the functions."""
    found: dict[Hashable, list[Operation]] = {}
    for op in walk(module):
        if type(op) in FORMS and not isinstance(op, _SHORT) and len(op.results) == 1 and not op.attributes:
            types = tuple(value.type for value in (*op.operands, *op.results))
            found.setdefault((type(op), types, *sorted(op.properties.items())), []).append(op)
    taken = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp)}
    made = []
    for alike in found.values():
        if len(alike) >= often:
            function = _function(alike[0], taken)
            module.body.block.add_op(function)
            for op in alike:
                _call(op, function.sym_name.data)
            made.append(function)
    return made


def _function(op: Operation, taken: set[str]) -> FuncOp:
    name = base = f"nestor_{op.name.partition('.')[2]}_{_word(op.results[0].type)}"
    number = 0
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name)
    block = Block(arg_types=[value.type for value in op.operands])
    computed = op.clone(dict(zip(op.operands, block.args, strict=True)))
    block.add_ops([computed, ReturnOp(computed.results[0])])
    types = [a.type for a in block.args], [op.results[0].type]
    function = FuncOp(name, types, Region(block), "private")
    function.attributes[MATH_FUNCTION] = UnitAttr()
    function.location = op.location
    return function


def _word(type: Attribute) -> str:
    """`8xf64` of vector<8xf64>."""
    if isinstance(type, VectorType):
        return "x".join([*map(str, type.get_shape()), str(type.element_type)])
    return str(type)


def _call(op: Operation, name: str) -> None:
    call = CallOp(name, list(op.operands), [op.results[0].type])
    call.location = op.location
    call.results[0].name_hint = op.results[0].name_hint
    block = op.parent
    assert block is not None
    block.insert_op_before(call, op)
    op.results[0].replace_all_uses_with(call.results[0])
    op.detach()
    op.erase()
