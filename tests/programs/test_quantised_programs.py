"""`quantise`: products with integers of 8 bits, by a calibration and by themselves; observers; onnxruntime as the judge."""

from __future__ import annotations

import functools
import json
import pickle

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.quant import calibrating
from onnx_judge import run_node

pytestmark = pytest.mark.one_of(3)

RNG = np.random.default_rng(7)
Q = nt.quant


def singles(*shapes):
    return [RNG.standard_normal(shape).astype(np.float32) for shape in shapes]


def product(x, w):
    return x @ w


def layers(x, w, b, v):
    return np.maximum(x @ w + b, 0) @ v


def transposed(x, w):
    return np.einsum("bki,jk->bij", x, w)


def convolved(x, k):
    return nt.nn.relu(nt.nn.conv2d(x, k, padding=1))


def strided(x, k):
    return nt.nn.max_pool(nt.nn.conv2d(x, k, stride=2), (2, 2))


def pointwise(x, k):
    return nt.nn.conv2d(x, k)


def repeated(x, w):
    for _ in range(3):
        x = np.tanh(x @ w / 4)
    return x


def shared(x, w, v):
    return x @ w, x.reshape(-1, x.shape[-1]) @ v


PROGRAMS = {
    "product": (product, (5, 33), [(33, 7)]),
    "one": (product, (1, 1), [(1, 1)]),
    "stack": (product, (4, 3, 16), [(16, 9)]),
    "layers": (layers, (6, 20), [(20, 31), (31,), (31, 4)]),
    "transposed": (transposed, (3, 9, 5), [(7, 9)]),
    "convolved": (convolved, (2, 3, 9, 8), [(4, 3, 3, 3)]),
    "strided": (strided, (2, 3, 11, 11), [(4, 3, 3, 3)]),
    "pointwise": (pointwise, (2, 8, 5, 5), [(4, 8, 1, 1)]),
    "repeated": (repeated, (5, 8), [(8, 8)]),
    "shared": (shared, (2, 5, 8), [(8, 3), (8, 4)]),
}
NAMES = pytest.mark.parametrize("name", PROGRAMS)


def case(name):
    """The function, batches for its calibration, and weights."""
    function, shape, others = PROGRAMS[name]
    return function, singles(*[shape] * 3), singles(*others)


def leaves(result):
    return result if isinstance(result, tuple) else (result,)


def near(made, exact, bound):
    for one, other in zip(leaves(made), leaves(exact), strict=True):
        assert (np.asarray(one).dtype, np.shape(one)) == (np.float32, np.shape(other))
        assert np.abs(one - other).max() <= bound * max(np.abs(other).max(), 1e-30)


@NAMES
def test_results_are_near_those_of_float32(name):
    function, batches, weights = case(name)
    calibration = Q.calibrate(function, [(x, *weights) for x in batches])
    exact = function(batches[0], *weights)
    for how in (calibration, "dynamic"):
        made = nt.jit(function, quantise=how)
        near(made(batches[0], *weights), exact, 0.05)
        found = json.loads(made.explain(batches[0], *weights, format="json"))["quantised"]
        assert set(found) == ({"uint8 x int8"} if how is calibration else {"int8 x int8"})


@NAMES
@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
def test_other_targets_agree(name, target):
    function, batches, weights = case(name)
    calibration = Q.calibrate(function, [(x, *weights) for x in batches])
    for how in (calibration, "dynamic"):
        here = nt.jit(function, quantise=how)(batches[1], *weights)
        there = nt.jit(function, quantise=how, target=target)(batches[1], *weights)
        near(there, here, 2e-2 if name in ("layers", "repeated") else 1e-5)  # a rounding may fall otherwise


def reference(x, w, site):
    """A product by a calibration, in NumPy: integers, and roundings of float32."""
    q = Q.quantise(x, site.lhs.scales, site.lhs.zero_points, site.lhs.dtype)
    by = np.abs(w).max(0) / np.float32(126.9999)
    total = (q.astype(np.int64) - int(site.lhs.zero_points)) @ Q.quantise(w, by, axis=1).astype(np.int64)
    return total.astype(np.float32) * (site.lhs.scales * by)


