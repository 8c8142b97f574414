"""NVRTC builds every kernel of the programs of the GPU schedules, for sm_80 and sm_90, and no register spills.

The table of the programs is `tests/programs/gpu_programs.py`.
"""

import nestor as nt
import pytest
from gpu_programs import PROGRAMS, Unavailable, arguments_of
from nestor.runtime.cuda import nvrtc

pytestmark = pytest.mark.skipif(
    nvrtc.available() is None,
    reason="neither NVRTC (pip install 'nvidia-cuda-nvrtc==13.0.*') nor nvcc is installed",
)

ARCHES = ("sm_80", "sm_90")

SPILLS: dict[tuple[str, str], str] = {
    (
        "bias and scale",
        "bf16[9,67]; bf16[67]; bf16[9,1]",
    ): "ptxas aims at 32 registers for sm_80: 8 bytes of unknown extents",
}
"""Calls whose kernels may spill, by the program and the call, each with the reason that a reviewer accepted."""

BY_DEFAULT = {"iou", "transpose", "row sums", "softmax", "matmul"}


def check_kernels(program, calls, dynamic=False):
    function = nt.jit(program.function, dynamic=dynamic)
    for call in calls:
        try:
            lowered = function.lower(*arguments_of(call))
        except Unavailable as reason:
            pytest.skip(str(reason))
        for arch in ARCHES:
            compiled = lowered.compile("cuda", arch=arch)
            if not compiled.cuda:
                continue  # a result that is a view, or constant
            assert compiled.cubin.startswith(b"\x7fELF")
            assert compiled.cuda.count("__global__") == len(compiled.kernels)
            spilled = any(kernel.spills for kernel in compiled.kernels)
            assert not spilled or (program.name, call) in SPILLS, (
                f"{program.name}({call}) on {arch}:\n{compiled.report()}"
            )


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.name in BY_DEFAULT], ids=lambda p: p.name)
def test_kernels_are_built_without_spills(program):
    check_kernels(program, program.calls[:1])


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_kernels_of_every_call_are_built_without_spills(program, dynamic):
    if dynamic and not program.dynamic:
        pytest.skip("it needs extents that are known when it is compiled")
    check_kernels(program, program.calls, dynamic)


def test_a_spill_is_seen():
    source = """extern "C" __global__ void __launch_bounds__(1024) many(float *x) {
      float a[96];
      #pragma unroll
      for (int k = 0; k < 96; ++k) a[k] = x[k * 1024 + threadIdx.x];
      __syncthreads();
      #pragma unroll
      for (int k = 0; k < 96; ++k) x[k * 1024 + threadIdx.x] = a[(k * 7 + 3) % 96] * a[k];
    }"""
    (kernel,) = nvrtc.compile_cubin(source, "sm_90").kernels
    assert kernel.registers == 64
    assert kernel.spill_stores > 0 and kernel.spills == kernel.spill_stores + kernel.spill_loads


def test_the_list_of_spills_names_calls_of_the_table():
    assert set(SPILLS) <= {(program.name, call) for program in PROGRAMS for call in program.calls}
