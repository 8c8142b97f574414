"""The groups that nt-fuse forms: which computations share one iteration space. See nt_fuse.py for what a fusion is.

A group starts as one operation with its own space. `merge` joins two groups by matching their dimensions: first as
operands and results force it, then by values that both read, then by equal extents; it refuses where the result
would not be a fusion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from ...analysis.tensor.extents import Extent
from ...dialects.nt import ReduceOp
from ...dialects.nt.work import Effort, effort_of


def is_expensive(op: Operation) -> bool:
    """Whether computing `op` again costs more than storing and loading its result."""
    return effort_of(op) > Effort.CHEAP or isinstance(op, ReduceOp)


class Edge:
    """`consumer` reads `producer`; `pairs` ties axes of the producer's result to axes of the consumer's space.

    `pairs` is None where equal points are not equal elements (a slice): the two cannot be fused.
    """

    __slots__ = ("consumer", "pairs", "producer")

    def __init__(self, producer: Node, consumer: Node, pairs: Sequence[tuple[int, int]] | None):
        self.producer = producer
        self.consumer = consumer
        self.pairs = pairs


class Node:
    """An operation. `space` and `axes`: the group's dimension of each axis it runs over, and of its result."""

    __slots__ = ("axes", "edges", "escapes", "group", "index", "op", "space", "users")

    def __init__(self, op: Operation, index: int):
        self.op = op
        self.index = index
        self.space: tuple[int | None, ...] = ()
        self.axes: tuple[int | None, ...] = ()
        self.edges: list[Edge] = []
        self.users: dict[Node, None] = {}
        self.escapes = False
        self.group: Any = None  # its Group, once it is placed

    @property
    def is_recomputable(self) -> bool:
        """Whether every point that needs its result may compute it again."""
        return not self.escapes and not is_expensive(self.op)

    def dims(self) -> set[int]:
        """The dimensions of its result."""
        return {d for d in self.axes if d is not None}


class Group:
    """Operations that run over one space: dimensions 0, 1, ... with `extents`.

    `order`: the order of loops; `reduced`: what its reductions reduce, None when it has none. `members` and
    `upstream` are bit sets of operations: those inside, and all they depend on, directly or not.
    """

    def __init__(self, node: Node, extents: Sequence[Extent], upstream: int, *, fusable: bool = True):
        self.nodes = [node]
        self.fusable = fusable
        self.members = 1 << node.index
        self.upstream = upstream
        self.loads: dict[tuple[SSAValue, int], int] = {}
        self.reduced: frozenset[int] | None = None
        self._set_space(node, extents)
        self.partial = [node] if len(node.dims()) < len(self.extents) else []

    def _set_space(self, node: Node, extents: Sequence[Extent]) -> None:
        node.group = self
        dims: list[int | None] = []
        self.extents: list[Extent] = []
        for extent in extents:
            dims.append(None if extent == 1 else len(self.extents))
            if extent != 1:
                self.extents.append(extent)
        node.space = node.axes = tuple(dims)
        self.order = tuple(range(len(self.extents)))
        if not isinstance(node.op, ReduceOp):
            return
        dropped = node.op.reduced
        node.axes = tuple([d for k, d in enumerate(dims) if k not in dropped])
        self.reduced = frozenset(d for k, d in enumerate(dims) if k in dropped and d is not None)
        self.order = tuple(sorted(self.order, key=lambda d: d in (self.reduced or ())))

    @property
    def rank(self) -> int:
        return len(self.extents)


class Graph:
    """The groups of one span of a block, in the order they were made."""

    def __init__(self, through_reductions: bool = True) -> None:
        self.groups: list[Group] = []
        self._through_reductions = through_reductions

    def merge(self, a: Group, b: Group, *, same_space: bool = False) -> bool:
        """Join `b` to `a` (or the reverse) if that makes a fusion; `same_space`: only if neither space grows."""
        if a is b or not (a.fusable and b.fusable):
            return False
        if not self._through_reductions and (_reads_reduction(a, b) or _reads_reduction(b, a)):
            return False
        if len(a.nodes) < len(b.nodes):
            a, b = b, a
        to_a = match_dimensions(a, b)
        if to_a is None or (same_space and not len(to_a) == a.rank == b.rank):
            return False
        grown = b.rank > len(to_a)
        if grown and a.rank > len(to_a):
            return False
        if not _reductions_agree(a, b, to_a) or self._would_cycle(a, b):
            return False
        fresh = [d for d in range(b.rank) if d not in to_a]
        to_a.update((d, a.rank + k) for k, d in enumerate(fresh))
        partial = list(_partial_nodes(a, b, grown))
        order = _merged_order(a, b, to_a, grown)
        if not _recomputable(partial, order, a, b, to_a):
            return False
        self._commit(a, b, to_a, partial, order)
        return True

    def _would_cycle(self, a: Group, b: Group) -> bool:
        for other in self.groups:
            if other is a or other is b:
                continue
            below_a, below_b = other.upstream & a.members, other.upstream & b.members
            if (below_a and b.upstream & other.members) or (below_b and a.upstream & other.members):
                return True
        return False

    def _commit(
        self, a: Group, b: Group, to_a: dict[int, int], partial: list[Node], order: tuple[int, ...]
    ) -> None:
        for node in b.nodes:
            node.group = a
            node.space = tuple([None if d is None else to_a[d] for d in node.space])
            node.axes = tuple([None if d is None else to_a[d] for d in node.axes])
        a.extents += [b.extents[d] for d in sorted(to_a, key=to_a.__getitem__) if to_a[d] >= a.rank]
        a.nodes += b.nodes
        a.partial, a.order = partial, order
        if b.reduced is not None:
            a.reduced = frozenset(to_a[d] for d in b.reduced)
        for key, d in b.loads.items():
            a.loads.setdefault(key, to_a[d])
        a.members |= b.members
        a.upstream = (a.upstream | b.upstream) & ~a.members
        self.groups.remove(b)
        for other in self.groups:
            if other is not a and other.upstream & a.members:
                other.upstream |= a.upstream | a.members


