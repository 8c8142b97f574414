"""Shifted loops compute what the loop did."""

import pytest
from nestor.analysis.nest.loop_structure import loops_in
from nestor.dialects.affine import AffineList
from nestor.dialects.diagnostic import NestorError
from nestor.transforms.nest.loops.shift import shift
from relabelled_nests import POINTWISE, RELABELLED, TRIANGLE, assert_same, assert_stays, changed


@pytest.mark.parametrize("by", [-3, 0, 5])
@pytest.mark.parametrize("name", sorted(RELABELLED))
def test_a_shift_keeps_the_results(name, by):
    assert_stays(name, lambda loop: shift(loop, by))


def test_a_shift_by_an_outer_variable_and_by_an_argument():
    def shift_inner(loop):
        shift(loops_in(loop)[1], AffineList.of(loop.iv).times(-2).add(1))

    module = changed(TRIANGLE.text, shift_inner)
    for n in range(5):
        assert_same(TRIANGLE.text, module, TRIANGLE.arguments(n))

    text = POINTWISE.text.replace("@f(", "@f(%m: index, ")
    module = changed(text, lambda loop: shift(loop, loop.parent.args[0]))
    for m in (-4, 0, 3):
        assert_same(text, module, [m, *POINTWISE.arguments(6)])


def test_a_value_that_comes_later_is_refused():
    def try_later(loop):
        with pytest.raises(NestorError, match="is not known before it starts"):
            shift(loop, loops_in(loop)[1].iv)

    changed(TRIANGLE.text, try_later)
