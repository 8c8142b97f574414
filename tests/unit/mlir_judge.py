"""mlir-opt and mlir-translate as independent judges of the upstream levels, for the tests that need them."""

from __future__ import annotations

import subprocess
from io import StringIO

import pytest
from nestor.tools.test_environment import mlir_tool, no_mlir_tool
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

MLIR_OPT = mlir_tool("mlir-opt")
MLIR_TRANSLATE = mlir_tool("mlir-translate")

needs_mlir_opt = pytest.mark.skipif(MLIR_OPT is None, reason=no_mlir_tool("mlir-opt"))
needs_mlir_translate = pytest.mark.skipif(MLIR_TRANSLATE is None, reason=no_mlir_tool("mlir-translate"))

TO_NVVM = "builtin.module(gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm))"
"""The pipeline that lowers kernels of the gpu level to MLIR's NVVM dialect."""


def generic(module: ModuleOp) -> str:
    """The module in MLIR's generic form."""
    text = StringIO()
    Printer(text, print_generic_format=True).print_op(module)
    return text.getvalue()


def custom(module: ModuleOp) -> str:
    """The module as Nestor prints it."""
    text = StringIO()
    Printer(text).print_op(module)
    return text.getvalue()


def mlir_opt(text: str, pipeline: str = "builtin.module()") -> str:
    """What mlir-opt makes of `text`; fails the test with its diagnostics where it refuses."""
    assert MLIR_OPT is not None
    command = [MLIR_OPT, f"--pass-pipeline={pipeline}"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"mlir-opt refuses:\n{done.stderr}\n{text}"
    return done.stdout


def mlir_translate(module: ModuleOp) -> str:
    """The LLVM IR text that MLIR makes of a module of the llvm dialect."""
    assert MLIR_TRANSLATE is not None
    command = [MLIR_TRANSLATE, "--mlir-to-llvmir"]
    done = subprocess.run(command, input=custom(module), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"mlir-translate refuses:\n{done.stderr}"
    return done.stdout
