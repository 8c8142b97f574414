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

One store writes the buffer, each element once: its indices are the variables of all loops around it, in any
order, plus or minus something fixed. Refused when an element that is read is not written, when the value
needs more than loads and arithmetic (a reduction, a check that can fail), and when an element that it is
computed from may be written before the value is read. With duplicate=refuse, refused also when some element is read more
than once, for then it would be computed again. `compute_inline` in TVM, `inline` in Halide (the default there),
`computeInline` in NNC, `inline_assign` and its relatives in Exo.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ....analysis.nest.sets.producers import substitute
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AllocOp, ForOp, LoadOp
from ..rewrite.buffers import replace_extents
from ..rewrite.loops import materialise
from .compute_inline_plan import Duplicate, Plan, plan_inline, shares_value


def why_not_compute_inline(buffer: AllocOp | SSAValue, duplicate: Duplicate = "allow") -> NestorError | None:
    """The diagnostic that refuses to inline the buffer, None when it is legal."""
    try:
        plan_inline(buffer, duplicate)
    except NestorError as refusal:
        return refusal
    return None


def compute_inline(buffer: AllocOp | SSAValue, duplicate: Duplicate = "allow") -> None:
    """Compute the elements of `buffer` where they are read; the buffer and its producer are consumed.

    Raises the diagnostic of `why_not_compute_inline` when that is refused.
    """
    plan = plan_inline(buffer, duplicate)
    replace_extents(plan.uses)
    computed: list[tuple[LoadOp, SSAValue]] = []
    for load in plan.uses.loads:
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
    return value_of(plan.store.value)


def _remove_producer(plan: Plan) -> None:
    _erase(plan.store)
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
