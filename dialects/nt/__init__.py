"""The `nt` dialect: immutable tensors, NumPy semantics made explicit.

    func.func @scaled(%x: tensor<100x1000xf32>, %w: tensor<1000xf32>) -> tensor<100x1000xf32> {
      %0 = nt.broadcast %w along [1] : tensor<1000xf32> -> tensor<100x1000xf32>
      %1 = nt.multiply %x, %0 : tensor<100x1000xf32>
      func.return %1 : tensor<100x1000xf32>
    }

`elementwise.py` is the one table of elementwise operations, `reductions.py` that of the reductions, `ops.py` has the rest.
"""

from xdsl.ir import Dialect

from .elementwise import ELEMENTWISE, Elementwise
from .elementwise_ops import ELEMENTWISE_OPS, ElementwiseOp
from .ops import (
    BatchOp,
    BroadcastOp,
    CastOp,
    CheckpointOp,
    CompositeOp,
    ConstantOp,
    CustomCallOp,
    DimOp,
    DotOp,
    EmptyOp,
    FromScalarOp,
    FusionOp,
    IotaOp,
    JvpOp,
    LoopsOp,
    OptimizationBarrierOp,
    ReduceOp,
    ReshapeOp,
    ScanOp,
    SliceOp,
    StopGradientOp,
    ToScalarOp,
    TransposeOp,
    VjpOp,
    WindowOp,
    YieldOp,
)
from .reductions import REDUCTIONS, Reduction

STRUCTURE_OPS = [
    ConstantOp,
    EmptyOp,
    IotaOp,
    FromScalarOp,
    ToScalarOp,
    DimOp,
    CastOp,
    BroadcastOp,
    ReshapeOp,
    TransposeOp,
    SliceOp,
    ReduceOp,
    DotOp,
    ScanOp,
    FusionOp,
    WindowOp,
    CompositeOp,
    CustomCallOp,
    LoopsOp,
    VjpOp,
    JvpOp,
    BatchOp,
    StopGradientOp,
    CheckpointOp,
    OptimizationBarrierOp,
    YieldOp,
]

NT = Dialect("nt", [*ELEMENTWISE_OPS.values(), *STRUCTURE_OPS], [])

__all__ = [
    "ELEMENTWISE",
    "ELEMENTWISE_OPS",
    "NT",
    "REDUCTIONS",
    "BatchOp",
    "BroadcastOp",
    "CastOp",
    "CheckpointOp",
    "CompositeOp",
    "ConstantOp",
    "CustomCallOp",
    "DimOp",
    "DotOp",
    "Elementwise",
    "ElementwiseOp",
    "EmptyOp",
    "FromScalarOp",
    "FusionOp",
    "IotaOp",
    "JvpOp",
    "LoopsOp",
    "OptimizationBarrierOp",
    "ReduceOp",
    "Reduction",
    "ReshapeOp",
    "ScanOp",
    "SliceOp",
    "StopGradientOp",
    "ToScalarOp",
    "TransposeOp",
    "VjpOp",
    "WindowOp",
    "YieldOp",
]
