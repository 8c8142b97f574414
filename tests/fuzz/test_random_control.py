"""Random control flow with raise, assert and short circuits: compiled, it ends as in Python."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from control_programs import HELPERS, Writer
from nestor.dialects.diagnostic import LoweringError
from nestor.frontend.interface.errors import UnsupportedError
from outcomes import Verdict, described, plain, verdict, with_error

PROGRAMS = 1000
PART = 25
CALLS = 4
FENCE = 777.0


def options(seed: int) -> dict[str, Any]:
    """How the program is compiled."""
    target = {3: "interp", 7: "cuda-sim"}.get(seed % 10, "cpu")
    return {"target": target, "dynamic": True} if seed % 4 == 1 else {"target": target}


def arguments(rng: random.Random) -> tuple[Any, ...]:
    return np.array([rng.randint(-3, 6) / 2 for _ in range(4)]), rng.randint(-2, 6), rng.randint(-1, 5)


def _within(fence: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A copy of the values in the middle of other memory."""
    fence[8:-8] = values
    return fence[8:-8]


def outcome(function: Any, given: tuple[Any, ...]) -> Any:
    fenced = [np.full(g.size + 16, FENCE) for g in given if isinstance(g, np.ndarray)]
    given = tuple([_within(fenced[0], g) if isinstance(g, np.ndarray) else g for g in given])
    printed, result, error = io.StringIO(), None, None
    try:
        with contextlib.redirect_stdout(printed):
            result = function(*given)
    except (UnsupportedError, LoweringError):
        raise
    except Exception as raised:
        error = raised
    assert all((np.concatenate([f[:8], f[-8:]]) == FENCE).all() for f in fenced), (
        "memory around an argument is written"
    )
    return repr((plain(result), [plain(g) for g in given], printed.getvalue(), described(error)))


def judge(seed: int, folder: Path) -> Verdict:
    """Compare the calls of a program."""
    chosen, rng = options(seed), random.Random(seed)
    text = HELPERS + "\n\n" + Writer(seed, prints=chosen["target"] != "cuda-sim").text()

    def compared(python: Any, compiled: Any) -> Iterator[tuple[str, str, str]]:
        for call in range(CALLS):
            given = arguments(rng)
            with np.errstate(all="ignore"):
                want = outcome(python, given)
            yield f"seed {seed}, call {call}, {chosen}, f{given}", want, outcome(compiled, given)

    return verdict(text, folder, f"random_control_{seed}", compared, raises=with_error, **chosen)


def hold(numbers: range, folder: Path) -> None:
    """None differs; some raise, some do not, and few are refused."""
    found = [judge(seed, folder) for seed in numbers]
    wrong = [one.what for one in found if one.is_wrong]
    assert not wrong, "\n\n".join(wrong[:3])
    counts = [one.raised for one in found if one.end == "right"]
    assert len(counts) >= 0.7 * len(found)
    assert 0.1 * CALLS * len(counts) < sum(counts) < 0.9 * CALLS * len(counts)


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, PROGRAMS // PART))]
)
def test_random_control_flow_is_that_of_python(part: int, tmp_path: Path):
    hold(range(part * PART, (part + 1) * PART), tmp_path)
