"""The pieces of neural networks: the same source in NumPy and compiled."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees
from nestor import nn
from numpy.lib.stride_tricks import sliding_window_view

pytestmark = pytest.mark.one_of(3)

TARGETS = ["cpu", "cuda-sim", "interp"]
each_target = pytest.mark.parametrize("target", TARGETS)
each_dtype = pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
TOLERANCE = {"f2": 6e-3, "f4": 2e-5, "f8": 1e-12}


def numbers(*shape, dtype="f4", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


# ---- activations ------------------------------------------------------------------------------------


def relu(x):
    return nn.relu(x)


def sigmoid(x):
    return nn.sigmoid(x)


def silu(x):
    return nn.silu(x)


def erf(x):
    return nn.erf(x)


def erfc(x):
    return nn.erfc(x)


def lgamma(x):
    return nn.lgamma(x)


def gelu(x):
    return nn.gelu(x)


def gelu_by_tanh(x):
    return nn.gelu(x, approximate="tanh")


@pytest.mark.parametrize(
    "function", [relu, sigmoid, silu, erf, erfc, lgamma, gelu, gelu_by_tanh], ids=lambda f: f.__name__
)
@each_dtype
def test_activations(function, dtype):
    x = np.concatenate(
        [numbers(3, 17, dtype=dtype), np.full((3, 1), 30, dtype), np.full((3, 1), -30, dtype)], 1
    )
    agrees(function, x, tolerance=TOLERANCE[dtype])


@each_target
def test_activations_on_targets(target):
    for function in (gelu, sigmoid, erfc, lgamma):
        agrees(function, numbers(5, 7), tolerance=1e-5, target=target)


def test_erf_of_integers_and_shapes():
    agrees(erf, np.arange(-3, 4), tolerance=1e-15)
    agrees(erf, numbers(4, 6)[:, ::-2].T, tolerance=1e-6)
    agrees(erf, np.zeros((0, 3)), tolerance=1e-15)
    agrees(erf, np.array(0.25), tolerance=1e-15)
    agrees(erf, np.array([np.inf, -np.inf, np.nan, -0.0, 1e-300]), tolerance=1e-15)


def erf_of_a_constant(x):
    return x * nn.erf(0.5)


def test_erf_of_a_constant():
    agrees(erf_of_a_constant, numbers(4, dtype="f8"), tolerance=1e-15)


def softmax(x):
    return nn.softmax(x)


def softmax_of_columns(x):
    return nn.softmax(x, axis=0)


def log_softmax(x):
    return nn.log_softmax(x)


def logsumexp(x):
    return nn.logsumexp(x), nn.logsumexp(x, axis=-1), nn.logsumexp(x, axis=(0, 1), keepdims=True)


@pytest.mark.parametrize(
    "function", [softmax, softmax_of_columns, log_softmax, logsumexp], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_softmax_family(function, dynamic):
    agrees(function, numbers(4, 9) * 20, tolerance=2e-5, dynamic=dynamic)
    agrees(function, numbers(3, 4, 5, dtype="f8"), tolerance=1e-12, dynamic=dynamic)


def test_softmax_of_large_numbers_is_finite():
    x = np.array([[1e4, 1e4 - 1, -1e4]], "f4")
    jitted = agrees(softmax, x, tolerance=1e-6)
    assert np.isfinite(jitted(x)).all()


def logsumexp_of_all(x):
    return nn.logsumexp(x)


def test_logsumexp_of_nothing_likely():
    agrees(logsumexp_of_all, np.array([-np.inf, -np.inf]))


# ---- normalisation ----------------------------------------------------------------------------------


def layer_norm(x, weight, bias):
    return nn.layer_norm(x, weight, bias)


def layer_norm_of_two_axes(x):
    return nn.layer_norm(x, axis=(1, 2))


def rms_norm(x, weight):
    return nn.rms_norm(x, weight)


def batch_norm(x, mean, var, weight, bias):
    return nn.batch_norm(x, mean, var, weight, bias)


def batch_norm_of_last(x, mean, var):
    return nn.batch_norm(x, mean, var, axis=-1)


def batch_norm_training(x, weight, bias):
    return nn.batch_norm_training(x, weight, bias)


@each_target
def test_normalisation(target):
    x, weight, bias = (
        numbers(3, 4, 6, dtype="f8"),
        numbers(6, dtype="f8", seed=1),
        numbers(6, dtype="f8", seed=2),
    )
    agrees(layer_norm, x, weight, bias, tolerance=1e-11, target=target)
    agrees(layer_norm_of_two_axes, x, tolerance=1e-11, target=target)
    agrees(rms_norm, x, weight, tolerance=1e-11, target=target)


@each_target
def test_batch_norm(target):
    x = numbers(3, 4, 2, 5, dtype="f8")
    vectors = [numbers(4, dtype="f8", seed=k) for k in range(1, 5)]
    vectors[1] = abs(vectors[1])
    agrees(batch_norm, x, *vectors, tolerance=1e-11, target=target)
    agrees(batch_norm_training, x, *vectors[:2], tolerance=1e-10, target=target)
    agrees(batch_norm_of_last, x[:, :, :, :4], *vectors[:2], tolerance=1e-11, target=target)


# ---- losses, embeddings, attention --------------------------------------------------------------------


def cross_entropy(logits, labels):
    return nn.cross_entropy(logits, labels)


def one_hot(ids):
    return nn.one_hot(ids, 6), nn.one_hot(ids, 6, np.int8)


def embedding(table, ids):
    return nn.embedding(table, ids)


def test_classes():
    labels = np.random.default_rng(0).integers(0, 6, (4, 5))
    agrees(one_hot, labels)
    agrees(cross_entropy, numbers(4, 5, 6), labels, tolerance=1e-5)


def test_embedding():
    agrees(embedding, numbers(6, 3), np.random.default_rng(0).integers(0, 6, (4, 5)))


def attention(query, key, value):
    return nn.attention(query, key, value)


def masked_attention(query, key, value, mask):
    return nn.attention(query, key, value, mask)


@each_target
def test_attention(target):
    query, key, value = [numbers(2, n, f, dtype="f8", seed=n + f) for n, f in ((5, 8), (4, 8), (4, 3))]
    agrees(attention, query, key, value, tolerance=1e-11, target=target)
    keep = np.random.default_rng(0).random((5, 4)) > 0.3
    keep[:, 0] = True
    agrees(masked_attention, query, key, value, keep, tolerance=1e-11, target=target)
    agrees(masked_attention, query, key, value, np.where(keep, 0.0, -1.0), tolerance=1e-11, target=target)


def dropout(x, key):
    return nn.dropout(x, 0.25, key), nn.dropout(x, 0, key)


def test_dropout():
    x = np.ones((50, 40), "f4")
    jitted = agrees(dropout, x, 7)
    kept = jitted(x, 7)[0]
    assert set(np.unique(kept)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((kept == 0).mean() - 0.25) < 0.03
    assert (jitted(x, 8)[0] != kept).any()


# ---- convolutions and pooling -------------------------------------------------------------------------


def conv(x, w, bias):
    return nn.conv(x, w, bias)


def strided_conv(x, w):
    return nn.conv2d(x, w, stride=(2, 1), padding=(1, 2))


def dilated_conv(x, w):
    return nn.conv2d(x, w, dilation=2, padding="same")


def grouped_conv(x, w):
    return nn.conv2d(x, w, groups=2, padding=((0, 1), (2, 0)), stride=3)


def conv_of_lines(x, w):
    return nn.conv1d(x, w, padding="valid", stride=2)


def conv_of_volumes(x, w):
    return nn.conv3d(x, w, padding=1)


@pytest.mark.parametrize("target", TARGETS)
def test_convolutions(target):
    x, w = numbers(2, 4, 7, 6, dtype="f8"), numbers(6, 4, 3, 2, dtype="f8", seed=1)
    agrees(conv, x, w, numbers(6, dtype="f8", seed=2), tolerance=1e-10, target=target)
    agrees(grouped_conv, x, w[:, :2], tolerance=1e-10, target=target)


@pytest.mark.parametrize("target", ["cpu", "interp", pytest.param("cuda-sim", marks=pytest.mark.slow)])
def test_strides_gaps_and_lines_of_convolutions(target):
    """On a GPU: `tests/unit/transforms/schedulers/test_cuda_convolutions.py` has all three."""
    x, w = numbers(2, 4, 7, 6, dtype="f8"), numbers(6, 4, 3, 2, dtype="f8", seed=1)
    agrees(strided_conv, x, w, tolerance=1e-10, target=target)
    agrees(dilated_conv, x, w, tolerance=1e-10, target=target)
    agrees(conv_of_lines, x[..., 0], w[..., 0], tolerance=1e-10, target=target)


def test_conv_of_volumes():
    agrees(
        conv_of_volumes,
        numbers(1, 2, 4, 3, 5, dtype="f8"),
        numbers(3, 2, 2, 3, 1, dtype="f8"),
        tolerance=1e-10,
    )


def test_conv_by_definition():
    x, w = numbers(1, 2, 4, 5, dtype="f8"), numbers(3, 2, 2, 3, dtype="f8")
    wanted = np.zeros((1, 3, 3, 3))
    for o, i, j in np.ndindex(3, 3, 3):
        wanted[0, o, i, j] = (x[0, :, i : i + 2, j : j + 3] * w[o]).sum()
    np.testing.assert_allclose(nn.conv(x, w), wanted, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "i8", "i2"])
def test_conv_of_types_and_extents(dtype):
    x = np.random.default_rng(0).integers(-9, 9, (2, 4, 7, 6)).astype(dtype)
    agrees(strided_conv, x, x[:, :, :3, :3], dynamic=True)
    agrees(strided_conv, x[:, :, ::-1, ::2], x.transpose(0, 1, 3, 2)[:, :, :1, :3])
    agrees(strided_conv, x[:0], x[:, :, :3, :3])


def pools(x):
    return nn.max_pool(x, (2, 3)), nn.avg_pool(x, (2, 3)), nn.max_pool(x, (2, 2), stride=1, padding=1)


def more_pools(x):
    return nn.avg_pool(x, (3,), stride=2, padding=1), nn.max_pool(
        x, (3, 3), stride=(2, 1), padding=((1, 0), (0, 1))
    )


def adaptive_pools(x):
    return nn.adaptive_avg_pool(x, (3, 2)), nn.adaptive_max_pool(x, (2, 4))


@pytest.mark.parametrize("function", [pools, more_pools, adaptive_pools], ids=lambda f: f.__name__)
@pytest.mark.parametrize("target", TARGETS)
def test_pooling(function, target):
    agrees(function, numbers(2, 3, 6, 7, dtype="f8"), tolerance=1e-12, target=target)


def test_pooling_of_integers():
    agrees(pools, np.random.default_rng(0).integers(-9, -1, (2, 4, 6)), tolerance=1e-12)


def windows(x):
    return sliding_window_view(x, (2, 3)).sum((-1, -2)), sliding_window_view(x, 3, -1)[1:, ::2] + 1


def window_of_the_same_axis(x):
    return sliding_window_view(x, (2, 2), (0, 0)) * 2


@pytest.mark.parametrize("dynamic", [False, True])
def test_sliding_window_view(dynamic):
    x = np.arange(30).reshape(5, 6)
    agrees(windows, x, dynamic=dynamic)
    agrees(windows, x[:, ::-1], dynamic=dynamic)
    agrees(windows, x[:2, :3], dynamic=dynamic)
    agrees(window_of_the_same_axis, x, dynamic=dynamic)


def too_large_a_window(x):
    return sliding_window_view(x, (7, 6)) + 1


def write_to_a_window(x):
    sliding_window_view(x, 2, 0)[0] = 1
    return x


def test_windows_that_numpy_refuses():
    x = np.zeros((5, 5))
    with pytest.raises(ValueError, match="window shape cannot be larger than input array shape"):
        nt.jit(too_large_a_window)(x)
    with pytest.raises(nt.NestorError):
        nt.jit(write_to_a_window)(x)


# ---- composites -----------------------------------------------------------------------------------------


def test_composites_are_whole_at_the_nt_level():
    x = numbers(4, 6)
    text = nt.jit(softmax).lower(x).as_text("nt")
    assert 'nt.composite "softmax"(%x : tensor<4x6xf32>) {axis = -1 : i64}' in text
    text = nt.jit(attention).lower(x, x + 1, x - 1).as_text("nt")
    assert 'nt.composite "attention"(%query, %key, %value : ' in text
    assert text.count('nt.composite "softmax"') == 1
    assert "nt.composite" not in nt.jit(softmax).lower(x).as_text("nest")
    assert "nt.composite" not in nt.jit(relu).lower(x).as_text("nt")


def softmax_of_rows(x):
    total = np.zeros(3)
    for row in x:
        total = total + nn.softmax(row)
    return total


def softmax_where_positive(x, n):
    if n > 0:
        x = nn.softmax(x)
    return x


def softmax_twice(x):
    x = nn.softmax(x)
    x[0] = 1
    return nn.softmax(x), x


def test_composites_in_control_flow():
    agrees(softmax_of_rows, numbers(20, 3, dtype="f8"), tolerance=1e-12)
    agrees(softmax_where_positive, numbers(20, 3, dtype="f8"), 1, tolerance=1e-12)
    agrees(softmax_twice, numbers(5, 3, dtype="f8"), tolerance=1e-12)


# ---- hostile arrays ---------------------------------------------------------------------------------------


def read_only(x):
    x.flags.writeable = False
    return x


HOSTILE = {
    "column-major": np.asfortranarray(numbers(4, 5, dtype="f8")),
    "reversed": numbers(4, 5, dtype="f8")[::-1, ::-1],
    "strided": numbers(8, 10, dtype="f8")[::2, 1::2],
    "transposed": numbers(5, 4, dtype="f8").T,
    "read-only": read_only(numbers(4, 5, dtype="f8")),
    "one": numbers(1, 1, dtype="f8"),
    "one column": numbers(4, 1, dtype="f8"),
    "no rows": numbers(0, 5, dtype="f8"),
    "integers": np.arange(20).reshape(4, 5),
    "bool": np.arange(20).reshape(4, 5) % 3 == 0,
}


def layer_norm_plain(x):
    return nn.layer_norm(x)


def rms_norm_plain(x):
    return nn.rms_norm(x)


@pytest.mark.parametrize(
    "function",
    [softmax, log_softmax, layer_norm_plain, rms_norm_plain, gelu, silu],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_arrays(function, name):
    x = HOSTILE[name]
    if name == "bool" and function is not gelu:  # NumPy refuses its negative
        x = x.astype("i1")
    agrees(function, x, tolerance=2e-2 if name == "bool" else 1e-11)


def contiguous(x):
    return np.ascontiguousarray(x.T), np.ascontiguousarray((x + 1).T), np.ascontiguousarray(x + 1)


def test_contiguous_copies():
    agrees(contiguous, numbers(4, 5))
