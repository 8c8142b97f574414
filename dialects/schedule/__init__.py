"""The `schedule` dialect: what is to be done to a loop nest, step by step, as IR that is saved and replayed.

schedule.sequence @cpu {
  %i, %j = schedule.match loops ["i", "j"]
  %f = schedule.flatten %i, %j
  %o, %v = schedule.split %f by 16 tail(mask)
  %w = schedule.vectorize %v
  schedule.parallel %o
}
"""

from xdsl.ir import Dialect

from .ops import (
    HANDLE_TYPES,
    PRIMITIVE_OPS,
    BufferType,
    LoopType,
    MatchOp,
    PrimitiveOp,
    SequenceOp,
    StatementType,
)
from .table import PRIMITIVES, Primitive

SCHEDULE = Dialect(
    "schedule", [SequenceOp, MatchOp, *PRIMITIVE_OPS.values()], [LoopType, StatementType, BufferType]
)

__all__ = [
    "HANDLE_TYPES",
    "PRIMITIVES",
    "PRIMITIVE_OPS",
    "SCHEDULE",
    "BufferType",
    "LoopType",
    "MatchOp",
    "Primitive",
    "PrimitiveOp",
    "SequenceOp",
    "StatementType",
]
