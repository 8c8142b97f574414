"""Operations on pairs of 16-bit floats: to each of the two they are those of one element, as the simulator runs them.

What NVRTC makes of them is one instruction each (test_one_instruction_a_pair).
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from nestor.lowering.cuda_c.pairs import HELPERS
from nestor.lowering.cuda_c.prelude import prelude
from nestor.runtime.cuda import nvrtc
from nestor.runtime.cuda_sim.module import SimModule

ACTIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}

KERNEL = """
extern "C" __global__ void {action}_{name}(const unsigned *a, const unsigned *b, unsigned *c) {{
  c[threadIdx.x] = nt_{action}_{name}2(a[threadIdx.x], b[threadIdx.x]);
}}
extern "C" __global__ void again_{action}_{name}(const unsigned *a, unsigned *c) {{
  c[threadIdx.x] = nt_pack_{name}2(nt_low_{name}2(a[threadIdx.x]), nt_high_{name}2(a[threadIdx.x]));
}}
"""

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 6e-8, 65504.0, -3e-5]


@pytest.fixture(scope="module")
def text():
    kernels = [KERNEL.format(action=a, name=n) for a in ACTIONS for n in ("half", "bf16")]
    return "\n".join([*prelude(HELPERS), *kernels])


def numbers(name, seed):
    """Numbers of 16 bits as float32, special ones among them, and their bits."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(1024).astype("f4") * rng.choice([1e-7, 1.0, 1e3], 1024).astype("f4")
    values[:81] = np.repeat(SPECIAL, 9) if seed else np.tile(SPECIAL, 9)
    bits = to_bits(name, values)
    return to_float(name, bits), bits


def to_bits(name, values):
    if name == "half":
        with np.errstate(all="ignore"):
            return values.astype("f2").view("u2")
    wide = values.view("u4").astype("u8")
    nearest = ((wide + 0x7FFF + (wide >> 16 & 1)) >> 16).astype("u2")
    return np.where(np.isnan(values), np.uint16(0x7FC0), nearest)


def to_float(name, bits):
    return bits.view("f2").astype("f4") if name == "half" else (bits.astype("u4") << 16).view("f4")


@pytest.mark.parametrize("name", ["half", "bf16"])
@pytest.mark.parametrize("action", ACTIONS)
def test_both_elements_are_rounded_as_one_is(text, action, name):
    (a, a_bits), (b, b_bits) = numbers(name, 0), numbers(name, 1)
    result = np.zeros(512, "u4")
    module = SimModule(text)
    module.launch(f"{action}_{name}", (1,), (512,), [a_bits.view("u4"), b_bits.view("u4"), result])
    with np.errstate(all="ignore"):
        expected = to_bits(name, ACTIONS[action](a, b))
    same = (result.view("u2") == expected) | (np.isnan(to_float(name, expected)))
    zeros = (to_float(name, expected) == 0) & (
        to_float(name, result.view("u2")) == 0
    )  # of either sign, in min and max
    assert (same | (zeros if action in ("maximum", "minimum") else False)).all()
    assert np.array_equal(np.isnan(to_float(name, result.view("u2"))), np.isnan(to_float(name, expected)))
    module.launch(f"again_{action}_{name}", (1,), (512,), [a_bits.view("u4"), result])
    assert (np.isnan(a) | (result.view("u2") == a_bits)).all()


@pytest.mark.skipif(
    nvrtc.available() is None, reason="no CUDA compiler (pip install 'nvidia-cuda-nvrtc==13.0.*')"
)
def test_one_instruction_a_pair(text):
    """PTX for sm_80 has the instruction in each kernel."""
    ptx = nvrtc.compile_ptx(text, "compute_80")
    for name, kind in (("half", "f16x2"), ("bf16", "bf16x2")):
        for action in ACTIONS:
            body = re.search(rf"entry {action}_{name}\(.*?^}}", ptx, re.DOTALL | re.MULTILINE)
            assert body is not None and len(re.findall(rf"\.{kind} ", body[0])) == 1, action
