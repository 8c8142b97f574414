"""opt-tool against broken input: a non-zero code and one screen of diagnostics, never a traceback."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import pytest
from nestor.tools.opt_tool.main import main

pytestmark = pytest.mark.one_of(3)

OPT_TOOL = f"{sys.executable} -m nestor.tools.opt_tool.main"

VALID = """\
func.func @f(%x: i32, %c: i1) -> i32 {
  %a = arith.addi %x, %x : i32
  %r = scf.if %c -> (i32) {
    scf.yield %a : i32
  } else {
    scf.yield %x : i32
  }
  func.return %r : i32
}
"""


def body(text: str) -> str:
    return f"func.func @f(%x: i32, %m: memref<4xf32>, %c: i1) {{\n  {text}\n  func.return\n}}\n"


SYNTAX = {
    "stray word": "hello world\n",
    "stray brace": "}\n",
    "only punctuation": "= ( ) ,\n",
    "unbalanced braces": "func.func @f() {\n  func.return\n",
    "one brace too many": VALID + "}\n",
    "unclosed string": '"func.func() : () -> ()\n',
    "unclosed string and a long line": '"a' + "b" * 5_000 + "\n",
    "unclosed string after an escape": '"test.op"() {a = "\\n' + "x" * 100 + "} : () -> ()\n",
    "unclosed string at the end": '"test.op"() {a = "' + "x" * 100,
    "unclosed name": "func.func @" + '"' + "f" * 100 + "() {\n  func.return\n}\n",
    "bad escape in string": '"test.op"() {a = "\\q"} : () -> ()\n',
    "unclosed parenthesis": "func.func @f(%x: i32 {\n}\n",
    "missing symbol name": "func.func (%x: i32) {\n  func.return\n}\n",
    "missing type": body("%a = arith.addi %x, %x"),
    "missing colon": body("%a = arith.addi %x, %x i32"),
    "missing operand": body("%a = arith.addi %x : i32"),
    "missing equals": body("%a arith.addi %x, %x : i32"),
    "missing operation after equals": body("%a ="),
    "unknown type": body("%a = arith.constant 1 : int"),
    "unknown dialect type": "func.func @f(%x: !foo.bar) {\n  func.return\n}\n",
    "dialect type without a dot": "func.func @f(%x: !foo) {\n  func.return\n}\n",
    "unknown attribute": '"test.op"() {a = #foo.bar} : () -> ()\n',
    "unknown alias": '"test.op"() {a = #nothing} : () -> ()\n',
    "alias defined twice": "#a = 1 : i32\n#a = 2 : i32\n",
    "duplicate attribute": '"test.op"() {a = 1 : i32, a = 2 : i32} : () -> ()\n',
    "unknown dialect": "foo.bar\n",
    "unknown operation": body("%a = arith.adi %x, %x : i32"),
    "unknown operation, generic form": '"arith.adi"() : () -> ()\n',
    "undefined value": body("%a = arith.addi %y, %x : i32"),
    "value redefined": body("%x = arith.addi %x, %x : i32"),
    "argument redefined": "func.func @f(%x: i32, %x: i32) {\n  func.return\n}\n",
    "operand used at two types": body("%a = arith.addi %x, %x : i64"),
    "forward reference at another type": body("%a = arith.addi %b, %x : i32\n  %b = arith.constant 1 : i64"),
    "undefined block": '"func.func"() ({\n^bb0:\n  "cf.br"()[^bb7] : () -> ()\n}) : () -> ()\n',
    "block redefined": "func.func @f() {\n^bb1:\n  func.return\n^bb1:\n  func.return\n}\n",
    "too many results": body("%a, %b = arith.addi %x, %x : i32"),
    "result index out of bounds": body("%a = arith.addi %x, %x : i32\n  %b = arith.addi %a#3, %x : i32"),
    "wrong generic signature": '"arith.addi"(%x) : i32\n',
    "more operands than types": body('"test.op"(%x, %x) : (i32) -> ()'),
    "bad shape": "func.func @f(%m: memref<4xx4xf32>) {\n  func.return\n}\n",
    "negative shape": "func.func @f(%m: memref<-4xf32>) {\n  func.return\n}\n",
    "bad vector shape": "func.func @f(%v: vector<?xf32>) {\n  func.return\n}\n",
    "bad affine map": '"test.op"() {a = affine_map<(i) -> (j)>} : () -> ()\n',
    "huge integer literal": body("%a = arith.constant " + "9" * 10_000 + " : i64"),
    "integer beyond its type": body("%a = arith.constant 999999999999 : i32"),
    "bad hexadecimal float": body("%a = arith.constant 0x1g : f32"),
    "bad location": body("%a = arith.addi %x, %x : i32 loc(nowhere"),
    "bad file metadata": "{-# nonsense: {} #-}\n",
    "NUL byte": "func.func @f() {\0}\n",
    "control characters": "func.func @f() {\x01\x02\x1b}\n",
    "unicode punctuation": "func.func @f() → i32\n",
    "a very long line": "func.func @f() { " + "x" * 100_000 + "\n",
    "python": "def f(x):\n    return x\n",
    "json": '{"a": [1, 2, 3]}\n',
}

INVALID = {
    "operand types differ": body('%a = "arith.addi"(%x, %c) : (i32, i1) -> i32'),
    "result type differs": body('%a = "arith.addi"(%x, %x) : (i32, i32) -> i64'),
    "missing operands": body('%a = "arith.addi"() : () -> i32'),
    "missing property": body('%a = "arith.cmpi"(%x, %x) : (i32, i32) -> i1'),
    "missing region": '"func.func"() {sym_name = "f", function_type = () -> ()} : () -> ()\n',
    "use before definition": body("%a = arith.addi %b, %x : i32\n  %b = arith.addi %x, %x : i32"),
    "use of another function's value": (
        "func.func @g() -> i32 {\n  func.return %v : i32\n}\n"
        "func.func @f() {\n  %v = arith.constant 1 : i32\n  func.return\n}\n"
    ),
    "definition on one branch only": (
        "func.func @f(%c: i1) -> i32 {\n  cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n"
        "  %a = arith.constant 1 : i32\n  cf.br ^bb2\n^bb2:\n  func.return %a : i32\n}\n"
    ),
    "operation using its own result": body("%a = arith.addi %a, %x : i32"),
    "return of the wrong type": "func.func @f(%x: i32) -> f32 {\n  func.return %x : i32\n}\n",
    "no terminator": "func.func @f(%x: i32) {\n  %a = arith.addi %x, %x : i32\n}\n",
    "terminator in the middle": body("cf.br ^bb1\n  func.return\n^bb1:"),
    "return outside of a function": "func.return\n",
    "wrong number of indices": body(
        "%i = arith.constant 0 : index\n  %a = memref.load %m[%i, %i] : memref<4xf32>"
    ),
    "no return": "func.func @f(%x: i32) {\n}\n",
    "symbol defined twice": "func.func private @f()\nfunc.func private @f()\n",
    "every operation wrong": (
        "".join(
            f'func.func @f{i}(%x: i32) {{\n  %a = "arith.addi"(%x) : (i32) -> i32\n  func.return\n}}\n'
            for i in range(40)
        )
    ),
}

PIPELINES = {
    "unknown pass": "csee",
    "unknown pass far from any": "zzzzzz",
    "empty element": "cse,,cse",
    "trailing comma": "cse,",
    "unclosed options": "cse{",
    "unclosed anchor": "func.func(cse",
    "closing brace alone": "cse}",
    "closing parenthesis alone": "cse)",
    "unknown option": "cse{fast}",
    "wrong option type": "scf-parallel-loop-tiling{parallel-loop-tile-sizes=big}",
    "missing option": "scf-parallel-loop-tiling",
    "option without a value": "scf-parallel-loop-tiling{parallel-loop-tile-sizes=}",
    "option beyond all buffers": "nest-split{loop=i factor=9223372036854775808}",
    "member of a list beyond all buffers": "nest-tile{loops=i,j sizes=4,-9999999999999999999}",
    "options of a named pipeline": "cpu{threads=2}",
    "punctuation": "!!!",
    "unclosed quote": 'mlir-opt{executable="x}',
    "not isolated": "func.func(arith.addi(cse))",
}

COMMAND_LINES = {
    "unknown option": ["--frobnicate"],
    "misspelled option": ["--print-ir-after-al"],
    "a pass as an option": ["--cse"],
    "unknown target": ["-t", "lvm-ir"],
    "option without its value": ["-p"],
    "both pipelines": ["-p", "cse", "--pass-pipeline=builtin.module(cse)"],
    "pipeline without an anchor": ["--pass-pipeline=cse"],
    "unknown pass to print after": ["--print-ir-after=csee"],
    "two inputs": ["another.mlir"],
    "not a reproducer": ["--run-reproducer"],
    "wrong level for llvm-ir": ["-t", "llvm-ir"],
    "wrong level for cuda": ["-t", "cuda"],
    "wrong level for ptx": ["-t", "ptx"],
    "wrong level for asm": ["-t", "asm"],
}


def rejected(capsys, *arguments: str) -> str:
    """Run opt-tool, which must fail in a civil manner; returns its standard error."""
    code = main(list(arguments))
    error = capsys.readouterr().err
    assert code in (1, 2), f"exit code {code}:\n{error}"
    assert "error: " in error
    assert "Traceback" not in error
    assert "internal error" not in error, error
    lines = error.splitlines()
    assert len(lines) < 25, error
    assert max(map(len, lines)) < 500, error
    return error


def write(tmp_path, content: str | bytes) -> str:
    path = tmp_path / "input.mlir"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize("text", SYNTAX.values(), ids=SYNTAX.keys())
def test_syntax(tmp_path, capsys, text):
    path = write(tmp_path, text)
    assert f"{path}:" in rejected(capsys, path)


@pytest.mark.parametrize("text", INVALID.values(), ids=INVALID.keys())
def test_invalid_ir(tmp_path, capsys, text):
    path = write(tmp_path, text)
    assert f"{path}:" in rejected(capsys, path)


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES.keys())
def test_pipeline(tmp_path, capsys, pipeline):
    rejected(capsys, write(tmp_path, VALID), "-p", pipeline)


@pytest.mark.parametrize("arguments", COMMAND_LINES.values(), ids=COMMAND_LINES.keys())
def test_command_line(tmp_path, capsys, arguments):
    rejected(capsys, write(tmp_path, VALID), *arguments)


@pytest.mark.parametrize("length", [5, 17, 25, 45, 60, 80, 100, 125, 150])
def test_truncated(tmp_path, capsys, length):
    rejected(capsys, write(tmp_path, VALID[:length]))


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)),
        b"\xff\xfe" + VALID.encode("utf-16-le"),
        b"\x7fELF\x02\x01\x01",
        VALID.encode() + b"\xc3(",
    ],
    ids=["all bytes", "utf-16", "binary", "invalid utf-8"],
)
def test_not_text(tmp_path, capsys, data):
    rejected(capsys, write(tmp_path, data))


@pytest.mark.parametrize("text", ["", "\n\n", "// nothing\n"], ids=["empty", "blank", "comment"])
def test_an_empty_file_is_an_empty_module(tmp_path, capsys, text):
    assert main([write(tmp_path, text)]) == 0
    assert capsys.readouterr().out.split() == ["builtin.module", "{", "}"]


def test_missing_file(tmp_path, capsys):
    assert "No such file" in rejected(capsys, str(tmp_path / "nothing.mlir"))


def test_directory(tmp_path, capsys):
    assert "directory" in rejected(capsys, str(tmp_path))


def test_output_directory_missing(tmp_path, capsys):
    assert "No such file" in rejected(capsys, write(tmp_path, VALID), "-o", str(tmp_path / "no" / "out.mlir"))


def test_output_is_a_directory(tmp_path, capsys):
    rejected(capsys, write(tmp_path, VALID), "-o", str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_output_not_writable(tmp_path, capsys):
    output = tmp_path / "out.mlir"
    output.write_text("keep me")
    output.chmod(stat.S_IRUSR)
    rejected(capsys, write(tmp_path, VALID), "-o", str(output))
    assert output.read_text() == "keep me"


def test_a_failure_leaves_the_old_output(tmp_path, capsys):
    output = tmp_path / "out.mlir"
    output.write_text("keep me")
    rejected(capsys, write(tmp_path, INVALID["missing operands"]), "-o", str(output))
    assert output.read_text() == "keep me"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["input.mlir", "out.mlir"]


@pytest.mark.parametrize("depth", [500, 50_000])
def test_deep_regions(tmp_path, capsys, depth):
    text = "func.func @f(%c: i1) {\n" + "scf.if %c {\n" * depth + "}\n" * depth + "func.return\n}\n"
    rejected_or_fine(capsys, write(tmp_path, text), "-p", "canonicalize")


def test_an_unclosed_string_is_shown_where_it_opens(tmp_path, capsys):
    """Strings end on their line: what follows is not read 2^100 times to find the end."""
    path = write(tmp_path, VALID + 'func.func private @g() attributes {a = "' + "x" * 100 + "}\n" + VALID)
    assert f"{path}:10:40: error: this string is not closed on its line" in rejected(capsys, path)


def test_a_symbol_defined_twice_is_shown_at_both_places(tmp_path, capsys):
    path = write(tmp_path, VALID + "\n" + VALID)
    error = rejected(capsys, path)
    assert f"{path}:11:1: error: redefinition of symbol '@f'" in error
    assert f"{path}:1:1: note: it is defined here as well" in error


def in_shell(command: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False, **options
    )


def test_a_pipe_as_input(tmp_path):
    """A FIFO is read to its end like a file."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "input.mlir").write_text(VALID)
    done = in_shell(f"cat {tmp_path}/input.mlir > {fifo} & {OPT_TOOL} {fifo}; wait")
    assert done.returncode == 0 and "func.func @f" in done.stdout, done.stderr
    done = in_shell(f"echo 'foo.bar' > {fifo} & {OPT_TOOL} {fifo}; wait")
    assert done.returncode == 0 and f"{fifo}:1:1: error: unknown dialect" in done.stderr, done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_gone(tmp_path, unbuffered):
    """`| head`: nothing is said, and the exit code is not that of success."""
    path = write(tmp_path, "".join(VALID.replace("@f", f"@f{i}") for i in range(600)))
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = in_shell(f"({OPT_TOOL} {path}; echo code $? >&2) | head -c 1", env=environment)
    assert done.stderr == "code 1\n"


