"""nt-autocast: products in 16 bits, and what follows them; the rest stays in single precision.

    func.func @f(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> tensor<8xf32> {
      %0 = nt.dot %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32> -> tensor<8x5xf32>
      %1 = nt.absolute %0 : tensor<8x5xf32>
      %2 = nt.reduce add %1 over [1] : tensor<8x5xf32> -> tensor<8xf32>
      func.return %2 : tensor<8xf32>
    }
  becomes, with to=bf16
    func.func @f(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> tensor<8xf32> {
      %w_1 = nt.cast %w : tensor<4x5xf32> -> tensor<4x5xbf16>
      %x_1 = nt.cast %x : tensor<8x4xf32> -> tensor<8x4xbf16>
      %0 = nt.dot %x_1, %w_1 contract [1] x [0] : tensor<8x4xbf16>, tensor<4x5xbf16> -> tensor<8x5xf32>
      %1 = nt.cast %0 : tensor<8x5xf32> -> tensor<8x5xbf16>
      %3 = nt.absolute %1 : tensor<8x5xbf16>
      %4 = nt.cast %3 : tensor<8x5xbf16> -> tensor<8x5xf32>
      %2 = nt.reduce add %4 over [1] : tensor<8x5xf32> -> tensor<8xf32>
      func.return %2 : tensor<8xf32>
    }

`ruling` is the table: products (and so convolutions) are `LOW`, cheap operations element by element and views `FOLLOW`
their operands, all else is `HIGH`. What follows is in 16 bits where all of its operands are, constants aside; an operand in
single precision makes it that. Products are summed in f32: what is `HIGH` takes the sums, what follows takes them rounded. A
value is cast once, where it is made, of a view what that is a view of; casts there and back are not made. The types of
arguments and results stay. So do those of float64 and of 16 bits that the program itself asks for, composites as a whole,
and islands of loops.

With `to=auto` a function is cast as its attribute `nt.autocast` says (`nt.jit(autocast="bf16")`). The table is that of
torch.autocast, but for operations that NumPy writes as several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, ModuleOp, StringAttr, TensorType, bf16, f16
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.attributes import NT_AUTOCAST
from ...dialects.diagnostic import fail
from ...dialects.nt import BroadcastOp, CastOp, CompositeOp, ConstantOp, DotOp
from ...dialects.nt.elementwise_ops import ElementwiseOp
from ...dialects.nt.work import Effort, Role, effort_of, role_of

TYPES: dict[str, Attribute] = {"bf16": bf16, "f16": f16}
"""What single precision is cast to, by name."""


class Ruling(Enum):
    """In which precision an operation runs."""

    LOW = "in 16 bits, summed in 32"
    FOLLOW = "in 16 bits where all of its operands are"
    HIGH = "in 32 bits"


def ruling(op: Operation) -> Ruling:
    """The table: in which precision an operation runs."""
    if isinstance(op, DotOp):
        return Ruling.LOW
    if role_of(op) is Role.VIEW:
        return Ruling.FOLLOW
    if isinstance(op, ElementwiseOp) and effort_of(op) is Effort.CHEAP and not op.row.on_bits:
        return Ruling.FOLLOW
    return Ruling.HIGH


def autocast(function: FuncOp, to: Attribute) -> None:
    """Let a function compute in 16 bits what may be: `to` is bf16 or f16."""
    caster = _Caster(to)
    for op in list(_operations(function)):
        caster.rewrite(op)
    caster.drop_unused()


def _operations(op: Operation) -> Iterator[Operation]:
    """The operations in regions of an operation; those of composites and of islands, whose regions are theirs, not."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield inner
                if not isinstance(inner, CompositeOp) and role_of(inner) is None:
                    yield from _operations(inner)


