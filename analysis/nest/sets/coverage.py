"""Coverage: whether an iteration of a loop touches all of a window for certain, or finds it touched.

    nest.for "i" %i = 0 to %n ceildiv 16 {
      nest.for "j" %j = 0 to min(16, %n - 16 * %i) {     Coverage(i).fills([16 * %i : 16 * %i + 16], x, [the store])
        nest.store "x" %v, %x[16 * %i + %j]
      }
    }

The elements that an access touches are a set of isl, over the loops around it; a window is covered when nothing of what
it has in the buffer is left after the sets are taken out. Copying a window back needs that when threads, or elements that
nothing has written, are about.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from xdsl.ir import Block, Operation, SSAValue

from ....dialects.affine import AffineList
from ....dialects.nest import ForOp, IfOp
from ..loop_structure import enclosing_function, enclosing_loops, is_inside
from ..values.extent_keys import extent_key
from ..values.scalar_facts import formula
from .accesses import READ, Access
from .domains import LoadGuards
from .integer_sets import Row, System
from .regions import Window


@dataclass(frozen=True, eq=False)
class _Piece:
    """A set of elements `(x0, x1, ...)`: those for which some values of `local` satisfy `constraints`."""

    local: list[str]
    constraints: list[str]


class _Body(System):
    """Constraints on what happens at `place`: up to the end of one iteration, say, where it is a loop.

    Shared by all instances are the values of the blocks around it, and what else is `fixed` (the variable of the loop).
    """

    def __init__(self, place: Operation, fixed: Iterable[SSAValue] = ()):
        super().__init__(place)
        self._shared_values = set(fixed)
        self._shared_blocks = set(_blocks_around(place))
        self._private: set[str] = set()

    def _is_instance_value(self, value: SSAValue) -> bool:
        owner = value.owner
        home = owner if isinstance(owner, Block) else owner.parent
        return value not in self._shared_values and home not in self._shared_blocks

    def extent(self, buffer: SSAValue, axis: int) -> str:
        """The variable (or number) for the extent of a buffer's axis."""
        key = extent_key(buffer, axis)
        if isinstance(key, int):
            return str(key)
        if isinstance(key, SSAValue):
            return self.name(key, "")
        return self.extent_name(key)

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

    Only what happens for certain counts: an access with a mask, under a branch whose condition is not affine, or at an
    index that is not affine in loop variables touches nothing.
    """

    def __init__(self, loop: ForOp):
        self._loop = loop
        self._guards = LoadGuards()

    def fills(
        self, window: Window, buffer: SSAValue, accesses: Sequence[Access], earlier: Sequence[Access] = ()
    ) -> bool:
        """Whether each element of the window that is in the buffer is touched by one of `accesses`.

        Or by one of `earlier`, which are not in the loop, before the iteration.
        """
        body = _Body(self._loop, [self._loop.iv])
        touched = [piece for a in accesses for piece in self._touched(body, a, self._loop)]
        touched += self._touched_either_way(body, accesses)
        for access in earlier:
            if (nest := self._nest_before(access)) is not None:
                touched += self._touched(body, access, nest.parent_op())
        around = [loop.iv for loop in (*enclosing_loops(self._loop), self._loop)]
        body.name_all((*around, *window.origin.operands, *window.extents.operands), "")
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
            around = {self._loop, *enclosing_loops(store.op)}
            body = _Body(self._loop, [o.iv for o in enclosing_loops(read.op) if o in around])
            written = list(self._touched(body, store, _common_parent(store.op, read.op)))
            if all(
                body.contains(written, _piece(body, read, where, f"read.{k}")[0], len(read.indices))
                for k, where in enumerate(self._needed(read))
            ):
                return True
        return False

    def _needed(self, access: Access) -> list[AffineList | None]:
        """The domains in which an access is made: a load is where one of the statements that use it needs it."""
        guards = self._guards.of(access.op) if access.kind == READ else None
        if guards is None:
            return [access.where]
        return [AffineList.of(*domain.constraints) for domain in guards]

    def _comes_first(self, store: Access, read: Access) -> bool:
        """Whether `store` is before `read` in the text, and runs whenever what holds both does."""
        common = _common_parent(store.op, read.op)
        if common is None or not is_inside(common, self._loop) or store.op is read.op:
            return False
        return _stands_before(store.op, read.op, common)

    def _nest_before(self, access: Access) -> Operation | None:
        """The operation in a block around the loop that is, or holds, the access and comes before the loop."""
        common = _common_parent(access.op, self._loop)
        if common is None:
            return None
        first, second = _child_of(common, access.op), _child_of(common, self._loop)
        if first is second or first.parent is None or first.parent is not second.parent:
            return None
        return first if first.is_before_in_block(second) else None

    def _touched(self, body: _Body, access: Access, within: Operation | None) -> Iterator[_Piece]:
        """The elements that are touched for certain each time that `within` runs, one piece a domain of the access."""
        branches = None if within is None else _branches(access.op, within)
        if branches is None:
            return
        for k, where in enumerate(self._domains(access)):
            piece, is_exact = _piece(body, access, where, f"{id(access)}.{k}", branches)
            if is_exact:
                yield piece

    def _touched_either_way(self, body: _Body, accesses: Sequence[Access]) -> Iterator[_Piece]:
        """The elements that two accesses touch, one if a branch is taken and the other one if it is not."""
        for first, second in combinations(accesses, 2):
            branch = _common_parent(first.op, second.op)
            if not isinstance(branch, IfOp) or first.kind == READ or second.kind == READ:
                continue
            if _child_of(branch, first.op).parent is _child_of(branch, second.op).parent:
                continue
            ways = [_branches(op, branch) for op in (first.op, second.op)]
            around = _branches(branch, self._loop)
            if around is None or ways[0] is None or ways[1] is None:
                continue
            instance = f"{id(first)}.{id(second)}"
            one, is_exact = _piece(body, first, first.where, instance, [*around, *ways[0]])
            other, other_is_exact = _piece(body, second, second.where, instance, ways[1])
            if is_exact and other_is_exact:
                # quotients that speak of the loops around the branch are named with the first one
                local = list(dict.fromkeys(one.local + other.local))
                yield _Piece(local, one.constraints + other.constraints)

    def _domains(self, access: Access) -> Iterator[AffineList | None]:
        guards = self._guards.of(access.op) if access.kind == READ else None
        if access.kind != READ:
            yield access.where
        elif guards is None:
            yield None
        else:
            yield from (AffineList.of(*domain.constraints) for domain in guards if domain.mask is None)


def is_stored_before(read: Access, stores: Sequence[Access]) -> bool:
    """Whether each element that `read` touches was stored earlier in the same iteration of the loops around both.

    Several of `stores` may have done so, where the same loops and branches are around each and the read.
    """
    assert read.indices is not None
    earlier: dict[Operation, list[Access]] = {}
    for store in stores:
        common = _common_parent(store.op, read.op)
        if common is not None and _stands_before(store.op, read.op, common):
            earlier.setdefault(common, []).append(store)
    for common, candidates in earlier.items():
        body = _Body(_child_of(common, read.op))
        written: list[_Piece] = []
        for k, store in enumerate(candidates):
            if (branches := _branches(store.op, common)) is not None:
                piece, is_exact = _piece(body, store, store.where, f"store.{k}", branches)
                written += [piece] if is_exact else []
        if body.contains(written, _piece(body, read, read.where, "read")[0], len(read.indices)):
            return True
    return False


def covers(buffer: SSAValue, accesses: Sequence[Access]) -> bool:
    """Whether each element of an argument's buffer is touched for certain by one of `accesses` of its function."""
    function = enclosing_function(accesses[0].op)
    body = _Body(_child_of(function, accesses[0].op))
    touched: list[_Piece] = []
    for k, access in enumerate(accesses):
        if _branches(access.op, function) == []:
            piece, is_exact = _piece(body, access, access.where, f"access.{k}")
            touched += [piece] if is_exact else []
    rank = len(accesses[0].indices or ())
    box = [f"0 <= x{axis} < {body.extent(buffer, axis)}" for axis in range(rank)]
    return body.contains(touched, _Piece([], box), rank)


