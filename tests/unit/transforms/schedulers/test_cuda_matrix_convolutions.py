"""Convolutions by tensor cores: against float64, in checked mode and three orders of threads; launches, registers, spills.

Slow tests draw three hundred convolutions and sixty gradients; quick ones some of these, and a convolution of each kind.
"""

from __future__ import annotations

import re
from dataclasses import replace

import nestor as nt
import numpy as np
import pytest
from nestor import nn
from nestor.runtime.cuda import nvrtc
from random_convolutions import ORDERS, Case, check, check_gradients, drawn

pytest.importorskip("ml_dtypes", reason="NumPy has bfloat16 with ml_dtypes only")

pytestmark = pytest.mark.one_of(3)

NONE = ((0, 0), (0, 0))
PLAIN = Case("f2", "NCHW", 2, 1, 16, 16, (9, 9), (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1)), "static", False)

CASES = {
    "channels first": PLAIN,
    "channels last": replace(PLAIN, layout="NHWC", channels=32, outputs=40),
    "channels last, a step of 16": replace(PLAIN, layout="NHWC", channels=8, kind="bfloat16"),
    "three channels": replace(PLAIN, channels=3, window=(5, 5), padding=((2, 2), (2, 2)), stride=(2, 2)),
    "dilation and a border on one side": replace(PLAIN, dilation=(2, 2), padding=((0, 3), (2, 0))),
    "groups": replace(PLAIN, groups=3, outputs=9, stride=(2, 1)),
    "a window of one element": replace(PLAIN, window=(1, 1), padding=NONE, kind="bfloat16", has_bias=True),
    "tf32": replace(PLAIN, kind="tf32", space=(7, 12), has_bias=True),
    "one image": replace(PLAIN, batch=1, layout="NHWC", kind="tf32", stride=(3, 2)),
    "extents known at run time": replace(PLAIN, dynamic="image", space=(10, 21)),
    "extents known at run time, channels last": replace(PLAIN, dynamic="image", layout="NHWC", has_bias=True),
}


@pytest.mark.one_of(5)
@pytest.mark.parametrize("name", CASES)
def test_one_kernel_multiplies_by_tensor_cores(name):
    """No kernel writes a padded image, or windows; what uses the sums is in the same one."""
    case = CASES[name]
    text = check(case, 3, ORDERS[len(name) % 3 :][:1])
    assert "nt_mma_m16n8k" in text.rpartition("__global__")[2] or case.groups > 1
    assert text.count("__global__") == (1 if case.groups == 1 else 2)


PIECES = {
    "windows that divide a step": PLAIN,
    "channels that end in a step": replace(PLAIN, channels=19, kind="bfloat16"),
    "all terms in a step, of pixels that are apart": replace(PLAIN, channels=3, stride=(2, 2)),
    "rows of windows": replace(PLAIN, channels=9, window=(5, 5), space=(7, 11)),
    "extents known at run time": replace(PLAIN, dynamic="image", space=(10, 21), channels=5),
}


@pytest.mark.one_of(5)
@pytest.mark.parametrize("name", PIECES)
def test_lanes_copy_pixels_and_store_their_terms_together(name):
    text = check(PIECES[name], 7, ORDERS[len(name) % 3 :][:1])
    assert re.search(r"nt_store\(\s*&\w*_tile\[[^;]*_tile_piece\);", text)
    assert "_tile_piece[u] = nt_float_to" not in text, "elements are moved as they are in memory"


def test_asynchronous_copies_write_the_border():
    """A copy of 16 bytes has a source of none of them there."""
    text = check(CASES["channels last"], 4)
    assert re.search(r"nt_copy_async16\([^;]*&x\[[^;]*\? 16 : 0\);", text)


@pytest.mark.one_of(150)
@pytest.mark.parametrize("seed", range(300))
def test_random_convolutions(seed):
    check(drawn(seed), seed, ORDERS if seed % 7 == 1 else ORDERS[seed % 3 :][:1])


@pytest.mark.one_of(60)
@pytest.mark.parametrize("seed", range(60))
def test_random_gradients(seed):
    case = replace(drawn(seed, largest=11), layout="NCHW", has_bias=False, dynamic="static")
    check_gradients(case, seed, ORDERS[seed % 3])


def test_gradients_by_image_and_by_weights_are_products_of_tensor_cores():
    for case in (PLAIN, replace(PLAIN, stride=(2, 2), kind="tf32")):
        text = check_gradients(case, 1, "cuda-sim")
        kernels = text.split("__global__")[1:]
        assert sum("nt_mma_m16n8k" in kernel for kernel in kernels) >= 2, "neither of them is left to threads"


LONG = replace(PLAIN, batch=5, channels=5, outputs=9, space=(23, 24), has_bias=False)
IN_PARTS = {
    "channels first": LONG,
    "odd extents": replace(LONG, space=(21, 19), kind="bfloat16"),
    "pixels 16 bytes at a time": replace(
        LONG, batch=12, outputs=32, channels=8, padding=NONE, space=(18, 34)
    ),
    "tf32, strides": replace(LONG, kind="tf32", stride=(2, 1), space=(31, 25)),
    "groups": replace(LONG, groups=2),
}


