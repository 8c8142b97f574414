"""nest-reuse-buffers: intermediates live in a result, or in each other's buffer, where no element is needed twice.

    %e = nest.alloc "e"(%n, %m) : memref<?x?xf32>
    nest.for "i" %i = 0 to %n {                           nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {                           nest.for "j" %j = 0 to %m {
        nest.store "e" %a, %e[%i, %j]                         nest.store "e" %a, %out[%i, %j]
      }                                              ->     }
      nest.for "j.1" %k = 0 to %m {                         nest.for "j.1" %k = 0 to %m {
        %b = nest.load %e[%i, %k]                             %b = nest.load %out[%i, %k]
        %c = arith.divf %b, %s                                %c = arith.divf %b, %s
        nest.store "y" %c, %out[%i, %k]                       nest.store "y" %c, %out[%i, %k]
      }                                                     }
    }                                                     }

Two buffers of one type and equal extents share memory when each element of the first has been read for the
last time before that element of the second is first written. Proved by the order of the statements, and by
equal indices in the loops that they share; what needs more than that stays. A result takes part when it
overlaps no argument, and comes last: its elements are what the caller sees. A copy of a buffer to itself, which
is what remains of a copy to a result, is removed. Buffers made inside loops, scalars and buffers that are seen
through views stay as they are.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp


def reuse_buffers(function: FuncOp) -> int:
    """Let the buffers of `function` share memory; the number of allocations that are gone."""
    groups = _results(function)
    removed = 0
    positions = {op: k for k, op in enumerate(function.walk())}
    for buffer in _allocated(function):
        group = next((g for g in groups if g.admits(buffer)), None)
        if group is None:
            groups.append(_Group([buffer]))
            continue
        group.members.append(buffer)
        removed += 1
    for group in groups:
        group.merge()
    if removed:
        _drop_self_copies(function)
    return removed
