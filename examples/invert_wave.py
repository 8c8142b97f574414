"""Find what waves travelled through, from what was heard: python examples/invert_wave.py [megabytes]

Waves cross a square in which their speed is unknown: 500 steps that write in place. nt.value_and_grad differentiates the
loop over time, and nt.checkpoint bounds the memory that states of it may take. Gradient steps find the speed.
"""

import sys
from importlib import import_module
from typing import Any

import nestor as nt
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SIZE, STEPS, MEMORY = 192, 500, 32
"""Cells along a side, steps of time, and the megabytes for states of the loop (all of them would be 281)."""
SOURCES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Where waves start, along the upper side; they are heard along the others."""


def heard(speed: Array, source: int, pulse: Array) -> Array:
    """What receivers hear of one pulse: an array of (step, side, receiver)."""
    n, steps = speed.shape[0], pulse.shape[0]
    now, last, record = np.zeros((n, n)), np.zeros((n, n)), np.zeros((steps, 3, n))
    for t in range(steps):
        bend = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4.0 * now[1:-1, 1:-1]
        last[1:-1, 1:-1] = 2.0 * now[1:-1, 1:-1] - last[1:-1, 1:-1] + speed[1:-1, 1:-1] ** 2 * bend
        last[8, source] += pulse[t]
        now, last = last, now
        record[t, 0], record[t, 1], record[t, 2] = now[n - 8], now[:, 8], now[:, n - 8]
    return record


def misfit(speed: Array, source: int, pulse: Array, observed: Array, memory: int) -> float:
    """How far what is heard is from what was heard."""
    record = nt.checkpoint(heard, bytes=memory)(speed, source, pulse)
    missed: float = ((record - observed) ** 2).sum()
    return 0.5 * missed


def truth(size: int = SIZE) -> Array:
    """Slower in a round region, faster in a band."""
    y, x = np.mgrid[0:size, 0:size] / size
    speed: Array = np.full((size, size), 0.5)
    speed -= 0.06 * np.exp(-((x - 0.4) ** 2 + (y - 0.45) ** 2) / 0.02)
    speed += 0.04 * np.exp(-((y - 0.75 + 0.2 * x) ** 2) / 0.004)
    return speed


def smooth(field: Array, times: int = 6) -> Array:
    """The field, averaged with its neighbours."""
    for _ in range(times):
        wide = np.pad(field, 1, mode="edge")
        field = (wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2]) / 4
    return field


def pulse_of(steps: int) -> Array:
    """What the sources send."""
    time = np.arange(steps)
    return np.exp(-(((time - 40) / 12) ** 2)) * np.sin((time - 40) / 8)


def invert(
    iterations: int = 20, size: int = SIZE, steps: int = STEPS, memory: int = MEMORY, rate: float = 0.003
) -> tuple[Array, list[float]]:
    """Normalised gradient steps with momentum from a constant speed; gives the speed and the misfits."""
    pulse, sources = pulse_of(steps), [int(size * x) for x in SOURCES]
    observed = [heard(truth(size), source, pulse) for source in sources]
    speed, move = np.full((size, size), 0.5), np.zeros((size, size))
    losses: list[float] = []
    step_of = nt.value_and_grad(misfit)
    for _ in range(iterations):
        total, gradient = 0.0, np.zeros((size, size))
        for source, record in zip(sources, observed, strict=True):
            value, part = step_of(speed, source, pulse, record, memory * 2**20)
            total, gradient = total + value, gradient + part
        edge = size // 12  # near sources and receivers nothing is learned
        gradient[:edge] = gradient[-edge:] = gradient[:, :edge] = gradient[:, -edge:] = 0.0
        gradient = smooth(gradient)
        move = 0.7 * move - rate * gradient / np.abs(gradient).max()
        speed = np.clip(speed + move, 0.3, 0.7)
        losses.append(float(total))
        print(f"\rstep {len(losses)} of {iterations}: misfit {total:.4g}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return speed, losses


def plot(found: Array, losses: list[float], path: str = "invert_wave.png") -> None:
    """The true speed, what was found, and the misfits."""
    pyplot: Any = import_module("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    figure, axes = pyplot.subplots(1, 3, figsize=(12, 4))
    for axis, title, field in zip(axes[:2], ("true speed", "found"), (truth(), found), strict=True):
        axis.imshow(field, vmin=0.42, vmax=0.56)
        axis.set_title(title)
    axes[2].semilogy(losses)
    axes[2].set_title("misfit")
    figure.savefig(path)
    print(f"wrote {path}")


if __name__ == "__main__":
    memory = int(sys.argv[1]) if len(sys.argv) > 1 else MEMORY
    found, losses = invert(memory=memory)
    error = [float(np.abs(field - truth()).mean()) for field in (np.full((SIZE, SIZE), 0.5), found)]
    print(
        f"misfit {losses[0]:.4g} -> {losses[-1]:.4g}, mean error of the speed {error[0]:.4f} -> {error[1]:.4f}"
    )
    try:
        plot(found, losses)
    except ImportError:
        print("with matplotlib it draws them")
