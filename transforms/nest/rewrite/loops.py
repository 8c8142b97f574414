"""Naming and rewriting loops: what the schedule primitives share."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)
from xdsl.traits import is_side_effect_free

from ....analysis.nest.loop_structure import enclosing_function, loops_in
from ....analysis.nest.sets.loop_bounds import largest, smallest
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, ForOp, IndexOp, LoadOp, PrefetchOp, StoreOp
from ....dialects.nest.common import INDEX

# ---- naming -----------------------------------------------------------------------------------------


def fresh_names(loop: Operation, *wanted: str) -> list[str]:
    """Names that no loop of the function has: `wanted`, or with `.1`, `.2` ... where one is taken."""
    taken = {other.label for other in loops_in(enclosing_function(loop))}
    names = []
    for name in wanted:
        candidate, k = name, 1
        while candidate in taken:
            candidate, k = f"{name}.{k}", k + 1
        taken.add(candidate)
        names.append(candidate)
    return names


def rename_copies(copy: ForOp) -> None:
    """Give the loops inside a cloned loop names of their own."""
    for inner in loops_in(copy)[1:]:
        inner.set_label(fresh_names(copy, inner.label)[0])


# ---- rewriting --------------------------------------------------------------------------------------


def replace_index(value: SSAValue, by: AffineList) -> None:
    """Replace every use of the index `value` by the expression `by`.

    Affine positions take the expression; any other use takes its value, computed where `value` was defined.
    The expression may contain `value` itself (a loop variable that got a new meaning).
    """
    uses = [(use.operation, use.index) for use in value.uses]
    for op in dict.fromkeys(op for op, _ in uses):
        rewrite_indices(op, lambda expressions: expressions.substitute(value, by))
    others = [(op, k) for op, k in uses if type(op) not in _SUBSTITUTE]
    if not others:
        return
    block, anchor = _definition_point(value)
    computed = materialise(by, block, anchor, value.name_hint)
    for op, k in others:
        op.operands[k] = computed


def rewrite_indices(op: Operation, change: Callable[[AffineList], AffineList]) -> None:
    """Apply `change` to every affine list that `op` holds; nothing for operations without any."""
    rewrite = _SUBSTITUTE.get(type(op))
    if rewrite is not None:
        rewrite(op, change)


def _change_for(op: ForOp, change: Callable[[AffineList], AffineList]) -> None:
    op.set_bounds(change(op.lower), change(op.upper))


def _change_load(op: LoadOp | PrefetchOp, change: Callable[[AffineList], AffineList]) -> None:
    op.set_indices(change(op.indices))


def _change_statement(op: StoreOp | AccumulateOp, change: Callable[[AffineList], AffineList]) -> None:
    where = op.where
    op.set_access(change(op.indices), change(where) if where is not None else None)


def _change_index(op: IndexOp, change: Callable[[AffineList], AffineList]) -> None:
    op.set_index(change(op.index), change(op.extent))


_SUBSTITUTE: dict[type[Operation], Callable] = {
    ForOp: _change_for,
    LoadOp: _change_load,
    PrefetchOp: _change_load,
    StoreOp: _change_statement,
    AccumulateOp: _change_statement,
    IndexOp: _change_index,
}


def _definition_point(value: SSAValue) -> tuple[Block, Operation | None]:
    owner = value.owner
    if isinstance(owner, Block):
        return owner, owner.first_op
    assert isinstance(owner, Operation) and owner.parent is not None
    return owner.parent, owner.next_op


def materialise(
    expression: AffineList, block: Block, before: Operation | None, hint: str | None = None
) -> SSAValue:
    """Compute a one-expression list with `arith` operations inserted in `block` before `before`."""
    location = before.location if before is not None else None

    def insert(op: Operation) -> SSAValue:
        if location is not None:
            op.location = location
        if before is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, before)
        return op.results[0]

    def build(expr: AffineExpr) -> SSAValue:
        if isinstance(expr, AffineDimExpr):
            return expression.operands[expr.position]
        if isinstance(expr, AffineConstantExpr):
            return insert(arith.ConstantOp(IntegerAttr(expr.value, INDEX)))
        assert isinstance(expr, AffineBinaryOpExpr)
        lhs, rhs = build(expr.lhs), build(expr.rhs)
        if expr.kind is not AffineBinaryOpKind.Mod:
            return insert(_ARITH[expr.kind](lhs, rhs))
        # arith has no Euclidean remainder: a - floordiv(a, b) * b
        quotient = insert(arith.FloorDivSIOp(lhs, rhs))
        return insert(arith.SubiOp(lhs, insert(arith.MuliOp(quotient, rhs))))

    result = build(expression.exprs[0])
    if hint is not None and result.name_hint is None and result not in expression.operands:
        result.name_hint = hint
    return result


_ARITH = {
    AffineBinaryOpKind.Add: arith.AddiOp,
    AffineBinaryOpKind.Mul: arith.MuliOp,
    AffineBinaryOpKind.FloorDiv: arith.FloorDivSIOp,
    AffineBinaryOpKind.CeilDiv: arith.CeilDivSIOp,
}


def add_domain(op: StoreOp | AccumulateOp, constraints: AffineList) -> None:
    """Restrict a statement to where every one of `constraints` is also >= 0."""
    if not len(constraints):
        return
    where = op.where
    combined = constraints if where is None else where.concat(constraints)
    op.set_access(op.indices, combined.canonical())


def simplify_bounds(loop: ForOp) -> None:
    """Leave out the bounds of `loop` that never count, by what is known where it stands."""
    loop.set_bounds(largest(loop.lower, loop), smallest(loop.upper, loop))


def erase_with_inputs(op: Operation) -> None:
    """Erase an operation, and the computations that only it needed."""
    inputs = [value.owner for value in op.operands]
    op.detach()
    op.erase()
    for owner in dict.fromkeys(inputs):
        if not isinstance(owner, Operation) or owner.parent is None or any(r.uses for r in owner.results):
            continue
        if isinstance(owner, LoadOp) or is_side_effect_free(owner):
            erase_with_inputs(owner)
