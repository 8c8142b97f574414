"""Which rule differentiates which operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Operation

from ....dialects.nt.elementwise_ops import ElementwiseOp
from ....dialects.nt.ops import (
    BroadcastOp,
    CastOp,
    CheckpointOp,
    CompositeOp,
    CustomCallOp,
    DotOp,
    FromScalarOp,
    LoopsOp,
    OptimizationBarrierOp,
    ReduceOp,
    ReshapeOp,
    ScanOp,
    SliceOp,
    ToScalarOp,
    TransposeOp,
    WindowOp,
)
from ..control import branches, checkpoints, conditional, counted
from ..islands import adjoint, tangent
from . import composites, elementwise, products, reductions, shapes, windows
from .calls import table as calls

_REVERSE: dict[type[Operation], Callable[..., Any]] = {
    CastOp: shapes.cast_reverse,
    BroadcastOp: shapes.broadcast_reverse,
    ReshapeOp: shapes.reshape_reverse,
    TransposeOp: shapes.transpose_reverse,
    SliceOp: shapes.slice_reverse,
    WindowOp: windows.window_reverse,
    FromScalarOp: shapes.from_scalar_reverse,
    ToScalarOp: shapes.to_scalar_reverse,
    DotOp: products.dot_reverse,
    ReduceOp: reductions.reduce_reverse,
    ScanOp: reductions.scan_reverse,
    CompositeOp: composites.reverse,
    scf.IfOp: branches.if_reverse,
    scf.ForOp: counted.for_reverse,
    scf.WhileOp: conditional.while_reverse,
    CheckpointOp: checkpoints.checkpoint_reverse,
    OptimizationBarrierOp: shapes.barrier_reverse,
    LoopsOp: adjoint.reverse,
    CustomCallOp: calls.reverse,
}

_FORWARD: dict[type[Operation], Callable[..., Any]] = {
    CastOp: shapes.cast_forward,
    BroadcastOp: shapes.linear_forward,
    ReshapeOp: shapes.linear_forward,
    TransposeOp: shapes.linear_forward,
    SliceOp: shapes.linear_forward,
    WindowOp: shapes.linear_forward,
    FromScalarOp: shapes.scalar_forward,
    ToScalarOp: shapes.scalar_forward,
    DotOp: products.dot_forward,
    ReduceOp: reductions.reduce_forward,
    ScanOp: reductions.scan_forward,
    CompositeOp: composites.forward,
    scf.IfOp: branches.if_forward,
    scf.ForOp: counted.for_forward,
    scf.WhileOp: conditional.while_forward,
    OptimizationBarrierOp: shapes.barrier_forward,
    LoopsOp: tangent.forward,
    CustomCallOp: calls.forward,
}


def reverse_rule(op: Operation) -> Callable[..., Any] | None:
    """What reverse mode does with an operation; None where it has no derivative."""
    return elementwise.reverse if isinstance(op, ElementwiseOp) else _REVERSE.get(type(op))


def forward_rule(op: Operation) -> Callable[..., Any] | None:
    """What forward mode does with an operation; None where it has no derivative."""
    return elementwise.forward if isinstance(op, ElementwiseOp) else _FORWARD.get(type(op))
