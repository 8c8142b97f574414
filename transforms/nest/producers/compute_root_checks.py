"""Whether nest-compute-root may compute a buffer as a whole: every element of a box, each the same from the same things."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import enclosing_loops, is_inside
from ....analysis.nest.sets.accesses import READ, Access, accesses_of, is_private, may_overlap
from ....analysis.nest.sets.coverage import Coverage
from ....analysis.nest.sets.integer_sets import System, difference
from ....analysis.nest.sets.producers import (
    Uses,
    common_loops,
    describe_instance,
    require_domain,
    require_same_element,
    runs_before,
)
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, ForOp, StoreOp

Statement = StoreOp | AccumulateOp


def refusal_of(
    loop: ForOp, reason: str, notes: Sequence[tuple[Operation, str]] = (), hint: str | None = None
) -> NestorError:
    return fail(loop, f'cannot compute the loop "{loop.label}" at the root: {reason}', hint=hint, notes=notes)


@dataclass(frozen=True, eq=False)
class Move:
    """The producers of a buffer in one body, the loops around them, and their copies before these loops."""

    loop: ForOp
    uses: Uses
    producers: list[Operation]
    chain: list[ForOp]
    copy_of: dict[Operation, Operation]
    value_of: dict[SSAValue, SSAValue]

    def own(self, op: Operation) -> list[ForOp]:
        """The loops around `op` that are the producers'."""
        return [around for around in enclosing_loops(op) if around not in self.chain]


def check_covered(move: Move) -> None:
    """Refuse when something would be computed that no iteration computes."""
    import islpy

    for op in move.uses.writes:
        copy = move.copy_of[op]
        system = System(move.chain[0], *(move.copy_of[p] for p in move.producers))
        describe_instance(system, copy, "s")
        every = system.solution_set()
        size = every.dim(islpy.dim_type.set)
        describe_instance(system, op, "s")
        for inner in move.own(op):
            system.require_zero(
                difference(system.variable(inner.iv, "s"), system.variable(move.value_of[inner.iv], "s"))
            )
        some = system.solution_set()
        some = some.project_out(islpy.dim_type.set, size, some.dim(islpy.dim_type.set) - size)
        if not every.subtract(some).is_empty():
            raise refusal_of(
                move.loop,
                "all iterations together may not compute every element of a box",
                [(op, "this statement writes them")],
            )


def check_complete(move: Move) -> None:
    """Refuse when an iteration does less to an element than all of them together."""
    variables = {outer.iv for outer in move.chain}
    for other in move.uses.writes:
        conditions = [c for c in _conditions(move, other) if variables & set(c.operands)]
        for op in move.uses.writes if conditions else ():
            for condition in conditions:
                system = System(move.chain[0], *(move.copy_of[p] for p in move.producers))
                copy = move.copy_of[other]
                assert isinstance(copy, (StoreOp, AccumulateOp))
                describe_instance(system, op, "s")
                describe_instance(system, copy, "s")
                for access in (*accesses_of(op), *accesses_of(copy)):
                    require_domain(system, access, "s")
                require_same_element(system, accesses_of(op)[0], op.indices, accesses_of(copy)[0], ("s", "s"))
                moved = condition.substitute_all(move.value_of)
                system.require_not_negative(difference({}, system.linear(moved, "s")[0], -1))
                if system.has_solution():
                    raise refusal_of(
                        move.loop,
                        "an iteration may compute another value of an element than a later one",
                        [(op, "this statement writes it"), (other, "it may be written here as well")],
                    )


def _conditions(move: Move, op: Statement) -> Iterator[AffineList]:
    for inner in move.own(op):
        variable = AffineList.of(inner.iv)
        for k in range(len(inner.lower)):
            yield variable.minus(inner.lower[k])
        for k in range(len(inner.upper)):
            yield inner.upper[k].minus(variable).add(-1)


def check_starts_anew(move: Move) -> None:
    """Refuse when an iteration goes on with elements of the one before."""
    stores = [a for op in move.uses.writes if isinstance(op, StoreOp) for a in accesses_of(op)]
    coverage = Coverage(move.chain[-1])
    own = [op for op in move.uses.loads if any(is_inside(op, p) for p in move.producers)]
    for op in (*(op for op in move.uses.writes if isinstance(op, AccumulateOp)), *own):
        for access in accesses_of(op):
            if access.buffer is move.uses.alloc.memref and not coverage.written_before(access, stores):
                raise refusal_of(
                    move.loop,
                    "an element may be computed from its value of the iteration before",
                    [(op, "this operation uses the element before it is written")],
                )


def check_inputs(move: Move) -> None:
    """Refuse when what the producers read may be written before they read it."""
    scope = move.chain[0]
    order = {op: k for k, op in enumerate(scope.walk())}
    inside = [op for op in scope.walk() if not any(is_inside(op, p) for p in move.producers)]
    writes = [a for op in inside for a in accesses_of(op) if a.writes]
    for read in (a for p in move.producers for op in p.walk() for a in accesses_of(op) if a.kind == READ):
        if read.buffer is move.uses.alloc.memref or is_private(read, move.loop):
            continue
        for write in writes:
            if may_overlap(read, write) and _comes_before(move, write, read, order):
                raise refusal_of(
                    move.loop,
                    "an element that it is computed from may be written by the loops around it",
                    [(read.op, "this load reads the element"), (write.op, "this operation may write it")],
                )


def _comes_before(move: Move, write: Access, read: Access, order: dict[Operation, int]) -> bool:
    scope = move.chain[0]
    system = System(scope)
    describe_instance(system, read.op, "s")
    describe_instance(system, write.op, "t")
    require_domain(system, write, "t")
    require_same_element(system, read, read.indices, write, ("s", "t"))
    common = common_loops(write.op, read.op, scope)
    before = runs_before(
        common,
        lambda outer: system.name(outer.iv, "t"),
        lambda outer: system.name(outer.iv, "s"),
        order[write.op] < order[read.op],
    )
    system.require(before)
    return system.has_solution()
