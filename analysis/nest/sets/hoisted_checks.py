"""Checks of indices found in arrays, as the frontend writes them: what they check, and who uses the indices.

    %or = nest.alloc "or" : memref<i8>
    nest.store "or" %false, %or[] : memref<i8>
    nest.for "i" %i = 0 to 96 {
      %v = nest.load %idx[%i] : memref<96xi64>
      ... nest.accumulate "or" or (%v < -64 or %v >= 64), %or[]
    }
    nest.if (%or[] != 0) {
      nest.for "i.1" %i = 0 to 96 {
        ... %0 = nest.index %v of 64 axis 0 of "x"

is a `HoistedCheck`; `lookups` of it are what makes `%v < 0 ? %v + 64 : %v` an index in the nests after it. Values are
compared by how they are computed, variables of loops standing for each other (`same`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ....dialects.affine import AffineList, constant_of
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
from ..loop_structure import enclosing_loops, perfect_band
from ..values.extent_keys import bound_key
from .accesses import root_of
from .producers import substitute

SLT, SGE, NE = 2, 5, 1
"""Predicates of arith.cmpi."""

BOOLS = 8
"""Bits of a bool in memory."""

Places = Mapping[SSAValue, AffineList]
"""What stands for the variables of loops."""


@dataclass(frozen=True, eq=False)
class HoistedCheck:
    """A branch that looks at each index of an array, and the nest that finds whether there is need to."""

    branch: IfOp
    nest: ForOp
    """The checks, in the branch."""
    index: IndexOp
    value: SSAValue
    """What is checked, an i64."""
    extent: SSAValue
    """What it is compared with, an i64."""
    test: ForOp
    """The nest that sets the flag."""
    flag: AllocOp

    @property
    def indices(self) -> SSAValue:
        """The array that the indices are in."""
        return next(op.memref for op in self.nest.walk() if isinstance(op, LoadOp))


# ---- what a check is ---------------------------------------------------------------------------------


def hoisted_check(branch: IfOp) -> HoistedCheck | None:
    """The check that a branch belongs to; None where it is a branch of another kind."""
    body = [op for op in branch.then_region.block.ops if not isinstance(op, YieldOp)]
    nests = [op for op in body if isinstance(op, ForOp)]
    if branch.else_region is not None or len(nests) != 1 or len(body) != 1:
        return None
    nest, flag = nests[0], _flag_of(branch)
    inner = perfect_band(nest)[-1].body.block
    last = inner.last_op if not isinstance(inner.last_op, YieldOp) else inner.last_op.prev_op
    if flag is None or not isinstance(last, IndexOp) or last.result.uses.get_length() or last.from_start:
        return None
    if any(op is not last and not isinstance(op, LoadOp) and not is_side_effect_free(op) for op in inner.ops):
        return None
    cast = last.index.single_value()
    updates = [use.operation for use in flag.memref.uses if isinstance(use.operation, AccumulateOp)]
    if cast is None or not isinstance(cast.owner, arith.IndexCastOp) or len(updates) != 1:
        return None
    value, test = cast.owner.input, _beside(updates[0], branch)
    if test is None:
        return None
    extent = _bounds_tested(updates[0], test, nest, value)
    if extent is None or not _stands_for(extent, last.extent):
        return None
    return HoistedCheck(branch, nest, last, value, extent, test, flag)


def _beside(op: Operation, branch: IfOp) -> ForOp | None:
    """The nest that `op` is in, in the block of the branch."""
    return next((loop for loop in enclosing_loops(op) if loop.parent is branch.parent), None)


def _flag_of(branch: IfOp) -> AllocOp | None:
    """The buffer of one element, first false, that decides about a branch, where nothing else reads it."""
    compare = branch.condition.owner
    if not isinstance(compare, arith.CmpiOp) or compare.predicate.value.data != NE:
        return None
    load = compare.lhs.owner
    if (
        not isinstance(load, LoadOp)
        or not _is_number(compare.rhs, 0)
        or not isinstance(load.memref.owner, AllocOp)
    ):
        return None
    users = [use.operation for use in load.memref.uses]
    stores = [op for op in users if isinstance(op, StoreOp)]
    if len(users) != 3 or len(stores) != 1 or not _is_number(stores[0].value, 0):
        return None
    return (
        load.memref.owner
        if load.result.uses.get_length() == 1 and compare.result.uses.get_length() == 1
        else None
    )


def _bounds_tested(update: AccumulateOp, test: ForOp, nest: ForOp, value: SSAValue) -> SSAValue | None:
    """The n of the flag's `v < -n or v >= n`, if it is said of the indices that the nest looks at."""
    outer, inner = perfect_band(test), perfect_band(nest)
    if (
        update.parent is not outer[-1].body.block
        or update.combiner.data != "or"
        or update.where
        or update.mask
    ):
        return None
    if len(outer) != len(inner) or not all(same_bounds(a, b) for a, b in zip(outer, inner, strict=True)):
        return None
    places = {a.iv: AffineList.of(b.iv) for a, b in zip(outer, inner, strict=True)}
    either = update.values[0].owner
    either = either.operands[0].owner if isinstance(either, arith.ExtUIOp) else either
    if not isinstance(either, arith.OrIOp):
        return None
    low, high = (side.owner for side in either.operands)
    if not isinstance(low, arith.CmpiOp) or not isinstance(high, arith.CmpiOp):
        return None
    if low.predicate.value.data != SLT or high.predicate.value.data != SGE:
        return None
    if not same(low.lhs, value, places) or not same(high.lhs, value, places):
        return None
    return high.rhs if _is_opposite(low.rhs, high.rhs) else None


