"""nest-reverse-compute-inline: use an element of a buffer where it is computed, and drop the buffer.

    %t = nest.alloc "t"(%n) : memref<?xf32>
    nest.for "i" %i = 0 to %n {
      %a = nest.load %x[%i] : memref<?xf32>
      %b = math.exp %a : f32
      nest.store "t" %b, %t[%i] : memref<?xf32>
    }
    nest.for "j" %j = 1 to %n {
      %p = nest.load %t[%j] : memref<?xf32>
      %q = arith.mulf %p, %p : f32
      nest.store "y" %q, %y[%j - 1] : memref<?xf32>
    }

becomes with buffer=t

    nest.for "i" %i = 0 to %n {
      %a = nest.load %x[%i] : memref<?xf32>
      %b = math.exp %a : f32
      %q = arith.mulf %b, %b : f32
      nest.store "y" %q, %y[%i - 1] where (%i >= 1) : memref<?xf32>
    }

One store writes the buffer and one nest reads it: the consumer, of which each iteration uses one element. It moves
into the innermost loop around the store, as nest-reverse-compute-at moves it; its loops that have one iteration there
disappear, and where they have none a domain says so. Others stay (an element that is used several times). Refused
when that move is, when the consumer needs other elements than the one that is there, and when one that it uses
may not be written. `reverse_compute_inline` in TVM; Halide and NNC inline producers only, Exo says `fuse` and then
`inline_assign`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import enclosing_function, is_inside, loops_in, statements
from ....analysis.nest.sets.domains import is_computation
from ....analysis.nest.sets.integer_sets import System, difference, is_never_negative
from ....analysis.nest.sets.producers import (
    Uses,
    allocation_of,
    describe_instance,
    require_needed,
    uses_of,
)
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp, YieldOp
from ..rewrite.buffers import replace_extents
from ..rewrite.loops import add_domain, replace_index
from ..rewrite.trials import trial
from .reverse_compute_at import reverse_compute_at


def why_not_reverse_compute_inline(buffer: AllocOp | SSAValue) -> NestorError | None:
    """The diagnostic that refuses to inline the consumer of the buffer, None when it is legal."""
    try:
        trial(carry_out, allocation_of(buffer, "inline the consumer of"))
    except NestorError as refusal:
        return refusal
    return None


def reverse_compute_inline(buffer: AllocOp | SSAValue) -> None:
    """Use the elements of `buffer` where they are computed; the buffer and the nest that reads it are consumed.

    Raises the diagnostic of `why_not_reverse_compute_inline`.
    """
    alloc = allocation_of(buffer, "inline the consumer of")
    if (refusal := why_not_reverse_compute_inline(alloc)) is not None:
        raise refusal
    carry_out(alloc)


def _refusal(
    alloc: AllocOp, reason: str, notes: Sequence[tuple[Operation, str]] = (), hint: str | None = None
) -> NestorError:
    message = f'cannot inline the consumer of the buffer "{alloc.label.data}": {reason}'
    return fail(alloc, message, hint=hint, notes=notes)


def carry_out(alloc: AllocOp) -> None:
    """Do it; raises the refusal half way where it is not legal."""
    uses = uses_of(alloc, "inline the consumer of")
    store = _sole_store(uses)
    consumer = _sole_reader(uses, store)
    place = store.parent_op()
    if not isinstance(place, ForOp):
        raise _refusal(alloc, "its store is not directly in a loop", [(store, "the store is here")])
    replace_extents(uses)
    reverse_compute_at(consumer, place)
    for loop in loops_in(consumer):
        _remove_unit_loop(uses, loop)
    for load in uses.loads:
        _check_same(alloc, store, load)
        _check_written(alloc, store, load)
    for load in uses.loads:
        load.result.replace_all_uses_with(store.value)
    for op in (*uses.loads, store, alloc):
        op.detach()
        op.erase()


def _sole_store(uses: Uses) -> StoreOp:
    alloc = uses.alloc
    if not uses.writes:
        raise _refusal(alloc, "nothing writes it")
    for op in uses.writes:
        if not isinstance(op, StoreOp):
            raise _refusal(
                alloc,
                "it holds a reduction, whose elements are complete only later",
                [(op, "the reduction is here")],
                hint="use fuse-epilogue, or reverse-compute-at",
            )
    if len(uses.writes) > 1:
        notes: list[tuple[Operation, str]] = [(op, "this statement writes it") for op in uses.writes]
        raise _refusal(alloc, f"{len(uses.writes)} statements write it", notes)
    store = uses.writes[0]
    assert isinstance(store, StoreOp)
    if store.mask is not None:
        raise _refusal(alloc, "its store has a mask", [(store, "the store is here")])
    return store


def _sole_reader(uses: Uses, store: StoreOp) -> ForOp:
    alloc, producer = uses.alloc, uses.top(store)
    readers = list(dict.fromkeys(uses.top(load) for load in uses.loads))
    if not readers:
        raise _refusal(alloc, "nothing reads it")
    if len(readers) > 1:
        raise _refusal(alloc, f"{len(readers)} nests read it", [(op, "it is read here") for op in readers])
    consumer = readers[0]
    if consumer is producer:
        raise _refusal(alloc, "the nest that writes it reads it as well", [(consumer, "that nest is here")])
    if not isinstance(consumer, ForOp):
        raise _refusal(alloc, "what reads it is not a nest", [(consumer, "it is read here")])
    return consumer


def _remove_unit_loop(uses: Uses, loop: ForOp) -> None:
    """Replace a loop of at most one iteration by its body; where it has none is left to domains."""
    only = _only_iteration(loop, uses)
    if only is None:
        return
    variable = AffineList.of(loop.iv)
    bounds = [variable.minus(loop.lower[k]) for k in range(len(loop.lower))]
    bounds += [loop.upper[k].minus(variable).add(-1) for k in range(len(loop.upper))]
    domain = [b for b in (b.substitute(loop.iv, only) for b in bounds) if not is_never_negative(b, loop)]
    if domain:
        _check_guarded(uses.alloc, loop)
        for op in statements(loop):
            add_domain(op, AffineList.of(*domain))
    block = loop.parent
    assert block is not None
    replace_index(loop.iv, only)
    for op in list(loop.body.block.ops):
        op.detach()
        block.insert_op_before(op, loop)
    loop.detach()
    loop.erase()


def _only_iteration(loop: ForOp, uses: Uses) -> AffineList | None:
    """The value of the variable in the only iteration: the one that makes an index the store's, if any does."""
    found = []
    for k in range(len(loop.lower)):
        for m in range(len(loop.upper)):
            gap = loop.upper[m].minus(loop.lower[k]).constants()
            steps = loop.step_value == 1 or len(loop.lower) == 1
            if gap is not None and 0 <= gap[0] <= loop.step_value and steps:
                found.append(loop.lower[k])
    return next((one for one in found if _meets(loop, one, uses)), found[0] if found else None)


