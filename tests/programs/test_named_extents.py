"""Extents with names: `dynamic={"x": {0: "batch"}}`, ranges and multiples, and calls that break what was said."""

import pickle
import threading
import warnings

import nestor as nt
import numpy as np
import pytest

SCALE = 2.0


def weighted(x, weight):
    return (x * weight[:, None]).sum(axis=1) + x[:, 0]


def windows(x):
    return x[:8] + x[-8:], x.reshape(-1, 4).sum(axis=1), (x * 2).sum()


def scaled(x):
    return x * SCALE


def optional(x, mask=None):
    return x + 1 if mask is None else x * mask


def paired(pair):
    return pair[0] + pair[1]


def shifted(x, y):
    x[1:] += y[:-1]
    return x.sum() + y.sum()


BATCH = {"x": {0: "batch"}, "weight": {0: "batch"}}
EIGHTS = {"x": {0: nt.dim("n", min=8, max=4096, multiple_of=8)}}


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_a_named_axis_is_unknown_from_the_first_call_on(target):
    compiled = nt.jit(weighted, dynamic=BATCH, target=target)
    rng = np.random.default_rng(0)
    for n in rng.permutation([5, 9, 2, 33]):
        x, weight = rng.random((n, 6)), rng.random(n)
        np.testing.assert_allclose(compiled(x, weight), weighted(x, weight), rtol=1e-13)
    assert compiled.cache_info()["compiled"] == 1
    for n in (1, 0):  # these broadcast
        x, weight = rng.random((n, 6)), rng.random(n)
        np.testing.assert_allclose(compiled(x, weight), weighted(x, weight), rtol=1e-13)


def test_what_has_no_name_goes_by_the_usual_rule():
    compiled = nt.jit(weighted, dynamic=BATCH)
    rng = np.random.default_rng(1)
    for n, m in ((5, 6), (7, 6), (7, 8), (9, 8), (9, 12)):
        x, weight = rng.random((n, m)), rng.random(n)
        np.testing.assert_allclose(compiled(x, weight), weighted(x, weight), rtol=1e-13)
    assert compiled.cache_info()["compiled"] == 2
    assert "x: float64[batch, 6]" in compiled.explain(np.ones((4, 6)), np.ones(4))


