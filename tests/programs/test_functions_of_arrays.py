"""Each function of NumPy, of one and of two arrays: what it refuses for dtypes or shapes is refused, what it gives is given.

Of the cases of a function some are drawn, by its name; slow tests take all.
"""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import nestor as nt
import numpy as np
import pytest
from sampling import is_sampled

pytestmark = pytest.mark.one_of(2)

ARRAYS = {
    "bool": np.array([True, False, True, True]),
    **{kind: np.arange(1, 5).astype(kind) for kind in ("i1", "i8", "u8", "f4", "f8", "c16")},
}
Dtypes = tuple[str, ...]

NOT_OF_ARRAYS = re.compile(
    r"(save|load|from|test|show|print|set|info|vectorize|memmap|genfromtxt|issubdtype|promote)"
)
"""Functions with effects, and of dtypes."""

INDICES = ("choose", "repeat")
"""They refuse uint64 for what they count by, which Nestor takes: its numbers are the same."""


def _functions() -> Iterator[str]:
    for name in sorted(dir(np)):
        function = getattr(np, name)
        if (
            name[0] != "_"
            and callable(function)
            and not isinstance(function, type)
            and not NOT_OF_ARRAYS.match(name)
        ):
            yield name


def _refusal(function: Callable, dtypes: Dtypes) -> str:
    """What NumPy says that has to do with the dtypes; nothing where it computes."""
    try:
        with warnings.catch_warnings(action="ignore"):
            function(*(ARRAYS[kind].copy() for kind in dtypes))
    except TypeError as error:
        is_about_number_of_arguments = re.search(
            "argument.*(positional|takes|required|missing)|missing", str(error)
        )
        return "" if is_about_number_of_arguments else str(error)
    except Exception:
        return ""
    return ""


def _refused(name: str) -> list[Dtypes]:
    every = [*((kind,) for kind in ARRAYS), *product(ARRAYS, ARRAYS)]
    found = [dtypes for dtypes in every if _refusal(getattr(np, name), dtypes)]
    return [dtypes for dtypes in found if name not in INDICES or "u8" not in dtypes]


REFUSED = {name: refused for name in _functions() if (refused := _refused(name))}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused(name):
    function, cases = getattr(np, name), REFUSED[name]
    if is_sampled():
        cases = random.Random(name).sample(cases, min(4, len(cases)))
    for dtypes in cases:
        program = (lambda x: function(x)) if len(dtypes) == 1 else (lambda x, y: function(x, y))
        with pytest.raises(nt.NestorError):
            nt.jit(program).lower(*(ARRAYS[kind] for kind in dtypes))


SHAPES = ((), (0,), (3,), (4,), (2, 3), (3, 2), (3, 3), (0, 3), (2, 2, 2))
ERRORS = (ValueError, IndexError, np.linalg.LinAlgError)

BROADCAST = ("polyder", "unwrap")
"""NumPy computes these in steps, of which one refuses shapes that fit."""


def _shaped(shapes: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
    return [(np.arange(math.prod(shape)) + 1.5).reshape(shape) for shape in shapes]


def _refuses(function: Callable, shapes: tuple[tuple[int, ...], ...]) -> bool:
    try:
        with warnings.catch_warnings(action="ignore"):
            function(*_shaped(shapes))
    except ERRORS:
        return True
    except Exception:
        return False
    return False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in _functions() if name not in BROADCAST])
def test_shapes_that_numpy_refuses_are_refused(name):
    function, every = getattr(np, name), [*((one,) for one in SHAPES), *product(SHAPES, SHAPES)]
    cases = [shapes for shapes in every if _refuses(function, shapes)]
    if is_sampled():
        cases = random.Random(name).sample(cases, min(2, len(cases)))
    for shapes in cases:
        program = (lambda x: function(x)) if len(shapes) == 1 else (lambda x, y: function(x, y))
        given = _shaped(shapes)
        with pytest.raises((nt.NestorError, *ERRORS)):
            nt.jit(program).lower(*given)
            nt.jit(program)(*given)


UNKNOWN_CONTENTS = ("empty", "empty_like")


def _agree(ours: Any, numpys: Any) -> None:
    if isinstance(numpys, tuple | list):
        assert len(ours) == len(numpys)
        for one, other in zip(ours, numpys, strict=True):
            _agree(one, other)
    elif isinstance(numpys, np.ndarray | np.generic):
        assert np.shape(ours) == numpys.shape and np.asarray(ours).dtype == numpys.dtype
        np.testing.assert_allclose(ours, numpys, rtol=1e-10, atol=1e-12)
    else:
        assert ours == numpys


@pytest.mark.one_of(4)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in _functions() if name not in UNKNOWN_CONTENTS])
def test_what_is_given_for_shapes_is_numpys_or_refused(name):
    function, every = getattr(np, name), [*((one,) for one in SHAPES), *product(SHAPES, SHAPES)]
    for shapes in random.Random(name).sample(every, 8 if is_sampled() else 24):
        try:
            with warnings.catch_warnings(action="ignore"):
                wanted = function(*_shaped(shapes))
        except Exception:
            continue
        program = (lambda x: function(x)) if len(shapes) == 1 else (lambda x, y: function(x, y))
        try:
            found = nt.jit(program)(*_shaped(shapes))
        except nt.NestorError:
            continue
        _agree(found, wanted)


def test_there_are_refusals_of_many_functions():
    assert len(REFUSED) > 150 and sum(map(len, REFUSED.values())) > 3000
