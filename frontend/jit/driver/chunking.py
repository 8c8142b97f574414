"""`nt.chunking`: how the results of a function may be computed in chunks, as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....dialects.tracebacks import boundary
from .jit import jit
from .jit_function import JitFunction

if TYPE_CHECKING:
    from ....analysis.nest.sets.chunking_text import ChunkingData


@boundary
def chunking(function: Callable[..., Any], *specs: Any, **named: Any) -> ChunkingData:
    """For each axis of each result: how it may be cut, which parts of the inputs a chunk needs, and why not more.

        found = nt.chunking(lambda x: x[2:] - x[:-2], nt.spec(("n",), "f8"))
        found.results[0].kind                     # "halo"
        found.results[0].needs[0].halo            # (0, 2): x[lo : hi + 2] gives result[lo:hi]
        print(found)                              # all of it, with lines of Python

    `function` is jitted or plain; `specs` are arrays, numbers or `nt.spec`s, as for `lower`. Nothing is run. A box of a
    result is `lo <= index < hi` along one axis and whole along the others; an input that has no need is not read. Halos of
    several steps are composed. A reduction that every box needs is in `after`, and in `reductions`: it is complete before.

    Raises what `lower` raises, for functions that are not compiled and arguments that no function takes.
    """
    from ....analysis.nest.sets.chunking_text import chunking_data
    from ..specialise.stages import lowered_copy
    from .inspection import function_of

    jitted = function if isinstance(function, JitFunction) else jit(function)
    low = jitted.lower(*specs, **named)
    nests = lowered_copy(low.program.module, ("to-loops",), machine=low.owner.machine)
    return chunking_data(function_of(nests, low.program.name))
