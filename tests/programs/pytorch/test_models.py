"""Models of PyTorch under `torch.compile(model, backend="nestor")` give what they give without it."""

import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'torch' has it)")

from nestor.frontend.pytorch.backend import nestor  # noqa: E402

from benchmarks.torch_corpus import MODELS, case  # noqa: E402


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in ("bert", "lstm") else pytest.mark.slow) for n in MODELS]
)
def test_inference(name):
    model, inputs = case(name, small=True)
    model.eval()
    compiled = torch.compile(model, backend=nestor, fullgraph=True)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # nothing is run by PyTorch
        for _ in range(2):
            expected, found = model(*inputs), compiled(*inputs)
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
            assert found.stride() == expected.stride()
            inputs = tuple([x * 0.5 if x.is_floating_point() else x.flip(0) for x in inputs])


def test_a_missing_operation_is_run_by_pytorch_between_two_programs():
    def function(x):
        values, _ = torch.sort(x * 2, dim=0)
        return values + 1

    x = torch.randn(5, 3)
    with pytest.warns(RuntimeWarning, match=r"test_models.py:\d+: aten.sort.default is run by PyTorch"):
        found = torch.compile(function, backend=nestor)(x)
    torch.testing.assert_close(found, function(x))


def test_strict_refuses_what_pytorch_would_run_at_the_users_line():
    def function(x):
        return torch.sort(x * 2)[0]

    compiled = torch.compile(function, backend=nestor, options={"strict": True})
    with pytest.raises(Exception, match=r"test_models.py:\d+: error: aten.sort.default is not compiled"):
        compiled(torch.randn(5))


def test_options_that_there_are_not_are_refused():
    with pytest.raises(Exception, match="has no option 'speed'"):
        torch.compile(torch.sin, backend=nestor, options={"speed": 3})(torch.ones(2))


def test_the_entry_point_is_found():
    assert "nestor" in torch._dynamo.list_backends(exclude_tags=())
