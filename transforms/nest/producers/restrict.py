"""nest-restrict: a function that computes a box of one result, and takes of each input what that needs.

    func.func @f(%x: memref<?xf64>, %y: memref<?xf64> {nest.role = "out"}) {
      %n = memref.dim %x, %c0
      nest.for "i" %i = 0 to %n - 2 {
        %a = nest.load %x[%i]
        %b = nest.load %x[%i + 2]
        %c = arith.addf %a, %b : f64
        nest.store "y" %c, %y[%i]
      }
    }

with result=y axis=0 becomes

    func.func @f(%x: memref<?xf64>, %y: memref<?xf64> {nest.role = "out"},
                 %lo: index, %hi: index, %x_extent: index, %x_first: index) {
      nest.for "i" %i = max(0, %lo) to min(%x_extent - 2, %hi) {
        %a = nest.load %x[%i - %x_first]
        %b = nest.load %x[%i - %x_first + 2]
        %c = arith.addf %a, %b : f64
        nest.store "y" %c, %y[%i - %lo]
      }
    }

The box is `lo <= index < hi` along the axis, and whole along the others. Loop variables stay those of the whole function;
what changes are the bounds of loops, the indices of buffers and their extents. An argument of which only a part is needed
is that part, from the index `first` on; extents of the whole are arguments. Statements that the box does not need are
gone, and so are other results. With `reductions=i` the reductions that loops of this name make are complete: their
buffers are arguments. With `update=i` in place of a result the function makes the updates of the reduction over the loop `i`
in the iterations `lo` to `hi`, from its neutral value on. With `running=i` it makes a box of the results so far of the
reduction over `i`, from what is before the box on, an argument. With
`inside` it is for boxes for which no loop that moves with them ends where it does for the whole (here from 0 to
`x_extent - 2`): these bounds are gone, as are statements that only boxes at borders need. With `from-zero` loops over
a box run from 0 to its extent (box_loops.py).

Which parts these are is followed exactly by isl (`analysis/nest/sets/restriction.py`). Refused where nothing is known:
`while` loops, arguments that may share memory or are read and written, checks that read what the box does not need.
Halide infers such bounds for its stages; nothing of the kind is in MLIR, TVM, Exo or NNC.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from ....analysis.nest.kernels.combiners import identities
from ....analysis.nest.loop_structure import enclosing_loops, find_loop, functions
from ....analysis.nest.sets.flow import Obstacle, Statement
from ....analysis.nest.sets.mapped_calls import CallAxis
from ....analysis.nest.sets.restriction import (
    BOX,
    HI,
    LO,
    Edge,
    Limit,
    Limits,
    Made,
    Restriction,
    buffers_of,
    restriction_of,
    restriction_of_running,
    restriction_to,
)
from ....analysis.nest.sets.running import Running, running_results
from ....analysis.nest.values.extent_keys import extent_key, value_key
from ....dialects.affine import AffineList, constant_of
from ....dialects.attributes import DIMS, ROLE
from ....dialects.diagnostic import fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, IndexOp, LoadOp, PrefetchOp, StoreOp
from ....dialects.nest.common import INDEX
from ..cleanup.eliminate_dead import eliminate_dead
from ..rewrite.loops import replace_index, simplify_bounds
from ..rewrite.reshaping import extents_of
from ..rewrite.sizes import reallocate, replace
from .box_loops import Box, run_from_zero
from .cut_calls import cut_call


class Word(NamedTuple):
    """What an index argument says, of a numbered array of the whole function: the `lo` or `hi` of a box along an axis, the
    index that a part begins at (`first`), or the `extent` of the whole. The kind of the array is that of its `Part`; of
    "partial loop", `lo` and `hi` are iterations of a numbered loop. `number`: of which part, where an array has several."""

    kind: str
    of: str
    place: int
    axis: int
    number: int = 0


@dataclass(frozen=True)
class WordBound:
    """A linear expression in words and in scalar arguments of the whole function (by their numbers)."""

    factors: tuple[tuple[Word | int, int], ...]
    constant: int


@dataclass(eq=False)
class Part:
    """An array argument: what it is a part of, and from where to where (exclusive, as far as there is that much).

    `kind`: "input" and "result" are arguments of the whole function, with their numbers; "reduction" is a buffer of those
    that are complete (or, as "partial", of the one that is made), numbered in their order; "carry" what a running result
    begins with, by the buffers of its reduction: along axis 0 one for each element, of which a box takes that at `lo`.
    `number` tells apart the parts of one array: `x[i] + x[n - i]` reads two.
    """

    kind: str
    place: int
    name: str
    axes: dict[int, tuple[WordBound, WordBound]] = field(default_factory=dict)
    number: int = 0


@dataclass(eq=False)
class Restricted:
    """A restricted function, and what its arguments are: a number is that of a scalar argument of the whole function."""

    function: FuncOp
    arguments: list[Part | Word | int]
    inside: list[tuple[list[WordBound], list[WordBound]]] = field(default_factory=list)
    """By cut, where the boxes that it is for begin at least, and end at most; empty: it is for all boxes."""

    @property
    def boxes(self) -> Iterator[Box]:
        """For each axis of a result that is cut, the arguments that say where the box begins and ends."""
        by_role = list(zip(self.function.args, self.arguments, strict=True))
        words = {word: argument for argument, word in by_role if isinstance(word, Word)}
        for argument, part in by_role:
            if isinstance(part, Part) and part.kind in ("result", "partial"):
                for axis in part.axes:
                    ends = [words.get(Word(end, part.kind, part.place, axis)) for end in (LO, HI)]
                    if ends[0] is not None and ends[1] is not None:
                        yield argument, axis, ends[0], ends[1]


def restrict(
    function: FuncOp,
    results: Sequence[SSAValue],
    axes: Sequence[int],
    given: Sequence[Made] = (),
    *,
    inside: bool = False,
) -> Restricted:
    """Restrict a function, in place, to boxes of `results` along `axes`, which have the same extents in all of them.

    With `inside`, to boxes for which no loop that moves with them ends where the whole one does: `Restricted.inside`.
    Raises the diagnostic that says why not."""
    made = _Rewriter(function, given)
    made.targets = list(results)
    part = made.part_of(results[0])
    made.cuts = [_Cut(part.kind, part.place, axis) for axis in axes]
    return made.restricted(
        _or_refuse(function, restriction_to(function, results, axes, given, inside=inside))
    )


def restrict_update(
    function: FuncOp,
    update: AccumulateOp,
    loops: Sequence[ForOp],
    axes: Sequence[int] = (),
    given: Sequence[Made] = (),
    *,
    is_read: bool = False,
    inside: bool = False,
) -> Restricted:
    """Restrict a function, in place, to the updates of a reduction in the iterations `lo` to `hi` of loops (none: to all of
    them), and to boxes of what it reduces to along `axes`. `is_read`: others may read what it has so far."""
    made = _Rewriter(function, given)
    made.cuts = [_Cut("partial loop", 0, k, of_loop=True) for k in range(len(loops))]
    made.cuts += [_Cut("partial", 0, axis) for axis in axes]
    plan = restriction_of(function, update, loops, axes, given, is_read=is_read, inside=inside)
    return made.restricted(_or_refuse(function, plan))


def restrict_running(
    function: FuncOp,
    running: Running,
    axes: Sequence[int],
    given: Sequence[Made] = (),
    *,
    inside: bool = False,
) -> Restricted:
    """Restrict a function, in place, to boxes along `axes` of the buffer of a running result. Along its own axis a box
    begins with what is before it, arguments ("carry") in place of the neutral values."""
    made = _Rewriter(function, given)
    made.cuts = [_Cut("partial", 0, axis) for axis in axes]
    made.along = running.axis
    plan = restriction_of_running(function, running, axes, given, inside=inside)
    return made.restricted(_or_refuse(function, plan))


def _or_refuse(function: FuncOp, plan: Restriction | Obstacle) -> Restriction:
    if isinstance(plan, Obstacle):
        raise fail(plan.op, f"cannot restrict @{function.sym_name.data}: {plan.why}")
    for update, buffer, start in plan.begins:
        if not _is_neutral(update, list(update.memrefs).index(buffer), start):
            why = "it starts from another value than the neutral one"
            raise fail(update, f"cannot restrict @{function.sym_name.data}: {why}")
    return plan


def _is_neutral(update: AccumulateOp, place: int, start: Attribute) -> bool:
    """Whether a reduction may start from a number more than once."""
    name = update.combiner.data
    if name in ("maximum", "minimum", "maxsi", "minsi", "maxui", "minui", "and", "or"):
        return True
    neutral = identities(update)[place]
    return start == neutral or (name == "add" and start.value.data == 0)  # pyright: ignore


class _Cut(NamedTuple):
    """A cut along an axis of the results, or along a loop: what its words say."""

    of: str
    place: int
    axis: int
    of_loop: bool = False

    def word(self, end: str) -> Word:
        return Word(end, self.of, self.place, self.axis)


class _Rewriter:
    """Restricts a function, and remembers what its arguments are."""

    def __init__(self, function: FuncOp, given: Sequence[Made]):
        self._function = function
        self._block = function.body.block
        self._given = {buffer: k for k, buffer in enumerate(b for op in given for b in buffers_of(op))}
        self._words: dict[Word, SSAValue] = {}
        self.roles: dict[SSAValue, Part | Word | int] = {}
        self._attributes: dict[SSAValue, dict[str, Attribute]] = {}
        self._copies: set[Operation] = set()
        self._begins: dict[SSAValue, dict[int, AffineList]] = {}
        """Where the buffers begin that are parts of the whole ones, by axis."""
        self._stands: dict[Hashable, Word | int] = {}
        """What keys stand for, as it was before arguments became parts."""
        self.targets: list[SSAValue] = []
        """The results that are restricted; none for a reduction."""
        self.cuts: list[_Cut] = []
        self.along = 0
        """The axis that a running result goes along."""
        for k, argument in enumerate(function.args):
            self._attributes[argument] = _attributes_of(function, k)
            kind = "result" if ROLE in self._attributes[argument] else "input"
            is_array = isinstance(argument.type, MemRefType)
            self.roles[argument] = Part(kind, k, argument.name_hint or f"arg{k}") if is_array else k

    def restricted(self, plan: Restriction) -> Restricted:
        """Restrict the function."""
        self._boxes = {cut.axis: BOX.of_cut(k) for k, cut in enumerate(self.cuts) if not cut.of_loop}
        for cut in self.cuts:
            for end in (LO, HI):
                self._word(cut.word(end))
        self._stands = {key: self._key_word(key) for key in _keys(plan)}
        for buffer, parts in plan.parts.items():
            plan.windows[buffer] = parts[0].axes
        kept = {a for a in self._function.args if a in plan.windows or a in self.targets}
        self._free_extents(plan, kept)
        inside = [
            ([self._in_words(one) for one in where.lower], [self._in_words(one) for one in where.upper])
            for where in plan.inside
            if any(plan.inside)
        ]
        self._drop_statements(plan)
        self._extents_before = {
            dim: self._extent(*dim.where) for dim in plan.loops if isinstance(dim, CallAxis)
        }
        for dim, limits in plan.loops.items():
            if isinstance(dim, ForOp):
                dim.set_bounds(*self._within(dim, limits, dim in plan.moved))
        self._take_reductions(plan)
        self._take_carries(plan)
        self._give_out(plan)
        self._take_apart(plan)
        moved: set[Operation] = set()
        for buffer, axes in list(plan.windows.items()):
            self._give_part(buffer, axes, moved)
        self._cut_calls(plan)
        for part in [role for role in self.roles.values() if isinstance(role, Part) and role.kind == "carry"]:
            low = Word(LO, "partial", 0, self.along)
            part.axes = {0: (WordBound(((low, 1),), 0), WordBound(((low, 1),), 1)), **part.axes}
        self._start(plan)
        eliminate_dead(self._function)
        self._check_loads(plan)
        self._drop_arguments()
        for loop in [op for op in self._function.walk() if isinstance(op, ForOp)]:
            simplify_bounds(loop)
        self._sign()
        return Restricted(self._function, [self.roles[argument] for argument in self._function.args], inside)

    # ---- numbers ------------------------------------------------------------------------------------

    def _word(self, word: Word) -> SSAValue:
        """The index argument that says this, made where there is none."""
        if word not in self._words:
            value = self._words[word] = self._block.insert_arg(INDEX, len(self._block.args))
            value.name_hint = word.kind if word.kind in (LO, HI) else f"{self._part(word).name}_{word.kind}"
            self.roles[value], self._attributes[value] = word, {}
        return self._words[word]

    def _part(self, word: Word) -> Part:
        parts = [role for role in self.roles.values() if isinstance(role, Part)]
        return next(role for role in parts if (role.kind, role.place) == (word.of, word.place))

    def _key_word(self, key: Hashable) -> Word | int:
        """What a key of a limit stands for: a word, or the number of a scalar argument."""
        if key in self._stands:
            return self._stands[key]
        if isinstance(key, Edge):
            return self.cuts[key.cut].word(key.end)
        if isinstance(key, SSAValue):
            role = self.roles[key]
            assert not isinstance(role, Part)
            return role
        for argument in self._function.args:
            part = self.roles[argument]
            if isinstance(part, Part):
                assert isinstance(argument.type, MemRefType)
                for axis in range(argument.type.get_num_dims()):
                    if axis not in part.axes and extent_key(argument, axis) == key:
                        return Word("extent", part.kind, part.place, axis)
        raise AssertionError(f"no argument has the extent {key}")

    def _value(self, limit: Limit) -> AffineList:
        total = AffineList.of(limit.constant)
        for key, factor in limit.factors:
            word = self._key_word(key)
            value = self._word(word) if isinstance(word, Word) else self._scalar(word)
            total = total.plus(AffineList.of(value).times(factor))
        return total.canonical()

    def _scalar(self, place: int) -> SSAValue:
        return next(value for value, role in self.roles.items() if role == place)

    def _values(self, limits: Limits) -> tuple[list[AffineList], list[AffineList]]:
        lower = [] if limits.lower is None else [self._value(limits.lower)]
        return lower, [] if limits.upper is None else [self._value(limits.upper)]

    def _within(self, loop: ForOp, limits: Sequence[Limits], is_moved: bool) -> tuple[AffineList, AffineList]:
        """The bounds of a loop and new ones. A box begins at 0 or later, and ends at the extent or before."""
        lowers = [value for one in limits for value in self._values(one)[0]]
        uppers = [value for one in limits for value in self._values(one)[1]]
        if is_moved:
            return AffineList.of(*lowers), AffineList.of(*uppers)
        lower, upper = AffineList.of(loop.lower, *lowers), AffineList.of(loop.upper, *uppers)
        for axis, box in self._boxes.items() if self.targets else ():
            (first,), (end,) = self._values(box)
            if first in lowers and loop.lower.constants() == (0,):
                lower = AffineList.of(*lowers)
            if end in uppers and len(loop.upper) == 1:
                beyond = loop.upper.minus(self._extent(self.targets[0], axis)).constants()
                upper = AffineList.of(*uppers) if beyond is not None and beyond[0] >= 0 else upper
        return lower, upper

    def _in_words(self, limit: Limit | None) -> WordBound:
        assert limit is not None
        return WordBound(
            tuple((self._key_word(key), factor) for key, factor in limit.factors), limit.constant
        )

    def _free_extents(self, plan: Restriction, kept: Collection[SSAValue]) -> None:
        """Extents are those of the whole: of axes that are cut, and of arguments that go, they are words."""
        for op in [op for op in self._function.walk() if isinstance(op, memref.DimOp)]:
            axis = constant_of(op.index)
            buffer = op.source
            if buffer not in self.roles and buffer not in plan.windows:
                continue
            if axis is None:
                raise fail(op, "cannot restrict: the extent of an axis that is not constant is asked for")
            if buffer in kept and axis not in plan.windows.get(buffer, {}):
                continue
            replace_index(op.result, self._extent(buffer, axis))
            op.detach()
            op.erase()

    def _extent(self, buffer: SSAValue, axis: int) -> AffineList:
        assert isinstance(buffer.type, MemRefType)
        if (extent := buffer.type.get_shape()[axis]) != DYNAMIC_INDEX:
            return AffineList.of(extent)
        if isinstance(buffer.owner, AllocOp):
            return extents_of(buffer.owner)[axis]
        word = self._key_word(extent_key(buffer, axis))
        return AffineList.of(self._word(word) if isinstance(word, Word) else self._scalar(word))

    def _dim(self, buffer: SSAValue, axis: int) -> SSAValue:
        """The extent of an argument, as it is given."""
        first = self._block.first_op
        assert first is not None
        at = arith.ConstantOp(IntegerAttr(axis, INDEX))
        size = memref.DimOp(buffer, at.result)
        for op in (at, size):
            op.location = first.location
            self._block.insert_op_before(op, first)
        return size.result

    def part_of(self, buffer: SSAValue) -> Part:
        part = self.roles[buffer]
        assert isinstance(part, Part)
        return part

    # ---- statements and buffers ---------------------------------------------------------------------

    def _drop_statements(self, plan: Restriction) -> None:
        """Drop what the box does not need, with the checks of indices that nobody else looks up."""
        for op in [op for op in self._function.walk() if isinstance(op, Statement)]:
            if op not in plan.statements:
                checks = _checks_for(op)
                op.detach()
                op.erase()
                for check in checks:
                    _erase_unread(check)

    def _take_reductions(self, plan: Restriction) -> None:
        """The buffers of reductions that are complete become arguments."""
        for buffer in [buffer for buffer in plan.read if buffer in self._given]:
            place = self._given[buffer]
            if buffer in self.roles:
                self.roles[buffer] = Part("reduction", place, self.part_of(buffer).name)
                self._attributes[buffer].pop(ROLE, None)
                continue
            assert isinstance(buffer.owner, AllocOp)
            argument = self._argument(buffer, Part("reduction", place, buffer.owner.label.data))
            plan.windows[argument] = plan.windows.pop(buffer)
            if buffer in plan.parts:
                plan.parts[argument] = plan.parts.pop(buffer)

    def _take_apart(self, plan: Restriction) -> None:
        """An argument for each further part of an input."""
        for buffer, parts in plan.parts.items():
            for number, window in enumerate(parts[1:], start=1):
                part = self.part_of(buffer)
                made = self._block.insert_arg(buffer.type, len(self._block.args))
                made.name_hint = part.name
                self.roles[made] = Part(part.kind, part.place, part.name, number=number)
                self._attributes[made] = dict(self._attributes[buffer])
                plan.windows[made] = window.axes
                for op in window.readers:
                    op.operands = [made if value is buffer else value for value in op.operands]
        self._sign()

    def _take_carries(self, plan: Restriction) -> None:
        """What a running result begins with is read from arguments: of an array with that for each of its elements, the one
        at which the box begins."""
        for place, (buffer, stores) in enumerate(plan.carried.items()):
            alloc = buffer.owner
            assert isinstance(alloc, AllocOp)
            part = Part("carry", place, f"{alloc.label.data}_before")
            argument = self._argument_like(alloc, part, leading=(1,))
            plan.windows[argument] = {axis + 1: one for axis, one in plan.windows[buffer].items()}
            for store in stores:
                assert store.parent is not None
                load = LoadOp(argument, AffineList.of(0, *store.indices))
                load.location = store.location
                store.parent.insert_op_before(load, store)
                store.operands = [load.result, *store.operands[1:]]
                self._copies.add(load)

    def _argument_like(
        self, alloc: AllocOp, part: Part, role: str | None = None, leading: tuple[int, ...] = ()
    ) -> SSAValue:
        """A new argument that is like a buffer which the function makes, with some more axes before the others."""
        attributes: dict[str, Attribute] = {} if role is None else {ROLE: StringAttr(role)}
        keys, type_ = [value_key(size) for size in alloc.sizes], alloc.memref.type
        shape = [*leading, *type_.get_shape()]
        if DYNAMIC_INDEX in shape and all(isinstance(key, str) for key in keys):
            names = map(str, keys)
            attributes[DIMS] = ArrayAttr(
                [
                    StringAttr(next(names)) if extent == DYNAMIC_INDEX else IntegerAttr(extent, i64)
                    for extent in shape
                ]
            )
        made = MemRefType(type_.element_type, shape, memory_space=type_.memory_space)
        argument = self._block.insert_arg(made if leading else type_, len(self._block.args))
        argument.name_hint = part.name
        self.roles[argument], self._attributes[argument] = part, attributes
        return argument

    def _argument(self, buffer: SSAValue, part: Part, role: str | None = None) -> SSAValue:
        """A new argument in place of a buffer that the function makes."""
        alloc = buffer.owner
        assert isinstance(alloc, AllocOp)
        argument = self._argument_like(alloc, part, role)
        for op in [use.operation for use in alloc.memref.uses]:
            if isinstance(op, memref.DimOp) and (axis := constant_of(op.index)) is not None:
                replace_index(op.result, self._extent(buffer, axis))
                op.detach()
                op.erase()
        alloc.memref.replace_all_uses_with(argument)
        alloc.detach()
        alloc.erase()
        return argument

    def _give_part(self, buffer: SSAValue, axes: dict[int, Limits], moved: set[Operation]) -> None:
        """Make a buffer the part that is touched."""
        if buffer in self.targets and axes == self._boxes:
            self._give_box(buffer, moved)
        elif buffer in self.roles and ROLE in self._attributes[buffer]:
            self._refuse_read_and_written(buffer)
            self._give_copy(buffer, axes, moved)
        elif buffer in self.roles:
            self._give_slice(buffer, axes, moved)
        elif axes:
            assert isinstance(buffer.owner, AllocOp)
            self._give_window(buffer.owner, extents_of(buffer.owner), axes, moved)

    def _cut_calls(self, plan: Restriction) -> None:
        """Calls that are mapped over axes get the parts of buffers that the box needs."""
        limits_of: dict[CallOp, list[tuple[CallAxis, Sequence[Limits]]]] = {}
        for dim, limits in plan.loops.items():
            if isinstance(dim, CallAxis) and dim.call in plan.statements:
                limits_of.setdefault(dim.call, []).append((dim, [one for one in limits if one.moves]))
        for call, dims in limits_of.items():
            ends = [(dim, self._ends_along(dim, limits)) for dim, limits in dims if limits]
            if ends:
                cut_call(call, ends, self._begins)

    def _ends_along(self, dim: CallAxis, limits: Sequence[Limits]) -> tuple[AffineList, AffineList]:
        """From where to where a call is needed along an axis: the largest of several, and the smallest."""
        lowers, uppers = [AffineList.of(0)], [self._extents_before[dim]]
        for one in limits:
            (lower,), (upper,) = self._values(one)
            lowers.append(lower)
            uppers.append(upper)
        return AffineList.of(*lowers), AffineList.of(*uppers)

    def _refuse_read_and_written(self, buffer: SSAValue) -> None:
        if self._attributes[buffer][ROLE] == StringAttr("inout"):
            name = self._function.sym_name.data
            why = f'"{buffer.name_hint}" is read and written, and not only in the box'
            raise fail(self._function, f"cannot restrict @{name}: {why}")

    def _give_box(self, buffer: SSAValue, moved: set[Operation]) -> None:
        """The target is the box."""
        begins = {axis: self._values(box)[0][0] for axis, box in self._boxes.items()}
        _move(buffer, begins, moved)
        part = self.part_of(buffer)
        for axis, box in self._boxes.items():
            part.axes[axis] = self._in_words(box.lower), self._in_words(box.upper)
        made = self.targets[self.targets.index(buffer)] = self._with_unknown(buffer, list(self._boxes))
        self._begins[made] = begins

    def _give_slice(self, buffer: SSAValue, axes: dict[int, Limits], moved: set[Operation]) -> None:
        """An input is a part of the caller's, which says where it begins."""
        part = self.part_of(buffer)
        firsts = {
            axis: AffineList.of(self._word(Word("first", part.kind, part.place, axis, part.number)))
            for axis in axes
        }
        _move(buffer, firsts, moved)
        for axis, limits in axes.items():
            part.axes[axis] = self._in_words(limits.lower), self._in_words(limits.upper)
        self._begins[self._with_unknown(buffer, list(axes))] = firsts

    def _give_window(
        self, alloc: AllocOp, extents: list[AffineList], axes: dict[int, Limits], moved: set[Operation]
    ) -> tuple[AllocOp, dict[int, AffineList]]:
        """A buffer that the function makes, of `extents`, has the part that is touched; where that begins."""
        starts: dict[int, AffineList] = {}
        for axis, limits in axes.items():
            (lower,), (upper,) = self._values(limits)
            starts[axis], extents[axis] = lower, upper.minus(lower).canonical()
        _move(alloc.memref, starts, moved)
        new = reallocate(alloc, extents, alloc)
        replace(alloc, new)
        self._begins[new.memref] = starts
        return new, starts

    def _give_copy(self, buffer: SSAValue, axes: dict[int, Limits], moved: set[Operation]) -> None:
        """A result of which more is computed than its box, or that is used on the way: a buffer, and a copy of the box."""
        part, type_ = self.part_of(buffer), buffer.type
        assert isinstance(type_, MemRefType)
        first = self._block.first_op
        assert first is not None
        extents = [self._extent(buffer, axis) for axis in range(type_.get_num_dims())]
        alloc = AllocOp(part.name, MemRefType(type_.element_type, [0] * type_.get_num_dims()))
        alloc.location = first.location
        self._block.insert_op_before(alloc, first)
        for op in dict.fromkeys(use.operation for use in buffer.uses):
            if not isinstance(op, memref.DimOp):
                op.operands = [alloc.memref if v is buffer else v for v in op.operands]
        new, starts = self._give_window(alloc, extents, axes, moved)
        if buffer in self.targets:
            self._copy_box(new, starts, buffer)

    def _copy_box(self, alloc: AllocOp, starts: dict[int, AffineList], result: SSAValue) -> None:
        """Copy the box of the target from a buffer, at the end."""
        type_ = result.type
        assert isinstance(type_, MemRefType)
        bounds: list[tuple[AffineList, AffineList]] = []
        for axis in range(type_.get_num_dims()):
            if axis in self._boxes:
                (lower,), (upper,) = self._values(self._boxes[axis])
                bounds.append((lower, upper))
            else:
                bounds.append((AffineList.of(0), self._given_extent(result, axis)))
        end = self._block.last_op
        assert end is not None
        with_loops = self._loops(bounds, f"{alloc.label.data}.copy", end)
        indices = [
            AffineList.of(v).minus(starts.get(axis, AffineList.of(0)))
            for axis, v in enumerate(with_loops.variables)
        ]
        load = LoadOp(alloc.memref, AffineList.of(*indices).canonical())
        self._copies.add(load)
        store = StoreOp(load.result, result, AffineList.of(*with_loops.variables), label=alloc.label.data)
        with_loops.add(load, store)
        self._give_box(result, set())

    def _give_out(self, plan: Restriction) -> None:
        """The buffers of an update are results."""
        for place, buffer in enumerate(plan.updated):
            if buffer in self.roles:
                self.roles[buffer] = Part("partial", place, self.part_of(buffer).name)
                self.targets.append(buffer)
                continue
            argument = self._argument(buffer, Part("partial", place, buffer.name_hint or "partial"), "out")
            plan.windows = {argument if b is buffer else b: axes for b, axes in plan.windows.items()}
            self.targets.append(argument)

    def _start(self, plan: Restriction) -> None:
        """What an update reduces to begins with the neutral value."""
        for place, start in enumerate(plan.starts):
            buffer, first = self.targets[place], self._block.first_op
            assert isinstance(buffer.type, MemRefType) and first is not None
            extents = [self._given_extent(buffer, axis) for axis in range(buffer.type.get_num_dims())]
            constant = arith.ConstantOp(start)  # pyright: ignore[reportArgumentType]
            constant.location = first.location
            self._block.insert_op_before(constant, first)
            name = self.part_of(buffer).name
            with_loops = self._loops(
                [(AffineList.of(0), extent) for extent in extents], f"{name}.start", first
            )
            with_loops.add(StoreOp(constant.result, buffer, AffineList.of(*with_loops.variables), label=name))

    def _given_extent(self, buffer: SSAValue, axis: int) -> AffineList:
        """The extent of an argument as it is given: of a part, where it is one."""
        assert isinstance(buffer.type, MemRefType)
        extent = buffer.type.get_shape()[axis]
        return AffineList.of(self._dim(buffer, axis) if extent == DYNAMIC_INDEX else extent)

    def _loops(self, bounds: Sequence[tuple[AffineList, AffineList]], name: str, before: Operation) -> _Loops:
        """Loops within these bounds, one in the other."""
        made = _Loops([], before, None)
        for axis, (lower, upper) in enumerate(bounds):
            loop = ForOp(f"{name}.{axis}", lower, upper)
            made.add(loop)
            made.variables.append(loop.iv)
            made.block = loop.body.block
        return made

    # ---- the end ------------------------------------------------------------------------------------

    def _check_loads(self, plan: Restriction) -> None:
        """What is left must read what it is known to read."""
        for op in self._function.walk():
            if isinstance(op, LoadOp) and op not in plan.loads and op not in self._copies:
                raise fail(op, f"cannot restrict @{self._function.sym_name.data}: it is read for a check")

    def _drop_arguments(self) -> None:
        for argument in list(self._function.args):
            if not isinstance(self.roles[argument], Part) or argument.uses or argument in self.targets:
                continue
            self._drop(argument)
        for argument in list(self._function.args):  # where what is gone began
            role = self.roles[argument]
            if isinstance(role, Word) and role.kind == "first" and not argument.uses:
                self._drop(argument)

    def _drop(self, argument: SSAValue) -> None:
        del self.roles[argument], self._attributes[argument]
        self._erase(argument)

    def _erase(self, argument: SSAValue) -> None:
        assert isinstance(argument, BlockArgument)
        self._block.erase_arg(argument)

    def _with_unknown(self, buffer: SSAValue, axes: Sequence[int]) -> SSAValue:
        """The argument with unknown extents along axes, which are equal to no other."""
        old = buffer.type
        assert isinstance(old, MemRefType)
        shape = [DYNAMIC_INDEX if k in axes else extent for k, extent in enumerate(old.get_shape())]
        new = self._block.insert_arg(
            MemRefType(old.element_type, shape, old.layout, old.memory_space), self._block.args.index(buffer)
        )
        new.name_hint = buffer.name_hint
        part, attributes = self.roles.pop(buffer), self._attributes.pop(buffer)
        self.roles[new] = part
        dims = attributes.get(DIMS)
        if isinstance(dims, ArrayAttr):
            names = list(dims.data)
            for axis in axes:
                names[axis] = StringAttr(self._fresh(f"{new.name_hint}_{axis}.part"))
            attributes[DIMS] = ArrayAttr(names)
        self._attributes[new] = attributes
        buffer.replace_all_uses_with(new)
        self._erase(buffer)
        return new

    def _fresh(self, name: str) -> str:
        """A name of an extent that no argument has: parts of equal names are not as long as each other."""
        taken = {
            one.data
            for attributes in self._attributes.values()
            if isinstance(dims := attributes.get(DIMS), ArrayAttr)
            for one in dims.data
            if isinstance(one, StringAttr)
        }
        return name if name not in taken else next(n for k in count(1) if (n := f"{name}.{k}") not in taken)

    def _sign(self) -> None:
        args = list(self._block.args)
        self._function.function_type = FunctionType.from_lists([a.type for a in args], [])
        self._function.properties["arg_attrs"] = ArrayAttr(
            [DictionaryAttr(self._attributes[argument]) for argument in args]
        )


