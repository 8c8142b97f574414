"""What type checkers say of a user's file: nothing. Jitted functions keep their signatures, and public names have types."""

from __future__ import annotations

import importlib.util
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import nestor as nt
import pytest
from places import ROOT

USER = Path(__file__).with_name("typed_user.py")
WRONG = """

scaled(x, bye=3.0)
scaled.lowered(x)
"""

CHECKERS = {
    "mypy": (["mypy", "--strict", "--config-file", "mypy.ini"], "[call-arg]", "[attr-defined]"),
    "pyright": (["pyright", "--pythonpath", sys.executable], "reportCallIssue", "reportAttributeAccessIssue"),
}
MYPY = "[mypy]\ncache_dir = .mypy_cache\n[mypy-nestor.*]\nignore_errors = True\n"


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_a_users_file_is_clean_and_mistakes_are_found(checker, tmp_path):
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} comes with the dev extra")
    (tmp_path / "nestor").symlink_to(ROOT)
    shutil.copy(USER, tmp_path / "user.py")
    (tmp_path / "wrong.py").write_text(USER.read_text() + WRONG)
    (tmp_path / "mypy.ini").write_text(MYPY)
    command, *mistakes = CHECKERS[checker]
    for file, is_clean in (("user.py", True), ("wrong.py", False)):
        done = subprocess.run(
            [sys.executable, "-m", *command, file],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode == 0) is is_clean, done.stdout + done.stderr
        if not is_clean:
            assert all(one in done.stdout for one in mistakes), done.stdout


def test_the_file_runs():
    runpy.run_path(str(USER))


def test_every_public_name_has_a_type():
    text = (ROOT / "__init__.py").read_text()
    missing = [name for name in nt.__all__ if name != "__version__" and f" {name} as {name}\n" not in text]
    assert not missing
