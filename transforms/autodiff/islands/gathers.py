"""What a loop adds to neighbours is gathered by each element instead: the adjoint of a stencil is a stencil.

    nest.for "i" %i = 1 to %n - 1 {                      nest.for "i" %p = 2 to %n - 2 {       // the core
      %g = nest.load %c[%i]                                %s = %c[%p + 1] + %c[%p - 1]
      nest.accumulate add %g, %x[%i - 1]           ->      nest.store %s, %x[%p]
      nest.accumulate add %g, %x[%i + 1]                 }
    }                                                    ... and both ends, where each term has its domain

All iterations of the loops write elements of their own, so that they run in parallel, as vectors. The terms are computed for
each element: done where those that several of them share are cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....analysis.nest.loop_structure import enclosing_loops, is_inside
from ....analysis.nest.sets.accesses import accesses_in
from ....analysis.nest.sets.domains import is_computation
from ....analysis.nest.values.extent_keys import extent_key, value_key
from ....dialects.affine import AffineList, linear_terms
from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from ....dialects.nt.expand import Emitter
from ...nest.rewrite.loops import erase_with_inputs, materialise

Bounds = tuple[AffineList, AffineList]

_CHEAP = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.NegfOp, arith.SelectOp, arith.ConstantOp, LoadOp)


def gather_sums(function: FuncOp, buffer: SSAValue) -> bool:
    """Make sums into the neighbours of an element, in a buffer of zeros, stores of each element; whether that was done."""
    gather = _Gather.of(function, buffer)
    if gather is None:
        return False
    gather.run()
    return True


class _Gather:
    def __init__(
        self,
        buffer: SSAValue,
        sums: Sequence[AccumulateOp],
        loops: Sequence[ForOp],
        offsets: Sequence[Sequence[int]],
        axes: Sequence[int],
        extents: Sequence[AffineList],
    ):
        """`offsets`: of each sum, for each loop, which element it is to; `axes`: the axis of each loop's variable."""
        self._buffer, self._sums, self._loops = buffer, sums, loops
        self._offsets, self._axes, self._extents = offsets, axes, extents

    @staticmethod
    def of(function: FuncOp, buffer: SSAValue) -> _Gather | None:
        """What is to be done; None where sums are of another form."""
        accesses = accesses_in(function)
        written = {a.buffer for a in accesses if a.writes}
        sums = [a.op for a in accesses if a.buffer is buffer]
        if len(sums) < 2 or any(op.parent is not sums[0].parent for op in sums):
            return None
        loops = enclosing_loops(sums[0])
        rank = len(sums[0].indices) if isinstance(sums[0], AccumulateOp) else 0
        if not loops or len(loops) != rank or loops[-1] is not sums[0].parent_op():
            return None
        if any(not _is_plain(loop, loops[0]) for loop in loops):
            return None
        if any(op.parent_op() is not around for op, around in zip(loops, [function, *loops], strict=False)):
            return None  # a branch decides whether they run
        offsets: list[list[int]] = []
        axes: list[int] | None = None
        for op in sums:
            if not isinstance(op, AccumulateOp) or op.where is not None or op.mask is not None:
                return None
            found = _shifts(op.indices, loops)
            if found is None or (axes is not None and found[0] != axes):
                return None
            axes = found[0]
            offsets.append(found[1])
        values = [_slice(op.values[0], loops[0], written) for op in sums]  # pyright: ignore
        if axes is None or any(v is None for v in values) or _repeats_work(values):  # pyright: ignore
            return None
        extents = [_extent(function, buffer, axis) for axis in axes]
        if any(e is None for e in extents):
            return None
        return _Gather(buffer, sums, loops, offsets, axes, extents)  # pyright: ignore

    def run(self) -> None:
        """Make the nests, one for the core and one for each border, and erase the sums."""
        core: list[Bounds] = []
        for k, loop in enumerate(self._loops):
            shifts = [shift[k] for shift in self._offsets]
            core.append((loop.lower.add(max(shifts)), loop.upper.add(min(shifts))))
        self._nest(core, is_core=True)
        # Where a loop does not run at all, the bounds of the others may be anything.
        none = AffineList.of(0)
        inside = [
            (_bound(max, low, none), _bound(min, high, extent))
            for (low, high), extent in zip(core, self._extents, strict=True)
        ]
        for k, ((low, high), extent) in enumerate(zip(core, self._extents, strict=True)):
            rest = [(none, e) for e in self._extents[k + 1 :]]
            if low.constants() != (0,):
                self._nest([*inside[:k], (none, _bound(min, low, extent)), *rest], is_core=False)
            if high.minus(extent).constants() != (0,):
                self._nest([*inside[:k], (_bound(max, low, high, none), extent), *rest], is_core=False)
        outermost = self._loops[0]
        for op in self._sums:
            erase_with_inputs(op)
        if not any(isinstance(o, StoreOp | AccumulateOp) for o in outermost.walk()):
            assert outermost.parent is not None
            outermost.parent.erase_op(outermost)

    def _nest(self, bounds: Sequence[Bounds], is_core: bool) -> None:
        outermost = self._loops[0]
        assert outermost.parent is not None
        block: Block | None = None
        variables: list[SSAValue] = []
        for old, (lower, upper) in zip(self._loops, bounds, strict=True):
            loop = ForOp(old.label, lower, upper)
            loop.location = old.location
            if block is None:
                outermost.parent.insert_op_before(loop, outermost)
            else:
                block.add_op(loop)
            block = loop.body.block
            variables.append(loop.iv)
        assert block is not None
        place = [variables[self._axes.index(axis)] for axis in range(len(variables))]
        at = AffineList.of(*place)
        body, location = block, self._sums[0].location

        def put(op: Operation) -> SSAValue | None:
            op.location = location
            body.add_op(op)
            return op.results[0] if op.results else None

        emitter = Emitter(put, location)
        total = None if is_core else emitter.const(0.0, self._sums[0].values[0].type)
        if total is not None:
            put(StoreOp(total, self._buffer, at))
        for op, offsets in zip(self._sums, self._offsets, strict=True):
            moved = {
                loop.iv: AffineList.of(v).add(-shift)
                for loop, v, shift in zip(self._loops, variables, offsets, strict=True)
            }
            term = _copy(op.values[0], moved, outermost, put, {}, body)
            if is_core:
                total = term if total is None else emitter.op(arith.AddfOp, (total, term))
                continue
            inside = AffineList.of()
            for loop in self._loops:
                inside = inside.concat(moved[loop.iv].minus(loop.lower))
                inside = inside.concat(loop.upper.minus(moved[loop.iv]).add(-1))
            put(AccumulateOp("add", [term], [self._buffer], at, where=inside.canonical()))
        if is_core:
            assert total is not None
            put(StoreOp(total, self._buffer, at))


