"""Distributing loops: the same results as before, exactly, or a refusal."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from loop_programs import RandomLoops, check, loop_called
from nestor.transforms.nest.loops.distribute import distribute, pieces_of
from nestor.transforms.nest.loops.fuse import fuse
from parsed import parse_module
from sampling import seeds
from xdsl.dialects.builtin import ModuleOp


def random_body(seed: int) -> str:
    """A loop with several pieces in its body, and values that several of them use."""
    program = RandomLoops(seed)

    def inside(ivs: list[str]) -> None:
        shared = program.value(ivs)
        program.body(ivs, 1)
        element, kind = program.element(ivs)
        program.lines.append(f'nest.store "shared" {shared}, {element} : {kind}')
        program.body(ivs, 1)

    if program.rng.random() < 0.3:
        program.loop("t", "0 to 3", [], lambda ivs: program.loop("i", program.bounds(ivs), ivs, inside))
    else:
        program.loop("i", program.bounds([]), [], inside)
    return program.text()


def test_random_bodies_compute_the_same():
    counts: list[int] = []

    def everywhere(module: ModuleOp) -> None:
        loops = distribute(loop_called(module, "i"))
        assert all(first.next_op is second for first, second in pairwise(loops))
        counts.append(len(loops))

    found = Counter(check(random_body(seed), everywhere) for seed in seeds(102))
    assert found["legal"] >= 6 and max(counts) >= 3
    for reason in (
        "it turns a flow dependence around",
        "it turns an anti dependence around",
        "the second part uses a value that cannot be loaded again after the first",
    ):
        assert found[reason] >= 1, found


def test_random_bodies_at_every_point():
    found: Counter[str] = Counter()
    for seed in range(15):
        text = random_body(seed)
        for position in range(1, len(pieces_of(loop_called(parse_module(text), "i")))):
            found[check(text, lambda m, at=position: distribute(loop_called(m, "i"), after=at))] += 1
    assert found["legal"] >= 5, found


def test_fusing_what_was_distributed():
    """Where it is legal both ways, the result is again the same."""

    def there_and_back(module: ModuleOp) -> None:
        first, *rest = distribute(loop_called(module, "i"))
        for loop in rest:
            first = fuse(first, loop)

    found = Counter()
    for seed in range(150, 175):
        try:
            found[check(random_body(seed), there_and_back)] += 1
        except AssertionError as error:
            if "refused, and changed" not in str(error):
                raise
            found["not back"] += 1
    assert found["legal"] >= 5, found
    assert found["not back"] == 0, "what was one loop can be one loop again"