# ---- who uses the indices ----------------------------------------------------------------------------


def lookups(check: HoistedCheck, function: FuncOp) -> list[Operation]:
    """What makes an index of a checked element, counted from the start, after the check; what does so already included."""
    found: list[Operation] = []
    for op in function.body.walk():
        if not isinstance(op, arith.IndexCastOp | LookupOp) or op.parent_op() is function:
            continue
        value = value_looked_up(op)
        if value is None or not _is_of(op, check):
            continue
        around = enclosing_loops(op)
        if around and places_of(check, value, around) is not None and is_after(around[0], check.branch):
            found.append(op)
    return found


def value_looked_up(op: Operation) -> SSAValue | None:
    """The `v` of `v < 0 ? v + n : v`, of a lookup, or of what is not negative."""
    if isinstance(op, LookupOp):
        return op.value
    assert isinstance(op, arith.IndexCastOp)
    wrapped = op.input.owner
    if isinstance(wrapped, arith.SelectOp):
        return wrapped.rhs if _wrap_extent(op) is not None else None
    return op.input if _is_never_negative(op.input) else None


def _is_never_negative(value: SSAValue) -> bool:
    """Whether a value is a number without a sign, or an element of a table of such constants."""
    owner = value.owner
    if isinstance(owner, arith.ExtUIOp):
        return True
    if not isinstance(owner, LoadOp) or not isinstance(owner.memref.owner, AllocOp):
        return False
    others = [use.operation for use in owner.memref.uses if not isinstance(use.operation, LoadOp)]
    return bool(others) and all(
        isinstance(op, StoreOp) and (number := constant_of(op.value)) is not None and number >= 0
        for op in others
    )


def _wrap_extent(op: arith.IndexCastOp) -> SSAValue | None:
    """The n of `v < 0 ? v + n : v`."""
    wrapped = op.input.owner
    if not isinstance(wrapped, arith.SelectOp):
        return None
    condition, value = wrapped.cond.owner, wrapped.rhs
    shifted = wrapped.lhs.owner
    if not isinstance(condition, arith.CmpiOp) or not isinstance(shifted, arith.AddiOp):
        return None
    is_wrap = (
        condition.predicate.value.data == SLT
        and _is_number(condition.rhs, 0)
        and same(condition.lhs, value, {})
        and same(shifted.lhs, value, {})
    )
    return shifted.rhs if is_wrap else None


def _is_of(op: Operation, check: HoistedCheck) -> bool:
    """Whether what `op` makes is an index of the axis that was checked."""
    if isinstance(op, LookupOp):
        return same(op.extent, check.extent, {})
    assert isinstance(op, arith.IndexCastOp)
    extent = _wrap_extent(op)
    if extent is not None:
        return same(extent, check.extent, {})
    # A number that is not negative is the same index of every axis.
    return _is_never_negative(op.input)


def places_of(check: HoistedCheck, value: SSAValue, around: list[ForOp]) -> list[ForOp] | None:
    """The loops around a use that stand for those of the check: with them it is of the same element."""
    band = [loop for loop in perfect_band(check.nest) if loop.constant_trip_count() != 1]
    ones = {loop.iv: AffineList.of(0) for loop in perfect_band(check.nest) if loop.constant_trip_count() == 1}
    for chosen in permutations(around, len(band)):
        if not all(same_bounds(a, b) for a, b in zip(band, chosen, strict=True)):
            continue
        places = {a.iv: AffineList.of(b.iv) for a, b in zip(band, chosen, strict=True)}
        if same(check.value, value, {**places, **ones}):
            return list(chosen)
    return None


