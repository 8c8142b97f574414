"""nest-search-parts: the first element that equals the extreme of a row is looked for in one part of the row only.

    nest.for "j" %j = 0 to 1024 {
      %a = nest.load %x[%j] : memref<1024xf32>
      nest.accumulate "m" maximum %a, %m[] : memref<f32>
    }
    %largest = nest.load %m[] : memref<f32>
    nest.for "j.1" %j = 0 to 1024 {
      %a = nest.load %x[%j] : memref<1024xf32>
      %equal = arith.cmpf oeq, %a, %largest : f32
      %nan = arith.cmpf uno, %a, %a : f32
      %found = arith.ori %equal, %nan : i1
      ... %k is %j as an i32
      %place = arith.select %found, %k, %none : i32
      nest.accumulate "place" minsi %place, %p[] : memref<i32>
    }

with extreme=j search=j.1 parts=8 becomes

    nest.for "j.p" %p = 0 to 8 {                            // as nest-privatise and nest-normalise do it
      ... -inf to %m_parts[%p]
      nest.for "j" %j = 0 to 128 { ... %x[128 * %p + %j] ... to %m_parts[%p] }
    }
    nest.for "j.combine" %c = 0 to 8 { ... the largest of %m_parts[%c] to %m[] }
    %largest = nest.load %m[] : memref<f32>
    nest.for "j.1.p" %p = 0 to 8 { ... the first %p where %m_parts[%p] is %largest, or a NaN, to %part[] }
    nest.for "j.1" %j = 0 to 128 { ... as before, of %x[128 * %part + %j] }

An element that equals the extreme is the extreme of its part, and a part with a NaN has a NaN as its extreme: the first such
part has the first such element. Where there is none (a NaN, and nothing asks for it) the last part is looked through, in
vain as well. Results are those of before, bit by bit.

Refused unless the one loop finds the extreme of what it loads, and the other the first of the same elements that equals it,
both over the same number of iterations, which parts divide evenly, with nothing else between them that matters. A rewrite
of this kind has no name in Halide, TVM, Exo and NNC.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType, MemRefType
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.sets.dependence import Dependences, analyse
from ....analysis.nest.sets.domains import is_computation
from ....dialects.affine import AffineList, constant_of
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ....dialects.nest.common import INDEX
from ..loops.normalise import normalise
from ..rewrite.buffers import fresh_buffer_name
from ..rewrite.loops import fresh_names, replace_index
from .privatise import privatise, why_not_privatise

EXTREMES = ("maximum", "minimum", "maxsi", "minsi", "maxui", "minui")
"""Combiners whose result is one of the elements."""

MOST = (1 << 31) - 1
"""Iterations that can be counted in the integers of an index."""


@dataclass(frozen=True, eq=False)
class _Search:
    """What a loop that searches is made of."""

    load: LoadOp
    tests: list[Operation]
    """What computes from the element whether it is found; the last one's result says so."""

    update: AccumulateOp


def why_not_search_parts(
    extreme: ForOp, search: ForOp, parts: int, dependences: Dependences | None = None
) -> NestorError | None:
    """The diagnostic that refuses to search in one of `parts` parts, None when it is legal."""
    plan = _plan(extreme, search, parts, dependences)
    return plan if isinstance(plan, NestorError) else None


def _plan(
    extreme: ForOp, search: ForOp, parts: int, dependences: Dependences | None
) -> _Search | NestorError:
    """What the loop that searches is made of, or the diagnostic that refuses to search in parts."""
    for loop in (extreme, search):
        if (refusal := refuse_marked(loop, "search")) is not None:
            return refusal
    trips = extreme.constant_trip_count()
    if trips is None or trips != search.constant_trip_count() or trips > MOST:
        return _refuse(search, "the loops do not run equally often, a constant number of times", extreme)
    if any(loop.lower.constants() != (0,) or loop.step_value != 1 for loop in (extreme, search)):
        return _refuse(search, "the loops do not start at 0 and go on in steps of 1", extreme)
    if parts < 2 or trips % parts:
        return _refuse(
            search, f"{trips} iterations are not {parts} parts of equal length, two at least", extreme
        )
    update = _update_of_extreme(extreme)
    if update is None:
        return _refuse(search, "the other loop does not find the extreme of what it loads", extreme)
    if (other := _between(extreme, search, update)) is not None:
        return _refuse(search, "it does not follow the other one with nothing but values between them", other)
    found = _search_of(extreme, search, update)
    if found is None:
        return _refuse(
            search, "it does not find the first of the same elements that equals the extreme", extreme
        )
    return why_not_privatise(extreme, parts, dependences=dependences) or found


