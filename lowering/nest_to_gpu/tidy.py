"""What the lowering to kernels leaves behind, taken away before a kernel is printed (part of convert-nest-to-gpu).

memref.store %none, %s[] : memref<f32, 5 : i64>        a register set to what leaves a maximum as it is ...
...
%1 = memref.load %s[] : memref<f32, 5 : i64>
%2 = arith.maximumf %1, %total : f32                   ... and then updated once: it is the total
memref.store %2, %s[] : memref<f32, 5 : i64>

A condition that another one implies is left out, a choice between a value and a constant is made once where the value is
that constant on the other branch already, branches that follow each other on one condition are one, a register
is made in the loop or branch that sets it before all else and alone uses it, an array of a thread before its first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import copysign, inf

from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import Pure

from ...analysis.nest.kernels.thread_copies import is_local
from ...dialects.affine import constant_of


def tidy(block: Block) -> None:
    """Take away what a kernel does not need, in all of its blocks."""
    for register in _registers(block.walk()):
        _updated_once(register)
    for register in _registers(block.walk()):
        _set_to_constant(register)
    for op in reversed(list(block.walk())):
        if isinstance(op, vector.LoadOp | vector.ExtractOp) and not op.result.uses:
            op.detach()
            op.erase()
    for op in list(block.walk()):
        if isinstance(op, arith.AndIOp):
            _implied(op)
    for register in _registers(block.walk()):
        _chosen_twice(register)
    for op in list(block.walk()):
        if op.parent is not None and isinstance(op, scf.IfOp):
            _with_next_branches(op)
    for register in _registers(block.ops):
        _made_where_used(register)
    for op in list(block.walk()):
        if isinstance(op, memref.AllocaOp) and is_local(op.memref) and op.memref.type.get_num_dims():  # pyright: ignore
            _made_before_used(op)


def _registers(ops: Iterable[Operation]) -> list[memref.AllocaOp]:
    """The buffers of one element among operations."""
    return [
        op
        for op in ops
        if isinstance(op, memref.AllocaOp) and not op.memref.type.get_num_dims()  # pyright: ignore
    ]


# ---- registers that are set, and then updated once ----------------------------------------------------


def _updated_once(register: memref.AllocaOp) -> None:
    """Let a register whose first value is that of no element be what updates it, where there is one update."""
    stores = [use.operation for use in register.memref.uses if isinstance(use.operation, memref.StoreOp)]
    if len(stores) != 2 or any(store.parent is not stores[0].parent for store in stores):
        return
    first, second = stores if stores[0].is_before_in_block(stores[1]) else reversed(stores)
    update = second.value.owner
    if not isinstance(update, Operation) or not second.value.has_one_use() or len(update.operands) != 2:
        return
    load, total = update.operands[0].owner, update.operands[1]
    if not isinstance(load, memref.LoadOp) or load.memref is not register.memref:
        return
    if load.parent is not first.parent or not load.res.has_one_use():
        return
    others = {use.operation for use in register.memref.uses} - {first, second, load}
    if not all(_comes_after(other, second) for other in others):
        return
    constant = first.value.owner
    if not isinstance(constant, arith.ConstantOp) or not _is_neutral(update, constant, total):
        return
    for other in others:
        assert isinstance(other, memref.LoadOp)
        other.res.replace_all_uses_with(total)
    name = register.memref.name_hint
    for op in (*others, second, update, load, first, register):
        op.detach()
        op.erase()
    if isinstance(total.owner, scf.ForOp) and name is not None:
        total.name_hint = name
        total.owner.body.block.args[1 + total.index].name_hint = name  # pyright: ignore


def _set_to_constant(register: memref.AllocaOp) -> None:
    """Let a register that is set to a constant, and to nothing else, be the constant."""
    users = [use.operation for use in register.memref.uses]
    stores = [op for op in users if isinstance(op, memref.StoreOp)]
    if len(stores) != 1 or not isinstance(stores[0].value.owner, arith.ConstantOp):
        return
    loads = [op for op in users if op is not stores[0]]
    if not all(_comes_after(op, stores[0]) for op in loads):
        return
    for load in loads:
        load.results[0].replace_all_uses_with(stores[0].value)
    for op in (*loads, stores[0], register):
        op.detach()
        op.erase()


def _chosen_twice(register: memref.AllocaOp) -> None:
    """Let a register be what a branch gives it, where that is its first value, a constant, whenever the branch is not run.

    %x = scf.if %t { ... } else { scf.yield %zero }
    memref.store %zero, %r[]
    scf.if %t { memref.store %x, %r[] }          what is loaded is %x
    """
    stores = [use.operation for use in register.memref.uses if isinstance(use.operation, memref.StoreOp)]
    if len(stores) != 2 or stores[0].parent is stores[1].parent:
        return
    first, second = stores if isinstance(stores[0].value.owner, arith.ConstantOp) else reversed(stores)
    branch, chosen = second.parent_op(), second.value.owner
    if not isinstance(branch, scf.IfOp) or not isinstance(chosen, scf.IfOp):
        return
    if not _is_same(chosen.cond, branch.cond):
        return
    if branch.parent is not first.parent or not first.is_before_in_block(branch):
        return
    if branch.results or second.parent is not branch.true_region.block or _does_something(branch, second):
        return
    other = chosen.false_region.block.last_op
    assert other is not None
    otherwise = other.operands[second.value.index].owner  # pyright: ignore[reportAttributeAccessIssue]
    constant = first.value.owner
    if not isinstance(constant, arith.ConstantOp) or not isinstance(otherwise, arith.ConstantOp):
        return
    loads = [use.operation for use in register.memref.uses if use.operation not in stores]
    if constant.value != otherwise.value or not all(_comes_after(op, branch) for op in loads):
        return
    for load in loads:
        load.results[0].replace_all_uses_with(second.value)
    for op in (*loads, branch, first, register):
        op.detach()
        op.erase()


def _is_same(one: SSAValue, other: SSAValue) -> bool:
    """Whether two values are one, or are computed alike from the same values."""
    if one is other:
        return True
    first, second = one.owner, other.owner
    if (
        not isinstance(first, Operation)
        or not isinstance(second, Operation)
        or type(first) is not type(second)
    ):
        return False
    if first.regions or not first.has_trait(Pure) or first.properties != second.properties:
        return False
    pairs = zip(first.operands, second.operands, strict=True)
    return one.type == other.type and len(first.results) == 1 and all(_is_same(a, b) for a, b in pairs)


def _does_something(branch: scf.IfOp, store: Operation) -> bool:
    """Whether a branch does more than a store."""
    inside = [op for op in branch.walk() if op is not branch and op is not store]
    return any(not isinstance(op, scf.YieldOp) for op in inside)


def _comes_after(op: Operation, store: Operation) -> bool:
    """Whether `op`, a load, is behind `store` in its block, or inside of what does."""
    if not isinstance(op, memref.LoadOp):
        return False
    around: Operation | None = op
    while around is not None and around.parent is not store.parent:
        around = around.parent_op()
    return around is not None and store.is_before_in_block(around)


def _is_neutral(update: Operation, constant: arith.ConstantOp, total: SSAValue) -> bool:
    """Whether an update of a constant gives what it is updated with."""
    value = constant.value
    if isinstance(value, IntegerAttr) and isinstance(value.type, IntegerType):
        top = 1 << (value.type.width.data - 1)
        wanted = {
            arith.AddiOp: 0, arith.OrIOp: 0, arith.XOrIOp: 0, arith.MuliOp: 1, arith.AndIOp: -1,
            arith.MaxSIOp: -top, arith.MinSIOp: top - 1,
        }  # fmt: skip
        return wanted.get(type(update)) == value.value.data  # pyright: ignore
    if not isinstance(value, FloatAttr):
        return False
    number = value.value.data
    if isinstance(update, arith.MaximumfOp | arith.MinimumfOp):
        return number == (-inf if isinstance(update, arith.MaximumfOp) else inf)
    if not isinstance(update, arith.AddfOp) or number != 0:
        return False
    return copysign(1.0, number) < 0 or _never_negative_zero(total)


def _never_negative_zero(total: SSAValue) -> bool:
    """Make a sum over lanes start from 0 instead of -0, which is then no sum of -0 either; False where it is another.

    0 + total is the same as before: a sum that was -0 becomes the 0 that it was added to.
    """
    loop = total.owner
    if not isinstance(loop, scf.ForOp) or not _sums(loop):
        return False
    load = loop.iter_args[total.index].owner  # pyright: ignore[reportAttributeAccessIssue]
    if not isinstance(load, memref.LoadOp) or not isinstance(load.memref.owner, memref.AllocaOp):
        return False
    starts: list[memref.StoreOp] = []
    for use in load.memref.uses:
        store = use.operation
        if not isinstance(store, memref.StoreOp):
            continue
        if isinstance(store.value.owner, arith.ConstantOp):
            starts.append(store)
        elif not _adds_to(store.value.owner, load.memref):
            return False
    others = [use.operation for use in load.memref.uses if use.operation is not load]
    reads = [op for op in others if isinstance(op, memref.LoadOp)]
    if len(starts) != 1 or not all(_feeds_an_update(op) for op in reads):
        return False
    (start,) = starts
    zero = start.value.owner
    assert isinstance(zero, arith.ConstantOp)
    if not isinstance(zero.value, FloatAttr) or zero.value.value.data != 0:
        return False
    positive = arith.ConstantOp(FloatAttr(0.0, zero.value.type))
    block = start.parent
    assert block is not None
    block.insert_op_before(positive, start)
    start.operands[0] = positive.result
    return True


def _sums(loop: scf.ForOp) -> bool:
    """Whether a loop over shuffles adds the values of the lanes."""
    last = loop.body.block.last_op
    return last is not None and len(last.operands) == 1 and isinstance(last.operands[0].owner, arith.AddfOp)


def _adds_to(update: Operation | Block, register: SSAValue) -> bool:
    """Whether something is added to a register: a number, or a square by a fused addition, which is no -0."""
    if isinstance(update, math.FmaOp):
        return update.a is update.b and _is_load(update.c, register)
    return isinstance(update, arith.AddfOp) and any(_is_load(v, register) for v in update.operands)


def _is_load(value: SSAValue, register: SSAValue) -> bool:
    return isinstance(value.owner, memref.LoadOp) and value.owner.memref is register


def _feeds_an_update(load: memref.LoadOp) -> bool:
    return all(_adds_to(use.operation, load.memref) for use in load.res.uses)


# ---- where registers are made -------------------------------------------------------------------------


def _made_where_used(register: memref.AllocaOp) -> None:
    """Move a register into the innermost block that has all its uses and first of all sets it."""
    users = {use.operation for use in register.memref.uses}
    block, place = register.parent, None
    while block is not None:
        touching = _touching(block, users)
        if not touching:
            return
        first = touching[0]
        if isinstance(first, memref.StoreOp) and first.memref is register.memref:
            place = first
        block = _block_with_all(first, users) if len(touching) == 1 else None
    if place is not None and place.parent is not register.parent and place.parent is not None:
        register.detach()
        place.parent.insert_op_before(register, place)


def _made_before_used(array: memref.AllocaOp) -> None:
    """Move an array of a thread to what first uses it, into a branch that has all its uses."""
    users = {use.operation for use in array.memref.uses}
    block, place = array.parent, None
    while block is not None:
        touching = _touching(block, users)
        if not touching:
            return
        place = touching[0]
        is_sole_branch = len(touching) == 1 and isinstance(place, scf.IfOp)
        block = _block_with_all(place, users) if is_sole_branch else None
    if place is not None and place is not array.next_op and place.parent is not None:
        array.detach()
        place.parent.insert_op_before(array, place)


def _touching(block: Block, users: set[Operation]) -> list[Operation]:
    """The operations of a block that are users, or have some inside."""
    return [op for op in block.ops if op in users or (op.regions and not users.isdisjoint(op.walk()))]


def _block_with_all(op: Operation, users: set[Operation]) -> Block | None:
    """The block of an operation that has all users; None where they are in several, or the operation is one."""
    blocks = (block for region in op.regions for block in region.blocks)
    return next((block for block in blocks if users.issubset(block.walk())), None)


# ---- conditions ---------------------------------------------------------------------------------------


def _implied(both: arith.AndIOp) -> None:
    """Leave out a bound of an index where a lower one is beside it."""
    for one, other in ((both.lhs, both.rhs), (both.rhs, both.lhs)):
        if _implies(one, other):
            both.result.replace_all_uses_with(one)
            both.detach()
            both.erase()
            return


def _implies(one: SSAValue, other: SSAValue) -> bool:
    """Whether `i < 5`, say, is one and `i < 31` the other."""
    first, second = one.owner, other.owner
    if not isinstance(first, arith.CmpiOp) or not isinstance(second, arith.CmpiOp):
        return False
    if first.lhs is not second.lhs or first.predicate != second.predicate:
        return False
    bound, limit = constant_of(first.rhs), constant_of(second.rhs)
    if bound is None or limit is None:
        return False
    predicate = first.predicate.value.data
    return bound <= limit if predicate in _LESS else bound >= limit if predicate in _GREATER else False


_LESS, _GREATER = (2, 3), (4, 5)
"""arith.cmpi's predicates slt and sle, sgt and sge."""


