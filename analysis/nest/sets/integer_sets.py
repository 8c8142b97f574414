"""Statement instances as integer sets: the questions of `dependence.py`, put to isl.

A question is a conjunction of constraints over integer variables, and the answer is whether it has a
solution. Loop variables of the two instances are separate variables; values that are fixed during the loop
in question (extents, scalars, outer loop variables) are shared. What is known about a value is added when
it is first named: the bounds of its loop, that an extent is not negative, what a checked index returns.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ....dialects.affine import AffineList, constant_of
from ....dialects.nest import ForOp, IfOp, IndexOp
from ..loop_structure import enclosing_function, enclosing_loops, is_inside
from ..values.extent_keys import Product, extent_key, facts_of, input_dims, linear_key, value_key

if TYPE_CHECKING:
    import islpy as isl

    from .accesses import Access


# ---- systems of constraints -------------------------------------------------------------------------


Terms = dict[str, int]
"""A linear expression: the factor of each variable; the constant under the empty name."""


@dataclass(frozen=True, eq=False)
class Row:
    """A linear constraint: `terms` is zero (`equal`), or it is not negative."""

    terms: Terms
    equal: bool = False


def difference(first: Terms, second: Terms, constant: int = 0) -> Terms:
    """`first - second + constant`."""
    result = dict(first)
    for name, factor in second.items():
        result[name] = result.get(name, 0) - factor
    result[""] = result.get("", 0) + constant
    return result


MOST_CHOICES = 6
"""Of how many values that are one of two others a system says which: isl looks at each combination of these."""


class System:
    """A conjunction of integer constraints over named variables.

    Linear ones are rows, which isl takes as matrices (a text costs it twenty times as much); any other is
    text as isl reads it. Values defined outside of the operations `fixed_in` are shared by all instances.
    """

    def __init__(self, *fixed_in: Operation):
        self.fixed_in = fixed_in
        self._input_dims = input_dims(enclosing_function(fixed_in[0]))
        self._names: dict[Hashable, str] = {}
        self._resolved: dict[tuple[SSAValue, str], str] = {}
        self._rows: list[Row] = []
        self._constraints: list[str] = []
        self._choices = 0
        self.has_computed_values = False
        """Whether a value computed inside `fixed_in` (no loop variable) has been named."""

    def require(self, constraint: str) -> None:
        """A constraint of any form, as isl reads it."""
        self._constraints.append(constraint)

    def require_zero(self, terms: Terms) -> None:
        self._rows.append(Row(terms, equal=True))

    def require_not_negative(self, terms: Terms) -> None:
        self._rows.append(Row(terms))

    def has_solution(self, *choices: Sequence[Sequence[Row]]) -> bool:
        """Whether some integers satisfy every constraint, and one case (rows) of each of `choices`."""
        combined = [[row for case in cases for row in case] for cases in product(*choices)]
        if len(combined) == 1:
            return not self.solutions(combined[0]).is_empty()
        solutions = self.solutions()
        return any(not solutions.intersect(self._polyhedron(rows)).is_empty() for rows in combined)

    def example(self, terms: Terms) -> int | None:
        """The value of a linear expression in some solution, None when there is no solution."""
        point = self.solutions().sample_point()
        if point.is_void():
            return None
        kind = _isl().dim_type.set
        columns = {name: k for k, name in enumerate(self._names.values())}
        values = {n: point.get_coordinate_val(kind, columns[n]).to_python() for n in terms if n}
        return terms.get("", 0) + sum(factor * values[n] for n, factor in terms.items() if n)

    def solutions(self, more: Sequence[Row] = ()) -> isl.BasicSet | isl.Set:
        """The solutions for which `more` holds as well; a dimension a variable, in the order of their naming."""
        found = self._polyhedron([*self._rows, *more])
        if not self._constraints:
            return found
        islpy = _isl()
        text = f"{{ [{', '.join(self._names.values())}] : {' and '.join(self._constraints)} }}"
        return islpy.Set.from_basic_set(found).intersect(islpy.Set(text))

    def solution_set(self) -> isl.Set:
        """All solutions, whatever the form of the constraints."""
        import islpy

        found = self.solutions()
        return islpy.Set.from_basic_set(found) if isinstance(found, islpy.BasicSet) else found

    def _polyhedron(self, rows: Sequence[Row]) -> isl.BasicSet:
        columns = {"": -1} | {name: k for k, name in enumerate(self._names.values())}
        placed = [({columns[n]: c for n, c in row.terms.items() if c}, row.equal) for row in rows]
        return polyhedron(placed, len(self._names))

    def variables(self) -> list[tuple[Hashable, str]]:
        """What each variable stands for, in the order of the dimensions of `solutions`: a value and its instance, or a key.

        One that stands for no value is its own key.
        """
        return list(self._names.items())

    def fresh(self) -> str:
        """A variable that stands for no value."""
        name = f"v{len(self._names)}"
        self._names[name] = name
        return name

    def name(self, value: SSAValue, instance: str) -> str:
        """The variable for `value` in an instance; what is known about the value is required as well."""
        if (value, instance) not in self._resolved:
            self._resolved[value, instance] = self._name(value, instance)
        return self._resolved[value, instance]

    def _name(self, value: SSAValue, instance: str) -> str:
        key = value_key(value)
        if isinstance(key, int):
            return str(key)
        if isinstance(key, SSAValue):
            value = key
            if self._is_instance_value(value):
                key = (value, instance)
                self.has_computed_values |= not isinstance(value.owner, Block)
            else:
                key = value
        if key in self._names:
            return self._names[key]
        name = self._names[key] = f"v{len(self._names)}"
        self._resolved[value, instance] = name
        self._describe(value, key, name, instance)
        return name

    def require_reached(self, op: Operation, instance: str) -> None:
        """What holds where `op` runs: the bounds of the loops and the conditions of the branches around it."""
        for loop in enclosing_loops(op):
            self.name(loop.iv, instance)
        inner, outer = op, op.parent_op()
        while outer is not None:
            if isinstance(outer, IfOp):
                from ..values.scalar_facts import formula

                taken = inner.parent_region() is outer.then_region
                condition = formula(outer.condition, taken, lambda v: self.name(v, instance))
                if condition != "true":
                    self.require(condition)
            inner, outer = outer, outer.parent_op()

    def expression(self, expr: AffineExpr, operands: Sequence[SSAValue], instance: str) -> str:
        """An affine expression as isl reads it."""
        if isinstance(expr, AffineDimExpr):
            return self.name(operands[expr.position], instance)
        if isinstance(expr, AffineConstantExpr):
            return str(expr.value)
        assert isinstance(expr, AffineBinaryOpExpr)
        lhs = self.expression(expr.lhs, operands, instance)
        rhs = self.expression(expr.rhs, operands, instance)
        return _ISL_FORM[expr.kind].format(lhs, rhs)

    def expressions(self, expressions: AffineList, instance: str) -> list[str]:
        return [self.expression(e, expressions.operands, instance) for e in expressions.exprs]

    def linear(self, expressions: AffineList, instance: str) -> list[Terms]:
        """The expressions as linear ones; a quotient becomes a variable of its own."""
        return [self._linear(e, expressions.operands, instance) for e in expressions.exprs]

    def _linear(self, expr: AffineExpr, operands: Sequence[SSAValue], instance: str) -> Terms:
        if isinstance(expr, AffineDimExpr):
            return self.variable(operands[expr.position], instance)
        if isinstance(expr, AffineConstantExpr):
            return {"": expr.value}
        assert isinstance(expr, AffineBinaryOpExpr)
        lhs = self._linear(expr.lhs, operands, instance)
        rhs = self._linear(expr.rhs, operands, instance)
        if expr.kind is AffineBinaryOpKind.Add:
            return difference(lhs, _scaled(rhs, -1))
        if expr.kind is AffineBinaryOpKind.Mul:
            factor, other = (lhs, rhs) if lhs.keys() <= {""} else (rhs, lhs)
            assert factor.keys() <= {""}, "affine: one factor is a constant"
            return _scaled(other, factor.get("", 0))
        divisor = rhs.get("", 0)
        if expr.kind is AffineBinaryOpKind.CeilDiv:
            return self._quotient(difference(lhs, {}, divisor - 1), divisor)
        quotient = self._quotient(lhs, divisor)
        if expr.kind is AffineBinaryOpKind.FloorDiv:
            return quotient
        return difference(lhs, _scaled(quotient, divisor))

    def _quotient(self, terms: Terms, divisor: int) -> Terms:
        """`terms` divided by `divisor`, rounded down: q with `0 <= terms - divisor * q < divisor`."""
        quotient = {self.fresh(): 1}
        rest = difference(terms, _scaled(quotient, divisor))
        self.require_not_negative(rest)
        self.require_not_negative(difference({"": divisor - 1}, rest))
        return quotient

    def extent(self, buffer: SSAValue, axis: int, instance: str) -> Terms:
        """The extent of a buffer's axis as a linear expression."""
        key = extent_key(buffer, axis)
        if isinstance(key, int):
            return {"": key}
        if isinstance(key, SSAValue):
            return self.variable(key, instance)
        return {self.extent_name(key): 1}

    def extent_name(self, key: Hashable) -> str:
        """The variable for an unknown extent."""
        if key not in self._names:
            name = self._names[key] = f"v{len(self._names)}"
            self._require_extent(key, name)
        return self._names[key]

    def _require_extent(self, key: Hashable, name: str) -> None:
        """What is known of an unknown extent."""
        if isinstance(key, Product) and (multiple := linear_key(key)) is not None:
            number, one = multiple
            self.require_zero({name: 1, self.extent_name(one): -number})
        known = facts_of(key, self._input_dims)
        assert known is not None
        self.require_not_negative({name: 1, "": -known.least})
        if known.most is not None:
            self.require_not_negative({name: -1, "": known.most})

    def variable(self, value: SSAValue, instance: str) -> Terms:
        """`name` as a linear expression: a variable, or a number."""
        name = self.name(value, instance)
        return {name: 1} if name.startswith("v") else {"": int(name)}

    def _is_instance_value(self, value: SSAValue) -> bool:
        owner = value.owner
        parent = owner.parent_op() if isinstance(owner, Block) else owner
        return parent is not None and any(is_inside(parent, op) for op in self.fixed_in)

    def _describe(self, value: SSAValue, key: Hashable, name: str, instance: str) -> None:
        owner = value.owner
        if isinstance(owner, memref.DimOp) or isinstance(key, Product):
            self._require_extent(key, name)
        elif isinstance(owner, Block):
            loop = owner.parent_op()
            if isinstance(loop, ForOp):
                self._describe_loop(loop, name, instance)
        elif isinstance(owner, IndexOp):
            self._describe_index(owner, name, instance)
        else:
            from ..values.scalar_facts import bounds_of_choice, fact_of, is_choice, is_wide

            if not is_wide(value):
                return
            relate = fact_of
            if is_choice(owner):
                self._choices += 1
                relate = fact_of if self._choices <= MOST_CHOICES else bounds_of_choice
            if (fact := relate(owner, name, lambda v: self.name(v, instance))) is not None:
                self.require(fact)
            if isinstance(owner, arith.MuliOp):
                self._describe_multiple(owner, name, instance)

    def _describe_multiple(self, op: arith.MuliOp, name: str, instance: str) -> None:
        """Multiples of a number that all instances share are at least that number apart: chunks of its size are."""
        for factor, size in (op.operands, op.operands[::-1]):
            if not self._is_instance_value(factor) or self._is_instance_value(size):
                continue
            step, here = self.name(size, instance), self.name(factor, instance)
            for (value, other), multiple in list(self._resolved.items()):
                if value is op.result and other != instance:
                    self.require(_apart(here, name, self.name(factor, other), multiple, step))

    def _describe_loop(self, loop: ForOp, name: str, instance: str) -> None:
        variable = {name: 1}
        lowers = self.linear(loop.lower, instance)
        for lower in lowers:
            self.require_not_negative(difference(variable, lower))
        for upper in self.linear(loop.upper, instance):
            self.require_not_negative(difference(upper, variable, -1))
        if loop.step_value != 1 and len(lowers) == 1:
            steps = {self.fresh(): loop.step_value}
            self.require_zero(difference(difference(variable, lowers[0]), steps))

    def _describe_index(self, op: IndexOp, name: str, instance: str) -> None:
        index = self.expressions(op.index, instance)[0]
        extent = self.expressions(op.extent, instance)[0]
        wrapped = f"({index} < 0 and {name} = {index} + {extent})"
        self.require(f"0 <= {name} < {extent} and (({index} >= 0 and {name} = {index}) or {wrapped})")


