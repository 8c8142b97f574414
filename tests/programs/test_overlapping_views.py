"""Functions that write to arguments which are views of one array, against Python: thousands of random calls."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import ShapeError, UnsupportedError
from overlapping_views import Memory, memory, program
from sampling import seeds

pytestmark = pytest.mark.one_of(2)

CALLS = 4
"""With each pattern of overlap."""

REFUSALS = (UnsupportedError, ShapeError)
"""Views that are out of date; and, of unknown extents, every other element of two arrays, which may be of two lengths."""


def outcome(function: Any, given: Memory, seed: int, k: int) -> tuple[np.ndarray, list[Any]] | None:
    """The memory afterwards, and the results; None where NumPy does not do that to arrays of these types."""
    base, views = given.fresh(seed)
    try:
        with np.errstate(all="ignore"):
            seen, last = function(*views, k)
    except REFUSALS:
        np.testing.assert_array_equal(base, given.fresh(seed)[0], "what is refused has changed the memory")
        raise
    except (TypeError, OverflowError) as error:
        if isinstance(error, nt.NestorError):
            raise
        return None
    return base, [(np.array(part), np.shares_memory(part, base)) for part in (*seen, last)]


def calls(seed: int, folder: Path, patterns: int = 4, **options: Any) -> tuple[int, int]:
    """Call a random program with views in so many random patterns; how many calls that were, and how many refused."""
    rng = random.Random(seed)
    made = program(rng)
    function, pythons = made.load(folder)
    compiled = nt.jit(function, **options)
    n = rng.choice([4, 8, 18] if made.rank == 1 else [3, 6])
    count = refused = 0
    for _ in range(patterns):
        given = memory(rng, len(made.parameters), made.rank, n)
        for again in range(CALLS):
            k = rng.randrange(6)
            want = outcome(pythons, given, seed + again, k)
            if want is None:
                break
            count += 1
            where = f"seed {seed}, {options}, call {again}\n{made.text}\n{given}\nk = {k}"
            try:
                got = outcome(compiled, given, seed + again, k)
            except REFUSALS as error:
                expected = "could not be broadcast" if isinstance(error, ShapeError) else "is read after"
                assert expected in str(error), f"{where}\n{error}"
                refused += 1
                continue
            assert got is not None, where
            np.testing.assert_array_equal(got[0], want[0], where)
            for (mine, shares), (theirs, should_share) in zip(got[1], want[1], strict=True):
                np.testing.assert_array_equal(mine, theirs, where)
                assert shares == should_share, where
    return count, refused


GROUPS = 9
EACH = 15
"""Programs in a group: all of them make more than 2,000 calls."""


@pytest.mark.parametrize("group", seeds(GROUPS))
def test_random_views_on_the_cpu(group: int, tmp_path: Path):
    drawn = [calls(EACH * group + k, tmp_path) for k in range(EACH)]
    made, refused = (sum(column) for column in zip(*drawn, strict=True))
    assert made > 200 and refused < made / 2, (made, refused)


@pytest.mark.parametrize("seed", seeds(12))
def test_random_views_in_the_interpreter(seed: int, tmp_path: Path):
    assert calls(1000 + seed, tmp_path, target="interp")[0]


@pytest.mark.parametrize("seed", seeds(6))
def test_random_views_of_unknown_extents(seed: int, tmp_path: Path):
    assert calls(2000 + seed, tmp_path, patterns=2, dynamic=True)[0]


@pytest.mark.parametrize("seed", seeds(6))
def test_random_views_in_the_simulator(seed: int, tmp_path: Path):
    assert calls(3000 + seed, tmp_path, patterns=2, target="cuda-sim")[0]