def _meets(loop: ForOp, only: AffineList, uses: Uses) -> bool:
    """Whether a load that uses the variable reads, on some axis, where the store writes."""
    store = uses.writes[0].indices
    return any(
        load.indices[k].substitute(loop.iv, only).minus(store[k]).constants() == (0,)
        for load in uses.loads
        for k in range(len(store))
        if loop.iv in load.indices[k].operands
    )


def _check_guarded(alloc: AllocOp, loop: ForOp) -> None:
    """Refuse where domains of statements do not keep everything from running."""
    for op in loop.body.walk():
        is_known = isinstance(op, (ForOp, LoadOp, StoreOp, AccumulateOp, YieldOp)) or is_computation(op)
        is_free = isinstance(op, ForOp) and any(_is_computed_in(value, loop) for value in op.operands)
        if not is_known or is_free:
            raise _refusal(
                alloc,
                "its consumer does not run for each element, and more than its statements would need a domain",
                [(op, "this operation cannot have one")],
            )


def _is_computed_in(value: SSAValue, loop: ForOp) -> bool:
    return isinstance(value.owner, Operation) and is_inside(value.owner, loop)


def _check_same(alloc: AllocOp, store: StoreOp, load: LoadOp) -> None:
    """Refuse when another element is needed than the store's of the same iteration."""
    distance = load.indices.minus(store.indices).canonical()
    if any(distance[k].constants() != (0,) and _may_differ(load, distance[k]) for k in range(len(distance))):
        raise _refusal(
            alloc,
            "its consumer needs other elements than the one that is there",
            [(load, "this load reads it"), (store, "the element is made here")],
            hint="use reverse-compute-at",
        )


def _may_differ(load: LoadOp, distance: AffineList) -> bool:
    """Whether the distance may be other than zero where `load` is needed."""
    system = System(enclosing_function(load))
    describe_instance(system, load, "s")
    require_needed(system, load, "s")
    system.require(f"{system.expressions(distance, 's')[0]} != 0")
    return system.has_solution()


def _check_written(alloc: AllocOp, store: StoreOp, load: LoadOp) -> None:
    """Refuse when the store's domain may leave out an element that is needed."""
    where = store.where
    for k in range(len(where) if where is not None else 0):
        assert where is not None
        system = System(enclosing_function(load))
        describe_instance(system, load, "s")
        require_needed(system, load, "s")
        system.require_not_negative(difference({}, system.linear(where[k], "s")[0], -1))
        if system.has_solution():
            raise _refusal(
                alloc,
                "an element that its consumer uses may be one that the store does not write",
                [(load, "this load reads it"), (store, "the store is here")],
            )
