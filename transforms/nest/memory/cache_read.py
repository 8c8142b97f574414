"""nest-cache-read: the part of a buffer that an iteration reads is copied to a buffer of its own first.

    nest.for "j.o" %o = 0 to %m ceildiv 16 {
      nest.for "k" %k = 0 to %p {
        nest.for "j.i" %v = 0 to min(16, %m - 16 * %o) {
          %b = nest.load %w[%k, 16 * %o + %v] : memref<?x?xf32>
          ...
        }
      }
    }

with buffer=w, loop=j.o becomes

    nest.for "j.o" %o = 0 to %m ceildiv 16 {
      %w_local = nest.alloc "w_local"(%p) : memref<?x16xf32>
      nest.for "w_local.load.ax0" %a = 0 to %p {
        nest.for "w_local.load.ax1" %b = 0 to min(16, %m - 16 * %o) {
          %e = nest.load %w[%a, 16 * %o + %b] : memref<?x?xf32>
          nest.store "w_local" %e, %w_local[%a, %b] : memref<?x16xf32>
        }
      }
      nest.for "k" %k = 0 to %p {
        nest.for "j.i" %v = 0 to min(16, %m - 16 * %o) {
          %b = nest.load %w_local[%k, %v] : memref<?x16xf32>
          ...
        }
      }
    }

The copy has the axes of the buffer along which the window is more than one element, in the order `axes` (all
axes of the buffer: axes=1,0 packs columns). What extends beyond the buffer is not copied; with tail=zero the copy is as
large as the window there as well, and holds zeros. With along=j.i only the reads that move with that loop go to the copy:
where a buffer is both operands of a product, one of them is packed. With axis=1 as well, only those that it moves along
that axis of the buffer: a matrix is added to its transpose. With converted=true the copy holds what the reads convert an
element to (`arith.extf` to f32), all of them to the same type and nothing else with it: an element is converted once,
where it is copied.

Refused when an iteration may write an element, or memory that may be the same, before it reads it; when the window is
not affine in what is known where the iteration starts; and when the window may hold elements that the loop does not
read while these may be unwritten (nothing before the loop writes them for certain), or are being written by another
thread. `cache_read` in TVM, `in().compute_at` in Halide,
`stage_mem` in Exo, `cacheAccesses` in NNC.
"""

from __future__ import annotations

from typing import Literal

from xdsl.ir import SSAValue

from ....analysis.nest.sets.dependence import Dependences
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AllocOp, ForOp
from .staging import plan_reads, request_for
from .staging_copies import carry_out

_VERB = "cache what is read of"

Tail = Literal["clamp", "zero"]


def why_not_cache_read(
    buffer: AllocOp | SSAValue,
    loop: ForOp,
    space: str = "global",
    axes: tuple[int, ...] = (),
    dependences: Dependences | None = None,
    along: str | None = None,
    axis: int | None = None,
    converted: bool = False,
) -> NestorError | None:
    """The diagnostic that refuses to copy what `loop` reads, None when it is legal."""
    plan = plan_reads(request_for(_VERB, buffer, loop, space, axes, dependences, along, axis, converted))
    return plan if isinstance(plan, NestorError) else None


def cache_read(
    buffer: AllocOp | SSAValue,
    loop: ForOp,
    space: str = "global",
    name: str | None = None,
    axes: tuple[int, ...] = (),
    dependences: Dependences | None = None,
    along: str | None = None,
    axis: int | None = None,
    converted: bool = False,
    tail: Tail = "clamp",
) -> tuple[AllocOp, ForOp | None]:
    """Copy what an iteration of `loop` reads of `buffer`: the new buffer, and the outermost loop that copies.

    The loop is None where the copy is one element. Raises the diagnostic of `why_not_cache_read`.
    """
    plan = plan_reads(request_for(_VERB, buffer, loop, space, axes, dependences, along, axis, converted))
    if isinstance(plan, NestorError):
        raise plan
    alloc, copy, _ = carry_out(plan, space, name, tail)
    return alloc, copy
