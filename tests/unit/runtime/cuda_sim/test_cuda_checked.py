"""Checked mode of the CUDA simulator: planted faults are reported with element and lines, right kernels are clean."""

from __future__ import annotations

import dataclasses
import re

import nestor as nt
import numpy as np
import pytest
from faulty_kernels import CASES, Case
from nestor.dialects.diagnostic import NestorError
from nestor.runtime.cuda_sim.faults import SimulatorFault
from nestor.runtime.cuda_sim.module import SimModule
from nestor.runtime.cuda_sim.options import ORDERS, SimOptions, parse_options

SOURCE = "\n\n".join(case.source for case in CASES)


@pytest.fixture(scope="module", params=ORDERS)
def module(request):
    return SimModule(SOURCE, "checked", request.param, seed=5)


def launch(module: SimModule, case: Case, arguments: list) -> None:
    module.launch(case.kernel, case.grid, case.block, arguments, shared_bytes=case.shared_bytes)


def arguments_of(case: Case) -> list:
    """The arguments of a case; views stay views, for where they begin matters."""
    return [a.copy() if isinstance(a, np.ndarray) and a.base is None else a for a in case.arguments]


@pytest.mark.parametrize("case", [c for c in CASES if c.kind is None], ids=lambda c: c.name)
def test_a_right_kernel_is_clean(module, case):
    launch(module, case, arguments_of(case))


@pytest.mark.parametrize("case", [c for c in CASES if c.kind is not None], ids=lambda c: c.name)
def test_a_planted_fault_is_caught(module, case):
    arguments = arguments_of(case)
    with pytest.raises(SimulatorFault) as caught:
        launch(module, case, arguments)
    reports = [report for report in caught.value.reports if report.kind == case.kind]
    assert reports, str(caught.value)
    lines = [[r.first.text, r.second.text if r.second else ""] for r in reports]
    assert any(case.line in text for pair in lines for text in pair), str(caught.value)
    if case.place:
        assert any(re.match(case.place, report.place) for report in reports), str(caught.value)
    if case.python:
        assert case.python in str(caught.value)
    for now, before in zip(arguments, case.arguments, strict=True):
        np.testing.assert_array_equal(now, before)


REPORT = """\
error: 2 faults in kernel 'k_no_first_barrier' (grid 3, block 128):
  read of shared memory that nothing has written: tile[64]
    read by thread 0 of block 0  kernels.cu:LINE: tile[t] = tile[t] + tile[t + step];
    from prog.py:3: s = np.sum(x)
    seen 192 times
  race on shared memory: tile[64]
    write by thread 64 of block 0  kernels.cu:LINE: tile[t] = i < n ? x[i] : 0.0f;
    read by thread 0 of block 0  kernels.cu:LINE: tile[t] = tile[t] + tile[t + step];
    from prog.py:3: s = np.sum(x)
    seen 192 times"""


def test_a_report_names_both_accesses_and_their_lines():
    (case,) = [c for c in CASES if c.name == "no first barrier"]
    with pytest.raises(SimulatorFault) as caught:
        launch(SimModule(SOURCE, "checked"), case, arguments_of(case))
    assert re.sub(r"kernels.cu:\d+", "kernels.cu:LINE", str(caught.value)) == REPORT
    _, report = caught.value.reports
    assert (report.first.thread, report.first.access) == ((64, 0, 0), "write")
    assert report.second is not None and (report.second.thread, report.second.access) == ((0, 0, 0), "read")
    assert report.count == 192


def test_what_no_mode_or_order_is_called_is_refused():
    with pytest.raises(NestorError, match="no mode 'careful'"):
        SimModule(SOURCE, "careful")
    with pytest.raises(NestorError, match="no order 'sideways'"):
        SimModule(SOURCE, "checked", "sideways")


@pytest.mark.parametrize(
    "word",
    [
        "careful",
        "Plain",
        "random=",
        "random=x",
        "random=-1",
        "random=1.5",
        "forward=2",
        "mode=plain",
        "plain random",
    ],
)
def test_a_word_that_is_no_option_is_refused(word):
    for text in (word, f"checked,{word}", f" {word} , reverse"):
        with pytest.raises(NestorError, match=f"no option '{word}'"):
            parse_options(text)


