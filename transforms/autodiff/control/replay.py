"""A block of the program and its reverse: what is computed again there, and what must be kept until then.

The reverse is made from a copy of the block, which computes everything again; then a minimum cut (`tensor/partition.py`)
says what to keep instead. What is expensive (products, reductions, calls, islands, loops) is kept where its extents are
known before the loop, what has an effect always; elementwise operations and views are computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, NoReturn

from xdsl.dialects import cf, func, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....analysis.tensor.effects import CONTROL
from ....dialects.diagnostic import fail
from ....dialects.nt.elementwise_ops import ElementwiseOp
from ....dialects.nt.ops import (
    CheckpointOp,
    CompositeOp,
    CustomCallOp,
    DimOp,
    DotOp,
    LoopsOp,
    ReduceOp,
    ScanOp,
    element_of,
    shape_of,
)
from ....dialects.nt.types import width_of
from ...tensor.partition import Prices, partition
from ..activity import active_values, used_from_outside
from ..masks import CHOOSING, Mask
from ..opened import opened
from .outer_extents import Extent, OuterExtents

if TYPE_CHECKING:
    from ..reverse import Reverse


class Wanted(Enum):
    """What is kept of a block."""

    NOTHING = "what happens once"
    PRODUCTS = "what is expensive too"
    ALL = "what the reverse reads"


_EXPENSIVE = (DotOp, ReduceOp, ScanOp, CompositeOp, CheckpointOp, CustomCallOp, LoopsOp, *CONTROL)
_OPERATIONS = 1 << 12
"""How many operations cost as much as a byte that is kept: of cuts that keep the same, the one that does less again."""
_GUESS = 64
"""An extent that is not known, where the costs of two values are compared."""


@dataclass(eq=False)
class Kept:
    """A value of the block that is kept, and what stands for it in the reverse."""

    value: SSAValue
    stand_in: SSAValue
    extents: list[Extent]
    result: SSAValue | None = None
    """Where the forward run leaves it."""
    first: SSAValue | None = None
    """What the loop starts from: it is first on the stack, and what an iteration gives is a place further."""
    shares: Kept | None = None
    """What an iteration gives, on whose stack this is: what the next one starts from."""


class Replay:
    """The reverse of a block.

    `primal`: a copy of the block, with its end. `reverse`: the block that cotangents are computed in, by `inner`.
    """

    def __init__(
        self,
        source: Block,
        reverse: Block,
        active_arguments: Iterable[int],
        to: Reverse,
        silent: bool = False,
    ):
        self.reverse = reverse
        self.primal = copy_of(source)
        if silent:
            silence(self.primal)
        self.starts = {self.primal.args[k] for k in active_arguments}
        outer = {v for v in captured(source) if to.wants(v)}
        ops = opened(list(self.primal.ops)[:-1], self.starts | outer, [], reverse=True)
        self._ops = ops
        active = active_values(ops, self.starts | outer)
        self.inner = to.inside(reverse, active)

    @property
    def ends(self) -> Sequence[SSAValue]:
        """What the block gives."""
        assert self.primal.last_op is not None
        return self.primal.last_op.operands

    def run(self) -> None:
        """Make the reverse, of the cotangents of `ends` that `inner` has been given."""
        self.inner.run(self._ops)

    def choose(self, outer: OuterExtents) -> list[Kept]:
        """What must be there: values of `primal`, arguments among them."""
        self.alone(outer)
        return self._cut(outer)

    def alone(self, outer: OuterExtents) -> None:
        """Leave nothing in the reverse that it does not need, nor extents of values of the block."""
        sweep(self.reverse)
        self._name_extents(outer)

    def join(self, kept: Sequence[Kept]) -> None:
        """Put what is computed again before the reverse, in one block."""
        self.join_as({one.value: one.stand_in for one in kept})

    def join_as(self, stand_ins: Mapping[SSAValue, SSAValue]) -> None:
        """The same, of what is kept and what stands for it."""
        for value, other in stand_ins.items():
            value.replace_all_uses_with(other)
        end = self.primal.last_op
        assert end is not None
        self.primal.erase_op(end)
        sweep(self.primal)
        first = self.reverse.first_op
        for op in list(self.primal.ops):
            op.detach()
            _silence_inside(op)
            if first is None:
                self.reverse.add_op(op)
            else:
                self.reverse.insert_op_before(op, first)

    def _name_extents(self, outer: OuterExtents) -> None:
        """Extents of values of the block are those of values outside, where these are the same."""
        for block in (self.primal, self.reverse):
            for op in [o for o in block.walk() if isinstance(o, DimOp)]:
                value = op.tensor
                if value.owner is not self.primal and getattr(value.owner, "parent", None) is not self.primal:
                    continue
                extent = outer.axis(value, op.axis.value.data)
                if extent is not None:
                    op.result.replace_all_uses_with(outer.as_value(extent))

    def _cut(self, outer: OuterExtents) -> list[Kept]:
        """What a loop keeps of each iteration: only what has a place of known size before the loop."""
        extents: dict[SSAValue, list[Extent]] = {}
        for value in self._values():
            known = outer.of(value) if isinstance(value.type, TensorType) else None
            if known is not None:
                extents[value] = known

        def price(value: SSAValue) -> tuple[float, float]:
            store = _bytes(value) * _OPERATIONS if value in extents else inf
            return store, inf if is_given(value) or (_is_expensive(value) and value in extents) else 1

        def is_given(value: SSAValue) -> bool:
            return value in self.primal.args and not isinstance(value.type, IndexType)

        try:
            keep = self._least(price)
        except ValueError:
            self._refuse(extents)
        return [Kept(v, stand_in(v.type), extents[v]) for v in keep]

    def cut(self, wanted: Wanted) -> list[SSAValue]:
        """What is kept of a block that runs once: arguments of it, which are there, and what is `wanted` of the rest."""

        def price(value: SSAValue) -> tuple[float, float]:
            if value in self.primal.args:
                return 0, inf
            store = (_bytes(value) if isinstance(value.type, TensorType) else 1) * _OPERATIONS
            if wanted is Wanted.ALL:
                return 1, inf if isinstance(value.type, TensorType) else 1
            return store, inf if wanted is Wanted.PRODUCTS and _is_expensive(value) else 1

        return self._least(price)

    def _values(self) -> list[SSAValue]:
        return [*self.primal.args, *[r for op in self.primal.ops for r in op.results]]

    def _least(self, price: Callable[[SSAValue], tuple[float, float]]) -> list[SSAValue]:
        """The values that cost least to keep, and from which what the reverse needs is computed again.

        `price` says what it costs to keep a value, and to compute it again. Raises ValueError where there are none.
        """
        values = self._values()
        inside = set(values)
        needed = {v for op in self.reverse.walk() for v in op.operands if v in inside}
        if not needed:
            return []
        prices: dict[SSAValue, Prices] = {}
        for value in values:
            op = value.owner
            operands = list(used_from_outside(op)) if isinstance(op, Operation) else []
            store, compute = price(value)
            is_once = isinstance(op, Operation) and has_effect(op)
            prices[value] = Prices(store, inf if is_once else compute, [o for o in operands if o in inside])
        keep = partition(prices, needed).stored
        return [v for v in values if v in keep]

    def _refuse(self, extents: dict[SSAValue, list[Extent]]) -> NoReturn:
        for value in self._values():
            if isinstance(value.owner, Operation) and has_effect(value.owner) and value not in extents:
                raise fail(
                    value.owner,
                    "the derivative needs the result of a call that happens once, and whose extents are not known "
                    "before the loop or branch around it",
                    hint="give the function around it a derivative of its own with nt.custom_vjp",
                )
        raise AssertionError("arguments of a block are tensors whose extents are known")


def _bytes(value: SSAValue) -> int:
    total = max(width_of(element_of(value)) // 8, 1)
    for extent in shape_of(value):
        total *= _GUESS if extent == DYNAMIC_INDEX else extent
    return total + 1


def _is_expensive(value: SSAValue) -> bool:
    return isinstance(value.owner, _EXPENSIVE)


def stand_in(kind: Attribute) -> SSAValue:
    """A value of this type that is in no program: it stands for one that is put in its place later."""
    return Block(arg_types=[kind]).args[0]


def copy_of(source: Block) -> Block:
    """The block, copied."""
    block = Block(arg_types=[a.type for a in source.args])
    mapping: dict[SSAValue, SSAValue] = dict(zip(source.args, block.args, strict=True))
    for old, new in mapping.items():
        new.name_hint = old.name_hint
    for op in source.ops:
        block.add_op(op.clone(mapping))
    return block


def copy_arguments(source: Block) -> Block:
    """An empty block with the arguments of `source`."""
    block = Block(arg_types=[a.type for a in source.args])
    for new, old in zip(block.args, source.args, strict=True):
        new.name_hint = old.name_hint
    return block


def copy_into(source: Block, target: Block, mapping: dict[SSAValue, SSAValue]) -> list[SSAValue]:
    """Add the operations of `source` but the last to `target`; gives what that one would have had as operands."""
    for op in list(source.ops)[:-1]:
        target.add_op(op.clone(mapping))
    assert source.last_op is not None
    return [mapping.get(v, v) for v in source.last_op.operands]


def captured(block: Block) -> list[SSAValue]:
    """What the operations of a block use from outside of it, each once."""
    found: dict[SSAValue, None] = {}
    own: set[SSAValue] = set(block.args)
    for op in block.walk():
        own.update(op.results)
        for region in op.regions:
            for inner in region.blocks:
                own.update(inner.args)
    for op in block.walk():
        found.update((v, None) for v in op.operands if v not in own)
    return list(found)


def has_effect(op: Operation) -> bool:
    """Whether an operation does something that must not happen twice, and gives something."""
    return any(isinstance(o, CustomCallOp) and o.is_ordered for o in op.walk())


def sweep(block: Block) -> None:
    """Erase the operations that nothing needs, effects too: they belong to the forward run."""
    for op in reversed(list(block.ops)):
        if not isinstance(op, scf.YieldOp) and not any(r.uses.get_length() for r in op.results):
            block.erase_op(op)


def discard(block: Block) -> None:
    """Erase all of a block that is in no program: what it uses has one use less."""
    for op in reversed(list(block.ops)):
        block.erase_op(op)


def silence(block: Block) -> None:
    """Erase checks and prints: they have happened."""
    for op in list(block.ops):
        if isinstance(op, cf.AssertOp | func.CallOp | CustomCallOp) and not op.results:
            block.erase_op(op)
        else:
            _silence_inside(op)


def _silence_inside(op: Operation) -> None:
    for region in op.regions:
        if isinstance(op, LoopsOp):
            continue
        for block in region.blocks:
            silence(block)


def mask_of(op: Operation) -> Mask:
    """What zeros of cotangents may say of operations in the regions of `op`: they may leave elements out, or not run."""
    return Mask.any(_mask_of_one(inner) for inner in op.walk() if inner is not op)


def _mask_of_one(op: Operation) -> Mask:
    if isinstance(op, scf.IfOp) or (isinstance(op, ElementwiseOp) and op.row.name in CHOOSING):
        return Mask.ALL
    if isinstance(op, ReduceOp | ScanOp) and op.combiner.data != "add":
        return Mask.SINGULAR if op.combiner.data == "multiply" else Mask.ALL
    return Mask.SINGULAR if isinstance(op, CONTROL) else Mask.NONE
