"""The `nest` dialect: loop nests over buffers, in the spirit of PyTorch's TensorExpr.

func.func @rows(%x: memref<?x?xf32>, %out: memref<?xf32>) {
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    nest.store "s" %zero, %out[%i] : memref<?xf32>
    nest.for "j" %j = 0 to %m {
      %v = nest.load %x[%i, %j] : memref<?x?xf32>
      nest.accumulate "s" add %v, %out[%i] : memref<?xf32>
    }
  }
  func.return
}
"""

from xdsl.ir import Dialect

from .access import AccessOp, LoadOp, StatementOp, StoreOp
from .accumulate import ATOMIC_BITS, ATOMIC_COMBINERS, COMBINERS, ORDERS, AccumulateOp, YieldOp, is_atomic
from .barrier import BarrierOp
from .buffer import AllocOp, IndexOp, LookupOp
from .loop import (
    BIND_AXES,
    BLOCK_AXES,
    LANES,
    LANES_ALONG,
    MARKS,
    MAX_THREADS,
    THREAD_AXES,
    ForOp,
    IfOp,
    told_apart,
    with_lanes,
)
from .prefetch import PrefetchOp

NEST = Dialect(
    "nest",
    [ForOp, LoadOp, StoreOp, AccumulateOp, AllocOp, IndexOp, LookupOp, IfOp, YieldOp, BarrierOp, PrefetchOp],
    [],
)

__all__ = [
    "ATOMIC_BITS",
    "ATOMIC_COMBINERS",
    "BIND_AXES",
    "BLOCK_AXES",
    "COMBINERS",
    "LANES",
    "LANES_ALONG",
    "MARKS",
    "MAX_THREADS",
    "NEST",
    "ORDERS",
    "THREAD_AXES",
    "AccessOp",
    "AccumulateOp",
    "AllocOp",
    "BarrierOp",
    "ForOp",
    "IfOp",
    "IndexOp",
    "LoadOp",
    "LookupOp",
    "PrefetchOp",
    "StatementOp",
    "StoreOp",
    "YieldOp",
    "is_atomic",
    "told_apart",
    "with_lanes",
]