@pytest.mark.parametrize(
    "shape", [(5, 33, 7), (64, 200, 100), (1, 300, 1), (17, 1, 5), (0, 4, 3), (130, 257, 65)]
)
def test_a_product_is_that_of_integers(shape):
    m, k, n = shape
    w = singles((k, n))[0]
    batches = singles(*[(max(m, 2), k)] * 2)
    calibration = Q.calibrate(product, [(x, w) for x in batches])
    (site,) = calibration.sites
    assert site.lhs.dtype == "uint8" and site.rhs is None
    x = singles((m, k))[0] * 2  # some of it is cut off
    np.testing.assert_array_equal(nt.jit(product, quantise=calibration)(x, w), reference(x, w, site))
    f = nt.jit(product, quantise=calibration)
    for view in (x, x[::-1], np.asfortranarray(x)):
        np.testing.assert_array_equal(f(view, w), reference(view, w, site))


def test_rows_have_scales_of_their_own_without_a_calibration():
    x, w = singles((6, 40), (40, 9))
    x *= 10.0 ** np.arange(-20, 10, 5)[:, None].astype(np.float32)
    x[3] = 0
    scale = np.abs(x).max(1, keepdims=True) / np.float32(126.9999)
    by = np.abs(w).max(0) / np.float32(126.9999)
    scale[3] = 1
    total = np.rint(x / scale).astype(np.int64) @ np.rint(w / by).astype(np.int64)
    made = nt.jit(product, quantise="dynamic")(x, w)
    np.testing.assert_allclose(made, total.astype(np.float32) * (scale * by), rtol=1e-6)
    assert (made[3] == 0).all()
    x[1, 5] = np.nan
    made = nt.jit(product, quantise="dynamic")(x, w)
    assert np.isnan(made[1]).all() and np.isfinite(np.delete(made, 1, 0)).all()


def test_extents_that_are_not_known():
    w = singles((20, 5))[0]
    calibration = Q.calibrate(product, [(x, w) for x in singles((9, 20), (9, 20))])
    f = nt.jit(product, quantise=calibration, dynamic={"x": {0: "n"}})
    for rows in (1, 0, 3, 70):
        x = singles((rows, 20))[0]
        np.testing.assert_array_equal(f(x, w), reference(x, w, calibration.sites[0]))
    g = nt.jit(product, quantise="dynamic", dynamic=True)  # how many terms: 32 bits may be too few
    x = singles((3, 20))[0]
    np.testing.assert_allclose(g(x, w), x @ w, rtol=1e-4, atol=1e-5)
    assert "stays float32: the number of its terms" in g.explain(x, w)


def test_weights_may_change():
    x, w = singles((4, 6), (6, 3))
    f = nt.jit(product, quantise="dynamic")
    for _ in range(40):
        near(f(x, w), x @ w, 0.05)
        w += 1


def test_weights_from_outside():
    w = singles((6, 3))[0]
    f = lambda x: x @ w  # noqa: E731
    batches = singles((4, 6), (4, 6))
    calibration = Q.calibrate(f, batches)
    made = nt.jit(f, quantise=calibration)
    near(made(batches[0]), f(batches[0]), 0.05)
    w *= 0.5
    near(made(batches[0]), f(batches[0]), 0.05)


def test_what_is_of_other_types_stays():
    x, w = (a.astype(np.float64) for a in singles((5, 9), (9, 4)))
    np.testing.assert_array_equal(nt.jit(product, quantise="dynamic")(x, w), nt.jit(product)(x, w))
    k = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(nt.jit(lambda a: a @ a.T, quantise="dynamic")(k), k @ k.T)


