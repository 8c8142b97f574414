"""Every program of the table of GPU programs, on the simulated GPU, gives what NumPy gives."""

from __future__ import annotations

import os

import nestor as nt
import numpy as np
import pytest
from cuda_text import complaints
from gpu_programs import PROGRAMS, Unavailable, arguments_of, compare, expected
from nestor.runtime.cuda_sim.module import SimModule

pytestmark = pytest.mark.one_of(3)

ACCEPTED = {
    "column extremes": "two results: the first row of threads asks once for each",
}
"""Programs whose text has something left to clean up, with what it is."""


def run(compiled, program, call):
    try:
        arguments = arguments_of(call)
    except Unavailable as reason:
        pytest.skip(str(reason))
    want = expected(program, arguments)
    compare(program, compiled(*arguments), want)


def check_calls(program, target, dynamic):
    """Run every call of a row, by one jitted function."""
    compiled = nt.jit(program.function, target=target, dynamic=dynamic)
    for call in program.calls:
        try:
            run(compiled, program, call)
        except Exception as error:
            error.add_note(f"in the call {program.name}({call}), dynamic={dynamic}")
            raise


@pytest.fixture
def texts(monkeypatch):
    """The CUDA C that is compiled in a test."""
    found = []
    make = SimModule.__init__

    def keep(self, source, *args, **kwargs):
        found.append(source)
        make(self, source, *args, **kwargs)

    monkeypatch.setattr(SimModule, "__init__", keep)
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_on_the_simulated_gpu(program, texts):
    """In checked mode, which costs no more than the plain one of the slow test, with threads in a random order.

    A reader of the text finds nothing to clean up.
    """
    compiled = nt.jit(program.function, target="cuda-sim:checked,random=1", dynamic=False)
    run(compiled, program, program.calls[0])
    assert texts
    assert not [one for text in texts for one in complaints(text) if program.name not in ACCEPTED]


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_every_call_on_the_simulated_gpu(program, dynamic):
    if dynamic and not program.dynamic:
        pytest.skip("it needs extents that are known when it is compiled")
    check_calls(program, "cuda-sim", dynamic)


# ---- on a real GPU ----------------------------------------------------------------------------------

HAS_GPU = os.environ.get("NESTOR_TEST_GPU") == "1"
on_a_gpu = pytest.mark.skipif(not HAS_GPU, reason="run by `make test-gpu`, on a machine with a GPU")
each_on_a_gpu = pytest.mark.parametrize(
    "program", PROGRAMS if HAS_GPU else PROGRAMS[:1], ids=lambda p: p.name
)


@on_a_gpu
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@each_on_a_gpu
def test_every_call_on_the_gpu_of_this_machine(program, dynamic):
    if dynamic and not program.dynamic:
        pytest.skip("it needs extents that are known when it is compiled")
    check_calls(program, "cuda", dynamic)


@on_a_gpu
@each_on_a_gpu
def test_arrays_of_the_device_on_the_gpu_of_this_machine(program):
    import cupy  # pyright: ignore[reportMissingImports]

    compiled = nt.jit(program.function, target="cuda")
    for call in program.calls:
        try:
            arguments = arguments_of(call)
        except Unavailable as reason:
            pytest.skip(str(reason))
        want = expected(program, arguments)
        moved = [cupy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
        got = compiled(*moved)
        results = got if isinstance(got, tuple) else (got,)
        assert all(isinstance(r, cupy.ndarray) for r in results)
        plain = tuple(r.get() for r in results)
        compare(program, plain if isinstance(got, tuple) else plain[0], want)


def test_names_of_rows_are_different():
    names = [program.name for program in PROGRAMS]
    assert len(names) == len(set(names))
