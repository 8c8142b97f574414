"""nest-if-to-select: a branch that only chooses what a variable becomes is a selection.

    %t = nest.alloc "best" : memref<f64>
    nest.if %c {
      %v = nest.load %a[%i, %j] : memref<8x8xf64>           %v = nest.load %a[%i, %j] : memref<8x8xf64>
      nest.store "best" %v, %t[] : memref<f64>              %m = arith.select %c, %v, %old : f64
    } else {                                      becomes   ... %m in the place of %best
      nest.store "best" %old, %t[] : memref<f64>
    }
    %best = nest.load %t[] : memref<f64>

so that it can be masked, split and vectorized, and what it does may be the update of a reduction (nest-raise-updates).
Both branches store to the same variables of one element, once each, and compute little besides (`MOST` operations, none of
them a function such as `exp`): it is done whichever way is taken. Elements are loaded that are in their buffers for sure:
isl proves it, or they were loaded before. Branches that store elsewhere, may fail or divide integers stay. LLVM's
"select formation" (SimplifyCFG); `nt-if-to-select` does the same for tensors.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import functions
from ....analysis.nest.sets.accesses import accesses_in, may_alias, root_of
from ....analysis.nest.sets.domains import DIVISIONS, is_computation, may_be_undefined
from ....analysis.nest.sets.integer_sets import is_in_buffer
from ....dialects.affine import AffineList
from ....dialects.nest import AllocOp, IfOp, LoadOp, StoreOp

MOST = 6
"""Maximum number of computations and loads of both branches together."""

_FUNCTIONS = tuple(op for op in math.Math.operations if op not in (math.AbsFOp, math.AbsIOp, math.CopySignOp))


def if_to_select(function: FuncOp) -> None:
    """Make selections of branches, in place, the inner ones first."""
    for op in reversed([op for op in function.walk() if isinstance(op, IfOp)]):
        if (branches := _branches(op)) is not None:
            _select(op, *branches)


Stores = dict[SSAValue, StoreOp]


def _branches(op: IfOp) -> tuple[Stores, Stores] | None:
    """What each branch stores to which variable; None where it does anything else, or too much."""
    if op.else_region is None:
        return None
    blocks = [op.then_region.block, op.else_region.block]
    found = [_stores_of(block, op) for block in blocks]
    if None in found or sum(len(block.ops) for block in blocks) - sum(len(s or ()) for s in found) > MOST:
        return None
    first, second = (stores or {} for stores in found)
    return (first, second) if first and first.keys() == second.keys() else None


def _stores_of(block: Block, branch: IfOp) -> Stores | None:
    stores: Stores = {}
    for op in block.ops:
        if isinstance(op, StoreOp):
            variable = op.memref.owner
            is_plain = op.where is None and op.mask is None and isinstance(variable, AllocOp)
            if not is_plain or op.memref in stores or op.memref.type.get_num_dims():  # pyright: ignore
                return None
            stores[op.memref] = op
        elif isinstance(op, LoadOp):
            if op.memref in stores or not _is_loaded_safely(op, branch):
                return None
        elif not is_computation(op) or isinstance(op, _FUNCTIONS):
            return None
        if type(op) in DIVISIONS and may_be_undefined(op):
            return None
    return stores


def _is_loaded_safely(load: LoadOp, branch: IfOp) -> bool:
    """Whether the element can be loaded whichever way is taken."""
    if any(isinstance(v.owner, Operation) and v.owner.parent is load.parent for v in load.indices.operands):
        return False
    if _loaded_before(load, branch) is not None:
        return True
    assert isinstance(load.memref.type, MemRefType)
    return is_in_buffer(branch, load.memref, load.indices, AffineList((), ()))


def _loaded_before(load: LoadOp, branch: IfOp) -> LoadOp | None:
    """The same element, loaded before the branch in its block, where nothing may have written it since."""
    root, op = root_of(load.memref), branch.prev_op
    while op is not None:
        if isinstance(op, LoadOp) and (op.memref, op.indices.canonical()) == (
            load.memref,
            load.indices.canonical(),
        ):
            return op
        if any(a.writes and (a.root is None or may_alias(a.root, root)) for a in accesses_in(op)):
            return None
        op = op.prev_op
    return None


def _computed_before(op: Operation, branch: IfOp) -> Operation | None:
    """The same computation, before the branch in its block: what was compared is often what is chosen."""
    other = branch.prev_op
    while other is not None:
        if (
            type(other) is type(op)
            and other.operands == op.operands
            and other.properties == op.properties
            and other.attributes == op.attributes
            and other.result_types == op.result_types
        ):
            return other
        other = other.prev_op
    return None


def _select(branch: IfOp, first: Stores, second: Stores) -> None:
    assert branch.parent is not None and branch.else_region is not None
    for block in (branch.then_region.block, branch.else_region.block):
        for op in list(block.ops):
            if isinstance(op, StoreOp):
                continue
            before = (_loaded_before if isinstance(op, LoadOp) else _computed_before)(op, branch)  # pyright: ignore
            if before is not None:
                op.results[0].replace_all_uses_with(before.results[0])
                op.detach()
                op.erase()
            else:
                op.detach()
                branch.parent.insert_op_before(op, branch)
    for variable, store in first.items():
        chosen = arith.SelectOp(branch.condition, store.value, second[variable].value)
        chosen.result.name_hint = store.value.name_hint
        stored = StoreOp(chosen.result, variable, store.indices, label=store.statement)
        chosen.location = stored.location = store.location
        branch.parent.insert_ops_before([chosen, stored], branch)
        for inside in (store, second[variable]):
            inside.detach()
            inside.erase()
        _forward(variable, stored)
    branch.detach()
    branch.erase()


def _forward(variable: SSAValue, stored: StoreOp) -> None:
    """Use what was chosen in the place of a variable to which nothing else is stored, and which is loaded after that."""
    loads = [use.operation for use in variable.uses if use.operation is not stored]
    for load in loads:
        if not isinstance(load, LoadOp) or load.parent is not stored.parent:
            return
        if not stored.is_before_in_block(load):
            return
    for load in loads:
        stored.value.name_hint = load.results[0].name_hint or stored.value.name_hint
        load.results[0].replace_all_uses_with(stored.value)
    for op in (*loads, stored, variable.owner):
        assert isinstance(op, Operation)
        op.detach()
        op.erase()


@dataclass(frozen=True)
class NestIfToSelectPass(ModulePass):
    """Make selections of branches that only choose what variables become."""

    name = "nest-if-to-select"

    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op, self.func):
            if_to_select(function)