_ISL_FORM = {
    AffineBinaryOpKind.Add: "({} + {})",
    AffineBinaryOpKind.Mul: "({1} * {0})",
    AffineBinaryOpKind.Mod: "(({}) mod {})",
    AffineBinaryOpKind.FloorDiv: "floor(({})/{})",
    AffineBinaryOpKind.CeilDiv: "ceil(({})/{})",
}


def _apart(factor: str, multiple: str, other_factor: str, other: str, step: str) -> str:
    """What holds of two multiples of `step` and their factors; nothing where it is negative."""
    same = f"({factor} = {other_factor} and {multiple} = {other})"
    above = f"({factor} > {other_factor} and {multiple} >= {other} + {step})"
    below = f"({factor} < {other_factor} and {multiple} + {step} <= {other})"
    return f"({step} < 0 or {same} or {above} or {below})"


def _scaled(terms: Terms, factor: int) -> Terms:
    return {name: factor * c for name, c in terms.items()}


def polyhedron(rows: Sequence[tuple[dict[int, int], bool]], size: int) -> isl.BasicSet:
    """The integer points of `size` dimensions for which every row is zero (True) or not negative (False).

    A row is the factor of each dimension; that of -1 is the constant.
    """
    islpy = _isl()
    kinds = islpy.dim_type
    equal, other = (
        _matrix([terms for terms, is_equal in rows if is_equal is wanted], size) for wanted in (True, False)
    )
    space = islpy.Space.set_alloc(islpy.DEFAULT_CONTEXT, 0, size)
    return islpy.BasicSet.from_constraint_matrices(
        space, equal, other, kinds.set, kinds.param, kinds.div, kinds.cst
    )


