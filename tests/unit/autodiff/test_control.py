"""Loops and branches: forward mode against differences, reverse mode against forward mode."""

import pytest
from derivative_loops import PROGRAMS
from derivative_programs import check

DYNAMIC = (
    "steps",
    "no steps",
    "run-time bounds",
    "nested",
    "products in a branch of a loop",
    "a break",
    "while",
    "sums in a loop",
    "views",
)
"""Those that are quick tests with unknown extents too."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name):
    check(*PROGRAMS[name])


@pytest.mark.parametrize(
    "name", [n if n in DYNAMIC else pytest.param(n, marks=pytest.mark.slow) for n in PROGRAMS]
)
def test_unknown_extents(name):
    check(*PROGRAMS[name], dynamic=True)
