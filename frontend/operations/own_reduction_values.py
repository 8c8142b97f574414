"""`nt.reduce` in compiled code: the function becomes the region of one reduction.

nt.reduce(lambda a, b: a + b * b, x, identity=0.0, axis=1)
->  %y = nt.reduce custom %x over [1] identity [0.0 : f64] {
    ^bb0(%a: f64, %b: f64): %0 = arith.mulf %b, %b; %1 = arith.addf %a, %0; nt.yield %1
    } : tensor<3x4xf64> -> tensor<3xf64>

It is called with tensors of rank 0, of which scalars are made. Both sides of an `if` are computed, and one is selected: a
region has no branches, so that lanes take it as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import Pure

from ...dialects.diagnostic import LoweringError
from ...dialects.nt import CompositeOp, ConstantOp, FromScalarOp, ToScalarOp, YieldOp
from ...dialects.nt.expand import Emitter
from ...dialects.nt.ops import shape_of
from ...lowering.nt_to_nest.elements import Elements, LoopNames
from ...transforms.tensor.nt_decompose import decompose
from ...transforms.tensor.nt_if_to_select import to_select
from ..frame.frame import Frame
from ..frame.objects import refuse_changes
from ..frame.recursion import call
from ..interface.errors import DTypeError, UnsupportedError
from ..numpy_api.registry import static
from ..numpy_api.statistics.reductions import axes_of, keep_axes
from ..values.arithmetic import broadcast_extents, convert
from ..values.assemble import as_piece, dtype_of_value
from ..values.extents import Affine
from ..values.graph import element_type
from ..values.numbers import number_kind
from ..values.tensors import as_array, broadcast, reduce_together
from ..values.values import (
    NOTHING,
    Extents,
    Group,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    is_number,
)
from .own_reductions import check_order, fitting, identities, wrong_dtype, wrong_structure

_ANY = Static("any")


def reduce_(
    frame: Frame,
    node: ast.Call,
    function: Value,
    x: Value,
    *,
    identity: Value,
    axis: Value = NOTHING,
    keepdims: Value | None = None,
    order: Value = _ANY,
) -> Value:
    """`nt.reduce`."""
    graph = frame.graph
    items = x.items if isinstance(x, Group) else (x,)
    if not items:
        frame.fail(node, "nt.reduce: an empty tuple has no arrays to reduce", None, DTypeError)
    if isinstance(x, Group) and x.kind is not tuple:
        frame.fail(node, f"nt.reduce of {describe(x)}", "give it an array, or a tuple of arrays", DTypeError)
    for one in items:
        if not is_number(one):
            hint = "give it an array, or a tuple of arrays"
            frame.fail(node, f"nt.reduce of {describe(one)}", hint, DTypeError)
    wanted = static(graph, order, "order")
    check_order(wanted)
    pieces = [as_piece(graph, one) for one in items]
    dtypes = [dtype_of_value(graph, piece) for piece in pieces]
    combiner = _Combiner(frame, node, function, dtypes, isinstance(x, Group))
    starts = identities(_numbers(frame, node, identity), isinstance(x, Group), dtypes)
    extents = broadcast_extents(graph, [extents_of(piece) for piece in pieces])
    if graph.island is not None:
        longest = next(piece for piece in pieces if len(extents_of(piece)) == len(extents))
        over_all = len(axes_of(graph, longest, axis)) == len(extents)
        if not over_all or static(graph, keepdims, "keepdims"):
            text, hint = "inside loops only reductions over all axes are supported", "reduce a slice: a[i, :]"
            frame.fail(node, text, hint)
        return combiner.among_elements(pieces, starts, extents, wanted)
    tensors = [convert(graph, piece, dtype) for piece, dtype in zip(pieces, dtypes, strict=True)]
    tensors = [replace(broadcast(graph, one, extents), order=None) for one in tensors]
    first = tensors[0]
    axes = axes_of(graph, as_array(first) if extents else first, axis)
    spread, over = tensors, axes
    if not axes:  # each element is combined with the identity
        longer, along = (*extents, Affine(1)), range(len(extents))
        spread, over = (
            [replace(broadcast(graph, t, longer, along), order=None) for t in tensors],
            (len(extents),),
        )
    names = [f"reduced{k}" for k in range(len(spread))]
    numbers = [start.item() for start in starts]
    results = reduce_together(graph, combiner.emit, numbers, spread, over, wanted, names)
    if static(graph, keepdims, "keepdims"):
        results = [keep_axes(graph, one, first, axes) for one in results]
    ended = tuple(as_array(replace(one, order=None)) if one.extents else one for one in results)
    return Group(ended) if isinstance(x, Group) else ended[0]


def _numbers(frame: Frame, node: ast.Call, identity: Value) -> object:
    """What `identity=` says."""
    if isinstance(identity, Static):
        return identity.value
    if isinstance(identity, Group) and all(isinstance(one, Static) for one in identity.items):
        return tuple(one.value for one in identity.items)  # pyright: ignore
    frame.fail(
        node,
        "nt.reduce: identity= is computed by the program",
        "give numbers that are known when the function is compiled, and combine the result with yours: f(start, result)",
    )


class _Combiner:
    """A function of the program, as what combines numbers."""

    def __init__(
        self, frame: Frame, node: ast.Call, function: Value, dtypes: Sequence[np.dtype], is_tuple: bool
    ):
        self.frame, self.node, self.function = frame, node, function
        self.dtypes = dtypes
        self.is_tuple = is_tuple

    def emit(self, e: Emitter, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> list[SSAValue]:
        """The operations of one call, in the block that has `old` and `new` as its arguments."""
        graph, block = self.frame.graph, old[0].owner
        assert isinstance(block, Block)
        try:
            with graph.at_function_level(), graph.tensors_inside(block):
                values = self._called(old, new)
                pairs = zip(values, self.dtypes, strict=True)
                results = [convert(graph, value, dtype).ssa for value, dtype in pairs]
            return self._as_scalars(block, results)
        except BaseException:
            block.drop_all_references()
            raise

    def _called(self, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> tuple[Value, ...]:
        """What the function returns of two sides, as tensors of rank 0."""
        graph = self.frame.graph
        sides: list[Value] = []
        for side in (old, new):
            numbers: list[Value] = []
            for scalar, dtype in zip(side, self.dtypes, strict=True):
                made = graph.insert(FromScalarOp(scalar, TensorType(element_type(dtype), [])))
                assert made is not None
                numbers.append(Tensor(made, dtype, (), True))
            sides.append(Group(tuple(numbers)) if self.is_tuple else numbers[0])
        before = dict(self.frame.variables)
        value = call(self.frame, self.node, self.function, sides, {})
        refuse_changes(self.frame, self.node, before, "by the function of nt.reduce")
        values = value.items if self.is_tuple and isinstance(value, Group) else (value,)
        if len(values) != len(self.dtypes) or not all(is_number(v) and not extents_of(v) for v in values):
            self.frame.fail(self.node, wrong_structure(len(self.dtypes)), None, DTypeError)
        for one, dtype in zip(values, self.dtypes, strict=True):
            kind = number_kind(graph, one)
            if not fitting(dtype, kind):
                self.frame.fail(self.node, *wrong_dtype(kind, dtype), DTypeError)
        return values

    def _as_scalars(self, block: Block, results: Sequence[SSAValue]) -> list[SSAValue]:
        """Operations on tensors of rank 0 become those on scalars, in the same block."""
        end = YieldOp(*results)
        block.add_op(end)
        for composite in [op for op in block.walk() if isinstance(op, CompositeOp)]:
            decompose(composite)
        for branch in reversed([op for op in block.walk() if isinstance(op, scf.IfOp)]):
            sides = [region.block for region in branch.regions if region.blocks]
            if all(_computes(op) for side in sides for op in side.ops):
                to_select(branch)
        self._require_computing(block)
        anchor: Operation = end

        def insert(op: Operation) -> None:
            block.insert_op_before(op, anchor)

        elements = Elements(insert, {}, lambda value: (), LoopNames())
        try:
            for op in [op for op in block.ops if isinstance(op, ToScalarOp)]:
                anchor = op
                op.results[0].replace_all_uses_with(elements.get(op.tensor, ()))
            anchor = end
            scalars = [elements.get(value, ()) for value in end.values]
        except LoweringError:
            self._refuse(
                "does more than compute", "compute with numbers; a branch may choose what is returned"
            )
        for op in reversed(list(block.ops)):
            if op is end or op.name.startswith("nt."):
                block.erase_op(op)
        return scalars

    def _require_computing(self, block: Block) -> None:
        """Refuse a function that does more than compute numbers of its arguments."""
        for op in block.ops:
            if not _computes(op):
                self._refuse(_deed(op), "compute with numbers; a branch may choose what is returned")
            for value in op.operands:
                owner = value.owner
                if (owner if isinstance(owner, Block) else owner.parent) is not block and not isinstance(
                    owner, ConstantOp
                ):
                    self._refuse("uses a value that the program computes", _ONE_MORE)

    def among_elements(
        self,
        pieces: Sequence[Value],
        starts: Sequence[np.generic],
        extents: Extents,
        order: str,
    ) -> Value:
        """The reduction in a loop over elements."""
        island = self.frame.graph.island
        assert island is not None
        values = list(zip(pieces, self.dtypes, strict=True))
        numbers = [start.item() for start in starts]
        results = island.reduce_together(self.emit, numbers, values, extents, order)
        return Group(tuple(results)) if self.is_tuple else results[0]

    def _refuse(self, what: str, hint: str) -> NoReturn:
        self.frame.fail(self.node, f"the function of nt.reduce {what}", hint, UnsupportedError)


_ONE_MORE = "give it as one more array, which the function returns as it got it: nt.reduce(f, (x, y), ...)"
_DEEDS = {
    "scf.for": "has a loop",
    "scf.while": "has a loop",
    "scf.if": "has a branch that more than chooses",
    "nt.loops": "has a loop, or reads or writes elements of arrays",
    "cf.assert": "checks something, or raises",
    "func.call": "calls a function that is not compiled into it",
    "nt.custom_call": "calls a function that is not compiled into it",
}


def _deed(op: Operation) -> str:
    of_arrays = any(isinstance(v.type, TensorType) and shape_of(v) for v in (*op.operands, *op.results))
    return _DEEDS.get(op.name, "uses an array of the program" if of_arrays else "does more than compute")


def _computes(op: Operation) -> bool:
    """Whether an operation is one on numbers, that may be run where Python does not run it."""
    if op.regions or not op.has_trait(Pure):
        return False
    return all(not isinstance(v.type, TensorType) or not shape_of(v) for v in (*op.operands, *op.results))