def _refuse(search: ForOp, reason: str, other: Operation) -> NestorError:
    return fail(
        search, f'cannot search parts in the loop "{search.label}": {reason}', notes=[(other, "it is here")]
    )


def _update_of_extreme(loop: ForOp) -> AccumulateOp | None:
    """The update of a variable by what each iteration loads, when that is all that the loop does."""
    ops = list(loop.body.block.ops)
    if len(ops) != 2:
        return None
    load, update = ops
    if not isinstance(load, LoadOp) or not isinstance(update, AccumulateOp) or not _is_plain(update):
        return None
    is_extreme = update.combiner.data in EXTREMES and update.values[0] is load.result
    return update if is_extreme and load.memref is not update.memrefs[0] else None


def _is_plain(update: AccumulateOp) -> bool:
    """Whether an update of a variable takes all values, in any order."""
    is_variable = len(update.memrefs) == 1 and not len(update.indices)
    return (
        is_variable
        and isinstance(update.memrefs[0].owner, AllocOp)
        and update.order_name == "any"
        and update.where is None
        and update.mask is None
    )


def _between(extreme: ForOp, search: ForOp, update: AccumulateOp) -> Operation | None:
    """What keeps the search from seeing the extreme and the elements as the other loop left them."""
    load = extreme.body.block.first_op
    assert isinstance(load, LoadOp)
    if search.parent is not extreme.parent or not extreme.is_before_in_block(search):
        return extreme
    op = extreme.next_op
    while op is not search:
        assert op is not None
        is_harmless = isinstance(op, AllocOp | LoadOp) or is_computation(op)
        if isinstance(op, StoreOp):
            is_harmless = isinstance(op.memref.owner, AllocOp) and op.memref not in (
                load.memref,
                update.memrefs[0],
            )
        if not is_harmless:
            return op
        op = op.next_op
    return None


def _search_of(extreme: ForOp, search: ForOp, update: AccumulateOp) -> _Search | None:
    """What is in a loop that finds the first element equal to what `update` leaves; None where it is another loop."""
    first = extreme.body.block.first_op
    load, *rest = search.body.block.ops
    place = rest.pop() if rest else None
    chosen = place.values[0].owner if isinstance(place, AccumulateOp) else None
    if not isinstance(first, LoadOp) or not isinstance(load, LoadOp) or not isinstance(place, AccumulateOp):
        return None
    if not isinstance(chosen, arith.SelectOp) or place.combiner.data != "minsi" or not _is_plain(place):
        return None
    same = load.indices.substitute(search.iv, AffineList.of(extreme.iv)).canonical()
    if load.memref is not first.memref or same != first.indices.canonical():
        return None
    numbers = _casts_between(search.iv, chosen.lhs)
    none, tests = constant_of(chosen.rhs), _tests(chosen.cond, load, extreme, update)
    if numbers is None or tests is None or none is None or none < (search.constant_trip_count() or 0) - 1:
        return None
    is_all = set(rest) == {*tests, *numbers, chosen} and place.memrefs[0] not in (
        update.memrefs[0],
        load.memref,
    )
    return _Search(load, [op for op in rest if op in tests], place) if is_all else None


def _casts_between(iv: SSAValue, value: SSAValue) -> list[Operation] | None:
    """The casts that make an integer of a loop's variable; None where that is not what the value is."""
    casts: list[Operation] = []
    while isinstance(op := value.owner, arith.IndexCastOp | arith.TruncIOp):
        type_ = op.results[0].type
        if not isinstance(type_, IntegerType) or type_.width.data < 32:
            return None
        casts.append(op)
        value = op.operands[0]
    return casts if value is iv and casts else None


