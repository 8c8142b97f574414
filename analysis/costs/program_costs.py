"""What a program costs for given extents, nest by nest: operations, and the memory traffic that it cannot do without.

    nest i, j (line 4)         1 time     2000 flops     reads 160 bytes, writes 80 bytes

A *nest* is an outermost loop; the elements of an array that it touches are read or written once in it. Loops that only
repeat what is in them are none: a `for` or `while` around whole sweeps over arrays, whose variable indexes nothing, or that
reads what its last round has written. Their nests run once a round. What a nest allocates for itself is no traffic, nor is
what it has written in the same iteration, and a nest that only fills an array for the accumulation that follows counts as
part of that one. What cannot be counted is named: the numbers are then least ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...dialects.affine import linear_terms
from ...dialects.diagnostic import SourceLocation, op_location
from ...dialects.nest import AccumulateOp, AllocOp, ForOp, IfOp, LoadOp, StoreOp
from ...dialects.walk import walk
from ..nest.buffers import element_bytes
from ..nest.check_sites import raises
from ..nest.loop_structure import is_inside, perfect_band
from .elements import Access, Touched, is_written_before
from .iterations import Condition, Extents, NotKnown, Step, around, callee, place, variable
from .operations import NOTHING, Work, work_of

MOST_ROUNDS = 4096
"""Maximum number of rounds of a loop that are looked at one by one, where the elements that are touched differ."""


@dataclass(frozen=True)
class NestCost:
    """What the runs of one nest cost together. Numbers are least ones where there are `reasons`."""

    name: str
    """Its loops: `i, j`."""
    file: str
    line: int
    """Where it stands in Python; 0 where that is not known."""
    times: int | None
    """How often it runs; None where only the run knows. The numbers are then those of no run."""
    flops: int
    transcendentals: int
    integer_operations: int
    bytes_read: int
    bytes_written: int
    reasons: tuple[str, ...] = ()
    """What could not be counted."""
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The fields as plain data."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in vars(self).items()}

    def __str__(self) -> str:
        line = f" (line {self.line})" if self.line else ""
        if self.times is None:
            return f"{self.name}{line}: not counted, for how often it runs is not known"
        parts = [f"{self.flops:,} flops", *_others(self.transcendentals, self.integer_operations)]
        traffic = f"reads {_bytes(self.bytes_read)}, writes {_bytes(self.bytes_written)}"
        least = "at least " if self.reasons else ""
        runs = "" if self.times == 1 else f", runs {self.times:,} times"
        if self.note:
            return f"{self.name}{line}{runs}: {self.note}"
        return f"{self.name}{line}{runs}: {least}{', '.join(parts)}; {traffic}"


@dataclass(frozen=True)
class CostAnalysis:
    """What a call of a program costs. Numbers are least ones where `is_exact` is false, and `reasons` say why.

    `flops` are floating-point operations, `transcendentals` functions such as exp and sin, `integer_operations` those on
    elements; `bytes_read` and `bytes_written` the traffic that its nests cannot do without.
    """

    name: str
    extents: dict[str, int]
    nests: tuple[NestCost, ...]
    flops: int
    transcendentals: int
    integer_operations: int
    bytes_read: int
    bytes_written: int
    reasons: tuple[str, ...] = field(default=())

    @property
    def is_exact(self) -> bool:
        """Whether everything was counted."""
        return not self.reasons

    @property
    def bytes_accessed(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written

    @property
    def arithmetic_intensity(self) -> float | None:
        """Floating-point operations and functions a byte of traffic; None where not all is counted or there is none."""
        if not self.is_exact or not self.bytes_accessed:
            return None
        return (self.flops + self.transcendentals) / self.bytes_accessed

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, for `json`."""
        return {
            "name": self.name,
            "extents": dict(self.extents),
            "is_exact": self.is_exact,
            "flops": self.flops,
            "transcendentals": self.transcendentals,
            "integer_operations": self.integer_operations,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "bytes_accessed": self.bytes_accessed,
            "arithmetic_intensity": self.arithmetic_intensity,
            "reasons": list(self.reasons),
            "nests": [nest.as_dict() for nest in self.nests],
        }

    def __repr__(self) -> str:
        least = "" if self.is_exact else "at least "
        given = ", ".join(f"{name} = {number}" for name, number in self.extents.items())
        work = [f"{self.flops:,} flops", *_others(self.transcendentals, self.integer_operations)]
        lines = [
            f"cost of {self.name}{f' for {given}' if given else ''}:",
            f"  {least}{', '.join(work)}",
            f"  {least}{_bytes(self.bytes_read)} read, {_bytes(self.bytes_written)} written",
        ]
        if (intensity := self.arithmetic_intensity) is not None:
            lines.append(f"  {intensity:,.3g} operations on floating-point numbers a byte")
        count = len(self.nests)
        lines.append(f"  {count} nest{'' if count == 1 else 's'}{':' if count else ''}")
        lines += [f"    {nest}" for nest in self.nests]
        if self.reasons:
            lines += ["  not counted:", *[f"    {reason}" for reason in self.reasons]]
        return "\n".join(lines)


