"""The snippets of docs/deploy.md run, in order and in one folder."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deploy.md"
SNIPPET = re.compile(r"^```(python|sh|c)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_snippets_run(tmp_path):
    snippets = SNIPPET.findall(PAGE.read_text())
    assert len(snippets) >= 2
    for number, (kind, text) in enumerate(snippets):
        named = re.match(r"(?:# |/\* )(\w+\.(?:py|c))", text)
        path = tmp_path / (named[1] if named else f"snippet_{number}.{kind}")
        path.write_text(text.replace("nestor-export", f"{sys.executable} -m nestor.tools.export"))
        if kind == "c":
            continue  # a later one builds it; what has no name is a line of a header
        command = [sys.executable, path] if kind == "python" else ["bash", "-eu", path]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert ran.returncode == 0, f"{text}\n{ran.stdout}{ran.stderr}"
