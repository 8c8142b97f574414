"""The CUDA C text: golden files, and that NVRTC or nvcc compiles it for every architecture.

NESTOR_UPDATE_GOLDEN=1 python -m pytest tests/unit/lowering/test_cuda_c.py     writes tests/golden/cuda anew
"""

import importlib.util
import os

import nestor as nt
import numpy as np
import pytest
from cuda_kernels import KERNELS, load, parse
from nestor.dialects.diagnostic import NestorError
from nestor.lowering.cuda_c.emit import emit_cuda, print_cuda
from nestor.runtime.cuda import nvrtc
from places import TESTS

GOLDEN = TESTS / "golden" / "cuda"

PROGRAMS: dict[str, list[tuple[int | None, ...]]] = {
    "iou": [(10_000_000,)] * 8,
    "softmax": [(None, 1024)],
    "matmul": [(1024, 1024), (1024, 1024)],
}
"""What the programs of tests/golden/cuda/programs.py are lowered for: the shapes of their arguments, of singles."""

needs_compiler = pytest.mark.skipif(
    nvrtc.available() is None,
    reason="neither NVRTC (pip install 'nvidia-cuda-nvrtc==13.0.*') nor nvcc is installed",
)


def program(name):
    """The program of that name at the level of CUDA C."""
    path = GOLDEN / "programs.py"
    found = importlib.util.spec_from_file_location("programs", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    arguments = [nt.spec(shape, "f4") for shape in PROGRAMS[name]]
    return nt.jit(getattr(module, name), dynamic=False).lower(*arguments).as_text("cuda")


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden(name):
    text = program(name)
    golden = GOLDEN / f"{name}.cu"
    if os.environ.get("NESTOR_UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text(), "the text has changed: make golden, and look at the difference"


def test_iou_reads_each_input_once():
    body = emit_cuda(load("iou-flat")).partition("{\n  const int i")[2]
    assert body.count("[i];\n") == 8
    assert body.count("[i] = ") == 1


@needs_compiler
@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_compiles(name):
    source = emit_cuda(load(name))
    assert ".visible .entry" in nvrtc.compile_ptx(source, "compute_80")
    assert nvrtc.compile_cubin(source, "sm_90").image.startswith(b"\x7fELF")


@needs_compiler
def test_multiplications_and_additions_are_not_contracted():
    source = 'extern "C" __global__ void k(float *x) { x[0] = x[0] * x[1] + x[2]; }'
    assert "fma" not in nvrtc.compile_ptx(source)
    assert "fma" in nvrtc.compile_ptx(source, contract=True)


@needs_compiler
def test_the_log_of_a_refused_text_is_shown():
    with pytest.raises(NestorError, match=r"kernels\.cu\(1\).*undefined"):
        nvrtc.compile_ptx('extern "C" __global__ void k(float *x) { x[0] = nothing; }')


def test_without_a_compiler_the_way_out_is_named(monkeypatch):
    monkeypatch.setattr(nvrtc, "_nvrtc", lambda: None)
    monkeypatch.setattr(nvrtc.shutil, "which", lambda name: None)
    with pytest.raises(NestorError, match="no CUDA compiler") as caught:
        nvrtc.compile_ptx("")
    assert "nvidia-cuda-nvrtc" in str(caught.value)


@pytest.mark.parametrize("value", [1e-5, 0.1, 1.0, 1e30, -2.5, 3.4028235e38, 1e-45, 16777217.0])
def test_literals_are_exact(value):
    module = parse(f"""gpu.module @k {{
      gpu.func @k(%x: memref<1xf32>) kernel {{
        %c0 = arith.constant 0 : index
        %v = arith.constant {np.float32(value).item():.9e} : f32
        memref.store %v, %x[%c0] : memref<1xf32>
        gpu.return
      }}
    }}""")
    literal = emit_cuda(module).partition("x[0] = ")[2].partition(";")[0]
    assert literal.endswith("f")
    assert np.float32(literal[:-1]) == np.float32(value)


def test_a_kernel_named_like_a_library_function_is_renamed():
    cuda = print_cuda(parse("gpu.module @k { gpu.func @norm(%x: f32) kernel { gpu.return } }"))
    assert cuda.signatures["norm"].name == "norm_kernel"
    assert "void norm_kernel(float x)" in cuda.source


def test_without_a_gpu_the_cuda_target_names_the_simulator():
    from nestor.runtime.cuda.engine import load_cupy

    try:
        load_cupy()
    except NestorError as error:
        assert "no CUDA device" in str(error)
        assert 'target="cuda-sim"' in str(error)
    else:
        pytest.skip("there is a CUDA device here")