class _Caster:
    """Knows of values in single precision which ones are those of 16 bits."""

    def __init__(self, to: Attribute):
        self._to = to
        self._low: dict[SSAValue, SSAValue] = {}
        """Of a value in f32 the one in 16 bits, once there is one."""
        self._followed: set[SSAValue] = set()
        """The values in f32 that are sums of products, or follow them."""

    def rewrite(self, op: Operation) -> None:
        """Let an operation, the operands of which are as they will be, run in 16 bits where it may."""
        how = ruling(op)
        if how is Ruling.HIGH or not _is_single(op):
            return
        if how is Ruling.FOLLOW and not self._follows(op):
            return
        if role_of(op) is Role.VIEW:  # it is one of 16 bits for who wants these
            self._followed.update(op.results)
            return
        new = self._narrowed(op, sums=how is Ruling.LOW)
        for old, result in zip(op.results, new.results, strict=True):
            high = result
            if result.type != old.type:
                up = CastOp(result, old.type)  # pyright: ignore[reportArgumentType]
                up.location = op.location
                _insert_before(up, op)
                high = up.result
                self._low[high] = result
            if _is_f32(high.type):
                self._followed.add(high)
            old.replace_all_uses_with(high)
        op.detach()
        op.erase()

    def _narrowed(self, op: Operation, *, sums: bool = False) -> Operation:
        """An operation in 16 bits, before that in 32; `sums`: its results stay in 32."""
        new = type(op).create(
            operands=[self._lowered(v) if _is_f32(v.type) else v for v in op.operands],
            result_types=[
                r.type if sums or not _is_f32(r.type) else self._narrow(r.type) for r in op.results
            ],
            properties=op.properties,
            attributes=op.attributes,
            location=op.location,
        )
        _insert_before(new, op)
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint
        return new

    def _follows(self, op: Operation) -> bool:
        """Whether all operands are sums of products, or follow them, but for constants."""
        floats = [v for v in op.operands if _is_f32(v.type)]
        return any(v in self._followed for v in floats) and all(
            v in self._followed or _is_constant(v) for v in floats
        )

    def _lowered(self, value: SSAValue) -> SSAValue:
        """A value in 16 bits, cast where it is made: of a view what that is a view of."""
        if value in self._low:
            return self._low[value]
        owner = value.owner
        if isinstance(owner, CastOp) and owner.source.type == self._narrow(value.type):
            low = owner.source
        elif isinstance(owner, Operation) and role_of(owner) is Role.VIEW and _is_single(owner):
            low = self._narrowed(owner).results[0]
        else:
            low = self._cast(value, self._narrow(value.type), owner)
            low.name_hint = value.name_hint
        self._low[value] = low
        return low

    def _cast(self, value: SSAValue, to: Attribute, after: Operation | Block) -> SSAValue:
        """The cast of a value, behind what makes it."""
        cast = CastOp(value, to)  # pyright: ignore[reportArgumentType]
        if isinstance(after, Block):
            first = after.first_op
            assert first is not None
            cast.location = first.location
            after.insert_op_before(cast, first)
        else:
            cast.location = after.location
            assert after.parent is not None
            after.parent.insert_op_after(cast, after)
        return cast.result

    def _narrow(self, tensor: Attribute) -> TensorType:
        assert isinstance(tensor, TensorType)
        return TensorType(self._to, tensor.get_shape())  # pyright: ignore[reportArgumentType]

    def drop_unused(self) -> None:
        """Erase the casts to f32, and the views in f32, that nobody wanted."""
        for high in reversed(list(self._low)):
            owner = high.owner
            is_idle = isinstance(owner, CastOp) or (
                isinstance(owner, Operation) and role_of(owner) is Role.VIEW
            )
            if is_idle and not high.uses:
                owner.detach()  # pyright: ignore[reportAttributeAccessIssue]
                owner.erase()  # pyright: ignore[reportAttributeAccessIssue]


def _is_f32(tensor: Attribute) -> bool:
    return isinstance(tensor, TensorType) and isinstance(tensor.element_type, Float32Type)


def _is_single(op: Operation) -> bool:
    """Whether the floats of an operation are of single precision, all of them: no others are cast."""
    tensors = [v.type for v in (*op.operands, *op.results) if isinstance(v.type, TensorType)]
    floats = [t for t in tensors if t.element_type.name in ("f16", "bf16", "f32", "f64", "complex")]
    return any(map(_is_f32, floats)) and all(map(_is_f32, floats))


def _is_constant(value: SSAValue) -> bool:
    """Whether a value is a number, or as many of it as are wanted."""
    owner = value.owner
    while isinstance(owner, BroadcastOp):
        owner = owner.source.owner
    return isinstance(owner, ConstantOp)


def _insert_before(new: Operation, op: Operation) -> None:
    assert op.parent is not None
    op.parent.insert_op_before(new, op)


@dataclass(frozen=True, eq=False)
class NtAutocastPass(ModulePass):
    """Compute products in 16 bits, and what follows them."""

    name = "nt-autocast"

    to: str = "auto"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [one for one in op.walk() if isinstance(one, FuncOp) and one.body.blocks]:
            given = function.attributes.get(NT_AUTOCAST)
            name = given.data if self.to == "auto" and isinstance(given, StringAttr) else self.to
            if name == "auto":
                continue
            if name not in TYPES:
                raise fail(function, f'nothing is cast to "{name}"', hint=f"one of {', '.join(TYPES)}")
            autocast(function, TYPES[name])
