"""nest-compute-inline: compute the elements of a buffer where they are read, and drop the buffer.

    %t = nest.alloc "t"(%n) : memref<?xf32>
    nest.for "i" %i = 0 to %n {
      %a = nest.load %x[%i] : memref<?xf32>
      %b = math.exp %a : f32
      nest.store "t" %b, %t[%i] : memref<?xf32>
    }
    nest.for "j" %j = 1 to %n {
      %p = nest.load %t[%j - 1] : memref<?xf32>
      %q = nest.load %t[%j] : memref<?xf32>
      ...
    }

becomes

    nest.for "j" %j = 1 to %n {
      %a = nest.load %x[%j - 1] : memref<?xf32>
      %p = math.exp %a : f32
      %c = nest.load %x[%j] : memref<?xf32>
      %q = math.exp %c : f32
      ...
    }

    %t = nest.alloc "t" : memref<18xf32>                           // with a border of zeros
    nest.for "i" %i = 0 to 18 {
      nest.store "t" %zero, %t[%i] : memref<18xf32>
      %a = nest.load %x[%i - 1] : memref<16xf32>
      nest.store "t" %a, %t[%i] where (%i >= 1, %i < 17) : memref<18xf32>
    }
    ...     %p = nest.load %t[%j + %k] : memref<18xf32>

becomes

    ...     %a = nest.load %x[%j + %k - 1] : memref<16xf32>
            %e = nest.alloc "t_element" : memref<f32, 5>
            nest.store "t_element" %zero, %e[] : memref<f32, 5>
            nest.store "t_element" %a, %e[] where (%j + %k >= 1, %j + %k < 17) : memref<f32, 5>
            %p = nest.load %e[] : memref<f32, 5>

and where what is read is itself an element that is zero outside of a domain (nest-stage-factors), its domain is smaller.

One store writes the buffer, each element once, and one after it, of the same element, may set some of them again: its
indices are the variables of all loops around it, in any order, plus or minus something fixed. Accesses through views with
merged axes (nest-flatten) are accesses to it, by divisions. Refused when an element that
is read is not written, when the value needs more than loads and arithmetic (a reduction, a check that can fail), and when
an element that it is computed from may be written before the value is read. With duplicate=refuse, refused also when some
element is read more than once, for then it would be computed again. `compute_inline` in TVM, `inline` in Halide (the default
there), `computeInline` in NNC, `inline_assign` and its relatives in Exo.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ....analysis.nest.sets.producers import allocation_of, substitute
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AllocOp, ForOp, LoadOp, StoreOp
from ..rewrite.buffers import replace_extents
from ..rewrite.loops import materialise
from ..rewrite.padded_reads import or_value
from ..rewrite.trials import trial
from ..rewrite.views import expand_views, merged_views
from .compute_inline_plan import Duplicate, Plan, plan_inline, shares_value


def why_not_compute_inline(buffer: AllocOp | SSAValue, duplicate: Duplicate = "allow") -> NestorError | None:
    """The diagnostic that refuses to inline the buffer, None when it is legal."""
    try:
        _check(buffer, duplicate)
    except NestorError as refusal:
        return refusal
    return None


def _check(buffer: AllocOp | SSAValue, duplicate: Duplicate) -> None:
    """Raise the refusal to inline the buffer; its views are expanded in a copy of the function."""
    alloc = allocation_of(buffer, "inline")
    if merged_views(alloc):
        trial(lambda copy: (expand_views(copy), plan_inline(copy, duplicate)), alloc)
    else:
        plan_inline(alloc, duplicate)


def compute_inline(buffer: AllocOp | SSAValue, duplicate: Duplicate = "allow") -> None:
    """Compute the elements of `buffer` where they are read; the buffer and its producer are consumed.

    Raises the diagnostic of `why_not_compute_inline` when that is refused.
    """
    alloc = allocation_of(buffer, "inline")
    if merged_views(alloc):
        _check(alloc, duplicate)
        expand_views(alloc)
    plan = plan_inline(alloc, duplicate)
    replace_extents(plan.uses)
    computed: list[tuple[LoadOp, SSAValue]] = []
    for load in plan.uses.loads:
        if (outer := _element_of(load, plan)) is not None:
            _compute_in_part(load, outer, plan)
            continue
        value = next((v for other, v in computed if shares_value(other, load)), None)
        if value is None:
            value = _compute_before(load, plan)
            computed.append((load, value))
        load.result.replace_all_uses_with(value)
    for load in plan.uses.loads:
        _erase(load)
    _remove_producer(plan)


def _compute_before(load: LoadOp, plan: Plan) -> SSAValue:
    """Compute the element that `load` reads, before it."""
    if plan.forwards(load):
        return plan.store.value
    value_of, where = _compute(load, plan)
    if plan.part is None:
        return value_of(plan.store.value)
    block = load.parent
    assert block is not None and where is not None
    stem = plan.label.removeprefix(".") or "padded"
    before, after, value = or_value(load, stem, value_of(plan.store.value), value_of(plan.part.value), where)
    for op in (*before, *after):
        op.location = load.location
        block.insert_op_before(op, load)
    return value


def _compute_in_part(load: LoadOp, outer: StoreOp, plan: Plan) -> None:
    """Let a store to a register, which has what the border is made of, store the inner elements only."""
    value_of, where = _compute(load, plan)
    assert plan.part is not None and where is not None
    outer.operands[0] = value_of(plan.part.value)
    outer.set_access(outer.indices, where if outer.where is None else outer.where.concat(where).canonical())


def _element_of(load: LoadOp, plan: Plan) -> StoreOp | None:
    """The store that is all that uses an element with a border, into a register that holds what is in the border."""
    if plan.part is None or len(list(load.result.uses)) != 1:
        return None
    (use,) = load.result.uses
    store = use.operation
    if (
        not isinstance(store, StoreOp)
        or store.parent is not load.parent
        or len(store.indices)
        or store.mask is not None
    ):
        return None
    owner = store.memref.owner
    if not isinstance(owner, AllocOp) or owner.parent is not load.parent:
        return None
    writes = [
        u.operation
        for u in store.memref.uses
        if isinstance(u.operation, StoreOp) and u.operation is not store
    ]
    is_set = len(writes) == 1 and writes[0].where is None and writes[0].mask is None
    if not is_set or writes[0].parent is not load.parent or not writes[0].is_before_in_block(store):
        return None
    return store if _same_constant(writes[0].value, plan.store.value) else None


def _same_constant(one: SSAValue, other: SSAValue) -> bool:
    a, b = one.owner, other.owner
    return (
        isinstance(a, arith.ConstantOp) and isinstance(b, arith.ConstantOp) and str(a.value) == str(b.value)
    )


def _compute(load: LoadOp, plan: Plan) -> tuple[Callable[[SSAValue], SSAValue], AffineList | None]:
    """The operations that the stored values need, before `load`: what stands for a value, and the part's domain."""
    block = load.parent
    assert block is not None
    instance = plan.instance(load.indices)
    values: dict[SSAValue, SSAValue] = {}

    def value_of(value: SSAValue) -> SSAValue:
        if value not in values and value in instance:
            values[value] = materialise(instance[value], block, load)
        return values.get(value, value)

    for step in plan.steps:
        if isinstance(step, LoadOp):
            indices = substitute(
                step.indices, {**instance, **{k: AffineList.of(v) for k, v in values.items()}}
            )
            new: Operation = LoadOp(step.memref, indices)
            new.attributes.update(step.attributes)
        else:
            new = step.clone({operand: value_of(operand) for operand in step.operands})
        new.location = step.location
        block.insert_op_before(new, load)
        for old, result in zip(step.results, new.results, strict=True):
            values[old] = result
            result.name_hint = old.name_hint
    if plan.part is None:
        return value_of, None
    assert plan.part.where is not None
    known = {**instance, **{k: AffineList.of(v) for k, v in values.items()}}
    return value_of, substitute(plan.part.where, known).canonical()


def _remove_producer(plan: Plan) -> None:
    for store in (plan.store, plan.part):
        if store is not None:
            _erase(store)
    for step in reversed(plan.steps):
        if not any(result.uses for result in step.results):
            _erase(step)
    for loop in reversed(plan.loops):
        if all(is_side_effect_free(op) or isinstance(op, (ForOp, LoadOp, AllocOp)) for op in _below(loop)):
            _erase(loop)
    _erase(plan.uses.alloc)


def _below(loop: ForOp) -> list[Operation]:
    return [op for op in loop.walk() if op is not loop]


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
