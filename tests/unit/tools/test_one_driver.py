"""`opt-tool` runs what `nt.jit` runs: the same passes in the same order, from the text of a program."""

import sys

import nestor as nt
import numpy as np
import pytest
from nestor.tools.opt_tool.main import main

MACHINES = {"cpu": "zen4"}


def fused(x, y):
    return np.maximum(x, y) * 2 + x


def product(x, w):
    return x @ w + 1


def loop(x):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0:
            total += x[i] * i
    return total


X = np.ones((64, 512), np.float32)
W = np.ones((512, 512), np.float32)
W.setflags(write=False)
PROGRAMS = {
    "fused": (fused, {}, (X, X)),
    "constant weights": (product, {"constants": ["w"]}, (X, W)),
    "loop": (loop, {}, (np.ones(50),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    ("target", "level", "pipeline"),
    [("cpu", "scf", "cpu-to-scf"), ("cpu", "llvm", "cpu"), ("cuda", "gpu", "cuda-small")],
)
def test_the_same_ir_at_every_level(name, target, level, pipeline, tmp_path, capsys):
    function, options, arguments = PROGRAMS[name]
    simulated = "cuda-sim" if target == "cuda" else target
    low = nt.jit(function, machine=MACHINES.get(target), target=simulated, **options).lower(*arguments)
    program = tmp_path / "program.mlir"
    program.write_text(low.as_text("nt"))
    described = [f"--machine={MACHINES[target]}"] if target in MACHINES else []
    assert main([str(program), "-p", pipeline, *described]) == 0
    assert capsys.readouterr().out == low.as_text(level)


def test_constant_weights_are_frozen_by_the_pipeline():
    """What the comparison above is about: a function of its own packs them."""
    function, options, arguments = PROGRAMS["constant weights"]
    assert "_frozen" in nt.jit(function, machine=MACHINES["cpu"], **options).lower(*arguments).as_text("scf")


def test_a_run_leaves_the_depth_of_recursion_as_it_was(tmp_path, capsys):
    program = tmp_path / "program.mlir"
    program.write_text("func.func @f() {\n  func.return\n}\n")
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(2000)  # less than opt-tool asks for, whatever ran before
    try:
        assert main([str(program)]) == 0
        assert main([str(tmp_path / "missing.mlir")]) != 0
        assert sys.getrecursionlimit() == 2000
    finally:
        sys.setrecursionlimit(before)
