"""Private functions that have been put in the place of operations, and are of no use any more."""

from __future__ import annotations

from collections.abc import Set

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr


def drop_unused(module: ModuleOp, names: Set[str]) -> None:
    """Erase the private functions among `names` that nothing refers to."""
    while True:
        used = {
            attribute.root_reference.data
            for op in module.walk()
            for attribute in (*op.attributes.values(), *op.properties.values())
            if isinstance(attribute, SymbolRefAttr)
        }
        dead = [
            o
            for o in module.ops
            if isinstance(o, func.FuncOp)
            and o.sym_name.data in names - used
            and o.sym_visibility == StringAttr("private")
        ]
        if not dead:
            return
        for function in dead:
            module.body.block.erase_op(function)
