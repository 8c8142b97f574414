"""nest-unmask: statements run where nothing is made of what they do as well, so that no condition is asked there.

    nest.for "i" %i = 0 to 8 {
      nest.store "s" %zero, %s[%i] where (8 * %o + %i < %n) : memref<8xf32>
    }
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %s[%j] : memref<8xf32>
      nest.store "y" %a, %y[8 * %o + %j] where (8 * %o + %j < %n) : memref<?xf32>
    }

with loop=i becomes

    nest.for "i" %i = 0 to 8 {
      nest.store "s" %zero, %s[%i] : memref<8xf32>
    }
    ...

Each constraint of a domain is left out whose elements, where it fails, are elements of the buffer that nothing reads: edges
of tiles in registers and in shared memory. isl is asked for a read of such an element, and for an element outside of a
buffer that the statement would touch; what is loaded or added to there must have been set by stores before. Refused where
the loop has no such constraint. Without a name in TVM, Halide, Exo and NNC, which leave it to the code generator.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ....analysis.nest.loop_structure import statements
from ....analysis.nest.sets.accesses import READ, UPDATE, WRITE, Access, argument_attribute, root_of
from ....analysis.nest.sets.coverage import is_stored_before
from ....analysis.nest.sets.domains import DIVISIONS, LoadGuards, may_be_undefined
from ....analysis.nest.sets.integer_sets import difference, is_in_buffer, pair_system
from ....dialects.affine import AffineList
from ....dialects.attributes import ROLE
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, LookupOp, StoreOp

Statement = StoreOp | AccumulateOp

Domains = dict[Statement, AffineList]

OUT = StringAttr("out")


def why_not_unmask(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to leave out constraints of the statements in `loop`, None when there are some."""
    return None if _plan(loop) else _refusal(loop)


def unmask(loop: ForOp) -> ForOp:
    """Leave out the constraints of domains in `loop` that guard nothing. Raises the diagnostic of `why_not_unmask`."""
    plan = _plan(loop)
    if not plan:
        raise _refusal(loop)
    for statement, where in plan.items():
        statement.set_access(statement.indices, where if len(where) else None)
    return loop


def _refusal(loop: ForOp) -> NestorError:
    masked = next((op for op in statements(loop) if op.where is not None), None)
    if masked is None:
        return fail(loop, f'cannot unmask the loop "{loop.label}": no statement in it has a domain')
    return fail(
        loop,
        f'cannot unmask the loop "{loop.label}": what its statements would do outside of their domains is not '
        "proved to be of no consequence",
        notes=[(masked, "this statement, say")],
    )


def _plan(loop: ForOp) -> Domains:
    """What remains of the domains of statements that lose some of it."""
    plan: Domains = {}
    for statement in statements(loop):
        where = statement.where
        if where is None or len(statement.memrefs if isinstance(statement, AccumulateOp) else (0,)) > 1:
            continue
        kept = [where[k] for k in range(len(where))]
        for constraint in list(kept):
            others = AffineList.of(*(c for c in kept if c is not constraint))
            if _is_of_no_use(statement, others, constraint, plan):
                kept.remove(constraint)
        if len(kept) < len(where):
            plan[statement] = AffineList.of(*kept).canonical()
    return plan


def _is_of_no_use(statement: Statement, where: AffineList, fails: AffineList, plan: Domains) -> bool:
    """Whether the statement may run where `where` holds and `fails` does not."""
    buffer = statement.memref if isinstance(statement, StoreOp) else statement.memrefs[0]
    alloc = buffer.owner
    if not isinstance(alloc, AllocOp) or not is_in_buffer(statement, buffer, statement.indices, where, fails):
        return False
    if not all(_is_harmless(op, where, fails, plan) for op in _behind(statement)):
        return False
    if isinstance(statement, AccumulateOp) and not _is_set(statement, buffer, where, fails, plan):
        return False
    assert alloc.parent is not None
    own = Access(statement, UPDATE, buffer, statement.indices, where)
    for use in alloc.memref.uses:
        op = use.operation
        if not isinstance(op, LoadOp | StoreOp | AccumulateOp):
            return False
        if op is statement or isinstance(op, StoreOp):
            continue
        for domain in _domains(op, plan):
            read = Access(op, READ, buffer, op.indices, domain)
            system = pair_system(own, read, *alloc.parent.ops)
            system.require_not_negative(difference({}, system.linear(fails, "s")[0], -1))
            if system.has_solution():
                return False
    return True


def _domains(op: LoadOp | AccumulateOp, plan: Domains) -> Sequence[AffineList | None]:
    """The domains in which an element is read; those of statements as the plan leaves them."""
    if isinstance(op, AccumulateOp):
        return [plan.get(op, op.where)]
    guards = LoadGuards().of(op)
    if guards is None:
        return [None]
    changed = {use.operation for result in op.results for use in result.uses}.intersection(plan)
    return [None] if changed else [AffineList.of(*domain.constraints) for domain in guards]


def _behind(statement: Statement) -> list[Operation]:
    """What computes the value and the mask of a statement, in any block; not the buffer that it writes."""
    found: list[Operation] = []
    pending = [v.owner for v in statement.operands if not isinstance(v.type, MemRefType)]
    while pending:
        owner = pending.pop()
        if isinstance(owner, Operation) and owner not in found:
            found.append(owner)
            pending += [v.owner for v in owner.operands if not isinstance(v.type, MemRefType)]
    return found


def _is_harmless(op: Operation, where: AffineList, fails: AffineList, plan: Domains) -> bool:
    """Whether the operation can be done there: a load finds its element, nothing is undefined or stops the kernel."""
    may_be_wrong = isinstance(op, LoadOp | LookupOp) or (type(op) in DIVISIONS and may_be_undefined(op))
    if not may_be_wrong or LoadGuards().of(op) is None:
        return True  # a load that is needed everywhere is done there already
    if not isinstance(op, LoadOp) or not is_in_buffer(op, op.memref, op.indices, where, fails):
        return False
    return _is_set(op, op.memref, where, fails, plan)


def _is_set(
    op: LoadOp | AccumulateOp, buffer: SSAValue, where: AffineList, fails: AffineList, plan: Domains
) -> bool:
    """Whether the element that `op` reads there holds a value: of the caller, or of a store before."""
    root = root_of(buffer)
    if isinstance(root.owner, Block) and argument_attribute(root, ROLE) != OUT:
        return True
    users = dict.fromkeys(use.operation for use in buffer.uses)
    stores = [
        Access(user, WRITE, buffer, user.indices, plan.get(user, user.where))
        for user in users
        if isinstance(user, StoreOp)
    ]
    outside = AffineList.of(*where, fails.times(-1).add(-1))
    return is_stored_before(Access(op, UPDATE, buffer, op.indices, outside), stores)