def test_options_are_those_of_the_target_or_of_the_environment(monkeypatch):
    monkeypatch.setenv("NESTOR_CUDA_SIM", "checked, reverse")
    assert parse_options(None) == SimOptions("checked", "reverse")
    assert parse_options("random=7") == SimOptions("plain", "random", 7)
    assert parse_options("") == SimOptions()


def scaled_rows(x, y):
    shifted = x - 1
    total = np.sum(shifted * y, axis=1, keepdims=True)
    return shifted / total


def test_each_line_of_an_emitted_kernel_has_its_python_line():
    """Also where the comments, which stand where a Python line is reached first, say another one."""
    x = np.ones((5, 40), np.float32)
    low = nt.jit(scaled_rows, target="cuda-sim").lower(x, x)  # pyright: ignore[reportCallIssue]
    text = low.compile().engine.module.text
    assert len(text.places) == len(text.lines)
    python = {
        what: {
            str(text.python_line(k)).split(": ")[-1] for k, line in enumerate(text.lines, 1) if what in line
        }
        for what in ("const float shifted =", " result[", 'extern "C"')
    }
    assert python == {
        "const float shifted =": {"shifted = x - 1"},
        " result[": {"return shifted / total"},
        'extern "C"': {"None"},
    }


def test_results_that_nobody_writes_are_a_fault():
    """A mask leaves out the last element, and nobody reads it."""
    function = nt.jit(lambda x: x + 1.0, target="cuda-sim:checked")
    compiled = function.lower(np.ones(37, np.float32)).compile("cuda-sim:checked")
    engine = compiled.engine
    text = engine.plan.cuda.source
    assert ">= 37" in text
    edited = text.replace(">= 37", ">= 36")
    engine.module = SimModule(edited, "checked")
    with pytest.raises(
        SimulatorFault, match=r"no kernel has written the element of the result \w+\[36\]"
    ) as caught:
        compiled(np.ones(37, np.float32))
    assert [report.kind for report in caught.value.reports] == ["unwritten"]


def test_shared_arrays_beyond_what_a_kernel_may_declare():
    text = """extern "C" __global__ void __launch_bounds__(32) f(float *x) {
  __shared__ float tile[100][128];
  tile[threadIdx.x][0] = x[threadIdx.x];
}
"""
    with pytest.raises(SimulatorFault, match="arrays in shared memory have 51200 bytes, of at most 49152"):
        SimModule(text, "checked").launch("f", (1,), (32,), [np.zeros(32, np.float32)])


def scaled_sum(x, y):
    return x * 2.0 + y


def test_a_check_compares_values():
    """With the interpreter's; and looks at the way that unaligned arrays take."""
    x = np.random.default_rng(0).standard_normal((33, 68)).astype(np.float32)
    compiled = nt.jit(scaled_sum, dynamic=True).lower(x, x).compile("cuda-sim")
    assert compiled.check(x, x) == []
    engine, text = compiled.engine, compiled.engine.plan.cuda.source
    fast, slow = text.split("} else {")
    for edited in (fast.replace("2.0f", "2.5f") + "} else {" + slow, text.replace("2.0f", "2.5f")):
        assert edited != text
        engine.module = SimModule(edited, "plain")
        (fault,) = compiled.check(x, x)
        assert fault.kind == "value" and fault.place == "result[0, 0]"
        assert re.fullmatch(r'result\[0, 0\] is \S+, and \S+ by target "interp"', str(fault))


def test_a_check_takes_the_way_of_unaligned_arrays():
    x = np.random.default_rng(0).standard_normal((33, 68)).astype(np.float32)
    compiled = nt.jit(scaled_sum, dynamic=True).lower(x, x).compile("cuda-sim")
    cuda = compiled.engine.plan.cuda
    fast, slow = cuda.source.split("} else {")
    edited = fast + "} else {" + slow.replace("x[index]", "x[index + 8]", 1)
    assert edited != cuda.source
    compiled.engine.plan.cuda = dataclasses.replace(cuda, source=edited)
    kinds = {fault.kind for fault in compiled.check(x, x)}
    assert kinds == {"out-of-bounds"}
