"""MLIR and LLVM's own translator as judges of whole programs, from Python to the last level they share with us.

Every program is lowered from its Python source. mlir-opt must accept its scf, llvm and gpu levels, must lower its
kernels to NVVM, and what mlir-translate makes of its llvm level must compute the same bits as our own LLVM IR.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import nestor as nt
import numpy as np
import pytest
from mlir_judge import (
    TO_NVVM,
    custom,
    generic,
    mlir_opt,
    mlir_translate,
    needs_mlir_opt,
    needs_mlir_translate,
)
from nestor.frontend.jit.driver.lowered import Compiled, Lowered
from nestor.frontend.jit.specialise.stages import lowered_copy, run_pipeline
from nestor.lowering.llvm_ir.emit import emit_llvm_ir
from nestor.runtime.abi import ErrorRecord, Packer
from nestor.runtime.cpu.engine import compile_llvm_ir
from places import ROOT
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

pytestmark = pytest.mark.one_of(2)

EXAMPLES = ROOT / "examples"


def example(file: str, name: str) -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location(file, EXAMPLES / f"{file}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def total(x):
    return np.sum(x)


def row_means(x):
    return np.mean(x, axis=1)


def column_means(x):
    return np.mean(x, axis=0)


def symmetric(x):
    return x + x.T


def every_other(x):
    return x[1:-1:2] * 2 - x[2::2]


def integers(a, b):
    return (a // b + a % b) ^ (a & b) * 3


def logic(a, b):
    return (a > 0) & (b > 0) | ~(a < b)


def clipped(x):
    return np.clip(x, -0.5, 0.5)


def chosen(x, y):
    return np.where(x > y, x, y - 1)


def running_sum(a):
    for i in range(1, a.shape[0]):
        a[i] += a[i - 1]


def casts(x):
    return x.astype(np.int32) * 2 + x.astype(np.float32)


def outer(x, y):
    return x[:, None] * y[None, :] + 1


def normal(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(scale=3, size=shape).astype(dtype)


def whole(*shape: int, dtype: str = "i8") -> np.ndarray:
    return np.random.default_rng(shape[-1]).integers(-40, 40, size=shape).astype(dtype)


@dataclass
class Program:
    """A function and arguments for it."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    @cached_property
    def lowered(self) -> Lowered:
        return nt.jit(self.function, dynamic=True).lower(*self.arguments)

    @cached_property
    def scf(self) -> ModuleOp:
        return lowered_copy(self.lowered.program.module, ("cpu-to-scf",))

    @cached_property
    def llvm(self) -> ModuleOp:
        return run_pipeline(self.scf.clone(), ("cpu-to-llvm",))

    @cached_property
    def gpu(self) -> ModuleOp:
        return lowered_copy(self.lowered.program.module, ("cuda-small",))

    def run(self, llvm_ir: str) -> list[np.ndarray]:
        """Results, then what the arguments hold after the call."""
        name = self.lowered.program.name
        function = next(op for op in self.scf.ops if isinstance(op, func.FuncOp) and op.sym_name.data == name)
        pack, engine = Packer.for_function(function), compile_llvm_ir(llvm_ir, opt_level=1)

        def kernel(arguments: Any) -> None:
            assert engine.entry(name)(pack(*arguments), ErrorRecord()) == 0

        compiled = Compiled(self.lowered.owner, self.lowered.program, kernel, engine)
        return outcome(compiled, self.arguments)


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> list[np.ndarray]:
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(divide="ignore"):
        result = function(*copies)
    return [np.asarray(value) for value in ([] if result is None else [result]) + copies]


PROGRAMS = {
    "iou": Program(example("iou", "ratio_iou"), tuple(np.abs(normal(7, 37)) + k % 3 for k in range(8))),
    "softmax": Program(example("softmax", "softmax"), (normal(5, 37),)),
    "gauss-seidel": Program(example("gauss_seidel", "gauss_seidel"), (normal(9, 11, dtype="f8"), 3)),
    "sum": Program(total, (normal(13, 37),)),
    "mean-of-rows": Program(row_means, (normal(5, 37),)),
    "mean-of-columns": Program(column_means, (normal(5, 37, dtype="f8"),)),
    "transpose": Program(symmetric, (normal(19, 19),)),
    "strided-slice": Program(every_other, (normal(101),)),
    "integers": Program(integers, (whole(101), whole(101)[::-1].copy())),
    "bools": Program(logic, (normal(101), whole(101, dtype="i4"))),
    "clip": Program(clipped, (normal(101, dtype="f2"),)),
    "where": Program(chosen, (normal(5, 37), normal(37))),
    "running-sum": Program(running_sum, (normal(101, dtype="f8"),)),
    "casts": Program(casts, (normal(101, dtype="f8"),)),
    "outer": Program(outer, (normal(17), normal(37, dtype="f8"))),
}

each_program = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)


@needs_mlir_opt
@each_program
def test_mlir_accepts_the_upstream_level(program: Program):
    mlir_opt(generic(program.scf))


@needs_mlir_opt
@each_program
def test_mlir_accepts_the_llvm_level(program: Program):
    mlir_opt(custom(program.llvm))


@needs_mlir_translate
@each_program
def test_translated_by_mlir_computes_the_same_bits(program: Program):
    ours, theirs = program.run(emit_llvm_ir(program.llvm)), program.run(mlir_translate(program.llvm))
    expected = outcome(program.function, program.arguments)
    for mine, other, numpy_value in zip(ours, theirs, expected, strict=True):
        assert mine.tobytes() == other.tobytes()
        assert mine.dtype == numpy_value.dtype
        np.testing.assert_allclose(mine, numpy_value, rtol=1e-4, atol=1e-5)


@needs_mlir_opt
@each_program
def test_mlir_lowers_the_kernels_to_nvvm(program: Program):
    lowered = mlir_opt(custom(program.gpu), TO_NVVM)
    kernels = lowered.partition("gpu.module")[2]
    assert "nvvm.kernel" in kernels and "memref.load" not in kernels
