"""Private accumulators: what nest-privatise and nest-tree-reduce share.

    nest.for "i" %i = 0 to %n {                          the group of the accumulate into "s": its slots are
      nest.accumulate "s" add %x, %s[%r, %k]               %s_parts[slot, k], one for each k that s has,
    }                                                      for %r is fixed in the loop and %k is not

The reductions that a loop carries are put into groups, one for the buffers and the combiner of each. A group gets slots:
accumulators for the elements that it may reach. Along an axis whose index is fixed in the loop that is one element, along
any other axis it is all of them. Slots start at the identity, are updated instead of the elements, and are combined
into a total. A total touches elements that the loop itself may not: `domain_of_total` is where that is harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StringAttr
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.kernels.combiners import identities
from ....analysis.nest.loop_structure import enclosing_loops, may_fail
from ....analysis.nest.sets.accesses import (
    FRESH,
    Access,
    argument_attribute,
    is_defined_outside,
    may_overlap,
    root_of,
)
from ....analysis.nest.sets.dependence import Dependences, combines_alike
from ....analysis.nest.sets.integer_sets import is_never_negative
from ....analysis.nest.values.extent_keys import bound_key, extent_key
from ....dialects.affine import AffineList
from ....dialects.attributes import ROLE
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from .buffers import erase_unused, extent_before, fresh_buffer_name, why_not_space
from .loops import fresh_names, materialise

Insert = Callable[[Operation], None]


@dataclass(frozen=True, eq=False)
class Group:
    """Accumulates into the same buffers by one combiner; `fixed` has the index of an axis, None where it is not fixed."""

    updates: list[AccumulateOp]
    fixed: list[AffineList | None]

    @property
    def first(self) -> AccumulateOp:
        return self.updates[0]

    @property
    def free(self) -> list[int]:
        """The axes whose index is not fixed."""
        return [axis for axis, index in enumerate(self.fixed) if index is None]


def groups_of(loop: ForOp, dependences: Dependences) -> list[Group]:
    """The reductions that `loop` carries, with all accumulates into their buffers by their combiners."""
    carried = [d.source for d in dependences.carried_by(loop) if d.kind == "reduction"]
    groups: list[Group] = []
    for op in dict.fromkeys(carried):
        if isinstance(op, AccumulateOp) and not any(op in group.updates for group in groups):
            updates = [other for other in loop.walk() if other is op or _is_joined(op, other)]
            fixed = [_fixed_index(updates, axis, loop) for axis in range(len(op.indices))]  # pyright: ignore
            groups.append(Group(updates, fixed))  # pyright: ignore[reportArgumentType]
    return groups


def _is_joined(op: AccumulateOp, other: Operation) -> bool:
    return (
        isinstance(other, AccumulateOp)
        and other.order_name == "any"
        and list(other.memrefs) == list(op.memrefs)
        and combines_alike(op, other)
    )


def _fixed_index(updates: Sequence[AccumulateOp], axis: int, loop: ForOp) -> AffineList | None:
    index = updates[0].indices[axis]
    if any(op.indices[axis] != index for op in updates):
        return None
    return index if all(is_defined_outside(value, loop) for value in index.operands) else None


# ---- legality ---------------------------------------------------------------------------------------


def why_not_private(loop: ForOp, verb: str, dependences: Dependences) -> NestorError | None:
    """The refusal to give the reductions of `loop` slots of their own, None when it is legal."""

    def refuse(reason: str, hint: str | None = None, notes=()) -> NestorError:
        return fail(loop, f'cannot {verb} the loop "{loop.label}": {reason}', hint=hint, notes=notes)

    if (check := may_fail(loop)) is not None:
        return refuse(
            "an error in the loop would lose what was accumulated before it",
            hint="nest-prove-bounds removes the checks that cannot fail",
            notes=[(check, "this check can fail")],
        )
    groups = groups_of(loop, dependences)
    if not groups:
        return refuse("it carries no reduction whose order is any")
    accesses = dependences.accesses_in(loop)
    for group in groups:
        where = [(group.first, "the reduction is here")]
        if group.first.combiner.data == "custom" and group.first.identity is None:
            return refuse(
                "the custom combiner is not declared associative (it states no identity)", notes=where
            )
        if not all(is_defined_outside(buffer, loop) for buffer in group.first.memrefs):
            return refuse("the reduction goes to a view that is made in the loop", notes=where)
        for other in accesses:
            if other.op not in group.updates and _meets(other, group, accesses):
                return refuse(
                    "the buffer of the reduction is used elsewhere in the loop",
                    notes=[*where, (other.op, "the other access is here")],
                )
        domain, made = domain_of_total(group, loop)
        erase_unused(made)
        if domain is None:
            return refuse(
                "the total would touch elements that the loop may not, and they may be out of the buffer, never "
                "written, or those of other threads",
                hint="put what sets the elements before the loop, in its block",
                notes=where,
            )
    action = f'{verb} the loop "{loop.label}"'
    return why_not_space(loop, action, "global", (), None, enclosing_loops(loop), ())  # pyright: ignore


def _meets(other: Access, group: Group, accesses: Sequence[Access]) -> bool:
    return any(a.op is group.first and may_overlap(a, other) for a in accesses)


# ---- where a total is taken -------------------------------------------------------------------------


Domain = tuple[AffineList | None, list[Operation]]
"""A domain, None where there is none that is known to do, and the operations made for it."""


def domain_of_total(group: Group, loop: ForOp) -> Domain:
    """Where totals may be taken after `loop`, at all elements that the slots stand for.

    Combining an element with the identity leaves it as it is, but it must exist, have been written, and be no element of
    another thread. Elements are found to be so where something beside the loop sets them, where the buffer comes
    written, or where the loop itself touches them.
    """
    first, *others = group.first.memrefs
    if any(extent_key(first, axis) != extent_key(b, axis) for b in others for axis in group.free):
        return None, []
    if not group.free and is_touched_before(group.first.memrefs, group.first.indices, loop):
        return AffineList((), ()), []
    if not any(is_shared_out(b, loop) for b in group.first.memrefs) and all(
        is_written(b, loop) for b in group.first.memrefs
    ):
        return _inside(group, loop)
    return None if group.free else _where_it_runs(group, loop), []


def is_touched_before(buffers: Sequence[SSAValue], indices: AffineList, loop: ForOp) -> bool:
    """Whether a statement before the loop, in its block, writes the element of all these buffers."""
    assert loop.parent is not None
    return any(
        isinstance(op, (StoreOp, AccumulateOp))
        and op.where is None
        and op.mask is None
        and op.is_before_in_block(loop)
        and op.indices == indices
        and all(buffer in op.operands for buffer in buffers)
        for op in loop.parent.ops
    )


def is_shared_out(buffer: SSAValue, loop: ForOp) -> bool:
    """Whether a loop around `loop`, but not around what makes the buffer, runs its iterations at the same time."""
    marked = [outer for outer in enclosing_loops(loop) if outer.kind in ("parallel", *BIND_AXES)]
    return any(is_defined_outside(root_of(buffer), outer) for outer in marked)


def is_written(buffer: SSAValue, loop: ForOp) -> bool:
    """Whether all elements of a buffer have values before `loop`."""
    root = root_of(buffer)
    if not isinstance(root.owner, Operation):
        role = argument_attribute(root, ROLE)
        if not isinstance(role, StringAttr) or role.data != "out":
            return True
    elif not isinstance(root.owner, FRESH):
        return False
    current: Operation | None = loop
    while current is not None:
        earlier = current.prev_op
        while earlier is not None:
            if any(isinstance(op, StoreOp) and sets_all(op, buffer, earlier) for op in earlier.walk()):
                return True
            earlier = earlier.prev_op
        current = current.parent_op()
    return False


def sets_all(store: StoreOp, buffer: SSAValue, scope: Operation) -> bool:
    """Whether `store` sets every element of `buffer` while `scope` runs."""
    if store.memref is not buffer or store.where is not None or store.mask is not None:
        return False
    loops: list[ForOp] = []
    current: Operation | None = store
    while current is not scope:
        current = current.parent_op() if current is not None else None
        if not isinstance(current, ForOp):
            return False
        loops.append(current)
    axis_of = {store.indices[axis].single_value(): axis for axis in range(len(store.indices))}
    if len(axis_of) != len(store.indices) or not set(axis_of) <= {loop.iv for loop in loops}:
        return False
    return all(
        _covers(loop, buffer, axis_of[loop.iv]) if loop.iv in axis_of else bool(loop.constant_trip_count())
        for loop in loops
    )


def _covers(loop: ForOp, buffer: SSAValue, axis: int) -> bool:
    """Whether the loop runs over all of an axis."""
    return (
        loop.lower.constants() == (0,)
        and loop.step_value == 1
        and len(loop.upper) == 1
        and bound_key(loop.upper) == extent_key(buffer, axis)
    )


def _inside(group: Group, loop: ForOp) -> Domain:
    """The constraints under which the fixed indices are in the buffers, without those that are known to hold."""
    domain, made = AffineList((), ()), []
    for buffer in group.first.memrefs:
        more, new = inside_buffer(buffer, group.fixed, loop)
        domain, made = domain.concat(more), [*made, *new]
    return domain.canonical(), made


def inside_buffer(
    buffer: SSAValue, indices: Sequence[AffineList | None], loop: ForOp
) -> tuple[AffineList, list[Operation]]:
    """The constraints under which indices are in a buffer, without those that hold before `loop`, and what they need."""
    domain, made = AffineList((), ()), []
    for axis, index in enumerate(indices):
        if index is None:
            continue
        extent, new = extent_before(buffer, axis, loop)
        made += new
        for constraint in (index, extent.minus(index).add(-1)):
            if not is_never_negative(constraint, loop):
                domain = domain.concat(constraint)
    return domain.canonical(), made


def _where_it_runs(group: Group, loop: ForOp) -> AffineList | None:
    """Where the loop is not empty, if an update runs in each of its iterations."""
    for op in group.updates:
        if op.mask is not None or not is_reached(op, loop):
            continue
        domain = AffineList((), ()) if op.where is None else op.where
        if all(is_defined_outside(value, loop) for value in domain.operands):
            return domain.concat(where_not_empty(loop)).canonical()
    return None


def where_not_empty(loop: ForOp) -> AffineList:
    """The constraints under which a loop has iterations, without those that are known to hold."""
    domain = AffineList((), ())
    for high in range(len(loop.upper)):
        for low in range(len(loop.lower)):
            gap = loop.upper[high].minus(loop.lower[low]).add(-1)
            if not is_never_negative(gap, loop):
                domain = domain.concat(gap)
    return domain.canonical()


def is_reached(op: Operation, loop: ForOp) -> bool:
    """Whether each iteration of `loop` comes to `op`."""
    current = op.parent_op()
    while current is not loop:
        if not isinstance(current, ForOp) or not current.constant_trip_count():
            return False
        current = current.parent_op()
    return True


# ---- slots ------------------------------------------------------------------------------------------


class Slots:
    """The slots of a group: `count` of them, in buffers that are made before `loop`."""

    def __init__(self, group: Group, loop: ForOp, count: int, suffix: str):
        self.group, self.loop = group, loop
        self.domain, self._made = domain_of_total(group, loop)
        self.extents: list[AffineList] = []
        for axis in group.free:
            extent, new = extent_before(group.first.memrefs[0], axis, loop)
            self.extents.append(extent)
            self._made += new
        self.targets = list(group.first.memrefs)
        self.buffers = [self._allocate(memref, count, suffix) for memref in group.first.memrefs]

    def finish(self) -> None:
        """Remove the extents that nothing came to use."""
        erase_unused(self._made)

    def _allocate(self, memref: SSAValue, count: int, suffix: str) -> SSAValue:
        assert isinstance(memref.type, MemRefType) and self.loop.parent is not None
        numbers = [extent.constants() for extent in self.extents]
        sizes = [
            materialise(extent, self.loop.parent, self.loop)
            for extent, number in zip(self.extents, numbers, strict=True)
            if number is None
        ]
        shape = [count, *(DYNAMIC_INDEX if number is None else number[0] for number in numbers)]
        name = fresh_buffer_name(self.loop, f"{buffer_name(memref)}_{suffix}")
        alloc = AllocOp(name, MemRefType(memref.type.element_type, shape), sizes)
        alloc.location = self.group.first.location
        self.loop.parent.insert_op_before(alloc, self.loop)
        return alloc.memref

    def redirect(self, slot: AffineList) -> None:
        """Let the updates go to a slot."""
        for op in self.group.updates:
            for k, buffer in enumerate(self.buffers):
                op.operands[len(op.values) + k] = buffer
            free = (op.indices[axis] for axis in self.group.free)
            op.set_access(AffineList.of(slot, *free).canonical(), op.where)

    def start(self, slot: AffineList, name: str, insert: Insert, outside: Operation) -> None:
        """Set a slot to the identity, a constant that is made before `outside`."""
        zeros = [arith.ConstantOp(value) for value in identities(self.group.first)]
        for zero in zeros:
            zero.location = self.group.first.location
            assert outside.parent is not None
            outside.parent.insert_op_before(zero, outside)

        def statements(free: Sequence[SSAValue]) -> list[Operation]:
            indices = AffineList.of(slot, *free).canonical()
            label = self.group.first.statement
            return [
                StoreOp(zero.result, buffer, indices, label=label)
                for zero, buffer in zip(zeros, self.buffers, strict=True)
            ]

        self._over_free_axes(name, insert, statements)

    def combine(self, source: AffineList, into: AffineList | None, name: str, insert: Insert) -> None:
        """Take the slot `source` into another one, into the elements themselves where there is none."""
        first = self.group.first

        def statements(free: Sequence[SSAValue]) -> list[Operation]:
            loads = [LoadOp(b, AffineList.of(source, *free).canonical()) for b in self.buffers]
            elements = iter(free)
            own = [
                index if index is not None else AffineList.of(next(elements)) for index in self.group.fixed
            ]
            total = AccumulateOp(
                first.combiner.data,
                [load.result for load in loads],
                self.targets if into is None else self.buffers,
                AffineList.of(*own).canonical() if into is None else AffineList.of(into, *free).canonical(),
                label=first.statement,
                where=self.domain if into is None and self.domain else None,
                identity=first.identity,
                combine=None if first.combine is None else first.combine.clone(),
            )
            return [*loads, total]

        self._over_free_axes(name, insert, statements)

    def _over_free_axes(
        self, name: str, insert: Insert, statements: Callable[[Sequence[SSAValue]], list[Operation]]
    ) -> None:
        """Loops over all of the free axes, around statements."""
        names = fresh_names(self.loop, *(f"{name}.ax{axis}" for axis in self.group.free))
        loops = [ForOp(label, 0, extent) for label, extent in zip(names, self.extents, strict=True)]
        for loop, inner in pairwise(loops):
            loop.body.block.add_op(inner)
        for loop, axis in zip(loops, self.group.free, strict=True):
            loop.location = self.loop.location
            loop.iv.name_hint = f"ax{axis}"
        for op in statements([loop.iv for loop in loops]):
            op.location = self.group.first.location
            if loops:
                loops[-1].body.block.add_op(op)
            else:
                insert(op)
        if loops:
            insert(loops[0])
