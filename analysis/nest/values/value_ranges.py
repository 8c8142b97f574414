"""Which numbers the integers of a function can be: an interval analysis of its scalars, loops and branches.

    scf.while ... {                                     low in [0, n], high in [0, n]
      %c = arith.cmpi slt, %low, %high : i64
      scf.condition(%c)
    } do {                                              low in [0, n - 1], high in [1, n]
      %middle = arith.shrsi (%low + %high), 1           middle in [0, n - 1]
      %k = nest.index %middle of %n axis 0 of "a"       never fails

Integers are signed, as `arith` takes them: a true `i1` is -1. Scalars are buffers and results of rank 0 that are only
loaded and stored. A loop is gone through until what holds at its head no longer changes: ends that move are widened
to "unknown", then narrowed again by going through it at most twice more. A condition narrows what was loaded for it, and the
scalar itself while nothing else was stored.
The textbook is Cousot and Cousot, "Abstract interpretation" (POPL 1977).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....dialects.affine import AffineList, linear_terms
from ....dialects.attributes import ROLE
from ....dialects.nest import AllocOp, ForOp, IfOp, IndexOp, LoadOp, StoreOp
from .extent_keys import input_dims, least_extent, linear_key, value_key
from .range_rules import RULES, bits_of, range_of_constant, range_of_element, range_of_type
from .symbolic_ranges import ANY, Bound, Leasts, Range, exactly

ROUNDS = 3
"""How often the ends of a loop's ranges may move before they are given up, and how often they are narrowed."""

MOST_STEPS = 200
"""Maximum number of operations that a query looks at: operands of operands may repeat again and again."""

Condition = tuple[SSAValue, bool]


@dataclass
class _State:
    """What holds at a point: the range of each scalar, and which store it has from."""

    ranges: dict[SSAValue, Range] = field(default_factory=dict)
    stores: dict[SSAValue, object] = field(default_factory=dict)
    facts: dict[SSAValue, Range] = field(default_factory=dict)
    """What conditions say of values."""
    implied: dict[SSAValue, tuple[Condition, ...]] = field(default_factory=dict)
    """Conditions that held if the scalar is not zero."""

    def copy(self) -> _State:
        return _State(dict(self.ranges), dict(self.stores), dict(self.facts), dict(self.implied))

    def put(self, scalar: SSAValue, value: Range) -> None:
        self.ranges[scalar] = value
        self.stores[scalar] = object()
        self.implied.pop(scalar, None)


