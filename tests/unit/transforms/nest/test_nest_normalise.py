"""Normalised loops and unit loops compute what was computed before."""

import pytest
from nestor.analysis.nest.loop_structure import find_loop, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.transforms.nest.loops.normalise import add_unit_loop, normalise, remove_unit_loop
from nestor.transforms.nest.loops.peel import peel
from relabelled_nests import RELABELLED, STENCIL, STEPS, WINDOW, assert_same, assert_stays, changed


@pytest.mark.parametrize("name", sorted(RELABELLED.keys() - {"window"}))
def test_normalising_keeps_the_results(name):
    assert_stays(name, normalise)


def test_a_normal_loop():
    module = changed(STEPS.text, normalise)
    loop = find_loop(module, "i")
    assert loop.lower.constants() == (0,) and loop.step_value == 1


@pytest.mark.parametrize("name", sorted(RELABELLED))
def test_a_unit_loop_comes_and_goes(name):
    program = RELABELLED[name]
    assert_stays(name, add_unit_loop)
    before = str(changed(program.text, lambda loop: None))
    assert str(changed(program.text, lambda loop: remove_unit_loop(add_unit_loop(loop)))) == before


def test_peeled_iterations_of_a_known_loop_become_statements():
    text = STENCIL.text.replace("%n - 1", "9")

    def straighten(loop):
        remove_unit_loop(peel(loop, 1)[0])
        remove_unit_loop(peel(loop, 1, "tail")[0])

    module = changed(text, straighten)
    assert len(loops_in(module)) == 1
    assert_same(text, module, STENCIL.arguments(10))


def test_loops_that_may_run_more_or_less_than_once_stay():
    def refused(change, reason):
        def try_it(loop):
            with pytest.raises(NestorError, match=reason):
                change(loop)

        return try_it

    changed(STENCIL.text, refused(remove_unit_loop, "it may run no iteration"))
    changed(STENCIL.text.replace("%n - 1", "9"), refused(remove_unit_loop, "more than one iteration"))
    changed(WINDOW.text, refused(normalise, "its lower bound is a max"))
