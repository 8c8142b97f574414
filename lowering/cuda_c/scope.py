"""What the printer of a kernel knows while it prints: values, buffers, names, and the lines so far."""

from __future__ import annotations

import linecache
import os.path
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects import cf, gpu, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.nest.check_sites import raises
from ...dialects.attributes import DIMS
from ...dialects.diagnostic import LoweringError, fail, op_location
from ..abi.kernel_signature import KernelParameter
from .expressions import float_from_memory, signed_operand
from .lines import wrapped
from .names import name_of
from .types import ADD, ATOM, MUL, CExpr, CTypes, Names, is_short_float

_SHARED = 3
"""The memory space of `nest.alloc` in a loop over blocks."""
_STORED_LIMIT = 140
"""Characters beyond which a value that is assigned is named first."""
_FOLD_LIMIT = 80
"""Characters beyond which an unnamed expression gets a line of its own."""
_SUM = re.compile(r"\w+ [-+*] \w+", re.ASCII)
_SHORT = 16
"""Characters of an index expression that may be inside a loop although it is computed before it."""


@dataclass(frozen=True)
class Buffer:
    """Memory that a kernel reads or writes, and what is known of it."""

    name: str
    type: MemRefType
    operand: int | None
    """Position among the kernel's arguments; None for memory of the thread or block."""
    as_float: bool
    """Whether 16-bit floats are kept as `float`: memory of one thread, unless it only passes them on."""
    no_alias: bool


