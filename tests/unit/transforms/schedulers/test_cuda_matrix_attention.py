"""Attention of float16 on a GPU: one kernel with tensor cores, right at odd sizes and with masks, and free of races."""

from __future__ import annotations

import numpy as np
import pytest
from nestor import jit, nn, spec
from nestor.frontend.jit.specialise.stages import run_pipeline
from nestor.lowering.cuda_c.emit import emit_cuda
from nestor.runtime.cuda import nvrtc
from nestor.runtime.cuda_sim.module import SimModule
from parsed import parse_module

pytestmark = pytest.mark.one_of(2)


def attention(q, k, v):
    return nn.attention(q, k, v)


def chosen(q, k, v, mask):
    return nn.attention(q, k, v, mask)


def arguments(batch, queries, keys, size):
    rng = np.random.default_rng(queries)
    shapes = ((*batch, n, size) for n in (queries, keys, keys))
    return [rng.standard_normal(shape).astype("f2") for shape in shapes]


def check(function, given):
    """One kernel with tensor cores, without faults, near what NumPy gives of float64.

    Scores up to 4 are rounded to 11 bits three times, so a weight is off by 2^-8 of itself at most, as NumPy's of float16.
    """
    with np.errstate(all="ignore"):
        exact = function(*(a.astype("f8") if a.dtype.kind == "f" else a for a in given))
        compiled = jit(function, target="cuda-sim:checked", dynamic=False).lower(*given).compile()
        result = compiled(*given)
    assert len(compiled.engine.module.kernels) == 1
    np.testing.assert_allclose(result.astype("f8"), exact, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("batch", [(2, 1), ()], ids=str)
def test_rows_and_keys_that_fill_no_tile(batch):
    """Two tiles of keys, the second in part: copied while the first is used. Of a stack of one and of matrices."""
    check(attention, arguments(batch, 40, 50, 32))


@pytest.mark.slow
@pytest.mark.parametrize(
    "size",
    [
        (64, 64, 32),
        (70, 128, 64),
        (33, 70, 40),
        (65, 100, 128),
        (1, 9, 16),
        (2, 9, 16),
        (40, 200, 80),
        (5, 31, 112),
        (70, 33, 48),
    ],
    ids=str,
)
def test_sizes(size):
    """Of one tile and of several, of one row; features that are copied as a whole (multiples of 16), and others."""
    check(attention, arguments((2, 2), *size))


@pytest.mark.slow
def test_masks():
    """A causal mask; rows without a key that counts, and those whose first tile has none."""
    q, k, v = arguments((2,), 40, 70, 32)
    mask = np.tril(np.ones((40, 70), bool))
    mask[1], mask[2, :-1], mask[3, :33] = False, False, False
    check(chosen, [q, k, v, mask])


def test_one_kernel_with_tensor_cores_and_copies_ahead_and_its_schedule_replays():
    low = jit(attention, target="cuda").lower(*(spec((2, 2, 128, 64), "f2") for _ in range(3)))
    text = low.as_text("cuda")
    assert text.count("__global__ void") == 1
    kernel = text[text.index("__global__ void") :]
    assert "nt_mma_m16n8k16_f16(" in kernel and "nt_copy_async16(" in kernel
    assert "k_shared[2][64][64]" in kernel and "v_tile[2][64][64]" in kernel
    schedule = low.schedule("cuda")
    assert "schedule.online_softmax" in str(schedule) and "schedule.pipeline" in str(schedule)
    assert low.as_text("cuda", schedule=schedule) == text


def test_bfloat16():
    """The program of float16 with the types of bfloat16, which NumPy has not."""
    q, k, v = (spec((2, n, 32), "f2") for n in (70, 96, 96))
    halves = jit(attention, target="cuda").lower(q, k, v).as_text("nt")
    text = emit_cuda(run_pipeline(parse_module(halves.replace("f16", "bf16"), "bf16.mlir"), ["cuda"]))
    assert "nt_mma_m16n8k16_bf16(" in text
    rng = np.random.default_rng(1)
    bits = [(rng.standard_normal(s.shape).astype("f4").view("u4") >> 16).astype("u2") for s in (q, k, v)]
    result = np.full(q.shape, 0x7FC0, "u2")
    SimModule(text).launch("attention_kernel", (2, 2, 1), (32, 4, 1), [*bits, result, True])
    exact = attention(*(to_double(a) for a in bits))
    np.testing.assert_allclose(to_double(result), exact, rtol=3e-2, atol=3e-2)


def to_double(bits):
    return (bits.astype("u4") << 16).view("f4").astype("f8")


@pytest.mark.slow
@pytest.mark.skipif(
    nvrtc.available() is None, reason="no CUDA compiler (pip install 'nvidia-cuda-nvrtc==13.0.*')"
)
@pytest.mark.parametrize("rows", [256, 250])
@pytest.mark.parametrize("size", [32, 48, 64, 80, 96, 112, 128])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_no_spills(arch, size, rows):
    """Of whole tiles of keys, and where the last one is in part."""
    given = [spec((2, 2, rows, size), "f2") for _ in range(3)]
    text = jit(attention, target="cuda").lower(*given).as_text("cuda")
    (kernel,) = nvrtc.compile_cubin(text, arch).kernels
    assert kernel.spill_stores == kernel.spill_loads == kernel.stack == 0


def test_features_that_take_too_many_registers_have_a_remark():
    """And kernels of their own."""
    given = [spec((2, 128, 256), "f2") for _ in range(3)]
    said = jit(attention, target="cuda-sim").explain(*given)
    assert "go to global memory" in said and "takes too many registers" in said
