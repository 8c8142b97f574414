"""Values and gradients of the layers of nt.nn against jax in float64, each as jax.nn and jax.lax have it.

A layer is called by Nestor as it stands and from compiled code, with other extents the second time. The loss is the sum of
sines of the result: each element has a cotangent of its own. The tolerance is 1e-8, relative, and 1e-10 around zero.
"""

from types import SimpleNamespace

import nestor as nt
import numpy as np
import pytest
from nestor import nn

jax = pytest.importorskip("jax", reason="jax is not installed (the extra 'bench' has it)")
pytestmark = pytest.mark.slow

lax, jnp = jax.lax, jax.numpy


def arrays(seed, batch, channels, side, features):
    """The arguments of the layers, of given extents; the channels are even. No two elements of an image are equal."""
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal
    return SimpleNamespace(
        x=normal((batch, features)),
        images=normal((batch, channels, side, side + 1)),
        rows=normal((batch, channels, side)),
        volumes=normal((batch, channels, 4, 5, side)),
        kernels=normal((4, channels, 3, 2)),
        grouped=normal((4, channels // 2, 3, 3)),
        depthwise=normal((channels, 1, 3, 3)),
        points=normal((5, channels, 1, 1)),
        kernels1=normal((3, channels, 3)),
        kernels3=normal((2, channels, 2, 3, 2)),
        bias=normal(4),
        scale=normal(features),
        shift=normal(features),
        channel_scale=normal(channels),
        channel_shift=normal(channels),
        channel_mean=normal(channels),
        channel_var=np.abs(normal(channels)) + 0.5,
        heads=normal((3, batch, 2, side, features)),
        keys=normal((batch, 2, side + 2, features)),
        values=normal((batch, 2, side + 2, 3)),
        mask=rng.random((side, side + 2)) < 0.7,
        offsets=normal((side, side + 2)),
        labels=rng.integers(0, features, batch),
        ids=rng.integers(0, batch, (4, 3)),
    )


CALLS = arrays(1, 3, 4, 7, 5), arrays(2, 2, 6, 9, 8)


def conv(x, w, stride=1, padding=0, dilation=1, groups=1):
    rank = w.ndim - 2
    return lax.conv_general_dilated(
        x,
        w,
        (stride,) * rank,
        [(padding, padding)] * rank,
        rhs_dilation=(dilation,) * rank,
        feature_group_count=groups,
    )


def windows(x, start, combine, window, stride, padding):
    ones = (1,) * (x.ndim - len(window))
    spans = [*((0, 0) for _ in ones), *((padding, padding) for _ in window)]
    return lax.reduce_window(x, start, combine, (*ones, *window), (*ones, *stride), spans)


def normalised(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / jnp.sqrt(x.var(axes, keepdims=True) + eps)


def attention(q, k, v, scores=None, scale=None):
    products = jnp.einsum("...qf,...kf->...qk", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if scores is not None:
        products = jnp.where(scores, products, -jnp.inf) if scores.dtype == bool else products + scores
    return jnp.einsum("...qk,...kf->...qf", jax.nn.softmax(products), v)


def along(vector):
    return vector[:, None, None]


LAYERS = {
    "relu": (nn.relu, jax.nn.relu, lambda a: [a.x]),
    "silu": (nn.silu, jax.nn.silu, lambda a: [a.x]),
    "gelu": (nn.gelu, lambda x: jax.nn.gelu(x, approximate=False), lambda a: [a.x]),
    "gelu by tanh": (
        lambda x: nn.gelu(x, "tanh"),
        lambda x: jax.nn.gelu(x, approximate=True),
        lambda a: [a.x],
    ),
    "softmax": (nn.softmax, jax.nn.softmax, lambda a: [a.x]),
    "softmax down columns": (
        lambda x: nn.softmax(x, axis=0),
        lambda x: jax.nn.softmax(x, axis=0),
        lambda a: [a.x],
    ),
    "log softmax": (nn.log_softmax, jax.nn.log_softmax, lambda a: [a.x]),
    "logsumexp": (
        lambda x: nn.logsumexp(x, axis=1, keepdims=True),
        lambda x: jax.nn.logsumexp(x, axis=1, keepdims=True),
        lambda a: [a.x],
    ),
    "convolution with a bias": (
        nn.conv2d,
        lambda x, w, b: conv(x, w) + along(b),
        lambda a: [a.images, a.kernels, a.bias],
    ),
    "strides, padding and dilation": (
        lambda x, w: nn.conv2d(x, w, stride=2, padding=2, dilation=2),
        lambda x, w: conv(x, w, 2, 2, 2),
        lambda a: [a.images, a.kernels],
    ),
    "groups": (
        lambda x, w: nn.conv2d(x, w, padding=1, groups=2),
        lambda x, w: conv(x, w, padding=1, groups=2),
        lambda a: [a.images, a.grouped],
    ),
    "separate channels": (
        lambda x, w: nn.conv2d(x, w, stride=2, groups=x.shape[1]),
        lambda x, w: conv(x, w, 2, groups=x.shape[1]),
        lambda a: [a.images, a.depthwise],
    ),
    "windows of one element": (
        lambda x, w: nn.conv2d(x, w, stride=2),
        lambda x, w: conv(x, w, 2),
        lambda a: [a.images, a.points],
    ),
    "convolution of rows": (
        lambda x, w: nn.conv1d(x, w, stride=2, padding=1),
        lambda x, w: conv(x, w, 2, 1),
        lambda a: [a.rows, a.kernels1],
    ),
    "convolution of volumes": (nn.conv3d, conv, lambda a: [a.volumes, a.kernels3]),
    "max pool": (
        lambda x: nn.max_pool(x, (2, 2)),
        lambda x: windows(x, -jnp.inf, lax.max, (2, 2), (2, 2), 0),
        lambda a: [a.images],
    ),
    "max pool of overlapping windows": (
        lambda x: nn.max_pool(x, (3, 3), stride=2, padding=1),
        lambda x: windows(x, -jnp.inf, lax.max, (3, 3), (2, 2), 1),
        lambda a: [a.images],
    ),
    "avg pool": (
        lambda x: nn.avg_pool(x, (3, 2), stride=(1, 2), padding=1),
        lambda x: windows(x, 0.0, lax.add, (3, 2), (1, 2), 1) / 6,
        lambda a: [a.images],
    ),
    "layer norm": (
        nn.layer_norm,
        lambda x, w, b: normalised(x, -1, 1e-5) * w + b,
        lambda a: [a.x, a.scale, a.shift],
    ),
    "rms norm": (
        nn.rms_norm,
        lambda x, w: x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w,
        lambda a: [a.x, a.scale],
    ),
    "batch norm": (
        nn.batch_norm,
        lambda x, m, v, w, b: (x - along(m)) / jnp.sqrt(along(v) + 1e-5) * along(w) + along(b),
        lambda a: [a.images, a.channel_mean, a.channel_var, a.channel_scale, a.channel_shift],
    ),
    "batch norm in training": (
        lambda x, w, b: nn.batch_norm_training(x, w, b)[0],
        lambda x, w, b: normalised(x, (0, 2, 3), 1e-5) * along(w) + along(b),
        lambda a: [a.images, a.channel_scale, a.channel_shift],
    ),
    "statistics of a batch": (
        lambda x: nn.batch_norm_training(x)[1] * nn.batch_norm_training(x)[2],
        lambda x: x.mean((0, 2, 3)) * x.var((0, 2, 3)),
        lambda a: [a.images],
    ),
    "attention": (nn.attention, attention, lambda a: list(a.heads)),
    "attention of other keys, scaled": (
        lambda q, k, v: nn.attention(q, k, v, scale=0.3),
        lambda q, k, v: attention(q, k, v, scale=0.3),
        lambda a: [a.heads[0], a.keys, a.values],
    ),
    "attention with what is added": (
        nn.attention,
        attention,
        lambda a: [a.heads[0], a.keys, a.values, a.offsets],
    ),
    "attention with a mask": (
        nn.attention,
        attention,
        lambda a: [a.heads[0], a.keys, a.values, a.mask | (np.arange(len(a.mask[0])) == 0)],
    ),
    "embedding": (nn.embedding, lambda table, ids: table[ids], lambda a: [a.x, a.ids]),
    "cross entropy": (
        nn.cross_entropy,
        lambda x, labels: -jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1).mean(),
        lambda a: [a.x, a.labels],
    ),
}


@pytest.fixture(autouse=True)
def _double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("is_compiled", [False, True], ids=["called", "compiled"])
@pytest.mark.parametrize("name", LAYERS)
def test_gradients(name, is_compiled):
    layer, reference, chosen = LAYERS[name]
    floats = tuple(k for k, a in enumerate(chosen(CALLS[0])) if a.dtype == np.float64)
    ours = nt.value_and_grad(lambda *args: np.sin(layer(*args)).sum(), floats)
    ours = nt.jit(ours) if is_compiled else ours
    theirs = jax.value_and_grad(lambda *args: jnp.sin(reference(*args)).sum(), floats)

    for arguments in CALLS:
        args = chosen(arguments)
        value, gradients = ours(*args)
        expected, derivatives = theirs(*args)

        np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12)
        for one, other in zip(gradients, derivatives, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