class KernelScope:
    """The state of one kernel's text. Public methods are what the expression rules need (`Printer`)."""

    def __init__(self, func: gpu.FuncOp, types: CTypes, helpers: set[str], block_size: int | None):
        if func.kernel is None or len(func.body.blocks) != 1:
            raise fail(func, "only kernels of one block can be printed as CUDA C", error=LoweringError)
        self.func = func
        self.types = types
        self._helpers = helpers
        self._block_size = block_size
        self._dims = [a.get(DIMS) for a in argument_attributes(func)]
        self._names = Names()
        self._lines: list[str] = []
        self._places: list[tuple[str, int] | None] = []
        """Of each line: the Python file and line that it comes from."""
        self._place: tuple[str, int] | None = None
        self._depth = 1
        self._values: dict[SSAValue, CExpr] = {}
        self._buffers: dict[SSAValue, Buffer] = {}
        self._pending: dict[SSAValue, None] = {}
        """Folded values that read memory or loop-carried variables and are not used yet, oldest first."""
        self._shared: str | None = None
        """The name of the shared memory that the launch gives."""
        self._undeclared: set[SSAValue] = set()
        """Local scalars whose first store declares them."""
        self._implied: dict[tuple[object, ...], KernelParameter] = {}
        self._commented: set[tuple[str, int]] = set()
        self._can_fail = any(isinstance(op, cf.AssertOp) or raises(op) for op in func.walk())
        self._written = {b for op in func.walk() for b in written_buffers(op)}

    def value(self, value: SSAValue) -> CExpr:
        """The expression of an SSA value that has been visited."""
        self._pending.pop(value, None)
        return self._values[value]

    def buffer_name(self, buffer: SSAValue) -> str:
        """The name of a buffer that has been visited."""
        return self._buffers[buffer].name

    def is_free(self, name: str) -> bool:
        """Whether no variable that can be seen has this name."""
        return self._names.is_free(name)

    def helper(self, name: str, type: str | None = None) -> str:
        """Ask for a function of the prelude (in its overload for `type`); returns its C name."""
        self._helpers.add(f"{name} {type}" if type else name)
        return name

    def element(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> CExpr:
        """The value of an element."""
        place = self.place(buffer, indices)
        b = self._buffers[buffer]
        if is_short_float(b.type.element_type) and not b.as_float:
            return float_from_memory(self, b.type.element_type, place)
        return place

    def place(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> CExpr:
        """`x[i * m + j]`, `tile[i][j]` or `acc`: an element as something that can be assigned to."""
        b = self._buffer(buffer)
        # Where indices have 32 bits, an offset that is not negative is the same in unsigned arithmetic.
        is_same = self.types.index_bits == 32 and not _may_go_back(b.type)
        operand = self.value if is_same else lambda i: signed_operand(self, i)
        parts = [operand(i) for i in indices]
        if b.operand is None:
            text = b.name + "".join(f"[{part.text}]" for part in parts)
        else:
            parts = [self._offset(buffer, parts)]
            text = f"{b.name}[{parts[0].text}]"
        reads = frozenset({buffer}).union(*(part.reads for part in parts))
        variables = frozenset[str]().union(*(part.variables for part in parts))
        return CExpr(text, ATOM, reads, variables)

    def extent(self, buffer: SSAValue, axis: int) -> CExpr:
        """The extent of an axis: a literal, or a parameter."""
        b = self._buffer(buffer)
        size = b.type.get_shape()[axis]
        if size != DYNAMIC_INDEX:
            return self.types.integer(size, IndexType())
        assert b.operand is not None, "memory inside a kernel has a static shape"
        dims = self._dims[b.operand]
        symbol = dims.data[axis] if isinstance(dims, ArrayAttr) else None
        if isinstance(symbol, StringAttr):  # the same name is the same extent: one parameter serves all
            return self._implied_parameter(("dim", symbol.data), symbol.data, "extent", b.operand, axis)
        key = ("extent", b.operand, axis)
        return self._implied_parameter(key, f"{b.name}_n{axis}", "extent", b.operand, axis)

    def _buffer(self, value: SSAValue) -> Buffer:
        if value not in self._buffers:
            raise fail(
                value.owner, "a buffer that is neither an argument nor an allocation", error=LoweringError
            )
        return self._buffers[value]

    def _implied_parameter(self, key: tuple[object, ...], hint: str, kind, operand: int, axis: int) -> CExpr:
        if key not in self._implied:
            name = self._names.fresh(hint, outermost=True)
            c_type = self.types.scalar(IndexType())
            self._implied[key] = KernelParameter(name, c_type, kind, operand, axis)
        return CExpr(self._implied[key].name)

    def _offset(self, buffer: SSAValue, indices: list[CExpr]) -> CExpr:
        """The position of an element, counted from the buffer's address."""
        b = self._buffers[buffer]
        if isinstance(b.type.layout, NoneAttr):
            return self._row_major(buffer, indices)
        if not isinstance(b.type.layout, StridedLayoutAttr):
            raise fail(self.func, f"layout {b.type.layout} has no CUDA C", error=LoweringError)
        if not (isinstance(b.type.layout.offset, IntAttr) and b.type.layout.offset.data == 0):
            raise fail(self.func, f"the offset of {b.type} must be 0", error=LoweringError)
        position = self.types.integer(0, IndexType())
        for axis, (index, stride) in enumerate(zip(indices, b.type.layout.strides.data, strict=True)):
            if isinstance(stride, IntAttr):
                factor = self.types.integer(stride.data, IndexType())
            else:
                hint, operand = f"{b.name}_s{axis}", b.operand
                assert operand is not None
                factor = self._implied_parameter(("stride", operand, axis), hint, "stride", operand, axis)
            position = _plus(position, _times(index, factor))
        return position

    def _row_major(self, buffer: SSAValue, indices: list[CExpr]) -> CExpr:
        if not indices:
            return CExpr("0", is_literal=True)
        position = indices[0]
        for axis, index in enumerate(indices[1:], 1):
            if not _is_zero(position):
                position = _times(position, self.extent(buffer, axis))
            position = _plus(position, index)
        return position

    def _define(self, result: SSAValue, expr: CExpr) -> None:
        """Bind a value: folded into its only use, or as a `const` of its own."""
        self._values[result] = expr
        if expr.is_literal or (expr.text.isidentifier() and not expr.reads):
            return
        if isinstance(result.owner, vector.ExtractOp) and expr.precedence == ATOM and "(" not in expr.text:
            return
        if expr.is_builtin and expr.precedence == ATOM and result.name_hint is None:
            return
        if _is_short_index(result, expr) or _is_final(result):
            return
        if _is_folded(result) and len(expr.text) <= (_STORED_LIMIT if _is_stored(result) else _FOLD_LIMIT):
            if expr.reads or expr.variables:
                self._pending[result] = None
            return
        self._materialize(result)

    def _materialize(self, value: SSAValue) -> None:
        """Give a folded value a `const` variable of its own, here."""
        self._pending.pop(value, None)
        expr = self._values[value]
        op = value.owner
        if isinstance(op, Operation):
            self._comment(op)
        name = self._names.fresh(name_of(self, value))
        text = expr.text
        if isinstance(value.type, IndexType) and expr.wrapped is not None:  # the declaration converts it
            text = expr.wrapped[0]
        self._line(f"const {self.types.scalar(value.type, op)} {name} = {text};")
        self._values[value] = CExpr(name)

    def _flush(self, written: Iterable[SSAValue] | None) -> None:
        """Evaluate now what reads a buffer that is about to be written (None: any buffer)."""
        written = None if written is None else list(written)
        for value in list(self._pending):
            reads = self._values[value].reads
            if (written is None and reads) or any(
                self._may_alias(r, w) for r in reads for w in written or ()
            ):
                self._materialize(value)

    def _may_alias(self, a: SSAValue, b: SSAValue) -> bool:
        if a is b:
            return True
        first, second = self._buffers.get(a), self._buffers.get(b)
        if first is None or second is None:  # allocated inside the region that writes it
            return False
        if first.operand is None or second.operand is None:
            return False
        return not (first.no_alias or second.no_alias)

    def _line(self, text: str) -> None:
        lines = wrapped(text, "  " * self._depth)
        self._lines += lines
        self._places += [self._place] * len(lines)

    def _comment(self, op: Operation) -> None:
        """The Python line an operation comes from, where the text first reaches that line."""
        place = op_location(op)
        if place is None or not place.line or place.file.endswith(".mlir"):
            return
        self._place = place.file, place.line
        if (place.file, place.line) in self._commented:
            return
        self._commented.add((place.file, place.line))
        source = linecache.getline(place.file, place.line).strip()
        where = f"// {os.path.basename(place.file)}:{place.line}"
        self._line(f"{where}: {source}".rstrip("\\") if source else where)

    def _open(self, text: str) -> None:
        self._line(text)
        self._depth += 1
        self._names.open()

    def _close(self, text: str = "}") -> None:
        self._names.close()
        self._depth -= 1
        self._line(text)


def argument_attributes(func: gpu.FuncOp) -> list[dict[str, Attribute]]:
    """The attributes of each argument of a gpu.func."""
    attributes = func.properties.get("arg_attrs") or func.attributes.get("arg_attrs")
    if not isinstance(attributes, ArrayAttr):
        return [{} for _ in func.body.block.args]
    return [dict(a.data) if isinstance(a, DictionaryAttr) else {} for a in attributes.data]


def is_shared(type: Attribute) -> bool:
    """Whether a buffer is memory that a block shares."""
    space = type.memory_space if isinstance(type, MemRefType) else None
    if space is None or isinstance(space, NoneAttr):
        return False
    return (isinstance(space, IntegerAttr) and space.value.data == _SHARED) or "workgroup" in str(space)


def written_buffers(op: Operation) -> list[SSAValue]:
    """The buffers that an operation writes."""
    if isinstance(op, vector.StoreOp):
        return [op.base]
    return [op.memref] if isinstance(op, (memref.StoreOp, memref.AtomicRMWOp)) else []


def _is_folded(value: SSAValue) -> bool:
    """Whether a value is an unnamed intermediate whose only use is in the same block."""
    if value.name_hint is not None or not value.has_one_use():
        return False
    use = value.first_use
    assert use is not None
    return isinstance(value.owner, Operation) and use.operation.parent is value.owner.parent


def _is_stored(value: SSAValue) -> bool:
    """Whether the only use of a value is a statement that assigns it."""
    return all(isinstance(use.operation, memref.StoreOp | scf.YieldOp) for use in value.uses)


def _is_short_index(value: SSAValue, expr: CExpr) -> bool:
    """Whether `i + 1` may be repeated wherever it is used, a longer one by a loop inside the block that computes it."""
    if not isinstance(value.type, IndexType) or value.name_hint is not None or expr.reads or expr.variables:
        return False
    return bool(_SUM.fullmatch(expr.text)) or (value.has_one_use() and len(expr.text) <= _SHORT)


def _is_final(value: SSAValue) -> bool:
    """Whether a value is what a local scalar holds from here on: the scalar is its name."""
    load = value.owner
    if (
        not isinstance(load, memref.LoadOp)
        or load.indices
        or not isinstance(load.memref.owner, memref.AllocaOp)
    ):
        return False
    if is_shared(load.memref.type):
        return False
    stores = {use.operation for use in load.memref.uses if isinstance(use.operation, memref.StoreOp)}
    return not any(_may_follow(store, load, load.memref.owner) for store in stores)


def _may_follow(later: Operation, op: Operation, home: Operation) -> bool:
    """Whether `later` may run after `op`; what counts begins at `home`, which is before both or in their block."""
    around: Operation | None = op
    while around is not None:
        block = around.parent
        inside = later
        while inside.parent is not block and (parent := inside.parent_op()) is not None:
            inside = parent
        if inside.parent is block and inside is not around:
            return around.is_before_in_block(inside)
        if block is home.parent:
            return inside is around and not isinstance(around, memref.LoadOp)
        around = block.parent_op() if block is not None else None
        if isinstance(around, scf.ForOp | scf.WhileOp) and later in set(around.walk()):
            return True
    return True


def _is_zero(expr: CExpr) -> bool:
    return expr.is_literal and expr.text == "0"


def _plus(a: CExpr, b: CExpr) -> CExpr:
    if _is_zero(a) or _is_zero(b):
        return b if _is_zero(a) else a
    text = f"{a.at(ADD)} + {b.at(ADD)}"  # positions do not overflow: `i * n + (j - 1)` needs no parentheses
    return CExpr(text, ADD, a.reads | b.reads, a.variables | b.variables)


def _times(a: CExpr, b: CExpr) -> CExpr:
    if _is_zero(a) or _is_zero(b):
        return CExpr("0", is_literal=True)
    for one, other in ((a, b), (b, a)):
        if one.is_literal and one.text == "1":
            return other
    text = f"{a.at(MUL)} * {b.at(MUL + 1)}"
    return CExpr(text, MUL, a.reads | b.reads, a.variables | b.variables)


def _may_go_back(buffer: MemRefType) -> bool:
    """Whether elements may lie in front of element zero."""
    strides = buffer.get_strides() if isinstance(buffer.layout, StridedLayoutAttr) else ()
    return any(stride is None or stride < 0 for stride in strides or ())
