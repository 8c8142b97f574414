"""PyTorch's own samples of operations (torch.testing, OpInfo): of each operation of the table, against PyTorch."""

import warnings
from collections import Counter

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'torch' has it)")
pytest.importorskip("expecttest", reason="expecttest is not installed, which torch.testing needs")

from nestor.frontend.pytorch.operations import OPERATIONS  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch_programs import compiled, operations_by_torch, same  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

MAPPED = {name.split(".")[1] for name in OPERATIONS if name.startswith("aten.")}
MOST_SAMPLES = 12
"""Samples of an operation for each dtype."""

DTYPES = (torch.float32, torch.int64, torch.bool)


def _names(info):
    return {info.name.rpartition(".")[2], info.aten_name, *(alias.name for alias in info.aliases)}


UNSPECIFIED = ("empty", "empty_like", "empty_permuted", "new_empty", "sparse.mm")
"""Elements that may be anything; and tensors that AOTAutograd does not capture."""

INFOS = [info for info in op_db if _names(info) & MAPPED and not info.name.startswith(UNSPECIFIED)]


def _tensors(sample):
    leaves = torch.utils._pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    return [one.detach() for one in leaves if isinstance(one, torch.Tensor)]


def _function(info, sample):
    """The operation as a function of the tensors of a sample."""

    def function(*tensors):
        rest = iter(tensors)

        def filled(value):
            return next(rest) if isinstance(value, torch.Tensor) else value

        given, args, kwargs = torch.utils._pytree.tree_map(filled, (sample.input, sample.args, sample.kwargs))
        return info.op(given, *args, **kwargs)

    return function


def _results(value):
    return [one for one in torch.utils._pytree.tree_leaves(value) if isinstance(one, torch.Tensor)]


def _gradients(function, tensors):
    """Those of a weighted sum of all results; None where there are none."""
    inputs = [one.clone().requires_grad_(one.dtype.is_floating_point) for one in tensors]
    results = [one for one in _results(function(*inputs)) if one.requires_grad]
    if not results:
        return None
    total = sum((one * torch.linspace(0.5, 1.5, one.numel()).reshape(one.shape)).sum() for one in results)
    wanted = [one for one in inputs if one.requires_grad]
    found = torch.autograd.grad(total, wanted, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, wanted, strict=True)]


def _values(function, tensors):
    results = function(*[one.clone() for one in tensors])
    leaves = torch.utils._pytree.tree_leaves(results)
    return _results(results) if all(isinstance(one, torch.Tensor) for one in leaves) else None


def outcome(info, sample, of=_values):
    """ "passed", "by PyTorch" where an operation is not in the table, "refused by PyTorch", or what is wrong."""
    function, tensors = _function(info, sample), _tensors(sample)
    try:
        expected = of(function, tensors)
    except Exception:
        return "refused by PyTorch"
    if expected is None:
        return "no tensor"
    run = compiled(function)
    try:
        same(of(run, tensors), expected, 2e-3, 2e-4, strides=False)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"
    return "by PyTorch" if operations_by_torch(run) else "passed"


@pytest.mark.parametrize(
    "info", [one for one in INFOS if one.supports_autograd], ids=lambda info: info.full_name
)
def test_gradients_of_samples(info):
    counts = Counter()
    torch.manual_seed(0)
    for k, sample in enumerate(info.sample_inputs("cpu", torch.float32)):
        if k == MOST_SAMPLES // 4:
            break
        counts[outcome(info, sample, _gradients)] += 1
    assert not {what: n for what, n in counts.items() if what not in RIGHT}, dict(counts)


@pytest.mark.parametrize("info", INFOS, ids=lambda info: info.full_name)
def test_samples(info):
    counts = Counter()
    for dtype in DTYPES:
        if dtype not in info.supported_dtypes("cpu"):
            continue
        torch.manual_seed(0)
        for k, sample in enumerate(info.sample_inputs("cpu", dtype)):
            if k == MOST_SAMPLES:
                break
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                counts[outcome(info, sample)] += 1
    wrong = {what: n for what, n in counts.items() if what not in RIGHT}
    assert not wrong, f"{dict(counts)}"


RIGHT = ("passed", "by PyTorch", "refused by PyTorch", "no tensor")
