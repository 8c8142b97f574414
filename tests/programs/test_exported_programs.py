"""Exported functions in C programs that are built here and run without Python: bits, leaks, threads, builds."""

from __future__ import annotations

import os
import shutil
import subprocess

import nestor as nt
import numpy as np
import pytest
from test_exported_c import loss, lstm_step, picked, ratio_iou, softmax

RNG = np.random.default_rng(5)
EMPTY = {"PATH": "/usr/bin:/bin"}

READ = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *bytes_of(const char *path) {
  FILE *file = fopen(path, "rb");
  char *data = malloc(1 << 22);
  if (!file || !data) exit(99);
  if (!fread(data, 1, 1 << 22, file)) exit(98);
  fclose(file);
  return data;
}

static void keep(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, 1, size, file) != size) exit(97);
  fclose(file);
}
"""


def run(folder, *command, **options):
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=EMPTY, **options)
    assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def program(folder, name, body, *flags, links=("-lgomp", "-lm")):
    """Build a program around the calls in `body`, against the static library; where it is."""
    text = f'#include "{name}.h"\n{READ}\nint main(void) {{\n{body}\nreturn 0;\n}}\n'
    (folder / "main.c").write_text(text)
    strict = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-O1")
    run(folder, "cc", *strict, *flags, "main.c", f"lib{name}.a", "-o", "main", *links)
    return folder / "main"


def stored(folder, **arrays):
    for name, array in arrays.items():
        array.tofile(folder / name)


def test_iou(tmp_path):
    arrays = {
        name: RNG.random((30, 50)).astype("f4") for name in ("x1", "y1", "w1", "h1", "x2", "y2", "w2", "h2")
    }
    compiled = nt.jit(ratio_iou).lower(*arrays.values()).compile()
    compiled.export_c(tmp_path)
    stored(tmp_path, **arrays)
    passed = ", ".join(f'bytes_of("{name}")' for name in arrays)
    body = f'static float out[30 * 50]; if (ratio_iou({passed}, out, NULL)) return 1; keep("out", out, sizeof out);'
    main = program(tmp_path, "ratio_iou", body)
    run(tmp_path, main)
    wanted = compiled(*arrays.values())
    assert (tmp_path / "out").read_bytes() == wanted.tobytes()
    linked = run(tmp_path, "ldd", main)
    assert "python" not in linked


def test_dynamic_softmax_lstm_step_and_gradient(tmp_path):
    x = (RNG.random((9, 17)) * 5).astype("f4")
    one = nt.jit(softmax, dynamic=True).lower(nt.spec((None, None), "f4")).compile()
    one.export_c(tmp_path)
    step = [RNG.standard_normal(s) for s in [(2, 3), (2, 4), (2, 4), (3, 16), (4, 16), (16,)]]
    two = nt.jit(lstm_step).lower(*step).compile()
    two.export_c(tmp_path)
    v, w = RNG.standard_normal((2, 11))
    three = nt.jit(nt.grad(loss)).lower(nt.spec(("n",), "f8"), nt.spec(("n",), "f8")).compile()
    three.export_c(tmp_path, "loss_grad")
    stored(tmp_path, x=x, v=v, w=w, **{f"s{k}": a for k, a in enumerate(step)})
    passed = ", ".join(f'bytes_of("s{k}")' for k in range(6))
    body = f"""
    static float out[9 * 17];
    static double h[8], c[8], g[11];
    if (softmax(bytes_of("x"), 9, 17, out, NULL)) return 1;
    if (lstm_step({passed}, h, c, NULL)) return 2;
    if (loss_grad(bytes_of("v"), 11, bytes_of("w"), g, NULL)) return 3;
    keep("out", out, sizeof out); keep("h", h, sizeof h); keep("c", c, sizeof c); keep("g", g, sizeof g);
    """
    text = '#include "lstm_step.h"\n#include "loss_grad.h"\n'
    (tmp_path / "all.h").write_text(text)
    main = program(
        tmp_path,
        "softmax",
        body,
        "-include",
        "all.h",
        links=("liblstm_step.a", "libloss_grad.a", "-lgomp", "-lm"),
    )
    run(tmp_path, main)
    wanted = {"out": one(x), "g": three(v, w), **dict(zip("hc", two(*step), strict=True))}
    for name, array in wanted.items():
        assert (tmp_path / name).read_bytes() == array.tobytes(), name


CHECKED = """
  double x[4] = {1, 2, 3, 4}, out = 7;
  int64_t good[3] = {0, -1, 2}, bad[3] = {0, 9, 1};
  nestor_error error;
  char text[200], small[12];
  if (picked(x, 4, good, 3, &out, &error) || out != 8) return 1;
  if (picked(x, 4, bad, 3, &out, &error) != NESTOR_INDEX || error.value != 9 || error.extent != 4) return 2;
  size_t size = picked_message(&error, text, sizeof text);
  if (size != strlen(text) || picked_message(&error, small, sizeof small) != size) return 3;
  if (strlen(small) != 11 || strncmp(text, small, 11) || picked_message(&error, NULL, 0) != size) return 4;
  puts(text);
  if (picked(NULL, 4, good, 3, &out, &error) != NESTOR_BAD_POINTER) return 5;
  if (picked(x, 4, good, 3, x, NULL) != NESTOR_OVERLAP) return 6;
