"""Random edits of valid IR: opt-tool accepts the result or refuses it with a diagnostic, nothing else."""

from __future__ import annotations

import random
import re

import pytest
from nestor.tools.opt_tool.main import main

SEEDS = {
    "scf": """\
func.func @f(%x: memref<?x4xf32>, %n: index, %c: i1) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %init = arith.constant 1.5 : f32
  %sum = scf.for %i = %zero to %n step %one iter_args(%acc = %init) -> (f32) {
    %v = memref.load %x[%i, %zero] : memref<?x4xf32>
    %w = scf.if %c -> (f32) {
      scf.yield %v : f32
    } else {
      %m = arith.mulf %v, %acc fastmath<contract> : f32
      scf.yield %m : f32
    }
    scf.yield %w : f32
  }
  func.return %sum : f32
}
""",
    "cfg": """\
#map = affine_map<(i, j) -> (i + 2 * j)>
llvm.func @g(%a: i64, %p: !llvm.ptr) -> i64 {
  %b = llvm.add %a, %a : i64
  %v = llvm.load %p : !llvm.ptr -> i64
  llvm.return %b : i64
}
"func.func"() <{sym_name = "h", function_type = (i1) -> i32}> ({
^bb0(%c: i1):
  "cf.cond_br"(%c)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
^bb1:
  "cf.br"()[^bb2] {a = #map, b = dense<[1, 2]> : tensor<2xi32>, c = [1.0, "s", @g]} : () -> ()
^bb2:
  %r = "arith.constant"() <{value = 7 : i32}> : () -> i32
  "func.return"(%r) : (i32) -> ()
}) : () -> ()
""",
    "nest": """\
func.func @k(%x: memref<?x8xf32>, %out: memref<?x8xf32> {nest.role = "out"}) {
  %d = arith.constant 0 : index
  %n = memref.dim %x, %d : memref<?x8xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%i, %j] : memref<?x8xf32>
      %b = arith.addf %a, %a : f32
      nest.store "y" %b, %out[%i, %j] : memref<?x8xf32>
    }
  }
  func.return
}
""",
    "nt": """\
func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = nt.add %x, %y : tensor<4x8xf32>
  %b = nt.exp %a : tensor<4x8xf32>
  func.return %b : tensor<4x8xf32>
}
""",
}

_TOKEN = re.compile(r'\s+|"[^"]*"|[%@^#!]?[\w.]+|->|.', re.DOTALL)
_EDITS = 60


def edit(text: str, generator: random.Random) -> str:
    """One to three tokens removed, doubled, swapped, or replaced by another token of the text."""
    tokens = _TOKEN.findall(text)
    for _ in range(generator.randint(1, 3)):
        at, other = generator.randrange(len(tokens)), generator.randrange(len(tokens))
        match generator.randrange(4):
            case 0:
                tokens[at] = ""
            case 1:
                tokens[at] *= 2
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case _:
                tokens[at] = tokens[other]
    return "".join(tokens)


@pytest.mark.parametrize("name", SEEDS)
def test_random_edits(tmp_path, capsys, name):
    path = tmp_path / "input.mlir"
    path.write_text(SEEDS[name])
    assert main([str(path), "--verify-roundtrip"]) == 0, capsys.readouterr().err
    generator = random.Random(name)
    for _ in range(_EDITS):
        text = edit(SEEDS[name], generator)
        path.write_text(text)
        code = main([str(path)])
        captured = capsys.readouterr()
        assert code in (0, 1), f"exit code {code} for:\n{text}\n{captured.err}"
        assert (code == 1) == ("error: " in captured.err), text
        assert "Traceback" not in captured.err
