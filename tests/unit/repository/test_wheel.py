"""A wheel and a source distribution are built, and what is installed from the wheel works, on each Python that is here."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from places import ROOT

pytestmark = pytest.mark.slow

PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
USE = """
import sys
import numpy as np
import nestor as nt
from nestor.tools import demo


@nt.jit
def scores(x, w):
    z = (x - x.mean(axis=1, keepdims=True)) * w
    return np.exp(-z * z)


x, w = np.random.default_rng(0).random((300, 64)), np.ones(64)
for _ in range(3):
    np.testing.assert_allclose(scores(x, w), scores.__wrapped__(x, w))
assert nt.grad(lambda w: scores(x, w).sum())(w).shape == (64,)
try:
    scores(x, np.ones(3))
except ValueError as error:
    assert "  see: docs/errors.md#shapeerror" in str(error).splitlines(), error
assert nt.__path__[0].startswith(sys.prefix)
demo.BOXES = 10_000
raise SystemExit(demo.main())
"""


def _run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(one) for one in command], cwd=cwd, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT, cwd=folder)
    (made,) = folder.glob("nestor-*.whl")
    return made


def test_the_wheel_has_what_messages_point_to_and_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {"nestor/docs/errors.md", "nestor/docs/numpy.md", "nestor/examples/iou.py"} <= set(names)
    assert not [name for name in names if name.startswith(("nestor/tests/", "nestor/benchmarks/"))]


def test_a_source_distribution_makes_the_same_wheel(wheel, tmp_path):
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    tools = str(tmp_path / "tools")  # that beside pip, where there is one, may be older
    _run(sys.executable, "-m", "pip", "install", "-q", "--target", tools, *needed, cwd=tmp_path)
    build = f"from setuptools import build_meta; print(build_meta.build_sdist({str(tmp_path)!r}))"
    _run(sys.executable, "-c", f"import sys; sys.path.insert(0, {tools!r}); {build}", cwd=ROOT)
    (source,) = tmp_path.glob("nestor-*.tar.gz")
    _run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, source, cwd=tmp_path)
    (made,) = tmp_path.glob("nestor-*.whl")
    assert sorted(zipfile.ZipFile(made).namelist()) == sorted(zipfile.ZipFile(wheel).namelist())


@pytest.mark.parametrize("python", PYTHONS)
def test_what_is_installed_works(python, wheel, tmp_path):
    found = shutil.which(python)
    if found is None or subprocess.run([found, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"there is no {python} here")
    home = tmp_path / "home"
    _run(found, "-m", "venv", home, cwd=tmp_path)
    installed = home / "bin" / "python"
    _run(installed, "-m", "pip", "install", "-q", wheel, cwd=tmp_path)
    (tmp_path / "use.py").write_text(USE)
    shown = _run(installed, tmp_path / "use.py", cwd=tmp_path)
    assert (
        "one kernel: 8 loads, 1 store an element" in shown
        and (tmp_path / "demo-output" / "index.html").exists()
    )
    assert "opt-tool" in _run(home / "bin" / "opt-tool", "--version", cwd=tmp_path)
