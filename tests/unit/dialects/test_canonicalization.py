"""Whoever runs `canonicalize` has the rules of `nt`, each in a process of its own; without them the pass is an error."""

import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
func.func @f(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = nt.transpose %x perm [1, 0] : tensor<4x5xf32> -> tensor<5x4xf32>
  %1 = nt.transpose %0 perm [1, 0] : tensor<5x4xf32> -> tensor<4x5xf32>
  func.return %1 : tensor<4x5xf32>
}
"""
JIT = """
import numpy as np, nestor as nt

@nt.jit
def f(x, y):
    return x * 1 + y

print(f.lower(*[nt.spec((4, 5), np.float32)] * 2).as_text("nest"))
"""
BARE = """
import sys
from nestor.dialects.registry import make_context
from xdsl.parser import Parser
from xdsl.transforms.canonicalize import CanonicalizePass

context = make_context()
CanonicalizePass().apply(context, Parser(context, sys.stdin.read()).parse_module())
"""


def output_of(*command: str, text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("tool", ["opt-tool", "xdsl-opt"])
def test_tools_canonicalize(tool):
    command = str(Path(sys.executable).parent / tool)
    assert "nt.transpose" in output_of(command, text=MODULE)
    text = output_of(command, "-p", "canonicalize", text=MODULE)
    assert "nt.transpose" not in text and "func.return %x" in text


def test_a_compilation_canonicalizes(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(JIT)
    text = output_of(sys.executable, str(program))
    assert "arith.addf" in text and "arith.mulf" not in text


def test_without_rules_the_pass_is_an_error():
    done = subprocess.run(
        [sys.executable, "-c", BARE], input=MODULE, capture_output=True, text=True, timeout=300
    )
    assert done.returncode != 0 and "import nestor.transforms.registry" in done.stderr
