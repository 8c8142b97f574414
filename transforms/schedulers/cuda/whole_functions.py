"""What takes several nests of a function together (part of nest-schedule-cuda), before each nest is bound by itself.

    nest.for "i" ... { ... nest.accumulate "c" add %p, %c[%i, %j] }       // a product
    nest.for "i.1" ... { ... relu of %c[%i, %j] to %y[%i, %j] }           // and what uses it
  becomes
    nest.for "i.o" ... bind "block.y" { ... tiles of sums, which are used in registers }

The rows are `WHOLE`, in their order; each is done as far as it is legal, and leaves to the next what it does not take. Of
nests of sums `SUMS` says which tiles they get.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp

from ....analysis.machine import Gpu
from ....dialects.nest import ForOp
from ...nest.rewrite.steps import Steps
from ..patterns.tuples import has_tuples, lift_tuples
from ..strategies import Strategy, each_of, first_of
from .attention.schedule_attention import inline_masks, schedule_attention
from .attention.schedule_chains import schedule_chains
from .column_programs import schedule_column_programs
from .contractions import schedule_contraction
from .convolutions import schedule_convolution
from .grid import is_scheduled, units
from .kernels import segment
from .long_columns import schedule_long_columns
from .matrix_convolutions import schedule_matrix_convolution
from .padded_images import inline_padded_images
from .pooling import schedule_windows
from .products import schedule_product
from .tensor_cores import schedule_matrix_product, schedule_tensor_cores


@dataclass(eq=False)
class Whole:
    """A function whose nests are bound."""

    function: FuncOp
    gpu: Gpu
    steps: Steps


def schedule_whole(function: FuncOp, gpu: Gpu, steps: Steps) -> None:
    """Do to the nests of a function what takes several of them."""
    each_of(WHOLE, function.sym_name.data, Whole(function, gpu, steps), steps)


@dataclass(eq=False)
class Sums:
    """A nest that may be one of sums."""

    nest: ForOp
    gpu: Gpu
    steps: Steps


def _tile_sums(whole: Whole) -> None:
    for nest in list(units(whole.function.body.block)):
        if nest.parent is not None and isinstance(nest, ForOp) and not is_scheduled(nest):
            first_of(SUMS, nest.label, Sums(nest, whole.gpu, whole.steps))


# ---- the rows ---------------------------------------------------------------------------------------

SUMS = (
    Strategy(
        "tensor cores",
        "products of what tensor cores multiply",
        lambda sums: schedule_matrix_product(sums.nest, sums.gpu, sums.steps),
    ),
    Strategy(
        "contraction by tensor cores",
        "sums over several loops of what tensor cores multiply",
        lambda sums: schedule_matrix_convolution(sums.nest, sums.gpu, sums.steps),
    ),
    Strategy(
        "tiles of a product",
        "products of matrices, and reductions of other functions of two factors",
        lambda sums: schedule_product(sums.nest, sums.gpu, sums.steps),
    ),
    Strategy(
        "convolution",
        "sums over several loops",
        lambda sums: schedule_convolution(sums.nest, sums.gpu, sums.steps),
    ),
    Strategy("windows", "reductions over windows", lambda sums: schedule_windows(sums.nest, sums.steps)),
    Strategy(
        "contraction by threads",
        "other sums of products over several loops",
        lambda sums: schedule_contraction(sums.nest, sums.gpu, sums.steps),
    ),
)
"""What takes a nest of sums with the nests around it, before these are bound."""

WHOLE = (
    Strategy(
        "reductions of tuples apart",
        "reductions of several values at once",
        lambda whole: lift_tuples(whole.function, whole.steps),
        lambda whole: has_tuples(whole.function),
    ),
    Strategy(
        "masks computed where they are used",
        "attention with a mask",
        lambda whole: inline_masks(whole.function, whole.steps),
    ),
    Strategy(
        "attention by tensor cores",
        "attention whose products are both those of tensor cores",
        lambda whole: schedule_attention(whole.function, whole.gpu, whole.steps, narrow=True),
    ),
    Strategy(
        "chains by tensor cores",
        "products of what is computed of other products, all of them those of tensor cores",
        lambda whole: schedule_chains(whole.function, whole.gpu, whole.steps, narrow=True),
    ),
    Strategy(
        "products by tensor cores",
        "products that tensor cores can compute, with the casts and nests around them",
        lambda whole: schedule_tensor_cores(whole.function, whole.gpu, whole.steps),
    ),
    Strategy(
        "attention",
        "attention of other types",
        lambda whole: schedule_attention(whole.function, whole.gpu, whole.steps, narrow=False),
    ),
    Strategy(
        "chains",
        "products of what is computed of other products",
        lambda whole: schedule_chains(whole.function, whole.gpu, whole.steps, narrow=False),
    ),
    Strategy("kernels", "nests that can be one kernel", lambda whole: segment(whole.function, whole.steps)),
    Strategy("sums", "products, convolutions, and reductions over windows", _tile_sums),
    Strategy(
        "images padded where they are read",
        "reductions over windows of padded images",
        lambda whole: inline_padded_images(whole.function, whole.steps),
    ),
    Strategy(
        "long columns",
        "reductions of long columns, and sums relative to their results",
        lambda whole: schedule_long_columns(whole.function, whole.gpu, whole.steps),
    ),
    Strategy(
        "programs of columns",
        "sums of short columns, and what is computed with them",
        lambda whole: schedule_column_programs(whole.function, whole.gpu, whole.steps),
    ),
)
"""What is done to a function, in this order."""
