"""A refused reorder names the loop that carries the dependence which it would turn around."""

from __future__ import annotations

import random
from itertools import permutations

import pytest
from nestor.analysis.nest.loop_structure import loops_in, perfect_band
from nestor.analysis.nest.sets.dependence import analyse
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import ForOp
from nestor.transforms.nest.loops.reorder import reorder
from parsed import parse_module


def stencil(offsets: tuple[int, int, int]) -> str:
    """A sweep over a cube that reads one neighbour of the element that it writes."""
    terms = ", ".join(f"%{v} {'+' if d >= 0 else '-'} {abs(d)}" for v, d in zip("ijk", offsets, strict=True))
    return f"""
    func.func @f(%y: memref<9x9x9xf32>) {{
      nest.for "i" %i = 2 to 7 {{
        nest.for "j" %j = 2 to 7 {{
          nest.for "k" %k = 2 to 7 {{
            %a = nest.load %y[{terms}] : memref<9x9x9xf32>
            nest.store "y" %a, %y[%i, %j, %k] : memref<9x9x9xf32>
          }}
        }}
      }}
      func.return
    }}"""


def named_in(refusal: NestorError) -> str:
    """The loop that the message says carries the dependence."""
    return refusal.diagnostic.message.partition('which the loop "')[2].partition('"')[0]


@pytest.mark.parametrize("seed", range(12))
def test_it_names_the_carrier_that_the_dependences_print(seed: int):
    rng = random.Random(seed)
    offsets = (rng.choice((0, 0, 1, -1)), rng.choice((0, 1, -1)), rng.choice((1, -1, 2)))
    module = parse_module(stencil(offsets))
    band: list[ForOp] = perfect_band(loops_in(module)[0])
    carriers = {v.carrier.label for v in analyse(band[0]).all() if v.carrier is not None}
    refused = 0
    for order in permutations(band):
        copy = module.clone()
        loops = {loop.label: loop for loop in loops_in(copy)}
        try:
            reorder([loops[loop.label] for loop in order])
        except NestorError as refusal:
            refused += 1
            assert {named_in(refusal)} == carriers
            note = refusal.diagnostic.notes[0].message
            assert f'"{named_in(refusal)}"' in note
    distance = offsets if next(d for d in offsets if d) > 0 else [-d for d in offsets]
    assert (refused > 0) == any(d < 0 for d in distance)


def test_an_inner_loop_that_carries_it_is_named():
    module = parse_module(stencil((0, 1, -1)))
    i, j, k = loops_in(module)
    with pytest.raises(NestorError) as refusal:
        reorder([i, k, j])
    assert named_in(refusal.value) == "j"
    assert 'in an earlier iteration of "j"' in refusal.value.diagnostic.notes[0].message
