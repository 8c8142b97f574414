"""What in_axes and out_axes of nt.vmap may be: axes, None, and structures of them."""

from __future__ import annotations

from typing import Any

AXES = "an axis is an int or None; structures of them are tuples, lists and dicts"


def wrong_axis(axes: Any) -> str | None:
    """What is in axes and should not be."""
    if isinstance(axes, tuple | list):
        return next((wrong for item in axes if (wrong := wrong_axis(item)) is not None), None)
    if isinstance(axes, dict):
        return next((wrong for item in axes.values() if (wrong := wrong_axis(item)) is not None), None)
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        return None
    return repr(axes)