def _bytes(number: int) -> str:
    return f"{number:,} byte{'' if number == 1 else 's'}"


def _others(transcendentals: int, integers: int) -> list[str]:
    rest = [(transcendentals, "transcendental function"), (integers, "integer operation")]
    return [f"{n:,} {what}{'' if n == 1 else 's'}" for n, what in rest if n]


def cost_of(function: FuncOp, name: str, extents: Extents, given: dict[str, int]) -> CostAnalysis:
    """What a function at the nest level, which is not scheduled yet, costs for extents; `given` names those for people."""
    reader = _Reader(extents)
    for block in function.body.blocks:
        reader.read(block)
    return reader.cost(name, given)


class _Reader:
    def __init__(self, extents: Extents):
        self._extents = extents
        self._nests: list[NestCost] = []
        self._outside = NOTHING
        self._reasons: dict[str, None] = {}
        self._assumed: set[Operation] = set()
        """Branches of which both sides are looked at, to see what they have in common."""
        self._started: dict[ForOp, ForOp] = {}
        """By a nest that fills an array: the one that accumulates into it."""

    def cost(self, name: str, given: dict[str, int]) -> CostAnalysis:
        total = self._outside
        for nest in self._nests:
            total = total.plus(Work(nest.flops, nest.transcendentals, nest.integer_operations))
        read, written = (
            sum(getattr(n, side) for n in self._nests) for side in ("bytes_read", "bytes_written")
        )
        reasons = dict.fromkeys([*self._reasons, *(r for nest in self._nests for r in nest.reasons)])
        return CostAnalysis(name, given, tuple(self._nests), *total, read, written, tuple(reasons))

    # ---- which loops are nests --------------------------------------------------------------------------

    def read(self, block: Block) -> None:
        """Count what is in a block outside of nests, and its nests."""
        self._find_fills(block)
        for op in block.ops:
            if isinstance(op, ForOp) and not self._only_repeats(op):
                self._nest(op)
            elif op.regions and not isinstance(op, AccumulateOp):
                self._around(op)
            elif isinstance(op, CallOp) and not raises(op):
                self._reasons[f"the call of '{callee(op)}'{place(op)}"] = None
            else:
                self._outside = self._outside.plus(self._scalar(op))

    def _around(self, op: Operation) -> None:
        if isinstance(op, scf.WhileOp):
            self._reasons[_rounds(op)] = None
        for region in op.regions:
            for block in region.blocks:
                self.read(block)

    def _scalar(self, op: Operation) -> Work:
        work = work_of(op)
        if work == NOTHING:
            return work
        times = self._times(op, self._reasons)
        return work.times(times or 0)

    def _times(self, op: Operation, reasons: dict[str, None]) -> int | None:
        steps = around(op)
        if isinstance(steps, Operation):
            reasons[_rounds(steps)] = None
            return None
        try:
            return self._extents.iterations(self._open(steps)).count
        except NotKnown as why:
            reasons[str(why)] = None
            return None

    def _only_repeats(self, loop: ForOp) -> bool:
        """Whether a loop repeats the nests in it: it indexes nothing, or reads what its last round has written."""
        band = perfect_band(loop)
        if len(band) == 1 and not any(isinstance(op, ForOp) for op in loop.body.block.walk()):
            return False
        indexed: set[SSAValue] = set()
        kinds: dict[SSAValue, set[bool]] = {}
        for op, buffer, is_read in _accesses(loop):
            if not _rank(buffer) or _is_inside_of(buffer, loop):
                continue
            kinds.setdefault(buffer, set()).add(is_read)
            if loop.iv in self._extents.supports(op.indices.operands):
                indexed.add(buffer)
        if not kinds:
            return False
        if not indexed:
            return True
        is_carried = any(len(kinds[buffer]) == 2 for buffer in kinds if buffer not in indexed)
        return is_carried and len(band) == 1

    # ---- arrays that are filled for an accumulation ---------------------------------------------------

    def _find_fills(self, block: Block) -> None:
        for op in block.ops:
            store = _fill(op)
            if store is None or not isinstance(op, ForOp):
                continue
            user = op.next_op
            while user is not None and not any(b is store.memref for _, b, _ in _accesses(user)):
                user = user.next_op
            if not isinstance(user, ForOp) or self._only_repeats(user):
                continue
            mine = [a for a, b, _ in _accesses(user) if b is store.memref]
            if all(isinstance(a, AccumulateOp) for a in mine) and self._is_whole(store, op):
                self._started[op] = user

    def _is_whole(self, store: StoreOp, nest: ForOp) -> bool:
        """Whether a fill writes all elements."""
        total = 1
        try:
            touched = Touched(self._extents, store.memref)
            touched.add(store, _inside(nest, store), {})
            for extent in self._extents.shape(store.memref):
                total *= extent
            return touched.count == total
        except NotKnown:
            return False

    # ---- one nest ---------------------------------------------------------------------------------------

    def _nest(self, root: ForOp) -> None:
        reasons: dict[str, None] = {}
        times = self._times(root, reasons)
        work, read, written = NOTHING, 0, 0
        note = ""
        if times is not None and root in self._started:
            note = f"fills what {self._started[root].label} accumulates into, and is counted there"
        elif times is not None:
            work = self._work(root.body.block, reasons)
            read, written = self._traffic(root, times, reasons)
        where = _place_of(root) or SourceLocation("")
        names = ", ".join(op.label for op in walk(root) if isinstance(op, ForOp))
        self._nests.append(
            NestCost(names, where.file, where.line, times, *work, read, written, tuple(reasons), note)
        )

    def _work(self, block: Block, reasons: dict[str, None]) -> Work:
        """What a block does in all of its executions, at least."""
        here = NOTHING
        total = NOTHING
        for op in block.ops:
            if isinstance(op, AccumulateOp):
                total = total.plus(self._accumulated(op, reasons))
            elif isinstance(op, IfOp | scf.IfOp):
                total = total.plus(self._branches(op, reasons))
            elif isinstance(op, ForOp | scf.ForOp):
                total = total.plus(self._work(op.body.block, reasons))
            elif op.regions:
                if any(work_of(inner) != NOTHING for inner in op.walk()):
                    reasons[f"what is in '{op.name}'{place(op)}"] = None
            elif isinstance(op, CallOp) and not raises(op):
                reasons[f"the call of '{callee(op)}'{place(op)}"] = None
            else:
                here = here.plus(work_of(op))
        return total if here == NOTHING else total.plus(self._executed(block, here, reasons))

    def _executed(self, block: Block, work: Work, reasons: dict[str, None]) -> Work:
        assert block.last_op is not None
        return work.times(self._times(block.last_op, reasons) or 0)

    def _accumulated(self, op: AccumulateOp, reasons: dict[str, None]) -> Work:
        work = work_of(op)
        steps = around(op)
        if work == NOTHING or isinstance(steps, Operation):
            return NOTHING
        if op.mask is not None:
            reasons[f"the accumulation{place(op)}: a mask of data decides which elements it takes"] = None
            return NOTHING
        try:
            return work.times(self._extents.iterations(self._open(steps), where=op.where).count)
        except NotKnown as why:
            reasons[str(why)] = None
            return NOTHING

    def _branches(self, op: IfOp | scf.IfOp, reasons: dict[str, None]) -> Work:
        """Both branches; what they have in common where only data says which is taken."""
        sides = [region.block for region in op.regions if region.blocks]
        unknown: dict[str, None] = {}
        found = [self._work(side, unknown) for side in sides]
        if not unknown:
            return found[0].plus(found[1]) if len(found) == 2 else found[0]
        self._assumed.add(op)
        open_reasons: dict[str, None] = {}
        found = [self._work(side, open_reasons) for side in sides]
        self._assumed.discard(op)
        if len(found) == 2 and found[0] == found[1] and not open_reasons:
            return found[0]
        reasons |= unknown
        return found[0].least(found[1]) if len(found) == 2 else NOTHING

    def _open(self, steps: Sequence[Step]) -> list[Step]:
        """The steps without the branches that are assumed to be taken."""
        return [one for one in steps if not (isinstance(one, Condition) and one.op in self._assumed)]

    def _traffic(self, root: ForOp, times: int, reasons: dict[str, None]) -> tuple[int, int]:
        """The bytes that all runs of a nest read and write."""
        buffers: dict[SSAValue, tuple[list[Access], list[Access]]] = {}
        filled = {
            store.memref
            for fill, user in self._started.items()
            if user is root and (store := _fill(fill)) is not None
        }
        for op, buffer, is_read in _accesses(root):
            if _is_inside_of(buffer, root):
                continue
            reads, writes = buffers.setdefault(buffer, ([], []))
            if not is_read:
                writes.append(op)
            elif buffer not in filled and not is_written_before(op, buffer, root, self._extents):  # pyright: ignore
                reads.append(op)
        found = [0, 0]
        for buffer, sides in buffers.items():
            assert isinstance(buffer.type, MemRefType)
            size = element_bytes(buffer.type.element_type)
            for k, ops in enumerate(sides):
                found[k] += size * self._touched(root, buffer, ops, times, reasons)
        return found[0], found[1]

    def _touched(
        self, root: ForOp, buffer: SSAValue, ops: Sequence[Access], times: int, reasons: dict[str, None]
    ) -> int:
        """How many elements accesses touch, all runs of the nest together."""
        outer = around(root)
        if not ops or not times or isinstance(outer, Operation):
            return 0
        known = [op for op in ops if self._is_known(op, reasons)]
        varying = self._varying(root, known, outer)
        try:
            if not varying:
                return times * self._once(root, buffer, known, {}, reasons)
            points = self._extents.iterations(outer, varying)
            rounds = list(zip(*(points.array(points.values[v]).tolist() for v in varying), strict=True))
            if self._moves_only(root, known, varying):
                return times * self._once(
                    root, buffer, known, dict(zip(varying, rounds[0], strict=True)), reasons
                )
            if len(rounds) > MOST_ROUNDS:
                raise NotKnown(
                    f"more than {MOST_ROUNDS} rounds in which '{root.label}' touches other elements"
                )
            each = times // len(rounds)
            return sum(
                each * self._once(root, buffer, known, dict(zip(varying, values, strict=True)), reasons)
                for values in rounds
            )
        except NotKnown as why:
            reasons[str(why)] = None
            return 0

    def _once(
        self,
        root: ForOp,
        buffer: SSAValue,
        ops: Sequence[Access],
        fixed: dict[SSAValue, int],
        reasons: dict[str, None],
    ) -> int:
        touched = Touched(self._extents, buffer)
        for op in ops:
            try:
                touched.add(op, _inside(root, op), fixed)
            except NotKnown as why:
                reasons[str(why)] = None
        return touched.count

    def _is_known(self, op: Access, reasons: dict[str, None]) -> bool:
        if isinstance(around(op), Operation):
            reasons[f"the traffic of '{_names(op)}'{place(op)}: its loop runs as data decides"] = None
            return False
        if isinstance(op, StoreOp | AccumulateOp) and op.mask is not None:
            reasons[f"the traffic of '{_names(op)}'{place(op)}: a mask of data decides what is touched"] = (
                None
            )
            return False
        return True

    def _varying(self, root: ForOp, ops: Sequence[Access], outer: Sequence[Step]) -> list[SSAValue]:
        """The variables of loops around a nest on which the elements depend that it touches."""
        names = [variable(step) for step in outer if isinstance(step, ForOp | scf.ForOp)]
        used = self._extents.supports(v for op in ops for v in self._deciding(root, op))
        return [name for name in names if name in used]

    def _deciding(self, root: ForOp, op: Access) -> Iterator[SSAValue]:
        yield from op.indices.operands
        yield from self._limiting(root, op)

    def _limiting(self, root: ForOp, op: Access) -> Iterator[SSAValue]:
        """What decides in which iterations an access runs."""
        if isinstance(op, StoreOp | AccumulateOp) and op.where is not None:
            yield from op.where.operands
        for step in _inside(root, op):
            yield from step.operands if isinstance(step, ForOp | scf.ForOp) else [step.value]

    def _moves_only(self, root: ForOp, ops: Sequence[Access], varying: Sequence[SSAValue]) -> bool:
        """Whether all elements that are touched move by the same distance from round to round."""
        names = set(varying)
        if any(self._extents.support(v) & names for op in ops for v in self._limiting(root, op)):
            return False
        forms: set[tuple[Any, ...]] = set()
        for op in ops:
            shape: list[Any] = []
            for axis in op.indices:
                terms, _ = linear_terms(axis.exprs[0])
                for term, factor in terms.items():
                    value = axis.operands[term.position] if isinstance(term, AffineDimExpr) else None
                    if value is None or (value not in names and self._extents.support(value) & names):
                        return False
                    if value in names:
                        shape.append((len(shape), value, factor))
                shape.append(None)
            forms.add(tuple(shape))
        return len(forms) == 1


