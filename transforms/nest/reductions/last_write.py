"""nest-last-write: of several iterations that write an element the last one is looked for first, and only it is done.

    nest.for "i" %i = 0 to %n {
      %k = ... from %idx[%i]
      %a = nest.load %v[%i] : memref<?xf32>
      nest.store "y" %a, %y[%k] : memref<100xf32>
    }

becomes

    %y_last = nest.alloc "y_last" : memref<100xi64>
    nest.for "y.start.ax0" %a = 0 to 100 { nest.store "last" %none, %y_last[%a] }             // -1
    nest.for "i" %i = 0 to %n {
      %k = ...
      nest.accumulate "last" maxsi (%i as an i64), %y_last[%k] : memref<100xi64>
    }
    nest.for "y.end.ax0" %a = 0 to 100 {
      %p = nest.load %y_last[%a]
      ... %v[%p], where %p is no less than 0
      nest.store "y" %a, %y[%a] : memref<100xf32> mask %is_written
    }

so that no order of the iterations is left: the first loop is a reduction (`nest-atomic` lets threads do it), and the
elements are independent. For `y[idx] = v`, whose last value NumPy keeps where an index is there twice. Loops around the
store count as one: of "i" in 0 to %n and "j" in 0 to 50, %p is 50 * %i + %j.

Refused unless the loops are perfectly nested around one store, which is always done; start from 0 in steps of 1, to
bounds that are known before; and unless nothing in them reads what they write. Without a name in TVM, Halide, Exo and
NNC.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.kernels.loop_marks import refuse_in_vector, refuse_marked
from ....analysis.nest.loop_structure import is_check, perfect_band
from ....analysis.nest.sets.accesses import is_defined_outside, may_alias, root_of
from ....analysis.nest.sets.domains import is_computation
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from ....dialects.nest.common import INDEX
from ..rewrite.elements import Elements, shared_among
from ..rewrite.loops import materialise

VERB = "look for the last write of"


def why_not_last_write(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to look for the last iteration that writes, None when it is legal."""
    if (refusal := refuse_marked(loop, VERB) or refuse_in_vector(loop, VERB)) is not None:
        return refusal
    found = _store_of(loop)
    return found if isinstance(found, NestorError) else None


def _store_of(loop: ForOp) -> StoreOp | NestorError:
    def refuse(reason: str, at: Operation | None = None) -> NestorError:
        message = f'cannot {VERB} the loop "{loop.label}": {reason}'
        return fail(loop, message, notes=[] if at is None else [(at, "here")])

    band = perfect_band(loop)
    body = [op for op in band[-1].body.block.ops]
    stores = [op for op in body if isinstance(op, StoreOp)]
    if len(stores) != 1:
        return refuse("its loops are not perfectly nested around one store")
    store = stores[0]
    for op in body:
        if is_check(op):
            return refuse("an error in it would come at another time", op)
        if op is not store and not isinstance(op, LoadOp) and not is_computation(op):
            return refuse("it does something beside the store", op)
        if isinstance(op, LoadOp) and may_alias(root_of(op.memref), root_of(store.memref)):
            return refuse("it reads what it writes, or what may share memory with it", op)
    if store.where is not None or store.mask is not None:
        return refuse("the store is not always done", store)
    if not len(store.indices):
        return refuse("all iterations write one element", store)
    if (outer := shared_among(store.memref, loop)) is not None:
        return refuse(f'iterations of the loop "{outer.label}" would touch each other\'s elements', outer)
    for one in band:
        if (
            one.kind != "serial"
            or one.lower.constants() != (0,)
            or one.step_value != 1
            or len(one.upper) != 1
        ):
            return refuse("a loop does not run from 0 in steps of 1 to one bound", one)
        if not all(is_defined_outside(value, loop) for value in one.upper.operands):
            return refuse("a bound is computed in the loop", one)
    return store


