"""The nt operations that are not elementwise, from the modules that define them."""

from .batch_op import BatchOp
from .checkpoint_ops import CheckpointOp, OptimizationBarrierOp
from .common import INDEX, ORDERS, element_of, shape_of
from .composite_op import CompositeOp
from .custom_call import CustomCallOp
from .derivative_ops import JvpOp, StopGradientOp, VjpOp
from .dot_op import DotOp
from .reduce_op import ReduceOp
from .region_ops import FusionOp, LoopsOp, YieldOp
from .scan_op import ScanOp
from .shape_ops import BroadcastOp, CastOp, ReshapeOp, SliceOp, TransposeOp
from .source_ops import EmptyOp, IotaOp
from .value_ops import ConstantOp, DimOp, FromScalarOp, ToScalarOp
from .window_op import WindowOp

__all__ = [
    "INDEX",
    "ORDERS",
    "BatchOp",
    "BroadcastOp",
    "CastOp",
    "CheckpointOp",
    "CompositeOp",
    "ConstantOp",
    "CustomCallOp",
    "DimOp",
    "DotOp",
    "EmptyOp",
    "FromScalarOp",
    "FusionOp",
    "IotaOp",
    "JvpOp",
    "LoopsOp",
    "OptimizationBarrierOp",
    "ReduceOp",
    "ReshapeOp",
    "ScanOp",
    "SliceOp",
    "StopGradientOp",
    "ToScalarOp",
    "TransposeOp",
    "VjpOp",
    "WindowOp",
    "YieldOp",
    "element_of",
    "shape_of",
]
