"""Extents as arguments, and reshape, ravel, flatten: one that is negative is worked out, also of unknown extents that
cancel, and where only the run knows which one is negative."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ...indexing.views import transposed
from ...interface.errors import DTypeError, Respecialise, ShapeError, UnsupportedError
from ...values.arithmetic import affine_of, copy, reads_extents, scalar_arguments
from ...values.assemble import fresh, opaque
from ...values.contents import as_tensor, as_view, read
from ...values.equal_extents import require, require_same_size, require_size, run_extent
from ...values.extents import Affine, Atom, is_never_negative
from ...values.graph import Graph
from ...values.indices import integer_of
from ...values.islands import Island
from ...values.reshaped import can_be_through, is_view, through_view
from ...values.tensors import as_array
from ...values.tensors import reshape as reshape_tensor
from ...values.values import (
    Array,
    Buffer,
    Extents,
    Group,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    shape_text,
    whole,
)
from ..registry import handles, static


def shape_argument(graph: Graph, values: Sequence[Value], has_hole: bool = False) -> Extents:
    """Extents given as one tuple, one integer, or several integers. `has_hole`: one that only the run knows may be negative
    (`inferred` looks at it), else the run checks that it is none.
    """
    items = values[0].items if len(values) == 1 and isinstance(values[0], Group) else values
    if len(values) == 1 and isinstance(values[0], Static) and isinstance(values[0].value, tuple | list):
        items = [Static(v) for v in values[0].value]
    found = [_extent(graph, item) for item in items]
    return tuple(found if has_hole else [run_extent(graph, e) if _of_the_run(e) else e for e in found])


def _of_the_run(extent: Affine) -> bool:
    return extent.known is None and extent.over_dims() is None


def _extent(graph: Graph, item: Value) -> Affine:
    """An extent: of extents of arguments and constants where it can be, else one that only the run knows."""
    affine = affine_of(item)
    if affine is None and isinstance(item, Tensor) and not item.extents:
        if reads_extents(item.ssa):
            raise Respecialise(shapes=True, why="a shape that is computed from extents")
        if scalar_arguments([item]):
            static(graph, item, "a shape")
    affine = integer_of(graph, item)
    if affine is None:
        raise graph.error(DTypeError, f"a shape is made of integers, not {describe(item)}")
    if not _of_the_run(affine):
        return affine
    if affine.is_of_extents():
        raise Respecialise(shapes=True, why="a shape that is a quotient of extents")
    if affine.arguments() and graph.island is None:
        raise Respecialise(affine.arguments(), why="a shape depends on an integer argument")
    return affine


def array_shape(graph: Graph, values: Sequence[Value]) -> Extents:
    """Extents of a new array, none of which is negative."""
    extents = shape_argument(graph, values)
    if any(e.known is not None and e.known < 0 for e in extents):
        raise graph.error(ShapeError, "negative dimensions are not allowed")
    return extents


def _order(graph: Graph, order: Value | None) -> bool:
    """Whether elements are taken in Fortran's order."""
    request = static(graph, order, "order")
    if request not in (None, "C", "F"):
        raise graph.error(
            UnsupportedError, f"order={request!r} is not supported", "say order='C' or order='F'"
        )
    return request == "F"


def _reordered(graph: Graph, a: Value, shape: Extents, order: Value | None, how: str = "reshape") -> Value:
    extents = extents_of(a)
    if not _order(graph, order):
        return _reshaped(graph, a, inferred(graph, extents, shape), how)
    reverse = transposed(as_view(graph, a), range(len(extents))[::-1])
    result = _reshaped(graph, reverse, inferred(graph, extents, shape)[::-1], how)
    return transposed(as_view(graph, result), range(len(shape))[::-1])


@handles(np.reshape)
def reshape(graph: Graph, a: Value, shape: Value, order: Value | None = None) -> Value:
    return _reordered(graph, a, shape_argument(graph, [shape], has_hole=True), order)


def _reshape_method(graph: Graph, a: Value, *shape: Value, order: Value | None = None) -> Value:
    return _reordered(graph, a, shape_argument(graph, shape, has_hole=True), order)


handles(method="reshape")(_reshape_method)


