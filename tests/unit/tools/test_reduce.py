"""opt-tool-reduce: planted failures of 300 lines become less than 15, and what remains still fails."""

from __future__ import annotations

import re
import textwrap

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.parse import parse_module
from nestor.dialects.verifier import verify
from nestor.tools.reduce.interest import Question
from nestor.tools.reduce.main import main

LINES = 15

PLANTED = textwrap.dedent("""
    from dataclasses import dataclass
    from xdsl.dialects import math
    from xdsl.passes import ModulePass
    from nestor.dialects.nest import StoreOp

    @dataclass(frozen=True)
    class Planted(ModulePass):
        name = "planted"
        def apply(self, ctx, op):
            for one in op.walk():
                if isinstance(one, StoreOp) and isinstance(one.value.owner, math.SqrtOp):
                    raise KeyError("planted")
""")


def steps(x, w, b):
    h = np.zeros(16)
    out = []
    for t in range(7):
        g = np.tanh(x[t] @ w + h) * b
        h = np.exp(-g) / (1 + np.exp(-g)) + h * 0.5
        m = h.max()
        s = (h - m).sum()
        out.append(np.sqrt(s * s + 1))
    y = h.copy()
    for i in range(1, 16):
        y[i] = y[i - 1] * 0.5 + h[i]
    return y, np.array(out)


LOWERED = nt.jit(steps).lower(np.ones((7, 16)), np.ones((16, 16)), np.ones(16))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reduce")
    (folder / "nt.mlir").write_text(LOWERED.as_text("nt"))
    (folder / "nest.mlir").write_text(nt.schedule(LOWERED).nest)
    (folder / "planted.py").write_text(PLANTED)
    assert len((folder / "nest.mlir").read_text().splitlines()) > 250
    return folder


def _reduced(files, capsys, source, message, *command):
    small = files / "small.mlir"
    arguments = [
        str(files / source),
        "-o",
        str(small),
        "--message",
        message,
        "--",
        "opt-tool",
        "{}",
        *command,
    ]
    assert main(arguments) == 0, capsys.readouterr().err
    text = small.read_text()
    verify(parse_module(text))
    assert Question(("opt-tool", "{}", *command), message).holds_for(text)
    assert re.search(r"\d+ lines became \d+ in \d+ runs", capsys.readouterr().err)
    return text


def test_a_refused_step_of_a_schedule(files, capsys):
    loop = re.findall(r'nest.for "([^"]+)" %\w+ = 1 to 16', (files / "nest.mlir").read_text())[-1]
    text = _reduced(files, capsys, "nest.mlir", "a flow dependence", "-p", f"nest-parallel{{loop={loop}}}")
    assert len(text.splitlines()) < LINES and "nest.for" in text


def test_a_pass_that_fails(files, capsys):
    plugin = f"--load-pass-plugin={files / 'planted.py'}"
    text = _reduced(files, capsys, "nest.mlir", "planted", plugin, "-p", "planted")
    assert len(text.splitlines()) < LINES and "math.sqrt" in text


@pytest.mark.slow
def test_an_operation_that_a_pipeline_makes(files, capsys):
    text = _reduced(files, capsys, "nt.mlir", "vector.reduction", "-p", "cpu-to-scf")
    assert len(text.splitlines()) < LINES and "nt.reduce" in text


def test_a_script_judges(files, tmp_path, capsys):
    script = tmp_path / "judge.sh"
    script.write_text('#!/bin/sh\ngrep -q "math.sqrt" "$1"\n')
    script.chmod(0o755)
    small = tmp_path / "small.mlir"
    source = tmp_path / "source.mlir"
    source.write_text(
        "func.func @f(%x: f64, %y: memref<f64>) -> f64 {\n  %a = math.sqrt %x : f64\n  %b = math.exp %a : f64\n"
        "  nest.store %b, %y[] : memref<f64>\n  func.return %b : f64\n}\n"
    )
    assert main([str(source), "-o", str(small), "--test", str(script)]) == 0
    text = small.read_text()
    assert "math.sqrt" in text and "math.exp" not in text and "nest.store" not in text


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["IN"], 2, "give a command after --, or --test"),
        (["IN", "--", "opt-tool", "{}"], 2, "say what of the command's answer is of interest"),
        (["IN", "--message", "no such thing", "--", "opt-tool", "{}"], 1, "the input is not of interest"),
        (["IN", "--status", "3", "--", "no-such-command", "{}"], 1, "no-such-command"),
        (["NONE", "--message", "x", "--", "opt-tool", "{}"], 1, "none.mlir"),
        (["BAD", "--message", "x", "--", "opt-tool", "{}"], 1, "bad.mlir:1:"),
    ],
)
def test_wrong_requests_are_refused(arguments, code, said, tmp_path, capsys):
    (tmp_path / "in.mlir").write_text("func.func @f() {\n  func.return\n}\n")
    (tmp_path / "bad.mlir").write_text("func.fun\n")
    places = {"IN": tmp_path / "in.mlir", "NONE": tmp_path / "none.mlir", "BAD": tmp_path / "bad.mlir"}
    assert main([str(places.get(word, word)) for word in arguments]) == code
    assert said in capsys.readouterr().err


def test_a_command_that_hangs_is_ended(tmp_path):
    answer = Question(("sleep", "20"), status=0, seconds=0.2).answer("")
    assert answer.status is None or answer.status != 0
