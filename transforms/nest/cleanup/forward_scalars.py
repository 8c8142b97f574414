"""nest-forward-scalars: what is stored to an element and read at once is not stored.

    %t = nest.alloc "t" : memref<i8>
    ...
    nest.store "greater" %v, %t[] : memref<i8>                 ...
    %w = nest.load %t[] : memref<i8>                  becomes  %c = arith.cmpi ne, %v, %zero : i8
    %c = arith.cmpi ne, %w, %zero : i8                         scf.condition(%c)
    scf.condition(%c)

A condition of a loop or branch is computed as an array of rank 0, which is stored and read back. On a GPU the store is a
kernel of one thread, where the host could compute the condition from what kernels left. Legal for a temporary that has
one store and one load, with nothing between them but computations. LLVM does so for the CPU (`mem2reg`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from ....analysis.nest.loop_structure import functions
from ....dialects.nest import AllocOp, LoadOp, StoreOp


def forward_scalars(function: FuncOp) -> None:
    """Use what is stored to temporaries of one element where these are read at once."""
    for alloc in [op for op in function.walk() if isinstance(op, AllocOp)]:
        pair = _pair(alloc)
        if pair is None:
            continue
        store, load = pair
        load.result.replace_all_uses_with(store.value)
        for op in (load, store, alloc):
            op.detach()
            op.erase()


def _pair(alloc: AllocOp) -> tuple[StoreOp, LoadOp] | None:
    """The only store and the only load of a buffer of rank 0, where nothing but computations is between them."""
    assert isinstance(alloc.memref.type, MemRefType)
    users = [use.operation for use in alloc.memref.uses]
    stores = [
        op for op in users if isinstance(op, StoreOp) and op.memref is alloc.memref and op.where is None
    ]
    loads = [op for op in users if isinstance(op, LoadOp)]
    if len(users) != 2 or len(stores) != 1 or len(loads) != 1 or alloc.memref.type.get_num_dims():
        return None
    store, load = stores[0], loads[0]
    op = store.next_op
    while op is not None and op is not load:
        if not is_side_effect_free(op) or op.regions:
            return None
        op = op.next_op
    return None if op is None else (store, load)


@dataclass(frozen=True)
class NestForwardScalarsPass(ModulePass):
    """Use what is stored to temporaries of one element where these are read at once."""

    name = "nest-forward-scalars"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            forward_scalars(function)
