"""The parameters of a kernel: what it uses from the host, and what it may assume of it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ...analysis.nest.kernels.gpu_accesses import root
from ...dialects.attributes import ALIAS_SET, DIMS, NOALIAS
from ...dialects.nest import AccumulateOp, AllocOp, LoadOp, StoreOp
from ..nest_common.body import NestBody
from .alignment import is_aligned
from .kernel import KernelBody


def _constant_of(value: SSAValue) -> Attribute | None:
    """What a value of the host is in every launch: a constant, or a truth value of one as memory has it."""
    if isinstance(value.owner, arith.ConstantOp):
        return value.owner.value
    if isinstance(value.owner, arith.ExtUIOp) and value.owner.input.type == i1:
        flag = _constant_of(value.owner.input)
        return IntegerAttr(int(flag.value.data != 0), value.type) if isinstance(flag, IntegerAttr) else None  # pyright: ignore
    return None


class KernelInputs(dict[SSAValue, "SSAValue | int"]):
    """The values of a kernel; what it uses from the host becomes a parameter when it is first asked for."""

    def __init__(self, host: NestBody, function: FuncOp, body: KernelBody, unit: Sequence[Operation]):
        super().__init__()
        self.host = host
        self.function = function
        self.body = body
        self.operands: list[SSAValue] = []
        self.sources: list[SSAValue] = []
        self.block = body.builder.block
        body.new_flag = self.flag
        self._flag: int | None = None
        """The position of the parameter that says whether buffers are aligned."""
        self.buffers = {
            v for op in unit for inner in op.walk() for v in inner.operands if isinstance(v.type, MemRefType)
        }

    def __missing__(self, old: SSAValue) -> SSAValue | int:
        value = self.host.values[old]
        new = value if isinstance(value, int) else self._import(old, value)
        self[old] = new
        return new

    def _import(self, old: SSAValue, value: SSAValue) -> SSAValue:
        builder = self.body.builder
        if (constant := _constant_of(value)) is not None:
            return builder.attribute_constant(constant, value.type, value.name_hint)
        if isinstance(old.owner, memref.DimOp) and old.owner.source in self.buffers:
            new = self._extent(old.owner)
        else:
            new = self.block.insert_arg(value.type, len(self.block.args))
            self.operands.append(value)
            self.sources.append(old)
        new.name_hint = _described(value)
        self.body.host_of[new] = value
        if value in self.host.builder.nonnegative:
            builder.nonnegative.add(new)
        return new

    def flag(self) -> SSAValue:
        """A parameter that says whether what `alignment` of the body needs holds; `set_flag` gives the operand."""
        new = self.block.insert_arg(i1, len(self.block.args))
        new.name_hint = "aligned"
        self._flag = len(self.operands)
        self.operands.append(new)
        self.sources.append(new)
        return new

    def set_flag(self) -> None:
        """Compute on the host what `flag` says."""
        if self._flag is not None:
            self.operands[self._flag] = is_aligned(self.host, self.body.alignment)

    def import_buffers(self, ops: Sequence[Operation]) -> None:
        """Make the buffers of loads and stores parameters: arguments of the function in its order, then temporaries."""
        used: dict[SSAValue, None] = {}
        for op in ops:
            for inner in op.walk():
                if isinstance(inner, LoadOp | StoreOp):
                    used[inner.memref] = None
                elif isinstance(inner, AccumulateOp):
                    used.update(dict.fromkeys(inner.memrefs))
        arguments = self.function.body.block.args
        position: dict[SSAValue, int] = {argument: k for k, argument in enumerate(arguments)}
        given = [b for b in used if b in self.host.values]
        for buffer in sorted(given, key=lambda b: position.get(root(b), len(arguments))):
            self[buffer]

    def _extent(self, op: memref.DimOp) -> SSAValue:
        builder = self.body.builder
        axis = self.host.values[op.index]
        assert isinstance(axis, int)
        buffer = self[op.source]
        assert isinstance(buffer, SSAValue)
        new = memref.DimOp.create(operands=(buffer, builder.constant(axis)), result_types=(op.result.type,))
        new.location = op.location
        builder.prologue.append(new)
        return new.result

    def attributes(self) -> list[DictionaryAttr]:
        """What the kernel may assume of each parameter."""
        return [self._attributes_of(source) for source in self.sources]

    def _attributes_of(self, source: SSAValue) -> DictionaryAttr:
        if not isinstance(source.type, MemRefType):
            return DictionaryAttr({})
        given = self._given(source)
        kept: dict[str, Attribute] = {}
        if DIMS in given:
            kept[DIMS] = given[DIMS]
        shared = [s for s in self.sources if isinstance(s.type, MemRefType) and root(s) is root(source)]
        if len(shared) == 1 and ALIAS_SET not in self._given(root(source)):
            kept[NOALIAS] = UnitAttr()
        return DictionaryAttr(kept)

    def _given(self, source: SSAValue) -> dict[str, Attribute]:
        """The attributes of the function argument `source`; of another buffer the names of its extents, if known."""
        if isinstance(source.owner, AllocOp):
            return self._names_of_extents(source.owner)
        attributes = self.function.arg_attrs
        if attributes is None or not isinstance(source, BlockArgument):
            return {}
        return dict(attributes.data[source.index].data)

    def _names_of_extents(self, op: AllocOp) -> dict[str, Attribute]:
        buffer, sizes = op.memref.type, iter(op.sizes)
        assert isinstance(buffer, MemRefType)
        names = [
            self._name_of_extent(next(sizes)) if n == DYNAMIC_INDEX else IntegerAttr(n, i64)
            for n in buffer.get_shape()
        ]
        return {} if None in names else {DIMS: ArrayAttr([n for n in names if n is not None])}

    def _name_of_extent(self, size: SSAValue) -> Attribute | None:
        """The name in `nest.dims` of an extent that `memref.dim` reads off an argument."""
        if not isinstance(size.owner, memref.DimOp):
            return None
        dims, axis = self._given(size.owner.source).get(DIMS), self.host.values[size.owner.index]
        return dims.data[axis] if isinstance(dims, ArrayAttr) and isinstance(axis, int) else None


def _described(value: SSAValue) -> str | None:
    """A name: that of the value; `x` for `x` seen as one axis or converted, `size` for a product of extents."""
    op = value.owner
    if isinstance(op, memref.CollapseShapeOp):
        return op.src.name_hint or value.name_hint
    if value.name_hint is not None:
        return value.name_hint
    if isinstance(op, arith.IndexCastOp | arith.TruncFOp | arith.SIToFPOp | arith.TruncIOp | arith.ExtSIOp):
        return op.input.name_hint
    return "size" if isinstance(op, arith.MuliOp) else None
