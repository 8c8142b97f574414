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
    shutil.copy(USER, tmp_path / "user.py")
    (tmp_path / "wrong.py").write_text(USER.read_text() + WRONG)
    _, *mistakes = CHECKERS[checker]
    for file, is_clean in (("user.py", True), ("wrong.py", False)):
        done = check(checker, tmp_path, file)
        assert (done.returncode == 0) is is_clean, done.stdout + done.stderr
        if not is_clean:
            assert all(one in done.stdout for one in mistakes), done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_the_examples_are_clean(checker, tmp_path):
    """Strictly, as a user's project may check them: without the examples' folder, whose neighbours are Nestor's own."""
    examples = sorted((ROOT / "examples").glob("*.py"))
    for path in examples:
        text = path.read_text()
        is_strict = "# pyright: strict" in text  # with what it leaves out
        (tmp_path / path.name).write_text(text + ("" if is_strict else "\n# pyright: strict\n"))
    done = check(checker, tmp_path, *(path.name for path in examples))
    assert done.returncode == 0, done.stdout + done.stderr


def check(checker: str, folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """What a checker says of files in a folder of their own, beside an installed Nestor."""
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} comes with the dev extra")
    (folder / "nestor").unlink(missing_ok=True)
    (folder / "nestor").symlink_to(ROOT)
    (folder / "mypy.ini").write_text(MYPY)
    return subprocess.run(
        [sys.executable, "-m", *CHECKERS[checker][0], *files],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_file_runs():
    runpy.run_path(str(USER))


def test_every_public_name_has_a_type():
    text = (ROOT / "__init__.py").read_text()
    missing = [name for name in nt.__all__ if name != "__version__" and f" {name} as {name}\n" not in text]
    assert not missing