def test_gradients_go_straight_through():
    def loss(w, x):
        return (np.maximum(x @ w, 0) ** 2).mean()

    def as_rounded(w, x, scale, zero, by):
        x = Q.fake_quantise(x, scale, zero, np.uint8)
        return (np.maximum(x @ Q.fake_quantise(w, by, axis=1), 0) ** 2).mean()

    w, x, other = singles((12, 6), (20, 12), (20, 12))
    calibration = Q.calibrate(loss, [(w, x), (w, other)])
    (site,) = calibration.sites
    made = nt.grad(nt.jit(loss, quantise=calibration))(w, x)
    by = np.abs(w).max(0) / np.float32(126.9999)
    by_hand = nt.grad(as_rounded)(w, x, site.lhs.scales, site.lhs.zero_points, by)
    np.testing.assert_allclose(made, by_hand, rtol=1e-5, atol=1e-6)
    exact = nt.grad(loss)(w.astype(np.float64), x.astype(np.float64))
    for how in (calibration, "dynamic"):
        made = nt.grad(nt.jit(loss, quantise=how))(w, x)
        assert 0 < np.abs(made - exact).max() <= 0.05 * np.abs(exact).max()
    slices = nt.vmap(nt.jit(loss, quantise=calibration), in_axes=(None, 0))(w, np.stack([x, other]))
    np.testing.assert_allclose(
        slices, [nt.jit(loss, quantise=calibration)(w, a) for a in (x, other)], rtol=1e-5
    )


def test_rounded_by_hand_is_computed_with_integers():
    """A program that says where it is quantised needs no option."""
    s, t = np.float32(0.05), np.linspace(0.01, 0.03, 5).astype(np.float32)

    def by_hand(x, p, bias):
        q = Q.dequantise(Q.quantise(x, s, 100, np.uint8), s, np.uint8(100))
        y = nt.nn.relu(q @ Q.dequantise(p, t, axis=1) + Q.dequantise(bias, t * s, axis=0))
        return Q.quantise(y, np.float32(0.1), 3, np.uint8)

    x = singles((6, 30))[0]
    p, bias = RNG.integers(-128, 128, (30, 5)).astype(np.int8), RNG.integers(-900, 900, 5).astype(np.int32)
    made = nt.jit(by_hand)(x, p, bias)
    assert made.dtype == np.uint8
    assert np.abs(made.astype(int) - by_hand(x, p, bias)).max() <= 1
    assert "tensor<6x30xi32>" in str(nt.jit(by_hand).lower(x, p, bias).as_text("nest")) or "i32" in nt.jit(
        by_hand
    ).lower(x, p, bias).as_text("nest")


def test_integers_that_are_rounded_again_are_the_integers():
    def kept(q):
        x = nt.nn.max_pool(nt.nn.relu(Q.dequantise(q, np.float32(0.1), np.int8(-5))), (2, 2))
        return Q.quantise(x, np.float32(0.1), np.int8(-5))

    q = RNG.integers(-128, 128, (2, 3, 6, 8)).astype(np.int8)
    np.testing.assert_array_equal(nt.jit(kept)(q), kept(q))
    assert "f32" not in nt.jit(kept).lower(q).as_text("nest")


# ---- calibrations ---------------------------------------------------------------------------------------


def test_a_calibration_is_data(tmp_path):
    x, w = singles((6, 8), (8, 3))
    calibration = Q.calibrate(product, [(x, w), (2 * x, w)])
    calibration.save(tmp_path / "f.json")
    assert Q.Calibration.load(tmp_path / "f.json") == calibration == pickle.loads(pickle.dumps(calibration))
    assert calibration.sites[0].place.startswith("test_quantised_programs.py:")
    assert calibration.sites[0].text == "return x @ w"
    f = nt.jit(product, quantise=calibration)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(x, w), f(x, w))
    for text in ("{", "{}", '{"format": 9, "sites": []}', '{"format": 1, "sites": [{"place": 1}]}'):
        with pytest.raises(nt.errors.DTypeError, match="no calibration"):
            Q.Calibration.from_json(text)


def test_a_calibration_of_another_text_is_refused():
    x, w = singles((6, 8), (8, 3))
    calibration = Q.calibrate(product, [(x, w), (2 * x, w)])
    text = calibration.as_json().replace("return x @ w", "return w @ x")
    with pytest.raises(nt.errors.DTypeError, match="of another text"):
        nt.jit(product, quantise=Q.Calibration.from_json(text))(x, w)
    near(nt.jit(product, quantise=calibration)(x, v := singles((8, 4))[0]), x @ v, 0.05)


