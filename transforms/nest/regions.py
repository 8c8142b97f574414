"""Regions: the box of a buffer's elements that one iteration of a loop touches, and what is proved about it.

    nest.for "i" %i = 0 to %n ceildiv 16 {
      nest.for "j" %j = 0 to min(16, %n - 16 * %i) {     window_of(i, accesses) ==
        %v = nest.load %x[16 * %i + %j + 1]                Window(origin=[16 * %i + 1], extents=[16])
      }
    }

The origin and the extents are affine in what is fixed during an iteration. They come from bounds of the indices
over the loops inside, eliminated innermost first; an extent is a constant wherever a choice of bounds makes it one.
A window may hold more than what is touched, and may stick out of the buffer. `Coverage` asks isl whether all of a
window that lies in the buffer is touched for certain, which is what copying it back in parallel needs.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ...dialects.affine import AffineList, linear_terms
from ...dialects.nest import ForOp
from ...lowering.domains import LoadGuards
from .dependence import READ, Access, is_defined_outside
from .integer_sets import Row, System, extent_key, is_never_negative, least_extent
from .loops import divide, enclosing_loops, is_inside

MAX_CHOICES = 16
"""Bounds of one index that are looked at; loops with a min or max of many expressions have more."""


@dataclass(frozen=True, eq=False)
class Window:
    """A box of elements: `origin[k] <= index k < origin[k] + extents[k]`, one expression an axis."""

    origin: AffineList
    extents: AffineList


@dataclass(frozen=True, eq=False)
class NoWindow:
    """Why there is no window: the access at fault, and the reason."""

    access: Access
    reason: str


def window_of(loop: ForOp, accesses: Sequence[Access]) -> Window | NoWindow:
    """The smallest box found that holds what `accesses` (to one buffer) touch in one iteration of `loop`."""
    origin, extents = AffineList((), ()), AffineList((), ())
    for access in accesses:
        if (reason := _why_no_bounds(loop, access)) is not None:
            return NoWindow(access, reason)
    rank = len(accesses[0].indices)  # pyright: ignore[reportArgumentType]
    for axis in range(rank):
        lows = _common(loop, accesses, axis, low=True)
        highs = _common(loop, accesses, axis, low=False)
        if isinstance(lows, NoWindow) or isinstance(highs, NoWindow):
            return lows if isinstance(lows, NoWindow) else highs  # pyright: ignore[reportReturnType]
        first, extent = _smallest(lows, highs)
        origin, extents = origin.concat(first), extents.concat(extent)
    return Window(origin.canonical(), extents.canonical())


def _why_no_bounds(loop: ForOp, access: Access) -> str | None:
    assert access.indices is not None
    for value in access.indices.operands:
        if value is loop.iv or is_defined_outside(value, loop):
            continue
        owner = value.owner
        if not isinstance(owner, Block) or not isinstance(owner.parent_op(), ForOp):
            return "an index is computed inside the loop"
    return None


def _smallest(lows: Sequence[AffineList], highs: Sequence[AffineList]) -> tuple[AffineList, AffineList]:
    """The pair of bounds with the least constant extent, else the one whose extent is simplest."""
    best: tuple[int, AffineList] | None = None
    for low, high in product(lows, highs):
        extent = high.minus(low).add(1).constants()
        if extent is not None and (best is None or extent[0] < best[0]):
            best = (extent[0], low)
    if best is not None:
        return best[1], AffineList.of(max(0, best[0]))
    pairs = [(low, high.minus(low).add(1).canonical()) for low, high in product(lows, highs)]
    return min(pairs, key=lambda pair: (complexity(pair[1]), complexity(pair[0])))


def complexity(expression: AffineList) -> tuple[int, int]:
    """The number of divisions in an expression, and of its terms."""
    atoms, constant = linear_terms(expression.exprs[0])
    return sum(isinstance(a, AffineBinaryOpExpr) for a in atoms), len(atoms) + (constant != 0)


def _common(loop: ForOp, accesses: Sequence[Access], axis: int, low: bool) -> list[AffineList] | NoWindow:
    """The bounds of one access that bound the index of every access: `low` ones, or high ones."""
    bounds: list[list[AffineList]] = []
    for access in accesses:
        assert access.indices is not None
        found = [
            b
            for b in bounds_of(access.indices[axis], loop, low)
            if all(_is_fixed(v, loop) for v in b.operands)
        ]
        if not found:
            return NoWindow(access, "the bounds of the loops inside depend on what is computed in the loop")
        bounds.append(found)
    candidates = [b for one in bounds for b in one]
    unique = list({(b.exprs, b.operands): b for b in candidates}.values())
    chosen = [b for b in unique if all(any(_reaches(b, c, low) for c in one) for one in bounds)]
    if not chosen:
        scope = _inside(loop)
        chosen = [b for b in unique if all(any(_reaches(b, c, low, scope) for c in one) for one in bounds)]
    return chosen or NoWindow(accesses[0], "the accesses do not stay in one box of affine bounds")


def _reaches(bound: AffineList, other: AffineList, low: bool, scope: Operation | None = None) -> bool:
    """Whether `bound` is at or beyond `other`."""
    gap = other.minus(bound) if low else bound.minus(other)
    known = gap.constants()
    if known is not None:
        return known[0] >= 0
    return scope is not None and is_never_negative(gap, scope)


def _is_fixed(value: SSAValue, loop: ForOp) -> bool:
    """Whether `value` is known where an iteration of `loop` starts."""
    return value is loop.iv or is_defined_outside(value, loop)


def _inside(loop: ForOp) -> Operation:
    first = loop.body.block.first_op
    assert first is not None
    return first


# ---- bounds of an expression over the loops inside --------------------------------------------------


def bounds_of(expression: AffineList, loop: ForOp, low: bool) -> list[AffineList]:
    """Lower (or upper) bounds of a one-expression list over every iteration of the loops inside `loop`."""
    terms, constant = linear_terms(expression.exprs[0])
    totals = [AffineList.of(constant)]
    for atom, factor in terms.items():
        single = AffineList((atom,), expression.operands).canonical()
        choices = [single]
        if isinstance(atom, AffineBinaryOpExpr) and _inner_loops(single, loop):
            choices = _division_bounds(atom, single, loop, low == (factor > 0))
        totals = [t.plus(c.times(factor)) for t in totals for c in choices][:MAX_CHOICES]
    return [b for total in totals for b in _eliminate(total, loop, low)][:MAX_CHOICES]


def _inner_loops(expression: AffineList, loop: ForOp) -> list[ForOp]:
    """The loops inside `loop` whose variables `expression` uses, the innermost first."""
    owners = (v.owner.parent_op() for v in expression.operands if isinstance(v.owner, Block))
    found = [o for o in owners if isinstance(o, ForOp) and o is not loop and is_inside(o, loop)]
    return sorted(found, key=lambda inner: -len(enclosing_loops(inner)))


def _eliminate(expression: AffineList, loop: ForOp, low: bool) -> list[AffineList]:
    """Bounds without the variables of inner loops, each replaced by an end of its range."""
    inner = _inner_loops(expression, loop)
    if not inner:
        return [expression]
    variable = inner[0].iv
    factor = linear_terms(expression.exprs[0])[0].get(_dim(expression, variable), 0)
    ends = _first_values(inner[0]) if low == (factor > 0) else _last_values(inner[0])
    return [b for end in ends for b in bounds_of(expression.substitute(variable, end), loop, low)][
        :MAX_CHOICES
    ]


def _dim(expression: AffineList, value: SSAValue) -> AffineExpr:
    return AffineDimExpr(expression.operands.index(value))


def _first_values(loop: ForOp) -> list[AffineList]:
    return [loop.lower[k] for k in range(len(loop.lower))]


def _last_values(loop: ForOp) -> list[AffineList]:
    """What the variable never exceeds: exactly the last value where start and end are a known distance apart."""
    values = []
    for k in range(len(loop.upper)):
        last = loop.upper[k].add(-1)
        for start in _first_values(loop) if loop.step_value != 1 and len(loop.lower) == 1 else ():
            if (span := last.minus(start).constants()) is not None:
                last = start.add(span[0] // loop.step_value * loop.step_value)
        values.append(last)
    return values


def _division_bounds(
    atom: AffineBinaryOpExpr, single: AffineList, loop: ForOp, low: bool
) -> list[AffineList]:
    """Bounds of a `floordiv`, `ceildiv` (both grow with what they divide) or `mod`."""
    assert isinstance(atom.rhs, AffineConstantExpr)
    divisor = atom.rhs.value
    inside = AffineList((single.exprs[0].lhs,), single.operands)  # pyright: ignore
    if atom.kind is not AffineBinaryOpKind.Mod:
        return [divide(b, atom.kind, divisor) for b in bounds_of(inside, loop, low)]
    ends = [b.constants() for side in (True, False) for b in bounds_of(inside, loop, side)]
    numbers = [end[0] for end in ends if end is not None]
    if len(numbers) == len(ends) and min(numbers) >= 0 and max(numbers) < divisor:
        return bounds_of(inside, loop, low)
    return [AffineList.of(0 if low else divisor - 1)]


# ---- what is certain --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Piece:
    """A set of elements `(x0, x1, ...)`: those for which some values of `local` satisfy `constraints`."""

    local: list[str]
    constraints: list[str]


class _Body(System):
    """Constraints on what happens in one iteration of `loop`: its variable, and `fixed`, are shared by all."""

    def __init__(self, loop: ForOp, fixed: Iterable[SSAValue] = ()):
        super().__init__(loop)
        self._shared_values = {loop.iv, *fixed}
        self._private: set[str] = set()

    def _is_instance_value(self, value: SSAValue) -> bool:
        return value not in self._shared_values and super()._is_instance_value(value)

    def extent(self, buffer: SSAValue, axis: int) -> str:
        """The variable (or number) for the extent of a buffer's axis."""
        key = extent_key(buffer, axis)
        if isinstance(key, int):
            return str(key)
        if isinstance(key, SSAValue):
            return self.name(key, "")
        if key not in self._names:
            self._names[key] = f"v{len(self._names)}"
            self.require(f"{self._names[key]} >= {least_extent(key, self._input_dims)}")
        return self._names[key]

    def name_all(self, values: Iterable[SSAValue], instance: str) -> tuple[dict[str, Hashable], list[str]]:
        """Name `values`; the names that belong to this instance alone, and what is known about them.

        What is known about shared values becomes part of the system.
        """
        texts, rows, names = len(self._constraints), len(self._rows), len(self._names)
        for value in values:
            self.name(value, instance)
        added = [*self._constraints[texts:], *map(_as_text, self._rows[rows:])]
        del self._constraints[texts:], self._rows[rows:]
        local = {name: key for key, name in self._names.items() if _instance_of(key) == instance}
        helpers = {name: key for key, name in list(self._names.items())[names:] if key == name}
        known: list[str] = []
        for fact in _reachable(added, local, helpers):
            known.append(fact)
            added.remove(fact)
        self._constraints += added
        self._private |= local.keys()
        return local, known

    def contains(self, whole: Sequence[_Piece], part: _Piece, rank: int) -> bool:
        """Whether every element of `part` is in one of the pieces of `whole`."""
        import islpy as isl

        shared = ", ".join(name for name in self._names.values() if name not in self._private)
        given = [*self._constraints, *map(_as_text, self._rows)]
        point = ", ".join(f"x{k}" for k in range(rank))

        def elements(piece: _Piece):
            condition = " and ".join([*given, *piece.constraints]) or "true"
            if piece.local:
                condition = f"exists ({', '.join(piece.local)} : {condition})"
            return isl.Set(f"[{shared}] -> {{ [{point}] : {condition} }}")

        left = elements(part)
        for piece in whole:
            left = left.subtract(elements(piece))
        return bool(left.is_empty())