@pytest.mark.parametrize("calls", [1, 70])
def test_one_name_is_one_extent(calls):
    compiled = nt.jit(weighted, dynamic=BATCH)
    for _ in range(calls):
        compiled(np.ones((5, 6)), np.ones(5))
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"axis 0 of 'x' is 5 and axis 0 of 'weight' is 7, and both"
        ) as refused:
            compiled(np.ones((5, 6)), np.ones(7))
    assert "float64[5, 6]" in str(refused.value) and "test_named_extents.py" in str(refused.value)
    with pytest.raises(nt.NestorError, match="both were declared as 'batch'"):
        compiled(np.ones((1, 6)), np.ones(7))  # NumPy would broadcast it
    np.testing.assert_array_equal(compiled(np.ones((6, 6)), np.ones(6)), np.full(6, 7.0))


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_ranges_and_multiples(target):
    compiled = nt.jit(windows, dynamic=EIGHTS, target=target)
    rng = np.random.default_rng(2)
    for n in (64, 8, 16, 808, 4096):
        x = rng.random(n)
        for got, expected in zip(compiled(x), windows(x), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert compiled.cache_info()["compiled"] == 1
    for n in (0, 1, 4, 9, 4104):
        with pytest.raises(
            nt.NestorError, match=f"axis 0 of 'x' is {n}, and it was declared as n .at least 8"
        ):
            compiled(np.ones(n))
    assert compiled.cache_info()["compiled"] == 1


def test_native_calls_look_at_ranges():
    compiled = nt.jit(lambda x: x * 2 + x[7], dynamic=EIGHTS)
    for n in (8, 16) * 50:
        compiled(np.ones(n))
    before = compiled.cache_info()["signatures"]
    for n in (24, 32, 4096):
        np.testing.assert_array_equal(compiled(np.ones(n)), np.full(n, 3.0))
    assert compiled.cache_info()["signatures"] == before  # Python has not seen them
    for n in (12, 4104, 7):
        with pytest.raises(nt.NestorError, match="declared as n"):
            compiled(np.ones(n))


def test_what_is_known_is_used():
    plain = nt.jit(windows, dynamic=True).lower(np.ones(64)).program
    known = nt.jit(windows, dynamic=EIGHTS).lower(np.ones(64))
    assert [str(guard) for guard in known.program.guards if not guard.why.startswith("declared")] == []
    assert len(plain.guards) > 0 or "x: float64[64]" in str(plain.arguments[0])
    small = {"x": {0: nt.dim("n", min=8, max=4096, multiple_of=32)}}
    tails = [
        nt.jit(lambda x: (x * 2).sum(), dynamic=one)
        .lower(np.ones(64))
        .as_text("nest")
        .count("mod 32 vectorized")
        for one in (True, small)
    ]
    assert tails[0] > 0 and tails[1] == 0
    checked = nt.jit(lambda x: x[7] + x[-8], dynamic=EIGHTS).lower(np.ones(64)).as_text("nest")
    assert "nest.index" not in checked


def test_indices_that_the_range_does_not_prove_are_checked():
    compiled = nt.jit(lambda x, k: x[k], dynamic={"x": {0: nt.dim("n", min=4)}})
    assert compiled(np.arange(4.0), 3) == 3.0
    with pytest.raises(IndexError):
        compiled(np.arange(9.0), 9)
    with pytest.raises(IndexError):
        compiled(np.arange(4.0), 4)


def test_arguments_that_may_be_none_and_axes_from_the_end():
    compiled = nt.jit(optional, dynamic={"x": {-1: "n"}, "mask": {0: "n"}})
    for n in (5, 6, 7):
        np.testing.assert_array_equal(compiled(np.ones((2, n))), np.full((2, n), 2.0))
        np.testing.assert_array_equal(compiled(np.ones((2, n)), np.full(n, 3.0)), np.full((2, n), 3.0))
    assert compiled.cache_info()["compiled"] == 2
    with pytest.raises(nt.NestorError, match=r"rank 0|a number"):
        compiled(np.ones((2, 3)), 2.0)


def test_arrays_in_a_tuple():
    compiled = nt.jit(paired, dynamic={"pair_0": {0: "n"}, "pair_1": {0: "n"}})
    for n in (4, 7):
        np.testing.assert_array_equal(compiled((np.ones(n), np.ones(n))), np.full(n, 2.0))
    assert compiled.cache_info()["compiled"] == 1
    with pytest.raises(nt.NestorError, match="is a structure in this call") as refused:
        nt.jit(paired, dynamic={"pair": {0: "n"}})((np.ones(4), np.ones(4)))
    assert "pair_0, pair_1" in str(refused.value)
    with pytest.raises(nt.NestorError, match="which this call has not"):
        compiled((np.ones(4),))


def test_arrays_that_are_written_and_overlap():
    compiled = nt.jit(shifted, dynamic={"x": {0: "n"}, "y": {0: "n"}})
    for n in (5, 8):
        base = np.arange(n + 2.0)
        for pick in (lambda b: (b[:-2], b[2:]), lambda b: (b[2:], b[2:]), lambda b: (b[:-2], b[:-2].copy())):
            ours, theirs = base.copy(), base.copy()
            assert compiled(*pick(ours)) == shifted(*pick(theirs))
            np.testing.assert_array_equal(ours, theirs)


def test_names_that_extents_without_names_have():
    compiled = nt.jit(weighted, dynamic={"weight": {0: "x_1"}})
    for n, m in ((5, 6), (5, 7), (5, 8), (9, 7)):
        x, weight = np.ones((n, m)), np.arange(float(n))
        np.testing.assert_array_equal(compiled(x, weight), weighted(x, weight))


def test_globals_that_change():
    global SCALE
    compiled = nt.jit(scaled, dynamic={"x": {0: nt.dim("n", max=100)}})
    try:
        for SCALE in (2.0, 3.0, -1.0):
            for n in (4, 5):
                np.testing.assert_array_equal(compiled(np.ones(n)), np.full(n, SCALE))
    finally:
        SCALE = 2.0


def test_the_plain_function_answers_what_breaks_a_promise():
    compiled = nt.jit(scaled, dynamic={"x": {0: nt.dim("n", max=10)}}, fallback="numpy")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        np.testing.assert_array_equal(compiled(np.ones(20)), np.full(20, 2.0))
        np.testing.assert_array_equal(compiled(np.ones(10)), np.full(10, 2.0))
    assert len(heard) == 1 and "declared as n" in str(heard[0].message)


def test_threads_share_one_program():
    compiled, wrong = nt.jit(weighted, dynamic=BATCH), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for n in rng.integers(2, 40, 12):
            x, weight = rng.random((n, 6)), rng.random(n)
            if not np.allclose(compiled(x, weight), weighted(x, weight), rtol=1e-12):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=[k]) for k in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong and compiled.cache_info()["compiled"] == 1


