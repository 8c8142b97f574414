"""What the canonicalisation rules of `nt` are made of.

A rule is a function of an operation and a `New`; it returns the value that replaces the operation's (single) result, or
None. Operations that it makes through `New` are inserted, with the operation's location, only if it returns a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.affine import AffineList
from ...dialects.nt.constants import from_numpy, to_numpy
from ...dialects.nt.elementwise_ops import ELEMENTWISE_OPS, ElementwiseOp, result_type
from ...dialects.nt.ops import BroadcastOp, ConstantOp, element_of, shape_of

FOLD_LIMIT = 1024
"""Constants of more elements are not made by folding (splats are: they are one element and a broadcast)."""

REPEATED_LIMIT = 16
"""Constants that are not larger are made of smaller ones by repeating them."""


class New:
    """The operations that a rule makes, in order."""

    def __init__(self, location: Any):
        self.ops: list[Operation] = []
        self._location = location

    def add(self, op: Operation) -> SSAValue:
        """Record `op`; gives its result."""
        op.location = self._location
        self.ops.append(op)
        return op.results[0]

    def op(
        self,
        op_type: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """Create an operation with one result."""
        return self.add(op_type.create(operands=operands, result_types=[result], properties=properties or {}))

    def elementwise(self, name: str, *operands: SSAValue) -> SSAValue:
        """Create the elementwise operation `name`."""
        op_type = ELEMENTWISE_OPS[name]
        common = operands[-1].type
        assert isinstance(common, TensorType)
        return self.op(op_type, operands, result_type(op_type.ROW, common))

    def constant(self, value: DenseIntOrFPElementsAttr) -> SSAValue:
        """Create an nt.constant."""
        return self.op(ConstantOp, (), value.type, {"value": value})

    def broadcast(
        self, source: SSAValue, along: Sequence[int], result: Attribute, sizes: AffineList
    ) -> SSAValue:
        """Create an nt.broadcast, or nothing where it would change nothing."""
        assert isinstance(result, TensorType)
        if source.type == result:
            return source
        return self.add(BroadcastOp(source, along, result, sizes))

    def uniform(self, scalar: np.ndarray, like: SSAValue, result: Attribute) -> SSAValue | None:
        """A rank-0 constant broadcast to type `result`, whose unknown extents are those of `like`; None if unknown."""
        sizes = sizes_of(like)
        if sizes is None:
            return None
        constant = self.constant(from_numpy(scalar, element_of(result)))
        return self.broadcast(constant, (), result, sizes)


Rule = Callable[[Any, New], SSAValue | None]


class Canonicalize(RewritePattern):
    """Tries the rules for the type of an operation, in order."""

    def __init__(self, rules: Mapping[type[Operation], Iterable[Rule]]):
        self._rules = {op_type: tuple(of_type) for op_type, of_type in rules.items()}

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        for rule in self._rules.get(type(op), ()):
            new = New(op.location)
            value = rule(op, new)
            if value is not None and value is not op.results[0]:
                rewriter.replace(op, new.ops, [value])
                _keep_hint_on(value, new.ops)
                return
            for made in reversed(new.ops):
                made.erase()


def _keep_hint_on(value: SSAValue, ops: Iterable[Operation]) -> None:
    """Only the replacement bears the Python name, not what it is made of."""
    for op in ops:
        if value.owner is not op:
            op.results[0].name_hint = None


def constant_of(value: SSAValue) -> np.ndarray | None:
    """The array of an nt.constant."""
    return to_numpy(value.owner.value) if isinstance(value.owner, ConstantOp) else None


def uniform_of(value: SSAValue) -> np.ndarray | None:
    """The one value of every element as a rank-0 array: a splat constant, or a broadcast of one."""
    owner = value.owner
    if isinstance(owner, BroadcastOp):
        return uniform_of(owner.source)
    if not isinstance(owner, ConstantOp):
        return None
    array = to_numpy(owner.value)
    one = array.ravel()[:1]
    if not array.size or array.tobytes() != one.tobytes() * array.size:
        return None
    return one.reshape(())


def sizes_of(value: SSAValue) -> AffineList | None:
    """Expressions of the unknown extents of `value`, found at the broadcast or slice it comes from; None if not there."""
    while True:
        if DYNAMIC_INDEX not in shape_of(value):
            return AffineList(())
        owner = value.owner
        sizes = getattr(owner, "sizes", None)
        if sizes is not None:
            return sizes
        if not isinstance(owner, ElementwiseOp):
            return None
        value = owner.inputs[0]