def _stands_before(first: Operation, second: Operation, common: Operation) -> bool:
    """Whether what is, or holds, `first` directly in `common` comes before what is, or holds, `second`."""
    one, other = _child_of(common, first), _child_of(common, second)
    return one is not other and one.parent is other.parent and one.is_before_in_block(other)


def _piece(
    body: _Body,
    access: Access,
    where: AffineList | None,
    instance: str,
    branches: Sequence[tuple[IfOp, bool]] = (),
) -> tuple[_Piece, bool]:
    """The elements touched over the loops around `access`; whether that is exact, else it may be fewer.

    As far as it is known that the `branches` around it are taken.
    """
    assert access.indices is not None
    domain = AffineList((), ()) if where is None else where
    values = [loop.iv for loop in enclosing_loops(access.op)]
    values += [v for branch, taken in branches for v in _compared(branch.condition, not taken)]
    local, known = body.name_all((*values, *access.indices.operands, *domain.operands), instance)
    constraints = [f"x{k} = {e}" for k, e in enumerate(body.expressions(access.indices, instance))]
    constraints += [f"{e} >= 0" for e in body.expressions(domain, instance)]
    for branch, taken in branches:
        otherwise = formula(branch.condition, not taken, lambda v: body.name(v, instance))
        constraints.append(f"not ({otherwise})")
    return _Piece(list(local), known + constraints), all(map(_is_exact_variable, local.values()))


