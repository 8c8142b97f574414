"""Reading an array that is an argument on some paths, once that argument was written: there, it shows the new elements.

for k in range(n):                     %r, %tag: what was returned, and which argument that is
    x *= 0.5
    if x.max() < tol: return x         read behind the loop: x as it is now where %tag says so, else %r
return x + 1.0
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...dialects.nt import ELEMENTWISE
from .aliases import alternatives
from .graph import Graph
from .tensors import constant, elementwise
from .values import Array, Buffer, Tensor

_NUMBER = np.dtype(np.int64)


def is_renewed(graph: Graph, array: Array) -> bool:
    """Whether it is an array that was written since only where it is an argument, of which a number says where."""
    buffer = array.buffer
    stale = {lender for lender, age in buffer.lenders if lender.age != age}
    if not stale or buffer.tag is None or buffer.origin is not None or graph.island is not None:
        return False
    known = [graph.aliases[k - 1] for k in buffer.aliases if k > 0]
    is_known = len(known) == len(buffer.aliases) and stale <= {alias.buffer for alias in known}
    return is_known and not any(_is_shared(alias.buffer) for alias in known)


def _is_shared(buffer: Buffer) -> bool:
    """Whether other arguments may overlap it."""
    return buffer.shared is not None or bool([b for b in buffer.overlapping if b is not buffer])


def renewed(graph: Graph, array: Array, before: Tensor, read: Callable[[Graph, Array], Tensor]) -> Tensor:
    """The present contents, where those of the array as it was are `before`; `read` gives those of an argument."""
    assert array.buffer.tag is not None
    tag, now = Tensor(array.buffer.tag, _NUMBER, ()), before
    for number, alias in alternatives(graph, array).items():
        given = Tensor(constant(graph, number, _NUMBER), _NUMBER, ())
        is_it = elementwise(graph, ELEMENTWISE["equal"], [tag, given], ())
        now = elementwise(graph, ELEMENTWISE["select"], [is_it, read(graph, alias), now], now.extents)
    return now