NAMED = nt.jit(scaled, dynamic=EIGHTS)


def test_pickles_keep_what_was_said():
    for again in (pickle.loads(pickle.dumps(nt.jit(scaled, dynamic=EIGHTS))), NAMED.for_target("interp")):
        assert again.given_options()["dynamic"] == EIGHTS
        with pytest.raises(nt.NestorError, match="declared as n"):
            again(np.ones(9))
    assert pickle.loads(pickle.dumps(nt.dim("n", max=3))) == nt.dim("n", max=3)


def test_lowering_for_specs():
    by_spec = nt.jit(windows).lower(nt.spec((nt.dim("n", min=8, max=4096, multiple_of=8),)))
    by_name = nt.jit(windows, dynamic=EIGHTS).lower(nt.spec((None,)))
    assert by_spec.as_text() == by_name.as_text()
    x = np.random.default_rng(3).random(64)
    np.testing.assert_allclose(by_name.compile()(x)[1], windows(x)[1], rtol=1e-13)
    with pytest.raises(
        nt.NestorError, match=r"x: float64\[n\], where \(n\) % 8 == 0 \(declared of the extent\)"
    ):
        by_name.compile()(np.ones(12))
    with pytest.raises(nt.NestorError, match="two things are said of 'n'"):
        nt.jit(weighted).lower(nt.spec((nt.dim("n", max=3), 6)), nt.spec((nt.dim("n", max=4),)))
    with pytest.raises(nt.NestorError, match="declared as n"):
        nt.jit(windows, dynamic=EIGHTS).lower(nt.spec((9,)))


@pytest.mark.parametrize(
    ("dynamic", "says"),
    [
        ({"z": {0: "n"}}, "no parameter 'z'"),
        ({"x": {}}, "which axes are unknown"),
        ({"x": "n"}, "which axes are unknown"),
        ({"x": {"0": "n"}}, "is not an axis"),
        ({"x": {0: "two words"}}, "is not an extent"),
        ({"x": {0: 8}}, "is not an extent"),
        ({"x": {0: nt.dim("n", max=3)}, "weight": {0: nt.dim("n", max=4)}}, "two things are said of 'n'"),
        ("hot-ish", "dynamic is True, False"),
    ],
)
def test_what_cannot_be_said(dynamic, says):
    with pytest.raises(nt.NestorError, match=says):
        nt.jit(weighted, dynamic=dynamic)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"name": "a b"}, "not a name"),
        ({"name": 3}, "not a name"),
        ({"name": "n", "min": 2.5}, "min is an integer"),
        ({"name": "n", "max": True}, "max is an integer"),
        ({"name": "n", "min": -1}, "not negative"),
        ({"name": "n", "multiple_of": 0}, "at least 1"),
        ({"name": "n", "min": 9, "max": 15, "multiple_of": 8}, "a multiple of 8 is from 9 to 15"),
        ({"name": "n", "max": 1 << 70}, "no array is that long"),
    ],
)
def test_what_no_extent_is(arguments, says):
    with pytest.raises(nt.NestorError, match=says):
        nt.dim(**arguments)
