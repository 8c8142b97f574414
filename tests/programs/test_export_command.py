"""`nestor-export`, and `opt-tool -t object`: C from the command line."""

from __future__ import annotations

import subprocess

import nestor as nt
import numpy as np
import pytest
from nestor.tools.export import main
from nestor.tools.opt_tool.main import main as opt_tool

MODEL = """
import numpy as np
import nestor as nt

def scaled(x, n):
    return x * n

@nt.jit(dynamic=True)
def total(x):
    return x.sum(axis=0)

def shown(x):
    print(x)
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def test_a_library_from_the_command_line(model, tmp_path, capsys):
    folder = tmp_path / "lib"
    assert main([f"{model}:scaled", "--spec", "f32[n], int", "-o", str(folder), "--threads", "none"]) == 0
    files = capsys.readouterr().out.split()
    assert sorted(files) == sorted(map(str, folder.iterdir())) and len(files) == 8
    header = (folder / "scaled.h").read_text()
    assert (
        "int32_t scaled(const float *x, int64_t n_2, int64_t n, float *result, nestor_error *error);"
        in header
    )
    assert main([f"{model}:total", "--spec", "f64[?,3]", "-o", str(folder), "--name", "sums"]) == 0
    assert (folder / "libsums.a").exists()


def test_a_saved_program_from_the_command_line(model, tmp_path):
    path = tmp_path / "f.nestor"
    assert main([f"{model}:total", "--spec", "f64[?,3]", "-o", str(path), "--machine", "x86-64-v3"]) == 0
    x = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(nt.load(path)(x), x.sum(axis=0))
    assert b"avx512" not in path.read_bytes()[:2000]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{model}:missing", "-o", "{lib}"], 1, "defines no 'missing'"),
        (["{model}", "-o", "{lib}"], 1, "is not of the form file.py:function"),
        (["{model}:scaled", "--spec", "f32[3", "-o", "{lib}"], 1, "cannot read the spec"),
        (["{model}:scaled", "--spec", "f32[3]", "-o", "{lib}"], 1, "missing a required argument: 'n'"),
        (["{model}:shown", "--spec", "f32[3]", "-o", "{lib}"], 1, "prints or calls Python"),
        (["{model}:scaled", "--spec", "f32[3], int", "-o", "{model}"], 1, "cannot be written"),
        (["{model}:total", "--spec", "f64[3]", "-o", "{lib}/f.nestor"], 1, "cannot be written"),
        (
            ["{model}:total", "--spec", "f64[3]", "-o", "f.nestor", "--name", "g"],
            1,
            "--name is for C libraries",
        ),
        (["{model}:total", "--spec", "f64[3]", "-o", "{lib}", "--machine", "z80"], 1, "z80"),
        (["{model}:total"], 2, "required: -o"),
        (["{model}:total", "-o", "{lib}", "--threads", "many"], 2, "invalid choice"),
    ],
)
def test_bad_command_lines(model, tmp_path, capsys, arguments, code, message):
    places = {"model": model, "lib": tmp_path / "lib"}
    assert main([one.format(**places) for one in arguments]) == code
    said = capsys.readouterr().err
    assert message in said and "Traceback" not in said
    assert not (tmp_path / "lib").exists()


OBJECT = """
func.func @twice(%x: tensor<?xf64>) -> tensor<?xf64> {
  %0 = nt.add %x, %x : tensor<?xf64>
  return %0 : tensor<?xf64>
}
"""

CALL = """
#include <stdint.h>
#include <stdio.h>
int32_t twice(const uint64_t *slots, int64_t *error);
int main(void) {
  double x[3] = {1, 2, 3.5}, out[3];
  int64_t error[24] = {0};
  uint64_t slots[4] = {(uintptr_t)x, 3, (uintptr_t)out, 3};
  int status = twice(slots, error);
  printf("%d %g %g %g\\n", status, out[0], out[1], out[2]);
  return 0;
}
"""


def test_an_object_file_of_opt_tool(tmp_path):
    (tmp_path / "f.mlir").write_text(OBJECT)
    (tmp_path / "main.c").write_text(CALL)
    assert opt_tool([str(tmp_path / "f.mlir"), "-p", "cpu", "-t", "object", "-o", str(tmp_path / "f.o")]) == 0
    build = ["cc", "main.c", "f.o", "-lgomp", "-lm", "-o", "main"]
    subprocess.run(build, cwd=tmp_path, check=True)
    ran = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, env={})
    assert ran.stdout == "0 2 4 7\n"
    symbols = subprocess.run(["nm", "-u", "f.o"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert "Py" not in symbols and "nestor" not in symbols


def test_object_files_need_the_llvm_level(tmp_path, capsys):
    (tmp_path / "f.mlir").write_text(OBJECT)
    assert opt_tool([str(tmp_path / "f.mlir"), "-t", "object", "-o", str(tmp_path / "f.o")]) == 1
    assert "target 'object' needs a module of the llvm dialect" in capsys.readouterr().err
    assert not (tmp_path / "f.o").exists()
