"""nest-specialise: a copy of a nest for the case that a condition holds, simplified by it, beside the general one.

    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        nest.store "y" %x, %y[%i, %j]
      }
    }

becomes with when="n == 64 and m % 4 == 0"

    %c = ... %n == 64 and %m mod 4 == 0 ...
    nest.if %c {
      %q = arith.floordivsi %m, %c4 : index
      nest.for "i.1" %i = 0 to 64 {
        nest.for "j.1" %j = 0 to 4 * %q {
          nest.store "y" %x, %y[%i, %j]
        }
      }
    } else {
      nest.for "i" ...
    }

so that both loops of the copy split without a remainder by 4. A condition compares (`==`, `!=`, `<`, `<=`, `>`, `>=`)
affine expressions, and joins comparisons by `and`. Its names are those of extents (`nest.dims`), of loops around
and of integers of 64 bits known before the loop; `lower(i)`, `upper(i)` and `extent(i)` are the bounds of the loop or of one
in it and the number of its iterations. Equations replace values in the bounds, indices and domains of the copy,
which is simplified (nest-simplify) by the rest of the condition.

One of the two nests runs, as it did, so no dependence forbids it. Refused for a condition that always or never
holds, and where a loop around or inside is bound to a GPU axis or one around is vectorized. `specialize` in Halide, TVM
and Exo (`specialize` on an allocation or a block there); NNC has no name for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ....analysis.nest.loop_structure import (
    enclosing_function,
    enclosing_loops,
    loops_in,
    trip_count,
)
from ....analysis.nest.sets.accesses import argument_attribute
from ....analysis.nest.sets.integer_sets import holds_at, reached
from ....analysis.nest.sets.loop_bounds import is_known_before
from ....analysis.nest.values.extent_keys import value_key
from ....dialects.affine import AffineList, constant_of, linear_terms
from ....dialects.attributes import DIMS
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, AllocOp, ForOp, IfOp
from ....dialects.nest.common import INDEX, name_hint_of
from ..cleanup.simplify import simplify
from ..rewrite.affine_options import AffineText
from ..rewrite.buffers import fresh_buffer_name
from ..rewrite.loops import fresh_names, materialise, rename_copies, rewrite_indices

_RELATIONS = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
"""The relations, and the numbers of the predicates of `arith.cmpi`."""
_RELATION = re.compile(r"\s*(==|!=|<=|>=|<|>)")
_BOUNDS = ("lower", "upper", "extent")


# ---- conditions -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Comparison:
    left: AffineList
    relation: str
    right: AffineList

    @property
    def gap(self) -> AffineList:
        return self.left.minus(self.right)

    def cases(self, holds: bool = True) -> list[list[AffineList]]:
        """It holds (or not) where all expressions of one of these lists are >= 0."""
        above, below = self.gap, self.gap.times(-1)
        if self.relation in ("==", "!="):
            if holds == (self.relation == "=="):
                return [[above, below]]
            return [[above.add(-1)], [below.add(-1)]]
        wanted = {"<": below.add(-1), "<=": below, ">": above.add(-1), ">=": above}[self.relation]
        return [[wanted if holds else wanted.times(-1).add(-1)]]


class _Condition(AffineText):
    """Reads a condition. Values that it needs and that are not there yet are made in `new`, to be put before the loop."""

    def __init__(self, text: str, loop: ForOp):
        self.loop = loop
        self.new: list[Operation] = []
        self._values = _values_before(loop)
        known = ", ".join(dict.fromkeys([*self._values, *_extents(loop)])) or "none"
        super().__init__(text, "condition", loop, self._value, f"names here: {known}")

    def comparisons(self) -> list[_Comparison]:
        found = [self._comparison()]
        while self.accept("and"):
            found.append(self._comparison())
        if not self.at_end:
            raise self.error("expected 'and' or the end")
        return found

    def _comparison(self) -> _Comparison:
        left = self.sum()
        match = _RELATION.match(self._text, self._position)
        if match is None:
            raise self.error("expected one of " + ", ".join(_RELATIONS))
        self._position = match.end()
        return _Comparison(left, match[1], self.sum())

    def name(self) -> tuple[str, int]:
        name, start = super().name()
        if name not in _BOUNDS or not self.accept("("):
            return name, start
        inner, _ = super().name()
        self.expect(")")
        return f"{name}({inner})", start

    def _value(self, name: str) -> AffineList | None:
        kind, _, rest = name.partition("(")
        if rest:
            return self._bound(kind, rest.removesuffix(")"))
        if name not in self._values:
            extents = _extents(self.loop)
            if name not in extents:
                return None
            same = (value for value in self._values.values() if value_key(value) == name)
            self._values[name] = next(same, None) or self._extent(name, *extents[name])
        elif not isinstance(self._values[name].type, IndexType):
            self._values[name] = self._made(arith.IndexCastOp(self._values[name], INDEX))
        return AffineList.of(self._values[name])

    def _extent(self, name: str, buffer: SSAValue, axis: int) -> SSAValue:
        number = self._made(arith.ConstantOp(IntegerAttr(axis, INDEX)))
        extent = self._made(memref.DimOp(buffer, number))
        extent.name_hint = name_hint_of(name)
        return extent

    def _made(self, op: Operation) -> SSAValue:
        self.new.append(op)
        return op.results[0]

    def _bound(self, kind: str, name: str) -> AffineList:
        found = [loop for loop in loops_in(self.loop) if loop.label == name]
        if not found:
            inside = ", ".join(loop.label for loop in loops_in(self.loop))
            raise self.error(f'no loop "{name}" here; loops here: {inside}')
        bound = {"lower": found[0].lower, "upper": found[0].upper, "extent": trip_count(found[0])}[kind]
        if bound is None or len(bound) != 1:
            raise self.error(f"{kind}({name}) is several expressions")
        if any(not is_known_before(value, self.loop) for value in bound.operands):
            raise self.error(f'{kind}({name}) is not known before the loop "{self.loop.label}"')
        return bound

    def discard(self) -> None:
        """Nothing uses what was made for it."""
        for op in reversed(self.new):
            op.erase()
        self.new.clear()


def _values_before(loop: ForOp) -> dict[str, SSAValue]:
    """The integers known before `loop` by name; of several of one name the nearest."""
    found: dict[str, SSAValue] = {}
    inner: Operation = loop
    while (block := inner.parent) is not None:
        for op in block.ops:
            if op is inner:
                break
            for result in op.results:
                if result.name_hint and _is_integer(result):
                    found.setdefault(result.name_hint, result)
        parent = block.parent_op()
        for argument in block.args:
            label = parent.label if isinstance(parent, ForOp) else argument.name_hint
            if label and _is_integer(argument):
                found.setdefault(label, argument)
        if parent is None or isinstance(parent, FuncOp):
            break
        inner = parent
    return found


def _is_integer(value: SSAValue) -> bool:
    return (isinstance(value.type, IndexType) or value.type == i64) and constant_of(value) is None


def _extents(loop: ForOp) -> dict[str, tuple[SSAValue, int]]:
    """The names of extents, each with a buffer and an axis that has it."""
    function, found = enclosing_function(loop), dict[str, tuple[SSAValue, int]]()
    for argument in function.body.block.args if isinstance(function, FuncOp) else ():
        names = argument_attribute(argument, DIMS)
        for axis, name in enumerate(names if isinstance(names, ArrayAttr) else ()):
            if isinstance(name, StringAttr):
                found.setdefault(name.data, (argument, axis))
    return found


# ---- legality ---------------------------------------------------------------------------------------


def why_not_specialise(loop: ForOp, when: str) -> NestorError | None:
    """The diagnostic that refuses to specialise, None when it is legal."""
    condition = _Condition(when, loop)
    try:
        return _why_not(loop, condition.comparisons())
    except NestorError as error:
        return error
    finally:
        condition.discard()


def _why_not(loop: ForOp, comparisons: list[_Comparison]) -> NestorError | None:
    what = f'cannot specialise the loop "{loop.label}"'
    for other in [*enclosing_loops(loop), *loops_in(loop)]:
        if other.kind in BIND_AXES or (other.kind == "vectorized" and other in enclosing_loops(loop)):
            name = "it" if other is loop else f'the loop "{other.label}"'
            kind = f"bound to {other.kind}" if other.kind in BIND_AXES else other.kind
            return fail(loop, f"{what}: {name} is {kind} already", hint="specialise before marking loops")
    if not any(_is_possible(loop, case) for one in comparisons for case in one.cases(holds=False)):
        return fail(loop, f"{what}: the condition always holds there")
    if not any(
        _is_possible(loop, [e for part in case for e in part])
        for case in product(*(one.cases() for one in comparisons))
    ):
        return fail(loop, f"{what}: the condition never holds there")
    return None


def _is_possible(loop: ForOp, expressions: list[AffineList]) -> bool:
    """Whether all expressions can be >= 0 where `loop` is reached."""
    system = reached(loop)
    for expression in expressions:
        system.require_not_negative(system.linear(expression, "s")[0])
    return system.has_solution()


# ---- specialising -----------------------------------------------------------------------------------


def specialise(loop: ForOp, when: str) -> tuple[ForOp, ForOp]:
    """Copy `loop` for the case that a condition holds: the copy, and the general loop, which is `loop`.

    Raises the diagnostic of `why_not_specialise`.
    """
    condition = _Condition(when, loop)
    try:
        comparisons = condition.comparisons()
        if (refusal := _why_not(loop, comparisons)) is not None:
            raise refusal
    except NestorError:
        condition.discard()
        raise
    block = loop.parent
    assert block is not None
    for op in condition.new:
        op.location = loop.location
        block.insert_op_before(op, loop)
    holds = _truth_value(comparisons, loop)
    special = loop.clone()
    special.set_label(fresh_names(loop, loop.label)[0])
    branch = IfOp(holds, Region(Block([special])), Region(Block()))
    branch.location = loop.location
    block.insert_op_before(branch, loop)
    loop.detach()
    assert branch.else_region is not None
    branch.else_region.block.add_op(loop)
    rename_copies(special)
    for op in special.walk():
        if isinstance(op, AllocOp):
            op.properties["label"] = StringAttr(fresh_buffer_name(loop, op.label.data))
    for comparison in comparisons:
        if comparison.relation == "==":
            _use_equation(comparison.gap, special)
    _use_constants(special)
    simplify(special)
    return special, loop


def _truth_value(comparisons: list[_Comparison], loop: ForOp) -> SSAValue:
    """The condition, computed before `loop`."""
    block = loop.parent
    assert block is not None
    joint: SSAValue | None = None
    for one in comparisons:
        left, right = (materialise(side.canonical(), block, loop) for side in (one.left, one.right))
        op: Operation = arith.CmpiOp(left, right, _RELATIONS[one.relation])
        for new in (op,) if joint is None else (op, arith.AndIOp(joint, op.results[0])):
            new.location = loop.location
            block.insert_op_before(new, loop)
            joint = new.results[0]
    assert joint is not None
    return joint


def _use_equation(gap: AffineList, special: ForOp) -> None:
    """Replace in `special` a value that an equation (`gap` is zero) gives by others."""
    terms, constant = linear_terms(gap.exprs[0])
    for atom, factor in terms.items():
        if isinstance(atom, AffineDimExpr) and factor in (1, -1):
            value = gap.operands[atom.position]
            others = AffineList.of(value).minus(gap.times(factor)).canonical()
            if value not in others.operands:
                _replace(value, others, special)
                return
    if len(terms) == 1:
        [(atom, factor)] = terms.items()
        if isinstance(atom, AffineBinaryOpExpr) and atom.kind is AffineBinaryOpKind.Mod and factor in (1, -1):
            _use_remainder(AffineList((atom.lhs,), gap.operands), atom.rhs, -constant * factor, special)


def _use_remainder(dividend: AffineList, divisor: AffineExpr, remainder: int, special: ForOp) -> None:
    """`dividend mod divisor == remainder`: a value in the dividend is so many times the divisor, and the rest."""
    assert isinstance(divisor, AffineConstantExpr) and special.parent is not None
    terms, _ = linear_terms(dividend.exprs[0])
    for atom, factor in terms.items():
        if not isinstance(atom, AffineDimExpr) or factor != 1:
            continue
        value = dividend.operands[atom.position]
        rest = dividend.minus(AffineList.of(value)).canonical()
        if value in rest.operands:
            continue
        whole = dividend.add(-remainder).divided(AffineBinaryOpKind.FloorDiv, divisor.value)
        hint = f"{value.name_hint}_blocks" if value.name_hint else None
        quotient = materialise(whole, special.parent, special, hint)
        times = AffineList.of(quotient).times(divisor.value).add(remainder)
        _replace(value, times.minus(rest), special)
        return


def _use_constants(special: ForOp) -> None:
    """Replace the values that can be one number only in `special`."""
    for value in dict.fromkeys(_values_in(special)):
        if constant_of(value) is None and (number := _only_number(value, special)) is not None:
            _replace(value, AffineList.of(number), special)


def _values_in(special: ForOp) -> Iterator[SSAValue]:
    """The values of affine expressions that come from outside."""
    for op in special.walk():
        found: list[SSAValue] = []
        rewrite_indices(
            op, lambda expressions, found=found: found.extend(expressions.operands) or expressions
        )
        yield from (value for value in found if is_known_before(value, special))


def _only_number(value: SSAValue, special: ForOp) -> int | None:
    system = reached(special)
    terms = system.variable(value, "s")
    number = system.example(terms)
    if number is None:
        return None
    expression = AffineList.of(value).add(-number)
    is_only = holds_at(special, expression) and holds_at(special, expression.times(-1))
    return number if is_only else None


def _replace(value: SSAValue, by: AffineList, special: ForOp) -> None:
    """Replace `value`, and values that are the same extent, in the affine expressions of `special`."""
    key = value_key(value)
    same = [other for other in dict.fromkeys(_values_in(special)) if value_key(other) == key]
    for op in special.walk():
        for other in same:
            if any(operand is other for operand in op.operands):
                rewrite_indices(op, lambda expressions, other=other: expressions.substitute(other, by))
