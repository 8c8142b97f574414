"""What stands in compiled code for functions of Nestor, by the names that they are marked with (`interface/inside.py`)."""

from __future__ import annotations

from collections.abc import Callable

from ..values.values import Value
from . import checkpoints, compiled, jacobians, loss_scale, slices

INSIDE_CALLS: dict[str, Callable[..., Value]] = {
    **compiled.INSIDE_CALLS,
    **slices.INSIDE_CALLS,
    **jacobians.INSIDE_CALLS,
    **checkpoints.INSIDE_CALLS,
    **loss_scale.INSIDE_CALLS,
}
"""A file's own are in a table of the same name there."""
