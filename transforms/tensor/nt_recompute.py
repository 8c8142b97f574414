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

The same operations on the same operands give the same bits. A value is computed again if every use is in a fusion, at the
point itself, and what that loads and computes costs less than storing the value once and loading it for each use.
Results of reductions are never computed again: they are loaded. What derivatives keep of the forward program (residuals)
is decided here, with everything else that fusions hand to each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import Pure

from ...dialects.attributes import NT_ALIAS_SET, NT_MUTATED
from ...dialects.nt import FusionOp, LoopsOp, ReduceOp, YieldOp
from ...dialects.nt.ops import element_of, shape_of
from ...dialects.nt.types import width_of
from ...dialects.nt.work import Effort, Role, effort_of, role_of
from .fusion_access import adds_units

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
    for op in reversed([o for o in block.ops if isinstance(o, FusionOp)]):
        fusion: FusionOp | None = op
        for index in reversed(range(len(op.results_))):
            recipe = None if fusion is None else _recipe(fusion, index)
            if recipe is not None and recipe.saves():
                fusion = recipe.apply()


def _bytes(value: SSAValue) -> int:
    return _elements(value) * max(width_of(element_of(value)) // 8, 1)


def _elements(value: SSAValue) -> int:
    count = 1
    for extent in shape_of(value):
        count *= UNKNOWN_EXTENT if extent == DYNAMIC_INDEX else extent
    return count


@dataclass(eq=False)
class _Recipe:
    """How a result of a fusion is computed from values outside of it, and from results of its reductions."""

    fusion: FusionOp
    index: int
    ops: list[Operation]
    """In order; the last one makes the value."""
    leaves: list[SSAValue]
    """Tensors from outside of the fusion."""
    kept: list[SSAValue]
    """Values of the fusion that are loaded: it yields them."""
    users: dict[FusionOp, list[tuple[Operation, int]]]

    @property
    def value(self) -> SSAValue:
        return self.fusion.results_[self.index]

    def saves(self) -> bool:
        """Whether computing the value again costs less than memory does."""
        size, points = _bytes(self.value), _elements(self.value)
        work = points * sum(EFFORT_BYTES[effort_of(op)] for op in self.ops if role_of(op) is Role.COMPUTES)
        yielded = set(_end(self.fusion).values)
        cost = STORED * sum(_bytes(v) for v in self.kept if v not in yielded)
        for user in self.users:
            loaded = {v for op in user.body.block.ops for v in op.operands}
            fresh = [v for v in self.leaves if v not in loaded]
            cost += work + LOADED * sum(_bytes(v) for v in (*fresh, *self.kept))
        return cost < STORED * size + LOADED * size * len(self.users)

    def apply(self) -> FusionOp | None:
        """Put copies of the operations into the fusions that use the value; gives the fusion without that result."""
        if self.kept:
            self._yield_kept()
        outer = dict(zip(_end(self.fusion).values, self.fusion.results_, strict=True))
        for user, uses in self.users.items():
            mapping: dict[SSAValue, SSAValue] = {v: outer[v] for v in self.kept}
            block = user.body.block
            first = block.first_op
            assert first is not None
            for op in self.ops:
                copy = op.clone(mapping)
                copy.location = op.location
                block.insert_op_before(copy, first)
            made = mapping[_end(self.fusion).values[self.index]]
            for op, k in uses:
                op.operands[k] = made
        return _set_results(self.fusion, [k for k in range(len(self.fusion.results_)) if k != self.index])

    def _yield_kept(self) -> None:
        """Make results of the values that are kept."""
        end = _end(self.fusion)
        fresh = [v for v in self.kept if v not in end.values]
        if not fresh:
            return
        end.operands = [*end.values, *fresh]
        types = [*(r.type for r in self.fusion.results_), *(v.type for v in fresh)]
        self.fusion = _rebuilt(self.fusion, types, range(len(self.fusion.results_)))


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
    for new, old in zip(made.results_, places, strict=False):
        fusion.results_[old].replace_all_uses_with(new)
        new.name_hint = fusion.results_[old].name_hint
    fusion.parent.erase_op(fusion)
    return made


def _recipe(fusion: FusionOp, index: int) -> _Recipe | None:
    """How to compute a result again; None where it must be stored."""
    value = fusion.results_[index]
    users = _users(value)
    if not users:
        return None
    inner = _end(fusion).values[index]
    body = fusion.body.block
    rows = _Rows(fusion)
    needed: set[Operation] = set()
    leaves: dict[SSAValue, None] = {}
    kept: dict[SSAValue, None] = {}
    rest = [inner]
    while rest:
        v = rest.pop()
        op = v.owner
        if not isinstance(op, Operation) or op.parent is not body:
            if isinstance(v.type, TensorType):
                leaves[v] = None
        elif isinstance(op, ReduceOp) or (role_of(op) is Role.COMPUTES and _elements(v) < _elements(inner)):
            if v is inner or not rows.may_be_result(v):
                return None
            kept[v] = None
        elif op not in needed:
            needed.add(op)
            rest += op.operands
    ops = [op for op in body.ops if op in needed]
    if not all(_is_unchanged(leaf, fusion, users) for leaf in leaves):
        return None
    return _Recipe(fusion, index, ops, list(leaves), list(kept), users)


def _users(value: SSAValue) -> dict[FusionOp, list[tuple[Operation, int]]] | None:
    """The fusions that use a value at the point itself, and where; None where anything else uses it."""
    users: dict[FusionOp, list[tuple[Operation, int]]] = {}
    owner = value.owner
    assert isinstance(owner, Operation)
    for use in value.uses:
        op, fusion = use.operation, use.operation.parent_op()
        if not isinstance(fusion, FusionOp) or fusion.parent is not owner.parent:
            return None
        if role_of(op) is not Role.COMPUTES or shape_of(op.points) != shape_of(value):  # pyright: ignore
            return None
        users.setdefault(fusion, []).append((op, use.index))
    return users


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


def _between(fusion: FusionOp, users: dict[FusionOp, list[tuple[Operation, int]]]) -> Iterator[Operation]:
    """The operations between a fusion and the last of those that use its result."""
    left = set(users)
    op = fusion.next_op
    while op is not None and left:
        left.discard(op)  # pyright: ignore
        yield op
        op = op.next_op
