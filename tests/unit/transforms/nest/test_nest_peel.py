"""Peeled loops compute what the loop did, whatever the extent, the count and the end."""

import pytest
from nestor.analysis.nest.loop_structure import find_loop, loops_in
from nestor.transforms.nest.loops.peel import peel, why_not_peel
from relabelled_nests import RELABELLED, STEPS, assert_stays, changed


@pytest.mark.parametrize("where", ["head", "tail"])
@pytest.mark.parametrize("count", [1, 3, 20])
@pytest.mark.parametrize("name", sorted(RELABELLED.keys() - {"window"}))
def test_peeling_keeps_the_results(name, count, where):
    assert_stays(name, lambda loop: peel(loop, count, where))


def test_both_ends():
    assert_stays("stencil", lambda loop: peel(peel(loop, 2)[1], 2, "tail"))


def test_a_max_and_a_min_are_refused_and_nothing_changes():
    before = str(changed(RELABELLED["window"].text, lambda loop: None))
    refused = []
    module = changed(
        RELABELLED["window"].text,
        lambda loop: refused.extend([why_not_peel(loop), why_not_peel(loop, 1, "tail")]),
    )
    assert all(refused) and str(module) == before


def test_the_rest_is_the_loop_and_keeps_its_name():
    results = []
    module = changed(STEPS.text, lambda loop: results.extend([loop, *peel(loop, 2, "tail")]))
    loop, peeled, rest = results
    assert rest is loop and rest.label == "i" and peeled.label == "i.tail"
    assert loops_in(module) == [rest, peeled]
    assert find_loop(module, "i.tail") is peeled
    assert peeled.location == rest.location


def test_an_end_that_there_is_not():
    found = []
    changed(STEPS.text, lambda loop: found.append(why_not_peel(loop, 1, "middle")))
    assert found[0].diagnostic.message == 'cannot peel the loop "i": "middle" is neither "head" nor "tail"'
