"""MLIR accepts the gpu level as Nestor prints it and lowers it to NVVM; Nestor reads what MLIR prints."""

from io import StringIO

import pytest
from cuda_kernels import KERNELS, load, parse
from mlir_judge import mlir_opt, needs_mlir_opt
from nestor.lowering.cuda_c import emit_cuda
from xdsl.printer import Printer

_TO_NVVM = "builtin.module(gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm))"


def _text(name: str) -> str:
    stream = StringIO()
    Printer(stream).print_op(load(name))
    return stream.getvalue()


@needs_mlir_opt
@pytest.mark.parametrize("name", KERNELS)
def test_mlir_lowers_kernels_to_nvvm(name):
    lowered = mlir_opt(_text(name), _TO_NVVM)
    assert "nvvm.kernel" in lowered
    assert "memref.load" not in lowered.partition("gpu.module")[2]


@needs_mlir_opt
@pytest.mark.parametrize("name", KERNELS)
def test_what_mlir_prints_is_read_back(name):
    ours, theirs = emit_cuda(load(name)), emit_cuda(parse(mlir_opt(_text(name))))
    assert ours.count("{") == theirs.count("{")


@pytest.mark.parametrize("name", KERNELS)
def test_text_round_trips(name):
    text = _text(name)
    stream = StringIO()
    Printer(stream).print_op(parse(text))
    assert stream.getvalue() == text