def _matrix(rows: Sequence[dict[int, int]], size: int) -> isl.Mat:
    islpy = _isl()
    matrix = islpy.Mat.alloc(islpy.DEFAULT_CONTEXT, 0, size + 1).add_zero_rows(len(rows))
    for k, terms in enumerate(rows):
        for position, factor in terms.items():
            matrix = matrix.set_element_val(k, position if position >= 0 else size, _isl_integer(factor))
    return matrix


@cache
def _isl_integer(value: int):
    return _isl().Val(value if -(2**63) <= value < 2**63 else str(value))


def _isl():
    import islpy  # 40-70 ms: most functions never ask

    return islpy


def is_never_negative(expressions: AffineList, scope: Operation) -> bool:
    """Whether every expression is >= 0 wherever `scope` runs."""
    if (numbers := expressions.constants()) is not None:
        return min(numbers) >= 0
    value = expressions.single_value()
    if value is not None and is_extent_like(value):
        return True
    return all(_is_never_negative(expressions[k], scope) for k in range(len(expressions)))


def is_extent_like(value: SSAValue) -> bool:
    """An extent, or a product or sum of extents: the total of a flattened loop."""
    if isinstance(value.owner, memref.DimOp):
        return True
    if (number := constant_of(value)) is not None:
        return number >= 0
    return isinstance(value.owner, (arith.MuliOp, arith.AddiOp)) and all(
        map(is_extent_like, value.owner.operands)
    )