def _tests(found: SSAValue, load: LoadOp, extreme: ForOp, update: AccumulateOp) -> list[Operation] | None:
    """What says of the loaded element that it is the extreme, or a NaN; None where `found` is something else."""
    op = found.owner
    if not isinstance(op, Operation):
        return None
    if not isinstance(op, arith.OrIOp):
        return [op] if _is_equal(op, load, extreme, update) else None
    equal, nan = op.lhs.owner, op.rhs.owner
    if not isinstance(nan, arith.CmpfOp) or nan.predicate.value.data != _UNO:
        return None
    is_of_element = set(nan.operands) == {load.result}
    if not isinstance(equal, Operation) or not is_of_element or not _is_equal(equal, load, extreme, update):
        return None
    return [equal, nan, op]


_OEQ, _UNO, _EQ = 1, 14, 0
"""Predicates of arith.cmpf and arith.cmpi: equal, and one of them a NaN."""


def _is_equal(op: Operation, load: LoadOp, extreme: ForOp, update: AccumulateOp) -> bool:
    """Whether an operation compares the loaded element with the extreme, as it is after its loop."""
    if not isinstance(op, arith.CmpfOp | arith.CmpiOp):
        return False
    if op.predicate.value.data != (_OEQ if isinstance(op, arith.CmpfOp) else _EQ):
        return False
    others = [value.owner for value in op.operands if value is not load.result]
    if len(others) != 1 or not isinstance(others[0], LoadOp):
        return False
    known = others[0]
    return (
        known.memref is update.memrefs[0]
        and known.parent is extreme.parent
        and extreme.is_before_in_block(known)
    )


# ---- rewriting --------------------------------------------------------------------------------------


def search_parts(
    extreme: ForOp, search: ForOp, parts: int, dependences: Dependences | None = None
) -> tuple[ForOp, ForOp, ForOp]:
    """Look for the first extreme in the first of `parts` parts that has it.

    The loops over the parts, the one that combines their extremes, and the one that finds the part; `extreme` and `search`
    stay, over a part. Raises the diagnostic of `why_not_search_parts`.
    """
    dependences = dependences or analyse(extreme)
    found = _plan(extreme, search, parts, dependences)
    if isinstance(found, NestorError):
        raise found
    trips = extreme.constant_trip_count()
    assert trips is not None
    outer, combine = privatise(extreme, parts, dependences=dependences)
    normalise(extreme)
    update = next(op for op in extreme.body.block.ops if isinstance(op, AccumulateOp))
    which, part = _find_part(search, found, update.memrefs[0], parts)
    size = trips // parts
    replace_index(search.iv, AffineList.of(part).times(size).plus(AffineList.of(search.iv)).canonical())
    search.set_bounds(AffineList.of(0), AffineList.of(size))
    return outer, combine, which


def _find_part(search: ForOp, found: _Search, extremes: SSAValue, parts: int) -> tuple[ForOp, SSAValue]:
    """A loop before `search` that finds the first part with the extreme, the last where none has it; and that part."""
    type_ = found.update.values[0].type
    assert isinstance(type_, IntegerType)
    label, empty = found.update.statement, AffineList.of()
    alloc = AllocOp(fresh_buffer_name(search, "part"), MemRefType(type_, []), [])
    alloc.memref.name_hint = alloc.label.data
    last = arith.ConstantOp(IntegerAttr(parts - 1, type_))
    start = StoreOp(last.result, alloc.memref, empty, label=label)
    (name,) = fresh_names(search, f"{search.label}.p")
    which = ForOp(name, 0, parts)
    which.iv.name_hint = "p"
    element = LoadOp(extremes, AffineList.of(which.iv))
    mapping: dict[SSAValue, SSAValue] = {found.load.result: element.result}
    tests = [op.clone(mapping) for op in found.tests]
    number = arith.IndexCastOp(which.iv, type_)
    chosen = arith.SelectOp(tests[-1].results[0], number.result, last.result)
    update = AccumulateOp("minsi", [chosen.result], [alloc.memref], empty, label=label)
    which.body.block.add_ops([element, *tests, number, chosen, update])
    load = LoadOp(alloc.memref, empty)
    part = arith.IndexCastOp(load.result, INDEX)
    part.result.name_hint = "part"
    for op in (alloc, last, start, which, load, part, *which.body.block.ops):
        op.location = search.location
    assert search.parent is not None
    search.parent.insert_ops_before([alloc, last, start, which, load, part], search)
    return which, part.result
