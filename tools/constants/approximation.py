"""Polynomials that approximate a function on an interval, in decimal numbers: interpolants and minimax polynomials."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal

ONE = Decimal(1)


def interpolate(
    function: Callable[[Decimal], Decimal], low: Decimal, high: Decimal, degree: int
) -> list[Decimal]:
    """Coefficients, lowest power first, of the interpolant at the Chebyshev nodes of [low, high]."""
    nodes = [
        (low + high) / 2 + (high - low) / 2 * Decimal(math.cos(math.pi * (2 * k + 1) / (2 * degree + 2)))
        for k in range(degree + 1)
    ]
    return interpolate_at(function, nodes)


def interpolate_at(function: Callable[[Decimal], Decimal], nodes: Sequence[Decimal]) -> list[Decimal]:
    """Coefficients, lowest power first, of the interpolant at `nodes`."""
    degree = len(nodes) - 1
    divided = [function(x) for x in nodes]
    for order in range(1, degree + 1):
        for k in reversed(range(order, degree + 1)):
            divided[k] = (divided[k] - divided[k - 1]) / (nodes[k] - nodes[k - order])
    coefficients = [Decimal(0)] * (degree + 1)
    for node, value in zip(reversed(nodes), reversed(divided), strict=True):
        shifted = [Decimal(0), *coefficients[:-1]]
        coefficients = [s - node * c for s, c in zip(shifted, coefficients, strict=True)]
        coefficients[0] += value
    return coefficients


def minimax(
    function: Callable[[Decimal], Decimal],
    low: Decimal,
    high: Decimal,
    degree: int,
    weight: Callable[[Decimal], Decimal] = lambda x: ONE,
) -> list[Decimal]:
    """The polynomial with the least largest weighed error, lowest power first: Remez's exchange on a fine grid."""
    steps = 40 * (degree + 2)
    middle, radius = (low + high) / 2, (high - low) / 2
    grid = [Decimal(math.cos(math.pi * k / steps)) for k in range(steps + 1)]
    values = [function(middle + radius * t) for t in grid]
    weights = [weight(middle + radius * t) for t in grid]
    places = [round(k * steps / (degree + 1)) for k in range(degree + 2)]
    solution: list[Decimal] = []
    for _ in range(30):
        rows = [
            [*(grid[p] ** j for j in range(degree + 1)), (-1) ** k / weights[p], values[p]]
            for k, p in enumerate(places)
        ]
        solution = solve(rows)[:-1]
        errors = [w * (v - horner(solution, t)) for t, v, w in zip(grid, values, weights, strict=True)]
        found = extrema(errors, degree + 2)
        if found == places:
            break
        places = found
    # From powers of t to powers of x, t = (x - middle) / radius.
    result = [Decimal(0)]
    for c in reversed(solution):
        shifted = [Decimal(0), *(r / radius for r in result)]
        result = [s - r * middle / radius for s, r in zip(shifted, [*result, Decimal(0)], strict=True)]
        result[0] += c
    return result[: degree + 1]


def horner(coefficients: Sequence[Decimal], x: Decimal) -> Decimal:
    total = Decimal(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def solve(rows: list[list[Decimal]]) -> list[Decimal]:
    """The solution of linear equations; each row ends with its right side."""
    size = len(rows)
    for k in range(size):
        pivot = max(range(k, size), key=lambda r: abs(rows[r][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for r in range(size):
            if r != k:
                rows[r] = [v - rows[r][k] * w for v, w in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]


def extrema(errors: Sequence[Decimal], count: int) -> list[int]:
    """Where the error is largest between its changes of sign: so many places, the outermost left out."""
    places: list[int] = []
    for k, error in enumerate(errors):
        if places and (error > 0) == (errors[places[-1]] > 0):
            if abs(error) > abs(errors[places[-1]]):
                places[-1] = k
        else:
            places.append(k)
    while len(places) > count:
        del places[0 if abs(errors[places[0]]) < abs(errors[places[-1]]) else -1]
    return places
