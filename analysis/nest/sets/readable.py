"""Loop nests as people read them: names for values, and the text of bounds, indices, domains and places.

A loop variable is called like its loop (`i.o`), an extent like its dimension (`n`), a constant is its number.

    for i.o = 0 to n step 16        x[i.o + i.i]        where (i.o + i.i < n)
"""

from __future__ import annotations

from collections.abc import Hashable
from io import StringIO

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.printer import Printer

from ....dialects.affine import AffineList, constant_of
from ....dialects.affine_text import print_bound, print_indices, print_where
from ....dialects.diagnostic import op_location
from ....dialects.nest import BIND_AXES, AllocOp, ForOp
from ..loop_structure import loops_in
from ..values.extent_keys import Product, extent_key, value_key
from .accesses import READ, UPDATE, Access


class NestText:
    """The texts of one function's nests. Every value has one name, and no two loops or buffers share one."""

    def __init__(self, function: Operation):
        self._names: dict[object, str] = {}
        self._taken: set[str] = set()
        self._printer = _NamedPrinter(self)
        for loop in loops_in(function):
            self._give(loop.iv, loop.label)
        for block in (region.blocks[0] for region in function.regions if region.blocks):
            for argument in block.args:
                self.name(argument)

    def name(self, value: SSAValue) -> str:
        """The name of a value; the number when it is a constant."""
        if (number := _number(value)) is not None:
            return number
        key = value_key(value) if value.type.name == "index" else value
        if key in self._names:
            return self._names[key]
        return self._give(key, self._wanted(value, key))

    def extent(self, buffer: SSAValue, axis: int) -> str:
        """The name of an extent that is not known."""
        key = extent_key(buffer, axis)
        if key in self._names:
            return self._names[key]
        if isinstance(key, SSAValue):
            return self.name(key)
        return self._give(key, self._wanted(buffer, key))

    def of_key(self, key: Hashable) -> str:
        """The name of what a key of `extent_keys.py` stands for: an extent, a product of these, or a value."""
        if isinstance(key, SSAValue):
            return self.name(key)
        if isinstance(key, Product):
            names = [self.of_key(factor) for factor, power in key.powers for _ in range(power)]
            return " * ".join([*([] if key.number == 1 else [str(key.number)]), *sorted(names)])
        if isinstance(key, tuple):
            return self.extent(*key)
        return str(key)

    def _wanted(self, value: SSAValue, key: object) -> str:
        if isinstance(key, str):
            return key
        if isinstance(key, Product):
            names = [self._wanted(value, factor) for factor, power in key.powers for _ in range(power)]
            return " * ".join([*([] if key.number == 1 else [str(key.number)]), *sorted(names)])
        if isinstance(key, tuple):
            buffer, axis = key
            return f"dim({self.name(buffer)}, {axis})"
        owner = value.owner
        if isinstance(owner, AllocOp):
            return owner.label.data
        if value.name_hint:
            return value.name_hint
        return f"arg{value.index}" if isinstance(owner, Block) else "v"  # pyright: ignore[reportAttributeAccessIssue]

    def _give(self, key: object, wanted: str) -> str:
        name, k = wanted, 1
        while name in self._taken:
            name, k = f"{wanted}.{k}", k + 1
        self._taken.add(name)
        self._names[key] = name
        return name

    def affine(self, expressions: AffineList, combiner: str = "") -> str:
        """One expression, or `min(...)` of several."""
        return self._printed(print_bound, expressions, combiner)

    def element(self, buffer: SSAValue, indices: AffineList) -> str:
        """`x[i + 1, j]`"""
        return self.name(buffer) + self._printed(print_indices, indices)

    def where(self, domain: AffineList | None) -> str:
        """` where (i < n)`, nothing without a domain."""
        return "" if domain is None else self._printed(print_where, domain)

    def _printed(self, function, *arguments) -> str:
        self._printer.stream = StringIO()
        function(self._printer, *arguments)
        return self._printer.stream.getvalue()

    def loop(self, loop: ForOp) -> str:
        """`i = 0 to n step 4`, without its mark."""
        step = f" step {loop.step_value}" if loop.step_value != 1 else ""
        return f"{loop.label} = {self.affine(loop.lower, 'max')} to {self.affine(loop.upper, 'min')}{step}"

    def access(self, access: Access) -> str:
        """`reads   x[i, j]`"""
        if access.buffer is None:
            return f"{access.op.name} may touch anything"
        verb = {READ: "reads", UPDATE: "updates"}.get(access.kind, "writes")
        if access.indices is None:
            return f"{verb:8}{self.name(access.buffer)}"
        return f"{verb:8}{self.element(access.buffer, access.indices)}{self.where(access.where)}"

    def buffer_type(self, buffer_type: MemRefType, extents: list[SSAValue]) -> str:
        """`f32[n, 4]`; `extents` are those of the `?` dimensions."""
        unknown = iter(extents)
        shape = [str(n) if n >= 0 else self.name(next(unknown)) for n in buffer_type.get_shape()]
        return f"{buffer_type.element_type}[{', '.join(shape)}]"


class _NamedPrinter(Printer):
    """xDSL's printer with the names of a `NestText`."""

    def __init__(self, names: NestText):
        super().__init__(StringIO())
        self._nest_names = names

    def print_operand(self, operand: SSAValue) -> None:
        self.print_string(self._nest_names.name(operand))


def _number(value: SSAValue) -> str | None:
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    attribute = owner.value
    if isinstance(attribute, IntegerAttr):
        return str(constant_of(value))
    return str(attribute.value.data) if isinstance(attribute, FloatAttr) else None


def mark_text(loop: ForOp) -> str:
    """`parallel`, `vectorized(8)`, `block.x`; empty for a serial loop."""
    if loop.kind == "vectorized" and loop.width is not None:
        return f"vectorized({loop.width.value.data})"
    if loop.kind in BIND_AXES:
        return f"bound to {loop.kind}"
    return "" if loop.kind == "serial" else loop.kind


def line_text(op: Operation) -> str:
    """`prog.py:12`, empty where the source is not known."""
    location = op_location(op)
    if location is None or not location.line:
        return ""
    return f"{location.file.rpartition('/')[2]}:{location.line}"
