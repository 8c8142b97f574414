"""nt-recompute: a value that one fusion would store for others is computed again by them, where that costs less.

    %d = nt.fusion "d" {                                  // (1024, 1024, 128): 512 MB are written ...
      %0 = nt.broadcast %x along [0, 2] : ...
      %1 = nt.broadcast %x along [1, 2] : ...
      %2 = nt.subtract %0, %1 : ...
      nt.yield %2 : ...
    }
    %s = nt.fusion "s" {
      %3 = nt.multiply %d, %g : ...                       // ... and read
      %4 = nt.reduce add %3 over [1] : ...
      nt.yield %4 : ...
    }
  becomes
    %s = nt.fusion "s" {
      %0 = nt.broadcast %x along [0, 2] : ...
      %1 = nt.broadcast %x along [1, 2] : ...
      %2 = nt.subtract %0, %1 : ...
      %3 = nt.multiply %2, %g : ...
      %4 = nt.reduce add %3 over [1] : ...
      nt.yield %4 : ...
    }

The same operations on the same operands give the same bits. What may be computed again is a result all of whose uses are
in fusions, at the point itself; results that the same fusions use are decided on together, by a minimum cut between what
is stored and what is computed again (partition.py): in place of two results, what both are made of may be stored. Results
of reductions are never computed again: they are loaded. What derivatives keep of the forward program (residuals) is
decided here, with everything else that fusions hand to each other.

A mask of random numbers (that of dropout) is never stored: its users draw it again from its counters, which are numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import Pure

from ...dialects.attributes import NT_ALIAS_SET, NT_MUTATED
from ...dialects.nt import FusionOp, LoopsOp, ReduceOp, YieldOp
from ...dialects.nt.elementwise_ops import ELEMENTWISE_OPS
from ...dialects.nt.ops import element_of, shape_of
from ...dialects.nt.types import width_of
from ...dialects.nt.work import Effort, Role, effort_of, role_of
from .fusion_access import adds_units
from .partition import Partition, Prices, partition

UNKNOWN_EXTENT = 1 << 12
"""What an extent that only the run knows counts as."""

STORED, LOADED = 2, 1
"""What moving a byte costs: who writes a line of the cache reads it first."""

EFFORT_BYTES = {Effort.CHEAP: 0.5, Effort.DIVISION: 4.0, Effort.FUNCTION: 16.0}
"""How many bytes could be loaded in the time of one operation on an element, out of the caches."""


@dataclass(frozen=True, eq=False)
class NtRecomputePass(ModulePass):
    """Compute values again in the fusions that use them, where storing them costs more."""

    name = "nt-recompute"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in [b for o in op.walk() if isinstance(o, FuncOp) for b in o.body.blocks]:
            _recompute_in(block)


def _recompute_in(block: Block) -> None:
    """From the last fusion to the first: what a copy reads may then be computed again itself."""
    for fusion in reversed([o for o in block.ops if isinstance(o, FusionOp)]):
        made: FusionOp | None = fusion
        for users in _groups(fusion):
            plan = None if made is None else _plan(made, users)
            if plan is not None:
                made = plan.apply()


def _groups(fusion: FusionOp) -> list[tuple[FusionOp, ...]]:
    """The sets of fusions that use a result which is only used in fusions, at the point itself: each set once."""
    found = [_users(r) for r in fusion.results_]
    return list(dict.fromkeys(tuple(users) for users in found if users))


def _bytes(value: SSAValue) -> int:
    return _elements(value) * max(width_of(element_of(value)) // 8, 1)


def _elements(value: SSAValue) -> int:
    count = 1
    for extent in shape_of(value):
        count *= UNKNOWN_EXTENT if extent == DYNAMIC_INDEX else extent
    return count


@dataclass(eq=False)
class _Plan:
    """Results of a fusion that its users compute again, from values outside of it and from some that it stores."""

    fusion: FusionOp
    values: list[SSAValue]
    """The values inside of the fusion that are no results of it any more."""
    ops: list[Operation]
    """What computes them, in order."""
    kept: list[SSAValue]
    """Values inside of the fusion that are loaded: it yields them."""
    users: tuple[FusionOp, ...]

    def apply(self) -> FusionOp | None:
        """Put copies of the operations into the users; gives the fusion that is left."""
        if fresh := [v for v in self.kept if v not in _end(self.fusion).values]:
            end = _end(self.fusion)
            end.operands = [*end.values, *fresh]
            types = [*(r.type for r in self.fusion.results_), *(v.type for v in fresh)]
            self.fusion = _rebuilt(self.fusion, types, range(len(self.fusion.results_)))
        inside = list(_end(self.fusion).values)
        outer = dict(zip(inside, self.fusion.results_, strict=True))
        for user in self.users:
            mapping: dict[SSAValue, SSAValue] = {v: outer[v] for v in self.kept}
            block = user.body.block
            first = block.first_op
            assert first is not None
            for op in self.ops:
                copy = op.clone(mapping)
                copy.location = op.location
                block.insert_op_before(copy, first)
            for value in self.values:
                outer[value].replace_uses_with_if(
                    mapping[value], lambda use, block=block: use.operation.parent is block
                )
        return _set_results(self.fusion, [k for k, v in enumerate(inside) if v not in self.values])


def _end(fusion: FusionOp) -> YieldOp:
    end = fusion.body.block.last_op
    assert isinstance(end, YieldOp)
    return end


def _set_results(fusion: FusionOp, chosen: Sequence[int]) -> FusionOp | None:
    """Let only some results be results; what nothing uses in it goes, and a fusion without any (None)."""
    if not chosen:
        assert fusion.parent is not None
        fusion.parent.erase_op(fusion)
        return None
    end = _end(fusion)
    end.operands = [end.values[k] for k in chosen]
    made = _rebuilt(fusion, [fusion.results_[k].type for k in chosen], chosen)
    for op in reversed(list(made.body.block.ops)):
        if op.results and not any(r.uses.get_length() for r in op.results):
            made.body.block.erase_op(op)
    return made


def _rebuilt(fusion: FusionOp, types: Sequence, places: Sequence[int]) -> FusionOp:
    """A fusion with other results in place of `fusion`: result `k` is what was result `places[k]`."""
    body = fusion.detach_region(fusion.body)
    made = FusionOp.create(
        result_types=types,
        properties=dict(fusion.properties),
        regions=[body],
        attributes=dict(fusion.attributes),
    )
    made.location = fusion.location
    assert fusion.parent is not None
    fusion.parent.insert_op_before(made, fusion)
    inside = _end(made).values
    for new, value in zip(made.results_, inside, strict=True):
        new.name_hint = value.name_hint
    for new, old in zip(made.results_, places, strict=False):
        fusion.results_[old].replace_all_uses_with(new)
        new.name_hint = fusion.results_[old].name_hint
    fusion.parent.erase_op(fusion)
    return made


def _plan(fusion: FusionOp, users: tuple[FusionOp, ...]) -> _Plan | None:
    """What the users of some results compute again, at the least cost; None where all is stored as it is."""
    inside = _end(fusion).values
    values = [inside[k] for k, r in enumerate(fusion.results_) if tuple(_users(r) or ()) == users]
    body, count = fusion.body.block, len(users)
    loaded = {v for user in users for op in user.body.block.ops for v in op.operands}
    rows, redrawn = _Rows(fusion), _random_masks(fusion)
    points = max(_elements(r) for op in body.ops for r in op.results if isinstance(r.type, TensorType))
    prices: dict[SSAValue, Prices] = {}
    rest = list(values)
    while rest:
        v = rest.pop()
        if v in prices:
            continue
        op = v.owner
        size = _bytes(v) if isinstance(v.type, TensorType) else 0
        if not isinstance(op, Operation) or op.parent is not body:
            usable = size == 0 or _is_unchanged(v, fusion, users)
            prices[v] = Prices((0 if v in loaded else LOADED * size * count) if usable else inf)
            continue
        is_stored = v in inside and v not in values
        store = (0 if is_stored else STORED * size) + LOADED * size * count
        if not (v in inside or rows.may_be_result(v) or _elements(v) == points):
            store = inf
        compute = inf
        smaller = role_of(op) is Role.COMPUTES and _elements(v) < _elements(values[0])
        if not isinstance(op, ReduceOp) and (not smaller or v in redrawn):
            work = EFFORT_BYTES[effort_of(op)] if role_of(op) is Role.COMPUTES else 0.0
            compute = work * _elements(v) * count
        operands = [] if compute == inf else list(op.operands)
        if role_of(op) is not Role.COMPUTES and not isinstance(op, ReduceOp):
            store = inf  # a view or a number: what it is of is stored
        if v in redrawn and not is_stored:
            store = inf
        prices[v] = Prices(store, compute, operands)
        rest += operands
    if not any(prices[v].compute < inf for v in values):
        return None
    try:
        found = partition(prices, values)
    except ValueError:
        return None
    again = [v for v in values if v in found.computed]
    if not again:
        return None
    needed = _what_computes(again, found, body)
    ops = [op for op in body.ops if op in needed]
    kept = {v for op in ops for v in op.operands if v not in found.computed}
    return _Plan(fusion, again, ops, [v for op in body.ops for v in op.results if v in kept], users)


def _what_computes(values: Sequence[SSAValue], found: Partition, body: Block) -> set[Operation]:
    """The operations of `body` that compute `values` from what is stored."""
    needed: set[Operation] = set()
    rest = list(values)
    while rest:
        v = rest.pop()
        op = v.owner
        if v in found.computed and isinstance(op, Operation) and op.parent is body and op not in needed:
            needed.add(op)
            rest += op.operands
    return needed


def _users(value: SSAValue) -> list[FusionOp] | None:
    """The fusions that use a value at the point itself, in order of use; None where anything else uses it."""
    users: dict[FusionOp, None] = {}
    owner = value.owner
    assert isinstance(owner, Operation)
    for use in value.uses:
        op, fusion = use.operation, use.operation.parent_op()
        if not isinstance(fusion, FusionOp) or fusion.parent is not owner.parent:
            return None
        if role_of(op) is not Role.COMPUTES or shape_of(op.points) != shape_of(value):  # pyright: ignore
            return None
        users[fusion] = None
    return sorted(users, key=id)


def _random_masks(fusion: FusionOp) -> set[SSAValue]:
    """The bool values of a fusion that random numbers decide alone, and all that these are computed from."""
    numbers: dict[SSAValue, bool] = {}  # what no array decides: whether it is random
    for op in fusion.body.block.ops:
        operands = [v for v in op.operands if isinstance(v.type, TensorType)]
        if isinstance(op, ReduceOp) or op.regions or not all(v in numbers for v in operands):
            continue
        random = isinstance(op, ELEMENTWISE_OPS["philox"]) or any(numbers[v] for v in operands)
        numbers.update(dict.fromkeys(op.results, random))
    found: set[SSAValue] = set()
    rest = [
        v
        for v, random in numbers.items()
        if random and isinstance(v.type, TensorType) and element_of(v) == i1
    ]
    while rest:
        v = rest.pop()
        if v in numbers and v not in found:
            found.add(v)
            rest += v.owner.operands  # pyright: ignore
    return found


class _Rows:
    """Which values of a fusion may be its results: those over what its reductions keep."""

    def __init__(self, fusion: FusionOp):
        self._reductions = [op for op in fusion.body.block.ops if isinstance(op, ReduceOp)]

    def may_be_result(self, value: SSAValue) -> bool:
        """Whether the value has an element for each element of a reduction, in its order of axes."""
        return any(self._follows(value, op.results_[0]) for op in self._reductions)

    def _follows(self, value: SSAValue, reduced: SSAValue) -> bool:
        if value is reduced:
            return True
        op = value.owner
        if not isinstance(op, Operation) or isinstance(op, ReduceOp):
            return False
        return (role_of(op) is Role.COMPUTES or adds_units(op)) and any(
            self._follows(v, reduced) for v in op.operands if isinstance(v.type, TensorType)
        )


def _is_unchanged(
    leaf: SSAValue, fusion: FusionOp, users: dict[FusionOp, list[tuple[Operation, int]]]
) -> bool:
    """Whether a value has the same elements, in the same memory, where the last of `users` is."""
    if any(isinstance(use.operation, LoopsOp) and use.operation.outputs.count(leaf) for use in leaf.uses):
        return False
    if not isinstance(leaf, BlockArgument) or not _may_be_written(leaf):
        return True
    return all(op.has_trait(Pure) for op in _between(fusion, users))


def _may_be_written(argument: BlockArgument) -> bool:
    """Whether an argument of a function may be written in the course of it."""
    function = argument.owner.parent_op()
    if not isinstance(function, FuncOp):
        return True
    attributes = function.arg_attrs.data[argument.index].data if function.arg_attrs is not None else {}
    return NT_MUTATED in attributes or NT_ALIAS_SET in attributes


def _between(fusion: FusionOp, users: Sequence[FusionOp]) -> Iterator[Operation]:
    """The operations between a fusion and the last of those that use its result."""
    left = set(users)
    op = fusion.next_op
    while op is not None and left:
        left.discard(op)  # pyright: ignore
        yield op
        op = op.next_op
