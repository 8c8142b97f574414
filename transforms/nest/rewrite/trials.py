"""Primitives made of others: a trial on a copy of the function finds out whether each of the steps is legal.

trial(change, buffer, loop)     # raises what `change` raises; the function stays as it is
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from ....analysis.nest.loop_structure import enclosing_function


def trial(change: Callable[..., Any], *targets: Operation) -> None:
    """Do `change` to the targets in a copy of the function; raises its refusal."""
    copy_of = copies(targets[0])
    change(*(copy_of[target] for target in targets))


def copies(op: Operation) -> dict[Operation, Any]:
    """The operations of a copy of the function that `op` is in, by those that they are copies of."""
    function = enclosing_function(op)
    return dict(zip(function.walk(), function.clone().walk(), strict=True))
