"""Which object a list, dict or object of a class is, where control flow says so: the caller gets back the very one.

    zs = xs if n > 0 else [1.0, 2.0]       zs: %number : tensor<i64>, 0 for xs and -1 for the other; and its two items
    o.items = zs                           what the call does to o: o.items = xs where the number is 0, else a new list

What such an object is made of is carried beside its number. Until it is known which one it is, nothing may change it, nor
those that it may be (`Graph.fixed_objects`).
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ..numpy_api.elements.selection import where
from ..values.arithmetic import apply, convert
from ..values.graph import Graph, Joined
from ..values.values import Static, Tensor, Value

NUMBER = np.dtype(np.int64)


def joined_of(graph: Graph, ref: str) -> Joined:
    """The objects that the one with this ref may be."""
    found = graph.joined_objects.get(ref)
    if found is not None:
        return found
    is_given = ref in graph.given_objects
    return Joined((ref,) if is_given else (), None, frozenset() if is_given else frozenset({ref}))


def number_of(graph: Graph, given: tuple[str, ...], ref: str | None) -> SSAValue:
    """Which of the caller's objects `given` the one with this ref is, -1 where it is another."""
    joined = None if ref is None else graph.joined_objects.get(ref)
    if joined is None or joined.number is None:
        return convert(graph, Static(given.index(ref) if ref in given else -1), NUMBER).ssa
    old: Value = Tensor(joined.number, NUMBER, (), True, int)
    if joined.given == given[: len(joined.given)]:
        return joined.number
    number: Value = Static(-1)
    for k, one in enumerate(joined.given):
        number = where(graph, apply(graph, np.equal, old, Static(k)), Static(given.index(one)), number)
    return convert(graph, number, NUMBER).ssa
