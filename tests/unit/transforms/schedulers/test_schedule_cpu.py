"""nest-schedule-cpu: scheduled nests compute what they computed before, in the interpreter and as machine code."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from cpu_nests import NESTS, Nest
from nestor.dialects.nest import ForOp
from nestor.dialects.registry import make_context
from nestor.dialects.remarks import listening
from nestor.dialects.verifier import verify
from nestor.lowering.llvm_ir.emit import emit_llvm_ir
from nestor.runtime.abi import ErrorRecord, Packer
from nestor.runtime.cpu.engine import compile_llvm_ir
from nestor.runtime.interp.run import run_nest
from nestor.transforms.registry import load_pass
from nestor.transforms.schedulers.cpu.schedule_cpu import NestScheduleCpuPass
from parsed import parse_module
from xdsl.dialects.builtin import ModuleOp

LOWERING = ("convert-nest-to-scf", "canonicalize", "cse", "expand-math", "convert-to-llvm")


def scheduled(text: str) -> tuple[ModuleOp, list[str]]:
    """The module after scheduling, and what the scheduler said about it."""
    module = parse_module(text)
    heard: list[str] = []
    with listening(lambda remark: heard.append(remark.message)):
        NestScheduleCpuPass().apply(make_context(), module)
    verify(module)
    return module, heard


def fresh(nest: Nest) -> list:
    return nest.arguments(np.random.default_rng(11))


def check(nest: Nest, arguments: list) -> None:
    for position, expected in nest.expected(*fresh(nest)).items():
        np.testing.assert_allclose(arguments[position], expected, rtol=nest.rtol, atol=0)


def run_machine_code(module: ModuleOp, arguments: list) -> None:
    packer = Packer.for_function(next(iter(module.ops)))
    for name in LOWERING:
        load_pass(name)().apply(make_context(), module)
    code = compile_llvm_ir(emit_llvm_ir(module))
    assert code.entry("f")(packer(*arguments), ctypes.addressof(ErrorRecord())) == 0


@pytest.mark.parametrize("name", NESTS)
def test_scheduled_nests_compute_the_same(name: str):
    nest = NESTS[name]
    module, _ = scheduled(nest.text)
    interpreted, compiled = fresh(nest), fresh(nest)
    run_nest(next(iter(module.ops)), interpreted)
    check(nest, interpreted)
    run_machine_code(module, compiled)
    check(nest, compiled)


@pytest.mark.parametrize("name", NESTS)
def test_loops_are_marked_as_expected(name: str):
    module, _ = scheduled(NESTS[name].text)
    marks = {f"{op.label} {op.kind}" for op in module.walk() if isinstance(op, ForOp) and op.kind != "serial"}
    expected = set(NESTS[name].marks)
    assert expected <= marks
    is_parallel = any(mark.endswith("parallel") for mark in marks)
    assert is_parallel == any(mark.endswith("parallel") for mark in expected)
    assert expected or not marks


def test_what_stays_serial_is_said():
    _, heard = scheduled(NESTS["gauss-seidel"].text)
    assert heard[0].startswith(
        'the loop "j" stays scalar: cannot vectorize the loop "j": a flow dependence on "a"'
    )
    assert [text.split(":")[0] for text in heard[1:]] == [
        'the loop "i" runs on one thread',
        'the loop "t" runs on one thread',
    ]


def test_long_sums_are_as_exact_as_pairwise_ones():
    """A million terms: a plain loop is off by some 1e-3."""
    values = np.full((1, 1 << 20), 0.1, np.float32)
    total = np.zeros(1, np.float32)
    module, _ = scheduled(NESTS["row-sums-dynamic"].text)
    run_machine_code(module, [values, total])
    exact = values.sum(dtype=np.float64)
    assert abs(total[0] - exact) <= 50 * np.finfo(np.float32).eps * exact