def _is_never_negative(expression: AffineList, scope: Operation) -> bool:
    system = System(scope)
    for loop in enclosing_loops(scope):
        system.name(loop.iv, "s")
    system.require_not_negative(difference({}, system.linear(expression, "s")[0], -1))
    return not system.has_solution()


def is_in_buffer(
    op: Operation, buffer: SSAValue, indices: AffineList, where: AffineList, fails: AffineList | None = None
) -> bool:
    """Whether indices are those of an element wherever `op` runs, `where` holds and (a constraint) `fails` does not."""
    for axis in range(len(indices)):
        system = System(op)
        system.require_reached(op, "s")
        for constraint in system.linear(where, "s"):
            system.require_not_negative(constraint)
        if fails is not None:
            system.require_not_negative(difference({}, system.linear(fails, "s")[0], -1))
        index = system.linear(indices[axis], "s")[0]
        outside = [Row(difference({}, index, -1))], [Row(difference(index, system.extent(buffer, axis, "s")))]
        if system.has_solution(outside):
            return False
    return True


# ---- questions about pairs of instances -------------------------------------------------------------


def pair_system(source: Access, sink: Access, *fixed_in: Operation) -> System:
    """Instance `s` of `source` and `t` of `sink` that touch one element, as far as that is known."""
    system = System(*fixed_in)
    require_pair(system, source, sink)
    return system


def require_pair(system: System, source: Access, sink: Access) -> None:
    """Restrict a system to instances `s` of `source` and `t` of `sink` that touch one element."""
    for access, instance in ((source, "s"), (sink, "t")):
        system.require_reached(access.op, instance)
        if access.where is not None:
            for constraint in system.linear(access.where, instance):
                system.require_not_negative(constraint)
    if source.buffer is sink.buffer and source.indices is not None and sink.indices is not None:
        firsts, seconds = system.linear(source.indices, "s"), system.linear(sink.indices, "t")
        for index, other in zip(firsts, seconds, strict=True):
            system.require_zero(difference(index, other))


def holds_at(op: Operation, expressions: AffineList, *given: AffineList) -> bool:
    """Whether every expression is >= 0 wherever `op` is reached and all of `given` are >= 0."""
    return all(_holds_at(op, expressions[k], given) for k in range(len(expressions)))


def _holds_at(op: Operation, expression: AffineList, given: tuple[AffineList, ...]) -> bool:
    if (numbers := expression.constants()) is not None:
        return numbers[0] >= 0
    system = reached(op)
    for known in given:
        for terms in system.linear(known, "s"):
            system.require_not_negative(terms)
    system.require_not_negative(difference({}, system.linear(expression, "s")[0], -1))
    return not system.has_solution()


def reached(op: Operation) -> System:
    """What holds of the values in a moment in which `op` runs, as instance `s`."""
    system = System(enclosing_function(op))
    system.require_reached(op, "s")
    return system
