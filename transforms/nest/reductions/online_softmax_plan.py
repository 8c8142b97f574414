"""What nest-online-softmax needs of a softmax of rows and the product that uses it: its parts, or why it is not one.

nest.for "i" ... { nest.for "j" ... (maximum); nest.for "j.1" ... (exponentials, their sum); nest.for "j.2" ... (division) }
nest.for "i.1" ... { nest.for "l" ... { nest.for "j.3" ... { nest.accumulate "y" add (%t[%i, %j] * ...), %y[%i, %l]

Of 16 bits the exponentials may go to a buffer of their own, be made wider for their sum and for the product, and the sum be
made narrower for the division. A row may store what it computes of its maximum and its sum (the logarithm of what it divides
by, for a derivative), where that is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import loops_in, perfect_band
from ....analysis.nest.sets.accesses import READ, accesses_of, may_alias, root_of
from ....analysis.nest.sets.domains import is_computation
from ....analysis.nest.sets.integer_sets import is_never_negative
from ....analysis.nest.sets.same_values import is_same_value
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp


@dataclass(frozen=True, eq=False)
class OnlineSoftmax:
    """The parts of a softmax of rows, and of the product that uses it."""

    rows: list[ForOp]
    maximum: AllocOp
    total: AllocOp
    largest: ForOp
    """The pass that finds the maximum."""
    exponents: ForOp
    """The pass that stores exponentials and sums them up."""
    shifted: arith.SubfOp
    """The score less the maximum."""
    scores: SSAValue
    product: list[ForOp]
    term: ForOp
    sums: AccumulateOp
    same: dict[ForOp, ForOp]
    """The loops of the product, by those of the rows."""
    kept: list[Operation]
    """What a row computes of its maximum and sum and stores, in order."""

    @property
    def others(self) -> list[ForOp]:
        """The loops of the product but the one over terms."""
        return [loop for loop in self.product if loop is not self.term]


class _NoSoftmax(Exception):
    def __init__(self, reason: str, at: Operation | None = None):
        super().__init__(reason)
        self.at = at


def online_plan(rows: ForOp, product: ForOp, factor: int, kept: bool = False) -> OnlineSoftmax | NestorError:
    """The parts of the two nests, or the diagnostic that refuses to do them block by block."""
    action = f'compute the softmax "{rows.label}" with its product "{product.label}" block by block'
    if factor < 1:
        return fail(rows, f"cannot {action}: the factor is {factor}, and must be positive")
    try:
        plan = _match(rows, product)
        if bool(plan.kept) != kept:
            what = (
                "a row stores something else" if plan.kept else "a row keeps nothing of its maximum and sum"
            )
            raise _NoSoftmax(what, plan.kept[-1] if plan.kept else None)
        _check_order(plan)
    except _NoSoftmax as reason:
        notes = [] if reason.at is None else [(reason.at, "here")]
        return fail(rows, f"cannot {action}: {reason}", notes=notes)
    return plan


# ---- what it is -------------------------------------------------------------------------------------


def _match(rows: ForOp, product: ForOp) -> OnlineSoftmax:
    for loop in (*loops_in(rows), *loops_in(product)):
        if loop.kind != "serial":
            raise _NoSoftmax("a loop is marked already", loop)
    if rows.parent is not product.parent:
        raise _NoSoftmax("they are not in one block", product)
    band = perfect_band(rows)
    passes = [op for op in band[-1].body.block.ops if isinstance(op, ForOp)]
    if len(passes) != 3 or any(len(loops_in(one)) != 1 for one in passes):
        raise _NoSoftmax(
            "its rows are not three loops: a maximum, exponentials with their sum, a division", rows
        )
    largest, exponents, divided = passes
    for loop in (*band, *passes):
        if (
            loop.lower.constants() != (0,)
            or loop.step_value != 1
            or (loop in passes and len(loop.upper) != 1)
        ):
            raise _NoSoftmax("a loop does not run from 0 in steps of 1 to one bound", loop)
    bounds = [one.upper.canonical() for one in passes]
    if bounds[1] != bounds[0] or bounds[2] != bounds[0]:
        raise _NoSoftmax("its three loops have different bounds", divided)
    if not is_never_negative(bounds[0].add(-1), rows):
        raise _NoSoftmax("there may be no score in a row, of which the product is 0", largest)
    maximum, total = _only_update(largest), _only_update(exponents)
    scores = next((op for op in exponents.body.block.ops if isinstance(op, StoreOp)), None)
    if scores is None or not isinstance(scores.memref.owner, AllocOp):
        raise _NoSoftmax("its second loop stores no exponentials to a buffer of the function", exponents)
    found = _exponential(scores, total, maximum, largest, exponents)
    places = _places(scores, band, exponents)
    _check_division(divided, scores, total, places)
    kept = _kept(band, passes, maximum, total)
    _check_body(band[-1], passes, maximum, total, kept)
    for one in (largest, exponents):
        _check_loads(one, scores.memref, places, band)
    loops, term, sums, same = _product(product, scores.memref, places, band, exponents)
    _check_kept(kept, rows, product)
    if sums.values[0].type != total.values[0].type:
        raise _NoSoftmax("the exponentials are added up in another type than the product", total)
    variables = (maximum.memrefs[0].owner, total.memrefs[0].owner)
    assert isinstance(variables[0], AllocOp) and isinstance(variables[1], AllocOp)
    return OnlineSoftmax(
        band,
        variables[0],
        variables[1],
        largest,
        exponents,
        found,
        scores.memref,
        loops,
        term,
        sums,
        same,
        kept,
    )


def _only_update(one: ForOp) -> AccumulateOp:
    """The reduction of a pass to a variable of the row."""
    updates = [op for op in one.body.block.ops if isinstance(op, AccumulateOp)]
    if len(updates) != 1 or len(updates[0].memrefs) != 1 or len(updates[0].indices):
        raise _NoSoftmax("a loop does not have exactly one reduction, to one variable", one)
    update = updates[0]
    alloc = update.memrefs[0].owner
    if update.order_name != "any" or update.where is not None or update.mask is not None:
        raise _NoSoftmax("the reduction has a domain, or an order", update)
    if not isinstance(alloc, AllocOp) or alloc.parent_op() is not one.parent_op():
        raise _NoSoftmax("the reduction is not to a variable of the row", update)
    return update


def _exponential(
    store: StoreOp, total: AccumulateOp, maximum: AccumulateOp, largest: ForOp, exponents: ForOp
) -> arith.SubfOp:
    """The difference whose exponential is stored and summed up: of a score and the maximum of all of them."""
    value = store.value.owner
    summed = widened_from(total.values[0])
    if maximum.combiner.data != "maximum" or total.combiner.data != "add" or summed is not store.value:
        raise _NoSoftmax("it does not reduce to a maximum, and then to the sum of what it stores", store)
    if store.where is not None or store.mask is not None or not isinstance(store.value.type, AnyFloat):
        raise _NoSoftmax("the exponentials have a domain, or are not floating-point numbers", store)
    if not isinstance(value, math.ExpOp) or not isinstance(value.operand.owner, arith.SubfOp):
        raise _NoSoftmax("what is stored is not the exponential of a difference", store)
    shifted = value.operand.owner
    load = shifted.rhs.owner
    if not isinstance(load, LoadOp) or load.memref is not maximum.memrefs[0]:
        raise _NoSoftmax("what is subtracted is not the maximum", shifted)
    if len(list(value.results[0].uses)) != 2 or len(list(shifted.result.uses)) != 1:
        raise _NoSoftmax("the exponential is used in another way", value)
    if not is_same_value(maximum.values[0], shifted.lhs, {largest.iv: exponents.iv}, largest, exponents):
        raise _NoSoftmax("the exponentials are not of the scores whose maximum it is", shifted)
    return shifted


def widened_from(value: SSAValue) -> SSAValue:
    """What a value was before it was made wider."""
    cast = value.owner
    return cast.input if isinstance(cast, arith.ExtFOp) else value


def _narrowed_from(value: SSAValue) -> SSAValue:
    cast = value.owner
    return cast.input if isinstance(cast, arith.TruncFOp) else value


def _places(store: StoreOp, band: Sequence[ForOp], inner: ForOp) -> list[ForOp | int]:
    """What each index of the scores is: a loop over rows, the one along a row, or a number."""
    places = _variables(store.indices, [*band, inner])
    if places is None or {loop for loop in places if isinstance(loop, ForOp)} != {*band, inner}:
        raise _NoSoftmax("the scores do not have one element for each iteration", store)
    return places


def _variables(indices: AffineList, loops: Sequence[ForOp]) -> list[ForOp | int] | None:
    """What each index is, a loop or a number; None where one is something else, or two are the same loop."""
    found: list[ForOp | int] = []
    for k in range(len(indices)):
        index = indices[k].canonical()
        numbers, value = index.constants(), index.single_value()
        loop = next((loop for loop in loops if loop.iv is value), None)
        if numbers is None and loop is None:
            return None
        found.append(loop if loop is not None else numbers[0])  # pyright: ignore[reportOptionalSubscript]
    used = [loop for loop in found if isinstance(loop, ForOp)]
    return found if len(set(used)) == len(used) else None


def _check_division(one: ForOp, scores: StoreOp, total: AccumulateOp, places: list[ForOp | int]) -> None:
    """The last pass divides each element by the sum, in place, and does nothing else."""
    ops = list(one.body.block.ops)
    store = ops[-1]
    divided = store.value.owner if isinstance(store, StoreOp) else None
    if not isinstance(store, StoreOp) or not isinstance(divided, arith.DivfOp):
        raise _NoSoftmax("its last loop does not divide the exponentials by their sum", one)
    load, by = divided.lhs.owner, _narrowed_from(divided.rhs).owner
    if not isinstance(load, LoadOp) or store.where is not None or store.mask is not None:
        raise _NoSoftmax("its last loop does not divide all of the exponentials", store)
    if load.memref is not scores.memref or store.memref is not scores.memref:
        raise _NoSoftmax("its last loop does not divide the exponentials in place", store)
    own = [one if place is scores.parent_op() else place for place in places]
    loops = [loop for loop in own if isinstance(loop, ForOp)]
    if _variables(load.indices, loops) != own or _variables(store.indices, loops) != own:
        raise _NoSoftmax("its last loop divides other elements", store)
    if not isinstance(by, LoadOp) or by.memref is not total.memrefs[0]:
        raise _NoSoftmax("what it divides by is not the sum of the exponentials", divided)
    if any(op not in (load, by, divided, store) for op in ops):
        raise _NoSoftmax("its last loop does something else", one)


def _kept(
    band: Sequence[ForOp], passes: list[ForOp], maximum: AccumulateOp, total: AccumulateOp
) -> list[Operation]:
    """What the row computes of its maximum and its sum and stores elsewhere, in order."""
    variables = (maximum.memrefs[0], total.memrefs[0])
    body = list(band[-1].body.block.ops)
    stores = [op for op in body if isinstance(op, StoreOp) and op.memref not in variables]
    found: set[Operation] = set(stores)
    pending = [op.value for op in stores]
    outer = {loop.iv for loop in band}
    for op in stores:
        is_plain = op.where is None and op.mask is None and body.index(op) > body.index(passes[1])
        inside = [v for v in op.indices.operands if v not in outer and not _is_before(v, band[0])]
        if not is_plain or inside or (isinstance(op.memref.owner, Operation) and op.memref.owner in body):
            raise _NoSoftmax("a row stores something else", op)
    while pending:
        op = pending.pop().owner
        if not isinstance(op, Operation) or op.parent is not band[-1].body.block or op in found:
            continue
        if isinstance(op, LoadOp) and op.memref not in variables:
            raise _NoSoftmax("a row stores what is computed of something else than its maximum and sum", op)
        if not isinstance(op, LoadOp) and not is_computation(op):
            raise _NoSoftmax("a row stores something else", op)
        found.add(op)
        pending += list(op.operands) if not isinstance(op, LoadOp) else []
    return [op for op in body if op in found]


def _is_before(value: SSAValue, nest: ForOp) -> bool:
    """Whether a value is one of an operation that is not inside of a nest."""
    op = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    while op is not None and op is not nest:
        op = op.parent_op()
    return op is None


def _check_kept(kept: Sequence[Operation], rows: ForOp, product: ForOp) -> None:
    """What a row keeps may be stored behind the product."""
    stores = [op for op in kept if isinstance(op, StoreOp)]
    for access in [
        a for nest in (rows, product) for op in nest.walk() if op not in kept for a in accesses_of(op)
    ]:
        for op in stores:
            if access.buffer is None or may_alias(root_of(access.buffer), root_of(op.memref)):
                raise _NoSoftmax("the rows or the product use what a row keeps", access.op)


def _check_body(
    row: ForOp, passes: list[ForOp], maximum: AccumulateOp, total: AccumulateOp, kept: Sequence[Operation]
) -> None:
    """Beside its passes, and what it keeps, a row sets the maximum to -inf, the sum to 0, and loads both."""
    starts = {maximum.memrefs[0]: -inf, total.memrefs[0]: 0.0}
    for op in row.body.block.ops:
        if op in kept:
            continue
        if isinstance(op, StoreOp):
            constant = op.value.owner
            number = constant.value if isinstance(constant, arith.ConstantOp) else None
            if op.memref not in starts or not isinstance(number, FloatAttr):
                raise _NoSoftmax("a row stores something else", op)
            if number.value.data != starts[op.memref]:
                raise _NoSoftmax("the maximum does not start at -inf, or the sum not at 0", op)
        elif isinstance(op, AllocOp):
            if op.memref not in starts:
                raise _NoSoftmax("a row makes another buffer", op)
        elif op not in passes and not isinstance(op, LoadOp) and not is_computation(op):
            raise _NoSoftmax("a row does something else", op)
    users = {maximum.memrefs[0]: (passes[0], passes[1]), total.memrefs[0]: (passes[1], passes[2])}
    ops = list(row.body.block.ops)
    for buffer, (update, use) in users.items():
        places = [ops.index(op) for op in ops if isinstance(op, StoreOp) and op.memref is buffer]
        if len(places) != 1 or places[0] > ops.index(update):
            raise _NoSoftmax("a variable is not set once, before its loop", update)
        loads = [u.operation for u in buffer.uses if isinstance(u.operation, LoadOp)]
        others = [load for load in loads if load not in kept or _other_users(load, kept)]
        if len(others) != 1 or len(_other_users(others[0], kept)) != 1:
            raise _NoSoftmax("the maximum or the sum is used elsewhere", update)
        for load in loads:
            top = load if load.parent_op() is row else load.parent_op()
            after = (
                isinstance(top, Operation) and top.parent_op() is row and ops.index(top) > ops.index(update)
            )
            if not after:
                raise _NoSoftmax("the maximum or the sum is used elsewhere", load)
            for user in _other_users(load, kept):
                if isinstance(user, arith.TruncFOp) and len(list(user.results[0].uses)) == 1:
                    (user,) = [u.operation for u in user.results[0].uses]
                if user.parent_op() is not use:
                    raise _NoSoftmax("the maximum or the sum is used elsewhere", load)
    for one in passes[:2]:
        stores = [op for op in one.body.block.ops if isinstance(op, StoreOp)]
        if len(stores) != passes.index(one):
            raise _NoSoftmax("a loop stores something else", one)
        for op in one.body.block.ops:
            if not isinstance(op, LoadOp | StoreOp | AccumulateOp) and not is_computation(op):
                raise _NoSoftmax("a loop does something else", op)


def _other_users(load: Operation, kept: Sequence[Operation]) -> list[Operation]:
    """What uses a value, but for what is kept."""
    return [use.operation for use in load.results[0].uses if use.operation not in kept]


def _check_loads(one: ForOp, scores: SSAValue, places: list[ForOp | int], band: Sequence[ForOp]) -> None:
    """Of the scores a pass reads the element of its iteration only."""
    own = [place if not isinstance(place, ForOp) or place in band else one for place in places]
    loops = [loop for loop in own if isinstance(loop, ForOp)]
    for op in one.body.block.ops:
        if isinstance(op, LoadOp) and op.memref is scores and _variables(op.indices, loops) != own:
            raise _NoSoftmax("a score depends on other ones", op)


def _product(
    nest: ForOp, scores: SSAValue, places: list[ForOp | int], rows: Sequence[ForOp], inner: ForOp
) -> tuple[list[ForOp], ForOp, AccumulateOp, dict[ForOp, ForOp]]:
    """The loops of the product, the one over terms, its sum, and which of its loops are which of the rows'."""
    band = perfect_band(nest)
    body = list(band[-1].body.block.ops)
    sums = [op for op in body if isinstance(op, AccumulateOp)]
    if len(sums) != 1 or any(isinstance(op, StoreOp) or op.regions for op in body):
        raise _NoSoftmax("the product is not a sum in a perfect nest", nest)
    update = sums[0]
    if update.combiner.data != "add" or update.order_name != "any" or update.where or update.mask is not None:
        raise _NoSoftmax("what uses the softmax is not a sum in any order", update)
    product = update.values[0].owner
    loads = [op for op in body if isinstance(op, LoadOp) and op.memref is scores]
    if not isinstance(product, arith.MulfOp) or len(loads) != 1 or len(list(loads[0].results[0].uses)) != 1:
        raise _NoSoftmax("what is added up is not the softmax times something", update)
    factors = [widened_from(value) for value in product.operands]
    if loads[0].results[0] not in factors or len(list(product.result.uses)) != 1:
        raise _NoSoftmax("what is added up is not the softmax times something", product)
    found = _variables(loads[0].indices, band)
    if found is None or [isinstance(p, int) and p for p in found] != [
        isinstance(p, int) and p for p in places
    ]:
        raise _NoSoftmax("the product reads the scores with other indices than the rows write them", loads[0])
    same = {a: b for a, b in zip(places, found, strict=True) if isinstance(a, ForOp) and isinstance(b, ForOp)}
    if len(same) != len(rows) + 1:
        raise _NoSoftmax("the product reads the scores with other indices than the rows write them", loads[0])
    for loop, other in same.items():
        if loop.upper.canonical() != other.upper.canonical():
            raise _NoSoftmax("the product reads other rows, or parts of them", other)
    for loop in band:
        if loop.lower.constants() != (0,) or loop.step_value != 1:
            raise _NoSoftmax("a loop does not run from 0 in steps of 1", loop)
        if any(other.iv in loop.upper.operands for other in band):
            raise _NoSoftmax("a bound depends on another loop", loop)
    term = same[inner]
    others = {loop for loop in band if loop is not term}
    if not _has_one_each(update.indices, others, band):
        raise _NoSoftmax(
            "the result does not have one element for each iteration of the loops over rows and columns",
            update,
        )
    for op in body:
        if isinstance(op, LoadOp) and may_alias(root_of(op.memref), root_of(update.memrefs[0])):
            raise _NoSoftmax("the product may read what it adds to", op)
        if not isinstance(op, LoadOp | AccumulateOp) and not is_computation(op):
            raise _NoSoftmax("the product does something else", op)
    return band, term, update, same


