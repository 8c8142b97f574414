"""nest-share-scratch: what an outlined function needs memory for is allocated once by who calls it.

    func.func @f(...) {
      func.call @f.part(%x, %b) {nestor.outlined}
      func.call @f.part(%b, %y) {nestor.outlined}
    }
    func.func private @f.part(%x: memref<64x512xf32>, %y: ...) attributes {nestor.outlined} {
      %t = nest.alloc "t" : memref<64x512xf32>
      ...
    }
  becomes
    func.func @f(...) {
      %t = nest.alloc "t" : memref<64x512xf32>
      func.call @f.part(%x, %b, %t) {nestor.outlined}
      func.call @f.part(%b, %y, %t) {nestor.outlined}
    }
    func.func private @f.part(%x: memref<64x512xf32>, %y: ..., %t: memref<64x512xf32> {nest.role = "out"}) ...

An allocation for each call would be pages fresh from the system for each layer of a network. Calls follow each other, and a
buffer holds nothing from one to the next, so that all calls of a function may be given the same one, and those of other
outlined functions too. Only buffers of known extents that are in the block of the function move, and none that is small
enough for the stack.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import functions
from ....dialects.attributes import OUTLINED, ROLE
from ....dialects.nest import AllocOp
from ....dialects.walk import walk
from ....lowering.nest_common.body import is_small


@dataclass(frozen=True)
class NestShareScratchPass(ModulePass):
    """Let those that call outlined functions allocate these functions' buffers."""

    name = "nest-share-scratch"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        share_scratch(op)


def share_scratch(module: ModuleOp) -> None:
    """Move the allocations of all outlined functions of a module to their callers."""
    moved: dict[str, list[AllocOp]] = {}
    for function in _callees_first(module):
        kept: dict[Attribute, list[AllocOp]] = {}
        for op in walk(function):
            if isinstance(op, CallOp) and OUTLINED in op.attributes:
                _pass(op, moved.get(op.callee.string_value(), []), function, kept)
        if OUTLINED in function.attributes and len(function.body.blocks) == 1:
            moved[function.sym_name.data] = _as_arguments(function)


def _callees_first(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module, those that others call before these: an outlined function may call outlined ones."""
    by_name = {function.sym_name.data: function for function in functions(module)}
    found: dict[str, FuncOp] = {}

    def visit(name: str) -> None:
        if name in found or name not in by_name:
            return
        for op in walk(by_name[name]):
            if isinstance(op, CallOp) and OUTLINED in op.attributes:
                visit(op.callee.string_value())
        found[name] = by_name[name]

    for name in by_name:
        visit(name)
    return list(found.values())


def _as_arguments(function: FuncOp) -> list[AllocOp]:
    """Make arguments of the allocations of a function; the allocations, of which nothing is left there."""
    block = function.body.block
    found = [op for op in block.ops if isinstance(op, AllocOp) and _can_move(op)]
    for alloc in found:
        argument = block.insert_arg(alloc.memref.type, len(block.args))
        argument.name_hint = alloc.memref.name_hint
        alloc.memref.replace_all_uses_with(argument)
        argument.name_hint = alloc.memref.name_hint or argument.name_hint
        alloc.detach()
    if found:
        attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
        known = [*attributes, *[DictionaryAttr({})] * (len(block.args) - len(found) - len(attributes))]
        roles = [DictionaryAttr({ROLE: StringAttr("out")})] * len(found)
        function.properties["arg_attrs"] = ArrayAttr([*known, *roles])
        function.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], [])
    return found


def _can_move(alloc: AllocOp) -> bool:
    type = alloc.memref.type
    return not alloc.operands and DYNAMIC_INDEX not in type.get_shape() and not is_small(type)  # pyright: ignore


def _pass(
    call: CallOp, wanted: list[AllocOp], function: FuncOp, kept: dict[Attribute, list[AllocOp]]
) -> None:
    """Give a call the buffers that it wants: the first of a type, the second, as calls before it have them."""
    taken: dict[Attribute, int] = {}
    given: list[SSAValue] = []
    for alloc in wanted:
        type = alloc.memref.type
        number = taken.get(type, 0)
        taken[type] = number + 1
        buffers = kept.setdefault(type, [])
        if number == len(buffers):
            buffers.append(_made(alloc, function))
        given.append(buffers[number].memref)
    call.operands = [*call.operands, *given]


def _made(alloc: AllocOp, function: FuncOp) -> AllocOp:
    """The same allocation at the start of a function."""
    made = alloc.clone()
    names = {op.label.data for op in walk(function) if isinstance(op, AllocOp)}
    name, k = alloc.label.data, 1
    while name in names:
        name, k = f"{alloc.label.data}.{k}", k + 1
    made.properties["label"] = StringAttr(name)
    made.memref.name_hint = alloc.memref.name_hint
    block = function.body.blocks[0]
    assert block.first_op is not None
    block.insert_op_before(made, block.first_op)
    return made
