"""Updates in ascending order: whether what an update brings is never less than what the buffer holds then.

    nest.store "place" %zero, %p[]
    nest.for "j" %j = 0 to 1024 {
      ... %k is %j as an i32
      nest.accumulate "place" custom (%x, %k), (%m, %p)[] { ... }     never_below(update, 1): %p holds 0, or an earlier %k
    }

So a combiner that keeps the first of equal elements need not compare places, as long as elements come in order. Sums of
lanes or parts, which come in another order, do not have it. Asked of isl for each update that may run before.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.affine import constant_of
from ....dialects.attributes import ROLE
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, IfOp, LoadOp, StoreOp
from ..loop_structure import enclosing_loops
from .accesses import argument_attribute
from .integer_sets import System

IN_ORDER = ("serial", "unrolled")
"""Kinds of loops whose iterations run one after the other."""


def never_below(update: AccumulateOp, k: int) -> bool:
    """Whether value `k` of a custom update is at least what its buffer holds, each time that it runs."""
    buffer = update.memrefs[k]
    home = _home(buffer)
    if home is None or not _is_chosen(update, k):
        return False
    writers = _writers(buffer)
    return writers is not None and all(_comes_after(update, k, writer, buffer, home) for writer in writers)


def _home(buffer: SSAValue) -> Block | None:
    """The block in which a buffer lives; None where somebody else may write to it."""
    if isinstance(buffer.owner, AllocOp):
        return buffer.owner.parent
    if isinstance(buffer.owner, Block) and argument_attribute(buffer, ROLE) == StringAttr("out"):
        return buffer.owner
    return None


def _writers(buffer: SSAValue) -> list[StoreOp | AccumulateOp] | None:
    """What writes to a buffer; None where that is not known."""
    found: dict[StoreOp | AccumulateOp, None] = {}
    for use in buffer.uses:
        op = use.operation
        if isinstance(op, StoreOp | AccumulateOp):
            found[op] = None
        elif not isinstance(op, LoadOp):
            return None
    return list(found)


def _is_chosen(update: AccumulateOp, k: int) -> bool:
    """Whether a combiner leaves in buffer `k` what was there, or the new value."""
    if update.combine is None:
        return False
    count = len(update.values)
    arguments = update.combine.block.args
    last = update.combine.block.last_op
    assert last is not None
    return all(leaf in (arguments[k], arguments[count + k]) for leaf in _choices(last.operands[k]))


def _choices(value: SSAValue) -> Iterator[SSAValue]:
    """What a value may be, through `arith.select`."""
    if isinstance(value.owner, arith.SelectOp):
        yield from _choices(value.owner.lhs)
        yield from _choices(value.owner.rhs)
    else:
        yield value


def _comes_after(
    update: AccumulateOp, k: int, writer: StoreOp | AccumulateOp, buffer: SSAValue, home: Block
) -> bool:
    """Whether value `k` of `update` is at least what `writer` has written to the same element before."""
    if isinstance(writer, StoreOp):
        number = constant_of(writer.value)
        return number is not None and not _may_be_below(update, k, number, home)
    at = list(writer.memrefs).index(buffer)
    if not _is_chosen(writer, at):
        return False
    between = _loops_in_home(update, home)
    if between is None or _loops_in_home(writer, home) is None:
        return False
    common = [loop for loop in between if loop in enclosing_loops(writer)]
    for depth, loop in enumerate(common):
        is_ordered = loop.kind in IN_ORDER
        question = _Question(update, k, writer, at, home)
        question.require_iterations(common[: depth + 1], "<" if is_ordered else "!=")
        if question.has_answer(larger=is_ordered):
            return False
    if not _runs_before(writer, update, home):
        return True
    question = _Question(update, k, writer, at, home)
    question.require_iterations(common, "=")
    return not question.has_answer(larger=True)


class _Question:
    """Two updates of one element, the earlier one by `writer`."""

    def __init__(self, update: AccumulateOp, k: int, writer: AccumulateOp, at: int, home: Block):
        self.system = System(_top(update, home), _top(writer, home))
        self.ends = (writer, at, "t"), (update, k, "s")
        for op, _, instance in self.ends:
            self.system.require_reached(op, instance)
        earlier = self.system.expressions(writer.indices, "t")
        later = self.system.expressions(update.indices, "s")
        for a, b in zip(earlier, later, strict=True):
            self.system.require(f"{a} = {b}")

    def require_iterations(self, loops: list[ForOp], relation: str) -> None:
        """Both in the same iteration of the loops, but for the last one, where the earlier is in relation to the later."""
        for loop in loops:
            a, b = (self.system.name(loop.iv, instance) for _, _, instance in self.ends)
            self.system.require(f"{a} {relation if loop is loops[-1] else '='} {b}")

    def has_answer(self, larger: bool) -> bool:
        """Whether there are such updates; with `larger`, ones of which the earlier may bring more."""
        if larger:
            values = [_integer(self.system, op.values[k], instance) for op, k, instance in self.ends]
            if None in values:
                return True
            self.system.require(f"{values[0]} > {values[1]}")
        return self.system.has_solution()


def _may_be_below(update: AccumulateOp, k: int, number: int, home: Block) -> bool:
    """Whether value `k` may be less than a number."""
    system = System(_top(update, home))
    system.require_reached(update, "s")
    value = _integer(system, update.values[k], "s")
    if value is None:
        return True
    system.require(f"{value} < {number}")
    return system.has_solution()


def _integer(system: System, value: SSAValue, instance: str) -> str | None:
    """The variable for an integer, through casts that keep its value; None where one may not."""
    narrowest = 64
    while isinstance(op := value.owner, arith.TruncIOp | arith.ExtSIOp | arith.IndexCastOp):
        if isinstance(value.type, IntegerType):
            narrowest = min(narrowest, value.type.width.data)
        value = op.operands[0]
    is_wide = isinstance(value.type, IndexType) or value.type == IntegerType(64)
    if not is_wide:
        return None
    name = system.name(value, instance)
    if narrowest == 64:
        return name
    others = System(*system.fixed_in)
    here = others.name(value, instance)
    most = 1 << (narrowest - 1)
    others.require(f"({here} < {-most} or {here} >= {most})")
    return None if others.has_solution() else name


def _loops_in_home(op: Operation, home: Block) -> list[ForOp] | None:
    """The loops around `op` in a block, outermost first; None where it is in another kind of loop."""
    found: list[ForOp] = []
    while op.parent is not home:
        parent = op.parent_op()
        if isinstance(parent, ForOp):
            found.insert(0, parent)
        elif not isinstance(parent, IfOp):
            return None
        op = parent
    return found


def _top(op: Operation, home: Block) -> Operation:
    """The operation of a block that is around `op`."""
    found = home.find_ancestor_op_in_block(op)
    assert found is not None, "a buffer is used where it lives"
    return found


def _runs_before(first: Operation, second: Operation, home: Block) -> bool:
    """Whether `first` may run before `second` in one iteration of the loops around both."""
    if first is second:
        return False
    above = {first.parent: first}
    while first.parent is not home:
        parent = first.parent_op()
        assert parent is not None
        first = parent
        above[first.parent] = first
    while second.parent not in above:
        parent = second.parent_op()
        assert parent is not None
        second = parent
    other = above[second.parent]
    return other is second or other.is_before_in_block(second)
