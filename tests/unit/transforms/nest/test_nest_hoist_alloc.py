"""nest-hoist-alloc and nest-sink-alloc: each buffer out of and into each loop; what is legal computes the same."""

from __future__ import annotations

import pytest
from buffer_programs import PROGRAMS, allocations, check, parsed
from nestor.analysis.nest.buffers import find_alloc
from nestor.analysis.nest.loop_structure import find_loop, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.transforms.nest.mapping.parallel import parallelize
from nestor.transforms.nest.memory.hoist_alloc import hoist_alloc
from nestor.transforms.nest.memory.sink_alloc import sink_alloc

LEGAL = {
    hoist_alloc: {"inside": {("u", "i"), ("s", "i")}},
    sink_alloc: {
        "outside": {("u", "o"), ("u", "i"), ("t", "o")},
        "carried": {("u", "i")},
        "masked": {("v", "i")},
        "rows": {("t", "i")},
    },
}
"""The pairs of a buffer and a loop that are accepted; all others are refused."""


@pytest.mark.parametrize("move", (hoist_alloc, sink_alloc), ids=lambda move: move.__name__)
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_buffer_and_each_loop(name, move):
    pairs = [
        (alloc.label.data, loop.label)
        for alloc in allocations(parsed(name))
        for loop in loops_in(parsed(name))
    ]
    accepted = set()
    for buffer, label in pairs:
        module = parsed(name)
        before = str(module)
        try:
            moved = move(find_alloc(module, buffer), find_loop(module, label))
        except NestorError as refusal:
            assert refusal.diagnostic.message.startswith("cannot ")
            assert str(module) == before, "a refusal changes nothing"
            continue
        accepted.add((buffer, label))
        assert moved.label.data == buffer
        check(name, module)
    assert accepted == LEGAL[move].get(name, set())


def test_sinking_and_hoisting_give_the_program_back():
    module = parsed("outside")
    before = str(module)
    for label in ("o", "i"):
        sink_alloc(find_alloc(module, "u"), find_loop(module, label))
        assert str(module) != before
        hoist_alloc(find_alloc(module, "u"), find_loop(module, label))
    module.verify()
    check("outside", module)


def test_a_buffer_of_its_own_lets_a_loop_be_parallel():
    module = parsed("masked")
    sink_alloc(find_alloc(module, "v"), find_loop(module, "i"))
    with pytest.raises(NestorError, match='"u"'):
        parallelize(find_loop(module, "i"))
    module = parsed("outside")
    loop = find_loop(module, "i")
    with pytest.raises(NestorError, match='"u"'):
        parallelize(loop)