def _with_next_branches(branch: scf.IfOp) -> None:
    """Move the branches that follow, on the same condition or on more, into this one.

    What is computed between goes before it, or into it where nothing else needs it.
    """
    while (found := _next_branch(branch)) is not None:
        between, other, more = found
        block, home = branch.true_region.block, branch.parent
        assert home is not None and block.last_op is not None
        inside = _only_for(other, between)
        for op in between:
            op.detach()
            if op in inside:
                block.insert_op_before(op, block.last_op)
            else:
                home.insert_op_before(op, branch)
        if more:
            condition = more[0]
            for one in more[1:]:
                both = arith.AndIOp(condition, one)
                block.insert_op_before(both, block.last_op)
                condition = both.result
            other.detach()
            asked = other.cond.owner
            other.operands[0] = condition
            _remove_unused(asked)
            block.insert_op_before(other, block.last_op)
            continue
        for op in list(other.true_region.block.ops)[:-1]:
            op.detach()
            block.insert_op_before(op, block.last_op)
        other.detach()
        other.erase()


def _next_branch(branch: scf.IfOp) -> tuple[Sequence[Operation], scf.IfOp, Sequence[SSAValue]] | None:
    """The branch that follows, what is computed before it, and what it asks besides."""
    if not _is_plain(branch):
        return None
    between: list[Operation] = []
    op = branch.next_op
    while op is not None:
        if isinstance(op, scf.IfOp):
            known, asked = set(map(_formula, _asked(branch.cond))), _asked(op.cond)
            if not _is_plain(op) or not known.issubset(map(_formula, asked)):
                return None
            return between, op, [one for one in asked if _formula(one) not in known]
        if op.regions or not op.has_trait(Pure):
            return None
        between.append(op)
        op = op.next_op
    return None


