"""Pipelines read and print without loss; opt-tool's exit codes and streams."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nestor.dialects.diagnostic import SourceLocation
from nestor.tools.opt_tool.main import main
from nestor.tools.opt_tool.pipeline_syntax import (
    Element,
    Option,
    PipelineError,
    parse_pipeline,
    print_pipeline,
)
from sampling import seeds

_PLACE = SourceLocation("<test>")

names = st.from_regex(r"[a-z][a-z0-9\-]{0,8}(\.[a-z]+)?", fullmatch=True)
keys = st.from_regex(r"[a-z][a-z0-9\-]{0,5}", fullmatch=True)
values = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
options = st.builds(Option, keys, st.lists(values, max_size=3).map(tuple), st.just(_PLACE))
passes = st.builds(Element, names, st.just(_PLACE), st.lists(options, max_size=3).map(tuple))
elements = st.recursive(
    passes,
    lambda inner: st.builds(
        Element, names, st.just(_PLACE), st.just(()), st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=8,
)


@settings(
    max_examples=len(seeds(40)), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # the machine may be busy
@given(st.lists(elements, max_size=3).map(tuple))
def test_print_and_parse(pipeline):
    assert parse_pipeline(print_pipeline(pipeline)) == pipeline


@given(st.text(alphabet="ab,(){}= \"'\\.1", max_size=20))
def test_any_text_is_read_or_refused(text):
    try:
        parse_pipeline(text)
    except PipelineError as error:
        assert error.diagnostic.location is not None


def test_mlir_lists():
    (element,) = parse_pipeline("tile{sizes={4,8} flat=true}")
    assert [(o.key, o.values) for o in element.options] == [("sizes", ("4", "8")), ("flat", ("true",))]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 0),
        (["-p", "cse"], 0),
        (["-t", "llvm-ir"], 1),
        (["-p", "nothing"], 2),
        (["--nothing"], 2),
        (["--help"], 0),
        (["--version"], 0),
    ],
)
def test_exit_codes(tmp_path, capsys, arguments, code):
    path = tmp_path / "input.mlir"
    path.write_text("func.func private @f()\n")
    assert main([str(path), *arguments]) == code


def test_an_internal_error_is_code_3(tmp_path, capsys):
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "from xdsl.passes import ModulePass\n"
        "class Crash(ModulePass):\n"
        "    name = 'crash'\n"
        "    def apply(self, ctx, op):\n"
        "        op.nothing\n"
    )
    path = tmp_path / "input.mlir"
    path.write_text("")
    assert main([str(path), f"--load-pass-plugin={plugin}", "-p", "crash"]) == 3
    assert "internal error in pass crash: AttributeError" in capsys.readouterr().err


def test_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"func.func private @f(")))
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("<stdin>:1:22: error: ")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_a_diagnostic(tmp_path, capsys):
    path = tmp_path / "input.mlir"
    path.write_text("")
    assert main([str(path), "-o", "/dev/full"]) == 1
    assert "cannot write output file '/dev/full': No space left" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--version", "--show-dialects"])
def test_a_reader_that_goes_away_is_no_error(option):
    command = [sys.executable, "-m", "nestor.tools.opt_tool.main", option]
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert "Traceback" not in process.stderr
    assert "Exception" not in process.stderr
