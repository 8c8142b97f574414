"""Programs that come from the disk: the same results as compiled ones, and never those of another program."""

from __future__ import annotations

import importlib
import json
import linecache
import os
import pickle
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from nestor.runtime import disk_cache

pytestmark = pytest.mark.one_of(2)

HEAD = """
import sys
import numpy as np, nestor as nt
"""

TAIL = """
heavy = sorted(name for name in ("xdsl", "llvmlite", "islpy") if name in sys.modules)
import json
print(json.dumps({"result": repr(result), "heavy": heavy, **nt.cache.stats()}))
"""


class Project:
    """A script in a directory of its own, run again and again as new processes would, with a cache of its own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch):
        self.folder = folder
        self.patch = patch
        patch.syspath_prepend(str(folder))
        patch.setenv("NESTOR_CACHE_DIR", str(folder / "cache"))

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.folder / f"{name}.py"
            path.write_text(text)
            os.utime(path, ns=(2 * 10**18, 2 * 10**18))  # an edit may come within one tick of the clock
        for stale in self.folder.glob("__pycache__/*"):
            stale.unlink()

    def run(self, body: str, cache: bool = True) -> dict:
        """Run as a new module: its functions know nothing of earlier ones."""
        self.write(main=HEAD + body)
        for name in [name for name in linecache.cache if name.startswith(str(self.folder))]:
            del linecache.cache[name]
        importlib.invalidate_caches()
        sys.modules.pop("other", None)
        self.patch.setenv("NESTOR_CACHE", "1" if cache else "0")
        before = dict(vars(disk_cache.COUNTS))
        space = runpy.run_path(str(self.folder / "main.py"), run_name="main")
        counts = {name: count - before.get(name, 0) for name, count in vars(disk_cache.COUNTS).items()}
        return {"result": repr(space["result"]), "hits": 0, "misses": 0, "stored": 0, **counts}

    def process(self, body: str, **variables: str) -> dict:
        """Run in a process."""
        self.write(main=HEAD + body + TAIL)
        environment = {**os.environ, "NESTOR_CACHE": "1", **variables}
        done = subprocess.run(
            [sys.executable, "main.py"],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def twice(self, body: str, stored: int = 1) -> dict:
        """Compiled, then from the disk; without a cache: the same."""
        fresh = self.run(body, cache=False)
        first = self.run(body)
        assert first["stored"] == stored and first["hits"] == 0
        second = self.run(body)
        assert second["hits"] == stored and second["stored"] == 0
        assert fresh["result"] == first["result"] == second["result"]
        return second


@pytest.fixture
def project(tmp_path, monkeypatch):
    return Project(tmp_path, monkeypatch)


X = "x = np.arange(12, dtype=np.float32).reshape(3, 4)\n"

PROGRAMS = {
    "array": "@nt.jit\ndef f(x):\n    return np.exp(x) * 2 + x.sum(axis=0)\nresult = f(x).tobytes()",
    "calls of NumPy": (
        "@nt.jit\ndef f(x):\n    return np.sort(x, axis=0)[::-1] @ np.linalg.inv(x.T @ x + np.eye(4, dtype='f'))\n"
        "result = f(x).tobytes()"
    ),
    "several results": (
        "@nt.jit\ndef f(x, k):\n    return {'a': x * k, 'b': (x.shape[0], x[1:], x.sum(), k)}\nresult = f(x, 3)"
    ),
    "written": "@nt.jit\ndef f(x):\n    x[1:] += x[:-1]\n    return x.max()\nresult = f(x), x.tolist()",
    "written by a helper": (
        "def put(x):\n    x[0] = 7\n@nt.jit\ndef f(x):\n    put(x)\n    return x * 2\nresult = f(x), x.tolist()"
    ),
    "baked argument": "@nt.jit\ndef f(x, n):\n    return x.reshape(n, -1) + n\nresult = f(x, 2), f(x, 2)",
    "static argument": (
        "def twice(x):\n    return x * 2\n"
        "def f(x, g, how):\n    return g(x).sum(axis=how)\n"
        "f = nt.jit(f, static_argnames=('g', 'how'))\nresult = f(x, twice, -1)"
    ),
    "closure": (
        "def make(a):\n    w = np.full(4, a)\n    def f(x):\n        return x * a + w.shape[0]\n    return nt.jit(f)\n"
        "result = make(2.5)(x)"
    ),
    "helpers that call helpers": (
        "BIAS = 0.5\ndef g(x, by=2):\n    return x * by + BIAS\ndef h(x):\n    return g(x) - g(x, 3)\n"
        "@nt.jit\ndef f(x):\n    inner = lambda y: h(y) + BIAS\n    return inner(x)\nresult = f(x)"
    ),
    "jit that calls jit": (
        "@nt.jit\ndef g(x):\n    return x + 1\n@nt.jit\ndef f(x):\n    return g(x) * 2\nresult = f(x)"
    ),
    "dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    w: np.ndarray\n    b: float = 2.0\n"
        "    def scaled(self, x):\n        return x * self.w + self.b\n"
        "@nt.jit\ndef f(p, x):\n    return P(p.scaled(x), p.b)\nresult = f(P(np.ones(4, np.float32)), x)"
    ),
    "named tuple": (
        "from typing import NamedTuple\nclass P(NamedTuple):\n    w: np.ndarray\n    k: int = 3\n"
        "@nt.jit\ndef f(p, x):\n    return P(p.w * x, p.k)\nresult = f(P(x), x)"
    ),
    "strided": "@nt.jit\ndef f(x):\n    return x + 1\nresult = f(x[::2, ::-1]), f(x[::2, ::-1]).strides",
    "transposed": "@nt.jit\ndef f(x):\n    return x * x\nresult = f(x.T), f(x.T).strides",
    "empty": "@nt.jit\ndef f(x):\n    return x.sum(axis=1)\nresult = f(x[:0]), f(x[:0]).dtype",
    "integers": "@nt.jit\ndef f(x, n):\n    return np.zeros(n) + x[0, 0], n + 1\nresult = f(x, 5), f(x, 6)",
    "half": "@nt.jit\ndef f(x):\n    return (x * x).astype(np.float16)\nresult = f(x.astype(np.float16))",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_results_without_the_compiler(project, name):
    project.twice(X + PROGRAMS[name], stored=2 if name == "integers" else 1)


@pytest.mark.parametrize(
    "name", ["array", *(pytest.param(name, marks=pytest.mark.slow) for name in ("written", "named tuple"))]
)
def test_a_new_process_needs_no_compiler(project, name):
    body = X + PROGRAMS[name]
    first = project.process(body)
    assert first["stored"] == 1 and {"xdsl", "llvmlite"} <= set(first["heavy"])
    second = project.process(body)
    assert second["hits"] == 1 and second["heavy"] == [] and second["result"] == first["result"]
    assert project.process(body, NESTOR_SOMETHING="1")["hits"] == 0


def test_unknown_extents(project):
    body = X + (
        "@nt.jit\ndef f(x, y):\n    return x + y[:x.shape[0]]\n"
        "result = [f(np.ones(n), np.ones(m)) for n, m in ((3, 5), (4, 5), (7, 9), (8, 8))]"
    )
    project.twice(body, stored=3)


def test_overlapping_arguments(project):
    body = "@nt.jit\ndef f(x, y):\n    y[1:] = x[:-1] + y[1:]\n" + (
        "x = np.arange(9.0)\nf(x, x)\nf(x[1:], x[:-1])\nf(x, np.ones(9))\nresult = x"
    )
    project.twice(body, stored=3)


def test_errors_name_their_line(project):
    body = X + (
        "@nt.jit\ndef f(x, i):\n    y = x + 1\n    return y[i]\nf(x, 1)\n"
        "try:\n    f(x, 7)\nexcept IndexError as error:\n    result = str(error)\n"
    )
    assert "main.py:8" in project.twice(body)["result"]


def test_native_calls_and_explain(project):
    body = X + (
        "@nt.jit\ndef f(x):\n    return x + 1\nfor _ in range(70):\n    y = f(x)\n"
        "info = f.cache_info()\nresult = y, info['hits'], info['compiled']\n"
    )
    assert "69, 1" in project.twice(body)["result"]
    text = project.run(X + "@nt.jit\ndef f(x):\n    return x + 1\nf(x)\nresult = f.explain(x)\n")
    assert (
        text["hits"] == 1 and "taken from the disk" in text["result"] and "1 load, 1 store" in text["result"]
    )


# ---- what changes between processes -----------------------------------------------------------------

CHANGES = {
    "its text": ("@nt.jit\ndef f(x):\n    return x + {}\nresult = f(x)", "1", "2"),
    "a global": ("K = {}\n@nt.jit\ndef f(x):\n    return x + K\nresult = f(x)", "1", "2"),
    "the type of a global": ("K = {}\n@nt.jit\ndef f(x):\n    return x + K\nresult = f(x)", "1", "np.float64(1)"),
    "the sign of zero": ("K = {}\n@nt.jit\ndef f(x):\n    return x * 0 / K\nresult = f(x + 1)", "1.0", "-1.0"),
    "an array that is a global": (
        "K = np.zeros({})\n@nt.jit\ndef f(x):\n    return x + K.shape[0]\nresult = f(x)", "1", "2",
    ),
    "a closure": (
        "def make(k):\n    def f(x):\n        return x * k\n    return nt.jit(f)\nresult = make({})(x)", "2.0", "3.0",
    ),
    "a default": ("@nt.jit\ndef f(x, k={}):\n    return x * k\nresult = f(x)", "2.0", "3.0"),
    "the default of a helper": (
        "def g(x, k={}):\n    return x * k\n@nt.jit\ndef f(x):\n    return g(x)\nresult = f(x)", "2.0", "3.0",
    ),
    "a helper": (
        "def g(x):\n    return x {} 2\n@nt.jit\ndef f(x):\n    return g(x)\nresult = f(x)", "+", "-",
    ),
    "a global of a helper": (
        "K = {}\ndef g(x):\n    return x * K\n@nt.jit\ndef f(x):\n    return g(x)\nresult = f(x)", "2.0", "3.0",
    ),
    "an option": ("def f(x):\n    return x + 1\nf = nt.jit(f, fastmath={})\nresult = f(x)", "True", "False"),
    "a constant of a static argument": (
        "def f(x, k):\n    return x * k\nf = nt.jit(f, static_argnums=1)\nresult = f(x, {})", "2.0", "3.0",
    ),
    "an item of an item": ("K = {{'k': [1, {}]}}\n@nt.jit\ndef f(x):\n    return x + K['k'][1]\nresult = f(x)", "2", "3"),
    "an attribute": (
        "class A:\n    def __init__(self):\n        self.k = {}\na = A()\n"
        "@nt.jit\ndef f(x):\n    return x + a.k\nresult = f(x)", "2", "3",
    ),
    "an attribute of a class": (
        "class A:\n    k = {}\na = A()\n@nt.jit\ndef f(x):\n    return x + a.k\nresult = f(x)", "2", "3",
    ),
    "a method": (
        "from typing import NamedTuple\nclass P(NamedTuple):\n    w: float\n"
        "    def of(self, x):\n        return x {} self.w\n"
        "@nt.jit\ndef f(p, x):\n    return p.of(x)\nresult = f(P(x), x)", "+", "-",
    ),
    "which function a name is": (
        "def a(x):\n    return x + 1\ndef b(x):\n    return x - 1\ng = {}\n"
        "@nt.jit\ndef f(x):\n    return g(x)\nresult = f(x)", "a", "b",
    ),
    "which ufunc a name is": ("g = {}\n@nt.jit\ndef f(x):\n    return g(x, 1)\nresult = f(x)", "np.add", "np.subtract"),
    "the dtype of a call": ("@nt.jit\ndef f(x):\n    return x / 3\nresult = f(x.astype({}))", "'f4'", "'f8'"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen(project, name):
    body, before, after = CHANGES[name]
    for text in (before, after, before, after):
        found = project.run(X + body.format(text))
        assert found["result"] == _expected(X + body.format(text)), text
    assert found["hits"] == 1


def _expected(body: str) -> str:
    """What Python itself gives."""
    import numpy as np

    class Plain:
        @staticmethod
        def jit(function, **options):
            return function

    space = {"np": np, "nt": Plain, "__name__": "__main__"}
    exec(body, space)
    return repr(space["result"])


def test_another_module(project):
    body = X + "import other\n@nt.jit\ndef f(x):\n    return other.g(x) + other.K\nresult = f(x).sum()\n"
    for text in ("def g(x):\n    return x * 2\nK = 1\n", "def g(x):\n    return x * 3\nK = 1\n") * 2:
        project.write(other=text)
        found = project.run(body)
        assert found["result"] == repr(_number(66 * (2 if "* 2" in text else 3) + 12)), text
    assert found["hits"] == 1
    project.write(other="def g(x):\n    return x * 3\nK = 2\n")
    found = project.run(body)
    assert found["hits"] == 0 and found["result"] == repr(_number(66 * 3 + 24))


def _number(value: float):
    import numpy as np

    return np.float32(value)


def test_a_source_that_was_edited_after_its_import(project):
    """The text is the new one, the code which runs the old one: it is not compiled, and nothing is kept."""
    project.write(other="def f(x):\n    return x + 1\n")
    body = (
        "import other\n{}try:\n    result = nt.jit(other.f)(x)\nexcept nt.UnsupportedError:\n    result = x\n"
    )
    edit = "open(other.__file__, 'w').write('def f(x):\\n    return x + 2\\n')\n"
    edited = project.run(X + body.format(edit))
    assert edited["stored"] == 0 and edited["result"] == _expected(X + "result = x")
    project.write(other="def f(x):\n    return x + 1\n")
    assert project.run(X + body.format(""))["result"] == _expected(X + "result = x + 1")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("@nt.jit\ndef f(x):\n    print(x[0, 0])\n    return x + 1\nf(x)\n", "calls Python"),
        (
            "def g(x):\n    return x\n@nt.jit\ndef f(x):\n"
            "    return nt.custom_call(g, x, result=nt.spec((3, 4), 'f4'))\nf(x)\n",
            "calls Python",
        ),
        (
            "import zlib\n@nt.jit\ndef f(x):\n    return x + zlib.crc32(b'a')\nf(x)\n",
            "what 'crc32' returns",
        ),
        (
            "import threading\na = threading.Lock()\n@nt.jit\ndef f(x):\n    return x + (a is None)\nf(x)\n",
            "depends on an object of the class '_thread.lock'",
        ),
    ],
)
def test_what_is_not_kept_says_why(project, body, reason):
    for _ in range(2):
        found = project.run(X + body + "result = f.explain(x)\n")
        assert found["stored"] == found["hits"] == 0
        assert "not kept on the disk: it " in found["result"] and reason in found["result"]


def test_damaged_files_are_compiled_again(project):
    body = X + PROGRAMS["array"]
    first = project.run(body)
    (path,) = (project.folder / "cache" / "kernels").iterdir()
    data = path.read_bytes()
    for damaged in (b"", data[: len(data) // 2], data[:-3] + b"xyz"):
        path.write_bytes(damaged)
        found = project.run(body)
        assert found["result"] == first["result"] and found["stored"] == 1 and found["hits"] == 0
    assert project.run(body)["hits"] == 1


def test_it_can_be_turned_off_and_cleared(project):
    body = X + PROGRAMS["array"] + "\nresult = nt.cache.path(), nt.cache.clear()\n"
    assert project.run(body, cache=False)["result"] == "(None, 0)"
    assert not (project.folder / "cache").exists()
    assert project.run(body)["result"] == repr((str(project.folder / "cache" / "kernels"), 1))
    assert project.run(body)["hits"] == 0


def test_a_program_is_of_the_files_that_made_it(project):
    """A file of Nestor that was loaded when a program was compiled, and is another one since: it is compiled again."""
    body = X + "@nt.jit\ndef f(x):\n    return x * 5\nresult = f(x).tobytes()\n"
    assert project.process(body)["stored"] == 1
    project.patch.setenv("NESTOR_CACHE", "1")
    (path,) = (project.folder / "cache" / "kernels").iterdir()
    (one,) = disk_cache.read(path.stem)
    makers, *others = pickle.loads(one.conditions)
    names = [name for name, *_ in makers]
    assert {"frontend/jit/driver/jit.py", "lowering/nt_to_nest/convert.py", "runtime/abi.py"} <= set(names)
    assert "lowering/cuda_c/emit.py" not in names and disk_cache.are_same(makers)
    name, size, written = makers[names.index("lowering/nt_to_nest/convert.py")]
    for other, hits in (((name, size, written - 1), 0), ((name, size + 1, written), 0), (makers[0], 1)):
        conditions = pickle.dumps(((other, *makers[1:]), *others))
        path.unlink()
        assert disk_cache.write(path.stem, disk_cache.Variant(conditions, one.program, one.code))
        assert project.process(body)["hits"] == hits


def test_what_is_known_of_extents_is_part_of_the_key(project):
    body = """
@nt.jit(dynamic={"x": {0: nt.dim("n", min=8, max=MAX)}})
def f(x):
    return x[:8] + x[-8:]
result = f(np.arange(16.0))[0]
"""
    assert project.run(body.replace("MAX", "64"))["stored"] == 1
    again = project.run(body.replace("MAX", "64"))
    assert again["hits"] == 1 and again["stored"] == 0 and again["result"] == repr(np.float64(8.0))
    other = project.run(body.replace("MAX", "128"))
    assert other["hits"] == 0 and other["stored"] == 1


def test_profiles_take_programs_from_the_disk(project):
    body = """
@nt.jit(profile=True)
def f(x, n):
    return x * n
result = [float(f(np.ones(4), n)[0]) for n in (3, 3, 3, 3, 3, 5)]
"""
    assert project.run(body)["stored"] == 2
    again = project.run(body)
    assert again["hits"] == 2 and again["stored"] == 0 and again["result"] == repr([3.0] * 5 + [5.0])
