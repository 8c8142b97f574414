"""Fit the parameters of a differential equation to noisy observations: python examples/fit_ode.py

Prey and predators (Lotka and Volterra) are followed by the method of Runge and Kutta; nt.value_and_grad differentiates the
loop over time, and gradient steps with momentum find the four rates that made the observations.
"""

import nestor as nt
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEP, STEPS = 0.05, 120
RATES = np.array([1.1, 0.4, 0.4, 0.1])
"""Births of prey, prey eaten, deaths of predators, births of predators."""


def change(state: Array, rates: Array) -> Array:
    prey, hunters = state[0], state[1]
    return np.stack([prey * (rates[0] - rates[1] * hunters), hunters * (rates[3] * prey - rates[2])])


def runge_kutta(state: Array, rates: Array) -> Array:
    """One step of the fourth order."""
    a = change(state, rates)
    b = change(state + STEP / 2 * a, rates)
    c = change(state + STEP / 2 * b, rates)
    d = change(state + STEP * c, rates)
    return state + STEP / 6 * (a + 2 * b + 2 * c + d)


def loss(rates: Array, start: Array, observed: Array) -> float:
    """The mean squared distance from what was observed after each step."""
    state: Array = start
    total: float = 0.0
    for k in range(observed.shape[0]):
        state = runge_kutta(state, rates)
        total += ((state - observed[k]) ** 2).sum()
    return total / len(observed)


def observe(rng: np.random.Generator, start: Array) -> Array:
    """What the true rates lead to, with noise."""
    state = start
    states: list[Array] = []
    for _ in range(STEPS):
        state = runge_kutta(state, RATES)
        states.append(state)
    return np.array(states) + rng.normal(0, 0.05, (STEPS, 2))


def fit(steps: int = 400, rate: float = 0.02) -> tuple[Array, list[float]]:
    """Adam from a wrong guess; gives the rates and the losses."""
    start = np.array([10.0, 5.0])
    observed = observe(np.random.default_rng(0), start)
    rates = np.array([0.9, 0.3, 0.5, 0.12])
    first, second = np.zeros(4), np.zeros(4)
    losses: list[float] = []
    step_of = nt.value_and_grad(loss)
    for step in range(1, steps + 1):
        value, gradient = step_of(rates, start, observed)
        first, second = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        rates = rates - rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        losses.append(float(value))
    return rates, losses


if __name__ == "__main__":
    found, losses = fit()
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.4f}")
    print("true  rates", RATES)
    print("found rates", found.round(3))
