"""Pass `cut-long-loops`: a loop that may run long is cut into pieces, and between them Python's signals are handled.

    scf.for %i = %c0 to %n step %c1 { ... }

becomes

    scf.for %p = %c0 to %n step %c4096 {
      %later = arith.cmpi sgt, %p, %c0
      scf.if %later {
        %first = arith.cmpi eq, %p, %c4096
        %stop = func.call @nestor_poll(%first) : (i1) -> i1       // looks at a clock, seldom asks Python
        cf.assert %go_on, "interrupted" {nestor.kind = "Interrupted"}
      }
      %end = arith.minsi %p + %c4096, %n
      scf.for %i = %p to %end step %c1 { ... }
    }

Only the outermost loops are cut, by an estimate of the work of an iteration: its operations times the trip counts of the
loops in it, which are known, or computed from values from outside, or bounded by one of several upper bounds, or taken to be
`UNKNOWN_TRIPS`. A loop that ends within one piece
asks nobody. Parallel loops are cut into larger pieces, each shared by all threads; in parallel loops, and in functions
that they call, nobody asks. A `while` asks after every so many rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, cf, func, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr, ModuleOp, StringAttr, i1
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...dialects.affine import constant_of
from ...dialects.attributes import DESCENDING, KIND, MATH_FUNCTION
from ...dialects.walk import walk
from ..abi.error_codes import POLL

PIECE = 1 << 20
"""Operations of a piece of a serial loop: a fraction of a millisecond."""

PARALLEL_PIECE = 1 << 24
"""Operations of a piece of a parallel loop, which is a parallel region of its own."""

FEWEST_ITERATIONS = 64
"""Iterations of such a piece, at least: they are shared by threads."""

UNKNOWN_TRIPS = 64
"""What an inner loop counts as whose trip count is known in the loop only."""

FEW = 64
"""Trip count up to which the loops inside of a loop are looked at as well."""

INDEX = IndexType()


@dataclass(frozen=True, eq=False)
class CutLongLoopsPass(ModulePass):
    """Cut loops that may run long into pieces, between which signals are handled; see the module's docstring."""

    name = "cut-long-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [o for o in op.body.block.ops if isinstance(o, func.FuncOp) and o.body.blocks]
        shared = _called_in_parallel(functions)
        asks = False
        for function in functions:
            if MATH_FUNCTION not in function.attributes and function.sym_name.data not in shared:
                for block in function.body.blocks:
                    asks = _cut_in(block) or asks
        if asks and all(f.sym_name.data != POLL for f in op.body.block.ops if isinstance(f, func.FuncOp)):
            declared = func.FuncOp.external(POLL, [i1], [i1])
            op.body.block.add_op(declared)


def _called_in_parallel(functions: list[func.FuncOp]) -> set[str]:
    """The functions that parallel loops call, and those that these call."""
    sources = {f.sym_name.data: f for f in functions}
    rest: list[Operation] = [op for f in functions for op in walk(f) if isinstance(op, scf.ParallelOp)]
    found: set[str] = set()
    while rest:
        for op in walk(rest.pop()):
            if isinstance(op, func.CallOp) and (name := op.callee.string_value()) not in found:
                found.add(name)
                if name in sources:
                    rest.append(sources[name])
    return found


def _cut_in(block: Block) -> bool:
    """Cut the loops of a block, and of branches in it; whether there was one."""
    asks = False
    for op in list(block.ops):
        if isinstance(op, scf.ForOp | scf.ParallelOp):
            asks = _cut_loop(op) or asks
        elif isinstance(op, scf.WhileOp):
            _ask_in_while(op)
            asks = True
        elif isinstance(op, scf.IfOp):
            for region in op.regions:
                for inner in region.blocks:
                    asks = _cut_in(inner) or asks
    return asks


# ---- how much work --------------------------------------------------------------------------------------


