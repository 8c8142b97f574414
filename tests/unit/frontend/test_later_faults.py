"""What is found wrong after the passes is an internal error that says how to keep the program, never a raw exception."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.jit.specialise import stages
from nestor.lowering.llvm_ir import emit
from nestor.runtime.cpu import engine
from nestor.transforms.pass_manager import InternalFailure
from parsed import parse_module

USE_BEFORE_ITS_DEFINITION = """
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %a = nt.exp %b : tensor<3xf64>
  %b = nt.exp %x : tensor<3xf64>
  func.return %a : tensor<3xf64>
}
"""


def doubled(x):
    return 2 * x


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_ir_that_uses_a_value_before_its_definition_is_an_internal_error(target):
    with pytest.raises(InternalFailure, match=r"frontend made invalid IR: .*dominate") as caught:
        stages.build(parse_module(USE_BEFORE_ITS_DEFINITION), "f", target)
    assert "NESTOR_DUMP" in caught.value.diagnostic.hint


@pytest.mark.parametrize(
    ("module", "function", "where"),
    [(engine, "compile_llvm_ir", "LLVM"), (emit, "emit_llvm_ir", "the emitter of LLVM IR")],
)
def test_what_a_stage_after_the_passes_raises_is_an_internal_error(monkeypatch, module, function, where):
    def refuse(*_, **__):
        raise RuntimeError("expected a type")

    monkeypatch.setattr(module, function, refuse)
    monkeypatch.setenv("NESTOR_CACHE", "0")
    with pytest.raises(InternalFailure, match=f"internal error in {where}: RuntimeError: expected a type"):
        nt.jit(doubled)(np.ones(3))


def test_text_that_llvm_refuses_is_an_internal_error_when_it_is_printed(monkeypatch):
    monkeypatch.setattr(emit, "emit_llvm_ir", lambda module: "define void @f() { ret i32 0 }")
    with pytest.raises(InternalFailure, match="internal error in LLVM: RuntimeError"):
        nt.jit(doubled).lower(np.ones(3)).as_text("asm")


def test_what_the_frontend_raises_is_an_internal_error(monkeypatch):
    """Also a KeyError, which a program may raise itself: it is not taken for the program's own."""
    from nestor.frontend.script import statements

    def refuse(*_):
        raise KeyError(".object6")

    monkeypatch.setitem(statements._HANDLERS, statements.ast.Return, refuse)
    with pytest.raises(InternalFailure, match=r"internal error in the frontend: KeyError") as caught:
        nt.jit(doubled)(np.ones(3))
    assert "def doubled" in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)