def _is_exact_variable(key: Hashable) -> bool:
    """Whether all that there is to know about an instance's value is said: the variable of a loop, or a helper."""
    if isinstance(key, str):
        return True
    value = key[0]  # pyright: ignore[reportIndexIssue]
    loop = value.owner.parent_op() if isinstance(value.owner, Block) else None
    return isinstance(loop, ForOp) and (loop.step_value == 1 or len(loop.lower) == 1)


def _branches(op: Operation, within: Operation) -> list[tuple[IfOp, bool]] | None:
    """The branches that decide whether `op` runs when `within` does, and which way they go, innermost first.

    None where something else than loops, branches and affine domains decides it.
    """
    if getattr(op, "mask", None) is not None:
        return None
    found: list[tuple[IfOp, bool]] = []
    inner, outer = op, op.parent_op()
    while outer is not within:
        if isinstance(outer, IfOp):
            found.append((outer, inner.parent_region() is outer.then_region))
        elif not isinstance(outer, ForOp):
            return None
        inner, outer = outer, outer.parent_op()
    return found


def _compared(condition: SSAValue, holds: bool) -> list[SSAValue]:
    """The values that the formula for a condition speaks of."""
    found: list[SSAValue] = []

    def name(value: SSAValue) -> str:
        found.append(value)
        return "0"

    formula(condition, holds, name)
    return found


def _blocks_around(op: Operation) -> Iterator[Block]:
    block = op.parent
    while block is not None:
        yield block
        outer = block.parent_op()
        block = None if outer is None else outer.parent


def _common_parent(first: Operation, second: Operation) -> Operation | None:
    """The innermost operation around both."""
    common = second.parent_op()
    while common is not None and not is_inside(first, common):
        common = common.parent_op()
    return common


def _child_of(ancestor: Operation, op: Operation) -> Operation:
    """The operation directly in a block of `ancestor` that is, or holds, `op`."""
    while (parent := op.parent_op()) is not ancestor:
        assert parent is not None
        op = parent
    return op
