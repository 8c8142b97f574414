"""Tensors of PyTorch in, tensors out: without a copy, with PyTorch's rules on gradients kept, at any call."""

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import ReadOnlyError, ShapeError

torch = pytest.importorskip("torch", reason="PyTorch is in no extra: pip install torch")


def affine(x, y):
    return x * 2 + y


def update(x, y):
    x[1:] += y[1:]
    return x


def sorts(x):
    return (
        x,
        x[1:],
        x * 2,
        x.sum(),
        float(x.sum()),
        x.shape[0],
        {"mean": [x.mean()]},
        np.broadcast_to(x, (2, 3)),
    )


def ordered(x):
    return np.cumsum(x, axis=0), x.T, x.reshape(-1)


def reverse(x):
    return x[::-1]


def scaled(x, w):
    return {"y": x * w["a"], "z": (w["b"][0] + x,)}


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_values_and_kinds(target):
    f = nt.jit(affine, target=target)
    for length in (3, 3, 5, 3, 8):
        x, y = torch.arange(length, dtype=torch.float32), torch.full((length,), 0.5)
        result = f(x, y)
        assert type(result) is torch.Tensor
        assert result.dtype is torch.float32
        assert torch.equal(result, affine(x, y))
        assert torch.equal(f(x, 1.0), affine(x, 1.0))
        mixed = f(x, y.numpy())
        assert type(mixed) is torch.Tensor
        assert torch.equal(mixed, result)
        assert type(f(x.numpy(), y.numpy())) is np.ndarray


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_contents_are_read_at_every_call(dynamic):
    f, x = nt.jit(affine, dynamic=dynamic), torch.zeros(4)
    for value in range(50):
        x.fill_(value)
        assert torch.equal(f(x, x), affine(x, x))
        assert torch.equal(f(torch.full((4,), float(value)), x), affine(x, x))
    assert f.cache_info()["compiled"] == 1


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
     "float64"],
)  # fmt: skip
def test_types(dtype):
    x = torch.tensor([0, 1, 1, 0]).to(getattr(torch, dtype))

    @nt.jit
    def chosen(x):
        return np.where(x == 1, x, x), x[0], x.sum()

    for _ in range(3):
        kept, one, _ = chosen(x)
        assert kept.dtype is x.dtype
        assert one.dtype is x.dtype
        assert one.shape == ()
        assert kept.tolist() == x.tolist()


def test_types_are_promoted_as_those_of_numpy():
    x = torch.tensor([1, 2], dtype=torch.int32)
    assert (x * 2 + 1.5).dtype is torch.float32
    assert nt.jit(affine)(x, 1.5).dtype is torch.float64


def test_sorts_of_results():
    x = torch.arange(3.0)
    for _ in range(4):
        same, view, new, total, number, length, nested, spread = nt.jit(sorts)(x)
        assert same is x
        assert view.data_ptr() == x[1:].data_ptr()
        assert torch.equal(new, x * 2)
        assert torch.equal(total, torch.tensor(float(x.sum())))
        assert (type(number), type(length)) == (float, int)
        assert torch.equal(nested["mean"][0], x.mean())
        assert spread.stride() == (0, 1)
        assert spread.data_ptr() == x.data_ptr()
        x += 1
        assert torch.equal(view, x[1:])


@pytest.mark.parametrize("change", [lambda x: x.T, lambda x: x[::2], lambda x: x[:, 1:2], lambda x: x[:0]])
def test_layouts(change):
    x = change(torch.arange(12.0).reshape(4, 3))
    f = nt.jit(ordered)
    for _ in range(3):
        for result, expected in zip(f(x), ordered(x.numpy()), strict=True):
            assert result.shape == expected.shape
            assert torch.equal(result, torch.from_numpy(expected))


def test_rank_0_and_broadcast_ones():
    f = nt.jit(affine)
    assert torch.equal(f(torch.tensor(3.0), torch.ones(2)), torch.tensor([7.0, 7.0]))
    assert f(torch.tensor(3.0), 1.0).shape == ()
    spread = torch.ones(1).expand(5)
    assert torch.equal(f(spread, 1.0), torch.full((5,), 3.0))
    with pytest.raises(ReadOnlyError, match="read-only"):
        nt.jit(update)(spread, torch.ones(5))


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_written_in_place(target):
    f = nt.jit(update, target=target)
    for length in (4, 4, 6, 4):
        x, y = torch.arange(length, dtype=torch.float32), torch.ones(length)
        expected = update(x.clone(), y)
        assert f(x, y) is x
        assert torch.equal(x, expected)
    x = torch.arange(5.0)
    expected = x.clone()
    f(x[:-1], x[1:])
    update(expected[:-1].numpy(), expected[1:].numpy())
    assert torch.equal(x, expected)


def test_out():
    f, x, out = nt.jit(affine), torch.arange(3.0), torch.empty(3)
    for value in (1.0, 2.0, 3.0):
        assert f(x, value, out=out) is out
        assert torch.equal(out, affine(x, value))
        array = np.empty(3, np.float32)
        assert f(x, value, out=array) is array
        assert f(x.numpy(), value, out=out) is out
    with pytest.raises(ShapeError, match=r"out= is float32\[4\], the result is float32\[3\]"):
        f(x, 1.0, out=torch.empty(4))


def test_autograd_sees_writes():
    """What a backward pass needs is not changed behind its back."""
    for write in (
        lambda x: nt.jit(update)(x, torch.ones(3)),
        lambda x: nt.jit(affine)(1.0, torch.ones(3), out=x),
    ):
        x, w = torch.arange(3.0), torch.ones(3, requires_grad=True)
        loss = (w * x).sum()
        write(x)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
    x, w = torch.arange(3.0), torch.ones(3, requires_grad=True)
    loss = (w * x).sum()
    nt.jit(affine)(x, x)
    nt.jit(update)(torch.ones(3), x)
    loss.backward()
    assert torch.equal(w.grad, x)


