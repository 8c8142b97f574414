"""Derivatives of loops on whole arrays whose condition reads a number that they compute, against central differences.

Differences are of Python's function; a step is small enough that no loop runs another number of times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import nestor as nt
import numpy as np
import pytest
from whole import convergence as programs
from whole.program import symmetric

pytestmark = pytest.mark.one_of(4)

STEP = 1e-6


@dataclass(frozen=True)
class Case:
    """A program, its arguments for an extent, which of them are varied, and what is made a number of its results."""

    program: Callable[..., Any]
    arguments: Callable[[np.random.Generator, int], tuple[Any, ...]]
    vary: tuple[int, ...] = (0,)
    first: bool = True
    sliced: bool = True
    """Whether `nt.vmap` takes it with its varied arguments stacked."""

    @property
    def name(self) -> str:
        return self.program.__name__

    def loss(self, *arguments):
        result = self.program(*arguments)
        if isinstance(result, tuple):
            result = result[0]
        return np.sum(np.sin(result + 0.3))


def loss_of(program, first):
    """A number made of the (first) result of a program, as a function that compiles."""
    if first:
        return lambda *arguments: np.sum(np.sin(program(*arguments)[0] + 0.3))
    return lambda *arguments: np.sum(np.sin(program(*arguments) + 0.3))


def _positive(r, n):
    return symmetric(r, n) + n * np.eye(n)


CASES = [
    Case(programs.relax, lambda r, n: (r.random((n, n + 1)), 1e-2), first=False),
    Case(programs.relax_and_count, lambda r, n: (r.random(n), 1e-2, 50)),
    Case(programs.power_iteration, lambda r, n: (_positive(r, n), 1e-2)),
    Case(
        programs.sinkhorn,
        lambda r, n: (r.random((n, n)), np.ones(n) / n, np.ones(n) / n, 1e-2),
        (0, 1),
        False,
    ),
    Case(programs.page_rank_until_steady, lambda r, n: (r.random((n, n)), 0.85, 1e-3), first=False),
    Case(programs.newton_elementwise, lambda r, n: (r.random(n) + 0.5, 1e-4), first=False),
    Case(programs.newton_all_done, lambda r, n: (r.random(n) + 0.2,), first=False),
    Case(programs.conjugate_gradients, lambda r, n: (_positive(r, n), r.random(n), 1e-1), (0, 1), False),
    Case(programs.steepest_descent, lambda r, n: (_positive(r, n), r.random(n), 1e-2), (0, 1)),
    Case(programs.value_iteration, lambda r, n: (r.random((2, n)), np.full((2, n, n), 1 / n), 0.5, 1e-3)),
    Case(programs.heat_to_time, lambda r, n: (r.random(n), 0.2, 1.0, 1e-2)),
    Case(programs.time_steps_with_inner_solves, lambda r, n: (r.random(n), 2, 1e-2)),
    Case(programs.while_in_while, lambda r, n: (r.random(n), 1e-2)),
    Case(programs.of_an_object, lambda r, n: (r.random(n), 1e-2)),
    Case(programs.of_a_function, lambda r, n: (_positive(r, n), r.random(n), 1e-3), (0, 1), False),
    Case(programs.of_a_closure, lambda r, n: (r.random(n) + 0.5, 1e-3)),
    Case(programs.two_errors, lambda r, n: (r.random(n), r.random(n), 1e-3), (0, 1), False),
    Case(programs.errors_in_an_array, lambda r, n: (r.random(n), 1e-3)),
    Case(programs.sum_of_a_slice, lambda r, n: (r.random(n),), first=False),
    Case(programs.dead_state_beside, lambda r, n: (r.random(n), 1e-2), first=False),
    Case(programs.returned_from_within, lambda r, n: (r.random(n), 1e-3, 30)),
    Case(
        programs.orthogonal_iteration,
        lambda r, n: (r.random((n + 1, n)) + np.eye(n + 1, n), 1e-3),
        first=False,
    ),
]
QUICK = {"relax", "sinkhorn", "two_errors", "returned_from_within", "while_in_while"}
MARKED = [pytest.param(c, id=c.name, marks=[] if c.name in QUICK else [pytest.mark.slow]) for c in CASES]


@pytest.mark.parametrize("case", MARKED)
def test_gradient_and_tangent(case):
    loss = loss_of(case.program, case.first)
    gradient = nt.value_and_grad(loss, argnums=case.vary)
    for k, n in enumerate((4, 5, 3)):
        arguments = case.arguments(np.random.default_rng(k), n)
        value, found = gradient(*arguments)
        np.testing.assert_allclose(value, loss(*arguments), rtol=1e-10)
        directions = [np.random.default_rng(9).standard_normal(arguments[i].shape) for i in case.vary]
        want = difference(loss, arguments, case.vary, directions)
        got = sum(np.sum(g * d) for g, d in zip(found, directions, strict=True))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7, err_msg=f"call {k}: gradient")
        if k == 0:
            varied = along(loss, arguments, case.vary)
            points = [arguments[i] for i in case.vary]
            _, tangent = nt.jvp(varied, tuple(points), tuple(directions))
            np.testing.assert_allclose(tangent, want, rtol=1e-5, atol=1e-7, err_msg="tangent")


@pytest.mark.parametrize("case", MARKED)
def test_gradients_of_slices(case):
    """`nt.vmap`: each slice ends when it would end by itself."""
    loss = loss_of(case.program, case.first)
    stacks = [case.arguments(np.random.default_rng(k), 3) for k in range(3)]
    points = [np.stack([arguments[i] for arguments in stacks]) for i in case.vary]
    varied = along(loss, stacks[0], case.vary)
    every = tuple(range(len(points)))
    values, gradients = nt.vmap(nt.value_and_grad(varied, argnums=every))(*points)
    for k in range(3):
        here = [p[k] for p in points]
        value, gradient = nt.value_and_grad(varied, argnums=every)(*here)
        np.testing.assert_allclose(values[k], value, rtol=1e-10)
        for a, b in zip(gradients, gradient, strict=True):
            np.testing.assert_allclose(a[k], b, rtol=1e-8, atol=1e-12)


def along(loss, arguments, vary):
    """The loss as a function of what is varied alone."""
    if vary == (0,):
        rest = arguments[1:]
        return lambda x: loss(x, *rest)
    assert vary == (0, 1)
    rest = arguments[2:]
    return lambda x, y: loss(x, y, *rest)


def difference(loss, arguments, vary, directions):
    ends = []
    for sign in (1, -1):
        moved = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        for i, d in zip(vary, directions, strict=True):
            moved[i] = moved[i] + sign * STEP * d
        ends.append(loss(*moved))
    return (ends[0] - ends[1]) / (2 * STEP)
