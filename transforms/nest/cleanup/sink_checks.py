"""nest-sink-checks: indices found in an array are checked by the nest that uses them, not by passes before it.

    %or = nest.alloc "or" : memref<i8>                                  // is any index outside?
    ... nest.for "i" %i = 0 to 96 { ... nest.accumulate "or" or %o, %or[] }
    %b = nest.load %or[] : memref<i8>
    %c = arith.cmpi ne, %b, %zero : i8
    nest.if %c {                                                        // then which one?
      nest.for "i.1" %i = 0 to 96 {
        %v = nest.load %idx[%i] : memref<96xi64>
        %k = arith.index_cast %v : i64 to index
        %0 = nest.index %k of 64 axis 0 of "x"
      }
    }
    nest.for "i.2" %i = 0 to 96 {
      nest.for "j" %j = 0 to 256 {
        %v = nest.load %idx[%i] : memref<96xi64>
        %s = arith.cmpi slt, %v, %c0 : i64
        %e = arith.addi %v, %c64 : i64
        %w = arith.select %s, %e, %v : i64
        %k = arith.index_cast %w : i64 to index
        %a = nest.load %x[%k, %j] : memref<64x256xf32>
        nest.store %a, %y[%i, %j] : memref<96x256xf32>
  becomes
    nest.for "i.2" %i = 0 to 96 {
      nest.for "j" %j = 0 to 256 {
        %v = nest.load %idx[%i] : memref<96xi64>
        %k = nest.lookup %v of %c64 axis 0 of "x"
        %a = nest.load %x[%k, %j] : memref<64x256xf32>
        nest.store %a, %y[%i, %j] : memref<96x256xf32>

On a GPU a pass before is a kernel, and another one for the error. Legal where nobody sees what a nest that fails has
written: the function changes no argument of its caller (results are given up), and nothing else can fail or act between
the check and the nest. The nest has to look at every index that was checked, in all circumstances: what it computes is,
element by element, in a result, or in a buffer that one reads whole. Checks for which that is not proved stay, and a
remark says why.

So does a nest that checks its own indices and does nothing but update and store elements (`h[b[i]] += 1` in a loop):

    nest.for "i" %i = 0 to %n {                                nest.for "i" %i = 0 to %n {
      %v = nest.load %b[%i]                                      %v = nest.load %b[%i]
      %k = arith.index_cast %v                                   %k = arith.index_cast %v
      %0 = nest.index %k of 256 axis 0 of "h"        becomes     %w = arith.index_cast %k : index to i64
      nest.accumulate "h" add %one, %h[%0]                       %0 = nest.lookup %w of %c256 axis 0 of "h"
    }                                                            nest.accumulate "h" add %one, %h[%0]

Where they stay, `y[idx] = v` above all, the pass that asks whether any is outside goes: a nest of checks alone is one
that kernels run in parallel, and what comes after waits for it; one that says no more than an earlier one goes. Indices that
are counted (`np.arange(n)`) are no longer looked up.

With `in-order` the check is a `nest.index`, at which the nest stops: for a CPU, where what is computed in chunks checks what
it looks up and nothing more; which of several fails first is left open. An index that no nest looks up is then not checked:
those who look it up check it themselves (an earlier check said the same), or what it was looked up for is not computed.
Checks that stay are left as they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from ....analysis.nest.loop_structure import enclosing_loops, is_check, perfect_band, structured_functions
from ....analysis.nest.sets.accesses import root_of
from ....analysis.nest.sets.domains import LoadGuards
from ....analysis.nest.sets.hoisted_checks import (
    HoistedCheck,
    has_other_use,
    hoisted_check,
    is_after,
    is_kept_elsewhere,
    lookups,
    places_of,
    same,
    same_bounds,
    value_looked_up,
)
from ....analysis.nest.values.extent_keys import bound_key
from ....dialects.affine import AffineList
from ....dialects.attributes import ROLE
from ....dialects.nest import (
    AccumulateOp,
    AllocOp,
    ForOp,
    IfOp,
    IndexOp,
    LoadOp,
    LookupOp,
    StoreOp,
    YieldOp,
)
from ....dialects.nest.common import INDEX
from ....dialects.remarks import remark
from ..rewrite.loops import materialise, replace_index


def sink_checks(function: FuncOp, in_order: bool = False) -> None:
    """Let the nests of a function that use indices check them; the checks for which that is not legal get simpler."""
    checks = [
        found
        for op in function.body.walk()
        if isinstance(op, IfOp) and (found := hoisted_check(op)) is not None
    ]
    kept: list[HoistedCheck] = []
    for check in checks:
        if (numbers := _counted(check)) is not None:
            for user in lookups(check, function):
                _make_plain(user)
            _drop(check)
            _erase_unread(numbers)
            continue
        if any(_says_as_much(other, check) for other in kept):
            _drop(check)
            continue
        if (reason := why_not_sink_check(check, function, in_order)) is None:
            for user in lookups(check, function):
                _look_up(user, check, in_order)
            _drop(check)
            continue
        kept.append(check)
        if in_order:
            continue
        remark(
            check.nest,
            f'the indices into "{check.index.array.data}" are checked by a kernel of their own: {reason}',
        )
        check.nest.detach()
        check.branch.parent.insert_op_before(check.nest, check.branch)  # pyright: ignore[reportOptionalMemberAccess]
        _drop(check)
    for nest in [] if in_order else [op for op in function.body.block.ops if isinstance(op, ForOp)]:
        if why_not_look_up_own(nest, function) is None:
            for index in [op for op in nest.walk() if isinstance(op, IndexOp)]:
                _look_up_own(index)


def _says_as_much(earlier: HoistedCheck, check: HoistedCheck) -> bool:
    """Whether a check that stays, and is done before, fails where this one would."""
    band, other = perfect_band(check.nest), perfect_band(earlier.nest)
    if (
        len(band) != len(other)
        or earlier.nest.parent is not check.branch.parent
        or _is_written_after(earlier)
    ):
        return False
    places = {a.iv: AffineList.of(b.iv) for a, b in zip(band, other, strict=True)}
    return (
        all(same_bounds(a, b) for a, b in zip(band, other, strict=True))
        and same(check.value, earlier.value, places)
        and same(check.extent, earlier.extent, {})
    )


# ---- legality ----------------------------------------------------------------------------------------


def why_not_sink_check(check: HoistedCheck, function: FuncOp, in_order: bool = False) -> str | None:
    """Why the nests that use the indices cannot check them; None when they can. With `in_order`, which fails first, and
    whether an index fails that nobody looks up, is left open."""
    block = check.branch.parent
    if block is None or block is not function.body.block:
        return "it is in a loop or branch"
    if any(role == "inout" for role in _roles(function)):
        return "the function changes an argument, which must stay as it was when an index is outside"
    if check.index.extent.constants() == (0,):
        return "the axis is empty"
    if _is_written_after(check):
        return "the indices are changed later"
    users = lookups(check, function)
    if has_other_use(check, users):
        return "they are used in another way as well"
    if in_order and (users or not is_kept_elsewhere(check)):
        return None
    first = next((user for user in users if _covers(user, check, function)), None)
    if first is None:
        return "no nest that uses them is known to look at all of them"
    place: Operation | None = check.branch.next_op
    target = _top(first, block)
    while place is not None and place is not target:
        if not _is_quiet(place):
            return "something that can fail or has an effect is before the nest that uses them"
        place = place.next_op
    return None if place is target else "no nest after them uses them"


def why_not_look_up_own(nest: ForOp, function: FuncOp) -> str | None:
    """Why a nest that checks its own indices has to stop at the first that is outside; None when it need not."""
    if any(role == "inout" for role in _roles(function)):
        return "the function changes an argument"
    known = ForOp | LoadOp | StoreOp | AccumulateOp | IndexOp | YieldOp
    written: set[SSAValue] = set()
    for op in nest.walk():
        if not isinstance(op, known) and not is_side_effect_free(op):
            return "it does more than update and store elements"
        if isinstance(op, AccumulateOp) and op.order_name != "any":
            return "its updates have an order"
        if isinstance(op, StoreOp | AccumulateOp):
            written.update(root_of(v) for v in op.operands if isinstance(v.type, MemRefType))
    if any(isinstance(op, LoadOp) and root_of(op.memref) in written for op in nest.walk()):
        return "it reads what it writes"
    guards = LoadGuards()
    for op in nest.walk():
        if isinstance(op, IndexOp):
            targets = _written_with(op)
            is_seen = bool(targets) and all(_is_kept(buffer, function, set()) for buffer in targets)
            if not is_seen or guards.of(op) is not None:
                return "an index is checked that nothing needs"
    return None


def _roles(function: FuncOp) -> Iterator[str]:
    if function.arg_attrs is None:
        return
    for attributes in function.arg_attrs.data:
        role = attributes.data.get(ROLE)
        yield role.data if isinstance(role, StringAttr) else "in"


def _is_written_after(check: HoistedCheck) -> bool:
    """Whether the array of indices may change after the check."""
    root = root_of(check.indices)
    op: Operation | None = check.nest if check.branch.parent is None else check.branch
    while op is not None:
        for inner in op.walk():
            if isinstance(inner, StoreOp | AccumulateOp) and any(
                root_of(v) is root for v in inner.operands if isinstance(v.type, MemRefType)
            ):
                return True
            if inner.name == "func.call" and any(root_of(v) is root for v in inner.operands):
                return True
        op = op.next_op
    return False


def _is_quiet(op: Operation) -> bool:
    """Whether an operation of the function neither fails nor acts; checks like the ones that sink are not failures here."""
    if isinstance(op, IfOp):
        return hoisted_check(op) is not None
    inner = list(op.walk())
    known = ForOp | LoadOp | StoreOp | AccumulateOp | AllocOp | YieldOp
    return all(not is_check(o) and (isinstance(o, known) or is_side_effect_free(o)) for o in inner)


def _covers(user: Operation, check: HoistedCheck, function: FuncOp) -> bool:
    """Whether an index is looked at for each one checked, where the function succeeds or not."""
    around = enclosing_loops(user)
    if not around or user.parent is not around[-1].body.block:
        return False
    top = _top(user, function.body.block)
    if top is not around[0] or not is_after(top, check.branch) or LoadGuards().of(user) is not None:
        return False
    given = value_looked_up(user)
    assert given is not None
    chosen = places_of(check, given, around)
    if chosen is None:
        return False
    others = [loop for loop in around if loop not in chosen]
    if not all(loop.step_value == 1 and _runs(loop) for loop in others):
        return False
    written = _written_with(user)
    return bool(written) and all(_is_kept(buffer, function, set()) for buffer in written)


def _written_with(op: Operation) -> list[SSAValue]:
    """The buffers to which statements store what they compute from the results of `op`."""
    found: list[SSAValue] = []
    pending = [op]
    while pending:
        for use in [use for result in pending.pop().results for use in result.uses]:
            user = use.operation
            if isinstance(user, StoreOp | AccumulateOp):
                found += [user.memref] if isinstance(user, StoreOp) else list(user.memrefs)
            elif user.results:
                pending.append(user)
    return list(dict.fromkeys(found))


def _is_kept(buffer: SSAValue, function: FuncOp, seen: set[SSAValue]) -> bool:
    """Whether all elements of a buffer are results, or what results are computed from."""
    root = root_of(buffer)
    if isinstance(root.owner, Block):
        return True
    if root is not buffer or buffer in seen:
        return False
    seen.add(buffer)
    for use in buffer.uses:
        load = use.operation
        if not isinstance(load, LoadOp) or not _reads_all(load, function):
            continue
        targets = [target for target in _written_with(load) if target is not buffer]
        if targets and all(_is_kept(target, function, seen) for target in targets):
            return True
    return False


def _reads_all(load: LoadOp, function: FuncOp) -> bool:
    """Whether a load, with the loops around it, reads every element of its buffer."""
    around = enclosing_loops(load)
    top: Operation = around[0] if around else load
    if top.parent is not function.body.block or LoadGuards().of(load) is not None:
        return False
    if around and load.parent is not around[-1].body.block and not _is_in_chain(load, around):
        return False
    type_ = load.memref.type
    assert isinstance(type_, MemRefType) and isinstance(load.memref.owner, AllocOp)
    sizes = iter(load.memref.owner.sizes)
    used: set[SSAValue] = set()
    for axis, extent in enumerate(type_.get_shape()):
        size = AffineList.of(next(sizes)) if extent == DYNAMIC_INDEX else AffineList.of(extent)
        index = load.indices[axis]
        if extent == 1 and index.constants() == (0,):
            continue
        variable = index.single_value()
        loop = next((l for l in around if l.iv is variable), None)
        if loop is None or variable in used or not _is_from_0_to(loop, size):
            return False
        used.add(loop.iv)
    return all(loop.iv in used or _runs(loop) for loop in around)


def _is_in_chain(op: Operation, around: list[ForOp]) -> bool:
    """Whether `op` is in loops alone, no branch between them."""
    return op.parent_op() is around[-1] and all(b.parent_op() is a for a, b in pairwise(around))


def _is_from_0_to(loop: ForOp, size: AffineList) -> bool:
    key = bound_key(size)
    return (
        key is not None
        and loop.lower.constants() == (0,)
        and loop.step_value == 1
        and bound_key(loop.upper) == key
    )


def _runs(loop: ForOp) -> bool:
    """Whether a loop certainly has an iteration: extents that are not known are at least 2."""
    count = loop.constant_trip_count()
    if count is not None:
        return count > 0
    end = loop.upper.single_value() if len(loop.upper) == 1 else None
    return loop.lower.constants() == (0,) and end is not None and isinstance(end.owner, memref.DimOp)


# ---- indices that need no check ----------------------------------------------------------------------


def _counted(check: HoistedCheck) -> AllocOp | None:
    """The array of indices, where it is 0, 1, 2, ... (`np.arange(n)`), none of them too large; None where it is not."""
    alloc = check.indices.owner
    if not isinstance(alloc, AllocOp):
        return None
    writes = [use.operation for use in alloc.memref.uses if not isinstance(use.operation, LoadOp)]
    loops = enclosing_loops(writes[0]) if len(writes) == 1 else []
    if len(loops) != 1 or loops[0].parent is not check.branch.parent:
        return None
    (loop,), store = loops, writes[0]
    if not isinstance(store, StoreOp) or store.parent is not loop.body.block or store.where or store.mask:
        return None
    is_counted = isinstance(store.value.owner, arith.IndexCastOp) and store.value.owner.input is loop.iv
    if not is_counted or store.indices.single_value() is not loop.iv or not is_after(check.branch, loop):
        return None
    last, limit = loop.constant_trip_count(), check.index.extent.constants()
    is_small = last is not None and limit is not None and last <= limit[0]
    is_all = bound_key(loop.upper) == bound_key(check.index.extent) is not None
    return alloc if _is_from_0_to(loop, loop.upper) and (is_small or is_all) else None


def _make_plain(user: Operation) -> None:
    """Use the place of what is loaded for what is loaded."""
    value = value_looked_up(user)
    assert value is not None
    load = value.owner
    assert isinstance(load, LoadOp)
    replace_index(user.results[0], load.indices)
    _erase_unused(user)


def _erase_unread(alloc: AllocOp) -> None:
    """Remove a buffer that nobody reads, and the nest that sets it."""
    users = [use.operation for use in alloc.memref.uses]
    if any(isinstance(op, LoadOp) for op in users):
        return
    (store,) = users
    nest = enclosing_loops(store)[0]
    if all(isinstance(op, ForOp | YieldOp) or op is store or is_side_effect_free(op) for op in nest.walk()):
        nest.detach()
        nest.erase()
        alloc.detach()
        alloc.erase()


# ---- doing it ----------------------------------------------------------------------------------------


def _look_up(user: Operation, check: HoistedCheck, in_order: bool) -> None:
    """Let `user`, which makes an index, check it."""
    if isinstance(user, LookupOp):
        return
    value = value_looked_up(user)
    assert value is not None and user.parent is not None
    array, axis = check.index.array.data, check.index.axis.value.data
    if in_order:
        cast = arith.IndexCastOp(value, INDEX)
        cast.location = check.index.location
        user.parent.insert_op_before(cast, user)
        op = IndexOp(AffineList.of(cast.result), check.index.extent, array, axis)
    else:
        op = LookupOp(value, check.extent, array, axis)
    op.location = check.index.location
    user.parent.insert_op_before(op, user)
    result = user.results[0]
    op.result.name_hint = result.name_hint
    result.replace_all_uses_with(op.result)
    _erase_unused(user)


def _look_up_own(index: IndexOp) -> None:
    """Let a checked index be looked up."""
    block = index.parent
    assert block is not None
    numbers = [
        arith.IndexCastOp(materialise(expression, block, index), i64)
        for expression in (index.index, index.extent)
    ]
    op = LookupOp(numbers[0].result, numbers[1].result, index.array.data, index.axis.value.data)
    op.result.name_hint = index.result.name_hint
    for new in (*numbers, op):
        new.location = index.location
        block.insert_op_before(new, index)
    index.result.replace_all_uses_with(op.result)
    index.detach()
    index.erase()


def _drop(check: HoistedCheck) -> None:
    """Remove the branch, and the nest that finds whether it is taken."""
    condition = check.branch.condition.owner
    check.branch.detach()
    check.branch.erase()
    assert isinstance(condition, Operation)
    _erase_unused(condition)
    check.test.detach()
    check.test.erase()
    for use in list(check.flag.memref.uses):
        use.operation.detach()
        use.operation.erase()
    check.flag.detach()
    check.flag.erase()


def _erase_unused(op: Operation) -> None:
    """Remove an operation that nobody uses, and what only it used."""
    if op.parent is None or any(result.uses.get_length() for result in op.results):
        return
    owners = [v.owner for v in op.operands if isinstance(v.owner, Operation)]
    op.detach()
    op.erase()
    for owner in dict.fromkeys(owners):
        if isinstance(owner, LoadOp) or (is_side_effect_free(owner) and not isinstance(owner, AllocOp)):
            _erase_unused(owner)


def _top(op: Operation, block: Block) -> Operation:
    """The operation of `block` that is around `op`."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


@dataclass(frozen=True, eq=False)
class NestSinkChecksPass(ModulePass):
    """Let nests check the indices that they find in arrays."""

    name = "nest-sink-checks"

    func: str | None = None
    in_order: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in structured_functions(op, self.func):
            sink_checks(function, self.in_order)
