"""The snippets of docs/debugging.md run, and the error that the page shows is the one that is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "debugging.md").read_text()


def test_the_snippets_run(tmp_path):
    snippets = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(snippets) == 5
    printed = ""
    for text in snippets:
        path = tmp_path / "entropy.py"
        path.write_text(text)
        ran = subprocess.run([sys.executable, path.name], cwd=tmp_path, capture_output=True, text=True)
        assert ran.returncode == 0, f"{text}\n{ran.stdout}{ran.stderr}"
        printed += ran.stdout
    shown = PAGE[PAGE.index("prints\n") : PAGE.index("The call runs compiled")].splitlines()[2:-1]
    told = [line.replace(f"{tmp_path}/", "") for line in printed.splitlines()]
    assert [line[4:] for line in shown] == [
        line for line in told if line[:1].isspace() or "entropy.py" in line
    ][: len(shown)]
