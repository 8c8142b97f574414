"""The partition of values into stored ones and ones that are computed again is optimal: all of them are tried."""

import itertools
import random
from math import inf

import pytest
from nestor.transforms.tensor.partition import Prices, partition


def cost_of(prices, needed, stored):
    """What it costs to have the values needed when exactly `stored` may be loaded; infinite where it cannot be done."""
    total, seen, rest = 0.0, set(), list(needed)
    while rest:
        value = rest.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in stored:
            total += prices[value].store
        else:
            total += prices[value].compute
            rest += prices[value].operands
    return total


def best_cost(prices, needed):
    values = list(prices)
    return min(
        cost_of(prices, needed, set(stored))
        for size in range(len(values) + 1)
        for stored in itertools.combinations(values, size)
    )


def random_graph(rng, size):
    prices = {}
    for k in range(size):
        operands = rng.sample(range(k), min(k, rng.randint(1, 3))) if k else []
        known = not operands or rng.random() < 0.15
        compute = inf if known else rng.choice([0.0, 0.5, 1.0, 4.0, 16.0, inf])
        store = (
            inf
            if not known and rng.random() < 0.1 and compute < inf
            else rng.choice([0.0, 1.0, 3.0, 9.0, 12.0])
        )
        prices[k] = Prices(store, compute, () if known else operands)
    return prices, rng.sample(range(size), rng.randint(1, min(3, size)))


@pytest.mark.parametrize("seed", range(120))
def test_no_other_partition_is_cheaper(seed):
    rng = random.Random(seed)
    prices, needed = random_graph(rng, rng.randint(1, 9 if seed % 20 else 12))
    best = best_cost(prices, needed)
    if best == inf:
        with pytest.raises(ValueError, match="neither be stored nor computed"):
            partition(prices, needed)
        return
    found = partition(prices, needed)
    assert found.cost == pytest.approx(best)
    assert cost_of(prices, needed, found.stored) == pytest.approx(best)


def test_what_two_values_have_in_common_is_stored_once():
    prices = {
        "x": Prices(100.0),
        "m": Prices(3.0, 50.0, ["x"]),
        "a": Prices(3.0, 0.5, ["m"]),
        "b": Prices(3.0, 0.5, ["m"]),
    }
    found = partition(prices, ["a", "b"])
    assert (found.stored, found.computed, found.cost) == ({"m"}, {"a", "b"}, 4.0)
