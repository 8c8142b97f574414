"""The signature of a function on tensors as one on memrefs: storage types, layouts, roles, result arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue

from ..dialects.diagnostic import LoweringError, fail
from ..dialects.nt.types import storage_type

_RENAMED = {"nt.dims": "nest.dims", "nt.alias_set": "nest.alias_set"}
_CONSUMED = frozenset({"nt.mutated", "nt.layout", "nt.order", "nt.writes_arg", *_RENAMED})


@dataclass(frozen=True)
class ResultSpec:
    """One result: its memref type, attributes of its argument, memory order, and the argument it is written to."""

    memref_type: MemRefType
    attributes: DictionaryAttr
    writes_arg: int | None


def dictionaries(attributes: ArrayAttr | None, count: int) -> list[dict[str, Attribute]]:
    """The attributes of each of `count` arguments or results."""
    if attributes is None:
        return [{} for _ in range(count)]
    return [dict(entry.data) for entry in attributes.data]


def memory_order(memref: SSAValue) -> tuple[int, ...]:
    """The dimensions of a buffer from the outermost to the innermost, where its strides are known."""
    memref_type = memref.type
    assert isinstance(memref_type, MemRefType)
    rank = memref_type.get_num_dims()
    layout = memref_type.layout
    order = list(range(rank))
    if isinstance(layout, StridedLayoutAttr):
        strides = [None if isinstance(s, NoneAttr) else s.data for s in layout.strides.data]
        if 1 in strides:
            innermost = rank - 1 - strides[::-1].index(1)
            order.remove(innermost)
            order.append(innermost)
    return tuple(order)


class Signature:
    """What becomes of each argument and result of `function`."""

    def __init__(self, function: FuncOp):
        self._function = function
        inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
        self.arguments = dictionaries(function.arg_attrs, len(inputs))
        self.results = [
            self._result(t, attributes, k)
            for k, (t, attributes) in enumerate(
                zip(outputs, dictionaries(function.res_attrs, len(outputs)), strict=True)
            )
        ]

    def is_mutated(self, argument: SSAValue) -> bool:
        """Whether the caller sees writes to `argument`."""
        return isinstance(argument, BlockArgument) and "nt.mutated" in self.arguments[argument.index]

    def may_overlap(self, argument: SSAValue) -> bool:
        """Whether `argument` may share memory with another one."""
        return isinstance(argument, BlockArgument) and "nt.alias_set" in self.arguments[argument.index]

    def argument_type(self, index: int, tensor: TensorType) -> MemRefType:
        """The memref type of argument `index`; its layout follows `nt.layout`."""
        layout = self.arguments[index].get("nt.layout", StringAttr("c"))
        shape = tensor.get_shape()
        match layout:
            case StringAttr(data="c"):
                return MemRefType(storage_type(tensor.element_type), shape)
            case StringAttr(data="strided"):
                strided = StridedLayoutAttr([None] * len(shape)) if shape else NoneAttr()
                return MemRefType(storage_type(tensor.element_type), shape, strided)
        raise fail(
            self._function,
            f"argument {index} has the unknown layout {layout}",
            hint='nt.layout is "c" or "strided"',
            error=LoweringError,
        )

    def argument_attributes(self, index: int) -> dict[str, Attribute]:
        """The attributes of the memref argument, by their nest names."""
        old = self.arguments[index]
        new = {_RENAMED.get(k, k): v for k, v in old.items() if k not in _CONSUMED or k in _RENAMED}
        if "nt.mutated" in old:
            new["nest.role"] = StringAttr("inout")
        return new

    def _result(self, tensor: Attribute, attributes: dict[str, Attribute], k: int) -> ResultSpec:
        if not isinstance(tensor, TensorType):
            raise fail(
                self._function,
                f"result {k} has type {tensor}: only tensors can be returned",
                hint="return a rank-0 tensor",
                error=LoweringError,
            )
        shape = tensor.get_shape()
        memref_type = MemRefType(
            storage_type(tensor.element_type), shape, self._layout(shape, attributes.get("nt.order"), k)
        )
        writes = attributes.get("nt.writes_arg")
        kept = {_RENAMED.get(a, a): v for a, v in attributes.items() if a not in _CONSUMED or a in _RENAMED}
        return ResultSpec(
            memref_type,
            DictionaryAttr({"nest.role": StringAttr("out"), **kept}),
            writes.value.data if isinstance(writes, IntegerAttr) else None,
        )

    def _layout(self, shape: Sequence[int], order: Attribute | None, k: int) -> StridedLayoutAttr | NoneAttr:
        if order is None:
            return NoneAttr()
        axes = tuple(order.get_values())  # pyright: ignore
        if sorted(axes) != list(range(len(shape))):
            raise fail(
                self._function,
                f"nt.order {list(axes)} of result {k} is not a permutation of its {len(shape)} dimensions",
                error=LoweringError,
            )
        if axes == tuple(range(len(shape))):
            return NoneAttr()
        strides: list[int | None] = [None] * len(shape)
        stride: int | None = 1
        for axis in reversed(axes):
            strides[axis] = stride
            unknown = stride is None or shape[axis] == DYNAMIC_INDEX
            stride = None if unknown else stride * max(shape[axis], 1)  # pyright: ignore
        return StridedLayoutAttr(strides)


def set_signature(function: FuncOp, attributes: Sequence[dict[str, Attribute]]) -> None:
    """Make the function's type that of its entry block, without results; `attributes` are those of the arguments."""
    block = function.body.block
    function.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], [])
    function.properties.pop("res_attrs", None)
    function.properties.pop("arg_attrs", None)
    if any(attributes):
        function.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(a) for a in attributes])