@dataclass
class _Work:
    """Operations: `known`, and as many for each of some products of values."""

    known: int
    products: list[tuple[int, tuple[SSAValue, ...]]]

    def times(self, count: int | tuple[SSAValue, SSAValue, SSAValue]) -> _Work:
        if isinstance(count, int):
            return _Work(self.known * count, [(k * count, values) for k, values in self.products])
        bounds = tuple(count)
        return _Work(0, [(k, (*values, *bounds)) for k, values in ((self.known, ()), *self.products) if k])

    def plus(self, other: _Work) -> _Work:
        return _Work(self.known + other.known, [*self.products, *other.products])


def _work_of(block: Block, loop: Operation) -> _Work:
    """The work of a block inside of `loop`."""
    total = _Work(0, [])
    for op in block.ops:
        inner = _Work(1, [])
        for region in op.regions:
            for one in region.blocks:
                inner = inner.plus(_work_of(one, loop))
        if isinstance(op, scf.ForOp | scf.ParallelOp):
            inner = inner.times(_trips(op, loop))
        elif isinstance(op, scf.WhileOp):
            inner = inner.times(UNKNOWN_TRIPS)
        total = total.plus(inner)
    return total


def _bounds(op: scf.ForOp | scf.ParallelOp) -> tuple[SSAValue, SSAValue, SSAValue]:
    if isinstance(op, scf.ForOp):
        return op.lb, op.ub, op.step
    return op.lowerBound[0], op.upperBound[0], op.step[0]