def test_a_locale_without_the_characters(tmp_path):
    """IR is UTF-8, and is printed so, whatever the terminal is said to speak."""
    path = write(tmp_path, 'func.func @f() {\n  nest.for "Ж" %i = 0 to 2 {\n  }\n  func.return\n}\n')
    done = subprocess.run(
        [*OPT_TOOL.split(), path],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert done.returncode == 0 and "Ж" in done.stdout.decode("utf-8"), done.stderr


def test_nothing_is_left_of_an_output_that_cannot_be_written(tmp_path, capsys):
    path = write(tmp_path, VALID)
    rejected(capsys, path, "-o", str(tmp_path / "no" / "such" / "out.mlir"))
    rejected(capsys, path, "-p", "nest-split{loop=i factor=2}", "-o", str(tmp_path / "out.mlir"))
    rejected(capsys, path, "--print-ir-diff", str(tmp_path / "input.mlir" / "pages"), "-p", "cse")
    rejected(capsys, path, "-p", "no-such-pass", "--crash-reproducer", str(tmp_path / "no" / "r.mlir"))
    assert [p.name for p in tmp_path.iterdir()] == ["input.mlir"]


@pytest.mark.parametrize("depth", [500, 50_000])
def test_deep_parentheses(tmp_path, capsys, depth):
    index = "(" * depth + "%i" + ")" * depth
    text = (
        f"func.func @f(%x: memref<4xf32>, %i: index) {{\n  %a = nest.load %x[{index}] : memref<4xf32>\n}}\n"
    )
    rejected_or_fine(capsys, write(tmp_path, text), "-p", "nest-schedule-cpu")


@pytest.mark.parametrize("depth", [100, 5_000])
def test_deep_loops(tmp_path, capsys, depth):
    loops = "".join(f'nest.for "i{k}" %i{k} = 0 to 2 {{\n' for k in range(depth)) + "}\n" * depth
    text = "func.func @f() {\n" + loops + "func.return\n}\n"
    rejected_or_fine(capsys, write(tmp_path, text), "-p", "cpu")


def test_a_long_chain_of_sums(tmp_path, capsys):
    text = "func.func @f(%x: memref<4xf32>, %i: index) {\n  %a = nest.load %x[%i" + " + 1 + %i" * 20_000
    rejected_or_fine(capsys, write(tmp_path, text + "] : memref<4xf32>\n  func.return\n}\n"))


@pytest.mark.parametrize("depth", [500, 50_000])
def test_deep_attributes(tmp_path, capsys, depth):
    rejected_or_fine(capsys, write(tmp_path, f'"test.op"() {{a = {"[" * depth}{"]" * depth}}} : () -> ()\n'))


@pytest.mark.parametrize("depth", [500, 50_000])
def test_deep_types(tmp_path, capsys, depth):
    text = f"func.func private @f({'tuple<' * depth}i32{'>' * depth})\n"
    rejected_or_fine(capsys, write(tmp_path, text))


def rejected_or_fine(capsys, *arguments: str) -> None:
    """Deep nesting may be handled or refused, but in a civil manner."""
    code = main(list(arguments))
    error = capsys.readouterr().err
    assert code in (0, 1), error[:2000]
    assert "Traceback" not in error
    assert (code == 0) == (not error)
    assert len(error) < 3000
