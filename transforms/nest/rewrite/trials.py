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
    function = enclosing_function(targets[0])
    copy = function.clone()
    copy_of = dict(zip(function.walk(), copy.walk(), strict=True))
    change(*(copy_of[target] for target in targets))
