"""Time loops of islands: an island with a bound on snapshots becomes an scf.for of islands, whose states are kept.

    %r = nt.loops ins(%v : ...) outs(%u : ...) attributes {nt.snapshots = 8} {
    ^bb0(%vm: ..., %um: ...):
      nest.for "t" %t = 0 to %n {                       // no store says %t: each step overwrites the state
        nest.for "i" %i = 1 to 99 { ... %um[%i] ... }
      }
    }
  becomes
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%u1 = %u) -> (...) {
      %u2 = nt.loops ins(%v : ...) outs(%u1 : ...) { ^bb0(...): nest.for "i" %i = 1 to 99 { ... } }
      scf.yield %u2
    } {nt.snapshots = 8}

Each statement of the step is an island of its own, and so are those before and after the loop; statements that use what
others compute, or a buffer of the island's own, stay together with these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue

from ....analysis.nest.sets.domains import is_computation
from ....dialects.attributes import NT_SNAPSHOT_BYTES, NT_SNAPSHOTS
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ....dialects.nt.ops import LoopsOp
from ...nest.rewrite.loops import materialise
from ..activity import is_inside, used_from_outside

BOUNDS = (NT_SNAPSHOTS, NT_SNAPSHOT_BYTES)


def has_bound(op: Operation) -> bool:
    """Whether an operation says how many snapshots its loops keep."""
    return any(name in op.attributes for name in BOUNDS)


def is_time_loop(op: Operation, state: Sequence[SSAValue]) -> bool:
    """Whether a loop stores to arrays of `state`, in loops inside of it, at places that do not say its variable."""
    if not isinstance(op, ForOp) or len(op.lower) != 1 or len(op.upper) != 1:
        return False
    return any(
        isinstance(o, StoreOp | AccumulateOp)
        and any(v in state for v in o.operands)
        and o.parent is not op.body.block
        and not any(_depends(v, op.iv) for v in o.indices.operands)
        for o in op.walk()
    )


def _depends(value: SSAValue, on: SSAValue) -> bool:
    if value is on:
        return True
    owner = value.owner
    return isinstance(owner, Operation) and any(_depends(v, on) for v in owner.operands)


def opened(op: LoopsOp) -> tuple[list[Operation], list[SSAValue]] | None:
    """Put loops on tensors in the place of the time loops of an island; None where there are none.

    Gives the operations that it becomes, and its results.
    """
    block = op.body.block
    state = block.args[len(op.inputs) :]
    parts = _parts(block.ops, block)
    loops = {id(part): part[0] for part in parts if len(part) == 1 and is_time_loop(part[0], state)}
    if not loops or any(_is_bounded_inside(loop, op) for loop in loops.values()):
        return None
    if any(_may_write_elsewhere(inner) for inner in block.walk()):
        return None
    assert op.parent is not None
    before = op.prev_op
    here = _Place(op, list(op.operands))
    for part in parts:
        if id(part) in loops:
            here.add_loop(part[0])
        else:
            here.add_island(part, here.put_before, {})
    ends = here.values[len(op.inputs) :]
    for old, value in zip(op.results_, ends, strict=True):
        value.name_hint = value.name_hint or old.name_hint
        old.replace_all_uses_with(value)
    made: list[Operation] = []
    at = before.next_op if before is not None else op.parent.first_op
    while at is not None and at is not op:
        made.append(at)
        at = at.next_op
    op.parent.erase_op(op)
    return made, ends


def _parts(ops: Iterable[Operation], island: Block) -> list[list[Operation]]:
    """Statements one after the other, together where one uses what another gives. What all may compute is in none."""
    found: list[list[Operation]] = []
    open_: set[SSAValue] = set()
    part: list[Operation] = []
    rest = [o for o in ops if not _is_shared(o, island)]
    last = {v: k for k, o in enumerate(rest) for v in used_from_outside(o)}
    for k, op in enumerate(rest):
        part.append(op)
        open_.update(op.results)
        if all(last.get(v, -1) <= k for v in open_) and not op.results:
            found.append(part)
            part, open_ = [], set()
    return [*found, part] if part else found


def _is_shared(op: Operation, island: Block) -> bool:
    """Whether each statement may do an operation for itself: it computes, or reads what the island never writes."""
    if any(not _is_outer(v, op, island) for v in op.operands):
        return False
    if isinstance(op, LoadOp):
        return not any(
            isinstance(o, StoreOp | AccumulateOp | AllocOp) and op.memref in (*o.operands, *o.results)
            for o in island.walk()
        )
    return is_computation(op)


def _is_outer(value: SSAValue, user: Operation, island: Block) -> bool:
    owner = value.owner
    return isinstance(owner, Block) or owner.parent is not user.parent or _is_shared(owner, island)


def _is_bounded_inside(loop: Operation, island: LoopsOp) -> bool:
    """Whether what bounds a loop is computed in the island."""
    assert isinstance(loop, ForOp)
    return any(is_inside(v, island) for v in (*loop.lower.operands, *loop.upper.operands))


def _may_write_elsewhere(op: Operation) -> bool:
    """Whether an operation takes a buffer and is none of those that say what they do with it."""
    if isinstance(op, LoadOp | StoreOp | AccumulateOp | memref.DimOp):
        return False
    return any(isinstance(v.type, MemRefType) for v in op.operands)


class _Place:
    """Where islands and loops that take the place of an island go, and what its operands are there by now."""

    def __init__(self, op: LoopsOp, values: list[SSAValue]):
        self._op, self.values = op, values

    def put_before(self, op: Operation) -> None:
        """Insert an operation before the island."""
        assert self._op.parent is not None
        self._op.parent.insert_op_before(op, self._op)

    def add_island(
        self,
        statements: Sequence[Operation],
        insert: Callable[[Operation], object],
        known: dict[SSAValue, SSAValue],
    ) -> None:
        """Some statements as an island of what they read and write."""
        arguments = self._op.body.block.args
        first = len(self._op.inputs)
        shared = [o for o in _block_of(statements).ops if _is_shared(o, self._op.body.block)]
        outer = [o for o in self._op.body.block.ops if _is_shared(o, self._op.body.block)]
        ops = [*(o for o in outer if o not in shared), *shared, *statements]
        written = {
            v
            for o in statements
            for inner in o.walk()
            if isinstance(inner, StoreOp | AccumulateOp)
            for v in inner.operands
            if v in arguments[first:]
        }
        used = {v for o in ops for v in used_from_outside(o)}
        ins = [k for k, v in enumerate(arguments) if v in used and v not in written]
        outs = [k for k, v in enumerate(arguments) if v in written]
        block = Block(arg_types=[arguments[k].type for k in (*ins, *outs)])
        mapping = dict(known)
        for k, new in zip((*ins, *outs), block.args, strict=True):
            mapping[arguments[k]] = new
            new.name_hint = arguments[k].name_hint
        for inner in ops:
            copy = inner.clone(mapping)
            copy.location = inner.location
            block.add_op(copy)
        made = LoopsOp([self.values[k] for k in ins], [self.values[k] for k in outs], Region(block))
        made.location = self._op.location
        insert(made)
        for k, result in zip(outs, made.results_, strict=True):
            self.values[k] = result

    def add_loop(self, loop: Operation) -> None:
        """A time loop as an scf.for of islands, which carries what is written in it."""
        assert isinstance(loop, ForOp) and self._op.parent is not None
        first, arguments = len(self._op.inputs), self._op.body.block.args
        bounds = (loop.lower[0], loop.upper[0])
        lower, upper = (materialise(bound.canonical(), self._op.parent, self._op) for bound in bounds)
        step = arith.ConstantOp(IntegerAttr(loop.step_value, IndexType()))
        step.location = loop.location
        self.put_before(step)
        state = self.values[first:]
        body = Block(arg_types=[IndexType(), *[v.type for v in state]])
        for old, new in zip((loop.iv, *arguments[first:]), body.args, strict=True):
            new.name_hint = old.name_hint
        inside = _Place(self._op, [*self.values[:first], *body.args[1:]])
        for part in _parts(loop.body.block.ops, self._op.body.block):
            inside.add_island(part, body.add_op, {loop.iv: body.args[0]})
        end = scf.YieldOp(*inside.values[first:])
        end.location = loop.location
        body.add_op(end)
        new = scf.ForOp(lower, upper, step.result, state, Region(body))
        new.location = loop.location
        attributes = self._op.attributes
        new.attributes.update({name: attributes[name] for name in BOUNDS if name in attributes})
        self.put_before(new)
        self.values[first:] = new.results


def _block_of(statements: Sequence[Operation]) -> Block:
    block = statements[0].parent
    assert block is not None
    return block
