"""What of a function is computed for a box of a result: the statements, the iterations of loops, the parts of buffers.

    nest.for "i" %i = 0 to %n - 2 {            restriction_to(f, [y], [0]): boxes of lo to hi
      %a = nest.load %x[%i]                      the loop i from lo to hi
      %b = nest.load %x[%i + 2]                  of x: lo to hi + 2
      nest.store "y" %c, %y[%i]                  of y: lo to hi

Followed back from the box nest by nest, as in `chunking.py`, but in iterations that loops can run: those of one loop are
what lies between two bounds, which are linear in `lo`, `hi` and extents. What is computed beyond need is what the whole
function computes there. So everything that is computed reads what is computed, or what is in the parts of the inputs.

Reductions that are complete before (`given`) end the way: their buffers are inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....dialects.affine import AffineList, linear_terms
from ....dialects.attributes import ROLE
from ....dialects.nest import AccumulateOp, ForOp, StoreOp
from ..loop_structure import enclosing_loops
from ..values.extent_keys import extent_key, value_key
from .accesses import VIEWS, argument_attribute
from .boxes import (
    Bound,
    add_to,
    along,
    box_of,
    dim_kinds,
    does_not_depend,
    fixed_limit_of,
    is_the_same,
    limit_of,
    union_of,
    with_value,
)
from .chunking import is_too_long
from .flow import MOST_OPERATIONS, Dim, Flow, Obstacle, Read, Statement, dims_of, reduced_together
from .running import Running

if TYPE_CHECKING:
    import islpy as isl

ROUNDS = 4
"""How often the iterations of a nest are widened by what they read of each other, before all of them run."""

NEAR = 64
"""How much farther some box may reach than most do: borders that are copied for it, say."""

Made = AccumulateOp | StoreOp
"""What makes buffers that are complete before: a reduction, or the store of a running result."""

Key = Hashable
"""What a bound is linear in: `LO`, `HI`, an argument, or the extent of one (`extent_keys.py`)."""

LO, HI = "lo", "hi"


def buffers_of(op: Made) -> tuple[SSAValue, ...]:
    """The buffers that a statement writes."""
    return tuple(op.memrefs) if isinstance(op, AccumulateOp) else (op.memref,)


class Edge(NamedTuple):
    """The begin (`LO`) or the end (`HI`) of the box of a numbered cut."""

    end: str
    cut: int


@dataclass(frozen=True)
class Limit:
    """A linear expression: the factor of each key, and a constant."""

    factors: tuple[tuple[Key, int], ...]
    constant: int

    def of_cut(self, number: int) -> Limit:
        """With the ends of the box as those of a numbered cut."""
        ends = {LO: Edge(LO, number), HI: Edge(HI, number)}
        return Limit(tuple((ends.get(key, key), factor) for key, factor in self.factors), self.constant)  # pyright: ignore


@dataclass(frozen=True)
class Limits:
    """Indices or iterations from `lower` to `upper` (exclusive), as far as there are some. None: not bounded."""

    lower: Limit | None = None
    upper: Limit | None = None

    @property
    def moves(self) -> bool:
        """Whether both ends move with the box."""
        return self.lower is not None and self.upper is not None

    def of_cut(self, number: int) -> Limits:
        """With the ends of the box as those of a numbered cut."""
        lower, upper = (None if one is None else one.of_cut(number) for one in (self.lower, self.upper))
        return Limits(lower, upper)


@dataclass(frozen=True)
class Window:
    """The part of a buffer that some operations read, by axis (an axis that is not named is whole)."""

    readers: frozenset[Operation]
    axes: dict[int, Limits]


BOX = Limits(Limit(((LO, 1),), 0), Limit(((HI, 1),), 0))
"""The box itself."""


@dataclass(frozen=True)
class Inside:
    """Boxes that begin at each of `lower` or later, and end at each of `upper` or before."""

    lower: tuple[Limit, ...] = ()
    upper: tuple[Limit, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lower or self.upper)


@dataclass(eq=False)
class Restriction:
    """What is computed for boxes, cut along one axis or loop after the other; bounds have their ends as `Edge`s.

    `loops`: the bounds of loops besides their own, and those of axes that calls are mapped over. `windows`: for each buffer
    that is touched, the part of each axis that is (an axis that is not named is whole). `read`: the arguments and buffers of
    reductions whose values are read. `starts`: what the partial results of an update start from, by buffer (`updated`).

    `inside`: the boxes that this is for, by cut; of the loops in `moved` the own bounds say nothing more for these.
    """

    statements: set[Statement] = field(default_factory=set)
    loops: dict[Dim, list[Limits]] = field(default_factory=dict)
    windows: dict[SSAValue, dict[int, Limits]] = field(default_factory=dict)
    parts: dict[SSAValue, list[Window]] = field(default_factory=dict)
    """The windows of inputs. Several, where some readers move with the box otherwise than others: `x[i] + x[n - i]`."""
    read: list[SSAValue] = field(default_factory=list)
    starts: list[Attribute] = field(default_factory=list)
    begins: list[tuple[AccumulateOp, SSAValue, Attribute]] = field(default_factory=list)
    """What reductions in chunks start from, which must make no difference however often it is combined."""
    updated: list[SSAValue] = field(default_factory=list)
    carried: dict[SSAValue, list[StoreOp]] = field(default_factory=dict)
    """The buffers that begin with what is before a box, and what stores that they begin with."""
    loads: set[Operation] = field(default_factory=set)
    running: dict[str, isl.Set] = field(default_factory=dict)
    needed: dict[str, isl.Set] = field(default_factory=dict)
    inside: list[Inside] = field(default_factory=list)
    moved: set[ForOp] = field(default_factory=set)
    named: dict[str, Statement] = field(default_factory=dict)


def restriction_to(
    function: FuncOp,
    results: Sequence[SSAValue],
    axes: Sequence[int],
    given: Collection[Made] = (),
    *,
    inside: bool = False,
) -> Restriction | Obstacle:
    """What is computed for boxes of results along axes of equal extents, where the reductions of `given` are complete.

    With `inside`, for boxes for which no loop that moves with them ends where the whole one does (`Restriction.inside`)."""

    def found(flow: Flow, inside: Sequence[Inside]) -> Iterator[Restriction | Obstacle]:
        for axis, where in zip(axes or [None], inside, strict=True):
            yield _Restrictor(flow, given, where).of_results(tuple(results), axis)

    return _restriction(function, found, len(axes) or 1, inside)


def restriction_of(
    function: FuncOp,
    update: AccumulateOp,
    loops: Sequence[ForOp],
    axes: Sequence[int] = (),
    given: Collection[Made] = (),
    *,
    is_read: bool = False,
    inside: bool = False,
) -> Restriction | Obstacle:
    """What is computed for the updates that a reduction makes in the iterations `lo` to `hi` of loops, to boxes of axes.

    `is_read`: whether others may read what it has so far."""

    def found(flow: Flow, inside: Sequence[Inside]) -> Iterator[Restriction | Obstacle]:
        for cut, where in zip([*loops, *axes] or [None], inside, strict=True):
            yield _Restrictor(flow, given, where).of_update(update, cut, is_read)

    return _restriction(function, found, len(loops) + len(axes) or 1, inside)


def restriction_of_running(
    function: FuncOp,
    running: Running,
    axes: Sequence[int],
    given: Collection[Made] = (),
    *,
    inside: bool = False,
) -> Restriction | Obstacle:
    """What is computed for boxes of a running result, where what is before a box is known (`carried`)."""

    def found(flow: Flow, inside: Sequence[Inside]) -> Iterator[Restriction | Obstacle]:
        for cut, where in zip(axes or [None], inside, strict=True):
            yield _Restrictor(flow, given, where).of_running(running, cut)

    return _restriction(function, found, len(axes) or 1, inside)


def _restriction(
    function: FuncOp,
    find: Callable[[Flow, Sequence[Inside]], Iterator[Restriction | Obstacle]],
    cuts: int,
    inside: bool,
) -> Restriction | Obstacle:
    """The restrictions along each cut as one: what a box needs is needed by all of its cuts."""
    import islpy

    flow = Flow(function)
    if flow.obstacle is not None:
        return flow.obstacle
    context = islpy.DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(MOST_OPERATIONS)
    try:
        found = _along_cuts(find(flow, [Inside()] * cuts))
        if inside and not isinstance(found, Obstacle):
            where = [_inside_of(one) for one in found]
            found = _along_cuts(find(flow, where))
        if isinstance(found, Obstacle):
            return found
        return _put_together(found)
    except islpy.Error as error:
        if not is_too_long(error):
            raise
        return Obstacle(function, "it has too many accesses to follow")
    finally:
        context.set_max_operations(0)


def _along_cuts(each: Iterator[Restriction | Obstacle]) -> list[Restriction] | Obstacle:
    found: list[Restriction] = []
    for one in each:
        if isinstance(one, Obstacle):
            return one
        found.append(one)
    return found


def _put_together(found: Sequence[Restriction]) -> Restriction:
    first = found[0]
    total = Restriction(starts=first.starts, begins=first.begins, updated=first.updated)
    total.carried = {buffer: stores for one in found for buffer, stores in one.carried.items()}
    total.inside = [boxes for one in found for boxes in one.inside]
    total.statements = set.intersection(*(one.statements for one in found))
    if any(total.inside) and len(found) > 1:
        total.statements -= _needed_by_none(found)
    total.loads = set.union(*(one.loads for one in found))
    total.read = [buffer for buffer in first.read if all(buffer in one.read for one in found)]
    for buffer in first.windows:
        if all(buffer in one.windows for one in found):
            parts = {
                axis: limits.of_cut(k)
                for k, one in reversed(list(enumerate(found)))
                for axis, limits in one.windows[buffer].items()
            }
            total.windows[buffer] = dict(sorted(parts.items()))
        if all(buffer in one.parts for one in found):
            total.parts[buffer] = _refined([one.parts[buffer] for one in found])
    running = {dim for statement in total.statements for dim in dims_of(statement)}
    for k, one in enumerate(found):
        for loop, (limits,) in one.loops.items():
            if loop in running:
                total.loops.setdefault(loop, []).append(limits.of_cut(k))
        total.moved |= one.moved
    return total


def _refined(cuts: Sequence[list[Window]]) -> list[Window]:
    """The parts that readers have in common along all cuts, with the limits of each cut. Of an axis that several cuts move
    along, the first one counts."""
    total: list[Window] | None = None
    for k, windows in enumerate(cuts):
        mine = [Window(w.readers, {a: one.of_cut(k) for a, one in w.axes.items()}) for w in windows]
        if total is None:
            total = mine
            continue
        both = [Window(a.readers & b.readers, _closer(a.axes, b.axes)) for a in total for b in mine]
        total = [one for one in both if one.readers]
    return [Window(one.readers, dict(sorted(one.axes.items()))) for one in total or []]


def _closer(first: dict[int, Limits], other: dict[int, Limits]) -> dict[int, Limits]:
    """The limits of each axis: those that move with a box, of `first` where both do or neither does."""
    moving = {axis: one for axis, one in other.items() if _goes_with_a_box(one)}
    return {**other, **first, **{a: one for a, one in moving.items() if not _goes_with_a_box(first.get(a))}}


def _goes_with_a_box(limits: Limits | None) -> bool:
    ends = [] if limits is None else [limits.lower, limits.upper]
    return any(isinstance(key, Edge) for limit in ends if limit is not None for key, _ in limit.factors)


Touched = dict[SSAValue, "dict[Operation, isl.Set]"]
"""The elements of each buffer that each operation touches."""


def _needed_by_none(found: Sequence[Restriction]) -> set[Statement]:
    """The statements of which each cut needs some instances, and all cuts together none."""
    dropped = set()
    for name in set.intersection(*(set(one.needed) for one in found)):
        needed = None
        for k, one in enumerate(found):
            instances = one.needed[name]
            for end in (LO, HI):
                if (position := instances.find_dim_by_name(dim_kinds().param, end)) >= 0:
                    instances = instances.set_dim_name(dim_kinds().param, position, f"{end}{k}")
            needed = instances if needed is None else needed.intersect(instances)
        if needed is not None and needed.is_empty():
            dropped.add(name)
    return {found[0].named[name] for name in dropped}


def _inside_of(one: Restriction) -> Inside:
    """The boxes for which no loop that moves with them ends where it does for the whole."""
    lower: dict[Limit, None] = {}
    upper: dict[Limit, None] = {}
    for loop, (limits,) in one.loops.items():
        if not isinstance(loop, ForOp):
            continue
        for end, limit, own, ends in (
            (LO, limits.lower, loop.lower, lower),
            (HI, limits.upper, loop.upper, upper),
        ):
            if limit is None or dict(limit.factors).get(end) != 1 or loop.step_value != 1:
                continue
            if loop.constant_trip_count() == 1 or _is_one(loop):
                if (edge := _border(loop, limit, end)) is not None:
                    ends[edge] = None
                continue
            for k in range(len(own)):
                if (bound := _as_limit(own[k])) is not None:
                    ends[_less(bound, limit, end)] = None
    return Inside(tuple(lower), tuple(upper))


def _is_one(loop: ForOp) -> bool:
    """Whether a loop has one iteration: what it writes is a border."""
    return len(loop.lower) == len(loop.upper) == 1 and loop.upper.minus(loop.lower).constants() == (1,)


def _border(loop: ForOp, limit: Limit, end: str) -> Limit | None:
    """From where on a box is away from a border: one at the beginning is before it, another one behind it."""
    at = _as_limit(loop.lower)
    is_first = at is not None and not at.factors
    if at is None or is_first is not (end == LO):
        return None
    return _less(Limit(at.factors, at.constant + (1 if is_first else 0)), limit, end)


def _as_limit(bound: AffineList) -> Limit | None:
    """A bound of a loop in what its function is given; None where it has another variable, or is not linear."""
    terms, constant = linear_terms(bound.exprs[0])
    factors: dict[Key, int] = {}
    for term, factor in terms.items():
        if type(term) is not AffineDimExpr:
            return None
        key = value_key(bound.operands[term.position])
        if isinstance(key, int):
            constant += factor * key
            continue
        if isinstance(key, SSAValue) and not _is_given(key):
            return None
        factors[key] = factors.get(key, 0) + factor
    return Limit(tuple(factors.items()), constant)


def _is_given(value: SSAValue) -> bool:
    return isinstance(value.owner, Block) and isinstance(value.owner.parent_op(), FuncOp)


def _less(bound: Limit, limit: Limit, end: str) -> Limit:
    """From where on a box has its limit beyond a bound: the bound less how far the limit is from the end of the box."""
    factors = dict(bound.factors)
    for key, factor in limit.factors:
        if key != end:
            factors[key] = factors.get(key, 0) - factor
    terms = tuple((key, factor) for key, factor in factors.items() if factor)
    return Limit(terms, bound.constant - limit.constant)


class _Restrictor:
    def __init__(self, flow: Flow, given: Collection[Made], inside: Inside):
        self._flow = flow
        self._given = given
        self._inside = inside
        self._together = reduced_together(flow.function)
        self._usable = set(_usable(flow.function))
        self._complete = {buffer for op in given for buffer in buffers_of(op)}
        self._carried: Running | None = None
        """The running result of which a box begins with what is before it."""
        self._readers = {read.name: read.loads for read in flow.reads}

    def of_results(self, results: tuple[SSAValue, ...], axis: int | None) -> Restriction | Obstacle:
        for result in results:
            if result not in self._flow.written_arguments:
                return Obstacle(self._flow.function, f'nothing writes "{result.name_hint}"')
        found = self._none()
        pending: dict[str, isl.Set] = {}
        touched: Touched = {}
        for end in [end for result in results for end in self._flow.ends_of(result)]:
            box = self._flow.domains[end.name]
            if axis is not None:
                box = self._within(box_of(box, axis))
            self._boxes = box.params()
            self._follow(found, touched, pending, end.name, box)
        obstacle = self._all(found, pending, touched)
        return found if obstacle is None else obstacle

    def _none(self) -> Restriction:
        return Restriction(inside=[self._inside], named=self._flow.statements)

    def _within(self, box: isl.Set) -> isl.Set:
        """What boxes need that are inside."""
        for end, limits, sign in ((LO, self._inside.lower, ">="), (HI, self._inside.upper, "<=")):
            for limit in limits:
                box = box.intersect_params(self._set(f"{end} {sign} {{}}", limit, None, (end,)))
        return box

    def _set(
        self, form: str, limit: Limit, variables: Sequence[str] | None, parameters: Sequence[str]
    ) -> isl.Set:
        """The set of variables (None: of parameters alone) that relate to a limit as `form` says."""
        import islpy

        names: dict[Key, str] = {LO: LO, HI: HI}
        for key, _ in limit.factors:
            if key not in names:
                names[key] = self._flow.parameters.setdefault(key, f"p{len(self._flow.parameters)}")
        text = form.format(
            " + ".join([*(f"{n} * {names[key]}" for key, n in limit.factors), str(limit.constant)])
        )
        given = dict.fromkeys([*parameters, *(names[key] for key, _ in limit.factors)])
        space = "" if variables is None else f"[{', '.join(variables)}]"
        return islpy.Set(f"[{', '.join(given)}] -> {{ {space} : {text} }}")

    def _all(self, found: Restriction, pending: dict[str, isl.Set], touched: Touched) -> Obstacle | None:
        for op in self._given:
            if obstacle := self._why_not_given(found, op):
                return obstacle
        for names in reversed(list(self._units())):
            if any(name in pending for name in names):
                self._run(found, touched, pending, names)
        self._set_windows(found, touched)
        return None

    def of_running(self, running: Running, cut: int | None) -> Restriction | Obstacle:
        """Of a box along an axis of the buffer that results so far are stored to."""
        store, update = running.store, running.update
        names = [name for name, op in self._flow.statements.items() if op is store]
        elements = self._flow.elements(names[0])
        if (obstacle := self._why_not_the_only_one(store)) is not None:
            return obstacle
        if not self._flow.every_element(store.memref).is_subset(elements.range()):
            return Obstacle(store, "it does not write all of its buffer")
        boxes = elements.domain()
        if cut is not None:
            boxes = elements.intersect_range(box_of(elements.range(), cut)).domain()
        boxes = self._within(boxes)
        self._boxes = boxes.params()
        found = self._none()
        found.updated.append(store.memref)
        if cut == running.axis:
            self._carried = running
            for buffer in update.memrefs:
                if isinstance(start := self._start_of(buffer, update), Obstacle):
                    return start
                found.begins.append((update, buffer, start))
                found.carried[buffer] = [
                    op
                    for name, op in self._flow.statements.items()
                    if self._flow.buffer_of(name) is buffer and isinstance(op, StoreOp)
                ]
        if (obstacle := self._all(found, {names[0]: boxes}, {})) is not None:
            return obstacle
        is_exact = found.running[names[0]].is_equal(boxes)
        if not is_exact or found.windows[store.memref] != ({} if cut is None else {cut: BOX}):
            return Obstacle(store, "the iterations that chunks make are not theirs alone")
        return found

    def _why_not_the_only_one(self, store: StoreOp) -> Obstacle | None:
        """Whether something else writes the buffer of a store."""
        for name, op in self._flow.statements.items():
            if op is not store and self._flow.buffer_of(name) is store.memref:
                return Obstacle(op, "it writes what is computed in chunks")
        return None

    def of_update(
        self, update: AccumulateOp, cut: ForOp | int | None, is_read: bool = False
    ) -> Restriction | Obstacle:
        """Of the iterations of a loop, or of a box along an axis of what is reduced to."""
        names = [name for name, op in self._flow.statements.items() if op is update]
        boxes = {name: self._flow.domains[name] for name in names}
        if isinstance(cut, ForOp):
            position = enclosing_loops(update).index(cut)
            boxes = {name: box_of(one, position) for name, one in boxes.items()}
        elif cut is not None:
            touched = {name: self._flow.elements(name) for name in names}
            boxes = {n: one.intersect_range(box_of(one.range(), cut)).domain() for n, one in touched.items()}
        boxes = {name: self._within(one) for name, one in boxes.items()}
        self._boxes = boxes[names[0]].params()
        found = self._none()
        for buffer in update.memrefs:
            if isinstance(start := self._start_of(buffer, update), Obstacle):
                return start
            found.starts.append(start)
            found.updated.append(buffer)
        if (obstacle := self._why_not_given(found, update, is_read)) is not None:
            return obstacle
        if (obstacle := self._all(found, dict(boxes), {})) is not None:
            return obstacle
        wanted = {cut: BOX} if isinstance(cut, int) else {}
        is_exact = all(found.running[name].is_equal(one) for name, one in boxes.items())
        if not is_exact or any(found.windows[buffer] != wanted for buffer in update.memrefs):
            return Obstacle(update, "the iterations that chunks make are not theirs alone")
        return found

    def _units(self) -> Iterator[list[str]]:
        """The names of the statements in each operation of the function's body, in order."""
        names: dict[Operation, list[str]] = {}
        for name, statement in self._flow.statements.items():
            names.setdefault(_top(statement), []).append(name)
        yield from (names[op] for op in self._flow.function.body.block.ops if op in names)

    # ---- a nest -------------------------------------------------------------------------------------

    def _run(
        self,
        found: Restriction,
        touched: Touched,
        pending: dict[str, isl.Set],
        names: list[str],
    ) -> None:
        """Add what a nest computes, and what that needs, where some of it is needed."""
        for name in names:
            buffer = self._flow.buffer_of(name)
            if name in pending and buffer in self._complete and buffer not in found.read:
                found.read.append(buffer)
        names = [name for name in names if self._flow.buffer_of(name) not in self._complete]
        needed = {name: pending.pop(name) for name in names if name in pending}
        if not needed:
            return
        self._add_other_results(needed, names)
        for k in count():
            limits = self._limits(needed) if k < ROUNDS else {}
            running = {name: self._running(name, limits) for name in needed}
            more: dict[str, isl.Set] = {}
            for name, instances in running.items():
                for read in self._flow.reads_of(name):
                    for source, made in self._sources(read.name, instances):
                        if source in names:
                            add_to(more, source, made)
            if all(name in running and one.is_subset(running[name]) for name, one in more.items()):
                break
            for name, one in more.items():
                add_to(needed, name, one)
        found.loops.update({loop: [one] for loop, one in limits.items()})
        found.moved.update(
            loop for loop, one in limits.items() if isinstance(loop, ForOp) and self._is_moved(loop, one)
        )
        found.needed.update(needed)
        for name, instances in running.items():
            found.statements.add(self._flow.statements[name])
            self._touch(touched, name, instances)
            for read in self._flow.reads_of(name):
                found.loads.add(read.loads)
                self._follow(found, touched, pending, read.name, instances.set_tuple_name(read.name), names)
                self._touch_where_loaded(touched, read, limits)
        found.running.update(running)

    def _add_other_results(self, needed: dict[str, isl.Set], names: list[str]) -> None:
        """A call fills all of its results, or the same part of each."""
        for name in list(needed):
            call = self._flow.statements[name]
            if isinstance(call, CallOp):
                for other in names:
                    if self._flow.statements[other] is call:
                        add_to(needed, other, needed[name].set_tuple_name(other))

    def _limits(self, needed: dict[str, isl.Set]) -> dict[Dim, Limits]:
        """The bounds of each loop around statements, those of all that it runs; and of the axes calls are mapped over."""
        values: dict[Dim, list[isl.Set]] = {}
        for name, instances in needed.items():
            for position, dim in enumerate(dims_of(self._flow.statements[name])):
                values.setdefault(dim, []).append(along(instances, position))
        return {
            dim: Limits()
            if isinstance(dim, ForOp) and dim.step_value != 1
            else self._limits_of(union_of(one))
            for dim, one in values.items()
        }

    def _running(self, name: str, limits: dict[Dim, Limits]) -> isl.Set:
        """The iterations of a statement within the bounds of its loops, also for boxes that need none of them."""
        instances = self._flow.domains[name].intersect_params(self._boxes)
        for position, loop in enumerate(dims_of(self._flow.statements[name])):
            instances = instances.intersect(
                with_value(instances, position, self._between(limits.get(loop, Limits())))
            )
        return instances.coalesce()

    def _is_moved(self, loop: ForOp, limits: Limits) -> bool:
        """Whether all iterations between the limits are iterations of the loop."""
        if not limits.moves or loop.step_value != 1:
            return False
        between = self._between(limits).intersect_params(self._boxes)
        for bounds, form in ((loop.lower, "x < {}"), (loop.upper, "x >= {}")):
            for k in range(len(bounds)):
                own = _as_limit(bounds[k])
                if own is None or not between.intersect(self._set(form, own, ("x",), ())).is_empty():
                    return False
        return True

    def _why_not_given(self, found: Restriction, op: Made, is_read: bool = False) -> Obstacle | None:
        """Whether the buffers of a reduction hold anything but its result when they are read (or are not to be)."""
        unit = _top(op)
        for buffer in buffers_of(op):
            if isinstance(op, StoreOp):
                if (obstacle := self._why_not_the_only_one(op)) is not None:
                    return obstacle
            elif isinstance(start := self._start_of(buffer, op), Obstacle):
                return start
            else:
                found.begins.append((op, buffer, start))
            for read in self._flow.reads if not is_read else ():
                if read.buffer is not buffer or read.along is not None or read.statement is op:
                    continue
                top = read.loads if read.statement is None else _top(read.statement)
                if top is unit or top.is_before_in_block(unit):
                    return Obstacle(read.loads, "it reads a reduction that is not complete")
        return None

    def _start_of(self, buffer: SSAValue, update: AccumulateOp) -> Attribute | Obstacle:
        """The constant that a reduction starts from."""
        starts: list[Attribute] = []
        for name, statement in self._flow.statements.items():
            if statement is update or self._flow.buffer_of(name) is not buffer:
                continue
            is_before = _is_before(statement, update)
            constant = statement.value.owner if isinstance(statement, StoreOp) else None
            if not is_before or not isinstance(constant, arith.ConstantOp):
                return Obstacle(statement, "it writes what is reduced in chunks")
            starts.append(constant.value)
        if not starts or any(start != starts[0] for start in starts):
            return Obstacle(update, "what it starts from is not one number")
        return starts[0]

    # ---- on the way ---------------------------------------------------------------------------------

    def _follow(
        self,
        found: Restriction,
        touched: Touched,
        pending: dict[str, isl.Set],
        read: str,
        instances: isl.Set,
        done: Collection[str] = (),
    ) -> None:
        """What instances of a read need of statements, and of the caller."""
        if instances.is_empty():
            return
        self._touch(touched, read, instances)
        for source, made in self._sources(read, instances):
            if source not in done:
                add_to(pending, source, made)
        buffer = self._flow.buffer_of(read)
        taken = self._flow.taken.get(read)
        if buffer not in self._flow.function.args or buffer in found.read or taken is None:
            return
        if not instances.apply(taken).is_empty():
            found.read.append(buffer)

    def _sources(self, read: str, instances: isl.Set) -> Iterator[tuple[str, isl.Set]]:
        instances = instances.set_tuple_name(read)
        for (reader, source), relation in self._flow.sources.items():
            if reader == read:
                made = self._since_the_box(source, instances.apply(relation))
                if not made.is_empty():
                    yield source, made

    def _since_the_box(self, source: str, instances: isl.Set) -> isl.Set:
        """Of the updates of a running result, those of the box: what is before it is carried."""
        import islpy

        if self._carried is None or self._flow.statements[source] is not self._carried.update:
            return instances
        place = enclosing_loops(self._carried.update).index(self._carried.loop)
        since = islpy.Set(f"[{LO}] -> {{ [x] : x >= {LO} }}")
        return instances.intersect(with_value(instances, place, since))

    def _touch(self, touched: Touched, name: str, instances: isl.Set) -> None:
        op = self._flow.statements[name] if name in self._flow.statements else self._readers[name]
        elements = instances.set_tuple_name(name).apply(self._flow.elements(name))
        self._add_elements(touched, name, op, elements)

    def _add_elements(self, touched: Touched, name: str, op: Operation, elements: isl.Set) -> None:
        by = touched.setdefault(self._flow.buffer_of(name), {})
        by[op] = elements if op not in by else by[op].union(elements).coalesce()

    def _touch_where_loaded(self, touched: Touched, read: Read, limits: dict[Dim, Limits]) -> None:
        """What a load touches that is outside of inner loops or branches of its statement, also where these do nothing."""
        relation = self._flow.loaded.get(read.name)
        if relation is None:
            return
        instances = relation.domain().intersect_params(self._boxes)
        for position, loop in enumerate(enclosing_loops(read.loads)):
            between = self._between(limits.get(loop, Limits()))
            instances = instances.intersect(with_value(instances, position, between))
        self._add_elements(touched, read.name, read.loads, instances.apply(relation))

    def _set_windows(self, found: Restriction, touched: Touched) -> None:
        """The part of each buffer. Buffers that are reduced together have the same indices, and so the same part."""
        for buffer, by in touched.items():
            if _has_views(buffer) or _is_made_in_a_loop(buffer):
                found.windows[buffer] = {}
                continue
            together = [one for b in self._together.get(buffer, ()) for one in touched.get(b, {}).values()]
            is_argument = buffer in self._flow.function.args and argument_attribute(buffer, ROLE) is None
            if (is_argument or buffer in self._complete) and not together:
                found.parts[buffer] = self._parts(buffer, by)
                found.windows[buffer] = found.parts[buffer][0].axes
            else:
                found.windows[buffer] = self._window([*by.values(), *together])

    def _window(self, elements: Sequence[isl.Set], buffer: SSAValue | None = None) -> dict[int, Limits]:
        """The limits of what is touched, of the axes that have some; of an input (`buffer`), also those that do not move."""
        found = {}
        for axis in range(elements[0].dim(dim_kinds().set)):
            one = union_of(along(part, axis) for part in elements)
            limits = self._limits_of(one)
            if buffer is not None and one is not None and not limits.moves:
                limits = self._fixed_limits_of(one, extent_key(buffer, axis))
            if limits.moves:
                found[axis] = limits
        return found

    def _parts(self, buffer: SSAValue, by: dict[Operation, isl.Set]) -> list[Window]:
        """The windows of an input: one where that moves with the box, else those of readers that move alike."""
        one = Window(frozenset(by), self._window(list(by.values())))
        is_near = bool(one.axes) and all(map(_is_as_long, one.axes.values()))
        if is_near or len(by) == 1:
            return [one if one.axes else Window(one.readers, self._window(list(by.values()), buffer))]
        alike: dict[object, list[Window]] = {}
        for op, elements in by.items():
            mine = Window(frozenset([op]), self._window([elements], buffer))
            alike.setdefault(_factors(mine.axes), []).append(mine)
        found: list[Window] = []
        for key, windows in alike.items():
            readers = frozenset(op for window in windows for op in window.readers)
            axes = self._window([by[op] for op in by if op in readers], buffer)
            found += [Window(readers, axes)] if _factors(axes) == key else windows
        return found

    # ---- bounds -------------------------------------------------------------------------------------

    def _limits_of(self, one: isl.Set | None) -> Limits:
        if one is None:
            return Limits()
        is_border = is_the_same(one := one.coalesce())
        if is_border and not self._is_border(one):
            return Limits()
        lower, upper = (
            self._limit(limit_of(one, end, end == LO, NEAR, is_border=is_border)) for end in (LO, HI)
        )
        return Limits(lower, upper)

    def _is_border(self, one: isl.Set) -> bool:
        """Whether only some boxes need something, as many indices in all programs."""
        first, last = (fixed_limit_of(one, least) for least in (True, False))
        if first is None or last is None or first.factors != last.factors:
            return False
        return not does_not_depend(self._boxes, one.params())

    def _fixed_limits_of(self, one: isl.Set, extent: Key) -> Limits:
        """Where all that any box needs lies, if that is not all there is."""
        lower, upper = (self._limit(fixed_limit_of(one, least)) for least in (True, False))
        if lower is None or upper is None:
            return Limits()
        end = Limit((), extent) if isinstance(extent, int) else Limit(((extent, 1),), 0)
        return Limits() if (lower, upper) == (Limit((), 0), end) else Limits(lower, upper)

    def _limit(self, bound: Bound | None) -> Limit | None:
        if bound is None:
            return None
        keys = {parameter: key for key, parameter in self._flow.parameters.items()}
        factors = tuple((keys.get(name, name), factor) for name, factor in bound.factors)
        if not all(key in (LO, HI) or key in self._usable for key, _ in factors):
            return None
        return Limit(factors, bound.constant)

    def _between(self, limits: Limits) -> isl.Set:
        import islpy

        names = {LO: LO, HI: HI, **self._flow.parameters}
        conditions: list[str] = []
        parameters: dict[str, None] = {}
        for limit, form in ((limits.lower, "x >= {}"), (limits.upper, "x < {}")):
            if limit is not None:
                parameters |= dict.fromkeys(names[key] for key, _ in limit.factors)
                terms = [f"{factor} * {names[key]}" for key, factor in limit.factors]
                conditions.append(form.format(" + ".join([*terms, str(limit.constant)])))
        return islpy.Set(f"[{', '.join(parameters)}] -> {{ [x] : {' and '.join(conditions) or 'true'} }}")