@handles(np.ravel, method="ravel")
def ravel(graph: Graph, a: Value, order: Value | None = None) -> Value:
    if isinstance(a, Array) and _has_gaps(a):
        a = copy(graph, a, a.dtype)  # unlike reshape(-1), which is a view of any array of rank 1
    return _reordered(graph, a, (Affine(-1),), order, "ravel")


def _has_gaps(array: Array) -> bool:
    """Whether it is certain that an array with one long axis does not have its elements one after the other."""
    long = [axis for axis in array.axes if axis.extent.known != 1]
    if len(long) != 1 or (long[0].extent.lower_bound() or 0) < 2 or long[0].root is None:
        return False
    buffer, axis = array.buffer, long[0]
    if not buffer.dense:
        return array.whole and len(array.axes) == 1
    inner = buffer.order[-1] if buffer.order is not None else len(buffer.extents) - 1
    return axis.stride != 1 or (axis.root != inner and (buffer.extents[inner].lower_bound() or 0) > 1)


def _flatten(graph: Graph, a: Value, order: Value | None = None) -> Value:
    if graph.island is not None:
        if _order(graph, order):
            a = transposed(as_view(graph, a), range(len(extents_of(a)))[::-1])
        return reshape_to(graph, a, (Affine(-1),), new=True)
    flat = ravel(graph, a, order)
    assert isinstance(flat, Array)
    return copy(graph, flat, flat.dtype)


handles(method="flatten")(_flatten)