def last_write(loop: ForOp) -> tuple[ForOp, ForOp, ForOp]:
    """Look for the last iteration that writes each element first: the loops that start, that look, and that write.

    Raises the diagnostic of `why_not_last_write`.
    """
    if (refusal := why_not_last_write(loop)) is not None:
        raise refusal
    store = _store_of(loop)
    assert isinstance(store, StoreOp)
    elements = Elements(store.memref, loop)
    last = elements.beside(i64, "last")
    start = elements.over("start")
    none = arith.ConstantOp(IntegerAttr(-1, i64))
    ivs = AffineList.of(*(one.iv for one in start))
    _add(start[-1], store, none, StoreOp(none.result, last.memref, ivs, label="last"))
    end = elements.over("end", is_behind=True)
    _write_chosen(loop, store, last.memref, end)
    _look(loop, store, last.memref)
    elements.finish()
    return start[0], loop, end[0]


def _add(loop: ForOp, like: Operation, *ops: Operation) -> None:
    for op in ops:
        op.location = like.location
        loop.body.block.add_op(op)


def _look(loop: ForOp, store: StoreOp, last: SSAValue) -> None:
    """The loop finds the largest number of an iteration that writes each element."""
    band = perfect_band(loop)
    block = store.parent
    assert block is not None
    number: SSAValue | None = None
    for one in band:
        index = arith.IndexCastOp(one.iv, i64)
        index.location = store.location
        block.insert_op_before(index, store)
        if number is not None:
            extent = arith.IndexCastOp(materialise(one.upper, block, store), i64)
            product = arith.MuliOp(number, extent.result)
            total = arith.AddiOp(product.result, index.result)
            for op in (extent, product, total):
                op.location = store.location
                block.insert_op_before(op, store)
            number = total.result
        else:
            number = index.result
    assert number is not None
    update = AccumulateOp("maxsi", [number], [last], store.indices, label="last")
    update.location = store.location
    block.insert_op_before(update, store)
    store.detach()
    store.erase()
    for op in reversed(list(block.ops)):
        if (isinstance(op, LoadOp) or is_computation(op)) and not any(r.first_use for r in op.results):
            op.detach()
            op.erase()


def _write_chosen(loop: ForOp, store: StoreOp, last: SSAValue, end: list[ForOp]) -> None:
    """Each element takes what the iteration found for it writes."""
    inner = end[-1]
    ivs = AffineList.of(*(one.iv for one in end))
    load = LoadOp(last, ivs)
    load.result.name_hint = "last"
    zero = arith.ConstantOp(IntegerAttr(0, i64))
    is_written = arith.CmpiOp(load.result, zero.result, "sge")
    chosen = arith.MaxSIOp(load.result, zero.result)
    _add(inner, store, load, zero, is_written, chosen)
    counts = _counts(loop, store, chosen.result, inner)
    mapping = {one.iv: count for one, count in zip(perfect_band(loop), counts, strict=True)}
    assert store.parent is not None
    for op in store.parent.ops:
        if op is store:
            break
        copy = op.clone(mapping)
        for a, b in zip(op.results, copy.results, strict=True):
            mapping[a] = b
            b.name_hint = a.name_hint
        copy.location = op.location
        inner.body.block.add_op(copy)
    value = mapping.get(store.value, store.value)
    write = StoreOp(value, store.memref, ivs, label=store.statement, mask=is_written.result)
    write.attributes.update(store.attributes)
    _add(inner, store, write)
    for op in reversed(list(inner.body.block.ops)):
        if (isinstance(op, LoadOp) or is_computation(op)) and not any(
            result.first_use for result in op.results
        ):
            op.detach()
            op.erase()


def _counts(loop: ForOp, store: StoreOp, number: SSAValue, inner: ForOp) -> list[SSAValue]:
    """The variables of the loops, of the iteration with such a number."""
    found: list[SSAValue] = []
    band = perfect_band(loop)
    for one in reversed(band):
        if one is band[0]:
            own = number
        else:
            extent = arith.IndexCastOp(materialise(one.upper, inner.body.block, None), i64)
            rest, quotient = arith.RemUIOp(number, extent.result), arith.DivUIOp(number, extent.result)
            _add(inner, store, extent, rest, quotient)
            own, number = rest.result, quotient.result
        index = arith.IndexCastOp(own, INDEX)
        _add(inner, store, index)
        found.append(index.result)
    return found[::-1]
