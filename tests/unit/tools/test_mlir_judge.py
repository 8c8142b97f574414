"""MLIR and LLVM's own translator as judges of the CPU path.

Every kernel at the scf/vector level must be accepted by mlir-opt, its lowered form too, and what
mlir-translate makes of that must compute the same bits as our own LLVM IR.
"""

import numpy as np
import pytest
from cpu_kernels import KERNELS, Kernel, lower, parse, sample_arguments
from mlir_judge import custom, generic, mlir_opt, mlir_translate, needs_mlir_opt, needs_mlir_translate

each_kernel = pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)


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
