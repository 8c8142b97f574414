"""The examples that learn do learn."""

import runpy
from pathlib import Path

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


@pytest.mark.slow
def test_digits_are_learned():
    train_digits = example("train_digits.py")
    assert train_digits["accuracy"](train_digits["train"]()) > 0.95