@pytest.mark.one_of(5)
@pytest.mark.parametrize("name", IN_PARTS)
def test_the_terms_of_a_gradient_by_weights_are_shared_out_among_blocks(name):
    """The result is small and its sums are long: blocks along a third axis have a part of the terms each."""
    text = check_gradients(IN_PARTS[name], 1, ORDERS[len(name) % 3])
    parts = re.findall(r": 1 x \d+ x (\d+) blocks [^\n]*\n(?://[^\n]*\n)*[^{]*\b\w+_add(?:_1)?\(", text)
    assert any(int(count) >= 16 for count in parts)


@pytest.mark.slow
def test_parts_of_a_gradient_are_added_up_in_order():
    """The same bits, in whatever order blocks and threads run."""
    forward, (x, w, bias) = LONG.program(), LONG.operands(2)

    def loss(w, x, bias):
        return np.sum(forward(x, w, bias))

    results = [nt.jit(nt.grad(loss), target=target, **LONG.options())(w, x, bias) for target in ORDERS]
    assert all(np.array_equal(results[0].view("u2"), other.view("u2")) for other in results[1:])


@pytest.mark.parametrize("kind", ["f2", "tf32"])
def test_one_compiled_function_takes_images_of_all_extents(kind):
    def convolution(x, w):
        return nn.conv2d(x, w, padding=1)

    dtype = "f4" if kind == "tf32" else kind
    fastmath = ("tf32",) if kind == "tf32" else ()
    jitted = nt.jit(
        convolution, target="cuda-sim", dynamic={"x": {0: "b", 2: "h", 3: "w"}}, fastmath=fastmath
    )
    rng = np.random.default_rng(1)
    w = rng.standard_normal((9, 8, 3, 3)).astype(dtype)
    for batch, rows, columns in ((2, 9, 17), (1, 8, 16), (3, 2, 40), (2, 9, 17)):
        x = rng.standard_normal((batch, 8, rows, columns)).astype(dtype)
        case = replace(PLAIN, kind=kind, channels=8, outputs=9, batch=batch, space=(rows, columns))
        wanted, bound = case.wanted(x, w, w)
        assert np.all(np.abs(jitted(x, w).astype("f8") - wanted) <= bound)


def test_a_border_is_multiplied_as_numpy_multiplies_it():
    """Zero times infinity is no number: terms of the border may not be left out."""
    x, w, bias = PLAIN.operands(0)
    w[:, :, 0, 0] = np.inf
    jitted = nt.jit(PLAIN.program(), target="cuda-sim", dynamic=False)
    got = jitted(x, w, bias)
    assert np.isnan(got[:, :, 0]).all() and np.isnan(got[:, :, :, 0]).all()


FLOATS = replace(PLAIN, kind="f4")


@pytest.mark.parametrize("case", [FLOATS, replace(FLOATS, layout="NHWC", padding=((0, 2), (3, 1)))])
def test_threads_read_padded_images_where_they_copy_them(case):
    text = check(case, 5, ORDERS[1:2])
    assert "nt_mma" not in text and text.count("__global__") == 1


@pytest.mark.slow
def test_groups_of_floats_are_products_in_tiles_of_threads():
    text = check(replace(FLOATS, groups=3, channels=4, outputs=20), 2, ORDERS[:1])
    kernels = text.split("__global__")[1:]
    assert len(kernels) == 2 and "__shared__" in kernels[0], "the sums, and the groups as channels"


LARGE = {
    "channels first, f16": replace(PLAIN, batch=32, channels=64, outputs=128, space=(56, 56)),
    "channels last, bf16": replace(
        PLAIN, batch=32, channels=64, outputs=128, space=(56, 56), layout="NHWC", kind="bfloat16"
    ),
    "channels last, tf32": replace(
        PLAIN, batch=32, channels=64, outputs=128, space=(56, 56), layout="NHWC", kind="tf32", has_bias=True
    ),
    "extents known at run time": replace(
        PLAIN, batch=32, channels=64, outputs=128, space=(56, 56), dynamic="image", layout="NHWC"
    ),
}


@pytest.mark.skipif(
    nvrtc.available() is None, reason="no CUDA compiler (pip install 'nvidia-cuda-nvrtc==13.0.*')"
)
@pytest.mark.one_of(4)
@pytest.mark.parametrize("name", LARGE)
def test_large_tiles_stay_in_registers(name):
    case = LARGE[name]
    arrays = [np.zeros(a.shape, a.dtype) for a in case.operands(0)]
    text = nt.jit(case.program(), target="cuda-sim", **case.options()).lower(*arrays).as_text("cuda")
    assert text.count("__global__") == 1
    assert re.search(r"for \(int n = 0; n < [48]; n\+\+\) \{\n +nt_mma_m16n8k", text), (
        "16 instructions for 8 fragments, or more"
    )
    for arch in ("sm_80", "sm_90", "sm_100"):
        (kernel,) = nvrtc.compile_cubin(text, arch).kernels
        assert kernel.spill_stores == 0, arch
