"""Programs of PyTorch as people write them, in the corners: dtypes, aliases, modules, results that are no tensors."""

import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'torch' has it)")

import torch.nn.functional as F  # noqa: E402
from nestor.frontend.pytorch.backend import nestor  # noqa: E402


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _twice(x):
    y = x * 2
    return y, y, y.t()


CASES = {
    "bfloat16": lambda x: (x.bfloat16() @ x.bfloat16().t()).relu().softmax(-1),
    "float16": lambda x: (x.half() * 2).sum(1),
    "a constant": lambda x: (x + 1, torch.arange(3), 5, None),
    "an argument as a result": lambda x: (x, x.t(), x + 1),
    "one result twice": _twice,
    "sorted between two programs": lambda x: torch.sort((x + 1).exp())[0].cumsum(-1),
    "complex numbers": lambda x: torch.view_as_real(torch.fft.fft(x * 2)) + 1,
    "integers divided": lambda x: ((x * 10).int() // 3, (x * 10).int() // ((x * 10).int().abs() + 1)),
    "data says how many": lambda x: x[x > 0] * 2,
    "writes through a view": lambda x: x.clone().t().mul_(2).add_(1).t()[1:],
    "as_strided": lambda x: (x * 2).as_strided((2, 3), (1, 6)) + 1,
    "no elements": lambda x: (x[:0] @ x.t(), x[:0].sum(), x[:0].mean(0)),
    "cross entropy": lambda x: F.cross_entropy(x, torch.tensor([1, -100, 0, 5]), label_smoothing=0.1),
    "windows at the border": lambda x: F.max_pool2d(x[None, None], 3, 2, ceil_mode=True),
    "bicubic": lambda x: F.interpolate(x[None, None], (7, 9), mode="bicubic"),
    "bytes": lambda x: (x.clamp(0, 1) * 255).to(torch.uint8).float() / 255,
    "a branch of data": lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,)),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_pytorchs(name):
    function = CASES[name]
    compiled = torch.compile(function, backend=nestor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(2):
            torch.manual_seed(seed)
            x = torch.randn(4, 6)
            before = x.clone()
            expected = function(x.clone())
            found = compiled(x)
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4, equal_nan=True)
            torch.testing.assert_close(x, before)


MODULES = {
    "attention": (lambda: torch.nn.MultiheadAttention(8, 2, batch_first=True), ((2, 5, 8),) * 3),
    "encoder layer": (lambda: torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), ((2, 5, 8),)),
    "lstm": (lambda: torch.nn.LSTM(4, 6), ((5, 2, 4),)),
    "gru": (lambda: torch.nn.GRU(4, 6, batch_first=True), ((2, 5, 4),)),
    "conv3d": (lambda: torch.nn.Conv3d(2, 3, 2), ((1, 2, 4, 4, 4),)),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_of_pytorch(name):
    make, shapes = MODULES[name]
    torch.manual_seed(0)
    module = make().eval()
    inputs = [torch.randn(shape) for shape in shapes]
    with torch.no_grad():
        torch.testing.assert_close(
            torch.compile(module, backend=nestor)(*inputs), module(*inputs), rtol=1e-4, atol=1e-5
        )


def test_a_result_aliases_its_argument_where_it_does_in_pytorch():
    compiled = torch.compile(lambda x: (x.t(), x * 1), backend=nestor)
    x = torch.ones(2, 3)
    view, copy = compiled(x)
    x += 1
    assert view[0, 0] == 2 and copy[0, 0] == 1
    assert view._is_view()


def test_values_outside_are_read_in_each_call():
    scale = {"by": 2.0}
    compiled = torch.compile(lambda x: x * scale["by"], backend=nestor)
    for scale["by"] in (2.0, 3.0, 2.0):
        assert compiled(torch.ones(2))[0] == scale["by"]


def test_errors_of_programs_are_raised():
    table = torch.randn(5, 3)
    compiled = torch.compile(lambda i: F.embedding(i, table) * 2, backend=nestor)
    torch.testing.assert_close(compiled(torch.tensor([1, 4])), table[[1, 4]] * 2)
    for wrong in (5, -1):
        with pytest.raises((IndexError, ValueError)):
            compiled(torch.tensor([1, wrong]))
