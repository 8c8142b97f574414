"""NESTOR_LOG and Python's `logging`, NESTOR_DUMP: what is said and written when programs are compiled."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import nestor as nt
import numpy as np
import pytest

SCALE = 2.0


def scaled(x):
    return np.sin(x) * SCALE


PROGRAM = """
import numpy as np, nestor as nt

@nt.jit
def f(x):
    return np.sin(x).sum()

f(np.ones(5)); f(np.ones(7)); f(np.ones(9))
"""


def run(tmp_path, **environment):
    path = tmp_path / "program.py"
    if not path.exists():
        path.write_text(PROGRAM)
    environment = {
        **os.environ,
        "NESTOR_CACHE": "1",
        "NESTOR_CACHE_DIR": str(tmp_path / "cache"),
        **environment,
    }
    return subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True)


def test_topics_of_the_environment(tmp_path):
    first = run(tmp_path, NESTOR_LOG="compile, cache").stderr.splitlines()
    assert first[0] == "nestor.compile: f: compiled for x: float64[5]"
    assert any(line.startswith("nestor.compile: f: lowered for cpu in ") for line in first)
    assert "nestor.cache: f: kept on the disk" in first
    assert sum("compiled for" in line for line in first) == 2  # the second serves all lengths
    second = run(tmp_path, NESTOR_LOG="all").stderr.splitlines()
    assert second[0] == "nestor.cache: f: taken from the disk for x: float64[5]"
    assert not any("nestor.compile" in line for line in second)


def test_an_unknown_topic(tmp_path):
    ran = run(tmp_path, NESTOR_LOG="compile,speed")
    assert ran.returncode == 1
    assert (
        "NESTOR_LOG: there is no topic 'speed'" in ran.stderr
        and "topics: compile, cache, guards" in ran.stderr
    )


def test_loggers(monkeypatch, caplog):
    monkeypatch.setenv("NESTOR_CACHE", "0")
    for topic in ("compile", "guards", "fusion", "schedule"):
        caplog.set_level(logging.INFO, f"nestor.{topic}")
    f, x = nt.jit(scaled), np.arange(20.0)
    f(x)
    said = [(r.name.removeprefix("nestor."), r.getMessage()) for r in caplog.records]
    assert said[0] == ("compile", "scaled: compiled for x: float64[20]")
    assert ("fusion", "scaled: 1 fusions\n  result: sin, constant, broadcast, multiply") in said
    assert any(topic == "schedule" and text.startswith("scaled: i") for topic, text in said)
    caplog.clear()
    f(x)
    assert not caplog.records
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    np.testing.assert_allclose(f(x), np.sin(x) * 3)
    assert ("nestor.guards", "scaled: what it reads outside has changed") in [
        (r.name, r.getMessage()) for r in caplog.records
    ]


def test_levels_are_written(tmp_path, monkeypatch):
    monkeypatch.setenv("NESTOR_DUMP", str(tmp_path / "levels"))
    x = np.arange(6.0)
    for _ in range(2):
        np.testing.assert_allclose(nt.jit(scaled)(x), np.sin(x) * SCALE)
    np.testing.assert_allclose(nt.jit(scaled, target="cuda-sim")(x), np.sin(x) * SCALE)
    nt.jit(lambda x: x + 1)(x)
    folders = {
        folder.name: {one.name for one in folder.iterdir()} for folder in (tmp_path / "levels").iterdir()
    }
    cpu = {"nt.mlir", "nt-fused.mlir", "nest.mlir", "scf.mlir", "llvm.mlir", "llvm-ir.ll", "asm.s"}
    gpu = {"nt.mlir", "nt-fused.mlir", "gpu.mlir", "cuda.cu"}
    assert folders == {"scaled-0": cpu, "scaled-1": cpu, "scaled-2": gpu, "lambda-0": cpu}
    low = nt.jit(scaled).lower(x)
    assert (tmp_path / "levels" / "scaled-0" / "nest.mlir").read_text().rstrip() == low.as_text(
        "nest"
    ).rstrip()


def test_a_lowered_function_is_printed():
    low = nt.jit(scaled).lower(np.arange(6.0))
    assert str(low) == low.as_text("nt") and "nt.sin" in str(low)
    assert repr(low) == "<scaled lowered for x: float64[6]>"


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NESTOR_DUMP", str(tmp_path / "file" / "levels"))
    with pytest.raises(nt.NestorError, match=r"NESTOR_DUMP: .*Not a directory"):
        nt.jit(scaled)(np.arange(3.0))
