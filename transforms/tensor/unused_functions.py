"""Private functions that have been put in the place of operations, and are of no use any more."""

from __future__ import annotations

from collections.abc import Set

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation


def drop_unused(module: ModuleOp, names: Set[str]) -> None:
    """Erase the private functions among `names` that nothing refers to but themselves and each other."""
    functions = {o.sym_name.data: o for o in module.ops if isinstance(o, func.FuncOp)}
    candidates = {n for n in names & functions.keys() if functions[n].sym_visibility == StringAttr("private")}
    rest: list[Operation] = [o for o in module.ops if o not in [functions[n] for n in candidates]]
    used: set[str] = set()
    while rest:
        new = (_named_by(rest.pop()) & candidates) - used
        used |= new
        rest += [functions[n] for n in new]
    for name in candidates - used:
        module.body.block.erase_op(functions[name])


def _named_by(function: Operation) -> set[str]:
    return {
        attribute.root_reference.data
        for op in function.walk()
        for attribute in (*op.attributes.values(), *op.properties.values())
        if isinstance(attribute, SymbolRefAttr)
    }
