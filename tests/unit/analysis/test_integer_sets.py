"""Systems of integer constraints, against all points of a box: whether there is a solution, and an example of one.

60 seeds; slow tests draw 180.
"""

from __future__ import annotations

import random
from itertools import product

from nestor.analysis.nest.sets.integer_sets import Row, System, difference
from parsed import parse_module
from sampling import seeds

BOX = range(-5, 6)
EMPTY = "func.func @f() {\n  func.return\n}"


class _Random:
    """A system over three variables in a box, and which points satisfy it."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        (function,) = parse_module(EMPTY).ops
        self.system = System(function.body.block.last_op)  # pyright: ignore
        self.names = [self.system.fresh() for _ in range(3)]
        self.points = [dict(zip(self.names, point, strict=True)) for point in product(BOX, repeat=3)]
        for name in self.names:
            self.system.require_not_negative({name: 1, "": -BOX[0]})
            self.system.require_not_negative({name: -1, "": BOX[-1]})
        for _ in range(self.rng.randint(0, 3)):
            self.require()

    def terms(self) -> dict[str, int]:
        return {name: self.rng.randint(-3, 3) for name in self.names} | {"": self.rng.randint(-9, 9)}

    def require(self) -> None:
        terms, form = self.terms(), self.rng.randrange(4)
        if form == 0:
            self.system.require_zero(terms)
            self.points = [point for point in self.points if at(terms, point) == 0]
        elif form == 1:
            self.system.require_not_negative(terms)
            self.points = [point for point in self.points if at(terms, point) >= 0]
        else:
            first, second = self.rng.sample(self.names, 2)
            number = self.rng.randint(2, 4)
            if form == 2:
                self.system.require(f"({first} = {number} * floor({second}/{number}) or {second} < {first})")
                self.points = [
                    point
                    for point in self.points
                    if point[first] == point[second] // number * number or point[second] < point[first]
                ]
            else:
                self.system.require(f"{first} != {second}")
                self.points = [point for point in self.points if point[first] != point[second]]


def at(terms: dict[str, int], point: dict[str, int]) -> int:
    return sum(factor * point.get(name, 1) for name, factor in terms.items())


def test_solutions_are_the_points_that_satisfy_all():
    solvable = 0
    for seed in seeds(180):
        drawn = _Random(seed)
        solvable += bool(drawn.points)
        assert drawn.system.has_solution() == bool(drawn.points), seed
        count = drawn.system.solution_set().count_val().to_python()
        assert count == len(drawn.points), seed
    assert 0 < solvable < len(seeds(180))


def test_an_example_is_the_value_at_a_solution():
    for seed in seeds(180):
        drawn = _Random(seed)
        terms = drawn.terms()
        found = drawn.system.example(terms)
        if not drawn.points:
            assert found is None, seed
        else:
            assert found in {at(terms, point) for point in drawn.points}, seed


def test_of_each_choice_one_case_holds():
    for seed in seeds(180):
        drawn = _Random(seed)
        rng = drawn.rng
        choices = [
            [[Row(drawn.terms(), rng.random() < 0.3)] for _ in range(rng.randint(1, 2))]
            for _ in range(rng.randint(1, 2))
        ]
        possible = any(
            all(any(all(holds(row, point) for row in case) for case in cases) for cases in choices)
            for point in drawn.points
        )
        assert drawn.system.has_solution(*choices) == possible, seed


def holds(row: Row, point: dict[str, int]) -> bool:
    value = at(row.terms, point)
    return value == 0 if row.equal else value >= 0


def test_differences_are_those_of_the_values():
    for seed in seeds(180):
        drawn = _Random(seed)
        first, second = drawn.terms(), drawn.terms()
        for point in drawn.points[:20]:
            assert at(difference(first, second, seed), point) == at(first, point) - at(second, point) + seed