def match_dimensions(a: Group, b: Group) -> dict[int, int] | None:
    """Which dimension of `a` each dimension of `b` is; None when operands and results contradict each other."""
    to_a: dict[int, int] = {}
    taken: dict[int, int] = {}
    for edge in _edges_between(a, b):
        if edge.pairs is None:
            return None
        for axis, place in edge.pairs:
            ours, theirs = edge.producer.axes[axis], edge.consumer.space[place]
            if edge.producer.group is b:
                ours, theirs = theirs, ours
            if ours is None or theirs is None:
                continue
            if to_a.setdefault(theirs, ours) != ours or taken.setdefault(ours, theirs) != theirs:
                return None
    for d, candidate in _guesses(a, b):
        if d not in to_a and candidate not in taken:
            to_a[d] = candidate
            taken[candidate] = d
    return to_a


def _edges_between(a: Group, b: Group) -> Iterator[Edge]:
    """The edges from one group to the other, found from `b`, the smaller."""
    for node in b.nodes:
        for edge in node.edges:
            if edge.producer.group is a:
                yield edge
    for node in b.nodes:
        for user in node.users:
            if user.group is a:
                yield from (edge for edge in user.edges if edge.producer is node)


def _reads_reduction(a: Group, b: Group) -> bool:
    """Whether one of two groups reads a reduction of the other."""
    return any(isinstance(edge.producer.op, ReduceOp) for edge in _edges_between(a, b))


def _guesses(a: Group, b: Group) -> Iterator[tuple[int, int]]:
    for key, d in b.loads.items():
        if key in a.loads:
            yield d, a.loads[key]
    for d, extent in enumerate(b.extents):
        for candidate, other in enumerate(a.extents):
            if extent == other:
                yield d, candidate


def _reductions_agree(a: Group, b: Group, to_a: dict[int, int]) -> bool:
    """Every reduction of the joined group is over its full space, and all reduce the same dimensions."""
    if (a.reduced is not None and b.rank > len(to_a)) or (b.reduced is not None and a.rank > len(to_a)):
        return False
    if a.reduced is None or b.reduced is None:
        return True
    return frozenset(to_a[d] for d in b.reduced) == a.reduced


def _partial_nodes(a: Group, b: Group, grown: bool) -> Iterable[Node]:
    """The nodes whose results have fewer dimensions than the joined space."""
    if grown:
        return [*a.nodes, *b.partial]
    rank = a.rank
    return [*a.partial, *(b.nodes if b.rank < rank else b.partial)]


def _merged_order(a: Group, b: Group, to_a: dict[int, int], grown: bool) -> tuple[int, ...]:
    """The order of the group that has the space; where both have it, of that with reductions, or the earlier one."""
    from_b = tuple([to_a[d] for d in b.order])
    if grown:
        return from_b
    if b.rank < a.rank or a.reduced is not None:
        return a.order
    if b.reduced is not None or b.nodes[0].index < a.nodes[0].index:
        return from_b
    return a.order


def _recomputable(
    partial: Iterable[Node], order: tuple[int, ...], a: Group, b: Group, to_a: dict[int, int]
) -> bool:
    """Whether no result or expensive value would be computed again along a dimension it does not have."""
    for node in partial:
        dims = node.dims() if node.group is a else {to_a[d] for d in node.dims()}
        if dims == set(order[: len(dims)]):
            continue
        if not node.is_recomputable:
            return False
        if any(user.group is not a and user.group is not b for user in node.users):
            return False
    return True
