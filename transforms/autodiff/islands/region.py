"""The region of an island as a function of its own, which analyses of nests can be asked about, and back.

    %r = nt.loops ins(%x ...) outs(%y ...) {            func.func @island(%x: memref<?xf64> {nest.dims = ["n"]},
    ^bb0(%xm: memref<?xf64>, %ym: memref<?xf64>):   ->                    %y: memref<?xf64> {nest.dims = ["m"]}, %s: f64) {
      ... %n, %s ...                                      %n = memref.dim ... ; ...

Equal extents have equal names; what the region uses from outside are arguments, or the extents that they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    i8,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....analysis.tensor.extents import Extents
from ....dialects.attributes import DIMS, ROLE
from ....dialects.nt.ops import DimOp, LoopsOp, element_of, shape_of
from ....dialects.nt.types import storage_type
from ..activity import used_from_outside


class Surroundings:
    """What the region of an island uses from outside, and which of the extents there are equal."""

    def __init__(self, op: LoopsOp):
        self._extents = Extents()
        operands = set(op.operands)
        self.values = [v for v in dict.fromkeys(used_from_outside(op)) if v not in operands]
        """The scalars and extents that the region uses, outside of it."""
        self._names: dict[Hashable, str] = {}

    def function(self) -> Function:
        """A function with an empty body, which has what the region uses from outside, and no buffers yet."""
        result = Function(self)
        for value in self.values:
            self._bring(value, result)
        return result

    def _bring(self, value: SSAValue, to: Function) -> SSAValue:
        """A value from outside in the function: an extent, what is computed of those, or an argument."""
        if value in to.inside:
            return to.inside[value]
        owner, key = value.owner, self._extent(value)
        if key is not None:
            buffer = to.argument(MemRefType(i8, [DYNAMIC_INDEX]), self.attributes([key]))
            inner = to.first(memref.DimOp(buffer, to.first(arith.ConstantOp(IntegerAttr(0, IndexType())))))
        elif isinstance(owner, Operation) and not owner.regions and owner.name.startswith("arith."):
            operands = {v: self._bring(v, to) for v in owner.operands}
            inner = to.first(owner.clone(operands))
        else:
            inner = to.argument(value.type, DictionaryAttr({}))
        to.inside[value] = inner
        inner.name_hint = value.name_hint
        return inner

    def buffer_attributes(self, tensor: SSAValue) -> DictionaryAttr:
        """The names of the extents of a tensor's buffer."""
        return self.attributes(self._extents.of(tensor))

    def _extent(self, value: SSAValue) -> Hashable | None:
        """The name of the extent that a value is."""
        if not isinstance(value.owner, DimOp):
            return None
        key = self._extents.axis(value.owner.tensor, value.owner.axis.value.data)
        return None if isinstance(key, int) else key

    def attributes(self, keys: Sequence[Hashable]) -> DictionaryAttr:
        """`nest.dims`."""
        # Unknown extents of the function's own arguments are at least 2, any other may be 0: as those of results.
        known = all(isinstance(key, str | int) for key in keys)
        names = ArrayAttr(
            [UnitAttr() if isinstance(key, int) else StringAttr(self._name(key)) for key in keys]
        )
        return DictionaryAttr({DIMS: names} if known else {DIMS: names, ROLE: StringAttr("out")})

    def _name(self, key: Hashable) -> str:
        if isinstance(key, str):
            return key
        return self._names.setdefault(key, f"extent {len(self._names)}")


class Function:
    """A region as a function: its buffers, and the values inside that stand for those outside."""

    def __init__(self, surroundings: Surroundings):
        self.block = Block()
        self.function = FuncOp("island", ([], []), Region(self.block))
        self.inside: dict[SSAValue, SSAValue] = {}
        """The values inside by those outside."""
        self.buffers: list[SSAValue] = []
        self.copied: dict[Operation, Operation] = {}
        """What the operations are copies of."""
        self._surroundings = surroundings
        self._attributes: list[DictionaryAttr] = []
        self._first: list[Operation] = []

    def argument(self, kind: Attribute, attributes: DictionaryAttr) -> SSAValue:
        """Add an argument."""
        self._attributes.append(attributes)
        return self.block.insert_arg(kind, len(self.block.args))

    def buffer(self, tensor: SSAValue, name: str | None = None) -> SSAValue:
        """Add a buffer like that of a tensor."""
        kind = MemRefType(storage_type(element_of(tensor)), shape_of(tensor))
        buffer = self.argument(kind, self._surroundings.buffer_attributes(tensor))
        buffer.name_hint = name or tensor.name_hint
        self.buffers.append(buffer)
        return buffer

    def cell(self, element: Attribute) -> SSAValue:
        """Add a buffer of rank 0."""
        self.buffers.append(self.argument(MemRefType(element, []), DictionaryAttr({})))
        return self.buffers[-1]

    def first(self, op: Operation) -> SSAValue:
        """Add an operation at the start, which computes what is known outside; gives its result."""
        self.block.add_op(op)
        self._first.append(op)
        return op.results[0]

    def end(self) -> None:
        """End the body, and state the types of the arguments."""
        self.block.add_op(ReturnOp())
        kinds = [a.type for a in self.block.args]
        self.function.properties["function_type"] = FunctionType.from_lists(kinds, [])
        self.function.properties["arg_attrs"] = ArrayAttr(self._attributes)

    def leave(self, buffers: Iterable[SSAValue]) -> Region:
        """The body as a region of an island, whose arguments are some of the buffers; the function is gone."""
        chosen = list(buffers)
        body = Block(arg_types=[b.type for b in chosen])
        for old, new in zip(chosen, body.args, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        for outer, inner in self.inside.items():
            inner.replace_all_uses_with(outer)
        for op in reversed(self._first):
            self.block.erase_op(op)
        for op in list(self.block.ops):
            op.detach()
            if isinstance(op, ReturnOp):
                op.erase()
            else:
                body.add_op(op)
        return Region(body)


def as_function(op: LoopsOp, surroundings: Surroundings) -> Function:
    """A copy of the region of an island, as a function."""
    copy = surroundings.function()
    mapping = dict(copy.inside)
    for tensor, old in zip(op.operands, op.body.block.args, strict=True):
        mapping[old] = copy.buffer(tensor, old.name_hint)
    for inner in op.body.block.ops:
        clone = inner.clone(mapping)
        copy.copied.update(zip(clone.walk(), inner.walk(), strict=True))
        copy.block.add_op(clone)
    copy.end()
    return copy