def _as_text(row: Row) -> str:
    """A linear constraint as isl reads it."""
    terms = [f"{factor}{' * ' + name if name else ''}" for name, factor in row.terms.items()]
    return f"{' + '.join(terms) or 0} {'=' if row.equal else '>='} 0"


def _reachable(
    facts: Sequence[str], local: dict[str, Hashable], helpers: dict[str, Hashable]
) -> Iterator[str]:
    """The facts about `local` names. Helpers (quotients and the like) that these facts mention become local as well."""
    left, progress = list(facts), True
    while progress:
        progress = False
        for fact in list(left):
            mentioned = set(re.findall(r"v\d+", fact))
            if local.keys().isdisjoint(mentioned):
                continue
            local.update((name, helpers[name]) for name in mentioned if name in helpers)
            left.remove(fact)
            progress = True
            yield fact


def _instance_of(key: Hashable) -> str | None:
    """The instance that a value's name belongs to; None for shared values, and for extents (buffer, axis)."""
    return key[1] if isinstance(key, tuple) and isinstance(key[1], str) else None


class Coverage:
    """Whether accesses touch all of a window, in every iteration of `loop`.

    Only what happens for certain counts: an access under a branch, with a mask, or at an index that is not affine
    in loop variables touches nothing.
    """

    def __init__(self, loop: ForOp):
        self._loop = loop
        self._guards = LoadGuards()

    def fills(self, window: Window, buffer: SSAValue, accesses: Sequence[Access]) -> bool:
        """Whether each element of the window that is in the buffer is touched by one of `accesses`."""
        body = _Body(self._loop)
        touched = [piece for a in accesses if _runs_always(a, self._loop) for piece in self._touched(body, a)]
        body.name_all((*window.origin.operands, *window.extents.operands), "")
        box = []
        for axis, origin in enumerate(body.expressions(window.origin, "")):
            extent = body.expressions(window.extents[axis], "")[0]
            box.append(f"{origin} <= x{axis} < {origin} + {extent}")
            box.append(f"0 <= x{axis} < {body.extent(buffer, axis)}")
        return body.contains(touched, _Piece([], box), len(window.origin))

    def written_before(self, read: Access, stores: Sequence[Access]) -> bool:
        """Whether each element that `read` touches was stored earlier in the same iteration, by one store."""
        assert read.indices is not None
        for store in stores:
            if not self._comes_first(store, read):
                continue
            around = set(enclosing_loops(store.op))
            body = _Body(self._loop, [o.iv for o in enclosing_loops(read.op) if o in around])
            written = list(self._touched(body, store))
            if body.contains(written, self._piece(body, read, read.where, "read")[0], len(read.indices)):
                return True
        return False

    def _comes_first(self, store: Access, read: Access) -> bool:
        """Whether `store` stands before `read` in the text, and runs whenever what holds both does."""
        common = read.op.parent_op()
        while common is not None and not is_inside(store.op, common):
            common = common.parent_op()
        if common is None or not is_inside(common, self._loop) or store.op is read.op:
            return False
        first, second = _child_of(common, store.op), _child_of(common, read.op)
        if first.parent is None or first.parent is not second.parent:
            return False
        return first.is_before_in_block(second) and _runs_always(store, common)

    def _touched(self, body: _Body, access: Access) -> Iterator[_Piece]:
        """The elements that are touched for certain, one piece a domain of the access."""
        for k, where in enumerate(self._domains(access)):
            piece, is_exact = self._piece(body, access, where, f"{id(access)}.{k}")
            if is_exact:
                yield piece

    def _domains(self, access: Access) -> Iterator[AffineList | None]:
        guards = self._guards.of(access.op) if access.kind == READ else None
        if access.kind != READ:
            yield access.where
        elif guards is None:
            yield None
        else:
            yield from (AffineList.of(*domain.constraints) for domain in guards if domain.mask is None)

    def _piece(
        self, body: _Body, access: Access, where: AffineList | None, instance: str
    ) -> tuple[_Piece, bool]:
        """The elements touched over the loops around `access`; whether that is exact, else it may be fewer."""
        assert access.indices is not None
        domain = AffineList((), ()) if where is None else where
        values = [loop.iv for loop in enclosing_loops(access.op)]
        local, known = body.name_all((*values, *access.indices.operands, *domain.operands), instance)
        constraints = [f"x{k} = {e}" for k, e in enumerate(body.expressions(access.indices, instance))]
        constraints += [f"{e} >= 0" for e in body.expressions(domain, instance)]
        return _Piece(list(local), known + constraints), all(map(_is_exact_variable, local.values()))


def _is_exact_variable(key: Hashable) -> bool:
    """Whether all that there is to know about an instance's value is said: the variable of a loop, or a helper."""
    if isinstance(key, str):
        return True
    value = key[0]  # pyright: ignore[reportIndexIssue]
    loop = value.owner.parent_op() if isinstance(value.owner, Block) else None
    return isinstance(loop, ForOp) and (loop.step_value == 1 or len(loop.lower) == 1)


def _runs_always(access: Access, within: Operation) -> bool:
    """Whether nothing but loops and affine domains decides that `access` runs, each time that `within` does."""
    if getattr(access.op, "mask", None) is not None:
        return False
    parent = access.op.parent_op()
    while parent is not within:
        if not isinstance(parent, ForOp):
            return False
        parent = parent.parent_op()
    return True


def _child_of(ancestor: Operation, op: Operation) -> Operation:
    """The operation directly in a block of `ancestor` that is, or holds, `op`."""
    while (parent := op.parent_op()) is not ancestor:
        assert parent is not None
        op = parent
    return op
