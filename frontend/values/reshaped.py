"""Views that show an array in another shape, and are written through: `x.reshape(...)`, `x.ravel()`, `x.flat`.

    d = x.reshape(n * m)         d is a buffer with `through` x: what it holds is nt.reshape of what x holds by now
    d[k] = 1                     %d1 = nt.loops outs(%d) ...; x holds nt.reshape of %d1 from then on

NumPy decides by the strides whether a reshape is a view (`is_view`); where they are not known, it is neither read after
the array was written nor written.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .graph import Graph
from .islands import open_island
from .tensors import reshape
from .values import Array, Buffer, Extents, Tensor, memory_of, whole


def through_view(source: Array, tensor: Tensor) -> Array:
    """An array of the elements of `source`, in row-major order, in another shape: that of `tensor`, what it holds now."""
    name = source.buffer.name
    buffer = Buffer(tensor.ssa, tensor.dtype, tensor.extents, name, read_only=source.buffer.read_only)
    buffer.through, buffer.origin = source, (source.buffer, source.buffer.age)
    buffer.derived = (source, "reshape")
    memory_of(buffer).is_shown = True
    return whole(buffer)


def write_through(graph: Graph, buffer: Buffer, value: SSAValue) -> None:
    """The array that a view shows gets what was written to the view."""
    source = buffer.through
    assert source is not None
    shown = reshape(graph, Tensor(value, buffer.dtype, buffer.extents), source.extents)
    if source.whole:
        return graph.update(source.buffer, shown.ssa)
    with open_island(graph) as island:
        island.assign(source, whole(Buffer(shown.ssa, buffer.dtype, source.extents)))


def can_be_through(array: Array) -> bool:
    """Whether writes through a view of an array can be followed: it is one array on every path, in memory of its own."""
    buffer = array.buffer
    is_chosen = buffer.joined or buffer.aliases or buffer.borrowed is not None
    return buffer.shared is None and buffer.frozen is None and not is_chosen and buffer.local is None


def is_view(array: Array, shape: Extents) -> bool | None:
    """Whether NumPy's reshape of an array, in row-major order, is a view; None where the strides are not known."""
    if array.is_row_major or any(e.known == 0 for e in array.extents):
        return True
    long = [axis for axis in array.axes if axis.extent.known != 1]
    if len(long) <= 1:
        return True
    extents, steps = [e.known for e in array.extents], steps_of(array)
    new = [e.known for e in shape]
    if steps is None or None in extents or None in new:
        return None
    return _is_without_copy(extents, steps, new)  # pyright: ignore


def steps_of(array: Array) -> list[int] | None:
    """The strides of an array, in elements; None where they are not known."""
    buffer = array.buffer
    sizes = [e.known for e in buffer.extents]
    if not buffer.dense or None in sizes:
        return None
    own, step = [0] * len(sizes), 1
    for axis in reversed(buffer.order or range(len(sizes))):
        own[axis] = step
        step *= max(sizes[axis] or 0, 1)
    return [0 if axis.root is None else axis.stride * own[axis.root] for axis in array.axes]


def _is_without_copy(old: Sequence[int], steps: Sequence[int], new: Sequence[int]) -> bool:
    """NumPy's rule (`_attempt_nocopy_reshape`): axes that are joined must lie one in the other."""
    kept = [(n, s) for n, s in zip(old, steps, strict=True) if n != 1]
    i = k = 0
    while i < len(kept) and k < len(new):
        j, m, have, want = i + 1, k + 1, kept[i][0], new[k]
        while have != want:
            if have < want:
                have *= kept[j][0]
                j += 1
            else:
                want *= new[m]
                m += 1
        if any(kept[a][1] != kept[a + 1][0] * kept[a + 1][1] for a in range(i, j - 1)):
            return False
        i, k = j, m
    return True
