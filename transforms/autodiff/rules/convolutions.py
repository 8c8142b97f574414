"""The cotangent of what a convolution reads is a convolution, of the result's cotangent with the weights turned round.

    %w = nt.window %x over [2, 3] : tensor<2x3x8x8xf32> -> tensor<2x3x6x6x3x3xf32>
    %y = nt.dot %w, %k contract [1, 4, 5] x [1, 2, 3]        // %k: 4x3x3x3
  has the cotangent of %x
    %p = ... %cy with 2 zeros around, along the axes that windows move over: 2x4x10x10 ...
    %f = ... %k[o, c, 2 - p, 2 - q]: 3x4x3x3 ...
    %v = nt.window %p over [2, 3]
    %cx = nt.dot %v, %f contract [1, 4, 5] x [1, 2, 3]       // and its axes in order

Without this rule the cotangent of all windows would be stored, each element as often as there are windows that it is in.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue

from ....dialects.affine import AffineList
from ....dialects.nt.ops import DotOp, EmptyOp, WindowOp, element_of, shape_of
from ..builder import Builder
from ..loops import Island, extents_of

MOST_ZEROS = 3
"""How many times as many places as results there may be: all places are gone through, most of them zeros otherwise."""


def windows_of(op: DotOp, side: int) -> WindowOp | None:
    """The windows that a product reads on one side, if it is a convolution of what they are of; None if it is not."""
    value = (op.lhs, op.rhs)[side]
    window = value.owner
    if not isinstance(window, WindowOp) or not value.has_one_use():
        return None
    source = shape_of(window.source)
    rank, contract, free = len(source), op.contract[side], op.free[side]
    own = range(rank, rank + len(window.dims))
    if not (set(own) <= set(contract) and set(window.dims) <= set(free)):
        return None
    extents = [(source[d], shape_of(value)[d]) for d in window.dims]
    if any(DYNAMIC_INDEX in pair for pair in extents):
        return None
    places, results = prod(e for e, _ in extents), prod(r for _, r in extents)
    return window if 0 < places <= MOST_ZEROS * results else None


def source_cotangent(op: DotOp, window: WindowOp, cotangent: SSAValue, side: int, b: Builder) -> SSAValue:
    """The cotangent of what the windows are of."""
    other = (op.rhs, op.lhs)[side]
    batch, contract, free = op.batch, op.contract, op.free
    rank, count = len(shape_of(window.source)), len(batch[0])
    start = count if side == 0 else count + len(free[0])
    # axes of the cotangent, by those of the source: batch and free ones; those of the other side come last
    places = {**{d: k for k, d in enumerate(batch[side])}, **{d: start + k for k, d in enumerate(free[side])}}
    order = [places[d] for d in sorted(places)]
    theirs = [k for k in range(len(shape_of(cotangent))) if k not in order]
    # both copies are as the operands of the convolution: elements along which it moves innermost, sums before them
    moving = [places[d] for d in window.dims]
    outer = [k for k in order if k not in moving]
    layout = [*outer, *theirs, *moving]
    sizes = {places[d]: shape_of(window.result)[rank + k] for k, d in enumerate(window.dims)}
    padded = _copied(cotangent, layout, {k: size - 1 for k, size in sizes.items()}, {}, b)
    axes = [layout.index(k) for k in moving]
    shape = list(shape_of(padded))
    for k, axis in zip(moving, axes, strict=True):
        shape[axis] -= sizes[k] - 1
    kind = TensorType(element_of(cotangent), [*shape, *(sizes[k] for k in moving)])
    views = b.value(WindowOp(padded, axes, kind, b.sizes_of(padded)))
    # the weights: batch, what they share with the source, what they have alone, windows turned round
    partner = dict(zip(contract[side], contract[1 - side], strict=True))
    turned = [partner[rank + k] for k in range(len(window.dims))]
    shared = [w for s, w in partner.items() if s < rank]
    alone = list(free[1 - side])
    weights = _copied(
        other,
        [*batch[1 - side], *shared, *alone, *turned],
        {},
        {w: shape_of(other)[w] - 1 for w in turned},
        b,
    )
    first = count + len(shared)
    summed = list(range(first, first + len(alone) + len(turned)))
    inner = [*(layout.index(k) for k in theirs), *range(len(shape), len(shape) + len(moving))]
    batches = [layout.index(k) for k in range(count)]
    product = b.value(DotOp(views, weights, (inner, summed), (batches, list(range(count)))))
    # axes of the product: batch, the other axes of the views, what the weights share with the source
    left = [k for k in range(len(shape)) if k not in inner and k not in batches]
    by_place = {place: d for d, place in places.items()}
    made = [by_place[layout[k]] for k in (*batches, *left)] + [s for s in partner if s < rank]
    return b.transpose(product, [made.index(k) for k in range(rank)])


def _copied(
    value: SSAValue, layout: list[int], margins: dict[int, int], last: dict[int, int], b: Builder
) -> SSAValue:
    """A copy with its axes in another order, with zeros around along some, and some in the opposite direction."""
    shape = [shape_of(value)[k] + 2 * margins.get(k, 0) for k in layout]
    kind = TensorType(element_of(value), shape)
    sizes = b.sizes_of(value, layout)
    start = b.uniform_of(0.0, kind, sizes) if margins else b.value(EmptyOp(kind, sizes))
    island = Island(b, [value], [start])
    extents = extents_of(b, value)
    indices = dict(zip(layout, island.loops([extents[k] for k in layout]), strict=True))
    source, target = AffineList.of(), AffineList.of()
    for k in range(len(layout)):
        index = AffineList.of(indices[k])
        source = source.concat(index.map_exprs(lambda e, k=k: e * -1 + last[k]) if k in last else index)
    for k in layout:
        margin = margins.get(k, 0)
        target = target.concat(AffineList.of(indices[k]).map_exprs(lambda e, margin=margin: e + margin))
    island.store(island.load(island.ins[0], source.canonical()), island.outs[0], target.canonical())
    return island.done()[0]