def test_gradients_are_refused_where_they_would_be_lost():
    f, x = nt.jit(affine), torch.ones(3, requires_grad=True)
    with pytest.raises(
        nt.UnsupportedError, match=r"argument 'y' is a torch.Tensor that records gradients"
    ) as caught:
        f(torch.ones(3), x)
    assert "pass y.detach(), or call it under torch.no_grad()" in str(caught.value)
    assert "def affine(x, y):" in str(caught.value)
    parameter = torch.nn.Parameter(torch.ones(3))
    for bad in (parameter, x.to(torch.bfloat16), x * 1):
        with pytest.raises(nt.UnsupportedError, match="records gradients"):
            f(bad, 1.0)
    for fine in (x, parameter):
        assert torch.equal(f(fine.detach(), 1.0), torch.full((3,), 3.0))
        with torch.no_grad():
            assert torch.equal(f(fine, 1.0), torch.full((3,), 3.0))
            assert nt.jit(update)(fine, torch.ones(3)) is fine
        with torch.inference_mode():
            assert f(fine, 1.0).shape == (3,)
    with torch.inference_mode():
        inference = torch.ones(3)
    nt.jit(update)(inference, torch.ones(3))
    assert inference.tolist() == [1, 2, 2]


def test_tangents_are_refused():
    import torch.autograd.forward_ad as forward

    with forward.dual_level():
        dual = forward.make_dual(torch.ones(3), torch.ones(3))
        with pytest.raises(nt.UnsupportedError, match=r"argument 'x' is a torch.Tensor with a tangent"):
            nt.jit(affine)(dual, 1.0)
        assert nt.jit(affine)(torch.ones(3), 1.0).shape == (3,)


class Sub(torch.Tensor):
    pass


@pytest.mark.parametrize(
    ("make", "what", "hint"),
    [
        (lambda x: x.to("meta"), "a torch.Tensor on device 'meta'", "pass x.cpu(), or compile for a GPU"),
        (lambda x: x.to_sparse(), "a torch.Tensor of layout torch.sparse_coo", "pass x.to_dense()"),
        (lambda x: torch.complex(x, x).conj().imag, "a torch.Tensor that is negated", "pass x.resolve_neg()"),
        (lambda x: x.as_subclass(Sub), "Sub, a subclass with rules of its own", "pass x.as_subclass(torch.Tensor)"),
        (lambda x: x.to(torch.float8_e4m3fn), "a torch.Tensor of torch.float8_e4m3fn that NumPy cannot read", ""),
    ],
)  # fmt: skip
def test_refused_by_name(make, what, hint):
    f = nt.jit(affine)
    with pytest.raises(nt.UnsupportedError) as caught:
        f(make(torch.ones(3)), torch.ones(3))
    assert "argument 'x'" in str(caught.value)
    assert what in str(caught.value)
    assert hint in str(caught.value)
    assert f.cache_info()["compiled"] == 0


def test_a_reversed_view_is_refused():
    with pytest.raises(ShapeError, match="a view with a negative stride") as caught:
        nt.jit(reverse)(torch.ones(3))
    assert "return a copy" in str(caught.value)


def test_structures_and_defaults():
    x, w = torch.arange(3.0), {"a": torch.full((3,), 2.0), "b": (np.ones(3, np.float32),)}
    f = nt.jit(scaled)
    for _ in range(3):
        result = f(x, w)
        assert torch.equal(result["y"], x * 2)
        assert torch.equal(result["z"][0], x + 1)

    weights = torch.ones(3)

    @nt.jit
    def weighted(x, w=weights):
        return x * w

    for value in (1.0, 2.0, 3.0):
        weights.fill_(value)
        assert torch.equal(weighted(x), x * value)


def test_operations_of_tensors_are_not_run_while_compiling():
    """Neither on one from outside, which is read in each call."""
    outside = torch.ones(3)

    @nt.jit
    def adds(x):
        return x + (outside + 1)

    @nt.jit
    def sums(x):
        return x + outside.sum().item()

    @nt.jit
    def draws(x):
        return x + torch.rand(1).item()

    for _ in range(3):
        assert adds(np.ones(3)).tolist() == [2 + float(outside[0])] * 3
        assert sums(np.ones(3)).tolist() == [1 + 3 * float(outside[0])] * 3
        outside += 1
    with pytest.raises(nt.UnsupportedError, match="rand is not supported"):
        draws(np.ones(3))


def test_static_arguments_are_no_tensors():
    with pytest.raises(
        nt.UnsupportedError, match=r"argument 'y': a torch.Tensor, an array with rules of its own"
    ):
        nt.jit(affine, static_argnums=1)(np.ones(3), torch.ones(3))


def test_other_ways_to_a_program():
    x = torch.arange(3.0)
    f = nt.jit(affine)
    lowered = f.lower(x, 1.0)
    assert "tensor<3xf32>" in lowered.as_text("nt")
    assert torch.equal(lowered.compile()(x, 1.0), affine(x, 1.0))
    assert "x: float32[3]" in f.explain(x, 1.0)
    assert torch.equal(nt.trace(affine)(x, x), affine(x, x))
    assert torch.equal(nt.trace(affine, nt.spec((3,), x.dtype), 1.0)(x, 1.0), affine(x, 1.0))
    assert nt.spec((3,), torch.bfloat16).dtype.name == "bfloat16"
    y = torch.ones(3)
    version = y._version
    nt.jit(update).lower(y, x).compile()(y, x)
    assert y._version > version
