"""MLIR and LLVM's own translator as judges of the CPU path.

Every kernel at the scf/vector level must be accepted by mlir-opt, its lowered form too, and what
mlir-translate makes of that must compute the same bits as our own LLVM IR.
"""

import os
import shutil
import subprocess
from io import StringIO

import numpy as np
import pytest
from cpu_kernels import KERNELS, Kernel, lower, parse, sample_arguments
from mlir_judge import mlir_opt, needs_mlir_opt
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

_HOME = os.environ.get("MLIR_BIN", "/usr/lib/llvm-22/bin")
MLIR_TRANSLATE = shutil.which("mlir-translate", path=os.pathsep.join([_HOME, os.environ.get("PATH", "")]))
needs_mlir_translate = pytest.mark.skipif(
    MLIR_TRANSLATE is None, reason="mlir-translate is not installed (Debian: mlir-22-tools; or set MLIR_BIN)"
)

each_kernel = pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)


def generic(module: ModuleOp) -> str:
    text = StringIO()
    Printer(text, print_generic_format=True).print_op(module)
    return text.getvalue()


def custom(module: ModuleOp) -> str:
    text = StringIO()
    Printer(text).print_op(module)
    return text.getvalue()


def mlir_translate(module: ModuleOp) -> str:
    """The LLVM IR text that MLIR makes of a module of the llvm dialect."""
    assert MLIR_TRANSLATE is not None
    command = [MLIR_TRANSLATE, "--mlir-to-llvmir"]
    done = subprocess.run(command, input=custom(module), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"mlir-translate refuses:\n{done.stderr}"
    return done.stdout


@needs_mlir_opt
@each_kernel
def test_mlir_accepts_the_upstream_level(path):
    mlir_opt(generic(parse(path.read_text())))


@needs_mlir_opt
@each_kernel
def test_mlir_accepts_the_llvm_level(path):
    mlir_opt(custom(lower(parse(path.read_text()))))


@needs_mlir_translate
@each_kernel
def test_translated_by_mlir_computes_the_same_bits(path):
    ours = Kernel(path.read_text(), opt_level=1)
    theirs = Kernel(path.read_text(), opt_level=1, back_end=mlir_translate)
    arguments = sample_arguments(ours.types)
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    assert ours(*arguments) == theirs(*copies)
    for mine, other in zip(arguments, copies, strict=True):
        if isinstance(mine, np.ndarray):
            assert mine.tobytes() == other.tobytes()