"""


def test_an_index_error(tmp_path):
    spec = nt.spec((None,), "f8"), nt.spec((None,), "i8")
    nt.jit(picked).lower(*spec).compile().export_c(tmp_path, threads="none")
    main = program(tmp_path, "picked", CHECKED, "-fsanitize=address,undefined", links=())
    assert "IndexError: index 9 is out of bounds" in run(tmp_path, main)


def grown(x):
    y = x[x > 0]
    return y * 2, y.sum(), x + 1


LEAKS = """
  double x[5] = {1, -2, 3, -4, 5}, sum, more[5], *result;
  int64_t shape[1];
  for (int k = 0; k < 3; k++) {
    if (grown(x, 5, &result, shape, &sum, more, NULL) || shape[0] != 3 || sum != 9 || result[2] != 10) return 1;
    grown_release(result);
  }
  for (int k = 0; k < 5; k++) x[k] = -1;
  if (grown(x, 5, &result, shape, &sum, more, NULL) || shape[0] != 0 || sum != 0) return 2;
  grown_release(result);
"""


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.slow
def test_nothing_leaks(tmp_path):
    """valgrind knows no AVX-512: code for x86-64-v3."""
    spec = nt.spec((None,), "f8")
    nt.jit(grown, machine="x86-64-v3").lower(spec).compile().export_c(tmp_path, threads="none")
    main = program(tmp_path, "grown", LEAKS, "-g", links=())
    run(tmp_path, "valgrind", "-q", "--leak-check=full", "--error-exitcode=9", main)


def test_nothing_leaks_under_the_address_sanitizer(tmp_path):
    spec = nt.spec((None,), "f8")
    nt.jit(grown).lower(spec).compile().export_c(tmp_path, threads="none")
    checks = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    main = program(tmp_path, "grown", LEAKS, *checks, links=())
    run(tmp_path, main)


def test_threads_of_the_caller_and_children(tmp_path):
    """Calls from several threads do not meet, and a child of fork runs after a parallel region of its parent."""
    x = RNG.random((400, 500)).astype("f4")
    compiled = nt.jit(softmax).lower(x).compile()
    compiled.export_c(tmp_path)
    stored(tmp_path, x=x, wanted=compiled(x))
    body = """
    static float *x, *wanted, out[4][400 * 500];
    x = bytes_of("x"), wanted = bytes_of("wanted");
    softmax_set_threads(2);
    #pragma omp parallel for num_threads(4)
    for (int k = 0; k < 4; k++) if (softmax(x, out[k], NULL)) exit(1);
    for (int k = 0; k < 4; k++) if (memcmp(out[k], wanted, sizeof out[k])) return 2;
    pid_t child = fork();
    if (!child) {
      memset(out, 0, sizeof out);
      softmax_set_threads(2);
      if (softmax_get_threads() != 1 || softmax(x, out[0], NULL)) _exit(3);
      _exit(memcmp(out[0], wanted, sizeof out[0]) ? 4 : 0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status) return 5;
    """
    (tmp_path / "more.h").write_text("#include <sys/wait.h>\n#include <unistd.h>\n")
    main = program(tmp_path, "softmax", body, "-D_GNU_SOURCE", "-include", "more.h", "-fopenmp")
    run(tmp_path, main, timeout=60)


def test_another_processor_is_refused(tmp_path, monkeypatch):
    """A library that wants an instruction set that nobody has."""
    from nestor.frontend.jit.export import export_c
    from nestor.runtime.cpu.instruction_sets import SETS

    spec = nt.spec((None,), "f8"), nt.spec((None,), "i8")
    compiled = nt.jit(picked).lower(*spec).compile()
    here = {name for name in SETS if name in ("fma4", "tbm", "xop")}
    monkeypatch.setattr(export_c, "needed", lambda machine, tiles: sorted(here))
    compiled.export_c(tmp_path, threads="none")
    body = """
    double x[2] = {1, 2}, out;
    int64_t k[2] = {0, 1};
    nestor_error error;
    char text[200];
    if (picked(x, 2, k, 2, &out, &error) != NESTOR_BAD_PROCESSOR) return 1;
    picked_message(&error, text, sizeof text);
    puts(text);
    """
    said = run(tmp_path, program(tmp_path, "picked", body, links=()))
    assert said.startswith("this processor lacks instructions that the program was compiled for")


# ---- what else is in the folder ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("lib")
    spec = nt.spec((None,), "f8")
    nt.jit(grown).lower(spec).compile().export_c(place)
    return place


def test_the_example_and_the_source_build_without_warnings(folder):
    strict = ("-Wall", "-Wextra", "-Werror")
    run(folder, "cc", *strict, "-std=gnu11", "-DNESTOR_BUILD_GROWN", "-c", "grown.c", "-o", "again.o")
    run(folder, "cc", *strict, "grown_example.c", "libgrown.a", "-lgomp", "-lm", "-o", "example")
    wanted = grown((1 + np.arange(6) % 7) / 4)
    rows = dict(line.split(": ") for line in run(folder, "./example").splitlines())
    assert [float(x) for x in rows["result_0"].split()] == list(wanted[0])
    assert float(rows["result_1"]) == wanted[1]
    (folder / "plus.cpp").write_text(
        '#include "grown.h"\nint main() { return grown_release != nullptr ? 0 : 1; }\n'
    )
    run(folder, "g++", *strict, "-Wno-address", "plus.cpp", "libgrown.a", "-lgomp", "-lm", "-o", "plus")
    for name in os.listdir(folder):
        assert os.fspath(folder) not in (folder / name).read_bytes().decode("latin1") or name in (
            "example",
            "plus",
        )


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="pkg-config is not installed")
def test_pkg_config(folder):
    found = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "grown"],
        env={**EMPTY, "PKG_CONFIG_PATH": os.fspath(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    run(folder, "cc", "grown_example.c", "-o", "shared", *found.stdout.split(), f"-Wl,-rpath,{folder}")
    assert run(folder, "./shared") == run(folder, "./shared")
    moved = folder.parent / "moved"
    shutil.copytree(folder, moved)
    found = subprocess.run(
        ["pkg-config", "--libs", "grown"],
        env={**EMPTY, "PKG_CONFIG_PATH": os.fspath(moved)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"-L{moved}" in found.stdout


@pytest.mark.skipif(not shutil.which("cmake"), reason="cmake is not installed")
@pytest.mark.slow
def test_cmake(folder, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(p C)\n"
        f"find_package(grown CONFIG REQUIRED PATHS {folder} NO_DEFAULT_PATH)\n"
        f"foreach(kind grown grown_static)\nadd_executable(with_${{kind}} {folder}/grown_example.c)\n"
        "target_link_libraries(with_${kind} grown::${kind})\nendforeach()\n"
    )
    run(tmp_path, "cmake", "-S", ".", "-B", "build")
    run(tmp_path, "cmake", "--build", "build")
    assert run(tmp_path, "build/with_grown") == run(tmp_path, "build/with_grown_static")