@dataclass(eq=False)
class _Loops:
    """Loops that are being made before an operation: their variables, and the block of the innermost one."""

    variables: list[SSAValue]
    before: Operation
    block: Block | None

    def add(self, *ops: Operation) -> None:
        """Add operations to the innermost loop."""
        for op in ops:
            op.location = self.before.location
            if self.block is not None:
                self.block.add_op(op)
            else:
                outer = self.before.parent
                assert outer is not None
                outer.insert_op_before(op, self.before)


def _checks_for(op: Operation) -> list[IndexOp]:
    """The checked indices that an operation uses, through what is computed of them and loaded at them."""
    todo, seen, found = list(op.operands), set[SSAValue](), list[IndexOp]()
    while todo:
        value = todo.pop()
        owner = value.owner
        if value in seen or not isinstance(owner, Operation) or isinstance(owner, AllocOp):
            continue
        seen.add(value)
        if isinstance(owner, IndexOp):
            found.append(owner)
        todo += owner.operands
    return found


def _erase_unread(check: IndexOp) -> None:
    """Erase a checked index that only operations use whose results nobody uses, and these."""
    users = [use.operation for use in check.result.uses]
    for user in users:
        if any(result.uses for result in user.results) or isinstance(user, Statement):
            return
        if not isinstance(user, LoadOp) and not is_side_effect_free(user):
            return
    for op in (*dict.fromkeys(users), check):
        op.detach()
        op.erase()


