"""Random programs whose arrays have lengths that depend on elements: what NumPy gives, or its error, or a refusal."""

import copy
import warnings
from collections import Counter
from pathlib import Path

import nestor as nt
import numpy as np
import pytest
import random_selections
from agreement import same

QUICK = {"interp": 12, "cpu": 2}
PART, PARTS = 12, 16


def outcome(function, x):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [np.asarray(part).copy() for part in function(x)], x
        except nt.UnsupportedError:
            raise
        except Exception as error:
            return next((k for k in (IndexError, ValueError) if isinstance(error, k)), type(error))


def check(function, seed, **options):
    """Whether the program was compiled; every answer must be NumPy's."""
    compiled = nt.jit(function, **options)
    for x in random_selections.arrays(seed):
        want = outcome(function, copy.deepcopy(x))
        try:
            got = outcome(compiled, copy.deepcopy(x))
        except nt.UnsupportedError as error:
            return str(error)
        if isinstance(want, type) or isinstance(got, type):
            assert got is want, (seed, options, x, got, want)
            continue
        same(got[0], want[0], 1e-9)
        same(got[1], want[1], 1e-9)
    return None


def hold(target: str, dynamic: bool, seeds: range, folder: Path, share: float) -> None:
    """At least that share of the programs is compiled, and all are right."""
    functions = random_selections.functions(folder / f"selections_{target}_{dynamic}_{seeds.start}.py", seeds)
    refused = Counter()
    for seed, function in zip(seeds, functions, strict=True):
        why = check(function, seed, target=target, dynamic=dynamic)
        refused[(why or "").splitlines()[0].partition("error: ")[2] if why else None] += 1
    assert refused[None] >= share * len(seeds), refused


@pytest.mark.parametrize("target", ["interp", "cpu"])
def test_random_programs(target, tmp_path):
    """The slow tests draw 192."""
    hold(target, True, range(QUICK[target]), tmp_path, share=0.8)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("target", ["interp", "cpu"])
def test_more_random_programs(target, part, tmp_path):
    """Each of the programs for known extents on one target, for unknown ones on the other."""
    dynamic = (target == "interp") == (part % 2 == 0)
    hold(target, dynamic, range(part * PART, (part + 1) * PART), tmp_path, share=0.7)