def test_what_was_not_seen_stays_and_a_remark_says_so():
    calibration = Q.calibrate(product, [(x, *singles((8, 3))) for x in singles((6, 8), (6, 8))])
    x, w, b, v = singles((6, 20), (20, 31), (31,), (31, 4))
    f = nt.jit(layers, quantise=calibration)
    np.testing.assert_array_equal(f(x, w, b, v), nt.jit(layers)(x, w, b, v))
    assert "the calibration has not seen it" in f.explain(x, w, b, v)
    with pytest.raises(nt.UnsupportedError, match="stays float32"):
        nt.jit(layers, quantise=calibration, strict="fast")(x, w, b, v)


def test_batches_tell_weights_from_the_rest():
    x, w = singles((6, 8), (8, 3))
    with pytest.raises(ValueError, match="two batches at least"):
        Q.calibrate(product, [(x, w)])
    with pytest.raises(ValueError, match="the same in all batches"):
        Q.calibrate(product, [(x, w), (x, w)])
    (site,) = Q.calibrate(product, [(x, w), (x, 2 * w)]).sites
    assert site.lhs is None and (site.rhs.dtype, site.rhs.axis) == ("int8", None)
    bad = x.copy()
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="not finite"):
        Q.calibrate(product, [(x, w), (bad, w)])
    assert not calibrating._RUNS


def test_batches_of_several_shapes_and_kinds():
    w = singles((8, 3))[0]
    seen = Q.calibrate(nt.jit(product, autocast="bf16"), [(x, w) for x in singles((6, 8), (2, 8), (6, 8))])
    assert len(seen.sites) == 1

    def of_pairs(pair, k=1):
        return pair["x"] @ pair["w"] * k

    assert len(Q.calibrate(of_pairs, [({"x": x, "w": w}, 2) for x in singles((6, 8), (6, 8))]).sites) == 1
    assert Q.calibrate(lambda x: x + 1, singles((2,), (2,))).sites == ()


def test_wrong_options_are_refused():
    for wrong in ("int8", True, 8, {"a": 1}):
        with pytest.raises(nt.errors.DTypeError, match="quantise="):
            nt.jit(product, quantise=wrong)


# ---- observers ------------------------------------------------------------------------------------------


def test_ranges():
    a, b = np.array([[-1.0, 3.0], [0.5, 2.0]]), np.array([[-2.0, 1.0], [4.0, 0.0]])
    least = Q.MinMax()
    moving = Q.MovingAverage(share=0.25)
    for x in (a, np.zeros((0, 2)), b):
        least.observe(x)
        moving.observe(x)
    assert least.parameters("uint8") == Q.Parameters((float(np.float32(6 / 255)),), (85,), "uint8")
    assert least.parameters("int8").zero_point == (-43,)
    assert least.parameters(symmetric=True) == Q.Parameters((float(np.float32(4 / 127)),), (0,), "int8")
    assert least.parameters("uint8", symmetric=True).zero_point == (128,)
    # from -1.25 to 3.25
    assert moving.parameters("uint8") == Q.Parameters((float(np.float32(4.5 / 255)),), (71,), "uint8")


def test_a_range_of_each_channel():
    x = RNG.standard_normal((4, 5, 6))
    for axis in (0, 1, 2, -1):
        observer = Q.MinMax(axis=axis)
        observer.observe(x)
        observer.observe(x / 2)
        others = tuple(k for k in range(3) if k != axis % 3)
        found = observer.parameters(symmetric=True)
        np.testing.assert_allclose(found.scales, np.abs(x).max(others) / 127, rtol=1e-6)
        assert found.axis == axis and found.zero_points.dtype == np.int8
    with pytest.raises(ValueError, match="channels"):
        observer.observe(np.ones((4, 5, 7)))