def _move(buffer: SSAValue, starts: dict[int, AffineList], moved: set[Operation]) -> None:
    """The indices of accesses less where a part begins. Buffers that are reduced together have one access: it moves once."""
    for op in dict.fromkeys(use.operation for use in buffer.uses):
        if op in moved or not isinstance(op, LoadOp | StoreOp | AccumulateOp | PrefetchOp):
            continue
        moved.add(op)
        indices = [
            op.indices[k].minus(starts[k]) if k in starts else op.indices[k] for k in range(len(op.indices))
        ]
        op.set_indices(AffineList.of(*indices).canonical())


def _keys(plan: Restriction) -> Iterator[Hashable]:
    """The keys of all limits."""
    limits = [one for loops in plan.loops.values() for one in loops]
    limits += [one for axes in plan.windows.values() for one in axes.values()]
    limits += [one for parts in plan.parts.values() for window in parts for one in window.axes.values()]
    for one in limits:
        for limit in (one.lower, one.upper):
            yield from () if limit is None else (key for key, _ in limit.factors)


def _attributes_of(function: FuncOp, place: int) -> dict[str, Attribute]:
    return {} if function.arg_attrs is None else dict(function.arg_attrs.data[place].data)


# ---- the pass -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NestRestrictPass(ModulePass):
    """Restrict a function to boxes of one of its results."""

    name = "nest-restrict"

    result: str | None = None
    axis: tuple[int, ...] = ()
    update: str | None = None
    running: str | None = None
    reductions: tuple[str, ...] = ()
    inside: bool = False
    from_zero: bool = False
    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op, self.func):
            given = [reduction_of(function, name)[0] for name in self.reductions]
            if self.update is not None:
                update, loop = reduction_of(function, self.update)
                made = restrict_update(function, update, [loop], self.axis, given, inside=self.inside)
            elif self.running is not None:
                running = _running(function, self.running)
                made = restrict_running(function, running, self.axis, given, inside=self.inside)
            else:
                result = _result(function, self.result)
                made = restrict(function, [result], self._axes(function, result), given, inside=self.inside)
            if self.from_zero:
                run_from_zero(function, made.boxes)

    def _axes(self, function: FuncOp, result: SSAValue) -> list[int]:
        assert isinstance(result.type, MemRefType)
        rank = result.type.get_num_dims()
        for axis in self.axis:
            if not 0 <= axis < rank:
                raise fail(
                    function, f"there is no axis {axis}", hint=f"the result has {rank} of them, from 0 on"
                )
        return list(dict.fromkeys(self.axis))


