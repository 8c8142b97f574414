"""Derivatives of tensors of PyTorch, against its own: tensors in, tensors out, of the same dtype."""

import nestor as nt
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'bench' has it)")

RNG = np.random.default_rng(4)
X, W = RNG.normal(size=(3, 4)), RNG.normal(size=4)


def loss(w, x):
    return (np.tanh(x @ w) ** 2).sum()


def of_torch(w, x):
    return (torch.tanh(x @ w) ** 2).sum()


def tensors(dtype):
    return torch.tensor(W, dtype=dtype), torch.tensor(X, dtype=dtype)


def close(found, expected, tolerance=1e-9):
    assert type(found) is torch.Tensor
    assert found.dtype is expected.dtype and found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [pytest.param("float32", marks=pytest.mark.slow), "float64"])
def test_all_transforms(name):
    w, x = tensors(getattr(torch, name))
    tolerance = 1e-9 if name == "float64" else 1e-5
    expected = torch.func.grad(of_torch)(w, x)
    close(nt.grad(loss)(w, x), expected, tolerance)
    value, g = nt.value_and_grad(loss)(w, x)
    close(value, of_torch(w, x), tolerance)
    close(g, expected, tolerance)
    y, t = nt.jvp(loss, (w, x), (w, x))
    close(t, torch.func.jvp(of_torch, (w, x), (w, x))[1], tolerance)
    y, pullback = nt.vjp(loss, w, x)
    close(y, of_torch(w, x), tolerance)
    for one, other in zip(pullback(torch.ones_like(y)), torch.func.grad(of_torch, (0, 1))(w, x), strict=True):
        close(one, other, tolerance)
    close(nt.linearize(loss, w, x)[1](w, x), t, tolerance)
    close(nt.hessian(loss)(w, x), torch.func.hessian(of_torch)(w, x), tolerance)
    rows = nt.vmap(nt.grad(loss), in_axes=(None, 0))(w, x[:, None])
    close(rows, torch.func.vmap(torch.func.grad(of_torch), (None, 0))(w, x[:, None]), tolerance)


def test_a_half():
    w, x = tensors(torch.float16)
    g = nt.grad(loss)(w, x)
    assert g.dtype is torch.float16
    torch.testing.assert_close(
        g.double(), torch.func.grad(of_torch)(*tensors(torch.float64)), rtol=2e-2, atol=2e-2
    )


def test_structures_strides_and_numbers():
    w, x = tensors(torch.float64)
    g = nt.grad(lambda p: loss(p["w"], p["x"][0]))({"w": w, "x": [x.T.contiguous().T]})
    close(g["x"][0], torch.func.grad(of_torch, 1)(w, x))
    _, pullback = nt.vjp(lambda p: p["x"][0] @ p["w"], {"w": w, "x": [x[:, :]]})
    kept = w.clone()
    w.zero_()  # the pullback holds copies
    (back,) = pullback(torch.ones(3, dtype=torch.float64))
    close(back["w"], x.sum(0))
    close(back["x"][0], kept.expand(3, 4))
    s = torch.tensor(0.5, dtype=torch.float64)
    close(nt.grad(lambda s: s * s * s)(s), 3 * s * s)
    close(nt.vjp(lambda s: s * s, s)[1](s)[0], 2 * s * s)


def test_a_tensor_decides_for_arrays():
    w, x = tensors(torch.float64)
    for g in (
        nt.grad(loss)(W, x),
        nt.vjp(loss, W, x)[1](1.0)[0],
        nt.vjp(loss, W, X)[1](torch.tensor(1.0).double())[0],
    ):
        close(g, torch.func.grad(of_torch)(w, x))


@pytest.mark.parametrize("transform", ["grad", "vjp", "jvp", "linearize"])
def test_a_tensor_that_requires_a_gradient(transform):
    """What PyTorch would differentiate is refused by its name, and taken where it does not."""
    w, x = tensors(torch.float64)
    w.requires_grad_()
    calls = {
        "grad": lambda: nt.grad(loss)(w, x),
        "vjp": lambda: nt.vjp(loss, w, x)[1](1.0)[0],
        "jvp": lambda: nt.jvp(loss, (w, x), (torch.ones(4).double(), x))[1],
        "linearize": lambda: nt.linearize(loss, w, x)[1](torch.ones(4).double(), x),
    }
    with pytest.raises(nt.UnsupportedError, match="gradient"):
        calls[transform]()
    with torch.no_grad():
        assert type(calls[transform]()) is torch.Tensor
