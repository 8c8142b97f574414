"""Every program of the table of GPU programs, on the simulated GPU, gives what NumPy gives."""

from __future__ import annotations

import nestor as nt
import pytest
from gpu_programs import PROGRAMS, Unavailable, arguments_of, compare, expected


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


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_on_the_simulated_gpu(program):
    """In checked mode, which costs no more than the plain one of the slow test, with threads in a random order."""
    compiled = nt.jit(program.function, target="cuda-sim:checked,random=1", dynamic=False)
    run(compiled, program, program.calls[0])


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_every_call_on_the_simulated_gpu(program, dynamic):
    if dynamic and not program.dynamic:
        pytest.skip("it needs extents that are known when it is compiled")
    check_calls(program, "cuda-sim", dynamic)


def test_names_of_rows_are_different():
    names = [program.name for program in PROGRAMS]
    assert len(names) == len(set(names))
