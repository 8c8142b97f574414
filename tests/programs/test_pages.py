"""The snippets of a page of docs/ run, in order, as one program."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from places import ROOT

SNIPPET = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = {"executor": (5, "noted runs in Python"), "processes": (2, ""), "custom-ops": (7, "")}
"""By the page: how many snippets it has at least, and what they print."""


@pytest.mark.parametrize("page", PAGES)
def test_the_snippets_run(page, tmp_path):
    least, printed = PAGES[page]
    snippets = SNIPPET.findall((ROOT / "docs" / f"{page}.md").read_text())
    assert len(snippets) >= least
    path = tmp_path / "page.py"
    path.write_text("\n".join(snippets))
    ran = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert printed in ran.stdout