def reduction_of(function: FuncOp, name: str) -> tuple[AccumulateOp, ForOp]:
    """The reduction that a loop makes, and the loop."""
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    loop = find_loop(module, name, function.sym_name.data)
    updates = [op for op in function.walk() if isinstance(op, AccumulateOp) and loop in enclosing_loops(op)]
    updates = [op for op in updates if loop.iv not in op.indices.operands]
    if len(updates) != 1:
        raise fail(
            loop, f'the loop "{name}" makes {len(updates) or "no"} reductions', hint="name one that makes one"
        )
    return updates[0], loop


def _running(function: FuncOp, name: str) -> Running:
    """The running result along a loop."""
    update, loop = reduction_of(function, name)
    if len(found := running_results(update)) != 1:
        raise fail(
            loop,
            f'the loop "{name}" stores {len(found) or "no"} results so far',
            hint="name one that stores one",
        )
    return found[0]


def _result(function: FuncOp, name: str | None) -> SSAValue:
    written = [a for k, a in enumerate(function.args) if ROLE in _attributes_of(function, k)]
    for argument in written:
        if argument.name_hint == name or (name is None and len(written) == 1):
            return argument
    names = ", ".join(f'"{a.name_hint}"' for a in written)
    which = "no result is named" if name is None else f'there is no result "{name}"'
    raise fail(function, which, hint=f"results are {names}" if names else None)
