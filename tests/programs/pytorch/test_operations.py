"""Operations of PyTorch, compiled, give what PyTorch gives: on odd, empty, strided and scalar tensors, of all dtypes."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'torch' has it)")

import torch.nn.functional as F  # noqa: E402
from torch_programs import check, operations_by_torch  # noqa: E402


def _several(*functions):
    """All of them, of the same tensors: one program."""
    return lambda *args: [f(*args) for f in functions]


UNARY = [
    torch.abs, torch.neg, torch.sign, torch.square, torch.ceil, torch.floor, torch.trunc, torch.round, torch.frac,
    torch.relu, torch.exp, torch.exp2, torch.expm1, torch.sin, torch.cos, torch.tan, torch.sinh, torch.cosh, torch.tanh,
    torch.atan, torch.asinh, torch.reciprocal, torch.sigmoid, torch.erf, torch.erfc, torch.isnan, torch.isinf,
    torch.isfinite, torch.signbit, torch.logical_not, torch.positive,
]  # fmt: skip
POSITIVE = [torch.sqrt, torch.rsqrt, torch.log, torch.log2, torch.log10, torch.log1p, torch.lgamma]
BINARY = [
    torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum, torch.eq, torch.ne, torch.lt, torch.le,
    torch.gt, torch.ge, torch.logical_and, torch.logical_or, torch.logical_xor,
]  # fmt: skip
FLOAT_BINARY = [
    torch.atan2, torch.hypot, torch.copysign, torch.fmod, torch.remainder, torch.fmax, torch.fmin, torch.logaddexp,
    torch.floor_divide, lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    lambda a, b: torch.div(a, b, rounding_mode="floor"), lambda a, b: torch.add(a, b, alpha=3),
    lambda a, b: torch.sub(a, b, alpha=0.5), lambda a, b: torch.rsub(a, b, alpha=2), torch.xlogy,
    lambda a, b: torch.where(a > b, a, 0.0), lambda a, b: torch.lerp(a, b, 0.3),
    lambda a, b: torch.addcmul(a, a, b, value=2), lambda a, b: torch.addcdiv(a, a, b + 9, value=2),
    lambda a, b: torch.clamp(a, -1, 1), lambda a, b: torch.clamp(a, min=b), lambda a, b: a.clamp_max(0.5),
    lambda a, b: a.masked_fill(b > 0, -1.5), lambda a, b: torch.pow(a, 2), lambda a, b: torch.pow(a.abs(), b),
    lambda a, b: torch.pow(2.0, a),
]  # fmt: skip
ACTIVATIONS = [
    F.gelu, lambda x: F.gelu(x, approximate="tanh"), F.silu, F.elu, F.selu, F.celu, F.softplus, F.leaky_relu, F.hardtanh,
    F.hardsigmoid, F.hardswish, F.mish, F.relu6, F.logsigmoid, F.softsign, F.tanhshrink, F.softshrink, F.hardshrink,
    lambda x: F.threshold(x, 0.1, 20), F.glu,
]  # fmt: skip


def _values(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator) * 3
    return x.to(dtype) if dtype.is_floating_point else (x * 3).round().to(dtype)


def _special(dtype=torch.float32):
    nan, inf = float("nan"), float("inf")
    return torch.tensor(
        [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, nan, inf, -inf, 1e-30, 3e30, 2.0, -3.5], dtype=dtype
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_elementwise_operations_of_one_operand(dtype):
    check(_several(*UNARY), _values(3, 7, dtype=dtype))
    check(_several(*UNARY), _special(dtype))
    check(_several(*POSITIVE), _values(5, dtype=dtype).abs() + 0.1)


def test_elementwise_operations_of_two_operands():
    check(_several(*BINARY, *FLOAT_BINARY), _values(3, 1, 5), _values(7, 1, seed=1))
    check(_several(*BINARY, *FLOAT_BINARY), _special(), _special().flip(0))


def test_activations():
    check(_several(*ACTIVATIONS), _values(4, 6))


@pytest.mark.parametrize("shape", [(0,), (), (1,), (2, 0, 3)], ids=str)
def test_small_shapes(shape):
    x, y = _values(*shape), _values(*shape, seed=1)
    functions = [
        *BINARY,
        lambda a, b: a.exp(),
        lambda a, b: a.sum(),
        lambda a, b: a.sum(-1) if a.ndim else a.sum(),
        lambda a, b: a.mean(),
        lambda a, b: a.reshape(-1),
        lambda a, b: a.unsqueeze(-1),
        lambda a, b: torch.where(a > b, a, b),
        lambda a, b: F.gelu(a),
        lambda a, b: a.prod(),
        lambda a, b: a.any(),
        lambda a, b: a.all(),
    ]
    check(_several(*functions), x, y)


def test_strided_inputs():
    base = _values(6, 8)
    for view in (base.t(), base[::2, 1::3], base[1:5, 2], base.expand(3, 6, 8), base.t()[2:, ::2]):
        check(_several(torch.exp, lambda x: x + 1, lambda x: x.sum(0), lambda x: x.reshape(-1)), view)


PROMOTED = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32,
            torch.float64]  # fmt: skip


@pytest.mark.parametrize("first", PROMOTED, ids=str)
def test_types_are_promoted_as_pytorch_does(first):
    functions = [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a / (b + 20), lambda a, b: a == b,
                 lambda a, b: torch.maximum(a, b) if a.dtype == b.dtype else a, lambda a, b: a + 2, lambda a, b: a * 2.5,
                 lambda a, b: torch.where(b > 0, a, 3)]  # fmt: skip
    tensors = [_values(5, dtype=first)]
    for k, second in enumerate(PROMOTED):
        tensors += [_values(5, dtype=second, seed=k), _values(dtype=second, seed=k + 20)]

    def function(*args):
        return [f(args[0], b) for b in args[1:] for f in functions]

    rough = {"rtol": 2e-3, "atol": 1e-3} if first is torch.float16 else {}
    check(function, *tensors, **rough)


REDUCTIONS = [
    lambda x: x.sum(), lambda x: x.sum(1), lambda x: x.sum((0, -1), keepdim=True), lambda x: x.mean((1, 2)),
    lambda x: x.amax(-1), lambda x: x.amin((0, 1), keepdim=True), lambda x: x.max(), lambda x: x.min(),
    lambda x: x.max(1), lambda x: x.min(-1, keepdim=True), lambda x: x.argmax(), lambda x: x.argmax(1, keepdim=True),
    lambda x: x.argmin(-1), lambda x: x.prod(), lambda x: x.prod(1), lambda x: (x > 0).any(), lambda x: (x > 0).all(1),
    lambda x: x.any(-1, keepdim=True), lambda x: x.var(), lambda x: x.var(1, correction=0), lambda x: x.std((0, 2)),
    lambda x: torch.var_mean(x, (1,), keepdim=True), lambda x: x.cumsum(1), lambda x: x.cumprod(-1),
    lambda x: x.softmax(1), lambda x: x.log_softmax(-1), lambda x: x.logsumexp((0, 2)), lambda x: x.norm(),
    lambda x: torch.linalg.vector_norm(x, 1, (1,)), lambda x: torch.linalg.vector_norm(x, float("inf"), 0, True),
    lambda x: torch.linalg.vector_norm(x, 3), lambda x: x.sum(dtype=torch.float64), lambda x: (x > 0).sum(1),
    lambda x: x.round().to(torch.int32).sum(0),
]  # fmt: skip


def test_reductions():
    check(_several(*REDUCTIONS), _values(3, 5, 4))
    check(_several(*REDUCTIONS), _values(4, 5, 3).permute(2, 1, 0))


SHAPES = [
    lambda x: x.view(3, 20), lambda x: x.view(-1, 5), lambda x: x.permute(2, 0, 1) + 1, lambda x: x.transpose(-1, 0) * 2,
    lambda x: x.unsqueeze(1).expand(3, 2, 4, 5) + 1, lambda x: x.unsqueeze(-2).squeeze(2) + 1, lambda x: x[:, 1] + 1,
    lambda x: x[1:, ::2, -3:] + 1, lambda x: x[..., -1] * 2, lambda x: torch.cat([x, x + 1, x], 1),
    lambda x: torch.stack([x, x * 2], -1), lambda x: torch.cat([x, x > 0], 0),
    lambda x: [p + 1 for p in x.split(2, 1)], lambda x: [p + 1 for p in x.split([1, 3], 1)],
    lambda x: [p + 1 for p in x.unbind(0)], lambda x: [p + 1 for p in x.chunk(3, -1)], lambda x: x.flip(0, -1),
    lambda x: x.roll(2, 1), lambda x: x.roll((1, -2), (0, 2)), lambda x: x.roll(3), lambda x: x.repeat(2, 1, 3),
    lambda x: x.repeat_interleave(2, 1), lambda x: F.pad(x, (1, 2)), lambda x: F.pad(x, (-1, 2, 0, 1), value=3.0),
    lambda x: x.tril(), lambda x: x.triu(1), lambda x: x.diagonal(1, 0, 2) + 1, lambda x: x.unfold(2, 3, 2) + 1,
    lambda x: x.flatten(1) + 1, lambda x: x.narrow(1, 1, 2) + 1, lambda x: x.movedim(0, -1) + 1,
    lambda x: F.pad(x[None], (1, 1, 2, 0), mode="reflect"), lambda x: F.pad(x[None], (1, 1, 2, 0), mode="replicate"),
    lambda x: torch.slice_scatter(x, x[:, :2] * 0, 1, 1, 3), lambda x: torch.select_scatter(x, x[:, 0] * 0, 1, 2),
    lambda x: F.pixel_shuffle(x.reshape(1, 4, 3, 5), 2), lambda x: torch.atleast_2d(x) + 1, lambda x: x.contiguous() + 1,
    lambda x: x.to(torch.float64), lambda x: x.to(torch.int32), lambda x: x.to(torch.bool), lambda x: x.T + 1,
]  # fmt: skip


def test_shapes():
    check(_several(*SHAPES), _values(3, 4, 5))


CREATED = [
    lambda x: torch.zeros(2, 3) + x[0, 0], lambda x: torch.ones_like(x), lambda x: torch.full_like(x, 2.5),
    lambda x: torch.arange(5) + x[0, 0], lambda x: torch.arange(1, 9, 3), lambda x: torch.full((2,), 7),
    lambda x: torch.eye(3), lambda x: x.new_zeros(2, 2), lambda x: torch.linspace(0, 1, 5) + x[0, 0],
    lambda x: torch.full((2,), -5, dtype=torch.uint8), lambda x: (x > 0).to(torch.uint8).masked_fill(x > 1, -1),
    lambda x: torch.tensor(3.0) * x, lambda x: x.new_full((3,), 2), lambda x: torch.zeros(3, dtype=torch.bool),
]  # fmt: skip


def test_tensors_that_are_made():
    check(_several(*CREATED), _values(3, 4))


def test_products():
    a, b, v = _values(5, 7), _values(7, 3, seed=1), _values(7, seed=2)
    c, bias = _values(4, 5, 7, seed=3), _values(3, seed=4)
    functions = [
        lambda a, b, v, c, bias: a @ b, lambda a, b, v, c, bias: a @ v, lambda a, b, v, c, bias: c @ b,
        lambda a, b, v, c, bias: v @ v, lambda a, b, v, c, bias: torch.bmm(c, c.mT),
        lambda a, b, v, c, bias: F.linear(a, b.t(), bias), lambda a, b, v, c, bias: F.linear(c, b.t(), bias),
        lambda a, b, v, c, bias: torch.addmm(bias, a, b, beta=0.5, alpha=2),
        lambda a, b, v, c, bias: torch.baddbmm(c @ c.mT, c, c.mT, beta=0, alpha=3),
        lambda a, b, v, c, bias: torch.einsum("bij,jk->bki", c, b), lambda a, b, v, c, bias: torch.outer(v, bias),
        lambda a, b, v, c, bias: v @ b, lambda a, b, v, c, bias: torch.kron(a[:2, :2], b[:2, :2]),
    ]  # fmt: skip
    check(_several(*functions), a, b, v, c, bias, rtol=1e-4, atol=1e-4)


def test_tensors_of_indices():
    x, index = _values(5, 4, 3), torch.tensor([3, 0, 1, 1])
    table = torch.tensor([[[0, 2, 1], [1, 1, 0]], [[2, 2, 0], [0, 1, 2]]])
    functions = [
        lambda x, i, t: x[i] + 1, lambda x, i, t: x[:, i] + 1, lambda x, i, t: x[i, :, i[:, None] % 3],
        lambda x, i, t: x.index_select(1, i), lambda x, i, t: x.gather(2, t), lambda x, i, t: x.gather(0, t),
        lambda x, i, t: x.scatter(1, t, 9.0), lambda x, i, t: x.scatter_add(2, t, x),
        lambda x, i, t: torch.zeros(5, 4, 3).scatter(2, t[:1, :, :1], x), lambda x, i, t: x.index_add(0, i, x[:4]),
        lambda x, i, t: F.embedding(i, x[:, 0]), lambda x, i, t: x.index_put((i,), x[0, 0]),
        lambda x, i, t: x.index_put((i, i % 4), x[0, 0], accumulate=True),
        lambda x, i, t: x.permute(1, 0, 2).index_add(1, i, x.permute(1, 0, 2)[:, :4], alpha=2),
        lambda x, i, t: torch.ops.aten.index_put(x, [None, i[:, None], i[:3] % 3], x[:, :1, :1], True),
        lambda x, i, t: torch.ops.aten.index_put(x, [i, None, i % 3], x[0, :1, :1], True),
        lambda x, i, t: torch.ops.aten.index_put(x, [None, i[0], i[1]], x[:, 0, 0], True),
        lambda x, i, t: torch.ops.aten.index_put(x, [i[0], None, i[1]], x[0, :, 0], True),
        lambda x, i, t: torch.ops.aten.embedding_dense_backward(x[0, 0], i[0], 5, -1, False),
        lambda x, i, t: torch.ops.aten.embedding_dense_backward(x[:4, 0], i, 5, 1, False),
        lambda x, i, t: torch.zeros(6).index_put((i,), x[0, :, 0], accumulate=True), lambda x, i, t: x[-i],
        lambda x, i, t: F.one_hot(i, 5), lambda x, i, t: x[:2, :2].take_along_dim(t, 2),
    ]  # fmt: skip
    check(_several(*functions), x, index, table)


def test_negative_indices_are_refused_where_pytorch_refuses_them():
    from torch_programs import compiled

    with pytest.raises((IndexError, ValueError, RuntimeError)):
        compiled(lambda x, i: x.gather(0, i))(_values(3), torch.tensor([-1]))


def test_operations_of_networks():
    x, w, b = _values(2, 4, 9, 8), _values(6, 4, 3, 3, seed=1), _values(6, seed=2)
    mean, var = _values(4, seed=3), _values(4, seed=4).abs() + 0.5
    functions = [
        lambda x, w, b, m, v: F.conv2d(x, w, b, padding=1), lambda x, w, b, m, v: F.conv2d(x, w, None, (2, 1), (1, 0), 2),
        lambda x, w, b, m, v: F.conv2d(x, w[:, :2], b, groups=2), lambda x, w, b, m, v: F.conv1d(x[:, :, 0], w[:, :, 0], b),
        lambda x, w, b, m, v: F.conv_transpose2d(x, w.transpose(0, 1)[:, :, :2], None, 2, 1, 1),
        lambda x, w, b, m, v: F.max_pool2d(x, 2), lambda x, w, b, m, v: F.max_pool2d(x, 3, 2, 1, return_indices=True),
        lambda x, w, b, m, v: F.avg_pool2d(x, 2, 1), lambda x, w, b, m, v: F.adaptive_avg_pool2d(x, 1),
        lambda x, w, b, m, v: F.adaptive_avg_pool2d(x, (3, 4)), lambda x, w, b, m, v: F.layer_norm(x, (9, 8)),
        lambda x, w, b, m, v: F.batch_norm(x, m, v, v, m), lambda x, w, b, m, v: F.group_norm(x, 2, m, v),
        lambda x, w, b, m, v: F.instance_norm(x), lambda x, w, b, m, v: F.interpolate(x, scale_factor=2.0),
        lambda x, w, b, m, v: F.interpolate(x, (5, 11), mode="bilinear"), lambda x, w, b, m, v: F.rms_norm(x, (8,)),
    ]  # fmt: skip
    run = check(_several(*functions), x, w, b, mean, var, rtol=1e-4, atol=1e-4)
    assert not operations_by_torch(run)


def test_attention():
    q, k, v = _values(2, 4, 6, 8), _values(2, 4, 7, 8, seed=1), _values(2, 4, 7, 8, seed=2)
    mask = _values(6, 7, seed=3)
    check(F.scaled_dot_product_attention, q, k, v, rtol=1e-4, atol=1e-5, strides=True)
    check(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        q,
        q,
        q,
        rtol=1e-4,
        atol=1e-5,
        strides=False,
    )
    check(
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        q,
        k,
        v,
        mask,
        rtol=1e-4,
        atol=1e-5,
        strides=False,
    )
    check(
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m > 0),
        q,
        k,
        v,
        mask,
        rtol=1e-4,
        atol=1e-5,
        strides=False,
    )
