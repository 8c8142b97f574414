"""Training steps under `torch.compile(model, backend="nestor")`: gradients, running statistics, dropout, optimisers."""

import copy

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'torch' has it)")

from nestor.frontend.pytorch.backend import nestor  # noqa: E402

from benchmarks.torch_corpus import MODELS, case  # noqa: E402


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _loss(y):
    return (y * y).mean()


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in ("perceptron", "lstm") else pytest.mark.slow) for n in MODELS]
)
def test_gradients_and_running_statistics(name):
    model, inputs = case(name, small=True)
    other = copy.deepcopy(model)
    compiled = torch.compile(other, backend=nestor)
    one, two = (torch.optim.SGD(m.parameters(), 0.01) for m in (model, other))
    for _ in range(2):
        for m, optimiser, f in ((model, one, model), (other, two, compiled)):
            optimiser.zero_grad()
            _loss(f(*inputs)).backward()
            del m
        largest = max(float(p.grad.abs().max()) for p in model.parameters())
        for a, b in zip(model.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(b.grad, a.grad, rtol=2e-3, atol=1e-5 * largest)
        one.step()
        two.step()
    for a, b in zip(model.buffers(), other.buffers(), strict=True):
        torch.testing.assert_close(b, a)


def test_dropout_takes_its_numbers_from_pytorchs_generator():
    def function(x):
        y = torch.nn.functional.dropout(x * 2, 0.3)
        return torch.nn.functional.dropout(y.sin(), 0.5) + torch.rand_like(x)

    x = torch.randn(50, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    results = []
    for backend, argument in ((nestor, x), ("aot_eager", y)):
        torch._dynamo.reset()
        torch.manual_seed(3)
        made = torch.compile(function, backend=backend)(argument)
        made.sum().backward()
        results.append((made.detach(), argument.grad))
    torch.testing.assert_close(results[0], results[1])


def test_mutation_of_arguments_and_buffers():
    def function(x, y):
        x.add_(1)
        y[1:] *= x[0]
        return x * y

    compiled = torch.compile(function, backend=nestor)
    for shape in ((3,), (3,)):
        pairs = [torch.ones(shape), torch.full(shape, 2.0)]
        others = [one.clone() for one in pairs]
        version = others[0]._version
        torch.testing.assert_close(compiled(*others), function(*pairs))
        torch.testing.assert_close(others, pairs)
        assert others[0]._version > version


def test_a_result_that_was_saved_is_known_to_be_changed():
    """To change what backward needs is an error, not a wrong gradient."""

    def function(x, w):
        y = x @ w
        return y, y * y

    x, w = torch.randn(3, 4), torch.randn(4, 2, requires_grad=True)
    y, z = torch.compile(function, backend=nestor)(x, w)
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_weights_that_change_are_seen():
    model = torch.nn.Linear(4, 3)
    compiled = torch.compile(model, backend=nestor)
    x = torch.randn(2, 4)
    with torch.no_grad():
        for change in (
            lambda p: p.mul_(2),
            lambda p: p.data.mul_(2),
            lambda p: p.numpy().__imul__(3),
            lambda p: p.set_(torch.randn_like(p)),
            lambda p: setattr(p, "data", torch.randn_like(p)),
        ):
            torch.testing.assert_close(compiled(x), model(x))
            change(model.weight)
            torch.testing.assert_close(compiled(x), model(x))


def test_frozen_weights_are_computed_again_for_each_version():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Conv2d(8, 4, 1)
    ).eval()
    compiled = torch.compile(model, backend=nestor, options={"freeze": True})
    x = torch.randn(2, 3, 9, 9)
    optimiser = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        with torch.no_grad():
            for _ in range(2):
                torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)
            model[1].running_mean.add_(1)
            model[2].weight.set_(torch.randn_like(model[2].weight))
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)
        for p in model.parameters():
            p.grad = torch.ones_like(p)
        optimiser.step()


def test_modules_of_one_class_have_their_own_weights():
    models = [torch.nn.Linear(4, 3) for _ in range(3)]
    forward = torch.compile(lambda model, x: model(x), backend=nestor, options={"freeze": True})
    x = torch.randn(2, 4)
    with torch.no_grad():
        for model in models * 2:
            torch.testing.assert_close(forward(model, x), model(x))
