"""`python -m nestor.tools.new`, in a copy of the tree: what it writes is all that is needed, and no more."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from places import ROOT

pytestmark = pytest.mark.one_of(3)

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, without what was built or made by runs."""
    copy = tmp_path_factory.mktemp("new") / "nestor"
    ignored = shutil.ignore_patterns(
        ".*", "__pycache__", "*.egg-info", "build", "results", "Output", "demo-output"
    )
    shutil.copytree(ROOT, copy, ignore=ignored)
    return copy


@pytest.fixture
def checkout(copy: Path) -> Iterator[Path]:
    """The copy, which is as it was afterwards: all modules that did not change stay compiled, beside it."""
    before = {path: (path.stat(), path.read_bytes()) for path in copy.rglob("*") if path.is_file()}
    yield copy
    for path in copy.rglob("*"):
        if path.is_file() and path not in before:
            path.unlink()
    for path, (was, text) in before.items():
        if path.read_bytes() != text:
            path.write_bytes(text)
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


@pytest.fixture
def run(checkout: Path) -> Run:
    """Runs a module of Python in the copy; `nestor` is the copy."""

    def run_module(*arguments: str) -> subprocess.CompletedProcess[str]:
        compiled = str(checkout.parent / "compiled")
        environment = {**os.environ, "PYTHONPATH": str(checkout.parent), "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return subprocess.run(
            [sys.executable, "-m", *arguments], cwd=checkout, env=environment, capture_output=True, text=True
        )

    return run_module


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def recipe(kind: str, words: dict[str, str]) -> set[str]:
    """The files that CONTRIBUTING.md names for `kind`: the paths of the list that follows `new {kind}`."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    listed = re.search(rf"new {kind}[^#]*?\n\n((?:[-*] .*\n(?:  .*\n)*)+)", text)
    assert listed is not None, f"CONTRIBUTING.md has no recipe of `new {kind}`"
    paths = re.findall(r"^[-*] `([^`]+)`", listed[1], re.MULTILINE)
    for word, value in words.items():
        paths = [path.replace(word, value) for path in paths]
    return set(paths)


KINDS = {
    "primitive": (
        ["skewer_up", "--room", "memory"],
        {"<name>": "skewer_up", "<na-me>": "skewer-up", "<room>": "memory"},
        7,
    ),
    "pass": (
        ["nest-strip-all"],
        {"<name>": "nest-strip-all", "<module>": "strip_all", "<folder>": "transforms/nest/cleanup"},
        4,
    ),
    "op": (["softened", "--operands", "2"], {"<name>": "softened"}, 5),
    "op NAME --transcendental": (
        ["widened_out", "--transcendental"],
        {"<name>": "widened_out", "<na-me>": "widened-out"},
        5,
    ),
}
"""The arguments, what the recipe's words stand for then, and how many files there may be at most."""

TESTS = {
    "primitive": [
        "tests/unit/repository/test_every_pass_is_tested.py",
        "tests/unit/transforms/schedule/test_schedule_table.py",
        "tests/unit/transforms/schedule/test_schedule_lit_coverage.py",
        "tests/schedules/test_schedules.py::test_every_primitive_has_a_row",
        "tests/schedules/test_checks.py::test_every_checker_is_shown_to_matter",
    ],
    "pass": ["tests/unit/repository/test_every_pass_is_tested.py"],
    "op": ["tests/unit/dialects/test_nt_elementwise.py", "tests/programs/test_softened.py"],
    "op NAME --transcendental": [
        "tests/unit/dialects/test_nt_elementwise.py",
        "tests/unit/lowering/test_cpu_math.py",
        "tests/unit/lowering/test_cuda_expressions.py::test_the_table_is_covered",
        "tests/programs/test_widened_out.py",
    ],
}
"""The tests that ask for files, rows and lines of what is new."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_recipe_names_what_is_written_and_that_is_all_there_is_to_write(kind, checkout, run):
    arguments, words, most = KINDS[kind]
    before = contents(checkout)
    done = run("nestor.tools.new", kind.split()[0], *arguments)
    assert done.returncode == 0, done.stderr
    after = contents(checkout)
    touched = {path for path in after if before.get(path) != after[path]}
    assert touched == recipe(kind, words)
    assert len(touched) <= most
    assert set(re.findall(r"^  (\S+)$", done.stdout, re.MULTILINE)) == touched
    assert "FILL IN" in done.stdout
    check(kind, arguments[0], checkout, run)


def check(kind: str, name: str, checkout: Path, run: Run) -> None:
    """The skeleton is loaded, its pass and its FileCheck tests run, and the tests that ask for files find them."""
    pass_name = {"primitive": "nest-" + name.replace("_", "-"), "pass": name}.get(kind)
    if pass_name is not None:
        listed = run("nestor.tools.opt_tool.main", "--list-passes")
        assert f"  {pass_name} " in listed.stdout
        assert not listed.stderr
    found = (checkout / "tests" / "filecheck").rglob(f"*{pass_name or name.replace('_', '-')}*.mlir")
    for test in found:
        ((quoted, plain),) = re.findall(r"-p (?:'([^']*)'|(\S+))", test.read_text())
        verify = ["--split-input-file", "--verify-diagnostics"] if "invalid" in test.name else []
        ran = run("nestor.tools.opt_tool.main", str(test), "-p", quoted or plain, *verify)
        assert ran.returncode == 0, ran.stderr
        for line in re.findall(r"CHECK: ([^{}\n]*)$", test.read_text(), re.MULTILINE):
            assert line in ran.stdout
    wanted = [name, pass_name or name, "not ["]
    tested = run("pytest", "-q", "-p", "no:cacheprovider", "-k", " or ".join(wanted), *TESTS[kind])
    assert tested.returncode == 0, tested.stdout[-3000:]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["primitive", "Skewer"], "'Skewer' is not a name for a primitive"),
        (["primitive", "class"], "'class' is not a name for a primitive"),
        (["primitive", "split"], "there is a primitive called 'split' already"),
        (["pass", "strip"], "'strip' is not a name for a pass"),
        (["pass", "nest-freeze"], "there is a pass called 'nest-freeze' already"),
        (["pass", "nt-strip", "--room", "loops"], "passes of nt have one room"),
        (["op", "erfc"], "there is an operation called 'erfc' already"),
        (["op", "isclose"], "NumPy has a function 'isclose'"),
        (["pass", "nest-bounds", "--room", "cleanup"], ""),
    ],
)
def test_names_that_are_refused(arguments, message, checkout, run):
    if not message:  # a file that is there is never written over
        (checkout / "transforms/nest/cleanup/bounds.py").write_text("# of somebody\n")
        message = "transforms/nest/cleanup/bounds.py exists already"
    before = contents(checkout)
    done = run("nestor.tools.new", *arguments)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {message}") and "help: " in done.stderr
    assert contents(checkout) == before


@pytest.mark.parametrize("name", ["transposes", "pooling"])
def test_the_recipe_of_a_cuda_strategy_is_that_of_those_there_are(name):
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("### A CUDA strategy")[2].partition("\n#")[0]
    paths = [
        path.replace("<name>", name).replace("<na-me>", name)
        for path in re.findall(r"^- `([^`]+)`", text, re.M)
    ]
    assert 3 <= len(paths) <= 6
    assert all((ROOT / path).exists() for path in paths), paths
    assert f"from .{name} import" in (ROOT / "transforms/schedulers/cuda/schedule_cuda.py").read_text()
