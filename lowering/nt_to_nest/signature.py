"""The signature of a converted function: tensors become memrefs, results become trailing arguments."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    ComplexType,
    DictionaryAttr,
    FunctionType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, SSAValue

from ...dialects.attributes import (
    ALIAS_SET,
    DIMS,
    FROZEN,
    HANDS_OVER,
    NT_ALIAS_SET,
    NT_CALLEE_ALLOCATED,
    NT_DIMS,
    NT_FROZEN,
    NT_LAYOUT,
    NT_MUTATED,
    NT_ORDER,
    NT_WRITES_ARG,
    ROLE,
)
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.nt.ops import shape_of
from ...dialects.nt.types import storage_type
from ..abi.handed_over import words


class Signature:
    """Adds a memref argument for every tensor argument and result; `install` drops the tensors when all is converted."""

    def __init__(self, function: FuncOp):
        self._function = function
        self._block = function.body.block
        self._argument_attributes = _dictionaries(function.arg_attrs, len(function.function_type.inputs))
        self._result_attributes = _dictionaries(function.res_attrs, len(function.function_type.outputs))
        self._old = list(self._block.args)
        self.tensors = [arg for arg in self._old if isinstance(arg.type, TensorType)]
        self._order: dict[SSAValue, tuple[int, ...]] = {}
        self._buffers: dict[SSAValue, BlockArgument] = {}
        self._attributes: dict[SSAValue, DictionaryAttr] = {}
        self._out: list[BlockArgument] = []
        self._handed: set[BlockArgument] = set()
        self._writable: set[SSAValue] = set()
        self._add_arguments()
        self._add_results()

    def buffer_of(self, value: SSAValue) -> BlockArgument:
        """The memref of a tensor argument."""
        return self._buffers[value]

    def is_writable(self, memref: SSAValue) -> bool:
        """Whether the function may write this argument: a result, or an array whose changes the caller sees."""
        return memref in self._writable

    def is_shared(self, memref: SSAValue) -> bool:
        """Whether another argument may be in the same memory."""
        return memref in self._attributes and ALIAS_SET in self._attributes[memref].data

    def is_argument(self, memref: SSAValue) -> bool:
        """Whether this is the buffer of an argument, not of a result."""
        return memref in self._buffers.values()

    def memory_order(self, memref: SSAValue) -> tuple[int, ...]:
        """The axes of a buffer in memory, outermost first."""
        known = self._order.get(memref)
        return tuple(range(len(memref.type.get_shape()))) if known is None else known  # pyright: ignore

    def results(self, op: ReturnOp) -> list[tuple[SSAValue, SSAValue]]:
        """What is returned, with the buffer it goes to."""
        return [(v, m) for v, m in zip(op.operands, self._out, strict=True) if m not in self._handed]

    def handed_over(self, op: ReturnOp) -> list[tuple[SSAValue, SSAValue]]:
        """What the function allocates for its caller, with the words that describe it."""
        return [(v, m) for v, m in zip(op.operands, self._out, strict=True) if m in self._handed]

    def install(self) -> None:
        """Drop the tensor arguments, and state the types and attributes of the new ones."""
        for arg in self.tensors:
            self._block.erase_arg(arg)
        args = self._block.args
        self._function.properties["function_type"] = FunctionType.from_lists([a.type for a in args], [])
        self._function.properties.pop("res_attrs", None)
        self._function.properties["arg_attrs"] = ArrayAttr(
            [self._attributes.get(a, DictionaryAttr({})) for a in args]
        )

    # ---- arguments ----------------------------------------------------------------------------------

    def _add_arguments(self) -> None:
        for old, attributes in zip(self._old, self._argument_attributes, strict=True):
            if not isinstance(old.type, TensorType):
                continue
            strided = attributes.get(NT_LAYOUT) == StringAttr("strided")
            layout = _strided([DYNAMIC_INDEX] * len(old.type.get_shape())) if strided else None
            new = self._add(old, old.index, layout)
            self._buffers[old] = new
            kept: dict[str, Attribute] = {}
            if NT_DIMS in attributes:
                kept[DIMS] = attributes[NT_DIMS]
            if NT_ALIAS_SET in attributes:
                kept[ALIAS_SET] = attributes[NT_ALIAS_SET]
            if NT_FROZEN in attributes:
                kept[FROZEN] = attributes[NT_FROZEN]
            if NT_MUTATED in attributes:
                kept[ROLE] = StringAttr("inout")
                self._writable.add(new)
            self._attributes[new] = DictionaryAttr(kept)

    def _add(self, like: SSAValue, position: int, layout: StridedLayoutAttr | None) -> BlockArgument:
        tensor = like.type
        assert isinstance(tensor, TensorType)
        element = storage_type(tensor.element_type)
        memref = MemRefType(element, tensor.get_shape(), layout or NoneAttr())
        new = self._block.insert_arg(memref, position)
        if isinstance(like, BlockArgument):
            new.location = like.location
        new.name_hint = like.name_hint
        return new

    # ---- results ------------------------------------------------------------------------------------

    def _add_results(self) -> None:
        last = self._block.last_op
        if not isinstance(last, ReturnOp):
            raise fail(self._function, "a function ends with func.return", error=LoweringError)
        for value, attributes in zip(last.operands, self._result_attributes, strict=True):
            written = attributes.get(NT_WRITES_ARG)
            if written is not None:
                self._out.append(self._buffers[self._old[written.value.data]])  # pyright: ignore
                continue
            if not isinstance(value.type, TensorType):
                raise fail(
                    last,
                    f"a result of type {value.type} has no place in memory",
                    hint="return a rank-0 tensor: nt.from_scalar",
                    error=LoweringError,
                )
            if NT_CALLEE_ALLOCATED in attributes:
                self._out.append(self._add_words(value, attributes))
                continue
            self._out.append(self._add_result(value, attributes))

    def _add_words(self, value: SSAValue, attributes: dict[str, Attribute]) -> BlockArgument:
        """The words that describe a result which the function allocates."""
        if NT_ORDER in attributes:
            raise fail(
                self._function,
                "a result that the function allocates is row-major",
                hint="return it transposed",
                error=LoweringError,
            )
        shape = shape_of(value)
        axes = len(shape) + isinstance(value.type.element_type, ComplexType)  # pyright: ignore
        words_type = MemRefType(i64, [words(axes)])  # the parts of complex numbers are along one of their own
        new = self._block.insert_arg(words_type, len(self._block.args))
        new.name_hint = _fresh_hint(value.name_hint, [a.name_hint for a in self._block.args if a is not new])
        self._handed.add(new)
        kind = MemRefType(storage_type(value.type.element_type), shape)  # pyright: ignore
        self._attributes[new] = DictionaryAttr({ROLE: StringAttr("out"), HANDS_OVER: kind})
        return new

    def _add_result(self, value: SSAValue, attributes: dict[str, Attribute]) -> BlockArgument:
        rank = len(shape_of(value))
        order = tuple(range(rank))
        if NT_ORDER in attributes:
            order = tuple(attributes[NT_ORDER].get_values())  # pyright: ignore
        new = self._add(value, len(self._block.args), _layout_in_order(shape_of(value), order))
        new.name_hint = _fresh_hint(value.name_hint, [a.name_hint for a in self._block.args if a is not new])
        self._order[new] = order
        self._writable.add(new)
        kept: dict[str, Attribute] = {ROLE: StringAttr("out")}
        if NT_DIMS in attributes:
            kept[DIMS] = attributes[NT_DIMS]
        self._attributes[new] = DictionaryAttr(kept)
        return new


def _fresh_hint(hint: str | None, taken: list[str | None]) -> str:
    return "out" if hint is None or hint in taken else hint


def _layout_in_order(shape: tuple[int, ...], order: tuple[int, ...]) -> StridedLayoutAttr | None:
    """Contiguous strides for axes in `order`; None when that is row-major."""
    if order == tuple(range(len(shape))):
        return None
    strides = [DYNAMIC_INDEX] * len(shape)
    stride = 1
    for axis in reversed(order):
        strides[axis] = stride
        extent = shape[axis]
        stride = DYNAMIC_INDEX if DYNAMIC_INDEX in (stride, extent) else stride * extent
    return _strided(strides)


def _strided(strides: list[int]) -> StridedLayoutAttr:
    return StridedLayoutAttr([None if s == DYNAMIC_INDEX else s for s in strides], 0)


def _dictionaries(attributes: ArrayAttr | None, count: int) -> list[dict[str, Attribute]]:
    if attributes is None:
        return [{} for _ in range(count)]
    return [dict(d.data) for d in attributes.data]  # pyright: ignore
