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
buffer that the statement would touch; what is loaded there must have been set. Refused where the loop has no such
constraint. Without a name in TVM, Halide, Exo and NNC, which leave it to the code generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects.affine import AffineList
from ...dialects.diagnostic import NestorError, fail
from ...dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ...lowering.domains import DIVISIONS, LoadGuards, is_computation, may_be_undefined
from .accesses import READ, UPDATE, Access
from .integer_sets import difference, is_in_buffer, pair_system
from .loops import find_loop, statements

Statement = StoreOp | AccumulateOp

Domains = dict[Statement, AffineList]


def why_not_unmask(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to leave out constraints of the statements in `loop`, None when there are some."""
    if _plan(loop):
        return None
    masked = next((op for op in statements(loop) if op.where is not None), None)
    if masked is None:
        return fail(loop, f'cannot unmask the loop "{loop.label}": no statement in it has a domain')
    return fail(
        loop,
        f'cannot unmask the loop "{loop.label}": what its statements would do outside of their domains is not '
        "proved to be of no consequence",
        notes=[(masked, "this statement, say")],
    )


def unmask(loop: ForOp) -> ForOp:
    """Leave out the constraints of domains in `loop` that guard nothing. Raises the diagnostic of `why_not_unmask`."""
    if (refusal := why_not_unmask(loop)) is not None:
        raise refusal
    for statement, where in _plan(loop).items():
        statement.set_access(statement.indices, where if len(where) else None)
    return loop


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
    """What computes the value of a statement, in its block."""
    found: list[Operation] = []
    pending = [value.owner for value in statement.operands]
    while pending:
        owner = pending.pop()
        if isinstance(owner, Operation) and owner.parent is statement.parent and owner not in found:
            found.append(owner)
            pending += [value.owner for value in owner.operands]
    return found


def _is_harmless(op: Operation, where: AffineList, fails: AffineList, plan: Domains) -> bool:
    """Whether the operation can be done there: a load finds its element, nothing is undefined."""
    if isinstance(op, LoadOp):
        return is_in_buffer(op, op.memref, op.indices, where, fails) and not _may_be_unset(op, plan)
    if isinstance(op, AllocOp):
        return True
    return is_computation(op) and not (type(op) in DIVISIONS and may_be_undefined(op))


def _may_be_unset(load: LoadOp, plan: Domains) -> bool:
    """Whether a load may find nothing: all that sets the buffer has a domain, or, of a single element, may never run."""
    alloc = load.memref.owner
    if not isinstance(alloc, AllocOp) or LoadGuards().of(load) is None:
        return False
    sets = [use.operation for use in alloc.memref.uses]
    return not any(isinstance(op, StoreOp) and _comes_first(op, load, plan) for op in sets)


def _comes_first(store: StoreOp, load: LoadOp, plan: Domains) -> bool:
    """Whether the store is done before the load in any case; with the domain that the plan leaves it."""
    if store.mask is not None or len(plan.get(store, store.where) or ()):
        return False
    current: Operation | None = store
    while current is not None:
        beside = current.parent.find_ancestor_op_in_block(load) if current.parent is not None else None
        if beside is not None:
            return current.is_before_in_block(beside)
        current = current.parent_op()
        may_be_empty = not isinstance(current, ForOp) or not current.constant_trip_count()
        if may_be_empty and not len(load.indices):
            return False
    return False


@dataclass(frozen=True, eq=False)
class NestUnmaskPass(ModulePass):
    """Leave out the conditions under which statements of a loop run, where nothing is made of what they do else."""

    name = "nest-unmask"

    loop: str
    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unmask(find_loop(op, self.loop, self.func))
