"""Runs: consecutive operations of a block that are needed in one domain, to be lowered into one branch.

%a = nest.load %x[%i] : memref<?xf32>                                 run 1, where %i < %m
nest.store %a, %y[%i] where (%i < %m) : memref<?xf32>                 run 1
nest.store %c, %z[%i] : memref<?xf32>                                 run 2, needed everywhere
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.nest.kernels.lane_reductions import holds_reduction, reduction_loop
from ...analysis.nest.sets.domains import Domain, LoadGuards, domain_of, is_computation
from ...dialects.affine import AffineList
from ...dialects.nest import AccumulateOp, AllocOp, BarrierOp, ForOp, LoadOp, PrefetchOp, StoreOp
from ...dialects.walk import walk

Run: TypeAlias = tuple[tuple[AffineList, ...], list[Operation]]
"""Constraints (none: needed everywhere), and the operations that are needed only where they hold."""


def domain_runs(block: Block, guards: LoadGuards, assumed: Collection[AffineList]) -> list[Run]:
    """The operations of `block` in runs; constraints in `assumed` hold already.

    A computation (or a prefetch) needed everywhere that uses nothing of the run it interrupts moves before that run;
    a computation or a load that nothing needs is left out.
    """
    runs: list[Run] = [((), [])]
    inside: set[SSAValue] = set()
    for op in block.ops:
        if guards.is_dead(op):
            continue
        constraints = tuple(c for c in _constraints(op, guards) if c not in assumed)
        current = runs[-1][0]
        is_free = is_computation(op) or isinstance(op, AllocOp | PrefetchOp)
        if current and not constraints and is_free and inside.isdisjoint(op.operands):
            runs[-2][1].append(op)
            continue
        if frozenset(current) != frozenset(constraints):
            if current:
                runs.append(((), []))
            if constraints:
                runs.append((constraints, []))
            inside = set()
        runs[-1][1].append(op)
        inside.update(op.results)
    return runs


def escaping_values(ops: Sequence[Operation], block: Block, guards: LoadGuards) -> list[SSAValue]:
    """The results of `ops` (of `block`) that other operations need."""
    members = set(ops)
    return [r for op in ops for r in op.results if _is_needed_outside(r, members, block, guards)]


def _constraints(op: Operation, guards: LoadGuards) -> tuple[AffineList, ...]:
    """The constraints under which `op` is needed at all."""
    if isinstance(op, StoreOp | AccumulateOp):
        return () if reduction_loop(op) is not None else domain_of(op).constraints
    if isinstance(op, ForOp):
        return () if _holds_barrier(op) or holds_reduction(op) else guards.common(op)
    if isinstance(op, LoadOp) or (is_computation(op) and not _gives_buffer(op)):
        domains = guards.of(op)
        return domains[0].constraints if domains is not None and _agree(domains) else ()
    return ()


def _holds_barrier(loop: ForOp) -> bool:
    """Whether all threads of a block run the loop, to meet at a barrier, whatever they do there."""
    return any(isinstance(op, BarrierOp) for op in walk(loop))


def _agree(domains: Sequence[Domain]) -> bool:
    return all(frozenset(d.constraints) == frozenset(domains[0].constraints) for d in domains)


def _gives_buffer(op: Operation) -> bool:
    return any(isinstance(r.type, MemRefType) for r in op.results)


def _is_needed_outside(value: SSAValue, members: set[Operation], block: Block, guards: LoadGuards) -> bool:
    for use in value.uses:
        op: Operation | None = use.operation
        while op is not None and op.parent is not block:
            op = op.parent_op()
        if op not in members and not (op is not None and guards.is_dead(op)):
            return True
    return False