def _rounds(op: Operation) -> str:
    """What is not known of an operation that runs its regions as data decides."""
    if isinstance(op, scf.WhileOp):
        return f"the rounds of the while loop{place(op)}: only the run knows their number"
    return f"what is in '{op.name}'{place(op)}"


def _inside(root: ForOp, op: Operation) -> list[Step]:
    """The loops and branches around `op` from a nest on. Raises NotKnown where something else is around it."""
    steps = around(op)
    if isinstance(steps, Operation):
        raise NotKnown(f"'{steps.name}'{place(steps)} runs as data decides")
    whole = [step for step in steps if is_inside(step if isinstance(step, Operation) else step.op, root)]
    return whole


def _accesses(op: Operation) -> Iterator[tuple[Access, SSAValue, bool]]:
    """Accesses below `op`, their buffers, and whether they read: what accumulates does both."""
    for inner in walk(op):
        if isinstance(inner, LoadOp):
            yield inner, inner.memref, True
        elif isinstance(inner, StoreOp):
            yield inner, inner.memref, False
        elif isinstance(inner, AccumulateOp):
            for buffer in inner.memrefs:
                yield inner, buffer, True
                yield inner, buffer, False


def _fill(op: Operation) -> StoreOp | None:
    """The store of a nest that stores one number everywhere."""
    if not isinstance(op, ForOp):
        return None
    block = perfect_band(op)[-1].body.block
    store = block.first_op
    is_alone = isinstance(store, StoreOp) and store is block.last_op
    if not is_alone or store.where is not None or store.mask is not None:  # pyright: ignore
        return None
    return store if isinstance(store.value.owner, ConstantOp) else None  # pyright: ignore


def _is_inside_of(buffer: SSAValue, root: Operation) -> bool:
    return isinstance(buffer.owner, AllocOp) and is_inside(buffer.owner, root)


def _rank(buffer: SSAValue) -> int:
    return buffer.type.get_num_dims() if isinstance(buffer.type, MemRefType) else 0


def _names(op: Access) -> str:
    buffers = op.memrefs if isinstance(op, AccumulateOp) else [op.memref]
    return ", ".join(b.name_hint or "an array" for b in buffers)


def _place_of(root: ForOp) -> SourceLocation | None:
    """Where a nest stands: its own place, or that of the first statement in it."""
    for op in walk(root):
        found = op_location(op)
        if found is not None and found.line:
            return found
    return None