def inferred(graph: Graph, old: Extents, new: Extents) -> Extents:
    """`new` with its extent that is negative, if there is one, worked out. NumPy takes any negative number, not -1 alone."""
    holes = [k for k, e in enumerate(new) if e.known is not None and e.known < 0]
    if len(holes) > 1:
        raise graph.error(ShapeError, _TWO_HOLES)
    if any(e.known is None and not graph.assumptions.normal(e).is_of_extents() for e in (*old, *new)):
        return _inferred_in_the_run(graph, old, new, holes)
    if any(e.known is None for e in (*old, *new)):
        return _inferred_unknown(graph, old, new, holes)
    total = prod(e.constant for e in old)
    if not holes:
        if prod(e.constant for e in new) != total:
            raise _cannot(graph, old, new)
        return new
    rest = prod(e.constant for k, e in enumerate(new) if k != holes[0])
    if rest == 0 or total % rest:
        raise _cannot(graph, old, new)
    return tuple([Affine(total // rest) if k == holes[0] else e for k, e in enumerate(new)])


_TWO_HOLES = "can only specify one unknown dimension"


def _inferred_in_the_run(graph: Graph, old: Extents, new: Extents, holes: list[int]) -> Extents:
    """The same where only the run knows the extents: it divides, and compares the sizes."""
    emitter, text = graph.emitter(), "cannot reshape an array of this size into this shape"
    may_be_holes = [k for k, e in enumerate(new) if k not in holes and not _is_extent(graph, old, e)]
    if may_be_holes and not holes:
        return _with_a_hole_of_the_run(graph, old, new, may_be_holes, text)
    for k in may_be_holes:
        require(graph, emitter.cmp("sge", graph.index(new[k]), graph.constant_index(0)), _TWO_HOLES)
    new = tuple([graph.larger(e, Affine(0)) if k in may_be_holes else e for k, e in enumerate(new)])

    left, right = list(old), [e for k, e in enumerate(new) if k not in holes]
    for extent in list(right):
        if (match := next((e for e in left if e.equals(extent)), None)) is not None and extent.known != 0:
            left.remove(match)
            right.remove(extent)
    if not left and not right and not holes:
        return new
    if not holes:
        require_same_size(graph, old, new, text)
        return new
    rest = [e for k, e in enumerate(new) if k not in holes]
    hole = _worked_out(graph, old, rest, graph.constant_index(1), text)
    filled = tuple([Affine.of(Atom(hole, low=0)) if k == holes[0] else e for k, e in enumerate(new)])
    require_same_size(graph, old, filled, text)
    return filled


def _is_extent(graph: Graph, old: Extents, extent: Affine) -> bool:
    """Whether an extent is certain to be none that is to be worked out."""
    return extent.known is not None or is_never_negative(extent) or any(e.equals(extent) for e in old)


def _with_a_hole_of_the_run(
    graph: Graph, old: Extents, new: Extents, may_be_holes: list[int], text: str
) -> Extents:
    """The extents where the run decides which one of some, if any, is negative, and so is worked out."""
    emitter = graph.emitter()
    zero, one = graph.constant_index(0), graph.constant_index(1)
    negative = {k: emitter.cmp("slt", graph.index(new[k]), zero) for k in may_be_holes}
    count = zero
    for is_hole in negative.values():
        count = emitter.op(arith.AddiOp, (count, emitter.select(is_hole, one, zero)))
    require(graph, emitter.cmp("sle", count, one), _TWO_HOLES)
    rest = list(new)
    for k, is_hole in negative.items():
        rest[k] = Affine.of(Atom(emitter.select(is_hole, one, graph.index(new[k])), low=0))
    hole = _worked_out(graph, old, rest, count, text)
    filled = list(new)
    for k, is_hole in negative.items():
        filled[k] = Affine.of(Atom(emitter.select(is_hole, hole, graph.index(rest[k])), low=0))
    require_same_size(graph, old, filled, text)
    return tuple(filled)


def _worked_out(graph: Graph, old: Extents, rest: Sequence[Affine], holes: SSAValue, text: str) -> SSAValue:
    """The extent that is missing beside the `rest`; it means nothing where the number of `holes` is 0."""
    emitter = graph.emitter()

    def size(extents: Sequence[Affine]) -> SSAValue:
        product = graph.constant_index(1)
        for extent in extents:
            product = emitter.op(arith.MuliOp, (product, graph.index(extent)))
        return product

    if len(rest) > 1:
        require_size(graph, rest, 1)
    divisor = size(rest)
    has_elements = emitter.cmp("sgt", divisor, graph.constant_index(0))
    no_hole = emitter.cmp("eq", holes, graph.constant_index(0))
    require(graph, emitter.op(arith.OrIOp, (has_elements, no_hole)), text)
    divisor = emitter.op(arith.MaxSIOp, (divisor, graph.constant_index(1)))
    return emitter.op(arith.DivSIOp, (size(old), divisor))


def _inferred_unknown(graph: Graph, old: Extents, new: Extents, holes: list[int]) -> Extents:
    """Unknown extents that both sides have cancel; what remains must be constant."""
    left, right = list(old), [e for k, e in enumerate(new) if k not in holes]
    for extent in list(right):
        match = next((e for e in left if extent.known is None and e.equals(extent)), None)
        if match is not None:
            left.remove(match)
            right.remove(extent)
    unknown = [e for e in left if e.known is None]
    if any(e.known is None for e in right) or len(unknown) > len(holes):
        raise Respecialise(shapes=True, why="a reshape of unknown extents")
    numerator, denominator = prod(e.constant for e in left if e.terms == ()), prod(e.constant for e in right)
    if not holes:
        if numerator != denominator:
            raise _cannot(graph, old, new)
        return new
    whole = unknown[0] * numerator if unknown else Affine(numerator)
    if denominator == 0 or graph.assumptions.divided(AffineBinaryOpKind.Mod, whole, denominator).known != 0:
        raise Respecialise(shapes=True, why="a reshape of unknown extents")
    hole = graph.assumptions.divided(AffineBinaryOpKind.FloorDiv, whole, denominator)
    return tuple([hole if k == holes[0] else e for k, e in enumerate(new)])


def _cannot(graph: Graph, old: Extents, new: Extents) -> Exception:
    total = prod(e.witness() or 0 for e in old)
    return graph.error(
        ShapeError,
        f"cannot reshape array of size {total} into shape {shape_text(new)}".replace(", ", ","),
        f"the array has the shape {shape_text(old)}; -1 stands for what is left: x.reshape(-1, 2)",
    )


def _reshaped(graph: Graph, a: Value, extents: Extents, how: str = "reshape") -> Value:
    """A view where NumPy gives one, a copy where it makes one. Where the strides do not say which, it is the value at this
    moment, through which nothing is written.

    `how`: "ravel" is a view of what lies element after element only, "reshape" wherever strides allow one.
    """
    if graph.island is not None:
        raise graph.error(
            UnsupportedError, "reshape inside loops is not supported", "reshape before the loop"
        )
    array = as_view(graph, a)
    is_affine = _is_affine(graph, array.extents, extents)
    tensor = reshape_tensor(graph, read(graph, array), extents) if is_affine else None
    if tensor is None:
        tensor = read(graph, _moved(graph, array, extents))
    shares = is_view(array, extents) if how == "reshape" or array.is_row_major else None
    if isinstance(a, Tensor) or shares is False:
        return as_array(tensor)
    if shares and is_affine and can_be_through(array):
        return through_view(array, tensor)
    return frozen_view(graph, array, tensor, "a reshaped view", ("reshape" if array.is_row_major else how,))


def _is_affine(graph: Graph, old: Extents, new: Extents) -> bool:
    """Whether indices into one shape are affine in those into the other: all but the first extents are constants."""
    unknown = [e for e in (*old, *new) if e.known is None]
    if all(graph.assumptions.normal(e).is_of_extents() for e in unknown):
        return True  # what is not is compiled for its own shape
    return all(e.known is not None for e in (*old[1:], *new[1:]))


def _moved(graph: Graph, array: Array, extents: Extents) -> Array:
    """A copy in another shape, as big, whose extents only the run knows: it computes where each element comes from."""

    def write(island: Island, target: Array) -> None:
        emitter = graph.emitter()

        def one(index: list[Affine]) -> None:
            position = graph.constant_index(0)
            for extent, i in zip(extents, index, strict=True):
                scaled = emitter.op(arith.MuliOp, (position, graph.index(extent)))
                position = emitter.op(arith.AddiOp, (scaled, graph.index(i)))
            places: list[Affine] = []
            for extent in reversed(array.extents[1:]):
                n = graph.index(extent)
                places.insert(0, Affine.of(Atom(emitter.op(arith.RemSIOp, (position, n)), low=0)))
                position = emitter.op(arith.DivSIOp, (position, n))
            places[:0] = [Affine.of(Atom(position, low=0))] if array.axes else []
            island.store(target, index, island.load(array, places))

        island.for_each(extents, one)

    return fresh(graph, array.dtype, extents, write)


def reshape_to(graph: Graph, a: Value, shape: Extents, new: bool = False) -> Value:
    """`a` reshaped; `new`: as an array of its own, which shares nothing."""
    extents = inferred(graph, extents_of(a), shape)
    if not new:
        return _reshaped(graph, a, extents)
    if graph.island is None and not _is_affine(graph, extents_of(a), extents):
        return _moved(graph, as_view(graph, a), extents)
    if graph.island is None:
        return as_array(reshape_tensor(graph, as_tensor(graph, a), extents))
    array = as_view(graph, a)
    island = graph.island

    def at(index: Sequence[Affine]) -> SSAValue:
        return island.load(array, unravelled(graph, index, extents, array.extents))

    return island.lazy(array.dtype, extents, at, (opaque(array),))


def unravelled(graph: Graph, index: Sequence[Affine], new: Extents, old: Extents) -> list[Affine]:
    """The index of an element in an array of shape `old` that has `index` when it is reshaped to `new`."""
    if any(e.known is None for e in (*new[1:], *old[1:])):
        raise graph.error(UnsupportedError, "a reshape of unknown extents inside loops is not supported")
    position, stride = Affine(0), 1
    for k in reversed(range(len(new))):
        position = position + index[k] * stride
        stride *= max(new[k].constant, 1)
    result: list[Affine] = []
    stride = 1
    for k in reversed(range(len(old))):
        at = graph.assumptions.divided(AffineBinaryOpKind.FloorDiv, position, stride)
        extent = max(old[k].constant, 1)
        result.insert(0, graph.assumptions.divided(AffineBinaryOpKind.Mod, at, extent) if k else at)
        stride *= extent
    return result


def frozen_view(graph: Graph, source: Array, tensor: Tensor, what: str, derived: tuple) -> Array:
    """What NumPy would return a view for: the value at this moment, through which nothing is written."""
    name = source.buffer.name
    frozen = f"{what} of '{name}'" if name else what
    origin = source.buffer.origin or (source.buffer, source.buffer.age)
    return whole(
        Buffer(
            tensor.ssa,
            tensor.dtype,
            tensor.extents,
            name,
            tensor.order,
            frozen=frozen,
            origin=origin,
            derived=(source, *derived),
        )
    )