def _bound(chosen: Callable[..., int], *bounds: AffineList) -> AffineList:
    """Several bounds of a loop, of which `chosen` counts; one where all are numbers."""
    merged = AffineList.of(*bounds).canonical()
    numbers = merged.constants()
    return merged if numbers is None else AffineList.of(chosen(numbers))


def _is_plain(loop: ForOp, outermost: ForOp) -> bool:
    bounds = (loop.lower, loop.upper)
    return loop.step_value == 1 and all(
        len(b) == 1 and all(_is_outside(v, outermost) for v in b.operands) for b in bounds
    )


def _is_outside(value: SSAValue, loop: ForOp) -> bool:
    owner = value.owner.parent_op() if isinstance(value.owner, Block) else value.owner
    return owner is None or not is_inside(owner, loop)


def _shifts(indices: AffineList, loops: Sequence[ForOp]) -> tuple[list[int], list[int]] | None:
    """For each loop the axis of its variable, and what is added to it there."""
    axes, offsets = [-1] * len(loops), [0] * len(loops)
    variables = [loop.iv for loop in loops]
    for axis, index in enumerate(indices):
        terms, constant = linear_terms(index.exprs[0])
        if len(terms) != 1:
            return None
        ((atom, factor),) = terms.items()
        if not isinstance(atom, AffineDimExpr) or factor != 1:
            return None
        value = index.operands[atom.position]
        if value not in variables or axes[variables.index(value)] != -1:
            return None
        axes[variables.index(value)], offsets[variables.index(value)] = axis, constant
    return axes, offsets


def _slice(value: SSAValue, outermost: ForOp, written: set[SSAValue | None]) -> set[Operation] | None:
    """The operations in the loops that a value is computed by; None where they cannot be repeated."""
    found: set[Operation] = set()
    pending = [value]
    while pending:
        last = pending.pop()
        if _is_outside(last, outermost) or isinstance(last.owner, Block) or last.owner in found:
            continue
        op = last.owner
        is_read = isinstance(op, LoadOp) and op.memref not in written
        if not is_read and (isinstance(op, LoadOp) or not is_computation(op)):
            return None
        found.add(op)
        pending += op.operands
    return found


def _repeats_work(slices: Sequence[set[Operation]]) -> bool:
    """Whether several terms share what is expensive."""
    seen: set[Operation] = set()
    for one in slices:
        expensive = {op for op in one if not isinstance(op, _CHEAP)}
        if expensive & seen:
            return True
        seen |= expensive
    return False


def _extent(function: FuncOp, buffer: SSAValue, axis: int) -> AffineList | None:
    """The extent of a buffer's axis as the function has it."""
    key = extent_key(buffer, axis)
    if isinstance(key, int):
        return AffineList.of(key)
    for op in function.body.block.ops:
        if isinstance(op, memref.DimOp) and value_key(op.result) == key:
            return AffineList.of(op.result)
    return None


def _copy(
    value: SSAValue,
    moved: dict[SSAValue, AffineList],
    outermost: ForOp,
    put: Callable[[Operation], SSAValue | None],
    known: dict[SSAValue, SSAValue],
    block: Block,
) -> SSAValue:
    """A value of one iteration of the loops, computed for another one."""

    def again(v: SSAValue) -> SSAValue:
        return _copy(v, moved, outermost, put, known, block)

    if value in known:
        return known[value]
    if value in moved:
        known[value] = materialise(moved[value], block, None)
    elif _is_outside(value, outermost):
        return value
    else:
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, LoadOp):
            indices = op.indices
            for variable, by in moved.items():
                indices = indices.substitute(variable, by)
            own = {
                v: again(v)
                for v in indices.operands
                if not _is_new(v, block) and not _is_outside(v, outermost)
            }
            copy: Operation = LoadOp(op.memref, indices.substitute_all(own))
        else:
            copy = op.clone({v: again(v) for v in op.operands})
        put(copy)
        known[value] = copy.results[0]
    known[value].name_hint = value.name_hint
    return known[value]


def _is_new(value: SSAValue, block: Block) -> bool:
    """Whether a value is of the nest that is made."""
    home = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while block is not home:
        parent = block.parent_op()
        if parent is None or parent.parent is None:
            return False
        block = parent.parent
    return True
