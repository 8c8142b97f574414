"""nest-cache-write: an iteration writes to a buffer of its own, which is stored back at its end.

    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        nest.store "y" %zero, %y[%i, %j] : memref<?x?xf32>
        nest.for "k" %k = 0 to %p {
          nest.accumulate "y" add %c, %y[%i, %j] : memref<?x?xf32>
        }
      }
    }

with buffer=y, loop=j becomes

    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        %y_local = nest.alloc "y_local" : memref<f32>
        nest.store "y" %zero, %y_local[] : memref<f32>
        nest.for "k" %k = 0 to %p {
          nest.accumulate "y" add %c, %y_local[] : memref<f32>
        }
        %r = nest.load %y_local[] : memref<f32>
        nest.store "y" %r, %y[%i, %j] : memref<?x?xf32>
      }
    }

init=load: the elements that are not proved to be stored before they are read are loaded first; exact for every
order of a reduction. With init=identity, for a buffer that the loop only accumulates into,

    nest.for "k" %k = 0 to %p {
      nest.accumulate "y" add %c, %y[%i, %j] : memref<?x?xf32>
    }

with loop=i starts from the identity of the combiner and is accumulated at the end: as a reduction in any order may
be. Elements of the window that the loop does not write go back as they were loaded. Where the window extends beyond the
buffer, the loops that copy end at its edge (tail=clamp), or run over all of it and mask their statements (tail=mask).

Refused when the loop touches the buffer in another way (through a view, an alias) after it has written it, or writes it
so before it reads it; when an error in the loop would lose what was written before it; when an element that is loaded
may never have been written, which is so for results and buffers of the function unless the loop reads it or something
before the loop has written it for certain; and when elements that the loop does not write would go back while other
threads write them. `cache_write` in TVM, `in().compute_at` of a wrapper in Halide, `stage_mem` in
Exo, `cacheAccesses` in NNC.
"""

from __future__ import annotations

from typing import Literal

from xdsl.ir import SSAValue

from ....analysis.nest.sets.dependence import Dependences
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AllocOp, ForOp
from .staging import plan_updates, request_for
from .staging_copies import carry_out

Init = Literal["load", "identity"]
Tail = Literal["clamp", "mask"]

_VERB = "cache what is written of"


def why_not_cache_write(
    buffer: AllocOp | SSAValue,
    loop: ForOp,
    init: Init = "load",
    space: str = "global",
    axes: tuple[int, ...] = (),
    dependences: Dependences | None = None,
) -> NestorError | None:
    """The diagnostic that refuses to write to a copy in `loop`, None when it is legal."""
    plan = plan_updates(request_for(_VERB, buffer, loop, space, axes, dependences), init)
    return plan if isinstance(plan, NestorError) else None


def cache_write(
    buffer: AllocOp | SSAValue,
    loop: ForOp,
    init: Init = "load",
    space: str = "global",
    name: str | None = None,
    axes: tuple[int, ...] = (),
    dependences: Dependences | None = None,
    tail: Tail = "clamp",
) -> tuple[AllocOp, ForOp | None, ForOp | None]:
    """Let an iteration of `loop` write to a copy: the new buffer, and the loops that fill it and store it back.

    A loop is None where there is nothing to fill, or one element to copy. Raises the diagnostic of
    `why_not_cache_write`.
    """
    plan = plan_updates(request_for(_VERB, buffer, loop, space, axes, dependences), init)
    if isinstance(plan, NestorError):
        raise plan
    return carry_out(plan, space, name, tail)
