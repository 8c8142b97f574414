"""Loops that are cut anywhere, also outside of their range, compute what the loop did."""

import pytest
from nestor.analysis.nest.loop_structure import loops_in
from nestor.dialects.affine import AffineList
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import LoadOp
from nestor.transforms.nest.loops.cut import cut
from relabelled_nests import POINTWISE, RELABELLED, TRIANGLE, WINDOW, assert_same, assert_stays, changed


@pytest.mark.parametrize("at", [-2, 0, 1, 5, 40])
@pytest.mark.parametrize("name", sorted(RELABELLED.keys() - {"window"}))
def test_a_cut_keeps_the_results(name, at):
    assert_stays(name, lambda loop: cut(loop, at))


@pytest.mark.parametrize("at", range(-1, 9))
def test_a_cut_at_a_value(at):
    text = POINTWISE.text.replace("@f(", "@f(%m: index, ")
    module = changed(text, lambda loop: cut(loop, loop.parent.args[0]))
    for n in (0, 1, 3, 8):
        assert_same(text, module, [at, *POINTWISE.arguments(n)])


def test_a_cut_of_the_inner_loop_at_an_affine_point_of_the_outer():
    def cut_inner(loop):
        _, inner = loops_in(loop)
        cut(inner, AffineList.of(loop.iv).add(-3))

    module = changed(TRIANGLE.text, cut_inner)
    assert [loop.label for loop in loops_in(module)] == ["i", "j.0", "j.1"]
    for n in range(7):
        assert_same(TRIANGLE.text, module, TRIANGLE.arguments(n))


def test_what_the_point_may_not_be():
    def refused(loop, at, reason):
        with pytest.raises(NestorError, match=reason):
            cut(loop, at)

    def try_all(loop):
        load = next(op for op in loop.walk() if isinstance(op, LoadOp))
        refused(loop, load.result, "is not an index but i64")
        refused(loop, loop.iv, 'the value "i" is not known before it starts')
        refused(loop, AffineList.of(1, 2), "2 expressions given instead of one")

    changed(POINTWISE.text, try_all)
    changed(WINDOW.text, lambda loop: refused(loop, 1, "its lower bound is a max"))
