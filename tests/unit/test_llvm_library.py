"""LLVM called in its library gives the object code, the host and the errors that llvmlite's binding gives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nestor as nt
import numpy as np
import pytest
from nestor.runtime import cpu, llvm_library

ROOT = Path(__file__).parents[2]

SUM = """
define internal float @unused(float %x) { ret float %x }
declare float @fabsf(float)
define void @vectors(ptr noalias readonly %a, ptr noalias %b, i64 %n) #0 {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %0 = getelementptr inbounds float, ptr %a, i64 %i
  %1 = load <32 x float>, ptr %0, align 4
  %2 = fadd <32 x float> %1, zeroinitializer
  %3 = fmul <32 x float> %2, %1
  %4 = getelementptr inbounds float, ptr %b, i64 %i
  store <32 x float> %3, ptr %4, align 4
  %next = add nsw i64 %i, 32
  %5 = icmp slt i64 %next, %n
  br i1 %5, label %loop, label %end
end:
  ret void
}
attributes #0 = { nounwind "prefer-vector-width"="512" }
"""


def _both_ways(monkeypatch: pytest.MonkeyPatch, compute):
    """What the library gives, and what llvmlite's binding does."""
    assert llvm_library.load() is not None
    cpu.host.cache_clear()
    direct = compute()
    with monkeypatch.context() as patch:
        patch.setattr(llvm_library, "load", lambda: None)
        cpu.host.cache_clear()
        usual = compute()
    cpu.host.cache_clear()
    return direct, usual


def test_the_host_is_the_same(monkeypatch: pytest.MonkeyPatch):
    direct, usual = _both_ways(monkeypatch, cpu.host)
    assert direct == usual and direct[0] and "+" in direct[1]


def _program(x, y):
    return np.sqrt(np.maximum(x, y) + x.sum(axis=1)[:, None]) * np.exp(y)


def test_the_object_code_is_the_same(monkeypatch: pytest.MonkeyPatch):
    lowered = nt.jit(_program).lower(nt.spec((40, 50), "f4"), nt.spec((40, 50), "f4"))
    for text in (SUM, lowered.as_text("llvm-ir")):
        direct, usual = _both_ways(monkeypatch, lambda text=text: cpu.compile_object(text, opt_level=1))
        assert direct == usual and direct.startswith(b"\x7fELF")


@pytest.mark.parametrize(
    "text",
    [
        "define void @f( {",
        "define i32 @f() { ret i32 %x }",
        "define void @f() { br label %a\na:\n br label %b }",
    ],
)
def test_the_errors_are_the_same(text: str, monkeypatch: pytest.MonkeyPatch):
    def said() -> str:
        with pytest.raises(RuntimeError) as caught:
            cpu.compile_object(text, opt_level=1)
        return str(caught.value)

    direct, usual = _both_ways(monkeypatch, said)
    assert direct == usual and "LLVM IR parsing error" in direct


def test_a_module_that_does_not_verify_is_refused(monkeypatch: pytest.MonkeyPatch):
    """The parser verifies nothing of a use before its definition in another block."""
    text = """define i32 @f(i1 %c) {
    br i1 %c, label %a, label %b
  a:
    %x = add i32 1, 2
    br label %b
  b:
    ret i32 %x
  }"""

    def said() -> str:
        with pytest.raises(RuntimeError) as caught:
            cpu.compile_object(text, opt_level=1)
        return str(caught.value)

    direct, usual = _both_ways(monkeypatch, said)
    assert direct == usual and "does not dominate" in direct


def test_another_version_goes_through_the_binding(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(llvm_library, "_KNOWN", "0.0.")
    assert llvm_library.load.__wrapped__() is None


def test_a_plain_program_does_not_import_the_binding():
    script = (
        "import sys; sys.path.insert(0, 'examples')\n"
        "import numpy as np, nestor as nt\n"
        "from iou import ratio_iou\n"
        "nt.jit(ratio_iou)(*[np.ones((10, 100), np.float32)] * 8)\n"
        "print('llvmlite.binding' in sys.modules)"
    )
    environment = {**os.environ, "NESTOR_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert done.stdout.split() == ["False"]