def _is_as_long(limits: Limits) -> bool:
    """Whether limits are as far from each other as the ends of the box are, but for a constant and a step."""
    ends = [{} if one is None else dict(one.factors) for one in (limits.lower, limits.upper)]
    lengths = [{("box" if key in (LO, HI) else key): factor for key, factor in one.items()} for one in ends]
    return lengths[0] == lengths[1]


def _factors(axes: dict[int, Limits]) -> object:
    """What limits move with: all of them but constants."""
    limits = [(axis, limit) for axis, one in sorted(axes.items()) for limit in (one.lower, one.upper)]
    return tuple((axis, None if limit is None else limit.factors) for axis, limit in limits)


def _usable(function: FuncOp) -> Iterable[Hashable]:
    """What is known when the function begins: indices that are arguments, and extents of arguments."""
    for argument in function.args:
        if not isinstance(argument.type, MemRefType):
            yield argument
            continue
        for axis in range(argument.type.get_num_dims()):
            yield extent_key(argument, axis)


def _is_before(statement: Operation, update: AccumulateOp) -> bool:
    """Whether a statement has written an element before its first update, and does not after it: in loops around both, each
    iteration has elements of its own."""
    around = [loop for loop in enclosing_loops(statement) if loop in enclosing_loops(update)]
    first, then = (op if not around else _within(op, around[-1]) for op in (statement, update))
    if not around:
        first, then = _top(statement), _top(update)
    own = [index for index in update.indices if type(index.exprs[0]) is AffineDimExpr]
    return first.is_before_in_block(then) and all(
        any(index.operands[0] is loop.iv for index in own) for loop in around
    )


def _within(op: Operation, loop: ForOp) -> Operation:
    """The operation of the body of a loop that `op` is in."""
    outer = op.parent_op()
    while outer is not None and outer is not loop:
        op, outer = outer, outer.parent_op()
    return op


def _has_views(buffer: SSAValue) -> bool:
    return any(isinstance(use.operation, VIEWS) for use in buffer.uses)


def _is_made_in_a_loop(buffer: SSAValue) -> bool:
    return isinstance(buffer.owner, Operation) and bool(enclosing_loops(buffer.owner))


def _top(op: Operation) -> Operation:
    """The operation of the function's body that `op` is in."""
    outer = op.parent_op()
    while outer is not None and not isinstance(outer, FuncOp):
        op, outer = outer, outer.parent_op()
    return op
