"""What `nt.chunking` says of programs: halos are those derived by hand, and chunks that get these parts make the result.

On ragged chunks, on chunks of one row and on chunks smaller than the halo.
"""

from __future__ import annotations

import random

import nestor as nt
import numpy as np
import pytest

ROWS = nt.spec(("n", "m"), "f8")
ROW = nt.spec(("n",), "f8")


def five_points(x):
    return (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[1:-1, 1:-1]) / 5


def nine_points(x):
    y = np.zeros_like(x)
    for a in (-1, 0, 1):
        for b in (-1, 0, 1):
            y[1:-1, 1:-1] += x[1 + a : x.shape[0] - 1 + a, 1 + b : x.shape[1] - 1 + b]
    return y


def smoothed(x):
    y = x.copy()
    y[1:-1] = (x[:-2] + x[2:]) * 0.5
    return y


def smoothed_twice(x):
    return smoothed(smoothed(x))


def smoothed_three_times(x):
    return smoothed(smoothed(smoothed(x)))


def behind(x):
    y = x.copy()
    y[3:] = x[3:] - x[:-3]
    return y


def skewed(x):
    y = x.copy()
    y[2:-1] = x[:-3] * 0.5 + x[3:]
    return y


def skewed_three_times(x):
    for _ in range(3):
        x = skewed(x)
    return x


def border_of_both(x):
    y = smoothed(x)
    return y[1:] - y[:-1] + x[:-1]


def later(x):
    return x[3:] * 2


def elementwise(x):
    return np.exp(x) * 2 + x


HALOS = [
    (elementwise, 0, (0, 0)),
    (elementwise, 1, (0, 0)),
    (five_points, 0, (0, 2)),  # of the inner points: result row 0 is made of rows 0 to 2
    (five_points, 1, (0, 2)),
    (nine_points, 0, (1, 1)),
    (nine_points, 1, (1, 1)),
    (smoothed, 0, (1, 1)),
    (smoothed, 1, (0, 0)),
    (smoothed_twice, 0, (2, 2)),
    (smoothed_three_times, 0, (3, 3)),
    (behind, 0, (3, 0)),
    (skewed, 0, (2, 1)),
    (skewed_three_times, 0, (6, 3)),
    (skewed_three_times, 1, (0, 0)),
    (border_of_both, 0, (1, 2)),
    (later, 0, (-3, 3)),  # row 0 is made of row 3
]


@pytest.mark.parametrize("spec", [ROWS, nt.spec((40, 30), "f8")], ids=["unknown", "known"])
@pytest.mark.parametrize(("function", "axis", "halo"), HALOS)
def test_halos_are_those_derived_by_hand(function, axis, halo, spec):
    (cut,) = (cut for cut in nt.chunking(function, spec).results if cut.axis == axis)
    (need,) = cut.needs
    assert (need.input, need.axis, need.halo, cut.after) == ("x", axis, halo, ())
    assert cut.kind == ("blockwise" if halo == (0, 0) else "halo")


@pytest.mark.parametrize(("function", "axis", "halo"), HALOS)
def test_the_elements_at_the_ends_of_halos_count(function, axis, halo):
    """A box in the middle: what is outside of its halo does not change it, the first and the last in it do."""
    x = np.random.default_rng(0).standard_normal((40, 30))
    low, high = 14, 17
    box = (slice(None),) * axis + (slice(low, high),)

    def changes(index):
        other = x.copy()
        other[(slice(None),) * axis + (index,)] += 1.0
        return not np.array_equal(function(other)[box], function(x)[box])

    before, after = halo
    assert changes(low - before) and changes(high + after - 1)
    assert not changes(slice(None, low - before)) and not changes(slice(high + after, None))


def test_a_mean_is_complete_before_its_rows():
    found = nt.chunking(lambda x: x - x.mean(0), ROWS)
    rows, columns = found.results
    assert (rows.kind, rows.after, columns.kind, columns.after) == ("blockwise", ("sum",), "blockwise", ())
    (total,) = found.reductions
    assert (total.name, total.combiner, total.order, total.kind) == ("sum", "add", "any", "blockwise")
    assert [(need.input, need.axis, need.halo) for need in total.needs] == [("x", 0, (0, 0))]


def test_reductions_wait_for_each_other():
    def standard(x):
        return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)

    found = nt.chunking(standard, ROWS)
    assert [(cut.kind, cut.after) for cut in found.results] == [
        ("blockwise", ()),
        ("blockwise", ("sum", "sum.1")),
    ]
    assert [(cut.name, cut.after) for cut in found.reductions] == [("sum", ()), ("sum.1", ("sum",))]


def test_pairs_are_reduced_together():
    found = nt.chunking(lambda x: x.argmax(0), ROWS)
    (pairs,) = found.reductions
    assert pairs.combiner == "custom" and pairs.needs[0].halo == (0, 0) and pairs.needs[0].axis == 0
    assert [(cut.kind, cut.needs[0].axis) for cut in found.results] == [("blockwise", 1)]


def test_running_sums_need_what_is_before():
    rows, columns = nt.chunking(lambda x: np.cumsum(x, axis=0), ROWS).results
    (need,) = rows.needs
    assert (rows.kind, need.lower, str(need.upper)) == ("running", None, "hi")
    assert (columns.kind, columns.needs[0].halo) == ("blockwise", (0, 0))


