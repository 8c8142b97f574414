"""How far a chunk reaches beside itself: what is found against what a person counts, for each axis and chains of steps."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from dask_programs import (
    asymmetric,
    borders,
    chain,
    five_points,
    four_steps,
    gradient_of_steps,
    jacobi,
    nine_points,
    one_sided_1,
    one_sided_2,
    one_sided_3,
    one_sided_4,
    with_positions,
)
from nestor.analysis.nest.loop_structure import functions
from nestor.frontend.jit.specialise.stages import lowered_copy
from nestor.transforms.nest.producers.restrict import Part, Word, restrict


def reaches(function, axis: int) -> list[tuple[int, int] | None]:
    """For each part of the input: how many elements before a box and after it are needed along an axis of it.

    None: the part is elsewhere."""
    lowered = nt.jit(function).lower(nt.spec(("n", "m"), "f8"))
    module = lowered_copy(lowered.program.module, ("to-loops-for-chunks",), machine=None)
    (made,) = functions(module)
    result = made.args[-1]
    found = []
    for part in restrict(made, [result], [axis]).arguments:
        if isinstance(part, Part) and part.kind == "input":
            lower, upper = part.axes[axis]
            kinds = [[w.kind for w, _ in one.factors if isinstance(w, Word)] for one in (lower, upper)]
            found.append((-lower.constant, upper.constant) if kinds == [["lo"], ["hi"]] else None)
    return found


def two_different(x):
    """One step that looks back by two, and one that looks ahead by one."""
    y = x.copy()
    y[2:] = x[2:] + x[:-2]
    z = y.copy()
    z[:-1] = y[:-1] * y[1:]
    return z


def lagged(x):
    return x[5:-1] - x[:-6]


def along_rows(x):
    y = x.copy()
    y[:, 1:-2] = x[:, 1:-2] + x[:, 3:] - x[:, :-3]
    return y


def in_place(x):
    """Each row is of the old one behind it: not one that was changed already."""
    y = x.copy()
    y[:-1] = y[:-1] * 0.5 + y[1:]
    y[:-1] = y[:-1] * 0.5 + y[1:]
    return y


COUNTED = [
    (chain, 0, (0, 0)),
    (chain, 1, (0, 0)),
    (with_positions, 0, (0, 0)),
    (five_points, 0, (1, 1)),
    (five_points, 1, (1, 1)),
    (nine_points, 0, (1, 1)),
    (nine_points, 1, (1, 1)),
    (four_steps, 0, (4, 4)),
    (four_steps, 1, (4, 4)),
    (jacobi, 0, (4, 4)),
    (asymmetric, 0, (0, 3)),
    (asymmetric, 1, (0, 0)),
    (one_sided_1, 0, (0, 2)),
    (one_sided_2, 0, (0, 4)),
    (one_sided_3, 0, (0, 6)),
    (one_sided_4, 0, (0, 8)),
    (two_different, 0, (2, 1)),
    (lagged, 0, (0, 5)),
    (along_rows, 1, (1, 2)),
    (along_rows, 0, (0, 0)),
    (in_place, 0, (0, 2)),
    (gradient_of_steps, 0, (2, 2)),
    (gradient_of_steps, 1, (2, 2)),
]
"""A program, the axis that is cut, and the elements of the input that a box needs before it and after it."""


@pytest.mark.parametrize(
    ("function", "axis", "counted"), COUNTED, ids=lambda v: getattr(v, "__name__", str(v))
)
def test_a_box_reaches_as_far_as_is_counted_by_hand(function, axis, counted):
    assert reaches(function, axis) == [counted]


def test_a_rolled_array_is_two_parts():
    """The box begins two rows before itself; the last two rows are for the box that begins at the start."""
    lowered = nt.jit(lambda x: np.roll(x, 2, 0)).lower(nt.spec(("n", "m"), "f8"))
    module = lowered_copy(lowered.program.module, ("to-loops-for-chunks",), machine=None)
    (made,) = functions(module)
    parts = [
        p for p in restrict(made, [made.args[-1]], [0]).arguments if isinstance(p, Part) and p.kind == "input"
    ]
    limits = sorted(
        (
            sorted(word.kind for word, _ in one.axes[0][0].factors),
            one.axes[0][0].constant,
            one.axes[0][1].constant,
        )
        for one in parts
    )
    assert limits == [(["extent", "lo"], -2, -2), (["lo"], -2, -2)]


def test_borders_do_not_reach_further():
    """The rows that are written at borders are parts of their own, each for the box that has the border."""
    assert (1, 1) in reaches(borders, 0)


def test_a_count_that_is_wrong_is_seen():
    assert reaches(five_points, 0) != [(1, 2)]
