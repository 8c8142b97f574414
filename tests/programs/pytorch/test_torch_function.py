"""`nt.torch_function`: a NumPy function as a function of tensors, which autograd and torch.compile know."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'torch' has it)")

import nestor as nt  # noqa: E402


@nt.torch_function
def smooth(x, width):
    return np.tanh(x / width)


@nt.torch_function
@nt.jit
def moments(x, w, order):
    centred = (x - x.mean()) ** order * w
    return centred.sum(0), np.argmax(x)


def test_results_and_gradients_are_those_of_pytorch():
    x = torch.randn(5, 3, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    smooth(x, 3.0).square().sum().backward()
    torch.tanh(y / 3.0).square().sum().backward()
    torch.testing.assert_close(x.grad, y.grad)


def test_several_arguments_and_results():
    for shape in ((4, 3), (6, 2), (4, 3)):
        x, w = torch.randn(shape, dtype=torch.float64), torch.randn(shape, dtype=torch.float64)
        for order in (2, 3):
            assert torch.autograd.gradcheck(
                lambda x, w, order=order: moments(x, w, order)[0], (x.requires_grad_(), w.requires_grad_())
            )
            assert moments(x, w, order)[1] == x.argmax()


def test_it_works_under_torch_compile():
    @torch.compile(fullgraph=True, backend="aot_eager")
    def loss(x):
        return (smooth(x * 2, 3.0) ** 2).sum()

    for shape in ((5, 3), (4,)):
        x = torch.randn(shape, requires_grad=True)
        y = x.detach().clone().requires_grad_()
        loss(x).backward()
        (torch.tanh(y * 2 / 3.0) ** 2).sum().backward()
        torch.testing.assert_close(x.grad, y.grad)


def test_a_result_shares_no_memory_with_an_argument():
    x = torch.ones(3)
    found = nt.torch_function(lambda x: x)(x)
    x += 1
    assert found.tolist() == [1, 1, 1]


def test_vmap_is_refused_by_name():
    with pytest.raises(nt.UnsupportedError, match=r"torch.vmap of 'smooth'"):
        torch.vmap(lambda x: smooth(x, 2.0))(torch.randn(3, 2))


def test_a_function_that_writes_to_its_argument_is_refused():
    def function(x):
        x[0] = 1
        return x

    x = torch.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        nt.torch_function(function)(x)
    assert x.tolist() == [0, 0, 0]


def test_other_arguments_are_refused():
    with pytest.raises(nt.errors.DTypeError, match="is a list"):
        smooth(torch.ones(2), [1.0])
