"""Whole programs, run by Python and compiled: results, their kinds, written arguments and what is outside agree."""

import importlib
import inspect
from pathlib import Path

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.ordinary import attributes_of, is_ordinary

AREAS = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path.stem != "program" and not path.stem.startswith("test_")
)
MODULES = [importlib.import_module(f"whole.{area}") for area in AREAS]
ALL = [program for module in MODULES for program in module.PROGRAMS]
PROGRAMS = [program for program in ALL if not program.refused]
REFUSED = [program for program in ALL if program.refused]


def of_cpu():
    """Every fourth of the short programs is quick, and so one of each area or so; the others are slow tests."""
    short = [program for program in PROGRAMS if not program.long]
    for program in PROGRAMS:
        marks = [] if program in short[::4] else [pytest.mark.slow]
        yield pytest.param(program, id=program.name, marks=marks)


def of_gpu():
    for program in PROGRAMS:
        if not program.host:
            yield pytest.param(program, id=program.name, marks=[] if program.quick else [pytest.mark.slow])


@pytest.mark.parametrize("program", list(of_cpu()))
def test_program(program):
    compare(program, target="cpu", dynamic=program.dynamic)
    compare(program, target="interp", dynamic=program.dynamic)


@pytest.mark.slow
@pytest.mark.parametrize("program", [p for p in PROGRAMS if not p.long], ids=lambda p: p.name)
def test_program_for_all_shapes(program):
    compare(program, target="cpu", dynamic=True)


@pytest.mark.parametrize("program", list(of_gpu()))
def test_on_a_gpu(program):
    compare(program, target="cuda-sim", dynamic=program.dynamic)


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


def test_there_are_enough():
    assert len(PROGRAMS) >= 80
    assert sum(not program.host for program in PROGRAMS) >= 60
    assert len({program.name for program in ALL}) == len(ALL)


def compare(program, **options):
    """Three calls with other shapes, and other values outside, of one compiled function."""
    compiled = nt.jit(program.function, strict=not program.python, **options)
    for k in range(3):
        want = outcome(program, program.function, k)
        got = outcome(program, compiled, k)
        same(program, got, want, f"call {k}")


def outcome(program, function, k):
    """What a call gives or raises, its arguments after it, and what is outside."""
    if program.outside is not None:
        program.outside(k)
    arguments = program.arguments(np.random.default_rng(k), k)
    try:
        with np.errstate(all="ignore"):
            result = function(*arguments)
    except nt.NestorError:
        raise
    except Exception as error:
        result = (type(error).__name__, str(error))
    return result, list(arguments), program.seen()


def same(program, got, want, what):
    if program.joins and isinstance(want, int | float) and isinstance(got, np.generic):
        want = got.dtype.type(want)
    assert type(got) is type(want), f"{what}: {type(got)} for {type(want)}"
    if isinstance(want, tuple | list):
        assert len(got) == len(want), what
        for i, (a, b) in enumerate(zip(got, want, strict=True)):
            same(program, a, b, f"{what}[{i}]")
        return
    if isinstance(want, dict):
        assert list(got) == list(want), what
        return same(program, list(got.values()), list(want.values()), what)
    if is_ordinary(type(want)):
        return same(program, attributes_of(got), attributes_of(want), what)
    if not isinstance(want, np.ndarray | np.generic | int | float | complex) or isinstance(want, bool):
        assert got == want, what
        return
    mine, theirs = np.asarray(got), np.asarray(want)
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, what
    if isinstance(want, np.ndarray) and (want.flags.c_contiguous or want.flags.f_contiguous):
        assert got.flags.c_contiguous == want.flags.c_contiguous, f"{what}: memory order"
    if theirs.dtype.kind not in "fc":
        np.testing.assert_array_equal(mine, theirs, err_msg=what)
        return
    size = np.abs(theirs[np.isfinite(theirs)])
    absolute = program.tolerance * size.max() if size.size else 0.0
    np.testing.assert_allclose(mine, theirs, rtol=program.tolerance, atol=absolute, err_msg=what)
