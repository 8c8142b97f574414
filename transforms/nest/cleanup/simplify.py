"""nest-simplify: what is known of a function anyway is not said, asked or looped over in it.

    nest.for "o" %o = 0 to 4 {
      nest.for "v" %v = 0 to min(8, 32 - 8 * %o) {
        nest.for "u" %u = 3 to 4 {
          nest.store "y" %x, %y[(8 * %o + %v) floordiv 8, %u] where (%o < 4)
        }
      }
    }
    nest.for "t" %t = 0 to 0 { ... }

becomes

    nest.for "o" %o = 0 to 4 {
      nest.for "v" %v = 0 to 8 {
        nest.store "y" %x, %y[%o, 3]
      }
    }

Bounds of a min or max that never count, constraints of domains and masks that always hold, statements and loops that
never run, branches that are always or never taken, loops of one iteration, and divisions whose quotient is 0 or 1
wherever they stand: redundant predicates are removed with all the rest. What holds is asked of isl: the bounds of the
loops around, the conditions of the branches around, that extents are not negative. A constraint goes only where it
holds as early as it is known, for loads before the statement are guarded by it as well, and a mask where it is always
set when it is computed. Loops bound to an axis of a GPU stay as they are, and so does the constant end that an
unrolled or vectorized loop needs. It refuses nothing. `simplify` in TVM, Exo and NNC; Halide always does it.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr

from ....analysis.nest.loop_structure import is_inside, loops_in, statements
from ....analysis.nest.sets.integer_sets import holds_at, reached
from ....analysis.nest.values.scalar_facts import formula
from ....dialects.affine import AffineList, combine
from ....dialects.nest import BIND_AXES, AccumulateOp, ForOp, IfOp, IndexOp, LoadOp, PrefetchOp, StoreOp
from ....dialects.nest.common import segments
from ..loops.normalise import remove_unit_loop, why_not_remove_unit_loop
from ..rewrite.loops import erase_with_inputs, rewrite_indices


def simplify(scope: Operation) -> None:
    """Simplify a function, or what is at and below another operation, until nothing is left to do."""
    changed = True
    while changed:
        changed = _simplify_once(scope)


def _simplify_once(scope: Operation) -> bool:
    changed = False
    for op in [op for op in scope.walk() if _has_expressions(op)]:
        changed |= _simplify_divisions(op)
    for loop in loops_in(scope):
        changed |= _simplify_loop_bounds(loop)
    for statement in list(statements(scope)):
        changed |= _simplify_domain(statement) or _settle_mask(statement)
    for branch in [op for op in scope.walk() if isinstance(op, IfOp)]:
        if is_inside(branch, scope):
            changed |= _settle_branch(branch)
    for loop in loops_in(scope)[::-1]:
        if loop is not scope:
            changed |= _remove_loop(loop)
    return changed


# ---- what is known ----------------------------------------------------------------------------------


# ---- bounds -----------------------------------------------------------------------------------------


def _simplify_loop_bounds(loop: ForOp) -> bool:
    if loop.kind in BIND_AXES:
        return False
    keep_constants = loop.kind not in ("serial", "parallel")
    lower = _largest(loop, loop.lower, keep_constants)
    upper = _largest(loop, loop.upper.times(-1), keep_constants).times(-1)
    if len(lower) == len(loop.lower) and len(upper) == len(loop.upper):
        return False
    loop.set_bounds(lower.canonical(), upper.canonical())
    return True


def _largest(loop: ForOp, expressions: AffineList, keep_constants: bool) -> AffineList:
    """The expressions of a max without those that are never the only largest one."""
    if len(expressions) == 1:
        return expressions
    kept: list[AffineList] = []
    for k in range(len(expressions)):
        one = expressions[k]
        if any(_replaces(loop, other, one, keep_constants) for other in kept):
            continue
        kept = [other for other in kept if not _replaces(loop, one, other, keep_constants)]
        kept.append(one)
    return AffineList.of(*kept)


def _replaces(loop: ForOp, one: AffineList, other: AffineList, keep_constants: bool) -> bool:
    if keep_constants and other.constants() is not None and one.constants() is None:
        return False
    return holds_at(loop, one.minus(other))


def _remove_loop(loop: ForOp) -> bool:
    """Remove a loop that never runs, and put the body of one that runs once in its place."""
    if loop.kind in BIND_AXES:
        return False
    if _never_runs(loop):
        loop.detach()
        loop.erase()
        return True
    if why_not_remove_unit_loop(loop) is not None:
        return False
    remove_unit_loop(loop)
    return True


def _never_runs(loop: ForOp) -> bool:
    lower, upper = loop.lower, loop.upper
    if (count := loop.constant_trip_count()) is not None:
        return count == 0
    pairs = ((lower[j], upper[k]) for j in range(len(lower)) for k in range(len(upper)))
    return any(holds_at(loop, low.minus(high)) for low, high in pairs)


# ---- domains and branches ---------------------------------------------------------------------------


def _simplify_domain(statement: StoreOp | AccumulateOp) -> bool:
    where = statement.where
    if where is None:
        return False
    left: list[AffineList] = []
    for k in range(len(where)):
        constraint = where[k]
        if holds_at(statement, constraint.times(-1).add(-1)):
            erase_with_inputs(statement)
            return True
        if not holds_at(known_from(constraint, statement), constraint):
            left.append(constraint)
    if len(left) == len(where):
        return False
    statement.set_access(statement.indices, AffineList.of(*left).canonical() if left else None)
    return True


def _settle_mask(statement: StoreOp | AccumulateOp) -> bool:
    """Drop a mask that is always set, and the statement of one that never is."""
    mask = statement.mask
    if mask is None or isinstance(mask.owner, Block):
        return False
    if not _can_be(mask, True, statement, statement.where):
        erase_with_inputs(statement)
        return True
    if _can_be(mask, False, mask.owner):
        return False
    values = list(statement.operands)
    sizes = statement.properties["operandSegmentSizes"]
    assert isinstance(sizes, DenseArrayBase) and values[-1] is mask
    statement.operands = values[:-1]
    statement.properties["operandSegmentSizes"] = segments(*sizes.get_values()[:-1], 0)
    if not mask.uses:
        erase_with_inputs(mask.owner)
    return True


def _can_be(condition: SSAValue, holds: bool, at: Operation, where: AffineList | None = None) -> bool:
    """Whether a condition may be true (or false) where `at` runs, in the domain `where`."""
    system = reached(at)
    if where is not None:
        for terms in system.linear(where, "s"):
            system.require_not_negative(terms)
    system.require(formula(condition, holds, lambda v: system.name(v, "s")))
    return system.has_solution()


def known_from(expressions: AffineList, op: Operation) -> Operation:
    """The operation around `op` (or itself) in the innermost block that defines an operand: from there on all are known.

    What holds where that operation is reached holds wherever the expressions are asked, by `op` or before it.
    """
    homes = {v.owner if isinstance(v.owner, Block) else v.owner.parent for v in expressions.operands}
    current = op
    while current.parent not in homes:
        parent = current.parent_op()
        if parent is None or isinstance(parent, FuncOp):
            break
        current = parent
    return current


def _settle_branch(branch: IfOp) -> bool:
    """Replace a branch whose condition is known by what is taken of it."""
    for holds in (True, False):
        if not _can_be(branch.condition, not holds, branch):
            _take(branch, branch.then_region if holds else branch.else_region)
            return True
    return False


def _take(branch: IfOp, taken: Region | None) -> None:
    assert branch.parent is not None
    for op in list(taken.block.ops) if taken is not None else ():
        op.detach()
        branch.parent.insert_op_before(op, branch)
    erase_with_inputs(branch)


# ---- divisions --------------------------------------------------------------------------------------


def _has_expressions(op: Operation) -> bool:
    return isinstance(op, (ForOp, LoadOp, StoreOp, AccumulateOp, IndexOp, PrefetchOp))


def _simplify_divisions(op: Operation) -> bool:
    if isinstance(op, ForOp) and op.kind in BIND_AXES:
        return False
    changed = False

    def change(expressions: AffineList) -> AffineList:
        nonlocal changed
        if not any(_divisions(e) for e in expressions.exprs):
            return expressions
        parts = [expressions[k] for k in range(len(expressions))]
        new = AffineList.of(*(_without_divisions(part, known_from(part, op)) for part in parts)).canonical()
        if new == expressions.canonical():
            return expressions
        changed = True
        return new

    rewrite_indices(op, change)
    return changed


def _divisions(expr: AffineExpr) -> list[AffineBinaryOpExpr]:
    if not isinstance(expr, AffineBinaryOpExpr):
        return []
    found = [*_divisions(expr.lhs), *_divisions(expr.rhs)]
    return [*found, expr] if expr.kind in _ROUNDED else found


def _without_divisions(expression: AffineList, at: Operation) -> AffineList:
    """One expression with the quotients and remainders that are known where `at` is reached."""

    def rebuilt(expr: AffineExpr) -> AffineExpr:
        if not isinstance(expr, AffineBinaryOpExpr):
            return expr
        lhs, rhs = rebuilt(expr.lhs), rebuilt(expr.rhs)
        if expr.kind in _ROUNDED and isinstance(rhs, AffineConstantExpr):
            dividend = AffineList((lhs,), expression.operands).canonical()
            for quotient in (0, 1):
                if _has_quotient(dividend, rhs.value, expr.kind, quotient, at):
                    if expr.kind is AffineBinaryOpKind.Mod:
                        return lhs + AffineConstantExpr(-quotient * rhs.value)
                    return AffineConstantExpr(quotient)
        return combine(expr.kind, lhs, rhs)

    return AffineList((rebuilt(expression.exprs[0]),), expression.operands).canonical()


_ROUNDED = (AffineBinaryOpKind.Mod, AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.CeilDiv)


def _has_quotient(
    dividend: AffineList, divisor: int, kind: AffineBinaryOpKind, quotient: int, at: Operation
) -> bool:
    """Whether `dividend` by `divisor` is `quotient`, rounded up for `ceildiv` and else down."""
    least = quotient * divisor
    if kind is AffineBinaryOpKind.CeilDiv:
        least -= divisor - 1
    rest = dividend.add(-least)
    return holds_at(at, rest) and holds_at(at, rest.times(-1).add(divisor - 1))
