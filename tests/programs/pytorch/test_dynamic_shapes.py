"""Extents that PyTorch leaves open are open in the program: one serves all."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'torch' has it)")

import torch.nn.functional as F  # noqa: E402
from nestor.frontend.pytorch.backend import nestor  # noqa: E402

FUNCTIONS = {
    "elementwise": lambda x: torch.exp(x) * 2 + x.sum(0),
    "reshaped": lambda x: (x * 2).reshape(-1).flip(0),
    "halves": lambda x: x.view(x.shape[0], 2, -1).sum(1),
    "joined": lambda x: torch.cat([x, x * 2], 0).softmax(-1),
    "sliced": lambda x: x[1:, : x.shape[1] // 2] + x.shape[0],
    "expanded": lambda x: x[None].expand(3, -1, -1) + torch.arange(x.shape[1]),
    "padded": lambda x: F.pad(x, (1, 2)) @ torch.ones(x.shape[1] + 3, 2),
    "mean": lambda x: x.mean(1, keepdim=True) - x.var(0),
    "normed": lambda x: F.layer_norm(x, (x.shape[1],)),
}


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("needs_gradient", [False, True])
def test_one_program_serves_all_extents(name, needs_gradient):
    function = FUNCTIONS[name]
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return nestor(module, inputs)

    compiled = torch.compile(function, backend=backend, dynamic=True)
    for shape in ((5, 4), (7, 6), (3, 10), (33, 4)):
        x = torch.randn(shape, requires_grad=needs_gradient)
        y = x.detach().clone().requires_grad_(needs_gradient)
        found, expected = compiled(x), function(y)
        torch.testing.assert_close(found, expected)
        if needs_gradient:
            found.sum().backward()
            expected.sum().backward()
            torch.testing.assert_close(x.grad, y.grad)
    assert len(graphs) == 1


def test_channels_stay_last_where_extents_are_open():
    compiled = torch.compile(lambda x: torch.relu(x) * 2, backend=nestor, dynamic=True)
    for n in (5, 7, 4):
        x = torch.randn(2, 3, n, n + 1).to(memory_format=torch.channels_last)
        found, expected = compiled(x), torch.relu(x) * 2
        torch.testing.assert_close(found, expected)
        assert found.stride() == expected.stride()


def test_a_second_shape_makes_extents_open():
    compiled = torch.compile(lambda x: torch.tanh(x).sum(1), backend=nestor)
    for n in (3, 5, 8, 1, 0):
        x = torch.randn(n, 4)
        torch.testing.assert_close(compiled(x), torch.tanh(x).sum(1))