def _has_one_each(indices: AffineList, loops: set[ForOp], band: Sequence[ForOp]) -> bool:
    """Whether each of the loops moves an index of its own, element by element, and no other loop of the band moves any."""
    variables = {loop.iv for loop in band}
    found: list[SSAValue] = []
    for k in range(len(indices)):
        index = indices[k].canonical()
        own = [value for value in index.operands if value in variables]
        if len(own) > 1 or (own and own[0] in index.minus(AffineList.of(own[0])).canonical().operands):
            return False
        found += own
    return len(found) == len(set(found)) and set(found) == {loop.iv for loop in loops}


def _check_order(plan: OnlineSoftmax) -> None:
    """Nothing uses the exponentials after the product, and the product can be done where the rows are."""
    rows, product = plan.rows[0], plan.product[0]
    alloc = plan.scores.owner
    block = rows.parent
    assert isinstance(alloc, AllocOp) and block is not None
    if alloc.parent is not block:
        raise _NoSoftmax("the buffer of the scores is used after this block", alloc)
    ops = list(block.ops)
    first, last = ops.index(rows), ops.index(product)
    if first > last:
        raise _NoSoftmax("the product comes first", product)
    for use in plan.scores.uses:
        if not isinstance(use.operation, LoadOp | StoreOp | AccumulateOp):
            raise _NoSoftmax("the buffer of the scores is seen through a view", use.operation)
    read = [
        access
        for op in plan.product[-1].body.block.ops
        if isinstance(op, LoadOp)
        for access in accesses_of(op)
    ]
    for op in ops[first + 1 :]:
        if op is product:
            continue
        for inner in op.walk():
            if plan.scores in inner.operands:
                raise _NoSoftmax("the scores are used elsewhere after it", inner)
            for access in accesses_of(inner) if ops.index(op) < last else ():
                if access.buffer is None:
                    raise _NoSoftmax("what is between the two may touch any memory", inner)
                clashes = [
                    a
                    for a in read
                    if a.buffer is None or may_alias(root_of(access.buffer), root_of(a.buffer))
                ]
                if access.kind != READ and clashes:
                    raise _NoSoftmax("what is between the two writes what the product reads", inner)
