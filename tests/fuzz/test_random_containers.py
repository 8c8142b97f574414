"""Random programs that change containers under several names: results, exceptions and the caller's objects are Python's."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from container_programs import HELPERS, Writer
from nestor.dialects.diagnostic import LoweringError
from nestor.frontend.interface.errors import UnsupportedError
from outcomes import Verdict, described, plain, verdict, with_error

CALLS = 4


def arguments(rng: random.Random, box: Any) -> list[Any]:
    def some(least: int) -> list[float]:
        return [rng.randint(-3, 6) / 2 for _ in range(rng.randint(least, 4))]

    d = {key: rng.randint(-3, 6) / 2 for key in rng.sample(["p", "q", "r"], rng.randint(1, 3))}
    xs, items = some(0 if rng.random() < 0.2 else 2), some(1)
    a = np.array([rng.randint(-3, 6) / 2 for _ in range(4)])
    o = box(rng.randint(-3, 6) / 2, xs if rng.random() < 0.15 else items)
    return [a, xs, d, o, rng.randint(-1, 4), rng.randint(0, 3)]


def shown(value: Any) -> Any:
    """A value as it is compared. A number that is an integer on one path and a float on another is a float."""
    if hasattr(value, "total"):
        return ("Box", shown(value.total), shown(value.items))
    if isinstance(value, dict):
        return {key: shown(v) for key, v in value.items()}
    if isinstance(value, tuple | list):
        return [shown(v) for v in value]
    value = plain(value)
    return float(value) if type(value) is int else value


def outcome(function: Any, given: list[Any]) -> str:
    result, error = None, None
    try:
        with np.errstate(all="ignore"):
            result = function(*given)
    except (UnsupportedError, LoweringError) as raised:
        if not isinstance(raised, KeyError):
            raise
        error = raised
    except Exception as raised:
        error = raised
    parts = result if isinstance(result, tuple) else (result,)
    held = [*given[:4], given[3].items]
    same = [[part is one for one in held] for part in parts]
    kept = [one is given[1] for one in (given[3].items,)]
    raised = described(error) and described(error)[:2]
    if raised is not None and str(raised[1][:1]).startswith("['index "):
        raised = (
            raised[0],
            ["list index out of range"],
        )  # what loops make are arrays, whose errors name the index
    return repr((shown(parts), same, kept, [shown(g) for g in given], raised))


def judge(seed: int, folder: Path) -> Verdict:
    """Compare the calls of a program."""

    def compared(python: Any, compiled: Any) -> Iterator[tuple[str, str, str]]:
        for call in range(CALLS):
            given = [arguments(random.Random(f"{seed}.{call}"), python.__globals__["Box"]) for _ in range(2)]
            yield f"seed {seed}, call {call}", outcome(python, given[0]), outcome(compiled, given[1])

    text = HELPERS + "\n\n" + Writer(seed).text()
    return verdict(text, folder, f"random_containers_{seed}", compared, raises=with_error)


@pytest.mark.parametrize("first", [0, pytest.param(1000, marks=pytest.mark.slow)])
def test_containers_are_left_as_by_python(first: int, tmp_path: Path):
    """Sixty programs, and three hundred others in the slow test."""
    found = [judge(seed, tmp_path) for seed in range(first, first + (300 if first else 60))]
    wrong = [one.what for one in found if one.is_wrong]
    assert not wrong, "\n\n".join(wrong[:3])
    counts = [one.raised for one in found if one.end == "right"]
    assert len(counts) >= 0.5 * len(found), "few are refused"
    assert sum(counts) > 0.05 * CALLS * len(counts), "some raise"