def _remove_unused(both: Operation | Block) -> None:
    """Remove conditions that nothing asks for any more, as far as they are others together."""
    if not isinstance(both, arith.AndIOp) or both.result.uses:
        return
    parts = [both.lhs.owner, both.rhs.owner]
    both.detach()
    both.erase()
    for part in parts:
        _remove_unused(part)


def _only_for(branch: scf.IfOp, computed: Sequence[Operation]) -> set[Operation]:
    """What of `computed` is needed by a branch, and its condition, only."""
    found: set[Operation] = set()
    inside = set(branch.walk())
    for op in reversed(computed):
        users = {use.operation for result in op.results for use in result.uses}
        if users <= inside | found:
            found.add(op)
    return found


def _formula(value: SSAValue) -> object:
    """What a value is computed from: equal ones are equal."""
    op = value.owner
    if not isinstance(op, Operation) or op.regions or not op.has_trait(Pure):
        return value
    attributes = tuple(op.properties.items()), tuple(op.attributes.items())
    return op.name, value.index, attributes, *map(_formula, op.operands)  # pyright: ignore


def _asked(condition: SSAValue) -> list[SSAValue]:
    """The conditions that hold together."""
    both = condition.owner
    return [*_asked(both.lhs), *_asked(both.rhs)] if isinstance(both, arith.AndIOp) else [condition]


def _is_plain(branch: scf.IfOp) -> bool:
    """Whether a branch gives nothing and has no other side."""
    if branch.results:
        return False
    other: Iterable[Operation] = branch.false_region.block.ops if branch.false_region.blocks else ()
    return all(isinstance(op, scf.YieldOp) for op in other)
