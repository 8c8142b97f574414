"""MLIR accepts the gpu level as Nestor prints it and lowers it to NVVM; Nestor reads what MLIR prints."""

from io import StringIO

import pytest
from cuda_kernels import KERNELS, load, parse
from mlir_judge import TO_NVVM, mlir_opt, needs_mlir_opt
from nestor.dialects.registry import make_context
from nestor.frontend.jit.specialise.stages import run_pipeline
from nestor.lowering.cuda_c.emit import emit_cuda
from nestor.lowering.nest_to_gpu.convert import ConvertNestToGpuPass
from nestor.tools.opt_tool.main import main
from nestor.transforms.nest.mapping.insert_barriers import NestInsertBarriersPass
from places import ROOT
from test_schedule_cuda import NESTS, scheduled
from xdsl.printer import Printer

pytestmark = pytest.mark.one_of(2)


def _text(name: str) -> str:
    stream = StringIO()
    Printer(stream).print_op(load(name))
    return stream.getvalue()


OWN = ("random-bits",)
"""Kernels with operations of our own dialects, which CUDA C has and MLIR has not."""

UPSTREAM = [name for name in KERNELS if name not in OWN]


@pytest.mark.parametrize("name", OWN)
def test_kernels_that_mlir_does_not_know(name):
    assert "special." in _text(name)


@needs_mlir_opt
@pytest.mark.parametrize("name", UPSTREAM)
def test_mlir_lowers_kernels_to_nvvm(name):
    lowered = mlir_opt(_text(name), TO_NVVM)
    assert "nvvm.kernel" in lowered
    assert "memref.load" not in lowered.partition("gpu.module")[2]


@needs_mlir_opt
@pytest.mark.parametrize("name", UPSTREAM)
def test_what_mlir_prints_is_read_back(name):
    ours, theirs = emit_cuda(load(name)), emit_cuda(parse(mlir_opt(_text(name))))
    assert ours.count("{") == theirs.count("{")


@pytest.mark.parametrize("name", KERNELS)
def test_text_round_trips(name):
    text = _text(name)
    stream = StringIO()
    Printer(stream).print_op(parse(text))
    assert stream.getvalue() == text


EXAMPLES = ROOT / "examples"
PROGRAMS = {
    "iou.py:ratio_iou": "8x f32[100,1000]",
    "softmax.py:softmax": "f32[?,?]",
    "gauss_seidel.py:gauss_seidel": "f64[?,?], int",
}


@needs_mlir_opt
@pytest.mark.parametrize("program", PROGRAMS)
def test_mlir_lowers_the_examples_to_nvvm(program, capsys):
    assert main(["--emit-nt", f"{EXAMPLES / program}", "--spec", PROGRAMS[program], "-p", "cuda-small"]) == 0
    assert "nvvm.kernel" in mlir_opt(capsys.readouterr().out, TO_NVVM)


@needs_mlir_opt
def test_mlir_lowers_scheduled_nests_to_nvvm():
    for name, nest in NESTS.items():
        module, _ = scheduled(nest)
        NestInsertBarriersPass().apply(make_context(), module)
        ConvertNestToGpuPass(explicit_barriers=True).apply(make_context(), module)
        stream = StringIO()
        Printer(stream).print_op(module)
        assert "nvvm.kernel" in mlir_opt(stream.getvalue(), TO_NVVM), name


PRODUCT = """
func.func @f(%a: tensor<64x128xf16> {nt.layout = "c"}, %b: tensor<128x64xf16> {nt.layout = "c"}) -> (tensor<64x64xf32>) {
  %s = nt.dot %a, %b contract [1] x [0] : tensor<64x128xf16>, tensor<128x64xf16> -> tensor<64x64xf32>
  func.return %s : tensor<64x64xf32>
}
"""


@needs_mlir_opt
def test_mlir_lowers_tensor_cores_and_asynchronous_copies_to_nvvm():
    module = run_pipeline(parse(PRODUCT), ["cuda-small"])
    stream = StringIO()
    Printer(stream).print_op(module)
    lowered = mlir_opt(stream.getvalue(), TO_NVVM.replace("convert-gpu", "convert-nvgpu-to-nvvm,convert-gpu"))
    for word in (
        "nvvm.cp.async.shared.global",
        "nvvm.cp.async.wait.group",
        "nvvm.ldmatrix",
        "nvvm.mma.sync",
    ):
        assert word in lowered
