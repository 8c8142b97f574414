"""Buffers between producers and consumers: who writes and reads them, and what changes in between.

Shared by the primitives that move or repeat a computation (`compute_inline.py`, `compute_at.py`,
`reverse_compute_at.py`). Operations are placed by the operation around them in the block of the buffer's
allocation, their "top": the buffer is a new one in each run of that block, so that all that happens to an
element happens between its tops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.affine import AffineList, constant_of, replace_dims
from ....dialects.diagnostic import fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, IfOp, LoadOp, StoreOp
from ..loop_structure import enclosing_loops, is_inside
from .accesses import Access, accesses_of
from .domains import LoadGuards
from .integer_sets import System

# ---- finding ----------------------------------------------------------------------------------------


def allocation_of(buffer: AllocOp | SSAValue, action: str) -> AllocOp:
    """The allocation of a buffer that is given as such or by its value; refuses any other buffer."""
    if isinstance(buffer, AllocOp):
        return buffer
    owner = buffer.owner
    if isinstance(owner, AllocOp):
        return owner
    place = owner.parent_op() if isinstance(owner, Block) else owner
    raise fail(
        place,
        f'cannot {action} the buffer "{buffer.name_hint or "?"}": it is not made by a nest.alloc of this function',
    )


@dataclass(frozen=True, eq=False)
class Uses:
    """The operations on a buffer, each kind in program order."""

    alloc: AllocOp
    loads: list[LoadOp]
    writes: list[StoreOp | AccumulateOp]
    extents: list[memref.DimOp]

    @property
    def block(self) -> Block:
        """The block that makes the buffer."""
        assert self.alloc.parent is not None
        return self.alloc.parent

    def top(self, op: Operation) -> Operation:
        """The operation of the buffer's block that is `op` or around it."""
        return top_in(self.block, op)


def uses_of(alloc: AllocOp, action: str) -> Uses:
    """Every use of the buffer; refuses one that is seen through a view or by an operation that is not known."""
    users = {use.operation for use in alloc.memref.uses}
    block = alloc.parent
    assert block is not None
    ordered = [op for op in block.walk() if op in users]
    uses = Uses(alloc, [], [], [])
    for op in ordered:
        if isinstance(op, LoadOp):
            uses.loads.append(op)
        elif isinstance(op, (StoreOp, AccumulateOp)):
            uses.writes.append(op)
        elif isinstance(op, memref.DimOp) and constant_of(op.index) is not None:
            uses.extents.append(op)
        else:
            raise fail(
                alloc,
                f'cannot {action} the buffer "{alloc.label.data}": it is used by an operation other than loads and '
                "statements",
                notes=[(op, "this operation uses it")],
            )
    return uses


def top_in(block: Block, op: Operation) -> Operation:
    """The operation of `block` that is `op` or around it."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None, "the operation is not inside the block"
        op = parent
    return op


def odd_ancestor(op: Operation, outside: Operation) -> Operation | None:
    """An operation around `op`, up to `outside` itself, that is neither a `nest.for` nor a `nest.if`."""
    while op is not outside:
        parent = op.parent_op()
        assert parent is not None
        op = parent
        if not isinstance(op, (ForOp, IfOp)):
            return op
    return None


def substitute(expressions: AffineList, by: Mapping[SSAValue, AffineList]) -> AffineList:
    """Replace all keys of `by` at once (the expressions put in may contain keys again)."""
    if not any(value in by for value in expressions.operands):
        return expressions
    merged = AffineList((), ())
    for value in expressions.operands:
        merged = merged.concat(by.get(value) or AffineList.of(value))
    exprs = tuple(replace_dims(e, merged.exprs) for e in expressions.exprs)
    return AffineList(exprs, merged.operands).canonical()


# ---- conditions on instances ------------------------------------------------------------------------


def describe_instance(system: System, op: Operation, instance: str) -> None:
    """Require what holds where `op` runs: all loops around it, and the branches inside the system's scope."""
    for loop in enclosing_loops(op):
        system.name(loop.iv, instance)
    system.require_reached(op, instance)


def require_needed(system: System, load: LoadOp, instance: str) -> None:
    """Require that some statement which runs needs the value of `load`."""
    domains = LoadGuards().of(load)
    if domains is None:
        return
    cases = []
    for domain in domains:
        terms = [f"{text} >= 0" for c in domain.constraints for text in system.expressions(c, instance)]
        cases.append(f"({' and '.join(terms) or 'true'})")
    system.require(f"({' or '.join(cases)})")


Moment = Callable[[ForOp], str]
"""Gives, for a loop around an operation, its iteration in an instance of the operation, as isl reads it."""


def is_ordered(loop: ForOp) -> bool:
    """Whether the iterations of a loop run one after the other."""
    return loop.kind in ("serial", "unrolled")


def runs_before(common: Sequence[ForOp], first: Moment, second: Moment, in_text: bool) -> str:
    """The condition that an instance at `first` may run before one at `second`.

    `common` are the loops around both, outermost first; `in_text` says whether the first operation is before
    the second. Iterations of a loop that is marked run in any order.
    """
    cases = []
    equal: list[str] = []
    for loop in common:
        a, b = first(loop), second(loop)
        relation = "<" if is_ordered(loop) else "!="
        cases.append(" and ".join([*equal, f"{a} {relation} {b}"]))
        equal.append(f"{a} = {b}")
    if in_text:
        cases.append(" and ".join(equal) or "true")
    return "(" + " or ".join(f"({case})" for case in cases) + ")" if cases else "1 = 0"


def common_loops(first: Operation, second: Operation, inside: Operation) -> list[ForOp]:
    """The loops around both operations that are `inside` or below it, outermost first."""
    others = enclosing_loops(second)
    return [loop for loop in enclosing_loops(first) if loop in others and is_inside(loop, inside)]


def require_same_element(
    system: System, first: Access, values: AffineList | None, second: Access, instances: tuple[str, str]
) -> None:
    """Require that two accesses touch one element; `values` are the indices of the first.

    Nothing is required where the buffers are different views, or an access is not known.
    """
    if values is None or second.indices is None or first.buffer is not second.buffer:
        return
    pairs = zip(
        system.expressions(values, instances[0]),
        system.expressions(second.indices, instances[1]),
        strict=True,
    )
    for a, b in pairs:
        system.require(f"{a} = {b}")


def require_domain(system: System, access: Access, instance: str) -> None:
    """Require the affine domain of a statement."""
    if access.where is not None:
        for constraint in system.expressions(access.where, instance):
            system.require(f"{constraint} >= 0")


def writes_in(block: Block) -> list[Access]:
    """Every access below `block` that may write, in program order."""
    return [access for op in block.walk() for access in accesses_of(op) if access.writes]
