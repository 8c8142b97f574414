"""Functions with scalar loops are optimised apart from those with vectors, and linked: same results, same symbols."""

import nestor as nt
import numpy as np
import pytest
from nestor.runtime.cpu import loop_functions
from nestor.runtime.cpu.engine import _prepare, lock
from nestor.runtime.cpu.loop_functions import parted


def program(x, w):
    y = np.sin(x @ w)
    total = np.zeros(y.shape[0])
    for i in range(1, y.shape[0]):
        total[i] = total[i - 1] * 0.5 + y[i, 0] * y[i - 1, 1]
    return y, total


ARGUMENTS = [nt.spec((300, 40), np.float64), nt.spec((40, 30), np.float64)]


@pytest.fixture
def text(monkeypatch):
    monkeypatch.setattr(loop_functions, "WORTH_PARTING", 1)
    return nt.jit(program).lower(*ARGUMENTS).as_text("llvm-ir")


def test_each_function_is_in_one_of_the_parts(text):
    parts = parted(text)
    assert parts is not None
    for name in parts.internal:
        assert [one.count(f" @{name}(") > 0 for one in (parts.vectors, parts.loops)].count(True) >= 1
    defined = [one.count("\ndefine ") + one.startswith("define ") for one in (parts.vectors, parts.loops)]
    assert min(defined) > 0
    assert sum(defined) == text.count("\ndefine ") + text.startswith("define ")


def test_results_are_those_of_one_part(text):
    rng = np.random.default_rng(0)
    arguments = [rng.standard_normal(one.shape) for one in ARGUMENTS]
    got, wanted = nt.jit(program)(*arguments), program(*arguments)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_what_is_internal_stays_internal(text):
    with lock:
        module, _ = _prepare(text, None, None)
        shown = {f.name for f in module.functions if not f.is_declaration and f.linkage.name == "external"}
    assert shown == {"program"}


def test_small_modules_and_mutable_variables_stay_one(text, monkeypatch):
    assert parted("@counter = internal global i64 0\n" + text) is None
    assert parted("@table = internal constant i64 0\n" + text) is not None
    monkeypatch.setattr(loop_functions, "WORTH_PARTING", 10**9)
    assert parted(text) is None
