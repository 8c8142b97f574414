"""Domains of nest statements, and the domains under which a load is needed at all.

A statement runs where its constraints and its mask hold. A load that feeds only such statements must not
run elsewhere: its address may be outside the buffer. `LoadGuards` answers, for a load, under which
domains it is needed; the lowerings guard the load with them and the interpreter traps on the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import Pure

from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, PrefetchOp, StoreOp, YieldOp

DIVISIONS: frozenset[type[Operation]] = frozenset(
    (
        arith.DivSIOp,
        arith.DivUIOp,
        arith.RemSIOp,
        arith.RemUIOp,
        arith.FloorDivSIOp,
        arith.CeilDivSIOp,
        arith.CeilDivUIOp,
    )
)
"""Integer divisions: undefined for some operands, so that they must not run where their operands are unknown."""


def is_computation(op: Operation) -> bool:
    """Whether `op` only computes values, and need not run where no one needs them."""
    return not op.regions and (op.has_trait(Pure) or isinstance(op, arith.ExtSIOp) or type(op) in DIVISIONS)


def may_be_undefined(division: Operation) -> bool:
    """Whether the divisor may be 0 or, for the smallest dividend, -1."""
    owner = division.operands[1].owner
    return not isinstance(owner, arith.ConstantOp) or owner.value.value.data in (0, -1)  # pyright: ignore


@dataclass(frozen=True)
class Domain:
    """Where a statement runs: every expression of `constraints` is >= 0, and `mask` (an i1) is true."""

    constraints: tuple[AffineList, ...] = ()
    mask: SSAValue | None = None

    @property
    def is_everywhere(self) -> bool:
        return not self.constraints and self.mask is None


EVERYWHERE = Domain()


def domain_of(statement: StoreOp | AccumulateOp) -> Domain:
    """The domain of a store or an accumulate, constraints that hold by themselves left out."""
    where = statement.where
    if where is None:
        return EVERYWHERE if statement.mask is None else Domain((), statement.mask)
    constraints = []
    for k in range(len(where)):
        constraint = where[k]
        constant = constraint.constants()
        if constant is None or constant[0] < 0:
            constraints.append(constraint)
    return Domain(tuple(constraints), statement.mask)


def within_bound(loop: ForOp, k: int) -> AffineList:
    """The constraint that the variable of `loop` is below its upper bound `k`."""
    return loop.upper[k].minus(AffineList.of(loop.iv)).add(-1).canonical()


class LoadGuards:
    """The domains under which loads and scalar operations of a function are needed; found on first use."""

    def __init__(self) -> None:
        self._domains: dict[Operation, frozenset[Domain]] = {}

    def of(self, op: Operation) -> tuple[Domain, ...] | None:
        """The domains, any of which needs the load or pure operation `op`; None: it is needed everywhere.

        Conditions that are not yet known where `op` stands are left out.
        """
        needed: list[Domain] = []
        for domain in self._needed_by(op):
            visible = _visible_at(op, domain)
            if visible.is_everywhere:
                return None
            if visible not in needed:
                needed.append(visible)
        return tuple(needed) or None

    def is_dead(self, op: Operation) -> bool:
        """Whether `op` is a load or a computation that nothing needs."""
        if not op.results or not (isinstance(op, LoadOp) or is_computation(op)):
            return False
        return not self._needed_by(op)

    def common(self, loop: ForOp) -> tuple[AffineList, ...]:
        """The constraints known before `loop` that all its statements share; none if it has other effects."""
        shared: tuple[AffineList, ...] | None = None
        for op in loop.body.walk():
            if isinstance(op, StoreOp | AccumulateOp):
                domain = _visible_at(loop, domain_of(op)).constraints
                shared = domain if shared is None else tuple(c for c in shared if c in domain)
            elif not isinstance(op, ForOp | LoadOp | PrefetchOp | YieldOp | AllocOp) and not is_computation(
                op
            ):
                return ()
        return shared or ()

    def _needed_by(self, op: Operation) -> frozenset[Domain]:
        # Users first, on a stack of our own: a chain of operations may be longer than Python's.
        pending = [op]
        while pending:
            last = pending[-1]
            users = [use.operation for result in last.results for use in result.uses]
            unknown = [u for u in users if u not in self._domains and _passes_on(u)]
            if unknown:
                pending.extend(unknown)
                continue
            pending.pop()
            if last not in self._domains:
                self._domains[last] = frozenset().union(*map(self._of_user, users))
        return self._domains[op]

    def _of_user(self, user: Operation) -> frozenset[Domain]:
        if isinstance(user, StoreOp | AccumulateOp):
            return frozenset((domain_of(user),))
        owner = user.parent_op()
        if isinstance(owner, AccumulateOp):
            return frozenset((domain_of(owner),))
        return self._domains[user] if _passes_on(user) else frozenset((EVERYWHERE,))


def _passes_on(user: Operation) -> bool:
    """Whether an operation is needed where its own users are."""
    if isinstance(user, StoreOp | AccumulateOp) or isinstance(user.parent_op(), AccumulateOp):
        return False
    return isinstance(user, LoadOp) or (bool(user.results) and is_computation(user))


def _visible_at(op: Operation, domain: Domain) -> Domain:
    constraints = tuple(c for c in domain.constraints if all(_is_defined_before(v, op) for v in c.operands))
    mask = domain.mask if domain.mask is not None and _is_defined_before(domain.mask, op) else None
    return Domain(constraints, mask)


def _is_defined_before(value: SSAValue, op: Operation) -> bool:
    """Whether `value` dominates `op`; both are in structured control flow."""
    owner = value.owner
    home = owner if isinstance(owner, Block) else owner.parent
    block, inner = op.parent, op
    while block is not None and block is not home:
        parent = block.parent_op()
        if parent is None:
            return False
        block, inner = parent.parent, parent
    if block is None:
        return False
    return isinstance(owner, Block) or owner.is_before_in_block(inner)
