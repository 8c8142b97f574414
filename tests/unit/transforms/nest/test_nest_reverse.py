"""Loops run backwards compute what they did forwards, or are refused."""

import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.transforms.nest.loops.reverse import reverse, why_not_reverse
from relabelled_nests import RELABELLED, assert_stays, changed

REVERSIBLE = ("pointwise", "stencil", "steps", "triangle", "inner-triangle")


@pytest.mark.parametrize("name", REVERSIBLE)
def test_backwards_is_the_same(name):
    assert_stays(name, reverse)
    assert_stays(name, lambda loop: reverse(reverse(loop)))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("scan", 'flow dependence on "a" is carried by the loop "i"'),
        ("checked", "an error must be that of the first iteration"),
        ("window", "its lower bound is a max"),
    ],
)
def test_what_cannot_run_backwards_stays(name, reason):
    text = RELABELLED[name].text

    def refused(loop):
        with pytest.raises(NestorError, match=reason):
            reverse(loop)

    assert str(changed(text, refused)) == str(changed(text, lambda loop: None))


def test_only_sums_in_any_order_run_backwards():
    text = RELABELLED["inner-triangle"].text
    found = []
    changed(text, lambda loop: found.append(why_not_reverse(loop)))
    for order in ("sequential", "fixed-tree"):
        ordered = text.replace("%y[%i]", f"%y[%i] order({order})")
        changed(ordered, lambda loop: found.append(why_not_reverse(loop)))
    assert found[0] is None and all(found[1:])
