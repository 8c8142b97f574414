"""The snippets of a page of docs/ and of the README run, in order, as one program."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest
from places import ROOT

pytestmark = pytest.mark.one_of(2)

SNIPPET = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = {
    "../README": (3, ""),
    "index": (1, ""),
    "tutorial": (10, ""),
    "executor": (6, "noted runs in Python"),
    "processes": (2, ""),
    "notebooks": (1, "[ 2. -3.]"),
    "reductions": (4, ""),
    "custom-ops": (9, ""),
    "chunking": (4, ""),
    "dask": (8, ""),
    "precision": (2, ""),
    "layouts": (3, ""),
    "strategies": (2, "tiles of a product"),
    "pytorch": (4, ""),
    "quantisation": (4, "['uint8', 'uint8']"),
}
"""By the page: how many snippets it has at least, and what they print."""


MORE = {
    "guides": ("numba", "jax", "cupy", "torchscript", "halide-tvm", "mlir-xdsl"),
    "how-to": ("extend", "read-a-nest", "why-is-it-slow"),
}
LONG = {"padding": (2, "")}
"""Pages whose programs take long to compile."""

SLOW = [pytest.param(page, marks=pytest.mark.slow) for page in LONG] + [
    pytest.param(f"{folder}/{name}", marks=pytest.mark.slow)
    for folder, names in MORE.items()
    for name in names
]


@pytest.mark.parametrize("page", [*PAGES, *SLOW])
def test_the_snippets_run(page, tmp_path):
    least, printed = (PAGES | LONG).get(page, (1, ""))
    text = (ROOT / "docs" / f"{page}.md").read_text()
    snippets = SNIPPET.findall(text)
    assert len(snippets) >= least
    path = tmp_path / "page.py"
    path.write_text("\n".join(snippets))
    if page == "pytorch":
        pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'torch' has it)")
    ran = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert printed in ran.stdout
    lines = ran.stdout.splitlines()
    shown = [line for block in SHOWN.findall(text) for line in block.splitlines() if line != "..."]
    assert [line for line in shown if line not in lines] == []


@pytest.mark.slow
def test_the_commands_of_the_readme_run(tmp_path):
    text = (ROOT / "README.md").read_text()
    (tmp_path / "page.py").write_text(
        "\n".join(SNIPPET.findall(text))
    )  # writes the schedule that one of them reads
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, check=True)
    commands = [line.strip() for line in text.splitlines() if line.startswith("    opt-tool ")]
    assert len(commands) >= 5
    for command in commands:
        words = shlex.split(command, comments=True)[1:]
        ran = subprocess.run(
            [sys.executable, "-m", "nestor.tools.opt_tool.main", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, command + ran.stderr
