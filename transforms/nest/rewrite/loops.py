"""Finding, naming and rewriting loops: what the schedule primitives share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, AccumulateOp, ForOp, IndexOp, LoadOp, PrefetchOp, StoreOp
from ....dialects.walk import walk

INDEX = IndexType()


# ---- finding ----------------------------------------------------------------------------------------


def functions(module: ModuleOp, name: str | None = None) -> list[FuncOp]:
    """The functions with a body, or the one called `name` (a diagnostic when there is none)."""
    found = [op for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks]
    if name is None:
        return found
    chosen = [f for f in found if f.sym_name.data == name]
    if not chosen:
        names = ", ".join(f.sym_name.data for f in found) or "none"
        raise fail(module, f'unknown function "{name}"', hint=f"functions here: {names}")
    return chosen


def loops_in(op: Operation) -> list[ForOp]:
    """Every loop at or below `op`, in program order."""
    return [inner for inner in walk(op) if isinstance(inner, ForOp)]


def find_loop(module: ModuleOp, name: str, function: str | None = None) -> ForOp:
    """The loop called `name`; a diagnostic that lists the loops when it is missing or ambiguous."""
    candidates = functions(module, function)
    loops = [loop for f in candidates for loop in loops_in(f)]
    matching = [loop for loop in loops if loop.label == name]
    if len(matching) == 1:
        return matching[0]
    listing = ", ".join(loop.label for loop in loops) or "none"
    anchor = candidates[0] if len(candidates) == 1 else module
    if not matching:
        raise fail(anchor, f'unknown loop "{name}"', hint=f"loops here: {listing}")
    raise fail(
        matching[0],
        f'there are {len(matching)} loops called "{name}"',
        hint="say which function is meant with the option func, or give the loops distinct names",
        notes=[(loop, "another one is here") for loop in matching[1:]],
    )


def parent_loop(op: Operation) -> ForOp | None:
    """The innermost loop around `op`."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, ForOp):
        parent = parent.parent_op()
    return parent


def enclosing_loops(op: Operation) -> list[ForOp]:
    """The loops around `op` (without `op` itself), outermost first."""
    chain: list[ForOp] = []
    loop = parent_loop(op)
    while loop is not None:
        chain.append(loop)
        loop = parent_loop(loop)
    return chain[::-1]


def enclosing_function(op: Operation) -> Operation:
    """The function around `op`, or the outermost operation when there is none."""
    while not isinstance(op, FuncOp):
        parent = op.parent_op()
        if parent is None:
            return op
        op = parent
    return op


def is_inside(op: Operation, ancestor: Operation) -> bool:
    """Whether `op` is `ancestor` or below it."""
    current: Operation | None = op
    while current is not None and current is not ancestor:
        current = current.parent_op()
    return current is ancestor


def sole_inner_loop(loop: ForOp) -> ForOp | None:
    """The loop that is all of the body of `loop`, else None."""
    block = loop.body.block
    inner = block.first_op
    return inner if isinstance(inner, ForOp) and inner is block.last_op else None


def next_nest(op: Operation, step: Callable[[Operation], Operation | None]) -> ForOp | None:
    """The nest that `step` leads to from `op`, past operations without regions; None where another one comes first."""
    other = step(op)
    while other is not None and not isinstance(other, ForOp):
        if other.regions:
            return None
        other = step(other)
    return other


def perfect_band(loop: ForOp) -> list[ForOp]:
    """`loop` and the loops that are each all of the body of the one before."""
    band = [loop]
    while (inner := sole_inner_loop(band[-1])) is not None:
        band.append(inner)
    return band


def may_fail(loop: ForOp) -> Operation | None:
    """An operation below `loop` that can stop the kernel (a checked index, an assertion), if there is one."""
    return next((op for op in loop.walk() if is_check(op)), None)


def is_check(op: Operation) -> bool:
    """Whether `op` can stop the kernel."""
    return isinstance(op, IndexOp) or op.name == "cf.assert"


def refuse_marked(loop: ForOp, action: str) -> NestorError | None:
    """The refusal to transform a loop for which something was decided already; None when it is serial."""
    if loop.kind == "serial":
        return None
    kind = f"bound to {loop.kind}" if loop.kind in BIND_AXES else loop.kind
    return fail(
        loop,
        f'cannot {action} the loop "{loop.label}": it is {kind} already',
        hint=f"{action} the loop before marking it",
    )


def refuse_in_vector(loop: ForOp, action: str) -> NestorError | None:
    """The refusal of a mark inside of a vectorized loop, whose lanes run what is in it together."""
    for outer in enclosing_loops(loop):
        if outer.kind == "vectorized":
            return fail(
                loop,
                f'cannot {action} the loop "{loop.label}": it is inside of the vectorized loop "{outer.label}"',
                notes=[(outer, "that loop is here")],
            )
    return None


# ---- naming -----------------------------------------------------------------------------------------


def fresh_names(loop: ForOp, *wanted: str) -> list[str]:
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


def trip_count(loop: ForOp) -> AffineList | None:
    """The number of iterations as one affine expression per upper bound (the smallest counts).

    None when the loop has several lower bounds. Where the expression is negative the loop runs zero times.
    """
    return trips_between(loop.lower, loop.upper, loop.step_value)


def trips_between(lower: AffineList, upper: AffineList, step: int) -> AffineList | None:
    """`trip_count` of a loop with these bounds."""
    if len(lower) != 1:
        return None
    spread = AffineList((), ())
    for k in range(len(upper)):
        spread = spread.concat(upper[k].minus(lower[0]))
    if step != 1:
        spread = divide(spread, AffineBinaryOpKind.CeilDiv, step)
    return spread.canonical()


def divide(expressions: AffineList, kind: AffineBinaryOpKind, by: int) -> AffineList:
    """Every expression `mod`, `floordiv` or `ceildiv` the constant `by`."""
    divisor = AffineConstantExpr(by)
    return expressions.map_exprs(lambda e: AffineBinaryOpExpr(kind, e, divisor)).canonical()


def statements(op: Operation) -> Iterator[StoreOp | AccumulateOp]:
    """The stores and accumulates at or below `op`."""
    for inner in op.walk():
        if isinstance(inner, (StoreOp, AccumulateOp)):
            yield inner


def add_domain(op: StoreOp | AccumulateOp, constraints: AffineList) -> None:
    """Restrict a statement to where every one of `constraints` is also >= 0."""
    where = op.where
    combined = constraints if where is None else where.concat(constraints)
    op.set_access(op.indices, combined.canonical())
