"""Products with few elements and many terms on a GPU: parts of the terms by blocks of their own, added up in order."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from nestor import jit
from nestor.analysis.machine import gpu
from nestor.dialects.remarks import listening
from nestor.frontend.jit.specialise.stages import lowered_copy
from nestor.runtime.cuda import nvrtc
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.rewrite.steps import Steps
from nestor.transforms.schedulers.cuda import products as cuda_products
from nestor.transforms.schedulers.cuda.products import FLAT, SHAPES, split_for
from nestor.transforms.schedulers.cuda.schedule_cuda import schedule_function


def linear(x, w, bias):
    return np.maximum(x @ w.T + bias, 0)


def product(a, b):
    return a @ b


def arguments(*shapes, dtype="f4"):
    rng = np.random.default_rng(sum(map(sum, shapes)))
    return [(4 * rng.standard_normal(shape)).astype(dtype) for shape in shapes]


def compiled_with(shape, parts, function, *given, target="cuda-sim:checked"):
    """The function with that tile, and so many parts of the terms, whatever its size."""
    with patch.object(cuda_products, "split_for", lambda *_: (shape, parts)):
        return jit(function, target=target, dynamic=False).lower(*given).compile()


def check(compiled, function, *given):
    exact = function(*(a.astype("f8") for a in given))
    tolerance = 1e-5 if given[0].dtype == np.float32 else 1e-12
    np.testing.assert_allclose(compiled(*given), exact, rtol=tolerance, atol=tolerance * np.abs(exact).max())


def test_a_layer_of_few_rows():
    """Neither terms nor columns are a multiple of a tile; what uses the sums is done where parts are added up."""
    given = arguments((3, 250), (130, 250), (130,))
    check(compiled_with(FLAT[0], 4, linear, *given), linear, *given)


@pytest.mark.parametrize("terms", [192, 208, 255])
def test_every_number_of_terms_is_done_in_parts(terms):
    """Even parts, parts of whole steps of which the last one is shorter, and those of which a step is."""
    a, b = arguments((4, terms), (terms, 10), dtype="f8")
    nests = lowered_copy(jit(product).lower(a, b).program.module, ("to-nest",))
    for parts in (2, 3, 4):
        module, heard, result = nests.clone(), [], np.zeros((4, 10))
        (function,) = module.ops
        with (
            patch.object(cuda_products, "split_for", lambda *_, parts=parts: (FLAT[0], parts)),
            listening(heard.append),
        ):
            schedule_function(function, 64, Steps(), gpu())
        assert any(f"in {parts} parts of the terms" in said.message for said in heard)
        run_nest(function, [a, b, result], mode="shuffled")
        np.testing.assert_allclose(result, a @ b, rtol=1e-9, atol=1e-9)


def test_the_larger_factor_is_read_once():
    given = arguments((300, 256), (256, 4))
    compiled = compiled_with(FLAT[2], 2, product, *given, target="cuda-sim")
    check(compiled, product, *given)
    report = compiled.profile(*given)
    assert report.launches == 2
    a = report.array("a")
    assert a.requested_read == a.bytes
    assert report.moved <= 1.1 * report.compulsory


@pytest.mark.slow
@pytest.mark.skipif(nvrtc.available() is None, reason="neither NVRTC nor nvcc is installed")
@pytest.mark.parametrize("shape", FLAT, ids=lambda s: f"{s.height}x{s.width}")
def test_nothing_is_spilled(shape):
    with patch.object(cuda_products, "split_for", lambda *_: (shape, 2)):
        text = (
            jit(product, target="cuda", dynamic=False).lower(*arguments((5, 256), (256, 7))).as_text("cuda")
        )
    for arch in ("sm_80", "sm_90"):
        assert not any(kernel.spill_stores for kernel in nvrtc.compile_cubin(text, arch).kernels)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [*FLAT, SHAPES[1], SHAPES[5]], ids=lambda s: f"{s.height}x{s.width}")
def test_every_tile(shape, dtype):
    for parts, shapes in ((3, ((5, 130), (130, 7))), (2, ((2, 130, 70), (2, 70, 131)))):
        given = arguments(*shapes, dtype=dtype)
        check(compiled_with(shape, parts, product, *given), product, *given)


def test_parts_are_for_products_that_leave_a_gpu_idle():
    assert split_for(4096, 4096, 1, 4096, 4) is None, "there are blocks enough"
    assert split_for(64, 64, 1, 256, 4) is None, "another launch takes longer"
    shape, parts = split_for(4, 4096, 1, 4096, 4) or (None, 0)
    assert shape is FLAT[0] and parts > 1
    shape, parts = split_for(4096, 4, 1, 4096, 4) or (None, 0)
    assert shape is FLAT[2] and parts > 1