def test_percentiles_cut_off_what_is_far_away():
    observer = Q.Percentile(percent=99)
    for _ in range(3):
        x = RNG.uniform(0, 1, 10_000)
        x[0] = 1e6
        observer.observe(x)
    assert 0.98 / 255 < observer.parameters("uint8").scales < 1.0 / 255
    batches = singles((60, 40), (60, 40))
    for x in batches:
        x[0, 0] = 1000
    narrow = functools.partial(Q.Percentile, percent=99)
    (site,) = Q.calibrate(product, [(x, np.ones((40, 3), np.float32)) for x in batches], narrow).sites
    assert site.lhs.scales < 0.1


def test_ranges_hold_zero_and_have_a_scale():
    for x, zero in ((np.full(3, 5.0), 0), (np.full(3, -5.0), 255), (np.zeros(3), 0)):
        observer = Q.MinMax()
        observer.observe(x)
        found = observer.parameters("uint8")
        assert found.zero_point == (zero,) and found.scale[0] > 0
        assert (
            Q.dequantise(Q.quantise(np.float32(0) * x, found.scales, zero, np.uint8), found.scales, zero)[0]
            == 0
        )
    with pytest.raises(ValueError, match="nothing was observed"):
        Q.MinMax().parameters()
    for wrong in (0.0, 2.0):
        with pytest.raises(ValueError, match="share"):
            Q.MovingAverage(share=wrong)
    with pytest.raises(ValueError, match="percent"):
        Q.Percentile(percent=20)


@pytest.mark.parametrize(
    "wrong",
    [
        {"scale": (0.0,), "zero_point": (0,)},
        {"scale": (np.nan,), "zero_point": (0,)},
        {"scale": (0.1,), "zero_point": (0,)},
        {"scale": (1.0,), "zero_point": (200,)},
        {"scale": (1.0, 1.0), "zero_point": (0, 0)},
        {"scale": (1.0,), "zero_point": (0,), "dtype": "int4"},
    ],
)
def test_numbers_that_are_no_parameters_are_refused(wrong):
    with pytest.raises(nt.errors.DTypeError):
        Q.Parameters(**wrong)


# ---- onnxruntime ----------------------------------------------------------------------------------------


def rounded_twice(made, judged):
    """Equal, but where a number is halfway between two integers up to the last bits."""
    away = np.abs(made.astype(int) - judged.astype(int))
    assert away.max() <= 1 and (away != 0).mean() < 0.01


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_onnx_multiplies_the_same(dtype):
    a = RNG.integers(*[np.iinfo(dtype).min, np.iinfo(dtype).max + 1], (33, 70)).astype(dtype)
    b = RNG.integers(-128, 128, (70, 21)).astype(np.int8)
    s, z, y, yz = np.float32(0.02), dtype(7), np.float32(1.5), dtype(11)
    t = RNG.uniform(0.01, 0.05, 21).astype(np.float32)
    zeros = np.zeros(21, np.int8)

    def multiply(a, b, t):
        return Q.quantise(Q.dequantise(a, s, z) @ Q.dequantise(b, t, 0, 1), y, yz, dtype)

    judged = run_node("QLinearMatMul", [a, s, z, b, t, zeros, y, yz], dtype)
    rounded_twice(nt.jit(multiply)(a, b, t), judged)
    rounded_twice(multiply(a, b, t), judged)


def test_onnx_convolves_the_same():
    x = RNG.integers(0, 256, (2, 3, 12, 11)).astype(np.uint8)
    k = RNG.integers(-128, 128, (5, 3, 3, 3)).astype(np.int8)
    s, z, y, yz = np.float32(0.02), np.uint8(128), np.float32(0.4), np.uint8(120)
    t = RNG.uniform(0.01, 0.05, 5).astype(np.float32)

    def convolve(x, k, t):
        made = nt.nn.conv2d(Q.dequantise(x, s, z), Q.dequantise(k, t, 0, 0), padding=1)
        return Q.quantise(made, y, yz, np.uint8)

    zeros = np.zeros(5, np.int8)
    judged = run_node("QLinearConv", [x, s, z, k, t, zeros, y, yz], np.uint8, pads=[1, 1, 1, 1])
    rounded_twice(nt.jit(convolve)(x, k, t), judged)
    rounded_twice(convolve(x, k, t), judged)
