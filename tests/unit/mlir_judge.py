"""mlir-opt as an independent judge of the upstream levels, for the tests that need it."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

_HOME = os.environ.get("MLIR_BIN", "/usr/lib/llvm-22/bin")
MLIR_OPT = shutil.which("mlir-opt", path=os.pathsep.join([_HOME, os.environ.get("PATH", "")]))

needs_mlir_opt = pytest.mark.skipif(
    MLIR_OPT is None, reason="mlir-opt is not installed (Debian: mlir-22-tools; or set MLIR_BIN)"
)


def mlir_opt(text: str, pipeline: str = "builtin.module()") -> str:
    """What mlir-opt makes of `text`; fails the test with its diagnostics where it refuses."""
    assert MLIR_OPT is not None
    command = [MLIR_OPT, f"--pass-pipeline={pipeline}"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"mlir-opt refuses:\n{done.stderr}\n{text}"
    return done.stdout
