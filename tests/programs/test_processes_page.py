"""The snippets of docs/processes.md run, in order, as one program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "processes.md"
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_snippets_run(tmp_path):
    snippets = SNIPPET.findall(PAGE.read_text())
    assert len(snippets) >= 2
    path = tmp_path / "page.py"
    path.write_text("\n".join(snippets))
    ran = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
