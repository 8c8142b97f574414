"""Images with channels first and last: results have NumPy's strides, and between products nothing is transposed."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees
from nestor import nn
from nestor.dialects.nt import DotOp, FusionOp, TransposeOp
from nestor.frontend.jit.specialise.stages import lowered_copy
from test_iou import load
from xdsl.dialects.func import ReturnOp

pytestmark = pytest.mark.one_of(2)


def numbers(*shape, seed=0, dtype="f4"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def channels_last(x):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def transposed(function, *args):
    """Which transposes of a program are read by anything but a product, or handed to the caller, when it has been fused."""
    module = lowered_copy(function.lower(*args).program.module, ("to-fusions",))
    found = []
    for op in module.walk():
        if isinstance(op, TransposeOp):
            work, readers = [op.result], set()
            while work:
                for use in work.pop().uses:
                    is_view = use.operation.name in ("nt.slice", "nt.window", "nt.transpose", "nt.reshape")
                    work += use.operation.results if is_view else []
                    readers |= set() if is_view else {type(use.operation)}
            if not readers <= {DotOp, ReturnOp} or isinstance(op.parent_op(), FusionOp):
                found.append(op)
    return found


# ---- strides say where channels are -----------------------------------------------------------------


def convolved(x, w, b):
    return nn.conv2d(x, w, b, padding=1), nn.conv2d(x, w[:, :, :1, :1], stride=2), nn.conv2d(x, w)


def grouped(x, w, b):
    return nn.conv2d(x, w[:, : x.shape[1] // 2], groups=2, padding=1)


def normalised(x, w, b):
    b = b[: x.shape[1]]
    return nn.batch_norm(x, b, b * b, b), nn.batch_norm_training(x, b)


def activated(x, w, b):
    return nn.relu(nn.conv2d(x, w, b, padding="same")), nn.silu(x)


def pooled(x, w, b):
    return (
        nn.max_pool(x, (3, 3), 2, 1), nn.max_pool(x, (2, 2)), nn.avg_pool(x, (3, 3), 1, 1),
        nn.adaptive_avg_pool(x, (2, 2)), nn.adaptive_max_pool(x, (1, 1)), nn.adaptive_avg_pool(x, (1, 1)),
    )  # fmt: skip


X, W, B = numbers(2, 8, 9, 7), numbers(12, 8, 3, 3, seed=1), numbers(12, seed=2)
IMAGES = {
    "channels first": X,
    "channels last": channels_last(X),
    "two channels": channels_last(X[:, :2]),
    "a part": channels_last(X)[:, :, 1:-1],
    "backwards": channels_last(X)[:, :, ::-1],
    "rows last": np.ascontiguousarray(X.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2),
}
FUNCTIONS = [convolved, grouped, normalised, activated, pooled]


def leaves(value):
    return [one for part in value for one in leaves(part)] if isinstance(value, tuple) else [value]


def steps(array):
    """The strides of the axes that are longer than 1: of others they mean nothing."""
    return [step for step, extent in zip(array.strides, array.shape, strict=True) if extent > 1]


def have_numpys_strides(function, x, w, b, dynamic=False):
    got, want = nt.jit(function, dynamic=dynamic)(x, w, b), function(x, w, b)
    for one, other in zip(leaves(got), leaves(want), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
        assert steps(one) == steps(other)


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_strides_are_numpys(function, name):
    x = IMAGES[name]
    have_numpys_strides(function, x, W[:, : x.shape[1]], B)


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_strides_of_extents_that_are_not_known_are_numpys(function):
    for x in (X, IMAGES["channels last"]):
        have_numpys_strides(function, x, W, B, dynamic=True)


def test_one_channel_is_channels_first():
    """Its strides are those of both orders: row-major wins, as it does in NumPy."""
    x, w = channels_last(X[:, :1]), W[:, :1]
    assert convolved(x, w, B)[0].flags.c_contiguous
    have_numpys_strides(convolved, x, w, B)


def test_convolutions_keep_the_order_of_their_images():
    assert convolved(IMAGES["channels last"], W, B)[0].transpose(0, 2, 3, 1).flags.c_contiguous
    assert convolved(X, W, B)[0].flags.c_contiguous


# ---- chains -----------------------------------------------------------------------------------------


def chain(x, w, v, b):
    y = nn.relu(nn.conv2d(x, w, b, padding=1))
    y = nn.max_pool(y, (3, 3), 2, 1)
    return nn.conv2d(y, v, padding=1)


def test_nothing_is_transposed_inside_of_a_chain():
    """Channels first: the last product's result is the caller's, and that alone is read across memory."""
    x, w, v, b = (
        numbers(2, 5, 9, 11),
        numbers(12, 5, 3, 3, seed=1),
        numbers(6, 12, 3, 3, seed=2),
        numbers(12, seed=3),
    )
    first = agrees(chain, x, w, v, b, tolerance=1e-4)
    assert len(transposed(first, x, w, v, b)) <= 1
    assert not transposed(agrees(chain, channels_last(x), w, v, b, tolerance=1e-4), channels_last(x), w, v, b)


def test_extents_that_are_not_known():
    x, w, v, b = (
        numbers(2, 5, 9, 11),
        numbers(12, 5, 3, 3, seed=1),
        numbers(6, 12, 3, 3, seed=2),
        numbers(12, seed=3),
    )
    function = agrees(chain, x, w, v, b, tolerance=1e-4, dynamic=True)
    np.testing.assert_allclose(function(x[:, :, :5, 1:], w, v, b), chain(x[:, :, :5, 1:], w, v, b), atol=1e-4)
    agrees(chain, channels_last(x), w, v, b, tolerance=1e-4, dynamic=True)
    agrees(chain, x[:0], w, v, b, tolerance=1e-4)


def test_a_remark_says_what_is_read_across_memory():
    x, w = numbers(1, 5, 6, 6), numbers(7, 5, 3, 3, seed=1)

    def passed_on(x, w):
        return nn.relu(nn.conv2d(x, w))

    for image, says in ((x, True), (channels_last(x), False)):
        function = nt.jit(passed_on)
        function(image, w)
        assert ("is read across memory" in function.explain(image, w)) == says


def loss(w, v, b, x):
    return np.sum(chain(x, w, v, b) ** 2)


def test_gradients():
    """Of the weights, with channels first and last, against differences in float64."""
    x, w, v, b = (
        numbers(1, 3, 6, 5),
        numbers(4, 3, 3, 3, seed=1),
        numbers(2, 4, 3, 3, seed=2),
        numbers(4, seed=3),
    )
    x, w, v, b = (array.astype("f8") for array in (x, w, v, b))
    first = nt.grad(loss, argnums=(0, 1))(w, v, b, x)
    last = nt.grad(loss, argnums=(0, 1))(w, v, b, channels_last(x))
    for one, other in zip(first, last, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    step = np.zeros_like(w)
    step[1, 2, 0, 1] = 1e-5
    slope = (loss(w + step, v, b, x) - loss(w - step, v, b, x)) / 2e-5
    np.testing.assert_allclose(first[0][1, 2, 0, 1], slope, rtol=1e-6)


# ---- a network --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "constants", [(), pytest.param("net", marks=pytest.mark.slow)], ids=["", "constants"]
)
@pytest.mark.parametrize("order", [np.asarray, channels_last])
def test_resnet(order, constants):
    """Within 1e-4 of float64 NumPy; nothing in it is transposed. With two blocks of eight: one of them halves the images."""
    example = load("resnet")
    net = example.make(np.random.default_rng(0), widths=(5, 8), classes=7)
    net = net._replace(blocks=net.blocks[1:3])
    x = order(numbers(2, 3, 20, 18))
    want = example.classify(example.wide(net), x.astype("f8"))
    function = nt.jit(example.classify, constants=constants)
    for _ in range(2):
        np.testing.assert_allclose(function(net, x), want, atol=1e-4)
    assert not transposed(function, net, x)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
def test_resnet_on_other_targets(target):
    example = load("resnet")
    net = example.make(np.random.default_rng(0), widths=(3, 4), classes=3)
    net = net._replace(blocks=net.blocks[1:3])
    x = numbers(1, 3, 12, 10)
    want = example.classify(example.wide(net), x.astype("f8"))
    for images in (x, channels_last(x)):
        np.testing.assert_allclose(nt.jit(example.classify, target=target)(net, images), want, atol=1e-4)