class ValueRanges:
    """What the checked indices of a function can be."""

    def __init__(self, function: FuncOp):
        self.leasts = Leasts()
        self._inputs = input_dims(function)
        buffers = [op.memref for op in function.walk() if isinstance(op, AllocOp)] + _results(function)
        self._scalars = {buffer for buffer in buffers if _is_scalar(buffer)}
        self._loaded: dict[SSAValue, tuple[SSAValue, object, Range]] = {}
        self._indices: dict[IndexOp, tuple[bool, bool]] = {}
        self._variables: dict[SSAValue, Range] = {}
        self._steps_left: int | None = None
        self._state = _State()
        for buffer in self._scalars:
            self._state.put(buffer, range_of_element(buffer))
        self._block(function.body.block)

    def is_in_bounds(self, op: IndexOp) -> bool:
        """Whether the index is in [0, extent)."""
        return all(self._indices.get(op, (False, False)))

    def is_nonnegative(self, op: IndexOp) -> bool:
        """Whether the index counts from the start."""
        return self._indices.get(op, (False, False))[0]

    # ---- statements -----------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        for op in block.ops:
            handler = _STATEMENTS.get(type(op))
            if handler is not None:
                handler(self, op)
            elif op.regions:
                self._forget(op)

    def _load(self, op: LoadOp) -> None:
        if op.memref in self._scalars:
            state = self._state
            self._loaded[op.result] = (op.memref, state.stores[op.memref], state.ranges[op.memref])

    def _store(self, op: StoreOp) -> None:
        if op.memref not in self._scalars:
            return
        value = self.range_of(op.value)
        conditions = self._implied_by(op.value)
        if op.mask is not None or op.where_map is not None:
            value = self.leasts.joined(value, self._state.ranges[op.memref])
            conditions = ()
        self._state.put(op.memref, value)
        if conditions:
            self._state.implied[op.memref] = conditions

    def _index(self, op: IndexOp) -> None:
        index, size = self._affine(op.index), self._as_bound(op.extent)
        after = None if index.high is None else index.high.plus(Bound(1))
        is_below = size is not None and after is not None and self.leasts.never_above(after, size)
        self._indices[op] = (index.low is not None and index.low >= 0, is_below)

    def _as_bound(self, expression: AffineList) -> Bound | None:
        """An extent as a bound: a number, or a multiple of one extent and a number."""
        terms, constant = linear_terms(expression.exprs[0])
        total: Bound | None = Bound(constant)
        for atom, factor in terms.items():
            if total is None or factor < 0 or not isinstance(atom, AffineDimExpr):
                return None
            key = value_key(expression.operands[atom.position])
            extent = None if isinstance(key, SSAValue) else self._extent(key, factor)
            total = None if extent is None else total.plus(extent)
        return total

    def _extent(self, key: Hashable, factor: int = 1) -> Bound | None:
        """A number, or an extent of a buffer, times `factor`; None for a product of several."""
        if isinstance(key, int):
            return Bound(key * factor)
        if (multiple := linear_key(key)) is None:
            return None
        number, key = multiple
        factor *= number
        self.leasts[key] = least_extent(key, self._inputs) or 0
        return Bound(0, factor, key)

    # ---- branches and loops ---------------------------------------------------------------------------

    def _branch(self, op: IfOp) -> None:
        before = self._state
        after: list[_State] = []
        regions = (op.then_region, op.else_region)
        for truth, region in zip((True, False), regions, strict=True):
            self._state = before.copy()
            self._assume(op.condition, truth)
            if region is not None:
                self._block(region.block)
            after.append(self._state)
        self._state = self._joined(*after)
        self._state.facts = dict(before.facts)
        for scalar in self._state.ranges:
            for truth, (one, other) in ((True, after), (False, after[::-1])):
                is_zero = other.ranges[scalar].number == 0
                if is_zero and one.stores[scalar] is not other.stores[scalar]:
                    more = one.implied.get(scalar, ())
                    self._state.implied[scalar] = ((op.condition, truth), *more)

    def _for(self, op: ForOp) -> None:
        lows = [r.low for r in self._each(op.lower) if r.low is not None]
        highs = [r.high.plus(Bound(-1)) for r in self._each(op.upper) if r.high is not None]
        high = highs[0] if highs else None
        for other in highs[1:]:
            high = self.leasts.smaller(high, other)
        self._variables[op.iv] = Range(max(lows, default=None), high)
        self._repeat(op, lambda: self._block(op.body.block))

    def _while(self, op: scf.WhileOp) -> None:
        condition = op.before_region.block.last_op
        assert isinstance(condition, scf.ConditionOp)

        def once() -> None:
            self._block(op.before_region.block)
            self._assume(condition.condition, True)
            self._block(op.after_region.block)

        self._repeat(op, once)
        facts = dict(self._state.facts)
        self._block(op.before_region.block)
        self._assume(condition.condition, False)
        self._state.facts = facts

    def _repeat(self, op: Operation, body: Callable[[], None]) -> None:
        """Leaves the state at the head of the loop, which is also the one after it."""
        entry = self._state
        changed = self._stored_in(op)
        if not changed:
            self._state = entry.copy()
            body()
            self._state = entry
            return
        head = self._renewed(entry, changed)
        for count in itertools.count():
            self._state = head.copy()
            body()
            following = self._renewed(self._joined(entry, self._state), changed)
            if all(self._holds(head.ranges[s], following.ranges[s]) for s in changed):
                break
            following = self._renewed(self._joined(head, following), changed)
            if count >= ROUNDS:
                for scalar in changed:
                    following.ranges[scalar] = self._widened(head.ranges[scalar], following.ranges[scalar])
            following.facts = dict(entry.facts)
            head = following
        for _ in range(ROUNDS - 1):
            narrowed = self._renewed(self._joined(entry, self._state), changed)
            if narrowed.ranges == head.ranges:
                break
            narrowed.facts = dict(entry.facts)
            head = narrowed
            self._state = head.copy()
            body()
        self._state = head.copy()
        self._state.facts = dict(entry.facts)

    def _holds(self, outer: Range, inner: Range) -> bool:
        """Whether all of `inner` is in `outer`."""
        low = outer.low is None or (inner.low is not None and inner.low >= outer.low)
        high = outer.high is None or (
            inner.high is not None and self.leasts.never_above(inner.high, outer.high)
        )
        return low and high

    def _widened(self, old: Range, new: Range) -> Range:
        low = new.low if old.low is not None and new.low is not None and new.low >= old.low else None
        kept = old.high is not None and new.high is not None and self.leasts.never_above(new.high, old.high)
        return Range(low, old.high if kept else None)

    def _stored_in(self, op: Operation) -> list[SSAValue]:
        """The scalars that a loop stores to."""
        stored = (inner.memref for inner in op.walk() if isinstance(inner, StoreOp))
        return list(dict.fromkeys(buffer for buffer in stored if buffer in self._scalars))

    def _renewed(self, state: _State, scalars: list[SSAValue]) -> _State:
        """The state at the head of a loop that stores to `scalars`."""
        state = state.copy()
        for scalar in scalars:
            state.put(scalar, state.ranges[scalar])
        return state

    def _joined(self, a: _State, b: _State) -> _State:
        joined = _State()
        for scalar, one in a.ranges.items():
            joined.ranges[scalar] = self.leasts.joined(one, b.ranges[scalar])
            same = a.stores[scalar] is b.stores[scalar]
            joined.stores[scalar] = a.stores[scalar] if same else object()
            if same and a.implied.get(scalar) == b.implied.get(scalar) and scalar in a.implied:
                joined.implied[scalar] = a.implied[scalar]
        return joined

    def _forget(self, op: Operation) -> None:
        """An operation with regions that is not understood."""
        for scalar in self._stored_in(op):
            self._state.put(scalar, ANY)

    # ---- conditions -----------------------------------------------------------------------------------

    def _assume(self, condition: SSAValue, truth: bool) -> None:
        """Narrow what is known by a condition that is true, or false."""
        owner = condition.owner
        if isinstance(owner, arith.AndIOp if truth else arith.OrIOp):
            self._assume(owner.operands[0], truth)
            self._assume(owner.operands[1], truth)
        elif isinstance(owner, arith.XOrIOp) and self.range_of(owner.operands[1]).number == -1:
            self._assume(owner.operands[0], not truth)
        elif isinstance(owner, arith.CmpiOp):
            self._assume_comparison(owner, truth)
        elif truth and isinstance(owner, LoadOp | arith.ExtUIOp):
            for implied in self._implied_by(condition):
                self._assume(*implied)

    def _assume_comparison(self, op: arith.CmpiOp, truth: bool) -> None:
        name = _PREDICATES.get(op.predicate.value.data)
        if name is None:
            return
        if not truth:
            name = _OPPOSITE[name]
        a, b = op.lhs, op.rhs
        first, second = self.range_of(a), self.range_of(b)
        if name == "ne":
            if second.number == 0:
                for implied in self._implied_by(a):
                    self._assume(*implied)
            return
        if name in ("gt", "ge"):
            a, b, first, second = b, a, second, first
        strict = 1 if name in ("lt", "gt") else 0
        below = Range(None, None if second.high is None else second.high.plus(Bound(-strict)))
        above = Range(None if first.low is None else first.low + strict, None)
        if name == "eq":
            below, above = second, first
        self._narrow(a, below)
        self._narrow(b, above)

    def _implied_by(self, value: SSAValue) -> tuple[Condition, ...]:
        """Conditions that hold if the value is not zero."""
        owner = value.owner
        if isinstance(owner, arith.ExtUIOp):
            return self._implied_by(owner.input)
        if isinstance(owner, arith.CmpiOp):
            return ((value, True),)
        if isinstance(owner, LoadOp) and value in self._loaded:
            scalar, store, _ = self._loaded[value]
            if self._state.stores[scalar] is store:
                return self._state.implied.get(scalar, ())
        return ()

    def _narrow(self, value: SSAValue, by: Range) -> None:
        state, owner = self._state, value.owner
        state.facts[value] = self.leasts.met(self.range_of(value), by)
        if isinstance(owner, arith.IndexCastOp):
            self._narrow(owner.input, by)
        elif value in self._loaded:
            scalar, store, _ = self._loaded[value]
            if state.stores[scalar] is store:
                state.ranges[scalar] = self.leasts.met(state.ranges[scalar], by)

    # ---- values ---------------------------------------------------------------------------------------

    def range_of(self, value: SSAValue) -> Range:
        """What an integer can be, where the walk has come to; no more than its type says beyond `MOST_STEPS`."""
        is_question = self._steps_left is None
        left = MOST_STEPS if self._steps_left is None else self._steps_left
        self._steps_left = left - 1
        computed = self._computed(value) if left > 0 else range_of_type(value.type)
        if is_question:
            self._steps_left = None
        known = self._state.facts.get(value)
        return computed if known is None else self.leasts.met(computed, known)

    def _computed(self, value: SSAValue) -> Range:
        if value in self._variables:
            return self._variables[value]
        if value in self._loaded:
            return self._loaded[value][2]
        owner = value.owner
        if isinstance(owner, arith.ConstantOp):
            return range_of_constant(owner)
        if isinstance(owner, IndexOp):
            size = self._as_bound(owner.extent)
            return Range(0, None if size is None else size.plus(Bound(-1)))
        result = self._result(owner) if isinstance(owner, Operation) and bits_of(value.type) else None
        if result is not None:
            limits = range_of_type(value.type)
            return result if self._holds(limits, result) or bits_of(value.type) == 64 else limits
        key = value_key(value)
        bound = None if isinstance(key, SSAValue) else self._extent(key)
        if bound is not None:
            return Range(self.leasts.get(key, bound.constant), bound)
        return range_of_type(value.type)

    def _result(self, op: Operation) -> Range | None:
        """What an operation computes, as a number without limits; None where there is no rule for it."""
        if isinstance(op, arith.SelectOp):
            return self._selected(op)
        rule = RULES.get(type(op))
        return None if rule is None else rule(op, [self.range_of(v) for v in op.operands], self.leasts)

    def _each(self, expressions: AffineList) -> list[Range]:
        return [self._affine(expressions[k]) for k in range(len(expressions))]

    def _affine(self, expression: AffineList) -> Range:
        terms, constant = linear_terms(expression.exprs[0])
        total = exactly(constant)
        for atom, factor in terms.items():
            if not isinstance(atom, AffineDimExpr):
                return ANY
            total = total.plus(self.range_of(expression.operands[atom.position]).times(factor))
        return total

    def _selected(self, op: Operation) -> Range:
        before, results = self._state, []
        for truth, value in zip((True, False), op.operands[1:], strict=True):
            self._state = before.copy()
            self._assume(op.operands[0], truth)
            results.append(self.range_of(value))
        self._state = before
        return self.leasts.joined(*results)


def _results(function: FuncOp) -> list[SSAValue]:
    """The arguments that are filled with results; nothing else is in their memory."""
    if function.arg_attrs is None:
        return []
    pairs = zip(function.body.block.args, function.arg_attrs.data, strict=True)
    return [argument for argument, attributes in pairs if attributes.data.get(ROLE) == StringAttr("out")]


def _is_scalar(buffer: SSAValue) -> bool:
    type_ = buffer.type
    if not isinstance(type_, MemRefType) or type_.get_shape() or not bits_of(type_.element_type):
        return False
    uses = [use.operation for use in buffer.uses]
    return all(isinstance(u, LoadOp) or (isinstance(u, StoreOp) and u.value is not buffer) for u in uses)


_PREDICATES = {0: "eq", 1: "ne", 2: "lt", 3: "le", 4: "gt", 5: "ge"}
_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}

_STATEMENTS: dict[type[Operation], Callable[[ValueRanges, Operation], None]] = {
    LoadOp: ValueRanges._load,
    StoreOp: ValueRanges._store,
    IndexOp: ValueRanges._index,
    IfOp: ValueRanges._branch,
    ForOp: ValueRanges._for,
    scf.WhileOp: ValueRanges._while,
}  # pyright: ignore
