"""A second shape asks for code of unknown extents; where there is none, each shape gets its own, as the first one did."""

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)


def raveled(x):
    return x.ravel() + 1


def summed_up(x):
    return np.cumsum(x * 2)


def ordered(x):
    return np.sort(x, axis=None)


def every_second(x):
    return x.flatten()[::2]


def repeated(x):
    return np.repeat(x, 2)


FUNCTIONS = (raveled, summed_up, ordered, every_second, repeated)


def layouts(n):
    rng = np.random.default_rng(n)
    yield rng.random((5, n))
    yield rng.random((n, 5)).T
    yield rng.random((10, 2 * n))[::2, ::2]
    yield rng.random((5, n))[:, ::-1]


@pytest.mark.parametrize("options", [{}, {"dynamic": True}, {"dynamic": False}, {"target": "interp"}])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_flattened_rows_of_many_lengths(function, options):
    compiled = nt.jit(function, **options)
    for n in (7, 9, 1, 0, 11, 9):
        for x in layouts(n):
            np.testing.assert_allclose(compiled(x), function(x), rtol=1e-14)


@pytest.mark.parametrize("target", ["cuda-sim"])
def test_flattened_rows_on_a_gpu(target):
    compiled = nt.jit(raveled, target=target)
    for n in (7, 9, 11):
        for x in layouts(n):
            np.testing.assert_array_equal(compiled(x), raveled(x))


def test_extents_that_the_user_leaves_open_are_refused():
    """Nothing more can be known of them."""
    with pytest.raises(nt.NestorError, match="is not affine: an unknown extent"):
        nt.jit(raveled).lower(nt.spec((5, None), np.float64)).as_text("llvm")


def test_what_was_tried_is_explained():
    compiled = nt.jit(raveled)
    for n in (7, 9, 11):
        compiled(np.ones((5, n)))
    said = compiled.explain(np.ones((5, 9)))
    assert said.count("extents must be known, a program for each shape: the reshape from") == 1
