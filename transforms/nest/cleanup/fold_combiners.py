"""nest-fold-combiners: what a combiner compares is known where values come in ascending order.

    nest.for "j" %j = 0 to 1024 {
      ... %k is %j as an i32
      nest.accumulate "place" custom (%x, %k), (%m, %p)[] {
      ^bb0(%best: f32, %first: i32, %element: f32, %place: i32):
        %more = arith.cmpf ogt, %element, %best : f32
        %equal = arith.cmpf oeq, %element, %best : f32
        %before = arith.cmpi slt, %place, %first : i32
        %tie = arith.andi %equal, %before : i1
        %takes = arith.ori %more, %tie : i1
        ...

becomes, where %p holds 0 or the place of an earlier element (analysis/nest/sets/ascending_updates.py)

        %more = arith.cmpf ogt, %element, %best : f32
        %equal = arith.cmpf oeq, %element, %best : f32
        %before = arith.constant false
        ...

and what follows from it is computed too, so that here `%takes` is `%more`. Updates that combine lanes, parts or threads keep
the comparison. The order of iterations is fixed then: this runs behind the schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import functions
from ....analysis.nest.sets.ascending_updates import never_below
from ....dialects.affine import constant_of
from ....dialects.nest import AccumulateOp

_SLT, _SLE, _SGT, _SGE = 2, 3, 4, 5
_KNOWN = {(_SLT, True): False, (_SGE, True): True, (_SGT, False): False, (_SLE, False): True}
"""What a comparison with a new value that is not below the old one gives: by predicate, and whether the new one is first."""


def fold_combiners(function: FuncOp) -> None:
    """Write down what the custom combiners of a function need not compare."""
    for update in [op for op in function.walk() if isinstance(op, AccumulateOp) and op.combine is not None]:
        found = _comparisons(update)
        ascending = {k for k in dict.fromkeys(k for _, k, _ in found) if never_below(update, k)}
        for op, k, answer in found:
            if k in ascending:
                _replace(op, _truth(op, answer))
        if ascending:
            assert update.combine is not None
            _simplify(update.combine.block)


def _comparisons(update: AccumulateOp) -> list[tuple[arith.CmpiOp, int, bool]]:
    """The comparisons of a new integer with the old one that ascending order answers: which value, and the answer."""
    assert update.combine is not None
    block, count = update.combine.block, len(update.values)
    found: list[tuple[arith.CmpiOp, int, bool]] = []
    for op in block.ops:
        if not isinstance(op, arith.CmpiOp) or not isinstance(op.lhs.type, IntegerType):
            continue
        for k in range(count):
            old, new = block.args[k], block.args[count + k]
            is_new_first = (op.lhs, op.rhs) == (new, old)
            answer = _KNOWN.get((op.predicate.value.data, is_new_first))
            if answer is not None and (is_new_first or (op.lhs, op.rhs) == (old, new)):
                found.append((op, k, answer))
    return found


# ---- what follows from it ---------------------------------------------------------------------------


def _simplify(block: Block) -> None:
    """What the logic of a block gives with the truth values that are known, and no operation that nobody uses."""
    for op in list(block.ops):
        rule = _RULES.get(type(op))
        value = rule(op) if rule is not None else None
        if value is not None:
            _replace(op, value)
    for op in reversed(list(block.ops)):
        is_unused = op.results and not any(result.uses.get_length() for result in op.results)
        if is_unused and op is not block.last_op:
            op.detach()
            op.erase()


def _and(op: Operation) -> SSAValue | None:
    """`x and true` is x, `x and false` is false."""
    return _of_one(op, {1: lambda other: other, 0: lambda _: _truth(op, False)})


def _or(op: Operation) -> SSAValue | None:
    """`x or false` is x, `x or true` is true."""
    return _of_one(op, {0: lambda other: other, 1: lambda _: _truth(op, True)})


def _of_one(op: Operation, rules: dict[int, Callable[[SSAValue], SSAValue]]) -> SSAValue | None:
    """The result where one operand is a truth value that is known."""
    if op.results[0].type != i1:
        return None
    for known, other in (op.operands, op.operands[::-1]):
        number = constant_of(known)
        if number is not None:
            return rules[number & 1](other)
    return None


def _select(op: Operation) -> SSAValue | None:
    number = constant_of(op.operands[0])
    return None if number is None else op.operands[1 if number & 1 else 2]


_RULES: dict[type[Operation], Callable[[Operation], SSAValue | None]] = {
    arith.AndIOp: _and,
    arith.OrIOp: _or,
    arith.SelectOp: _select,
}


def _truth(op: Operation, value: bool) -> SSAValue:
    """A truth value, before an operation."""
    constant = arith.ConstantOp(IntegerAttr(int(value), i1))
    constant.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(constant, op)
    return constant.result


def _replace(op: Operation, value: SSAValue) -> None:
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


@dataclass(frozen=True, eq=False)
class NestFoldCombinersPass(ModulePass):
    """Leave out what combiners need not compare, since values come in ascending order."""

    name = "nest-fold-combiners"

    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op, self.func):
            fold_combiners(function)