def _known_trips(op: scf.ForOp | scf.ParallelOp) -> int | None:
    lower, upper, step = [constant_of(v) for v in _bounds(op)]
    if lower is None or upper is None or not step:
        return None
    return max(0, -(-(upper - lower) // step))


def _trips(op: scf.ForOp | scf.ParallelOp, loop: Operation) -> int | tuple[SSAValue, SSAValue, SSAValue]:
    known = _known_trips(op)
    if known is not None:
        return known
    bounds = _bounds(op)
    if all(_is_known_outside(value, loop) for value in bounds):
        return bounds
    return min(_most_trips(op), UNKNOWN_TRIPS)


def _most_trips(op: scf.ForOp | scf.ParallelOp) -> int:
    """How often a loop runs at most, by an upper bound that is the least of a constant and others; else `UNKNOWN_TRIPS`."""
    lower, upper, step = _bounds(op)
    first, size, work = constant_of(lower), constant_of(step), [upper]
    ends: list[int] = []
    while work:
        value = work.pop()
        if (end := constant_of(value)) is not None:
            ends.append(end)
        elif isinstance(value.owner, arith.MinSIOp):
            work += value.owner.operands
    if first is None or not size or not ends:
        return UNKNOWN_TRIPS
    return max(0, -(-(min(ends) - first) // size))


_MOST_STEPS = 16
"""Operations from values outside to a bound, at most."""

_ANYWHERE = (
    arith.ConstantOp,
    arith.AddiOp,
    arith.SubiOp,
    arith.MuliOp,
    arith.MinSIOp,
    arith.MaxSIOp,
    arith.IndexCastOp,
)
_BY_CONSTANTS = (
    arith.DivUIOp,
    arith.DivSIOp,
    arith.FloorDivSIOp,
    arith.CeilDivSIOp,
    arith.RemUIOp,
    arith.RemSIOp,
)
"""What may be computed where it is not needed: the second by constants that are not 0."""


def _is_known_outside(value: SSAValue, loop: Operation) -> bool:
    """Whether a value is one from outside of `loop`, or is computed from such by a few operations."""
    work, seen = [value], 0
    while work:
        one = work.pop()
        if _is_outside(one, loop):
            continue
        seen += 1
        op = one.owner
        is_plain = isinstance(op, _ANYWHERE) or (
            isinstance(op, _BY_CONSTANTS) and (constant_of(op.operands[1]) or 0) > 0
        )
        if not is_plain or seen > _MOST_STEPS:
            return False
        work += op.operands  # pyright: ignore[reportAttributeAccessIssue]
    return True


def _is_outside(value: SSAValue, loop: Operation) -> bool:
    op = value.owner.parent_op() if isinstance(value, BlockArgument) else value.owner
    while op is not None and op is not loop:
        op = op.parent_op()
    return op is None


# ---- loops that count -----------------------------------------------------------------------------------


class _Builder:
    """Makes operations before one."""

    def __init__(self, before: Operation):
        self._before = before
        self.location: LocationAttr = before.location

    @classmethod
    def inside_of(cls, branch: scf.IfOp) -> _Builder:
        end = branch.true_region.block.last_op
        assert end is not None
        end.location = branch.location
        return cls(end)

    def put(self, op: Operation) -> None:
        op.location = self.location
        parent = self._before.parent
        assert parent is not None
        parent.insert_op_before(op, self._before)

    def add(self, op: Operation) -> SSAValue:
        self.put(op)
        return op.results[0]

    def number(self, n: int) -> SSAValue:
        return self.add(arith.ConstantOp(IntegerAttr(n, INDEX)))

    def outside(self, value: SSAValue, loop: Operation) -> SSAValue:
        """A value, computed again where it is computed inside of `loop`; see `_is_known_outside`."""
        if _is_outside(value, loop):
            return value
        op = value.owner
        assert isinstance(op, Operation)
        operands = [self.outside(operand, loop) for operand in op.operands]
        return self.add(op.clone(value_mapper=dict(zip(op.operands, operands, strict=True))))

    def trips(self, lower: SSAValue, upper: SSAValue, step: SSAValue) -> SSAValue:
        """As many as there are, or one or two more."""
        count = self.add(arith.SubiOp(upper, lower))
        size = constant_of(step)
        if size is None or size < 2:
            return count if size == 1 else self.add(arith.AddiOp(count, self.number(1)))
        return self.add(arith.AddiOp(self.add(arith.DivUIOp(count, step)), self.number(1)))


def _cut_loop(op: scf.ForOp | scf.ParallelOp) -> bool:
    if "unsignedCmp" in op.properties or "unsignedCmp" in op.attributes:
        return False
    is_parallel = isinstance(op, scf.ParallelOp)
    if is_parallel and (len(op.lowerBound) != 1 or op.initVals):
        return False
    body = op.body.block
    work = _work_of(body, op)
    piece = PARALLEL_PIECE if is_parallel else PIECE
    fewest = FEWEST_ITERATIONS if is_parallel else 1
    trips = _known_trips(op)
    inner = False
    if not is_parallel and (work.known > piece * FEW or (trips is not None and trips <= FEW)):
        inner = _cut_in(body)
    if trips is not None and not work.products and trips <= max(fewest, piece // max(work.known, 1)):
        return inner
    if trips is not None and trips <= max(2, fewest):
        return inner
    b = _Builder(op)
    if work.products:
        total = b.number(work.known + 1)
        for factor, values in work.products:
            term = b.number(factor)
            for k in range(0, len(values), 3):
                bounds = [b.outside(value, op) for value in values[k : k + 3]]
                term = b.add(arith.MuliOp(term, b.trips(*bounds)))
            total = b.add(arith.AddiOp(total, term))
        count = b.add(
            arith.MaxSIOp(b.add(arith.DivSIOp(b.number(piece), _positive(b, total))), b.number(fewest))
        )
    else:
        count = b.number(max(fewest, piece // max(work.known, 1)))
    _into_pieces(op, b, count)
    return True


def _positive(b: _Builder, total: SSAValue) -> SSAValue:
    return b.add(arith.MaxSIOp(total, b.number(1)))


def _into_pieces(op: scf.ForOp | scf.ParallelOp, b: _Builder, count: SSAValue) -> None:
    """Put a loop of pieces of `count` iterations around a loop."""
    lower, upper, step = _bounds(op)
    width = b.add(arith.MuliOp(count, step))
    carried = list(op.iter_args) if isinstance(op, scf.ForOp) else []
    body = Block(arg_types=[INDEX, *(v.type for v in carried)])
    place = body.args[0]
    place.name_hint = "piece"
    outer = scf.ForOp(lower, upper, width, carried, body)
    outer.location = op.location
    parent = op.parent
    assert parent is not None
    parent.insert_op_before(outer, op)
    for old, new in zip(op.results, outer.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    body.add_op(op)
    end = scf.YieldOp(*op.results)
    end.location = op.location
    body.add_op(end)
    inside = _Builder(op)
    later = inside.add(arith.CmpiOp(place, lower, "sgt"))
    branch = scf.IfOp(later, [], Region(Block([scf.YieldOp()])))
    branch.location = op.location
    body.insert_op_before(branch, op)
    asking = _Builder.inside_of(branch)
    second = asking.add(arith.AddiOp(lower, width))
    _ask(asking, asking.add(arith.CmpiOp(place, second, "eq")))
    start = place
    if DESCENDING in op.attributes and constant_of(step) == 1:
        # The pieces, too, the last one first: it ends where the loop does.
        left = inside.add(arith.SubiOp(upper, place))
        last = inside.add(arith.SubiOp(left, width))
        start = inside.add(arith.AddiOp(lower, inside.add(arith.MaxSIOp(last, inside.number(0)))))
        stop = inside.add(arith.AddiOp(lower, left))
    else:
        stop = inside.add(arith.MinSIOp(inside.add(arith.AddiOp(place, width)), upper))
    if isinstance(op, scf.ForOp):
        op.operands = [start, stop, step, *body.args[1:]]
    else:
        op.operands = [start, stop, step]


def _ask(b: _Builder, first: SSAValue) -> None:
    """Stop where a signal was handled that raised; at the `first` time only the clock is read."""
    stop = b.add(func.CallOp(POLL, [first], [i1]))
    go_on = b.add(arith.XOrIOp(stop, b.add(arith.ConstantOp(IntegerAttr(1, i1)))))
    check = cf.AssertOp(go_on, "interrupted")
    check.attributes[KIND] = StringAttr("Interrupted")
    b.put(check)


# ---- loops that do not ----------------------------------------------------------------------------------


def _ask_in_while(op: scf.WhileOp) -> None:
    """Count the rounds of a `while`, and ask after every so many."""
    rounds = 1
    work = _work_of(op.after_region.block, op).known + _work_of(op.before_region.block, op).known
    while rounds * work < PIECE:
        rounds *= 2
    b = _Builder(op)
    zero = b.number(0)
    before, after = op.before_region.block, op.after_region.block
    count = before.insert_arg(INDEX, len(before.args))
    condition = before.last_op
    assert isinstance(condition, scf.ConditionOp)
    condition.operands = [*condition.operands, count]
    done = after.insert_arg(INDEX, len(after.args))
    done.name_hint = count.name_hint = "round"
    end = after.last_op
    assert end is not None
    inside = _Builder(end)
    following = inside.add(arith.AddiOp(done, inside.number(1)))
    left = inside.add(arith.AndIOp(following, inside.number(rounds - 1)))
    branch = scf.IfOp(
        inside.add(arith.CmpiOp(left, inside.number(0), "eq")), [], Region(Block([scf.YieldOp()]))
    )
    branch.location = op.location
    after.insert_op_before(branch, end)
    asking = _Builder.inside_of(branch)
    _ask(asking, asking.add(arith.CmpiOp(following, asking.number(rounds), "eq")))
    end.operands = [*end.operands, following]
    types: list[Attribute] = [r.type for r in op.results]
    made = scf.WhileOp.create(
        operands=[*op.operands, zero],
        result_types=[*types, INDEX],
        regions=[op.detach_region(region) for region in list(op.regions)],
        attributes=dict(op.attributes),
        location=op.location,
    )
    parent = op.parent
    assert parent is not None
    parent.insert_op_before(made, op)
    for old, new in zip(op.results, made.results, strict=False):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    parent.erase_op(op)
