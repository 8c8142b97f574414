"""The examples that learn do learn."""

import re
import runpy
from pathlib import Path

import nestor as nt
import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def example(name):
    return runpy.run_path(str(EXAMPLES / name))


def test_rates_of_an_equation_are_found():
    fit_ode = example("fit_ode.py")
    rates, losses = fit_ode["fit"](steps=250)
    assert losses[-1] < 0.03 * losses[0]
    np.testing.assert_allclose(rates, fit_ode["RATES"], atol=0.1)


def test_a_ball_is_steered():
    control = example("control.py")
    pushes, costs = control["steer"]()
    assert costs[-1] < 0.02 * costs[0]
    assert np.abs(control["flight"](pushes)[-1] - control["TARGET"]).max() < 0.15


@pytest.mark.slow
def test_the_field_comes_closer():
    invert_wave = example("invert_wave.py")
    speed, losses = invert_wave["invert"](iterations=14, size=96, steps=260, memory=4)
    assert losses[-1] < 0.1 * losses[0]
    inside = slice(12, -12), slice(12, -12)
    truth = invert_wave["truth"](96)[inside]
    assert np.abs(speed[inside] - truth).mean() < 0.75 * np.abs(0.5 - truth).mean()


@pytest.mark.parametrize("megabytes", [32, pytest.param(256, marks=pytest.mark.slow)])
def test_states_of_waves_stay_within_the_bound(megabytes):
    invert_wave = example("invert_wave.py")
    size, steps = invert_wave["SIZE"], invert_wave["STEPS"]
    pulse, observed = invert_wave["pulse_of"](steps), np.zeros((steps, 3, size))
    arguments = np.full((size, size), 0.5), 19, pulse, observed, megabytes * 2**20
    text = nt.grad(invert_wave["misfit"]).lower(*arguments).as_text("nest")
    stacks = re.findall(rf"nest.alloc .*memref<(\d+)x{size}x{size}xf64>", text)
    assert stacks
    kept = sum(map(int, stacks)) * size * size * 8
    assert 0.9 * megabytes * 2**20 < kept <= megabytes * 2**20


@pytest.mark.slow
def test_digits_are_learned():
    train_digits = example("train_digits.py")
    assert train_digits["accuracy"](train_digits["train"]()) > 0.95
