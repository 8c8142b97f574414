"""nt.vmap, as Python calls it: a jitted function of a text that says the same (`derivatives.py`)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...dialects.tracebacks import boundary
from ..interface.axes import AXES, wrong_axis
from ..interface.errors import DTypeError
from ..interface.forwarders import label_of
from ..interface.inside import inside
from .carried_options import options_for_slices
from .derivatives import transformed

if TYPE_CHECKING:
    from ..jit.driver.typed import Jitted, P, R


@boundary
@inside("vmap")
def vmap(fun: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0) -> Jitted[P, R]:
    """The function that applies `fun` to each slice of its arguments, and stacks the results.

        norms = nt.vmap(np.linalg.norm)(rows)                     # of each rows[k]
        products = nt.vmap(f, in_axes=(0, None))(xs, w)           # f(xs[k], w)
        columns = nt.vmap(f, in_axes=1, out_axes=-1)(table)       # f(table[:, k]), results as columns

    `in_axes` says along which axis arguments are sliced: an int for all of them, or a tuple with an int, None (each
    slice gets all of it) or a structure of those for each argument that is given by position; an int for a structure
    (tuple, list, dict, object) holds for all arrays in it, negative axes count from the end. Arguments that are given
    by keyword are sliced along axis 0. `out_axes` says likewise where results have the slices; None is for results
    that are the same for all. A slice of an array with one axis is a number, as in `for x in xs`.

    It runs on all slices at once: elementwise operations, products and reductions have one axis more, loops one loop more.
    What is the same for all slices is computed once, and what it prints or draws happens once. Branches that slices take on
    their own are computed both, and selected. It is compiled as `nt.jit` compiles, and composes with `nt.grad` and itself.

    Raises ValueError where numbers of slices differ, for an axis that is not there, and where nothing is sliced; TypeError
    for what has no slices, and results that are no arrays.
    """
    for word, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if (wrong := wrong_axis(plain(axes))) is not None:
            raise DTypeError(f"nt.vmap of {label_of(fun)}: {word} has {wrong} in it", hint=AXES)
    axes = plain(in_axes)
    return transformed(
        "vmap",
        vmap,
        fun,
        carried=lambda function: options_for_slices(function, axes),
        in_axes=axes,
        out_axes=plain(out_axes),
    )


def plain(axes: Any) -> Any:
    """Axes as Python's own ints, tuples, lists and dicts."""
    if isinstance(axes, tuple | list):
        return type(axes)(map(plain, axes)) if type(axes) in (tuple, list) else tuple(map(plain, axes))
    if isinstance(axes, dict):
        return {key: plain(axis) for key, axis in axes.items()}
    if axes is None or isinstance(axes, bool) or not hasattr(axes, "__index__"):
        return axes
    return operator.index(axes)