def has_other_use(check: HoistedCheck, users: list[Operation]) -> bool:
    """Whether an index is made of elements of the array after the check in a way that is not understood."""
    root = root_of(check.indices)
    for use in list(root.uses):
        load = use.operation
        if not isinstance(load, LoadOp):
            continue
        around = enclosing_loops(load)
        if not around or not is_after(around[0], check.branch):
            continue
        casts = _casts_of(load)
        if any(cast not in users and _may_be_of(cast, check) for cast in casts):
            return True
    return False


def is_kept_elsewhere(check: HoistedCheck) -> bool:
    """Whether integers that are made of the elements after the check go to a buffer of the function: they may be indices
    that are looked up from there."""
    root = root_of(check.indices)
    pending: list[Operation] = [use.operation for use in root.uses if isinstance(use.operation, LoadOp)]
    seen = set(pending)
    while pending:
        op = pending.pop()
        for user in [use.operation for result in op.results for use in result.uses]:
            if isinstance(user, StoreOp | AccumulateOp):
                buffers = [user.memref] if isinstance(user, StoreOp) else user.memrefs
                values = [user.value] if isinstance(user, StoreOp) else user.values
                written = [b for b, v in zip(buffers, values, strict=True) if v.owner is op]
                if any(isinstance(one.owner, AllocOp) and _is_of_integers(one) for one in written):
                    return True
            elif not user.regions and not isinstance(user, LoadOp | IndexOp) and user not in seen:
                seen.add(user)
                pending.append(user)
    return False


def _is_of_integers(buffer: SSAValue) -> bool:
    element = getattr(buffer.type, "element_type", None)
    return isinstance(element, IndexType) or (isinstance(element, IntegerType) and element.width.data > BOOLS)


def _may_be_of(cast: Operation, check: HoistedCheck) -> bool:
    """Whether an index may be of the axis that was checked: one that is wrapped at another extent is not."""
    if isinstance(cast, LookupOp):
        return False
    extent = _wrap_extent(cast) if isinstance(cast, arith.IndexCastOp) else None
    return extent is None or same(extent, check.extent, {})


def _casts_of(load: LoadOp) -> list[Operation]:
    """The indices that are computed from what is loaded, checked ones not."""
    found: list[Operation] = []
    pending: list[Operation] = [load]
    while pending:
        for use in [use for result in pending.pop().results for use in result.uses]:
            user = use.operation
            if isinstance(user, arith.IndexCastOp | LookupOp):
                if not all(isinstance(u.operation, IndexOp) for u in user.results[0].uses):
                    found.append(user)
            elif user.results and not user.regions and not isinstance(user, LoadOp):
                pending.append(user)
    return list(dict.fromkeys(found))


# ---- expressions -------------------------------------------------------------------------------------


def same(one: SSAValue, other: SSAValue, places: Places) -> bool:
    """Whether two values are computed alike, with `places` for the variables of the first one."""
    if one is other:
        return True
    a, b = one.owner, other.owner
    if isinstance(a, Block) or isinstance(b, Block):
        return one in places and places[one].single_value() is other
    if type(a) is not type(b) or a.regions or b.regions:
        return False
    if isinstance(a, LoadOp):
        assert isinstance(b, LoadOp)
        return a.memref is b.memref and substitute(a.indices, places).canonical() == b.indices.canonical()
    if a.properties != b.properties or len(a.operands) != len(b.operands) or not is_side_effect_free(a):
        return False
    return all(same(x, y, places) for x, y in zip(a.operands, b.operands, strict=True))


def same_bounds(one: ForOp, other: ForOp) -> bool:
    if one.kind != "serial" or other.kind != "serial" or one.step_value != other.step_value:
        return False
    ends = [(bound_key(a), bound_key(b)) for a, b in ((one.lower, other.lower), (one.upper, other.upper))]
    return all(a is not None and a == b for a, b in ends)


def _is_number(value: SSAValue, number: int) -> bool:
    """Whether a value is a constant, perhaps widened."""
    owner = value.owner
    if isinstance(owner, arith.ExtUIOp | arith.ExtSIOp):
        return _is_number(owner.operands[0], number)
    return constant_of(value) == number


def _is_opposite(value: SSAValue, of: SSAValue) -> bool:
    """Whether `value` is `-of`."""
    number, other = constant_of(value), constant_of(of)
    if number is not None and other is not None:
        return number == -other
    owner = value.owner
    return isinstance(owner, arith.SubiOp) and _is_number(owner.lhs, 0) and same(owner.rhs, of, {})


def _stands_for(extent: SSAValue, other: AffineList) -> bool:
    """Whether an i64 is an extent."""
    constants = other.constants()
    if constants is not None:
        return constant_of(extent) == constants[0]
    owner, value = extent.owner, other.single_value()
    return isinstance(owner, arith.IndexCastOp) and value is not None and same(owner.input, value, {})


def is_after(op: Operation, other: Operation) -> bool:
    return op.parent is other.parent and other.is_before_in_block(op)
