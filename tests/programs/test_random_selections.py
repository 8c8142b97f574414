"""Random programs whose arrays have lengths that depend on elements: what NumPy gives, or its error, or a refusal."""

import copy
import warnings
from collections import Counter

import nestor as nt
import numpy as np
import pytest
import random_selections
from agreement import same
from sampling import is_sampled

COUNTS = {"interp": 12, "cpu": 2} if is_sampled() else {"interp": 200, "cpu": 200}


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


@pytest.mark.parametrize("target", ["interp", "cpu"])
@pytest.mark.parametrize("dynamic", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_random_programs(target, dynamic, tmp_path):
    seeds = range(COUNTS[target])
    functions = random_selections.functions(tmp_path / f"selections_{target}_{dynamic}.py", seeds)
    refused = Counter()
    for seed, function in zip(seeds, functions, strict=True):
        why = check(function, seed, target=target, dynamic=dynamic)
        refused[(why or "").splitlines()[0].partition("error: ")[2] if why else None] += 1
    assert refused[None] >= 0.8 * len(seeds), refused
