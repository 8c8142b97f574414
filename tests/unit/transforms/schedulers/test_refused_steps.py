"""An automatic schedule whose steps are refused, in the middle of strategies too: these are left out, and nothing is wrong.

Every primitive that a schedule takes is refused in turn, after it has changed the IR, which a primitive never does itself.
"""

from __future__ import annotations

import functools
import re
import shlex

import nestor as nt
import numpy as np
import pytest
from nestor.analysis.machine import cpu, gpu
from nestor.dialects.diagnostic import fail
from nestor.dialects.nest import ForOp
from nestor.dialects.remarks import listening
from nestor.dialects.verifier import verification_errors
from nestor.frontend.jit.specialise.stages import lowered_copy, print_module
from nestor.runtime.interp.run import run_nest
from nestor.tools.opt_tool.main import main
from nestor.transforms.nest.rewrite.steps import UNRECORDED, Steps
from nestor.transforms.schedulers.cpu.schedule_cpu import Machine, schedule_nests
from nestor.transforms.schedulers.cuda.schedule_cuda import schedule_function
from nestor.transforms.schedulers.refusals import NOT_TAKEN
from places import ROOT

pytestmark = pytest.mark.one_of(6)

R = np.random.default_rng(3)
X, W, B = R.random((24, 33)), R.random((33, 40)), R.random(40)


def layers(x, w, b):
    h = np.tanh(x @ w + b)
    e = np.exp(h - h.max(axis=1)[:, None])
    return e / e.sum(axis=1)[:, None], (x * x).sum(axis=0).T, np.cumsum(b)


class Refusing(Steps):
    """Does steps; refuses those of one primitive once they are done."""

    def __init__(self, refused: str | None = None):
        self.refused, self.taken = refused, []

    def do(self, primitive, *targets, **options):
        place = targets[0][0] if isinstance(targets[0], list | tuple) else targets[0]
        location = place if isinstance(place, ForOp) else None
        result = super().do(primitive, *targets, **options)
        self.taken.append(primitive.__name__)
        if primitive.__name__ == self.refused:
            raise fail(location, f"{self.refused} is refused")
        return result

    def attempt(self, primitive, *targets, **options):
        return UNRECORDED.attempt(primitive, *targets, **options)


@functools.cache
def nests():
    return lowered_copy(nt.jit(layers).lower(X, W, B).program.module, ("to-nest",))


def scheduled(target: str, steps: Steps):
    module = nests().clone()
    function = next(op for op in module.body.block.ops if op.name == "func.func")
    if target == "cpu":
        schedule_nests(function, Machine(cpu(), steps))  # pyright: ignore
    else:
        schedule_function(function, 64, steps, gpu())  # pyright: ignore
    return module, function


def taken(target: str) -> list[str]:
    steps = Refusing()
    scheduled(target, steps)
    return sorted(set(steps.taken))


@pytest.mark.parametrize("stride", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_what_is_refused_of_a_schedule_is_left_out_and_the_program_stays_right(target, stride):
    primitives = taken(target)
    assert len(primitives) >= 6
    for refused in primitives[::stride]:
        heard = []
        with listening(heard.append):
            module, function = scheduled(target, Refusing(refused))
        assert any(f"{NOT_TAKEN}: {refused} is refused" in said.message for said in heard), refused
        assert not verification_errors(module), refused
        out = [np.zeros((24, 40)), np.zeros(33), np.zeros(40)]
        run_nest(function, [X, W, B, *out], mode="shuffled")
        for ours, expected in zip(out, layers(X, W, B), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-9, err_msg=refused)


LIT = ROOT / "tests" / "filecheck" / "transforms" / "schedulers"


@pytest.mark.one_of(3)
@pytest.mark.parametrize("path", sorted(LIT.rglob("*.mlir")), ids=lambda path: path.stem)
def test_no_step_is_left_out_of_the_schedules_that_are_shown(path, capsys):
    """Steps that a strategy takes are legal: a refusal means that it does not know what it does."""
    runs = re.findall(r"^// RUN: opt-tool %s (.*?)(?: \d>\S+)? \| filecheck", path.read_text(), re.MULTILINE)
    assert runs
    for run in dict.fromkeys(runs):
        words = [word for word in shlex.split(run) if word != "--verify-diagnostics"]
        assert main([str(path), *words]) == 0
    assert NOT_TAKEN not in capsys.readouterr().err


def test_a_schedule_of_which_all_is_refused_leaves_the_nests_as_they_were():
    class None_(Steps):
        def do(self, primitive, *targets, **options):
            raise fail(None, "no step is taken")

    module, _ = scheduled("cpu", None_())
    assert print_module(module) == print_module(nests())


def test_lanes_of_an_outer_loop_that_add_to_one_sum_are_no_refused_step():
    def f(a, w):
        return np.sum(np.sin(0.3 * (a[..., None] * w[:2])))

    heard = []
    with listening(heard.append):
        value, gradient = nt.jit(nt.value_and_grad(f))(X[:3, :4], B[:7])
    assert not any(NOT_TAKEN in said.message for said in heard)
    np.testing.assert_allclose(value, f(X[:3, :4], B[:7]))
    np.testing.assert_allclose(gradient, np.cos(0.3 * (X[:3, :4, None] * B[:2])) @ (0.3 * B[:2]))


@pytest.mark.parametrize("options", [{}, {"dynamic": True}, {"target": "cuda-sim"}])
def test_elements_written_from_the_end_and_read_round_have_gradients(options):
    """On the processor it was refused: "cannot parallelize the loop i: an anti dependence on t"."""

    def f(x, n):
        v = x.copy()
        for i in range(n):
            v[-i - 1] = np.sin(x[i * 2 % len(x)])
        return (v * x).sum()

    x = np.arange(1.0, 6.0)
    for n in (4, 5, 0):
        value, gradient = nt.jit(nt.value_and_grad(f), **options)(x, n)
        np.testing.assert_allclose(value, f(x, n))
        steps = np.eye(5) * 1e-6
        differences = [(f(x + step, n) - f(x - step, n)) / 2e-6 for step in steps]
        np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)
