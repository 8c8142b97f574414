"""Compiling CUDA C: which code a device gets, what is kept on the disk, and what is reported of each kernel."""

import doctest

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.runtime import disk_cache
from nestor.runtime.cuda import kernel_resources, nvrtc
from nestor.runtime.cuda.kernel_resources import KernelResources
from nestor.tools.opt_tool.main import main

needs_compiler = pytest.mark.skipif(
    nvrtc.available() is None,
    reason="neither NVRTC (pip install 'nvidia-cuda-nvrtc==13.0.*') nor nvcc is installed",
)

SOURCE = """extern "C" __global__ void __launch_bounds__(256) b_first(float *x) {
  __shared__ float s[512];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[255 - threadIdx.x];
}
extern "C" __global__ void a_second(int *y) { y[0] = 1; }
"""

# ---- which code -------------------------------------------------------------------------------------

KNOWN = (75, 80, 86, 89, 90, 100, 120)


@pytest.mark.parametrize(
    ("capability", "driver", "image"),
    [
        (90, (13, 0), "sm_90"),
        (90, (12, 4), "sm_90"),  # an older driver loads machine code all the same
        (87, (13, 0), "sm_86"),  # machine code of the same generation
        (103, (13, 0), "sm_100"),
        (130, (13, 1), "compute_120"),  # a generation after this compiler: PTX
    ],
)
def test_the_image_for_a_device(capability, driver, image):
    assert nvrtc.image_for_device(capability, driver, KNOWN, (13, 0)) == image


def test_ptx_is_not_made_for_a_driver_that_would_refuse_it():
    with pytest.raises(NestorError, match=r"driver \(CUDA 12.9\) is older than NVRTC \(CUDA 13.0\)"):
        nvrtc.image_for_device(130, (12, 9), KNOWN, (13, 0))


def test_a_device_too_old_for_the_compiler_is_refused():
    with pytest.raises(NestorError, match=r"compute capability 6\.1"):
        nvrtc.image_for_device(61, (13, 0), KNOWN, (13, 0))


@needs_compiler
def test_architectures_that_do_not_exist_are_refused():
    assert {80, 90} <= set(nvrtc.architectures())
    assert nvrtc.version() >= (12, 0)
    with pytest.raises(NestorError, match="knows no architecture 'sm_33'") as caught:
        nvrtc.compile_cubin(SOURCE, "sm_33")
    assert "sm_90" in str(caught.value)
    for text in ("compute_90", "90", "sm_x", "hopper"):
        with pytest.raises(NestorError, match="not an architecture"):
            nvrtc.compile_cubin(SOURCE, text)


@needs_compiler
def test_ptx_for_a_device_that_the_compiler_does_not_know(monkeypatch):
    monkeypatch.setattr(nvrtc, "image_for_device", lambda *_: "compute_90")
    image = nvrtc.compile_for_device(SOURCE, 990, (99, 0))
    assert image.arch == "compute_90" and b".target sm_90" in image.image and image.image.endswith(b"\0")


# ---- what is kept -----------------------------------------------------------------------------------


