"""What opt-tool tells about itself is true: help by topic, pages of dialects, and what it says of other input."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys

import pytest
from nestor.dialects.registry import load_dialect
from nestor.runtime.cuda import nvrtc
from nestor.tools.opt_tool.command_line import make_parser
from nestor.tools.opt_tool.help_topics import TOPICS
from nestor.tools.opt_tool.main import main
from nestor.tools.opt_tool.targets import TARGETS

NT = """\
func.func @f(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = nt.multiply %x, %x : tensor<8x16xf32>
  func.return %y : tensor<8x16xf32>
}
"""
NEST = """\
func.func @f(%x: memref<64xf32>, %y: memref<64xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 64 {
    %v = nest.load %x[%i] : memref<64xf32>
    nest.store "y" %v, %y[%i] : memref<64xf32>
  }
  func.return
}
"""
ROWS = """\
schedule.sequence @rows for @f {
  %i = schedule.match loops ["i"]
  schedule.parallel %i
}
"""
FAILING = """\
builtin.module {
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(cse)",
      disable_threading: true,
      verify_each: true
    }
  }
#-}
"""
FILES = {
    "nt.mlir": NT,
    "nest.mlir": NEST,
    "rows.mlir": ROWS,
    "pieces.mlir": f"{NT}\n// -----\n{NT}",
    "other.mlir": '"a.b"() : () -> ()\n',
    "expected.mlir": "// expected-error @below {{unknown operation}}\nnt.nothing\n",
    "crash.mlir": FAILING,
    "prog.py": "def f(x, n):\n    return x * n\n",
}
EXAMPLES = [(topic, command) for topic, about in TOPICS.items() for command, _ in about.examples]


@pytest.mark.parametrize(("topic", "command"), EXAMPLES, ids=[command for _, command in EXAMPLES])
def test_the_commands_of_the_help_run(topic, command, tmp_path, monkeypatch, capsys):
    if "ptxas-report" in command and not nvrtc.available():
        pytest.skip("neither NVRTC nor nvcc is installed")
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    program, *arguments = shlex.split(command)
    assert program == "opt-tool"
    assert main(arguments) == 0, capsys.readouterr().err


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_has_its_options_and_its_examples(topic, capsys):
    assert main(["--help", topic]) == 0
    shown = capsys.readouterr().out
    for command, what in TOPICS[topic].examples:
        assert command in shown and what in shown
    groups = [group for group in make_parser()._action_groups if group.title == TOPICS[topic].group]
    assert len(groups) == (topic != "targets")
    for action in (action for group in groups for action in group._group_actions):
        assert action.option_strings[-1] in shown
    assert max(map(len, shown.splitlines())) <= 125


def test_every_group_of_options_has_a_topic():
    titles = {group.title for group in make_parser()._action_groups if group._group_actions}
    assert titles - {about.group for about in TOPICS.values()} == {"positional arguments"}


def test_help_names_topics_and_targets(capsys):
    assert main(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("-\n", "-").split())
    assert all(re.search(rf"[ ({{,]{topic}\b", shown) for topic in TOPICS)
    text = next(action.help for action in make_parser()._actions if action.dest == "target")
    assert set(TARGETS) <= set(re.findall(r"[\w-]+", text))
    assert main(["--help", "targets"]) == 0
    shown = capsys.readouterr().out
    assert all(target.description in shown for target in TARGETS.values())


def test_a_misspelled_topic_is_named(capsys):
    assert main(["--help", "pases"]) == 2
    assert "'pases'" in capsys.readouterr().err


def test_pages_of_dialects_have_every_operation_with_its_documentation(capsys):
    assert main(["--show-dialects=nt,nest,schedule", "--markdown"]) == 0
    page = capsys.readouterr().out
    for name in ("nt", "nest", "schedule"):
        for operation in load_dialect(name).operations:
            section = page.partition(f"\n## {operation.name}\n")[2].partition("\n## ")[0]
            assert (operation.__doc__ or "").strip().splitlines()[0] in section
            definition = operation.get_irdl_definition()
            for entry, _ in (*definition.operands, *definition.results, *definition.regions):
                assert f"| `{entry}` |" in section
    load = page.partition("\n## nest.load\n")[2].partition("\n## ")[0]
    assert "| operand | `memref` | `memref` |" in load
    assert "| operand | `indices` | any number, `index` |" in load or "any number, `index`" in load


def test_the_page_of_all_dialects_goes_to_a_file(tmp_path):
    file = tmp_path / "dialects.md"
    assert main(["--show-dialects", "--markdown", "-o", str(file)]) == 0
    assert {"# nt", "# arith", "# scf"} <= set(file.read_text().splitlines())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--show-dialects=nets"], "no dialect 'nets'"),
        (["--show-dialects=arith", "--irdl"], "no dialect 'arith'"),
        (["--markdown"], "--show-dialects"),
        (["--show-dialects", "--markdown", "--irdl"], "exclude each other"),
    ],
)
def test_what_cannot_be_shown_is_said(arguments, message, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_bytecode_is_refused_with_a_way_out(tmp_path, capsys):
    file = tmp_path / "f.mlirbc"
    file.write_bytes(b"ML\xefR\x06MLIR22\0\0\1\2")
    assert main([str(file)]) == 1
    said = capsys.readouterr().err
    assert "f.mlirbc is MLIR bytecode" in said and "mlir-opt" in said


LOUD = """
import os, sys
from sys import stdout
print("printed")
stdout.write("written")
os.write(1, b"raw")
os.system("echo shell")
def f(x):
    return x * 2
"""


@pytest.mark.skipif(shutil.which("sh") is None, reason="no sh")
def test_what_a_program_prints_is_not_among_the_ir(tmp_path):
    (tmp_path / "loud.py").write_text(LOUD)
    command = [
        sys.executable,
        "-m",
        "nestor.tools.opt_tool.main",
        "--emit-nt",
        "loud.py:f",
        "--spec",
        "f32[3]",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("builtin.module {\n  func.func @f")
    for word in ("printed", "written", "raw", "shell"):
        assert word not in done.stdout and word in done.stderr
    (tmp_path / "ir.mlir").write_text(done.stdout)
    assert main([str(tmp_path / "ir.mlir"), "-o", str(tmp_path / "out.mlir")]) == 0


def test_what_a_plugin_prints_is_not_among_the_ir(tmp_path, capfd):
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "from dataclasses import dataclass\nfrom xdsl.passes import ModulePass\nprint('loud')\n"
        "@dataclass(frozen=True)\nclass P(ModulePass):\n    name = 'p'\n    def apply(self, ctx, op): pass\n"
    )
    (tmp_path / "nt.mlir").write_text(NT)
    assert main([str(tmp_path / "nt.mlir"), f"--load-pass-plugin={plugin}", "-p", "p"]) == 0
    captured = capfd.readouterr()
    assert "loud" in captured.err and captured.out.startswith("builtin.module")
