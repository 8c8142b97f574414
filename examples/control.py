"""Steer a ball that bounces to where it shall be: python examples/control.py

A ball flies in a box, bounces off the floor, the walls and a pillar (branches), and may push itself. nt.value_and_grad
differentiates the simulation, a plain loop over time, and gradient steps find pushes that bring it to the target.
"""

import nestor as nt
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEPS, STEP, GRAVITY, BOUNCE = 240, 0.01, 9.81, 0.8
START, TARGET = np.array([0.2, 0.8]), np.array([1.7, 0.5])
PILLAR = 0.9, 1.1, 0.6
"""Left and right side of the pillar, and how high it is."""


def flight(pushes: Array) -> Array:
    """Places of the ball: an array of (step, axis). Semi-implicit steps of Euler, with a loss of speed at each bounce."""
    steps = pushes.shape[0]
    places = np.zeros((steps + 1, 2))
    x, y, vx, vy = START[0], START[1], 0.0, 0.0
    places[0, 0], places[0, 1] = x, y
    for t in range(steps):
        vx = vx + STEP * pushes[t, 0]
        vy = vy + STEP * (pushes[t, 1] - GRAVITY)
        x = x + STEP * vx
        y = y + STEP * vy
        if y < 0.0:
            y, vy = -y, -BOUNCE * vy
        if x < 0.0:
            x, vx = -x, -BOUNCE * vx
        elif x > 2.0:
            x, vx = 4.0 - x, -BOUNCE * vx
        if PILLAR[0] < x and x < PILLAR[1] and y < PILLAR[2]:
            if y > PILLAR[2] - 0.1 and vy < 0.0:
                y, vy = 2 * PILLAR[2] - y, -BOUNCE * vy
            elif vx > 0.0:
                x, vx = 2 * PILLAR[0] - x, -BOUNCE * vx
            else:
                x, vx = 2 * PILLAR[1] - x, -BOUNCE * vx
        places[t + 1, 0], places[t + 1, 1] = x, y
    return places


def cost(pushes: Array) -> float:
    """How far the ball is from the target in the last steps, and the effort."""
    places = flight(pushes)
    missed: float = ((places[-10:] - TARGET) ** 2).mean()
    effort: float = (pushes**2).mean()
    return 100.0 * missed + 0.01 * effort


def steer(iterations: int = 400, rate: float = 0.3) -> tuple[Array, list[float]]:
    """Adam from no pushes at all; gives the pushes and the costs."""
    pushes = np.zeros((STEPS, 2))
    first, second = np.zeros_like(pushes), np.zeros_like(pushes)
    costs: list[float] = []
    step_of = nt.value_and_grad(cost)
    for k in range(1, iterations + 1):
        value, gradient = step_of(pushes)
        first, second = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        pushes = pushes - rate * first / (1 - 0.9**k) / (np.sqrt(second / (1 - 0.99**k)) + 1e-8)
        costs.append(float(value))
    return pushes, costs


if __name__ == "__main__":
    pushes, costs = steer()
    places = nt.jit(flight)(pushes)
    print(f"cost {costs[0]:.3f} -> {costs[-1]:.3f}")
    print(f"the ball ends at {places[-1].round(3)}, the target is {TARGET}")
    print("effort", float((pushes**2).mean().round(2)))