@pytest.fixture
def disk(monkeypatch, tmp_path):
    monkeypatch.setenv("NESTOR_CACHE", "1")
    monkeypatch.setenv("NESTOR_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


@needs_compiler
def test_machine_code_is_kept_on_the_disk(disk, monkeypatch):
    made = nvrtc.compile_cubin(SOURCE, "sm_90")
    assert disk_cache.sizes()[0] == 1
    nvrtc.compile_cubin(SOURCE, "sm_80")
    nvrtc.compile_cubin(SOURCE, "sm_90", contract=True)
    nvrtc.compile_cubin(SOURCE + "\n", "sm_90")
    assert disk_cache.sizes()[0] == 4

    def compiles_again(*_):
        raise AssertionError("it is on the disk")

    monkeypatch.setattr(nvrtc, "_compile", compiles_again)
    assert nvrtc.compile_cubin(SOURCE, "sm_90") == made
    with pytest.raises(AssertionError, match="it is on the disk"):
        nvrtc.compile_cubin(SOURCE + "// other", "sm_90")
    monkeypatch.setattr(nvrtc, "version", lambda: (12, 9))
    with pytest.raises(AssertionError, match="it is on the disk"):
        nvrtc.compile_cubin(SOURCE, "sm_90")


@needs_compiler
def test_a_damaged_file_is_compiled_again(disk):
    made = nvrtc.compile_cubin(SOURCE, "sm_90")
    (file,) = disk.iterdir()
    data = bytearray(file.read_bytes())
    data[-9] ^= 1
    file.write_bytes(data)
    assert nvrtc.compile_cubin(SOURCE, "sm_90") == made


# ---- what is reported -------------------------------------------------------------------------------


@needs_compiler
def test_resources_of_kernels():
    made = nvrtc.compile_cubin(SOURCE, "sm_90")
    first, second = made.kernels
    assert (first.name, first.shared, first.threads, first.spills) == ("b_first", 2048, 256, 0)
    assert (second.name, second.shared, second.threads) == ("a_second", 0, None)
    assert 0 < first.registers <= 32
    heading, *rows = made.report().splitlines()
    assert heading.split() == ["sm_90", "threads", "registers", "shared", "spills", "stack", "occupancy"]
    assert rows[0].split()[0] == "b_first" and rows[0].endswith("100%")
    assert rows[1].endswith("unknown")


def test_a_log_of_ptxas_is_read():
    log = """ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
ptxas         .     240 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 240 bytes cumulative stack size, 256 bytes smem
"""
    kernel = KernelResources("k", 40, 256, 12, 20, 240, 1, 128)
    text = "__global__ void __launch_bounds__(128, 2) k(float *x) {}"
    assert kernel_resources.resources_of(log, text) == (kernel,)
    assert kernel.spills == 32


@pytest.mark.parametrize(
    ("kernel", "arch", "part"),
    [
        (KernelResources("k", 32, threads=256), "sm_90", 1.0),
        (KernelResources("k", 33, threads=256), "sm_90", 0.75),  # 40 registers: 12 warps a quarter, 6 blocks
        (KernelResources("k", 255, threads=1024), "sm_90", 0.0),  # it cannot be launched
        (KernelResources("k", 64, threads=1024), "sm_90", 0.5),
        (KernelResources("k", 16, threads=32), "sm_90", 0.5),  # 32 blocks at most
        (KernelResources("k", 16, shared=48 << 10, threads=256), "sm_90", 0.5),  # 4 blocks of 49 KiB in 228
        (KernelResources("k", 16, shared=48 << 10, threads=256), "sm_86", 1 / 3),
        (KernelResources("k", 16, threads=256, launch_shared=200 << 10), "sm_90", 0.125),
        (KernelResources("k", 16, threads=None), "sm_90", None),
        (KernelResources("k", 16, threads=256), "sm_999", None),
    ],
)
def test_occupancy(kernel, arch, part):
    assert kernel.occupancy(arch) == part


def test_the_example_of_the_table():
    assert doctest.testmod(kernel_resources).failed == 0


# ---- how users see it -------------------------------------------------------------------------------


def scaled(x):
    return x * 2 + 1


def transposed_view(x):
    return x.T


@needs_compiler
def test_compiling_for_a_gpu_that_is_not_here():
    lowered = nt.jit(scaled).lower(np.ones((300, 7), "f4"))
    compiled = lowered.compile(target="cuda", arch="sm_80")
    assert compiled.cubin.startswith(b"\x7fELF")
    assert ".target sm_80" in compiled.ptx
    assert "__global__" in compiled.cuda
    assert compiled.report().startswith("sm_80")
    assert [k.spills for k in compiled.kernels] == [0]


def product(x, y):
    return x @ y


@needs_compiler
def test_an_early_architecture_makes_copies_at_once():
    if 75 not in nvrtc.architectures():
        pytest.skip("this compiler knows no sm_75")
    lowered = nt.jit(product).lower(nt.spec((256, 128), "f4"), nt.spec((128, 256), "f4"))
    compiled = lowered.compile(target="cuda", arch="sm_75")
    assert "nt_copy_async" in compiled.cuda
    assert "cp.async" not in nvrtc.compile_ptx(compiled.cuda, "compute_75")
    assert "cp.async" in nvrtc.compile_ptx(compiled.cuda, "compute_80")


@needs_compiler
def test_an_architecture_without_the_tensor_cores_is_refused_by_name():
    if 75 not in nvrtc.architectures():
        pytest.skip("this compiler knows no sm_75")
    lowered = nt.jit(product).lower(nt.spec((256, 128), "f2"), nt.spec((128, 256), "f2"))
    with pytest.raises(
        NestorError, match=r"sm_75 does not have what the kernels product_kernel use: .*sm_80 or later"
    ) as caught:
        lowered.compile(target="cuda", arch="sm_75")
    assert "ptxas" not in str(caught.value)


@needs_compiler
def test_a_program_without_kernels_has_no_machine_code():
    compiled = nt.jit(transposed_view).lower(np.ones((3, 7), "f4")).compile("cuda", arch="sm_80")
    assert compiled.cuda == "" and compiled.ptx == ""
    with pytest.raises(NestorError, match="no kernels"):
        compiled.report()


def test_an_architecture_goes_with_the_cuda_target():
    with pytest.raises(NestorError, match="arch='sm_90' names a GPU, and the target is 'cpu'"):
        nt.jit(scaled).lower(np.ones(3)).compile("cpu", arch="sm_90")


@needs_compiler
def test_the_report_of_opt_tool(tmp_path, capsys):
    program = tmp_path / "prog.py"
    program.write_text("def f(x):\n    return x * 2\n")
    options = ["--emit-nt", f"{program}:f", "--spec", "f32[1000]"]
    assert main([*options, "-p", "cuda-small", "-t", "ptxas-report"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line] == ["sm_80", "f_kernel", "sm_90", "f_kernel"]
    assert main([*options, "-t", "ptxas-report"]) == 1
    assert "-p cuda from the nt level, then -t ptxas-report" in capsys.readouterr().err
