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


def outcome(info, sample):
    """ "passed", "by PyTorch" where an operation is not in the table, "refused by PyTorch", or what is wrong."""

    def function(*tensors):
        rest = iter(tensors)

        def filled(value):
            return next(rest) if isinstance(value, torch.Tensor) else value

        given, args, kwargs = torch.utils._pytree.tree_map(filled, (sample.input, sample.args, sample.kwargs))
        return info.op(given, *args, **kwargs)

    leaves = torch.utils._pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    tensors = [one.detach() for one in leaves if isinstance(one, torch.Tensor)]
    try:
        expected = function(*[one.clone() for one in tensors])
    except Exception:
        return "refused by PyTorch"
    if not all(isinstance(one, torch.Tensor) for one in torch.utils._pytree.tree_leaves(expected)):
        return "no tensor"
    run = compiled(function)
    try:
        found = run(*tensors)
        same(found, expected, 1e-3, 1e-4, strides=False)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"
    return "by PyTorch" if operations_by_torch(run) else "passed"


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
