"""Whole programs, run by Python and compiled: results, their kinds, written arguments and what is outside agree."""

import importlib
import inspect
from pathlib import Path

import nestor as nt
import numpy as np
import pytest
from whole import forms
from whole.program import outcome, same

AREAS = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path.stem not in ("program", "forms") and not path.stem.startswith("test_")
)
MODULES = [importlib.import_module(f"whole.{area}") for area in AREAS]
ALL = [program for module in MODULES for program in module.PROGRAMS]
PROGRAMS = [program for program in ALL if not program.refused]
REFUSED = [program for program in ALL if program.refused]
CALLS = (0, 1, 2)


def of_cpu():
    """Every third of the short programs is quick; the others are slow tests."""
    short = [program for program in PROGRAMS if not program.long]
    for program in PROGRAMS:
        marks = [] if program in short[::3] else [pytest.mark.slow]
        yield pytest.param(program, id=program.name, marks=marks)


def of_gpu():
    for program in PROGRAMS:
        if not program.host:
            yield pytest.param(program, id=program.name, marks=[] if program.quick else [pytest.mark.slow])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program_is_interpreted(program):
    """All of them in each run of the tests: a quarter of a second each.

    Where nothing changes outside, the call between the first and that of the fewest elements is one for slow tests.
    """
    calls = (0, 2) if program.outside is None else CALLS
    compare(program, calls, target="interp", dynamic=program.dynamic)


@pytest.mark.slow
@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.outside is None], ids=lambda p: p.name)
def test_program_is_interpreted_at_all_calls(program):
    compare(program, CALLS, target="interp", dynamic=program.dynamic)


@pytest.mark.one_of(2)
@pytest.mark.parametrize("program", list(of_cpu()))
def test_program(program):
    compare(program, CALLS, target="cpu", dynamic=program.dynamic)


@pytest.mark.slow
@pytest.mark.parametrize("program", [p for p in PROGRAMS if not p.long], ids=lambda p: p.name)
def test_program_for_all_shapes(program):
    compare(program, CALLS, target="cpu", dynamic=True)


@pytest.mark.one_of(2)
@pytest.mark.parametrize("program", list(of_gpu()))
def test_on_a_gpu(program):
    compare(program, CALLS, target="cuda-sim", dynamic=program.dynamic)


@pytest.mark.parametrize("program", REFUSED, ids=lambda p: p.name)
def test_refused(program):
    if program.outside is not None:
        program.outside(0)
    arguments = program.arguments(np.random.default_rng(0), 0)
    with pytest.raises(nt.NestorError) as error:
        nt.jit(program.function, dynamic=program.dynamic)(*arguments)
    assert program.refused in str(error.value)
    place = error.value.diagnostic.location
    lines, first = inspect.getsourcelines(program.function)
    assert place.file == program.function.__code__.co_filename
    assert first <= place.line < first + len(lines), "it names a line of the program"


def test_each_form_in_each_kind_of_loop_has_a_program():
    """`python tests/programs/whole/forms.py` prints the table."""
    assert forms.empty(forms.table(PROGRAMS)) == []


def test_a_form_without_a_program_is_found():
    some = [program for program in PROGRAMS if ("while True", "mask") not in forms.cells_of(program.function)]
    assert ("while True", "mask") in forms.empty(forms.table(some))


def test_there_are_enough():
    assert len(PROGRAMS) >= 250
    assert sum(not program.host for program in PROGRAMS) >= 150
    assert len({program.name for program in ALL}) == len(ALL)


def compare(program, calls, **options):
    """Calls with other shapes, and other values outside, of one compiled function."""
    compiled = nt.jit(program.function, strict=not program.python, **options)
    for k in calls:
        want = outcome(program, program.function, k)
        got = outcome(program, compiled, k)
        same(program, got, want, f"call {k}")