def test_products_are_cut_along_the_axis_that_both_share():
    def product(a, b):
        return a @ b

    found = nt.chunking(product, nt.spec(("n", "k"), "f8"), nt.spec(("k", "m"), "f8"))
    rows, columns = found.results
    assert [(n.input, n.axis) for n in rows.needs] == [("a", 0), ("b", None)]
    assert [(n.input, n.axis) for n in columns.needs] == [("a", None), ("b", 1)]
    (shared,) = found.reductions
    assert [(n.input, n.axis, n.halo) for n in shared.needs] == [("a", 1, (0, 0)), ("b", 0, (0, 0))]


def test_what_is_gathered_is_needed_whole_and_the_line_is_named():
    def gathered(x, i):
        return x[i]

    (rows, columns) = nt.chunking(gathered, ROWS, nt.spec(("k",), "i8")).results
    assert [(n.input, n.axis) for n in rows.needs] == [("x", None), ("i", 0)]
    assert "test_chunking.py:" in rows.needs[0].because
    assert [(n.input, n.axis) for n in columns.needs] == [("x", 1), ("i", None)]


def test_what_is_sorted_is_not_divided_along_that_axis():
    rows, columns = nt.chunking(lambda x: np.sort(x, axis=0), ROWS).results
    assert (rows.kind, columns.kind) == ("whole", "blockwise")
    assert rows.needs[0].because.startswith("the call of numpy.sort (test_chunking.py:")


def test_steps_and_directions_are_linear():
    def every_other(x):
        return x[::2] + 1

    def backwards(x):
        return x[::-1] * 2

    (need,) = nt.chunking(every_other, ROW).results[0].needs
    assert (str(need.lower), str(need.upper), need.halo) == ("2 * lo", "2 * hi - 1", None)
    (need,) = nt.chunking(backwards, ROW).results[0].needs
    assert (str(need.lower), str(need.upper)) == ("n - hi", "n - lo")


def test_transposes_swap_the_axes():
    found = nt.chunking(lambda x, y: x.T + y, ROWS, nt.spec(("m", "n"), "f8"))
    assert [[(n.input, n.axis) for n in cut.needs] for cut in found.results] == [
        [("x", 1), ("y", 0)],
        [("x", 0), ("y", 1)],
    ]


def test_a_number_of_steps_that_is_an_argument_leaves_the_axes_that_no_step_moves_along():
    def steps(x, n):
        for _ in range(n):
            x = smoothed(x)
        return x

    rows, columns = nt.chunking(steps, ROWS, 3).results
    assert rows.kind in ("halo", "whole") and (columns.kind, columns.needs[0].halo) == ("blockwise", (0, 0))


# ---- chunks make the whole ----------------------------------------------------------------------------


def chunks(rng: random.Random, extent: int) -> list[tuple[int, int]]:
    """Ragged boxes that make up an axis; of one each for some seeds."""
    if rng.random() < 0.3:
        return [(k, k + 1) for k in range(extent)]
    cuts = sorted(rng.sample(range(1, extent), rng.randint(0, min(extent - 1, 5))))
    return list(zip([0, *cuts], [*cuts, extent], strict=True))


@pytest.mark.parametrize(("function", "axis"), [(f, axis) for f, axis, _ in HALOS])
def test_chunks_with_their_halos_make_the_whole_result(function, axis):
    """Outside of the halo there is nothing but NaN."""
    rng = random.Random(0)
    x = np.random.default_rng(1).standard_normal((13, 11))
    (cut,) = (cut for cut in nt.chunking(function, ROWS).results if cut.axis == axis)
    before, after = cut.needs[0].halo
    whole = function(x)
    for _ in range(6):
        for low, high in chunks(rng, whole.shape[axis]):
            part = np.full_like(x, np.nan)
            box = (slice(None),) * axis
            seen = (*box, slice(max(low - before, 0), high + after))
            part[seen] = x[seen]
            made = function(part)[(*box, slice(low, high))]
            assert np.array_equal(made, whole[(*box, slice(low, high))])


def centred(x):
    return x - x.mean(0)


def scaled(x):
    return (x - x.min(0)) / (x.max(0) - x.min(0))


def beside_the_sum(x):
    return smoothed(x) * x.sum()


def where_it_is_largest(x):
    return np.where(x == x.max(0), x, x.argmax() * 0.0)


@pytest.mark.parametrize("function", [centred, scaled, beside_the_sum, where_it_is_largest])
def test_what_other_rows_are_counts_by_the_reductions_alone(function):
    """Rows outside of what a box needs are swapped: that changes no reduction of whole numbers, and so not the box."""
    cut = nt.chunking(function, ROWS).of(nt.chunking(function, ROWS).results[0].result, 0)
    (need,) = cut.needs
    before, after = need.halo
    assert cut.after
    rng = np.random.default_rng(2)
    x = rng.integers(-9, 9, (16, 5)).astype(float)
    for low, high in [(0, 1), (3, 9), (7, 8), (12, 16)]:
        others = [k for k in range(16) if not low - before <= k < high + after]
        y = x.copy()
        y[others] = x[rng.permutation(others)]
        assert np.array_equal(function(y)[low:high], function(x)[low:high])


@pytest.mark.parametrize("axis", [0, 1])
def test_a_reduction_is_cut_along_what_it_reduces(axis):
    (total,) = nt.chunking(lambda x: (x * x).sum(axis), ROWS).reductions
    (need,) = total.needs
    assert (total.combiner, need.axis, need.halo) == ("add", axis, (0, 0))
